//! Readers of a log.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::broadcast;

use crate::live::Sent;
use crate::log::Shared;
use crate::{Delta, Event, Item, JournalError, Seq};

/// How many events a reader takes from the journal at once.
const BATCH: u64 = 256;

/// A reader of a log: every event from its position on, in order, once; deltas while it keeps up. Of each text and each
/// reasoning it gets the first pieces without a gap: all, or as many as came before one was missed.
pub struct Subscription {
    shared: Arc<Shared>,
    /// The next position to hand out.
    next: Seq,
    /// The last event that must be taken from the journal, because it was written before this reader came or
    /// while it was too far behind. Later ones are taken as they come, so that deltas are between their start
    /// and their end.
    missed: Seq,
    /// The last event at the time when deltas were missed. Of a text that had begun by then a piece may be
    /// missing.
    gap: Seq,
    live: broadcast::Receiver<Sent>,
    /// Events read from the journal and not handed out yet.
    batch: VecDeque<Event>,
}

impl Subscription {
    pub(crate) fn new(shared: Arc<Shared>, from: Seq) -> Self {
        // In this order: what is written in between is seen twice rather than not at all.
        let live = shared.live.subscribe();
        let missed = last(&shared);
        Self { shared, next: from.max(Seq::START), missed, gap: Seq(0), live, batch: VecDeque::new() }
    }

    /// The next item; waits for it.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn next(&mut self) -> Result<Item, JournalError> {
        loop {
            if let Some(event) = self.batch.pop_front() {
                self.next = event.seq.next();
                return Ok(Item::Event(Arc::new(event)));
            }
            if self.next <= self.missed {
                self.catch_up().await?;
                continue;
            }
            if let Ok(sent) = self.live.recv().await {
                if let Some(item) = self.live_item(sent.item()) {
                    return Ok(item);
                }
            } else {
                // Too far behind: the sender cannot be gone, it lives in `shared`. What still waits there would put it
                // behind again at once, and is in the journal, or part of a text of which pieces are missing.
                self.live = self.live.resubscribe();
                self.missed = last(&self.shared);
                self.gap = self.missed;
            }
        }
    }

    /// Whether there are events that were not handed out yet.
    pub fn is_behind(&self) -> bool {
        self.next <= last(&self.shared)
    }

    /// What is left of the log without waiting for more: for readers of a finished session.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn rest(&mut self) -> Result<Vec<Event>, JournalError> {
        let mut events = Vec::new();
        while self.next <= last(&self.shared) {
            if self.batch.is_empty() {
                self.missed = last(&self.shared);
                self.catch_up().await?;
            }
            let Some(event) = self.batch.pop_front() else { break };
            self.next = event.seq.next();
            events.push(event);
        }
        Ok(events)
    }

    /// Hands a live item out, unless it was handed out before, or something before it was missed.
    fn live_item(&mut self, item: Item) -> Option<Item> {
        match &item {
            Item::Event(event) if event.seq == self.next => {
                self.next = event.seq.next();
                Some(item)
            }
            Item::Event(event) if event.seq < self.next => None,
            Item::Event(event) => {
                self.missed = event.seq;
                None
            }
            // A delta of a segment whose start is still to come from the journal would be out of order.
            Item::Delta(delta) => {
                // Nor shall a text go on behind a piece that is missing. What tools say need not be whole.
                let is_torn = !matches!(delta, Delta::ToolCallOutputDelta { .. }) && delta.of() <= self.gap;
                (delta.of() < self.next && !is_torn).then_some(item)
            }
        }
    }

    /// Reads the next of what was missed.
    async fn catch_up(&mut self) -> Result<(), JournalError> {
        let count = (self.missed.0 - self.next.0).saturating_add(1).min(BATCH);
        let events = self.shared.journal.read(self.next, usize::try_from(count).unwrap_or(1)).await?;
        if events.is_empty() {
            // They were lost with the disk's bytes; there is nothing to wait for.
            self.next = self.missed.next();
        }
        self.batch.extend(events);
        Ok(())
    }
}

fn last(shared: &Shared) -> Seq {
    Seq(shared.last.load(Ordering::Acquire))
}
