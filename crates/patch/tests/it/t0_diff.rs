//! What patches are made of two texts.

use junto_patch::{Patch, diff};

use crate::support::{changed, files, try_apply};

/// The patch between two texts, which also has to make one of the other.
#[track_caller]
fn check(before: &str, after: &str, hunks: &str) {
    let patch = diff("f", before, after);
    let text = format!("*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch\n");
    assert_eq!(patch.to_string(), text);
    let files = files(&[("f", before)]);
    let applied = try_apply(&Patch::parse(&text).unwrap(), &files).unwrap();
    assert_eq!(changed(files, &applied.changes)["f"], after);
}

/// Lines with these numbers.
fn lines(numbers: std::ops::RangeInclusive<usize>) -> String {
    numbers.flat_map(|n| [format!("line {n}"), "\n".to_owned()]).collect()
}

#[test]
fn three_lines_around_a_change_are_shown() {
    let before = lines(1..=20);
    check(
        &before,
        &before.replace("line 8\n", "x\n"),
        "@@\n line 5\n line 6\n line 7\n-line 8\n+x\n line 9\n line 10\n line 11\n",
    );
    check(&before, &before.replace("line 2\n", ""), "@@\n line 1\n-line 2\n line 3\n line 4\n line 5\n");
}

#[test]
fn changes_that_are_apart_are_hunks_of_their_own() {
    let before = lines(1..=20);
    let after = |other: usize| before.replace("line 4\n", "x\n").replace(&format!("line {other}\n"), "y\n");
    let first = "@@\n line 1\n line 2\n line 3\n-line 4\n+x\n line 5\n line 6\n line 7\n";
    check(
        &before,
        &after(11),
        &format!("{first} line 8\n line 9\n line 10\n-line 11\n+y\n line 12\n line 13\n line 14\n"),
    );
    check(
        &before,
        &after(12),
        &format!("{first}@@\n line 9\n line 10\n line 11\n-line 12\n+y\n line 13\n line 14\n line 15\n"),
    );
}

#[test]
fn the_end_is_spoken_of_only_where_it_changes() {
    const SIGN: &str = "\\ No newline at end of file\n";
    const END: &str = "*** End of File\n";
    let all = lines(1..=9);
    let without = all.trim_end();
    let first = "@@\n-line 1\n+x\n line 2\n line 3\n line 4\n";
    check(without, &without.replace("line 1\n", "x\n"), first);
    check(&all, &all.replace("line 1\n", "x\n"), first);
    let last = "@@\n line 6\n line 7\n line 8\n-line 9\n";
    check(&all, without, &format!("{last}+line 9\n{SIGN}{END}"));
    check(without, &all, &format!("{last}{SIGN}+line 9\n{END}"));
    check(&all, &all.replace("line 9", "x"), &format!("{last}+x\n{END}"));
    check(without, &without.replace("line 9", "x"), &format!("{last}+x\n{SIGN}{END}"));
    // The first hunk says nothing of it, nor one that only shows the end.
    check(without, &all.replace("line 1\n", "x\n"), &format!("{first}{last}{SIGN}+line 9\n{END}"));
    check(&all, &without.replace("line 1\n", "x\n"), &format!("{first}{last}+line 9\n{SIGN}{END}"));
    check(
        without,
        &without.replace("line 7\n", "x\n"),
        &format!("@@\n line 4\n line 5\n line 6\n-line 7\n+x\n line 8\n line 9\n{END}"),
    );
}

#[test]
fn where_lines_repeat_more_of_them_are_shown() {
    let before = "a\n".repeat(20) + "b\n" + &"a\n".repeat(20);
    let after = "a\n".repeat(10) + "x\n" + &"a\n".repeat(9) + "b\n" + &"a\n".repeat(20);
    let patch = diff("f", &before, &after);
    let files = files(&[("f", &before)]);
    let applied = try_apply(&patch, &files).unwrap();
    assert_eq!(changed(files, &applied.changes)["f"], after);
}
