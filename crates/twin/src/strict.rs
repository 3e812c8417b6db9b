//! Placeholder for the strict checks: the key only.
use http::HeaderMap;
use junto_llm::wire::Mode;
use junto_llm::{Response, ToolChoice, Wire};
use serde_json::{Value, json};

/// Placeholder.
#[derive(Debug)]
pub struct Checker {
    key: String,
}

/// Placeholder.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "placeholder")]
pub struct Seen {
    pub wire: Wire,
    pub model: String,
    pub mode: Mode,
    pub tools: Vec<SeenTool>,
    pub last_user: String,
    pub last_results: Vec<String>,
    pub round: u32,
    pub turn: u32,
    pub thinking: bool,
    pub schema: Option<Value>,
    pub max_tokens: Option<u64>,
    pub tool_choice: Option<ToolChoice>,
    pub input_tokens: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub body: Value,
}

/// Placeholder.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "placeholder")]
pub struct SeenTool {
    pub name: String,
    pub custom: bool,
    pub schema: Option<Value>,
}

/// Placeholder.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "placeholder")]
pub struct Refusal {
    pub status: u16,
    pub body: Value,
}

impl Checker {
    /// Placeholder.
    pub fn new(key: String) -> Self {
        Self { key }
    }

    /// Placeholder.
    pub fn lenient(key: String) -> Self {
        Self { key }
    }

    /// Placeholder.
    pub fn check(&self, wire: Wire, path: &str, headers: &HeaderMap, body: &[u8]) -> Result<Seen, Refusal> {
        self.check_key(wire, path, headers)?;
        let body: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        Ok(Seen {
            wire,
            model: body["model"].as_str().unwrap_or_default().to_owned(),
            mode: if body["stream"] == true || path.contains(":stream") {
                Mode::Stream
            } else {
                Mode::Complete
            },
            tools: Vec::new(),
            last_user: body["messages"][0]["content"].as_str().unwrap_or_default().to_owned(),
            last_results: Vec::new(),
            round: 0,
            turn: 1,
            thinking: false,
            schema: None,
            max_tokens: None,
            tool_choice: None,
            input_tokens: 1,
            cache_read: 0,
            cache_write: 0,
            body,
        })
    }

    /// Placeholder.
    pub fn check_key(&self, wire: Wire, _path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
        let shown = headers.values().any(|v| v.to_str().is_ok_and(|v| v.ends_with(&self.key)));
        if shown { Ok(()) } else { Err(Refusal { status: 401, body: envelope(wire, 401, "wrong key") }) }
    }

    /// Placeholder.
    pub fn issue(&self, _seen: &Seen, _response: &mut Response) {}
}

/// Placeholder.
pub fn envelope(_wire: Wire, status: u16, message: &str) -> Value {
    json!({"error": {"code": status, "message": message}})
}
