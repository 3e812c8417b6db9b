//! A session's children.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use junto_core::{
    Agent, AgentError, AgentSpec, Body, Command, EndReason, EventLog, Input, Item, Parent, Spawner,
    Subscription,
};
use junto_llm::Budget;
use tokio_util::sync::CancellationToken;

use crate::totals::Totals;

/// The children of a session, and what it takes to have more.
pub(crate) struct Family {
    pub(crate) spawner: Option<Arc<dyn Spawner>>,
    pub(crate) log: EventLog,
    /// How many agents are above this session.
    pub(crate) depth: u8,
    pub(crate) budget: Arc<dyn Budget>,
    /// Where a child's usage is added.
    pub(crate) totals: Arc<Totals>,
    /// Those that live.
    pub(crate) children: Mutex<Vec<Arc<dyn Agent>>>,
}

/// How a child's work ended.
pub(crate) struct Finished {
    pub(crate) reason: EndReason,
    pub(crate) text: String,
}

impl Family {
    fn children(&self) -> MutexGuard<'_, Vec<Arc<dyn Agent>>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a child, gives it a task, waits until it is done and closes it. `cancel` ends it.
    pub(crate) async fn delegate(
        &self,
        spec: AgentSpec,
        task: &str,
        cancel: &CancellationToken,
    ) -> Result<Finished, AgentError> {
        let Some(spawner) = &self.spawner else { return Err(AgentError::unsupported("start agents")) };
        let kind = spec.kind.clone();
        let parent = Parent {
            log: Some(self.log.clone()),
            depth: self.depth.saturating_add(1),
            cancel: cancel.child_token(),
            budget: Arc::clone(&self.budget),
        };
        let child = spawner.spawn(spec, parent).await?;
        self.children().push(Arc::clone(&child));
        let finished = self.follow(&*child, kind, task, cancel).await;
        child.close().await;
        self.children().retain(|other| !Arc::ptr_eq(other, &child));
        finished
    }

    async fn follow(
        &self,
        child: &dyn Agent,
        kind: String,
        task: &str,
        cancel: &CancellationToken,
    ) -> Result<Finished, AgentError> {
        let id = child.log().agent().clone();
        self.log.emit(Body::Child { agent: id.clone(), kind, task: task.to_owned() }).await?;
        let mut reader = child.log().subscribe(child.log().last().next());
        let input = Input::text(task);
        child.send(Command::Submit { input }).await?;
        let finished = loop {
            let item = tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    child.close().await;
                    break Finished { reason: EndReason::Interrupted, text: String::new() };
                }
                item = reader.next() => item?,
            };
            let Item::Event(event) = item else { continue };
            if event.agent != id {
                continue;
            }
            match &event.body {
                Body::InputEnd { reason, text } => {
                    break Finished { reason: reason.clone(), text: child.log().read(text).await? };
                }
                Body::SessionEnd { reason, usage, cost } => {
                    self.totals.add(usage, *cost);
                    return Ok(Finished { reason: reason.clone(), text: String::new() });
                }
                _ => {}
            }
        };
        child.close().await;
        self.book(&mut reader, child).await?;
        Ok(finished)
    }

    /// Adds what a child that has ended used.
    async fn book(&self, reader: &mut Subscription, child: &dyn Agent) -> Result<(), AgentError> {
        for event in reader.rest().await? {
            if let Body::SessionEnd { usage, cost, .. } = &event.body
                && &event.agent == child.log().agent()
            {
                self.totals.add(usage, *cost);
            }
        }
        Ok(())
    }

    /// Hands an answer to the child that asked. Whether there is one.
    pub(crate) async fn answer(&self, answer: &Command) -> bool {
        let children = self.children().clone();
        for child in children {
            if child.send(answer.clone()).await.is_ok() {
                return true;
            }
        }
        false
    }

    /// Closes the children that are left.
    pub(crate) async fn close(&self) {
        let children = std::mem::take(&mut *self.children());
        join_all(children.iter().map(|child| child.close())).await;
    }
}
