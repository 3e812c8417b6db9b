//! What a request says, whatever the wire.

use junto_llm::Wire;
use junto_twin::Received;
use serde_json::Value;

/// Everything a request says that a test may want to know.
#[derive(Debug)]
pub(crate) struct Said {
    /// The system prompt.
    pub(crate) system: String,
    /// What the user said, oldest first.
    pub(crate) user: Vec<String>,
    /// What the model said, oldest first.
    pub(crate) model: Vec<String>,
    /// What its tools said, oldest first.
    pub(crate) results: Vec<String>,
    /// The names of the declared tools.
    pub(crate) tools: Vec<String>,
    /// How hard the model shall think, in lower case.
    pub(crate) effort: Option<String>,
}

fn each(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The text of what is a text, a list of texts, or a result with one of two outcomes.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(pieces) => pieces.iter().map(|piece| text(&piece["text"])).collect(),
        Value::Object(outcome) => {
            text(outcome.get("output").or_else(|| outcome.get("error")).unwrap_or(&Value::Null))
        }
        _ => String::new(),
    }
}

fn names<'a>(tools: impl Iterator<Item = &'a Value>) -> Vec<String> {
    tools.map(|tool| text(&tool["name"])).collect()
}

/// The texts of one role's messages, each message as one.
fn of_role(messages: &Value, role: &str, content: &str) -> Vec<String> {
    let said = |message: &Value| match &message[content] {
        Value::Array(parts) => {
            parts.iter().filter(|part| part["thought"] != true).map(|part| text(&part["text"])).collect()
        }
        other => text(other),
    };
    each(messages).filter(|m| m["role"] == role).map(said).filter(|said| !said.is_empty()).collect()
}

/// Reads a request.
pub(crate) fn said(request: &Received) -> Said {
    let body = &request.body;
    let effort = |value: &Value| value.as_str().map(str::to_lowercase);
    match request.wire {
        Wire::Responses => Said {
            system: text(&body["instructions"]),
            user: of_role(&body["input"], "user", "content"),
            model: of_role(&body["input"], "assistant", "content"),
            results: each(&body["input"])
                .filter(|item| item["type"] == "function_call_output")
                .map(|item| text(&item["output"]))
                .collect(),
            tools: names(each(&body["tools"])),
            effort: effort(&body["reasoning"]["effort"]),
        },
        Wire::Anthropic => Said {
            system: text(&body["system"]),
            user: of_role(&body["messages"], "user", "content"),
            model: of_role(&body["messages"], "assistant", "content"),
            results: each(&body["messages"])
                .flat_map(|message| each(&message["content"]))
                .filter(|block| block["type"] == "tool_result")
                .map(|block| text(&block["content"]))
                .collect(),
            tools: names(each(&body["tools"])),
            effort: effort(&body["output_config"]["effort"]),
        },
        Wire::Gemini => Said {
            system: text(&body["systemInstruction"]["parts"]),
            user: of_role(&body["contents"], "user", "parts"),
            model: of_role(&body["contents"], "model", "parts"),
            results: each(&body["contents"])
                .flat_map(|content| each(&content["parts"]))
                .filter_map(|part| part.get("functionResponse"))
                .map(|answer| text(&answer["response"]))
                .collect(),
            tools: names(each(&body["tools"]).flat_map(|tools| each(&tools["functionDeclarations"]))),
            effort: effort(&body["generationConfig"]["thinkingConfig"]["thinkingLevel"]),
        },
        Wire::Chat => unreachable!("no profile is tested on it"),
    }
}
