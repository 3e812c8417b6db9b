//! A real model on a server that is not ours: llama.cpp on three wires.

use futures_util::StreamExt;
use junto_llm::generate::{Generate, generate_object};
use junto_llm::http::Endpoint;
use junto_llm::{CallCx, Client, ErrorKind, Finish, Message, Request, StreamEvent, Wire};
use serde_json::json;

use crate::support::{client, peer};

const WIRES: [Wire; 3] = [Wire::Chat, Wire::Responses, Wire::Anthropic];

fn llama(wire: Wire) -> Client {
    let url = peer("JUNTO_PEER_LLAMA");
    let base = if wire == Wire::Anthropic { url } else { format!("{url}/v1") };
    client(Endpoint::new("llama", wire, base))
}

fn ask(prompt: &str) -> Request {
    Request::of([Message::system("You are a helpful assistant."), Message::user(prompt)])
        .model("smollm2")
        .max_tokens(24)
}

#[tokio::test]
async fn answers_whole_and_streamed_alike() {
    for wire in WIRES {
        let request = Request { temperature: Some(0.0), ..ask("Name three colours.") };
        let whole = llama(wire)
            .complete(request.clone(), &CallCx::new())
            .await
            .unwrap_or_else(|e| panic!("{wire:?}: {e}"));
        let events: Vec<_> = llama(wire).stream(request, &CallCx::new()).await.unwrap().collect().await;
        let deltas = events.iter().filter(|e| matches!(e, Ok(StreamEvent::TextDelta { .. }))).count();
        let Some(Ok(StreamEvent::Finish { response: Some(streamed), .. })) = events.last() else {
            panic!("{wire:?}: {:?}", events.last())
        };
        assert!(deltas > 3, "{wire:?}: {deltas} pieces");
        assert!(!whole.text().is_empty());
        assert_eq!(streamed.text(), whole.text(), "{wire:?}");
        for response in [&whole, &**streamed] {
            assert!(
                response.usage.input > 5 && (1..=24).contains(&response.usage.output),
                "{wire:?} {:?}",
                response.usage
            );
        }
    }
}

#[tokio::test]
async fn a_limit_is_told() {
    // On Responses this server says `completed` also when it stopped at the limit.
    for wire in [Wire::Chat, Wire::Anthropic] {
        let response =
            llama(wire).complete(ask("Count to one hundred.").max_tokens(4), &CallCx::new()).await.unwrap();
        assert_eq!(response.finish_reason.unified, Finish::Length, "{wire:?}");
        assert_eq!(response.usage.output, 4);
    }
}

#[tokio::test]
async fn a_conversation_goes_on() {
    for wire in WIRES {
        let mut request = ask("Say hello.");
        for turn in 0..3 {
            let response = llama(wire)
                .complete(request.clone(), &CallCx::new())
                .await
                .unwrap_or_else(|e| panic!("{wire:?} {turn}: {e}"));
            request.messages.push(response.message);
            request.messages.push(Message::user("And again."));
        }
    }
}

#[tokio::test]
async fn structured_output_fits_its_schema() {
    let schema = json!({
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["red", "green"]}, "size": {"type": "integer"}},
        "required": ["colour", "size"],
        "additionalProperties": false
    });
    let options = |wire| Generate::request(ask("Describe an apple.").max_tokens(60)).client(&llama(wire));
    let object = generate_object(options(Wire::Chat), "apple", schema.clone()).await.unwrap().object;
    assert!(object["size"].is_i64(), "{object}");
    // This server's Responses take the schema in a field of their own.
    let with_field = options(Wire::Responses).with(|request| {
        request.provider_options.insert("openai".into(), json!({"json_schema": schema.clone()}));
    });
    let object = generate_object(with_field, "apple", schema.clone()).await.unwrap().object;
    assert!(object["colour"].is_string(), "{object}");
}

#[tokio::test]
async fn cancelling_stops_the_server() {
    for wire in WIRES {
        let cx = CallCx::new();
        let mut events =
            llama(wire).stream(ask("Tell a very long story.").max_tokens(1000), &cx).await.unwrap();
        while !matches!(events.next().await.unwrap().unwrap(), StreamEvent::TextDelta { .. }) {}
        cx.cancel.cancel();
        let last = events.collect::<Vec<_>>().await.pop().unwrap();
        assert_eq!(last.unwrap_err().kind(), ErrorKind::Aborted);
    }
    // Generating all of it would take the server a while; it must notice at its next token that
    // nobody listens. Other tests use the server too, so this waits for one quiet moment.
    let url = format!("{}/slots", peer("JUNTO_PEER_LLAMA"));
    let quiet = async {
        loop {
            let text = reqwest::get(&url).await.unwrap().text().await.unwrap();
            let slots: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
            // A slot that works for us would be far beyond what any other test asks for.
            let ours = |slot: &&serde_json::Value| {
                slot["is_processing"] == true
                    && slot["next_token"][0]["n_decoded"].as_u64().unwrap_or(0) > 100
            };
            if slots.iter().find(ours).is_none() {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), quiet).await.expect("the server gave up");
}
