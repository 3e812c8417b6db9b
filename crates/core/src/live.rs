//! What readers of a log get while they keep up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::broadcast;

use crate::{Delta, Item, Seq};

/// How many items a reader may be behind before it has to catch up from the journal.
pub(crate) const BEHIND: usize = 4096;
/// How many bytes of deltas may wait for the slowest reader before tools' output is left out. A tool says
/// in a second what a terminal shows in an hour.
const WAITING: usize = 8 * 1024 * 1024;

/// Hands items to whoever reads along.
pub(crate) struct Live {
    sender: broadcast::Sender<Sent>,
    /// The bytes of deltas that some reader has not taken yet.
    waiting: Arc<AtomicUsize>,
}

/// An item on its way.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) item: Item,
    /// Goes when the last reader has taken it.
    _weight: Option<Arc<Weight>>,
}

struct Weight {
    bytes: usize,
    waiting: Arc<AtomicUsize>,
}

impl Drop for Weight {
    fn drop(&mut self) {
        self.waiting.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Live {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::Sender::new(BEHIND), waiting: Arc::default() }
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Sent> {
        self.sender.subscribe()
    }

    pub(crate) fn event(&self, item: Item) {
        // An error only says that nobody reads along.
        let _ = self.sender.send(Sent { item, _weight: None });
    }

    pub(crate) fn delta(&self, delta: Delta) {
        if self.sender.receiver_count() == 0 {
            return;
        }
        let bytes = delta.text().len();
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
        let weight = Arc::new(Weight { bytes, waiting: Arc::clone(&self.waiting) });
        let _ = self.sender.send(Sent { item: Item::Delta(delta), _weight: Some(weight) });
    }

    /// A piece of a tool's output, unless nobody reads along or somebody is far behind.
    pub(crate) fn output(&self, of: Seq, text: &str) {
        let waiting = self.waiting.load(Ordering::Relaxed);
        if self.sender.receiver_count() > 0 && waiting.saturating_add(text.len()) <= WAITING {
            self.delta(Delta::ToolCallOutputDelta { of, text: text.to_owned() });
        }
    }
}
