//! Pictures: what a file is by its first bytes, and what of it a model can be shown.

use junto_env::Kind;
use junto_llm::Media;

/// The largest picture that is passed on, in bytes. Anthropic takes 5 MiB in base64, the others more.
pub(super) const MOST: u64 = 5 * 1024 * 1024 / 4 * 3;
/// The longest side of a picture that is passed on, in pixels; Anthropic refuses more. A refused
/// picture would stay in the conversation and fail every call after it.
const LONGEST_SIDE: u32 = 8000;

/// A picture's size in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pixels {
    pub(super) width: u32,
    pub(super) height: u32,
}

/// The types of pictures that every provider takes.
const SEEN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A picture for the model, and a line that says what it is.
///
/// # Errors
/// Why it cannot be shown.
pub(super) fn picture(data: Vec<u8>, name: &str) -> Result<(Media, String), String> {
    let bytes = data.len();
    let media_type = match Kind::of(&data) {
        Kind::Image(media_type) if SEEN.contains(&media_type) => media_type,
        Kind::Image(media_type) => return Err(unseen(media_type)),
        Kind::Text | Kind::Binary(_) => return Err("it is no picture".to_owned()),
    };
    if bytes as u64 > MOST {
        return Err(too_large(media_type, bytes as u64));
    }
    let Some(Pixels { width, height }) = pixels(&data).filter(|p| p.width > 0 && p.height > 0) else {
        return Err(format!("it begins like a picture ({media_type}), but is broken"));
    };
    if width.max(height) > LONGEST_SIDE {
        return Err(format!(
            "the picture has {width} x {height} pixels; at most {LONGEST_SIDE} a side can be shown, so make \
             a smaller copy and read that"
        ));
    }
    let line = format!("[{media_type}, {width} x {height} pixels, {bytes} bytes; the picture is attached]");
    let media_type = Some(media_type.to_owned());
    Ok((Media { media_type, name: Some(name.to_owned()), ..Media::bytes(data) }, line))
}

/// What to say of a picture of a type that not every model can be shown.
fn unseen(media_type: &str) -> String {
    format!("it is a picture of a type that cannot be shown ({media_type}); convert it to PNG and read that")
}

/// What to say of a picture that is too large to be passed on.
pub(super) fn too_large(media_type: &str, bytes: u64) -> String {
    format!(
        "it is a picture ({media_type}) of {bytes} bytes; at most {MOST} can be shown, so make a smaller \
         copy and read that"
    )
}

/// The size that the header of a PNG, JPEG, GIF or WebP says.
pub(super) fn pixels(data: &[u8]) -> Option<Pixels> {
    match data {
        [0x89, b'P', b'N', b'G', ..] => Some(Pixels { width: be32(data, 16)?, height: be32(data, 20)? }),
        [b'G', b'I', b'F', b'8', ..] => Some(Pixels { width: le16(data, 6)?, height: le16(data, 8)? }),
        [0xff, 0xd8, ..] => jpeg(data),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => webp(data),
        _ => None,
    }
}

/// Walks the segments of a JPEG to the one that starts the frame.
fn jpeg(data: &[u8]) -> Option<Pixels> {
    let mut at = 2;
    loop {
        let marker = *data.get(at + 1).filter(|_| data.get(at) == Some(&0xff))?;
        match marker {
            // Filling between segments, and markers without a length.
            0xff => at += 1,
            0x01 | 0xd0..=0xd8 => at += 2,
            // Among the frames' markers are three for other things.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some(Pixels { height: be16(data, at + 5)?, width: be16(data, at + 7)? });
            }
            _ => at = at + 2 + be16(data, at + 2)? as usize,
        }
    }
}

fn webp(data: &[u8]) -> Option<Pixels> {
    match data.get(12..16)? {
        b"VP8 " => Some(Pixels { width: le16(data, 26)? & 0x3fff, height: le16(data, 28)? & 0x3fff }),
        b"VP8L" => {
            let bits = le16(data, 21)? | le16(data, 23)? << 16;
            Some(Pixels { width: (bits & 0x3fff) + 1, height: (bits >> 14 & 0x3fff) + 1 })
        }
        b"VP8X" => {
            let side = |at| Some((le16(data, at)? | le16(data, at + 2)? << 16 & 0x00ff_0000) + 1);
            Some(Pixels { width: side(24)?, height: side(27)? })
        }
        _ => None,
    }
}

fn two(data: &[u8], at: usize) -> Option<[u8; 2]> {
    data.get(at..at.checked_add(2)?)?.try_into().ok()
}

fn be16(data: &[u8], at: usize) -> Option<u32> {
    two(data, at).map(u16::from_be_bytes).map(u32::from)
}

fn le16(data: &[u8], at: usize) -> Option<u32> {
    two(data, at).map(u16::from_le_bytes).map(u32::from)
}

fn be32(data: &[u8], at: usize) -> Option<u32> {
    Some(be16(data, at)? << 16 | be16(data, at + 2)?)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A PNG as far as its header says.
    pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
        let mut data = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        data.extend(width.to_be_bytes());
        data.extend(height.to_be_bytes());
        data
    }

    fn check(data: &[u8], expected: Option<(u32, u32)>) {
        assert_eq!(pixels(data), expected.map(|(width, height)| Pixels { width, height }), "{data:x?}");
        for cut in 0..data.len() {
            // A beginning of it never panics.
            let _ = pixels(&data[..cut]);
        }
    }

    #[test]
    fn headers_say_how_large_a_picture_is() {
        check(&png(640, 480), Some((640, 480)));
        check(b"GIF89a\x0a\0\x14\0", Some((10, 20)));
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc4\0\x03x\xff\xc2\0\x11\x08\x00\x1e\x00\x28";
        check(jpeg, Some((40, 30)));
        check(b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x40\x00\x30\x40", Some((64, 48)));
        check(b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x3f\xc0\x0b\x00", Some((64, 48)));
        check(b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x3f\0\0\x2f\0\0\0", Some((64, 48)));
        check(b"RIFF\0\0\0\0WEBPVP9 ", None);
        check(b"\xff\xd8\xff\xd9", None);
        check(b"text", None);
    }

    #[test]
    fn what_cannot_be_shown_is_explained() {
        let error = |data: Vec<u8>| picture(data, "a").unwrap_err();
        assert!(error(png(9000, 10)).contains("9000 x 10 pixels"));
        assert!(error(png(0, 10)).contains("broken"));
        assert!(error(b"GIF89a\0".to_vec()).contains("broken"));
        assert!(error(b"BM\x9a\0\0\0\0\0\0\0".to_vec()).contains("convert it"));
        assert!(error(b"text".to_vec()).contains("no picture"));
        let large: Vec<u8> = png(1, 1).into_iter().chain(std::iter::repeat(0)).take(4_000_000).collect();
        assert!(error(large).contains("make a smaller copy"));
        let (media, line) = picture(png(2, 3), "a.png").unwrap();
        assert_eq!((media.mime(), media.name.as_deref()), ("image/png", Some("a.png")));
        assert!(line.contains("2 x 3 pixels"), "{line}");
    }
}
