//! A twin and a client that talks to it.

use std::sync::Arc;
use std::time::Duration;

use junto_llm::http::{Endpoint, HttpProvider};
use junto_llm::retry::Policy;
use junto_llm::{CallCx, Client, Request, SessionId, ToolSpec, Wire};
use junto_twin::{Options, Play, Twin};
use serde_json::{Value, json};

pub(crate) const KEY: &str = "twin-key";

/// A twin that plays, and a client with one provider named `twin`.
pub(crate) struct Stand {
    pub(crate) twin: Twin,
    pub(crate) client: Client,
    pub(crate) wire: Wire,
}

/// A reasoning model of each provider; a compatible server's model for Chat Completions.
pub(crate) fn model(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "claude-opus-5-5",
        Wire::Responses => "gpt-5.5",
        Wire::Gemini => "gemini-3.1-pro-preview",
        Wire::Chat => "local-model",
    }
}

pub(crate) fn endpoint(twin: &Twin, wire: Wire) -> Endpoint {
    Endpoint::new("twin", wire, twin.base_url(wire)).key(KEY)
}

pub(crate) fn client(endpoint: Endpoint) -> Client {
    Client::builder()
        .provider(endpoint.name.clone(), Arc::new(HttpProvider::new(endpoint).unwrap()))
        .build()
        .unwrap()
}

pub(crate) async fn twin(play: Play) -> Twin {
    Twin::start(play, Options::default()).unwrap()
}

pub(crate) async fn stand(wire: Wire, play: Play) -> Stand {
    let twin = twin(play).await;
    let client = client(endpoint(&twin, wire));
    Stand { twin, client, wire }
}

impl Stand {
    pub(crate) fn ask(&self, text: &str) -> Request {
        Request::prompt(text).model(model(self.wire))
    }

    /// The body of the last request the twin saw.
    pub(crate) fn last_body(&self) -> Value {
        self.twin.requests().last().expect("a request").body.clone()
    }
}

pub(crate) fn session() -> CallCx {
    CallCx::new().session(SessionId("session-1".into()))
}

pub(crate) fn weather() -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    ToolSpec::new("get_weather", "The weather in a city", schema).unwrap()
}

pub(crate) fn clock() -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]});
    ToolSpec::new("get_time", "The time in a zone", schema).unwrap()
}

/// Retries without waiting.
pub(crate) fn eager() -> Policy {
    Policy { base: Duration::ZERO, ..Policy::default() }
}

/// A small PNG.
pub(crate) const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0,
    0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0d, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x62, 0,
    1, 0, 0, 5, 0, 1, 0x0d, 0x0a, 0x2d, 0xb4, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// The address of a peer that `cargo xtask test` started.
pub(crate) fn peer(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: run the tests with `cargo xtask test`"))
}

/// Runs one of the Python programs in `tests/peers` and gives what it printed.
pub(crate) async fn python(script: &str, arguments: &[&str]) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers");
    let output = tokio::process::Command::new(peer("JUNTO_PEER_PYTHON"))
        .arg(folder.join(script))
        .args(arguments)
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{script} failed:\n{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}
