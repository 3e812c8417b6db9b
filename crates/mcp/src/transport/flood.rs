//! How much a server may say that nobody asked for.

use std::time::Duration;

use tokio::time::Instant;

/// How many messages that answer nothing a server may send in a [`WHILE`]. One that sends more does nothing else.
const FLOOD: u32 = 20_000;
const WHILE: Duration = Duration::from_secs(10);

/// What a server is told to have done that sent more.
pub(crate) const FLOODED: &str = "it sent messages without end that answer nothing";

/// Counts messages that answer nothing.
#[derive(Debug)]
pub(crate) struct Flood {
    since: Instant,
    count: u32,
}

impl Flood {
    pub(crate) fn new() -> Self {
        Self { since: Instant::now(), count: 0 }
    }

    /// Counts one; whether that is bearable.
    pub(crate) fn bears(&mut self) -> bool {
        let now = Instant::now();
        if now.duration_since(self.since) > WHILE {
            (self.since, self.count) = (now, 0);
        }
        self.count += 1;
        self.count <= FLOOD
    }
}
