//! How long a command has taken, and how long it may.

use std::time::Duration;

use junto::core::EndReason;
use junto::named::EndedBy;
use tokio::time::Instant;

use super::drive::End;
use super::ending::ending;
use crate::config::duration_text;
use crate::failure::{Exit, Failure};

/// Runs from the start of a command on: what it prepares takes its time, too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    started: Instant,
    most: Option<Duration>,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { started: Instant::now(), most: None }
    }

    /// The same, with what it may take.
    pub(super) fn at_most(self, most: Option<Duration>) -> Self {
        Self { most, ..self }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits until the time is up.
    pub(super) async fn up(&self) {
        match self.most.and_then(|most| self.started.checked_add(most)) {
            Some(end) => tokio::time::sleep_until(end).await,
            None => std::future::pending().await,
        }
    }

    /// The end of what reached the limit.
    pub(super) fn end(&self, by: EndedBy) -> End {
        let limit = self.most.map(|most| format!("at most {} in all", duration_text(most)));
        End { reason: EndReason::Limit, limit, short: None, by }
    }

    /// The same for a command whose agent had not begun.
    pub(super) fn failure(&self) -> Failure {
        ending(&self.end(EndedBy::Host), &[]).err().unwrap_or_else(|| Failure::silent(Exit::Limit))
    }
}
