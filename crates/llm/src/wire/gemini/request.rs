//! Writes a request.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::contents::Writer;
use super::{path, schema, thinking};
use crate::wire::hosted::{self, Fate};
use crate::wire::{EncodeCx, Encoded, Wire, custom};
use crate::{Error, ErrorKind, Request, ResponseFormat, Role, ToolChoice, ToolKind, Warning};

/// Writes a request. `contents` is the last field of the body, so that successive requests of a
/// session share the longest prefix.
///
/// # Errors
/// `invalid_request` for what the wire cannot say, `configuration` for media that was not loaded.
pub(super) fn encode(request: &Request, cx: &EncodeCx<'_>) -> Result<Encoded, Error> {
    let model = request.model.as_deref().unwrap_or(&cx.origin.model);
    let options = options(request)?;
    let mut writer = Writer::new(request, cx);
    let leading = |role: Role| matches!(role, Role::System | Role::Developer);
    let split = request.messages.iter().take_while(|message| leading(message.role)).count();
    let (system, conversation) = request.messages.split_at(split);
    let system = writer.system(system)?;
    let contents = writer.contents(conversation)?;
    if contents.is_empty() {
        return Err(Error::new(ErrorKind::InvalidRequest, "the conversation has no message with content")
            .with_hint("add a user message; a system prompt alone is no question"));
    }
    let mut warnings = writer.warnings;

    let mut body = Map::new();
    if !system.is_empty() {
        body.insert("systemInstruction".to_owned(), json!({"parts": system}));
    }
    let Tools { entries, mixed } = tools(request, model, cx, &mut warnings)?;
    if !entries.is_empty() {
        body.insert("tools".to_owned(), entries.into());
    }
    let choice = tool_config(request, cx, options.is_some_and(|o| o.contains_key("tools")))?;
    // Without it the API refuses functions beside its own tools.
    let mixed = mixed.then(|| ("includeServerSideToolInvocations".to_owned(), Value::Bool(true)));
    let config: Map<String, Value> = choice.into_iter().chain(mixed).collect();
    if !config.is_empty() {
        body.insert("toolConfig".to_owned(), config.into());
    }
    let config = generation_config(request, cx, options, &mut warnings)?;
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), config.into());
    }
    body.insert("contents".to_owned(), contents.into());
    if let Some(options) = options {
        merge(&mut body, options);
        if let Some(contents) = body.shift_remove("contents") {
            body.insert("contents".to_owned(), contents);
        }
    }
    unsaid(request, &mut warnings);
    Ok(Encoded { path: path::write(model, cx.mode), headers: Vec::new(), body: body.into(), warnings })
}

/// The caller's own fields for this wire.
fn options(request: &Request) -> Result<Option<&Map<String, Value>>, Error> {
    match request.provider_options.get(Wire::Gemini.name()) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(options)) => Ok(Some(options)),
        Some(_) => Err(Error::configuration("the provider options for `gemini` are not an object")),
    }
}

/// What is declared.
struct Tools {
    entries: Vec<Value>,
    /// Whether there are functions and the provider's own tools.
    mixed: bool,
}

/// Whether a model is of the generations that take either functions or the provider's own tools.
fn takes_one_kind(model: &str) -> bool {
    model.starts_with("gemini-1") || model.starts_with("gemini-2")
}

/// One entry with all functions, then the provider's own tools as they are. Where a model does not take
/// both, the provider's own are left out: functions are what an agent cannot do without.
fn tools(
    request: &Request,
    model: &str,
    cx: &EncodeCx<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Tools, Error> {
    let mut functions = Vec::new();
    let mut entries = Vec::new();
    for tool in &request.tools {
        let mut description = Cow::Borrowed(tool.description.as_str());
        let parameters = match &tool.kind {
            ToolKind::Function { parameters, strict } => {
                if *strict == Some(true) {
                    let message = format!("tool `{}`: this wire does not enforce a schema", tool.name);
                    warnings.push(Warning::new("strict_ignored", message));
                }
                schema::parameters(parameters, &tool.name, warnings)
            }
            ToolKind::Custom { format } => {
                let (told, warning) = custom::described(tool, format.as_ref());
                description = told.into();
                warnings.extend(warning);
                let input = json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]});
                Some(("parameters", input))
            }
            ToolKind::Hosted { wire: Wire::Gemini, item } => {
                entries.push(item.clone());
                continue;
            }
            ToolKind::Hosted { wire, .. } => {
                match hosted::fate(tool, request, Wire::Gemini)? {
                    Fate::Becomes(entry) => {
                        entries.push(entry);
                        continue;
                    }
                    Fate::Beside => continue,
                    Fate::Dropped | Fate::Own => {}
                }
                let message = format!("tool `{}` runs at `{}` only and was left out", tool.name, wire.name());
                warnings.push(Warning::new("tool_dropped", message));
                continue;
            }
        };
        let mut function = json!({"name": cx.names.to_wire(&tool.name), "description": description});
        if let Some((field, parameters)) = parameters {
            function[field] = parameters;
        }
        functions.push(function);
    }
    let mut mixed = !functions.is_empty() && !entries.is_empty();
    if mixed && takes_one_kind(model) {
        let message =
            "the provider's own tools were left out: this model does not take them beside functions";
        warnings.push(Warning::new("hosted_tool_dropped", message));
        entries.clear();
        mixed = false;
    }
    let functions = (!functions.is_empty()).then(|| json!({"functionDeclarations": functions}));
    Ok(Tools { entries: functions.into_iter().chain(entries).collect(), mixed })
}

/// How to choose among functions. The API refuses a choice where no function is declared, so the
/// choices that mean nothing then are left out.
fn tool_config(
    request: &Request,
    cx: &EncodeCx<'_>,
    more_tools: bool,
) -> Result<Option<(String, Value)>, Error> {
    let Some(choice) = &request.tool_choice else { return Ok(None) };
    let is_function = |kind: &ToolKind| !matches!(kind, ToolKind::Hosted { .. });
    let declared = more_tools || request.tools.iter().any(|tool| is_function(&tool.kind));
    let invalid = |message: String| Err(Error::new(ErrorKind::InvalidRequest, message));
    let config = match choice {
        ToolChoice::Auto | ToolChoice::None if !declared => return Ok(None),
        // The provider's own tools cannot be demanded; alone, they are what the request is about.
        ToolChoice::Required | ToolChoice::Named(_) if is_replaced(request, choice)? => return Ok(None),
        ToolChoice::Required if !declared => {
            return invalid("a call is required but no tool is declared".into());
        }
        ToolChoice::Auto => json!({"mode": "AUTO"}),
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Named(name) => {
            let known = request.tools.iter().any(|tool| tool.name == *name && is_function(&tool.kind));
            if !known && !more_tools {
                return invalid(format!("a call of `{name}` is required but no such tool is declared"));
            }
            json!({"mode": "ANY", "allowedFunctionNames": [cx.names.to_wire(name)]})
        }
    };
    Ok(Some(("functionCallingConfig".to_owned(), config)))
}

/// Whether something of this wire stands for the tool of another one that is demanded.
fn is_replaced(request: &Request, choice: &ToolChoice) -> Result<bool, Error> {
    for tool in &request.tools {
        let is_meant = match choice {
            ToolChoice::Named(name) => tool.name == *name,
            _ => true,
        };
        if is_meant && matches!(hosted::fate(tool, request, Wire::Gemini)?, Fate::Becomes(_)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn generation_config(
    request: &Request,
    cx: &EncodeCx<'_>,
    options: Option<&Map<String, Value>>,
    warnings: &mut Vec<Warning>,
) -> Result<Map<String, Value>, Error> {
    let mut config = Map::new();
    let mut set = |key: &str, value: Value| config.insert(key.to_owned(), value);
    if let Some(temperature) = request.temperature {
        set("temperature", temperature.into());
    }
    if let Some(top_p) = request.top_p {
        set("topP", top_p.into());
    }
    if let Some(tokens) = request.max_tokens {
        set("maxOutputTokens", tokens.into());
    }
    if !request.stop_sequences.is_empty() {
        set("stopSequences", request.stop_sequences.clone().into());
    }
    match &request.response_format {
        None | Some(ResponseFormat::Text) => {}
        Some(ResponseFormat::JsonObject) => {
            set("responseMimeType", "application/json".into());
        }
        Some(ResponseFormat::JsonSchema { schema, .. }) => {
            set("responseMimeType", "application/json".into());
            set("responseJsonSchema", schema.clone());
        }
    }
    // What the caller spells out for this wire stands; a level beside a budget would be refused.
    let spelled_out =
        options.and_then(|o| o.get("generationConfig")).is_some_and(|c| c.get("thinkingConfig").is_some());
    if let Some(effort) = request.reasoning_effort.as_ref().filter(|_| !spelled_out)
        && let Some(thinking) = thinking::to_config(effort, cx.model.map(|model| model.reasoning), warnings)?
    {
        set("thinkingConfig", thinking);
    }
    Ok(config)
}

/// Warns of what has no place on this wire.
fn unsaid(request: &Request, warnings: &mut Vec<Warning>) {
    if request.parallel_tool_calls == Some(false) {
        let message = "this wire cannot be held to one call at a time";
        warnings.push(Warning::new("parallel_tool_calls_ignored", message));
    }
    if !request.metadata.is_empty() {
        let message = "this wire has no place for metadata; set `labels` in the provider options where the endpoint takes them";
        warnings.push(Warning::new("metadata_dropped", message));
    }
}

/// Merges objects field by field; anything else replaces what was there.
fn merge(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(Value::Object(into)), Value::Object(from)) => merge(into, from),
            (Some(into), value) => *into = value.clone(),
            (None, value) => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::round_trip::with_cx;
    use super::*;
    use crate::catalog::{ModelInfo, Reasoning};
    use crate::{Effort, Message, ToolSpec};

    fn encode_now(request: &Request) -> Result<Encoded, Error> {
        with_cx(request, |cx| encode(request, cx))
    }

    /// What the body says beside the one user message.
    #[track_caller]
    fn check(change: impl FnOnce(&mut Request), expected: Value, warned: &[&str]) {
        let mut request = Request::prompt("hi");
        change(&mut request);
        let Encoded { body, warnings, .. } = encode_now(&request).unwrap();
        let mut body = body.as_object().unwrap().clone();
        assert_eq!(body.keys().next_back().unwrap(), "contents");
        body.shift_remove("contents");
        assert_eq!(Value::Object(body), expected);
        let codes: Vec<&str> = warnings.iter().map(|warning| warning.code.as_str()).collect();
        assert_eq!(codes, warned);
    }

    fn tool(name: &str) -> ToolSpec {
        ToolSpec::foreign(name, "does", json!({"type": "object", "properties": {"q": {"type": "string"}}}))
    }

    fn declared(name: &str) -> Value {
        json!({"name": name, "description": "does",
            "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}})
    }

    #[test]
    fn a_prompt_is_one_content() {
        let encoded = encode_now(&Request::prompt("hi").model("models/m")).unwrap();
        assert_eq!(encoded.path, "/v1beta/models/m:generateContent");
        assert_eq!(encoded.body, json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}));
    }

    #[test]
    fn leading_instructions_are_the_system_prompt() {
        let encoded = encode_now(&Request::of([
            Message::system("a"),
            Message::developer("b"),
            Message::user("c"),
            Message::system("d"),
        ]))
        .unwrap();
        assert_eq!(
            encoded.body,
            json!({
                "systemInstruction": {"parts": [{"text": "a"}, {"text": "b"}]},
                "contents": [{"role": "user", "parts": [{"text": "c"}, {"text": "d"}]}],
            })
        );
    }

    #[test]
    fn sampling_and_form_go_to_the_generation_config() {
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {}});
        check(
            |r| {
                r.temperature = Some(0.5);
                r.top_p = Some(0.9);
                r.max_tokens = Some(100);
                r.stop_sequences = vec!["END".into()];
                r.reasoning_effort = Some(Effort::High);
                r.response_format = Some(ResponseFormat::JsonSchema {
                    name: "o".into(),
                    schema: schema.clone(),
                    strict: true,
                });
            },
            json!({"generationConfig": {
                "temperature": 0.5, "topP": 0.9, "maxOutputTokens": 100, "stopSequences": ["END"],
                "responseMimeType": "application/json", "responseJsonSchema": schema,
                "thinkingConfig": {"thinkingLevel": "HIGH", "includeThoughts": true},
            }}),
            &[],
        );
        check(
            |r| r.response_format = Some(ResponseFormat::JsonObject),
            json!({"generationConfig": {"responseMimeType": "application/json"}}),
            &[],
        );
        check(|r| r.response_format = Some(ResponseFormat::Text), json!({}), &[]);
    }

    #[test]
    fn the_catalog_decides_between_levels_and_budgets() {
        let info = ModelInfo {
            id: "gemini-x".into(),
            provider: "gemini".into(),
            name: "X".into(),
            context_window: 1,
            max_output: 1,
            knowledge_cutoff: None,
            released: String::new(),
            tools: true,
            vision: true,
            reasoning: Reasoning::Budget,
            structured_output: true,
            price: None,
            aliases: Vec::new(),
            flagship: false,
        };
        let mut request = Request::prompt("hi");
        request.reasoning_effort = Some(Effort::Low);
        let encoded =
            with_cx(&request, |cx| encode(&request, &EncodeCx { model: Some(&info), ..cx.clone() }));
        assert_eq!(
            encoded.unwrap().body["generationConfig"],
            json!({"thinkingConfig": {"thinkingBudget": 1024, "includeThoughts": true}})
        );
    }

    #[test]
    fn tools_are_declared_together_and_hosted_ones_verbatim() {
        let hosted = |wire, item: Value| ToolSpec {
            name: "web".into(),
            description: String::new(),
            kind: ToolKind::Hosted { wire, item },
        };
        let custom = ToolSpec {
            name: "edit".into(),
            description: "does".into(),
            kind: ToolKind::Custom { format: Some(json!({})) },
        };
        let bare = ToolSpec::foreign("now", "does", json!({"type": "object", "properties": {}}));
        check(
            |r| {
                r.tools = vec![
                    tool("a/b"),
                    hosted(Wire::Gemini, json!({"googleSearch": {}})),
                    hosted(Wire::Anthropic, json!({})),
                    custom,
                    bare,
                ];
            },
            json!({"tools": [
                {"functionDeclarations": [
                    declared("a_b"),
                    {"name": "edit", "description": "does", "parameters":
                        {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}},
                    {"name": "now", "description": "does"},
                ]},
                {"googleSearch": {}},
            ], "toolConfig": {"includeServerSideToolInvocations": true}}),
            &["tool_dropped", "tool_format_dropped"],
        );
    }

    #[test]
    fn functions_go_before_hosted_tools_where_a_model_does_not_take_both() {
        let search = |name: &str| ToolSpec {
            name: name.into(),
            description: String::new(),
            kind: ToolKind::Hosted { wire: Wire::Gemini, item: json!({"googleSearch": {}}) },
        };
        let old = |tools: Vec<ToolSpec>| {
            move |r: &mut Request| (r.model, r.tools) = (Some("gemini-2.5-pro".into()), tools)
        };
        let functions = json!({"tools": [{"functionDeclarations": [declared("f")]}]});
        check(old(vec![tool("f"), search("web")]), functions, &["hosted_tool_dropped"]);
        check(old(vec![search("web")]), json!({"tools": [{"googleSearch": {}}]}), &[]);
    }

    #[test]
    fn tool_choices_have_modes() {
        let check = |choice: ToolChoice, expected: Value| {
            check(
                |r| {
                    r.tools = vec![tool("a/b")];
                    r.tool_choice = Some(choice);
                },
                json!({"tools": [{"functionDeclarations": [declared("a_b")]}],
                    "toolConfig": {"functionCallingConfig": expected}}),
                &[],
            );
        };
        check(ToolChoice::Auto, json!({"mode": "AUTO"}));
        check(ToolChoice::None, json!({"mode": "NONE"}));
        check(ToolChoice::Required, json!({"mode": "ANY"}));
        check(ToolChoice::Named("a/b".into()), json!({"mode": "ANY", "allowedFunctionNames": ["a_b"]}));
    }

    #[test]
    fn choices_without_tools_are_void_or_wrong() {
        for choice in [ToolChoice::Auto, ToolChoice::None] {
            check(|r| r.tool_choice = Some(choice), json!({}), &[]);
        }
        for choice in [ToolChoice::Required, ToolChoice::Named("f".into())] {
            let mut request = Request::prompt("hi");
            request.tool_choice = Some(choice);
            assert_eq!(encode_now(&request).unwrap_err().kind(), ErrorKind::InvalidRequest);
        }
    }

    #[test]
    fn options_are_merged_deeply_and_win() {
        check(
            |r| {
                r.temperature = Some(1.0);
                r.reasoning_effort = Some(Effort::Low);
                r.provider_options = serde_json::from_value(json!({
                    "gemini": {
                        "generationConfig": {"topK": 64, "temperature": 0.0, "thinkingConfig": {"thinkingBudget": 7}},
                        "safetySettings": [],
                    },
                    "openai": {"store": true},
                }))
                .unwrap();
            },
            json!({
                "generationConfig": {"temperature": 0.0, "topK": 64, "thinkingConfig": {"thinkingBudget": 7}},
                "safetySettings": [],
            }),
            &[],
        );
    }

    #[test]
    fn what_has_no_place_is_warned_of() {
        check(
            |r| {
                r.parallel_tool_calls = Some(false);
                r.metadata.insert("user".into(), "u".into());
            },
            json!({}),
            &["parallel_tool_calls_ignored", "metadata_dropped"],
        );
    }

    #[test]
    fn what_cannot_be_said_is_refused() {
        let check = |request: Request, kind: ErrorKind| {
            assert_eq!(encode_now(&request).unwrap_err().kind(), kind);
        };
        check(Request::default(), ErrorKind::InvalidRequest);
        check(Request::of([Message::system("s")]), ErrorKind::InvalidRequest);
        let mut odd = Request::prompt("hi");
        odd.provider_options.insert("gemini".into(), json!(3));
        check(odd, ErrorKind::Configuration);
    }
}
