//! Runs an agent that has a name: one input after another.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use junto_core::{
    Agent, AgentError, AgentSpec, Body, Clock, Command, EventLog, Input, Item, ResumeHandle, Seq, Workdir,
};
use junto_runner::failure::Class;
use junto_store::{
    AgentInput, AgentRun, AgentSetup, Begin, Held, InputId, InputState, NamedAgent, Result, RunId, RunResult,
    SessionChange, Store, Suppression,
};
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::refresh::{self, Reason};
use super::{EndedBy, RunComplete, RunFacts, Unavailable, choose, judge};
use crate::Workshop;
use crate::workshop::not_kept;

/// How often it is looked whether somebody wants a run to stop.
const LOOK: Duration = Duration::from_millis(100);

/// The version of the handle that says whose session it is.
const HANDLE_VERSION: u32 = 1;

/// Runs an agent that has a name. As long as it is there nobody else can.
///
/// Either [`NamedHost::work`] does everything, or a host of its own goes through it step by step:
/// [`NamedHost::next`], [`NamedHost::begin`], then it starts an agent of the plan's spec, tells
/// [`NamedHost::started`] its log, gives it the input, and hands what came of it to [`NamedHost::finish`].
#[derive(Debug)]
pub struct NamedHost {
    held: Held,
    fallback: Vec<String>,
    /// Where the user is.
    zone: TimeZone,
    /// Whose programs could not be started for the last input, though they seemed to be there.
    missing: Mutex<Missing>,
}

/// Providers whose programs could not be started for an input.
#[derive(Debug, Default)]
struct Missing {
    input: Option<InputId>,
    providers: Vec<String>,
}

/// What there is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// This.
    Run(Box<Plan>),
    /// Something that nobody can do now. It waits.
    Nobody {
        /// What.
        input: AgentInput,
        /// Why not.
        unavailable: Vec<Unavailable>,
    },
    /// Nothing that is due.
    Nothing,
}

/// How an input is going to be worked on.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The agent, as it is set up.
    pub agent: NamedAgent,
    /// The input.
    pub input: AgentInput,
    /// Who does the work.
    pub provider: String,
    /// The providers that should have, and cannot.
    pub passed: Vec<Unavailable>,
    /// Why a new conversation is begun; absent: the last one goes on.
    pub fresh: Option<Reason>,
    /// What to start.
    pub spec: AgentSpec,
}

/// A run that has begun.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// How it works.
    pub plan: Plan,
    /// Its row.
    pub run: RunId,
    started: Timestamp,
}

/// A run that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// For the log.
    pub complete: RunComplete,
    /// Where its input stands now.
    pub input: InputState,
    /// Why its conversation is over, if it is.
    pub refreshed: Option<Reason>,
    /// Whether its provider could have answered nobody and had begun nothing, so that another may take the same input
    /// at once.
    pub unavailable: bool,
    /// That its provider is set aside, if it is.
    pub suppression: Option<Suppression>,
    /// The answer.
    pub text: String,
}

impl NamedHost {
    /// Takes the right to run an agent. What a dead process left under way has failed then; what its journal
    /// tells of its conversation is kept.
    ///
    /// # Errors
    /// `not_found`; `locked` while another process has it.
    pub fn take(store: &Store, name: &str, now: Timestamp) -> Result<Self> {
        let held = store.agents()?.take(name, now)?;
        for run in held.left() {
            let facts = told_by_journal(store, run);
            let session = match &facts.handle {
                Some(handle) => SessionChange::Set(handle.clone(), facts.context),
                None => SessionChange::Keep,
            };
            let RunFacts { session: id, usage, cost, .. } = facts;
            held.amend(
                run.id,
                &RunResult { session: id, usage, cost, ..RunResult::default() },
                &session,
                now,
            )?;
        }
        Ok(Self { held, fallback: Vec::new(), zone: TimeZone::UTC, missing: Mutex::default() })
    }

    /// The same, with providers that take over for agents that name none themselves.
    #[must_use]
    pub fn with_fallback(mut self, providers: Vec<String>) -> Self {
        self.fallback = providers;
        self
    }

    /// The same for a user in this zone, in which commands name the times at which they can be asked again. Else it
    /// is UTC.
    #[must_use]
    pub fn in_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    /// The right to run it.
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// What there is to do now, and how. Nothing changes by it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn next(&self, is_installed: &dyn Fn(&str) -> bool, now: Timestamp) -> Result<Next> {
        let Some(input) = self.held.next(now)? else { return Ok(Next::Nothing) };
        let agent = self.held.agent()?;
        let agents = self.held.agents();
        let fallback = agent.setup.fallback.as_ref().unwrap_or(&self.fallback);
        let wanted: Vec<&str> =
            std::iter::once(&agent.setup.provider).chain(fallback).map(String::as_str).collect();
        let is_there = |provider: &str| is_installed(provider) && !self.is_missing(input.id, provider);
        let (provider, passed) = match choose(&wanted, &agents.suppressed(now)?, &is_there) {
            Ok((provider, passed)) => (provider.to_owned(), passed),
            Err(unavailable) => return Ok(Next::Nobody { input, unavailable }),
        };
        // Another's conversation is of no use, and of its own only one that may go on.
        let session = agents.sessions(&agent.name)?.into_iter().find(|session| session.provider == provider);
        let fresh = match &session {
            None => Some(Reason::NoSession),
            Some(session) => refresh::before_run(&agent.setup.refresh, session, now),
        };
        let resume = session.filter(|_| fresh.is_none()).map(|session| session.handle);
        let mut spec = spec(&agent.setup, &provider, resume);
        spec.directories.insert(0, agents.folder(&agent.name));
        Ok(Next::Run(Box::new(Plan { agent, input, provider, passed, fresh, spec })))
    }

    /// Begins a run: its input is leased to it. The agent has its own folder then, also if somebody removed it.
    ///
    /// # Errors
    /// If it cannot be written, or the input was taken back meanwhile.
    pub fn begin(&self, plan: Plan, now: Timestamp) -> Result<Turn> {
        self.held.agents().make_folder(&plan.agent.name)?;
        let begin = Begin {
            input: plan.input.id,
            provider: plan.provider.clone(),
            model: plan.spec.model.clone(),
            fresh: plan.fresh.map(|reason| reason.to_string()),
        };
        let run = self.held.begin(&begin, now)?;
        Ok(Turn { plan, run, started: now })
    }

    /// Takes note of the log of a run's agent, and writes there whose it is.
    ///
    /// # Errors
    /// If either cannot be written.
    pub async fn started(&self, turn: &Turn, log: &EventLog) -> std::result::Result<(), AgentError> {
        self.held.has_journal(turn.run, log.session()).map_err(|error| not_kept(&error))?;
        let data = json!({"agent": turn.plan.agent.name, "run": turn.run.0});
        let handle = ResumeHandle { kind: junto_store::NAMED.to_owned(), v: HANDLE_VERSION, data };
        log.emit(Body::Handle { handle }).await?;
        Ok(())
    }

    /// Ends a run.
    ///
    /// # Errors
    /// If it cannot be written; then nothing has changed, and the next process finds the run under way.
    pub fn finish(&self, turn: &Turn, facts: &RunFacts, by: EndedBy, now: Timestamp) -> Result<Finished> {
        let Plan { agent, input, provider, .. } = &turn.plan;
        // As it is set up now: somebody may have changed it meanwhile.
        let policy = self.held.agent()?.setup.refresh;
        let here = now.to_zoned(self.zone.clone());
        let (finish, refreshed) = judge(&policy, provider, input.attempts, facts, by, &here);
        let state = self.held.finish(turn.run, &finish, now)?;
        if facts.class == Some(Class::NotInstalled) {
            self.misses(input.id, provider);
        }
        let complete = RunComplete {
            at: now,
            agent: agent.name.clone(),
            run: turn.run,
            status: finish.status,
            duration: now.duration_since(turn.started),
            context: finish.result.context,
            usage: finish.result.usage,
            error: finish.result.error,
        };
        let (text, suppression) = (finish.result.text, finish.suppression);
        let unavailable = facts.gives_way();
        Ok(Finished { complete, input: state, refreshed, unavailable, suppression, text })
    }

    /// Whether a program could not be started for this input. The next input looks again.
    fn is_missing(&self, input: InputId, provider: &str) -> bool {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.input == Some(input) && missing.providers.iter().any(|known| known == provider)
    }

    fn misses(&self, input: InputId, provider: &str) {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if missing.input != Some(input) {
            *missing = Missing { input: Some(input), providers: Vec::new() };
        }
        missing.providers.push(provider.to_owned());
    }

    /// Ends a run that did not start.
    ///
    /// # Errors
    /// As [`NamedHost::finish`].
    pub fn not_started(&self, turn: &Turn, error: &AgentError, now: Timestamp) -> Result<Finished> {
        let reason = junto_core::EndReason::Failed { error: error.into() };
        self.finish(turn, &RunFacts { end: Some(reason), ..RunFacts::default() }, EndedBy::Itself, now)
    }

    /// Waits until somebody wants a run to stop.
    pub async fn aborted(&self, run: RunId) {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            // What cannot be read now may be at the next look.
            if self.held.is_aborted(run).unwrap_or(false) {
                return;
            }
        }
    }

    /// Works on everything that is due, one input after another, with the kinds of a workshop. Ends when nothing
    /// is due, when nobody can do it, or when somebody stops it.
    ///
    /// # Errors
    /// If what is kept cannot be read or written. A run that fails is no error.
    pub async fn work(
        &self,
        workshop: &Workshop,
        clock: &Clock,
        cancel: &CancellationToken,
    ) -> std::result::Result<Vec<Finished>, AgentError> {
        let is_installed = |provider: &str| workshop.kinds().any(|kind| kind == provider);
        let mut all = Vec::new();
        while !cancel.is_cancelled() {
            let next = self.next(&is_installed, clock()).map_err(|error| not_kept(&error))?;
            let Next::Run(plan) = next else { break };
            let turn = self.begin(*plan, clock()).map_err(|error| not_kept(&error))?;
            let finished = match workshop.start(turn.plan.spec.clone(), CancellationToken::new()).await {
                Ok(agent) => {
                    let by = self.follow(&turn, &agent, cancel).await?;
                    let facts = RunFacts::of_log(agent.log(), &turn.plan.provider).await?;
                    self.finish(&turn, &facts, by, clock())
                }
                Err(error) => self.not_started(&turn, &error, clock()),
            };
            let finished = finished.map_err(|error| not_kept(&error))?;
            let stopped = finished.input == InputState::Cancelled;
            all.push(finished);
            if stopped {
                break;
            }
        }
        Ok(all)
    }

    /// Gives an agent its input, and closes it when it is done with it.
    async fn follow(
        &self,
        turn: &Turn,
        agent: &Arc<dyn Agent>,
        cancel: &CancellationToken,
    ) -> std::result::Result<EndedBy, AgentError> {
        let log = agent.log();
        self.started(turn, log).await?;
        let mut events = log.subscribe(Seq::START);
        let input = Input::text(turn.plan.input.text.clone());
        let sent = agent.send(Command::Submit { input }).await;
        let done = async {
            loop {
                match events.next().await {
                    Ok(Item::Event(event)) if event.agent == *log.agent() => {
                        if let Body::InputEnd { .. } | Body::SessionEnd { .. } = event.body {
                            return;
                        }
                    }
                    Ok(_) => {}
                    Err(_) => return,
                }
            }
        };
        let by = tokio::select! {
            biased;
            () = std::future::ready(()), if sent.is_err() => EndedBy::Itself,
            () = done => EndedBy::Itself,
            () = cancel.cancelled() => EndedBy::Host,
            () = self.aborted(turn.run) => EndedBy::User,
        };
        agent.close().await;
        Ok(by)
    }
}

/// What is started for an agent that is set up so.
fn spec(setup: &AgentSetup, provider: &str, resume: Option<ResumeHandle>) -> AgentSpec {
    // A model and an effort are those of the provider they were chosen for.
    let is_own = provider == setup.provider;
    AgentSpec {
        kind: provider.to_owned(),
        model: setup.model.clone().filter(|_| is_own),
        effort: setup.effort.clone().filter(|_| is_own).map(Into::into),
        instructions: setup.instructions.clone(),
        workdir: Workdir::Path(setup.workspace.clone()),
        directories: setup.directories.clone(),
        mode: setup.mode.unwrap_or_default(),
        resume,
        ..AgentSpec::default()
    }
}

/// What the journal of a run tells that was left under way. One that cannot be read tells nothing.
fn told_by_journal(store: &Store, run: &AgentRun) -> RunFacts {
    let recorded = run.journal.as_ref().and_then(|session| store.read(session).ok());
    recorded.map(|recorded| RunFacts::of(&recorded.events, &run.provider)).unwrap_or_default()
}
