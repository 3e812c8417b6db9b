//! Reads `messages` as a server gets them.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::response::{content_piece, text, wire_call};
use super::server::invalid;
use super::{messages, parts};
use crate::{
    Content, Error, Message, Origin, Part, ResultOutput, Role, Thinking, ToolCall, ToolCallKind, ToolResult,
};

/// What the messages show of the client's dialect.
#[derive(Debug, Default)]
pub(super) struct Dialect {
    /// It has developer messages.
    pub(super) developer: bool,
    /// It sends reasoning back.
    pub(super) reasoning: bool,
}

/// Reads the messages. Neighbouring tool results become one message.
pub(super) fn decode(items: &[Value], origin: &Arc<Origin>) -> Result<(Vec<Message>, Dialect), Error> {
    let mut reader =
        Reader { origin, messages: Vec::with_capacity(items.len()), dialect: Dialect::default() };
    for (index, item) in items.iter().enumerate() {
        reader.message(item, &format!("messages[{index}]"))?;
    }
    Ok((reader.messages, reader.dialect))
}

struct Reader<'a> {
    origin: &'a Arc<Origin>,
    messages: Vec<Message>,
    dialect: Dialect,
}

impl Reader<'_> {
    fn message(&mut self, item: &Value, at: &str) -> Result<(), Error> {
        let role = text(item, "role").ok_or_else(|| invalid(at, "has no role"))?;
        match role {
            "system" => self.plain(Role::System, item, at),
            "developer" => {
                self.dialect.developer = true;
                self.plain(Role::Developer, item, at)
            }
            "user" => self.plain(Role::User, item, at),
            "assistant" => self.assistant(item, at),
            "tool" => self.tool(item, at),
            "function" => self.function(item, at),
            _ => Err(invalid(&format!("{at}.role"), &format!("cannot be `{role}`"))),
        }
    }

    fn plain(&mut self, role: Role, item: &Value, at: &str) -> Result<(), Error> {
        let content = match &item["content"] {
            Value::String(text) => vec![self.part(Content::Text(text.clone()), None)],
            Value::Array(items) => self.parts(items, at)?,
            _ => return Err(invalid(&format!("{at}.content"), "must be a string or a list of parts")),
        };
        self.push(role, item, content, unknown_fields(item, &["role", "content", "name"]));
        Ok(())
    }

    fn parts(&self, items: &[Value], at: &str) -> Result<Vec<Part>, Error> {
        let read = |(index, item)| parts::read(item, self.origin, &format!("{at}.content[{index}]"));
        let read: Vec<Part> = items.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        // Several texts would go out as one, so here the items themselves are kept.
        let several = read.len() > 1 && read.iter().all(|part| part.as_text().is_some());
        if !several {
            return Ok(read);
        }
        let with_raw = |(part, item): (Part, &Value)| self.part(part.into_content(), Some(item.clone()));
        Ok(read.into_iter().zip(items).map(with_raw).collect())
    }

    fn assistant(&mut self, item: &Value, at: &str) -> Result<(), Error> {
        let known = [
            "role",
            "content",
            "name",
            "reasoning_content",
            "reasoning",
            "refusal",
            "tool_calls",
            "function_call",
        ];
        let mut fields = unknown_fields(item, &known);
        let mut content = Vec::new();
        let reasoning = text(item, "reasoning_content").or_else(|| text(item, "reasoning"));
        if let Some(reasoning) = reasoning.filter(|r| !r.is_empty()) {
            self.dialect.reasoning = true;
            let thinking = Thinking { text: reasoning.to_owned(), signature: None };
            content.push(self.part(Content::Thinking(thinking), None));
        }
        match &item["content"] {
            Value::Null => {}
            Value::String(text) => content.push(self.part(Content::Text(text.clone()), None)),
            Value::Array(items) => {
                let mut whole = true;
                for (index, item) in items.iter().enumerate() {
                    let part = parts::read(item, self.origin, &format!("{at}.content[{index}]"))?;
                    whole &= part.as_text().is_some() && part.raw_for(self.origin).is_none();
                    content.extend(content_piece(item).map(|piece| self.part(piece.into_content(), None)));
                }
                // The list as it came goes over what would be made of it.
                if !whole {
                    fields.insert("content".into(), item["content"].clone());
                }
            }
            _ => return Err(invalid(&format!("{at}.content"), "must be a string, a list of parts or null")),
        }
        if let Some(refusal) = text(item, "refusal") {
            content.push(self.part(Content::Text(refusal.to_owned()), None));
        }
        match &item["tool_calls"] {
            Value::Null => {}
            Value::Array(calls) => {
                for (index, call) in calls.iter().enumerate() {
                    content.push(self.call(call, &format!("{at}.tool_calls[{index}]"))?);
                }
            }
            _ => return Err(invalid(&format!("{at}.tool_calls"), "must be a list")),
        }
        if let Some(function) = item.get("function_call").filter(|call| !call.is_null()) {
            let name =
                text(function, "name").ok_or_else(|| invalid(at, "has a function_call without a name"))?;
            let arguments = text(function, "arguments").unwrap_or_default();
            content.push(
                self.part(Content::ToolCall(ToolCall::function(self.legacy_id(), name, arguments)), None),
            );
        }
        self.push(Role::Assistant, item, content, fields);
        Ok(())
    }

    fn call(&self, item: &Value, at: &str) -> Result<Part, Error> {
        let call = wire_call(item);
        if call.id.is_empty() {
            return Err(invalid(at, "has no id"));
        }
        if call.name.is_empty() {
            return Err(invalid(at, "has no name"));
        }
        let raw = call.extra.is_some().then(|| item.clone());
        let call = match call.kind {
            ToolCallKind::Function => ToolCall::function(call.id, call.name, call.arguments),
            ToolCallKind::Custom => ToolCall::custom(call.id, call.name, call.arguments),
        };
        Ok(self.part(Content::ToolCall(call), raw))
    }

    fn tool(&mut self, item: &Value, at: &str) -> Result<(), Error> {
        let id =
            text(item, "tool_call_id").ok_or_else(|| invalid(&format!("{at}.tool_call_id"), "is missing"))?;
        let known = ["role", "tool_call_id", "content"];
        let mut whole = item.as_object().is_some_and(|o| o.keys().all(|key| known.contains(&key.as_str())));
        let output = match &item["content"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            Value::Array(items) => {
                whole &= items.len() == 1;
                let texts: Option<Vec<&str>> = items.iter().map(parts::text).collect();
                texts.ok_or_else(|| invalid(&format!("{at}.content"), "must be made of texts"))?.join("\n\n")
            }
            _ => return Err(invalid(&format!("{at}.content"), "must be a string or a list of parts")),
        };
        self.result(id, output, (!whole).then(|| item.clone()));
        Ok(())
    }

    /// The result of the single call of the days before `tool_calls`; it answers the last call.
    fn function(&mut self, item: &Value, at: &str) -> Result<(), Error> {
        let last = self.messages.iter().rev().flat_map(Message::tool_calls).next();
        let id = last.map(|call| call.id.clone()).ok_or_else(|| invalid(at, "answers no call"))?;
        self.result(&id, text(item, "content").unwrap_or_default().to_owned(), None);
        Ok(())
    }

    fn result(&mut self, id: &str, output: String, raw: Option<Value>) {
        let result = ToolResult {
            call_id: id.to_owned(),
            output: ResultOutput::Text(output),
            is_error: false,
            images: Vec::new(),
        };
        let part = self.part(Content::ToolResult(result), raw);
        match self.messages.last_mut() {
            Some(message) if message.role == Role::Tool => message.content.push(part),
            _ => self.messages.push(Message::new(Role::Tool, vec![part])),
        }
    }

    fn push(&mut self, role: Role, item: &Value, mut content: Vec<Part>, fields: Map<String, Value>) {
        if !fields.is_empty() {
            content.push(self.part(messages::fields_part(fields), None));
        }
        let name = text(item, "name").map(str::to_owned);
        self.messages.push(Message { role, content, name });
    }

    fn part(&self, content: Content, raw: Option<Value>) -> Part {
        Part::received(content, Arc::clone(self.origin), raw)
    }

    fn legacy_id(&self) -> String {
        format!("call_{}", self.messages.len())
    }
}

/// The fields of a message that are none of these.
fn unknown_fields(item: &Value, known: &[&str]) -> Map<String, Value> {
    item.as_object()
        .into_iter()
        .flatten()
        .filter(|(key, value)| !known.contains(&key.as_str()) && !value.is_null())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
