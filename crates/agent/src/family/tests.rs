//! A child's state, event by event; and agents that do not behave.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use junto_core::{
    Abilities, Ack, Agent, AgentError, AgentSpec, Approve, Body, CallEnd, CallPurpose, Command, EndReason,
    EventError, EventLog, Fut, Input, Outcome, Parent, Spawner, Steer, When,
};
use junto_env::LocalEnvironment;
use junto_llm::{CallId, Cost, Unlimited, Usage, Usd};
use tokio_util::sync::CancellationToken;

use super::child::Report;
use super::state::{State, Todo};
use super::{Errand, Family, Home, SubagentStatus, Taken, Until, Waited, reports};
use crate::totals::Totals;

/// What happens to a child.
enum Step {
    Announced,
    Refused,
    Addressed,
    Heard,
    Input,
    Turn,
    Ended(EndReason),
    Over,
}

fn failed(message: &str) -> EndReason {
    EndReason::Failed { error: EventError { kind: "x".into(), message: message.into(), hint: None } }
}

fn body(step: &Step) -> Option<Body> {
    Some(match step {
        Step::Heard => Body::SteeringInjected { input: Input::text("x"), pictures: None },
        Step::Input => Body::UserInput { input: Input::text("x"), pictures: None },
        Step::Turn => Body::Call {
            provider: String::new(),
            model: String::new(),
            response_id: None,
            usage: Usage::default(),
            cost: Cost::Unknown,
            answer: None,
            purpose: CallPurpose::Input,
            end: CallEnd::Whole,
            prefix: None,
        },
        Step::Ended(reason) => Body::InputEnd { reason: reason.clone(), text: "t".into() },
        Step::Over => over(),
        Step::Announced | Step::Refused | Step::Addressed => return None,
    })
}

fn over() -> Body {
    Body::SessionEnd { reason: EndReason::Done, usage: Usage::new(3, 2), cost: Cost::Reported(Usd::ZERO) }
}

#[test]
fn a_child_stands_as_its_events_say() {
    use SubagentStatus::{Closed, Completed, Failed, Running};
    let check = |steps: &[Step], status: SubagentStatus, turns: u32, again: bool| {
        let mut state = State::default();
        let mut todo = Todo::Nothing;
        for step in steps {
            match step {
                Step::Announced => state.announce(),
                Step::Refused => state.withdraw(),
                Step::Addressed => drop(state.address()),
                _ => todo = body(step).map_or(Todo::Nothing, |body| state.take(&body)),
            }
        }
        let expected = if again { Todo::Again } else { Todo::Nothing };
        assert_eq!((state.status(), state.turns(), todo), (status, turns, expected));
    };
    let done = || Step::Ended(EndReason::Done);
    check(&[Step::Announced], Running, 0, false);
    check(&[Step::Announced, Step::Refused], Completed, 0, false);
    check(&[Step::Announced, Step::Input, Step::Turn, Step::Turn, done()], Completed, 2, false);
    check(&[Step::Announced, Step::Input, Step::Ended(EndReason::Limit)], Failed, 0, false);
    check(&[Step::Announced, Step::Input, Step::Ended(failed("x")), Step::Over], Failed, 0, false);
    check(&[Step::Announced, Step::Input, done(), Step::Over], Closed, 0, false);
    // Between an order and the child's first event it does not look idle.
    check(&[Step::Announced, Step::Input, done(), Step::Announced], Running, 0, false);
    // Somebody else gave it an input too.
    check(&[Step::Announced, Step::Input, Step::Input, done()], Running, 0, false);
    check(&[Step::Input], Running, 0, false);
    check(&[Step::Input, done()], Completed, 0, false);
    // A message that it has read, one that it has not, and ones that wait for its next input.
    check(&[Step::Announced, Step::Input, Step::Addressed, Step::Heard, done()], Completed, 0, false);
    check(&[Step::Announced, Step::Input, Step::Addressed, done()], Running, 0, true);
    check(&[Step::Announced, Step::Input, Step::Addressed, Step::Ended(failed("x"))], Failed, 0, false);
    check(&[Step::Announced, Step::Announced, Step::Input, Step::Addressed, done()], Running, 0, false);
    // One that is idle is not addressed.
    check(&[Step::Addressed, Step::Announced, Step::Input, done()], Completed, 0, false);
}

/// An agent that notes what it is told, and does what its commands make of it.
struct Puppet {
    log: EventLog,
    told: Mutex<Vec<Command>>,
    panics_at: Option<&'static str>,
    closes: AtomicU32,
}

impl Agent for Puppet {
    fn abilities(&self) -> Abilities {
        Abilities {
            steer: Steer::Now,
            approve: Approve::No,
            resume: false,
            interrupt: true,
            follow_up: true,
            compact: false,
        }
    }

    fn log(&self) -> &EventLog {
        &self.log
    }

    fn send(&self, command: Command) -> Fut<'_, Result<Ack, AgentError>> {
        Box::pin(async move {
            assert_ne!(self.panics_at, Some("send"), "no idea");
            self.told.lock().unwrap().push(command.clone());
            match command {
                Command::Submit { input } | Command::FollowUp { input } => {
                    self.log.emit(Body::UserInput { input, pictures: None }).await?;
                    Ok(Ack::Started)
                }
                // It was done already, and the message stays where it is.
                Command::Steer { .. } => {
                    self.log.emit(Body::InputEnd { reason: EndReason::Done, text: "".into() }).await?;
                    Ok(Ack::Queued)
                }
                _ => Err(AgentError::unsupported("do that")),
            }
        })
    }

    fn close(&self) -> Fut<'_, Outcome> {
        Box::pin(async move {
            assert_ne!(self.panics_at, Some("close"), "no end");
            if self.closes.fetch_add(1, Ordering::Relaxed) == 0 {
                self.log.emit(over()).await.unwrap();
            }
            Outcome { reason: EndReason::Done, text: String::new() }
        })
    }
}

/// Makes puppets.
#[derive(Default)]
struct Stage {
    panics_at: Option<&'static str>,
    made: Mutex<Vec<Arc<Puppet>>>,
}

impl Spawner for Stage {
    fn spawn(&self, _spec: AgentSpec, parent: Parent) -> Fut<'_, Result<Arc<dyn Agent>, AgentError>> {
        Box::pin(async move {
            assert_ne!(self.panics_at, Some("spawn"), "no agent");
            let log = parent.log.unwrap().child();
            let puppet =
                Puppet { log, told: Mutex::default(), panics_at: self.panics_at, closes: AtomicU32::new(0) };
            let puppet = Arc::new(puppet);
            self.made.lock().unwrap().push(Arc::clone(&puppet));
            Ok(puppet as Arc<dyn Agent>)
        })
    }
}

fn family(stage: &Arc<Stage>) -> (Arc<Family>, Arc<Totals>) {
    let totals = Arc::new(Totals::default());
    let family = Family::new(Home {
        spawner: Some(Arc::clone(stage) as _),
        log: EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH)),
        depth: 0,
        max_depth: 1,
        max_children: 2,
        budget: Arc::new(Unlimited),
        totals: Arc::clone(&totals),
        cancel: CancellationToken::new(),
        born: 0,
    });
    (Arc::new(family), totals)
}

fn errand() -> Errand {
    let env = Arc::new(LocalEnvironment::new("/").unwrap());
    Errand { spec: AgentSpec::default(), task: "task".into(), env, call: CallId("c".into()) }
}

#[tokio::test]
async fn a_message_that_comes_too_late_is_worked_on_all_the_same() {
    let stage = Arc::new(Stage::default());
    let (family, totals) = family(&stage);
    let child = family.spawn(errand()).await.unwrap();
    assert_eq!(child.tell("Turn left", When::Round).await.unwrap(), Taken::Steered);
    let puppet = Arc::clone(&stage.made.lock().unwrap()[0]);
    let mut events = puppet.log.subscribe(junto_core::Seq::START);
    let mut inputs = 0;
    while inputs < 2 {
        if let junto_core::Item::Event(event) = events.next().await.unwrap() {
            inputs += u32::from(event.body.name() == "user_input");
        }
    }
    assert!(child.is_running());
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert_eq!(family.wait(&[Arc::clone(&child)], Until::All, None, &cancel).await, Waited::Interrupted);
    let told: Vec<Command> = puppet.told.lock().unwrap().clone();
    assert!(
        matches!(&told[..], [Command::Submit { .. }, Command::Steer { .. }, Command::FollowUp { .. }]),
        "{told:?}"
    );
    family.close().await;
    assert_eq!(totals.get().0.total, 5, "what it used is booked");
    assert!(family.all().is_empty() && family.spawn(errand()).await.is_ok(), "its place is free");
    family.close().await;
}

/// Also those count that are not there yet.
#[tokio::test]
async fn whoever_is_one_too_many_is_told_who_is_there() {
    let stage = Arc::new(Stage::default());
    let (family, _) = family(&stage);
    let all = futures_util::future::join_all((0..3).map(|_| family.spawn(errand()))).await;
    let refused: Vec<_> = all.into_iter().filter_map(Result::err).collect();
    let [refused] = &refused[..] else { panic!("{refused:?}") };
    let hint = refused.hint().unwrap();
    let named = hint.strip_prefix("close_agent ends those that are no longer needed: ").unwrap();
    assert!(!named.is_empty(), "{hint}");
    family.close().await;
}

#[tokio::test]
async fn an_agent_that_crashes_is_an_error() {
    for (panics_at, left) in [("spawn", 0), ("send", 0), ("close", 1)] {
        let stage = Arc::new(Stage { panics_at: Some(panics_at), ..Stage::default() });
        let (family, _) = family(&stage);
        let spawned = family.spawn(errand()).await;
        assert_eq!(spawned.is_err(), left == 0, "{panics_at}");
        assert_eq!(family.all().len(), left, "{panics_at}");
        family.close().await;
        if let Ok(child) = spawned {
            assert_eq!(
                child.report().why().unwrap(),
                "failed: the agent crashed: assertion `left != right` failed: no end\n  left: Some(\"close\")\n right: Some(\"close\")"
            );
        }
    }
}

#[test]
fn long_answers_share_the_room() {
    let report = |name: &str, text: &str| Report::done(name, text);
    assert_eq!(reports(&[report("agent-1", "")]), "agent-1: completed (success: true, turns used: 1)");
    let long = "x".repeat(30_000);
    let alone = reports(&[report("agent-1", &long)]);
    assert!(alone.ends_with(&long), "the loop cuts what is one answer");
    let both = reports(&[report("agent-1", &long), report("agent-2", "short"), report("agent-3", &long)]);
    assert!(both.chars().count() < 14_500 && both.contains("turns used: 1)\nshort\n\n"), "{}", both.len());
    assert!(both.ends_with("[to read the whole answer, wait for agent-3 alone]"), "{both}");
}
