//! A command as an agent.

use std::collections::VecDeque;
use std::sync::Arc;

use junto_core::{
    Abilities, Ack, Agent, AgentError, AgentErrorKind, AgentSpec, Approve, Body, Command, EndReason,
    EventError, EventLog, Fut, Outcome, Parent, Steer, Workdir,
};
use junto_llm::{Cost, Error, Usage};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::failure::invalid;
use crate::run::directory;
use crate::session::{Session, Thread, Told, Totals};
use crate::{Definition, Host, environment};

/// How many commands may wait to be looked at.
const COMMANDS: usize = 16;

/// A command-line agent that works with its own tools.
///
/// Each input is a process of its own that resumes the session of the one before. It asks nothing: what it
/// may do is set by its mode before it starts, and its tool calls are shown as they happen. An interrupt ends
/// its turn, and the session goes on. Where the host wants it and the command has a protocol for it, it can be
/// steered: what it is told enters the conversation after the current round of tools.
///
/// Dropping it kills the process with everything it started, at once; [`Agent::close`] lets it end
/// by itself for a moment. Either way the log is brought to its end.
pub struct CliAgent {
    abilities: Abilities,
    log: EventLog,
    commands: mpsc::Sender<Told>,
    /// Ends the session, with grace.
    close: CancellationToken,
    /// Ends the session at once.
    kill: CancellationToken,
    _killed_with_us: DropGuard,
    /// Set by the session's task when all is over.
    outcome: watch::Receiver<Option<Outcome>>,
}

impl CliAgent {
    /// What every command-line agent can be asked to do. Some can be steered, too, where the host wants it.
    pub const ABILITIES: Abilities = Abilities {
        steer: Steer::No,
        approve: Approve::Preset,
        resume: true,
        interrupt: true,
        follow_up: true,
        compact: false,
    };

    /// Begins a session. No process is started before the first input.
    ///
    /// # Errors
    /// `invalid` for a model, handle or directory that makes no sense; `limit` for one below too many other
    /// command-line agents; `journal` if the log cannot be written.
    pub async fn start(
        definition: Definition,
        host: Host,
        spec: AgentSpec,
        parent: Parent,
        log: EventLog,
    ) -> Result<Self, AgentError> {
        Self::begin(definition, host, spec, parent, log, Beginning::New).await
    }

    /// Goes on with a session whose handle the spec has. The log holds its past, and that it goes on;
    /// `spent` is what it has used. Otherwise as [`CliAgent::start`].
    ///
    /// # Errors
    /// As [`CliAgent::start`].
    pub async fn resume(
        definition: Definition,
        host: Host,
        spec: AgentSpec,
        parent: Parent,
        log: EventLog,
        spent: (Usage, Cost),
    ) -> Result<Self, AgentError> {
        Self::begin(definition, host, spec, parent, log, Beginning::Again(spent)).await
    }

    async fn begin(
        definition: Definition,
        host: Host,
        spec: AgentSpec,
        parent: Parent,
        log: EventLog,
        beginning: Beginning,
    ) -> Result<Self, AgentError> {
        environment::fuse(&definition, &host)
            .map_err(|e| AgentError::new(AgentErrorKind::Limit, e.message()))?;
        let path = match &spec.workdir {
            Workdir::Shared => None,
            Workdir::Path(path) => Some(path.as_path()),
        };
        let cwd = directory(&host, path).await.map_err(|e| invalid(&e))?;
        let host = with_wishes(host, &spec).await.map_err(|e| invalid(&e))?;
        let thread = spec.resume.as_ref().map(|handle| Thread::of(&definition, handle)).transpose()?;
        let abilities = abilities(&definition, &host);

        let workdir = cwd.as_ref().unwrap_or(&host.env.facts().cwd).to_string();
        let start = Body::SessionStart {
            kind: definition.kind.clone(),
            model: spec.model.clone(),
            workdir: Some(workdir),
            abilities,
            setup: None,
        };
        let (commands, inbox) = mpsc::channel(COMMANDS);
        let (ended, outcome) = watch::channel(None);
        let (close, kill) = (parent.cancel.child_token(), CancellationToken::new());
        let session = Session {
            definition: Arc::new(definition),
            host,
            mode: spec.mode,
            model: spec.model,
            limits: spec.limits,
            cwd,
            depth: parent.depth,
            budget: parent.budget,
            log: log.clone(),
            commands: inbox,
            close: close.clone(),
            kill: kill.clone(),
            thread: thread.unwrap_or_default(),
            handled: false,
            lingering: None,
            totals: match &beginning {
                Beginning::New => Totals::default(),
                Beginning::Again((usage, cost)) => Totals::after(usage.clone(), *cost),
            },
            waiting: VecDeque::new(),
        };
        session.check_arguments().map_err(|e| invalid(&e))?;
        if let Beginning::New = beginning {
            log.emit(start).await?;
        }
        tokio::spawn(async move {
            let outcome = Box::pin(session.run()).await;
            ended.send_replace(Some(outcome));
        });
        let guard = kill.clone().drop_guard();
        Ok(Self { abilities, log, commands, close, kill, _killed_with_us: guard, outcome })
    }
}

/// How a session begins.
enum Beginning {
    /// With its first event.
    New,
    /// After so much was used.
    Again((Usage, Cost)),
}

/// The host of an agent: what its specification says comes before, or beside, what the host says of every run.
async fn with_wishes(mut host: Host, spec: &AgentSpec) -> Result<Host, Error> {
    host.effort = spec.effort.clone().or(host.effort);
    host.instructions = match (host.instructions, &spec.instructions) {
        (Some(all), Some(own)) => Some(format!("{all}\n\n{own}")),
        (all, own) => own.clone().or(all),
    };
    for path in &spec.directories {
        let real = directory(&host, Some(path)).await?;
        host.directories.extend(real);
    }
    Ok(host)
}

/// What an agent of this command can be asked to do on this host.
fn abilities(definition: &Definition, host: &Host) -> Abilities {
    let steer = if host.can_steer(definition) { Steer::Round } else { Steer::No };
    Abilities { steer, ..CliAgent::ABILITIES }
}

impl Agent for CliAgent {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn log(&self) -> &EventLog {
        &self.log
    }

    fn send(&self, command: Command) -> Fut<'_, Result<Ack, AgentError>> {
        Box::pin(async move {
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

    fn kill(&self) -> bool {
        self.kill.cancel();
        true
    }

    fn ended(&self) -> Fut<'_, Outcome> {
        Box::pin(async move {
            let mut outcome = self.outcome.clone();
            let ended = outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
            ended.unwrap_or_else(|| {
                let error = EventError::from(&AgentError::closed());
                Outcome { reason: EndReason::Failed { error }, text: String::new() }
            })
        })
    }
}
