//! The sign that work goes on, for providers that have begun to tell of it.

use std::time::Duration;

use junto_llm::StreamEvent;
use tokio::time::Instant;

/// Speaks for a provider that has narrated and gone silent.
pub(super) struct Heart {
    pace: Duration,
    began: Instant,
    /// When the provider has been silent for too long.
    pub(super) due: Instant,
}

impl Heart {
    pub(super) fn new(pace: Duration) -> Self {
        let began = Instant::now();
        Self { pace, began, due: began + pace * 2 }
    }

    /// The provider has said something.
    pub(super) fn rest(&mut self) {
        self.due = Instant::now() + self.pace * 2;
    }

    pub(super) fn beat(&mut self) -> StreamEvent {
        self.due = Instant::now() + self.pace;
        let seconds = self.began.elapsed().as_secs();
        StreamEvent::Progress { text: format!("still working — {seconds}s elapsed") }
    }
}
