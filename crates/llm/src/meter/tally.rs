//! What calls used, written down by whoever made them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::{CallCx, CallId, Cost, Error, SessionId, Usage};

/// What a call used and cost.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// The call.
    pub call: CallId,
    /// The call that caused it.
    pub parent: Option<CallId>,
    /// The session it belongs to.
    pub session: Option<SessionId>,
    /// The provider's name.
    pub provider: String,
    /// The model: as the provider named it if it answered, else as it was asked for.
    pub model: String,
    /// Tokens used; zero where the call failed before any were counted.
    pub usage: Usage,
    /// What it cost. A failed or dropped call's cost is unknown unless nothing was used.
    pub cost: Cost,
    /// The failure, if it failed.
    pub error: Option<Error>,
}

impl Entry {
    /// What the call of this context used at this provider and model, which did not fail.
    pub fn new(cx: &CallCx, provider: &str, model: &str, usage: Usage, cost: Cost) -> Self {
        Self {
            call: cx.call.clone(),
            parent: cx.parent.clone(),
            session: cx.session.clone(),
            provider: provider.to_owned(),
            model: model.to_owned(),
            usage,
            cost,
            error: None,
        }
    }
}

/// The calls that were really made for one: a council's members and judge, an attempt that broke off and
/// the one that was made in its place. Clones write to the same list.
///
/// Calls of which nothing was used, since the provider could not be reached or refused them, are not in it.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<Mutex<Vec<Entry>>>);

impl Tally {
    /// Writes down a call that has ended.
    pub fn add(&self, entry: Entry) {
        self.entries().push(entry);
    }

    /// What was written down so far, in the order of the ends; the list is empty afterwards.
    pub fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.entries())
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many models a conversation's counts are kept of.
const MODELS: usize = 32;

/// What providers counted in the last request of a conversation. Clones share it. With it the worst case of
/// the next request, which begins with the same messages, is known much better than by its bytes.
#[derive(Clone, Debug, Default)]
pub struct Counts(Arc<Mutex<Vec<(Asked, Count)>>>);

/// Who counted: a provider's name, and the model as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) provider: String,
    pub(super) model: String,
}

/// What was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    /// How many messages the request had.
    pub(super) messages: usize,
    /// What stands for these messages, and everything before them.
    pub(super) print: u64,
    /// The tokens of the request and of its answer.
    pub(super) tokens: u64,
}

impl Counts {
    pub(super) fn get(&self, asked: &Asked) -> Option<Count> {
        self.all().iter().find(|(by, _)| by == asked).map(|(_, count)| *count)
    }

    pub(super) fn set(&self, asked: Asked, count: Count) {
        let mut all = self.all();
        all.retain(|(by, _)| *by != asked);
        if all.len() == MODELS {
            all.remove(0);
        }
        all.push((asked, count));
    }

    fn all(&self) -> MutexGuard<'_, Vec<(Asked, Count)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
