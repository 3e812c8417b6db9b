//! The body a client sends.

use serde_json::{Map, Value, json};

use super::input;
use super::namespaces::{self, Elsewhere};
use crate::catalog::Reasoning;
use crate::wire::hosted::{self, Fate};
use crate::wire::{EncodeCx, Encoded, Mode};
use crate::{Error, Request, ResponseFormat, ToolChoice, ToolKind, ToolSpec, Warning, Wire};

/// The order of the body's fields. What is not named here follows; `input`, which grows from turn
/// to turn, is always last.
const ORDER: &[&str] = &[
    "model",
    "stream",
    "store",
    "include",
    "prompt_cache_key",
    "metadata",
    "reasoning",
    "text",
    "max_output_tokens",
    "temperature",
    "top_p",
    "parallel_tool_calls",
    "tool_choice",
    "tools",
    "instructions",
];

/// Writes a request.
pub(super) fn encode(request: &Request, cx: &EncodeCx<'_>) -> Result<Encoded, Error> {
    let elsewhere = Elsewhere::of(request, cx.origin);
    let conversation = input::encode(request, cx, &elsewhere)?;
    let mut warnings = conversation.warnings;
    let mut body = Map::new();
    let mut put = |field: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(field.to_owned(), value);
        }
    };
    put("model", Some(request.model.as_deref().unwrap_or(&cx.origin.model).into()));
    put("stream", (cx.mode == Mode::Stream).then_some(Value::Bool(true)));
    // Nothing is kept on the other side; the reasoning comes back to us instead, encrypted.
    put("store", Some(Value::Bool(false)));
    put("include", may_reason(cx).then(|| json!(["reasoning.encrypted_content"])));
    put("prompt_cache_key", cx.session.map(Value::from));
    put("metadata", (!request.metadata.is_empty()).then(|| metadata(&request.metadata)));
    put("reasoning", reasoning(request, cx));
    put("text", request.response_format.as_ref().map(|format| json!({"format": text_format(format)})));
    put("max_output_tokens", request.max_tokens.map(Value::from));
    for (field, value) in [("temperature", request.temperature), ("top_p", request.top_p)] {
        if value.is_some() && cx.model.is_some_and(|model| model.reasoning != Reasoning::None) {
            let message = format!("{field} was left out: models that reason refuse it");
            warnings.push(Warning::new("sampling_dropped", message));
        } else {
            put(field, value.map(Value::from));
        }
    }
    put("parallel_tool_calls", request.parallel_tool_calls.map(Value::from));
    let choice = request.tool_choice.as_ref().map(|choice| tool_choice(choice, request, cx, &elsewhere));
    put("tool_choice", choice.transpose()?);
    let tools = tools(request, cx, &elsewhere, &mut warnings)?;
    put("tools", (!tools.is_empty()).then_some(Value::Array(tools)));
    put("instructions", conversation.instructions.map(Value::String));
    put("input", Some(Value::Array(conversation.items)));
    if !request.stop_sequences.is_empty() {
        warnings.push(Warning::new("stop_sequences_dropped", "this wire has no stop sequences"));
    }
    match request.provider_options.get(Wire::Responses.name()) {
        None | Some(Value::Null) => {}
        Some(Value::Object(options)) => merge(&mut body, options),
        Some(_) => return Err(Error::configuration("`provider_options.openai` is not an object")),
    }
    Ok(Encoded {
        path: "/responses".into(),
        headers: Vec::new(),
        body: Value::Object(ordered(body)),
        warnings,
    })
}

/// Lays options over a body: objects are merged, anything else is replaced.
fn merge(body: &mut Map<String, Value>, options: &Map<String, Value>) {
    for (field, option) in options {
        match (body.get_mut(field), option) {
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            (Some(old), new) => *old = new.clone(),
            (None, new) => {
                body.insert(field.clone(), new.clone());
            }
        }
    }
}

/// Puts the fields in their order, wherever a field came from.
fn ordered(body: Map<String, Value>) -> Map<String, Value> {
    let rank = |field: &str| match field {
        "input" => usize::MAX,
        _ => ORDER.iter().position(|known| *known == field).unwrap_or(ORDER.len()),
    };
    let mut fields: Vec<(String, Value)> = body.into_iter().collect();
    fields.sort_by_key(|(field, _)| rank(field));
    fields.into_iter().collect()
}

/// The wire takes texts only.
fn metadata(labels: &Map<String, Value>) -> Value {
    let as_text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    labels.iter().map(|(label, value)| (label.clone(), as_text(value))).collect()
}

/// Whether the model may have reasoning to send back. One that has none refuses to be asked for it;
/// a model nobody knows is taken for a new one, unless its name says otherwise.
fn may_reason(cx: &EncodeCx<'_>) -> bool {
    match cx.model {
        Some(model) => model.reasoning != Reasoning::None,
        None => !["gpt-4", "gpt-3", "chatgpt-4"].iter().any(|old| cx.origin.model.starts_with(old)),
    }
}

fn reasoning(request: &Request, cx: &EncodeCx<'_>) -> Option<Value> {
    let effort = request.reasoning_effort.as_ref()?;
    let mut reasoning = json!({"effort": effort.as_str()});
    // A model that does not reason refuses the field, so it is asked for only where it is known.
    if cx.model.is_some_and(|model| model.reasoning != Reasoning::None) {
        reasoning["summary"] = "auto".into();
    }
    Some(reasoning)
}

fn text_format(format: &ResponseFormat) -> Value {
    match format {
        ResponseFormat::Text => json!({"type": "text"}),
        ResponseFormat::JsonObject => json!({"type": "json_object"}),
        ResponseFormat::JsonSchema { name, schema, strict } => {
            json!({"type": "json_schema", "name": name, "schema": schema, "strict": strict})
        }
    }
}

fn tool_choice(
    choice: &ToolChoice,
    request: &Request,
    cx: &EncodeCx<'_>,
    elsewhere: &Elsewhere,
) -> Result<Value, Error> {
    Ok(match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Named(name) => {
            // A choice has one name on this wire, wherever its tool is.
            let within = elsewhere.is_within(name);
            let on_wire = if within { namespaces::split(name).1 } else { cx.names.to_wire(name) };
            let Some(tool) = request.tools.iter().find(|tool| tool.name == *name) else {
                return Ok(json!({"type": "function", "name": on_wire}));
            };
            match (&tool.kind, hosted::fate(tool, request, Wire::Responses)?) {
                // Not every name of an own tool is one that can be chosen.
                (_, Fate::Becomes(_)) if request.tools.len() == 1 => "required".into(),
                (_, Fate::Becomes(entry)) => json!({"type": entry["type"]}),
                (ToolKind::Custom { .. }, _) => json!({"type": "custom", "name": on_wire}),
                (ToolKind::Hosted { item, .. }, _) => json!({"type": item["type"]}),
                (ToolKind::Function { .. }, _) => json!({"type": "function", "name": on_wire}),
            }
        }
    })
}

fn tools(
    request: &Request,
    cx: &EncodeCx<'_>,
    elsewhere: &Elsewhere,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Value>, Error> {
    let mut entries = Vec::with_capacity(request.tools.len());
    for tool in request.tools.iter().filter(|tool| !elsewhere.declares(tool)) {
        match hosted::fate(tool, request, Wire::Responses)? {
            Fate::Own => entries.push(entry(tool, cx)),
            Fate::Becomes(entry) => entries.push(entry),
            Fate::Dropped | Fate::Beside => {
                let message = format!("`{}` is a tool of another wire and was left out", tool.name);
                warnings.push(Warning::new("hosted_tool_dropped", message));
            }
        }
    }
    Ok(entries)
}

fn entry(tool: &ToolSpec, cx: &EncodeCx<'_>) -> Value {
    match &tool.kind {
        ToolKind::Function { parameters, strict } => json!({
            "type": "function",
            "name": cx.names.to_wire(&tool.name),
            "description": tool.description,
            "parameters": parameters,
            // Absent would mean strict here, which refuses most schemas not written for it.
            "strict": strict.unwrap_or(false),
        }),
        ToolKind::Custom { format } => {
            let mut item = json!({
                "type": "custom",
                "name": cx.names.to_wire(&tool.name),
                "description": tool.description,
            });
            if let Some(format) = format {
                item["format"] = format.clone();
            }
            item
        }
        ToolKind::Hosted { item, .. } => item.clone(),
    }
}
