//! One request and its reply.

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use junto_llm::{Usage, Wire};

use crate::again::Again;
use crate::fault::Outside;
use crate::log::{Kept, Log, Received};
use crate::record::{Recorded, Recorder, Secrets};
use crate::reply::{self, Asked, Reply};
use crate::route::{Route, route};
use crate::send::{Body, Sent, Watch, body};
use crate::stage::Stage;
use crate::strict::Checker;

/// The largest body that is read.
const MOST_BODY: usize = 64 * 1024 * 1024;

/// What all connections of a twin share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) key: String,
    pub(crate) checker: Checker,
    pub(crate) stage: Stage,
    pub(crate) again: Again,
    pub(crate) faults: Outside,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) log: Mutex<Log>,
    pub(crate) count: AtomicU64,
    pub(crate) traffic: watch::Sender<Traffic>,
}

impl Shared {
    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How much is going on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    /// Requests in the log so far.
    pub(crate) received: u64,
    /// Requests whose reply is not over.
    pub(crate) open: u64,
}

/// Held from a request's arrival until its reply is sent or its client has gone.
pub(crate) struct Open(Arc<Shared>);

impl Open {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.traffic.send_modify(|traffic| traffic.open += 1);
        Self(Arc::clone(shared))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.traffic.send_modify(|traffic| traffic.open -= 1);
    }
}

/// Notes what a client was told of what it used, once the reply is over.
struct Receipt {
    open: Open,
    usage: Option<Usage>,
    usage_at_start: Option<Usage>,
}

impl Watch for Receipt {
    fn over(&mut self, sent: Sent) {
        let told = match sent {
            Sent::Nothing => None,
            Sent::Begun => self.usage_at_start.take(),
            Sent::Whole => self.usage.take(),
        };
        if let Some(usage) = told {
            self.open.0.log().tell(&usage);
        }
    }
}

/// Answers one request. `hangup` closes its connection.
pub(crate) async fn exchange(
    shared: Arc<Shared>,
    hangup: CancellationToken,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let open = Open::new(&shared);
    let number = shared.count.fetch_add(1, Ordering::Relaxed) + 1;
    let (head, incoming) = request.into_parts();
    let Route { wire, what } = route(&head.method, head.uri.path(), &head.headers);
    let path = head.uri.path_and_query().map_or("/", |p| p.as_str());
    let secrets = Secrets::of(&head.headers, path, &shared.key);

    let (bytes, reply) = match read(incoming).await {
        Ok(bytes) => {
            let asked = Asked { number, wire, what, path, headers: &head.headers, body: &bytes };
            let reply = reply::to(&shared, &asked);
            (bytes, reply)
        }
        Err((status, message)) => (Bytes::new(), Reply::refused(wire, status, &message)),
    };

    let received = Received {
        number,
        wire,
        method: head.method.to_string(),
        path: secrets.redact_path(path),
        headers: secrets.redact_headers(&head.headers),
        body: Value::Null,
        status: reply.status,
        usage: reply.usage.clone(),
        step: reply.step,
    };
    let kept = Kept { received, body: bytes, secrets: secrets.clone() };
    let recorded = shared.recorder.as_ref().map(|recorder| record(recorder, &kept.clone().read()));
    shared.log().push(kept);
    shared.traffic.send_modify(|traffic| traffic.received += 1);
    let reply = match recorded {
        Some(Err(error)) => not_recorded(wire, &error),
        _ => reply,
    };
    Ok(send(&shared, number, reply, secrets, hangup, open).await)
}

async fn send(
    shared: &Shared,
    number: u64,
    reply: Reply,
    secrets: Secrets,
    hangup: CancellationToken,
    open: Open,
) -> Response<Body> {
    if let Some(wait) = reply.fault.slow_headers_ms {
        tokio::time::sleep(Duration::from_millis(wait)).await;
    }
    let recorder = shared.recorder.as_ref();
    let tape = recorder.map(|r| r.reply(number, reply.status, &headers(&reply, number), secrets)).transpose();
    let (reply, tape) = match tape {
        Ok(tape) => (reply, tape),
        Err(error) => (not_recorded(reply.wire, &error), None),
    };
    let headers = headers(&reply, number);
    // A stream that ends in an error never tells the whole.
    let fails = reply.fault.error_event.is_some();
    let usage = if fails { reply.usage_at_start.clone() } else { reply.usage };
    let receipt = Receipt { open, usage, usage_at_start: reply.usage_at_start };
    let mut response = Response::new(body(reply.frames, reply.pace, &reply.fault, tape, hangup, receipt));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.headers_mut() = headers;
    response
}

fn headers(reply: &Reply, number: u64) -> HeaderMap {
    let all = reply.headers(number).into_iter();
    // A header that a fault spells so that HTTP cannot carry it is left out.
    all.filter_map(|(name, value)| Some((HeaderName::from_static(name), HeaderValue::from_str(&value).ok()?)))
        .collect()
}

fn not_recorded(wire: Wire, error: &io::Error) -> Reply {
    Reply::refused(wire, 500, &format!("The twin cannot record: {error}"))
}

fn record(recorder: &Recorder, received: &Received) -> io::Result<()> {
    recorder.request(
        received.number,
        &Recorded {
            wire: received.wire,
            method: &received.method,
            path: &received.path,
            headers: &received.headers,
            body: &received.body,
        },
    )
}

async fn read(incoming: Incoming) -> Result<Bytes, (u16, String)> {
    match Limited::new(incoming, MOST_BODY).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err((413, format!("The request is larger than {MOST_BODY} bytes.")))
        }
        Err(error) => Err((400, format!("The request could not be read: {error}"))),
    }
}
