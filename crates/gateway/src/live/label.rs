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
        let id = format!("{}{}", prefix(call.wire), call.cx.call);
        Self { wire: call.wire, id, asked: call.asked.clone(), renamed: call.is_renamed() }
    }

    /// Fills in what is missing in an answer that came off this wire, if it came off any. A client
    /// that asked for one model is not told of another.
    pub(crate) fn apply(&self, maker: Option<Wire>, id: &mut String, model: &mut String) {
        let is_foreign = maker.is_some_and(|maker| maker != self.wire);
        if id.is_empty() || is_foreign || !id.starts_with(prefix(self.wire)) {
            id.clone_from(&self.id);
        }
        if model.is_empty() || self.renamed {
            model.clone_from(&self.asked);
        }
    }
}

/// What the ids of a wire's answers begin with.
fn prefix(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "msg_",
        Wire::Responses => "resp_",
        Wire::Gemini => "",
        Wire::Chat => "chatcmpl-",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A council's answer is made of those of its members, and has an id that is none of theirs.
    #[test]
    fn an_id_is_one_of_the_wire() {
        let check = |wire: Wire, maker: Option<Wire>, id: &str, expected: &str| {
            let own = format!("{}own", prefix(wire));
            let label = Label { wire, id: own, asked: "m".into(), renamed: false };
            let mut id = id.to_owned();
            label.apply(maker, &mut id, &mut String::new());
            assert_eq!(id, expected, "{wire:?} {maker:?}");
        };
        check(Wire::Anthropic, Some(Wire::Anthropic), "msg_1", "msg_1");
        check(Wire::Anthropic, Some(Wire::Anthropic), "0199-af", "msg_own");
        check(Wire::Anthropic, Some(Wire::Responses), "resp_1", "msg_own");
        for (wire, expected) in [(Wire::Responses, "resp_own"), (Wire::Chat, "chatcmpl-own")] {
            check(wire, None, "0199-af", expected);
            check(wire, None, "", expected);
        }
        check(Wire::Gemini, None, "0199-af", "0199-af");
    }
}
