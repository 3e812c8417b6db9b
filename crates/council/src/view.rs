//! Conversations and proposals as data, for those who judge them or can only write: never longer than they
//! can read.

use junto_llm::{Content, Message, Response};
use serde_json::{Map, Value, json};

/// How many bytes are shown: of a conversation, whose latest messages go first, and of one text in it.
#[derive(Clone, Copy)]
struct Room {
    all: usize,
    text: usize,
}

/// For one who judges.
const GLIMPSE: Room = Room { all: 64 * 1024, text: 16 * 1024 };
/// For one who takes part.
const WHOLE: Room = Room { all: 2 * 1024 * 1024, text: 512 * 1024 };
/// The most bytes of each text of a proposal.
const PROPOSED: usize = 32 * 1024;

/// The end of a conversation, as far back as one who judges needs it.
pub(crate) fn conversation(messages: &[Message]) -> Value {
    shown(messages, GLIMPSE)
}

/// A conversation for one who takes part in it; only what no model could read is left out.
pub(crate) fn whole_conversation(messages: &[Message]) -> Value {
    shown(messages, WHOLE)
}

fn shown(messages: &[Message], Room { all: mut room, text }: Room) -> Value {
    let mut shown: Vec<Value> = Vec::new();
    for message in messages.iter().rev() {
        let view = view(message, text);
        let size = view.to_string().len();
        // The last message is what is asked, and is shown in any case.
        if size > room && !shown.is_empty() {
            shown.push(json!({"left_out": "everything before this"}));
            break;
        }
        room = room.saturating_sub(size);
        shown.push(view);
    }
    shown.reverse();
    Value::Array(shown)
}

/// A proposal under its index, and how many made it.
pub(crate) fn proposal(index: usize, votes: usize, response: &Response) -> Value {
    let mut fields = Map::new();
    fields.insert("index".to_owned(), index.into());
    fields.insert("votes".to_owned(), votes.into());
    if let Value::Object(said) = view(&response.message, PROPOSED) {
        fields.extend(said.into_iter().filter(|(name, _)| name != "role"));
    }
    Value::Object(fields)
}

/// What somebody wrote, as much of it as others are shown.
pub(crate) fn written(response: &Response) -> String {
    cut(response.text().trim(), PROPOSED)
}

/// What a message says to others. Reasoning and a provider's own items are not for them.
fn view(message: &Message, most: usize) -> Value {
    let (mut texts, mut calls, mut results) = (Vec::new(), Vec::new(), Vec::new());
    for part in &message.content {
        match part.content() {
            Content::Text(text) => texts.push(text.as_str()),
            Content::Image(_) => texts.push("[an image]"),
            Content::Audio(_) => texts.push("[a sound]"),
            Content::Document(_) => texts.push("[a document]"),
            Content::ToolCall(call) => {
                calls.push(json!({"name": call.name, "arguments": cut(&call.raw_arguments, most)}));
            }
            Content::ToolResult(result) => {
                let name = if result.is_error { "error" } else { "output" };
                results.push(json!({name: cut(&result.output.to_text(), most)}));
            }
            Content::Thinking(_) | Content::RedactedThinking(_) | Content::Other(_) => {}
        }
    }
    let mut fields = Map::new();
    fields.insert("role".to_owned(), json!(message.role));
    if !texts.is_empty() {
        fields.insert("text".to_owned(), cut(&texts.concat(), most).into());
    }
    for (name, list) in [("calls", calls), ("results", results)] {
        if !list.is_empty() {
            fields.insert(name.to_owned(), list.into());
        }
    }
    Value::Object(fields)
}

/// A text of about `most` bytes at most: its head and its tail, and between them how much is missing.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let (head, rest) = text.split_at(text.floor_char_boundary(most.div_ceil(2)));
    let (missing, tail) = rest.split_at(rest.ceil_char_boundary(rest.len().saturating_sub(most / 2)));
    format!("{head} […{} bytes left out…] {tail}", missing.len())
}

#[cfg(test)]
mod tests {
    use junto_llm::{Part, Role, Thinking, ToolCall, ToolResult};

    use super::*;

    #[test]
    fn long_texts_lose_their_middle() {
        let check = |text: &str, most, expected: &str| assert_eq!(cut(text, most), expected);
        check("short", 5, "short");
        check("abcdefghij", 4, "ab […6 bytes left out…] ij");
        check("äöüäöü", 5, "ä […8 bytes left out…] ü");
        check("abc", 0, " […3 bytes left out…] ");
    }

    #[test]
    fn a_conversation_is_shown_from_its_end() {
        let long = "x".repeat(10_000);
        let messages: Vec<Message> = (0..20).map(|n| Message::user(format!("{n} {long}"))).collect();
        let shown = conversation(&messages);
        let shown = shown.as_array().unwrap();
        assert_eq!(shown[0], json!({"left_out": "everything before this"}));
        assert!(shown[1]["text"].as_str().unwrap().starts_with("14 "), "six of them fit");
        assert!(shown.last().unwrap()["text"].as_str().unwrap().starts_with("19 "));
        let huge = [Message::user("y".repeat(200_000))];
        assert!(conversation(&huge).to_string().len() < GLIMPSE.all, "one message is cut, too");
    }

    #[test]
    fn reasoning_is_not_shown() {
        let thought = Thinking { text: "secret".into(), signature: None };
        let call = ToolCall::function("c1", "f", "{}");
        let assistant = Message::new(
            Role::Assistant,
            vec![Part::new(Content::Thinking(thought)), Part::new(Content::ToolCall(call))],
        );
        let results = Message::tool_results([ToolResult::error("c1", "boom")]);
        assert_eq!(
            conversation(&[assistant, results]),
            json!([
                {"role": "assistant", "calls": [{"name": "f", "arguments": "{}"}]},
                {"role": "tool", "results": [{"error": "boom"}]},
            ])
        );
    }
}
