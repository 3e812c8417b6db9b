//! Where in a file the hunks of an update belong.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::error::ApplyErrorKind;
use super::occurrences::Occurrences;
use super::{Hunk, LastNewline, Line};
use crate::lines::{Lines, clip};
use crate::nearest::{Near, nearest};
use crate::stage::Stage;

/// A hunk and the lines of the file it stands for.
pub(super) struct Placement<'a> {
    /// The first of the lines.
    pub(super) start: usize,
    /// The line after the last of them; the same as `start` if only lines are inserted.
    pub(super) end: usize,
    /// The lines of the hunk, without the empty ones at its end that are not in the file.
    pub(super) lines: &'a [Line],
    pub(super) last_newline: LastNewline,
    pub(super) stage: Stage,
}

/// Finds the place of every hunk. An error comes with the hunk's number, from 0.
pub(super) fn place<'a>(
    lines: &Lines<'_>,
    hunks: &'a [Hunk],
) -> Result<Vec<Placement<'a>>, (usize, ApplyErrorKind)> {
    let mut placer = Placer::new(lines, hunks);
    let place = |(number, hunk)| placer.place(number, hunk).map_err(|kind| (number, kind));
    hunks.iter().enumerate().map(place).collect()
}

struct Placer<'a, 'l> {
    lines: &'l Lines<'l>,
    /// What is sought for each hunk: all of its old lines, and those without empty ones at the end.
    sequences: Vec<Vec<&'a str>>,
    contexts: Vec<&'a str>,
    /// The first of each hunk's contexts in that list.
    first_context: Vec<usize>,
    /// Made when they are needed: most patches need the first only.
    stages: HashMap<Stage, Occurrences>,
    /// The hunks that were placed are all before this line.
    cursor: usize,
    changed: BTreeMap<usize, usize>,
    inserted: BTreeSet<usize>,
}

/// What became of the lines after `@@`.
#[derive(Clone, Copy)]
enum Context<'a> {
    /// There were none.
    Unsaid,
    /// The last of them is this line.
    At { line: usize, stage: Stage },
    /// The last of them is only before the cursor, so many times: the hunk changes the same function
    /// as an earlier one, or comes out of order.
    Behind { line: usize, stage: Stage, times: usize },
    /// This one is not in the file.
    Missing(&'a str),
}

/// Old lines of a hunk to look for.
#[derive(Clone, Copy)]
struct Sought<'a> {
    sequence: usize,
    lines: &'a [Line],
    length: usize,
}

impl<'a, 'l> Placer<'a, 'l> {
    fn new(lines: &'l Lines<'l>, hunks: &'a [Hunk]) -> Self {
        let (mut sequences, mut contexts, mut first_context) = (Vec::new(), Vec::new(), Vec::new());
        for hunk in hunks {
            sequences.push(old(&hunk.lines).collect());
            sequences.push(old(without_empty_end(&hunk.lines)).collect());
            first_context.push(contexts.len());
            contexts.extend(hunk.contexts.iter().map(String::as_str));
        }
        let (stages, changed, inserted) = (HashMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { lines, sequences, contexts, first_context, stages, cursor: 0, changed, inserted }
    }

    fn at(&mut self, stage: Stage) -> &Occurrences {
        let make = || Occurrences::new(stage, self.lines, &self.sequences, &self.contexts);
        self.stages.entry(stage).or_insert_with(make)
    }

    fn place(&mut self, number: usize, hunk: &'a Hunk) -> Result<Placement<'a>, ApplyErrorKind> {
        let context = self.context(number, hunk);
        let whole = self.sought(2 * number, &hunk.lines);
        let short = self.sought(2 * number + 1, without_empty_end(&hunk.lines));
        // Empty lines after what is inserted say nothing against a line after `@@`.
        let (start, stage, sought) = if whole.length == 0 || short.length == 0 && !hunk.contexts.is_empty() {
            let (start, stage) = self.insertion(hunk, context)?;
            (start, stage, short)
        } else {
            match self.find(hunk, context, whole) {
                Ok((start, stage)) => (start, stage, whole),
                Err(error) if short.length == whole.length || short.length == 0 => return Err(error),
                Err(error) => {
                    let (start, stage) = self.find(hunk, context, short).map_err(|_| error)?;
                    (start, stage, short)
                }
            }
        };
        let end = start + sought.length;
        self.free(start, end)?;
        if start == end {
            self.inserted.insert(start);
        } else {
            self.changed.insert(start, end);
        }
        self.cursor = self.cursor.max(end);
        Ok(Placement { start, end, lines: sought.lines, last_newline: hunk.last_newline, stage })
    }

    fn sought(&self, sequence: usize, lines: &'a [Line]) -> Sought<'a> {
        Sought { sequence, lines, length: self.sequences.get(sequence).map_or(0, Vec::len) }
    }

    /// Follows the lines after `@@`, each from the one before.
    fn context(&mut self, number: usize, hunk: &'a Hunk) -> Context<'a> {
        let first = self.first_context.get(number).copied().unwrap_or(0);
        let mut from = self.cursor;
        let mut found = Context::Unsaid;
        for (single, text) in (first..).zip(&hunk.contexts) {
            found = self.one_context(single, from).unwrap_or(Context::Missing(text));
            match found {
                Context::At { line, .. } => from = line + 1,
                Context::Missing(_) => break,
                Context::Behind { .. } | Context::Unsaid => {}
            }
        }
        found
    }

    fn one_context(&mut self, single: usize, from: usize) -> Option<Context<'a>> {
        Stage::ALL.into_iter().find_map(|stage| {
            let places = self.at(stage).places(single);
            let ahead = places.partition_point(|line| *line < from);
            match (places.get(ahead), places.last()) {
                (Some(line), _) => Some(Context::At { line: *line, stage }),
                (None, Some(line)) => Some(Context::Behind { line: *line, stage, times: places.len() }),
                (None, None) => None,
            }
        })
    }

    /// Where lines go that replace none: under the line after `@@`, or else to the end.
    fn insertion(&self, hunk: &Hunk, context: Context<'_>) -> Result<(usize, Stage), ApplyErrorKind> {
        match context {
            _ if hunk.at_end => Ok((self.lines.len(), Stage::Exact)),
            Context::Unsaid => Ok((self.lines.len(), Stage::Exact)),
            Context::At { line, stage } | Context::Behind { line, stage, times: 1 } => Ok((line + 1, stage)),
            Context::Behind { times, .. } => Err(ApplyErrorKind::Ambiguous { places: times }),
            Context::Missing(text) => Err(self.no_context(text)),
        }
    }

    fn find(
        &mut self,
        hunk: &Hunk,
        context: Context<'_>,
        Sought { sequence, length, .. }: Sought<'_>,
    ) -> Result<(usize, Stage), ApplyErrorKind> {
        if hunk.at_end || hunk.last_newline != LastNewline::AsBefore {
            let end = self.lines.len().checked_sub(length).filter(|start| *start >= self.cursor);
            let there = |stage: &Stage| end.is_some_and(|start| self.at(*stage).is_at(sequence, start));
            if let Some((stage, start)) = Stage::ALL.into_iter().find(there).zip(end) {
                return Ok((start, stage));
            }
            // It is not quite the end, but surely near it.
            let cursor = self.cursor;
            let last = |stage| Some((self.at(stage).last(sequence).filter(|at| *at >= cursor)?, stage));
            if let Some(found) = Stage::ALL.into_iter().find_map(last) {
                return Ok(found);
            }
        }
        let from = match context {
            Context::Unsaid | Context::Behind { .. } => Some(self.cursor),
            // The hunk may begin with the very line after `@@`.
            Context::At { line, .. } => Some(line),
            Context::Missing(_) => None,
        };
        let next = |stage| Some((self.at(stage).next(sequence, from?)?, stage));
        if let Some(found) = Stage::ALL.into_iter().find_map(next) {
            return Ok(found);
        }
        for stage in Stage::ALL {
            let found = self.at(stage);
            match (found.count(sequence), found.last(sequence), context) {
                (1, Some(start), _) => return Ok((start, stage)),
                (0, ..) | (_, None, _) => {}
                (.., Context::Missing(text)) => return Err(self.no_context(text)),
                (places, ..) => return Err(ApplyErrorKind::Ambiguous { places }),
            }
        }
        Err(self.no_lines(sequence))
    }

    /// Whether no earlier hunk changes these lines.
    fn free(&self, start: usize, end: usize) -> Result<(), ApplyErrorKind> {
        let before = self.changed.range(..end.max(start)).next_back();
        let within = before.is_some_and(|(_, other)| *other > start);
        let inside = self.inserted.range(start..end).find(|at| **at > start);
        if within || inside.is_some() {
            return Err(ApplyErrorKind::Overlaps { line: start + 1 });
        }
        Ok(())
    }

    fn no_context(&self, text: &str) -> ApplyErrorKind {
        ApplyErrorKind::ContextNotFound { context: clip(text), near: nearest(self.lines, text) }
    }

    /// Says which line does not fit: the one after those that do, if they say anything, or else the
    /// first that says something.
    fn no_lines(&mut self, sequence: usize) -> ApplyErrorKind {
        let (at, length) = self.at(Stage::Punctuation).longest_beginning(sequence);
        let lines = self.sequences.get(sequence).map_or(&[][..], Vec::as_slice);
        let telling = |line: &&&str| line.chars().any(char::is_alphanumeric);
        let (fits, rest) = lines.split_at(length.min(lines.len()));
        if fits.iter().any(|line| telling(&line)) && at + length < self.lines.len() {
            let line = clip(rest.first().copied().unwrap_or(""));
            return ApplyErrorKind::LinesNotFound { line, near: Some(Near::new(self.lines, at + length)) };
        }
        let line = lines.iter().find(telling).or(lines.first()).copied().unwrap_or("");
        ApplyErrorKind::LinesNotFound { line: clip(line), near: nearest(self.lines, line) }
    }
}

/// The lines that must be in the file.
fn old(lines: &[Line]) -> impl Iterator<Item = &str> {
    lines.iter().filter_map(|line| match line {
        Line::Keep(text) | Line::Remove(text) => Some(text.as_str()),
        Line::Insert(_) => None,
    })
}

/// The lines but for the empty ones at the end: those are often no lines of the file, but a gap in
/// the patch.
fn without_empty_end(lines: &[Line]) -> &[Line] {
    let end = lines.iter().rposition(|line| *line != Line::Keep(String::new())).map_or(0, |last| last + 1);
    lines.get(..end).unwrap_or(lines)
}
