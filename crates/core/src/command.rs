//! What an agent can be told. The same on a terminal, over HTTP, ACP and MCP.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Agent, AgentError, AgentErrorKind, AgentId, AskId, Reply, Rule};

/// What an agent is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Work on this.
    Submit {
        /// The task.
        input: Input,
    },
    /// Take this into account while you work.
    Steer {
        /// The message.
        input: Input,
        /// When it takes effect.
        #[serde(default)]
        when: When,
    },
    /// Work on this afterwards.
    FollowUp {
        /// The task.
        input: Input,
    },
    /// Stop what you are doing; the session goes on.
    Interrupt,
    /// Stop everything; the session is over.
    Abort,
    /// The answer to a question for approval.
    Answer {
        /// The question.
        ask: AskId,
        /// The answer.
        decision: Decision,
    },
    /// The answer to a question of the model.
    Reply {
        /// The question.
        ask: AskId,
        /// The answer.
        reply: Reply,
    },
    /// Make the conversation shorter before the next model call.
    Compact,
    /// Change how you work, from the next model call on.
    Configure {
        /// What changes.
        change: Change,
    },
}

/// A command, and to whom it goes. On a wire the id stands beside the command:
/// `{"agent": "…", "command": "steer", "input": {"text": "…"}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Addressed {
    /// A child of the agent that is spoken to; absent: that agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// What it is told.
    #[serde(flatten)]
    pub command: Command,
}

impl From<Command> for Addressed {
    /// For the agent that is spoken to.
    fn from(command: Command) -> Self {
        Self { agent: None, command }
    }
}

impl Addressed {
    /// Hands the command to whom it is for: the agent, or the child of it that is named.
    ///
    /// # Errors
    /// `invalid` if there is no such child (any more); else as [`Agent::send`].
    pub async fn send(self, agent: &dyn Agent) -> Result<Ack, AgentError> {
        match self.agent {
            Some(id) if id != *agent.log().agent() => {
                let child = agent.child(&id).ok_or_else(|| {
                    AgentError::new(AgentErrorKind::Invalid, format!("there is no agent {id}"))
                        .with_hint("it has ended, or belongs to somebody else")
                })?;
                child.send(self.command).await
            }
            _ => agent.send(self.command).await,
        }
    }
}

/// What a person, or a program, says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// The text.
    pub text: String,
    /// Pictures, by local path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<PathBuf>,
    /// Whether it stays in the conversation word for word, however often that is made shorter. A session's
    /// first input always does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
}

impl Input {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// This input, pinned.
    #[must_use]
    pub fn pinned(mut self) -> Self {
        self.pinned = true;
        self
    }
}

impl From<&str> for Input {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Input {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// When a steering message takes effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// After the current round of tools.
    #[default]
    Round,
    /// At once: the current model call or round of tools is interrupted.
    Now,
}

/// The answer to a question for approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Decision {
    /// Do it.
    Allow {
        /// A rule to keep, so that the like is not asked again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remember: Option<Rule>,
    },
    /// Do not.
    Reject {
        /// Why, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Nobody can decide. It is not done, and the model is told and goes on, whatever a refusal does
    /// otherwise ([`OnReject`](crate::OnReject)).
    Unanswered {
        /// Why, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// What can be changed between two model calls. What is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Another model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Another provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Another effort; an empty text is the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// How many turns the session may have from its start, as in [`Limits`](crate::Limits); zero is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// How many rounds of tools an input may take; zero is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_rounds: Option<u32>,
    /// Another directory to work in; a relative one is meant from the present one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<PathBuf>,
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ack {
    /// It is being done.
    Started,
    /// It waits for its moment.
    Queued,
    /// It is done.
    Done,
}
