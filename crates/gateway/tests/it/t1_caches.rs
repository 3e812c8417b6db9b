//! A long session of tool calls, by every client on every provider: the provider reads most of each request
//! from its cache, and gets its own reasoning back as it gave it.

use junto_llm::{Effort, Message, Request, ToolResult, Wire};
use junto_twin::{Call, Play, Step, Think, Twin};
use serde_json::{Value, json};

use crate::support::{Stand, Way, asked, model, passing, translated, weather};

/// How many rounds a session has, and from which on the cache must be warm.
const ROUNDS: usize = 50;
const WARM: usize = 5;

/// A model that thinks and calls, for ever.
fn play() -> Play {
    let think = Think::Text("There is always more weather to look at before an answer can be given.".into());
    Play::of([Step { think, ..Step::calls([Call::new("get_weather", json!({"city": "Ghent"}))]) }])
}

/// The twin, and what it said of each request's input: how much it was, and how much of it was in the cache.
async fn session(s: Stand, surface: Wire, model: &str) -> (Twin, Vec<(u64, u64)>) {
    let client = s.house.client(surface);
    let rules = (0..200)
        .fold(String::new(), |rules, n| rules + &format!("Rule {n}: look twice before you answer.\n"));
    let mut messages = vec![Message::system(rules), Message::user("How is the weather, from now on?")];
    for round in 0..ROUNDS {
        let request = Request { reasoning_effort: Some(Effort::High), ..Request::of(messages.clone()) };
        let way = Way::BOTH[round % 2];
        let answer = way.ask(&client, request.model(model).tools([weather()])).await;
        let answer = answer.unwrap_or_else(|e| panic!("{surface:?}, round {round}: {e}"));
        let report = (0..20)
            .fold(String::new(), |report, hour| report + &format!("{round}-{hour}:00 rain, {hour} mm\n"));
        let results = answer.tool_calls().map(|call| ToolResult::text(&call.id, report.as_str()));
        let results: Vec<ToolResult> = results.collect();
        assert_eq!(results.len(), 1, "{surface:?}, round {round}: {answer:?}");
        messages.extend([answer.message, Message::tool_results(results)]);
        if round % 10 == 9 {
            messages.push(Message::user("Go on, please."));
        }
    }
    // A call by bytes is in the books a moment after its answer.
    s.house.close().await;
    let told = s.reports.all().into_iter().map(|report| report.usage);
    (s.twin, told.map(|usage| (usage.input, usage.cache_read.unwrap_or(0))).collect())
}

/// How many pieces of reasoning the provider got back with its own signature.
fn signed(wire: Wire, body: &Value) -> usize {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    match wire {
        Wire::Anthropic => list(&body["messages"])
            .iter()
            .flat_map(|message| list(&message["content"]))
            .filter(|block| block["type"] == "thinking" && block["signature"].is_string())
            .count(),
        Wire::Responses => {
            list(&body["input"]).iter().filter(|item| item["encrypted_content"].is_string()).count()
        }
        Wire::Gemini => list(&body["contents"])
            .iter()
            .flat_map(|content| list(&content["parts"]))
            .filter(|part| part.get("functionCall").is_some())
            .filter(|part| part["thoughtSignature"].as_str().is_some_and(|s| !s.starts_with("skip_")))
            .count(),
        Wire::Chat => 0,
    }
}

async fn check(surface: Wire, wire: Wire) {
    let s = if surface == wire { passing(wire, play()).await } else { translated(wire, play()).await };
    let asks_for = if surface == wire { model(wire) } else { asked(surface) };
    let (twin, calls) = session(s, surface, asks_for).await;
    assert_eq!(calls.len(), ROUNDS);
    let share = |(input, read): &(u64, u64)| read * 100 / input;
    let least = calls[WARM..].iter().map(share).min().unwrap();
    let (input, read) = calls.iter().fold((0, 0), |sum, call| (sum.0 + call.0, sum.1 + call.1));
    let requests = twin.requests();
    let kept = signed(wire, &requests[ROUNDS - 1].body);
    println!(
        "{surface:?} on {wire:?}: {}% of all input, {least}% at least; {kept} signatures",
        read * 100 / input
    );
    assert!(least > 80 && read * 100 / input > 80, "{surface:?} on {wire:?}: {calls:?}");
    // Providers of Chat Completions sign nothing.
    let expected = if wire == Wire::Chat { 0 } else { ROUNDS - 1 };
    assert_eq!(kept, expected, "{surface:?} on {wire:?}");
}

macro_rules! pairs {
    ($($name:ident $surface:ident $($wire:ident)*;)*) => {
        $(#[tokio::test]
        async fn $name() {
            $(check(Wire::$surface, Wire::$wire).await;)*
        })*
    };
}

pairs! {
    by_bytes_on_anthropic Anthropic Anthropic;
    by_bytes_on_responses Responses Responses;
    by_bytes_on_gemini Gemini Gemini;
    by_bytes_on_chat Chat Chat;
    anthropic_across Anthropic Responses Gemini Chat;
    responses_across Responses Anthropic Gemini Chat;
    gemini_across Gemini Anthropic Responses Chat;
    chat_across Chat Anthropic Responses Gemini;
}

/// What the others measure can be lost: by a client that changes what comes first.
#[tokio::test]
async fn a_prefix_that_changes_is_read_anew() {
    let s = translated(Wire::Responses, play()).await;
    let client = s.house.client(Wire::Anthropic);
    for round in 0..3 {
        let rules = format!("It is {round} o'clock. {}", "Look twice. ".repeat(1000));
        let request = Request::of([Message::system(rules), Message::user("Weather?")]);
        let request = request.model(asked(Wire::Anthropic)).tools([weather()]);
        Way::Whole.ask(&client, request).await.unwrap();
    }
    let read: Vec<u64> = s.reports.all().iter().map(|report| report.usage.cache_read.unwrap_or(0)).collect();
    assert_eq!(read, [0, 0, 0]);
}
