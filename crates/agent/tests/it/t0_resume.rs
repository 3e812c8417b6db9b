//! Sessions brought back: how inputs end that had no end, what a host can say about it, and what is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use junto_agent::{OnOpen, Past, Session, SessionConfig};
use junto_core::{
    Agent, AgentErrorKind, AgentId, Body, Change, Command, CutOff, EndReason, Event, EventLog, Input, Item,
    Journal, Limits, MemoryJournal, Payload, Seq, SessionState, grammar,
};
use junto_env::{ExecutionEnvironment, LocalEnvironment};
use junto_llm::{
    Allowance, CallCx, Content, Effort, Error, ErrorKind, EventStream, Fut, Message, Part, Provider, Request,
    Response, Role, SessionId, Spending, Thinking, Usage,
};
use serde_json::{Value, json};

use crate::revival::{CUT_OFF, Cut, Next, Performance, Stage, answers};
use crate::script::{Line, Script, script, script_from};

fn call(name: &'static str, text: &str) -> (&'static str, Value) {
    (name, json!({ "text": text }))
}

fn own<'a>(events: &'a [Event], root: &'a AgentId) -> impl Iterator<Item = &'a Event> {
    events.iter().filter(move |event| event.agent == *root)
}

/// The events up to the first like this, which is the last of them.
fn up_to(events: &[Event], is: impl Fn(&Body) -> bool) -> Vec<Event> {
    let end = events.iter().position(|event| is(&event.body)).expect("such an event");
    events[..=end].to_vec()
}

fn named(name: &'static str) -> impl Fn(&Body) -> bool {
    move |body| body.name() == name
}

/// Plays the rest of these lines after a past.
async fn go_on(stage: &Stage, whole: &Performance, past: Past, lines: Vec<Line>) -> Performance {
    let script: Arc<dyn Provider> = script_from(answers(past.events(), &whole.root), lines);
    stage.play_on(&script, past, &whole.journal).await
}

/// Plays a session, cuts it off after each of its events and brings it back with the rest of its lines: from
/// then on it asks exactly what it asked before, and its inputs end as they did.
pub(crate) async fn check_every_cut(stage: &Stage, lines: impl Fn() -> Vec<Line>) -> Performance {
    let model: Arc<dyn Provider> = script(lines());
    let whole = stage.play(&model).await;
    for cut in 1..=whole.events.len() {
        let past = &whole.events[..cut];
        let after = go_on(stage, &whole, Past::new(past), lines()).await;
        let at = format!("cut after event {cut}: {:?}", past[cut - 1].body.name());
        match whole.next_request(past, &after) {
            Next::None => assert_eq!(after.requests, [], "{at}"),
            Next::Same(number) => assert_eq!(after.requests, whole.requests[number..], "{at}"),
            Next::Changed(_) => panic!("{at}: nothing was running"),
        }
        assert_eq!(after.ends(), whole.ends(), "{at}");
    }
    whole
}

fn broken() -> Error {
    Error::new(ErrorKind::InvalidRequest, "not like this")
}

#[tokio::test]
async fn inputs_end_as_they_would_have() {
    let lines = || {
        vec![
            Line::Breaks("Half an", broken()),
            Line::Fails(broken()),
            Line::Pauses("Let me see."),
            Line::Text("Is it this?"),
            Line::Narrated("thinking", "It is."),
        ]
    };
    let inputs = ["one", "two", "three", "four"].map(Input::text);
    let stage = Stage::new(inputs, |config| SessionConfig { ask_on_question: true, ..config });
    let whole = check_every_cut(&stage, lines).await;
    let ends: Vec<_> = whole.ends().into_iter().map(|(reason, text)| (reason.is_answer(), text)).collect();
    let expected = [(false, "Half an"), (false, ""), (true, "Is it this?"), (true, "It is.")];
    assert_eq!(ends, expected.map(|(is, text)| (is, text.to_owned())));
}

/// Earlier versions kept answers of nothing but thoughts.
#[tokio::test]
async fn thoughts_that_came_to_nothing_are_left_behind() {
    let stage = Stage::new(["one", "two"].map(Input::text), |config| config);
    let lines = || vec![Line::Text("Well."), Line::Text("Done.")];
    let model: Arc<dyn Provider> = script(lines());
    let whole = stage.play(&model).await;
    let mut past = up_to(&whole.events, named("input_end"));
    for event in &mut past {
        if let Body::Call { answer, .. } = &mut event.body {
            let thought = Content::Thinking(Thinking { text: "So".into(), signature: None });
            let message = Message::new(Role::Assistant, vec![Part::new(thought)]);
            *answer = Some(serde_json::to_string(&message).unwrap().into());
        }
    }
    let after = go_on(&stage, &whole, Past::new(past), lines()).await;
    let said: Vec<String> = after.requests[0].messages.iter().map(Message::text).collect();
    assert_eq!(said, ["You are a test.", "one", "two"]);
}

#[tokio::test]
async fn limits_and_circles_are_kept() {
    let again = || Line::Calls(vec![call("nothing_like_it", "x")]);
    let lines = || {
        let circles = [again(), again(), again(), again(), again(), again()];
        circles.into_iter().chain([Line::Text("Well."), again(), again()]).collect()
    };
    // What was said, answers and results: fourteen turns in the first input, two in the second.
    let limits = Limits { max_turns: 18, max_tool_rounds: 0 };
    let inputs = ["one", "two", "three"].map(Input::text);
    let stage = Stage::new(inputs, move |config| SessionConfig { limits, stop_on_loop: true, ..config });
    let whole = check_every_cut(&stage, lines).await;
    let names: Vec<&str> = whole.events.iter().map(|event| event.body.name()).collect();
    let count = |name: &str| names.iter().filter(|other| **other == name).count();
    assert_eq!((count("loop_detection"), count("turn_limit")), (2, 1));
    let reasons: Vec<EndReason> = whole.ends().into_iter().map(|(reason, _)| reason).collect();
    assert_eq!(reasons, [EndReason::Limit, EndReason::Done, EndReason::Limit]);
}

/// A round of three calls: one has ended, one is running, one has not started.
async fn in_the_middle() -> (Stage, Performance, Vec<Event>) {
    let stage = Stage::new([Input::text("one"), Input::text("two")], |config| config);
    let model: Arc<dyn Provider> = script(lines_of_three());
    let whole = stage.play(&model).await;
    let ended =
        |event: &Event| matches!(&event.body, Body::ToolCallEnd { call_id, .. } if call_id == "call-1-0");
    let started =
        |event: &Event| matches!(&event.body, Body::ToolCallStart { call, .. } if call.id == "call-1-1");
    let mut past = up_to(&whole.events, named("call"));
    let start = |id: &'static str| move |e: &&Event| matches!(&e.body, Body::ToolCallStart { call, .. } if call.id == id);
    let first = whole.events.iter().find(start("call-1-0")).unwrap().clone();
    let (second, end) = (
        whole.events.iter().find(|e| started(e)).unwrap().clone(),
        whole.events.iter().find(|e| ended(e)).unwrap().clone(),
    );
    // Side by side they come in any order; this is one of them.
    for event in [first, second, end] {
        let seq = past.last().map(|event| event.seq.next()).unwrap_or_default();
        let mut event = event;
        if let Body::ToolCallEnd { of, .. } = &mut event.body {
            *of = Some(Seq(seq.0 - 2));
        }
        past.push(Event { seq, ..event });
    }
    (stage, whole, past)
}

fn lines_of_three() -> Vec<Line> {
    let calls = vec![call("echo", "one"), call("echo", "two"), call("echo", "three")];
    vec![Line::Calls(calls), Line::Text("Done."), Line::Text("Well.")]
}

/// What the model reads of the results of its last calls.
fn results(request: &Request) -> Vec<String> {
    let last = request.messages.iter().rev().find(|message| message.role == Role::Tool).unwrap();
    last.results().map(|result| result.output.to_text()).collect()
}

#[tokio::test]
async fn of_calls_side_by_side_each_has_what_became_of_it() {
    let (stage, whole, past) = in_the_middle().await;
    let after = go_on(&stage, &whole, Past::new(past), lines_of_three()).await;
    let told = results(&after.requests[0]);
    assert_eq!((told[0].as_str(), told[2].as_str()), ("one!", "three!"));
    assert!(told[1].starts_with(CUT_OFF), "{told:?}");
    assert_eq!(after.runs, ["call-1-2"]);
    assert_eq!(after.ends()[0], (EndReason::Done, "Done.".into()));
    let cut_off = after.events.iter().find_map(|event| match &event.body {
        Body::SessionResumed { cut_off } => Some(cut_off.clone()),
        _ => None,
    });
    let (input, running) = (CutOff::Input { turn: 1 }, "call-1-1".to_owned());
    assert!(matches!(&cut_off.unwrap()[..],
        [one, CutOff::ToolCall { call_id, .. }] if *one == input && *call_id == running));
}

#[tokio::test]
async fn an_open_input_can_be_ended_instead() {
    let (stage, whole, past) = in_the_middle().await;
    let lines = vec![Line::Panics, Line::Text("Well.")];
    let after = go_on(&stage, &whole, Past::new(past).on_open(OnOpen::End), lines).await;
    assert_eq!(after.ends()[0].0, EndReason::Interrupted);
    assert_eq!(after.ends()[1], (EndReason::Done, "Well.".into()));
    let told = results(&after.requests[0]);
    assert!(after.runs.is_empty() && told[0] == "one!" && told[1].starts_with(CUT_OFF), "{told:?}");
    assert_eq!(told[2], "cancelled before it ran");
}

/// An input that was answered has its end, whatever the host would have.
#[tokio::test]
async fn an_input_that_was_answered_is_done() {
    let stage = Stage::new([Input::text("one"), Input::text("two")], |config| config);
    let lines = || vec![Line::Text("Done."), Line::Text("Well.")];
    let model: Arc<dyn Provider> = script(lines());
    let whole = stage.play(&model).await;
    let past = Past::new(up_to(&whole.events, named("call"))).on_open(OnOpen::End);
    assert_eq!(past.open_input(), Some(1));
    assert_eq!(go_on(&stage, &whole, past, lines()).await.ends(), whole.ends());
}

/// What was decided holds, and what was not is asked again.
#[tokio::test]
async fn nobody_is_asked_twice() {
    let stage = Stage::new([Input::text("one")], |config| config);
    for text in ["small", "great"] {
        let lines = || vec![Line::Calls(vec![call("danger", text)]), Line::Text("Done.")];
        let model: Arc<dyn Provider> = script(lines());
        let whole = stage.play(&model).await;
        for (name, asks) in [("ask", 2), ("answered", 1)] {
            let past = up_to(&whole.events, named(name));
            let after = go_on(&stage, &whole, Past::new(past), lines()).await;
            let count = |name| after.events.iter().filter(|event| event.body.name() == name).count();
            assert_eq!((count("ask"), count("answered")), (asks, 1), "{text} {name}");
            assert_eq!(after.requests, whole.requests[1..], "{text} {name}");
            assert_eq!(after.runs.len(), usize::from(text == "small"));
        }
    }
}

/// What was decided about one call does not hold for one that would do something else.
#[tokio::test]
async fn a_decision_holds_for_what_was_shown() {
    let stage = Stage::new([Input::text("one")], |config| config);
    let lines = || vec![Line::Calls(vec![call("danger", "small")]), Line::Text("Done.")];
    let model: Arc<dyn Provider> = script(lines());
    let whole = stage.play(&model).await;
    let mut past = up_to(&whole.events, named("answered"));
    for event in &mut past {
        if let Body::Ask { request } = &mut event.body {
            request.actions.clear();
        }
    }
    let after = go_on(&stage, &whole, Past::new(past), lines()).await;
    assert_eq!(after.events.iter().filter(|event| event.body.name() == "ask").count(), 2);
}

fn three_inputs() -> (Stage, impl Fn() -> Vec<Line>) {
    let lines = || {
        vec![
            Line::Calls(vec![call("mean", "first")]),
            Line::Text("One."),
            Line::Calls(vec![call("mean", "second")]),
            Line::Text("Two."),
            Line::Text("Three."),
        ]
    };
    (Stage::new(["one", "two", "three"].map(Input::text), |config| config), lines)
}

/// A rewound session, played on with one more input.
async fn rewound(stage: &mut Stage, whole: &Performance, past: Past, said: &str) -> Performance {
    let inputs = past.events().iter().filter(|e| e.body.name() == "user_input").count();
    stage.inputs.truncate(inputs);
    stage.inputs.push(Input::text(said));
    let model: Arc<dyn Provider> = script_from(2, vec![Line::Panics, Line::Panics, Line::Text("Anew.")]);
    stage.play_on(&model, past, &whole.journal).await
}

#[tokio::test]
async fn a_rewind_takes_back_what_was_said_and_not_what_was_paid() {
    let (mut stage, lines) = three_inputs();
    let model: Arc<dyn Provider> = script(lines());
    let whole = stage.play(&model).await;
    let ended: Vec<usize> = whole
        .events
        .iter()
        .enumerate()
        .filter(|(_, e)| e.body.name() == "input_end")
        .map(|(n, _)| n)
        .collect();
    // After the end of the session, while it is idle, and while an input is open.
    for past in [whole.events.len(), ended[2] + 1, ended[1] + 3] {
        let past = Past::new(&whole.events[..past]);
        assert_eq!(past.plan().unwrap().steps[0].step, "second");
        let after = rewound(&mut stage, &whole, past.rewind(1), "two").await;
        assert_eq!(after.requests, whole.requests[2..3], "as the second input was asked");
        let last_turn = own(&after.events, &after.root).last().unwrap().turn;
        assert_eq!(last_turn, 4, "inputs are numbered on");
        let used = |events: &[Event]| {
            events.iter().fold(Usage::default(), |sum, event| match &event.body {
                Body::Call { usage, .. } => &sum + usage,
                _ => sum,
            })
        };
        assert_eq!(Past::new(after.events.clone()).spent().0, used(&after.events));
        assert_eq!(Past::new(after.events.clone()).plan().unwrap().steps[0].step, "first");
        // Brought back once more, it is still rewound.
        let again = rewound(&mut stage, &after, Past::new(after.events.clone()), "more").await;
        let said: Vec<String> = again.requests[0].messages.iter().map(Message::text).collect();
        assert_eq!(said, ["You are a test.", "one", "", "", "One.", "two", "Anew.", "more"]);
    }
}

#[tokio::test]
async fn a_rewind_to_before_the_first_input() {
    let (mut stage, lines) = three_inputs();
    let model: Arc<dyn Provider> = script(lines());
    let whole = stage.play(&model).await;
    let after = rewound(&mut stage, &whole, Past::new(whole.events.clone()).rewind(0), "one").await;
    assert_eq!(after.requests, whole.requests[..1]);
    assert_eq!(Past::new(after.events).plan().unwrap().steps, []);
}

/// A fork is a session of its own whose journal begins with a copy.
#[tokio::test]
async fn a_fork_goes_on_from_a_copy() {
    let (stage, lines) = three_inputs();
    let model: Arc<dyn Provider> = script(lines());
    let whole = stage.play(&model).await;
    let fork = SessionId::fresh();
    let copy: Vec<Event> = up_to(&whole.events, named("input_end"))
        .into_iter()
        .map(|event| Event { session: fork.clone(), ..event })
        .collect();
    let after = go_on(&stage, &whole, Past::new(copy), lines()).await;
    assert_eq!(after.requests, whole.requests[2..]);
    assert_eq!(after.ends(), whole.ends());
}

/// A session over a journal with a past.
async fn resume(
    past: Past,
    model: &Arc<Script>,
    change: impl FnOnce(SessionConfig) -> SessionConfig,
) -> Result<Session, junto_core::AgentError> {
    let nothing: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let journal = Arc::new(Cut::of(past.events(), nothing).await);
    let last = past.events().last().map_or(Seq(0), |event| event.seq);
    let log = EventLog::new(SessionId::fresh(), journal, last, Arc::new(|| Timestamp::UNIX_EPOCH));
    let env: Arc<dyn ExecutionEnvironment> = Arc::new(LocalEnvironment::new("/").unwrap());
    let config = SessionConfig::new(Arc::clone(model) as _, env, log);
    Session::resume(change(config), past).await
}

async fn ask(session: &Session, text: &str) -> Vec<Event> {
    let from = session.log().last().next();
    session.send(Command::Submit { input: text.into() }).await.unwrap();
    let mut state = session.watch_state();
    state.wait_for(|state| *state == SessionState::Idle).await.unwrap();
    session.log().subscribe(from).rest().await.unwrap()
}

/// The past of a session that was configured and moved, told of it, and was asked once.
async fn configured(dir: &std::path::Path) -> Vec<Event> {
    let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
    let env: Arc<dyn ExecutionEnvironment> = Arc::new(LocalEnvironment::new("/").unwrap());
    let config = SessionConfig {
        model: Some("first".into()),
        effort: Some(Effort::Low),
        system: "Be brief.".into(),
        environments: Some(Arc::new(|path| {
            Box::pin(
                async move { Ok(Arc::new(LocalEnvironment::new(path)?) as Arc<dyn ExecutionEnvironment>) },
            )
        })),
        ..SessionConfig::new(script([Line::Text("Hm.")]), env, log)
    };
    let session = Session::start(config).await.unwrap();
    let change = Change {
        model: Some("second".into()),
        max_turns: Some(9),
        workdir: Some(dir.to_owned()),
        ..Change::default()
    };
    session.send(Command::Configure { change }).await.unwrap();
    ask(&session, "one").await;
    session.close().await;
    session.log().subscribe(Seq::START).rest().await.unwrap()
}

#[tokio::test]
async fn a_session_is_set_as_it_was_and_works_where_it_did() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().canonicalize().unwrap();
    let events = configured(&place).await;
    let past = Past::new(events.clone());
    assert_eq!((past.model(), past.workdir()), (Some("second".into()), Some(place.clone())));
    assert_eq!(past.setup().unwrap().effort.as_deref(), Some("low"));
    let makes = |config| SessionConfig {
        model: Some("another".into()),
        system: "Be verbose.".into(),
        environments: Some(Arc::new(|path| {
            Box::pin(
                async move { Ok(Arc::new(LocalEnvironment::new(path)?) as Arc<dyn ExecutionEnvironment>) },
            )
        })),
        ..config
    };
    let model = script([Line::Text("Yes.")]);
    let session = resume(past.clone(), &model, makes).await.unwrap();
    assert_eq!(session.state(), SessionState::Idle);
    assert!(session.abilities().resume);
    let said = ask(&session, "two").await;
    assert!(said.iter().all(|event| event.turn == 2 && event.agent == events[0].agent));
    session.close().await;
    let request = model.requests.lock().unwrap()[0].clone();
    assert_eq!((request.model.as_deref(), request.reasoning_effort), (Some("second"), Some(Effort::Low)));
    let note = format!("The working directory is now {}.", place.display());
    let texts: Vec<String> = request.messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["Be brief.", "one", note.as_str(), "Hm.", "two"]);

    // Elsewhere, if nobody can make the place again; and the model is told.
    let model = script([Line::Text("Yes.")]);
    let session = resume(past, &model, |config| config).await.unwrap();
    ask(&session, "two").await;
    session.close().await;
    let last = model.requests.lock().unwrap()[0].messages.last().unwrap().text();
    assert_eq!(last, "The working directory is now /.");
}

#[tokio::test]
async fn what_cannot_be_brought_back_is_refused_and_nothing_is_written() {
    let refused = async |past: Past, message: &str| {
        let mut log = None;
        let keep = |config: SessionConfig| {
            log = Some(config.log.clone());
            config
        };
        let last = past.events().last().map_or(Seq(0), |event| event.seq);
        let error = resume(past, &script([]), keep).await.unwrap_err();
        assert_eq!(log.unwrap().last(), last, "{message}");
        assert_eq!(error.kind(), AgentErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(message), "{error}");
    };
    let dir = tempfile::tempdir().unwrap();
    let events = configured(dir.path()).await;
    refused(Past::new([]), "nothing to bring back").await;
    refused(Past::new(&events[1..]), "do not begin with the start").await;
    refused(Past::new(events.clone()).rewind(2), "there is no input 2").await;
    let mut back = events.clone();
    let last = events[events.len() - 1].clone();
    back.push(Event { seq: last.seq.next(), body: Body::Rewound { to_turn: 0 }, ..last });
    assert_eq!((Past::new(events.clone()).turns(), Past::new(back.clone()).turns()), (vec![1], vec![]));
    refused(Past::new(back).rewind(1), "input 1 is no longer part").await;
    let mut foreign = events.clone();
    if let Body::SessionStart { kind, setup, .. } = &mut foreign[0].body {
        *kind = "claude".into();
        *setup = None;
    }
    refused(Past::new(foreign), "of the kind `claude`").await;

    // Events of another log.
    let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
    let env: Arc<dyn ExecutionEnvironment> = Arc::new(LocalEnvironment::new("/").unwrap());
    let config = SessionConfig::new(script([]), env, log.clone());
    let error = Session::resume(config, events).await.unwrap_err();
    assert_eq!((error.kind(), log.last()), (AgentErrorKind::Invalid, Seq(0)));
}

/// A call of another process that was cut off has its end, and is nothing that the model reads.
#[tokio::test]
async fn calls_from_outside_are_ended_and_not_told() {
    let stage = Stage::new([Input::text("one")], |config| config);
    let lines = || vec![Line::Text("Done.")];
    let model: Arc<dyn Provider> = script(lines());
    let whole = stage.play(&model).await;
    let mut past = up_to(&whole.events, named("user_input"));
    let last = past[past.len() - 1].clone();
    let call = junto_llm::ToolCall::function("call-1-0", "echo", r#"{"text":"x"}"#);
    let body = Body::ToolCallStart { call, via: junto_core::Via::Cell };
    past.push(Event { seq: last.seq.next(), body, ..last });
    let after = go_on(&stage, &whole, Past::new(past), lines()).await;
    assert_eq!(after.requests, whole.requests);
    assert_eq!(after.events.iter().filter(|event| event.body.name() == "tool_call_end").count(), 1);
}

/// An answer that cannot be read any more is left out, and that is said.
#[tokio::test]
async fn what_is_lost_is_said() {
    let stage = Stage::new([Input::text("one"), Input::text("two")], |config| config);
    let lines = || vec![Line::Text("Done."), Line::Text("Well.")];
    let model: Arc<dyn Provider> = script(lines());
    let whole = stage.play(&model).await;
    let mut past = up_to(&whole.events, named("input_end"));
    for event in &mut past {
        if let Body::Call { answer, .. } = &mut event.body {
            *answer = Some(Payload::from("{\"role\":"));
        }
    }
    let after = go_on(&stage, &whole, Past::new(past), lines()).await;
    let texts: Vec<String> = after.requests[0].messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["You are a test.", "one", "two"]);
    let warned = |event: &Event| matches!(&event.body, Body::Warning { code, .. } if code == "resume_lost");
    assert_eq!(after.events.iter().filter(|event| warned(event)).count(), 1);
}

/// An input that is damaged leaves its answers and their results where they were, after a word about it: else the
/// conversation would begin with an answer, or have calls without results.
#[tokio::test]
async fn the_answers_to_an_input_that_is_lost_stay() {
    let (stage, lines) = three_inputs();
    let model: Arc<dyn Provider> = script(lines());
    let whole = stage.play(&model).await;
    let up_to_nth = |name: &str, nth: usize| {
        let mut named = whole.events.iter().enumerate().filter(|(_, event)| event.body.name() == name);
        let (end, _) = named.nth(nth).unwrap();
        whole.events[..=end].to_vec()
    };
    let shown = |model: &Script| -> Vec<String> {
        let messages = model.requests.lock().unwrap()[0].messages.clone();
        for (answer, next) in messages.iter().zip(messages.iter().skip(1)) {
            assert_eq!(answer.tool_calls().count(), next.results().count(), "{messages:#?}");
        }
        messages.iter().map(Message::text).collect()
    };
    let there = |config| SessionConfig { env: Arc::clone(&stage.env) as _, ..config };
    let input = |turn: u32| move |event: &Event| event.turn == turn && event.body.name() == "user_input";
    let without = async |lost: &dyn Fn(&Event) -> bool| {
        let past = up_to_nth("input_end", 1).into_iter().filter(|event| !lost(event));
        let model = script([Line::Text("Three.")]);
        let session = resume(Past::new(past.collect::<Vec<_>>()), &model, there).await.unwrap();
        ask(&session, "three").await;
        session.close().await;
        shown(&model)
    };
    let note = "What the user said here is lost: the record of this session is damaged.";
    let first = without(&input(1)).await;
    assert_eq!(first, ["You are a test.", note, "", "", "One.", "two", "", "", "Two.", "three"]);
    let second = ["You are a test.", "one", "", "", "One.", note, "", "", "Two.", "three"];
    assert_eq!(without(&input(2)).await, second);
    let with_the_end_before =
        |event: &Event| input(2)(event) || event.turn == 1 && event.body.name() == "input_end";
    assert_eq!(without(&with_the_end_before).await, second);

    // One that was under way goes on.
    let past: Vec<Event> =
        up_to_nth("tool_call_end", 0).into_iter().filter(|event| !input(1)(event)).collect();
    let past = Past::new(past);
    assert_eq!(past.open_input(), Some(1));
    let model = script([Line::Text("One.")]);
    let session = resume(past, &model, there).await.unwrap();
    let mut events = session.log().subscribe(Seq::START);
    while !matches!(events.next().await.unwrap(), Item::Event(event) if event.body.name() == "input_end") {}
    session.close().await;
    assert_eq!(shown(&model), ["You are a test.", note, "", ""]);
}

/// A session that is told to end before it has gone on ends the input it had open.
#[tokio::test]
async fn an_input_that_goes_on_has_an_end_also_if_the_session_ends_at_once() {
    let stage = Stage::new([Input::text("one")], |config| config);
    let model: Arc<dyn Provider> = script([Line::Text("Done.")]);
    let whole = stage.play(&model).await;
    let past = Past::new(up_to(&whole.events, named("user_input")));
    let cancelled = |config| {
        let config: SessionConfig = config;
        config.cancel.cancel();
        config
    };
    let session = resume(past, &script([]), cancelled).await.unwrap();
    assert_eq!(session.close().await.reason, EndReason::Interrupted);
    grammar::check(&session.log().subscribe(Seq::START).rest().await.unwrap()).unwrap();
}

/// A script that is paid a token for each line.
struct Thrifty {
    script: Arc<Script>,
    asks: Arc<AtomicU64>,
}

impl Provider for Thrifty {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        self.script.complete(request, cx)
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let token = Spending { tokens: 1, ..Spending::NOTHING };
            cx.budget.reserve(token)?.settle(token);
            self.asks.fetch_add(1, Ordering::Relaxed);
            self.script.stream(request, cx).await
        })
    }
}

/// What an input has spent before it was cut off is gone from its share.
#[tokio::test]
async fn an_input_that_goes_on_has_spent_what_it_has() {
    let lines = || vec![Line::Calls(vec![call("echo", "one")]), Line::Text("Done.")];
    let model: Arc<dyn Provider> = script(lines());
    let stage = Stage::new([Input::text("one")], |config| config);
    let whole = stage.play(&model).await;
    let past = up_to(&whole.events, named("tool_call_end"));
    let used = Past::new(past.clone()).spent().0.total;
    assert!(used > 0);
    for (share, asked) in [(used, 0), (used + 1, 1)] {
        let asks = Arc::new(AtomicU64::new(0));
        let provider: Arc<dyn Provider> =
            Arc::new(Thrifty { script: script_from(1, lines()), asks: Arc::clone(&asks) });
        let stage = Stage::new([Input::text("one")], move |config| SessionConfig {
            turn_budget: Allowance::tokens(share),
            ..config
        });
        let after = stage.play_on(&provider, Past::new(past.clone()), &whole.journal).await;
        assert_eq!(asks.load(Ordering::Relaxed), asked, "{:?}", after.ends());
        let end = if asked == 0 { EndReason::Limit } else { EndReason::Done };
        assert_eq!(after.ends()[0].0, end);
    }
}
