//! Leave to run a call, and why there is none.

use junto_env::RealPath;
use junto_llm::ToolCall;

use crate::{Action, AgentError, Leash, Seq};

/// Leave to run one call with exactly these arguments. Only a [`Gate`](crate::Gate) makes one, after the start
/// of the call is in the journal.
#[derive(Debug)]
pub struct Permit {
    pub(crate) call: ToolCall,
    pub(crate) actions: Vec<Action>,
    pub(crate) start: Seq,
    pub(crate) leash: Leash,
}

impl Permit {
    /// The call, as it was judged and shown.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// What it may do: what it said it would, and what was judged.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The files it may read, in the order in which it named them.
    pub fn reads(&self) -> impl Iterator<Item = &RealPath> {
        self.actions.iter().filter_map(|action| match action {
            Action::Read { path } | Action::ReadAll { path } => Some(path),
            _ => None,
        })
    }

    /// The files it may write, in the order in which it named them.
    pub fn writes(&self) -> impl Iterator<Item = &RealPath> {
        self.actions.iter().filter_map(|action| match action {
            Action::Write { path } => Some(path),
            _ => None,
        })
    }

    /// The same leave in other words: for a tool that passes a call on to another, which takes its
    /// arguments differently. What may be done stays what was judged and shown.
    #[must_use]
    pub fn restated(&self, call: ToolCall) -> Self {
        Self { call, actions: self.actions.clone(), start: self.start, leash: self.leash }
    }

    /// The position of its `tool_call_start`, to which output deltas belong.
    pub fn start(&self) -> Seq {
        self.start
    }

    /// Whether it may act outside of the sandbox, where there is one.
    pub fn leash(&self) -> Leash {
        self.leash
    }
}

/// Why a call may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// The policy said no.
    Denied(String),
    /// Somebody said no.
    Refused(Option<String>),
    /// Nobody was there to say anything.
    Unanswered(Option<String>),
    /// The wait was cancelled.
    Cancelled,
    /// The journal could not be written, so nothing may happen.
    Failed(AgentError),
}

impl Rejected {
    /// What the model is told.
    pub fn message(&self) -> String {
        match self {
            Self::Denied(reason) => format!("not allowed by the policy: {reason}"),
            Self::Refused(Some(reason)) => format!("the user refused: {reason}"),
            Self::Refused(None) => "the user refused".to_owned(),
            Self::Unanswered(Some(reason)) => format!("not allowed: {reason}"),
            Self::Unanswered(None) => "not allowed: nobody is there to decide".to_owned(),
            Self::Cancelled => "cancelled before it ran".to_owned(),
            Self::Failed(error) => error.to_string(),
        }
    }
}
