//! Sessions that were cut off after any of their events go on as if they never had been, on every wire.

use std::sync::Arc;

use junto_agent::{Past, SessionConfig};
use junto_core::{Body, Change, EndReason, Event, Input};
use junto_llm::http::{Endpoint, HttpProvider};
use junto_llm::{Client, Provider, Wire};
use junto_twin::{Call, DEFAULT_KEY, Fault, Options, Play, Step, Twin, When};
use serde_json::json;

use crate::nursery::{told, with_children};
use crate::revival::{NUDGE, Next, PNG, Performance, Stage, assert_same};
use crate::stand::{client, model};

fn prop(name: &str, text: &str) -> Call {
    Call::new(name, json!({ "text": text }))
}

fn one(name: &str, text: &str) -> Step {
    Step::calls([prop(name, text)])
}

/// What a long session is made of: calls side by side, some refused, output that is cut and output that is
/// larger than an event holds, a plan, a picture, steering, a child, a circle, a server that fails once.
fn steps() -> Vec<Step> {
    let wild = [("echo", "a"), ("long", "20"), ("fail", "c"), ("danger", "small"), ("danger", "great")];
    let after = |text: &str| When { after: Some(text.into()), ..When::default() };
    let circle = Step::calls([prop("echo", "again"), prop("echo", "again"), prop("echo", "again")]);
    let overloaded = Some(Fault::status(503).times(1));
    vec![
        told("Look around", 0, Step::calls(wild.map(|(name, text)| prop(name, text)))),
        told("Look around", 1, Step::calls([prop("long", "800"), prop("mean", "to rest")])),
        told("Look around", 2, Step { text: Some("A picture first.".into()), ..one("look", "here") }),
        // Where results have no pictures, they come as the last that was said.
        one("nudge", "me").when(after("a picture")),
        told(NUDGE, 0, Step::call("spawn_agent", json!({"task": "subtask", "wait": true}))),
        told("subtask", 0, one("echo", "child")),
        told("subtask", 1, Step::text("The child is done.")),
        told(NUDGE, 1, circle),
        told("Loop detected", 0, Step { fault: overloaded, ..Step::text("That was it.") }),
        told("And now?", 0, Step::text("Nothing more.").without_thinking()),
        Step::text("I have lost the thread."),
    ]
}

fn stage(wire: Wire) -> Stage {
    let picture = Input { images: vec!["cat.png".into()], ..Input::text("Look around") };
    let stage = Stage::new([picture, Input::text("And now?")], move |config| {
        with_children(SessionConfig { model: Some(model(wire).1.into()), ..config })
    });
    std::fs::write(stage.dir.path().join("cat.png"), PNG).unwrap();
    stage
}

/// The bodies of the session's own requests after this one, without those that were tried again; and the
/// number of the last.
fn bodies(twin: &Twin, after: u64) -> (Vec<String>, u64) {
    let requests = twin.requests();
    let new = requests.iter().filter(|request| request.number > after);
    let mut bodies: Vec<String> = new.map(|request| request.body.to_string()).collect();
    bodies.retain(|body| body.contains("Look around"));
    bodies.dedup();
    (bodies, requests.last().map_or(0, |request| request.number))
}

/// What a session that was brought back must have done.
fn check(whole: &Performance, past: &[Event], after: &Performance, wire: &str) {
    let at = format!("{wire}, cut after event {}: {:?}", past.len(), past.last().map(|e| e.body.name()));
    let begun = |event: &&Event| matches!(event.body, Body::ToolCallStart { .. } | Body::ToolCallEnd { .. });
    for event in past.iter().filter(begun) {
        let id = match &event.body {
            Body::ToolCallStart { call, .. } => &call.id,
            Body::ToolCallEnd { call_id, .. } => call_id,
            _ => unreachable!(),
        };
        assert!(!after.runs.contains(id), "{at}: {id} runs twice");
    }
    let next = after.requests.first();
    match whole.next_request(past, after) {
        Next::None => assert_same(next, None, &at),
        Next::Same(number) => {
            assert_same(next, Some(&whole.requests[number]), &at);
            assert_eq!(after.requests.len(), whole.requests.len() - number, "{at}");
            assert_eq!(after.ends(), whole.ends(), "{at}");
        }
        Next::Changed(request) => assert_same(next, Some(&*request), &at),
    }
}

/// Plays a session, and plays it on from every one of its events: the next request has the bytes of the run
/// that was never cut.
async fn cut_everywhere(wire: Wire) {
    let twin = Twin::start(Play::of(steps()), Options::default()).unwrap();
    let provider: Arc<dyn Provider> = client(&twin, wire, DEFAULT_KEY);
    let stage = stage(wire);
    let picture = stage.dir.path().join("cat.png");
    let whole = stage.play(&provider).await;
    let answers: Vec<String> = whole.ends().into_iter().map(|(_, text)| text).collect();
    assert_eq!(answers, ["That was it.", "Nothing more."], "{wire:?}");
    assert!(whole.events.iter().any(|event| event.body.name() == "retry"), "{wire:?}");
    let (sent, mut last) = bodies(&twin, 0);
    assert_eq!(sent.len(), whole.requests.len());
    for cut in 1..=whole.events.len() {
        let past = &whole.events[..cut];
        // A file that is gone does not change what was said.
        if past.iter().any(|event| event.body.name() == "user_input") && picture.exists() {
            std::fs::remove_file(&picture).unwrap();
        }
        let after = stage.play_on(&provider, Past::new(past), &whole.journal).await;
        check(&whole, past, &after, &format!("{wire:?}"));
        let (sent_now, now) = bodies(&twin, last);
        last = now;
        if let Next::Same(number) = whole.next_request(past, &after) {
            assert_eq!(sent_now.first(), sent.get(number), "{wire:?}: {cut}");
        }
    }
    twin.close().await;
}

#[tokio::test]
async fn the_next_request_is_that_of_a_run_that_was_never_cut_on_anthropic() {
    cut_everywhere(Wire::Anthropic).await;
}

#[tokio::test]
async fn the_next_request_is_that_of_a_run_that_was_never_cut_on_responses() {
    cut_everywhere(Wire::Responses).await;
}

#[tokio::test]
async fn the_next_request_is_that_of_a_run_that_was_never_cut_on_gemini() {
    cut_everywhere(Wire::Gemini).await;
}

#[tokio::test]
async fn the_next_request_is_that_of_a_run_that_was_never_cut_on_chat() {
    cut_everywhere(Wire::Chat).await;
}

/// A session that was cut off twice is brought back twice: while calls run side by side, and while a child
/// works.
#[tokio::test]
async fn a_session_that_was_brought_back_is_brought_back_again() {
    let wire = Wire::Anthropic;
    let twin = Twin::start(Play::of(steps()), Options::default()).unwrap();
    let provider: Arc<dyn Provider> = client(&twin, wire, DEFAULT_KEY);
    let stage = stage(wire);
    let whole = stage.play(&provider).await;
    let runs = |event: &Event, text: &str| matches!(&event.body, Body::ToolCallStart { call, .. } if call.arguments["text"] == text);
    for text in ["a", "child"] {
        let cut = whole.events.iter().position(|event| runs(event, text)).unwrap() + 1;
        let once = stage.play_on(&provider, Past::new(&whole.events[..cut]), &whole.journal).await;
        let own = |event: &Event| event.agent == once.root && event.body.name() == "call";
        let next = once.events.iter().skip(cut).position(own).unwrap();
        for again in cut + 1..=cut + next + 1 {
            let past = &once.events[..again];
            let twice = stage.play_on(&provider, Past::new(past), &once.journal).await;
            check(&once, past, &twice, "twice");
        }
    }
    twin.close().await;
}

/// Another provider takes the conversation over: nothing that only the first one understands reaches it.
#[tokio::test]
async fn another_provider_takes_the_conversation_over() {
    for first in Wire::ALL {
        for second in Wire::ALL.into_iter().filter(|second| *second != first) {
            let twin = Twin::start(Play::of(steps()), Options::default()).unwrap();
            let mut both = Client::builder();
            for wire in [first, second] {
                let endpoint = Endpoint::new(model(wire).0, wire, twin.base_url(wire)).key(DEFAULT_KEY);
                both = both.provider(model(wire).0, Arc::new(HttpProvider::new(endpoint).unwrap()));
            }
            let both: Arc<dyn Provider> = Arc::new(both.build().unwrap());
            let stage = stage(first);
            let whole = stage.play(&both).await;
            let past = whole.events.iter().position(|e| e.body.name() == "input_end").unwrap() + 1;
            let (provider, model) = model(second);
            let change =
                Change { provider: Some(provider.into()), model: Some(model.into()), ..Change::default() };
            let (_, before) = bodies(&twin, 0);
            let past = Past::new(&whole.events[..past]).change(change);
            let after = stage.play_on(&both, past, &whole.journal).await;
            assert_eq!(after.ends()[1], (EndReason::Done, "Nothing more.".into()), "{first:?} {second:?}");
            let sent: Vec<_> = twin.requests().into_iter().filter(|r| r.number > before).collect();
            assert!(sent.iter().all(|r| r.wire == second && r.status == 200), "{first:?} {second:?}");
            twin.close().await;
        }
    }
}
