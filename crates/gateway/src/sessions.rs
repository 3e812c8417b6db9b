//! The sessions of clients: how often each has asked a council, and what it has used.
//!
//! A session is known by the client's own name for it, else by how its conversation begins (see [`key`]).
//! What it has used is booked when a call ends; a session that has used up its budget is refused, and one
//! that has had all its turns is told so in an ordinary answer, so that a loop comes to its end.

mod canned;
mod file;
mod key;
mod table;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use junto_llm::{Allowance, Cost, Error, ErrorKind, SessionId, Spending, Usage};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub(crate) use self::canned::Canned;
pub use self::file::SessionFile;
pub(crate) use self::key::Key;

use self::table::{Slot, Table};
use crate::reply::Failure;
use crate::warnings::Warnings;

/// How long after a change everything is saved: changes come in bursts.
const SETTLED: Duration = Duration::from_secs(2);

/// What is kept of one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// The client's own name for it, or one that the gateway made up.
    pub id: SessionId,
    /// How it is known when it comes back.
    pub known_by: KnownBy,
    /// How many turns it has had of targets that count them.
    pub turns: u32,
    /// Tokens used, read and written.
    pub tokens: u64,
    /// What they cost; unknown as soon as one call's cost is.
    pub cost: Cost,
}

/// How a session is known when it comes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// By its id, which its client sends along.
    Id,
    /// By a digest of what was asked first; there is no answer yet that would tell it from others that
    /// begin alike.
    Opening(String),
    /// By a digest of what was asked and answered first.
    Conversation(String),
}

/// Where sessions are kept while no gateway runs. Called from threads that may block.
pub trait SessionStore: Send + Sync {
    /// All sessions as they were saved, those used longest ago first; none if nothing was ever saved.
    ///
    /// # Errors
    /// If they cannot be read. A gateway does not start then: it would forget what was spent.
    fn load(&self) -> std::io::Result<Vec<SessionRecord>>;

    /// Replaces what this gateway has saved before, all of it or nothing.
    ///
    /// # Errors
    /// If that fails. The gateway [warns](crate::Builder::on_warning) and tries again with the next change.
    fn save(&self, sessions: &[SessionRecord]) -> std::io::Result<()>;
}

/// What a session may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Turns of targets that count them.
    pub(crate) turns: Option<u32>,
    pub(crate) budget: Allowance,
    /// How many sessions are remembered.
    pub(crate) most: usize,
}

/// Whether a call is one of the turns that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Counted,
    Free,
}

/// What becomes of a call.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It is made.
    Goes,
    /// It is answered with the word that the session has had this many turns.
    Capped(u32),
    /// It is refused: there is nothing left to spend.
    Spent(Failure),
}

/// All sessions.
pub(crate) struct Sessions {
    limits: Limits,
    table: Mutex<Table>,
    store: Option<Arc<dyn SessionStore>>,
    changed: Notify,
}

impl Sessions {
    /// The sessions that the store has kept.
    ///
    /// # Errors
    /// `configuration` if it cannot say which.
    pub(crate) fn open(limits: Limits, store: Option<Arc<dyn SessionStore>>) -> Result<Self, Error> {
        let kept = store.as_ref().map_or(Ok(Vec::new()), |store| store.load()).map_err(|error| {
            Error::configuration(format!("what sessions have used cannot be read: {error}"))
                .with_hint("without it budgets would start anew; if they may, remove what was saved")
        })?;
        let mut table = Table::new(limits.most);
        for record in kept {
            table.restore(record);
        }
        Ok(Self { limits, table: Mutex::new(table), store, changed: Notify::new() })
    }

    /// Begins a call of a session, and says what becomes of it. The ticket keeps the books either way.
    pub(crate) fn begin(self: &Arc<Self>, key: Key, turn: Turn) -> (Ticket, Verdict) {
        let mut table = self.table();
        let (slot, record) = table.find(key);
        let verdict = self.limits.verdict(record, turn);
        let counted = turn == Turn::Counted && matches!(verdict, Verdict::Goes);
        record.turns = record.turns.saturating_add(u32::from(counted));
        let id = record.id.clone();
        (Ticket { sessions: Arc::clone(self), slot, id, counted }, verdict)
    }

    /// Whether what they may use is limited.
    pub(crate) fn have_budget(&self) -> bool {
        self.limits.budget != Allowance::UNLIMITED
    }

    /// Whether nothing that sessions have done keeps them from such a turn.
    pub(crate) fn are_free(&self, turn: Turn) -> bool {
        turn == Turn::Free && !self.have_budget()
    }

    /// The sessions that were used last, the latest first.
    pub(crate) fn latest(&self, most: usize) -> Vec<SessionRecord> {
        self.table().records().rev().take(most).cloned().collect()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.table().len()
    }

    /// Saves what changes until `over`, and once more at the end.
    pub(crate) async fn keep(&self, over: CancellationToken, warnings: &Warnings) {
        let Some(store) = &self.store else { return };
        while !over.is_cancelled() {
            tokio::select! {
                () = over.cancelled() => {}
                () = async { self.changed.notified().await; tokio::time::sleep(SETTLED).await } => {
                    self.save(store, warnings).await;
                }
            }
        }
        self.save(store, warnings).await;
    }

    async fn save(&self, store: &Arc<dyn SessionStore>, warnings: &Warnings) {
        let records: Vec<SessionRecord> = self.table().records().cloned().collect();
        let store = Arc::clone(store);
        let saved = tokio::task::spawn_blocking(move || store.save(&records)).await;
        if let Err(error) = saved.map_err(std::io::Error::other).flatten() {
            warnings.tell(&format!("what sessions have used could not be saved: {error}"));
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Limits {
    fn verdict(&self, record: &SessionRecord, turn: Turn) -> Verdict {
        if let Some(what) = self.exhausted(record) {
            let message = format!(
                "this session has used up its budget of {}: {what}; begin a new session, or raise the budget",
                self.budget
            );
            return Verdict::Spent(Failure::new(ErrorKind::Quota, message));
        }
        match self.turns {
            Some(most) if turn == Turn::Counted && record.turns >= most => Verdict::Capped(most),
            _ => Verdict::Goes,
        }
    }

    /// What is used up, in words.
    fn exhausted(&self, record: &SessionRecord) -> Option<String> {
        let Allowance { usd, tokens } = self.budget;
        let spent = match (usd, record.cost.amount()) {
            (None, _) => None,
            (Some(limit), Some(cost)) => (cost >= limit).then(|| format!("{cost} spent")),
            // Money whose amount nobody knows could be any amount.
            (Some(_), None) => Some("what it has spent is not known, since a call's price is not".to_owned()),
        };
        let used = tokens.filter(|limit| record.tokens >= *limit);
        spent.or_else(|| used.map(|_| format!("{} tokens used", record.tokens)))
    }
}

/// Keeps the books of one call of a session.
pub(crate) struct Ticket {
    sessions: Arc<Sessions>,
    slot: Slot,
    id: SessionId,
    counted: bool,
}

/// How a call went, for the books of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// There was an answer, or some of one.
    Answered,
    /// There was none: the turn was none.
    Nothing,
}

impl Ticket {
    /// The session.
    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    /// At the end of the call.
    pub(crate) fn settle(self, outcome: Outcome, used: Spending) {
        let mut table = self.sessions.table();
        let Some(record) = table.end(self.slot) else { return };
        if self.counted && outcome == Outcome::Nothing {
            record.turns = record.turns.saturating_sub(1);
        }
        record.tokens = record.tokens.saturating_add(used.tokens);
        record.cost = record.cost + used.cost;
        if outcome == Outcome::Nothing {
            table.forget_if_unused(self.slot);
        }
        drop(table);
        self.sessions.changed.notify_one();
    }
}

/// What a call has used, for the books of its session.
pub(crate) fn spending(usage: &Usage, cost: Cost) -> Spending {
    Spending { cost, tokens: usage.input.saturating_add(usage.output) }
}

#[cfg(test)]
mod tests;
