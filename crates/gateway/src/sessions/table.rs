//! The sessions in memory: a bounded number, of which the one unused for longest is forgotten first.

use std::collections::{BTreeMap, HashMap};

use junto_llm::{Cost, SessionId, Usd};

use super::key::Key;
use super::{KnownBy, SessionRecord};

/// How many sessions that begin alike may wait to be told apart. A program that asks the same thing again
/// and again, and never goes on, must not drive out everybody else.
const MOST_ALIKE: usize = 16;

/// Where a session is, whatever it is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Slot(u64);

#[derive(Debug)]
struct Entry {
    record: SessionRecord,
    /// When it was used last, in steps of the table's own clock.
    used: u64,
    /// How many of its calls are under way.
    open: usize,
}

#[derive(Debug)]
pub(super) struct Table {
    most: usize,
    /// Counts slots and uses.
    clock: u64,
    entries: HashMap<Slot, Entry>,
    /// Sessions by their id or by the digest of how their conversation begins.
    names: HashMap<Name, Slot>,
    /// Sessions that have only a beginning, by its digest; the latest last.
    openings: HashMap<String, Vec<Slot>>,
    /// The slots, those unused for longest first.
    order: BTreeMap<u64, Slot>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    Id(String),
    Conversation(String),
}

impl Table {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            clock: 0,
            entries: HashMap::new(),
            names: HashMap::new(),
            openings: HashMap::new(),
            order: BTreeMap::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// All records, those unused for longest first.
    pub(super) fn records(&self) -> impl DoubleEndedIterator<Item = &SessionRecord> {
        self.order.values().filter_map(|slot| self.entries.get(slot)).map(|entry| &entry.record)
    }

    /// The session there, of which a call has ended.
    pub(super) fn end(&mut self, slot: Slot) -> Option<&mut SessionRecord> {
        let entry = self.entries.get_mut(&slot)?;
        entry.open = entry.open.saturating_sub(1);
        Some(&mut entry.record)
    }

    /// The session with this key, known or new, of which a call begins now.
    pub(super) fn find(&mut self, key: Key) -> (Slot, &mut SessionRecord) {
        let slot = self.known(&key).unwrap_or_else(|| self.name(&key));
        self.clock += 1;
        let entry =
            self.entries.entry(slot).or_insert_with(|| Entry { record: fresh(key), used: 0, open: 0 });
        self.order.remove(&entry.used);
        self.order.insert(self.clock, slot);
        entry.used = self.clock;
        entry.open += 1;
        (slot, &mut entry.record)
    }

    /// Takes back a record that was saved.
    pub(super) fn restore(&mut self, record: SessionRecord) {
        let slot = self.name(&match &record.known_by {
            KnownBy::Id => Key::Id(record.id.clone()),
            KnownBy::Opening(opening) => Key::Opening(opening.clone()),
            KnownBy::Conversation(whole) => {
                Key::Conversation { opening: String::new(), whole: whole.clone() }
            }
        });
        self.clock += 1;
        self.order.insert(self.clock, slot);
        self.entries.insert(slot, Entry { record, used: self.clock, open: 0 });
    }

    /// Forgets a session of which there is nothing to remember, unless a call under way may still leave something.
    pub(super) fn forget_if_unused(&mut self, slot: Slot) {
        let unused = |record: &SessionRecord| {
            record.turns == 0 && record.tokens == 0 && record.cost.amount() == Some(Usd::ZERO)
        };
        if self.entries.get(&slot).is_some_and(|entry| entry.open == 0 && unused(&entry.record)) {
            self.remove(slot);
        }
    }

    fn known(&mut self, key: &Key) -> Option<Slot> {
        match key {
            Key::Id(id) => self.names.get(&Name::Id(id.0.clone())).copied(),
            // Each is taken for a conversation of its own until it goes on.
            Key::Opening(_) => None,
            Key::Conversation { opening, whole } => {
                let known = self.names.get(&Name::Conversation(whole.clone())).copied();
                known.or_else(|| self.claim(opening, whole))
            }
        }
    }

    /// The latest of those that began so; now that it has gone on it is known by more.
    fn claim(&mut self, opening: &str, whole: &str) -> Option<Slot> {
        let alike = self.openings.get_mut(opening)?;
        let slot = alike.pop()?;
        if alike.is_empty() {
            self.openings.remove(opening);
        }
        self.entries.get_mut(&slot)?.record.known_by = KnownBy::Conversation(whole.to_owned());
        self.names.insert(Name::Conversation(whole.to_owned()), slot);
        Some(slot)
    }

    /// A new slot that goes by this key. Whoever has to make room for it is gone.
    fn name(&mut self, key: &Key) -> Slot {
        self.clock += 1;
        let slot = Slot(self.clock);
        let replaced = match key {
            Key::Id(id) => self.names.insert(Name::Id(id.0.clone()), slot),
            Key::Conversation { whole, .. } => self.names.insert(Name::Conversation(whole.clone()), slot),
            Key::Opening(opening) => {
                let alike = self.openings.entry(opening.clone()).or_default();
                alike.push(slot);
                (alike.len() > MOST_ALIKE).then(|| alike.remove(0))
            }
        };
        let is_full = self.entries.len() >= self.most;
        let oldest = || self.order.values().next().copied().filter(|_| is_full);
        if let Some(surplus) = replaced.or_else(oldest) {
            self.remove(surplus);
        }
        slot
    }

    fn remove(&mut self, slot: Slot) {
        let Some(Entry { record, used, .. }) = self.entries.remove(&slot) else { return };
        self.order.remove(&used);
        let name = match record.known_by {
            KnownBy::Id => Name::Id(record.id.0),
            KnownBy::Conversation(whole) => Name::Conversation(whole),
            KnownBy::Opening(opening) => {
                if let Some(alike) = self.openings.get_mut(&opening) {
                    alike.retain(|other| *other != slot);
                    if alike.is_empty() {
                        self.openings.remove(&opening);
                    }
                }
                return;
            }
        };
        if self.names.get(&name) == Some(&slot) {
            self.names.remove(&name);
        }
    }
}

fn fresh(key: Key) -> SessionRecord {
    let (id, known_by) = match key {
        Key::Id(id) => (id, KnownBy::Id),
        Key::Opening(opening) => (SessionId::fresh(), KnownBy::Opening(opening)),
        Key::Conversation { whole, .. } => (SessionId::fresh(), KnownBy::Conversation(whole)),
    };
    SessionRecord { id, known_by, turns: 0, tokens: 0, cost: Cost::Estimated(Usd::ZERO) }
}
