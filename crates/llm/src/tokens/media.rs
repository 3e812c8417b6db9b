//! What pictures, documents and sounds cost: by what they show, not by what they weigh.

use serde::Deserialize;

use super::picture_size;
use crate::{Detail, Media, MediaSource};

/// The size that is assumed of a picture nobody here has seen.
const UNSEEN: (f64, f64) = (1024.0, 1024.0);
/// How many bytes of a document are a page, where its pages cannot be counted.
const PAGE_BYTES: usize = 60_000;
/// Bytes of a second of sound, unless its header says how many: 128 kbit/s.
const SECOND_BYTES: f64 = 16_000.0;

/// How a family counts a picture.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Picture {
    /// So many, whatever it shows.
    Always(f64),
    /// One for so many pixels, once neither edge is longer than `edge`; `most` at the most.
    Area { pixels: f64, edge: f64, most: f64 },
    /// Tiles of 512 pixels, once it fits into 2048 by 2048 and its short edge into 768.
    Tiles { base: f64, tile: f64 },
    /// Patches of 32 pixels.
    Patches { factor: f64, most: f64 },
    /// One crop if neither edge is longer than `small`, else as many squares of two thirds of its short edge
    /// as cover it.
    Crops { small: f64, crop: f64 },
}

impl Default for Picture {
    fn default() -> Self {
        Self::Always(0.0)
    }
}

impl Picture {
    /// The tokens of a picture.
    pub(super) fn tokens(&self, media: &Media) -> f64 {
        let seen = match &media.source {
            MediaSource::Bytes(data) => picture_size::of(data).map(|(w, h)| (f64::from(w), f64::from(h))),
            MediaSource::Url(_) | MediaSource::Path(_) => None,
        };
        let (width, height) = seen.unwrap_or(UNSEEN);
        self.of_size(width.max(1.0), height.max(1.0), media.detail)
    }

    fn of_size(&self, width: f64, height: f64, detail: Option<Detail>) -> f64 {
        let shrink = |factor: f64| (width * factor.min(1.0), height * factor.min(1.0));
        match *self {
            Self::Always(tokens) => tokens,
            Self::Area { pixels, edge, most } => {
                let (width, height) = shrink(edge / width.max(height));
                (width * height / pixels).ceil().min(most)
            }
            Self::Tiles { base, .. } if detail == Some(Detail::Low) => base,
            Self::Tiles { base, tile } => {
                let fits = (2048.0 / width.max(height)).min(1.0);
                let (width, height) = shrink(fits.min(768.0 / width.min(height)));
                base + tile * (width / 512.0).ceil() * (height / 512.0).ceil()
            }
            Self::Patches { factor, most } => {
                let patches = (width / 32.0).ceil() * (height / 32.0).ceil();
                (patches.min(most) * factor).ceil()
            }
            Self::Crops { small, crop } if width <= small && height <= small => crop,
            Self::Crops { crop, .. } => {
                let unit = (width.min(height) / 1.5).clamp(256.0, 768.0);
                crop * (width / unit).ceil() * (height / unit).ceil()
            }
        }
    }
}

/// A document: its text, if it is one, else its pages.
pub(super) enum Paper<'a> {
    /// Text that is shown as it is.
    Text(&'a str),
    /// So many pages.
    Pages(usize),
}

impl<'a> Paper<'a> {
    pub(super) fn of(media: &'a Media) -> Self {
        let MediaSource::Bytes(data) = &media.source else { return Self::Pages(1) };
        match std::str::from_utf8(data) {
            Ok(text) if !data.starts_with(b"%PDF") => Self::Text(text),
            _ => Self::Pages(pages(data)),
        }
    }
}

/// The pages of a PDF. Newer files may keep the list of them compressed; then their size tells.
fn pages(data: &[u8]) -> usize {
    let entries = data.windows(b"/Type".len()).enumerate().filter(|(_, window)| *window == b"/Type");
    let found = entries.filter(|(at, _)| {
        let rest = data.get(at + b"/Type".len()..).unwrap_or_default().trim_ascii_start();
        rest.strip_prefix(b"/Page").is_some_and(|after| !after.first().is_some_and(u8::is_ascii_alphabetic))
    });
    match found.count() {
        0 => 1 + data.len() / PAGE_BYTES,
        found => found,
    }
}

/// How many seconds a sound lasts.
pub(super) fn seconds(media: &Media) -> f64 {
    let MediaSource::Bytes(data) = &media.source else { return 60.0 };
    let rate = data
        .get(28..32)
        .filter(|_| data.starts_with(b"RIFF"))
        .and_then(|rate| rate.try_into().ok())
        .map_or(SECOND_BYTES, |rate| f64::from(u32::from_le_bytes(rate)).max(1.0));
    f64::from(u32::try_from(data.len()).unwrap_or(u32::MAX)) / rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures() {
        let check =
            |picture: &Picture, (width, height): (f64, f64), detail: Option<Detail>, expected: f64| {
                let tokens = picture.of_size(width, height, detail);
                assert!((tokens - expected).abs() < 0.5, "{picture:?} {width}x{height}: {tokens}");
            };
        let tiles = Picture::Tiles { base: 85.0, tile: 170.0 };
        check(&tiles, (1024.0, 1024.0), None, 765.0);
        check(&tiles, (2048.0, 4096.0), Some(Detail::High), 1105.0);
        check(&tiles, (4096.0, 8192.0), Some(Detail::Low), 85.0);
        let area = Picture::Area { pixels: 750.0, edge: 1568.0, most: 1600.0 };
        check(&area, (200.0, 200.0), None, 54.0);
        check(&area, (1000.0, 1000.0), None, 1334.0);
        check(&area, (8000.0, 8000.0), None, 1600.0);
        let patches = Picture::Patches { factor: 1.0, most: 1536.0 };
        check(&patches, (1024.0, 1024.0), None, 1024.0);
        check(&patches, (1800.0, 2400.0), None, 1536.0);
        let crops = Picture::Crops { small: 384.0, crop: 258.0 };
        check(&crops, (384.0, 384.0), None, 258.0);
        check(&crops, (960.0, 540.0), None, 1548.0);
        check(&Picture::Always(1120.0), (1.0, 1.0), None, 1120.0);
    }

    #[test]
    fn documents() {
        let pdf = b"%PDF-1.4\n<</Type /Pages /Count 2>> <</Type/Page >> << /Type /Page\n>>";
        assert_eq!(pages(pdf), 2);
        assert_eq!(pages(&[b"%PDF-1.7 ".to_vec(), vec![0xff; 150_000]].concat()), 3);
        assert!(matches!(Paper::of(&Media::bytes("plain")), Paper::Text("plain")));
        assert!(matches!(Paper::of(&Media::bytes(pdf.as_slice())), Paper::Pages(2)));
        assert!(matches!(Paper::of(&Media::url("https://a/b.pdf")), Paper::Pages(1)));
    }

    #[test]
    fn sounds() {
        let check = |data: Vec<u8>, expected: f64| {
            let found = seconds(&Media::bytes(data));
            assert!((found - expected).abs() < 0.1, "{found}");
        };
        let mut wav = b"RIFF....WAVEfmt ............".to_vec();
        wav.extend(32_000u32.to_le_bytes());
        wav.resize(64_000, 0);
        check(wav, 2.0);
        check(vec![0xff; 160_000], 10.0);
    }
}
