//! One model call, as the ledger has it.

use jiff::Timestamp;
use junto_core::{AgentId, Prefix};
use junto_llm::{Cost, SessionId, Usage};
use serde::Serialize;

/// One model call. It is no sum of others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallRow {
    /// Names the call. Calls that were made for one answer share it.
    pub id: String,
    /// Which of these it is, from 0.
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
}
