//! A session's children: started, followed, spoken to and ended.
//!
//! A child lives from its `spawn` to its close, across calls and inputs of its parent, and ends with the
//! session at the latest. What is known of it is what its events tell (`state.rs`); a task of the family
//! reads them (`follow.rs`).

mod child;
mod follow;
mod state;
#[cfg(test)]
mod tests;
mod words;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{join_all, select_all};
use junto_core::{
    Agent, AgentError, AgentErrorKind, AgentId, AgentSpec, Body, Command, EventLog, Parent, Spawner,
};
use junto_env::ExecutionEnvironment;
use junto_llm::{Budget, CallId};
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use self::child::{Child, Report, Taken};
pub use self::child::{Subagent, SubagentStatus};
pub(crate) use self::words::{TOO_DEEP, refusal, report_data, reports};
use crate::panics::caught;
use crate::totals::Totals;

/// How many names are set aside at most: far more than one round asks for.
const MOST_NAMED: usize = 256;

/// The children of a session, and what it takes to have more.
pub(crate) struct Family {
    spawner: Option<Arc<dyn Spawner>>,
    log: EventLog,
    /// How many agents are above this session.
    depth: u8,
    /// How many there may be above any.
    max_depth: u8,
    budget: Arc<dyn Budget>,
    /// Where a child's usage is added when it has ended.
    totals: Arc<Totals>,
    /// The session's: children end with it.
    cancel: CancellationToken,
    /// One place for each child there may be at once.
    places: Arc<Semaphore>,
    max_children: usize,
    /// How many children there were, for their names.
    born: AtomicU32,
    /// Names that were set aside for calls which may start a child; the oldest first.
    named: Mutex<VecDeque<(CallId, String)>>,
    /// Those that were not closed, in the order of their names.
    children: Mutex<Vec<Arc<Child>>>,
    /// Children that are being started: waited for before the family is closed, so that none is left out.
    births: TaskTracker,
    /// The tasks that read the children's events; they end with the children.
    followers: TaskTracker,
}

/// What a session's family needs of it.
pub(crate) struct Home {
    pub(crate) spawner: Option<Arc<dyn Spawner>>,
    pub(crate) log: EventLog,
    pub(crate) depth: u8,
    pub(crate) max_depth: u8,
    pub(crate) max_children: usize,
    pub(crate) budget: Arc<dyn Budget>,
    pub(crate) totals: Arc<Totals>,
    pub(crate) cancel: CancellationToken,
    /// How many children there were before the session was brought back.
    pub(crate) born: u32,
}

/// What a child is started for.
pub(crate) struct Errand {
    pub(crate) spec: AgentSpec,
    pub(crate) task: String,
    /// Where it works.
    pub(crate) env: Arc<dyn ExecutionEnvironment>,
    /// The tool call that asks for it.
    pub(crate) call: CallId,
}

/// Which of several children are waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Until {
    #[default]
    All,
    First,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    Done,
    TimedOut,
    Interrupted,
}

impl Family {
    pub(crate) fn new(home: Home) -> Self {
        let Home { spawner, log, depth, max_depth, max_children, budget, totals, cancel, born } = home;
        Self {
            spawner,
            log,
            depth,
            max_depth,
            budget,
            totals,
            cancel,
            places: Arc::new(Semaphore::new(max_children.min(Semaphore::MAX_PERMITS))),
            max_children,
            born: AtomicU32::new(born),
            named: Mutex::default(),
            children: Mutex::default(),
            births: TaskTracker::new(),
            followers: TaskTracker::new(),
        }
    }

    /// Makes children; absent if this session cannot have any, for want of a spawner or of depth.
    pub(crate) fn spawner(&self) -> Option<&dyn Spawner> {
        self.spawner.as_deref().filter(|_| self.depth < self.max_depth)
    }

    /// Whether it is only the depth that keeps this session from having children.
    pub(crate) fn is_too_deep(&self) -> bool {
        self.spawner.is_some() && self.depth >= self.max_depth
    }

    /// The log of the session itself.
    pub(crate) fn log(&self) -> &EventLog {
        &self.log
    }

    pub(crate) fn max_children(&self) -> usize {
        self.max_children
    }

    fn children(&self) -> MutexGuard<'_, Vec<Arc<Child>>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The children that were not closed.
    pub(crate) fn all(&self) -> Vec<Arc<Child>> {
        self.children().clone()
    }

    /// The child of this name, or of this id.
    ///
    /// # Errors
    /// `invalid` if there is none; the hint names those there are.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<Child>, AgentError> {
        let children = self.children();
        let found = children.iter().find(|child| child.name() == name || child.id().0 == name);
        found.cloned().ok_or_else(|| {
            let known: Vec<&str> = children.iter().map(|child| child.name()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            AgentError::new(AgentErrorKind::Invalid, format!("there is no agent `{name}` (any more)"))
                .with_hint(format!("there are: {known}"))
        })
    }

    /// Starts a child and gives it its task. Once begun it is brought to its end, also if nobody waits for
    /// it any longer: the child is there then, and ends with the session.
    ///
    /// # Errors
    /// `limit` if there may be no more children, or none at all; else what kept the child from starting.
    pub(crate) async fn spawn(self: &Arc<Self>, errand: Errand) -> Result<Arc<Child>, AgentError> {
        let name = self.name_of(&errand.call);
        if let Err(error) = self.check_room() {
            self.give_back(&name);
            return Err(error);
        }
        let family = Arc::clone(self);
        let birth = self.births.spawn(async move { family.give_birth(name, errand).await });
        birth.await.unwrap_or_else(|_| {
            Err(AgentError::new(AgentErrorKind::Process, "the agent crashed before it had started"))
        })
    }

    /// Sets a name aside for a call that may start a child, so that the children of one round are named in
    /// the order of its calls, whichever of them is there first.
    pub(crate) fn set_name_aside(&self, call: &CallId) {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if named.iter().any(|(known, _)| known == call) {
            return;
        }
        if named.len() == MOST_NAMED {
            named.pop_front();
        }
        named.push_back((call.clone(), self.next_name()));
    }

    /// The name that was set aside for a call, or another.
    fn name_of(&self, call: &CallId) -> String {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let at = named.iter().position(|(known, _)| known == call);
        at.and_then(|at| named.remove(at)).map_or_else(|| self.next_name(), |(_, name)| name)
    }

    fn next_name(&self) -> String {
        name(self.born.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Nothing came of a call for which a name was set aside.
    pub(crate) fn release_name(&self, call: &CallId) {
        let unused = self.name_of(call);
        self.give_back(&unused);
    }

    /// Takes a name back that nobody got, if it was the last.
    fn give_back(&self, unused: &str) {
        let born = self.born.load(Ordering::Relaxed);
        if name(born) == unused {
            let last = born.saturating_sub(1);
            // If another was given meanwhile, a number is left out.
            let _ = self.born.compare_exchange(born, last, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// That another child may be started.
    fn check_room(&self) -> Result<(), AgentError> {
        if self.cancel.is_cancelled() {
            return Err(AgentError::closed());
        }
        if self.is_too_deep() {
            return Err(AgentError::new(AgentErrorKind::Limit, TOO_DEEP));
        }
        if self.spawner.is_none() {
            return Err(AgentError::unsupported("start agents"));
        }
        if self.places.available_permits() == 0 {
            return Err(self.crowded());
        }
        Ok(())
    }

    fn crowded(&self) -> AgentError {
        let mut all: Vec<String> = self.all().iter().map(|child| child.line()).collect();
        let message = format!("there are {} agents already, and no more are allowed", self.max_children);
        let crowded = AgentError::new(AgentErrorKind::Limit, message);
        // A place is taken before there is a child to name, and given back after it.
        match self.max_children.saturating_sub(all.len()) {
            0 => {}
            more => all.push(format!("{more} that just begin or end")),
        }
        if all.is_empty() {
            return crowded;
        }
        crowded.with_hint(format!("close_agent ends those that are no longer needed: {}", all.join("; ")))
    }

    async fn give_birth(&self, name: String, errand: Errand) -> Result<Arc<Child>, AgentError> {
        let Errand { spec, task, env, call } = errand;
        let Some(spawner) = &self.spawner else { return Err(AgentError::unsupported("start agents")) };
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| self.crowded())?;
        let parent = Parent {
            log: Some(self.log.for_call(call.clone())),
            env: Some(env),
            depth: self.depth.saturating_add(1),
            cancel: self.cancel.child_token(),
            budget: Arc::clone(&self.budget),
        };
        let agent = spawner.spawn(spec.clone(), parent).await?;
        let kind = spec.kind.clone();
        let child = Arc::new(Child::new(Arc::clone(&agent), name.clone(), spec, task.clone(), place));
        let reader = agent.log().subscribe(agent.log().last().next());
        self.followers.spawn(follow::follow(child.followed(), reader, Arc::clone(&self.totals)));
        self.take_in(&child);
        let begun = async {
            self.log.emit_for(&call, Body::Child { agent: child.id().clone(), name, kind, task }).await?;
            child.begin().await
        };
        match begun.await {
            Ok(()) => Ok(child),
            Err(error) => {
                self.end(&child).await;
                Err(error)
            }
        }
    }

    /// Puts a child among the others, in the order of their names.
    fn take_in(&self, child: &Arc<Child>) {
        let order = |child: &Child| (child.name().len(), child.name().to_owned());
        let mut children = self.children();
        let at = children.partition_point(|other| order(other) < order(child));
        children.insert(at, Arc::clone(child));
    }

    /// Waits until children have nothing to do, the time is up, or the token is cancelled; whichever it
    /// is, the children go on.
    pub(crate) async fn wait(
        &self,
        children: &[Arc<Child>],
        until: Until,
        limit: Option<Duration>,
        cancel: &CancellationToken,
    ) -> Waited {
        let idle = children.iter().map(|child| child.idle().boxed());
        let done = async {
            match until {
                // Where there is nobody to wait for, all of them are done.
                Until::First if !children.is_empty() => drop(select_all(idle).await),
                Until::All | Until::First => drop(join_all(idle).await),
            }
        };
        let late = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = done => Waited::Done,
            () = cancel.cancelled() => Waited::Interrupted,
            () = late => Waited::TimedOut,
        }
    }

    /// Ends a child, and waits until it has ended. What it used is booked then.
    pub(crate) async fn end(&self, child: &Arc<Child>) {
        child.close().await;
        self.children().retain(|other| !Arc::ptr_eq(other, child));
    }

    /// Hands an answer to the child that asked. Whether there is one.
    pub(crate) async fn answer(&self, answer: &Command) -> bool {
        for child in self.all() {
            if child.agent().send(answer.clone()).await.is_ok() {
                return true;
            }
        }
        false
    }

    /// Interrupts the children that work. Whether there were any.
    pub(crate) async fn interrupt(&self) -> bool {
        let busy: Vec<_> = self.all().into_iter().filter(|child| child.is_running()).collect();
        join_all(busy.iter().map(|child| caught(child.agent().send(Command::Interrupt)))).await;
        !busy.is_empty()
    }

    /// The agent of this id among the children and theirs.
    pub(crate) fn descendant(&self, id: &AgentId) -> Option<Arc<dyn Agent>> {
        self.all().iter().find_map(|child| {
            let agent = child.agent();
            if child.id() == id { Some(Arc::clone(agent)) } else { agent.child(id) }
        })
    }

    /// Ends all children that are left.
    pub(crate) async fn close(&self) {
        self.births.close();
        self.births.wait().await;
        let children = self.all();
        join_all(children.iter().map(|child| self.end(child))).await;
        self.followers.close();
        self.followers.wait().await;
    }
}

/// The name of a child by its number.
fn name(number: u32) -> String {
    format!("agent-{number}")
}
