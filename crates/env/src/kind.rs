//! What a file is, by how it begins.

use crate::text::Encoding;

/// How much of a file is looked at. More changes no answer that matters: what is text for this long
/// is text with something odd in it.
pub(crate) const HEAD: usize = 64 << 10;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something to read, in some encoding.
    Text,
    /// A picture, of this media type.
    Image(&'static str),
    /// Anything else, by a name for people such as `an ELF file`.
    Binary(&'static str),
}

/// The names of what [`infer`] knows by its usual file extension and what is met where code is.
const NAMES: &[(&str, &str)] = &[
    ("7z", "a 7-Zip archive"),
    ("Z", "a compressed file"),
    ("ar", "an ar archive"),
    ("avi", "an AVI video"),
    ("bc", "LLVM bitcode"),
    ("bz2", "a bzip2 file"),
    ("cab", "a cabinet archive"),
    ("class", "a Java class"),
    ("cpio", "a cpio archive"),
    ("deb", "a Debian package"),
    ("der", "a DER certificate"),
    ("dex", "a Dalvik executable"),
    ("dll", "a Windows library"),
    ("doc", "a Word document"),
    ("docx", "a Word document"),
    ("elf", "an ELF file"),
    ("epub", "an EPUB book"),
    ("exe", "a Windows executable"),
    ("flac", "a FLAC recording"),
    ("gz", "a gzip file"),
    ("lz", "an lzip file"),
    ("lz4", "an LZ4 file"),
    ("m4a", "an MPEG-4 recording"),
    ("mach", "a Mach-O file"),
    ("mkv", "a Matroska video"),
    ("mov", "a QuickTime video"),
    ("mp3", "an MP3 recording"),
    ("mp4", "an MPEG-4 video"),
    ("msi", "an OLE document"),
    ("obj", "an object file"),
    ("odp", "an OpenDocument presentation"),
    ("ods", "an OpenDocument spreadsheet"),
    ("odt", "an OpenDocument text"),
    ("ogg", "an Ogg recording"),
    ("otf", "an OpenType font"),
    ("pdf", "a PDF document"),
    ("ppt", "a PowerPoint document"),
    ("pptx", "a PowerPoint document"),
    ("psd", "a Photoshop picture"),
    ("qcow2", "a QEMU disk"),
    ("rar", "a RAR archive"),
    ("rpm", "an RPM package"),
    ("sqlite", "an SQLite database"),
    ("tar", "a tar archive"),
    ("ttf", "a TrueType font"),
    ("wasm", "a WebAssembly module"),
    ("wav", "a WAV recording"),
    ("webm", "a WebM video"),
    ("woff", "a WOFF font"),
    ("woff2", "a WOFF2 font"),
    ("xls", "an Excel document"),
    ("xlsx", "an Excel document"),
    ("xz", "an xz file"),
    ("zip", "a zip archive"),
    ("zst", "a Zstandard file"),
];

/// Pictures that programs show. Others, such as drawings of a CAD program, are binary files.
const PICTURES: &[&str] = &["avif", "bmp", "gif", "heif", "ico", "jp2", "jpg", "jxl", "png", "tif", "webp"];

impl Kind {
    /// What a file is that begins like this, or is this.
    pub fn of(content: &[u8]) -> Self {
        let head = content.get(..HEAD).unwrap_or(content);
        if head.starts_with(b"%PDF-") {
            // Its beginning is text, which is of no use to anybody.
            return Self::Binary("a PDF document");
        }
        if head.starts_with(b"\xff\xfe\0\0") || head.starts_with(b"\0\0\xfe\xff") {
            return Self::Binary("text in UTF-32");
        }
        if Encoding::of_mark(head).is_some() {
            return Self::Text;
        }
        // Before magic numbers are asked: some are two letters with which a text may begin.
        let odd = head.iter().filter(|byte| is_odd(**byte)).count();
        let no_zero = !head.contains(&0);
        if no_zero && (odd == 0 || is_utf8(head)) {
            return Self::Text;
        }
        if let Some(known) = infer::get(head).filter(|known| known.matcher_type() != infer::MatcherType::Text)
        {
            return Self::known(known);
        }
        // A damaged text has few bytes that no text has; of any other file they are a tenth.
        if (no_zero && odd * 50 <= head.len()) || Encoding::of_wide(head).is_some() {
            return Self::Text;
        }
        Self::Binary("binary data")
    }

    fn known(known: infer::Type) -> Self {
        if PICTURES.contains(&known.extension()) {
            return Self::Image(known.mime_type());
        }
        let name = NAMES.iter().find(|(extension, _)| *extension == known.extension());
        Self::Binary(name.map_or(known.mime_type(), |(_, name)| name))
    }
}

/// Whether no text has this byte. Tabs, line ends, and what terminals are steered with are in texts.
fn is_odd(byte: u8) -> bool {
    matches!(byte, 0..=7 | 0x0b | 0x0e..=0x19 | 0x1c..=0x1f | 0x7f)
}

/// Whether this is UTF-8, maybe cut in the middle of its last character.
fn is_utf8(head: &[u8]) -> bool {
    std::str::from_utf8(head).map_or_else(|e| e.error_len().is_none(), |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &[u8], expected: Kind) {
        assert_eq!(Kind::of(content), expected, "{:?}", String::from_utf8_lossy(content));
    }

    #[test]
    fn text_is_text_whatever_it_begins_with() {
        for text in [
            &b""[..],
            b"fn main() {}\n",
            b"BM is how a bitmap begins",
            b"MZ and so does a program",
            b"#!/bin/sh\n",
            b"<svg xmlns='http://www.w3.org/2000/svg'/>",
            b"\x1b[31mred\x1b[0m\r\n",
            b"\x01 one odd byte",
            "日本".as_bytes(),
            b"\xef\xbb\xbfmarked",
            b"\xff\xfea\0",
            b"\xfe\xff\0a",
            b"caf\xe9 in Latin-1",
            b"h\0i\0\r\0\n\0",
            b"\0h\0i\0\n",
            &"ü".as_bytes().repeat(HEAD)[1..],
        ] {
            check(text, Kind::Text);
        }
        check(&"aü".repeat(HEAD).into_bytes(), Kind::Text);
        let mut damaged = b"a line of a log\n".repeat(20);
        damaged.extend_from_slice(b"\x01\xff");
        check(&damaged, Kind::Text);
    }

    #[test]
    fn pictures_have_a_media_type() {
        check(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Kind::Image("image/png"));
        check(b"\xff\xd8\xff\xe0\0\x10JFIF\0", Kind::Image("image/jpeg"));
        check(b"GIF89a\x01\0\x01\0\x80\0\0", Kind::Image("image/gif"));
        check(b"RIFF\x24\0\0\0WEBPVP8 ", Kind::Image("image/webp"));
    }

    #[test]
    fn others_have_a_name() {
        check(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", Kind::Binary("an ELF file"));
        check(b"PK\x03\x04\x14\0\0\0", Kind::Binary("a zip archive"));
        check(b"%PDF-1.7\n", Kind::Binary("a PDF document"));
        check(b"\x1f\x8b\x08\0\0\0\0\0", Kind::Binary("a gzip file"));
        check(b"SQLite format 3\0", Kind::Binary("an SQLite database"));
        check(b"\xff\xfe\0\0a\0\0\0", Kind::Binary("text in UTF-32"));
        check(&[0; 100], Kind::Binary("binary data"));
        check(b"#!/bin/sh\nexec\n\0\x01\x02\x03", Kind::Binary("binary data"));
        let all: Vec<u8> = (1..=255).collect();
        check(&all, Kind::Binary("binary data"));
    }

    #[test]
    fn names_are_sorted_and_said_once() {
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(PICTURES.is_sorted());
    }
}
