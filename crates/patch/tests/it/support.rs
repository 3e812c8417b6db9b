//! Files as lists of pairs, and patches as their inner lines.

use std::collections::BTreeMap;

use junto_patch::{Applied, ApplyError, Change, Patch, apply};

pub(crate) type Files = BTreeMap<String, String>;

pub(crate) fn files(list: &[(&str, &str)]) -> Files {
    list.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// A patch from what is between its first and its last line.
#[track_caller]
pub(crate) fn patch(body: &str) -> Patch {
    let text = format!("*** Begin Patch\n{}\n*** End Patch\n", body.trim_matches('\n'));
    Patch::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub(crate) fn try_apply(patch: &Patch, files: &Files) -> Result<Applied, ApplyError> {
    apply(patch, |path| files.get(path).map(String::as_str))
}

/// The files after the changes.
pub(crate) fn changed(mut files: Files, changes: &[Change]) -> Files {
    for change in changes {
        match change {
            Change::Create { path, text } => {
                assert!(files.insert(path.clone(), text.clone()).is_none(), "{path} was there");
            }
            Change::Write { path, text, moved_from } => {
                let source = moved_from.as_ref().unwrap_or(path);
                assert!(files.remove(source).is_some(), "{source} was not there");
                files.insert(path.clone(), text.clone());
            }
            Change::Remove { path } => assert!(files.remove(path).is_some(), "{path} was not there"),
        }
    }
    files
}

/// Applies a patch to the file `f`.
#[track_caller]
pub(crate) fn check(before: &str, body: &str, after: &str) -> Applied {
    let patch = patch(&format!("*** Update File: f\n{}", body.trim_matches('\n')));
    let files = files(&[("f", before)]);
    let applied = try_apply(&patch, &files).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(changed(files, &applied.changes)["f"], after);
    applied
}

/// What is said about a patch to the file `f` that does not fit.
#[track_caller]
pub(crate) fn refused(before: &str, body: &str) -> String {
    let patch = patch(&format!("*** Update File: f\n{}", body.trim_matches('\n')));
    try_apply(&patch, &files(&[("f", before)])).unwrap_err().to_string()
}
