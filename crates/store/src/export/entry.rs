//! What a reader of a session wants to see, in order: one entry for each thing that happened, made of one
//! event or of two that belong together.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use junto_core::{AgentId, Body, Change, Decision, EndReason, Event, Input, Plan, Reply, Seq};
use junto_llm::{Cost, ToolCall, Usage, Usd};
use serde_json::Value;

use crate::Recovery;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) at: Timestamp,
    /// The child that did it; none for the session's own agent.
    pub(super) child: Option<String>,
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// How the session was set up: its kind, model and directory.
    Start { facts: Vec<(&'static str, String)> },
    /// An input, with its number.
    Input { turn: u32, text: String, images: Vec<String> },
    /// What was said while the model worked.
    Steering { text: String },
    /// The model's words.
    Text { text: String },
    /// The model's thoughts.
    Reasoning { text: String },
    /// A tool call and its result.
    Tool { name: String, arguments: String, output: Option<String>, is_error: bool },
    /// What the agent means to do.
    Plan { plan: Plan },
    /// A child was started.
    Child { name: String, kind: String, task: String },
    /// Anything else worth knowing: a word for its kind, and what happened.
    Remark { kind: &'static str, text: String },
}

/// What the model calls used.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    pub(super) calls: u64,
    pub(super) usage: Usage,
    pub(super) cost: Cost,
}

impl Default for Sums {
    fn default() -> Self {
        // Reported is the neutral element: whatever is added decides how well the sum is known.
        Self { calls: 0, usage: Usage::default(), cost: Cost::Reported(Usd::ZERO) }
    }
}

impl Sums {
    pub(super) fn in_words(&self) -> String {
        let Self { calls, usage, cost } = self;
        let cost = match cost {
            Cost::Reported(usd) => usd.to_string(),
            Cost::Estimated(usd) => format!("about {usd}"),
            Cost::Unknown => "cost unknown".to_owned(),
        };
        format!("Model calls: {calls}. Tokens: {} in, {} out. {cost}", usage.input, usage.output)
    }
}

/// What is missing of a session, in words.
pub(super) fn faults(recovery: &Recovery) -> Vec<String> {
    recovery.to_string().lines().map(str::to_owned).collect()
}

/// Makes entries of events.
#[derive(Default)]
pub(super) struct Reader {
    /// The calls that run, by the position of their start.
    open: BTreeMap<Seq, (Timestamp, Option<String>, ToolCall)>,
    /// The children, and what their parents call them.
    children: HashMap<AgentId, String>,
    sums: Sums,
}

impl Reader {
    pub(super) fn sums(&self) -> &Sums {
        &self.sums
    }

    /// The entry that an event makes or completes.
    pub(super) fn take(&mut self, event: Event) -> Option<Entry> {
        let child = event.parent.as_ref().map(|_| self.name_of(&event.agent));
        let (at, seq, turn) = (event.at, event.seq, event.turn);
        let what = match event.body {
            Body::ToolCallStart { call, .. } => {
                self.open.insert(seq, (at, child, call));
                return None;
            }
            Body::ToolCallEnd { of, name, call, output, is_error, .. } => {
                let started = of.and_then(|of| self.open.remove(&of)).map(|(_, _, call)| call);
                let call = started.or(call);
                let arguments = call.as_ref().map(arguments).unwrap_or_default();
                What::Tool { name, arguments, output: Some(output.preview()), is_error }
            }
            Body::Child { agent, name, kind, task } => {
                let name = if name.is_empty() { agent.to_string() } else { name };
                self.children.insert(agent, name.clone());
                What::Child { name, kind, task }
            }
            Body::Call { usage, cost, .. } => {
                self.sums.calls += 1;
                self.sums.usage += &usage;
                self.sums.cost = self.sums.cost + cost;
                return None;
            }
            body => of_body(body, turn)?,
        };
        Some(Entry { at, child, what })
    }

    /// The calls that never came to their end.
    pub(super) fn rest(&mut self) -> Vec<Entry> {
        let open = std::mem::take(&mut self.open).into_values();
        let entry = |(at, child, call): (Timestamp, Option<String>, ToolCall)| {
            let arguments = arguments(&call);
            Entry { at, child, what: What::Tool { name: call.name, arguments, output: None, is_error: true } }
        };
        open.map(entry).collect()
    }

    fn name_of(&self, agent: &AgentId) -> String {
        self.children.get(agent).cloned().unwrap_or_else(|| agent.to_string())
    }
}

/// What an event that stands for itself says; nothing if a reader does not miss it.
fn of_body(body: Body, turn: u32) -> Option<What> {
    let remark = |kind, text: String| Some(What::Remark { kind, text });
    match body {
        Body::SessionStart { kind, model, workdir, .. } => {
            let facts = [("agent", Some(kind)), ("model", model), ("folder", workdir)];
            let facts = facts.into_iter().filter_map(|(name, value)| Some((name, value?)));
            Some(What::Start { facts: facts.collect() })
        }
        Body::SessionResumed { cut_off } => remark(
            "resumed",
            match cut_off.len() {
                0 => "The session goes on.".to_owned(),
                n => format!("The session goes on; {n} of its parts had been cut off."),
            },
        ),
        Body::UserInput { input, .. } => {
            let Input { text, images, .. } = input;
            let images = images.iter().map(|path| path.display().to_string()).collect();
            Some(What::Input { turn, text, images })
        }
        Body::SteeringInjected { input, .. } => Some(What::Steering { text: input.text }),
        Body::AssistantTextEnd { text, .. } => Some(What::Text { text: text.preview() }),
        Body::ReasoningEnd { text, .. } => Some(What::Reasoning { text: text.preview() }),
        Body::Plan { plan } => Some(What::Plan { plan }),
        Body::Ask { request } => remark("approval", format!("May it call {}?", request.call.name)),
        Body::Answered { decision, .. } => remark(
            "approval",
            match decision {
                Decision::Allow { .. } => "Allowed.".to_owned(),
                Decision::Reject { reason, .. } => with_reason("Refused", reason),
                Decision::Unanswered { reason, .. } => with_reason("Nobody answered", reason),
            },
        ),
        Body::Question { question, .. } => remark("question", question.text),
        Body::Replied { reply, .. } => remark(
            "reply",
            match reply {
                Reply::Said { text } => text,
                Reply::Declined { reason } => with_reason("No answer", reason),
            },
        ),
        Body::Configured { change } => remark("settings", changed(&change)),
        Body::Compacted { tokens_before, tokens_after, .. } => remark(
            "compacted",
            format!(
                "The conversation was made shorter: about {tokens_before} tokens before, {tokens_after} after."
            ),
        ),
        Body::TurnLimit { limit, reached } => remark("limit", format!("{limit}; {reached} reached.")),
        Body::LoopDetection { message, .. } => remark("loop", message),
        Body::Deliberation { minutes } => remark("council", deliberated(&minutes)),
        Body::Retry { attempt, error, .. } => {
            remark("retry", format!("Attempt {attempt}: {}", error.message))
        }
        Body::Warning { message, .. } => remark("warning", message),
        Body::Error { error } => remark("error", error.message),
        Body::Rewound { to_turn } => remark(
            "rewound",
            format!(
                "The conversation went back to the end of turn {to_turn}; what came after it was forgotten."
            ),
        ),
        Body::InputEnd { reason, .. } => ending(reason).and_then(|text| remark("end", text)),
        _ => None,
    }
}

/// How a council came to an answer, as far as it says so in the usual way.
fn deliberated(minutes: &Value) -> String {
    let word = |field: &str| minutes[field].as_str().unwrap_or_default();
    let asked = minutes["asked"].as_array().map_or(0, Vec::len);
    format!("{}: {asked} asked, {}. {}", word("council"), word("outcome"), word("reason"))
        .trim_end()
        .to_owned()
}

/// How an input ended, if not well.
fn ending(reason: EndReason) -> Option<String> {
    match reason {
        EndReason::Done | EndReason::AwaitingInput => None,
        EndReason::Limit => Some("A limit ended the turn.".to_owned()),
        EndReason::Interrupted => Some("The turn was interrupted.".to_owned()),
        EndReason::Rejected => Some("A refusal ended the turn.".to_owned()),
        EndReason::Failed { error } => Some(format!("The turn failed: {}", error.message)),
    }
}

fn with_reason(what: &str, reason: Option<String>) -> String {
    match reason {
        Some(reason) => format!("{what}: {reason}"),
        None => format!("{what}."),
    }
}

/// What was changed, field by field.
fn changed(change: &Change) -> String {
    let value = serde_json::to_value(change).unwrap_or_default();
    let fields = value.as_object().into_iter().flatten();
    let fields = fields.map(|(name, value)| match value.as_str() {
        Some(text) => format!("{name} = {text}"),
        None => format!("{name} = {value}"),
    });
    fields.collect::<Vec<_>>().join(", ")
}

/// The arguments of a call for people: free text as it is, JSON with an indent.
fn arguments(call: &ToolCall) -> String {
    match &call.arguments {
        serde_json::Value::Null => call.raw_arguments.clone(),
        serde_json::Value::String(text) => text.clone(),
        value => serde_json::to_string_pretty(value).unwrap_or_else(|_| call.raw_arguments.clone()),
    }
}
