//! Questions that wait for their answers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::{AgentError, AgentErrorKind, AskId};

/// Who waits for which answer.
pub(crate) struct Waiting<T>(Mutex<HashMap<AskId, oneshot::Sender<T>>>);

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Waiting<T> {
    fn open(&self) -> MutexGuard<'_, HashMap<AskId, oneshot::Sender<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a question. Dropping what is returned withdraws it.
    pub(crate) fn ask(&self, ask: AskId) -> Open<'_, T> {
        let (sender, answer) = oneshot::channel();
        self.open().insert(ask.clone(), sender);
        Open { waiting: self, ask, answer }
    }

    /// That a question is open.
    ///
    /// # Errors
    /// `invalid` if nobody waits for its answer (any more).
    pub(crate) fn check(&self, ask: &AskId) -> Result<(), AgentError> {
        if self.open().contains_key(ask) { Ok(()) } else { Err(unknown(ask)) }
    }

    /// Gives the answer to a question.
    ///
    /// # Errors
    /// `invalid` if nobody waits for it (any more).
    pub(crate) fn answer(&self, ask: &AskId, answer: T) -> Result<(), AgentError> {
        let sender = self.open().remove(ask).ok_or_else(|| unknown(ask))?;
        sender.send(answer).map_err(|_| unknown(ask))
    }
}

fn unknown(ask: &AskId) -> AgentError {
    AgentError::new(AgentErrorKind::Invalid, format!("no question {ask} is open"))
        .with_hint("it was answered, withdrawn, or never asked")
}

/// A question that is open.
pub(crate) struct Open<'a, T> {
    waiting: &'a Waiting<T>,
    ask: AskId,
    answer: oneshot::Receiver<T>,
}

impl<T> Open<'_, T> {
    /// The answer; none if the wait is cancelled first.
    pub(crate) async fn answer(&mut self, cancel: &CancellationToken) -> Option<T> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            answer = &mut self.answer => answer.ok(),
        }
    }
}

impl<T> Drop for Open<'_, T> {
    fn drop(&mut self) {
        self.waiting.open().remove(&self.ask);
    }
}
