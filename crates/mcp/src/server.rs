//! The server: agents as tools of any MCP host.
//!
//! A host starts an agent, looks how far it is, tells it more and takes its result. What the agent may do is its own
//! policy's to say: where that would ask somebody, nobody is there, and the agent is told so.

mod desk;
mod handler;
mod run;
mod tools;

use std::sync::Arc;

use junto_core::{Agent, Fut};
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use self::desk::Desk;
use self::handler::Reception;

/// Makes the agents that a host starts.
pub trait Workers: Send + Sync {
    /// Who can be started: a name and a word about it, the usual one first.
    fn kinds(&self) -> Vec<(String, String)>;

    /// Makes an agent ready. It has not been told its task.
    ///
    /// # Errors
    /// Why there is none, for the host.
    fn start(&self, order: Order) -> Fut<'_, Result<Arc<dyn Agent>, String>>;

    /// Applies what a council of agents made apart from the user's files, and says where it is.
    ///
    /// # Errors
    /// Why that was not done, for the host.
    fn apply(&self, wanted: Wanted) -> Fut<'_, Result<String, String>>;
}

/// What is to be applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Which run of a council, by the id that its answer names; absent: the latest.
    pub run: Option<String>,
    /// Which candidate of it; absent: the one that won.
    pub candidate: Option<u32>,
    /// Where; absent: where the server was started.
    pub directory: Option<String>,
}

/// What a host wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Who is to do it; absent: the usual one.
    pub agent: Option<String>,
    /// The model; absent: as it is configured.
    pub model: Option<String>,
    /// Where it works; absent: where the server was started.
    pub directory: Option<String>,
}

/// Serves a host until it goes away or `end` is cancelled. Every agent is closed when this returns.
///
/// # Errors
/// If what is at the other end does not speak the protocol.
pub async fn serve(
    workers: Arc<dyn Workers>,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    end: CancellationToken,
) -> Result<(), String> {
    let desk = Arc::new(Desk::new(workers));
    let served = async {
        let service = Reception::new(Arc::clone(&desk)).serve_with_ct((reader, writer), end.clone()).await;
        let service = match service {
            Ok(service) => service,
            // A host that goes away before it has said anything is none that speaks wrongly.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                return Ok(());
            }
            Err(error) => return Err(format!("the host does not greet: {error}")),
        };
        service.waiting().await.map(drop).map_err(|error| error.to_string())
    }
    .await;
    desk.close().await;
    served
}
