//! Whatever is said to a session, and whenever its model and its tools come to an end: it stays legal.
//!
//! Each case is a list of things that happen, with a pause after each in which the session gets so far and
//! no further. The cases come from a fixed seed, and time stands still unless everybody waits.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use junto_agent::{Session, SessionConfig, tool, tools};
use junto_core::{
    Ack, Agent, AgentErrorKind, AskId, Body, Change, Command, EndReason, Event, EventLog, Reply, Seq,
    SessionState, Tool, ToolCx, Via, When, grammar,
};
use junto_env::LocalEnvironment;
use junto_llm::{
    CallCx, Error, ErrorKind, EventStream, Finish, FinishReason, Fut, Provider, Request, Response, SegmentId,
    StreamEvent, ToolCall, ToolCallKind, Usage, retry,
};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio::task::{JoinHandle, yield_now};

const CASES: u32 = 500;

/// Something that happens.
#[derive(Clone, Debug)]
enum Happening {
    Submit,
    FollowUp,
    Steer(When),
    Interrupt,
    Abort,
    Close,
    Configure,
    /// Answers the last question.
    Reply,
    /// The model gets on.
    Model(Turn),
    /// A tool gets done.
    ToolDone,
    /// Somebody else calls a tool.
    Outside(&'static str),
}

/// What the model does when it is its turn.
#[derive(Clone, Debug)]
enum Turn {
    Text(&'static str),
    Calls(Vec<&'static str>),
    /// Begins to speak, and says no more.
    FallsSilent,
    Fails(ErrorKind),
}

fn turn() -> impl Strategy<Value = Turn> {
    let name =
        prop_oneof![5 => Just("work"), 1 => Just("stubborn"), 2 => Just("ask_user"), 1 => Just("nothing")];
    prop_oneof![
        2 => Just(Turn::Text("Done.")),
        1 => Just(Turn::Text("Which one?")),
        4 => prop::collection::vec(name, 1..4).prop_map(Turn::Calls),
        1 => Just(Turn::FallsSilent),
        1 => Just(Turn::Fails(ErrorKind::InvalidRequest)),
    ]
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => Just(Happening::Submit),
        3 => Just(Happening::FollowUp),
        3 => prop_oneof![Just(When::Round), Just(When::Now)].prop_map(Happening::Steer),
        2 => Just(Happening::Interrupt),
        1 => Just(Happening::Abort),
        1 => Just(Happening::Close),
        1 => Just(Happening::Configure),
        2 => Just(Happening::Reply),
        8 => turn().prop_map(Happening::Model),
        6 => Just(Happening::ToolDone),
        1 => prop_oneof![Just("work"), Just("ask_user")].prop_map(Happening::Outside),
    ]
}

/// A model that does what it is told, when it is told.
struct Puppet(Mutex<mpsc::Receiver<Turn>>);

impl Provider for Puppet {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move { self.stream(request, cx).await?.into_response().await })
    }

    fn stream<'a>(&'a self, _request: Request, _cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let turn = self.0.lock().await.recv().await;
            let id = SegmentId(0);
            let start = StreamEvent::StreamStart {
                id: "r".into(),
                model: "m".into(),
                provider: "puppet".into(),
                origin: None,
                usage: None,
                warnings: vec![],
                rate_limit: None,
            };
            let finish = |reason| StreamEvent::Finish {
                reason: FinishReason::new(reason),
                usage: Usage::new(10, 1),
                response: None,
            };
            let said = |text: &str| {
                [StreamEvent::TextStart { id }, StreamEvent::TextDelta { id, text: text.into() }]
            };
            let events = match turn {
                None | Some(Turn::FallsSilent) => {
                    let begun = [vec![start], said("Hm").to_vec()].concat();
                    return Ok(EventStream::new(stream::iter(begun).map(Ok).chain(stream::pending())));
                }
                Some(Turn::Fails(kind)) => return Err(Error::new(kind, "no")),
                Some(Turn::Text(text)) => {
                    let end = [StreamEvent::TextEnd { id, raw: None }, finish(Finish::Stop)];
                    [vec![start], said(text).to_vec(), end.to_vec()].concat()
                }
                Some(Turn::Calls(names)) => {
                    let calls = names.iter().zip(0u32..).flat_map(|(name, n)| {
                        let (id, call_id) = (SegmentId(n), format!("{name}-{n}"));
                        let kind = ToolCallKind::Function;
                        let call = ToolCall::function(call_id.clone(), *name, r#"{"question":"Which?"}"#);
                        [
                            StreamEvent::ToolCallStart { id, call_id, name: (*name).into(), kind },
                            StreamEvent::ToolCallEnd { id, call, raw: None },
                        ]
                    });
                    let calls: Vec<StreamEvent> = calls.collect();
                    [vec![start], calls, vec![finish(Finish::ToolCalls)]].concat()
                }
            };
            Ok(EventStream::new(stream::iter(events).map(Ok)))
        })
    }
}

#[derive(Deserialize, JsonSchema)]
struct Anything {
    #[expect(dead_code, reason = "every tool of the test is called alike")]
    question: String,
}

/// A tool that is done when it is told to be, or told to stop; and one that does not listen.
fn workers(done: &Arc<Semaphore>) -> Vec<Arc<dyn Tool>> {
    let permits = Arc::clone(done);
    let work = tool("work", "Works.", move |_: Anything, cx: ToolCx| {
        let permits = Arc::clone(&permits);
        async move {
            tokio::select! {
                permit = permits.acquire() => permit.map_or("broken", |permit| { permit.forget(); "worked" }),
                () = cx.cancel.cancelled() => "stopped",
            }
        }
    });
    let stubborn =
        tool("stubborn", "Does not stop.", |_: Anything, _: ToolCx| std::future::pending::<&str>());
    vec![Arc::new(work), Arc::new(stubborn), Arc::new(tools::AskUser::default())]
}

/// One session, and everything that was done to it.
struct Run {
    session: Session,
    model: mpsc::Sender<Turn>,
    done: Arc<Semaphore>,
    /// The commands that begin an input, and what became of them.
    inputs: Vec<JoinHandle<Result<Ack, junto_core::AgentError>>>,
    others: Vec<JoinHandle<()>>,
}

impl Run {
    async fn start(dir: &std::path::Path) -> Self {
        let (model, turns) = mpsc::channel(1024);
        let done = Arc::new(Semaphore::new(0));
        let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
        let env = Arc::new(LocalEnvironment::new(dir).unwrap());
        let config = SessionConfig {
            tools: workers(&done).into(),
            retry: retry::Policy::NONE,
            ask_on_question: true,
            loop_detection_window: 4,
            stop_on_loop: true,
            ..SessionConfig::new(Arc::new(Puppet(Mutex::new(turns))), env, log)
        };
        let session = Session::start(config).await.unwrap();
        Self { session, model, done, inputs: Vec::new(), others: Vec::new() }
    }

    fn send(&self, command: Command) -> JoinHandle<Result<Ack, junto_core::AgentError>> {
        let session = self.session.clone();
        tokio::spawn(async move { session.send(command).await })
    }

    fn tell(&mut self, command: Command) {
        let sent = self.send(command);
        self.others.push(tokio::spawn(async move { drop(sent.await.unwrap()) }));
    }

    async fn events(&self) -> Vec<Event> {
        self.session.log().subscribe(Seq::START).rest().await.unwrap()
    }

    async fn happens(&mut self, happening: Happening) {
        match happening {
            Happening::Submit => self.inputs.push(self.send(Command::Submit { input: "Go".into() })),
            Happening::FollowUp => self.inputs.push(self.send(Command::FollowUp { input: "Then".into() })),
            Happening::Steer(when) => self.tell(Command::Steer { input: "Left".into(), when }),
            Happening::Interrupt => self.tell(Command::Interrupt),
            Happening::Abort => self.tell(Command::Abort),
            Happening::Configure => {
                let change = Change { effort: Some("low".into()), ..Change::default() };
                self.tell(Command::Configure { change });
            }
            Happening::Close => {
                let session = self.session.clone();
                self.others.push(tokio::spawn(async move { drop(session.close().await) }));
            }
            Happening::Reply => {
                let asked = |event: &Event| match &event.body {
                    Body::Question { ask, .. } => Some(ask.clone()),
                    _ => None,
                };
                let ask = self.events().await.iter().rev().find_map(asked).unwrap_or(AskId("none".into()));
                self.tell(Command::Reply { ask, reply: Reply::Said { text: "left".into() } });
            }
            Happening::Model(turn) => drop(self.model.try_send(turn)),
            Happening::ToolDone => self.done.add_permits(1),
            Happening::Outside(name) => {
                let host = self.session.tool_host();
                let call = ToolCall::function("outside", name, r#"{"question":"Why?"}"#);
                self.others.push(tokio::spawn(async move { drop(host.call(call, Via::Cell).await) }));
            }
        }
    }

    /// Closes the session, and checks what must hold of every one.
    async fn end(mut self) {
        let outcome = self.session.close().await;
        assert_eq!(self.session.state(), SessionState::Closed);
        let events = self.events().await;
        let names: Vec<&str> = events.iter().map(|e| e.body.name()).collect();
        grammar::check(&events).unwrap_or_else(|faults| panic!("{faults:#?}\n{names:?}"));
        let count = |name: &str| names.iter().filter(|n| **n == name).count();
        let mut accepted = 0;
        for input in std::mem::take(&mut self.inputs) {
            accepted += usize::from(input.await.unwrap().is_ok());
        }
        assert_eq!((count("user_input"), count("input_end")), (accepted, accepted), "{names:?}");
        assert_eq!((count("session_start"), count("session_end")), (1, 1));
        for other in std::mem::take(&mut self.others) {
            other.await.unwrap();
        }
        for event in &events {
            if let Body::InputEnd { reason: EndReason::Failed { error }, .. } = &event.body {
                assert_eq!(error.kind, "invalid_request", "{error:?}");
            }
            if let Body::SessionEnd { reason, .. } = &event.body {
                assert_eq!(*reason, outcome.reason);
            }
        }
        let late = self.session.send(Command::Submit { input: "Late".into() }).await;
        assert_eq!(late.unwrap_err().kind(), AgentErrorKind::Closed);
        assert_eq!(self.events().await.len(), events.len(), "nothing comes after the end");
    }
}

#[test]
fn any_interleaving_leaves_the_session_legal() {
    let dir = tempfile::tempdir().unwrap();
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let cases = prop::collection::vec((happening(), 0u8..12), 1..40);
    let result = TestRunner::new_with_rng(config, seed).run(&cases, |case| {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut run = Run::start(dir.path()).await;
            let story = async {
                for (happening, pause) in case {
                    run.happens(happening).await;
                    for _ in 0..pause {
                        yield_now().await;
                    }
                }
                run.end().await;
            };
            // Time goes on only when nobody can: a story that hangs is over at once.
            tokio::time::timeout(Duration::from_hours(1), story).await.expect("the session ends");
        });
        Ok(())
    });
    result.unwrap();
}
