//! What an answer is called.

use junto_llm::Wire;

use crate::call::Call;

/// What an answer is called.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    /// The wire the client speaks.
    wire: Wire,
    /// For answers whose provider gives them no id that could be one of this wire.
    id: String,
    /// The model as the client named it.
    asked: String,
    /// Whether the provider was asked for another model.
    renamed: bool,
}

impl Label {
    pub(crate) fn new(call: &Call) -> Self {
        let prefix = match call.wire {
            Wire::Anthropic => "msg_",
            Wire::Responses => "resp_",
            Wire::Gemini => "",
            Wire::Chat => "chatcmpl-",
        };
        let id = format!("{prefix}{}", call.cx.call);
        Self { wire: call.wire, id, asked: call.asked.clone(), renamed: call.is_renamed() }
    }

    /// Fills in what is missing in an answer that came off this wire, if it came off any. A client
    /// that asked for one model is not told of another.
    pub(crate) fn apply(&self, maker: Option<Wire>, id: &mut String, model: &mut String) {
        if id.is_empty() || maker.is_some_and(|maker| maker != self.wire) {
            id.clone_from(&self.id);
        }
        if model.is_empty() || self.renamed {
            model.clone_from(&self.asked);
        }
    }
}
