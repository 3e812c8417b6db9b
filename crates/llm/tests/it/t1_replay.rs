//! A recorded conversation, played back offline: on each wire the same events, answers and errors,
//! and the same next request.

use std::sync::Arc;

use futures_util::StreamExt;
use junto_llm::middleware::{Record, Replay};
use junto_llm::{Client, Effort, HttpProvider, Message, Request, ToolResult, Wire};
use junto_twin::{Call, Fault, Options, Play, Step, Think, Twin};
use serde_json::json;

use crate::support::{clock, endpoint, model, session, weather};

/// Thinking and calls side by side, then an answer; each round both whole and streamed, and last a
/// refusal. Gives everything that was seen, as bytes.
async fn conversation(client: &Client, wire: Wire) -> Vec<String> {
    let cx = session();
    let mut seen = Vec::new();
    let mut messages = vec![Message::system("Be brief."), Message::user("Weather and time?")];
    for _ in 0..2 {
        let request = Request { reasoning_effort: Some(Effort::High), ..Request::of(messages.clone()) };
        let request = request.model(model(wire)).tools([weather(), clock()]);
        seen.push(serde_json::to_string(&request).unwrap());
        let events = client.stream(request.clone(), &cx).await.unwrap().collect::<Vec<_>>().await;
        seen.push(serde_json::to_string(&events).unwrap());
        let response = client.complete(request, &cx).await.unwrap();
        seen.push(serde_json::to_string(&response).unwrap());
        let results = response.tool_calls().map(|call| ToolResult::text(&call.id, "fine"));
        let results = Message::tool_results(results);
        messages.push(response.message);
        messages.push(results);
    }
    let refused = Request { max_tokens: Some(0), ..Request::prompt("hi") }.model(model(wire));
    let error = client.stream(refused, &cx).await.unwrap_err();
    seen.push(serde_json::to_string(&error).unwrap());
    seen
}

#[tokio::test]
async fn a_conversation_replays_byte_for_byte_on_each_wire() {
    let calls = Step {
        think: Think::Text("I need the weather and the time.".into()),
        times: Some(2),
        ..Step::calls([
            Call::new("get_weather", json!({"city": "Rome"})),
            Call::new("get_time", json!({"zone": "CET"})),
        ])
    };
    for wire in Wire::ALL {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("calls.jsonl");
        let play = Play::of([
            calls.clone(),
            Step { times: Some(2), ..Step::text("Sunny, noon.") },
            Step { fault: Some(Fault::status(400)), ..Step::default() },
        ]);
        let twin = Twin::start(play, Options::default()).unwrap();
        let endpoint = endpoint(&twin, wire);
        let with = |layer| {
            let provider = Arc::new(HttpProvider::new(endpoint.clone()).unwrap());
            Client::builder().provider("twin", provider).middleware(layer).build().unwrap()
        };
        let first = conversation(&with(Arc::new(Record::to(&path).unwrap())), wire).await;
        twin.close().await;
        let again = conversation(&with(Arc::new(Replay::from(&path).unwrap())), wire).await;
        assert_eq!(again, first, "{wire:?}");
    }
}
