//! What is a patch, and what is said about what is none.

use junto_patch::{Hunk, LastNewline, Line, Operation, Parser, Patch, Progress};

fn keep(text: &str) -> Line {
    Line::Keep(text.into())
}

fn remove(text: &str) -> Line {
    Line::Remove(text.into())
}

fn insert(text: &str) -> Line {
    Line::Insert(text.into())
}

fn hunk(contexts: &[&str], lines: &[Line]) -> Hunk {
    let contexts = contexts.iter().map(|context| (*context).to_owned()).collect();
    Hunk { contexts, lines: lines.to_vec(), ..Hunk::default() }
}

fn add(path: &str, text: &str) -> Operation {
    Operation::Add { path: path.into(), text: text.into() }
}

fn delete(path: &str) -> Operation {
    Operation::Delete { path: path.into() }
}

fn update(path: &str, hunks: &[Hunk]) -> Operation {
    Operation::Update { path: path.into(), moved_to: None, hunks: hunks.to_vec() }
}

#[track_caller]
fn check(text: &str, operations: &[Operation]) {
    let patch = Patch::parse(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(patch.operations, operations);
    assert_eq!(Patch::parse(&patch.to_string()).unwrap(), patch, "what was printed: {patch}");
}

/// The same between the first and the last line of a patch.
#[track_caller]
fn body(text: &str, operations: &[Operation]) {
    check(&format!("*** Begin Patch\n{text}\n*** End Patch\n"), operations);
}

#[track_caller]
fn refused(text: &str, message: &str) {
    assert_eq!(Patch::parse(text).unwrap_err().to_string(), message);
}

#[track_caller]
fn body_refused(text: &str, message: &str) {
    refused(&format!("*** Begin Patch\n{text}\n*** End Patch\n"), message);
}

#[test]
fn operations() {
    body("*** Add File: a/b.txt\n+one\n+\n+ two", &[add("a/b.txt", "one\n\n two\n")]);
    body("*** Add File: empty", &[add("empty", "")]);
    body("*** Delete File: a b.txt", &[delete("a b.txt")]);
    body("*** Update File: f\n@@\n-a\n+b", &[update("f", &[hunk(&[], &[remove("a"), insert("b")])])]);
    body(
        "*** Update File: f\n*** Move to: g\n@@ c\n-a",
        &[Operation::Update {
            path: "f".into(),
            moved_to: Some("g".into()),
            hunks: vec![hunk(&["c"], &[remove("a")])],
        }],
    );
    body(
        "*** Update File: f\n*** Move to: g",
        &[Operation::Update { path: "f".into(), moved_to: Some("g".into()), hunks: vec![] }],
    );
    body(
        "*** Add File: a\n+x\n*** Delete File: b\n*** Add File: c",
        &[add("a", "x\n"), delete("b"), add("c", "")],
    );
    check("*** Begin Patch\n*** End Patch", &[]);
}

#[test]
fn hunks() {
    let two = [hunk(&["c"], &[keep("a")]), hunk(&[], &[insert("b")])];
    body("*** Update File: f\n@@ c\n a\n@@\n+b", &[update("f", &two)]);
    body("*** Update File: f\n@@ a\n@@   b\n-x", &[update("f", &[hunk(&["a", "  b"], &[remove("x")])])]);
    // The first hunk needs no head.
    body("*** Update File: f\n-a\n+b", &[update("f", &[hunk(&[], &[remove("a"), insert("b")])])]);
    // The markers of the format may be lines of a file.
    body(
        "*** Update File: f\n@@\n *** End Patch\n-@@\n+*** Add File: x",
        &[update("f", &[hunk(&[], &[keep("*** End Patch"), remove("@@"), insert("*** Add File: x")])])],
    );
    let at_end = Hunk { at_end: true, ..hunk(&[], &[insert("b")]) };
    body("*** Update File: f\n@@\n+b\n*** End of File", &[update("f", std::slice::from_ref(&at_end))]);
    body(
        "*** Update File: f\n@@\n+b\n*** End of File\n\n@@ a\n-c",
        &[update("f", &[at_end, hunk(&["a"], &[remove("c")])])],
    );
    body("*** Update File: f\n@@ -1,2 +3 @@ fn x\n-a", &[update("f", &[hunk(&["fn x"], &[remove("a")])])]);
    body("*** Update File: f\n@@ -1 +1 @@\n-a", &[update("f", &[hunk(&[], &[remove("a")])])]);
    body("*** Update File: f\n@@ a @@ b\n-a", &[update("f", &[hunk(&["a @@ b"], &[remove("a")])])]);
}

#[test]
fn empty_lines() {
    body("\n*** Add File: a\n+x\n\n+y\n\n*** Delete File: b\n\n", &[add("a", "x\n\ny\n"), delete("b")]);
    let lines = [keep("a"), keep(""), remove("b"), keep("")];
    body("*** Update File: f\n\n@@\n a\n\n-b\n", &[update("f", &[hunk(&[], &lines)])]);
}

#[test]
fn missing_newlines() {
    const SIGN: &str = "\\ No newline at end of file";
    body(&format!("*** Add File: a\n+x\n+y\n{SIGN}"), &[add("a", "x\ny")]);
    let cases = [
        ("-a\n{}\n+a", LastNewline::Added),
        ("-a\n+a\n{}", LastNewline::Dropped),
        ("-a\n{}\n+b\n{}", LastNewline::Dropped),
    ];
    for (lines, last_newline) in cases {
        let text =
            format!("*** Begin Patch\n*** Update File: f\n@@\n{lines}\n*** End Patch").replace("{}", SIGN);
        let patch = Patch::parse(&text).unwrap();
        let Operation::Update { hunks, .. } = &patch.operations[0] else { panic!("{patch:?}") };
        assert_eq!(hunks[0].last_newline, last_newline, "{lines}");
        assert_eq!(Patch::parse(&patch.to_string()).unwrap(), patch);
    }
}

#[test]
fn wrappers_and_line_ends() {
    let inner = "*** Begin Patch\n*** Delete File: f\n*** End Patch";
    let cases = [
        format!("\n\n  {inner}  \n\n"),
        format!("<<EOF\n{inner}\nEOF"),
        format!("<<'EOF'\n{inner}\nEOF\n"),
        format!("<<\"END\"\n{inner}\nEND\n"),
        format!("apply_patch <<'EOF'\n{inner}\nEOF\n"),
        format!("```diff\n{inner}\n```\n"),
        format!("```\napply_patch <<'EOF'\n{inner}\nEOF\n```\n"),
        format!("apply_patch <<'EOF'\r\n{}\r\nEOF\r\n", inner.replace('\n', "\r\n")),
        inner.replace("*** Delete File: f", "*** Delete File:f  "),
    ];
    for text in cases {
        check(&text, &[delete("f")]);
    }
    check("*** Begin Patch\r\n*** Add File: a\r\n+x\r\n*** End Patch\r\n", &[add("a", "x\n")]);
}

#[test]
fn what_is_wrong_is_said() {
    const HEAD: &str =
        "\"*** Add File: PATH\", \"*** Delete File: PATH\", \"*** Update File: PATH\" or \"*** End Patch\"";
    refused("", "line 1 of the patch: expected \"*** Begin Patch\", but the text ends here");
    refused(
        "--- a\n+++ b\n",
        "line 1 of the patch: expected \"*** Begin Patch\" as the first line, found \"--- a\"",
    );
    refused(
        "cd src && apply_patch <<EOF\n*** Begin Patch\n",
        "line 1 of the patch: expected \"*** Begin Patch\" as the first line, found \"cd src && apply_patch <<EOF\"",
    );
    refused(
        "*** Begin Patch\n*** Add File: a\n+x\n",
        "line 4 of the patch: expected \"*** End Patch\" as the last line, but the text ends here",
    );
    refused(
        "*** Begin Patch\n*** End Patch\nDone.",
        "line 3 of the patch: expected nothing after \"*** End Patch\", found \"Done.\"",
    );
    refused(
        "*** Begin Patch\n*** End Patch\nEOF",
        "line 3 of the patch: expected nothing after \"*** End Patch\", found \"EOF\"",
    );
    refused(
        "*** Begin Patch\n*** End Patch\n```",
        "line 3 of the patch: expected nothing after \"*** End Patch\", found \"```\"",
    );
    refused(
        "```\n*** Begin Patch\n*** End Patch\nDone.\n```",
        "line 4 of the patch: expected nothing after \"*** End Patch\", found \"Done.\"",
    );
    body_refused("hello", &format!("line 2 of the patch: expected {HEAD}, found \"hello\""));
    body_refused(
        "*** Rename File: a",
        &format!("line 2 of the patch: expected {HEAD}, found \"*** Rename File: a\""),
    );
    body_refused(
        "*** Add File:  ",
        "line 2 of the patch: expected a path after the colon, found \"*** Add File:  \"",
    );
    body_refused(
        "*** Add File: a\nx",
        "line 3 of the patch: expected a line of the new file, which begins with '+', or the next \"*** \" marker, \
         found \"x\"",
    );
    body_refused(
        "*** Update File: a",
        "line 3 of the patch: expected a hunk for the file to update: \"@@\" and lines that begin with ' ', '-' \
         or '+', found \"*** End Patch\"",
    );
    body_refused(
        "*** Update File: a\n@@ x",
        "line 4 of the patch: expected at least one line that begins with ' ', '-' or '+' after the \"@@\" line, \
         found \"*** End Patch\"",
    );
    body_refused(
        "*** Update File: a\n@@\n-x\ny",
        "line 5 of the patch: expected a line of the hunk, which begins with ' ' (keep), '-' (remove) or '+' \
         (insert), an \"@@\" line, or the next \"*** \" marker, found \"y\"",
    );
    body_refused(
        "*** Update File: a\n@@\n-x\n*** End of File\n-y",
        "line 6 of the patch: expected an \"@@\" line before the next hunk, or the next \"*** \" marker, found \"-y\"",
    );
    body_refused(
        "*** Update File: a\n@@\n-x\n*** Move to: b",
        "line 5 of the patch: expected \"*** Move to: PATH\" only directly after \"*** Update File: PATH\", \
         found \"*** Move to: b\"",
    );
    let error = Patch::parse("*** Begin Patch\n*** Add File: a\nx").unwrap_err();
    assert_eq!((error.line(), error.found()), (3, Some("x")));
    assert!(error.expected().starts_with("a line of the new file"), "{error}");
}

#[test]
fn a_patch_is_known_as_far_as_it_arrived() {
    let mut parser = Parser::new();
    assert_eq!(parser.push("apply_patch <<E\n*** Begin Patch\n*** Add File: a"), []);
    assert_eq!(parser.push(".txt\n+*** Add File: no\n"), [Progress::Adds("a.txt".into())]);
    assert_eq!(
        parser.push("*** Delete File: b\n*** Update File: c\r\n*** Move to: d\r\n"),
        [Progress::Deletes("b".into()), Progress::Updates("c".into()), Progress::MovesTo("d".into()),]
    );
    assert_eq!(parser.push("oops\n*** Delete File: e\n"), []);
    assert_eq!(parser.finish().unwrap_err().line(), 8);
}

#[test]
fn paths_are_known_before_anything_is_done() {
    let text = "*** Begin Patch\n*** Add File: new\n*** Update File: new\n+x\n*** Update File: a\n*** Move to: b\n\
                *** Update File: b\n-x\n*** Update File: c\n-x\n*** Delete File: d\n*** End Patch";
    let patch = Patch::parse(text).unwrap();
    let paths = patch.paths();
    assert_eq!(paths.reads, ["a", "c"]);
    assert_eq!(paths.writes, ["new", "b", "c"]);
    assert_eq!(paths.removes, ["a", "d"]);
    let mapped = patch.clone().map_paths(|path| format!("/root/{path}"));
    assert_eq!(mapped.paths().removes, ["/root/a", "/root/d"]);
}
