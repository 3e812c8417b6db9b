//! The agents that a host has started.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use junto_core::AgentId;

use super::run::Run;
use super::{Order, Workers};

/// How many agents may live at once. Of those that are done the eldest gives way.
const MOST: usize = 16;

/// The agents, eldest first.
pub(super) struct Desk {
    pub(super) workers: Arc<dyn Workers>,
    runs: Mutex<Vec<Arc<Run>>>,
}

impl Desk {
    pub(super) fn new(workers: Arc<dyn Workers>) -> Self {
        Self { workers, runs: Mutex::default() }
    }

    fn runs(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Run>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<Arc<Run>> {
        self.runs().clone()
    }

    /// The one of this id.
    ///
    /// # Errors
    /// If there is none (any more).
    pub(super) fn get(&self, id: &str) -> Result<Arc<Run>, String> {
        let known = || self.all().iter().map(|run| run.id.clone()).collect::<Vec<_>>().join(", ");
        let found = self.runs().iter().find(|run| run.id == id).cloned();
        found.ok_or_else(|| format!("there is no run {id}; there are: {}", known()))
    }

    /// Starts an agent on a task.
    ///
    /// # Errors
    /// Why that is not possible.
    pub(super) async fn start(&self, order: Order, task: String) -> Result<Arc<Run>, String> {
        self.make_room().await?;
        let agent = self.workers.start(order).await?;
        // The end of an id is what tells those apart that are of one moment.
        let id = AgentId::fresh().0;
        let id = id.chars().rev().take(8).collect::<String>();
        let run = Run::begin(id, task, agent).await.map_err(|error| error.to_string())?;
        self.runs().push(Arc::clone(&run));
        Ok(run)
    }

    async fn make_room(&self) -> Result<(), String> {
        let leaving = {
            let mut runs = self.runs();
            if runs.len() < MOST {
                return Ok(());
            }
            let done = runs.iter().position(|run| !run.works());
            done.map(|place| runs.remove(place))
        };
        match leaving {
            Some(run) => {
                run.close().await;
                Ok(())
            }
            None => Err(format!("{MOST} agents are working already; stop one, or wait for one")),
        }
    }

    /// Ends all.
    pub(super) async fn close(&self) {
        let runs = std::mem::take(&mut *self.runs());
        join_all(runs.iter().map(|run| run.close())).await;
    }
}
