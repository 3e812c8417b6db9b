//! A conversation that changes its provider or model half-way.

use junto_llm::{Effort, ForeignThinking, Message, Request, ToolResult, Wire};
use junto_twin::{Call, Play, Step, Think};
use serde_json::json;

use crate::support::{client, clock, endpoint, model, session, twin, weather};

/// A conversation with reasoning, parallel calls and an answer, as the wire's provider gave them.
async fn history(wire: Wire) -> Vec<Message> {
    let twin = twin(Play::of([
        Step {
            think: Think::Text("I need the weather and the time.".into()),
            ..Step::calls([
                Call::new("get_weather", json!({"city": "Rome"})),
                Call::new("get_time", json!({"zone": "CET"})),
            ])
        },
        Step::text("It is sunny at noon."),
    ]))
    .await;
    let client = client(endpoint(&twin, wire));
    let mut messages = vec![Message::system("Be brief."), Message::user("Weather and time?")];
    for _ in 0..2 {
        let request = Request { reasoning_effort: Some(Effort::High), ..Request::of(messages.clone()) };
        let request = request.model(model(wire)).tools([weather(), clock()]);
        let response = client.complete(request, &session()).await.unwrap();
        let results: Vec<ToolResult> =
            response.tool_calls().map(|c| ToolResult::text(&c.id, "fine")).collect();
        messages.push(response.message.clone());
        if !results.is_empty() {
            messages.push(Message::tool_results(results));
        }
    }
    assert_eq!(messages.len(), 5, "system, user, calls, results, answer");
    messages
}

/// Goes on with another provider, whose twin is as strict as ever: first with the finished turn,
/// then in the middle of the tool round.
async fn switch(from: Wire, to: Wire) {
    let history = history(from).await;
    let twin = twin(Play::text("Gladly.")).await;
    let client = client(endpoint(&twin, to));
    for cut in [5, 4] {
        let mut messages = history[..cut].to_vec();
        if cut == 5 {
            messages.push(Message::user("And tomorrow?"));
        }
        for foreign in [ForeignThinking::Drop, ForeignThinking::AsText] {
            let request = Request {
                foreign_thinking: foreign,
                reasoning_effort: Some(Effort::High),
                ..Request::of(messages.clone())
            }
            .model(model(to))
            .tools([weather(), clock()]);
            let response = client.complete(request, &session()).await;
            assert_eq!(response.unwrap_or_else(|e| panic!("{from:?} to {to:?}: {e}")).text(), "Gladly.");
            let body = twin.requests().last().unwrap().body.to_string();
            let kept = body.contains("I need the weather and the time.");
            assert_eq!(kept, foreign == ForeignThinking::AsText, "{from:?} to {to:?}, {foreign:?}: {body}");
        }
    }
}

macro_rules! switches {
    ($($name:ident $from:ident $to:ident)*) => {
        $(#[tokio::test]
        async fn $name() {
            switch(Wire::$from, Wire::$to).await;
        })*
    };
}

switches! {
    anthropic_to_openai Anthropic Responses
    anthropic_to_gemini Anthropic Gemini
    anthropic_to_chat Anthropic Chat
    openai_to_anthropic Responses Anthropic
    openai_to_gemini Responses Gemini
    openai_to_chat Responses Chat
    gemini_to_anthropic Gemini Anthropic
    gemini_to_openai Gemini Responses
    gemini_to_chat Gemini Chat
    chat_to_anthropic Chat Anthropic
    chat_to_openai Chat Responses
    chat_to_gemini Chat Gemini
}

/// Another model of the same provider does not get signatures that are not its own.
#[tokio::test]
async fn another_model_of_the_same_provider() {
    for (wire, other) in [
        (Wire::Anthropic, "claude-sonnet-5-5"),
        (Wire::Responses, "gpt-5.4"),
        (Wire::Gemini, "gemini-3.8-flash"),
    ] {
        let mut messages = history(wire).await;
        messages.push(Message::user("And tomorrow?"));
        let twin = twin(Play::text("Gladly.")).await;
        let request = Request { reasoning_effort: Some(Effort::High), ..Request::of(messages) };
        let response = client(endpoint(&twin, wire))
            .complete(request.model(other).tools([weather(), clock()]), &session())
            .await;
        assert_eq!(response.unwrap_or_else(|e| panic!("{wire:?}: {e}")).text(), "Gladly.");
    }
}

/// The twins do check: a conversation that goes back to its own origin with one byte of its
/// reasoning changed is refused.
#[tokio::test]
async fn a_changed_signature_is_refused() {
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Gemini] {
        let text = serde_json::to_string(&history(wire).await[..4]).unwrap();
        let signature = signature(&text);
        let changed = format!("{}{}", &signature[..signature.len() - 3], "AA=");
        let messages: Vec<Message> = serde_json::from_str(&text.replace(&signature, &changed)).unwrap();
        let twin = twin(Play::text("Gladly.")).await;
        let request = Request { reasoning_effort: Some(Effort::High), ..Request::of(messages) };
        let error = client(endpoint(&twin, wire))
            .complete(request.model(model(wire)).tools([weather(), clock()]), &session())
            .await
            .unwrap_err();
        assert_eq!(error.status(), Some(400), "{wire:?}: {error}");
    }
}

/// The first signature in a serialized conversation.
fn signature(text: &str) -> String {
    let at = ["\"signature\":\"", "\"thoughtSignature\":\""]
        .iter()
        .find_map(|key| text.find(key).map(|at| at + key.len()))
        .expect("a signature");
    text[at..].split('"').next().unwrap().to_owned()
}
