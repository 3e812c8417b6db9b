//! A gateway in front of a twin, and a client in front of the gateway.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::HeaderMap;
use http_body_util::BodyExt as _;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use junto_gateway::{CallReport, Gateway, Settings, Target};
use junto_llm::{
    CallCx, Client, Endpoint, Error, EventStream, HttpProvider, Passthrough as _, Request, Response,
    StreamEvent, ToolSpec, Wire,
};
use junto_twin::{DEFAULT_KEY, Options, Play, Twin};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A hang guard; nothing here takes a second.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A gateway that listens. Dropping it closes it.
pub(crate) struct House {
    pub(crate) url: String,
    pub(crate) shutdown: CancellationToken,
    pub(crate) server: JoinHandle<()>,
}

impl House {
    pub(crate) async fn open(gateway: &Gateway) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shutdown = CancellationToken::new();
        let (gateway, token) = (gateway.clone(), shutdown.clone());
        let server = tokio::spawn(async move { gateway.serve(listener, token).await });
        Self { url, shutdown, server }
    }

    /// Where a client of this surface finds the gateway.
    pub(crate) fn endpoint(&self, surface: Wire) -> Endpoint {
        let version = if matches!(surface, Wire::Responses | Wire::Chat) { "/v1" } else { "" };
        Endpoint::new("gateway", surface, format!("{}{version}", self.url)).key("client-key")
    }

    pub(crate) fn client(&self, surface: Wire) -> Client {
        let provider = HttpProvider::new(self.endpoint(surface)).unwrap();
        Client::builder().provider("gateway", Arc::new(provider)).build().unwrap()
    }

    /// Sends bytes to a surface and gives back bytes.
    pub(crate) async fn send(&self, surface: Wire, headers: HeaderMap, body: impl Into<Bytes>) -> Raw {
        let (path, body) = addressed(surface, body.into());
        let endpoint = Endpoint { base_url: self.url.clone(), ..self.endpoint(surface) };
        let provider = HttpProvider::new(endpoint).unwrap();
        let answer = provider.send(&path, headers, body, &CallCx::new()).await.unwrap();
        let (head, mut stream) = answer.into_parts();
        let mut raw =
            Raw { status: head.status.as_u16(), headers: head.headers, bytes: Vec::new(), error: None };
        while let Some(chunk) = stream.next().await {
            match chunk {
                Ok(chunk) => raw.bytes.extend_from_slice(&chunk),
                Err(error) => raw.error = Some(error),
            }
        }
        raw
    }

    /// Asks it to close, and waits until it has.
    pub(crate) async fn close(self) {
        self.shutdown.cancel();
        tokio::time::timeout(SOON, self.server).await.expect("the gateway closes").unwrap();
    }
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Vec<u8>,
    /// How the bytes broke off.
    pub(crate) error: Option<Error>,
}

impl Raw {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.bytes.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }
}

/// Where a body goes, and what of it. Gemini's clients say in the path what [`hello`] says in the body.
pub(crate) fn addressed(surface: Wire, body: Bytes) -> (String, Bytes) {
    let mut way = Way::Whole;
    let body = match serde_json::from_slice(&body) {
        Ok(Value::Object(mut fields)) if surface == Wire::Gemini && fields.contains_key("stream") => {
            if fields.shift_remove("stream") == Some(true.into()) {
                way = Way::Streamed;
            }
            Value::from(fields).to_string().into()
        }
        _ => body,
    };
    (path(surface, model(surface), way), body)
}

/// The path of a surface; the model and the way are in it on Gemini's alone.
pub(crate) fn path(surface: Wire, model: &str, way: Way) -> String {
    match (surface, way) {
        (Wire::Anthropic, _) => "/v1/messages".to_owned(),
        (Wire::Responses, _) => "/v1/responses".to_owned(),
        (Wire::Chat, _) => "/v1/chat/completions".to_owned(),
        (Wire::Gemini, Way::Whole) => format!("/v1beta/models/{model}:generateContent"),
        (Wire::Gemini, Way::Streamed) => format!("/v1beta/models/{model}:streamGenerateContent?alt=sse"),
    }
}

/// Asks a gateway within this process, without a socket.
pub(crate) async fn ask(gateway: &Gateway, request: http::Request<Body>) -> http::Response<Body> {
    TowerToHyperService::new(gateway.router()).call(request).await.unwrap()
}

pub(crate) fn post(path: &str, body: impl Into<Body>) -> http::Request<Body> {
    http::Request::post(path).header("content-type", "application/json").body(body.into()).unwrap()
}

pub(crate) async fn raw(response: http::Response<Body>) -> Raw {
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes().to_vec();
    Raw { status: head.status.as_u16(), headers: head.headers, bytes, error: None }
}

/// A twin behind a gateway.
pub(crate) struct Stand {
    pub(crate) twin: Twin,
    pub(crate) house: House,
    pub(crate) reports: Reports,
}

/// What the gateway told of its calls.
#[derive(Clone, Default)]
pub(crate) struct Reports(Arc<Mutex<Vec<CallReport>>>);

impl Reports {
    pub(crate) fn sink(&self) -> impl Fn(CallReport) + Send + Sync + use<> {
        let book = Arc::clone(&self.0);
        move |report| book.lock().unwrap().push(report)
    }

    pub(crate) fn all(&self) -> Vec<CallReport> {
        self.0.lock().unwrap().clone()
    }
}

/// A target that is the twin on this wire, asked for this model.
pub(crate) fn target(twin: &Twin, wire: Wire) -> Target {
    let endpoint = Endpoint::new("upstream", wire, twin.base_url(wire)).key(twin.key());
    Target::new("upstream", Arc::new(HttpProvider::new(endpoint).unwrap()))
}

/// A stand on which every call is translated: the twin is asked for another model than the client
/// names.
pub(crate) async fn translated(wire: Wire, play: Play) -> Stand {
    stand(play, Settings::default(), |twin| target(twin, wire).model(model(wire))).await
}

/// A stand on which calls on this surface pass through.
pub(crate) async fn passing(surface: Wire, play: Play) -> Stand {
    stand(play, Settings::default(), |twin| target(twin, surface)).await
}

pub(crate) async fn stand(play: Play, settings: Settings, target: impl FnOnce(&Twin) -> Target) -> Stand {
    let twin = Twin::start(play, Options::default()).unwrap();
    let reports = Reports::default();
    let gateway = Gateway::builder()
        .route("*", target(&twin))
        .settings(settings)
        .on_call(reports.sink())
        .build()
        .unwrap();
    let house = House::open(&gateway).await;
    Stand { twin, house, reports }
}

pub(crate) fn key() -> &'static str {
    DEFAULT_KEY
}

/// The model that the twin is asked for: one that reasons.
pub(crate) fn model(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "claude-opus-5-5",
        Wire::Responses => "gpt-5.5",
        Wire::Gemini => "gemini-3.1-pro-preview",
        Wire::Chat => "local-model",
    }
}

/// The model that a client of this surface names; never one of [`model`]'s.
pub(crate) fn asked(surface: Wire) -> &'static str {
    match surface {
        Wire::Anthropic => "claude-sonnet-5-5",
        Wire::Responses => "gpt-5.4",
        Wire::Gemini => "gemini-3.5-flash",
        Wire::Chat => "some-model",
    }
}

/// The smallest request of a surface, as JSON.
pub(crate) fn hello(surface: Wire, stream: bool) -> Value {
    let model = model(surface);
    match surface {
        Wire::Anthropic => json!({
            "model": model, "max_tokens": 1024, "stream": stream,
            "messages": [{"role": "user", "content": "hi"}],
        }),
        Wire::Responses => json!({"model": model, "input": "hi", "stream": stream}),
        Wire::Chat => {
            let mut body =
                json!({"model": model, "messages": [{"role": "user", "content": "hi"}], "stream": stream});
            if stream {
                body["stream_options"] = json!({"include_usage": true});
            }
            body
        }
        // The API has no such field: `addressed` takes it out.
        Wire::Gemini => json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "stream": stream}),
    }
}

/// How an answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Whole,
    Streamed,
}

impl Way {
    pub(crate) const BOTH: [Self; 2] = [Self::Whole, Self::Streamed];

    pub(crate) async fn ask(self, client: &Client, request: Request) -> Result<Response, Error> {
        let cx = CallCx::new();
        match self {
            Self::Whole => client.complete(request, &cx).await,
            Self::Streamed => client.stream(request, &cx).await?.into_response().await,
        }
    }
}

/// The events of a stream up to its end, and how it ended.
pub(crate) async fn events(mut stream: EventStream) -> (Vec<StreamEvent>, Option<Error>) {
    let mut seen = Vec::new();
    while let Some(item) = stream.next().await {
        match item {
            Ok(event) => seen.push(event),
            Err(error) => return (seen, Some(error)),
        }
    }
    (seen, None)
}

pub(crate) fn weather() -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    ToolSpec::new("get_weather", "The weather in a city", schema).unwrap()
}

pub(crate) fn clock() -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]});
    ToolSpec::new("get_time", "The time in a zone", schema).unwrap()
}
