//! Providers that are reached over HTTP: an endpoint, a wire, and a connection pool.
//!
//! This is the only place where a model connection is opened.

mod endpoint;
mod flow;
mod headers;
mod plain;
mod stream;

use std::mem;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};

pub use self::endpoint::{Auth, Endpoint, HttpVersion};
use self::flow::Flow;
use self::plain::Plain;
use crate::catalog::Catalog;
use crate::meter::Ticket;
use crate::names::NameMap;
use crate::provider::ByteStream;
use crate::wire::{DecodeCx, EncodeCx, Encoded, Mode};
use crate::{
    CallCx, Error, ErrorKind, EventStream, Fut, Origin, Passthrough, Provider, Request, Response, THROUGH,
    Timeouts, ToolChoice, Wire, media,
};

/// The largest answer that is read whole.
const MAX_BODY: usize = 128 * 1024 * 1024;
/// The most of an error's body that is read.
const MAX_ERROR_BODY: usize = 64 * 1024;
/// What we are called, where nobody else is named.
const AGENT: &str = concat!("junto/", env!("CARGO_PKG_VERSION"));
/// What is said when no answer comes, and when the rest of one does not.
const UNREACHED: &str = "cannot reach the provider";
const BROKE: &str = "the connection broke while the answer was read";

/// A provider that is reached over HTTP. Each call is paid from [`CallCx::budget`], at the catalog's prices;
/// bytes that are passed through are not, since whoever passes them reads them.
#[derive(Clone)]
pub struct HttpProvider {
    endpoint: Arc<Endpoint>,
    /// Made when it is first used: to read the system's certificates takes longer than to start, and
    /// of several providers most are never asked.
    client: Arc<OnceLock<Client>>,
    headers: Arc<HeaderMap>,
    /// Whether it is told which gateways a call has come through: a vendor is not, as it cannot be one of them.
    is_told_the_way: bool,
    last_place: Arc<Mutex<Option<Arc<Place>>>>,
    catalog: Catalog,
}

/// Who carries requests and answers.
enum Client {
    Plain(Plain),
    Full(reqwest::Client),
}

/// One of the wire's paths below the base URL.
struct Place {
    path: String,
    url: reqwest::Url,
    /// The URL without the host.
    uri: Uri,
}

impl HttpProvider {
    /// A provider for this endpoint, with the built-in catalog. Opens no connection yet.
    ///
    /// # Errors
    /// `configuration` for a base URL or header that cannot be.
    pub fn new(endpoint: Endpoint) -> Result<Self, Error> {
        install_crypto();
        let fault = |message: String| Error::configuration(message).with_provider(&endpoint.name);
        let url = reqwest::Url::parse(&endpoint.base_url)
            .map_err(|e| fault(format!("`{}` is not a base URL: {e}", endpoint.base_url)))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(fault(format!("`{}` is not an http or https URL", endpoint.base_url)));
        }
        let headers = Arc::new(headers::for_endpoint(&endpoint)?);
        let is_told_the_way = !headers::is_vendors(&url);
        Ok(Self {
            endpoint: Arc::new(endpoint),
            client: Arc::default(),
            headers,
            is_told_the_way,
            last_place: Arc::default(),
            catalog: Catalog::builtin(),
        })
    }

    fn client(&self) -> Result<&Client, Error> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let endpoint = &*self.endpoint;
        let fault = |message| Error::configuration(message).with_provider(&endpoint.name);
        let url = reqwest::Url::parse(&endpoint.base_url).map_err(|e| fault(e.to_string()))?;
        if let Some(plain) = Plain::for_endpoint(endpoint, &url) {
            return Ok(self.client.get_or_init(|| Client::Plain(plain)));
        }
        let builder = reqwest::Client::builder()
            .connect_timeout(endpoint.timeouts.connect)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(AGENT)
            .tcp_nodelay(true);
        let builder = match endpoint.http {
            HttpVersion::Negotiated => builder,
            HttpVersion::Http2 => builder.http2_prior_knowledge(),
        };
        // What runs on this machine is not behind a proxy, whatever the environment says.
        let builder = if is_loopback(&url) { builder.no_proxy() } else { builder };
        // Redirects are not followed, so without TLS there is nobody to trust.
        let builder = if url.scheme() == "http" { builder.tls_certs_only([]) } else { builder };
        let client =
            builder.build().map_err(|e| fault("cannot make an HTTP client".to_owned()).with_source(e))?;
        Ok(self.client.get_or_init(|| Client::Full(client)))
    }

    /// This provider with another catalog.
    pub fn with_catalog(mut self, catalog: Catalog) -> Self {
        self.catalog = catalog;
        self
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Encodes a request, sends it, and gives the successful response with what its decoder needs. The
    /// request is taken.
    ///
    /// That it is taken from where it is, and that what seldom happens is boxed, is for the size of the
    /// future, which is allocated for each call.
    async fn send(
        &self,
        request: &mut Request,
        cx: &CallCx,
        mode: Mode,
    ) -> Result<(Flow, HeaderMap, DecodeCx), Error> {
        if media::is_to_be_loaded(request) {
            Box::pin(media::load(request)).await?;
        }
        let Prepared { path, headers, body, decode } = self.prepare(mem::take(request), cx, mode)?;
        let answer = self.post(&path, headers, body).await?;
        let rate_limit = headers::rate_limit(answer.headers());
        if !answer.status().is_success() {
            return Err(Box::pin(self.failure(&path, answer)).await);
        }
        let (head, flow) = answer.into_parts();
        Ok((flow, head.headers, DecodeCx { rate_limit, ..decode }))
    }

    /// What is sent for a request, and what the decoder of its answer needs.
    fn prepare(&self, request: Request, cx: &CallCx, mode: Mode) -> Result<Prepared, Error> {
        let wire = self.endpoint.wire;
        let model = request.model.clone().ok_or_else(|| {
            Error::configuration("the request names no model")
                .with_hint("set `Request::model`, or use a Client, which takes the latest")
        })?;
        let names = Arc::new(NameMap::for_request(&request, wire));
        let origin = Arc::new(Origin { wire, provider: self.endpoint.name.clone(), model });
        let encoded = wire.codec().encode_request(
            &request,
            &EncodeCx {
                origin: &origin,
                mode,
                session: cx.session.as_ref().map(|s| s.0.as_str()),
                model: self.catalog.get(&origin.model),
                names: &names,
                auto_cache: self.endpoint.auto_cache,
            },
        )?;
        // The history may be large and lives on in `encoded.body`.
        drop(request);
        let Encoded { path, headers, body, warnings } = encoded;
        let body = serde_json::to_vec(&body).map_err(|e| {
            Error::new(ErrorKind::InvalidRequest, "the request cannot be written as JSON").with_source(e)
        })?;
        let mut all = HeaderMap::clone(&self.headers);
        for (name, value) in headers {
            let value = HeaderValue::try_from(value).map_err(|e| {
                Error::configuration(format!("the value of header `{name}` is not valid")).with_source(e)
            })?;
            all.insert(HeaderName::from_static(name), value);
        }
        let accept = if mode == Mode::Stream { "text/event-stream" } else { "application/json" };
        all.insert(header::ACCEPT, HeaderValue::from_static(accept));
        self.tell_the_way(cx, &mut all);
        let decode = DecodeCx { origin, names, warnings, rate_limit: None };
        Ok(Prepared { path, headers: all, body: body.into(), decode })
    }

    fn tell_the_way(&self, cx: &CallCx, headers: &mut HeaderMap) {
        let through = cx.through.as_deref().filter(|_| self.is_told_the_way);
        if let Some(way) = through.and_then(|way| HeaderValue::from_str(way).ok()) {
            headers.insert(HeaderName::from_static(THROUGH), way);
        }
    }

    async fn post(&self, path: &str, headers: HeaderMap, body: Bytes) -> Result<http::Response<Flow>, Error> {
        let place = self.place(path)?;
        match self.client()? {
            Client::Plain(plain) => {
                plain.post(place.uri.clone(), headers, body).await.map(|answer| answer.map(Flow::Plain))
            }
            Client::Full(client) => {
                let mut call = reqwest::Request::new(Method::POST, place.url.clone());
                *call.headers_mut() = headers;
                *call.body_mut() = Some(body.into());
                // The future is large, and what is behind it takes long anyway.
                let answer = Box::pin(client.execute(call)).await;
                let answer = answer.map_err(|e| reqwest_error(e, UNREACHED))?;
                Ok(http::Response::from(answer).map(Flow::Full))
            }
        }
    }

    /// One of the wire's paths below the base URL. The last one is kept: a provider is asked at the same path over
    /// and over, and to read a URL takes as long as to read a short answer.
    fn place(&self, path: &str) -> Result<Arc<Place>, Error> {
        let mut last = self.last_place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = last.as_ref().filter(|place| place.path == path) {
            return Ok(Arc::clone(place));
        }
        let text = format!("{}{path}", self.endpoint.base_url.trim_end_matches('/'));
        let fault = |e: &dyn std::fmt::Display| Error::configuration(format!("`{path}` makes no URL: {e}"));
        let url = reqwest::Url::parse(&text).map_err(|e| fault(&e).with_source(e))?;
        let target = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let uri = Uri::try_from(target).map_err(|e| fault(&e).with_source(e))?;
        let place = Arc::new(Place { path: path.to_owned(), url, uri });
        *last = Some(Arc::clone(&place));
        Ok(place)
    }

    /// Turns an answer that is no success into an error.
    async fn failure(&self, path: &str, answer: http::Response<Flow>) -> Error {
        let (http::response::Parts { status, headers, .. }, flow) = answer.into_parts();
        if status.is_redirection() {
            return redirected(status, &headers, self.place(path).ok().as_deref());
        }
        let retry_after = headers::retry_after(&headers);
        let limits = headers::rate_limit(&headers);
        let body = read_bounded(flow, MAX_ERROR_BODY, Excess::Cut).await.unwrap_or_default();
        // Before the error cuts the body, or half a key could be left at the cut.
        let body = match self.endpoint.secret() {
            Some(secret) => secret.redact(&String::from_utf8_lossy(&body)).into(),
            None => body,
        };
        let error = self.endpoint.wire.codec().decode_error(status.as_u16(), &body);
        let wait = retry_after.or(error.retry_after());
        let error = error.with_status(status.as_u16()).with_body(&body).with_retry_after(wait);
        let error = error.with_rate_limit(limits);
        if status == StatusCode::UNAUTHORIZED && matches!(self.endpoint.auth, Auth::None) {
            return error.with_hint(
                "no API key is configured for this provider: name the variable that holds it with `key_env` \
                 in its [providers] table",
            );
        }
        error
    }

    /// What every error of this provider gets: its name, and no key.
    fn own(&self, error: Error) -> Error {
        let error = if error.provider().is_none() { error.with_provider(&self.endpoint.name) } else { error };
        match self.endpoint.secret() {
            Some(secret) => error.redacted(secret),
            None => error,
        }
    }

    /// Sets the worst case aside before anything is sent. May lower the request's limit.
    async fn pay(&self, request: &mut Request, cx: &CallCx) -> Result<Ticket, Error> {
        if cx.cancel.is_cancelled() {
            return Err(self.own(aborted()));
        }
        let paid = Ticket::buy(&self.catalog, &self.endpoint.name, request, cx).await;
        paid.map_err(|e| self.own(e))
    }

    fn timeouts(&self, cx: &CallCx) -> Timeouts {
        cx.timeouts.unwrap_or(self.endpoint.timeouts)
    }
}

impl Provider for HttpProvider {
    fn complete<'a>(&'a self, mut request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move {
            let mut ticket = self.pay(&mut request, cx).await?;
            ticket.awaits();
            let call = pin!(async {
                let (flow, _, decode) = self.send(&mut request, cx, Mode::Complete).await?;
                let body = read_bounded(flow, MAX_BODY, Excess::Refuse).await?;
                self.endpoint.wire.codec().decode_response(&body, &decode)
            });
            ticket.close(bounded(call, cx, self.timeouts(cx).request).await.map_err(|e| self.own(e)))
        })
    }

    fn stream<'a>(&'a self, mut request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let ticket = self.pay(&mut request, cx).await?;
            let timeouts = self.timeouts(cx);
            let open = pin!(async {
                let (flow, headers, decode) = self.send(&mut request, cx, Mode::Stream).await?;
                headers::check_event_stream(&headers)?;
                Ok((flow, decode))
            });
            let events =
                bounded(open, cx, timeouts.request).await.map_err(|e| self.own(e)).map(|(flow, decode)| {
                    let decoder = self.endpoint.wire.codec().stream_decoder(decode);
                    let (provider, cancel) = (self.clone(), cx.cancel.clone());
                    stream::events(flow, decoder, timeouts.idle, cancel, move |e| provider.own(e))
                });
            ticket.follow(events)
        })
    }

    fn supports_tool_choice(&self, choice: &ToolChoice) -> bool {
        self.endpoint.wire.codec().supports_tool_choice(choice)
    }

    fn passthrough(&self, wire: Wire) -> Option<&dyn Passthrough> {
        (wire == self.endpoint.wire).then_some(self as &dyn Passthrough)
    }
}

impl Passthrough for HttpProvider {
    fn send<'a>(
        &'a self,
        path: &'a str,
        mut headers: HeaderMap,
        body: Bytes,
        cx: &'a CallCx,
    ) -> Fut<'a, Result<http::Response<ByteStream>, Error>> {
        Box::pin(async move {
            let timeouts = self.timeouts(cx);
            for (name, value) in &*self.headers {
                headers.entry(name).or_insert_with(|| value.clone());
            }
            self.tell_the_way(cx, &mut headers);
            let answer = bounded(pin!(self.post(path, headers, body)), cx, timeouts.request)
                .await
                .map_err(|e| self.own(e))?;
            let provider = self.clone();
            let own = move |e| provider.own(e);
            Ok(answer.map(|flow| stream::bytes(flow, timeouts.idle, cx.cancel.clone(), own)))
        })
    }
}

/// What is sent for a request.
struct Prepared {
    path: String,
    headers: HeaderMap,
    body: Bytes,
    /// For its answer, but for what the answer's own headers say.
    decode: DecodeCx,
}

/// Runs a call until it ends, is cancelled, or takes too long.
async fn bounded<T>(
    call: Pin<&mut impl Future<Output = Result<T, Error>>>,
    cx: &CallCx,
    limit: Duration,
) -> Result<T, Error> {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(aborted()),
        result = tokio::time::timeout(limit, call) => result.unwrap_or_else(|_| {
            Err(Error::new(ErrorKind::Timeout, format!("no answer within {limit:?} (request timeout)"))
                .with_hint("try again, or wait longer for the provider with `timeouts.request`"))
        }),
    }
}

fn aborted() -> Error {
    Error::new(ErrorKind::Aborted, "the call was cancelled")
}

/// A failure of the client that carries requests, without the URL, which may hold user information.
fn reqwest_error(error: reqwest::Error, what: &str) -> Error {
    let error = error.without_url();
    if error.is_timeout() { late(error) } else { network(error, what) }
}

fn late(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Timeout, "no connection in time (connect timeout)").with_source(error)
}

/// A transport failure, with what to say.
fn network(error: impl std::error::Error + Send + Sync + 'static, what: &str) -> Error {
    let mut cause: &dyn std::error::Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    if cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::TimedOut) {
        return late(error);
    }
    Error::new(ErrorKind::Network, format!("{what}: {cause}")).with_source(error)
}

/// A redirect is not followed, and asking again gives the same one. Of the target only the address
/// is shown, since a query may hold a token.
fn redirected(status: StatusCode, headers: &HeaderMap, asked: Option<&Place>) -> Error {
    let target = headers.get(header::LOCATION).and_then(|to| to.to_str().ok());
    let target = target.zip(asked).and_then(|(to, asked)| asked.url.join(to).ok());
    let to = target.map(|url| format!(" to `{}{}`", url.origin().ascii_serialization(), url.path()));
    let message = format!("the provider answers with a redirect{}", to.unwrap_or_default());
    Error::new(ErrorKind::NotFound, message)
        .with_status(status.as_u16())
        .with_hint("set the base URL to where the provider is; a redirect would take the key along")
}

/// What to do with bytes beyond a limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Excess {
    Cut,
    Refuse,
}

async fn read_bounded(mut flow: Flow, limit: usize, excess: Excess) -> Result<Bytes, Error> {
    // Most answers come in one piece, which is then the body.
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    loop {
        let Some(chunk) = flow.next(BROKE).await else { break };
        let mut chunk = chunk?;
        let room = limit - first.len() - rest.len();
        let too_long = chunk.len() > room;
        if too_long && excess == Excess::Refuse {
            return Err(Error::new(ErrorKind::Server, format!("the answer is larger than {limit} bytes")));
        }
        chunk.truncate(room);
        if first.is_empty() {
            first = chunk;
        } else {
            rest.extend_from_slice(&chunk);
        }
        if too_long {
            break;
        }
    }
    if rest.is_empty() {
        return Ok(first);
    }
    let mut whole = BytesMut::from(first);
    whole.extend_from_slice(&rest);
    Ok(whole.freeze())
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Installs ring as the process's TLS provider, unless the host has installed another one. Providers do
/// so by themselves; whoever else opens connections with rustls calls it first.
pub fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error only says that the host was first, which is its right.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
