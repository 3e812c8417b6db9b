//! Reading a patch, line by line, whole or as it arrives.

use std::fmt;
use std::mem::take;

use super::wrapper::Wrapper;
use super::{Hunk, LastNewline, Line, Operation, Patch};
use crate::lines::clip;

/// Something that is known of a patch before all of it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A file that will be made, or written anew.
    Adds(String),
    /// A file that will be removed.
    Deletes(String),
    /// A file that will be changed.
    Updates(String),
    /// The new name of the file that was named last.
    MovesTo(String),
}

/// Why a text is not a patch. What it prints says where, what was expected and what was there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    line: usize,
    expected: &'static str,
    found: Option<String>,
}

impl ParseError {
    /// The line of the text, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// What should have been there.
    pub fn expected(&self) -> &str {
        self.expected
    }

    /// The line that was there instead, shortened; none if the text ended.
    pub fn found(&self) -> Option<&str> {
        self.found.as_deref()
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the patch: expected {}, ", self.line, self.expected)?;
        match &self.found {
            Some(found) => write!(f, "found {found:?}"),
            None => f.write_str("but the text ends here"),
        }
    }
}

impl std::error::Error for ParseError {}

/// Reads a patch that arrives in pieces. However it is cut, the result is the same.
///
/// ```
/// use junto_patch::{Parser, Progress};
/// let mut parser = Parser::new();
/// assert_eq!(parser.push("*** Begin Patch\n*** Delete Fi"), []);
/// assert_eq!(parser.push("le: old.txt\n*** End"), [Progress::Deletes("old.txt".into())]);
/// assert_eq!(parser.push(" Patch"), []);
/// assert_eq!(parser.finish()?.operations.len(), 1);
/// # Ok::<(), junto_patch::ParseError>(())
/// ```
#[derive(Debug, Default)]
pub struct Parser {
    /// The line that has not ended yet.
    partial: String,
    /// How many lines were read.
    number: usize,
    place: Place,
    wrapper: Wrapper,
    patch: Patch,
    /// The first mistake. Nothing is read after it.
    error: Option<ParseError>,
}

/// Where in a patch the parser is.
#[derive(Debug, Default)]
enum Place {
    #[default]
    Before,
    /// Only the head of a file or the end can follow.
    Between,
    Adding {
        /// Lines without a `+` that belong to the file only if more of it follows.
        blank: usize,
        /// A line after this one would contradict the text.
        closed: bool,
    },
    Updating(Update),
    After,
}

/// The part of an update that is still being read.
#[derive(Debug, Default)]
struct Update {
    hunk: Hunk,
    /// A hunk was opened, by an `@@` or by its first line.
    open: bool,
    /// The end of the file was said to lack its newline in the old text.
    old_marked: bool,
}

/// What a line that begins with `***` says.
enum Marker<'a> {
    Begin,
    End,
    Add(&'a str),
    Delete(&'a str),
    Update(&'a str),
    MoveTo(&'a str),
    EndOfFile,
}

const HEAD: &str =
    "\"*** Add File: PATH\", \"*** Delete File: PATH\", \"*** Update File: PATH\" or \"*** End Patch\"";
const HUNK_LINE: &str = "a line of the hunk, which begins with ' ' (keep), '-' (remove) or '+' (insert), an \"@@\" line, \
     or the next \"*** \" marker";
const ADDED_LINE: &str = "a line of the new file, which begins with '+', or the next \"*** \" marker";
const SOME_LINES: &str = "at least one line that begins with ' ', '-' or '+' after the \"@@\" line";
const SOME_HUNK: &str = "a hunk for the file to update: \"@@\" and lines that begin with ' ', '-' or '+'";

type Step = Result<(), &'static str>;

impl Parser {
    /// A parser that has read nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads on, and tells what became known. After a mistake it tells nothing more, and
    /// [`finish`](Self::finish) says what the mistake was.
    pub fn push(&mut self, piece: &str) -> Vec<Progress> {
        let mut seen = Vec::new();
        let mut rest = piece;
        while let Some((head, tail)) = rest.split_once('\n') {
            if self.error.is_some() {
                return seen;
            }
            if self.partial.is_empty() {
                self.line(head, &mut seen);
            } else {
                self.partial.push_str(head);
                let line = take(&mut self.partial);
                self.line(&line, &mut seen);
            }
            rest = tail;
        }
        if self.error.is_none() {
            self.partial.push_str(rest);
        }
        seen
    }

    /// The patch, if the text was one from its beginning to its end.
    pub fn finish(mut self) -> Result<Patch, ParseError> {
        if !self.partial.is_empty() && self.error.is_none() {
            let line = take(&mut self.partial);
            self.line(&line, &mut Vec::new());
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        let expected = match self.place {
            Place::After => return Ok(self.patch),
            Place::Before => "\"*** Begin Patch\"",
            _ => "\"*** End Patch\" as the last line",
        };
        Err(ParseError { line: self.number + 1, expected, found: None })
    }

    fn line(&mut self, line: &str, seen: &mut Vec<Progress>) {
        self.number += 1;
        // The end of a line belongs to the patch and not to the file, whichever it is.
        let line = line.trim_end_matches('\r');
        if let Err(expected) = self.step(line, seen) {
            self.error = Some(ParseError { line: self.number, expected, found: Some(clip(line)) });
        }
    }

    fn step(&mut self, line: &str, seen: &mut Vec<Progress>) -> Step {
        match &mut self.place {
            Place::Before => {
                if matches!(marker(line.trim_start()), Some(Marker::Begin)) {
                    self.place = Place::Between;
                } else if !self.wrapper.opens(line) {
                    return Err("\"*** Begin Patch\" as the first line");
                }
                Ok(())
            }
            Place::Between if line.trim().is_empty() => Ok(()),
            Place::Between => self.head(line.trim_start(), HEAD, seen),
            Place::Adding { blank, closed } => {
                if let Some(added) = line.strip_prefix('+') {
                    if *closed {
                        return Err("no more lines after the one that has no newline");
                    }
                    if let Some(Operation::Add { text, .. }) = self.patch.operations.last_mut() {
                        text.extend(std::iter::repeat_n('\n', take(blank)));
                        text.push_str(added);
                        text.push('\n');
                    }
                    return Ok(());
                }
                if line.trim().is_empty() {
                    *blank += 1;
                    return Ok(());
                }
                if is_no_newline(line) && !*closed {
                    *closed = true;
                    if let Some(Operation::Add { text, .. }) = self.patch.operations.last_mut() {
                        text.pop();
                    }
                    return Ok(());
                }
                self.head(line.trim_start(), ADDED_LINE, seen)
            }
            Place::Updating(_) => self.update(line, seen),
            Place::After if self.wrapper.closes(line) => Ok(()),
            Place::After => Err("nothing after \"*** End Patch\""),
        }
    }

    /// A line at which a file begins or the patch ends.
    fn head(&mut self, line: &str, expected: &'static str, seen: &mut Vec<Progress>) -> Step {
        let (operation, place) = match marker(line).ok_or(expected)? {
            Marker::End => {
                self.place = Place::After;
                return Ok(());
            }
            Marker::Add(path) => {
                let path = named(path)?;
                seen.push(Progress::Adds(path.clone()));
                (Operation::Add { path, text: String::new() }, Place::Adding { blank: 0, closed: false })
            }
            Marker::Delete(path) => {
                let path = named(path)?;
                seen.push(Progress::Deletes(path.clone()));
                (Operation::Delete { path }, Place::Between)
            }
            Marker::Update(path) => {
                let path = named(path)?;
                seen.push(Progress::Updates(path.clone()));
                let operation = Operation::Update { path, moved_to: None, hunks: Vec::new() };
                (operation, Place::Updating(Update::default()))
            }
            Marker::Begin | Marker::MoveTo(_) | Marker::EndOfFile => return Err(expected),
        };
        self.patch.operations.push(operation);
        self.place = place;
        Ok(())
    }

    fn update(&mut self, line: &str, seen: &mut Vec<Progress>) -> Step {
        let Place::Updating(update) = &mut self.place else { return Ok(()) };
        let Some(Operation::Update { moved_to, hunks, .. }) = self.patch.operations.last_mut() else {
            return Ok(());
        };
        if let Some(line) = hunk_line(line) {
            if !update.open && !hunks.is_empty() {
                if line == Line::Keep(String::new()) {
                    return Ok(());
                }
                return Err("an \"@@\" line before the next hunk, or the next \"*** \" marker");
            }
            if !update.open && line == Line::Keep(String::new()) {
                // A gap between the head and the first hunk.
                return Ok(());
            }
            update.open = true;
            update.hunk.lines.push(line);
            return Ok(());
        }
        if is_no_newline(line) {
            match update.hunk.lines.last() {
                Some(Line::Remove(_)) => update.old_marked = true,
                Some(_) => update.hunk.last_newline = LastNewline::Dropped,
                None => return Err(HUNK_LINE),
            }
            return Ok(());
        }
        if let Some(context) = line.strip_prefix("@@") {
            if !update.hunk.lines.is_empty() {
                hunks.push(update.close());
            }
            update.open = true;
            let context = context_of(context);
            if !context.trim().is_empty() {
                update.hunk.contexts.push(context.to_owned());
            }
            return Ok(());
        }
        match marker(line) {
            Some(Marker::MoveTo(path)) if !update.open && hunks.is_empty() && moved_to.is_none() => {
                let path = named(path)?;
                seen.push(Progress::MovesTo(path.clone()));
                *moved_to = Some(path);
                Ok(())
            }
            Some(Marker::MoveTo(_)) => {
                Err("\"*** Move to: PATH\" only directly after \"*** Update File: PATH\"")
            }
            Some(Marker::EndOfFile) => {
                if update.hunk.lines.is_empty() {
                    return Err(SOME_LINES);
                }
                update.hunk.at_end = true;
                hunks.push(update.close());
                Ok(())
            }
            _ => {
                if !update.hunk.lines.is_empty() {
                    hunks.push(update.close());
                } else if update.open {
                    return Err(SOME_LINES);
                } else if hunks.is_empty() && moved_to.is_none() {
                    return Err(SOME_HUNK);
                }
                self.head(line, HUNK_LINE, seen)
            }
        }
    }
}

impl Update {
    /// Takes the hunk that is complete.
    fn close(&mut self) -> Hunk {
        let mut update = take(self);
        if update.old_marked && update.hunk.last_newline == LastNewline::AsBefore {
            update.hunk.last_newline = LastNewline::Added;
        }
        update.hunk
    }
}

fn marker(line: &str) -> Option<Marker<'_>> {
    let rest = line.strip_prefix("***")?.trim();
    let named = [
        ("Add File:", Marker::Add as fn(_) -> _),
        ("Delete File:", Marker::Delete),
        ("Update File:", Marker::Update),
        ("Move to:", Marker::MoveTo),
    ];
    match rest {
        "Begin Patch" => Some(Marker::Begin),
        "End Patch" => Some(Marker::End),
        "End of File" => Some(Marker::EndOfFile),
        _ => named.iter().find_map(|(word, make)| rest.strip_prefix(word).map(|path| make(path.trim()))),
    }
}

fn named(path: &str) -> Result<String, &'static str> {
    if path.is_empty() { Err("a path after the colon") } else { Ok(path.to_owned()) }
}

/// An empty line stands for an empty line that stays: its space is lost easily.
fn hunk_line(line: &str) -> Option<Line> {
    let mut rest = line.chars();
    let make = match rest.next() {
        None | Some(' ') => Line::Keep,
        Some('-') => Line::Remove,
        Some('+') => Line::Insert,
        Some(_) => return None,
    };
    Some(make(rest.as_str().to_owned()))
}

/// What unified diffs write under a last line without a newline.
fn is_no_newline(line: &str) -> bool {
    line.starts_with("\\ No newline")
}

/// The text after `@@`. The line numbers of a unified diff are not looked at: models cannot count.
fn context_of(rest: &str) -> &str {
    let rest = rest.strip_prefix(' ').unwrap_or(rest).trim_end();
    let Some((numbers, after)) = rest.split_once("@@") else { return rest };
    let mut parts = numbers.split_whitespace();
    let is_range = |part: Option<&str>, sign| {
        part.and_then(|part| part.strip_prefix(sign))
            .is_some_and(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit() || c == ','))
    };
    let unified = is_range(parts.next(), '-') && is_range(parts.next(), '+') && parts.next().is_none();
    if unified { after.strip_prefix(' ').unwrap_or(after) } else { rest }
}
