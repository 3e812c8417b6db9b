//! The Python of a room, found before it is needed.

use std::sync::{Arc, Mutex, PoisonError};

use junto_core::{Body, EventLog};
use junto_env::ExecutionEnvironment;
use tokio::runtime::Handle;
use tokio::sync::{Mutex as Turn, mpsc};
use tokio_util::task::AbortOnDropHandle;

use super::Interpreter;
use crate::{Error, Python};

/// How much may be told while Python is made.
const NEWS: usize = 16;

/// Looks for a Python, or has it made. It begins with the session, so that whoever needs it waits for less.
pub(super) struct Finding {
    search: Arc<Search>,
    state: Turn<State>,
}

/// How far it is.
enum State {
    /// Nobody looks. After an error that is so, too: what was wrong may have been mended.
    Unknown,
    /// Somebody looks already.
    Looking(AbortOnDropHandle<Result<Python, Error>>),
    Found(Python),
}

/// What is looked for, and where.
struct Search {
    interpreter: Interpreter,
    env: Arc<dyn ExecutionEnvironment>,
    /// Where people are told what takes time.
    log: Mutex<Option<EventLog>>,
}

impl Finding {
    pub(super) fn new(interpreter: Interpreter, env: Arc<dyn ExecutionEnvironment>) -> Self {
        let search = Search { interpreter, env, log: Mutex::default() };
        Self { search: Arc::new(search), state: Turn::new(State::Unknown) }
    }

    /// Begins to look; does not wait.
    pub(super) fn begin(&self, log: EventLog) {
        *self.search.log.lock().unwrap_or_else(PoisonError::into_inner) = Some(log);
        // Without a runtime, or if somebody looks already, it is found when it is asked for.
        let (Ok(runtime), Ok(mut state)) = (Handle::try_current(), self.state.try_lock()) else { return };
        if matches!(*state, State::Unknown) {
            let search = Arc::clone(&self.search);
            let task = runtime.spawn(async move { search.run().await });
            *state = State::Looking(AbortOnDropHandle::new(task));
        }
    }

    /// The Python, once it is known.
    ///
    /// # Errors
    /// Why there is none, and what to do.
    pub(super) async fn python(&self) -> Result<Python, Error> {
        let mut state = self.state.lock().await;
        let looked = match &mut *state {
            State::Found(python) => return Ok(python.clone()),
            State::Looking(task) => task.await.ok(),
            State::Unknown => None,
        };
        *state = State::Unknown;
        let found = match looked {
            Some(found) => found,
            None => self.search.run().await,
        };
        if let Ok(python) = &found {
            *state = State::Found(python.clone());
        }
        found
    }
}

impl Search {
    async fn run(&self) -> Result<Python, Error> {
        let home = match &self.interpreter {
            // What it loads may be in folders that cells have changed.
            Interpreter::At(program) => return Python::at(program, &*self.env).await,
            Interpreter::Kept(home) => home,
        };
        // It is made without the sandbox: that takes the network, and folders that cells do not change.
        let outside = self.env.unconfined().unwrap_or_else(|| Arc::clone(&self.env));
        let (told, mut news) = mpsc::channel(NEWS);
        // What does not fit is not worth waiting for.
        let tell = |text: &str| drop(told.try_send(text.to_owned()));
        let made = Python::kept(home, &*outside, &tell);
        tokio::pin!(made);
        loop {
            tokio::select! {
                biased;
                Some(text) = news.recv() => self.progress(text).await,
                python = &mut made => return python,
            }
        }
    }

    /// Tells people what takes time.
    async fn progress(&self, text: String) {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(log) = log {
            // A log that cannot be written ends the session elsewhere.
            let _ = log.emit(Body::Progress { text }).await;
        }
    }
}
