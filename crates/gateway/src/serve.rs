//! The server: connections in, each a task that somebody waits for.

mod ends;
mod plain;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::ends::Ends;
use crate::aside::{Desk, Reading};
use crate::gateway::Gateway;
use crate::guard::Link;
use crate::surface;
use crate::turns::Turns;
use crate::warnings::Warnings;

/// How many connections are served at a time; others wait to be accepted.
const MOST_CONNECTIONS: usize = 8192;
/// What a connection of HTTP/2 begins with.
const HTTP2: &[u8] = b"PRI ";
/// Whether it is seen when a client goes whose answer is under way, whoever serves it.
const IS_WATCHED: bool = cfg!(target_os = "linux");
/// How long connections are waited for.
const PATIENCE: Patience =
    Patience { head: Duration::from_mins(2), ping: Duration::from_secs(30), pong: Duration::from_secs(20) };
/// The pause after a failed accept: out of file descriptors, for instance, which would spin.
const BREATH: Duration = Duration::from_millis(20);
/// How long nothing more is said of that once it was.
const AGAIN: Duration = Duration::from_mins(1);

/// How long a connection is waited for.
#[derive(Clone, Copy)]
struct Patience {
    /// Until the head of its next request. Longer than clients keep an unused connection, so that it is they who close
    /// it and no request meets a closed one. For the first one it counts from the start, whatever else is sent.
    head: Duration,
    /// How often one of HTTP/2, which may carry answers for long and be silent, is asked whether it is still there.
    ping: Duration,
    /// Until it says so.
    pong: Duration,
}

/// Serves until `shutdown`, then lets running answers finish within the grace that they have, or until `stop`.
pub(crate) async fn serve(
    gateway: &Gateway,
    listener: TcpListener,
    shutdown: CancellationToken,
    stop: &CancellationToken,
) {
    serve_with(PATIENCE, gateway, listener, shutdown, stop).await;
}

async fn serve_with(
    patience: Patience,
    gateway: &Gateway,
    listener: TcpListener,
    shutdown: CancellationToken,
    stop: &CancellationToken,
) {
    let server = Server { tasks: TaskTracker::new(), closing: shutdown, stop: stop.child_token(), patience };
    // Should this future be dropped, every task ends with it.
    let _ends_all = server.stop.clone().drop_guard();
    let permits = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let (reading, done) = Reading::start(Arc::clone(&gateway.0.books)).unzip();
    let warnings = &gateway.0.books.warnings;
    let mut warned: Option<Instant> = None;
    loop {
        let accepted = tokio::select! {
            biased;
            () = server.closing.cancelled() => break,
            () = server.stop.cancelled() => break,
            accepted = accept(&listener, &permits) => accepted,
        };
        let (stream, peer, permit) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if warned.is_none_or(|at| at.elapsed() >= AGAIN) {
                    warned = Some(Instant::now());
                    warnings.tell(&format!("cannot accept a connection, and tries again: {error}"));
                }
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        let desk = Desk::new(Arc::clone(&gateway.0.books), reading.clone(), server.tasks.clone());
        let connection = server.clone().connection(stream, peer, gateway.clone(), Arc::clone(&desk));
        let connection = Turns::new(connection, desk);
        server.tasks.spawn(async move {
            connection.await;
            drop(permit);
        });
    }
    // From here on the system refuses connections.
    drop(listener);
    drop(reading);
    server.end(gateway.0.settings.grace, warnings).await;
    if let Some(done) = done {
        done.wait().await;
    }
    gateway.0.books.caught_up().await;
}

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, permit))
}

#[derive(Clone)]
struct Server {
    /// Every task of the server.
    tasks: TaskTracker,
    /// Cancelled when connections shall end after what they are doing.
    closing: CancellationToken,
    /// Cancelled when they shall end at once.
    stop: CancellationToken,
    patience: Patience,
}

impl Server {
    /// Lets running answers finish within this time.
    async fn end(&self, grace: Duration, warnings: &Warnings) {
        self.tasks.close();
        tokio::select! {
            biased;
            () = self.tasks.wait() => return,
            () = self.stop.cancelled() => {}
            () = tokio::time::sleep(grace) => {}
        }
        let left = self.tasks.len();
        warnings.tell(&format!("closing {left} connections whose answers did not finish"));
        self.stop.cancel();
        self.tasks.wait().await;
    }

    async fn connection(self, stream: TcpStream, peer: SocketAddr, gateway: Gateway, desk: Arc<Desk>) {
        // Without it small events would wait for the client's acknowledgement of the one before.
        let _ = stream.set_nodelay(true);
        let link = stream.local_addr().ok();
        let link = link.map(|local| Link { peer, local, host: local.to_string().into(), desk });
        let (mut ends, watch) = ends::of(stream);
        let asked = Asked::default();
        let answer = |mut request: http::Request<Body>| {
            asked.begins();
            if let Some(link) = &link {
                request.extensions_mut().insert(link.clone());
            }
            let gateway = gateway.clone();
            // Boxed, since a connection keeps the room for it also while it is not used.
            Box::pin(async move { surface::answer(&gateway, request).await })
        };
        let serving = async {
            // Elsewhere nobody would see that a client has gone; nor is it looked there what a connection begins with.
            let left = if IS_WATCHED {
                plain::serve(&mut ends, &self.closing, &answer, || asked.ends()).await
            } else {
                Ok(plain::Left::Begun(Bytes::new()))
            };
            // How a connection ends is the client's business.
            if let Ok(plain::Left::Begun(begun)) = left {
                let first = begun.get(..HTTP2.len()).unwrap_or(&begun);
                // Once something was asked, it stays what it is.
                let is_http1 = asked.rests() != Some(0) || !HTTP2.starts_with(first);
                ends.give_back(begun);
                // Boxed, since most connections never come here.
                Box::pin(self.by_hyper(ends, is_http1, |request| answer(request.map(Body::new)))).await;
            }
        };
        // Nobody else watches over a connection on which nothing is asked.
        let silent = async {
            loop {
                let before = asked.rests();
                tokio::time::sleep(self.patience.head).await;
                if before.is_some() && asked.rests() == before {
                    return;
                }
            }
        };
        let idle = async {
            self.closing.cancelled().await;
            // Half of a request would be waited for like a whole one.
            if asked.rests().is_none() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            () = serving => {}
            // Also if a client sent more than its request and then went. What serves the connection reads that when
            // it has answered, and only behind it is the end.
            () = watch.gone() => {}
            () = idle => {}
            () = silent => {}
        }
    }

    /// Serves a connection in whatever way it is used.
    async fn by_hyper<F>(
        &self,
        ends: Ends,
        begins_as_http1: bool,
        answer: impl Fn(http::Request<Incoming>) -> F,
    ) where
        F: Future<Output = Response> + Send + 'static,
    {
        let Patience { head, ping, pong } = self.patience;
        let connection_over = self.stop.child_token();
        let _ends_streams = connection_over.clone().drop_guard();
        let mut builder = Builder::new(Streams { stop: connection_over, tasks: self.tasks.clone() });
        // Where the end is watched for, nobody need read for it, nor keep room for what might come.
        builder.http1().timer(TokioTimer::new()).header_read_timeout(head).half_close(IS_WATCHED);
        builder.http2().timer(TokioTimer::new()).keep_alive_interval(ping).keep_alive_timeout(pong);
        if begins_as_http1 {
            // Else it would read a few bytes to see that, and to keep them would double the room of each connection.
            builder = builder.http1_only();
        }
        let service = service_fn(|request| {
            let answer = answer(request);
            async move { Ok::<_, Infallible>(answer.await) }
        });
        let mut connection = pin!(builder.serve_connection(TokioIo::new(ends), service));
        tokio::select! {
            biased;
            _ = connection.as_mut() => return,
            () = self.closing.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        // How it ends is the client's business.
        let _ = connection.await;
    }
}

/// Whether requests are under way on a connection.
#[derive(Default)]
struct Asked {
    count: AtomicU32,
    is_under_way: AtomicBool,
}

impl Asked {
    fn begins(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.is_under_way.store(true, Ordering::Relaxed);
    }

    fn ends(&self) {
        self.is_under_way.store(false, Ordering::Relaxed);
    }

    /// How many there have been, if none is under way.
    fn rests(&self) -> Option<u32> {
        (!self.is_under_way.load(Ordering::Relaxed)).then(|| self.count.load(Ordering::Relaxed))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::Target;
    use crate::sessions::Canned;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::timeout;

    /// A hang guard.
    const LONG: Duration = Duration::from_mins(2);
    const SHORT: Duration = Duration::from_millis(50);
    /// What a connection of HTTP/2 begins with: the preface, and settings of which there are none.
    const HTTP2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

    /// All that comes on a connection on which this is said and then nothing more, until it is closed.
    async fn heard(patience: Patience, said: &[u8]) -> Vec<u8> {
        let target = Target::new("p", Arc::new(Canned::turns(1)));
        let gateway = Gateway::builder().route("*", target).build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let [shutdown, stop] = [(); 2].map(|()| CancellationToken::new());
        let serving = serve_with(patience, &gateway, listener, shutdown.clone(), &stop);
        let listening = async {
            client.write_all(said).await.unwrap();
            let mut heard = Vec::new();
            // A reset is an end, too.
            let _ = timeout(LONG, client.read_to_end(&mut heard)).await.expect("it is closed");
            shutdown.cancel();
            heard
        };
        tokio::join!(serving, listening).1
    }

    #[tokio::test]
    async fn a_connection_that_asks_nothing_is_closed() {
        let patience = Patience { head: SHORT, ping: LONG, pong: LONG };
        for said in [&b""[..], b"PRI", b"POST /v1/mess", HTTP2] {
            heard(patience, said).await;
        }
        let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
        assert!(heard(patience, request).await.starts_with(b"HTTP/1.1 200 OK\r\n"));
    }

    #[tokio::test]
    async fn closing_does_not_wait_for_one_that_has_asked_only_half() {
        let target = Target::new("p", Arc::new(Canned::turns(1)));
        let settings = crate::Settings { grace: 2 * LONG, ..crate::Settings::default() };
        let gateway = Gateway::builder().route("*", target).settings(settings).build().unwrap();
        for said in [&b""[..], b"PRI", b"POST /v1/mess", HTTP2] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let [shutdown, stop] = [(); 2].map(|()| CancellationToken::new());
            let patience = Patience { head: 2 * LONG, ping: 2 * LONG, pong: 2 * LONG };
            let serving = serve_with(patience, &gateway, listener, shutdown.clone(), &stop);
            let asking = async {
                let mut half = TcpStream::connect(address).await.unwrap();
                half.write_all(said).await.unwrap();
                // Who comes later and is answered shows that the first one is served.
                let mut whole = TcpStream::connect(address).await.unwrap();
                let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
                whole.write_all(request).await.unwrap();
                whole.read_to_end(&mut Vec::new()).await.unwrap();
                shutdown.cancel();
                half
            };
            timeout(LONG, async { tokio::join!(serving, asking) }).await.expect("it ends at once");
        }
    }

    #[tokio::test]
    async fn one_whose_other_side_is_gone_is_closed() {
        let patience = Patience { head: 2 * LONG, ping: SHORT, pong: SHORT };
        // A frame of its type, asking for an answer.
        let ping = b"\0\0\x08\x06\0\0\0\0\0";
        let heard = heard(patience, HTTP2).await;
        assert!(heard.windows(ping.len()).any(|frame| frame == ping), "{heard:?}");
    }
}
