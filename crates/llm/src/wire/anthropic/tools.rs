//! Tools and the choice among them, on the way to the provider.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::ANSWER_TOOL;
use super::options::Warnings;
use crate::wire::hosted::{self, Fate};
use crate::wire::{EncodeCx, custom};
use crate::{Error, ErrorKind, Request, ResponseFormat, ToolChoice, ToolKind, ToolSpec, Wire};

/// `tools` and `tool_choice` of a request.
#[derive(Debug)]
pub(super) struct Toolbox {
    pub(super) tools: Vec<Value>,
    pub(super) choice: Option<Value>,
}

impl Toolbox {
    /// Whether the model must call something.
    pub(super) fn forces_call(&self) -> bool {
        self.choice.as_ref().is_some_and(|choice| choice["type"] == "any" || choice["type"] == "tool")
    }
}

/// Declares the request's tools. `fields` are further fields by tool name; `answer` is the schema
/// of a structured answer that has to come as a tool call.
///
/// # Errors
/// `invalid_request` for a schema without an object root and a choice of a tool that is not there;
/// `configuration` for a tool of the reserved name.
pub(super) fn declare(
    request: &Request,
    cx: &EncodeCx<'_>,
    fields: &Map<String, Value>,
    answer: Option<Value>,
    warnings: &mut Warnings,
) -> Result<Toolbox, Error> {
    let mut tools = Vec::with_capacity(request.tools.len() + 1);
    for spec in &request.tools {
        if spec.name == ANSWER_TOOL {
            return Err(Error::configuration(format!(
                "the tool name `{ANSWER_TOOL}` is reserved for structured answers"
            )));
        }
        let Some(mut tool) = tool(spec, request, cx, warnings)? else { continue };
        if let (Value::Object(tool), Some(Value::Object(more))) = (&mut tool, fields.get(&spec.name)) {
            tool.extend(more.clone());
        }
        tools.push(tool);
    }
    let has_others = !tools.is_empty();
    let choice = match &answer {
        None => choice(request, cx, has_others)?,
        Some(_) => Some(answer_choice(request, cx, has_others)?),
    };
    if let Some(schema) = answer {
        tools.push(json!({
            "name": ANSWER_TOOL,
            "description": "Gives the final answer.",
            "input_schema": schema,
        }));
    }
    Ok(Toolbox { tools, choice })
}

/// The schema of a structured answer, if it has to come as a tool call.
pub(super) fn answer_schema(request: &Request, cx: &EncodeCx<'_>, warnings: &mut Warnings) -> Option<Value> {
    match &request.response_format {
        Some(ResponseFormat::JsonObject) => {
            warnings.add(
                "json_object_as_tool",
                "this wire has no free-form JSON mode; the answer is asked for as a tool call",
            );
            Some(json!({"type": "object"}))
        }
        Some(ResponseFormat::JsonSchema { schema, .. }) if !takes_format(cx) => Some(schema.clone()),
        _ => None,
    }
}

/// Whether the model takes `output_config.format`; an unknown one is taken for new.
pub(super) fn takes_format(cx: &EncodeCx<'_>) -> bool {
    cx.model.is_none_or(|model| model.structured_output)
}

fn tool(
    spec: &ToolSpec,
    request: &Request,
    cx: &EncodeCx<'_>,
    warnings: &mut Warnings,
) -> Result<Option<Value>, Error> {
    let mut description = Cow::Borrowed(spec.description.as_str());
    let (schema, strict) = match &spec.kind {
        ToolKind::Function { parameters, strict } => (object_root(&spec.name, parameters)?, *strict),
        ToolKind::Custom { format } => {
            let (told, warning) = custom::described(spec, format.as_ref());
            description = told.into();
            if let Some(warning) = warning {
                warnings.add(&warning.code, warning.message);
            }
            let schema = json!({
                "type": "object",
                "properties": {"input": {"type": "string"}},
                "required": ["input"],
            });
            (schema, None)
        }
        ToolKind::Hosted { wire: Wire::Anthropic, item } => return Ok(Some(item.clone())),
        ToolKind::Hosted { wire, .. } => {
            match hosted::fate(spec, request, Wire::Anthropic)? {
                Fate::Becomes(entry) => return Ok(Some(entry)),
                Fate::Beside => return Ok(None),
                Fate::Dropped | Fate::Own => {}
            }
            warnings.add(
                "hosted_tool_dropped",
                format!("the tool `{}` was left out: only the {} wire runs it", spec.name, wire.name()),
            );
            return Ok(None);
        }
    };
    let mut tool = Map::new();
    tool.insert("name".to_owned(), Value::from(cx.names.to_wire(&spec.name)));
    if !description.is_empty() {
        tool.insert("description".to_owned(), Value::from(description));
    }
    tool.insert("input_schema".to_owned(), schema);
    if let Some(strict) = strict {
        tool.insert("strict".to_owned(), Value::Bool(strict));
    }
    Ok(Some(Value::Object(tool)))
}

/// The schema with `"type": "object"`, which servers of foreign tools leave out where they take no
/// arguments.
fn object_root(name: &str, schema: &Value) -> Result<Value, Error> {
    match schema {
        Value::Object(fields) if fields.get("type").is_some_and(|t| t == "object") => Ok(schema.clone()),
        Value::Object(fields) if !fields.contains_key("type") => {
            let mut mended = Map::new();
            mended.insert("type".to_owned(), Value::from("object"));
            mended.extend(fields.clone());
            Ok(Value::Object(mended))
        }
        Value::Null => Ok(json!({"type": "object"})),
        _ => Err(Error::new(
            ErrorKind::InvalidRequest,
            format!("the schema of the tool `{name}` has no object at its root"),
        )),
    }
}

fn choice(request: &Request, cx: &EncodeCx<'_>, has_tools: bool) -> Result<Option<Value>, Error> {
    let one_at_a_time = request.parallel_tool_calls == Some(false);
    let mut choice = match &request.tool_choice {
        None if one_at_a_time && has_tools => json!({"type": "auto"}),
        None => return Ok(None),
        Some(ToolChoice::Auto | ToolChoice::None) if !has_tools => return Ok(None),
        Some(ToolChoice::Auto) => json!({"type": "auto"}),
        Some(ToolChoice::None) => return Ok(Some(json!({"type": "none"}))),
        Some(ToolChoice::Required) if !has_tools => {
            return Err(Error::new(
                ErrorKind::InvalidRequest,
                "a tool call is required, but no tool is declared",
            ));
        }
        Some(ToolChoice::Required) => json!({"type": "any"}),
        Some(ToolChoice::Named(name)) => named(request, cx, name)?,
    };
    if let (true, Value::Object(fields)) = (one_at_a_time, &mut choice) {
        fields.insert("disable_parallel_tool_use".to_owned(), Value::Bool(true));
    }
    Ok(Some(choice))
}

/// The choice that brings about a structured answer: that tool, unless others may be called before.
fn answer_choice(request: &Request, cx: &EncodeCx<'_>, has_others: bool) -> Result<Value, Error> {
    match &request.tool_choice {
        Some(ToolChoice::Named(name)) => named(request, cx, name),
        Some(ToolChoice::None) => Ok(json!({"type": "tool", "name": ANSWER_TOOL})),
        _ if !has_others => Ok(json!({"type": "tool", "name": ANSWER_TOOL})),
        _ => Ok(json!({"type": "any"})),
    }
}

fn named(request: &Request, cx: &EncodeCx<'_>, name: &str) -> Result<Value, Error> {
    let Some(tool) = request.tools.iter().find(|tool| tool.name == name) else {
        return Err(Error::new(
            ErrorKind::InvalidRequest,
            format!("a call of `{name}` is required, but no such tool is declared"),
        ));
    };
    // Another wire's has the name of what stands for it.
    if let Fate::Becomes(entry) = hosted::fate(tool, request, Wire::Anthropic)? {
        return Ok(json!({"type": "tool", "name": entry["name"]}));
    }
    Ok(json!({"type": "tool", "name": cx.names.to_wire(name)}))
}
