//! Runs that nobody follows: a command is given a task, and asked for its final text and nothing else.
//!
//! Their text is what the command itself calls its answer (`claude` prints nothing else then, `codex` writes it
//! into a file), and no events are made of what it prints; only a failure, that it has answered, and what it used are taken from that. Only some run at once, the others wait in line. Each is
//! recorded as a session with one input, and can be aborted, waiting or not.

mod job;
mod text;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use junto_core::{AgentError, AgentErrorKind, EventLog, Mode, Outcome, Parent};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) use self::text::TextParser;
use crate::{Definition, Host};

/// What a run in the background is to do.
pub struct Errand {
    /// By which command.
    pub definition: Definition,
    /// Where, and with what.
    pub host: Host,
    /// What it may do.
    pub mode: Mode,
    /// The model; absent: the command's default.
    pub model: Option<String>,
    /// Where it works; absent: where the environment is.
    pub workdir: Option<PathBuf>,
    /// The task.
    pub prompt: String,
}

/// A line of runs of which only some go on at once. Dropping it leaves those that were let in to their owners.
pub struct Background {
    line: mpsc::Sender<Turn>,
}

/// Lets the next run in the line begin. Whoever does not wait any more gives it to the next.
type Turn = oneshot::Sender<OwnedSemaphorePermit>;

impl Background {
    /// A line of which so many run `at_once`, and at most so many wait. Needs a runtime.
    pub fn new(at_once: NonZeroUsize, waiting: NonZeroUsize) -> Self {
        let (line, turns) = mpsc::channel(waiting.get());
        tokio::spawn(usher(turns, Arc::new(Semaphore::new(at_once.get()))));
        Self { line }
    }

    /// Puts a run at the end of the line. What it does is written into `log`.
    ///
    /// # Errors
    /// `limit` if too many wait already; `invalid` if the command cannot be run so; `journal` if the log cannot
    /// be written.
    pub async fn submit(&self, errand: Errand, parent: Parent, log: EventLog) -> Result<Job, AgentError> {
        let full = || {
            AgentError::new(AgentErrorKind::Limit, "too many runs wait already")
                .with_hint("wait until some have ended, or abort them")
        };
        let place = self.line.try_reserve().map_err(|_| full())?;
        let (stop, kill) = (parent.cancel.child_token(), CancellationToken::new());
        let work = job::Work::new(errand, parent, log.clone(), stop.clone(), kill.clone()).await?;
        let (turn, own_turn) = oneshot::channel();
        let (ended, outcome) = watch::channel(None);
        tokio::spawn(async move {
            ended.send_replace(Some(work.go(own_turn).await));
        });
        place.send(turn);
        Ok(Job { log, stop, _kill: kill.drop_guard(), outcome })
    }
}

/// Lets runs in, one after the other, as others end.
async fn usher(mut turns: mpsc::Receiver<Turn>, seats: Arc<Semaphore>) {
    let mut free = None;
    loop {
        let seat = match free.take() {
            Some(seat) => seat,
            None => match Arc::clone(&seats).acquire_owned().await {
                Ok(seat) => seat,
                Err(_) => return,
            },
        };
        let Some(turn) = turns.recv().await else { return };
        free = turn.send(seat).err();
    }
}

/// A run in the background. Dropping it kills the process with everything it started.
pub struct Job {
    log: EventLog,
    /// Ends it, with grace.
    stop: CancellationToken,
    /// Ends it at once.
    _kill: DropGuard,
    outcome: watch::Receiver<Option<Outcome>>,
}

impl Job {
    /// What it did.
    pub fn log(&self) -> &EventLog {
        &self.log
    }

    /// Ends it, whether it still waits or runs already.
    pub fn abort(&self) {
        self.stop.cancel();
    }

    /// Waits for its end.
    pub async fn outcome(&self) -> Outcome {
        let mut outcome = self.outcome.clone();
        let ended = outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
        ended.unwrap_or_else(job::lost)
    }
}
