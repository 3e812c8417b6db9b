//! What each mode makes of answers.

use junto_llm::{Message, ResponseFormat, ToolChoice};

use super::*;
use crate::{Manner, Mode, Report};

fn mode(mode: Mode) -> Options {
    Options { mode, ..all() }
}

fn said(text_: &str) -> Scripted {
    Scripted::answers(text(text_))
}

/// What the first request of somebody ends with.
fn last(scripted: &Scripted) -> String {
    scripted.requests.lock().unwrap()[0].0.messages.last().unwrap().text()
}

#[tokio::test]
async fn fusing_streams_what_is_written_from_those_who_survived() {
    let failing = Scripted::fails(error(ErrorKind::Server, "the failed one"));
    let table = table_with([said("one"), failing, said("two")], Some(said("both")), mode(Mode::Fuse));
    let mut events = table.council.stream(ask(), &CallCx::new()).await.unwrap();
    let mut heard = Vec::new();
    let mut whole = None;
    while let Some(event) = events.next().await {
        match event.unwrap() {
            StreamEvent::TextDelta { text, .. } => heard.push(text),
            StreamEvent::Finish { response, .. } => whole = response,
            _ => {}
        }
    }
    let whole = whole.unwrap();
    assert_eq!((heard.concat(), whole.text()), ("both".to_owned(), "both".to_owned()));
    assert_eq!((whole.provider.as_str(), tokens(&whole.usage)), ("council", (30, 15)));
    let judge = table.judge.unwrap();
    let asked = last(&judge);
    assert!(asked.ends_with(r#"{"answers":["one","two"]}"#), "{asked}");
    let (request, _) = judge.requests.lock().unwrap()[0].clone();
    assert_eq!((request.tool_choice, request.tools.len()), (Some(ToolChoice::None), 2));
}

#[tokio::test]
async fn nothing_is_fused_that_agrees_calls_or_must_have_a_form() {
    let agreed = table_with([said("x"), said("x")], Some(said("unasked")), mode(Mode::Fuse));
    assert_eq!(agreed.complete().await.unwrap().text(), "x");
    assert_eq!(agreed.judge.unwrap().asked(), 0);

    let members = [said("x"), Scripted::answers(call("f", "{}"))];
    let called = table_with(members, Some(judge(r#"{"index": 1}"#)), mode(Mode::Fuse));
    assert_eq!(called.complete().await.unwrap().message, call("f", "{}").message);

    let members = [said(r#"{"n":1}"#), said(r#"{"n":2}"#)];
    let formal = table_with(members, Some(judge(r#"{"index": 1}"#)), mode(Mode::Fuse));
    let request = Request { response_format: Some(ResponseFormat::JsonObject), ..ask() };
    let response = formal.council.complete(request, &CallCx::new()).await.unwrap();
    assert_eq!(response.text(), r#"{"n":2}"#);
}

#[tokio::test]
async fn a_synthesizer_that_fails_leaves_the_best_ranked() {
    for synthesizer in [
        Scripted::fails(error(ErrorKind::Server, "down")),
        said(" "),
        Scripted::answers(call("f", "{}")),
        Scripted::breaks(Usage::new(1, 0), Error::stream("cut")),
    ] {
        let table = table_with([said("one"), said("two"), said("two")], Some(synthesizer), mode(Mode::Fuse));
        let (lines, response) = table.narrated().await;
        let response = response.unwrap();
        assert_eq!(response.text(), "two", "two of three said so");
        assert!(response.warnings.iter().any(|w| w.code == "synthesis_failed"), "{:?}", response.warnings);
        assert!(lines.last().unwrap().ends_with("taking b, the best-ranked"), "{lines:?}");
    }
}

#[tokio::test]
async fn a_synthesizer_of_its_own_writes_instead_of_the_judge() {
    let table = table_with([said("one"), said("two")], Some(said("unasked")), mode(Mode::Fuse));
    let writer = Arc::new(said("written"));
    let council = table.council.clone().synthesizer(Member::new("writer", writer.clone()));
    assert_eq!(council.complete(ask(), &CallCx::new()).await.unwrap().text(), "written");
    assert_eq!((writer.asked(), table.judge.unwrap().asked()), (1, 0));
}

#[tokio::test]
async fn advisors_write_notes_and_the_first_acts_with_them_in_sight() {
    let members = [Scripted::answers(call("f", r#"{"n": 1}"#)), said("Mind the gap."), Scripted::hangs()];
    let table = table_with(members, None, Options { ask: 2, ..mode(Mode::Advise) });
    let response = table.complete().await.unwrap();
    assert_eq!(response.message, call("f", r#"{"n": 1}"#).message);
    assert_eq!(tokens(&response.usage), (20, 10));
    assert!(last(&table.members[0]).ends_with(r#"{"notes":["Mind the gap."]}"#));
    let (advised, _) = table.members[0].requests.lock().unwrap()[0].clone();
    let mut without_notes = advised;
    without_notes.messages.pop();
    assert_eq!(without_notes, ask(), "but for the notes it is the client's request");
    let (advisor, _) = table.members[1].requests.lock().unwrap()[0].clone();
    assert_eq!(
        (advisor.tool_choice, advisor.tools.len()),
        (Some(ToolChoice::None), 2),
        "it can call nothing"
    );
    assert_eq!(table.members[2].asked(), 0);
}

#[tokio::test]
async fn without_notes_the_actor_acts_alone_and_without_an_actor_the_next_does() {
    let failing = || Scripted::fails(error(ErrorKind::Server, "down"));
    let no_notes = table_with([said("x"), failing(), failing()], None, mode(Mode::Advise));
    let response = no_notes.complete().await.unwrap();
    assert_eq!((response.text().as_str(), response.warnings.len()), ("x", 2));
    assert_eq!(no_notes.members[0].requests.lock().unwrap()[0].0, ask());

    let no_actor = table_with([failing(), said("y"), said("z")], None, mode(Mode::Advise));
    let response = no_actor.complete().await.unwrap();
    assert_eq!((response.text().as_str(), response.warnings.len()), ("y", 1));
    assert_eq!(no_actor.members[1].asked(), 2, "once for a note and once to act");

    let nobody = table_with([failing(), failing()], None, mode(Mode::Advise));
    assert_eq!(nobody.complete().await.unwrap_err().kind(), ErrorKind::Server);
}

#[tokio::test]
async fn a_member_that_can_only_write_takes_part_by_actions() {
    let by_action = || said(r#"{"action":"call","calls":[{"name":"f","arguments":{"n":1}}]}"#);
    let native = Scripted::answers(call("f", r#"{ "n": 1 }"#));
    let table = table([by_action(), native], Some(judge("unasked")));
    let seats: Vec<Member> = (table.council.members().iter().cloned())
        .map(|m| if m.name == "a" { m.manner(Manner::Actions).framing("Be careful.") } else { m })
        .collect();
    let outcome = Arc::new(std::sync::Mutex::new(None));
    let told = outcome.clone();
    let report = Report::new(move |d| *told.lock().unwrap() = Some(d.outcome));
    let council = Council::new(seats, None, Options { report: Some(report), ..all() }).unwrap();
    let response = council.complete(ask(), &CallCx::new()).await.unwrap();
    let calls: Vec<_> = response.tool_calls().map(|c| (c.name.as_str(), c.arguments.clone())).collect();
    assert_eq!(calls, [("f", json!({"n": 1}))]);
    assert_eq!(*outcome.lock().unwrap(), Some(crate::Outcome::Agreed));
    let (sent, _) = table.members[0].requests.lock().unwrap()[0].clone();
    assert!(sent.tools.is_empty() && sent.messages[0].text().ends_with("Be careful."));
    assert!(sent.messages[1].text().contains(r#""parameters":{"type":"object""#));
}

#[tokio::test]
async fn what_one_member_writes_as_an_action_is_not_heard_raw() {
    let raw = r#"{"action":"call","calls":[{"name":"f","arguments":{"n":1}}]}"#;
    let seat = Member::new("cli", Arc::new(said(raw))).manner(Manner::Actions);
    let council = Council::new(vec![seat], None, Options::default()).unwrap();
    let events: Vec<_> = council.stream(ask(), &CallCx::new()).await.unwrap().collect().await;
    let is_text = |event: &Result<StreamEvent, Error>| matches!(event, Ok(StreamEvent::TextDelta { .. }));
    assert!(!events.iter().any(is_text), "{events:?}");
    assert!(events.iter().any(|event| matches!(event, Ok(StreamEvent::ToolCallEnd { .. }))));

    let plain = Council::new(
        vec![Member::new("cli", Arc::new(said("plain"))).manner(Manner::Actions)],
        None,
        Options::default(),
    );
    let request = Request::of([Message::user("?")]);
    assert_eq!(plain.unwrap().complete(request, &CallCx::new()).await.unwrap().text(), "plain");
}
