//! What patches do to files.

use junto_patch::{ApplyErrorKind, Change, File, Patch, Placed, Stage, apply};

use crate::support::{changed, check, files, patch, refused, try_apply};

/// Applies a patch to files.
#[track_caller]
fn check_files(before: &[(&str, &str)], body: &str, after: &[(&str, &str)]) -> Vec<Change> {
    let before = files(before);
    let applied = try_apply(&patch(body), &before).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(changed(before, &applied.changes), files(after));
    applied.changes
}

#[test]
fn files_come_and_go() {
    check_files(&[], "*** Add File: a\n+x", &[("a", "x\n")]);
    check_files(&[("a", "1\n")], "*** Delete File: a", &[]);
    check_files(&[("a", "1\n")], "*** Update File: a\n*** Move to: b", &[("b", "1\n")]);
    check_files(&[("a", "1\n")], "*** Update File: a\n*** Move to: b\n@@\n-1\n+2", &[("b", "2\n")]);
}

#[test]
fn adding_a_file_that_is_there_writes_it_anew() {
    let changes = check_files(&[("a", "1\n")], "*** Add File: a\n+2", &[("a", "2\n")]);
    assert!(matches!(changes[..], [Change::Write { moved_from: None, .. }]), "{changes:?}");
    assert_eq!(check_files(&[("a", "1\n")], "*** Add File: a\n+1", &[("a", "1\n")]), []);
}

#[test]
fn operations_follow_one_another() {
    let a = &[("a", "1\n2\n")];
    check_files(&[], "*** Add File: a\n+x\n*** Update File: a\n@@\n-x\n+y", &[("a", "y\n")]);
    check_files(a, "*** Delete File: a\n*** Add File: a\n+x", &[("a", "x\n")]);
    check_files(&[], "*** Add File: a\n+x\n*** Delete File: a", &[]);
    let twice =
        "*** Update File: a\n*** Move to: b\n@@\n-1\n+x\n*** Update File: b\n*** Move to: c\n@@\n-2\n+y";
    let changes = check_files(a, twice, &[("c", "x\ny\n")]);
    assert!(
        matches!(&changes[..], [Change::Write { moved_from: Some(from), .. }] if from == "a"),
        "{changes:?}"
    );
    // The old name is used again, so this is no move any more.
    let reused = "*** Update File: a\n*** Move to: b\n*** Add File: a\n+x";
    let changes = check_files(a, reused, &[("a", "x\n"), ("b", "1\n2\n")]);
    assert!(
        matches!(changes[..], [Change::Write { moved_from: None, .. }, Change::Create { .. }]),
        "{changes:?}"
    );
    // There and back again.
    let back = "*** Update File: a\n*** Move to: b\n*** Update File: b\n*** Move to: a";
    assert_eq!(check_files(a, back, a), []);
    let swapped = "*** Update File: a\n*** Move to: t\n*** Update File: b\n*** Move to: a\n*** Update File: t\n*** Move to: b";
    check_files(&[("a", "1\n"), ("b", "2\n")], swapped, &[("a", "2\n"), ("b", "1\n")]);
}

#[test]
fn files_that_are_not_fit_for_it() {
    let none = files(&[]);
    for body in ["*** Delete File: a", "*** Update File: a\n@@\n-1", "*** Update File: a\n*** Move to: b"] {
        let error = try_apply(&patch(body), &none).unwrap_err();
        assert_eq!(error.kind(), &ApplyErrorKind::Missing, "{body}");
        assert_eq!(error.to_string(), "a: there is no such file; to make one, use \"*** Add File: \"");
    }
    let opaque = |body| apply(&patch(body), |_| File::Opaque).map(|applied| applied.changes.len());
    assert_eq!(opaque("*** Delete File: a"), Ok(1));
    assert_eq!(opaque("*** Add File: a\n+x"), Ok(1));
    let error = opaque("*** Update File: a\n@@\n-1").unwrap_err();
    assert_eq!(error.to_string(), "a: the file is no UTF-8 text, so it cannot be patched");
}

#[test]
fn lines_change() {
    check("a\nb\nc\n", "@@\n a\n-b\n+x\n c", "a\nx\nc\n");
    check("a\nb\nc\n", "@@\n-a\n-b\n-c", "");
    check("", "@@\n+a\n+b", "a\nb\n");
    check("a\nb\nc\nd\n", "@@\n-a\n@@\n-c\n+x\n+y", "b\nx\ny\nd\n");
    check("a\nb\na\nb\n", "@@\n-b\n+x\n@@\n-b\n+y", "a\nx\na\ny\n");
    check("a\nb\na\nb\n", "@@ b\n@@ a\n-b\n+x", "a\nb\na\nx\n");
    check("a\n", "@@\n-a\n+a", "a\n");
    check("a\nb\n", "@@ a\n+x\n@@ a\n+y", "a\nx\ny\nb\n");
    check("a\nb\na\nb\n", "@@ a\n@@ a\n-b\n+x", "a\nb\na\nx\n");
    check("a\nb\n", "@@ a\n+x\n@@\n-b\n+y", "a\nx\ny\n");
}

#[test]
fn a_context_line_that_is_not_there_matters_only_if_the_place_is_not_certain() {
    check("fn a(b: C)\n  x\n", "@@ fn a\n-  x\n+  y", "fn a(b: C)\n  y\n");
    assert_eq!(
        refused("fn ab(c: D)\n  x\n  x\n", "@@ fn ab(c)\n-  x\n+  y"),
        "f, hunk 1: the line \"fn ab(c)\" after \"@@\" is not in the file; nearest is line 1: \"fn ab(c: D)\". \
         Read the file again and copy its lines as they are"
    );
    assert!(refused("a\n", "@@ b\n+x").starts_with("f, hunk 1: the line \"b\" after"));
}

#[test]
fn every_line_keeps_its_own_end() {
    check("a\r\nb\r\nc\r\n", "@@\n-b\n+x\n+y", "a\r\nx\r\ny\r\nc\r\n");
    check("a\r\nb\nc\r\n", "@@\n a\n b\n-c\n+x", "a\r\nb\nx\r\n");
    check("a\nb\r\nc\n", "@@\n a\n b\n+x\n c", "a\nb\r\nx\r\nc\n");
    check("a\r\nb", "@@\n b\n+x", "a\r\nb\r\nx");
    check("a", "@@\n+x", "a\nx");
    check("a\r\n", "@@ a\n+x", "a\r\nx\r\n");
    check("a\nb", "@@\n-b", "a\n");
    check("a\n\nb", "@@\n-b\n+\n+c", "a\n\n\nc");
}

#[test]
fn the_newline_at_the_end_can_be_changed() {
    const SIGN: &str = "\\ No newline at end of file";
    check("a\nb\n", &format!("@@\n-b\n+b\n{SIGN}"), "a\nb");
    check("a\nb", &format!("@@\n-b\n{SIGN}\n+b"), "a\nb\n");
    check("a\nb", &format!("@@\n-b\n{SIGN}\n+c\n{SIGN}"), "a\nc");
    check("a\nb", &format!("@@\n-a\n+x\n b\n{SIGN}"), "x\nb");
    // Elsewhere it says nothing.
    check("a\nb\n", &format!("@@\n-a\n+x\n{SIGN}"), "x\nb\n");
}

#[test]
fn lines_are_found_in_stages() {
    let cases = [
        ("let a = 1;", "let a = 1;", Stage::Exact),
        ("let a = 1;  ", "let a = 1;", Stage::TrailingSpace),
        ("let a = 1;", "let a = 1;\t", Stage::TrailingSpace),
        ("\tlet a = 1;", "let a = 1;", Stage::SurroundingSpace),
        ("say(\u{201C}it\u{2019}s\u{201D})", "say(\"it's\")", Stage::Punctuation),
        ("a \u{2013} b \u{2014} c \u{2212} d", "a - b - c - d", Stage::Punctuation),
        ("a\u{A0}b\u{202F}c", "a b c", Stage::Punctuation),
    ];
    for (line, sought, stage) in cases {
        let applied = check(
            &format!("x\n{line}\ny\n"),
            &format!("@@\n x\n {sought}\n-y\n+z"),
            &format!("x\n{line}\nz\n"),
        );
        assert_eq!(applied.hunks, [Placed { path: "f".into(), hunk: 1, line: 1, stage }], "{line}");
    }
    // A better place further on is taken before a worse one.
    check(" a\nb\na\n", "@@\n-a\n+x", " a\nb\nx\n");
    // All lines of a hunk are looked at alike, and so is a context line.
    check("  f \n a\nb\n", "@@ f\n-a\n+x", "  f \n x\nb\n");
}

#[test]
fn empty_lines_at_the_end_of_a_hunk_may_be_missing_in_the_file() {
    check("a\nb\n", "@@\n-a\n+x\n\n\n@@\n-b\n+y\n", "x\ny\n");
    check("a\n\nb\n\nc\n", "@@\n-b\n+x\n \n", "a\n\nx\n\nc\n");
    // But they are all that says where this goes.
    assert!(refused("a\nb\n", "@@\n+x\n \n*** End of File").contains("are not in the file"));
}

#[test]
fn what_does_not_fit_is_explained() {
    let file = "fn main() {\n    let total = count(&items);\n    println!(\"{total}\");\n}\n";
    assert_eq!(
        refused(file, "@@\n-    let total = counted(items);\n+x"),
        "f, hunk 1: the lines to change are not in the file; the first that does not fit is \
         \"    let total = counted(items);\"; nearest is line 2: \"    let total = count(&items);\". \
         Read the file again and copy its lines as they are"
    );
    assert_eq!(
        refused(
            file,
            "@@\n-fn main() {\n+fn start() {\n@@\n     let total = count(&items);\n-    todo!()\n+x"
        ),
        "f, hunk 2: the lines to change are not in the file; the first that does not fit is \"    todo!()\"; \
         nearest is line 3: \"    println!(\\\"{total}\\\");\". Read the file again and copy its lines as they are"
    );
    assert_eq!(
        refused(file, "@@\n-impl X for Y {\n+x"),
        "f, hunk 1: the lines to change are not in the file; the first that does not fit is \"impl X for Y {\". \
         Read the file again and copy its lines as they are"
    );
    assert_eq!(
        refused("a\nb\nc\n", "@@\n-a\n-b\n+x\n@@\n-b\n+y"),
        "f, hunk 2: it fits only at line 2, which an earlier hunk changes already; make one hunk of both"
    );
    assert!(refused("a\nb\n", "@@\n a\n-b\n@@ a\n+x").contains("it fits only at line 2"));
    assert!(refused("a\nb\n", "@@ a\n+x\n@@\n-a\n-b\n+y").contains("it fits only at line 1"));
    let error = try_apply(&patch("*** Update File: f\n@@\n-a"), &files(&[("f", "b\n")])).unwrap_err();
    assert_eq!((error.path(), error.hunk_number()), ("f", Some(1)));
    let error = try_apply(&patch("*** Update File: f\n@@\n-a\n@@\n-c"), &files(&[("f", "a\n")])).unwrap_err();
    assert_eq!(error.hunk_number(), Some(2));
    let error = try_apply(&patch("*** Delete File: f"), &files(&[])).unwrap_err();
    assert_eq!(error.hunk_number(), None);
}

#[test]
fn the_examples_of_the_format_work() {
    let text = "*** Begin Patch\n*** Update File: src/config.py\n@@ DEFAULT_TIMEOUT = 30\n-DEFAULT_TIMEOUT = 30\n\
                +DEFAULT_TIMEOUT = 60\n@@ def load_config():\n     config = {}\n-    config[\"debug\"] = False\n\
                +    config[\"debug\"] = True\n*** End Patch\n";
    let before = "import os\n\nDEFAULT_TIMEOUT = 30\n\ndef load_config():\n    config = {}\n    config[\"debug\"] = False\n";
    let after = before.replace("30", "60").replace("False", "True");
    let applied = apply(&Patch::parse(text).unwrap(), |_| Some(before)).unwrap();
    let path = "src/config.py".to_owned();
    assert_eq!(applied.changes, [Change::Write { path, text: after, moved_from: None }]);
}
