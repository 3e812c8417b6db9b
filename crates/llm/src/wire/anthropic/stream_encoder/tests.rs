use std::sync::Arc;

use super::*;
use crate::sse::Decoder;
use crate::{Content, ErrorKind, Finish, FinishReason, Origin, Part, ToolCall};

/// The frames an encoder writes, each checked to carry its type as its event's name.
fn frames(events: &[StreamEvent]) -> Vec<Value> {
    let mut encoder = Encoder::default();
    let mut bytes = Vec::new();
    for event in events {
        encoder.event(event, &mut bytes);
    }
    read(&bytes)
}

fn read(bytes: &[u8]) -> Vec<Value> {
    let mut frames = Vec::new();
    Decoder::new()
        .push(bytes, |frame| {
            let data: Value = serde_json::from_str(frame.data).unwrap();
            assert_eq!(data["type"], frame.event);
            frames.push(data);
            Ok(())
        })
        .unwrap();
    frames
}

fn begin(wire: Wire) -> StreamEvent {
    StreamEvent::StreamStart {
        id: "msg_1".into(),
        model: "m".into(),
        provider: "p".into(),
        origin: Some(Arc::new(Origin { wire, provider: "p".into(), model: "m".into() })),
        usage: Some(Usage { cache_read: Some(4), ..Usage::new(10, 0) }),
        warnings: Vec::new(),
        rate_limit: None,
    }
}

fn finish() -> StreamEvent {
    let usage = Usage { cache_read: Some(4), ..Usage::new(10, 5) };
    StreamEvent::Finish { reason: FinishReason::new(Finish::Stop), usage, response: None }
}

fn text(id: u32, text: &str) -> StreamEvent {
    StreamEvent::TextDelta { id: SegmentId(id), text: text.into() }
}

/// The frames between the start of the message and its end, shortened to what matters.
fn blocks(events: Vec<StreamEvent>) -> Vec<String> {
    let mut all = vec![begin(Wire::Anthropic)];
    all.extend(events);
    all.push(finish());
    let frames = frames(&all);
    frames[1..frames.len() - 2]
        .iter()
        .map(|f| match f["type"].as_str().unwrap() {
            "content_block_start" => {
                format!("{}+{}", f["index"], f["content_block"]["type"].as_str().unwrap())
            }
            "content_block_stop" => format!("{}-", f["index"]),
            _ => {
                let delta = f["delta"].as_object().unwrap();
                format!("{}:{}", f["index"], delta.values().nth(1).unwrap().as_str().unwrap_or("…"))
            }
        })
        .collect()
}

#[test]
fn the_frames_of_a_short_answer() {
    let id = SegmentId(0);
    let answer = [
        begin(Wire::Chat),
        StreamEvent::TextStart { id },
        text(0, "hi"),
        StreamEvent::TextEnd { id, raw: None },
        StreamEvent::Progress { text: "not on this wire".into() },
        finish(),
        text(0, "too late"),
    ];
    assert_eq!(
        frames(&answer),
        [
            json!({"type": "message_start", "message": {
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                "stop_reason": null, "stop_sequence": null,
                "usage": {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 0},
            }}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
                   "usage": {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 5}}),
            json!({"type": "message_stop"}),
        ]
    );
}

#[test]
fn overlapping_segments_come_one_after_the_other() {
    let (a, b, c) = (SegmentId(7), SegmentId(3), SegmentId(9));
    let part = Part::new(Content::RedactedThinking("xx".into()));
    let seen = blocks(vec![
        StreamEvent::ReasoningStart { id: a },
        StreamEvent::TextStart { id: b },
        text(3, "one "),
        StreamEvent::ReasoningDelta { id: a, text: "hm".into() },
        StreamEvent::Part { part },
        StreamEvent::TextStart { id: c },
        text(9, "three"),
        text(3, "two"),
        StreamEvent::TextEnd { id: b, raw: None },
        StreamEvent::ReasoningEnd { id: a, signature: Some("sig".into()), raw: None },
        text(9, " four"),
    ]);
    let expected = [
        "0+thinking",
        "0:hm",
        "0:sig",
        "0-",
        "1+text",
        "1:one two",
        "1-",
        "2+redacted_thinking",
        "2-",
        "3+text",
        "3:three",
        "3: four",
        "3-",
    ];
    assert_eq!(seen, expected);
}

#[test]
fn calls_stream_their_arguments() {
    use ToolCallKind::{Custom, Function};

    let id = SegmentId(0);
    let start = |kind| StreamEvent::ToolCallStart { id, call_id: "c".into(), name: "f".into(), kind };
    let piece = |arguments: &str| StreamEvent::ToolCallDelta { id, arguments: arguments.into() };
    let end = |call| StreamEvent::ToolCallEnd { id, call, raw: None };
    let function = |raw: &str| ToolCall::function("c", "f", raw);
    let custom = |raw: &str| ToolCall::custom("c", "f", raw);
    let check = |events: Vec<StreamEvent>, expected: &[&str]| {
        let seen = blocks(events);
        let deltas: Vec<&str> = seen.iter().filter_map(|s| s.strip_prefix("0:")).collect();
        assert_eq!(deltas, expected);
    };
    check(
        vec![start(Function), piece("{\"a\""), piece(""), piece(":1}"), end(function("{\"a\":1}"))],
        &["{\"a\"", ":1}"],
    );
    check(vec![start(Function), end(function("{\"a\":1}"))], &["{\"a\":1}"]);
    check(vec![start(Function), end(function(""))], &[]);
    check(
        vec![start(Custom), piece("say \"é\""), piece("\n"), end(custom("say \"é\"\n"))],
        &["{\"input\":\"say \\\"é\\\"", "\\n", "\"}"],
    );
    check(vec![start(Custom), end(custom(""))], &["{\"input\":\"\"}"]);
    check(vec![start(Custom), end(custom("x"))], &["{\"input\":\"x\"}"]);
}

#[test]
fn citations_of_this_wire_are_kept() {
    let id = SegmentId(0);
    let raw = json!({"type": "text", "text": "a", "citations": [{"url": "u"}]});
    let events = || {
        vec![StreamEvent::TextStart { id }, text(0, "a"), StreamEvent::TextEnd { id, raw: Some(raw.clone()) }]
    };
    assert_eq!(blocks(events()), ["0+text", "0:a", "0:…", "0-"]);
    let mut foreign = vec![begin(Wire::Gemini)];
    foreign.extend(events());
    assert_eq!(frames(&foreign).len(), 4);
    let origin = Some(Arc::new(Origin { wire: Wire::Anthropic, provider: "p".into(), model: "m".into() }));
    foreign.insert(1, StreamEvent::Origin { origin });
    assert_eq!(frames(&foreign).len(), 5, "whose they are is said late");
}

#[test]
fn failures_and_pings() {
    let mut encoder = Encoder::default();
    let mut bytes = Vec::new();
    encoder.event(&begin(Wire::Anthropic), &mut bytes);
    encoder.keep_alive(&mut bytes);
    encoder.error(&Error::new(ErrorKind::Server, "gone").with_status(529), &mut bytes);
    encoder.error(&Error::stream("again"), &mut bytes);
    encoder.event(&finish(), &mut bytes);
    let frames = read(&bytes);
    assert_eq!(frames.len(), 3);
    assert_eq!(frames[1], json!({"type": "ping"}));
    assert_eq!(frames[2], json!({"type": "error", "error": {"type": "overloaded_error", "message": "gone"}}));
}

#[test]
fn a_stream_without_a_start_is_given_one() {
    let frames = frames(&[StreamEvent::TextStart { id: SegmentId(0) }, finish()]);
    let types: Vec<&str> = frames.iter().map(|f| f["type"].as_str().unwrap()).collect();
    assert_eq!(
        types,
        ["message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop"]
    );
}
