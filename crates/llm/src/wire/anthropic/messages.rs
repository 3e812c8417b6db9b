//! The conversation: what goes to `system`, and how the rest alternates.

use serde_json::{Map, Value};

use super::blocks::{Blocks, MESSAGE_FIELDS};
use crate::catalog::Reasoning;
use crate::{Content, Error, ErrorKind, Message, Part, Request, Role};

/// `system` and `messages` of a request.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) system: Vec<Value>,
    pub(super) messages: Vec<Value>,
    /// The last turn answers calls of an assistant turn that has no thinking. A model with a
    /// thinking budget refuses to go on thinking there.
    pub(super) continues_without_thinking: bool,
}

/// Lays out the conversation.
///
/// # Errors
/// `invalid_request` for what this wire cannot say, and if no message is left to send.
pub(super) fn lay_out(
    request: &Request,
    mid_system: Option<bool>,
    blocks: &mut Blocks<'_>,
) -> Result<Conversation, Error> {
    let lead = request.messages.iter().take_while(|m| is_system(m)).count();
    let (leading, rest) = request.messages.split_at(lead);

    let mut system = Vec::new();
    for part in leading.iter().flat_map(|m| &m.content) {
        if fields_of(part).is_none() {
            system.extend(blocks.block(part, Role::System)?);
        }
    }

    let mut turns = Turns::default();
    for message in rest {
        let role = if is_system(message) && !keeps_role(message, mid_system, blocks) {
            Role::User
        } else {
            message.role
        };
        add(message, role, &mut turns, blocks)?;
    }
    let turns = turns.settled();
    let continues_without_thinking = turns.continues_without_thinking();
    let messages: Vec<Value> = turns.0.into_iter().map(Turn::into_value).collect();
    if messages.is_empty() {
        return Err(Error::new(ErrorKind::InvalidRequest, "the request has nothing to say to the model")
            .with_hint("add a user message that is not blank"));
    }
    Ok(Conversation { system, messages, continues_without_thinking })
}

fn is_system(message: &Message) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}

/// Whether a later system message may keep its role: as asked, else where the catalog knows the
/// model for one that takes it, or a client has sent it to this very model.
fn keeps_role(message: &Message, asked: Option<bool>, blocks: &Blocks<'_>) -> bool {
    asked.unwrap_or_else(|| {
        blocks.cx.model.is_some_and(|m| m.reasoning == Reasoning::Effort) || is_theirs(message, blocks)
    })
}

/// Whether the message came off this wire, for this very model.
fn is_theirs(message: &Message, blocks: &Blocks<'_>) -> bool {
    message.content.iter().any(|part| part.is_from(blocks.cx.origin))
}

fn add(message: &Message, role: Role, turns: &mut Turns, blocks: &mut Blocks<'_>) -> Result<(), Error> {
    let name = match role {
        Role::System | Role::Developer => "system",
        Role::Assistant => "assistant",
        Role::User | Role::Tool => "user",
    };
    let is_theirs = is_theirs(message, blocks);
    let mut turn = Turn { role: name, blocks: Vec::new(), fields: Map::new(), is_theirs };
    for part in &message.content {
        if let Some(fields) = fields_of(part) {
            if part.is_from(blocks.cx.origin) {
                turn.fields.extend(fields.clone());
            }
            continue;
        }
        let Some(block) = blocks.block(part, role)? else { continue };
        if matches!(part.content(), Content::ToolResult(_)) {
            turns.push_result(block);
        } else {
            turn.blocks.push(block);
        }
    }
    turns.push(turn);
    Ok(())
}

/// A message's own fields, kept as a part by the server side.
fn fields_of(part: &Part) -> Option<&Map<String, Value>> {
    match part.content() {
        Content::Other(item) if item["type"] == MESSAGE_FIELDS => item["fields"].as_object(),
        _ => None,
    }
}

#[derive(Debug)]
struct Turn {
    role: &'static str,
    blocks: Vec<Value>,
    fields: Map<String, Value>,
    /// A client placed it; the encoder does not know better.
    is_theirs: bool,
}

impl Turn {
    fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.fields.is_empty()
    }

    fn into_value(self) -> Value {
        let mut message = Map::new();
        message.insert("role".to_owned(), Value::from(self.role));
        message.insert("content".to_owned(), Value::Array(self.blocks));
        message.extend(self.fields);
        Value::Object(message)
    }
}

#[derive(Debug, Default)]
struct Turns(Vec<Turn>);

impl Turns {
    /// Appends a turn; neighbours of the same role become one.
    fn push(&mut self, turn: Turn) {
        if turn.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.role == turn.role && last.fields.is_empty() && turn.fields.is_empty() => {
                last.blocks.extend(turn.blocks);
                last.is_theirs |= turn.is_theirs;
            }
            _ => self.0.push(turn),
        }
    }

    /// Puts a tool result where the wire wants it: in the user turn right after the calls, behind
    /// the results that are there and before everything else.
    fn push_result(&mut self, block: Value) {
        let after_calls = self.0.iter().rposition(|turn| turn.role == "assistant").map_or(0, |at| at + 1);
        match self.0.get_mut(after_calls) {
            Some(turn) if turn.role == "user" => {
                let at = turn.blocks.iter().take_while(|b| is_result(b)).count();
                turn.blocks.insert(at, block);
            }
            _ => {
                let turn = Turn { role: "user", blocks: vec![block], fields: Map::new(), is_theirs: false };
                self.0.insert(after_calls, turn);
            }
        }
    }

    /// The turns as the API takes them once their order is known. A system turn stands right after
    /// a user's and before an answer or the end, else it becomes the user's; an answer does not end
    /// in thinking.
    fn settled(self) -> Self {
        let mut settled = Self::default();
        let mut rest = self.0.into_iter().peekable();
        while let Some(mut turn) = rest.next() {
            if turn.role == "system" && !turn.is_theirs {
                let follows_user = settled.0.last().is_some_and(|before| before.role == "user");
                let ends_input = rest.peek().is_none_or(|after| after.role == "assistant");
                if !(follows_user && ends_input) {
                    turn.role = "user";
                }
            }
            while turn.role == "assistant" && turn.blocks.last().is_some_and(is_thinking) {
                turn.blocks.pop();
            }
            settled.push(turn);
        }
        settled
    }

    fn continues_without_thinking(&self) -> bool {
        let Some(at) = self.0.iter().rposition(|turn| turn.role == "assistant") else { return false };
        let answers = self.0.get(at + 1).and_then(|turn| turn.blocks.first()).is_some_and(is_result);
        let thinks = self.0.get(at).is_some_and(|turn| turn.blocks.iter().any(is_thinking));
        answers && !thinks
    }
}

fn is_result(block: &Value) -> bool {
    block["type"] == "tool_result"
}

fn is_thinking(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

#[cfg(test)]
mod tests;
