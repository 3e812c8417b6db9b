//! The sign that work goes on, for providers that have begun to tell of it.

use std::time::Duration;

use junto_llm::StreamEvent;
use tokio::time::Instant;

/// As good as never.
const NEVER: Duration = Duration::from_hours(24 * 365);

/// Speaks for a provider that has narrated and gone silent.
pub(super) struct Heart {
    pace: Duration,
    began: Instant,
    /// When the provider has been silent for too long.
    pub(super) due: Instant,
}

impl Heart {
    pub(super) fn new(pace: Duration) -> Self {
        Self { pace, began: Instant::now(), due: in_time(pace.saturating_mul(2)) }
    }

    /// The provider has said something.
    pub(super) fn rest(&mut self) {
        self.due = in_time(self.pace.saturating_mul(2));
    }

    pub(super) fn beat(&mut self) -> StreamEvent {
        self.due = in_time(self.pace);
        let seconds = self.began.elapsed().as_secs();
        StreamEvent::Progress { text: format!("still working — {seconds}s elapsed") }
    }
}

/// The moment after this time; one that never comes, if there is no such.
pub(super) fn in_time(span: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(span).unwrap_or_else(|| now + NEVER)
}
