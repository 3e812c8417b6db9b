//! How a session lives and ends, whatever happens to it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use junto_agent::{Session, SessionConfig};
use junto_core::{
    Ack, Agent, AgentErrorKind, BlobId, Body, Change, Command, Companion, Durability, EndReason, Event,
    EventLog, Fut, Input, Item, Journal, JournalError, Limits, MemoryJournal, Seq, ToolHost, When,
};
use junto_env::LocalEnvironment;
use junto_llm::{Content, Effort, Error, ErrorKind, Media, Message, Role, SessionId};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::scene::{Scene, whole};
use crate::script::{Line, script};

fn kind(reason: &EndReason) -> &str {
    match reason {
        EndReason::Failed { error } => &error.kind,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_session_without_an_input_starts_and_ends() {
    let record = Scene::start(script([])).await.end().await;
    assert_eq!(record.names(), ["session_start", "session_end"]);
    assert_eq!((record.outcome.reason, record.outcome.text), (EndReason::Done, String::new()));
}

#[tokio::test]
async fn an_answer_streams_and_ends_the_input() {
    let mut scene = Scene::start(script([Line::Narrated("asking around", "Hello.")])).await;
    assert_eq!(scene.ask("Hi").await, (EndReason::Done, "Hello.".into()));
    let record = scene.end().await;
    let expected = [
        "session_start",
        "user_input",
        "progress",
        "assistant_text_start",
        "assistant_text_end",
        "call",
        "input_end",
        "session_end",
    ];
    assert_eq!(record.names(), expected);
    assert_eq!(record.outcome.text, "Hello.");
}

#[tokio::test]
async fn each_request_begins_with_the_one_before() {
    let model = script([
        Line::Calls(vec![("shell", json!({"command": "echo one"}))]),
        Line::Calls(vec![("shell", json!({"command": "echo two"}))]),
        Line::Text("Done."),
        Line::Text("Again."),
    ]);
    let mut scene = Scene::start(Arc::clone(&model) as _).await;
    scene.ask("Go").await;
    scene.ask("And again").await;
    scene.end().await;
    let requests = model.requests.lock().unwrap();
    assert_eq!(requests.len(), 4);
    for pair in requests.windows(2) {
        assert_eq!(pair[0].tools, pair[1].tools);
        assert_eq!(pair[1].messages[..pair[0].messages.len()], pair[0].messages);
    }
    assert_eq!(requests[0].messages[0].role, Role::System);
}

#[tokio::test]
async fn commands_are_taken_or_refused_by_the_state() {
    let mut scene = Scene::start(script([Line::Hangs("Hm"), Line::Text("Yes."), Line::Text("Later.")])).await;
    let refused = async |scene: &Scene, command| scene.session.send(command).await.unwrap_err().kind();
    assert_eq!(refused(&scene, Command::Interrupt).await, AgentErrorKind::WrongState);
    let unknown = Command::Answer {
        ask: junto_core::AskId("x".into()),
        decision: junto_core::Decision::Allow { remember: None },
    };
    assert_eq!(refused(&scene, unknown).await, AgentErrorKind::Invalid);
    scene.submit("Think").await;
    scene.talking().await;
    let another = Command::Submit { input: "Another".into() };
    assert_eq!(refused(&scene, another).await, AgentErrorKind::WrongState);
    let later = scene.session.send(Command::FollowUp { input: "Afterwards".into() }).await;
    assert_eq!(later, Ok(Ack::Queued));
    scene.session.send(Command::Interrupt).await.unwrap();
    assert_eq!(scene.input_end().await, (EndReason::Interrupted, "Hm".into()));
    assert_eq!(scene.input_end().await, (EndReason::Done, "Yes.".into()));
    let now = scene.session.send(Command::FollowUp { input: "At once".into() }).await;
    assert_eq!(now, Ok(Ack::Started));
    assert_eq!(scene.input_end().await.1, "Later.");
    assert_eq!(scene.end().await.count("input_end"), 3);
}

/// Somebody beside a session who takes for ever to put things in order.
#[derive(Default)]
struct Slow {
    rests: watch::Sender<usize>,
}

impl Companion for Slow {
    fn begin(&self, _: Weak<dyn ToolHost>, _: EventLog) {}

    fn rest(&self) -> Fut<'_, ()> {
        Box::pin(async {
            self.rests.send_modify(|rests| *rests += 1);
            std::future::pending::<()>().await;
        })
    }

    fn end(&self) -> Fut<'_, ()> {
        Box::pin(async {})
    }
}

#[tokio::test]
async fn whoever_puts_things_in_order_after_an_input_can_be_interrupted() {
    let slow = Arc::new(Slow::default());
    let lines = [Line::Text("One."), Line::Hangs("Hm"), Line::Text("Two."), Line::Text("Three.")];
    let companion = Arc::clone(&slow);
    let with_it = |config| SessionConfig { companions: vec![companion], ..config };
    let mut scene = Scene::with(script(lines), with_it).await;
    let rests = async |count: usize| drop(slow.rests.subscribe().wait_for(|rests| *rests == count).await);
    scene.submit("Go").await;
    rests(1).await;
    // What is said meanwhile waits until that is over, and is not refused; whoever interrupts is heard at once.
    let (submitted, interrupted) = tokio::join!(
        scene.session.send(Command::Submit { input: "And now".into() }),
        scene.session.send(Command::Interrupt)
    );
    assert_eq!((submitted, interrupted), (Ok(Ack::Started), Ok(Ack::Started)));
    assert_eq!(scene.input_end().await, (EndReason::Done, "One.".into()));
    // An input that was interrupted is put in order, too.
    scene.talking().await;
    scene.session.send(Command::Interrupt).await.unwrap();
    rests(2).await;
    scene.session.send(Command::Interrupt).await.unwrap();
    assert_eq!(scene.input_end().await.0, EndReason::Interrupted);
    // The end of the session is not held up either.
    scene.submit("Again").await;
    rests(3).await;
    scene.session.send(Command::Abort).await.unwrap();
    let record = scene.end().await;
    assert_eq!((record.count("input_end"), record.count("session_end")), (3, 1));
}

#[tokio::test]
async fn what_is_said_to_an_idle_session_reaches_the_next_input() {
    let model = script([Line::Text("Yes.")]);
    let mut scene = Scene::start(Arc::clone(&model) as _).await;
    scene.steer("Be brief", When::Round).await;
    scene.steer("Very brief", When::Now).await;
    scene.ask("Well?").await;
    let record = scene.end().await;
    assert_eq!(record.count("steering_injected"), 2);
    let texts: Vec<String> = model.requests.lock().unwrap()[0].messages.iter().map(Message::text).collect();
    assert_eq!(texts[1..], ["Well?", "Be brief", "Very brief"]);
}

#[tokio::test]
async fn a_message_during_the_last_answer_keeps_the_input_going() {
    struct Late(Arc<crate::script::Script>, tokio::sync::Notify, tokio::sync::Notify);
    impl junto_llm::Provider for Late {
        fn complete<'a>(
            &'a self,
            request: junto_llm::Request,
            cx: &'a junto_llm::CallCx,
        ) -> Fut<'a, Result<junto_llm::Response, Error>> {
            self.0.complete(request, cx)
        }
        fn stream<'a>(
            &'a self,
            request: junto_llm::Request,
            cx: &'a junto_llm::CallCx,
        ) -> Fut<'a, Result<junto_llm::EventStream, Error>> {
            Box::pin(async move {
                self.1.notify_one();
                self.2.notified().await;
                self.0.stream(request, cx).await
            })
        }
    }
    let model = Arc::new(Late(
        script([Line::Text("Done."), Line::Text("That too.")]),
        tokio::sync::Notify::new(),
        tokio::sync::Notify::new(),
    ));
    let mut scene = Scene::start(Arc::clone(&model) as _).await;
    scene.submit("Do this").await;
    model.1.notified().await;
    scene.steer("And that", When::Round).await;
    model.2.notify_one();
    model.1.notified().await;
    model.2.notify_one();
    assert_eq!(scene.input_end().await, (EndReason::Done, "That too.".into()));
    let record = scene.end().await;
    assert_eq!((record.count("call"), record.count("steering_injected")), (2, 1));
}

#[tokio::test]
async fn settings_change_from_the_next_call_on() {
    let model = script([Line::Text("a"), Line::Text("b"), Line::Text("c")]);
    let mut scene = Scene::start(Arc::clone(&model) as _).await;
    let configure = async |scene: &Scene, change| {
        assert_eq!(scene.session.send(Command::Configure { change }).await, Ok(Ack::Done));
    };
    scene.ask("1").await;
    let change = Change {
        model: Some("m2".into()),
        effort: Some("high".into()),
        provider: Some("p2".into()),
        ..Change::default()
    };
    configure(&scene, change).await;
    scene.ask("2").await;
    configure(&scene, Change { effort: Some(String::new()), ..Change::default() }).await;
    scene.ask("3").await;
    scene.end().await;
    let requests = model.requests.lock().unwrap();
    let seen: Vec<_> = requests
        .iter()
        .map(|r| (r.provider.as_deref(), r.model.as_deref(), r.reasoning_effort.clone()))
        .collect();
    assert_eq!(
        seen,
        [(None, None, None), (Some("p2"), Some("m2"), Some(Effort::High)), (Some("p2"), Some("m2"), None)]
    );
}

#[tokio::test]
async fn a_provider_that_panics_fails_the_input_and_not_the_session() {
    let model = script([Line::Panics, Line::PanicsAfter("Half"), Line::Text("Fine.")]);
    let mut scene = Scene::start(model).await;
    let (reason, _) = scene.ask("1").await;
    assert!(
        matches!(&reason, EndReason::Failed { error } if error.message.contains("no idea")),
        "{reason:?}"
    );
    assert_eq!(scene.ask("2").await.1, "Half");
    assert_eq!(scene.ask("3").await, (EndReason::Done, "Fine.".into()));
    scene.end().await;
}

#[tokio::test]
async fn a_failed_input_leaves_the_session_open_unless_the_key_was_refused() {
    let fails = |kind| Line::Fails(Error::new(kind, "no"));
    let model = script([
        fails(ErrorKind::InvalidRequest),
        Line::Breaks("Half", Error::stream("cut")),
        Line::Text("Fine."),
        fails(ErrorKind::Authentication),
    ]);
    let mut scene = Scene::start(Arc::clone(&model) as _).await;
    assert_eq!(kind(&scene.ask("1").await.0), "invalid_request");
    let (reason, text) = scene.ask("2").await;
    assert_eq!((kind(&reason), text.as_str()), ("stream", "Half"));
    assert_eq!(scene.ask("3").await.0, EndReason::Done);
    let texts: Vec<String> = model.requests.lock().unwrap()[2].messages.iter().map(Message::text).collect();
    assert_eq!(texts[1..], ["1", "2", "Half", "3"], "what was said before the break is kept");
    assert_eq!(kind(&scene.ask("4").await.0), "authentication");
    scene.event("session_end").await;
    let refused = scene.session.send(Command::Submit { input: "5".into() }).await;
    assert_eq!(refused.unwrap_err().kind(), AgentErrorKind::Closed);
    assert_eq!(scene.end().await.count("error"), 3);
}

#[tokio::test]
async fn retries_are_told_in_order() {
    let down = || Line::Fails(Error::new(ErrorKind::Server, "down"));
    let mut scene = Scene::start(script([down(), down(), Line::Text("Up.")])).await;
    assert_eq!(scene.ask("1").await.1, "Up.");
    let record = scene.end().await;
    let attempts: Vec<u32> = record
        .events
        .iter()
        .filter_map(|e| match e.body {
            Body::Retry { attempt, .. } => Some(attempt),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [1, 2]);
    assert_eq!(record.count("call"), 1);
}

#[tokio::test]
async fn queued_inputs_end_with_the_session() {
    let scene = Scene::start(script([Line::Hangs("Hm")])).await;
    scene.submit("1").await;
    for text in ["2", "3"] {
        scene.session.send(Command::FollowUp { input: text.into() }).await.unwrap();
    }
    assert_eq!(scene.session.send(Command::Abort).await, Ok(Ack::Started));
    let record = scene.end().await;
    assert_eq!((record.count("user_input"), record.count("input_end")), (3, 3));
    assert_eq!(record.outcome.reason, EndReason::Interrupted);
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_session() {
    let mut scene = Scene::start(script([Line::Hangs("Hm")])).await;
    scene.submit("1").await;
    scene.talking().await;
    let log = scene.session.log().clone();
    let second = scene.session.clone();
    drop(second);
    let mut reader = log.subscribe(log.last());
    drop(scene.session);
    loop {
        if let Item::Event(event) = reader.next().await.unwrap()
            && event.body.name() == "session_end"
        {
            break;
        }
    }
    let events = log.subscribe(Seq::START).rest().await.unwrap();
    junto_core::grammar::check(&events).unwrap();
}

#[tokio::test]
async fn a_cancelled_token_ends_the_session() {
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    let mut scene =
        Scene::with(script([Line::Hangs("Hm")]), |config| SessionConfig { cancel, ..config }).await;
    scene.submit("1").await;
    scene.talking().await;
    token.cancel();
    assert_eq!(scene.input_end().await.0, EndReason::Interrupted);
    scene.event("session_end").await;
    scene.end().await;
}

#[tokio::test]
async fn limits_stop_the_input() {
    let call = || Line::Calls(vec![("shell", json!({"command": "true"}))]);
    let limits = Limits { max_turns: 8, max_tool_rounds: 2 };
    let model = script([call(), call(), Line::Text("Fine.")]);
    let mut scene = Scene::with(model, |config| SessionConfig { limits, ..config }).await;
    assert_eq!(scene.ask("1").await.0, EndReason::Limit);
    assert_eq!(scene.ask("2").await.0, EndReason::Done, "the rounds are counted for each input");
    assert_eq!(scene.ask("3").await.0, EndReason::Limit, "the turns are counted for the session");
    let record = scene.end().await;
    let limits: Vec<(String, u32)> = record
        .events
        .iter()
        .filter_map(|e| match &e.body {
            Body::TurnLimit { limit, reached } => Some((limit.clone(), *reached)),
            _ => None,
        })
        .collect();
    assert_eq!(limits.iter().map(|(_, reached)| *reached).collect::<Vec<_>>(), [2, 8]);
    assert!(limits[0].0.contains("rounds") && limits[1].0.contains("8 turns"), "{limits:?}");
}

/// A turn is an entry of the conversation: what was said, an answer, the results of a round, a message that
/// steers.
#[tokio::test]
async fn every_entry_of_the_conversation_is_a_turn() {
    for (max_turns, calls) in [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (6, 3)] {
        let call =
            || Line::Calls(vec![("shell", json!({"command": "true"})), ("shell", json!({"command": ":"}))]);
        let model = script([call(), call(), Line::Text("Fine.")]);
        let limits = Limits { max_turns, max_tool_rounds: 0 };
        let mut scene =
            Scene::with(Arc::clone(&model) as _, |config| SessionConfig { limits, ..config }).await;
        let expected = if max_turns == 6 { EndReason::Done } else { EndReason::Limit };
        assert_eq!(scene.ask("1").await.0, expected, "{max_turns}");
        assert_eq!(model.requests.lock().unwrap().len(), calls, "{max_turns}");
        scene.end().await;
    }
    let model = script([Line::Text("Fine.")]);
    let limits = Limits { max_turns: 2, max_tool_rounds: 0 };
    let mut scene = Scene::with(Arc::clone(&model) as _, |config| SessionConfig { limits, ..config }).await;
    scene.steer("And briefly.", When::Round).await;
    assert_eq!(scene.ask("1").await.0, EndReason::Limit, "a message that steers is one");
    scene.end().await;
}

/// A journal that takes so many events and no more.
struct Full {
    inner: MemoryJournal,
    room: AtomicU64,
}

impl Journal for Full {
    fn append<'a>(&'a self, events: &'a [Event], d: Durability) -> Fut<'a, Result<(), JournalError>> {
        let count = events.len() as u64;
        let taken =
            self.room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |room| room.checked_sub(count));
        match taken {
            Ok(_) => self.inner.append(events, d),
            Err(_) => Box::pin(async { Err(JournalError("full".into())) }),
        }
    }

    fn read(&self, from: Seq, max: usize) -> Fut<'_, Result<Vec<Event>, JournalError>> {
        self.inner.read(from, max)
    }

    fn extend_blob<'a>(&'a self, blob: &'a BlobId, piece: Bytes) -> Fut<'a, Result<(), JournalError>> {
        self.inner.extend_blob(blob, piece)
    }

    fn read_blob<'a>(
        &'a self,
        blob: &'a BlobId,
        from: u64,
        max: usize,
    ) -> Fut<'a, Result<Vec<u8>, JournalError>> {
        self.inner.read_blob(blob, from, max)
    }
}

/// Wherever the journal fails, nothing runs unseen and `close` returns.
#[tokio::test]
async fn a_journal_that_fails_ends_the_session() {
    let dir = tempfile::tempdir().unwrap();
    // In order: session_start, user_input, call, tool_call_start, tool_call_end, assistant_text_start,
    // assistant_text_end, call, input_end, session_end.
    for room in 0..=10 {
        let journal = Arc::new(Full { inner: MemoryJournal::default(), room: AtomicU64::new(room) });
        let log = EventLog::new(SessionId::fresh(), journal, Seq(0), Arc::new(|| Timestamp::UNIX_EPOCH));
        let mark = dir.path().join(format!("ran-{room}"));
        let model = script([
            Line::Calls(vec![("write_file", json!({"file_path": mark, "content": "x"}))]),
            Line::Text("Done."),
        ]);
        let env = Arc::new(LocalEnvironment::new(dir.path()).unwrap());
        let config = SessionConfig {
            tools: junto_agent::tools::standard().into(),
            ..SessionConfig::new(model, env, log.clone())
        };
        let Ok(session) = Session::start(config).await else {
            assert_eq!(room, 0);
            continue;
        };
        let mut reader = log.subscribe(Seq::START);
        let submitted = session.send(Command::Submit { input: Input::text("Go") }).await;
        assert_eq!(submitted.is_ok(), room > 1, "{room}");
        if room >= 9 {
            while !matches!(reader.next().await.unwrap(), Item::Event(e) if e.body.name() == "input_end") {}
        } else {
            let idle = || Command::Configure { change: Change::default() };
            while session.send(idle()).await.is_ok() {}
        }
        let outcome = tokio::time::timeout(Duration::from_secs(20), session.close()).await.unwrap();
        match room {
            10 => assert_eq!(outcome.reason, EndReason::Done),
            _ => assert_eq!(kind(&outcome.reason), "journal", "{room}"),
        }
        assert_eq!(mark.exists(), room >= 4, "{room}: it runs if and only if its start was written");
    }
}

#[tokio::test]
async fn the_log_has_the_whole_output_and_the_model_a_part() {
    let model = script([Line::Calls(vec![("shell", json!({"command": "seq 1 2000"}))]), Line::Text("Long.")]);
    let tool_output_limits = BTreeMap::from([("shell".to_owned(), 100)]);
    let mut scene =
        Scene::with(Arc::clone(&model) as _, |config| SessionConfig { tool_output_limits, ..config }).await;
    scene.ask("Count").await;
    let record = scene.end().await;
    let end = record.events.iter().find_map(|e| match &e.body {
        Body::ToolCallEnd { output, .. } => Some(whole(output)),
        _ => None,
    });
    assert!(end.unwrap().contains("\n1000\n"));
    let requests = model.requests.lock().unwrap();
    let result = requests[1].messages.last().unwrap().results().next().unwrap().output.to_text();
    assert!(
        result.len() < 500 && result.starts_with("1\n2\n") && result.contains("were removed from the middle"),
        "{result}"
    );
}

#[tokio::test]
async fn pictures_are_read_when_they_are_said() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let model = script([Line::Text("A cat.")]);
    let mut scene = Scene::start(Arc::clone(&model) as _).await;
    scene.write("cat.png", PNG);
    scene.write("notes.txt", "a cat");
    let with = |text: &str, image: &str| Input { images: vec![image.into()], ..Input::text(text) };
    let nothing = Input::text(" \n");
    for input in [nothing, with("What?", "dog.png"), with("What?", "notes.txt"), with("What?", ".")] {
        for command in [
            Command::Submit { input: input.clone() },
            Command::FollowUp { input: input.clone() },
            Command::Steer { input: input.clone(), when: When::Round },
        ] {
            let refused = scene.session.send(command).await.unwrap_err();
            assert_eq!(refused.kind(), AgentErrorKind::Invalid, "{input:?}: {refused}");
        }
    }
    scene.session.send(Command::Submit { input: with("What?", "cat.png") }).await.unwrap();
    scene.input_end().await;
    scene.end().await;
    let requests = model.requests.lock().unwrap();
    let said = requests[0].messages.last().unwrap();
    assert_eq!(said.content[0].content(), &Content::Image(Media::bytes(PNG)));
    assert_eq!(said.text(), "What?");
}
