//! Drives a mind through an event, as a host does: by commands, reading its log.

use std::fs::File;
use std::sync::Arc;

use junto::core::{
    Action, Agent, AgentErrorKind, AgentSpec, AskId, Body, Command, Decision, Delta, Event as LogEvent, Item,
    Seq, Subscription, When,
};
use junto_testkit::cast::Who;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::checks::{End, check_world, checked, count, record};
use super::plays::{ANSWER, PROOF, STEERING};
use super::stage::{LONG, ROOT, Stage};
use super::table::{Event, Fact, Host, Mind, Why};
use super::{program, socket};

/// A mind that runs.
pub(crate) struct Run {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) stage: Stage,
    reader: Subscription,
    recorder: JoinHandle<Vec<Item>>,
    /// Holds a program at its pipe, until it is killed there.
    held: Option<File>,
}

/// Runs one cell of the library's or the gateway's column.
pub(crate) async fn run(mind: Mind, host: Host, event: Event) {
    play(Stage::new(mind, host, event).await).await;
}

/// One cell of any column with a real command-line agent.
pub(crate) async fn run_real(who: Who, mind: Mind, host: Host, event: Event) {
    let stage = Stage::with(Some(who), mind, host, event).await;
    match host {
        Host::Library | Host::Gateway => play(stage).await,
        Host::ToolSocket => socket::play(stage).await,
        Host::Program => program::play(stage).await,
    }
}

async fn play(stage: Stage) {
    let Stage { mind, host, event, program, .. } = stage;
    let agent = stage.workshop.start(spec(), CancellationToken::new()).await.unwrap();
    let mut run = Run::new(agent, stage);
    let (end, text) = match event {
        Event::Crash if run.stage.program.is_some() => run.killed().await,
        Event::Plain | Event::Tools | Event::Failure | Event::Crash => run.ask("Work").await,
        Event::Steer => run.steered().await,
        Event::Reject => run.refused().await,
        Event::Cancel => run.stopped().await,
    };
    let expected = match (mind, host, event) {
        // Nothing was handed on when it was killed: the session in front asks again. (Codex has said before that it
        // does not know the model that the gateway is asked for.)
        (Mind::Cli, Host::Gateway, Event::Crash) if matches!(program, Some(Who::Claude | Who::Gemini)) => {
            End::Done
        }
        _ => expected_end(mind, event),
    };
    assert_eq!(end, expected, "{text}");
    if goes_on(mind, event) {
        let (end, text) = run.ask("Go on").await;
        assert_eq!(end, End::Done, "{text}");
    }
    let proof = run.stage.path(PROOF);
    let events = run.finish().await;
    assert!(!proof.exists(), "what was refused did not happen");
    check_events(mind, host, event, &text, &events);
}

/// Checks that a cell that cannot apply cannot, for the reason given.
pub(crate) async fn cannot(mind: Mind, host: Host, event: Event, why: &Why) {
    // Behind the gateway the mind itself cannot be asked; it is the same mind in the library.
    let stage = Stage::new(mind, Host::Library, event).await;
    let agent = stage.workshop.start(spec(), CancellationToken::new()).await.unwrap();
    match why.fact {
        Fact::Abilities(fact) => {
            assert!(fact(&agent.abilities()), "{}: {:?}", why.text, agent.abilities());
            let command = match event {
                Event::Steer => Command::Steer { input: STEERING.into(), when: When::Round },
                _ => Command::Answer { ask: AskId("none".into()), decision: refusal() },
            };
            assert_eq!(agent.send(command).await.unwrap_err().kind(), AgentErrorKind::Unsupported);
        }
        Fact::NoToolHost => {
            let refused = stage.workshop.start_session(spec(), CancellationToken::new()).await;
            assert_eq!(refused.unwrap_err().kind(), AgentErrorKind::Invalid, "{}", why.text);
        }
        Fact::NoProvider => assert!(mind.delegates() && host == Host::Gateway, "{}", why.text),
        Fact::NoCommands => assert!(host == Host::ToolSocket && event == Event::Steer, "{}", why.text),
    }
    let run = Run::new(agent, stage);
    run.finish().await;
}

pub(crate) fn spec() -> AgentSpec {
    AgentSpec { kind: ROOT.to_owned(), ..AgentSpec::default() }
}

pub(crate) fn refusal() -> Decision {
    Decision::Reject { reason: Some("not today".into()) }
}

/// How the root's input ends. What befalls a child, or one member of a council, does not end it.
pub(crate) fn expected_end(mind: Mind, event: Event) -> End {
    match (mind, event) {
        (_, Event::Plain | Event::Tools | Event::Steer)
        | (Mind::NativeChild, Event::Reject)
        | (Mind::NativeChild | Mind::CliChild, Event::Failure | Event::Crash)
        | (Mind::Council | Mind::CouncilWithCli, Event::Crash) => End::Done,
        (_, Event::Reject) => End::Rejected,
        (_, Event::Cancel) => End::Interrupted,
        (_, Event::Failure | Event::Crash) => End::Failed,
    }
}

/// Whether the mind is asked for more afterwards: where it failed once and not for good.
fn goes_on(mind: Mind, event: Event) -> bool {
    let once = matches!(event, Event::Reject | Event::Cancel | Event::Failure | Event::Crash);
    let repeats = match mind {
        // The command does the same each time.
        Mind::Cli => true,
        // The command would wait at its pipe again, or a refused key has ended the session.
        Mind::CouncilWithCli => matches!(event, Event::Cancel | Event::Failure),
        _ => false,
    };
    once && !repeats
}

/// What the log must show of each event.
pub(crate) fn check_events(mind: Mind, host: Host, event: Event, text: &str, events: &[LogEvent]) {
    let names: Vec<&str> = events.iter().map(|event| event.body.name()).collect();
    match event {
        Event::Plain => assert!(!text.is_empty()),
        Event::Tools if host == Host::Gateway && mind == Mind::Cli => {
            assert!(count(events, "progress") > 0 || count(events, "reasoning_end") > 0, "{names:?}");
            assert_eq!(count(events, "tool_call_start"), 0, "its own tools are narration");
        }
        Event::Tools => assert!(count(events, "tool_call_end") >= 3, "{names:?}"),
        Event::Steer => assert_eq!(count(events, "steering_injected"), 1, "{names:?}"),
        Event::Reject => {
            assert_eq!(count(events, "ask"), count(events, "answered"), "{names:?}");
            // The program's own policy asks about what a child does, and not about the child.
            let about_the_child = usize::from(mind == Mind::NativeChild && host != Host::Program);
            assert_eq!(count(events, "ask"), 1 + about_the_child, "{names:?}");
        }
        Event::Cancel | Event::Failure | Event::Crash => {}
    }
    if mind.delegates() && !(mind == Mind::CliChild && event == Event::Reject) {
        assert_eq!(count(events, "child"), 1, "{names:?}");
        let of_child = |event: &&LogEvent| event.parent.is_some();
        let end = events.iter().filter(of_child).find_map(|event| match &event.body {
            Body::InputEnd { reason, .. } => Some(End::from(reason)),
            _ => None,
        });
        let expected = match event {
            Event::Plain | Event::Tools | Event::Steer => End::Done,
            Event::Reject => End::Rejected,
            Event::Cancel => End::Interrupted,
            Event::Failure | Event::Crash => End::Failed,
        };
        assert_eq!(end, Some(expected), "{names:?}");
    }
    if mind == Mind::NativeAnthropic && event == Event::Plain {
        assert_eq!(text, ANSWER);
    }
}

impl Run {
    pub(crate) fn new(agent: Arc<dyn Agent>, stage: Stage) -> Self {
        let reader = agent.log().subscribe(Seq::START);
        let recorder = tokio::spawn(record(agent.log().subscribe(Seq::START)));
        Self { agent, stage, reader, recorder, held: None }
    }

    /// Submits an input and waits for its end.
    pub(crate) async fn ask(&mut self, text: &str) -> (End, String) {
        self.submit(text).await;
        self.input_end().await
    }

    async fn submit(&self, text: &str) {
        self.agent.send(Command::Submit { input: text.into() }).await.unwrap();
    }

    /// The end of the root's input.
    async fn input_end(&mut self) -> (End, String) {
        let root = self.agent.log().agent().clone();
        let event = self.event(|event| event.agent == root && event.body.name() == "input_end").await;
        match event.body {
            Body::InputEnd { reason, text } => {
                let said = match &reason {
                    junto::core::EndReason::Failed { error } => error.message.clone(),
                    _ => text.preview(),
                };
                (End::from(&reason), said)
            }
            _ => unreachable!(),
        }
    }

    pub(crate) async fn event(&mut self, is: impl Fn(&LogEvent) -> bool) -> LogEvent {
        let found = self.until(|item| matches!(item, Item::Event(event) if is(event))).await;
        match found {
            Item::Event(event) => (*event).clone(),
            Item::Delta(_) => unreachable!(),
        }
    }

    async fn until(&mut self, is: impl Fn(&Item) -> bool) -> Item {
        let wait = async {
            loop {
                let item = self.reader.next().await.unwrap();
                if is(&item) {
                    return item;
                }
            }
        };
        tokio::time::timeout(LONG, wait).await.expect("what is waited for comes")
    }

    /// Waits until a command has said that it runs.
    pub(crate) async fn command_runs(&mut self) {
        let up = |item: &Item| matches!(item, Item::Delta(Delta::ToolCallOutputDelta { text, .. }) if text.contains("up"));
        self.until(up).await;
    }

    /// Waits until somebody has begun to write an answer.
    pub(crate) async fn talking(&mut self) {
        self.until(|item| matches!(item, Item::Delta(Delta::AssistantTextDelta { .. }))).await;
    }

    /// A message while it works; it must reach the model that is asked next.
    async fn steered(&mut self) -> (End, String) {
        self.submit("Work").await;
        let by_command = matches!(self.stage.mind, Mind::Cli | Mind::CliChild);
        if !by_command {
            self.command_runs().await;
        }
        let pipe = self.stage.at_pipe(if by_command { "pipe" } else { "go" }).await;
        self.agent.send(Command::Steer { input: STEERING.into(), when: When::Round }).await.unwrap();
        drop(pipe);
        self.event(|event| event.body.name() == "steering_injected").await;
        if self.stage.mind == Mind::Cli {
            drop(self.stage.at_pipe("pipe").await);
        }
        let end = self.input_end().await;
        self.stage.check_steered();
        end
    }

    /// Allows a native child to be started, and nothing else.
    async fn refused(&mut self) -> (End, String) {
        self.submit("Work").await;
        self.answer_questions().await;
        self.input_end().await
    }

    pub(crate) async fn answer_questions(&mut self) {
        loop {
            let Body::Ask { request } = self.event(|event| event.body.name() == "ask").await.body else {
                unreachable!()
            };
            let starts = matches!(&request.actions[..], [Action::Spawn { .. }]);
            let allow = starts && self.stage.mind == Mind::NativeChild;
            let decision = if allow { Decision::Allow { remember: None } } else { refusal() };
            self.agent.send(Command::Answer { ask: request.ask, decision }).await.unwrap();
            if !allow {
                return;
            }
        }
    }

    /// Interrupts it in the middle of its work.
    async fn stopped(&mut self) -> (End, String) {
        self.submit("Work").await;
        match self.stage.mind {
            _ if self.stage.program.is_some() => self.models_are_asked().await,
            Mind::Cli | Mind::CliChild => self.talking().await,
            Mind::CouncilWithCli => {
                self.stage.twins[0].wait_for_requests(1).await;
                self.held = Some(self.stage.at_pipe("pipe").await);
            }
            _ => self.command_runs().await,
        }
        self.agent.send(Command::Interrupt).await.unwrap();
        self.input_end().await
    }

    /// Waits until every model has been asked.
    async fn models_are_asked(&self) {
        for twin in &self.stage.twins {
            tokio::time::timeout(LONG, twin.wait_for_requests(1)).await.expect("a request");
        }
    }

    /// Kills the command-line agent, whose model is silent.
    async fn killed(&mut self) -> (End, String) {
        self.submit("Work").await;
        self.models_are_asked().await;
        self.kill_program();
        self.input_end().await
    }

    /// Kills the real command-line agent.
    pub(crate) fn kill_program(&self) {
        let program = self.stage.program.unwrap().program();
        let all = self.stage.env.survivors();
        let own: Vec<_> = all.iter().filter(|process| process.command.contains(&program)).collect();
        assert!(!own.is_empty(), "{all:?}");
        for process in own {
            let _ = kill(Pid::from_raw(process.pid.cast_signed()), Signal::SIGKILL);
        }
    }

    /// Closes the mind, and checks what must hold in every cell.
    pub(crate) async fn finish(self) -> Vec<LogEvent> {
        let outcome = self.agent.close().await;
        assert_eq!(self.agent.close().await, outcome, "a second close gives the same");
        let events = checked(&self.recorder.await.unwrap());
        let Body::SessionEnd { reason, .. } = &events[events.len() - 1].body else { unreachable!() };
        assert_eq!(*reason, outcome.reason);
        check_world(self.stage, &events).await;
        drop(self.held);
        events
    }
}
