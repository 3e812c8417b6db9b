//! The server: connections in, each a task that somebody waits for.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::gateway::Gateway;
use crate::guard::Link;
use crate::surface;
use crate::turns::Turns;

/// How many connections are served at a time; others wait to be accepted.
const MOST_CONNECTIONS: usize = 8192;
/// How long a connection may take to send the head of its next request. Longer than clients keep an
/// unused connection, so that it is they who close it and no request meets a closed one.
const HEAD_TIMEOUT: Duration = Duration::from_mins(2);
/// The pause after a failed accept: out of file descriptors, for instance, which would spin.
const BREATH: Duration = Duration::from_millis(20);

/// Serves until `shutdown`, then lets running answers finish within the grace that they have.
pub(crate) async fn serve(gateway: &Gateway, listener: TcpListener, shutdown: CancellationToken) {
    let server = Server { tasks: TaskTracker::new(), closing: shutdown, stop: CancellationToken::new() };
    // Should this future be dropped, every task ends with it.
    let _ends_all = server.stop.clone().drop_guard();
    let permits = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            biased;
            () = server.closing.cancelled() => break,
            accepted = accept(&listener, &permits) => accepted,
        };
        if let Some((stream, peer, permit)) = accepted {
            let connection = server.clone().connection(stream, peer, gateway.clone());
            let connection = Turns::new(connection, Arc::clone(&gateway.0.books));
            server.tasks.spawn(async move {
                connection.await;
                drop(permit);
            });
        }
    }
    // From here on the system refuses connections.
    drop(listener);
    server.tasks.close();
    if tokio::time::timeout(gateway.0.settings.grace, server.tasks.wait()).await.is_err() {
        tracing::warn!(connections = server.tasks.len(), "closing connections whose answers did not finish");
        server.stop.cancel();
        server.tasks.wait().await;
    }
}

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer, permit)),
        Err(error) => {
            tracing::warn!(%error, "cannot accept a connection");
            tokio::time::sleep(BREATH).await;
            None
        }
    }
}

#[derive(Clone)]
struct Server {
    /// Every task of the server.
    tasks: TaskTracker,
    /// Cancelled when connections shall end after what they are doing.
    closing: CancellationToken,
    /// Cancelled when they shall end at once.
    stop: CancellationToken,
}

impl Server {
    async fn connection(self, stream: TcpStream, peer: SocketAddr, gateway: Gateway) {
        // Without it small events would wait for the client's acknowledgement of the one before.
        let _ = stream.set_nodelay(true);
        let link = stream.local_addr().ok().map(|local| Link { peer, local });
        let connection_over = self.stop.child_token();
        let _ends_streams = connection_over.clone().drop_guard();
        let mut builder = Builder::new(Streams { stop: connection_over, tasks: self.tasks.clone() });
        builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
        let service = service_fn(move |mut request: http::Request<Incoming>| {
            if let Some(link) = link {
                request.extensions_mut().insert(link);
            }
            let gateway = gateway.clone();
            // Boxed, since a connection keeps the room for it also while it is not used.
            Box::pin(
                async move { Ok::<_, Infallible>(surface::answer(&gateway, request.map(Body::new)).await) },
            )
        });
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        // How a connection ends is the client's business.
        tokio::select! {
            biased;
            () = self.stop.cancelled() => return,
            _ = connection.as_mut() => return,
            () = self.closing.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            _ = connection => {}
        }
    }
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
