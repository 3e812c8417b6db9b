//! What the format's first implementation gets wrong, and what is done here instead. The list is in
//! the documentation of the crate; each entry has its test.

use junto_patch::{Change, Stage};

use crate::support::{changed, check, files, patch, refused, try_apply};

#[test]
fn a_file_that_moves_to_its_own_name_stays() {
    let before = files(&[("f", "a\nb\n")]);
    let applied = try_apply(&patch("*** Update File: f\n*** Move to: f\n@@\n-a\n+x"), &before).unwrap();
    let text = "x\nb\n".to_owned();
    assert_eq!(applied.changes, [Change::Write { path: "f".into(), text, moved_from: None }]);

    let applied = try_apply(&patch("*** Update File: f\n*** Move to: f"), &before).unwrap();
    assert_eq!(applied.changes, []);
}

#[test]
fn lines_inserted_under_a_context_line_go_under_it() {
    check("a\nb\nc\n", "@@ a\n+x\n+y", "a\nx\ny\nb\nc\n");
    check("  a\nb\n", "@@ a\n+x", "  a\nx\nb\n");
    check("a\nb\na\nc\n", "@@ b\n@@ a\n+x", "a\nb\na\nx\nc\n");
    // A gap before the next marker is no line to look for.
    check("a\nb\n\nc\n", "@@ a\n+x\n\n*** Update File: f\n@@ c\n+y", "a\nx\nb\n\nc\ny\n");
    // Only lines without any context go to the end.
    check("a\nb\n", "@@\n+x", "a\nb\nx\n");
    // And those that are said to be there.
    check("a\nb\n", "@@ a\n+x\n*** End of File", "a\nb\nx\n");
}

#[test]
fn the_end_of_file_marker_is_a_preference() {
    // It decides between places.
    check("a\nb\na\n", "@@\n-a\n+x\n*** End of File", "a\nb\nx\n");
    // The lines are not quite at the end, so the last place is taken.
    check("a\nb\na \n", "@@\n-a\n+x\n*** End of File", "a\nb\nx\n");
    check("a\nb\na\nc\n", "@@\n-a\n+x\n*** End of File", "a\nb\nx\nc\n");
    check("a\nb\n\n\n", "@@\n a\n-b\n+x\n*** End of File", "a\nx\n\n\n");
}

#[test]
fn contexts_nest() {
    let file = "class A\n  def f\n    pass\nclass B\n  def f\n    pass\n";
    let expected = "class A\n  def f\n    pass\nclass B\n  def f\n    return\n";
    check(file, "@@ class B\n@@   def f\n-    pass\n+    return", expected);
    check(file, "@@ class B\n@@ def f\n-    pass\n+    return", expected);
}

#[test]
fn line_numbers_of_unified_diffs_are_not_context() {
    check("a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+x", "a\nx\n");
    check("b\na\nb\n", "@@ -20 +3 @@ a\n-b\n+x", "b\na\nx\n");
}

#[test]
fn a_hunk_may_begin_with_its_context_line() {
    check("t = 30\nu = 1\nt = 30\n", "@@ u = 1\n-u = 1\n+u = 2", "t = 30\nu = 2\nt = 30\n");
}

#[test]
fn several_hunks_in_one_function_may_name_it_again() {
    let file = "def f\n  a\n  b\n  c\ndef g\n  a\n";
    check(file, "@@ def f\n-  a\n+  x\n@@ def f\n-  c\n+  z", "def f\n  x\n  b\n  z\ndef g\n  a\n");
}

#[test]
fn one_file_may_be_in_several_sections() {
    let applied = check("a\nb\n", "@@\n-a\n+x\n*** Update File: f\n@@\n-x\n+y", "y\nb\n");
    assert_eq!(applied.changes.len(), 1);
    assert_eq!(applied.hunks.len(), 2);
}

#[test]
fn a_file_that_does_not_fit_leaves_all_as_they_were() {
    let before = files(&[("a", "1\n"), ("b", "2\n")]);
    let patch = patch("*** Update File: a\n@@\n-1\n+x\n*** Delete File: b\n*** Update File: b\n@@\n-2\n+y");
    let error = try_apply(&patch, &before).unwrap_err();
    assert_eq!(error.path(), "b");
}

#[test]
fn another_file_is_not_overwritten_by_a_move() {
    let before = files(&[("a", "1\n"), ("b", "2\n")]);
    let error = try_apply(&patch("*** Update File: a\n*** Move to: b"), &before).unwrap_err();
    assert!(error.to_string().starts_with("b: a cannot get this name"), "{error}");

    let applied =
        try_apply(&patch("*** Delete File: b\n*** Update File: a\n*** Move to: b"), &before).unwrap();
    assert_eq!(changed(before, &applied.changes), files(&[("b", "1\n")]));
}

#[test]
fn the_newline_at_the_end_is_left_as_it_was() {
    check("a\nb", "@@\n-a\n+x", "x\nb");
    check("a\nb", "@@\n-b\n+x", "a\nx");
    check("a\nb\n", "@@\n-b\n+x", "a\nx\n");
}

#[test]
fn inserted_lines_are_indented_like_the_lines_that_were_found() {
    let file = "class A:\n\tdef f(self):\n\t\tpass\n";
    let hunk = "@@\n def f(self):\n-    pass\n+    if self:\n+        return";
    let applied = check(file, hunk, "class A:\n\tdef f(self):\n\t\tif self:\n\t\t\treturn\n");
    assert_eq!(applied.hunks[0].stage, Stage::SurroundingSpace);
}

#[test]
fn hunks_may_come_out_of_order_if_their_place_is_certain() {
    check("a\nb\nc\n", "@@\n-c\n+z\n@@\n-a\n+x", "x\nb\nz\n");
    assert_eq!(
        refused("a\na\nc\n", "@@\n-c\n+z\n@@\n-a\n+x"),
        "f, hunk 2: it fits 2 places; name the function or class around the right one in an \"@@\" line, \
         or give more lines around the change"
    );
}
