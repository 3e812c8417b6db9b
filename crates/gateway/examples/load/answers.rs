//! What is asked and what is answered, on every wire. The text of an answer counts its own pieces, so that a piece
//! that is lost, repeated or out of its place is seen.

use junto_llm::{Finish, FinishReason, Message, Part, Response, Role, SegmentId, StreamEvent, Usage, Wire};
use serde_json::{Value, json};

use crate::Aim;

/// The text of one piece.
pub(crate) fn piece(number: usize) -> String {
    format!("{number:06} ")
}

/// A request on this wire: how many pieces, how many milliseconds apart, and so many bytes of other words.
pub(crate) fn request(aim: &Aim, stream: bool, pieces: usize, pace: u64) -> Vec<u8> {
    let order = format!("pieces={pieces}; pace={pace}; {}", "All work and no play. ".repeat(aim.size / 22));
    let model = &aim.model;
    let (path, body) = match aim.wire {
        Wire::Anthropic => (
            "/v1/messages".to_owned(),
            json!({"model": model, "max_tokens": 4096, "stream": stream,
                   "system": [{"type": "text", "text": "Count."}],
                   "messages": [{"role": "user", "content": order}]}),
        ),
        Wire::Responses => (
            "/v1/responses".to_owned(),
            json!({"model": model, "instructions": "Count.", "input": order, "stream": stream}),
        ),
        Wire::Chat => (
            "/v1/chat/completions".to_owned(),
            json!({"model": model, "stream": stream, "messages": [{"role": "user", "content": order}]}),
        ),
        Wire::Gemini => (
            format!(
                "/v1beta/models/{model}:{}",
                if stream { "streamGenerateContent?alt=sse" } else { "generateContent" }
            ),
            json!({"contents": [{"role": "user", "parts": [{"text": order}]}]}),
        ),
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

/// What an answer is asked to be like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) wire: Wire,
    pub(crate) stream: bool,
    pub(crate) pieces: usize,
    /// Milliseconds between two.
    pub(crate) pace: u64,
}

/// Reads an order from a request: from the path which wire, from anywhere in the body the rest.
pub(crate) fn order(path: &str, body: &[u8]) -> Option<Order> {
    let wire = match path {
        _ if path.contains("/messages") => Wire::Anthropic,
        _ if path.contains("/responses") => Wire::Responses,
        _ if path.contains("/chat/completions") => Wire::Chat,
        _ if path.contains("enerateContent") => Wire::Gemini,
        _ => return None,
    };
    let text = String::from_utf8_lossy(body);
    let number = |name: &str| {
        let digits = text.split_once(name)?.1.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<usize>().ok()
    };
    let stream = path.contains("streamGenerate")
        || serde_json::from_slice::<Value>(body).is_ok_and(|body| body["stream"] == true);
    let pace = u64::try_from(number("pace=")?).ok()?;
    Some(Order { wire, stream, pieces: number("pieces=")?, pace })
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
    parts
}
