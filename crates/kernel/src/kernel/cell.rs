//! What is run, and how it went.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use junto_env::Exit;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Code to run, and for how long.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// Python as IPython takes it: magics, `!` and top-level `await` too.
    pub code: String,
    /// How long it may run on its [`Clock`]; absent: as long as it likes.
    pub within: Option<Duration>,
    /// Its time, which others may hold.
    pub clock: Clock,
    /// Interrupts it.
    pub cancel: CancellationToken,
    /// Whether it is none of the user's: its result is not shown and `_` stays what it was.
    pub quiet: bool,
}

impl Cell {
    /// A cell without a limit.
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into(), ..Self::default() }
    }

    /// The same, with a limit.
    pub fn within(self, limit: Duration) -> Self {
        Self { within: Some(limit), ..self }
    }
}

/// How a cell went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub end: CellEnd,
    /// Whether what earlier cells had made is gone: the kernel ended in this cell, or was found dead before
    /// it and started anew for it.
    pub state_lost: bool,
    /// What threads and processes of earlier cells have said since the last cell ended; the end of it, where
    /// that is much.
    pub strays: String,
    /// How long it ran on the wall, holds included.
    pub took: Duration,
}

/// How a cell ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellEnd {
    /// It ran to its end.
    Done,
    /// It raised; the exception was the last piece of its output.
    Failed,
    /// Its time was up.
    TimedOut {
        /// Whether it did not heed the interrupt, so that the kernel was killed.
        killed: bool,
    },
    /// It was cancelled.
    Interrupted {
        /// Whether it did not heed the interrupt, so that the kernel was killed.
        killed: bool,
    },
    /// The kernel ended.
    Died {
        /// How.
        status: Exit,
        /// What is known of the cause; may be empty.
        why: String,
    },
    /// It wanted more memory than it may have. The kernel lives unless the state was lost.
    OutOfMemory,
}

/// A cell's time. While a [`Hold`] lives it stands still. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<Time>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Time {
    holds: usize,
    /// How long holds have lasted that are over.
    held: Duration,
    /// When the first of those that live began.
    since: Option<Instant>,
}

impl Clock {
    /// Stops the clock until what is given is dropped. Several may hold it; it goes on after the last.
    pub fn hold(&self) -> Hold {
        let mut time = self.time();
        time.holds += 1;
        time.since.get_or_insert_with(Instant::now);
        drop(time);
        self.0.changed.notify_waiters();
        Hold(self.clone())
    }

    fn time(&self) -> MutexGuard<'_, Time> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long the clock has stood still, up to now.
    fn held(&self) -> Duration {
        let time = self.time();
        time.held + time.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Waits until so much time has passed on this clock since a moment.
    pub(crate) async fn passed(&self, limit: Option<Duration>, start: Mark) {
        let Some(limit) = limit else { return std::future::pending().await };
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            if self.time().holds > 0 {
                changed.await;
                continue;
            }
            let held = self.held().saturating_sub(start.held);
            let left = limit.saturating_sub(start.at.elapsed().saturating_sub(held));
            if left.is_zero() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                () = changed => {}
            }
        }
    }

    /// Now, on this clock.
    pub(crate) fn mark(&self) -> Mark {
        Mark { at: Instant::now(), held: self.held() }
    }
}

/// A moment on a [`Clock`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) at: Instant,
    held: Duration,
}

/// Stops a [`Clock`] as long as it lives.
#[derive(Debug)]
#[must_use = "the clock goes on when this is dropped"]
pub struct Hold(Clock);

impl Drop for Hold {
    fn drop(&mut self) {
        let mut time = self.0.time();
        time.holds = time.holds.saturating_sub(1);
        if time.holds == 0
            && let Some(since) = time.since.take()
        {
            time.held += since.elapsed();
        }
        drop(time);
        self.0.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_passes_only_while_nobody_holds_it() {
        let clock = Clock::default();
        let start = clock.mark();
        let passed = tokio::spawn({
            let clock = clock.clone();
            async move { clock.passed(Some(Duration::from_secs(10)), start).await }
        });
        tokio::time::sleep(Duration::from_secs(6)).await;
        let (one, other) = (clock.hold(), clock.hold());
        tokio::time::sleep(Duration::from_secs(100)).await;
        drop(one);
        tokio::time::sleep(Duration::from_secs(100)).await;
        drop(other);
        tokio::time::sleep(Duration::from_millis(3900)).await;
        assert!(!passed.is_finished());
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(passed.is_finished());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_held_before_does_not_count() {
        let clock = Clock::default();
        drop(clock.hold());
        let hold = clock.hold();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let start = clock.mark();
        tokio::time::sleep(Duration::from_secs(5)).await;
        drop(hold);
        let before = Instant::now();
        clock.passed(Some(Duration::from_secs(1)), start).await;
        assert_eq!(before.elapsed().as_secs(), 1);
    }
}
