//! What each recording says, as it is checked in: `tests/golden/KIND/NAME.txt`. Run with `JUNTO_BLESS=1` to
//! write the lists anew, and read the difference.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::listing::listing;
use crate::parsed::{KINDS, Kind, parse};

/// The names of a kind's recordings, and where they are.
pub(crate) fn recordings((kind, _): Kind) -> Vec<(String, PathBuf)> {
    let first = junto_testkit::recording(&format!("{kind}/plain"));
    named(first.parent().unwrap(), "jsonl")
}

fn named(folder: &Path, extension: &str) -> Vec<(String, PathBuf)> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|e| e == extension));
    let mut named: Vec<_> =
        files.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path)).collect();
    named.sort_unstable();
    named
}

#[track_caller]
fn check(kind: Kind, fewest: usize) {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")).join(kind.0);
    let bless = std::env::var_os("JUNTO_BLESS").is_some();
    let recordings = recordings(kind);
    assert!(recordings.len() >= fewest, "{} has only {} recordings", kind.0, recordings.len());
    if bless {
        fs::create_dir_all(&folder).unwrap();
    }
    let mut changed = Vec::new();
    for (name, recording) in &recordings {
        let now = listing(&parse(kind, &fs::read(recording).unwrap()));
        let golden = folder.join(format!("{name}.txt"));
        if bless {
            fs::write(&golden, now).unwrap();
        } else if fs::read_to_string(&golden).ok().as_ref() != Some(&now) {
            changed.push(format!("{}/{name}:\n{now}", kind.0));
        }
    }
    assert!(changed.is_empty(), "not as checked in; JUNTO_BLESS=1 if that is meant\n{}", changed.join("\n"));
    let lists: BTreeSet<String> = named(&folder, "txt").into_iter().map(|(name, _)| name).collect();
    assert_eq!(lists, recordings.into_iter().map(|(name, _)| name).collect(), "lists without a recording");
}

#[test]
fn claude_says_what_is_checked_in() {
    check(KINDS[0], 43);
}

#[test]
fn codex_says_what_is_checked_in() {
    check(KINDS[1], 34);
}

#[test]
fn gemini_says_what_is_checked_in() {
    check(KINDS[2], 28);
}
