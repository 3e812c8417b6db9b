//! Writes a request.

use serde_json::{Map, Value, json};

use super::messages;
use crate::wire::hosted::{self, Fate};
use crate::wire::{EncodeCx, Encoded, Mode, Wire, custom};
use crate::{Error, ErrorKind, Request, ResponseFormat, ToolChoice, ToolKind, ToolSpec, Warning};

/// Fields of the body that are ours alone.
const RESERVED: [&str; 2] = ["messages", "stream"];

/// What `provider_options.chat` says.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own, named as the user names it")]
pub(super) struct Options {
    pub(super) developer_role: bool,
    pub(super) custom_tools: bool,
    pub(super) send_reasoning: bool,
    pub(super) max_completion_tokens: bool,
    /// Everything else, for the body.
    extra: Map<String, Value>,
}

impl Options {
    pub(super) fn of(request: &Request) -> Result<Self, Error> {
        let mut extra = match request.provider_options.get(Wire::Chat.name()) {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(options)) => options.clone(),
            Some(_) => return Err(Error::configuration("provider_options.chat must be an object")),
        };
        if let Some(field) = RESERVED.iter().find(|field| extra.contains_key(**field)) {
            return Err(Error::configuration(format!(
                "provider_options.chat.{field} would replace what the client itself sends"
            )));
        }
        // Only a boolean is a switch: `max_completion_tokens = 100` is the wire's own field.
        let mut switch = |name: &str| match extra.get(name) {
            Some(&Value::Bool(on)) => {
                extra.shift_remove(name);
                on
            }
            _ => false,
        };
        Ok(Self {
            developer_role: switch("developer_role"),
            custom_tools: switch("custom_tools"),
            send_reasoning: switch("send_reasoning"),
            max_completion_tokens: switch("max_completion_tokens"),
            extra,
        })
    }
}

pub(super) fn encode(request: &Request, cx: &EncodeCx<'_>) -> Result<Encoded, Error> {
    let mut options = Options::of(request)?;
    let mut extra = std::mem::take(&mut options.extra);
    let mut warnings = Vec::new();
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| {
        body.insert(key.to_owned(), value);
    };

    set("model", cx.origin.model.as_str().into());
    let stream_options = extra.shift_remove("stream_options");
    if cx.mode == Mode::Stream {
        set("stream", true.into());
        let mut wanted = json!({ "include_usage": true });
        if let (Value::Object(wanted), Some(Value::Object(more))) = (&mut wanted, stream_options) {
            wanted.extend(more);
        }
        set("stream_options", wanted);
    }

    let tools = tools(request, cx, &options, &mut warnings)?;
    if tools.is_empty() {
        if let Some(ToolChoice::Required | ToolChoice::Named(_)) = request.tool_choice {
            let message = "a tool must be called, but the request declares none";
            return Err(Error::new(ErrorKind::InvalidRequest, message));
        }
    } else {
        set("tools", tools.into());
        if let Some(choice) = &request.tool_choice {
            set("tool_choice", tool_choice(choice, request, cx, &options));
        }
        if let Some(parallel) = request.parallel_tool_calls {
            set("parallel_tool_calls", parallel.into());
        }
    }

    match &request.response_format {
        None | Some(ResponseFormat::Text) => {}
        Some(ResponseFormat::JsonObject) => set("response_format", json!({ "type": "json_object" })),
        Some(ResponseFormat::JsonSchema { name, schema, strict }) => set(
            "response_format",
            json!({ "type": "json_schema", "json_schema": { "name": name, "schema": schema, "strict": strict } }),
        ),
    }
    if let Some(temperature) = request.temperature {
        set("temperature", temperature.into());
    }
    if let Some(top_p) = request.top_p {
        set("top_p", top_p.into());
    }
    if let Some(max) = request.max_tokens {
        set(if options.max_completion_tokens { "max_completion_tokens" } else { "max_tokens" }, max.into());
    }
    if !request.stop_sequences.is_empty() {
        set("stop", request.stop_sequences.clone().into());
    }
    if let Some(effort) = &request.reasoning_effort {
        set("reasoning_effort", effort.as_str().into());
    }
    if !request.metadata.is_empty() {
        set("metadata", request.metadata.clone().into());
    }
    for (key, value) in extra {
        set(&key, value);
    }
    // What grows from turn to turn comes last, so that successive bodies share their beginning.
    set("messages", messages::encode(request, cx, &options, &mut warnings)?.into());

    Ok(Encoded { path: "/chat/completions".into(), headers: Vec::new(), body: body.into(), warnings })
}

fn tools(
    request: &Request,
    cx: &EncodeCx<'_>,
    options: &Options,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Value>, Error> {
    let mut tools = Vec::with_capacity(request.tools.len());
    for tool in &request.tools {
        // Servers have no common tools of their own: nothing stands for another wire's.
        if hosted::fate(tool, request, Wire::Chat)? != Fate::Beside {
            tools.extend(self::tool(tool, cx, options, warnings));
        }
    }
    Ok(tools)
}

fn tool(tool: &ToolSpec, cx: &EncodeCx<'_>, options: &Options, warnings: &mut Vec<Warning>) -> Option<Value> {
    let mut item = json!({ "name": cx.names.to_wire(&tool.name) });
    if !tool.description.is_empty() {
        item["description"] = tool.description.as_str().into();
    }
    match &tool.kind {
        ToolKind::Function { parameters, strict } => {
            item["parameters"] = Value::clone(parameters);
            if let Some(strict) = strict {
                item["strict"] = (*strict).into();
            }
            Some(json!({ "type": "function", "function": item }))
        }
        ToolKind::Custom { format } if options.custom_tools => {
            if let Some(format) = format {
                item["format"] = custom::nested(format);
            }
            Some(json!({ "type": "custom", "custom": item }))
        }
        ToolKind::Custom { format } => {
            let (description, warning) = custom::described(tool, format.as_ref());
            warnings.extend(warning);
            if !description.is_empty() {
                item["description"] = description.into();
            }
            item["parameters"] = json!({
                "type": "object",
                "properties": { "input": { "type": "string", "description": "The whole input, as plain text." } },
                "required": ["input"],
                "additionalProperties": false,
            });
            Some(json!({ "type": "function", "function": item }))
        }
        ToolKind::Hosted { wire: Wire::Chat, item } => Some(item.clone()),
        ToolKind::Hosted { wire, .. } => {
            warnings.push(Warning::new(
                "hosted_tool_dropped",
                format!("tool `{}` is run by {} and was left out", tool.name, wire.name()),
            ));
            None
        }
    }
}

fn tool_choice(choice: &ToolChoice, request: &Request, cx: &EncodeCx<'_>, options: &Options) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Named(name) => {
            let is_custom =
                |tool: &ToolSpec| tool.name == *name && matches!(tool.kind, ToolKind::Custom { .. });
            let custom = options.custom_tools && request.tools.iter().any(is_custom);
            let kind = if custom { "custom" } else { "function" };
            json!({ "type": kind, kind: { "name": cx.names.to_wire(name) } })
        }
    }
}
