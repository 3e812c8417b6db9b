//! The lines of `claude --output-format stream-json`.
//!
//! What bites, and is handled here: a failed call to the API is a `result` of subtype `success` with
//! `is_error`; one process may give several results, each an end of a turn; results that report a
//! limit carry no text; a text comes in pieces and then once more as a whole, and one that broke off
//! comes again under another id; messages by the client itself look like the model's.

mod partial;
mod report;
mod usage;

use junto_llm::{Error, ErrorKind, ToolCall};
use serde_json::Value;

use self::partial::{Partial, Shape};
use self::usage::Accounts;
use crate::{CliEvent, Parser};

/// The most that is kept of a text that comes in pieces.
const TEXT_LIMIT: usize = crate::LINE_LIMIT;

/// The model's name in messages that the client wrote itself.
const SYNTHETIC: &str = "<synthetic>";

/// Reads the lines of one run of `claude`.
#[derive(Debug, Default)]
pub struct ClaudeParser {
    partial: Partial,
    /// The model's current message.
    message: String,
    /// The last text of the model.
    answer: Answer,
    model: String,
    accounts: Accounts,
    /// Set once something was said that could not be read.
    unreadable: bool,
}

/// A text, and the message it stood in: what one message says in several blocks is one text.
#[derive(Debug, Default)]
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
            "user" => tool_results(&value["message"], events),
            "result" => {
                self.partial.abandon(events);
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
                self.enter(text(&event["message"], "id"), events);
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
            _ => {}
        }
    }

    fn assistant(&mut self, value: &Value, events: &mut Vec<CliEvent>) {
        let message = &value["message"];
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
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
                events.push(CliEvent::ToolStart(call));
            }
        }
    }

    /// Notes that the model writes this message now.
    fn enter(&mut self, id: &str, events: &mut Vec<CliEvent>) {
        if !id.is_empty() && self.message != id {
            id.clone_into(&mut self.message);
            events.push(CliEvent::Turn);
        }
    }
}

impl Parser for ClaudeParser {
    fn line(&mut self, line: &[u8], events: &mut Vec<CliEvent>) {
        if line.trim_ascii().is_empty() {
            return;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(value) if value["type"].is_string() => self.value(&value, events),
            // Said once: whoever prints one such line prints many.
            _ if !self.unreadable => {
                self.unreadable = true;
                let shown = &line[..line.len().min(200)];
                let message = format!("a line is no event: {}", String::from_utf8_lossy(shown));
                events.push(CliEvent::Warning { code: "unreadable_output", message });
            }
            _ => {}
        }
    }

    fn finish(&mut self, events: &mut Vec<CliEvent>) {
        self.partial.end(events);
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

fn tool_results(message: &Value, events: &mut Vec<CliEvent>) {
    let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    for block in blocks.iter().filter(|block| text(block, "type").ends_with("tool_result")) {
        events.push(CliEvent::ToolEnd {
            call_id: text(block, "tool_use_id").to_owned(),
            output: output(&block["content"]),
            is_error: block["is_error"] == true,
        });
    }
}

/// A tool's answer as text: a string, or blocks of which only some are text.
fn output(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match block["text"].as_str() {
                Some(text) => text.to_owned(),
                None => format!("[{}]", text(block, "type")),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn retried(value: &Value) -> Error {
    let status = value["error_status"].as_u64().and_then(|status| u16::try_from(status).ok());
    let kind = status.map_or(ErrorKind::Network, ErrorKind::from_status);
    let error = Error::new(kind, text(value, "error"));
    match status {
        Some(status) => error.with_status(status),
        None => error,
    }
}

fn progress(line: &str, events: &mut Vec<CliEvent>) {
    if !line.is_empty() {
        events.push(CliEvent::Progress(line.to_owned()));
    }
}

/// A field that is text; empty where it is not.
fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// A field that is a count; 0 where it is not.
fn number(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_default()
}

/// Adds to a text, up to the limit; gives what was added.
fn append<'a>(text: &mut String, more: &'a str) -> &'a str {
    let room = TEXT_LIMIT.saturating_sub(text.len());
    let added = &more[..more.floor_char_boundary(room)];
    text.push_str(added);
    added
}
