//! How and why a conversation was made shorter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What made it necessary to make a conversation shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactReason {
    /// It had grown to the share of the model's window at which this is done.
    Threshold,
    /// The provider said that it is too long.
    Overflow,
    /// Somebody asked for it.
    Command,
}

/// How a conversation was made shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactMethod {
    /// Old output of tools was taken out; nothing else was needed.
    Outputs,
    /// The model wrote a hand-over for the older part.
    Summary,
    /// The older part was cut down without the model, which could not sum it up.
    Digest,
}

/// What was taken out of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dropped {
    /// Messages that a hand-over stands in for.
    pub messages: u32,
    /// Outputs of tools that were taken out or cut in messages that are still there.
    pub outputs: u32,
}
