//! What holds for all patches and all edits.

use junto_patch::{
    Change, Hunk, LastNewline, Line, Operation, Parser, Patch, Strategy as Found, Which, diff, replace,
    reverse,
};
use proptest::prelude::*;

use crate::support::{Files, changed, try_apply};

/// A line that is often like another one.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(vec!["", "a", "b", "  a", "}", "if a {", "*** End Patch", "@@", "\u{2019}"])
            .prop_map(str::to_owned),
        1 => "[a-c \\t'’\u{A0}*@+-]{0,6}",
    ]
}

/// A text whose lines all have this end, which the last one may lack.
fn text_with(end: &'static str) -> impl Strategy<Value = String> {
    (prop::collection::vec(line(), 0..12), any::<bool>()).prop_map(move |(lines, whole)| {
        let text = lines.join(end);
        if whole && !lines.is_empty() { text + end } else { text }
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![text_with("\n"), text_with("\r\n")]
}

/// Whether the end of the lines of one text can be known from the other.
fn same_ends(a: &str, b: &str) -> bool {
    a.contains("\r\n") == b.contains("\r\n") || !a.contains('\n') && !b.contains("\r\n")
}

fn hunk() -> impl Strategy<Value = Hunk> {
    let lines = (0..3_u8, line()).prop_map(|(kind, text)| match kind {
        0 => Line::Keep(text),
        1 => Line::Remove(text),
        _ => Line::Insert(text),
    });
    let contexts = prop::collection::vec("[a-c][a-c (){]{0,4}[a-c]", 0..3);
    (contexts, prop::collection::vec(lines, 1..6), any::<bool>()).prop_map(|(contexts, lines, at_end)| Hunk {
        contexts,
        lines,
        at_end,
        last_newline: LastNewline::AsBefore,
    })
}

fn operation() -> impl Strategy<Value = Operation> {
    let path = || prop::sample::select(vec!["a", "b", "src/c.rs"]).prop_map(str::to_owned);
    prop_oneof![
        (path(), prop::collection::vec(line(), 0..4), any::<bool>()).prop_map(|(path, lines, whole)| {
            let text = lines.join("\n");
            Operation::Add { path, text: if whole && !lines.is_empty() { text + "\n" } else { text } }
        }),
        path().prop_map(|path| Operation::Delete { path }),
        (path(), prop::option::of(path()), prop::collection::vec(hunk(), 1..4))
            .prop_map(|(path, moved_to, hunks)| Operation::Update { path, moved_to, hunks }),
    ]
}

fn patch() -> impl Strategy<Value = Patch> {
    prop::collection::vec(operation(), 0..4).prop_map(|operations| Patch { operations })
}

fn three_files() -> impl Strategy<Value = Files> {
    prop::collection::btree_map(
        prop::sample::select(vec!["a", "b", "src/c.rs"]).prop_map(str::to_owned),
        text(),
        0..4,
    )
}

/// All pieces of a text, cut at these places.
fn cut<'t>(text: &'t str, cuts: &[usize]) -> Vec<&'t str> {
    let mut cuts: Vec<usize> =
        cuts.iter().map(|cut| text.floor_char_boundary(cut % (text.len() + 1))).collect();
    cuts.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for cut in cuts {
        pieces.push(&text[from..cut]);
        from = cut;
    }
    pieces.push(&text[from..]);
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_is_read_again(patch in patch()) {
        prop_assert_eq!(Patch::parse(&patch.to_string()), Ok(patch));
    }

    #[test]
    fn any_cut_gives_the_same(
        patch in patch(),
        noise in prop::option::of((any::<prop::sample::Index>(), line())),
        cuts in prop::collection::vec(any::<usize>(), 0..6),
    ) {
        let mut text = patch.to_string();
        if let Some((at, noise)) = noise {
            text.insert_str(text.floor_char_boundary(at.index(text.len())), &noise);
        }
        let mut whole = Parser::new();
        let seen = whole.push(&text);
        let mut parser = Parser::new();
        let seen_in_pieces: Vec<_> = cut(&text, &cuts).into_iter().flat_map(|piece| parser.push(piece)).collect();
        prop_assert_eq!(seen, seen_in_pieces);
        prop_assert_eq!(whole.finish(), parser.finish());
    }

    #[test]
    fn a_difference_makes_one_text_of_the_other((before, after) in prop_oneof![
        (text_with("\n"), text_with("\n")),
        (text_with("\r\n"), text_with("\r\n")).prop_filter("no end to go by", |(a, b)| same_ends(a, b)),
    ]) {
        let patch = diff("f", &before, &after);
        prop_assert_eq!(&Patch::parse(&patch.to_string()).unwrap(), &patch);
        let files = Files::from([("f".to_owned(), before)]);
        let applied = try_apply(&patch, &files).unwrap();
        prop_assert_eq!(&changed(files, &applied.changes)["f"], &after);
    }

    #[test]
    fn what_is_applied_can_be_reversed(files in three_files(), edits in prop::collection::vec((0..3_usize, text()), 0..3), moved in any::<bool>()) {
        // A patch that surely fits: differences of the files, a move, and files that come and go.
        let mut operations = Vec::new();
        let edits: std::collections::BTreeMap<usize, String> = edits.into_iter().collect();
        for (name, after) in edits {
            let path = ["a", "b", "src/c.rs"][name].to_owned();
            match files.get(&path) {
                None => operations.push(Operation::Add { path, text: after }),
                Some(before) if same_ends(before, &after) => operations.extend(diff(&path, before, &after).operations),
                Some(_) => operations.push(Operation::Delete { path }),
            }
        }
        if moved && let Some(Operation::Update { moved_to, .. }) = operations.first_mut() {
            *moved_to = Some("elsewhere".to_owned());
        }
        let patch = Patch { operations };
        let applied = try_apply(&patch, &files).unwrap();
        let after = changed(files.clone(), &applied.changes);
        let back = reverse(&applied.changes, |path| files.get(path).map(String::as_str)).unwrap();
        let undone = try_apply(&back, &after).unwrap();
        prop_assert_eq!(changed(after, &undone.changes), files);
    }

    #[test]
    fn a_patch_that_fits_changes_only_what_it_names(patch in patch(), files in three_files()) {
        let Ok(applied) = try_apply(&patch, &files) else { return Ok(()) };
        let paths = patch.paths();
        for change in &applied.changes {
            let (Change::Create { path, .. } | Change::Write { path, .. } | Change::Remove { path }) = change;
            prop_assert!(paths.writes.contains(&path.as_str()) || paths.removes.contains(&path.as_str()));
        }
        let after = changed(files.clone(), &applied.changes);
        let back = reverse(&applied.changes, |path| files.get(path).map(String::as_str)).unwrap();
        let undone = changed(after.clone(), &try_apply(&back, &after).unwrap().changes);
        // Which end a line had is more than the format can say.
        let plain = |files: Files| -> Vec<(String, String)> {
            files.into_iter().map(|(path, text)| (path, text.replace('\r', ""))).collect()
        };
        prop_assert_eq!(plain(undone), plain(files));
    }

    #[test]
    fn an_edit_touches_nothing_outside_its_places(
        text in text(),
        old in text(),
        new in text(),
        all in any::<bool>(),
    ) {
        let which = if all { Which::All } else { Which::TheOne };
        let Ok(edit) = replace(&text, &old, &new, which) else { return Ok(()) };
        prop_assert!(!edit.places.is_empty());
        let (mut before, mut after) = (0, 0);
        for place in &edit.places {
            prop_assert_eq!(&text[before..place.before.bytes.start], &edit.text[after..place.after.bytes.start]);
            (before, after) = (place.before.bytes.end, place.after.bytes.end);
        }
        prop_assert_eq!(&text[before..], &edit.text[after..]);
        if which == Which::TheOne {
            prop_assert_eq!(edit.places.len(), 1);
        }
    }

    #[test]
    fn a_text_that_is_there_once_is_found_exactly(
        before in text(),
        after in text(),
        new in "[a-z \n]{0,9}",
    ) {
        let text = format!("{before}THE ONE{after}");
        let edit = replace(&text, "THE ONE", &new, Which::TheOne).unwrap();
        prop_assert_eq!(edit.strategy, Found::Exact);
        prop_assert_eq!(edit.text.replace('\r', ""), format!("{before}{new}{after}").replace('\r', ""));
    }

    #[test]
    fn lines_of_a_file_are_found_whatever_their_indentation(
        lines in prop::collection::vec("[a-z]{3,8}\\(\\);", 3..10),
        indents in prop::collection::vec("[ \t]{0,4}", 10),
        window in any::<prop::sample::Index>(),
    ) {
        let text: String = lines.iter().zip(&indents).flat_map(|(line, indent)| [indent, line, "\n"]).collect();
        let at = window.index(lines.len() - 1);
        let quoted = lines[at..at + 2].join("\n");
        prop_assume!(lines.windows(2).filter(|pair| pair.join("\n") == quoted).count() == 1);
        let edit = replace(&text, &quoted, "changed", Which::TheOne).unwrap();
        prop_assert_eq!(edit.text.lines().count(), lines.len() - 1);
        prop_assert!(edit.text.lines().nth(at).unwrap().ends_with("changed"));
        prop_assert!(edit.strategy <= Found::LineTrimmed);
    }
}
