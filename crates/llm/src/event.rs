//! What a streamed answer is made of.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{FinishReason, Origin, Part, RateLimit, Response, ToolCall, ToolCallKind, Usage, Warning};

/// Ties the deltas of a stream to their segment. Several segments may be open at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SegmentId(pub u32);

/// One step of a streamed answer.
///
/// A segment (text, reasoning, tool call) has one start, any number of deltas, and one end; a delta
/// carries only what is new. Segments may overlap; the order of their **starts** is their order in
/// the message. The last event is [`StreamEvent::Finish`]; a stream that fails ends in an `Err` item
/// instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamEvent {
    /// The answer begins. Always the first event, and the only one of its kind, of an answer.
    StreamStart {
        /// The provider's id of the answer; may be empty.
        id: String,
        /// The model that answers, as the provider names it.
        model: String,
        /// The provider's name in the client.
        provider: String,
        /// The origin of the parts to come, if they come off a wire.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Arc<Origin>>,
        /// What is known of the usage by now (the input, on some wires).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// What was translated, dropped or mended in the request.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<Warning>,
        /// What the provider said about its limits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate_limit: Option<RateLimit>,
    },
    /// Who makes the parts that begin after this, instead of the origin that the start gave: a council's
    /// stream starts before it is known whose answer it will be.
    Origin {
        /// Their origin; absent if they come off no wire.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Arc<Origin>>,
    },
    /// A text begins.
    TextStart {
        /// Its segment.
        id: SegmentId,
    },
    /// More of a text.
    TextDelta {
        /// Its segment.
        id: SegmentId,
        /// What is new.
        text: String,
    },
    /// A text ends.
    TextEnd {
        /// Its segment.
        id: SegmentId,
        /// The provider's raw item, where the text alone does not say everything it said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<Value>,
    },
    /// Reasoning begins.
    ReasoningStart {
        /// Its segment.
        id: SegmentId,
    },
    /// More reasoning.
    ReasoningDelta {
        /// Its segment.
        id: SegmentId,
        /// What is new.
        text: String,
    },
    /// Reasoning ends.
    ReasoningEnd {
        /// Its segment.
        id: SegmentId,
        /// The provider's signature or encrypted content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// The provider's raw item, where text and signature do not say everything it said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<Value>,
    },
    /// A tool call begins.
    ToolCallStart {
        /// Its segment.
        id: SegmentId,
        /// The call's id.
        call_id: String,
        /// The tool's name.
        name: String,
        /// Function or custom.
        kind: ToolCallKind,
    },
    /// More of a call's arguments.
    ToolCallDelta {
        /// Its segment.
        id: SegmentId,
        /// What is new of the raw arguments.
        arguments: String,
    },
    /// A tool call is complete.
    ToolCallEnd {
        /// Its segment.
        id: SegmentId,
        /// The whole call.
        call: ToolCall,
        /// The provider's raw item, where the call does not say everything it said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<Value>,
    },
    /// A part that does not come in pieces: redacted reasoning, a picture, a provider's own item.
    Part {
        /// The part.
        part: Part,
    },
    /// A line of narration that is not part of the answer: councils and slow providers speak
    /// through it.
    Progress {
        /// The line.
        text: String,
    },
    /// A step of a tool loop asked for tools: its answer, before they run or are handed back. Only
    /// the convenience layer sends it.
    StepFinish {
        /// The answer of the step that ended.
        response: Box<Response>,
    },
    /// The answer is complete.
    Finish {
        /// Why the model stopped.
        reason: FinishReason,
        /// Tokens used.
        usage: Usage,
        /// The whole answer, on streams that accumulate it (a [`crate::Client`]'s do; a bare
        /// provider's do not).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response: Option<Box<Response>>,
    },
    /// An event of the provider's that has no place in the normalised view.
    ProviderEvent {
        /// As it came.
        raw: Value,
    },
}

impl StreamEvent {
    /// Whether this hands on a piece of the answer, after which a stream must not be retried. That a text
    /// or reasoning begins is none: nothing of it is there yet.
    pub fn is_content(&self) -> bool {
        match self {
            Self::StreamStart { .. }
            | Self::Origin { .. }
            | Self::TextStart { .. }
            | Self::ReasoningStart { .. }
            | Self::Progress { .. }
            | Self::ProviderEvent { .. }
            | Self::StepFinish { .. } => false,
            Self::TextDelta { text, .. } | Self::ReasoningDelta { text, .. } => !text.is_empty(),
            Self::TextEnd { .. }
            | Self::ReasoningEnd { .. }
            | Self::ToolCallStart { .. }
            | Self::ToolCallDelta { .. }
            | Self::ToolCallEnd { .. }
            | Self::Part { .. }
            | Self::Finish { .. } => true,
        }
    }
}
