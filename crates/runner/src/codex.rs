//! The lines of `codex exec --json`.
//!
//! What bites, and is handled here: an `error` is not the end of a turn, most are reconnections; the last one
//! is said again by the failure it leads to; without a network it waits for ever, and says so; a command that is left running begins and never ends; the plan
//! ends after the last word; a failed patch, an unknown tool and bad arguments are not told at all; what was
//! used is the total of the thread, over all its runs. Older versions wrap other events in `msg`.

mod items;
mod legacy;
pub(crate) mod usage;

use junto_core::{Plan, PlanStep, StepStatus};
use junto_llm::{Error, Usage};
use serde_json::Value;

use crate::fields::{Objects, list, text};
use crate::partial::{Partial, Shape, replace};
use crate::running::{Rounds, Running};
use crate::told::{Held, told_error, told_retry, told_wait};
use crate::{CliEvent, Parser, Report, Used, Verdict};

/// How often in a row it may say that it waits for the network. It would do so for ever, at ever longer intervals that
/// are no silence; the third time is a quarter of a minute after the first.
const MOST_WAITS: u32 = 3;

/// Reads the lines of one run of `codex`.
#[derive(Clone, Debug, Default)]
pub struct CodexParser {
    objects: Objects,
    partial: Partial,
    running: Running,
    rounds: Rounds,
    /// The last text of the model.
    answer: String,
    plan: Option<Plan>,
    held: Held,
    /// Why the turn failed, which older versions tell before its end.
    failure: Option<String>,
    /// The thread's total, where it is told before the end of a turn.
    total: Option<Usage>,
    /// How often in a row it has said that it waits for the network.
    waits: u32,
}

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Begun,
    Done,
}

impl CodexParser {
    /// A parser for one run.
    pub fn new() -> Self {
        Self::default()
    }

    fn value(&mut self, value: &Value, events: &mut Vec<CliEvent>) {
        let kind = text(value, "type");
        if kind != "turn.failed" {
            self.held.release(events);
        }
        if kind != "error" {
            self.waits = 0;
        }
        match kind {
            "thread.started" => session(value, "thread_id", events),
            "turn.started" => self.begin(events),
            "item.started" | "item.updated" => self.item(Stage::Begun, &value["item"], events),
            "item.completed" => self.item(Stage::Done, &value["item"], events),
            "turn.completed" => {
                let used = usage::session_total(&value["usage"]);
                self.report(Verdict::Done, used, events);
            }
            "turn.failed" => {
                let words = self.held.explains(text(&value["error"], "message"), events);
                let used = usage::session_total(&value["usage"]);
                self.report(failed(&words), used, events);
            }
            "error" => self.trouble(text(value, "message"), events),
            "" => self.legacy(&value["msg"], events),
            _ => {}
        }
    }

    /// The model is called.
    fn begin(&mut self, events: &mut Vec<CliEvent>) {
        self.answer.clear();
        self.failure = None;
        self.rounds.model(events);
    }

    fn item(&mut self, stage: Stage, item: &Value, events: &mut Vec<CliEvent>) {
        let id = text(item, "id");
        match text(item, "type") {
            "agent_message" => self.words(Shape::Text, stage, id, &items::message(item), events),
            "reasoning" => self.words(Shape::Reasoning, stage, id, text(item, "text"), events),
            "todo_list" => {
                let steps = list(item, "items").iter().map(|item| PlanStep {
                    step: text(item, "text").to_owned(),
                    status: if item["completed"] == true {
                        StepStatus::Completed
                    } else {
                        StepStatus::Pending
                    },
                });
                self.plan(Plan { explanation: None, steps: steps.collect() }, events);
            }
            "error" => {
                let message = text(item, "message").to_owned();
                events.push(CliEvent::Warning { code: "reported_error", message });
            }
            _ => {
                let Some(call) = items::call(item) else { return };
                if !self.running.has(id) {
                    self.rounds.model(events);
                    self.running.start(call, events);
                }
                if stage == Stage::Done {
                    let (output, is_error) = items::outcome(item);
                    self.tool_end(id, output, is_error, events);
                }
            }
        }
    }

    fn words(&mut self, shape: Shape, stage: Stage, id: &str, words: &str, events: &mut Vec<CliEvent>) {
        self.rounds.model(events);
        match stage {
            Stage::Begun => self.partial.up_to(shape, id, words, events),
            Stage::Done => self.partial.whole(shape, id, words, events),
        }
        if shape == Shape::Text && !words.is_empty() {
            replace(&mut self.answer, words);
        }
    }

    fn tool_end(&mut self, id: &str, output: String, is_error: bool, events: &mut Vec<CliEvent>) {
        self.running.end(id, output, is_error, events);
        self.rounds.tool_answered(&self.running);
    }

    /// Tells a plan, unless it is the one that was told last.
    fn plan(&mut self, plan: Plan, events: &mut Vec<CliEvent>) {
        if self.plan.as_ref() != Some(&plan) {
            self.plan = Some(plan.clone());
            events.push(CliEvent::Plan(plan));
        }
    }

    /// Something went wrong, and the turn may go on.
    fn trouble(&mut self, words: &str, events: &mut Vec<CliEvent>) {
        match (told_retry(words), told_wait(words)) {
            (Some(retry), _) => events.push(retry),
            (None, Some(error)) => self.waits_for_network(error, events),
            (None, None) => self.held.hold(words, events),
        }
    }

    /// It waits for the network: for some time that is a retry, and then the end.
    fn waits_for_network(&mut self, error: Error, events: &mut Vec<CliEvent>) {
        self.waits += 1;
        if self.waits == MOST_WAITS {
            return self.report(Verdict::Failed(error), Used::Untold, events);
        }
        events.push(CliEvent::Retry { attempt: self.waits, delay_ms: 0, error });
    }

    fn report(&mut self, verdict: Verdict, used: Used, events: &mut Vec<CliEvent>) {
        self.end(events);
        let text = std::mem::take(&mut self.answer);
        let report = Report { verdict, text, stop_reason: None, used, last: true };
        events.push(CliEvent::Report(Box::new(report)));
        self.rounds = Rounds::default();
    }

    /// Ends what is open.
    fn end(&mut self, events: &mut Vec<CliEvent>) {
        self.partial.end(events);
        self.running.end_all(events);
    }
}

impl Parser for CodexParser {
    fn line(&mut self, line: &[u8], events: &mut Vec<CliEvent>) {
        if let Some(value) = self.objects.read(line, Value::is_object, events) {
            self.value(&value, events);
        }
    }

    fn finish(&mut self, events: &mut Vec<CliEvent>) {
        self.held.excuse(events);
        events.extend(self.failure.take().map(CliEvent::Excuse));
        self.end(events);
    }
}

fn session(value: &Value, field: &str, events: &mut Vec<CliEvent>) {
    let id = text(value, field).to_owned();
    if !id.is_empty() {
        let model = value["model"].as_str().map(str::to_owned);
        events.push(CliEvent::Session { id, model });
    }
}

/// How a turn ended whose failure is told in words.
fn failed(words: &str) -> Verdict {
    let lower = words.to_lowercase();
    if lower.starts_with("turn interrupted") || lower.starts_with("turn aborted") {
        return Verdict::Interrupted;
    }
    Verdict::Failed(told_error(if words.is_empty() {
        "the turn failed, and it does not say why"
    } else {
        words
    }))
}
