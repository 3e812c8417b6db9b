//! Reading, listing and writing files with single tools, and every kind of file that is none.

use std::fs::{File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use junto_agent::tools::{ListDir, ReadFile, ReadManyFiles, WriteFile};
use junto_core::{Action, Tool};
use serde_json::{Value, json};

use crate::place::Place;

fn file(path: &str) -> Value {
    json!({"file_path": path})
}

/// A PNG as far as anybody looks.
fn png() -> Vec<u8> {
    let mut data = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x04\0\0\0\x05\x08\x02\0\0\0".to_vec();
    data.extend([0; 32]);
    data
}

#[tokio::test]
async fn text_is_shown_with_numbers_whatever_its_encoding() {
    let read = ReadFile::default();
    for (content, expected) in [
        (&b"a\nb"[..], "  1 | a\n  2 | b\n"),
        (b"a\r\nb\r\n", "  1 | a\n  2 | b\n"),
        (b"a\rb\r", "  1 | a\n  2 | b\n"),
        (b"\xef\xbb\xbfa\n", "  1 | a\n"),
        (b"\xff\xfea\0\n\0\xe9\0", "  1 | a\n  2 | \u{e9}\n"),
        (b"", "[the file is empty]\n"),
    ] {
        let place = Place::with(&[("a", content)]);
        assert_eq!(place.call(&read, file("a")).await.unwrap(), expected, "{content:?}");
    }
    let latin = Place::with(&[("a", b"un caf\xe9 cr\xe8me, d\xe9j\xe0 vu\n")]);
    let said = latin.call(&read, file("a")).await.unwrap();
    assert!(said.starts_with("  1 | un café crème, déjà vu\n[The file is not UTF-8"), "{said}");
    let damaged = Place::with(&[("a", "übergrößenträger\n\u{e9}".as_bytes()), ("b", b"")]);
    damaged.write("a", [damaged.read("a"), b"\xff\n".to_vec()].concat());
    let said = damaged.call(&read, file("a")).await.unwrap();
    assert!(said.contains('\u{fffd}') && said.contains("first in line 2"), "{said}");
}

#[tokio::test]
async fn pictures_are_attached_and_other_binaries_named() {
    let place = Place::with(&[("a.png", &png()), ("b", b"%PDF-1.7\n"), ("c", &[0; 100]), ("d.png", b"x")]);
    let read = ReadFile::default();
    let outcome = place.outcome(&read, file("a.png")).await;
    assert_eq!((outcome.is_error, outcome.images.len()), (false, 1));
    assert_eq!(outcome.images[0].mime(), "image/png");
    assert!(outcome.output.preview().contains("4 x 5 pixels"), "{:?}", outcome.output);
    place.fails(&read, file("b"), "PLACE/b is a binary file (a PDF document, 9 bytes)").await;
    place.fails(&read, file("c"), "binary data").await;
    place.works(&read, file("d.png"), "  1 | x").await;
    let large: Vec<u8> = png().into_iter().chain(std::iter::repeat(7)).take(5_000_000).collect();
    place.write("large.png", &large);
    place.fails(&read, file("large.png"), "5000000 bytes; at most").await;
    let huge: Vec<u8> = png().into_iter().chain(std::iter::repeat(7)).take(9_000_000).collect();
    place.write("huge.png", &huge);
    place.fails(&read, file("huge.png"), "9000000 bytes; at most").await;
}

#[tokio::test]
async fn notebooks_are_shown_as_text() {
    let notebook = json!({"cells": [
        {"cell_type": "code", "source": ["x = 1\n", "x"], "execution_count": 1,
         "outputs": [{"data": {"text/plain": "1"}}]}
    ]});
    let place = Place::with(&[("a.ipynb", notebook.to_string().as_bytes()), ("b.ipynb", b"{\"cells\"")]);
    let read = ReadFile::default();
    let said = place.call(&read, file("a.ipynb")).await.unwrap();
    let shown = "  1 | [1 code, run 1]\n  2 | x = 1\n  3 | x\n  4 | [1 output]\n  5 | 1\n";
    assert!(said.starts_with("[a notebook of 1 cells") && said.ends_with(shown), "{said}");
    let part = json!({"file_path": "a.ipynb", "offset": 2, "limit": 1});
    place.works(&read, part, "  2 | x = 1\n[the file goes on").await;
    place.works(&read, file("b.ipynb"), "  1 | {\"cells\"\n[no notebook that can be read").await;
}

#[tokio::test]
async fn a_miss_names_what_may_have_been_meant() {
    let place = Place::with(&[("src/main.rs", b"x"), ("src/Lib.rs", b"x"), ("docs/readme.md", b"x")]);
    let read = ReadFile::default();
    for (path, part) in [
        ("src/mian.rs", "there is no PLACE/src/mian.rs; near it: main.rs"),
        ("src/lib.rs", "near it: Lib.rs"),
        ("docs/readme.txt", "near it: readme.md"),
        ("sc/main.rs", "the nearest directory above it is PLACE, which has src"),
        ("src/deep/down.rs", "the nearest directory above it is PLACE/src"),
        ("/src/main.rs", "there is PLACE/src/main.rs"),
        ("/home/somebody/src/main.rs", "there is PLACE/src/main.rs"),
        ("src/main.rs/x", "Not a directory"),
        ("nothing_like_it.c", "there is no PLACE/nothing_like_it.c"),
    ] {
        place.fails(&read, file(path), part).await;
    }
    place.fails(&ListDir::default(), json!({"path": "doc"}), "near it: docs").await;
}

#[tokio::test]
async fn reading_declares_every_place_it_looks_at() {
    let place = Place::with(&[("src/main.rs", b"x")]);
    let reads = async |path: &str| -> Vec<String> {
        let actions = place.actions(&ReadFile::default(), &file(path)).await.unwrap();
        actions
            .into_iter()
            .map(|action| match action {
                Action::Read { path } => {
                    path.as_path().strip_prefix(place.path("")).unwrap().display().to_string()
                }
                other => panic!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(reads("src/main.rs").await, ["src/main.rs"]);
    assert_eq!(reads("src/man.rs").await, ["src/man.rs", "src"]);
    assert_eq!(reads("other/src/main.rs").await, ["other/src/main.rs", "src/main.rs", ""]);
}

/// A loop of links, a named pipe, a directory, and a folder nobody may enter.
fn oddities() -> Place {
    let place = Place::with(&[("dir/a", b"x")]);
    symlink("loop_b", place.path("loop_a")).unwrap();
    symlink("loop_a", place.path("loop_b")).unwrap();
    nix_mkfifo(&place, "pipe");
    place
}

fn nix_mkfifo(place: &Place, name: &str) {
    let mode = nix::sys::stat::Mode::from_bits_truncate(0o600);
    nix::unistd::mkfifo(&place.path(name), mode).unwrap();
}

#[tokio::test]
async fn what_is_no_file_is_refused_by_every_tool() {
    let place = oddities();
    let (read, write) = (ReadFile::default(), WriteFile::default());
    for (path, part) in [
        ("dir", "is a directory"),
        ("pipe", "a named pipe"),
        ("/dev/zero", "a device"),
        ("/dev/stdin", ""),
        ("loop_a", "symbolic links"),
        ("", "the path is empty"),
        ("a\0b", ""),
    ] {
        let call = async {
            place.fails(&read, file(path), part).await;
            if path != "/dev/stdin" {
                let content = json!({"file_path": path, "content": "x"});
                place.fails(&write, content, if path == "dir" { "a directory" } else { part }).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), call).await.expect(path);
    }
    place.fails(&read, file("dir"), "list what is in it").await;
    place.works(&read, file("/proc/self/status"), "  1 | Name:").await;
    place.fails(&write, json!({"file_path": "dir/a/b", "content": "x"}), "Not a directory").await;
    place.fails(&ListDir::default(), json!({"path": "dir/a"}), "no directory").await;
    place.fails(&ListDir::default(), json!({"path": "loop_a"}), "symbolic links").await;
}

/// The most memory this process ever had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn large_files_cost_little_memory() {
    let place =
        Place::with(&[("line", &b"x".repeat(10_000_000)), ("lines", &b"0123456\n".repeat(1_500_000))]);
    File::create(place.path("sparse")).unwrap().set_len(5 << 30).unwrap();
    place.write("sparse_text", "begins as text\n");
    File::options().append(true).open(place.path("sparse_text")).unwrap().set_len(5 << 30).unwrap();
    place.write("long_text", b"some words and no line's end ".repeat(4000));
    File::options().append(true).open(place.path("long_text")).unwrap().set_len(5 << 30).unwrap();
    let read = ReadFile::default();
    let before = peak();
    place.fails(&read, file("sparse"), "binary data, 5368709120 bytes").await;
    place.fails(&read, file("sparse_text"), "binary data").await;
    place.works(&read, file("long_text"), "no end in sight").await;
    place.works(&read, file("line"), "more bytes of this line").await;
    let far = json!({"file_path": "lines", "offset": 1_400_000, "limit": 1});
    place.works(&read, far, "1400000 | 0123456\n[the file goes on").await;
    place.works(&WriteFile::default(), json!({"file_path": "sparse", "content": "x"}), "replaced").await;
    let grown = peak() - before;
    assert!(grown < 50 << 10, "{grown} KiB");
}

#[tokio::test]
async fn a_cancelled_read_ends_and_a_cancelled_write_is_done() {
    let place = Place::with(&[("a", b"x")]);
    let read = ReadFile::default();
    place.cx.cancel.cancel();
    let gate_needs_none = place.call(&WriteFile::default(), json!({"file_path": "b", "content": "y"})).await;
    assert!(gate_needs_none.is_ok(), "{gate_needs_none:?}");
    assert_eq!(place.read("b"), b"y");
    place.fails(&read, file("a"), "interrupted").await;
    place.fails(&ListDir::default(), json!({}), "interrupted").await;
    place.fails(&ReadManyFiles::default(), json!({"paths": ["a"]}), "interrupted").await;
}

#[tokio::test]
async fn a_text_is_replaced_as_it_was_written() {
    for (before, content, expected, said) in [
        (None, "a\n", &b"a\n"[..], "created PLACE/a (2 bytes)"),
        (Some(&b"x\n"[..]), "a\nb\n", b"a\nb\n", "replaced PLACE/a (4 bytes)"),
        (Some(b"x\r\n"), "a\nb\n", b"a\r\nb\r\n", "(6 bytes, as before in CRLF line ends)"),
        (Some(b"x\r\n"), "a\r\nb\n", b"a\r\nb\n", "(5 bytes)"),
        (Some(b"x\n"), "a\r\n", b"a\r\n", "(3 bytes)"),
        (Some(b"\xef\xbb\xbfx\n"), "a\n", b"\xef\xbb\xbfa\n", "with a byte order mark"),
        (Some(b"\xef\xbb\xbfx\n"), "\u{feff}a\n", b"\xef\xbb\xbfa\n", "(5 bytes)"),
        (Some(b"\xff\xfex\0\r\0\n\0"), "a\n", b"\xff\xfea\0\r\0\n\0", "UTF-16LE with a byte order mark"),
        (Some(b"d\xe9j\xe0 vu, caf\xe9\n"), "caf\u{e9}\n", b"caf\xe9\n", "as before in windows-1252"),
        (Some(b"d\xe9j\xe0 vu, caf\xe9\n"), "\u{1f980}\n", "\u{1f980}\n".as_bytes(), "now in UTF-8"),
        (Some(b"\0\0\0"), "a\n", b"a\n", "replaced PLACE/a (2 bytes)"),
        (Some(b"x\n"), "", b"", "(0 bytes)"),
    ] {
        let place = Place::new();
        if let Some(before) = before {
            place.write("a", before);
        }
        let args = json!({"file_path": "a", "content": content});
        place.works(&WriteFile::default(), args, said).await;
        assert_eq!(place.read("a"), expected, "{content:?} over {before:?}");
    }
}

#[tokio::test]
async fn a_protected_file_is_left_alone() {
    let place = Place::with(&[("a", b"x")]);
    std::fs::set_permissions(place.path("a"), Permissions::from_mode(0o755)).unwrap();
    place.works(&WriteFile::default(), json!({"file_path": "a", "content": "y"}), "replaced").await;
    let mode = std::fs::metadata(place.path("a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755, "the mode is kept");
    // A file system that takes no files, whoever asks.
    let args = json!({"file_path": "/proc/nothing/here", "content": "x"});
    place.fails(&WriteFile::default(), args, "nothing was written").await;
    assert_eq!(place.files(), [("a".into(), b"y".to_vec())], "nothing beside it");
}

#[tokio::test]
async fn directories_are_listed() {
    let place = Place::with(&[
        ("b.txt", b"12345"),
        ("src/main.rs", b"x"),
        ("src/deep/down/a", b""),
        (".git/config", b"x"),
        ("web/node_modules/x/index.js", b"x"),
        ("odd\nname", b""),
    ]);
    symlink("b.txt", place.path("link")).unwrap();
    let list = ListDir::default();
    assert_eq!(
        place.call(&list, json!({})).await.unwrap(),
        "PLACE:\n.git/\nb.txt (5 bytes)\nlink (no regular file)\nodd\\nname (0 bytes)\nsrc/\nweb/\n"
    );
    let deep = place.call(&list, json!({"depth": 3})).await.unwrap();
    assert_eq!(
        deep,
        "PLACE:\n.git/\nb.txt (5 bytes)\nlink (no regular file)\nodd\\nname (0 bytes)\nsrc/\nsrc/deep/\n\
         src/deep/down/\nsrc/main.rs (1 bytes)\nweb/\nweb/node_modules/\n[not opened: .git, web/node_modules]\n"
    );
    // What is asked for by name is opened.
    place.works(&list, json!({"path": ".git"}), "config (1 bytes)").await;
    std::fs::create_dir(place.path("empty")).unwrap();
    place.works(&list, json!({"path": "empty"}), "[the directory is empty]").await;
    for n in 0..1100 {
        place.write(&format!("many/{n}"), "");
    }
    let said = place.call(&list, json!({"path": "many"})).await.unwrap();
    assert!(said.ends_with("[only the first 1000 entries; list a directory in it, or use glob]\n"), "{said}");
    assert_eq!(said.lines().count(), 1002);
}

#[tokio::test]
async fn several_files_are_read_at_once() {
    let place = Place::with(&[
        ("a.rs", b"one\n"),
        ("b.rs", b"two\n"),
        ("sub/c.rs", b"three\n"),
        ("odd[1].txt", b"four\n"),
        ("binary", &[0; 9]),
        ("pic.png", &png()),
    ]);
    let many = ReadManyFiles::default();
    let said = place.call(&many, json!({"paths": ["b.rs", "a.rs", "b.rs", "odd[1].txt"]})).await.unwrap();
    assert_eq!(
        said,
        "==> b.rs <==\n  1 | two\n\n==> a.rs <==\n  1 | one\n\n==> odd[1].txt <==\n  1 | four\n\n"
    );
    let outcome = place.outcome(&many, json!({"paths": ["binary", "nowhere", ".", "pic.png"]})).await;
    let said = outcome.output.preview();
    assert_eq!((outcome.is_error, outcome.images.len()), (false, 1));
    for part in
        ["[not read: ", "binary file", "there is no ", "is a directory", "==> pic.png <==\n[image/png"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let names = async |paths: Value| -> Vec<String> {
        let said = place.call(&many, json!({ "paths": paths })).await.unwrap_or_else(|said| said);
        let heads = said.lines().filter_map(|line| line.strip_prefix("==> ")?.strip_suffix(" <=="));
        heads.map(str::to_owned).collect()
    };
    assert_eq!(names(json!(["*.rs"])).await, ["a.rs", "b.rs"]);
    assert_eq!(names(json!(["sub/*", "**/*.rs"])).await, ["sub/c.rs", "a.rs", "b.rs"]);
    assert_eq!(names(json!(["PLACE/{a,b}.rs"])).await, ["a.rs", "b.rs"]);
    assert_eq!(names(json!(["nowhere/*.rs", "a.rs"])).await, ["nowhere/*.rs", "a.rs"]);
    place.works(&many, json!({"paths": ["*.py", "a.rs"]}), "==> *.py <==\n[nothing matches: ").await;
    place.fails(&many, json!({"paths": ["a[.rs"]}), "a[.rs").await;
    place.fails(&many, json!({"paths": ["nowhere"]}), "there is no PLACE/nowhere").await;
    place.fails(&many, json!({"paths": [""]}), "the path is empty").await;
    for n in 0..6 {
        place.write(&format!("long{n}"), ("0123456789".repeat(50) + "\n").repeat(1000));
    }
    let names: Vec<String> = (0..6).map(|n| format!("long{n}")).collect();
    let said = place.call(&many, json!({ "paths": names })).await.unwrap();
    assert!(said.len() < 400_000 && said.ends_with("[no room left for: long4, long5]\n"), "{}", said.len());
}

#[test]
fn the_tools_are_called_what_the_specification_calls_them() {
    let tools: [&dyn Tool; 4] =
        [&ReadFile::default(), &WriteFile::default(), &ListDir::default(), &ReadManyFiles::default()];
    let names = tools.map(|tool| tool.spec().name.clone());
    assert_eq!(names, ["read_file", "write_file", "list_dir", "read_many_files"]);
}
