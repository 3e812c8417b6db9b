//! Getting something from the web, and only from there.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};

use super::Reach;
use super::address::is_public;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How many redirects are followed.
const REDIRECTS: usize = 5;

/// What was got.
pub(super) struct Fetched {
    /// Where it was in the end.
    pub(super) url: Url,
    pub(super) status: StatusCode,
    pub(super) content_type: Option<String>,
    pub(super) body: Vec<u8>,
    /// Whether there was more than was read.
    pub(super) cut: bool,
}

/// Gets pages. It has no cookies, no proxy and no memory.
pub(super) struct Fetcher {
    client: Client,
    reach: Arc<Reach>,
}

impl Fetcher {
    pub(super) fn new(reach: Reach) -> Result<Self, String> {
        junto_llm::http::install_crypto();
        let reach = Arc::new(reach);
        let client = Client::builder()
            // A proxy would look up and connect where nothing here can see it.
            .no_proxy()
            .dns_resolver(Arc::new(Guard(Arc::clone(&reach))))
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(CONNECT)
            .pool_max_idle_per_host(0)
            .user_agent(concat!("junto/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers())
            .build()
            .map_err(|error| format!("cannot make an HTTP client: {error}"))?;
        Ok(Self { client, reach })
    }

    /// Gets what is there, `most` bytes of it. Redirects are followed as long as they stay on the host:
    /// another one was not asked for, and not judged.
    ///
    /// # Errors
    /// Why not, in words for the model.
    pub(super) async fn get(&self, url: Url, most: usize) -> Result<Fetched, String> {
        let host = host_of(&url)?;
        let mut url = url;
        for _ in 0..=REDIRECTS {
            self.check(&url)?;
            if host_of(&url)? != host {
                return Err(format!(
                    "{host} redirects to another host: {url}\nCall the tool again with that address if it is \
                     where you want to go."
                ));
            }
            let response = self.client.get(url.clone()).send().await.map_err(|e| failure(&e, &host))?;
            match redirect(&response)? {
                Some(next) => url = next,
                None => return read(response, most, &host).await,
            }
        }
        Err(format!("it redirects more than {REDIRECTS} times"))
    }

    /// Whether an address may be asked at all, as far as its text tells. Names are checked when they are
    /// looked up.
    fn check(&self, url: &Url) -> Result<(), String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("`{}` addresses cannot be fetched, only http and https", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("an address with a user name or password in it is not fetched".to_owned());
        }
        let host = host_of(url)?;
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match literal {
            Ok(address) if !self.reach.allows(address) => Err(refusal(&host)),
            _ => Ok(()),
        }
    }
}

/// The host of an address, as a policy sees it.
pub(super) fn host_of(url: &Url) -> Result<String, String> {
    url.host_str().map(str::to_owned).ok_or_else(|| format!("{url} names no host"))
}

fn refusal(host: &str) -> String {
    format!("{host} is not on the public internet; private, local and metadata addresses are refused")
}

fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    let accept =
        HeaderValue::from_static("text/html, application/xhtml+xml, text/*, application/json, */*;q=0.1");
    headers.insert(header::ACCEPT, accept);
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers
}

/// Looks names up and gives only addresses that may be connected to: what is checked here is what is
/// connected to, so that a name cannot mean one thing now and another in a moment.
struct Guard(Arc<Reach>);

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = Arc::clone(&self.0);
        Box::pin(async move {
            let name = name.as_str();
            let found = tokio::net::lookup_host((name, 0)).await?;
            let allowed: Vec<SocketAddr> = found.filter(|address| reach.allows(address.ip())).collect();
            if allowed.is_empty() {
                return Err(refusal(name).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

impl Reach {
    fn allows(&self, address: IpAddr) -> bool {
        match self {
            Self::Everywhere => true,
            Self::Public => is_public(address),
            Self::Also(known) => is_public(address) || known.contains(&address),
        }
    }
}

/// Where an answer sends on to.
fn redirect(response: &Response) -> Result<Option<Url>, String> {
    let redirects = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.headers().get(header::LOCATION).filter(|_| redirects);
    let Some(location) = location else { return Ok(None) };
    let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
    let next = response.url().join(&location);
    next.map(Some).map_err(|_| format!("it redirects to what is no address: {location}"))
}

/// Reads an answer as far as allowed; the rest is never asked for.
async fn read(response: Response, most: usize, host: &str) -> Result<Fetched, String> {
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let coded = text(header::CONTENT_ENCODING).filter(|coding| !coding.eq_ignore_ascii_case("identity"));
    if let Some(coding) = coded {
        return Err(format!("the server sends it compressed ({coding}), which it was not asked for"));
    }
    let (url, status) = (response.url().clone(), response.status());
    let content_type = text(header::CONTENT_TYPE);
    let mut body = Vec::new();
    let mut cut = false;
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|e| failure(&e, host))?;
        let room = most - body.len();
        body.extend_from_slice(piece.get(..room.min(piece.len())).unwrap_or_default());
        if piece.len() > room {
            cut = true;
            break;
        }
    }
    Ok(Fetched { url, status, content_type, body, cut })
}

/// What went wrong at the bottom: the layers above only say that something did.
fn failure(error: &reqwest::Error, host: &str) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    if error.is_connect() && error.is_timeout() {
        return format!("no connection within {} s", CONNECT.as_secs());
    }
    format!("cannot get it from {host}: {cause}")
}
