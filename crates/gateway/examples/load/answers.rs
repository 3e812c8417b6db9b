//! What is asked and what is answered, on every wire. The text of an answer counts its own pieces, so that a piece
//! that is lost, repeated or out of its place is seen.

use junto_llm::{Finish, FinishReason, Message, Part, Response, Role, SegmentId, StreamEvent, Usage, Wire};
use serde_json::{Value, json};

/// Whom a client asks.
#[derive(Clone, Debug)]
pub(crate) struct Aim {
    /// Host and port.
    pub(crate) address: String,
    pub(crate) wire: Wire,
    /// Sent as a bearer token.
    pub(crate) key: String,
    pub(crate) model: String,
    /// How many bytes of other words a request has.
    pub(crate) size: usize,
}

/// What an answer shall be like. It is a part of the conversation, and so survives every translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) stream: bool,
    pub(crate) pieces: usize,
    /// Milliseconds between two.
    pub(crate) pace: u64,
    pub(crate) fault: Option<Fault>,
}

/// What goes wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    TooMany,
    Broken,
    /// Silence, before the answer or in the middle of it.
    Mute,
    Stall,
    /// The connection is closed, before the answer or in the middle of it.
    Hangup,
    Drop,
    /// What is no JSON and no event, with good manners and without.
    Garbage,
    Noise,
}

impl Fault {
    pub(crate) const ALL: [(&'static str, Self); 8] = [
        ("toomany", Self::TooMany),
        ("broken", Self::Broken),
        ("mute", Self::Mute),
        ("stall", Self::Stall),
        ("hangup", Self::Hangup),
        ("drop", Self::Drop),
        ("garbage", Self::Garbage),
        ("noise", Self::Noise),
    ];
}

impl Order {
    fn words(&self) -> String {
        let fault = Fault::ALL.iter().find(|(_, fault)| Some(*fault) == self.fault);
        let fault = fault.map_or("none", |(name, _)| *name);
        format!("pieces={}; pace={}; fault={fault};", self.pieces, self.pace)
    }

    /// Reads an order from a request: from the path which wire, from anywhere in the body the rest.
    pub(crate) fn read(path: &str, body: &[u8]) -> Option<(Wire, Self)> {
        let wire = match path {
            _ if path.contains("/messages") => Wire::Anthropic,
            _ if path.contains("/responses") => Wire::Responses,
            _ if path.contains("/chat/completions") => Wire::Chat,
            _ if path.contains("enerateContent") => Wire::Gemini,
            _ => return None,
        };
        let text = std::str::from_utf8(body).ok()?;
        let word = |name: &str| text.split_once(name)?.1.split(';').next();
        let fault = word("fault=")?;
        let streams = |body: Value| body["stream"] == true;
        Some((
            wire,
            Self {
                stream: path.contains("streamGenerate") || serde_json::from_str(text).is_ok_and(streams),
                pieces: word("pieces=")?.parse().ok()?,
                pace: word("pace=")?.parse().ok()?,
                fault: Fault::ALL.iter().find(|(name, _)| *name == fault).map(|(_, fault)| *fault),
            },
        ))
    }
}

/// A request, head and all.
pub(crate) fn request(aim: &Aim, order: Order) -> Vec<u8> {
    let said = format!("{} {}", order.words(), "All work and no play. ".repeat(aim.size / 22));
    let (model, stream) = (&aim.model, order.stream);
    let (path, body) = match aim.wire {
        Wire::Anthropic => (
            "/v1/messages".to_owned(),
            json!({"model": model, "max_tokens": 4096, "stream": stream,
                   "system": [{"type": "text", "text": "Count."}],
                   "messages": [{"role": "user", "content": said}]}),
        ),
        Wire::Responses => (
            "/v1/responses".to_owned(),
            json!({"model": model, "instructions": "Count.", "input": said, "stream": stream}),
        ),
        Wire::Chat => (
            "/v1/chat/completions".to_owned(),
            json!({"model": model, "stream": stream, "messages": [{"role": "user", "content": said}]}),
        ),
        Wire::Gemini => {
            let method = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
            (
                format!("/v1beta/models/{model}:{method}"),
                json!({"contents": [{"role": "user", "parts": [{"text": said}]}]}),
            )
        }
    };
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nanthropic-version: 2023-06-01\r\n\
         content-type: application/json\r\nuser-agent: load/1\r\ncontent-length: {}\r\n\r\n",
        aim.address,
        aim.key,
        body.len()
    );
    [head.into_bytes(), body.into_bytes()].concat()
}

/// The text of one piece.
pub(crate) fn piece(number: usize) -> String {
    format!("{number:06} ")
}

/// The whole answer.
pub(crate) fn whole(wire: Wire, pieces: usize) -> Vec<u8> {
    let text: String = (0..pieces).map(piece).collect();
    let response = Response {
        id: "id-1".into(),
        message: Message::new(Role::Assistant, vec![Part::text(text)]),
        finish_reason: FinishReason::new(Finish::Stop),
        usage: Usage::new(1000, 100),
        ..Response::empty("upstream", "model-1")
    };
    wire.codec().encode_response(&response).to_string().into_bytes()
}

/// The streamed answer: what comes first, each piece, what comes last.
pub(crate) fn streamed(wire: Wire, pieces: usize) -> Vec<Vec<u8>> {
    let id = SegmentId(0);
    let mut encoder = wire.codec().stream_encoder();
    let mut encode = |events: &[StreamEvent]| {
        let mut out = Vec::new();
        for event in events {
            encoder.event(event, &mut out);
        }
        out
    };
    let mut parts = vec![encode(&[
        StreamEvent::StreamStart {
            id: "id-1".into(),
            model: "model-1".into(),
            provider: String::new(),
            origin: None,
            usage: Some(Usage::new(1000, 0)),
            warnings: Vec::new(),
            rate_limit: None,
        },
        StreamEvent::TextStart { id },
    ])];
    parts.extend((0..pieces).map(|n| encode(&[StreamEvent::TextDelta { id, text: piece(n) }])));
    parts.push(encode(&[
        StreamEvent::TextEnd { id, raw: None },
        StreamEvent::Finish {
            reason: FinishReason::new(Finish::Stop),
            usage: Usage::new(1000, 100),
            response: None,
        },
    ]));
    parts.retain(|part| !part.is_empty());
    parts
}
