//! The lines of a rollout, from the first to the last, as far as they tell of turns and tokens.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::RecordedTurn;
use crate::codex::usage::{context, counted, usage};
use crate::fields::text;

/// One line. What is in it is read only if it is about turns or tokens: the rest can be large.
#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow, default)]
    timestamp: Cow<'a, str>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    payload: Option<&'a RawValue>,
}

/// What was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    turn: RecordedTurn,
    /// Whether the turn's beginning was read.
    began: bool,
    /// The size of the last call as the conversation's, and as the call's own.
    counted: Option<u64>,
    recorded: Option<u64>,
    /// What was last counted, and what was when the turn began.
    count: Value,
    count_before: Value,
}

impl Reading {
    pub(super) fn line(&mut self, line: &[u8]) {
        let Ok(record) = serde_json::from_slice::<Record<'_>>(line) else { return };
        if !matches!(&*record.kind, "event_msg" | "turn_context" | "token_usage_record") {
            return;
        }
        let payload = record.payload.map_or("null", RawValue::get);
        let Ok(payload) = serde_json::from_str::<Value>(payload) else { return };
        match (&*record.kind, text(&payload, "type")) {
            ("event_msg", "task_started" | "turn_started") => {
                let id = text(&payload, "turn_id");
                self.begin(if id.is_empty() { &record.timestamp } else { id });
            }
            ("event_msg", "token_count") => self.count(&payload["info"]),
            ("turn_context", _) => {
                self.belongs_to(text(&payload, "turn_id"));
                self.turn.model = payload["model"].as_str().map(str::to_owned);
            }
            ("token_usage_record", _) => {
                self.belongs_to(text(&payload, "turn_id"));
                self.recorded = context(&payload["usage"]);
                self.turn.usage = usage(&payload["turn_token_usage"]);
                if self.count.is_null() {
                    self.turn.total = usage(&payload["thread_token_usage"]);
                }
            }
            _ => {}
        }
    }

    /// Another turn begins, unless it is the one that did.
    fn begin(&mut self, id: &str) {
        if self.turn.id != id {
            self.turn =
                RecordedTurn { id: id.to_owned(), total: self.turn.total.take(), ..RecordedTurn::default() };
            (self.counted, self.recorded) = (None, None);
            self.count_before = self.count.clone();
        }
        self.began = true;
    }

    /// A line names its turn. Where the beginning of the turn was not read, it is the one that is named.
    fn belongs_to(&mut self, id: &str) {
        if self.turn.id.is_empty() {
            id.clone_into(&mut self.turn.id);
        } else if !id.is_empty() {
            self.begin(id);
        }
    }

    fn count(&mut self, info: &Value) {
        if !info.is_object() {
            return;
        }
        self.count = info.clone();
        self.turn.total = usage(&info["total_token_usage"]).or(self.turn.total.take());
        // It is told again when nothing was added, for instance with other limits of the account.
        let is_stale = self.count_before["total_token_usage"] == info["total_token_usage"]
            && self.count_before["last_token_usage"] == info["last_token_usage"];
        self.counted = if is_stale { None } else { counted(info) };
    }

    /// Whether what stands before what was read could change nothing: the turn's beginning is there, and what was
    /// counted before it.
    pub(super) fn is_settled(&self) -> bool {
        self.began && !self.count_before.is_null()
    }

    /// The last turn; `None` if nothing tells which it is.
    pub(super) fn turn(self) -> Option<RecordedTurn> {
        let context = self.counted.or(self.recorded);
        let turn = RecordedTurn { context, ..self.turn };
        Some(turn).filter(|turn| !turn.id.is_empty())
    }
}
