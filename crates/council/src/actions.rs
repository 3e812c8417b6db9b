//! How a member that can only write proposes calls: tools, schemas and conversation go to it as one
//! JSON document, and what it writes is read as one JSON action.

mod reply;

use junto_llm::{
    CallId, Content, Error, ErrorKind, Finish, FinishReason, Message, Part, Request, Response,
    ResponseFormat, ToolCall, ToolChoice, ToolKind, ToolSpec,
};
use serde_json::{Map, Value, json};

use crate::proposal::is_formal;
use crate::view;
use reply::{Proposed, Reply};

const INSTRUCTION: &str = include_str!("actions.md");

/// Whether a request has something in it that plain writing cannot answer.
pub(crate) fn is_needed(request: &Request) -> bool {
    tools(request).next().is_some() || is_formal(request)
}

/// The document for this request, with something more among the instructions.
pub(crate) fn question(request: &Request, told: &str) -> Request {
    let mut document = Map::new();
    document.insert("tools".to_owned(), tools(request).map(shown).collect());
    let rules = rules(request);
    if !rules.is_empty() {
        document.insert("rules".to_owned(), rules.into());
    }
    if let Some(schema) = schema(request) {
        document.insert("answer_schema".to_owned(), schema.clone());
    }
    // Last, since it grows: what stands before it is the same in every turn.
    document.insert("conversation".to_owned(), view::whole_conversation(&request.messages));
    let instruction = if told.is_empty() { INSTRUCTION.to_owned() } else { format!("{INSTRUCTION}\n{told}") };
    Request {
        tools: Vec::new(),
        tool_choice: None,
        parallel_tool_calls: None,
        response_format: None,
        messages: [Message::system(instruction), Message::user(Value::Object(document).to_string())].into(),
        ..request.clone()
    }
}

/// A written reply as the answer that a native member would have given.
///
/// # Errors
/// `invalid_tool_call` if it means to be an action and is none, or calls more than it may.
pub(crate) fn read(request: &Request, response: Response) -> Result<Response, Error> {
    let text = response.text();
    let parts = match reply::read(&text) {
        Some(Reply::Answer(answer)) => vec![Part::text(answer)],
        Some(Reply::Calls(calls)) if calls.len() > 1 && request.parallel_tool_calls == Some(false) => {
            let message = format!("it proposes {} calls where one is allowed", calls.len());
            return Err(Error::new(ErrorKind::InvalidToolCall, message));
        }
        Some(Reply::Calls(calls)) => calls.into_iter().map(|call| part(request, call)).collect(),
        None if reply::means_to_act(&text) && !is_formal(request) => {
            let message = "what it wrote is not the JSON action that was asked for";
            return Err(Error::new(ErrorKind::InvalidToolCall, message));
        }
        None => vec![Part::text(reply::unfenced(&text))],
    };
    let calls = parts.iter().any(|part| matches!(part.content(), Content::ToolCall(_)));
    let finish_reason = if calls { FinishReason::new(Finish::ToolCalls) } else { response.finish_reason };
    let mut message = Message::new(response.message.role, parts);
    message.content.retain(|part| part.as_text().is_none_or(|text| !text.is_empty()));
    Ok(Response { message, finish_reason, ..response })
}

/// The tools that somebody else can run for a member.
fn tools(request: &Request) -> impl Iterator<Item = &ToolSpec> {
    let allowed = request.tool_choice != Some(ToolChoice::None);
    request.tools.iter().filter(move |tool| allowed && !matches!(tool.kind, ToolKind::Hosted { .. }))
}

/// The schema that an answer must fit, if there is one.
fn schema(request: &Request) -> Option<&Value> {
    match &request.response_format {
        Some(ResponseFormat::JsonSchema { schema, .. }) => Some(schema),
        Some(ResponseFormat::JsonObject | ResponseFormat::Text) | None => None,
    }
}

fn shown(tool: &ToolSpec) -> Value {
    let mut fields = Map::new();
    fields.insert("name".to_owned(), tool.name.clone().into());
    fields.insert("description".to_owned(), tool.description.clone().into());
    match &tool.kind {
        ToolKind::Function { parameters, .. } => {
            fields.insert("parameters".to_owned(), (**parameters).clone());
        }
        ToolKind::Custom { format: Some(format) } => {
            fields.insert("format".to_owned(), format.clone());
        }
        ToolKind::Custom { format: None } | ToolKind::Hosted { .. } => {}
    }
    Value::Object(fields)
}

fn rules(request: &Request) -> Vec<Value> {
    let mut rules = Vec::new();
    match &request.tool_choice {
        Some(ToolChoice::Required) => rules.push(json!("some tool must be called")),
        Some(ToolChoice::Named(name)) => rules.push(json!(format!("the tool `{name}` must be called"))),
        Some(ToolChoice::Auto | ToolChoice::None) | None => {}
    }
    if request.parallel_tool_calls == Some(false) {
        rules.push(json!("no more than one call in the reply"));
    }
    if is_formal(request) {
        rules.push(json!("the text of an answer must be one JSON object"));
    }
    rules
}

/// A proposed call under an id of its own.
fn part(request: &Request, call: Proposed) -> Part {
    let id = format!("call_{}", CallId::fresh());
    let is_custom = |tool: &ToolSpec| tool.name == call.name && matches!(tool.kind, ToolKind::Custom { .. });
    let call = if request.tools.iter().any(is_custom) {
        let input = match call.arguments {
            Value::Object(mut fields) => fields.remove("input").unwrap_or(Value::Object(fields)),
            input => input,
        };
        ToolCall::custom(id, call.name, input.as_str().map_or_else(|| input.to_string(), str::to_owned))
    } else {
        // Some write the arguments as JSON within a string.
        let raw = match call.arguments {
            Value::String(raw) => raw,
            Value::Null => "{}".to_owned(),
            arguments => arguments.to_string(),
        };
        ToolCall::function(id, call.name, raw)
    };
    Part::new(Content::ToolCall(call))
}

#[cfg(test)]
mod tests;
