//! What the encoder's tests have in common.

use std::sync::Arc;

use serde_json::{Value, json};

use super::request::encode;
use crate::catalog::{ModelInfo, Reasoning};
use crate::names::NameMap;
use crate::wire::{EncodeCx, Encoded, Mode};
use crate::{Content, Error, Origin, Part, Request, ToolCall, ToolSpec, Wire};

pub(super) fn origin() -> Origin {
    Origin { wire: Wire::Anthropic, provider: "anthropic".into(), model: "m".into() }
}

pub(super) fn try_encode(
    request: &Request,
    model: Option<&ModelInfo>,
    auto_cache: bool,
) -> Result<Encoded, Error> {
    let names = NameMap::for_request(request, Wire::Anthropic);
    let cx =
        EncodeCx { origin: &origin(), mode: Mode::Complete, session: None, model, names: &names, auto_cache };
    encode(request, &cx)
}

pub(super) fn encoded(request: &Request) -> Encoded {
    try_encode(request, None, false).unwrap()
}

pub(super) fn codes(encoded: &Encoded) -> Vec<&str> {
    encoded.warnings.iter().map(|w| w.code.as_str()).collect()
}

pub(super) fn options(request: &mut Request, options: Value) {
    request.provider_options.insert("anthropic".into(), options);
}

pub(super) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(super) fn theirs(content: Content, raw: Option<Value>) -> Part {
    Part::received(content, Arc::new(origin()), raw)
}

pub(super) fn foreign(content: Content) -> Part {
    let origin = Origin { model: "other".into(), ..origin() };
    Part::received(content, Arc::new(origin), Some(json!({"type": "raw of another model"})))
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::new(Content::ToolCall(ToolCall::function(id, name, arguments)))
}

pub(super) fn function(name: &str) -> ToolSpec {
    ToolSpec::foreign(name, "does", json!({"type": "object"}))
}

/// A model of the catalog.
pub(super) fn model(reasoning: Reasoning, structured_output: bool) -> ModelInfo {
    ModelInfo {
        id: "m".into(),
        provider: "anthropic".into(),
        name: "M".into(),
        context_window: 200_000,
        max_output: 32_000,
        knowledge_cutoff: None,
        released: "2026-01-01".into(),
        tools: true,
        vision: true,
        reasoning,
        structured_output,
        price: None,
        aliases: Vec::new(),
        flagship: false,
    }
}
