//! 9.10: everything that happens is told.

use std::collections::BTreeSet;

use junto_agent::SessionConfig;
use junto_core::{Agent, Command, Delta, EndReason, Item, Limits, Seq, Subscription, When};
use junto_twin::{Fault, Step};

use super::model::{on_each_profile, shell, stand, stand_with, waits};
use crate::scene::let_go;

/// What stands in the specification, in its order; the ends of inputs beside.
const KINDS: [&str; 13] = [
    "session_start",
    "session_end",
    "user_input",
    "assistant_text_start",
    "assistant_text_delta",
    "assistant_text_end",
    "tool_call_start",
    "tool_call_output_delta",
    "tool_call_end",
    "steering_injected",
    "turn_limit",
    "loop_detection",
    "error",
];

/// The kinds of deltas that come before the session ends.
async fn deltas(mut reader: Subscription) -> BTreeSet<&'static str> {
    let mut seen = BTreeSet::new();
    loop {
        match reader.next().await.unwrap() {
            Item::Delta(Delta::AssistantTextDelta { .. }) => seen.insert("assistant_text_delta"),
            Item::Delta(Delta::ToolCallOutputDelta { .. }) => seen.insert("tool_call_output_delta"),
            Item::Event(event) if event.body.name() == "session_end" => return seen,
            Item::Delta(Delta::ReasoningDelta { .. }) | Item::Event(_) => false,
        };
    }
}

#[tokio::test]
async fn dod_every_kind_of_event() {
    on_each_profile(async |family| {
        let steps = vec![
            waits(),
            Step::text("Fine."),
            Step { times: Some(10), ..Step::calls([shell("echo the same")]) },
            Step::text("Enough."),
            Step::fault(Fault::status(400).times(1)),
            Step::calls([shell("echo one")]),
        ];
        let limits = Limits { max_tool_rounds: 11, max_turns: 32 };
        let mut stand = stand_with(family, steps, |config| SessionConfig { limits, ..config }).await;
        // Deltas are there for whoever listens while it happens.
        let live = tokio::spawn(deltas(stand.scene.session.log().subscribe(Seq::START)));
        stand.scene.submit("1").await;
        stand.scene.command_says("up").await;
        stand.scene.steer("And?", When::Round).await;
        let_go(stand.scene.path("go")).await;
        assert_eq!(stand.scene.input_end().await.0, EndReason::Done, "{family:?}");
        assert_eq!(stand.scene.ask("2").await, (EndReason::Done, "Enough.".into()), "{family:?}");
        assert!(matches!(stand.scene.ask("3").await.0, EndReason::Failed { .. }), "{family:?}");
        assert_eq!(stand.scene.ask("4").await.0, EndReason::Limit, "{family:?}");
        let record = stand.end(&[]).await;
        let mut seen: BTreeSet<&str> = record.events.iter().map(|event| event.body.name()).collect();
        seen.extend(live.await.unwrap());
        for kind in KINDS {
            assert!(seen.contains(kind), "{family:?}: {kind} in {seen:?}");
        }
        // That they come at the right times is the grammar's, which every scene is held to at its end.
    })
    .await;
}

#[tokio::test]
async fn dod_events_are_read_as_they_come_and_again() {
    on_each_profile(async |family| {
        let mut stand = stand(family, [waits(), Step::text("Done.")]).await;
        let mut live = stand.scene.session.log().subscribe(Seq::START);
        stand.scene.submit("Work").await;
        // The event is there while the command still waits for the line that is written below.
        let started = loop {
            if let Item::Event(event) = live.next().await.unwrap()
                && event.body.name() == "tool_call_start"
            {
                break event;
            }
        };
        stand.scene.command_says("up").await;
        let_go(stand.scene.path("go")).await;
        assert_eq!(stand.scene.input_end().await.0, EndReason::Done, "{family:?}");
        let mut late = stand.scene.session.log().subscribe(started.seq);
        assert!(matches!(late.next().await.unwrap(), Item::Event(event) if event.seq == started.seq));
        let record = stand.end(&[]).await;
        let positions: Vec<Seq> = record.events.iter().map(|event| event.seq).collect();
        assert!(positions.is_sorted_by(|a, b| a < b), "{family:?}: {positions:?}");
    })
    .await;
}

#[tokio::test]
async fn dod_a_calls_end_has_its_whole_output() {
    on_each_profile(async |family| {
        let steps = [Step::calls([shell("seq 50000; seq 50000 >&2; exit 1")]), Step::text("Long.")];
        let mut stand = stand(family, steps).await;
        assert_eq!(stand.scene.ask("Run").await.0, EndReason::Done, "{family:?}");
        let [(_, whole, true)] = &stand.end(&[]).await.tool_ends()[..] else { panic!("one that failed") };
        let lines = whole.lines().filter(|line| line.parse::<u32>().is_ok()).count();
        assert_eq!(lines, 100_000, "{family:?}");
    })
    .await;
}

#[tokio::test]
async fn dod_a_session_begins_and_ends_once() {
    on_each_profile(async |family| {
        let mut stand = stand(family, [Step::text("One."), Step::text("Two.")]).await;
        stand.scene.ask("1").await;
        stand.scene.ask("2").await;
        stand.scene.session.send(Command::Abort).await.unwrap();
        stand.scene.event("session_end").await;
        let names = stand.end(&[]).await.names();
        assert_eq!((names[0], names[names.len() - 1]), ("session_start", "session_end"), "{family:?}");
        let count = |kind: &str| names.iter().filter(|name| **name == kind).count();
        let counts = ["session_start", "input_end", "session_end"].map(count);
        assert_eq!(counts, [1, 2, 1], "{family:?}");
    })
    .await;
}
