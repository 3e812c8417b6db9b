//! The lines of `claude --output-format stream-json`.
//!
//! What bites, and is handled here: a failed call to the API is a `result` of subtype `success` with
//! `is_error`; one process may give several results, each an end of a turn; results that report a
//! limit carry no text; a text comes in pieces and then once more as a whole, and one that broke off
//! comes again under another id; messages by the client itself look like the model's.

mod context;
mod report;
mod usage;

use junto_llm::{Error, ErrorKind, ToolCall};
use serde_json::Value;

use self::context::Context;
use self::report::Limit;
use self::usage::Accounts;
use crate::fields::{Objects, blocks, list, number, status, text};
use crate::partial::{Partial, Shape, append};
use crate::running::Running;
use crate::{CliEvent, Parser, failure};

/// The model's name in messages that the client wrote itself.
const SYNTHETIC: &str = "<synthetic>";

/// Reads the lines of one run of `claude`.
#[derive(Clone, Debug, Default)]
pub struct ClaudeParser {
    objects: Objects,
    partial: Partial,
    running: Running,
    /// The model's current message.
    message: String,
    /// The last text of the model.
    answer: Answer,
    model: String,
    accounts: Accounts,
    /// Whether the model has begun to answer since the last result.
    began: bool,
    context: Context,
    /// The limit of the account that was last told to be reached.
    limit: Option<Limit>,
}

/// A text, and the message it stood in: what one message says in several blocks is one text.
#[derive(Clone, Debug, Default)]
struct Answer {
    message: String,
    text: String,
}

impl ClaudeParser {
    /// A parser for one run.
    pub fn new() -> Self {
        Self::default()
    }

    fn value(&mut self, value: &Value, events: &mut Vec<CliEvent>) {
        match text(value, "type") {
            "system" => self.system(value, events),
            "stream_event" if is_main(value) => self.stream(&value["event"], events),
            "assistant" => self.assistant(value, events),
            "user" => self.tool_results(&value["message"], events),
            "rate_limit_event" => self.limit = Limit::told(&value["rate_limit_info"], events),
            "result" => {
                self.partial.abandon(events);
                self.context.result(&value["usage"]);
                self.context.tell(events);
                self.report(value, events);
            }
            _ => {}
        }
    }

    fn system(&mut self, value: &Value, events: &mut Vec<CliEvent>) {
        match text(value, "subtype") {
            "init" => {
                text(value, "model").clone_into(&mut self.model);
                let id = text(value, "session_id").to_owned();
                // It comes again for every turn of a process.
                if !id.is_empty() {
                    let model = Some(self.model.clone()).filter(|model| !model.is_empty());
                    events.push(CliEvent::Session { id, model });
                }
            }
            "api_retry" => events.push(CliEvent::Retry {
                attempt: number(value, "attempt").try_into().unwrap_or(u32::MAX),
                delay_ms: number(value, "retry_delay_ms"),
                error: retried(value),
            }),
            "informational" => progress(text(value, "content"), events),
            "task_started" | "task_progress" => progress(text(value, "description"), events),
            "compact_boundary" => progress("the conversation was compacted", events),
            "model_refusal_no_fallback" => events.push(CliEvent::Warning {
                code: "refusal",
                message: format!("{} refused", text(value, "original_model")),
            }),
            _ => {}
        }
    }

    fn stream(&mut self, event: &Value, events: &mut Vec<CliEvent>) {
        match text(event, "type") {
            "message_start" => {
                self.partial.abandon(events);
                let message = &event["message"];
                self.enter(text(message, "id"), events);
                self.context.call(text(message, "id"), &message["usage"], false);
            }
            "content_block_start" => {
                if let Some((shape, begun)) = Shape::of(&event["content_block"]) {
                    let index = number(event, "index");
                    self.partial.start(shape, &self.message, index, events);
                    self.partial.delta(shape, index, begun, events);
                }
            }
            "content_block_delta" => {
                let delta = &event["delta"];
                let (shape, more) = match text(delta, "type") {
                    "text_delta" => (Shape::Text, text(delta, "text")),
                    "thinking_delta" => (Shape::Reasoning, text(delta, "thinking")),
                    _ => return,
                };
                self.partial.delta(shape, number(event, "index"), more, events);
            }
            "content_block_stop" => self.partial.stop(number(event, "index")),
            "message_delta" => self.context.call(&self.message, &event["usage"], true),
            _ => {}
        }
    }

    fn assistant(&mut self, value: &Value, events: &mut Vec<CliEvent>) {
        let message = &value["message"];
        let blocks = list(message, "content");
        if text(message, "model") == SYNTHETIC || value["is_api_error_message"] == true {
            self.partial.abandon(events);
            let words: Vec<&str> = blocks.iter().map(|block| text(block, "text")).collect();
            events.push(CliEvent::Excuse(words.join("\n")));
            return;
        }
        // What a subagent says is not the answer; what it does is shown all the same.
        let main = is_main(value);
        let id = text(message, "id");
        if main {
            self.enter(id, events);
            // Without a reason to stop, its count is of the beginning.
            self.context.call(id, &message["usage"], message["stop_reason"].is_string());
        }
        for block in blocks {
            if main && let Some((shape, whole)) = Shape::of(block) {
                self.partial.whole(shape, id, whole, events);
                if shape == Shape::Text {
                    self.answer.add(id, whole);
                }
            } else if text(block, "type").ends_with("tool_use") {
                let arguments = match &block["input"] {
                    Value::Null => String::new(),
                    input => input.to_string(),
                };
                let call = ToolCall::function(text(block, "id"), text(block, "name"), arguments);
                self.running.start(call, events);
            }
        }
    }

    fn tool_results(&mut self, message: &Value, events: &mut Vec<CliEvent>) {
        for block in list(message, "content") {
            if text(block, "type").ends_with("tool_result") {
                let (id, failed) = (text(block, "tool_use_id"), block["is_error"] == true);
                self.running.end(id, blocks(&block["content"]), failed, events);
            }
        }
    }

    /// Notes that the model writes this message now.
    fn enter(&mut self, id: &str, events: &mut Vec<CliEvent>) {
        if !id.is_empty() && self.message != id {
            id.clone_into(&mut self.message);
            self.began = true;
            events.push(CliEvent::Turn);
        }
    }
}

impl Parser for ClaudeParser {
    fn line(&mut self, line: &[u8], events: &mut Vec<CliEvent>) {
        if let Some(value) = self.objects.read(line, |value| value["type"].is_string(), events) {
            self.value(&value, events);
        }
    }

    fn finish(&mut self, events: &mut Vec<CliEvent>) {
        self.partial.end(events);
        self.running.end_all(events);
        self.context.tell(events);
    }
}

impl Answer {
    fn add(&mut self, message: &str, more: &str) {
        if self.message != message {
            message.clone_into(&mut self.message);
            self.text.clear();
        }
        append(&mut self.text, more);
    }
}

/// Whether a line is about the agent itself and not about one of its subagents.
fn is_main(value: &Value) -> bool {
    value["parent_tool_use_id"].is_null()
}

fn retried(value: &Value) -> Error {
    let words = text(value, "error");
    match status(value, "error_status") {
        Some(status) => failure::classify(words, words, Some(status)),
        None => Error::new(ErrorKind::Network, words),
    }
}

fn progress(line: &str, events: &mut Vec<CliEvent>) {
    if !line.is_empty() {
        events.push(CliEvent::Progress(line.to_owned()));
    }
}
