//! One model call, as the ledger has it.

use jiff::Timestamp;
use junto_core::{AgentId, Prefix};
use junto_llm::{Cost, SessionId, Usage};
use serde::Serialize;
use serde_json::Value;

/// One model call. It is no sum of others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallRow {
    /// Names the call. Calls that were made for one answer share it, and so does all that one run of a command-line agent
    /// told of its calls.
    pub id: String,
    /// Which of those that were told at once it is, from 0.
    pub leaf: u64,
    /// The session it was made in; absent for one that was made outside of sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The agent that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// What to call whoever made it: a child's name, an agent's kind, or what is no agent, such as
    /// `gateway`.
    pub who: String,
    /// The input of the agent that it was made for, from 1.
    pub turn: u32,
    /// When it ended.
    pub at: Timestamp,
    /// The provider.
    pub provider: String,
    /// The model, as the provider names it.
    pub model: String,
    /// Tokens; the input with everything cached.
    pub usage: Usage,
    /// Money, and how well that is known.
    pub cost: Cost,
    /// What its request began with, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<Prefix>,
    /// The council whose answer it was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub council: Option<String>,
}

/// How a council came to one answer. What that used and cost is in the rows of the calls with the same id.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeliberationRow {
    /// The call that was answered.
    pub call: String,
    /// When that was.
    pub at: Timestamp,
    /// The session it was made in; absent for one that was made outside of sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// What made it that is no session, such as `gateway`; else empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// What the council said of it.
    pub minutes: Value,
}
