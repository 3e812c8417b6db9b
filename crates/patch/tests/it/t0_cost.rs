//! Inputs that take minutes if the work grows with the square of them. Nothing is timed here: a run
//! that does not end is noticed.

use std::fmt::Write as _;

use junto_patch::{Change, Patch, ReplaceErrorKind, Strategy, Which, diff, replace};

use crate::support::{changed, files, try_apply};

const LINES: usize = 60_000;
const HUNKS: usize = 1_000;

fn update(hunks: impl Iterator<Item = String>) -> Patch {
    let body: String = hunks.collect();
    Patch::parse(&format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch")).unwrap()
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).flat_map(|n| [line(n), "\n".to_owned()]).collect()
}

#[test]
fn many_hunks_in_a_file_of_equal_lines() {
    let before = files(&[("f", &"}\n".repeat(LINES))]);
    let patch = update((0..HUNKS).map(|n| format!("@@\n{} }}\n-}}\n+{n}\n", " }\n".repeat(20))));
    let applied = try_apply(&patch, &before).unwrap();
    let [Change::Write { text, .. }] = &applied.changes[..] else { panic!("{:?}", applied.hunks) };
    assert_eq!(text.lines().filter(|line| *line != "}").count(), HUNKS);
}

#[test]
fn hunks_that_nearly_fit_everywhere() {
    // Every line is in the file, each hunk fits only at the loosest stage, and only at its end.
    let mut text = "a\nb\n".repeat(LINES / 2);
    let mut hunks = Vec::new();
    for n in 0..HUNKS {
        write!(text, "a\na\n\u{2019}{n}\n'\n").unwrap();
        hunks.push(format!("@@\n a\n a\n-'{n}\n+x\n"));
    }
    let before = files(&[("f", &text)]);
    let applied = try_apply(&update(hunks.into_iter()), &before).unwrap();
    assert_eq!(applied.hunks.len(), HUNKS);
    assert_eq!(changed(before, &applied.changes)["f"].matches('x').count(), HUNKS);
}

#[test]
fn contexts_far_away_from_their_hunks() {
    let mut text = String::new();
    let mut hunks = Vec::new();
    for n in 0..HUNKS {
        writeln!(text, "only {n}").unwrap();
        hunks.push(format!("@@ end\n-only {n}\n+x {n}\n"));
    }
    let text = text + &"filler\n".repeat(LINES) + "end\n";
    let before = files(&[("f", &text)]);
    let applied = try_apply(&update(hunks.into_iter()), &before).unwrap();
    assert_eq!(changed(before, &applied.changes)["f"].matches("x ").count(), HUNKS);
}

#[test]
fn hunks_in_reverse_order() {
    let text = lines(LINES, |n| format!("line {n}"));
    let hunks = (0..HUNKS).rev().map(|n| format!("@@\n-line {}\n+x\n", n * (LINES / HUNKS)));
    let before = files(&[("f", &text)]);
    let applied = try_apply(&update(hunks), &before).unwrap();
    assert_eq!(changed(before, &applied.changes)["f"].matches("x\n").count(), HUNKS);
}

#[test]
fn replacements_in_a_file_of_equal_lines() {
    let text = "  a  b\n".repeat(LINES);
    let ambiguous = |old: &str| {
        let error = replace(&text, old, "x", Which::TheOne).unwrap_err();
        assert!(matches!(error.kind(), ReplaceErrorKind::Ambiguous { .. }), "{error}");
    };
    ambiguous(&"  a  b\n".repeat(LINES / 2));
    ambiguous(&"a  b\n".repeat(LINES / 2));
    ambiguous(&"a b\n".repeat(LINES / 2));
    let edit = replace(&text, "a b\na  b", "x", Which::All).unwrap();
    assert_eq!(edit.places.len(), LINES / 2);
}

#[test]
fn likeness_gives_up_in_time() {
    // Everything is made of the same letters, and nothing is alike.
    let text = lines(LINES / 10, |n| format!("{:0>40}", format!("{:b}", n % 97)));
    let old = lines(500, |n| format!("{:0<40}", format!("{:b}", n % 97)));
    let error = replace(&text, &old, "x", Which::TheOne).unwrap_err();
    assert!(matches!(error.kind(), ReplaceErrorKind::NotFound { .. }), "{error}");
}

#[test]
fn only_lines_of_the_same_letters_are_compared() {
    let sought = "ab".repeat(500);
    let text = lines(2000, |_| "cd".repeat(500)) + &sought + "\n";
    let edit = replace(&text, &format!("x{sought}"), "x", Which::TheOne).unwrap();
    assert_eq!((edit.strategy, edit.places[0].before.lines.clone()), (Strategy::Fuzzy, 2001..=2001));
}

#[test]
fn a_difference_between_texts_of_equal_lines() {
    let before = "}\n".repeat(LINES);
    let after = "}\n".repeat(LINES / 2) + "x\n" + &"}\n".repeat(LINES / 2);
    let patch = diff("f", &before, &after);
    let before = files(&[("f", &before)]);
    let applied = try_apply(&patch, &before).unwrap();
    assert_eq!(changed(before, &applied.changes)["f"], after);
}
