//! Line by line, but for the space at both sides of lines.

use std::ops::Range;

use super::Job;
use crate::indent::Indents;
use crate::lines::{Lines, split_end};
use crate::sequence::{Dictionary, find_all};

pub(super) fn find(job: &Job<'_>) -> Vec<Range<usize>> {
    if job.old.trim().is_empty() {
        return Vec::new();
    }
    let mut known = Dictionary::new();
    let ids: Vec<u32> = Lines::new(job.old).iter().map(|line| known.enter(line.trim())).collect();
    let file = job.lines.iter().map(|line| known.look_up(&line.trim()));
    let found = find_all(file, &ids, job.places());
    found.into_iter().map(|first| span(job, first, first + ids.len() - 1)).collect()
}

pub(super) fn new_text(job: &Job<'_>, span: &Range<usize>) -> String {
    let real = (job.lines.at(span.start)..).map(|at| job.lines.line(at));
    let indents = Indents::learn(Lines::new(job.old).iter().zip(real));
    indented(job, span, indents, job.new)
}

/// Whole lines of the file, with the end of the last one if the old text has that too.
pub(super) fn span(job: &Job<'_>, first: usize, last: usize) -> Range<usize> {
    let end = job.lines.start(last + 1);
    let kept = if job.old.ends_with('\n') { 0 } else { job.lines.end(last).len() };
    job.lines.start(first)..end - kept
}

/// The new text for whole lines of the file.
pub(super) fn indented(job: &Job<'_>, span: &Range<usize>, indents: Indents<'_>, new: &str) -> String {
    let indents = match new.lines().find(|line| !line.trim().is_empty()) {
        Some(first) => indents.unless_right(first),
        None => indents,
    };
    let end = job.lines.end_near(Some(job.lines.at(span.start)));
    let mut text = String::with_capacity(new.len());
    for line in new.split_inclusive('\n') {
        let (line, newline) = split_end(line);
        text.push_str(&indents.fix(line));
        text.push_str(if newline.is_empty() { "" } else { end });
    }
    let replaced = job.lines.text().get(span.clone()).unwrap_or("");
    if job.old.ends_with('\n') && !replaced.ends_with('\n') {
        // The file lacks the newline that the old text has, so the new text is to lack it too.
        text.truncate(text.len() - split_end(&text).1.len());
    }
    text
}
