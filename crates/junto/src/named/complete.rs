//! The line of the log that tells of a run that has ended.

use std::fmt::{self, Write as _};

use jiff::{SignedDuration, Timestamp};
use junto_llm::Usage;
use junto_store::{RunId, RunStatus};

/// How much a line of the log tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// What everybody wants to know.
    #[default]
    Normal,
    /// Also which run it was, and what it used.
    Debug,
}

/// A run has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunComplete {
    /// When.
    pub at: Timestamp,
    /// Whose.
    pub agent: String,
    /// Which.
    pub run: RunId,
    /// How.
    pub status: RunStatus,
    /// How long it took.
    pub duration: SignedDuration,
    /// How long its last model call was, in tokens; only of one that was completed.
    pub context: Option<u64>,
    /// What it used; absent where that is not known.
    pub usage: Option<Usage>,
    /// What went wrong, or why it was stopped.
    pub error: Option<String>,
}

/// A value in a line of the log.
enum Value {
    /// A word or a number.
    Plain(String),
    /// A text.
    Text(String),
    /// It is not known.
    None,
}

impl RunComplete {
    /// The line: `ts=… level=info event=agent-run-complete agent=…`. What is not known is `none`.
    ///
    /// `input-tokens` has everything the model read, cached or not, on every provider.
    pub fn line(&self, detail: Detail) -> String {
        let mut line = format!("ts={} level=info event=agent-run-complete", self.at);
        for (name, value) in self.fields(detail) {
            let _ = write!(line, " {name}={value}");
        }
        line
    }

    fn fields(&self, detail: Detail) -> Vec<(&'static str, Value)> {
        let debug = detail == Detail::Debug;
        let count = |count: Option<u64>| count.map_or(Value::None, |count| Value::Plain(count.to_string()));
        let mut fields = vec![("agent", Value::Text(self.agent.clone()))];
        if debug {
            fields.push(("agent-run-id", Value::Plain(self.run.0.to_string())));
        }
        let state = match self.status {
            RunStatus::Completed => "success",
            RunStatus::Running | RunStatus::Failed => "failed",
            RunStatus::Cancelled => "cancelled",
        };
        fields.push(("state", Value::Plain(state.to_owned())));
        fields.push(("duration", Value::Plain(format!("{:.1}s", self.duration.as_secs_f64()))));
        fields.push(("context-length", count(self.context)));
        let error = || self.error.clone().map_or(Value::None, Value::Text);
        match self.status {
            RunStatus::Completed if debug => {
                let of = |part: fn(&Usage) -> Option<u64>| count(self.usage.as_ref().and_then(part));
                fields.extend([
                    ("input-tokens", of(|usage| Some(usage.input))),
                    ("output-tokens", of(|usage| Some(usage.output))),
                    ("cache-read-tokens", of(|usage| usage.cache_read)),
                    ("cache-write-tokens", of(|usage| usage.cache_write)),
                    ("total-tokens", of(|usage| Some(usage.input.saturating_add(usage.output)))),
                ]);
            }
            RunStatus::Completed => {}
            RunStatus::Cancelled => fields.push(("reason", error())),
            RunStatus::Running | RunStatus::Failed => fields.push(("error", error())),
        }
        fields
    }
}

impl fmt::Display for Value {
    /// As it is if that is one word, else as a JSON string.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_word = |text: &str| {
            let ok = |b: u8| b.is_ascii_alphanumeric() || b"._:@/+-".contains(&b);
            !text.is_empty() && text.bytes().all(ok)
        };
        match self {
            Self::None => f.write_str("none"),
            Self::Plain(text) => f.write_str(text),
            Self::Text(text) if is_word(text) => f.write_str(text),
            Self::Text(text) => write!(f, "{}", serde_json::Value::from(text.as_str())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(status: RunStatus) -> RunComplete {
        RunComplete {
            at: "2026-11-15T00:30:00Z".parse().unwrap(),
            agent: "nex".to_owned(),
            run: RunId(7),
            status,
            duration: SignedDuration::from_millis(1234),
            context: None,
            usage: None,
            error: None,
        }
    }

    fn check(complete: &RunComplete, detail: Detail, expected: &str) {
        let line = complete.line(detail);
        let rest =
            line.strip_prefix("ts=2026-11-15T00:30:00Z level=info event=agent-run-complete agent=nex ");
        assert_eq!(rest, Some(expected), "{line}");
    }

    #[test]
    fn what_was_used_is_told_to_those_who_look_closely() {
        let usage = Usage { cache_read: Some(80), ..Usage::new(100, 10) };
        let done = RunComplete { context: Some(115), usage: Some(usage), ..complete(RunStatus::Completed) };
        check(&done, Detail::Normal, "state=success duration=1.2s context-length=115");
        check(
            &done,
            Detail::Debug,
            "agent-run-id=7 state=success duration=1.2s context-length=115 input-tokens=100 output-tokens=10 \
             cache-read-tokens=80 cache-write-tokens=none total-tokens=110",
        );
        check(
            &complete(RunStatus::Completed),
            Detail::Debug,
            "agent-run-id=7 state=success duration=1.2s context-length=none input-tokens=none output-tokens=none \
             cache-read-tokens=none cache-write-tokens=none total-tokens=none",
        );
    }

    #[test]
    fn what_went_wrong_is_told_to_all() {
        let error = Some("said \"no\"\nand ended".to_owned());
        let failed = RunComplete { error, ..complete(RunStatus::Failed) };
        check(
            &failed,
            Detail::Normal,
            r#"state=failed duration=1.2s context-length=none error="said \"no\"\nand ended""#,
        );
        let stopped = RunComplete { error: Some("abort".to_owned()), ..complete(RunStatus::Cancelled) };
        check(&stopped, Detail::Normal, "state=cancelled duration=1.2s context-length=none reason=abort");
        check(
            &complete(RunStatus::Failed),
            Detail::Debug,
            "agent-run-id=7 state=failed duration=1.2s context-length=none error=none",
        );
    }
}
