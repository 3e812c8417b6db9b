//! The turns of an agent: one at a time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use junto_core::{AgentError, AgentErrorKind, Seq};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The turns of an agent: which is under way, and what was seen of the log.
#[derive(Default)]
pub(super) struct Turns {
    now: Mutex<Option<Ticket>>,
    /// The last position that a turn has shown, or left.
    seen: AtomicU64,
    /// The limit of rounds that the session has now, if that is known; 0 is none.
    limit: Mutex<Option<u32>>,
    /// Sees turns through.
    pub(super) tasks: TaskTracker,
}

/// A turn that is under way.
#[derive(Clone)]
pub(super) struct Ticket {
    /// Nobody looks at it any more.
    pub(super) left: CancellationToken,
    /// The session is done with it.
    pub(super) over: CancellationToken,
    /// Where the log was when it was cancelled; 0 while it is not.
    cancelled_at: Arc<AtomicU64>,
}

impl Ticket {
    /// Whether it was cancelled before an event.
    pub(super) fn was_cancelled_before(&self, event: Seq) -> bool {
        let at = self.cancelled_at.load(Ordering::Acquire);
        at > 0 && at < event.0
    }
}

impl Turns {
    /// Those of a session whose log is there up to this position.
    pub(super) fn from(last: Seq) -> Self {
        Self { seen: AtomicU64::new(last.0), ..Self::default() }
    }

    fn now(&self) -> MutexGuard<'_, Option<Ticket>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a turn, once one that was left is over.
    ///
    /// # Errors
    /// `wrong_state` if another is under way.
    pub(super) async fn enter(&self) -> Result<Ticket, AgentError> {
        loop {
            let ending = {
                let mut now = self.now();
                match &*now {
                    Some(other) if !other.over.is_cancelled() => other.clone(),
                    _ => {
                        let ticket = Ticket {
                            left: CancellationToken::new(),
                            over: CancellationToken::new(),
                            cancelled_at: Arc::default(),
                        };
                        *now = Some(ticket.clone());
                        return Ok(ticket);
                    }
                }
            };
            if !ending.left.is_cancelled() {
                let message = "the agent works on another prompt";
                return Err(AgentError::new(AgentErrorKind::WrongState, message)
                    .with_hint("read that turn to its end, or drop it"));
            }
            ending.over.cancelled().await;
        }
    }

    /// Notes where the log is when the turn under way is cancelled.
    pub(super) fn cancelling(&self, at: Seq) {
        if let Some(ticket) = &*self.now() {
            // The first one counts.
            let _ = ticket.cancelled_at.compare_exchange(0, at.0, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    /// The first position that no turn has shown. What subagents ask between two turns is shown in the next.
    pub(super) fn seen(&self) -> Seq {
        Seq(self.seen.load(Ordering::Acquire)).next()
    }

    pub(super) fn saw(&self, seq: Seq) {
        self.seen.fetch_max(seq.0, Ordering::AcqRel);
    }

    /// The limit of rounds that the session has, if that is known; 0 is none.
    pub(super) fn limit(&self) -> Option<u32> {
        *self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session was given a limit.
    pub(super) fn has_limit(&self, limit: u32) {
        *self.limit.lock().unwrap_or_else(PoisonError::into_inner) = Some(limit);
    }
}
