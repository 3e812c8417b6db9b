//! Character by character, whatever the ends of the lines.

use std::borrow::Cow;
use std::ops::Range;

use super::{Job, Which};
use crate::lines::with_ends;

pub(super) fn find(job: &Job<'_>) -> Vec<Range<usize>> {
    let text = job.lines.text();
    if job.old.contains('\r') {
        let literal = spans(text, job.old, job.which);
        if !literal.is_empty() {
            return literal;
        }
    }
    let (plain, old) = (Plain::new(text), job.old.replace("\r\n", "\n"));
    let mut spans = spans(&plain.text, &old, job.which);
    for span in &mut spans {
        *span = plain.original(span.start)..plain.original(span.end);
    }
    spans
}

/// Somebody who writes carriage returns, and rightly so, means them in the new text too.
pub(super) fn new_text(job: &Job<'_>, span: &Range<usize>) -> String {
    let literal = job.old.contains('\r') && job.lines.text().get(span.clone()) == Some(job.old);
    if literal {
        job.new.to_owned()
    } else {
        with_ends(job.new, job.lines.end_near(Some(job.lines.at(span.start))))
    }
}

/// Where the text is. Two places that overlap are two if the only one is wanted.
fn spans(text: &str, old: &str, which: Which) -> Vec<Range<usize>> {
    let mut starts: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
    if let ([only], Which::TheOne) = (starts.as_slice(), which) {
        let next = only + old.chars().next().map_or(1, char::len_utf8);
        let overlapping = text.get(next..).and_then(|rest| rest.find(old)).map(|at| next + at);
        starts.extend(overlapping);
    }
    starts.into_iter().map(|at| at..at + old.len()).collect()
}

/// A text without the carriage returns of its line ends.
struct Plain<'a> {
    text: Cow<'a, str>,
    /// The newlines in it that had one.
    newlines: Vec<usize>,
}

impl<'a> Plain<'a> {
    fn new(text: &'a str) -> Self {
        if !text.contains("\r\n") {
            return Self { text: text.into(), newlines: Vec::new() };
        }
        let mut newlines = Vec::new();
        let mut plain = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("\r\n") {
            plain.push_str(before);
            newlines.push(plain.len());
            plain.push('\n');
            rest = after;
        }
        plain.push_str(rest);
        Self { text: plain.into(), newlines }
    }

    /// The place in the original text.
    fn original(&self, at: usize) -> usize {
        at + self.newlines.partition_point(|newline| *newline < at)
    }
}
