//! Reasoning goes back to the member that wrote it, and to nobody else.

use junto_llm::{Content, Message, Provider, Request, Response, ToolResult};
use junto_twin::{Call, Play, Step, Think};
use serde_json::{Value, json};

use crate::stand::{Stand, ask, session, stand};

/// Each thinks its own thought, and both call the same tool; then both say the same.
fn thoughtful() -> Stand {
    let play = |thought: &str| {
        Play::of([
            Step {
                think: Think::Text(thought.into()),
                ..Step::calls([Call::new("get_weather", json!({"city": "Rome"}))])
            },
            Step::text("Sunny."),
        ])
    };
    stand(play("thought of a"), play("thought of b"), Play::text("unasked"))
}

async fn goes_back(stand: &Stand, first: Response) {
    let origins: Vec<&str> = (first.message.content.iter())
        .filter_map(|part| part.origin().map(|origin| origin.provider.as_str()))
        .collect();
    assert!(!origins.is_empty() && origins.iter().all(|provider| *provider == "a"), "{origins:?}");
    let signature = (first.message.content.iter())
        .find_map(|part| match part.content() {
            Content::Thinking(thinking) => thinking.signature.clone(),
            _ => None,
        })
        .expect("a signed thought");

    let results = first.tool_calls().map(|call| ToolResult::text(&call.id, "sun")).collect::<Vec<_>>();
    let messages = vec![Message::user("?"), first.message, Message::tool_results(results)];
    let next = Request { messages: messages.into(), ..ask("?") };
    // The twins are strict: a foreign or changed signature, or a thought that is missing, is refused.
    let response = stand.council.complete(next, &session()).await.unwrap();
    assert_eq!(response.text(), "Sunny.");
    assert_eq!(response.warnings, [], "nobody was left out");
    let second = |requests: Vec<junto_twin::Received>| -> Value { requests[1].body.clone() };
    let (to_a, to_b) = (second(stand.a.requests()).to_string(), second(stand.b.requests()).to_string());
    assert!(to_a.contains(&signature), "{to_a}");
    assert!(!to_b.contains(&signature) && !to_b.contains("thought of a"), "{to_b}");
}

#[tokio::test]
async fn after_a_whole_answer() {
    let stand = thoughtful();
    let first = stand.council.complete(ask("?"), &session()).await.unwrap();
    goes_back(&stand, first).await;
}

#[tokio::test]
async fn after_a_stream() {
    let stand = thoughtful();
    let events = stand.council.stream(ask("?"), &session()).await.unwrap().accumulated();
    let first = events.into_response().await.unwrap();
    goes_back(&stand, first).await;
}
