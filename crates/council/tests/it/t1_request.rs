//! What a native member is sent is what the client sent, but for its framing: on every wire.

use std::sync::Arc;

use junto_council::{Council, FanOut, Member, Options};
use junto_llm::{
    Content, Endpoint, HttpProvider, Message, Part, Provider, Request, Role, ToolCall, ToolResult, Wire,
};
use junto_twin::{Play, Step, Twin};
use serde_json::Value;

use crate::stand::{ask, session};

const WIRES: [(Wire, &str); 4] = [
    (Wire::Anthropic, "claude-opus-5-5"),
    (Wire::Responses, "gpt-5.5"),
    (Wire::Gemini, "gemini-3.1-pro-preview"),
    (Wire::Chat, "gpt-5.5"),
];

/// In the middle of a tool loop, with instructions, calls and results.
fn request() -> Request {
    let call =
        Part::new(Content::ToolCall(ToolCall::function("call_1", "get_weather", r#"{"city":"Rome"}"#)));
    let messages = vec![
        Message::system("Be brief."),
        Message::user("What is the weather?"),
        Message::new(Role::Assistant, vec![Part::text("Let me look."), call]),
        Message::tool_results([ToolResult::text("call_1", "sun")]),
    ];
    Request { messages: messages.into(), ..ask("?") }
}

/// The bodies that a twin gets: once from a provider, and once from a council with that provider.
async fn bodies(wire: Wire, model: &str, framing: Option<&str>) -> [Value; 2] {
    let play = Play::of([Step::text("Sunny."), Step::text("Sunny.")]);
    let twin = Twin::start(play, junto_twin::Options::default()).unwrap();
    let endpoint = Endpoint::new("p", wire, twin.base_url(wire)).key(twin.key());
    let provider = Arc::new(HttpProvider::new(endpoint).unwrap());
    // A council streams its members, whatever its caller does.
    let direct = provider.stream(request().model(model), &session()).await.unwrap();
    direct.into_response().await.unwrap();
    let member = Member::new("p", provider).model(model);
    let member = Member { framing: framing.map(str::to_owned), ..member };
    let options = Options { fan_out: FanOut::Always, ..Options::default() };
    let council = Council::new(vec![member], None, options).unwrap();
    council.complete(request(), &session()).await.unwrap();
    let requests = twin.requests();
    [0, 1].map(|n: usize| requests[n].body.clone())
}

/// Where two values differ, as pointers.
fn differences(a: &Value, b: &Value, path: &str, found: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            for key in x.keys().chain(y.keys().filter(|key| !x.contains_key(*key))) {
                differences(&a[key], &b[key], &format!("{path}/{key}"), found);
            }
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            for (n, (x, y)) in x.iter().zip(y).enumerate() {
                differences(x, y, &format!("{path}/{n}"), found);
            }
        }
        (a, b) if a != b => found.push(path.to_owned()),
        _ => {}
    }
}

#[tokio::test]
async fn without_a_framing_nothing_differs() {
    for (wire, model) in WIRES {
        let [direct, council] = bodies(wire, model, None).await;
        assert_eq!(direct, council, "{wire:?}");
    }
}

#[tokio::test]
async fn with_a_framing_only_the_instructions_differ() {
    for (wire, model) in WIRES {
        let [direct, council] = bodies(wire, model, Some("Look for what others miss.")).await;
        let mut found = Vec::new();
        differences(&direct, &council, "", &mut found);
        let expected = match wire {
            Wire::Anthropic => "/system",
            Wire::Responses => "/instructions",
            Wire::Gemini => "/systemInstruction",
            Wire::Chat => "/messages",
        };
        assert!(found.iter().all(|path| path.starts_with(expected)), "{wire:?}: {found:?}");
        let text = council.to_string();
        assert_eq!(text.matches("Look for what others miss.").count(), 1, "{text}");
        assert!(text.find("Be brief.") < text.find("Look for"), "behind the client's own: {text}");
        assert!(text.find("Look for") < text.find("What is the weather?") || wire != Wire::Chat, "{text}");
    }
}
