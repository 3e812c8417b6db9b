//! By what a session is known.
//!
//! Most clients send an id. For others it is a digest of the wire, the instructions and the whole of what
//! was asked first, joined by the first answer once there is one: what a conversation begins with never
//! changes, while two people who ask the same thing get answers of their own, if only by the ids of the
//! calls in them. Before the first answer, one that begins like another is still a session of its own; with
//! the second turn the latest of those that began so is the one that goes on.

use junto_llm::{SessionId, Wire};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// By what a session is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// The client's own id.
    Id(SessionId),
    /// How it begins; there is no answer yet.
    Opening(String),
    /// How it began, and that with the first answer.
    Conversation { opening: String, whole: String },
}

/// Fields that clients add to what they have said before, move about or leave out: marks for caches,
/// signatures, the state of an item.
const VOLATILE: [&str; 5] = ["cache_control", "signature", "thoughtSignature", "encrypted_content", "status"];
/// Blocks and items that clients may leave out when they send a conversation back.
const THOUGHTS: [&str; 3] = ["thinking", "redacted_thinking", "reasoning"];
/// How many bytes of a digest are kept.
const KEPT: usize = 16;

impl Key {
    /// The key of a request on this wire: the client's own id, if it sent one.
    pub(crate) fn of(wire: Wire, id: Option<&SessionId>, body: &Value) -> Self {
        if let Some(id) = id {
            return Self::Id(id.clone());
        }
        let beginning = Beginning::of(wire, body);
        let mut digest = Digest::new(wire);
        beginning.instructions.iter().for_each(|said| digest.content(said));
        digest.separate();
        beginning.asked.iter().for_each(|said| digest.content(said));
        let opening = digest.hex();
        let Some(answer) = beginning.answered else { return Self::Opening(opening) };
        digest.separate();
        digest.content(answer);
        Self::Conversation { whole: digest.hex(), opening }
    }
}

/// How a conversation begins.
#[derive(Debug, Default)]
struct Beginning<'a> {
    instructions: Vec<&'a Value>,
    asked: Option<&'a Value>,
    answered: Option<&'a Value>,
}

impl<'a> Beginning<'a> {
    fn of(wire: Wire, body: &'a Value) -> Self {
        let (instructions, turns) = match wire {
            Wire::Anthropic => (&body["system"], &body["messages"]),
            Wire::Responses => (&body["instructions"], &body["input"]),
            Wire::Chat => (&Value::Null, &body["messages"]),
            Wire::Gemini => {
                let instructions = ["systemInstruction", "system_instruction"].map(|name| &body[name]);
                let given = instructions.into_iter().find(|given| !given.is_null());
                (given.map_or(&Value::Null, |given| &given["parts"]), &body["contents"])
            }
        };
        let mut beginning = Self { instructions: vec![instructions], ..Self::default() };
        let Value::Array(turns) = turns else {
            // The Responses wire takes a plain question.
            return Self { asked: Some(turns), ..beginning };
        };
        for turn in turns {
            match (speaker(turn), beginning.asked) {
                (Speaker::System, None) => beginning.instructions.push(said(turn)),
                (Speaker::User, None) => beginning.asked = Some(said(turn)),
                (Speaker::Model, _) => {
                    beginning.answered = Some(turn);
                    break;
                }
                // What is said later, before there is an answer, may be taken back or put elsewhere.
                (Speaker::Thought | Speaker::System | Speaker::User, _) => {}
            }
        }
        beginning
    }
}

#[derive(Clone, Copy)]
enum Speaker {
    System,
    User,
    Model,
    /// The model, to itself.
    Thought,
}

/// Who says a turn: by its role; an item without one is a thought or the model's deed.
fn speaker(turn: &Value) -> Speaker {
    match (turn["role"].as_str(), turn["type"].as_str()) {
        (Some("system" | "developer"), _) => Speaker::System,
        (Some("assistant" | "model"), _) => Speaker::Model,
        (Some(_), _) | (None, None) => Speaker::User,
        (None, Some(kind)) if THOUGHTS.contains(&kind) => Speaker::Thought,
        (None, Some(_)) => Speaker::Model,
    }
}

/// What a turn says: its content or parts.
fn said(turn: &Value) -> &Value {
    turn.get("content").or_else(|| turn.get("parts")).unwrap_or(&Value::Null)
}

/// A digest of contents. Each piece is preceded by its length, so that no two sequences are alike.
struct Digest(Sha256);

impl Digest {
    fn new(wire: Wire) -> Self {
        let mut digest = Self(Sha256::new());
        digest.piece(b'w', wire.name().as_bytes());
        digest
    }

    fn piece(&mut self, kind: u8, bytes: &[u8]) {
        self.0.update([kind]);
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn separate(&mut self) {
        self.piece(b'|', &[]);
    }

    /// What is said: text counts as text, however it is wrapped; thoughts do not count.
    fn content(&mut self, content: &Value) {
        match content {
            Value::Null => {}
            Value::String(text) => self.piece(b't', text.as_bytes()),
            Value::Array(blocks) => blocks.iter().for_each(|block| self.content(block)),
            Value::Object(block) => {
                let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
                let is_thought =
                    THOUGHTS.contains(&kind) || block.get("thought").and_then(Value::as_bool) == Some(true);
                match block.get("text") {
                    _ if is_thought => {}
                    Some(text @ Value::String(_)) => self.content(text),
                    _ => self.value(content),
                }
            }
            Value::Bool(_) | Value::Number(_) => self.value(content),
        }
    }

    /// Any value, but for what is volatile in it.
    fn value(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields.iter().filter(|(name, _)| !VOLATILE.contains(&name.as_str())) {
                    match name.as_str() {
                        "content" | "parts" => self.content(field),
                        _ => {
                            self.piece(b'f', name.as_bytes());
                            self.value(field);
                        }
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.value(item)),
            Value::String(text) => self.piece(b's', text.as_bytes()),
            Value::Null | Value::Bool(_) | Value::Number(_) => self.piece(b'v', value.to_string().as_bytes()),
        }
    }

    fn hex(&self) -> String {
        let digest: [u8; 32] = self.0.clone().finalize().into();
        digest.iter().take(KEPT).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A conversation of this length on each wire: what is asked, answered, asked again.
    fn body(wire: Wire, system: &str, asked: &str, answered: &str, turns: usize) -> Value {
        let role = |mine: bool| match (mine, wire) {
            (true, _) => "user",
            (false, Wire::Gemini) => "model",
            (false, _) => "assistant",
        };
        let said = [asked, answered, "and more?", "more", "enough?"];
        let turn = |(at, said): (usize, &&str)| match wire {
            Wire::Gemini => json!({"role": role(at % 2 == 0), "parts": [{"text": said}]}),
            _ => json!({"role": role(at % 2 == 0), "content": said}),
        };
        let mut turns: Vec<Value> = said.iter().take(turns).enumerate().map(turn).collect();
        match wire {
            Wire::Anthropic => json!({"system": system, "messages": turns}),
            Wire::Responses => json!({"instructions": system, "input": turns}),
            Wire::Gemini => json!({"systemInstruction": {"parts": [{"text": system}]}, "contents": turns}),
            Wire::Chat => {
                turns.insert(0, json!({"role": "system", "content": system}));
                json!({"messages": turns})
            }
        }
    }

    fn parts(key: Key) -> (String, Option<String>) {
        match key {
            Key::Id(id) => (id.0, None),
            Key::Opening(opening) => (opening, None),
            Key::Conversation { opening, whole } => (opening, Some(whole)),
        }
    }

    #[test]
    fn the_beginning_stays_and_tells_conversations_apart_on_every_wire() {
        for wire in Wire::ALL {
            let of = |system: &str, asked: &str, answered: &str, turns| {
                parts(Key::of(wire, None, &body(wire, system, asked, answered, turns)))
            };
            let (opening, none) = of("sys", "hi", "hello", 1);
            assert_eq!(none, None);
            let second = of("sys", "hi", "hello", 3);
            assert_eq!(second.0, opening, "{wire:?}");
            assert!(second.1.is_some());
            assert_eq!(of("sys", "hi", "hello", 5), second, "{wire:?}");
            assert_ne!(of("sys", "hi", "good day", 3).1, second.1, "{wire:?}: another answer");
            assert_ne!(of("sys", "ho", "hello", 1).0, opening, "{wire:?}: another question");
            assert_ne!(of("system", "hi", "hello", 1).0, opening, "{wire:?}: other instructions");
        }
        let all: Vec<_> =
            Wire::ALL.map(|wire| parts(Key::of(wire, None, &body(wire, "s", "a", "b", 1)))).into();
        assert!(all.iter().enumerate().all(|(at, key)| !all[..at].contains(key)), "wires differ: {all:?}");
    }

    /// Two long conversations that differ only after the first few hundred characters.
    #[test]
    fn all_of_the_first_question_counts() {
        let long = "x".repeat(100_000);
        let of = |asked: &str| Key::of(Wire::Responses, None, &json!({"instructions": long, "input": asked}));
        assert_ne!(of(&format!("{long}1")), of(&format!("{long}2")));
    }

    #[test]
    fn what_clients_change_between_turns_does_not_count() {
        let check = |wire, a: Value, b: Value, same: bool| {
            assert_eq!(Key::of(wire, None, &a) == Key::of(wire, None, &b), same, "{a} {b}");
        };
        let messages = |user: Value, assistant: Value| json!({"messages": [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}]});
        let call = |id: &str| json!([{"type": "tool_use", "id": id, "name": "f", "input": {"a": 1}}]);
        check(
            Wire::Anthropic,
            messages(json!("hi"), call("c1")),
            messages(
                json!([{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]),
                json!([
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}, "cache_control": {}},
                ]),
            ),
            true,
        );
        check(Wire::Anthropic, messages(json!("hi"), call("c1")), messages(json!("hi"), call("c2")), false);
        let image = |data: &str| messages(json!([{"type": "image", "source": {"data": data}}]), call("c"));
        check(Wire::Anthropic, image("aaaa"), image("aaab"), false);

        let called = json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"});
        let thought = json!({"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"});
        let user = json!({"role": "user", "content": [{"type": "input_text", "text": "hi"}]});
        check(
            Wire::Responses,
            json!({"input": [user, thought, called]}),
            json!({"input": [user, called, {"type": "function_call_output", "call_id": "c1", "output": "1"}]}),
            true,
        );
        check(Wire::Responses, json!({"input": "hi"}), json!({"input": [user]}), true);
        let model = |parts: Value| json!({"contents": [{"parts": [{"text": "hi"}]}, {"role": "model", "parts": parts}]});
        check(
            Wire::Gemini,
            model(json!([{"text": "hm", "thought": true}, {"text": "yes", "thoughtSignature": "s"}])),
            model(json!([{"text": "yes"}])),
            true,
        );
    }

    #[test]
    fn the_clients_own_id_comes_first_and_nonsense_has_a_key_too() {
        let id = SessionId("s-1".into());
        assert_eq!(Key::of(Wire::Chat, Some(&id), &json!({})), Key::Id(id));
        for body in [json!(null), json!([]), json!({"messages": 7, "input": {}, "contents": [1, null, []]})] {
            for wire in Wire::ALL {
                assert!(matches!(Key::of(wire, None, &body), Key::Opening(_) | Key::Conversation { .. }));
            }
        }
    }
}
