//! One text in place of another.

mod error;
mod exact;
mod fuzzy;
mod trimmed;
mod words;

use std::ops::{Range, RangeInclusive};

pub use error::{ReplaceError, ReplaceErrorKind};

use crate::lines::Lines;
use crate::sequence::Places;

/// How much text is put into places altogether, in bytes: a long text in very many places is more than
/// anybody means.
const LARGEST: usize = 256 * 1024 * 1024;

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

impl Strategy {
    /// All strategies, in the order in which they are tried.
    pub const ALL: [Self; 4] = [Self::Exact, Self::LineTrimmed, Self::Whitespace, Self::Fuzzy];

    /// Where the old text is. Places overlap only if the only one is wanted, so that they are refused.
    fn find(self, job: &Job<'_>) -> Vec<Range<usize>> {
        match self {
            Self::Exact => exact::find(job),
            Self::LineTrimmed => trimmed::find(job),
            Self::Whitespace => words::find(job),
            Self::Fuzzy => fuzzy::find(job),
        }
    }

    /// What to put in a place that was found.
    fn new_text(self, job: &Job<'_>, span: &Range<usize>) -> String {
        match self {
            Self::Exact => exact::new_text(job, span),
            Self::LineTrimmed => trimmed::new_text(job, span),
            Self::Whitespace => words::new_text(job, span),
            Self::Fuzzy => fuzzy::new_text(job, span),
        }
    }
}

/// What is to be done.
struct Job<'a> {
    lines: &'a Lines<'a>,
    old: &'a str,
    new: &'a str,
    which: Which,
}

impl Job<'_> {
    /// Overlapping places are several, unless all that do not overlap are wanted.
    fn places(&self) -> Places {
        match self.which {
            Which::TheOne => Places::All,
            Which::All => Places::Apart,
        }
    }
}

/// Puts one text in the place of another.
///
/// The old text is sought in the ways of [`Strategy`], one after the other; the first that finds
/// something decides. Only the places that are found change. Line ends do not count: in a file with
/// carriage returns, the lines of the new text get them too.
///
/// ```
/// use junto_patch::{Strategy, Which, replace};
/// let file = "fn main() {\n    let a = 1;\n    let b = 2;\n}\n";
/// let edit = replace(file, "let a = 1;\nlet b = 2;", "let c = 3;", Which::TheOne)?;
/// assert_eq!(edit.text, "fn main() {\n    let c = 3;\n}\n");
/// assert_eq!(edit.strategy, Strategy::LineTrimmed);
/// assert_eq!(edit.places[0].before.lines, 2..=3);
/// # Ok::<(), junto_patch::ReplaceError>(())
/// ```
pub fn replace(text: &str, old: &str, new: &str, which: Which) -> Result<Edit, ReplaceError> {
    if old.is_empty() {
        return Err(ReplaceErrorKind::Empty.into());
    }
    if old == new {
        return Err(ReplaceErrorKind::Same.into());
    }
    let lines = Lines::new(text);
    let job = Job { lines: &lines, old, new, which };
    for strategy in Strategy::ALL {
        let found = strategy.find(&job);
        match (found.len(), which) {
            (0, _) => continue,
            (2.., Which::TheOne) => return Err(ReplaceError::ambiguous(&lines, strategy, &found)),
            // What is only alike is not replaced everywhere.
            (2.., Which::All) if strategy == Strategy::Fuzzy => {
                return Err(ReplaceError::ambiguous(&lines, strategy, &found));
            }
            _ => {}
        }
        let edit = edit(&job, strategy, found)?;
        return if edit.text == text { Err(ReplaceErrorKind::Unchanged.into()) } else { Ok(edit) };
    }
    Err(ReplaceError::not_found(&lines, old))
}

/// The edited text; the parts do not overlap and come in order.
fn edit(job: &Job<'_>, strategy: Strategy, found: Vec<Range<usize>>) -> Result<Edit, ReplaceError> {
    let work = found.len().saturating_mul(job.old.len().saturating_add(job.new.len()));
    if work > LARGEST {
        return Err(ReplaceErrorKind::TooLarge.into());
    }
    let source = job.lines.text();
    let mut text = String::with_capacity(source.len());
    let mut parts = Vec::with_capacity(found.len());
    let mut done = 0;
    for span in found {
        text.push_str(source.get(done..span.start).unwrap_or(""));
        done = span.end;
        let start = text.len();
        text.push_str(&strategy.new_text(job, &span));
        parts.push((span, start..text.len()));
    }
    text.push_str(source.get(done..).unwrap_or(""));
    let after = Lines::new(&text);
    let place = |(before, now)| Place { before: span(job.lines, before), after: span(&after, now) };
    let places = parts.into_iter().map(place).collect();
    Ok(Edit { text, strategy, places })
}

fn span(lines: &Lines<'_>, bytes: Range<usize>) -> Span {
    let first = lines.at(bytes.start);
    let last = lines.at(bytes.end.saturating_sub(1).max(bytes.start));
    Span { bytes, lines: first + 1..=last + 1 }
}
