//! One text in place of another.

mod error;

use std::ops::{Range, RangeInclusive};

pub use error::{ReplaceError, ReplaceErrorKind};

use crate::lines::Lines;

/// Which of several places to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The only one; several are an error.
    TheOne,
    /// All of them.
    All,
}

/// How a text was found; a later way is tried only if no earlier one finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    /// Character by character, whatever the ends of the lines.
    Exact,
    /// Line by line, but for the space at both sides of lines. The new text is indented like the old.
    LineTrimmed,
    /// Word by word, but for the space between them and the kind of quotes and dashes.
    Whitespace,
    /// As lines in which at most a tenth of the characters differ.
    Fuzzy,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its bytes.
    pub bytes: Range<usize>,
    /// The lines it is in, from 1.
    pub lines: RangeInclusive<usize>,
}

/// One place that was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where the old text was in the text before.
    pub before: Span,
    /// Where the new text is in the text after.
    pub after: Span,
}

/// A text that was edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The whole text. Outside of the places it is as it was.
    pub text: String,
    /// How the old text was found.
    pub strategy: Strategy,
    /// What was replaced, first to last; never empty.
    pub places: Vec<Place>,
}

/// A part to replace and what to put there.
struct Found {
    span: Range<usize>,
    new: String,
}

/// Puts one text in the place of another.
pub fn replace(text: &str, old: &str, new: &str, which: Which) -> Result<Edit, ReplaceError> {
    if old.is_empty() {
        return Err(ReplaceErrorKind::Empty.into());
    }
    if old == new {
        return Err(ReplaceErrorKind::Same.into());
    }
    let lines = Lines::new(text);
    let spans: Vec<Range<usize>> = text.match_indices(old).map(|(at, old)| at..at + old.len()).collect();
    match (spans.len(), which) {
        (0, _) => Err(ReplaceError::not_found(&lines, old)),
        (2.., Which::TheOne) => Err(ReplaceError::ambiguous(&lines, &spans)),
        _ => {
            let found = spans.into_iter().map(|span| Found { span, new: new.to_owned() }).collect();
            Ok(edit(&lines, Strategy::Exact, found))
        }
    }
}

fn edit(lines: &Lines<'_>, strategy: Strategy, found: Vec<Found>) -> Edit {
    let source = lines.text();
    let mut text = String::with_capacity(source.len());
    let mut done = 0;
    let mut parts = Vec::new();
    for Found { span, new } in found {
        text.push_str(source.get(done..span.start).unwrap_or(""));
        let start = text.len();
        text.push_str(&new);
        parts.push((span.clone(), start..text.len()));
        done = span.end;
    }
    text.push_str(source.get(done..).unwrap_or(""));
    let after = Lines::new(&text);
    let place = |(before, now)| Place { before: span(lines, before), after: span(&after, now) };
    let places = parts.into_iter().map(place).collect();
    Edit { text, strategy, places }
}

fn span(lines: &Lines<'_>, bytes: Range<usize>) -> Span {
    let first = lines.at(bytes.start);
    let last = lines.at(bytes.end.saturating_sub(1).max(bytes.start));
    Span { bytes, lines: first + 1..=last + 1 }
}
