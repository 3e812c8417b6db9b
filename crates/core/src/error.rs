//! What keeps an agent from doing what it was told.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What went wrong, coarsely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentErrorKind {
    /// The agent cannot do this at all; its abilities say so beforehand.
    Unsupported,
    /// Not now: it is busy, or it is idle.
    WrongState,
    /// The session is over.
    Closed,
    /// The command makes no sense.
    Invalid,
    /// The model's provider failed.
    Provider,
    /// A limit was reached.
    Limit,
    /// The journal could not be written.
    Journal,
    /// A process could not be started, or broke.
    Process,
}

/// An error of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentError {
    kind: AgentErrorKind,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl AgentError {
    /// An error.
    pub fn new(kind: AgentErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// What the agent cannot do.
    pub fn unsupported(what: impl fmt::Display) -> Self {
        Self::new(AgentErrorKind::Unsupported, format!("this agent cannot {what}"))
    }

    /// The session is over.
    pub fn closed() -> Self {
        Self::new(AgentErrorKind::Closed, "the session is closed")
    }

    /// This error with advice.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The kind.
    pub fn kind(&self) -> AgentErrorKind {
        self.kind
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for AgentError {}

impl From<junto_llm::Error> for AgentError {
    fn from(error: junto_llm::Error) -> Self {
        let hint = error.hint().map(str::to_owned);
        Self { kind: AgentErrorKind::Provider, message: error.to_string(), hint }
    }
}

impl From<crate::JournalError> for AgentError {
    fn from(error: crate::JournalError) -> Self {
        Self::new(AgentErrorKind::Journal, error.to_string())
    }
}
