//! The server: one port on loopback that speaks every wire, over HTTP/1.1 and cleartext HTTP/2.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use junto_llm::{Usage, Wire};

use crate::again::{Again, Repeats};
use crate::exchange::{Shared, Traffic, exchange};
use crate::fault::{Fault, Outside};
use crate::log::{Kept, Log, Received};
use crate::play::Play;
use crate::record::Recorder;
use crate::stage::Stage;
use crate::strict::Checker;

/// The key that a twin takes unless it is told another.
pub const DEFAULT_KEY: &str = "twin-key";
/// How many connections are served at a time; others wait.
const MOST_CONNECTIONS: usize = 512;

/// How a twin is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// The port on loopback; 0 takes a free one.
    pub port: u16,
    /// The key that requests must carry.
    pub key: String,
    /// Whether requests are checked as the real provider would.
    pub checks: Checks,
    /// What a request is answered with that came before.
    pub repeats: Repeats,
    /// A folder to which each request and reply is recorded, without keys.
    pub record: Option<PathBuf>,
    /// A fault for every request, or for the first ones ([`Fault::times`]).
    pub fault: Option<Fault>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: 0,
            key: DEFAULT_KEY.to_owned(),
            checks: Checks::Strict,
            repeats: Repeats::Anew,
            record: None,
            fault: None,
        }
    }
}

/// How closely requests are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checks {
    /// What the real provider refuses is refused.
    #[default]
    Strict,
    /// Only the key is checked.
    Lenient,
}

/// A running twin. Dropping it ends everything it started at once; [`Twin::close`] also waits for
/// it.
#[derive(Debug)]
pub struct Twin {
    addr: SocketAddr,
    shared: Arc<Shared>,
    /// Cancelled on drop; every task of the twin ends with it.
    stop: CancellationToken,
    /// Every task of the twin, so that `close` can await them.
    tasks: TaskTracker,
}

impl Twin {
    /// Starts a twin that plays this play. Must be called within a Tokio runtime, which serves it.
    ///
    /// # Errors
    /// If the play or the fault makes no sense, the port is taken, the folder for recordings cannot
    /// be made, or there is no runtime.
    pub fn start(play: Play, options: Options) -> io::Result<Self> {
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        let invalid = |e: String| io::Error::new(io::ErrorKind::InvalidInput, e);
        play.check().map_err(|e| invalid(e.to_string()))?;
        options.fault.as_ref().map_or(Ok(()), Fault::check).map_err(invalid)?;
        let Options { port, key, checks, repeats, record, fault } = options;
        let checker = match checks {
            Checks::Strict => Checker::new(key.clone()),
            Checks::Lenient => Checker::lenient(key.clone()),
        };
        let shared = Arc::new(Shared {
            key,
            checker,
            stage: Stage::new(play),
            again: Again::new(repeats),
            faults: Outside::new(fault),
            recorder: record.as_deref().map(Recorder::new).transpose()?,
            log: Log::default().into(),
            count: AtomicU64::new(0),
            traffic: watch::Sender::default(),
        });
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let _inside = runtime.enter();
        let listener = TcpListener::from_std(listener)?;
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(accept(listener, Arc::clone(&shared), stop.clone(), tasks.clone()));
        Ok(Self { addr, shared, stop, tasks })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The base URL that a client of this wire wants.
    pub fn base_url(&self, wire: Wire) -> String {
        let version = match wire {
            Wire::Anthropic | Wire::Gemini => "",
            Wire::Responses | Wire::Chat => "/v1",
        };
        format!("http://{}{version}", self.addr)
    }

    /// The key that requests must carry.
    pub fn key(&self) -> &str {
        &self.shared.key
    }

    /// What was received, oldest first: the last 1000 requests, or as many as have 64 MiB of bodies
    /// together. A request is in here before its reply is sent.
    pub fn requests(&self) -> Vec<Received> {
        let kept = self.shared.log().entries();
        kept.into_iter().map(Kept::read).collect()
    }

    /// The bodies of these requests, byte for byte as they came: what a client writes into one is in there,
    /// were it a key.
    pub fn bodies(&self) -> Vec<Bytes> {
        self.shared.log().entries().into_iter().map(|kept| kept.body).collect()
    }

    /// The tokens of all requests that were answered.
    pub fn usage_total(&self) -> Usage {
        self.shared.log().total()
    }

    /// The tokens that clients were told of, in replies that are over: of an answer that was broken off only
    /// what it said before.
    pub fn usage_told(&self) -> Usage {
        self.shared.log().told()
    }

    /// Waits until this many requests have come in.
    pub async fn wait_for_requests(&self, count: u64) {
        self.wait_for(|traffic| traffic.received >= count).await;
    }

    /// Waits until no reply is under way: all were sent, or their clients have gone.
    pub async fn wait_until_idle(&self) {
        self.wait_for(|traffic| traffic.open == 0).await;
    }

    async fn wait_for(&self, holds: impl Fn(&Traffic) -> bool) {
        // It fails only once the sender is gone, and the twin holds it.
        let _ = self.shared.traffic.subscribe().wait_for(holds).await;
    }

    /// Stops the twin and waits until everything it started has ended. Connections are closed where
    /// they are.
    pub async fn close(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken, tasks: TaskTracker) {
    let permits = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let serve_all = async {
        loop {
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let served = serve(stream, Arc::clone(&shared), stop.child_token(), tasks.clone());
                    tasks.spawn(async move {
                        served.await;
                        drop(permit);
                    });
                }
                // Out of file descriptors, or the client has gone: neither is worth ending for, but
                // the former would spin.
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = serve_all => {}
    }
}

/// Serves one connection until the client goes or `hangup` is cancelled.
async fn serve(stream: TcpStream, shared: Arc<Shared>, hangup: CancellationToken, tasks: TaskTracker) {
    // Without it small events would wait for the client's acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let builder = Builder::new(Streams { stop: hangup.clone(), tasks });
    let connection = hangup.clone();
    let service = service_fn(move |request| exchange(Arc::clone(&shared), connection.clone(), request));
    tokio::select! {
        biased;
        // How a connection ends is the client's business, or a fault that was asked for.
        _ = builder.serve_connection(TokioIo::new(stream), service) => {}
        () = hangup.cancelled() => {}
    }
    hangup.cancel();
}

/// Runs the streams of an HTTP/2 connection as tasks that end with it.
#[derive(Clone)]
struct Streams {
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl<F> Executor<F> for Streams
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, stream: F) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                _ = stream => {}
                () = stop.cancelled() => {}
            }
        });
    }
}
