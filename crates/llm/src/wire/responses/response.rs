//! The whole answer, read and written.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{error, items};
use crate::wire::{DecodeCx, json};
use crate::{
    Content, Error, ErrorKind, Finish, FinishReason, Message, Part, RawBody, Response, Role, StreamEvent,
    Usage,
};

/// The fields of an answer that say something; there are many more that repeat the request.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    id: Value,
    status: Value,
    error: Value,
    incomplete_details: Value,
    model: Value,
    output: Value,
    usage: Value,
}

/// Reads a whole answer.
pub(super) fn decode(body: &[u8], cx: &DecodeCx) -> Result<Response, Error> {
    let provider = &cx.origin.provider;
    let senseless = |why: String| {
        Error::new(ErrorKind::Server, format!("the answer makes no sense: {why}"))
            .with_provider(provider)
            .with_body(body)
    };
    let answer: Answer = json::fields(body).map_err(|e| senseless(e.to_string()))?;
    if !answer.error.is_null() {
        return Err(error::from_object(&answer.error).with_provider(provider).with_body(body));
    }
    let status = answer.status.as_str().unwrap_or_default();
    if status == "failed" {
        return Err(error::from_object(&Value::Null).with_provider(provider).with_body(body));
    }
    let Value::Array(output) = answer.output else {
        return Err(senseless("it has no `output`".into()));
    };
    let mut seen = Seen::default();
    let parts: Vec<Part> = output
        .into_iter()
        .map(|item| {
            let content = items::read(&item, &cx.names);
            seen.note(&content, &item);
            Part::received(content, Arc::clone(&cx.origin), Some(item))
        })
        .collect();
    let reason = items::text(&answer.incomplete_details, "reason");
    let model = answer.model.as_str().filter(|m| !m.is_empty()).unwrap_or(&cx.origin.model);
    Ok(Response {
        id: answer.id.as_str().unwrap_or_default().to_owned(),
        model: model.to_owned(),
        provider: provider.clone(),
        message: Message::new(Role::Assistant, parts),
        finish_reason: seen.finish(status, reason),
        usage: usage(answer.usage),
        warnings: cx.warnings.clone(),
        rate_limit: cx.rate_limit.clone(),
        raw: Some(RawBody::new(body.to_vec())),
    })
}

/// What the items of an answer say about its end, which this wire does not say by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    called: bool,
    refused: bool,
}

impl Seen {
    /// Takes note of an item.
    pub(super) fn note(&mut self, content: &Content, item: &Value) {
        self.called |= matches!(content, Content::ToolCall(_));
        self.refused |= items::is_refusal(item);
    }

    /// Takes note of the end of a segment that has no item.
    pub(super) fn note_event(&mut self, event: &StreamEvent) {
        self.called |= matches!(event, StreamEvent::ToolCallEnd { .. });
    }

    /// Why the model stopped. `reason` is that of `incomplete_details`, or empty.
    pub(super) fn finish(self, status: &str, reason: &str) -> FinishReason {
        match (status, reason) {
            (_, "max_output_tokens") => FinishReason::with_raw(Finish::Length, reason),
            (_, "content_filter") => FinishReason::with_raw(Finish::ContentFilter, reason),
            ("incomplete", "") => FinishReason::with_raw(Finish::Other, status),
            ("incomplete", _) => FinishReason::with_raw(Finish::Other, reason),
            _ if self.refused => FinishReason::with_raw(Finish::ContentFilter, "refusal"),
            ("completed" | "", _) if self.called => FinishReason::with_raw(Finish::ToolCalls, "completed"),
            ("completed" | "", _) => FinishReason::with_raw(Finish::Stop, "completed"),
            (other, _) => FinishReason::with_raw(Finish::Other, other),
        }
    }
}

/// Reads the usage. Input is inclusive of cached tokens on this wire already.
pub(super) fn usage(raw: Value) -> Usage {
    let count = |pointer: &str| raw.pointer(pointer).and_then(Value::as_u64);
    let input = count("/input_tokens").unwrap_or(0);
    let output = count("/output_tokens").unwrap_or(0);
    Usage {
        total: count("/total_tokens").unwrap_or_else(|| input.saturating_add(output)),
        reasoning: count("/output_tokens_details/reasoning_tokens"),
        cache_read: count("/input_tokens_details/cached_tokens"),
        cache_write: count("/input_tokens_details/cache_write_tokens"),
        raw: Some(raw).filter(|raw| !raw.is_null()),
        ..Usage::new(input, output)
    }
}

/// Writes a whole answer.
pub(super) fn encode(response: &Response) -> Value {
    let mut output = Vec::with_capacity(response.message.content.len());
    for part in &response.message.content {
        output.extend(items::of_part(part, &response.id, output.len()));
    }
    finished(&response.id, &response.model, output, &response.finish_reason, &response.usage)
}

/// The answer as it stands at its end.
pub(super) fn finished(
    id: &str,
    model: &str,
    output: Vec<Value>,
    reason: &FinishReason,
    usage: &Usage,
) -> Value {
    let refused = output.iter().any(items::is_refusal);
    let (status, details) = match reason.unified {
        Finish::Length => ("incomplete", json!({"reason": "max_output_tokens"})),
        // A refusal is an answer like any other on this wire; its item says what it is.
        Finish::ContentFilter if !refused => ("incomplete", json!({"reason": "content_filter"})),
        Finish::Error => ("failed", Value::Null),
        Finish::Stop | Finish::ToolCalls | Finish::ContentFilter | Finish::Other => {
            ("completed", Value::Null)
        }
    };
    let mut answer = envelope(id, model, status, output);
    answer["incomplete_details"] = details;
    answer["usage"] = write_usage(usage);
    if status == "failed" {
        answer["error"] = json!({"code": "server_error", "message": "the answer broke off"});
    }
    answer
}

/// What of a request its answers repeat.
pub(super) const REPEATED: [&str; 3] = ["instructions", "tool_choice", "tools"];

/// The answer before its end: without usage, details or error. The codec has no clock and does not
/// see the request, so the fields that repeat it have their defaults until somebody sets them.
pub(super) fn envelope(id: &str, model: &str, status: &str, output: Vec<Value>) -> Value {
    json!({
        "id": if id.is_empty() { "resp_0" } else { id },
        "object": "response",
        "created_at": 0,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "instructions": null,
        "max_output_tokens": null,
        "model": model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": {"effort": null, "summary": null},
        "store": false,
        "temperature": null,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": null,
        "truncation": "disabled",
        "usage": null,
        "metadata": {},
    })
}

/// Dates an answer.
pub(super) fn date(answer: &mut Value, created: u64) {
    answer["created_at"] = created.into();
}

fn write_usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read.unwrap_or(0),
            "cache_write_tokens": usage.cache_write.unwrap_or(0),
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning.unwrap_or(0)},
        "total_tokens": usage.total,
    })
}
