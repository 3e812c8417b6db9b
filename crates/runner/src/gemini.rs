//! The lines of `gemini --output-format stream-json`.
//!
//! What bites, and is handled here: a result that ended in an error may leave out which, and an `error` before
//! it says so; an agent that was stopped for going round in circles ends in a `success` without an answer;
//! what the model thought is counted in the total alone; reasoning is not shown, and a tool's output is what
//! a terminal would show of it, which may be nothing.

use junto_llm::{Cost, ToolCall, Usage};
use serde_json::{Map, Value};

use crate::fields::{Objects, number, text};
use crate::partial::{Partial, Shape, append};
use crate::running::{Rounds, Running};
use crate::told::{Held, told_error};
use crate::{CliEvent, ModelUse, Parser, Report, Used, Verdict};

/// How errors begin that stop an agent at a limit.
const LIMITS: [&str; 3] = ["Loop detected", "Maximum session turns", "Reached max session turns"];

/// Reads the lines of one run of `gemini`.
#[derive(Clone, Debug, Default)]
pub struct GeminiParser {
    objects: Objects,
    partial: Partial,
    running: Running,
    rounds: Rounds,
    model: String,
    /// What the model said since its tools last answered.
    answer: String,
    held: Held,
    /// The limit at which the agent was stopped.
    limit: Option<String>,
}

impl GeminiParser {
    /// A parser for one run.
    pub fn new() -> Self {
        Self::default()
    }

    fn value(&mut self, value: &Value, events: &mut Vec<CliEvent>) {
        let kind = text(value, "type");
        if kind != "result" {
            self.held.release(events);
        }
        match kind {
            "init" => {
                text(value, "model").clone_into(&mut self.model);
                let id = text(value, "session_id").to_owned();
                if !id.is_empty() {
                    let model = Some(self.model.clone()).filter(|model| !model.is_empty());
                    events.push(CliEvent::Session { id, model });
                }
            }
            "message" => self.message(value, events),
            "tool_use" => {
                self.partial.end(events);
                self.rounds.model(events);
                self.answer.clear();
                let arguments = match &value["parameters"] {
                    Value::Null => String::new(),
                    parameters => parameters.to_string(),
                };
                let call = ToolCall::function(text(value, "tool_id"), text(value, "tool_name"), arguments);
                self.running.start(call, events);
            }
            "tool_result" => {
                self.partial.end(events);
                let output = [text(value, "output"), text(&value["error"], "message")];
                let output = output.into_iter().find(|output| !output.is_empty()).unwrap_or_default();
                let failed = text(value, "status") != "success";
                self.running.end(text(value, "tool_id"), output.to_owned(), failed, events);
                self.rounds.tool_answered(&self.running);
            }
            "error" => {
                self.partial.end(events);
                let words = text(value, "message");
                if LIMITS.iter().any(|limit| words.starts_with(limit)) {
                    self.limit = Some(words.to_owned());
                }
                self.held.hold(words, events);
            }
            "result" => self.result(value, events),
            _ => {}
        }
    }

    fn message(&mut self, value: &Value, events: &mut Vec<CliEvent>) {
        self.rounds.model(events);
        if text(value, "role") != "assistant" {
            self.partial.end(events);
            return;
        }
        let words = text(value, "content");
        if value["delta"] == true {
            if !words.is_empty() {
                self.partial.more(Shape::Text, words, events);
            }
        } else {
            self.partial.end(events);
            self.partial.whole(Shape::Text, "", words, events);
        }
        append(&mut self.answer, words);
        // It went on.
        self.limit = None;
    }

    fn result(&mut self, value: &Value, events: &mut Vec<CliEvent>) {
        self.partial.end(events);
        let was_asked = !self.running.any();
        self.running.end_all(events);
        let verdict = self.verdict(value, events);
        let text = std::mem::take(&mut self.answer);
        let used = used(&value["stats"], &self.model);
        // An answer that broke off is not counted, and was not for nothing.
        let cut_off =
            was_asked && matches!(verdict, Verdict::Interrupted) || used.is_empty() && !text.is_empty();
        let used = Used::of_turn(used, cut_off);
        let report = Report { verdict, text, stop_reason: None, used, last: true };
        events.push(CliEvent::Report(Box::new(report)));
    }

    fn verdict(&mut self, result: &Value, events: &mut Vec<CliEvent>) -> Verdict {
        let limit = self.limit.take();
        if text(result, "status") == "success" {
            // What stopped it is told by the verdict.
            let Some(limit) = limit else {
                self.held.release(events);
                return Verdict::Done;
            };
            self.held = Held::default();
            return Verdict::Limit(limit);
        }
        let words = self.held.explains(text(&result["error"], "message"), events);
        match text(&result["error"], "type") {
            "FatalCancellationError" => Verdict::Interrupted,
            "FatalTurnLimitedError" => Verdict::Limit(words),
            _ if limit.is_some() => Verdict::Limit(words),
            _ if words.is_empty() => Verdict::Failed(told_error("it failed, and does not say why")),
            _ => Verdict::Failed(told_error(&words)),
        }
    }
}

impl Parser for GeminiParser {
    fn line(&mut self, line: &[u8], events: &mut Vec<CliEvent>) {
        if let Some(value) = self.objects.read(line, |value| value["type"].is_string(), events) {
            self.value(&value, events);
        }
    }

    fn finish(&mut self, events: &mut Vec<CliEvent>) {
        self.held.excuse(events);
        self.partial.end(events);
        self.running.end_all(events);
    }
}

/// What each model used. `model` is whom the use belongs to where the result does not say.
fn used(stats: &Value, model: &str) -> Vec<ModelUse> {
    let models = stats["models"].as_object().map(Map::iter).into_iter().flatten();
    let used: Vec<ModelUse> = models.filter_map(|(model, raw)| use_of(model, raw)).collect();
    if used.is_empty() { use_of(model, stats).into_iter().collect() } else { used }
}

/// What a model used, unless that is nothing.
fn use_of(model: &str, raw: &Value) -> Option<ModelUse> {
    let (input, output) = (number(raw, "input_tokens"), number(raw, "output_tokens"));
    let told = input.saturating_add(output);
    let thought = number(raw, "total_tokens").saturating_sub(told);
    let usage = Usage {
        reasoning: Some(thought),
        cache_read: raw["cached"].as_u64(),
        raw: Some(raw.clone()),
        ..Usage::new(input, output.saturating_add(thought))
    };
    (usage.total > 0).then(|| ModelUse { model: model.to_owned(), usage, cost: Cost::Unknown })
}
