//! What a workshop is put together from.

use std::sync::Arc;
use std::time::Duration;

use junto_core::{OnReject, Policy, ToolSource, Unread};
use junto_llm::catalog::Catalog;
use junto_llm::{Allowance, Budget, retry};
use junto_store::Store;

use super::{Inner, Workshop};
use crate::{Code, Kind, SnapshotPolicy};

/// Puts a [`Workshop`] together.
#[must_use]
pub struct WorkshopBuilder(Inner);

impl WorkshopBuilder {
    pub(super) fn new(inner: Inner) -> Self {
        Self(inner)
    }

    /// Adds a kind of agent.
    pub fn kind(mut self, name: impl Into<String>, kind: Kind) -> Self {
        self.0.kinds.insert(name.into(), kind);
        self
    }

    /// Judges what native agents do. By default everything is allowed.
    pub fn policy(mut self, policy: Arc<dyn Policy>, on_reject: OnReject) -> Self {
        (self.0.policy, self.0.on_reject) = (policy, on_reject);
        // Whoever is named judges everywhere.
        self.0.make_policy = None;
        self
    }

    /// What it means when somebody refuses what a native agent wants to do.
    pub fn on_reject(mut self, on_reject: OnReject) -> Self {
        self.0.on_reject = on_reject;
        self
    }

    /// How long a question about what a native agent wants to do waits for its answer; by default for ever.
    pub fn approval_timeout(mut self, patience: Option<Duration>) -> Self {
        self.0.approval_timeout = patience;
        self
    }

    /// Whether native agents may change files that they have never read; by default they may.
    pub fn unread(mut self, unread: Unread) -> Self {
        self.0.unread = unread;
        self
    }

    /// Holds command-line agents to modes that they do not keep to by themselves.
    pub(super) fn cage(mut self, make: super::MakeCage) -> Self {
        self.0.make_cage = Some(make);
        self
    }

    /// Judges what is done in other directories than the workshop's.
    pub(super) fn judges(mut self, make: super::MakePolicy) -> Self {
        self.0.make_policy = Some(make);
        self
    }

    /// What models cost.
    pub fn catalog(mut self, catalog: Catalog) -> Self {
        self.0.catalog = catalog;
        self
    }

    /// How failed model calls are retried.
    pub fn retry(mut self, policy: retry::Policy) -> Self {
        self.0.retry = policy;
        self
    }

    /// What all agents together may spend.
    pub fn budget(mut self, budget: Arc<dyn Budget>) -> Self {
        self.0.budget = budget;
        self
    }

    /// How much of that one input to a native agent may take, with what its children spend meanwhile.
    pub fn turn_budget(mut self, allowance: Allowance) -> Self {
        self.0.turn_budget = allowance;
        self
    }

    /// How many levels of children there may be; 1 by default.
    pub fn max_depth(mut self, depth: u8) -> Self {
        self.0.max_depth = depth;
        self
    }

    /// Gives every native session tools that come and go, as `make` makes them: those of MCP servers
    /// ([`Hub::tools_for_session`](junto_mcp::Hub::tools_for_session)). By default there are none.
    pub fn late_tools(mut self, make: impl Fn() -> Arc<dyn ToolSource> + Send + Sync + 'static) -> Self {
        self.0.late_tools = Some(Arc::new(make));
        self
    }

    /// Gives every native session a kernel for code. By default there is none.
    pub fn code(mut self, code: Code) -> Self {
        self.0.code = Some(code);
        self
    }

    /// Makes the environments of kernels.
    pub(super) fn rooms(mut self, make: super::MakeRoom) -> Self {
        self.0.make_room = Some(make);
        self
    }

    /// Keeps the sessions of agents that are nobody's children; their children's events are in the same
    /// journal. By default no session is kept.
    pub fn store(mut self, store: Store) -> Self {
        self.0.store = Some(store);
        self
    }

    /// Has the files snapshotted at the turns of sessions that are kept, so that [`crate::Turns`] can take
    /// changes back. By default they are not.
    pub fn snapshots(mut self, policy: SnapshotPolicy) -> Self {
        self.0.snapshots = Some(policy);
        self
    }

    /// Stamps events with this clock instead of the system's.
    pub fn clock(mut self, clock: junto_core::Clock) -> Self {
        self.0.clock = clock;
        self
    }

    /// The workshop.
    pub fn build(self) -> Workshop {
        Workshop(Arc::new(self.0))
    }
}
