//! What the index is asked for, and what it answers with.

use std::path::PathBuf;

use jiff::Timestamp;
use junto_core::AgentId;
use junto_llm::SessionId;
use serde::Serialize;

use crate::ledger::CostRow;

/// Which sessions are wanted. What is absent does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Those that work in this folder.
    pub workdir: Option<String>,
    /// Those whose title has this text, whatever its case, or whose id begins with it.
    pub text: Option<String>,
    /// Those with something new since then.
    pub since: Option<Timestamp>,
    /// The most that are wanted.
    pub limit: Option<usize>,
}

/// How a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A process is at work on it.
    Open,
    /// It came to its end.
    Ended,
    /// It has no end, and no process is at work on it.
    CutOff,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// The first line of the first input, cut to a length that fits a list.
    pub title: String,
    /// Where it works.
    pub workdir: Option<PathBuf>,
    /// The kind of agent.
    pub kind: String,
    /// The model that was asked last.
    pub model: Option<String>,
    /// When it began.
    pub created: Timestamp,
    /// When its last event happened.
    pub updated: Timestamp,
    /// How many inputs its conversation has.
    pub turns: u32,
    /// How it stands.
    pub state: Standing,
    /// The session it was forked off.
    pub parent: Option<SessionId>,
    /// What its calls, and those of its children, used and cost.
    pub spent: CostRow,
}

/// An agent of a session: the session's own, or a child.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRow {
    /// Its id.
    pub agent: AgentId,
    /// The agent that started it; absent for the session's own.
    pub parent: Option<AgentId>,
    /// What its parent calls it.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Its model.
    pub model: Option<String>,
    /// The first line of what it was told.
    pub task: String,
    /// When it began.
    pub started: Timestamp,
    /// When it ended, and why, in a word.
    pub ended: Option<(Timestamp, String)>,
}

/// An input of a session, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TurnRow {
    /// Its number, from 1.
    pub turn: u32,
    /// Its first line, cut.
    pub title: String,
    /// When it was said.
    pub started: Timestamp,
    /// When work on it ended, and why, in a word.
    pub ended: Option<(Timestamp, String)>,
    /// Whether the conversation went back to before it.
    pub rewound: bool,
}

/// Which calls are wanted. What is absent does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallFilter {
    /// Those of this session and its children.
    pub session: Option<SessionId>,
    /// Those from then on.
    pub since: Option<Timestamp>,
    /// Those before then.
    pub until: Option<Timestamp>,
    /// The most that are wanted: the latest ones.
    pub limit: Option<usize>,
}
