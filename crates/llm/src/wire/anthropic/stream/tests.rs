use super::*;
use crate::names::NameMap;
use crate::{
    Accumulator, Content, ErrorKind, Finish, Origin, Part, Response, Thinking, ToolCall, ToolCallKind, Wire,
};
use proptest::prelude::*;
use serde_json::json;

fn cx() -> DecodeCx {
    DecodeCx {
        origin: Arc::new(Origin { wire: Wire::Anthropic, provider: "p".into(), model: "m".into() }),
        names: Arc::new(NameMap::new(["a.b"], Wire::Anthropic)),
        warnings: vec![crate::Warning::new("w", "x")],
        rate_limit: Some(crate::RateLimit { requests_limit: Some(5), ..crate::RateLimit::default() }),
    }
}

/// Feeds events given by their data; the event's name is its type.
fn run(events: &[Value]) -> Result<Vec<StreamEvent>, Error> {
    let mut decoder = Decoder::new(cx());
    let mut out = Vec::new();
    for event in events {
        let name = event["type"].as_str().unwrap_or_default();
        decoder.frame(Frame { event: name, data: &event.to_string() }, &mut out)?;
    }
    decoder.end(&mut out)?;
    Ok(out)
}

fn response(events: &[Value]) -> Response {
    let mut accumulator = Accumulator::new();
    for event in run(events).unwrap() {
        accumulator.push(&event);
    }
    accumulator.into_response()
}

fn contents(response: &Response) -> Vec<Content> {
    response.message.content.iter().map(|p| p.content().clone()).collect()
}

fn message_start() -> Value {
    json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-2026", "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 0, "output_tokens": 1},
    }})
}

fn start(index: u32, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u32, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn text_delta(index: u32, text: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": text}))
}

fn json_delta(index: u32, json: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": json}))
}

fn stop(index: u32) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn message_delta(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
           "usage": {"output_tokens": 42, "cache_read_input_tokens": null, "output_tokens_details": {"thinking_tokens": 7}}})
}

fn message_stop() -> Value {
    json!({"type": "message_stop"})
}

fn text_block() -> Value {
    json!({"type": "text", "text": ""})
}

/// A whole stream around these events.
fn around(events: Vec<Value>, reason: &str) -> Vec<Value> {
    let mut all = vec![message_start(), json!({"type": "ping"})];
    all.extend(events);
    all.extend([message_delta(reason), message_stop()]);
    all
}

#[test]
fn a_transcript_with_everything() {
    let search = json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}});
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "u"}]});
    let events = around(
        vec![
            start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(0, json!({"type": "thinking_delta", "thinking": "let me ", "estimated_tokens": 4})),
            delta(0, json!({"type": "thinking_delta", "thinking": "see\n"})),
            delta(0, json!({"type": "signature_delta", "signature": "sig=="})),
            stop(0),
            start(1, json!({"type": "redacted_thinking", "data": "xx"})),
            stop(1),
            start(2, search),
            json_delta(2, "{\"query\":"),
            json_delta(2, "\"é\"}"),
            stop(2),
            start(3, result.clone()),
            stop(3),
            start(4, json!({"type": "text", "text": "", "citations": []})),
            delta(4, json!({"type": "citations_delta", "citation": {"url": "u"}})),
            text_delta(4, "He said "),
            text_delta(4, "\"hi\" \u{1F600}"),
            stop(4),
            start(5, text_block()),
            text_delta(5, "plain"),
            stop(5),
            start(6, json!({"type": "tool_use", "id": "toolu_1", "name": "a_b", "input": {}})),
            json_delta(6, ""),
            json_delta(6, "{\"x\": "),
            json_delta(6, "[1]}"),
            stop(6),
            start(7, json!({"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}})),
            stop(7),
        ],
        "tool_use",
    );
    let response = response(&events);
    assert_eq!(
        contents(&response),
        [
            Content::Thinking(Thinking { text: "let me see\n".into(), signature: Some("sig==".into()) }),
            Content::RedactedThinking("xx".into()),
            Content::Other(
                json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "é"}})
            ),
            Content::Other(result),
            Content::Text("He said \"hi\" \u{1F600}".into()),
            Content::Text("plain".into()),
            Content::ToolCall(ToolCall::function("toolu_1", "a.b", "{\"x\": [1]}")),
            Content::ToolCall(ToolCall::function("toolu_2", "g", "{}")),
        ]
    );
    let origin = cx().origin;
    let raw: Vec<Option<&Value>> = response.message.content.iter().map(|p| p.raw_for(&origin)).collect();
    let cited = json!({"type": "text", "text": "He said \"hi\" \u{1F600}", "citations": [{"url": "u"}]});
    assert_eq!(raw, [None, None, None, None, Some(&cited), None, None, None]);
    assert!(response.message.content.iter().all(|part| part.is_from(&origin)));

    assert_eq!((response.id.as_str(), response.model.as_str()), ("msg_1", "m-2026"));
    assert_eq!(response.finish_reason.unified, Finish::ToolCalls);
    let usage = &response.usage;
    assert_eq!((usage.input, usage.output, usage.total), (100, 42, 142));
    assert_eq!((usage.cache_read, usage.reasoning), (Some(90), Some(7)));
    assert_eq!(response.warnings.len(), 1);
    assert_eq!(response.rate_limit.and_then(|r| r.requests_limit), Some(5));
}

#[test]
fn events_one_by_one() {
    let id = SegmentId(0);
    let events = run(&around(
        vec![
            start(0, json!({"type": "tool_use", "id": "t", "name": "f", "input": {}})),
            json_delta(0, "{}"),
            stop(0),
        ],
        "tool_use",
    ))
    .unwrap();
    assert!(matches!(&events[0], StreamEvent::StreamStart { usage: Some(usage), .. } if usage.input == 100));
    assert_eq!(
        events[1..4],
        [
            StreamEvent::ToolCallStart {
                id,
                call_id: "t".into(),
                name: "f".into(),
                kind: ToolCallKind::Function
            },
            StreamEvent::ToolCallDelta { id, arguments: "{}".into() },
            StreamEvent::ToolCallEnd { id, call: ToolCall::function("t", "f", "{}"), raw: None },
        ]
    );
    assert!(matches!(&events[4], StreamEvent::Finish { response: None, .. }));
}

#[test]
fn starts_may_already_say_something() {
    let response = response(&around(
        vec![
            start(0, json!({"type": "thinking", "thinking": "a", "signature": "s", "new": 1})),
            delta(0, json!({"type": "thinking_delta", "thinking": "b"})),
            stop(0),
            start(1, json!({"type": "text", "text": "Hel"})),
            text_delta(1, "lo"),
            stop(1),
            start(
                2,
                json!({"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}, "caller": {"type": "direct"}}),
            ),
            stop(2),
        ],
        "end_turn",
    ));
    assert_eq!(
        contents(&response),
        [
            Content::Thinking(Thinking { text: "ab".into(), signature: Some("s".into()) }),
            Content::Text("Hello".into()),
            Content::ToolCall(ToolCall::function("t", "f", "{\"a\":1}")),
        ]
    );
    let raw: Vec<Option<Value>> =
        response.message.content.iter().map(|p| p.raw_for(&cx().origin).cloned()).collect();
    assert_eq!(
        raw,
        [
            Some(json!({"type": "thinking", "thinking": "ab", "signature": "s", "new": 1})),
            None,
            Some(
                json!({"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}, "caller": {"type": "direct"}})
            ),
        ]
    );
}

#[test]
fn a_call_of_the_reserved_tool_streams_as_text() {
    let block = json!({"type": "tool_use", "id": "t", "name": super::super::ANSWER_TOOL, "input": {}});
    let streamed = vec![start(0, block.clone()), json_delta(0, "{\"n\""), json_delta(0, ":1}"), stop(0)];
    let answer = response(&around(streamed, "tool_use"));
    assert_eq!((answer.text().as_str(), answer.finish_reason.unified), ("{\"n\":1}", Finish::Stop));
    let answer = response(&around(vec![start(0, block), stop(0)], "tool_use"));
    assert_eq!(answer.text(), "{}");
}

#[test]
fn unknown_blocks_deltas_and_events() {
    let mut events = around(
        vec![
            start(0, json!({"type": "compaction", "content": ""})),
            delta(0, json!({"type": "compaction_delta", "content": "sum"})),
            delta(0, json!({"type": "compaction_delta", "content": "mary", "n": 1})),
            stop(0),
            start(1, text_block()),
            delta(1, json!({"type": "shiny_delta", "x": 1})),
            stop(1),
            json!({"type": "shiny_event", "delta": "of another shape"}),
        ],
        "end_turn",
    );
    let raw: Vec<Value> = run(&events)
        .unwrap()
        .into_iter()
        .filter_map(|e| match e {
            StreamEvent::ProviderEvent { raw } => Some(raw["type"].clone()),
            _ => None,
        })
        .collect();
    assert_eq!(raw, ["content_block_delta", "shiny_event"]);
    events.remove(9);
    let expected = Content::Other(json!({"type": "compaction", "content": "summary", "n": 1}));
    assert_eq!(response(&events).message.content[0], Part::received(expected, cx().origin, None));
}

#[test]
fn repetitions_and_strays_do_no_harm() {
    let clean = around(vec![start(0, text_block()), text_delta(0, "hi"), stop(0)], "end_turn");
    let noisy = vec![
        text_delta(0, "before the start"),
        stop(3),
        message_start(),
        message_start(),
        start(0, text_block()),
        start(0, text_block()),
        text_delta(0, "hi"),
        text_delta(9, "elsewhere"),
        json_delta(0, "{\"for\": \"a call\"}"),
        stop(0),
        stop(0),
        text_delta(0, "after the stop"),
        message_delta("end_turn"),
        message_delta("end_turn"),
        message_stop(),
        message_stop(),
        start(1, text_block()),
    ];
    assert_eq!(run(&noisy).unwrap(), run(&clean).unwrap());
}

#[test]
fn an_index_that_is_used_again_is_another_segment() {
    let block = |text: &str| vec![start(0, text_block()), text_delta(0, text), stop(0)];
    let events = around([block("a"), block("b")].concat(), "end_turn");
    let starts: Vec<SegmentId> = run(&events)
        .unwrap()
        .iter()
        .filter_map(|event| if let StreamEvent::TextStart { id } = event { Some(*id) } else { None })
        .collect();
    assert_eq!(starts, [SegmentId(0), SegmentId(1)]);
    assert_eq!(contents(&response(&events)), [Content::Text("a".into()), Content::Text("b".into())]);
}

#[test]
fn ends_and_missing_ends() {
    let open = vec![message_start(), start(0, text_block()), text_delta(0, "hi")];
    let error = run(&open).unwrap_err();
    assert_eq!((error.kind(), error.provider()), (ErrorKind::Stream, Some("p")));
    assert_eq!(run(&[]).unwrap_err().kind(), ErrorKind::Stream);

    let mut stopped = open.clone();
    stopped.push(message_delta("max_tokens"));
    let answer = response(&stopped);
    assert_eq!((answer.text().as_str(), answer.finish_reason.unified), ("hi", Finish::Length));

    let mut closed = open;
    closed.push(message_stop());
    assert_eq!(response(&closed).finish_reason.unified, Finish::Other);
}

#[test]
fn errors_in_the_stream() {
    let check = |event: &str, data: &str, kind: ErrorKind| {
        let mut decoder = Decoder::new(cx());
        let error = decoder.frame(Frame { event, data }, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), kind, "{data}");
        assert_eq!(error.provider(), Some("p"));
    };
    let envelope = |code: &str, message: &str| {
        json!({"type": "error", "error": {"type": code, "message": message}}).to_string()
    };
    check("error", &envelope("overloaded_error", "Overloaded"), ErrorKind::Server);
    check("", &envelope("rate_limit_error", "slow"), ErrorKind::RateLimit);
    check("error", &envelope("invalid_request_error", "prompt is too long: 1 > 0"), ErrorKind::ContextLength);
    check("error", "not json", ErrorKind::Unknown);
    check("message_start", "{\"type\":\"message_start\",", ErrorKind::Stream);
    check("", "<html>", ErrorKind::Stream);
    check("", "{\"type\":\"content_block_delta\",\"index\":-1}", ErrorKind::Stream);
    check("", "{\"type\":\"content_block_start\",\"index\":0}", ErrorKind::Stream);
}

#[test]
fn memory_is_bounded() {
    let feed = |block: Value, delta: Value, times: usize| {
        let mut decoder = Decoder::new(cx());
        let mut out = Vec::new();
        let (block, delta) = (start(0, block).to_string(), delta.to_string());
        decoder.frame(Frame { event: "", data: &block }, &mut out)?;
        for _ in 0..times {
            out.clear();
            decoder.frame(Frame { event: "", data: &delta }, &mut out)?;
        }
        Ok::<usize, Error>(decoder.held)
    };
    let mebibyte = "x".repeat(1 << 20);
    let call = json!({"type": "tool_use", "id": "t", "name": "f", "input": {}});
    assert_eq!(feed(call, json_delta(0, &mebibyte), 17).unwrap_err().kind(), ErrorKind::Stream);
    let other = json!({"type": "new", "content": ""});
    let more = delta(0, json!({"type": "new_delta", "content": mebibyte}));
    assert_eq!(feed(other, more, 17).unwrap_err().kind(), ErrorKind::Stream);
    assert_eq!(feed(text_block(), text_delta(0, &mebibyte), 40).unwrap(), 0);
    let thinking = json!({"type": "thinking", "thinking": ""});
    let thought = delta(0, json!({"type": "thinking_delta", "thinking": mebibyte}));
    assert_eq!(feed(thinking, thought, 40).unwrap(), 0);

    let blocks: Vec<Value> = (0..300).map(|index| start(index, text_block())).collect();
    assert_eq!(run(&blocks).unwrap_err().kind(), ErrorKind::Stream);
}

proptest! {
    /// Whatever comes, the decoder answers with events or an error.
    #[test]
    fn arbitrary_data_never_panics(data in proptest::collection::vec("\\PC{0,60}", 0..8), event in "[a-z_]{0,20}") {
        let mut decoder = Decoder::new(cx());
        let mut out = Vec::new();
        for data in &data {
            if decoder.frame(Frame { event: &event, data }, &mut out).is_err() {
                break;
            }
        }
        let _ = decoder.end(&mut out);
    }

    /// Well-formed events in any order, any number of times.
    #[test]
    fn any_order_of_events_never_panics(picks in proptest::collection::vec((0usize..12, 0u32..3), 0..40)) {
        let events: Vec<Value> = picks
            .into_iter()
            .map(|(pick, index)| match pick {
                0 => message_start(),
                1 => start(index, text_block()),
                2 => start(index, json!({"type": "tool_use", "id": 5, "name": null, "input": "x"})),
                3 => start(index, json!({"type": "thinking"})),
                4 => start(index, json!([1])),
                5 => text_delta(index, "x"),
                6 => json_delta(index, "{"),
                7 => delta(index, json!({"type": "citations_delta", "citation": 1})),
                8 => delta(index, json!({"type": "signature_delta", "signature": "s"})),
                9 => stop(index),
                10 => message_delta("end_turn"),
                _ => message_stop(),
            })
            .collect();
        if let Ok(events) = run(&events) {
            prop_assert!(matches!(events.first(), Some(StreamEvent::StreamStart { .. })), "no start");
            prop_assert!(matches!(events.last(), Some(StreamEvent::Finish { .. })), "no finish");
        }
    }
}
