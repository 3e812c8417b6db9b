//! Marking an answer: signatures, ids, raw items; and remembering what was handed out.

use std::sync::Arc;

use junto_llm::{Content, Origin, Part, Response, Thinking, ToolCall, ToolCallKind, Wire};
use serde_json::{Value, json};

use super::ledger::{Item, Ledger};
use super::{Seen, gemini, json, responses};
use crate::sign::Signer;

/// Marks an answer as its wire's provider would.
pub(super) fn issue(signer: &Signer, ledger: &mut Ledger, seen: &Seen, response: &mut Response) {
    let origin = Arc::new(Origin { wire: seen.wire, provider: "twin".to_owned(), model: seen.model.clone() });
    let mut desk = Desk { signer, ledger, seen, origin, context: context(seen) };
    let parts = std::mem::take(&mut response.message.content);
    let parts: Vec<Part> = parts.into_iter().map(|part| desk.with_call_id(part)).collect();
    response.message.content = match seen.wire {
        Wire::Anthropic => desk.anthropic(parts),
        Wire::Responses => desk.responses(parts),
        Wire::Gemini => desk.gemini(parts),
        Wire::Chat => parts,
    };
}

/// What new ids are made for: the request, whatever its session is called, so that the same conversation gets the same
/// ones in another run.
fn context(seen: &Seen) -> String {
    if json::field(&seen.body, "prompt_cache_key").is_none() {
        return seen.body.to_string();
    }
    let mut body = seen.body.clone();
    if let Some(fields) = body.as_object_mut() {
        fields.shift_remove("prompt_cache_key");
    }
    body.to_string()
}

/// What is needed to mark the parts of one answer.
struct Desk<'a> {
    signer: &'a Signer,
    ledger: &'a mut Ledger,
    seen: &'a Seen,
    origin: Arc<Origin>,
    /// What new ids are made for.
    context: String,
}

impl Desk<'_> {
    fn id(&self, prefix: &str) -> String {
        self.signer.fresh_id(prefix, self.context.as_bytes())
    }

    fn received(&self, content: Content, raw: Option<Value>) -> Part {
        Part::received(content, Arc::clone(&self.origin), raw)
    }

    /// Gives a call an id in its provider's style, unless it has one.
    fn with_call_id(&self, part: Part) -> Part {
        match part.content() {
            Content::ToolCall(call) if call.id.is_empty() => {
                let prefix = if self.seen.wire == Wire::Anthropic { "toolu_" } else { "call_" };
                let call = ToolCall { id: self.id(prefix), ..call.clone() };
                self.received(Content::ToolCall(call), None)
            }
            _ => part,
        }
    }

    fn anthropic(&mut self, parts: Vec<Part>) -> Vec<Part> {
        let model = self.seen.model.as_str();
        let thought = matches!(
            parts.first().map(Part::content),
            Some(Content::Thinking(_) | Content::RedactedThinking(_))
        );
        parts
            .into_iter()
            .map(|part| match part.content() {
                Content::Thinking(thinking) => {
                    let signature = self.signer.sign(Wire::Anthropic, model, &thinking.text);
                    let signed = Thinking { text: thinking.text.clone(), signature: Some(signature) };
                    self.received(Content::Thinking(signed), None)
                }
                Content::RedactedThinking(data) => {
                    self.ledger.redacted(model, data);
                    part
                }
                Content::ToolCall(call) if thought => {
                    self.ledger.thought_before(&call.id, model);
                    part
                }
                _ => part,
            })
            .collect()
    }

    fn responses(&mut self, parts: Vec<Part>) -> Vec<Part> {
        let stored = json::field(&self.seen.body, "store") != Some(&Value::Bool(false));
        let mut reasoning: Option<String> = None;
        parts
            .into_iter()
            .map(|part| {
                let (content, raw) = match part.content() {
                    Content::Thinking(thinking) => self.reasoning_item(&thinking.text),
                    Content::RedactedThinking(_) => {
                        let (_, raw) = self.reasoning_item("");
                        let data = json::text(&raw, "encrypted_content").unwrap_or_default().to_owned();
                        (Content::RedactedThinking(data), raw)
                    }
                    Content::ToolCall(call) => (part.content().clone(), self.call_item(call)),
                    Content::Text(text) => (part.content().clone(), self.message_item(text)),
                    _ => return part,
                };
                let id = json::text(&raw, "id").unwrap_or_default().to_owned();
                let kind = kind_of(&raw);
                let is_reasoning = kind == "reasoning";
                let item = Item {
                    kind,
                    call_id: json::text(&raw, "call_id").map(str::to_owned),
                    reasoning: if is_reasoning { None } else { reasoning.clone() },
                    stored,
                };
                self.ledger.item(&id, item);
                if is_reasoning {
                    reasoning = Some(id);
                }
                self.received(content, Some(raw))
            })
            .collect()
    }

    fn reasoning_item(&self, text: &str) -> (Content, Value) {
        let id = self.id("rs_");
        let seal = responses::seal(self.signer, &self.seen.model, &id, text);
        let summary =
            if text.is_empty() { json!([]) } else { json!([{"type": "summary_text", "text": text}]) };
        let raw = json!({"id": id, "type": "reasoning", "summary": summary, "encrypted_content": seal});
        (Content::Thinking(Thinking { text: text.to_owned(), signature: Some(seal) }), raw)
    }

    fn call_item(&self, call: &ToolCall) -> Value {
        match call.kind {
            ToolCallKind::Function => json!({
                "id": self.id("fc_"), "type": "function_call", "status": "completed",
                "call_id": call.id, "name": call.name, "arguments": call.raw_arguments
            }),
            ToolCallKind::Custom => json!({
                "id": self.id("ctc_"), "type": "custom_tool_call", "status": "completed",
                "call_id": call.id, "name": call.name, "input": call.raw_arguments
            }),
        }
    }

    fn message_item(&self, text: &str) -> Value {
        json!({
            "id": self.id("msg_"), "type": "message", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}]
        })
    }

    fn gemini(&mut self, parts: Vec<Part>) -> Vec<Part> {
        let model = self.seen.model.as_str();
        let thinks = model.starts_with("gemini-3")
            || self.seen.thinking
            || parts.iter().any(|part| matches!(part.content(), Content::Thinking(_)));
        let mut unsigned = thinks;
        parts
            .into_iter()
            .map(|part| match part.content() {
                Content::Thinking(thinking) => {
                    let raw = json!({"text": thinking.text, "thought": true});
                    self.received(part.content().clone(), Some(raw))
                }
                Content::ToolCall(call) => {
                    let mut raw =
                        json!({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}});
                    if std::mem::take(&mut unsigned)
                        && let Some(fields) = raw.as_object_mut()
                    {
                        let text = gemini::call_text(&call.name, &call.arguments);
                        let signature = self.signer.sign(Wire::Gemini, model, &text);
                        fields.insert("thoughtSignature".to_owned(), Value::String(signature));
                    }
                    self.received(part.content().clone(), Some(raw))
                }
                _ => part,
            })
            .collect()
    }
}

fn kind_of(raw: &Value) -> &'static str {
    const KINDS: &[&str] = &["reasoning", "function_call", "custom_tool_call", "message"];
    let kind = json::text(raw, "type").unwrap_or_default();
    KINDS.iter().find(|known| **known == kind).copied().unwrap_or_default()
}
