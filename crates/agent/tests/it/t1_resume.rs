//! Sessions that were cut off after any of their events go on as if they never had been, on every wire.

use std::sync::Arc;

use junto_agent::{Past, SessionConfig};
use junto_core::{Body, Change, EndReason, Event, Input};
use junto_llm::http::{Endpoint, HttpProvider};
use junto_llm::{Client, Provider, Wire};
use junto_twin::{Call, DEFAULT_KEY, Fault, Options, Play, Step, Twin};
use serde_json::json;

use crate::nursery::{told, with_children};
use crate::revival::{NUDGE, Next, PNG, Performance, Stage};
use crate::stand::{client, model, on_each_wire};

fn prop(name: &str, text: &str) -> Call {
    Call::new(name, json!({ "text": text }))
}

fn one(name: &str, text: &str) -> Step {
    Step::calls([prop(name, text)])
}

/// What a long session is made of: calls side by side, long output and larger than an event holds,
/// pictures, a refusal, steering, a child, a circle, a plan, a server that fails once.
fn steps() -> Vec<Step> {
    let again = || one("echo", "again");
    let overloaded = Some(Fault::status(503).times(1));
    vec![
        told("Look around", 0, Step::calls([prop("echo", "a"), prop("long", "4000"), prop("fail", "c")])),
        told("Look around", 1, one("look", "here")),
        told("Look around", 2, Step::calls([prop("danger", "small"), prop("danger", "great")])),
        told("Look around", 3, one("long", "60000")),
        told("Look around", 4, one("nudge", "me")),
        told(NUDGE, 0, Step::call("spawn_agent", json!({"task": "subtask", "wait": true}))),
        told("subtask", 0, one("echo", "child")),
        told("subtask", 1, Step::text("The child is done.")),
        told(NUDGE, 1, Step { text: Some("Once more.".into()), ..again() }),
        told(NUDGE, 2, again()),
        told(NUDGE, 3, again()),
        told("Loop detected", 0, Step { fault: overloaded, ..Step::text("That was it.") }),
        told("And now?", 0, one("mean", "to rest")),
        told("And now?", 1, Step::text("Nothing more.").without_thinking()),
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

/// The bodies of the session's own requests from this one on, without those that were tried again.
fn bodies(twin: &Twin, from: u64) -> Vec<String> {
    let own = twin.requests().into_iter().filter(|request| request.number > from);
    let mut bodies: Vec<String> = own.map(|request| request.body.to_string()).collect();
    bodies.retain(|body| body.contains("Look around"));
    bodies.dedup();
    bodies
}

fn last_number(twin: &Twin) -> u64 {
    twin.requests().last().map_or(0, |request| request.number)
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
        Next::None => assert_eq!(next, None, "{at}"),
        Next::Same(number) => {
            assert_eq!(next, Some(&whole.requests[number]), "{at}");
            assert_eq!(after.requests.len(), whole.requests.len() - number, "{at}");
            assert_eq!(after.ends(), whole.ends(), "{at}");
        }
        Next::Changed(request) => assert_eq!(next, Some(&*request), "{at}"),
    }
}

#[tokio::test]
async fn the_next_request_is_the_one_of_a_run_that_was_never_cut() {
    on_each_wire(async |wire| {
        let twin = Twin::start(Play::of(steps()), Options::default()).unwrap();
        let provider: Arc<dyn Provider> = client(&twin, wire, DEFAULT_KEY);
        let stage = stage(wire);
        let whole = stage.play(&provider).await;
        let answers: Vec<String> = whole.ends().into_iter().map(|(_, text)| text).collect();
        assert_eq!(answers, ["That was it.", "Nothing more."], "{wire:?}");
        assert!(whole.events.iter().any(|event| event.body.name() == "retry"), "{wire:?}");
        let sent = bodies(&twin, 0);
        assert_eq!(sent.len(), whole.requests.len());
        // A file that changes does not change what was said.
        std::fs::remove_file(stage.dir.path().join("cat.png")).unwrap();
        for cut in 1..=whole.events.len() {
            let past = &whole.events[..cut];
            let before = last_number(&twin);
            if !past.iter().any(|event| event.body.name() == "user_input") {
                std::fs::write(stage.dir.path().join("cat.png"), PNG).unwrap();
            }
            let after = stage.play_on(&provider, Past::new(past), &whole.journal).await;
            check(&whole, past, &after, &format!("{wire:?}"));
            if let Next::Same(number) = whole.next_request(past, &after) {
                assert_eq!(bodies(&twin, before).first(), sent.get(number), "{wire:?}: {cut}");
            }
            let _gone = std::fs::remove_file(stage.dir.path().join("cat.png"));
        }
        twin.close().await;
    })
    .await;
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
        for again in cut + 1..=once.events.len() {
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
            let before = last_number(&twin);
            let past = Past::new(&whole.events[..past]).change(change);
            let after = stage.play_on(&both, past, &whole.journal).await;
            assert_eq!(after.ends()[1], (EndReason::Done, "Nothing more.".into()), "{first:?} {second:?}");
            let sent: Vec<_> = twin.requests().into_iter().filter(|r| r.number > before).collect();
            assert!(sent.iter().all(|r| r.wire == second && r.status == 200), "{first:?} {second:?}");
            twin.close().await;
        }
    }
}
