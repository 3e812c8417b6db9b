//! What the calls of a question are booked as.

use junto::llm::middleware::Entry;
use junto::llm::{CallId, Cost, Response, Tally};
use junto::store::{self, Book};

use crate::config::Config;
use crate::environment::Environment;
use crate::output::Output;
use crate::saved;

/// The calls that a question took. Dropped before there was an answer, as by an interrupt, it books those that the model
/// had begun: what they cost nobody knows, but somebody pays for it.
pub(super) struct Tab<'a> {
    pub(super) tally: Tally,
    config: &'a Config,
    environment: &'a Environment,
    output: &'a Output,
}

impl<'a> Tab<'a> {
    pub(super) fn new(config: &'a Config, environment: &'a Environment, output: &'a Output) -> Self {
        Self { tally: Tally::default(), config, environment, output }
    }

    /// Books an answer, and what broke off before it.
    pub(super) fn answered(self, response: &Response, cost: Cost) {
        let made = self.tally.take();
        self.book(|book| {
            let Response { provider, model, usage, .. } = response;
            book.record(CallId::fresh(), None, provider, model, usage, cost)?;
            // An answer that is made of several calls counts them all.
            let mut broken = made.iter().filter(|entry| usage.calls.is_empty() && entry.error.is_some());
            broken.try_for_each(|entry| record(book, entry))
        });
    }

    fn book(&self, write: impl FnOnce(&Book) -> store::Result<()>) {
        let Some(book) = saved::book("ask", self.config, self.environment, self.output) else { return };
        if let Err(error) = write(&book) {
            self.output.warning(&format!("`junto cost` will not know of this: {error}"));
        }
    }
}

impl Drop for Tab<'_> {
    fn drop(&mut self) {
        let made = self.tally.take();
        if !made.is_empty() {
            self.book(|book| made.iter().try_for_each(|entry| record(book, entry)));
        }
    }
}

/// Books a call under an id of its own: attempts share one.
fn record(book: &Book, entry: &Entry) -> store::Result<()> {
    let Entry { provider, model, usage, cost, .. } = entry;
    book.record(CallId::fresh(), None, provider, model, usage, *cost)
}
