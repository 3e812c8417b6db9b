//! HTTP/1.1 without TLS, over connections that are kept for the next call.
//!
//! A connection has no task of its own: whoever waits for an answer drives it. So the head of an answer and its first
//! bytes come in one turn of one task, nothing is handed from thread to thread, and a call that is dropped closes its
//! connection at once. Beside a client whose connections are tasks this halves the turns of a call, which is what a
//! gateway to a model on the same machine spends its time with.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::poll_fn;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper::rt::{Read, Write};
use hyper::service::Service as _;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use super::{AGENT, Endpoint, HttpVersion, UNREACHED, is_loopback, network};
use crate::{Error, ErrorKind};

/// How long an unused connection is kept, and how one is watched that is silent: as the other client does it.
const KEPT: Duration = Duration::from_secs(90);
/// How many unused connections are kept: each has its buffers, and after thousands of calls at a time they would be most
/// of what the program holds.
const MOST_KEPT: usize = 128;
const PROBE: Duration = Duration::from_secs(15);
const PROBES: u32 = 3;
const UNHEARD: Duration = Duration::from_secs(30);

/// Calls to one host.
pub(super) struct Plain {
    connector: TowerToHyperService<HttpConnector>,
    /// Where to connect to.
    base: Uri,
    /// The same as requests name it.
    host: HeaderValue,
    patience: Duration,
    pool: Arc<Pool>,
}

impl Plain {
    /// For an endpoint at this URL; none if it is to be reached in another way: by TLS, through a proxy, by HTTP/2, or
    /// as a user that the URL names.
    pub(super) fn for_endpoint(endpoint: &Endpoint, url: &reqwest::Url) -> Option<Self> {
        let is_plain = url.scheme() == "http" && endpoint.http == HttpVersion::Negotiated;
        let has_user = !url.username().is_empty() || url.password().is_some();
        let base: Uri = url.as_str().parse().ok()?;
        if !is_plain || has_user || (!is_loopback(url) && Matcher::from_system().intercept(&base).is_some()) {
            return None;
        }
        let host = url.host_str()?;
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(endpoint.timeouts.connect));
        connector.set_keepalive(Some(PROBE));
        connector.set_keepalive_interval(Some(PROBE));
        connector.set_keepalive_retries(Some(PROBES));
        #[cfg(target_os = "linux")]
        connector.set_tcp_user_timeout(Some(UNHEARD));
        Some(Self {
            connector: TowerToHyperService::new(connector),
            base,
            host: HeaderValue::try_from(host).ok()?,
            patience: endpoint.timeouts.connect,
            pool: Arc::default(),
        })
    }

    /// Sends a body to a path, and gives the answer once its head is there.
    pub(super) async fn post(
        &self,
        path: Uri,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Answer>, Error> {
        headers.entry(header::HOST).or_insert_with(|| self.host.clone());
        headers.entry(header::ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        headers.entry(header::USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = path;
        *request.headers_mut() = headers;
        // The other side may close a connection just when it is used again; a request of which nothing was sent goes
        // to the next one.
        while let Some(link) = poll_fn(|cx| Poll::Ready(self.pool.take(cx))).await {
            match link.ask(request, &self.pool).await {
                Ok(answer) => return Ok(answer),
                Err(mut refused) => match refused.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(network(refused.into_error(), UNREACHED)),
                },
            }
        }
        let link = Box::pin(self.connect()).await?;
        link.ask(request, &self.pool).await.map_err(|refused| network(refused.into_error(), UNREACHED))
    }

    async fn connect(&self) -> Result<Box<Link>, Error> {
        let connected = timeout(self.patience, self.connector.call(self.base.clone())).await;
        let late = |_| Error::new(ErrorKind::Timeout, "no connection in time (connect timeout)");
        let stream = connected.map_err(late)?.map_err(|e| network(e, UNREACHED))?;
        let (sender, connection) = handshake(stream).await.map_err(|e| network(e, UNREACHED))?;
        Ok(Box::new(Link { sender, connection: Some(connection) }))
    }
}

/// A connection, driven by whoever has it. It is large, and handed from the pool to a call and to its answer, so it is in a
/// box.
struct Link<T: Read + Write = TokioIo<TcpStream>> {
    sender: SendRequest<Full<Bytes>>,
    /// Gone once it is over. A request that waits in it comes back only when it is dropped: it may end before it has
    /// looked for one.
    connection: Option<Connection<T, Full<Bytes>>>,
}

impl<T: Read + Write + Unpin> Link<T> {
    /// Reads and writes what can be read and written now.
    fn drive(&mut self, cx: &mut Context<'_>) {
        // How it ends, the answer's own bytes say.
        self.connection.take_if(|connection| Pin::new(connection).poll(cx).is_ready());
    }

    /// Whether another request can be sent.
    fn is_free(&mut self, cx: &mut Context<'_>) -> bool {
        self.drive(cx);
        self.connection.is_some() && self.sender.is_ready()
    }

    /// Sends a request, and gives the answer once its head is there.
    async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>> {
        let mut answer = pin!(self.sender.try_send_request(request));
        let answer = poll_fn(|cx| {
            self.drive(cx);
            answer.as_mut().poll(cx)
        });
        answer.await
    }
}

impl Link {
    async fn ask(
        mut self: Box<Self>,
        request: Request<Full<Bytes>>,
        pool: &Arc<Pool>,
    ) -> Result<Response<Answer>, TrySendError<Request<Full<Bytes>>>> {
        let (head, body) = self.send(request).await?.into_parts();
        let answer = Answer { body, link: Some(self), pool: Arc::clone(pool) };
        Ok(Response::from_parts(head, answer))
    }
}

/// The bytes of an answer. Its connection is kept once all of them have come; dropped before, it is closed.
pub(super) struct Answer {
    body: Incoming,
    link: Option<Box<Link>>,
    pool: Arc<Pool>,
}

impl Answer {
    /// The next bytes.
    pub(super) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, hyper::Error>>> {
        loop {
            // To ask for bytes lets the connection read on, and what it has read is there when asked again.
            let mut frame = Pin::new(&mut self.body).poll_frame(cx);
            if let (Poll::Pending, Some(link)) = (&frame, &mut self.link) {
                link.drive(cx);
                frame = Pin::new(&mut self.body).poll_frame(cx);
            }
            let chunk = match frame {
                Poll::Pending => return Poll::Pending,
                // Trailers say nothing that concerns us.
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(chunk) => Some(Ok(chunk)),
                    Err(_) => continue,
                },
                Poll::Ready(Some(Err(error))) => {
                    self.link = None;
                    Some(Err(error))
                }
                Poll::Ready(None) => None,
            };
            if chunk.is_none() || self.body.is_end_stream() {
                self.keep(cx);
            }
            return Poll::Ready(chunk);
        }
    }

    /// Keeps the connection for the next call, if it can be used again.
    fn keep(&mut self, cx: &mut Context<'_>) {
        if let Some(mut link) = self.link.take()
            && link.is_free(cx)
        {
            self.pool.keep(link);
        }
    }
}

/// Connections that nobody uses.
#[derive(Default)]
struct Pool(Mutex<Unused>);

#[derive(Default)]
struct Unused {
    /// The one that was used last, and so is least likely to be closed, at the end.
    links: Vec<(Box<Link>, Instant)>,
    /// Who sees to it that none is kept for too long. Ends when there is none, or with its runtime.
    watch: Option<AbortHandle>,
}

impl Pool {
    /// One that can be used now.
    fn take(&self, cx: &mut Context<'_>) -> Option<Box<Link>> {
        loop {
            let (mut link, _) = self.unused().links.pop()?;
            if link.is_free(cx) {
                return Some(link);
            }
        }
    }

    fn keep(self: &Arc<Self>, link: Box<Link>) {
        let mut unused = self.unused();
        if unused.links.len() >= MOST_KEPT {
            return;
        }
        unused.links.push((link, Instant::now()));
        if unused.watch.as_ref().is_none_or(AbortHandle::is_finished) {
            unused.watch = Some(tokio::spawn(watch(Arc::downgrade(self))).abort_handle());
        }
    }

    fn unused(&self) -> MutexGuard<'_, Unused> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(watch) = self.unused().watch.take() {
            watch.abort();
        }
    }
}

/// Closes what was not used for long, and what the other side has closed, until nothing is left.
async fn watch(pool: Weak<Pool>) {
    loop {
        sleep(KEPT / 3).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut unused = pool.unused();
        // Nobody waits for them, so nobody is to be woken.
        let mut cx = Context::from_waker(Waker::noop());
        unused.links.retain_mut(|(link, since)| since.elapsed() < KEPT && link.is_free(&mut cx));
        if unused.links.is_empty() {
            unused.links = Vec::new();
            // Said here and not by the task's end, which comes a moment later.
            unused.watch = None;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    /// A hang guard; time goes by only while everybody waits.
    const PATIENCE: Duration = Duration::from_mins(1);

    /// The other side may close a connection that was used after it was found free, and before it is used again.
    #[tokio::test(start_paused = true)]
    async fn what_was_not_sent_comes_back() {
        let (near, mut far) = tokio::io::duplex(1024);
        let (sender, connection) = handshake(TokioIo::new(near)).await.unwrap();
        let mut link = Link { sender, connection: Some(connection) };
        let request = || Request::new(Full::new(Bytes::from_static(b"{}")));
        let (far, answer) = tokio::join!(
            async {
                let mut heard = Vec::new();
                while !heard.ends_with(b"{}") {
                    assert_ne!(far.read_buf(&mut heard).await.unwrap(), 0);
                }
                far.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
                far
            },
            link.send(request()),
        );
        assert!(answer.unwrap().body().is_end_stream());
        assert!(poll_fn(|cx| Poll::Ready(link.is_free(cx))).await);
        drop(far);
        let answer = timeout(PATIENCE, link.send(request())).await.expect("it is over at once");
        assert!(answer.unwrap_err().take_message().is_some());
        assert!(!poll_fn(|cx| Poll::Ready(link.is_free(cx))).await);
    }
}
