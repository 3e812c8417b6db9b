//! What classification looks at, the same for every wire.

use junto_llm::Wire;
use serde_json::Value;

/// The parts of a request that say what it is for.
#[derive(Debug, Default)]
pub(super) struct View<'a> {
    pub(super) model: &'a str,
    pub(super) max_tokens: Option<u64>,
    /// The types of the tools, else their names.
    pub(super) tools: Vec<&'a str>,
    /// The schema that the answer shall fit.
    pub(super) schema: Option<&'a Value>,
    /// What the request says and holds, in order; instructions first.
    pub(super) turns: Vec<Turn<'a>>,
}

/// One message of a request.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) speaker: Speaker,
    /// What is said; never what a tool answered.
    pub(super) texts: Vec<&'a str>,
    /// Whether results of tools came with it.
    pub(super) has_results: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    /// Whoever built the client.
    System,
    User,
    Assistant,
}

impl<'a> View<'a> {
    /// What a request for this model holds.
    pub(super) fn of(wire: Wire, model: &'a str, body: &'a Value) -> Self {
        let view = match wire {
            Wire::Anthropic => anthropic(body),
            Wire::Responses => responses(body),
            Wire::Gemini => gemini(body),
            Wire::Chat => chat(body),
        };
        Self { model, ..view }
    }

    /// The last turn that is neither the model's nor the system's: clients add system messages
    /// behind what they ask.
    pub(super) fn last_input(&self) -> Option<&Turn<'a>> {
        self.turns.iter().rev().find(|turn| turn.speaker == Speaker::User)
    }
}

fn anthropic(body: &Value) -> View<'_> {
    let mut turns = vec![turn(Speaker::System, &body["system"])];
    turns.extend(list(&body["messages"]).iter().map(|message| {
        let speaker = speaker(&message["role"]);
        turn(speaker, &message["content"])
    }));
    View {
        model: "",
        max_tokens: body["max_tokens"].as_u64(),
        tools: tools(body),
        schema: body["output_config"]["format"].get("schema"),
        turns,
    }
}

fn responses(body: &Value) -> View<'_> {
    let mut turns = vec![turn(Speaker::System, &body["instructions"])];
    match &body["input"] {
        Value::Array(items) => turns.extend(items.iter().map(item)),
        input => turns.push(turn(Speaker::User, input)),
    }
    View {
        model: "",
        max_tokens: body["max_output_tokens"].as_u64(),
        tools: tools(body),
        schema: body["text"]["format"].get("schema"),
        turns,
    }
}

fn chat(body: &Value) -> View<'_> {
    fn message(message: &Value) -> Turn<'_> {
        match text(&message["role"]) {
            "tool" | "function" => results(),
            _ => turn(speaker(&message["role"]), &message["content"]),
        }
    }
    let limit = body.get("max_completion_tokens").unwrap_or(&body["max_tokens"]);
    View {
        model: "",
        max_tokens: limit.as_u64(),
        tools: tools(body),
        schema: body["response_format"]["json_schema"].get("schema"),
        turns: list(&body["messages"]).iter().map(message).collect(),
    }
}

/// Gemini's clients spell fields in either way; what says what a request is for, they write in the
/// API's own.
fn gemini(body: &Value) -> View<'_> {
    fn content(content: &Value) -> Turn<'_> {
        let parts = list(&content["parts"]);
        let speaker = if content["role"] == "model" { Speaker::Assistant } else { Speaker::User };
        let texts = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        let has_results = parts.iter().any(|part| part.get("functionResponse").is_some());
        Turn { speaker, texts, has_results }
    }
    let mut turns = vec![Turn { speaker: Speaker::System, ..content(&body["systemInstruction"]) }];
    turns.extend(list(&body["contents"]).iter().map(content));
    let config = &body["generationConfig"];
    View {
        model: "",
        max_tokens: config["maxOutputTokens"].as_u64(),
        tools: list(&body["tools"])
            .iter()
            .flat_map(|tool| list(&tool["functionDeclarations"]))
            .map(|function| text(&function["name"]))
            .collect(),
        schema: config.get("responseJsonSchema").or_else(|| config.get("responseSchema")),
        turns,
    }
}

fn results() -> Turn<'static> {
    Turn { speaker: Speaker::User, texts: Vec::new(), has_results: true }
}

/// An item of the Responses wire as a turn. What is neither said nor a result, the model did.
fn item(item: &Value) -> Turn<'_> {
    match text(&item["type"]) {
        "message" | "" => turn(speaker(&item["role"]), &item["content"]),
        kind if kind.ends_with("_output") => results(),
        _ => Turn { speaker: Speaker::Assistant, texts: Vec::new(), has_results: false },
    }
}

/// A turn from its content: a string, or a list of blocks.
fn turn(speaker: Speaker, content: &Value) -> Turn<'_> {
    let blocks = list(content);
    let has_results = blocks.iter().any(|block| block["type"] == "tool_result");
    let said = blocks.iter().filter(|block| block["type"] != "tool_result").map(|block| &block["text"]);
    let texts = said.chain([content]).filter_map(Value::as_str).collect();
    Turn { speaker, texts, has_results }
}

fn speaker(role: &Value) -> Speaker {
    match role.as_str() {
        Some("system" | "developer") => Speaker::System,
        Some("assistant") => Speaker::Assistant,
        _ => Speaker::User,
    }
}

fn tools(body: &Value) -> Vec<&str> {
    list(&body["tools"])
        .iter()
        .map(|tool| tool["type"].as_str().or_else(|| tool["name"].as_str()).unwrap_or_default())
        .collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
