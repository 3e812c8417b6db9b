//! HTTP/1.1 without TLS, over connections that are kept for the next call.
//!
//! A connection has no task of its own: whoever waits for an answer drives it. So the head of an answer and its first
//! bytes come in one turn of one task, nothing is handed from thread to thread, and a call that is dropped closes its
//! connection at once. Beside a client whose connections are tasks this halves the turns of a call, which is what a
//! gateway to a model on the same machine spends its time with.
//!
//! It is not hyper's client, for what that keeps: 26 KiB for each connection, more than everything else that a stream
//! needs, where this keeps nothing while nothing comes.

mod framing;
mod head;
mod link;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::poll_fn;
use http::{HeaderMap, HeaderValue, Response, Uri, header};
use hyper::service::Service as _;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::service::TowerToHyperService;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use self::framing::{Framing, Step};
use self::head::Head;
use self::link::{Link, Refused, closed};
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
        let head = head::write(&path, &headers, body.len());
        // The other side may close a connection just when it is used again; a request of which nothing was sent goes
        // to the next one.
        while let Some(mut link) = poll_fn(|cx| Poll::Ready(self.pool.take(cx))).await {
            match link.ask(&head, &body).await {
                Ok(answer) => return Ok(self.answer(link, answer)),
                Err(Refused::Unsent(_)) => {}
                Err(Refused::Broke(error)) => return Err(network(error, UNREACHED)),
            }
        }
        let mut link = Box::pin(self.connect()).await?;
        let answer = link.ask(&head, &body).await;
        answer
            .map(|answer| self.answer(link, answer))
            .map_err(|refused| network(refused.into_error(), UNREACHED))
    }

    async fn connect(&self) -> Result<Link, Error> {
        let connected = timeout(self.patience, self.connector.call(self.base.clone())).await;
        let late = |_| Error::new(ErrorKind::Timeout, "no connection in time (connect timeout)");
        let stream = connected.map_err(late)?.map_err(|e| network(e, UNREACHED))?;
        Ok(Link::new(stream.into_inner()))
    }

    fn answer(&self, link: Link, head: Head) -> Response<Answer> {
        let Head { status, headers, framing, stays } = head;
        let answer = Answer { framing, stays, link: Some(link), pool: Arc::clone(&self.pool) };
        let mut response = Response::new(answer);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }
}

/// The bytes of an answer. Its connection is kept once all of them have come; dropped before, it is closed.
pub(super) struct Answer {
    framing: Framing,
    stays: bool,
    /// Gone after the end.
    link: Option<Link>,
    pool: Arc<Pool>,
}

impl Answer {
    /// The next bytes.
    pub(super) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            let Some(link) = &mut self.link else { return Poll::Ready(None) };
            // Whoever takes no more of the request may answer all the same, but nothing else can be asked there.
            self.stays &= !matches!(link.poll_send(cx), Poll::Ready(Err(_)));
            let failed = match self.framing.step(&mut link.come) {
                Ok(Step::Bytes(bytes)) => {
                    // What is wrong behind them is told when more is asked for.
                    let _ = self.framing.settle(&mut link.come);
                    if self.framing.is_over() {
                        self.keep(cx);
                    }
                    return Poll::Ready(Some(Ok(bytes)));
                }
                Ok(Step::Over) => {
                    self.keep(cx);
                    return Poll::Ready(None);
                }
                Ok(Step::More) => match ready!(link.poll_fill(cx)) {
                    Ok(0) if self.framing.may_end() => None,
                    Ok(0) => Some(closed()),
                    Ok(_) => continue,
                    Err(error) => Some(error),
                },
                Err(error) => Some(error),
            };
            self.link = None;
            return Poll::Ready(failed.map(Err));
        }
    }

    /// Keeps the connection for the next call, if it can be used again.
    fn keep(&mut self, cx: &mut Context<'_>) {
        if let Some(mut link) = self.link.take().filter(|link| self.stays && link.is_sent())
            && link.is_free(cx)
        {
            self.pool.keep(link);
        }
    }
}

/// That what has come is not what HTTP says.
fn nonsense(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the answer is not HTTP: {what}"))
}

/// Connections that nobody uses.
#[derive(Default)]
struct Pool(Mutex<Unused>);

#[derive(Default)]
struct Unused {
    /// The one that was used last, and so is least likely to be closed, at the end.
    links: Vec<(Link, Instant)>,
    /// Who sees to it that none is kept for too long. Ends when there is none, or with its runtime.
    watch: Option<AbortHandle>,
}

impl Pool {
    /// One that can be used now.
    fn take(&self, cx: &mut Context<'_>) -> Option<Link> {
        loop {
            let (mut link, _) = self.unused().links.pop()?;
            if link.is_free(cx) {
                return Some(link);
            }
        }
    }

    fn keep(self: &Arc<Self>, link: Link) {
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
mod tests;
