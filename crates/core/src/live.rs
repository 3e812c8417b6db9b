//! What readers of a log get while they keep up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::broadcast;

use crate::{Delta, Item, Seq};

/// How many items a reader may be behind before it has to catch up from the journal.
pub(crate) const BEHIND: usize = 1024;
/// How many bytes of deltas may wait for the slowest reader before tools' output is left out. A tool says
/// in a second what a terminal shows in an hour.
const WAITING: usize = 8 * 1024 * 1024;

/// Hands items to whoever reads along.
pub(crate) struct Live {
    sender: broadcast::Sender<Sent>,
    /// The bytes of deltas that some reader has not taken yet.
    waiting: Arc<AtomicUsize>,
}

/// An item on its way. Small, because the place for each of those that a reader may be behind is there from
/// the start, in every session.
pub(crate) type Sent = Arc<Parcel>;

pub(crate) struct Parcel {
    item: Item,
    /// The bytes that wait as long as some reader has not taken it.
    bytes: usize,
    waiting: Arc<AtomicUsize>,
}

impl Parcel {
    pub(crate) fn item(&self) -> Item {
        self.item.clone()
    }
}

impl Drop for Parcel {
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
        self.send(item, 0);
    }

    pub(crate) fn delta(&self, delta: Delta) {
        if self.sender.receiver_count() == 0 {
            return;
        }
        let bytes = delta.text().len();
        self.send(Item::Delta(delta), bytes);
    }

    fn send(&self, item: Item, bytes: usize) {
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
        let waiting = Arc::clone(&self.waiting);
        // An error only says that nobody reads along.
        let _ = self.sender.send(Arc::new(Parcel { item, bytes, waiting }));
    }

    /// A piece of a tool's output, unless nobody reads along or somebody is far behind.
    pub(crate) fn output(&self, of: Seq, text: &str) {
        let waiting = self.waiting.load(Ordering::Relaxed);
        if self.sender.receiver_count() > 0 && waiting.saturating_add(text.len()) <= WAITING {
            self.delta(Delta::ToolCallOutputDelta { of, text: text.to_owned() });
        }
    }
}
