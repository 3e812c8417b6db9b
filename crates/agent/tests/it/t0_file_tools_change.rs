//! Editing and patching files with single tools: what changes, and that nothing else does.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use junto_agent::tools::{self, ApplyPatch, EditFile, ListDir, ReadFile, ReadManyFiles, WriteFile};
use junto_core::Action;
use junto_env::wrappers::{self, ReadOnly};
use junto_env::{
    Error, ErrorKind, ExecutionEnvironment, Expect, Fut, LocalEnvironment, RealPath, Result, Stamp,
};
use serde_json::{Value, json};

use crate::memory::Memory;
use crate::place::Place;

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"file_path": path, "old_string": old, "new_string": new})
}

fn patch(body: &str) -> Value {
    json!({"patch": format!("*** Begin Patch\n{body}*** End Patch\n")})
}

#[tokio::test]
async fn an_edit_shows_what_came_of_it() {
    let text: String = (1..=20).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n") + "\n";
    let place = Place::with(&[("a", text.as_bytes())]);
    let said = place.call(&EditFile::default(), edit("a", "line 10\n", "ten\nand a half\n")).await.unwrap();
    assert_eq!(
        said,
        "replaced once in PLACE/a\n  8 | line 8\n  9 | line 9\n 10 | ten\n 11 | and a half\n 12 | line 11\n \
         13 | line 12\n...\n"
    );
    let all = json!({"file_path": "a", "old_string": "line", "new_string": "row", "replace_all": true});
    let said = place.call(&EditFile::default(), all).await.unwrap();
    // Every line once, and nothing after the last.
    let lines: Vec<&str> = said.lines().skip(1).collect();
    assert!(said.starts_with("replaced 19 times") && lines.len() == 21, "{said}");
    assert!(
        lines.iter().zip(1..).all(|(line, number)| line.trim().starts_with(&format!("{number} | "))),
        "{said}"
    );
}

#[tokio::test]
async fn an_edit_of_many_places_shows_some_of_them() {
    let text: String = (1..=90).map(|n| if n % 20 == 1 { "x\n" } else { "\n" }).collect();
    let place = Place::with(&[("a", text.as_bytes()), ("end", b"one\ntwo\n")]);
    let all = json!({"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true});
    let said = place.call(&EditFile::default(), all).await.unwrap();
    assert_eq!(
        said,
        "replaced 5 times in PLACE/a\n  1 | y\n  2 | \n  3 | \n...\n 19 | \n 20 | \n 21 | y\n 22 | \n 23 | \n...\n \
         39 | \n 40 | \n 41 | y\n 42 | \n 43 | \n...\n[and 2 places more]\n"
    );
    let said = place.call(&EditFile::default(), edit("end", "two", "2")).await.unwrap();
    assert_eq!(said, "replaced once in PLACE/end\n  1 | one\n  2 | 2\n", "nothing follows");
}

#[tokio::test]
async fn an_edit_keeps_how_the_file_is_written() {
    for (before, old, new, after) in [
        (&b"one\r\ntwo\r\n"[..], "one", "1", &b"1\r\ntwo\r\n"[..]),
        (b"\xef\xbb\xbfone\n", "one", "1", b"\xef\xbb\xbf1\n"),
        (b"\xff\xfeo\0n\0e\0\n\0", "one", "\u{1f980}", b"\xff\xfe\x3e\xd8\x80\xdd\n\0"),
        (b"d\xe9j\xe0 vu, caf\xe9\n", "caf\u{e9}", "th\u{e9}", b"d\xe9j\xe0 vu, th\xe9\n"),
        (b"mixed\r\nends\nhere\r\n", "ends", "end", b"mixed\r\nend\nhere\r\n"),
    ] {
        let place = Place::with(&[("a", before)]);
        place.works(&EditFile::default(), edit("a", old, new), "replaced once").await;
        assert_eq!(place.read("a"), after, "{old}");
    }
}

#[tokio::test]
async fn an_edit_that_cannot_be_made_changes_nothing() {
    let latin = b"d\xe9j\xe0 vu, caf\xe9\n";
    let place = Place::with(&[
        ("a.txt", b"one two one\n"),
        ("latin", latin),
        ("damaged", "größer und schöner\nals \u{fc}blich".as_bytes()),
        ("binary", &[0; 20]),
    ]);
    place.write("damaged", [place.read("damaged"), b"\xff\n".to_vec()].concat());
    std::fs::create_dir(place.path("dir")).unwrap();
    let before = place.files();
    let tool = EditFile::default();
    for (path, old, new, part) in [
        ("a.txt", "three", "3", "not in the file"),
        ("a.txt", "one", "1", "2"),
        ("a.txt", "", "x", "empty"),
        ("a.txt", "one", "one", "same"),
        ("a.text", "one", "1", "near it: a.txt; a new file has to be written whole"),
        ("latin", "vu", "\u{1f980}", "does not have the character"),
        ("damaged", "und", "oder", "not valid UTF-8"),
        ("binary", "a", "b", "binary file"),
        ("dir", "a", "b", "a directory"),
        ("/dev/zero", "a", "b", "a device"),
        ("", "a", "b", "the path is empty"),
    ] {
        place.fails(&tool, edit(path, old, new), part).await;
    }
    place.write("large", "x".repeat(9_000_000));
    place.fails(&tool, edit("large", "x", "y"), "too large to edit").await;
    std::fs::remove_file(place.path("large")).unwrap();
    assert_eq!(place.files(), before);
}

#[tokio::test]
async fn no_error_names_a_tool_that_may_not_be_there() {
    let notebook = json!({"cells": [{"cell_type": "code", "source": "x = 1", "outputs": []}]}).to_string();
    let place = Place::with(&[("a.txt", b"one\n"), ("n.ipynb", notebook.as_bytes()), ("binary", &[0; 20])]);
    place.write("large", "x".repeat(9_000_000));
    std::fs::create_dir(place.path("dir")).unwrap();
    let (reader, writer, editor) = (ReadFile::default(), WriteFile::default(), EditFile::default());
    let (lister, patcher) = (ListDir::default(), ApplyPatch::default());
    let file = |name: &str| json!({"file_path": name});
    let content = |name: &str| json!({"file_path": name, "content": ""});
    let calls: [(&dyn junto_core::Tool, Value); 14] = [
        (&reader, file("dir")),
        (&reader, file("gone")),
        (&reader, file("binary")),
        (&reader, file("n.ipynb")),
        (&reader, json!({"file_path": "a.txt", "offset": 9})),
        (&writer, content("dir")),
        (&writer, content("a.txt/below")),
        (&editor, edit("gone", "a", "b")),
        (&editor, edit("large", "a", "b")),
        (&editor, edit("dir", "a", "b")),
        (&editor, edit("binary", "a", "b")),
        (&lister, json!({"path": "a.txt"})),
        (&lister, json!({"path": "gone"})),
        (&patcher, patch("*** Update File: binary\n@@\n-a\n+b\n")),
    ];
    let names: Vec<String> = tools::all().iter().map(|tool| tool.spec().name.clone()).collect();
    for (tool, args) in calls {
        let said = place.call(tool, args.clone()).await.unwrap_or_else(|error| error);
        let named = names
            .iter()
            .find(|name| said.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == *name));
        assert_eq!(named, None, "{args}: {said}");
    }
}

#[tokio::test]
async fn a_patch_does_everything_it_says() {
    let place = Place::with(&[
        ("change.txt", b"one\ntwo\nthree\n"),
        ("windows.txt", b"\xef\xbb\xbfone\r\ntwo\r\n"),
        ("old/name.sh", b"echo 1\n"),
        ("gone.txt", b"x\n"),
        ("gone.bin", &[0; 50]),
        ("replaced.txt", b"a\r\nb\r\n"),
    ]);
    let script = place.path("old/name.sh");
    std::fs::set_permissions(script, PermissionsExt::from_mode(0o755)).unwrap();
    let body = "\
*** Add File: deep/down/new.txt
+hello
*** Update File: change.txt
@@
 one
-two
+2
*** Update File: windows.txt
@@
-two
+2
+3
*** Update File: old/name.sh
*** Move to: new/name.sh
@@
-echo 1
+echo 2
*** Delete File: gone.txt
*** Delete File: gone.bin
*** Add File: replaced.txt
+c
";
    let said = place.call(&ApplyPatch::default(), patch(body)).await.unwrap();
    assert_eq!(
        said,
        "A deep/down/new.txt\nM change.txt\nM windows.txt\nR old/name.sh -> new/name.sh\nD gone.txt\n\
         D gone.bin\nM replaced.txt\n"
    );
    let expected: [(&str, &[u8]); 5] = [
        ("change.txt", b"one\n2\nthree\n"),
        ("deep/down/new.txt", b"hello\n"),
        ("new/name.sh", b"echo 2\n"),
        ("replaced.txt", b"c\r\n"),
        ("windows.txt", b"\xef\xbb\xbfone\r\n2\r\n3\r\n"),
    ];
    assert_eq!(place.files(), expected.map(|(name, content)| (name.to_owned(), content.to_vec())));
    let mode = std::fs::metadata(place.path("new/name.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755, "a file that moves keeps its mode");
}

#[tokio::test]
async fn a_patch_says_where_it_looked_less_closely() {
    let place = Place::with(&[("a", b"if x:  \n    y\n")]);
    let said =
        place.call(&ApplyPatch::default(), patch("*** Update File: a\n@@\n-if x:\n+if z:\n")).await.unwrap();
    assert_eq!(
        said,
        "M a\n[a, hunk 1: found at line 1 only when space at the end of lines is not compared]\n"
    );
}

#[tokio::test]
async fn a_patch_that_fails_leaves_all_files_as_they_were() {
    let place = Place::with(&[("a", b"one\n"), ("b", b"two\n"), ("c", b"three\n"), ("binary", &[0; 50])]);
    std::fs::set_permissions(place.path("b"), PermissionsExt::from_mode(0o750)).unwrap();
    std::fs::create_dir(place.path("dir")).unwrap();
    let before = place.files();
    let first = "*** Update File: a\n@@\n-one\n+1\n*** Add File: new\n+x\n*** Delete File: b\n";
    for (rest, part) in [
        // Known before anything is written.
        ("*** Update File: c\n@@\n-four\n+4\n", "PLACE/c, hunk 1"),
        ("*** Update File: nowhere\n@@\n-four\n+4\n", "PLACE/nowhere: there is no such file"),
        ("*** Delete File: nowhere\n", "PLACE/nowhere: there is no such file"),
        ("*** Update File: binary\n@@\n-four\n+4\n", "PLACE/binary cannot be patched"),
        ("*** Update File: dir\n@@\n-four\n+4\n", "a directory"),
        ("*** Delete File: dir\n", "a directory"),
        ("*** Update File: c\n*** Move to: a\n@@\n-three\n+3\n", "there is such a file"),
        // Known only by trying.
        ("*** Add File: /proc/nothing/here\n+x\n", "all files are as they were"),
        ("*** Delete File: /proc/self/comm\n", "all files are as they were"),
        (
            "*** Update File: c\n*** Move to: /proc/nothing/here\n@@\n-three\n+3\n",
            "all files are as they were",
        ),
        ("*** Add File: a/below\n+x\n", "Not a directory"),
    ] {
        place.fails(&ApplyPatch::default(), patch(&format!("{first}{rest}")), part).await;
        assert_eq!(place.files(), before, "{rest}");
        let mode = std::fs::metadata(place.path("b")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o750, "{rest}");
    }
}

#[tokio::test]
async fn a_patch_takes_away_nothing_that_a_link_leads_to() {
    let elsewhere = Place::with(&[("precious", b"data\n")]);
    let place = Place::with(&[("near", b"data\n"), ("dir/inner", b"data\n")]);
    for (target, link) in [
        (elsewhere.path("precious"), "far"),
        ("near".into(), "close"),
        ("nowhere".into(), "dangling"),
        ("dir".into(), "to_dir"),
    ] {
        std::os::unix::fs::symlink(target, place.path(link)).unwrap();
    }
    let entries = || {
        let entries = std::fs::read_dir(place.path("")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = entries();
    for link in ["far", "close", "dangling", "dir/../far"] {
        for body in [
            format!("*** Delete File: {link}\n"),
            format!("*** Update File: {link}\n*** Move to: renamed\n@@\n-data\n+DATA\n"),
        ] {
            place.fails(&ApplyPatch::default(), patch(&body), "is a symbolic link to ").await;
        }
    }
    assert_eq!(entries(), before);
    assert_eq!(place.read("near"), b"data\n");
    assert_eq!(elsewhere.read("precious"), b"data\n");
    // A link further up the path is only a way to the file, and an update stays where the file is.
    place.works(&ApplyPatch::default(), patch("*** Delete File: to_dir/inner\n"), "D dir/inner").await;
    let update = "*** Update File: close\n@@\n-data\n+new\n";
    place.works(&ApplyPatch::default(), patch(update), "M near").await;
    assert_eq!(place.read("near"), b"new\n");
    assert!(std::fs::symlink_metadata(place.path("close")).unwrap().is_symlink());
}

/// A disk that is full after so many changes, for a moment: one change fails, and then there is room.
struct Filling {
    inner: LocalEnvironment,
    room: AtomicI32,
}

impl Filling {
    fn check(&self, path: &RealPath) -> Result<()> {
        if self.room.fetch_sub(1, Ordering::SeqCst) == 0 {
            return Err(Error::new(ErrorKind::Full, path, "no space is left"));
        }
        Ok(())
    }
}

impl wrappers::Layer for Filling {
    fn inner(&self) -> &dyn ExecutionEnvironment {
        &self.inner
    }

    fn write<'a>(&'a self, path: &'a RealPath, data: &'a [u8], expect: Expect) -> Fut<'a, Result<Stamp>> {
        match self.check(path) {
            Ok(()) => ExecutionEnvironment::write(&self.inner, path, data, expect),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    fn rename<'a>(&'a self, from: &'a RealPath, to: &'a RealPath) -> Fut<'a, Result<()>> {
        match self.check(from) {
            Ok(()) => ExecutionEnvironment::rename(&self.inner, from, to),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }
}

#[tokio::test]
async fn a_full_disk_in_the_middle_of_a_patch_leaves_all_files_as_they_were() {
    let body = "*** Update File: a\n@@\n-one\n+1\n*** Add File: new\n+x\n*** Update File: b\n\
                *** Move to: c\n@@\n-two\n+2\n*** Delete File: d\n*** Delete File: e\n";
    let changes = 6;
    for room in 0..=changes {
        let place = Place::around(|inner| Arc::new(Filling { inner, room: AtomicI32::new(room) }));
        for (name, content) in [("a", "one\n"), ("b", "two\n"), ("d", "x"), ("e", "x")] {
            place.write(name, content);
        }
        let before = place.files();
        if room == changes {
            place.works(&ApplyPatch::default(), patch(body), "M a\nA new\nR b -> c\nD d\nD e\n").await;
            continue;
        }
        place.fails(&ApplyPatch::default(), patch(body), "no space is left").await;
        assert_eq!(place.files(), before, "{room}");
    }
    let place = Place::around(|inner| Arc::new(Filling { inner, room: AtomicI32::new(0) }));
    place.write("a", "one");
    place.fails(&EditFile::default(), edit("a", "one", "1"), "no space is left; nothing was written").await;
    assert_eq!(place.read("a"), b"one");
}

#[tokio::test]
async fn what_may_only_be_read_is_not_written() {
    let place = Place::around(|inner| Arc::new(ReadOnly::new(inner)));
    place.write("a", "one\n");
    let before = place.files();
    place.works(&ReadFile::default(), json!({"file_path": "a"}), "  1 | one").await;
    place.fails(&EditFile::default(), edit("a", "one", "1"), "nothing was written").await;
    place.fails(&WriteFile::default(), json!({"file_path": "a", "content": ""}), "nothing was written").await;
    place.fails(&ApplyPatch::default(), patch("*** Delete File: a\n"), "all files are as they were").await;
    assert_eq!(place.files(), before);
}

#[tokio::test]
async fn what_was_changed_since_it_was_seen_is_not_replaced() {
    let write = |content: &str| json!({"file_path": "a", "content": content});
    let look = || json!({"file_path": "a"});
    let add = || patch("*** Add File: a\n+mine\n");
    let (reader, writer, editor) = (ReadFile::default(), WriteFile::default(), EditFile::default());
    let (many, patcher) = (ReadManyFiles::default(), ApplyPatch::default());
    let update = || patch("*** Update File: a\n@@\n-one\n+two\n");
    // What the model does first, by which it knows the file.
    let first: [(&dyn junto_core::Tool, Value); 6] = [
        (&reader, look()),
        (&reader, json!({"file_path": "a", "offset": 1, "limit": 1})),
        (&many, json!({"paths": ["a"]})),
        (&writer, write("one\n")),
        (&editor, edit("a", "one", "two")),
        (&patcher, update()),
    ];
    for (tool, args) in first {
        let place = Place::with(&[("a", b"one\n")]);
        place.works(tool, args.clone(), "").await;
        // Twice by itself, for what it wrote it has seen.
        place.works(&writer, write("one\n"), "replaced").await;
        place.works(tool, args.clone(), "").await;
        place.write("a", "one, and somebody else's\n");
        let told = "a was changed since you last read or wrote it, so it was left alone; read it again";
        place.fails(&writer, write("mine\n"), told).await;
        place.fails(&patcher, add(), told).await;
        place.fails(&editor, edit("a", "one", "1"), told).await;
        // A patch shows by its context that it is about what is there. It does not show the rest.
        place
            .works(&patcher, patch("*** Update File: a\n@@\n-one, and somebody else's\n+1, theirs\n"), "M a")
            .await;
        place.fails(&writer, write("mine\n"), told).await;
        assert_eq!(place.read("a"), b"1, theirs\n", "{args}");
        place.works(&reader, look(), "theirs").await;
        place.works(&writer, write("mine\n"), "replaced").await;
    }
    // What was never seen is replaced, and what is gone is made anew.
    let place = Place::with(&[("a", b"one\n")]);
    place.works(&writer, write("blind\n"), "replaced").await;
    std::fs::remove_file(place.path("a")).unwrap();
    place.works(&writer, write("anew\n"), "created").await;
}

#[tokio::test]
async fn the_tools_work_in_an_environment_of_somebody_elses() {
    let place = Place::around(|_| Arc::new(Memory::new()));
    let write = json!({"file_path": "src/a.rs", "content": "one\ntwo\n"});
    place.works(&WriteFile::default(), write, "created /project/src/a.rs (8 bytes)").await;
    place.works(&EditFile::default(), edit("src/a.rs", "two", "2"), "replaced once").await;
    let body = "*** Update File: src/a.rs\n*** Move to: src/b.rs\n@@\n-one\n+1\n*** Add File: c\n+x\n";
    place.works(&ApplyPatch::default(), patch(body), "R src/a.rs -> src/b.rs\nA c\n").await;
    place.works(&ReadFile::default(), json!({"file_path": "src/b.rs"}), "  1 | 1\n  2 | 2\n").await;
    place.fails(&ReadFile::default(), json!({"file_path": "src/B.rs"}), "near it: b.rs").await;
    place.fails(&ReadFile::default(), json!({"file_path": "src"}), "is a directory").await;
    place.works(&ListDir::default(), json!({"depth": 2}), "c (2 bytes)\nsrc/\nsrc/b.rs (4 bytes)\n").await;
    place.works(&ReadManyFiles::default(), json!({"paths": ["c", "src/b.rs"]}), "==> src/b.rs <==").await;
    place.works(&ApplyPatch::default(), patch("*** Delete File: c\n"), "D c").await;
    place.fails(&ReadFile::default(), json!({"file_path": "c"}), "there is no /project/c").await;
}

#[tokio::test]
async fn what_is_no_patch_is_explained() {
    let place = Place::with(&[("a", b"one\n")]);
    let tool = ApplyPatch::default();
    place.fails(&tool, json!({"patch": "hello"}), "the patch cannot be read").await;
    place.fails(&tool, json!({"patch": ""}), "the patch").await;
    place.fails(&tool, patch("*** Update File: a\n@@\n*one\n"), "the patch cannot be read").await;
    place.fails(&tool, json!({"diff": "x"}), "bad arguments").await;
    // Nothing to do is no failure.
    place.works(&tool, patch("*** Add File: a\n+one\n"), "changes nothing").await;
}

#[tokio::test]
async fn a_patch_declares_every_file_it_touches() {
    let place = Place::with(&[("a", b"one\n")]);
    let body = "*** Update File: a\n*** Move to: sub/../b\n@@\n-one\n+1\n*** Delete File: /elsewhere/c\n";
    let actions = place.actions(&ApplyPatch::default(), &patch(body)).await.unwrap();
    let said: Vec<String> = actions
        .iter()
        .map(|action| match action {
            Action::Read { path } => format!("read {path}"),
            Action::Write { path } => format!("write {path}"),
            other => panic!("{other:?}"),
        })
        .map(|said| said.replace(place.path("").to_str().unwrap(), ""))
        .collect();
    assert_eq!(said, ["read a", "write a", "read b", "write b", "read /elsewhere/c", "write /elsewhere/c"]);
    // What is named twice, in two ways, is one file.
    let twice = "*** Update File: a\n@@\n-one\n+two\n*** Update File: ./a\n@@\n-two\n+three\n";
    place.works(&ApplyPatch::default(), patch(twice), "M a\n").await;
    assert_eq!(place.read("a"), b"three\n");
}
