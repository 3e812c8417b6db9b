//! A server that is spoken to with streamable HTTP.

use std::collections::HashMap;
use std::sync::{Arc, Once};
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    HttpStatusError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse as Answer,
};

use super::events::{self, Events};
use super::lines::{LONGEST, Line};
use super::mend;
use crate::config::Address;

/// How long a connection may take to be there.
const CONNECT: Duration = Duration::from_secs(20);
/// How many bytes of an answer are read that is no success, and how many of them are told.
const REFUSAL: usize = 64 * 1024;
const TOLD: usize = 400;

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";
/// What the protocol sets itself.
const RESERVED: [&str; 3] = ["accept", SESSION, "last-event-id"];

/// The transport to an address.
///
/// # Errors
/// If a header is none.
pub(crate) fn http(address: &Address) -> Result<StreamableHttpClientTransport<Client>, String> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Somebody else may have installed one; that is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let mut headers = HashMap::new();
    for (name, value) in &address.headers {
        let wrong = || format!("the header `{name}` is none");
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        let name = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
        if RESERVED.contains(&name.as_str()) {
            return Err(format!("the header `{name}` is the protocol's"));
        }
        headers.insert(name, value);
    }
    // A server that leads elsewhere would be given the headers, which may be keys.
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| error.to_string())?;
    let config = StreamableHttpClientTransportConfig::with_uri(address.url.as_str())
        .custom_headers(headers)
        .max_sse_event_size(LONGEST);
    Ok(StreamableHttpClientTransport::with_client(Client(client), config))
}

/// Sends messages and reads what comes back, none of it without bounds.
#[derive(Clone)]
pub(crate) struct Client(reqwest::Client);

type Error = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl StreamableHttpClient for Client {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<Answer, Error> {
        let id = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let mut request = self
            .0
            .post(uri.as_ref())
            .headers(HeaderMap::from_iter(headers))
            .header(ACCEPT, format!("{EVENTS}, {JSON}"))
            .header(CONTENT_TYPE, JSON)
            .body(serde_json::to_vec(&message)?);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(session) = &session {
            request = request.header(SESSION, session.as_ref());
        }
        let response = request.send().await.map_err(Error::Client)?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(Error::SessionExpired);
        }
        if !status.is_success() {
            return refused(response, id).await;
        }
        let session = text(response.headers(), SESSION);
        let kind = text(response.headers(), CONTENT_TYPE.as_str());
        match (kind.as_deref(), id) {
            _ if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) => Ok(Answer::Accepted),
            (Some(kind), id) if kind.starts_with(EVENTS) => {
                Ok(Answer::Sse(events::of_answer(response.bytes_stream(), id), session))
            }
            (Some(kind), Some(id)) if kind.starts_with(JSON) => {
                Ok(Answer::Json(answer(response, id).await?, session))
            }
            // Nobody waits for an answer.
            (_, None) => Ok(Answer::Accepted),
            (_, Some(_)) => Err(Error::UnexpectedContentType(kind)),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<Events, Error> {
        let stream =
            self.0.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, LONGEST);
        stream.await.map(events::unasked)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Error> {
        self.0.delete_session(uri, session, token, headers).await
    }
}

/// The message that answers a request.
async fn answer(mut response: reqwest::Response, id: RequestId) -> Result<ServerJsonRpcMessage, Error> {
    let (bytes, is_whole) = read(&mut response, LONGEST).await.map_err(Error::Client)?;
    if !is_whole {
        let why = format!("the answer has more than {LONGEST} bytes, which is more than is taken at once");
        return Ok(mend::failed(id, why));
    }
    let line = Line::Whole(bytes);
    let none = || mend::failed(id, "the answer does not have the form of the protocol".to_owned());
    Ok(mend::message(&line).unwrap_or_else(none))
}

/// What an answer says that is no success. An error in the form of the protocol is that of the request, whoever
/// it names.
async fn refused(mut response: reqwest::Response, id: Option<RequestId>) -> Result<Answer, Error> {
    let (status, session) = (response.status(), text(response.headers(), SESSION));
    let is_json = text(response.headers(), CONTENT_TYPE.as_str()).is_some_and(|kind| kind.starts_with(JSON));
    let wait = text(response.headers(), RETRY_AFTER.as_str());
    let bytes = read(&mut response, REFUSAL).await.map(|(bytes, _)| bytes).unwrap_or_default();
    let is_about_rights = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if is_json
        && !is_about_rights
        && let Ok(ServerJsonRpcMessage::Error(error)) = serde_json::from_slice(&bytes)
    {
        return Ok(Answer::Json(ServerJsonRpcMessage::error(error.error, id), session));
    }
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        return Err(HttpStatusError::new(status.as_u16(), wait).into());
    }
    let said: String = String::from_utf8_lossy(&bytes).chars().take(TOLD).collect();
    Err(Error::UnexpectedServerResponse(format!("HTTP {status}: {said}").into()))
}

/// What a response has, up to so many bytes, and whether that is all of it.
async fn read(response: &mut reqwest::Response, most: usize) -> Result<(Vec<u8>, bool), reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await? {
        let room = most - bytes.len();
        bytes.extend_from_slice(piece.get(..room).unwrap_or(&piece));
        if piece.len() > room {
            return Ok((bytes, false));
        }
    }
    Ok((bytes, true))
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}
