//! A connection to a server, from its start to its end.

use std::sync::Arc;
use std::time::Duration;

use junto_env::{CommandSpec, ExecutionEnvironment, Stdin};
use rmcp::model::{ProtocolVersion, Tool};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, Peer, RoleClient, RunningService,
};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::handler::Ear;
use crate::config::{Launch, Pin, Reach, ServerConfig};
use crate::transport::{LastWords, ProcessTransport, http};

/// How many tools of a server are listed at most, and how many pages.
const MOST_TOOLS: usize = 2000;
/// The most that a server may say of all its tools: they are kept as long as it is used.
const MOST_BYTES: usize = 16 << 20;
const MOST_PAGES: usize = 200;

/// A connection, owned by its keeper.
pub(super) struct Connection {
    pub(super) service: RunningService<RoleClient, Ear>,
    pub(super) line: Line,
}

/// What callers of a connection have.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) peer: Peer<RoleClient>,
    pub(super) ear: Ear,
    pub(super) words: LastWords,
}

impl Line {
    pub(super) fn is_open(&self) -> bool {
        !self.peer.is_transport_closed()
    }

    pub(super) fn has_resources(&self) -> bool {
        self.peer.peer_info().is_some_and(|info| info.capabilities.resources.is_some())
    }

    pub(super) fn has_prompts(&self) -> bool {
        self.peer.peer_info().is_some_and(|info| info.capabilities.prompts.is_some())
    }

    /// All tools, page by page. A server that never comes to an end is cut short.
    ///
    /// # Errors
    /// What the server says, or that it says nothing in time.
    pub(super) async fn tools(&self, within: Duration) -> Result<Vec<Tool>, String> {
        if self.peer.peer_info().is_some_and(|info| info.capabilities.tools.is_none()) {
            return Ok(Vec::new());
        }
        let (mut tools, mut cursor): (Vec<Tool>, Option<String>) = (Vec::new(), None);
        let mut bytes = 0;
        for _ in 0..MOST_PAGES {
            let params = cursor.take().map(|cursor| {
                let mut params = rmcp::model::PaginatedRequestParams::default();
                params.cursor = Some(cursor);
                params
            });
            let page = tokio::time::timeout(within, self.peer.list_tools(params)).await;
            let page = page.map_err(|_| format!("it did not list its tools within {within:?}"))?;
            let page = page.map_err(|error| format!("it does not list its tools: {error}"))?;
            bytes += page.tools.iter().map(weight).sum::<usize>();
            if bytes > MOST_BYTES {
                return Err(format!("its list of tools has more than {MOST_BYTES} bytes"));
            }
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() || tools.len() >= MOST_TOOLS {
                break;
            }
        }
        tools.truncate(MOST_TOOLS);
        let mut known = std::collections::HashSet::new();
        tools.retain(|tool| known.insert(tool.name.clone()));
        Ok(tools)
    }
}

/// About what a tool's description takes.
fn weight(tool: &Tool) -> usize {
    serde_json::to_vec(tool).map_or(usize::MAX / 2, |text| text.len())
}

/// What connections are made with.
pub(super) struct Means {
    /// Where the process of a server is started.
    pub(super) env: Arc<dyn ExecutionEnvironment>,
    /// Owns what carries messages.
    pub(super) tasks: TaskTracker,
    /// Ends everything.
    pub(super) end: CancellationToken,
}

/// Starts a server and greets it.
///
/// # Errors
/// Why it cannot be used, in words.
pub(super) async fn connect(config: &ServerConfig, means: &Means) -> Result<Connection, String> {
    let newest = || vec![ProtocolVersion::default()];
    match greet(config, means, ClientLifecycleMode::Initialize).await {
        // One that knows no greeting is of the newest kind, which needs none.
        Err((why, true)) => {
            let mode = ClientLifecycleMode::Discover { preferred_versions: newest() };
            greet(config, means, mode).await.map_err(|_| why)
        }
        other => other.map_err(|(why, _)| why),
    }
}

/// Starts a server and greets it in one of the ways there are; if that fails, says whether the server did not know
/// the greeting.
async fn greet(
    config: &ServerConfig,
    means: &Means,
    mode: ClientLifecycleMode,
) -> Result<Connection, (String, bool)> {
    let (ear, words) = (Ear::default(), LastWords::default());
    let greeted = match &config.reach {
        Reach::Program(launch) => {
            unchanged(&config.pins).await.map_err(|why| (why, false))?;
            let process =
                means.env.spawn(command(launch, &*means.env).await.map_err(|why| (why, false))?).await;
            let process = process.map_err(|error| (format!("it cannot be started: {error}"), false))?;
            let end = means.end.child_token();
            let transport = ProcessTransport::new(process, words.clone(), &means.tasks, end);
            ear.clone().serve_with_lifecycle(transport, mode).await
        }
        Reach::Http(address) => {
            let transport = http(address).map_err(|why| (why, false))?;
            ear.clone().serve_with_lifecycle(transport, mode).await
        }
    };
    match greeted {
        Ok(service) => {
            let line = Line { peer: service.peer().clone(), ear, words };
            Ok(Connection { service, line })
        }
        Err(error) => {
            let unknown = matches!(error, ClientInitializeError::JsonRpcError(_));
            let told = words.told().map(|told| format!("; {told}")).unwrap_or_default();
            Err((format!("it does not greet: {error}{told}"), unknown))
        }
    }
}

/// That all files are as they were.
async fn unchanged(pins: &[Pin]) -> Result<(), String> {
    if pins.is_empty() {
        return Ok(());
    }
    let pins = pins.to_vec();
    let changed = move || pins.into_iter().find(|pin| !pin.holds());
    match tokio::task::spawn_blocking(changed).await {
        Ok(None) => Ok(()),
        Ok(Some(pin)) => {
            Err(format!("it is not started: {} has changed since it was trusted", pin.path.display()))
        }
        Err(error) => Err(format!("it is not started: {error}")),
    }
}

/// The command of a server: with the variables that every command gets, and its own.
async fn command(launch: &Launch, env: &dyn ExecutionEnvironment) -> Result<CommandSpec, String> {
    let argv = std::iter::once(&launch.command).chain(&launch.args);
    let cwd = match &launch.cwd {
        Some(cwd) => Some(env.resolve(cwd).await.map_err(|error| error.to_string())?),
        None => None,
    };
    let variables = launch.variables.clone();
    Ok(CommandSpec { variables, cwd, stdin: Stdin::Open, ..CommandSpec::argv(argv) })
}
