//! What not every program can do, or has to be kept from, in a way of its own.

use junto_core::{Body, Event};
use junto_testkit::cast::Who;
use junto_twin::{After, Fault, Step};

use crate::real::stage::{Meanwhile, Scenario, Stage};

/// What is said while a command runs reaches the model after it, in the same turn.
async fn is_told_more_while_it_works(who: Who) {
    const MORE: &str = "And mind the gap at Ostend.";
    let stage = Stage::new(who);
    let pipe = stage.pipe();
    let waits = format!("read line < {}; echo done", pipe.display());
    // What was said has until the end of the second round to be read.
    let steps =
        [Step::calls([who.shell(&waits)]), Step::calls([who.shell("echo more")]), Step::text("Minded.")];
    let scenario = Scenario { meanwhile: Meanwhile::Steer(pipe, MORE), ..Scenario::new(steps) };
    let played = stage.play(scenario).await;
    played.answered(&["Minded."]).booked_as_told();
    assert_eq!((played.count("steering_injected"), played.count("tool_call_end")), (1, 2));
    assert_eq!(played.requests.len(), 3, "it is part of the turn, and no turn of its own");
    assert!(!played.requests[0].body.to_string().contains(MORE));
    assert!(played.last_request().contains(MORE));
}

#[tokio::test]
async fn native_is_told_more_while_it_works() {
    is_told_more_while_it_works(Who::Native).await;
}

#[tokio::test]
async fn claude_is_told_more_while_it_works() {
    is_told_more_while_it_works(Who::Claude).await;
}

/// It goes on from what it had thought when the connection broke.
#[tokio::test]
async fn codex_goes_on_after_an_answer_that_broke_off() {
    let text: Vec<String> = (0..400).map(|number| format!("Sheep number {number} jumps.")).collect();
    let fault = Fault { drop_after_bytes: Some(After(6000)), ..Fault::default() }.times(1);
    let step = Step { fault: Some(fault), ..Step::text(text.join(" ")) };
    let played = Stage::new(Who::Codex).play(Scenario::new([step])).await;
    played.answered(&[&text.join(" ")]);
    let answered: Vec<u16> = played.requests.iter().map(|request| request.status).collect();
    assert_eq!(answered, [200, 200]);
    assert!(played.last_request().contains("\"type\":\"reasoning\""), "{}", played.last_request());
}

/// Its output tells of whole runs only.
#[tokio::test]
async fn gemini_wrote_down_how_long_its_conversation_has_become() {
    let answer = |text: &str, input: u64| {
        let mut step = Step::text(text).without_thinking();
        (step.usage.input, step.usage.output) = (Some(input), Some(10));
        step
    };
    let looks = Step { usage: answer("", 1000).usage, ..Step::calls([Who::Gemini.shell("true")]) };
    let inputs = vec!["One".to_owned(), "Two".to_owned()];
    let steps = [answer("First.", 2000), looks, answer("Second.", 3000)];
    let played = Stage::new(Who::Gemini).play(Scenario { inputs, ..Scenario::new(steps) }).await;
    played.answered(&["First.", "Second."]);
    let contexts = played.events.iter().filter_map(|event| match &event.body {
        Body::RunEnd { context, .. } => Some(*context),
        _ => None,
    });
    assert_eq!(contexts.collect::<Vec<_>>(), [Some(2010), Some(3010)]);
}

/// This version repeats the results of tools when it goes on, which a server may refuse: then it begins anew.
#[tokio::test]
async fn gemini_begins_anew_where_it_cannot_go_on_after_tools() {
    let inputs = vec!["One".to_owned(), "Two".to_owned()];
    let steps = [Step::calls([Who::Gemini.shell("true")]), Step::text("First."), Step::text("Second.")];
    let played = Stage::new(Who::Gemini).play(Scenario { inputs, ..Scenario::new(steps) }).await;
    played.answered(&["First.", "Second."]).booked_as_told();
    let warned =
        |event: &&Event| matches!(&event.body, Body::Warning { code, .. } if code == "resume_failed");
    assert_eq!(played.events.iter().filter(warned).count(), 1, "{:?}", played.names());
    let sessions = played.sessions();
    assert_ne!(sessions.first(), sessions.last());
}
