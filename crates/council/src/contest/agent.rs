//! A contest as an agent: its members are its children.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use junto_core::{
    Abilities, Ack, Agent, AgentError, AgentErrorKind, AgentId, Approve, Body, Command, EndReason,
    EventError, EventLog, Fut, Input, JournalError, Outcome, Parent, Steer,
};
use junto_llm::{Cost, Usage, Usd};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::hold::hold;
use super::member::{Household, Living};
use super::{ContestSetup, Error, ErrorKind, Record, Report};

/// How many commands may wait to be looked at.
const COMMANDS: usize = 16;

/// A council of agents: each input is a run, whose members work side by side and are judged by the tests.
///
/// Its answer says how the candidates did and who won; what the winner changed is in the run's [`Record`], and
/// nothing of it is in the user's tree. An input that nobody's candidate passes ends as failed, with the same
/// answer. It can be interrupted: what its members had done until then is kept.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use junto_core::{AgentError, EventLog, Parent};
/// # use junto_council::contest::Crew;
/// # async fn example(crew: Arc<dyn Crew>, parent: Parent, log: EventLog) -> Result<(), AgentError> {
/// use junto_core::{Agent as _, AgentSpec, Command, Input};
/// use junto_council::contest::{Contest, ContestSetup, Member, Runs};
///
/// let member = |kind: &str| Member {
///     name: kind.into(),
///     spec: AgentSpec { kind: kind.into(), ..AgentSpec::default() },
/// };
/// let members = vec![member("claude"), member("codex")];
/// let setup = ContestSetup::new("project", Runs::new("state/contests"), crew, members);
/// let contest = Contest::start(setup, parent, log).await?;
/// contest.send(Command::Submit { input: Input::text("Fix the failing test.") }).await?;
/// # Ok(())
/// # }
/// ```
///
/// Closing or dropping it stops its members. The processes that they and the oracle started end with them.
pub struct Contest {
    log: EventLog,
    commands: mpsc::Sender<Told>,
    living: Living,
    latest: Latest,
    /// Ends the session.
    close: CancellationToken,
    _dropped: DropGuard,
    /// Set by the session's task when all is over.
    outcome: watch::Receiver<Option<Outcome>>,
}

/// A command, and who waits for what becomes of it.
struct Told {
    command: Command,
    reply: oneshot::Sender<Result<Ack, AgentError>>,
}

/// The latest run, as it stands.
#[derive(Clone, Default)]
struct Latest(Arc<Mutex<Option<Record>>>);

impl Latest {
    fn get(&self) -> MutexGuard<'_, Option<Record>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contest {
    /// What a contest can be asked to do. Its members may be able to do more, each by itself.
    pub const ABILITIES: Abilities = Abilities {
        steer: Steer::No,
        approve: Approve::No,
        resume: false,
        interrupt: true,
        follow_up: true,
        compact: false,
    };

    /// Begins a session. No member is started before the first input.
    ///
    /// # Errors
    /// `invalid` if there are no members, or too many candidates are asked for; `journal` if the log cannot be
    /// written.
    pub async fn start(mut setup: ContestSetup, parent: Parent, log: EventLog) -> Result<Self, AgentError> {
        setup.lineup().map_err(|error| AgentError::from(&error))?;
        let latest = Latest::default();
        setup.report = Some(remembering(latest.clone(), setup.report.take()));
        let start = Body::SessionStart {
            kind: setup.kind.clone(),
            model: None,
            workdir: Some(setup.directory.display().to_string()),
            abilities: Self::ABILITIES,
            setup: None,
        };
        log.emit(start).await?;
        let (commands, inbox) = mpsc::channel(COMMANDS);
        let (ended, outcome) = watch::channel(None);
        let close = parent.cancel.child_token();
        let living = Living::default();
        let household = Household {
            log: log.clone(),
            living: living.clone(),
            budget: parent.budget,
            // A contest is no level of its own: its members work in its place.
            depth: parent.depth,
        };
        let session = Session {
            setup,
            household,
            commands: inbox,
            close: close.clone(),
            latest: latest.clone(),
            usage: Usage::default(),
            cost: Cost::Reported(Usd::ZERO),
        };
        tokio::spawn(async move {
            let outcome = session.run().await;
            ended.send_replace(Some(outcome));
        });
        let dropped = close.clone().drop_guard();
        Ok(Self { log, commands, living, latest, close, _dropped: dropped, outcome })
    }

    /// The latest run, as it stands; none before the first.
    pub fn record(&self) -> Option<Record> {
        self.latest.get().clone()
    }
}

/// Keeps the latest record, and tells whoever wanted to know before.
fn remembering(latest: Latest, told: Option<Report>) -> Report {
    Arc::new(move |record: &Record| {
        *latest.get() = Some(record.clone());
        if let Some(told) = &told {
            told(record);
        }
    })
}

impl Agent for Contest {
    fn abilities(&self) -> Abilities {
        Self::ABILITIES
    }

    fn log(&self) -> &EventLog {
        &self.log
    }

    fn send(&self, command: Command) -> Fut<'_, Result<Ack, AgentError>> {
        Box::pin(async move {
            // Whoever hosts a contest sees its members' questions, and answers where it heard them.
            if matches!(command, Command::Answer { .. } | Command::Reply { .. }) {
                return self.living.answer(&command).await;
            }
            let (reply, answer) = oneshot::channel();
            let told = Told { command, reply };
            self.commands.send(told).await.map_err(|_| AgentError::closed())?;
            answer.await.unwrap_or_else(|_| Err(AgentError::closed()))
        })
    }

    fn close(&self) -> Fut<'_, Outcome> {
        Box::pin(async move {
            self.close.cancel();
            self.ended().await
        })
    }

    fn ended(&self) -> Fut<'_, Outcome> {
        Box::pin(async move {
            let mut outcome = self.outcome.clone();
            let ended = outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
            ended.unwrap_or_else(|| failed(&AgentError::closed()))
        })
    }

    fn child(&self, id: &AgentId) -> Option<Arc<dyn Agent>> {
        self.living.find(id)
    }
}

/// The task that owns a contest.
struct Session {
    setup: ContestSetup,
    household: Household,
    /// Ends when the contest is dropped; so does the session.
    commands: mpsc::Receiver<Told>,
    close: CancellationToken,
    latest: Latest,
    usage: Usage,
    cost: Cost,
}

impl Session {
    async fn run(mut self) -> Outcome {
        let mut outcome = Outcome { reason: EndReason::Done, text: String::new() };
        while let Some((input, reply)) = self.next_input().await {
            match self.work(input, reply).await {
                Ok(ended) => outcome = ended,
                Err(error) => return failed(&error.into()),
            }
        }
        let (usage, cost, reason) = (self.usage, self.cost, outcome.reason.clone());
        match self.household.log.commit(Body::SessionEnd { reason, usage, cost }).await {
            Ok(_) => outcome,
            Err(error) => failed(&error.into()),
        }
    }

    /// Waits for something to work on; `None` once the session is to end.
    async fn next_input(&mut self) -> Option<(Input, Reply)> {
        loop {
            let told = tokio::select! {
                biased;
                () = self.close.cancelled() => return None,
                told = self.commands.recv() => told?,
            };
            let Told { command, reply } = told;
            let answer = match command {
                Command::Submit { input } | Command::FollowUp { input } => match checked(&input) {
                    Ok(()) => return Some((input, reply)),
                    Err(error) => Err(error),
                },
                Command::Interrupt => wrong_state("there is nothing to interrupt"),
                Command::Abort => {
                    self.close.cancel();
                    Ok(Ack::Done)
                }
                command => cannot(&command),
            };
            // Whoever does not wait for the answer does not need it.
            let _ = reply.send(answer);
        }
    }

    /// Works on one input, from its `user_input` to its `input_end`.
    async fn work(&mut self, input: Input, reply: Reply) -> Result<Outcome, JournalError> {
        let log = self.household.log.clone();
        log.begin_turn();
        let task = input.text.clone();
        log.commit(Body::UserInput { input, pictures: None }).await?;
        let _ = reply.send(Ok(Ack::Started));
        *self.latest.get() = None;
        let stop = self.close.child_token();
        let held = {
            let mut held = hold(&self.setup, &self.household, &task, &stop);
            loop {
                tokio::select! {
                    biased;
                    held = &mut held => break held,
                    told = self.commands.recv(), if !stop.is_cancelled() => match told {
                        Some(told) => meanwhile(told, &stop, &self.close),
                        None => stop.cancel(),
                    },
                }
            }
        };
        if held.is_err() {
            // It was never kept.
            *self.latest.get() = None;
        }
        let outcome = match held {
            Ok(record) => {
                self.book(&record);
                let diff =
                    record.winner.and_then(|winner| self.setup.runs.diff_file(&record.run, winner).ok());
                told(&record, diff)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                Outcome { reason: EndReason::Interrupted, text: String::new() }
            }
            Err(error) => {
                Outcome { reason: EndReason::Failed { error: event_error(&error) }, text: String::new() }
            }
        };
        if !outcome.text.is_empty() {
            let of = log.emit(Body::AssistantTextStart {}).await?;
            log.emit(Body::AssistantTextEnd { of, text: outcome.text.clone().into() }).await?;
        }
        let (reason, text) = (outcome.reason.clone(), outcome.text.clone().into());
        log.commit(Body::InputEnd { reason, text }).await?;
        Ok(outcome)
    }

    fn book(&mut self, record: &Record) {
        for candidate in &record.candidates {
            self.usage += &candidate.usage;
            if let Some(cost) = candidate.cost {
                self.cost = self.cost + cost;
            }
        }
    }
}

type Reply = oneshot::Sender<Result<Ack, AgentError>>;

/// Takes a command while a run is under way.
fn meanwhile(Told { command, reply }: Told, stop: &CancellationToken, close: &CancellationToken) {
    let answer = match command {
        Command::Interrupt => {
            stop.cancel();
            Ok(Ack::Started)
        }
        Command::Abort => {
            close.cancel();
            Ok(Ack::Started)
        }
        Command::Submit { .. } | Command::FollowUp { .. } => wrong_state("it is busy with another input"),
        command => cannot(&command),
    };
    let _ = reply.send(answer);
}

fn wrong_state(message: &str) -> Result<Ack, AgentError> {
    Err(AgentError::new(AgentErrorKind::WrongState, message))
}

fn cannot(command: &Command) -> Result<Ack, AgentError> {
    let what = match command {
        Command::Steer { .. } => "be steered; its members may be, each by itself",
        Command::Compact => "be told to make a conversation shorter",
        Command::Configure { .. } => "be changed while it lives",
        _ => "do that now",
    };
    Err(AgentError::unsupported(what))
}

fn checked(input: &Input) -> Result<(), AgentError> {
    if !input.images.is_empty() {
        return Err(AgentError::unsupported("look at pictures that come with an input"));
    }
    if input.text.trim().is_empty() {
        return Err(AgentError::new(AgentErrorKind::Invalid, "the input is empty"));
    }
    Ok(())
}

/// What a run comes to.
fn told(record: &Record, diff: Option<PathBuf>) -> Outcome {
    let mut text = record.words();
    if let Some(diff) = diff {
        let _ = writeln!(text, "its diff, for `git apply`: {}", diff.display());
    }
    let reason = if record.error.is_some() {
        EndReason::Interrupted
    } else if record.winner.is_none() && record.oracle.is_some() {
        let hint = Some(format!("`junto apply {} NUMBER` takes one of them all the same", record.run));
        EndReason::Failed {
            error: EventError { kind: "no_winner".to_owned(), message: record.reason.clone(), hint },
        }
    } else {
        EndReason::Done
    };
    Outcome { reason, text }
}

fn event_error(error: &Error) -> EventError {
    EventError::from(&AgentError::from(error))
}

/// The end of a session that could not be told.
fn failed(error: &AgentError) -> Outcome {
    Outcome { reason: EndReason::Failed { error: EventError::from(error) }, text: String::new() }
}
