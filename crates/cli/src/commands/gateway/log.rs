//! What the gateway notes on standard error: lines for people, or JSON for programs.

use junto::gateway::{CallEnd, CallReport};
use serde_json::{Value, json};

use super::printer::{Desk, Line};
use super::report::Reporter;
use crate::config::Config;
use crate::environment::Environment;
use crate::output::paint::visible;

/// How much something matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    fn named(word: &str) -> Self {
        [Self::Debug, Self::Warn, Self::Error]
            .into_iter()
            .find(|level| level.word() == word)
            .unwrap_or(Self::Info)
    }

    /// How much the end of a call matters.
    fn of(end: &CallEnd) -> Self {
        match end {
            CallEnd::Complete | CallEnd::Unread | CallEnd::BrokenOff => Self::Info,
            CallEnd::Failed { status: Some(status), .. } if status.is_client_error() => Self::Warn,
            CallEnd::Failed { .. } => Self::Error,
        }
    }
}

/// Takes notes. Clones share where they go.
#[derive(Clone)]
pub(super) struct Log {
    desk: Desk,
    /// What matters less is left out.
    least: Level,
    form: Form,
}

/// How a note is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Form {
    /// As it is configured.
    pub(super) fn of(config: &Config) -> Self {
        if config.flag("gateway.log_json") { Self::Json } else { Self::Text }
    }

    /// What is said of lines that nobody took.
    pub(super) fn left_out(self, lines: usize) -> Line {
        self.warning(&format!("{lines} lines are left out here: standard error took no more"))
    }

    fn warning(self, text: &str) -> Line {
        match self {
            Self::Text => Line::Warning(text.to_owned()),
            Self::Json => self.note(Level::Warn, text, json!({})),
        }
    }

    fn note(self, level: Level, text: &str, fields: Value) -> Line {
        if self == Self::Text {
            return Line::Note(text.to_owned());
        }
        let mut line = json!({"ts": Environment::now().to_string(), "level": level.word(), "msg": text});
        if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
            line.extend(fields);
        }
        Line::Note(line.to_string())
    }
}

impl Log {
    /// As it is configured, for this printer.
    pub(super) fn new(config: &Config, desk: Desk) -> Self {
        let least = config.text("gateway.log_level").map_or(Level::Info, |(word, _)| Level::named(word));
        Self { desk, least, form: Form::of(config) }
    }

    /// Something that is said whatever the level is: at the start, and at the end.
    pub(super) fn always(&self, text: &str) {
        self.put(Level::Info, text, json!({}));
    }

    /// Something that is not as it should be.
    pub(super) fn warning(&self, text: &str) {
        if self.least <= Level::Warn {
            self.desk.put(self.form.warning(text));
        }
    }

    /// What became of a call.
    pub(super) fn call(&self, report: &CallReport, reporter: &Reporter) {
        let level = Level::of(&report.end);
        if self.least > level {
            return;
        }
        let line = reporter.line(report);
        if self.form == Form::Json {
            return self.put(level, &line, reporter.fields(report));
        }
        // Whoever looks for a fault wants to see which calls belong together.
        let session = report.session.as_ref().filter(|_| self.least == Level::Debug);
        let session = session.map(|session| format!(" · session {session}")).unwrap_or_default();
        self.put(level, &one_line(&format!("{line}{session}")), json!({}));
    }

    fn put(&self, level: Level, text: &str, fields: Value) {
        self.desk.put(self.form.note(level, text, fields));
    }
}

/// A note on one line, whatever a client put into its names.
fn one_line(note: &str) -> String {
    visible(note).replace('\n', "\u{240a}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_stays_one_line() {
        assert_eq!(one_line("local/m · in 1 out 2"), "local/m · in 1 out 2");
        let forged = one_line("local/m\r\nlocal/n · in 1\u{85}\u{2028}\u{1b}[2J");
        assert!(!forged.contains(|c: char| c.is_control() || c == '\u{2028}'), "{forged:?}");
        assert!(forged.starts_with("local/m␍␊local/n"), "{forged:?}");
    }

    #[test]
    fn levels_are_ordered_and_named() {
        for word in ["debug", "info", "warn", "error"] {
            assert_eq!(Level::named(word).word(), word);
        }
        assert!(Level::Debug < Level::Info && Level::Info < Level::Warn && Level::Warn < Level::Error);
    }
}
