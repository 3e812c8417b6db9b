//! What is new of a segment, for whoever reads along live.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Seq;

/// What is new of a segment. Live only: the event that ends the segment carries the whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Delta {
    /// More text of the answer.
    AssistantTextDelta {
        /// The `assistant_text_start` it belongs to.
        of: Seq,
        /// What is new.
        text: String,
    },
    /// More reasoning.
    ReasoningDelta {
        /// The `reasoning_start` it belongs to.
        of: Seq,
        /// What is new.
        text: String,
    },
    /// More output of a running tool.
    ToolCallOutputDelta {
        /// The `tool_call_start` it belongs to.
        of: Seq,
        /// What is new.
        text: String,
    },
}

impl Delta {
    /// The event it belongs to.
    pub fn of(&self) -> Seq {
        match self {
            Self::AssistantTextDelta { of, .. }
            | Self::ReasoningDelta { of, .. }
            | Self::ToolCallOutputDelta { of, .. } => *of,
        }
    }

    /// What is new.
    pub fn text(&self) -> &str {
        match self {
            Self::AssistantTextDelta { text, .. }
            | Self::ReasoningDelta { text, .. }
            | Self::ToolCallOutputDelta { text, .. } => text,
        }
    }
}
