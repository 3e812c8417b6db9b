//! The mutants that there are, as cargo-mutants lists them.

use std::ffi::OsStr;

use serde::Deserialize;

use super::Group;
use crate::Outcome;
use crate::command::{capture, cargo};

/// A small change that should make a test fail.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Mutant {
    /// Where it is and what is changed.
    pub(super) name: String,
    /// Below the workspace.
    pub(super) file: String,
    pub(super) genre: Genre,
    pub(super) span: Span,
    /// What stands there instead.
    pub(super) replacement: String,
}

/// What kind of change it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
pub(super) enum Genre {
    /// A function does nothing but return a value.
    FnValue,
    BinaryOperator,
    UnaryOperator,
    /// An arm of a `match` is missing.
    MatchArm,
    MatchArmGuard,
    /// A field of a struct is taken from its base.
    StructField,
}

/// The text that is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Span {
    pub(super) start: Place,
    pub(super) end: Place,
}

/// Line and column, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Place {
    /// Where that is in the text, in bytes.
    pub(super) fn offset(self, text: &str) -> usize {
        let line: usize = text.split_inclusive('\n').take(self.line.saturating_sub(1)).map(str::len).sum();
        let rest = text.get(line..).unwrap_or_default();
        line + rest.chars().take(self.column.saturating_sub(1)).map(char::len_utf8).sum::<usize>()
    }
}

/// The mutants of a group, in the order of its text.
pub(super) fn mutants(group: &Group, path: &OsStr) -> Outcome<Vec<Mutant>> {
    let mut list = cargo();
    list.env("PATH", path).args(["mutants", "--package", group.package, "--list", "--json", "--no-shuffle"]);
    for file in group.files {
        list.args(["--file", file]);
    }
    for file in group.data {
        list.args(["--exclude", file]);
    }
    serde_json::from_str(&capture(&mut list)?).map_err(|e| format!("cargo mutants lists strange things: {e}"))
}

/// Every Nth from the Kth on, as `K/N` says.
pub(super) fn part(mutants: Vec<Mutant>, part: &str) -> Outcome<Vec<Mutant>> {
    let numbers = part.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    match numbers {
        Some((k, n)) if k < n => Ok(mutants.into_iter().skip(k).step_by(n).collect()),
        _ => Err(format!("`{part}` is no part\nhint: 0/8 is the first of eight, 7/8 the last")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters() {
        let text = "é\nab🦀c\n";
        let check = |line, column, expected| {
            assert_eq!(Place { line, column }.offset(text), expected, "{line}:{column}");
        };
        check(1, 1, 0);
        check(1, 2, 2);
        check(2, 1, 3);
        check(2, 4, 9);
    }

    #[test]
    fn a_part_is_every_nth() {
        let place = Place { line: 1, column: 1 };
        let mutant = |name: usize| Mutant {
            name: name.to_string(),
            file: String::new(),
            genre: Genre::FnValue,
            span: Span { start: place, end: place },
            replacement: String::new(),
        };
        let names = |text: &str| -> Option<Vec<String>> {
            Some(part((0..7).map(mutant).collect(), text).ok()?.into_iter().map(|m| m.name).collect())
        };
        assert_eq!(names("0/3").as_deref(), Some(["0", "3", "6"].map(str::to_owned).as_slice()));
        assert_eq!(names("2/3").as_deref(), Some(["2", "5"].map(str::to_owned).as_slice()));
        for no_part in ["3/3", "x", "1", "-1/2", "0/0"] {
            assert_eq!(names(no_part), None, "{no_part}");
        }
    }
}
