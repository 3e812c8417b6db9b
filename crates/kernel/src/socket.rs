//! The socket: where it is, who may come, and how many.

mod connection;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use junto_core::ToolHost;
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::folder::OwnFolder;
use crate::protocol::{Reply, reply_line};
use crate::{Discovery, SOCKET_VARIABLE, TOKEN_VARIABLE};

/// How much a socket takes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most bytes of a line from a client.
    pub line: usize,
    /// The most bytes of a line to a client.
    pub reply: usize,
    /// The most calls that one connection has under way; more are refused.
    pub calls: usize,
    /// The most bytes of all calls under way, of all connections together; more are refused.
    pub under_way: usize,
    /// The most connections; more are refused.
    pub connections: usize,
    /// How long a client may take to show its token.
    pub handshake: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line: 4 * 1024 * 1024,
            reply: 16 * 1024 * 1024,
            calls: 16,
            under_way: 64 * 1024 * 1024,
            connections: 32,
            handshake: Duration::from_secs(10),
        }
    }
}

/// A Unix socket through which other processes call the tools of a host; the crate's page describes
/// the protocol. Dropping it closes every connection, ends the calls under way, and removes the
/// socket and its directory; [`ToolSocket::close`] also waits for that.
pub struct ToolSocket {
    path: PathBuf,
    /// Removes the socket with its directory on drop.
    _folder: OwnFolder,
    token: String,
    /// Cancelled on drop; every task of the socket ends with it.
    stop: CancellationToken,
    /// Every task of the socket, so that `close` can await them.
    tasks: TaskTracker,
}

/// What all connections share.
struct Shared {
    discovery: Arc<Discovery>,
    token: String,
    limits: Limits,
    /// A permit for each byte of a call under way.
    room: Arc<Semaphore>,
}

impl ToolSocket {
    /// Serves these tools in a fresh directory below `dir`. Must be called within a Tokio runtime,
    /// which serves it.
    ///
    /// # Errors
    /// If the directory cannot be made, the path is too long for a socket (about 85 bytes are left
    /// for `dir`), or there is no runtime.
    pub fn serve(host: Arc<dyn ToolHost>, dir: &Path) -> io::Result<Self> {
        Self::serve_within(host, dir, Limits::default())
    }

    /// As [`ToolSocket::serve`], with other limits.
    ///
    /// # Errors
    /// As [`ToolSocket::serve`].
    pub fn serve_within(host: Arc<dyn ToolHost>, dir: &Path, limits: Limits) -> io::Result<Self> {
        Self::serve_discovery(Arc::new(Discovery::new(host, None)), dir, limits)
    }

    /// As [`ToolSocket::serve`], with what code can import.
    ///
    /// # Errors
    /// As [`ToolSocket::serve`].
    pub fn serve_discovery(discovery: Arc<Discovery>, dir: &Path, limits: Limits) -> io::Result<Self> {
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        let _inside = runtime.enter();
        let folder = OwnFolder::make(dir, "tools-")?;
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path)
            .map_err(|e| io::Error::new(e.kind(), format!("cannot listen at `{}`: {e}", path.display())))?;
        let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let room = Arc::new(Semaphore::new(limits.under_way));
        let shared = Arc::new(Shared { discovery, token: token.clone(), limits, room });
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(accept(listener, shared, stop.clone(), tasks.clone()));
        Ok(Self { path, _folder: folder, token, stop, tasks })
    }

    /// Where the socket is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a client must show. Whoever has it may ask for anything the host allows.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// What a child process needs in its environment to find the socket and be let in.
    pub fn environment(&self) -> [(&'static str, OsString); 2] {
        [(SOCKET_VARIABLE, self.path().into()), (TOKEN_VARIABLE, self.token.as_str().into())]
    }

    /// Closes the socket and waits until everything it started has ended.
    pub async fn close(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for ToolSocket {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl fmt::Debug for ToolSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSocket").field("path", &self.path()).finish_non_exhaustive()
    }
}

async fn accept(listener: UnixListener, shared: Arc<Shared>, stop: CancellationToken, tasks: TaskTracker) {
    let permits = Arc::new(Semaphore::new(shared.limits.connections));
    let serve_all = async {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // Out of file descriptors: not worth ending for, but it would spin.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
                turn_away(stream, &shared.limits).await;
                continue;
            };
            let (shared, stop) = (Arc::clone(&shared), stop.clone());
            tasks.spawn(async move {
                let _permit = permit;
                tokio::select! {
                    biased;
                    () = stop.cancelled() => {}
                    () = connection::serve(stream, &shared) => {}
                }
            });
        }
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = serve_all => {}
    }
}

async fn turn_away(mut stream: UnixStream, limits: &Limits) {
    let message = format!("too many connections: there may be {}", limits.connections);
    // One line always fits into the buffer of a new connection, so this waits for nobody.
    let _ = stream.write_all(&reply_line(Reply::error(None, message), limits.reply)).await;
}
