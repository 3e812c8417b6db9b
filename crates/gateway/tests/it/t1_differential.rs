//! The same play twice: straight from the twin of the client's wire, and through the gateway from the twin of
//! any wire. A client must not be able to tell. (`t2_differential` asks the vendors' SDKs the same.)

use std::sync::Arc;

use junto_llm::{
    Client, Effort, Endpoint, Finish, HttpProvider, Message, Request, Response, ToolResult, Wire,
};
use junto_twin::{Call, Options, Play, Step, Stop, Think, Twin};
use serde_json::{Value, json};

use crate::support::{Way, asked, clock, model, passing, translated, weather};

fn play() -> Play {
    let think = |text: &str| Think::Text(text.into());
    let calls =
        [Call::new("get_weather", json!({"city": "Ghent"})), Call::new("get_time", json!({"zone": "CET"}))];
    Play::of([
        Step { think: think("Both, then."), text: Some("Let me look.".into()), ..Step::calls(calls) },
        Step { think: think("Once more."), ..Step::call("get_weather", json!({"city": "Bruges, wärmer"})) },
        Step { think: think("Enough."), ..Step::text("It says: {{last_result}}") },
        Step::object(json!({"unasked": true})).without_thinking(),
        Step { finish: Some(Stop::Length), ..Step::text("As long as it g") }.without_thinking(),
    ])
}

/// What a client sees of an answer.
#[derive(Debug, PartialEq)]
struct Seen {
    reasoning: String,
    text: String,
    calls: Vec<(String, Value)>,
    finish: Finish,
    model: String,
    /// Where both sides count the same bytes.
    tokens: Option<(u64, u64)>,
}

fn seen(answer: &Response, counts: bool) -> Seen {
    Seen {
        reasoning: answer.reasoning(),
        text: answer.text(),
        calls: answer.tool_calls().map(|call| (call.name.clone(), call.arguments.clone())).collect(),
        finish: answer.finish_reason.unified,
        model: answer.model.clone(),
        tokens: counts.then_some((answer.usage.input, answer.usage.output)),
    }
}

/// The conversation, in which everything goes back as it came.
async fn converse(client: &Client, model: &str, way: Way, counts: bool) -> Vec<Seen> {
    let mut messages = vec![Message::system("Be brief."), Message::user("Weather and time?")];
    let mut answers = Vec::new();
    for _ in 0..5 {
        let request = Request { reasoning_effort: Some(Effort::High), ..Request::of(messages.clone()) };
        let answer = way.ask(client, request.model(model).tools([weather(), clock()])).await.unwrap();
        let results: Vec<ToolResult> =
            answer.tool_calls().map(|call| ToolResult::text(&call.id, "fine")).collect();
        answers.push(seen(&answer, counts));
        messages.push(answer.message);
        let next =
            if results.is_empty() { Message::user("And now?") } else { Message::tool_results(results) };
        messages.push(next);
    }
    answers
}

async fn compare(surface: Wire, wire: Wire) {
    let is_same = surface == wire;
    let named = if is_same { model(surface) } else { asked(surface) };
    for way in Way::BOTH {
        let twin = Twin::start(play(), Options::default()).unwrap();
        let endpoint = Endpoint::new("gateway", surface, twin.base_url(surface)).key(twin.key());
        let provider = HttpProvider::new(endpoint).unwrap();
        let client = Client::builder().provider("gateway", Arc::new(provider)).build().unwrap();
        let straight = converse(&client, named, way, is_same).await;
        let s = if is_same { passing(wire, play()).await } else { translated(wire, play()).await };
        let through = converse(&s.house.client(surface), named, way, is_same).await;
        assert_eq!(through, straight, "{surface:?} on {wire:?}, {way:?}");
    }
}

macro_rules! surfaces {
    ($($name:ident $surface:ident)*) => {
        $(#[tokio::test]
        async fn $name() {
            for wire in Wire::ALL {
                compare(Wire::$surface, wire).await;
            }
        })*
    };
}

surfaces! {
    on_anthropics_wire Anthropic
    on_responses Responses
    on_geminis_wire Gemini
    on_chat_completions Chat
}
