//! Reads a child's events, so that its family knows how it stands.

use std::sync::Arc;

use junto_core::{Agent, AgentError, Body, Command, Event, EventError, Item, JournalError, Subscription};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::state::{State, Todo};
use super::words::TOO_LATE;
use crate::panics::caught;
use crate::totals::Totals;

/// A child, as its follower knows it.
pub(crate) struct Followed {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) state: watch::Sender<State>,
    /// No more events will come but those that are there.
    pub(crate) gone: CancellationToken,
}

/// Reads a child's events to the last one, and books what it used.
pub(crate) async fn follow(child: Followed, mut reader: Subscription, totals: Arc<Totals>) {
    if let Err(error) = child.read(&mut reader, &totals).await {
        let error = EventError::from(&AgentError::from(error));
        child.state.send_modify(|state| state.lose(error));
    }
    child.state.send_modify(State::end);
}

impl Followed {
    async fn read(&self, reader: &mut Subscription, totals: &Totals) -> Result<(), JournalError> {
        loop {
            let item = tokio::select! {
                biased;
                item = reader.next() => item?,
                () = self.gone.cancelled() => break,
            };
            if let Item::Event(event) = item {
                self.take(&event, totals).await;
            }
            if self.state.borrow().is_over() {
                return Ok(());
            }
        }
        for event in reader.rest().await? {
            self.take(&event, totals).await;
        }
        Ok(())
    }

    async fn take(&self, event: &Event, totals: &Totals) {
        if event.agent != *self.agent.log().agent() {
            return;
        }
        // Before anybody who waits for its end looks at the sums.
        if let Body::SessionEnd { usage, cost, .. } = &event.body {
            totals.add(usage, *cost);
        }
        let mut todo = Todo::Nothing;
        self.state.send_modify(|state| todo = state.take(&event.body));
        if todo == Todo::Again {
            let sent = caught(self.agent.send(Command::FollowUp { input: TOO_LATE.into() })).await;
            if !matches!(sent, Ok(Ok(_))) {
                self.state.send_modify(State::withdraw);
            }
        }
    }
}
