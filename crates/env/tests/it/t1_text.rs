//! Texts of any environment, and what is no text.

use junto_env::text::{Content, Encoding, Fidelity, Format, LineEnding, TextFile};
use junto_env::wrappers;
use junto_env::{ByteRange, ErrorKind, ExecutionEnvironment, Expect, Fut, Kind, Reader, RealPath, Result};
use proptest::prelude::*;
use tokio::io::AsyncReadExt as _;

use crate::memory::Memory;

const LIMIT: u64 = 1 << 20;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

async fn put(env: &dyn ExecutionEnvironment, content: &[u8]) -> RealPath {
    let path = env.resolve("f").await.unwrap();
    env.write(&path, content, Expect::Any).await.unwrap();
    path
}

async fn bytes(env: &dyn ExecutionEnvironment, path: &RealPath) -> Vec<u8> {
    let mut content = Vec::new();
    env.open(path, ByteRange::ALL).await.unwrap().read_to_end(&mut content).await.unwrap();
    content
}

async fn text(env: &dyn ExecutionEnvironment, path: &RealPath) -> TextFile {
    match TextFile::read(env, path, LIMIT).await.unwrap() {
        Content::Text(file) => file,
        other => panic!("no text: {other:?}"),
    }
}

/// Puts `new` in the place of `old` in a file.
async fn edit(content: &[u8], old: &str, new: &str) -> (Format, Result<Vec<u8>>) {
    let env = Memory::new();
    let path = put(&env, content).await;
    let file = text(&env, &path).await;
    assert!(file.text.contains(old), "{:?}", file.text);
    let written = file.write_back(&env, &file.text.replacen(old, new, 1)).await;
    let now = bytes(&env, &path).await;
    if written.is_err() {
        assert_eq!(now, content);
    }
    (file.format, written.map(|_| now))
}

fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(unit).collect()
}

#[test]
fn a_file_is_written_back_the_way_it_was() {
    use Encoding::{Utf8, Utf16Be, Utf16Le};
    use LineEnding::{Cr, CrLf, Lf};
    let (le, be) = (u16::to_le_bytes, u16::to_be_bytes);
    let cases: [(Vec<u8>, Vec<u8>, Encoding, bool, LineEnding); 9] = [
        (b"one\ntwo\n".into(), b"one\n2 \xe2\x9c\x93\n".into(), Utf8, false, Lf),
        (b"two".into(), b"2 \xe2\x9c\x93".into(), Utf8, false, Lf),
        (b"one\r\ntwo\r\n".into(), b"one\r\n2 \xe2\x9c\x93\r\n".into(), Utf8, false, CrLf),
        (b"one\rtwo\r".into(), b"one\r2 \xe2\x9c\x93\r".into(), Utf8, false, Cr),
        // Lines that end differently stay different.
        (b"a\r\nb\r\ntwo\n".into(), b"a\r\nb\r\n2 \xe2\x9c\x93\n".into(), Utf8, false, CrLf),
        (b"\xef\xbb\xbftwo\r\n".into(), b"\xef\xbb\xbf2 \xe2\x9c\x93\r\n".into(), Utf8, true, CrLf),
        (utf16("\u{feff}two\r\n", le), utf16("\u{feff}2 ✓\r\n", le), Utf16Le, true, CrLf),
        (utf16("\u{feff}two🦀\n", be), utf16("\u{feff}2 ✓🦀\n", be), Utf16Be, true, Lf),
        (utf16("one\ntwo\n", le), utf16("one\n2 ✓\n", le), Utf16Le, false, Lf),
    ];
    for (content, expected, encoding, byte_order_mark, line_ending) in cases {
        let (format, written) = block_on(edit(&content, "two", "2 ✓"));
        assert_eq!(format, Format { encoding, byte_order_mark, line_ending });
        assert_eq!(written.unwrap(), expected);
    }
}

#[test]
fn an_old_encoding_is_kept() {
    let (format, written) = block_on(edit(b"Stra\xdfe: M\xfcller\r\n", "Müller", "Jäger"));
    assert_eq!(format.encoding.name(), "windows-1252");
    assert_eq!(written.unwrap(), b"Stra\xdfe: J\xe4ger\r\n");
}

#[test]
fn what_cannot_be_written_is_refused_with_its_reason() {
    for (content, new, reason) in [
        (
            &b"Stra\xdfe\nM\xfcller x\n"[..],
            "🦀",
            "windows-1252, does not have the character '🦀' (U+1F980) that line 2",
        ),
        (b"\xc3\xa9\xc3\xa9\nx \xc3\n", "y", "it is not valid UTF-8 (first in line 2)"),
        (b"\xff\xfex\0y", "y", "it is not valid UTF-16LE (first in line 1)"),
    ] {
        let error = block_on(edit(content, "x", new)).1.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Encoding);
        assert!(error.to_string().starts_with("/project/f: "), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn what_is_damaged_can_be_read_and_says_so() {
    block_on(async {
        let env = Memory::new();
        for (content, shown, caveat) in [
            (&b"plain"[..], "plain", None),
            (
                b"\xc3\xa9\xc3\xa9\n\xc3\n",
                "éé\n\u{fffd}\n",
                Some("not valid UTF-8: bytes that could not be read"),
            ),
            (b"Stra\xdfe\n", "Straße\n", Some("it was read as windows-1252, which is a guess")),
        ] {
            let path = put(&env, content).await;
            let file = text(&env, &path).await;
            assert_eq!(file.text, shown);
            let found = file.caveat();
            assert_eq!(found.is_some(), caveat.is_some(), "{found:?}");
            assert!(found.unwrap_or_default().contains(caveat.unwrap_or_default()));
        }
    });
}

#[test]
fn what_is_no_text_is_named() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0";
    let long = "a line\n".repeat(1000);
    let cases: [(&[u8], u64, Content); 7] = [
        (png, LIMIT, Content::Image { media_type: "image/png", bytes: png.to_vec() }),
        (png, png.len() as u64, Content::Image { media_type: "image/png", bytes: png.to_vec() }),
        (png, 10, Content::TooLarge { kind: Kind::Image("image/png"), size: png.len() as u64 }),
        (b"PK\x03\x04\x14\0\0\0", LIMIT, Content::Binary { what: "a zip archive", size: 8 }),
        (b"PK\x03\x04\x14\0\0\0", 1, Content::Binary { what: "a zip archive", size: 8 }),
        (b"%PDF-1.7\n", LIMIT, Content::Binary { what: "a PDF document", size: 9 }),
        (long.as_bytes(), 6999, Content::TooLarge { kind: Kind::Text, size: 7000 }),
    ];
    block_on(async {
        let env = Memory::new();
        for (content, limit, expected) in cases {
            let path = put(&env, content).await;
            assert_eq!(TextFile::read(&env, &path, limit).await.unwrap(), expected);
        }
        let path = put(&env, long.as_bytes()).await;
        assert!(matches!(TextFile::read(&env, &path, 7000).await.unwrap(), Content::Text(_)));
        let missing = env.resolve("missing").await.unwrap();
        assert_eq!(TextFile::read(&env, &missing, LIMIT).await.unwrap_err().kind(), ErrorKind::NotFound);
    });
}

/// Somebody changes the file whenever it is about to be read.
struct Meddling(Memory);

impl wrappers::Layer for Meddling {
    fn inner(&self) -> &dyn ExecutionEnvironment {
        &self.0
    }

    fn open<'a>(&'a self, path: &'a RealPath, range: ByteRange) -> Fut<'a, Result<Reader>> {
        Box::pin(async move {
            self.0.write(path, b"theirs", Expect::Any).await?;
            self.0.open(path, range).await
        })
    }
}

#[test]
fn a_change_is_not_overwritten_whenever_it_comes() {
    block_on(async {
        let env = Memory::new();
        let path = put(&env, b"old").await;
        let file = text(&env, &path).await;
        env.write(&path, b"theirs", Expect::Any).await.unwrap();
        assert_eq!(file.write_back(&env, "ours").await.unwrap_err().kind(), ErrorKind::Changed);
        env.remove(&path).await.unwrap();
        assert_eq!(file.write_back(&env, "ours").await.unwrap_err().kind(), ErrorKind::Changed);
        assert_eq!(env.stamp(&path).await.unwrap(), None);

        let env = Meddling(Memory::new());
        let path = put(&env, b"old").await;
        let file = text(&env, &path).await;
        assert_eq!(file.text, "theirs");
        assert_eq!(file.write_back(&env, "ours").await.unwrap_err().kind(), ErrorKind::Changed);
    });
}

proptest! {
    #[test]
    fn an_edit_touches_nothing_outside_its_span(content: Vec<u8>, at: prop::sample::Index, new in "[ -~]{0,9}") {
        block_on(async {
            let env = Memory::new();
            let path = put(&env, &content).await;
            let Content::Text(file) = TextFile::read(&env, &path, LIMIT).await.unwrap() else { return };
            let places: Vec<usize> = file.text.char_indices().map(|(at, _)| at).chain([file.text.len()]).collect();
            let at = places[at.index(places.len())];
            let edited = [&file.text[..at], &new, &file.text[at..]].concat();
            if file.fidelity != Fidelity::Exact {
                assert_eq!(file.encode(&edited).unwrap_err().kind(), ErrorKind::Encoding);
                return;
            }
            let before = file.encode(&file.text[..at]).unwrap();
            file.write_back(&env, &edited).await.unwrap();
            let now = bytes(&env, &path).await;
            let rest = content.len() - before.len();
            assert_eq!(&now[..before.len()], &content[..before.len()]);
            assert_eq!(&now[now.len() - rest..], &content[before.len()..]);
        });
    }
}
