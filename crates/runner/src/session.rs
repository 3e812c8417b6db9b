//! The task that owns a session: fed by commands, one process for each input.

mod account;
mod attempt;
mod input;
mod progress;
mod thread;

use std::collections::VecDeque;
use std::sync::Arc;

use junto_core::{
    Ack, AgentError, AgentErrorKind, Body, Change, Command, EndReason, EventError, EventLog, Input,
    JournalError, Limits, Mode, Outcome,
};
use junto_env::RealPath;
use junto_llm::{Budget, Cost, Error, Usage, Usd};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) use self::account::{booked, last_turn, priced};
pub(crate) use self::thread::Thread;
use crate::failure::invalid;
use crate::{Definition, Detail, Host, Invocation, Purpose};

/// How many inputs may wait for their turn.
const WAITING: usize = 32;

/// A command, and who waits for what becomes of it.
pub(crate) struct Told {
    pub(crate) command: Command,
    pub(crate) reply: oneshot::Sender<Result<Ack, AgentError>>,
}

/// The state of a session.
pub(crate) struct Session {
    pub(crate) definition: Arc<Definition>,
    pub(crate) host: Host,
    pub(crate) mode: Mode,
    pub(crate) model: Option<String>,
    pub(crate) limits: Limits,
    pub(crate) cwd: Option<RealPath>,
    pub(crate) depth: u8,
    pub(crate) budget: Arc<dyn Budget>,
    pub(crate) log: EventLog,
    /// Ends when the agent is dropped; so does the session.
    pub(crate) commands: mpsc::Receiver<Told>,
    /// Ends the session, with grace.
    pub(crate) close: CancellationToken,
    /// Ends the session at once.
    pub(crate) kill: CancellationToken,
    /// The command's own session.
    pub(crate) thread: Thread,
    /// Whether the log has what brings that session back, since this agent began.
    pub(crate) handled: bool,
    /// Sees off a process that said its last word and did not end.
    pub(crate) lingering: Option<JoinHandle<()>>,
    pub(crate) totals: Totals,
    /// Inputs for later.
    pub(crate) waiting: VecDeque<Input>,
}

/// What the session used so far.
#[derive(Default)]
pub(crate) struct Totals {
    turns: u32,
    usage: Usage,
    /// Absent as long as nothing was spent.
    cost: Option<Cost>,
}

impl Totals {
    /// Those of a session that goes on.
    pub(crate) fn after(usage: Usage, cost: Cost) -> Self {
        Self { turns: 0, usage, cost: Some(cost) }
    }

    fn spend(&mut self, cost: Cost) {
        self.cost = Some(self.cost.map_or(cost, |sum| sum + cost));
    }
}

/// What a command means for the process that works on an input.
enum Meant {
    /// Nothing: it was dealt with.
    Nothing,
    /// Its turn is to end.
    Interrupt,
    /// It is to be told something; somebody waits to hear whether it was.
    Steer(Input, Reply),
}

impl Session {
    /// Whether the arguments of an input's process can be put together.
    pub(crate) fn check_arguments(&self) -> Result<(), Error> {
        self.definition.command_line(&self.invocation(None, None)).map(drop)
    }

    /// Works on inputs until the session is to end, and writes its end.
    pub(crate) async fn run(mut self) -> Outcome {
        let mut outcome = Outcome { reason: EndReason::Done, text: String::new() };
        while let Some((input, reply)) = self.next_input().await {
            match self.work(input, reply).await {
                Ok(ended) => outcome = ended,
                Err(error) => {
                    self.see_off().await;
                    return broken(&error);
                }
            }
        }
        self.see_off().await;
        let end = Body::SessionEnd {
            reason: outcome.reason.clone(),
            usage: self.totals.usage.clone(),
            cost: self.totals.cost.unwrap_or(Cost::Reported(Usd::ZERO)),
        };
        match self.log.commit(end).await {
            Ok(_) => outcome,
            Err(error) => broken(&error),
        }
    }

    /// Waits for something to work on; `None` once the session is to end.
    async fn next_input(&mut self) -> Option<(Input, Option<Reply>)> {
        loop {
            if self.kill.is_cancelled() || self.close.is_cancelled() {
                return None;
            }
            if let Some(input) = self.waiting.pop_front() {
                return Some((input, None));
            }
            let told = tokio::select! {
                biased;
                () = self.kill.cancelled() => return None,
                () = self.close.cancelled() => return None,
                told = self.commands.recv() => told?,
            };
            let Told { command, reply } = told;
            let answer = match command {
                Command::Submit { input } | Command::FollowUp { input } => match checked(&input) {
                    Ok(()) => return Some((input, Some(reply))),
                    Err(error) => Err(error),
                },
                Command::Interrupt => {
                    Err(AgentError::new(AgentErrorKind::WrongState, "there is nothing to interrupt"))
                }
                Command::Abort => {
                    self.close.cancel();
                    Ok(Ack::Done)
                }
                command => self.anytime(command),
            };
            // Whoever does not wait for the answer does not need it.
            let _ = reply.send(answer);
        }
    }

    /// Waits for a process that still lingers. Its task ends at once when the session is killed.
    async fn see_off(&mut self) {
        if let Some(lingering) = self.lingering.take() {
            // A task that panicked has dropped its process, which kills it.
            let _ = lingering.await;
        }
    }

    /// Takes a command while an input is worked on.
    fn meanwhile(&mut self, Told { command, reply }: Told) -> Meant {
        let meant = if command == Command::Interrupt { Meant::Interrupt } else { Meant::Nothing };
        let wrong_state = |message| Err(AgentError::new(AgentErrorKind::WrongState, message));
        let answer = match command {
            Command::Steer { input, .. } if self.is_steerable() => match checked(&input) {
                Ok(()) => return Meant::Steer(input, reply),
                Err(error) => Err(error),
            },
            Command::Submit { .. } => wrong_state("it is busy with another input")
                .map_err(|e| e.with_hint("send a follow-up, or interrupt it first")),
            Command::FollowUp { .. } if self.waiting.len() >= WAITING => {
                let message = format!("{WAITING} inputs are waiting already");
                Err(AgentError::new(AgentErrorKind::Limit, message))
            }
            Command::FollowUp { input } => checked(&input).map(|()| {
                self.waiting.push_back(input);
                Ack::Queued
            }),
            Command::Interrupt => Ok(Ack::Started),
            Command::Abort => {
                self.close.cancel();
                Ok(Ack::Started)
            }
            command => self.anytime(command),
        };
        let _ = reply.send(answer);
        meant
    }

    fn is_steerable(&self) -> bool {
        self.host.can_steer(&self.definition)
    }

    /// Commands to which the answer is the same, busy or not.
    fn anytime(&mut self, command: Command) -> Result<Ack, AgentError> {
        match command {
            Command::Configure { change } if only_the_model(&change) => {
                let Some(model) = change.model else { return Ok(Ack::Done) };
                let before = self.model.replace(model);
                self.check_arguments().map(|()| Ack::Done).map_err(|e| {
                    self.model = before;
                    invalid(&e)
                })
            }
            Command::Configure { .. } => Err(AgentError::unsupported("change more than its model")),
            Command::Steer { .. } if self.is_steerable() => {
                Err(AgentError::new(AgentErrorKind::WrongState, "there is nothing to steer"))
            }
            Command::Steer { .. } => Err(AgentError::unsupported("be steered while it works")),
            Command::Compact => Err(AgentError::unsupported("be told when to make its conversation shorter")),
            Command::Answer { .. } | Command::Reply { .. } => {
                Err(AgentError::unsupported("ask, so there is nothing to answer"))
            }
            Command::Submit { .. } | Command::FollowUp { .. } | Command::Interrupt | Command::Abort => {
                Err(AgentError::new(AgentErrorKind::WrongState, "not now"))
            }
        }
    }

    /// Works on one input, from its `user_input` to its `input_end`.
    async fn work(&mut self, input: Input, reply: Option<Reply>) -> Result<Outcome, JournalError> {
        self.log.begin_turn();
        let prompt = input.text.clone();
        self.log.commit(Body::UserInput { input, pictures: None }).await?;
        if let Some(reply) = reply {
            let _ = reply.send(Ok(Ack::Started));
        }
        let outcome = match self.limit_reached() {
            Some((limit, reached)) => {
                self.log.emit(Body::TurnLimit { limit, reached }).await?;
                Outcome { reason: EndReason::Limit, text: String::new() }
            }
            None => self.process(&prompt).await?,
        };
        let (reason, text) = (outcome.reason.clone(), outcome.text.clone().into());
        self.log.commit(Body::InputEnd { reason, text }).await?;
        Ok(outcome)
    }

    fn invocation(&self, max_turns: Option<u32>, max_usd: Option<Usd>) -> Invocation<'_> {
        let options = &self.definition.options;
        Invocation {
            model: self.model.as_deref(),
            resume: self.thread.id.as_deref(),
            told: self.thread.told.as_deref(),
            steerable: self.is_steerable(),
            // Turns are counted here, too; a command that cannot be told is held to them between its runs.
            max_turns: max_turns.filter(|_| !options.max_turns.is_empty()),
            max_usd,
            ..self.host.invocation(Purpose::Work(self.mode), Detail::Deltas)
        }
    }

    /// How often the next process may call the model: after each round of tools once more, and no
    /// more often than the session may.
    fn turns_left(&self) -> Option<u32> {
        let Limits { max_turns, max_tool_rounds } = self.limits;
        let session = (max_turns != 0).then(|| max_turns.saturating_sub(self.totals.turns));
        let input = (max_tool_rounds != 0).then(|| max_tool_rounds.saturating_add(1));
        session.into_iter().chain(input).min()
    }

    fn limit_reached(&self) -> Option<(String, u32)> {
        let limit = self.limits.max_turns;
        (limit != 0 && self.totals.turns >= limit).then(|| ("max_turns".to_owned(), self.totals.turns))
    }
}

type Reply = oneshot::Sender<Result<Ack, AgentError>>;

fn checked(input: &Input) -> Result<(), AgentError> {
    if !input.images.is_empty() {
        return Err(AgentError::unsupported("look at pictures that come with an input"));
    }
    if input.text.trim().is_empty() {
        return Err(AgentError::new(AgentErrorKind::Invalid, "the input is empty"));
    }
    Ok(())
}

/// The end of a session whose journal failed: nothing can be written any more.
fn broken(error: &JournalError) -> Outcome {
    let error = EventError::from(&AgentError::from(error.clone()));
    Outcome { reason: EndReason::Failed { error }, text: String::new() }
}

fn only_the_model(change: &Change) -> bool {
    *change == Change { model: change.model.clone(), ..Change::default() }
}
