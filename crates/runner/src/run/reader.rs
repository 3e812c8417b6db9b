//! What a process prints, free of secrets, as events.

use std::borrow::Cow;
use std::collections::VecDeque;

use junto_llm::Secret;

use super::record::Record;
use crate::{CliEvent, LINE_LIMIT, Line, Parser};

/// Reads lines into events, and keeps a record of them.
pub(super) struct Reader {
    parser: Box<dyn Parser>,
    secrets: Vec<Secret>,
    record: Option<Record>,
    pub(super) events: VecDeque<CliEvent>,
    /// Set once a line was too long.
    too_long: bool,
}

impl Reader {
    pub(super) fn new(parser: Box<dyn Parser>, secrets: Vec<Secret>, record: Option<Record>) -> Self {
        Self { parser, secrets, record, events: VecDeque::new(), too_long: false }
    }

    /// Takes a line of standard output.
    pub(super) fn line(&mut self, line: Line<'_>) {
        let mut events = Vec::new();
        match line {
            Line::Whole(line) => {
                let line = clean(line, &self.secrets);
                if let Some(record) = &mut self.record {
                    record.line(&line);
                }
                self.parser.line(&line, &mut events);
            }
            Line::TooLong if !self.too_long => {
                self.too_long = true;
                let message = format!("a line of more than {LINE_LIMIT} bytes was thrown away");
                events.push(CliEvent::Warning { code: "line_too_long", message });
            }
            Line::TooLong => {}
        }
        self.events.extend(events);
    }

    /// Takes a line of standard error, for the record only.
    pub(super) fn aside(&mut self, line: Line<'_>) {
        if let (Some(record), Line::Whole(line)) = (&mut self.record, line) {
            record.line(&clean(line, &self.secrets));
        }
    }

    /// Takes the end of the output.
    pub(super) fn finish(&mut self) {
        let mut events = Vec::new();
        self.parser.finish(&mut events);
        self.events.extend(events);
    }

    /// A text without its secrets.
    pub(super) fn redacted(&self, text: &str) -> String {
        String::from_utf8_lossy(&clean(text.as_bytes(), &self.secrets)).into_owned()
    }
}

/// A line without its secrets. Bytes that are no text have none that anybody could read.
fn clean<'a>(line: &'a [u8], secrets: &[Secret]) -> Cow<'a, [u8]> {
    match std::str::from_utf8(line) {
        Ok(text) if secrets.iter().any(|secret| text.contains(secret.expose())) => {
            let clean = secrets.iter().fold(text.to_owned(), |text, secret| secret.redact(&text));
            Cow::Owned(clean.into_bytes())
        }
        _ => Cow::Borrowed(line),
    }
}
