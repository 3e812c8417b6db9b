//! What every client plays, and what it must be left with: the same on its own wire and on any other.

use std::path::Path;

use junto_llm::{Chore, Traffic, Wire};
use junto_testkit::cast::Who;
use junto_twin::{Call, Fault, RetryAfter, Step};
use serde_json::{Value, json};

use super::desk::Desk;

const ANSWER: &str = "All of it is done.";

/// Three rounds that change files, with words before a call and two calls side by side.
pub(crate) async fn works(who: Who, upstream: Wire) {
    let desk = Desk::open(who, upstream, |work: &Path| {
        vec![
            Step {
                text: Some("I begin with the file.".to_owned()),
                ..Step::calls([who.write(work, "made.txt", "one\n")])
            },
            Step::calls([who.shell("echo two >> made.txt; cat made.txt")]),
            Step::calls([who.shell("echo l > left.txt; cat left.txt"), who.shell("echo r > right.txt")]),
            Step::text(ANSWER),
        ]
    })
    .await;
    let said = desk.tell("Make the files, please.").await;
    assert_eq!(said.answer, ANSWER, "{:#?}", said.lines);
    assert_eq!(desk.read("made.txt").as_deref(), Some("one\ntwo\n"), "{:#?}", said.lines);
    assert_eq!(desk.read("left.txt").as_deref(), Some("l\n"));
    assert_eq!(desk.read("right.txt").as_deref(), Some("r\n"));
    let told = desk.twin.usage_told();
    assert_eq!(said.tokens, (told.input, told.output), "what the client counts is what the model said");
    if who == Who::Claude {
        let pieces = pieces(&said.lines);
        assert_eq!(pieces.concat(), format!("I begin with the file.{ANSWER}"));
        assert!(pieces.len() > 2, "the answer comes in pieces: {pieces:?}");
    }
    let done = desk.close().await.asked(4);
    assert!(done.last().contains("one\\ntwo"), "the model saw what the command printed");
    let traffic: Vec<_> = done.reports.iter().map(|report| report.traffic.clone()).collect();
    let rounds = [Traffic::Ask, Traffic::Continuation, Traffic::Continuation, Traffic::Continuation];
    assert_eq!(traffic, rounds);
    let sessions: Vec<_> = done.reports.iter().map(|report| &report.session).collect();
    assert!(sessions.iter().all(|session| *session == sessions[0]), "{sessions:?}");
}

/// The text of a streamed answer, piece by piece.
fn pieces(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter_map(|line| line["event"]["delta"]["text"].as_str()).collect()
}

/// Two runs are one conversation, reasoning and calls of the first included.
pub(crate) async fn resumes(who: Who, upstream: Wire) {
    // When it goes on, this client sends the result of every call twice, which its own wire does not take.
    let stumbles = who == Who::Gemini && upstream == Wire::Gemini;
    let looks = (!stumbles).then(|| Step::calls([who.shell("echo looked")]));
    let steps: Vec<Step> =
        looks.into_iter().chain([Step::text("Noted."), Step::text("It is 4711.")]).collect();
    let (asked, calls) = (steps.len(), steps.len() - 2);
    let desk = Desk::open(who, upstream, |_| steps).await;
    let first = desk.tell("My number is 4711.").await;
    assert_eq!(first.answer, "Noted.");
    let second = desk.go_on(&first.session, "Which is it?").await;
    assert_eq!(second.answer, "It is 4711.");
    assert_eq!(second.session, first.session);
    let last = desk.close().await.asked(asked).last();
    for said in ["My number is 4711.", "Noted.", "Which is it?"] {
        assert!(last.contains(said), "{said} is forgotten");
    }
    assert_eq!(last.matches("echo looked").count(), calls, "a call is forgotten, or told twice");
}

/// A model that is busy is asked again, and the client's user sees the answer and nothing else.
pub(crate) async fn waits(who: Who, upstream: Wire) {
    let busy = Fault { retry_after: Some(RetryAfter::Seconds(1)), ..Fault::status(429).times(1) };
    let desk = Desk::open(who, upstream, |_| vec![Step { fault: Some(busy), ..Step::text(ANSWER) }]).await;
    assert_eq!(desk.tell("Are you busy?").await.answer, ANSWER);
    let statuses: Vec<u16> = desk.close().await.requests.iter().map(|request| request.status).collect();
    assert_eq!(statuses, [429, 200]);
}

/// An agent of the client's own has a conversation of its own.
pub(crate) async fn delegates(who: Who, upstream: Wire) {
    let agent = json!({
        "description": "Counts to three", "prompt": "Count to three, loudly.", "subagent_type": "general-purpose",
        "run_in_background": false,
    });
    let desk = Desk::open(who, upstream, |_| {
        vec![
            Step::calls([Call::new("Agent", agent)]),
            Step::calls([who.shell("echo one two three > counted.txt")]),
            Step::text("ONE TWO THREE"),
            Step::text(ANSWER),
        ]
    })
    .await;
    let said = desk.tell("Let somebody count.").await;
    assert_eq!(said.answer, ANSWER, "{:#?}", said.lines);
    assert_eq!(desk.read("counted.txt").as_deref(), Some("one two three\n"));
    let done = desk.close().await.asked(4);
    assert!(done.last().contains("ONE TWO THREE") && done.last().contains("Let somebody count."));
    let agent = done.requests[1].body.to_string();
    assert!(agent.contains("Count to three, loudly.") && !agent.contains("Let somebody count."));
    let session = |at: usize| done.reports[at].session.clone().expect("the client names its sessions");
    assert_eq!((session(0), session(1)), (session(3), session(2)));
    assert_ne!(session(0), session(1), "an agent's conversation is its own");
}

/// After a compaction the model has the summary, and not what was summed up.
pub(crate) async fn compacts(who: Who, upstream: Wire) {
    let desk = Desk::open(who, upstream, |_| {
        vec![
            Step::text("An answer that is long forgotten."),
            Step::text("<analysis>It was short.</analysis>\n<summary>The number is 4711.</summary>"),
            Step::text(ANSWER),
        ]
    })
    .await;
    let session = desk.tell("Remember 4711.").await.session;
    desk.go_on(&session, "/compact").await;
    assert_eq!(desk.go_on(&session, "Where were we?").await.answer, ANSWER);
    let done = desk.close().await.asked(3);
    assert_eq!(done.reports[1].traffic, Traffic::Background(Chore::Compaction));
    let asked = done.last();
    assert!(asked.contains("The number is 4711."), "the summary is there");
    assert!(!asked.contains("long forgotten"), "what it sums up is not");
}

/// Fifty rounds of tools; what the model has read before it reads from its cache.
pub(crate) async fn works_for_long(who: Who, upstream: Wire) {
    const ROUNDS: usize = 50;
    let desk = Desk::open(who, upstream, |_| {
        let round = |number: usize| Step::calls([who.shell(&format!("echo round {number} >> rounds.txt"))]);
        (0..ROUNDS).map(round).chain([Step::text(ANSWER)]).collect()
    })
    .await;
    let said = desk.tell("Fifty rounds, please.").await;
    assert_eq!(said.answer, ANSWER);
    assert_eq!(desk.read("rounds.txt").map(|text| text.lines().count()), Some(ROUNDS));
    let told = desk.twin.usage_told();
    let cached = told.cache_read.unwrap_or(0);
    assert!(cached * 5 > told.input * 4, "{cached} of {} tokens came from the cache", told.input);
    desk.close().await.asked(ROUNDS + 1);
}
