//! Word by word, but for the space between them and the kind of quotes and dashes.

use std::collections::VecDeque;
use std::ops::Range;

use super::Job;
use crate::indent::{Indents, indent};
use crate::lines::{Lines, split_end};
use crate::sequence::{Dictionary, Matcher, Places};
use crate::stage::fold;

pub(super) fn find(job: &Job<'_>) -> Vec<Range<usize>> {
    if !job.old.chars().any(char::is_alphanumeric) {
        return Vec::new();
    }
    let mut known = Dictionary::new();
    let ids: Vec<u32> = words(job.old).map(|(_, word)| known.enter(fold(word))).collect();
    let mut matcher = Matcher::new(&ids);
    let mut starts = VecDeque::with_capacity(ids.len());
    let mut found = Vec::new();
    for (at, word) in words(job.lines.text()) {
        if starts.len() == ids.len() {
            starts.pop_front();
        }
        starts.push_back(at);
        if matcher.push(known.look_up(&fold(word))) {
            let start = starts.front().copied().unwrap_or(at);
            found.push(start..at + word.len());
            if job.places() == Places::Apart {
                matcher.reset();
            }
        }
    }
    found
}

/// The words of a text and where they begin. Every sign is a word of its own.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let length =
            if in_word(first) { rest.find(|c| !in_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let at = text.len() - rest.len();
        let (word, after) = rest.split_at(length);
        rest = after;
        Some((at, word))
    })
}

pub(super) fn new_text(job: &Job<'_>, span: &Range<usize>) -> String {
    let lines = job.lines;
    let new = within_edges(job.old, job.new);
    let (first, last) = (lines.at(span.start), lines.at(span.end.saturating_sub(1)));
    let old = Lines::new(job.old.trim_end());
    let blank = old.iter().take_while(|line| line.trim().is_empty()).count();
    // A line that begins before the span says nothing about indentation.
    let begins = lines.start(first) + indent(lines.line(first)).len() == span.start;
    let by_line = old.len() - blank == last + 1 - first;
    let pairs = old.iter().skip(blank).zip((first..=last).map(|at| lines.line(at)));
    let pairs = pairs.skip(usize::from(!begins)).take(if by_line { usize::MAX } else { usize::from(begins) });
    let indents = Indents::learn(pairs);

    let end = lines.end_near(Some(first));
    let mut text = String::with_capacity(new.len());
    for (number, line) in new.split_inclusive('\n').enumerate() {
        let (line, newline) = split_end(line);
        // The first line's indentation is in the file, before the span.
        match number {
            0 => text.push_str(line),
            _ => text.push_str(&indents.fix(line)),
        }
        text.push_str(if newline.is_empty() { "" } else { end });
    }
    text
}

/// The new text without the space at its sides that the old text has at its own: the span is without
/// that too.
fn within_edges<'t>(old: &str, new: &'t str) -> &'t str {
    let new = if old.starts_with(char::is_whitespace) { new.trim_start() } else { new };
    if old.ends_with(char::is_whitespace) { new.trim_end() } else { new }
}
