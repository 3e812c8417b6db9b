//! `web_search`: the provider's own.

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_llm::{ToolCall, ToolKind, ToolSpec, Wire};
use serde_json::json;

/// Lets the model search the web at its provider, where the provider has such a tool. It is a
/// declaration only: the provider runs it by itself, and what it finds is part of the answer. So no
/// policy judges single searches, and what is searched for leaves by way of the provider.
pub struct WebSearch(ToolSpec);

impl WebSearch {
    /// The tool as this wire spells it; none for Chat Completions, whose servers have no common one.
    /// Other wires leave the declaration out, with a warning.
    pub fn at(wire: Wire) -> Option<Self> {
        let item = match wire {
            Wire::Anthropic => json!({"type": "web_search_20250305", "name": "web_search"}),
            Wire::Responses => json!({"type": "web_search"}),
            Wire::Gemini => json!({"googleSearch": {}}),
            Wire::Chat => return None,
        };
        let description = "Search the web.".to_owned();
        Some(Self(ToolSpec {
            name: "web_search".to_owned(),
            description,
            kind: ToolKind::Hosted { wire, item },
        }))
    }
}

const NOT_HERE: &str = "web_search is run by the provider and cannot be called";

impl Tool for WebSearch {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(
        &'a self,
        _call: &'a ToolCall,
        _cx: &'a ToolCx,
    ) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async { Err(ToolError(NOT_HERE.to_owned())) })
    }

    fn run<'a>(&'a self, _permit: Permit, _cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async { ToolOutcome::error(NOT_HERE) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wire_that_has_one_has_its_own() {
        for wire in Wire::ALL {
            let tool = WebSearch::at(wire);
            assert_eq!(tool.is_none(), wire == Wire::Chat);
            let Some(tool) = tool else { continue };
            assert!(matches!(&tool.spec().kind, ToolKind::Hosted { wire: at, .. } if *at == wire));
        }
    }
}
