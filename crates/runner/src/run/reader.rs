//! What a process prints, free of secrets, as events.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use junto_llm::Secret;
use serde_json::Value;

use super::record::Record;
use crate::{CliEvent, LINE_LIMIT, Line, Parser};

/// A secret that is shorter could be any word, and is left alone: without it, what a command prints would be no JSON
/// any more.
const SHORTEST: usize = 8;

/// Reads lines into events, and keeps a record of them.
pub(super) struct Reader {
    parser: Box<dyn Parser>,
    /// In all their forms, the longest first.
    secrets: Vec<Secret>,
    record: Option<Record>,
    pub(super) events: VecDeque<CliEvent>,
    /// Set once a line was too long.
    too_long: bool,
}

impl Reader {
    pub(super) fn new(parser: Box<dyn Parser>, secrets: &[Secret], record: Option<Record>) -> Self {
        Self { parser, secrets: forms(secrets), record, events: VecDeque::new(), too_long: false }
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

/// Secrets as they stand in a text, in JSON, and in JSON that stands in JSON as a text. One may be a part of another, so
/// that the longest come first.
fn forms(secrets: &[Secret]) -> Vec<Secret> {
    let mut forms = BTreeSet::new();
    for secret in secrets.iter().filter(|secret| secret.expose().len() >= SHORTEST) {
        let mut form = secret.expose().to_owned();
        for _ in 0..3 {
            let quoted = Value::from(form.as_str()).to_string();
            let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned();
            let form = std::mem::replace(&mut form, inner);
            forms.insert((Reverse(form.len()), form));
        }
    }
    forms.into_iter().map(|(_, form)| Secret::new(form)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(secrets: &[&str], line: &str, expected: &str) {
        let secrets: Vec<Secret> = secrets.iter().map(|&secret| Secret::new(secret)).collect();
        assert_eq!(String::from_utf8_lossy(&clean(line.as_bytes(), &forms(&secrets))), expected);
    }

    #[test]
    fn short_words_are_no_secrets() {
        let line = r#"{"type":"result","is_error":false,"num_turns":1}"#;
        check(&["false", "1", "", "result"], line, line);
        check(&["1", "12345678"], r#"{"n":1,"key":"12345678"}"#, r#"{"n":1,"key":"[redacted]"}"#);
    }

    #[test]
    fn secrets_are_found_in_json_too() {
        let key = "-----BEGIN KEY-----\nabc\"def\\\n-----END KEY-----";
        let inner = Value::from(key).to_string();
        let outer = Value::from(inner.clone()).to_string();
        check(&[key], &format!(r#"{{"text":{inner}}}"#), r#"{"text":"[redacted]"}"#);
        check(&[key], &format!(r#"{{"text":{outer}}}"#), r#"{"text":"\"[redacted]\""}"#);
        check(&[key], &format!("it is {key}."), "it is [redacted].");
        // The one within the other does not leave the rest of it.
        check(&["password", "password-of-mine"], "password-of-mine", "[redacted]");
    }
}
