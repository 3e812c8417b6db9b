//! What must hold for any patch and any edit that a model sends.

use junto_patch::{Change, Parser, Patch, Progress, Which, apply, replace, reverse};

/// Any cut of the text gives the same patch or the same refusal, and a patch that is printed is read
/// again. The first four bytes say where to cut.
pub fn patch_parse(data: &[u8]) {
    let (cuts, bytes) = data.split_at(data.len().min(4));
    let text = String::from_utf8_lossy(bytes);
    let whole = parse([&*text]);
    assert_eq!(whole, parse(pieces(&text, cuts)), "cutting changed the patch");
    if let Ok(patch) = whole.1 {
        assert_eq!(Patch::parse(&patch.to_string()).as_ref(), Ok(&patch), "printing changed the patch");
        assert!(patch.operations.is_empty() || patch.paths() != junto_patch::Paths::default());
    }
}

type Parsed = (Vec<Progress>, Result<Patch, junto_patch::ParseError>);

fn parse<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Parsed {
    let mut parser = Parser::new();
    let seen = pieces.into_iter().flat_map(|piece| parser.push(piece)).collect();
    (seen, parser.finish())
}

fn pieces<'a>(mut text: &'a str, cuts: &[u8]) -> Vec<&'a str> {
    let mut pieces = Vec::new();
    for cut in cuts {
        let (piece, rest) = text.split_at(text.floor_char_boundary(usize::from(*cut)));
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}

/// What is before the patch is the file for all of its paths but those that begin with "new", which
/// are not there. A patch that fits can be undone, but for
/// the line ends that the format cannot say. Tells whether it fits.
pub fn patch_apply(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let begin = text.find("*** Begin Patch").unwrap_or(text.len());
    let (file, patch) = text.split_at(begin);
    let Ok(patch) = Patch::parse(patch) else { return false };
    let before = |path: &str| (!path.starts_with("new")).then_some(file);
    let Ok(applied) = apply(&patch, before) else { return false };
    let undo = reverse(&applied.changes, before).expect("all files are texts");
    let after = |path: &str| {
        let gone = applied.changes.iter().any(|change| match change {
            Change::Remove { path: gone } | Change::Write { moved_from: Some(gone), .. } => gone == path,
            _ => false,
        });
        let text = applied.changes.iter().find_map(|change| match change {
            Change::Create { path: new, text } | Change::Write { path: new, text, .. } if new == path => {
                Some(text)
            }
            _ => None,
        });
        text.map(String::as_str).or_else(|| if gone { None } else { before(path) })
    };
    let undone = apply(&undo, after).expect("what was done can be undone");
    for change in undone.changes {
        if let Change::Create { text, .. } | Change::Write { text, .. } = change {
            assert_eq!(text.replace('\r', ""), file.replace('\r', ""), "it was not undone");
        }
    }
    true
}

/// The text, the old and the new part are separated by zero bytes. Nothing outside of the places that
/// are told changes. Tells whether something was replaced.
pub fn edit_match(data: &[u8]) -> bool {
    let data = String::from_utf8_lossy(data);
    let mut parts = data.splitn(3, '\0');
    let (Some(text), Some(old), Some(new)) = (parts.next(), parts.next(), parts.next()) else { return false };
    let mut found = false;
    for which in [Which::TheOne, Which::All] {
        let Ok(edit) = replace(text, old, new, which) else { continue };
        found = true;
        assert!(which == Which::All || edit.places.len() == 1, "more than the one was replaced");
        let (mut before, mut after) = (0, 0);
        for place in &edit.places {
            let kept = &text[before..place.before.bytes.start];
            assert_eq!(kept, &edit.text[after..place.after.bytes.start], "something else changed");
            (before, after) = (place.before.bytes.end, place.after.bytes.end);
        }
        assert_eq!(&text[before..], &edit.text[after..], "something else changed");
    }
    found
}
