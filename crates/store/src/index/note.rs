//! What the index keeps of an event. Small, whatever the event holds.

use jiff::Timestamp;
use junto_core::{AgentId, Body, EndReason, Event, Prefix};
use junto_llm::{CallId, Cost, LeafCall, SessionId, Usage};
use serde_json::Value;

use super::title::title;
use crate::Redactor;

/// How much of a text is looked through for secrets. A title is made of its beginning.
const LONGEST: usize = 64 * 1024;

/// What the index keeps of one event. There is one for every event, so that positions have no gaps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Note {
    pub(crate) session: SessionId,
    pub(crate) seq: u64,
    /// In microseconds.
    pub(crate) at: i64,
    pub(crate) agent: AgentId,
    pub(crate) parent: Option<AgentId>,
    pub(crate) turn: u32,
    pub(crate) change: Change,
}

/// What changes with it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// Nothing but the position.
    None,
    Started {
        kind: String,
        model: Option<String>,
        workdir: Option<String>,
        forked_from: Option<SessionId>,
    },
    Resumed,
    /// It is one of an agent that has a name.
    Named {
        name: String,
    },
    Child {
        agent: AgentId,
        name: String,
        kind: String,
        task: String,
    },
    Input {
        title: String,
    },
    InputEnded {
        reason: &'static str,
    },
    Called {
        id: String,
        model: String,
        calls: Vec<LeafCall>,
        prefix: Option<Prefix>,
        council: Option<String>,
    },
    Deliberated {
        id: String,
        minutes: String,
    },
    /// A command has ended, and nobody knows all that it used.
    Untold {
        id: String,
    },
    Configured {
        model: Option<String>,
        workdir: Option<String>,
    },
    Rewound {
        to_turn: u32,
    },
    Ended {
        reason: &'static str,
    },
}

impl Note {
    /// Takes from an event what is kept, without what the redactor finds: a journal takes it out itself.
    pub(crate) fn of(event: &Event, redact: &Redactor) -> Self {
        let title = |text: &str| title(&redacted(text, redact));
        let change = match &event.body {
            Body::SessionStart { kind, model, workdir, setup, .. } => Change::Started {
                kind: kind.clone(),
                model: model.clone(),
                workdir: workdir.clone(),
                forked_from: setup.as_ref().and_then(|setup| setup.forked_from.clone()),
            },
            Body::SessionResumed { .. } => Change::Resumed,
            Body::Handle { handle } if handle.kind == crate::NAMED => match handle.data["agent"].as_str() {
                Some(name) => Change::Named { name: name.to_owned() },
                None => Change::None,
            },
            Body::Child { agent, name, kind, task } => Change::Child {
                agent: agent.clone(),
                name: name.clone(),
                kind: kind.clone(),
                task: title(task),
            },
            Body::UserInput { input, .. } => Change::Input { title: title(&input.text) },
            Body::InputEnd { reason, .. } => Change::InputEnded { reason: word(reason) },
            Body::Call { provider, model, usage, cost, prefix, .. } => Change::Called {
                id: call_id(event, model),
                model: model.clone(),
                calls: leaves(provider, model, usage, *cost),
                prefix: *prefix,
                council: council(provider, model, usage),
            },
            Body::Deliberation { minutes } => {
                Change::Deliberated { id: call_id(event, ""), minutes: masked(minutes, redact).to_string() }
            }
            Body::RunEnd { billing: None, .. } => Change::Untold { id: call_id(event, "") },
            Body::Configured { change } => {
                // One that is meant from another is not known here.
                let workdir = change.workdir.as_ref().filter(|workdir| workdir.is_absolute());
                let workdir = workdir.map(|workdir| workdir.display().to_string());
                Change::Configured { model: change.model.clone(), workdir }
            }
            Body::Rewound { to_turn } => Change::Rewound { to_turn: *to_turn },
            Body::SessionEnd { reason, .. } => Change::Ended { reason: word(reason) },
            _ => Change::None,
        };
        Self {
            session: event.session.clone(),
            seq: event.seq.0,
            at: micros(event.at),
            agent: event.agent.clone(),
            parent: event.parent.clone(),
            turn: event.turn,
            change,
        }
    }

    /// Whether the session's own agent did it.
    pub(crate) fn is_root(&self) -> bool {
        self.parent.is_none()
    }
}

/// As much of a text as a title can be made of, without secrets.
fn redacted(text: &str, redact: &Redactor) -> String {
    let part = text.trim_start();
    let mut bytes = part.as_bytes().get(..part.floor_char_boundary(LONGEST)).unwrap_or_default().to_vec();
    redact.mask(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The same without secrets. A mask is as long as what it hides, and has nothing in it that JSON would mind.
pub(crate) fn masked(minutes: &Value, redact: &Redactor) -> Value {
    let mut text = minutes.to_string().into_bytes();
    redact.mask(&mut text);
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Names a call the same in every journal that holds it: a session that was forked off another begins with
/// copies of the other's events, and nothing may be paid twice. What one run of a command tells of several models, or
/// several times, has one name, and is told apart by its place.
fn call_id(event: &Event, model: &str) -> String {
    match &event.corr {
        Some(CallId(id)) => id.clone(),
        // Commands tell what each model used at the end of an input.
        None => format!("{}/{}/{}/{model}", event.agent, event.turn, micros(event.at)),
    }
}

/// The rows of a call: its own, or those of the calls it is the sum of. What is only known of the whole is
/// left unknown in the parts.
pub(crate) fn leaves(provider: &str, model: &str, usage: &Usage, cost: Cost) -> Vec<LeafCall> {
    let mut calls = usage.clone().into_calls(provider, model);
    if let [only] = calls.as_mut_slice()
        && only.cost == Cost::Unknown
    {
        only.cost = cost;
    }
    for call in &mut calls {
        call.usage.raw = None;
    }
    calls
}

/// The council that answered a call, if it was one: an answer that is made of calls of others.
pub(crate) fn council(provider: &str, model: &str, usage: &Usage) -> Option<String> {
    let is_of_others = usage.calls.iter().any(|call| call.provider != provider);
    is_of_others.then(|| model.to_owned())
}

/// A time as the index keeps it.
pub(crate) fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

fn word(reason: &EndReason) -> &'static str {
    match reason {
        EndReason::Done => "done",
        EndReason::AwaitingInput => "awaiting_input",
        EndReason::Limit => "limit",
        EndReason::Interrupted => "interrupted",
        EndReason::Rejected => "rejected",
        EndReason::Failed { .. } => "failed",
    }
}
