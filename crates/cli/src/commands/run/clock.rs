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
    /// Since when it is told how long something took.
    lap: Instant,
    most: Option<Duration>,
}

impl Clock {
    pub(super) fn start() -> Self {
        let now = Instant::now();
        Self { started: now, lap: now, most: None }
    }

    /// The same for one of several things that a command does: what it took is told from now on, what it may take
    /// counts from the start of the command.
    pub(super) fn anew(self) -> Self {
        Self { lap: Instant::now(), ..self }
    }

    /// The same, with what it may take.
    pub(super) fn at_most(self, most: Option<Duration>) -> Self {
        Self { most, ..self }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.lap.elapsed()
    }

    /// Waits until the time is up.
    pub(super) async fn up(&self) {
        match self.most.and_then(|most| self.started.checked_add(most)) {
            Some(end) => tokio::time::sleep_until(end).await,
            None => std::future::pending().await,
        }
    }

    /// Whether it is.
    pub(super) fn is_up(&self) -> bool {
        self.most.is_some_and(|most| self.started.elapsed() >= most)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_a_command_may_take_counts_from_its_start() {
        let second = |seconds| Duration::from_secs(seconds);
        let clock = Clock::start().at_most(Some(second(3)));
        tokio::time::advance(second(2)).await;
        let next = clock.anew();
        assert_eq!((clock.elapsed(), next.elapsed(), next.is_up()), (second(2), second(0), false));
        next.up().await;
        assert_eq!((clock.elapsed(), next.elapsed(), next.is_up()), (second(3), second(1), true));
        assert!(!Clock::start().is_up());
    }
}
