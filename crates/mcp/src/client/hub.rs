//! All servers of a configuration.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use junto_core::{Tool as _, ToolSource};
use junto_env::ExecutionEnvironment;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::connection::Means;
use super::keeper::{Phase, Server};
use super::offer::SessionTools;
use super::shelf::Shelf;
use super::tool::ServerTool;
use crate::config::ServerConfig;

/// Where the processes of servers are started.
#[derive(Clone)]
pub struct Places {
    open: Arc<dyn ExecutionEnvironment>,
    sandbox: Result<Arc<dyn ExecutionEnvironment>, Arc<str>>,
}

impl Places {
    /// In this environment. A server that wants a sandbox is not started.
    pub fn open(env: Arc<dyn ExecutionEnvironment>) -> Self {
        Self { open: env, sandbox: Err("there is none".into()) }
    }

    /// Says why a server that wants a sandbox is not started, and what to do about it.
    #[must_use]
    pub fn without_sandbox(mut self, why: impl Into<Arc<str>>) -> Self {
        self.sandbox = Err(why.into());
        self
    }

    /// The same, with this environment for those that want a sandbox.
    #[must_use]
    pub fn with_sandbox(mut self, env: Arc<dyn ExecutionEnvironment>) -> Self {
        self.sandbox = Ok(env);
        self
    }
}

/// How a server stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has wanted it yet.
    Asleep,
    /// It is being started.
    Starting,
    /// It can be called.
    Up,
    /// It is not there; why. It is started again when it is called, unless that failed too often.
    Failed(String),
}

/// A server and how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its name in the configuration.
    pub name: String,
    /// Whether it is used at all.
    pub is_enabled: bool,
    /// How it stands.
    pub standing: Standing,
    /// Its tools, as they are called here, with their descriptions; also while it is down.
    pub tools: Vec<(String, String)>,
}

/// All servers of a configuration. Cheap to clone; clones are the same hub. It starts nothing before somebody wants its
/// tools. When the last clone is dropped its servers are ended; [`Hub::close`] waits for that.
#[derive(Clone)]
pub struct Hub(Arc<Inner>);

struct Inner {
    servers: Vec<Arc<Server>>,
    shelf: Arc<Shelf>,
    places: Places,
    awake: AtomicBool,
    /// Owns the keepers and what carries messages.
    tasks: TaskTracker,
    end: CancellationToken,
    /// Ends everything with the last clone.
    _guard: DropGuard,
}

impl Hub {
    /// The servers of this configuration.
    pub fn new(servers: Vec<ServerConfig>, places: Places) -> Self {
        let end = CancellationToken::new();
        let servers = servers.into_iter().enumerate();
        Self(Arc::new(Inner {
            servers: servers.map(|(place, config)| Arc::new(Server::new(place, config))).collect(),
            shelf: Arc::default(),
            places,
            awake: AtomicBool::new(false),
            tasks: TaskTracker::new(),
            end: end.clone(),
            _guard: end.drop_guard(),
        }))
    }

    /// Whether there is a server to use.
    pub fn is_empty(&self) -> bool {
        self.enabled().next().is_none()
    }

    /// The tools for one session. What one finds by searching is declared to it alone.
    pub fn tools_for_session(&self) -> Arc<dyn ToolSource> {
        Arc::new(SessionTools::new(self.clone()))
    }

    /// Starts all servers, waits until each is up or has failed, and says how they stand.
    pub async fn ready(&self) -> Vec<Status> {
        self.wake();
        self.settled().await;
        self.statuses()
    }

    /// How all servers stand.
    pub fn statuses(&self) -> Vec<Status> {
        let tools = self.tools();
        let status = |server: &Arc<Server>| {
            let name = &server.config.name;
            let standing = match &server.state.borrow().phase {
                Phase::Asleep => Standing::Asleep,
                Phase::Starting => Standing::Starting,
                Phase::Up(_) => Standing::Up,
                Phase::Down(why) | Phase::GivenUp(why) => Standing::Failed(why.to_string()),
            };
            let own = tools.iter().filter(|tool| tool.server() == name).map(|tool| {
                let spec = tool.spec();
                (spec.name.clone(), spec.description.clone())
            });
            Status { name: name.clone(), is_enabled: server.config.enabled, standing, tools: own.collect() }
        };
        self.0.servers.iter().map(status).collect()
    }

    /// Tells of each server that could not be started, by its name and why, as soon as that is known. Starts nothing, and
    /// ends when all are up or have failed. Those that find no sandbox are left out: whoever has none knows.
    pub async fn failures(&self, mut tell: impl FnMut(&str, &str)) {
        let Places { sandbox, .. } = &self.0.places;
        let possible = self.enabled().filter(|server| sandbox.is_ok() || !server.config.sandboxed);
        let settled = possible.map(|server| async move {
            server.settled().await;
            server
        });
        let mut settled: FuturesUnordered<_> = settled.collect();
        while let Some(server) = settled.next().await {
            let phase = server.state.borrow().phase.clone();
            if let Phase::Down(why) | Phase::GivenUp(why) = phase {
                tell(&server.config.name, &why);
            }
        }
    }

    /// Ends all servers and waits until their processes are reaped.
    pub async fn close(&self) {
        self.0.end.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Starts in the background what has not been started yet. Must be called within a Tokio runtime.
    pub(super) fn wake(&self) {
        if self.0.end.is_cancelled() || self.0.awake.swap(true, Ordering::AcqRel) {
            return;
        }
        for server in self.enabled() {
            let Places { open, sandbox } = &self.0.places;
            let env = match (sandbox, server.config.sandboxed) {
                (_, false) => Arc::clone(open),
                (Ok(sandbox), true) => Arc::clone(sandbox),
                (Err(why), true) => {
                    let why = format!("it wants a sandbox: {why}");
                    server.state.send_modify(|state| state.phase = Phase::GivenUp(why.as_str().into()));
                    continue;
                }
            };
            let means = Means { env, tasks: self.0.tasks.clone(), end: self.0.end.clone() };
            let keep = Arc::clone(server).keep(means, Arc::clone(&self.0.shelf), self.0.end.clone());
            self.0.tasks.spawn(keep);
        }
    }

    pub(super) fn version(&self) -> u64 {
        self.0.shelf.version()
    }

    pub(super) fn tools(&self) -> Arc<[Arc<ServerTool>]> {
        self.0.shelf.tools()
    }

    /// Whether some server may yet bring tools.
    pub(super) fn is_coming(&self) -> bool {
        self.enabled().any(|server| server.is_coming())
    }

    /// Waits until no server may.
    pub(super) async fn settled(&self) {
        join_all(self.enabled().map(|server| server.settled())).await;
    }

    fn enabled(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.0.servers.iter().filter(|server| server.config.enabled)
    }
}
