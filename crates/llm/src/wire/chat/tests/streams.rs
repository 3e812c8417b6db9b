//! What the client reads piece by piece: transcripts in the manner of several servers.

use super::*;
use crate::{ErrorKind, Finish, SegmentId, ToolCallKind, Usage};

/// A transcript from the deltas of the only choice.
fn transcript(deltas: &[Value], finish: &str) -> String {
    let chunk = |delta: &Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let chunk = json!({"id": "r1", "model": "m-1", "created": 1, "choices": [choice]});
        format!("data: {chunk}\n\n")
    };
    let said: Vec<String> = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
    format!("{}{}data: [DONE]\n\n", said.concat(), chunk(&json!({}), finish.into()))
}

fn events(bytes: &str) -> Vec<StreamEvent> {
    let (events, result) = events_for(&Request::default(), bytes.as_bytes());
    result.unwrap();
    events
}

fn calls(deltas: &[Value]) -> Vec<ToolCall> {
    let events = events(&transcript(deltas, "tool_calls"));
    let response = folded(&events);
    assert_eq!(response.finish_reason.unified, Finish::ToolCalls);
    // The deltas of each call add up to its arguments.
    for (id, call) in events.iter().filter_map(|e| match e {
        StreamEvent::ToolCallEnd { id, call, .. } => Some((*id, call)),
        _ => None,
    }) {
        let said: String = events
            .iter()
            .filter_map(|e| match e {
                StreamEvent::ToolCallDelta { id: of, arguments } if *of == id => Some(arguments.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(said, call.raw_arguments);
    }
    response.tool_calls().cloned().collect()
}

#[test]
fn text_with_usage_at_the_end() {
    let bytes = concat!(
        "data: {\"id\":\"r1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n",
        "data: {\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"he\\nl\"}}]}\n\n",
        "data: {\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"}}]}\n\n",
        "data: {\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"id\":\"r1\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}\n\n",
        "data: [DONE]\n\n",
    );
    let id = SegmentId(0);
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5});
    assert_eq!(
        events(bytes),
        [
            StreamEvent::StreamStart {
                id: "r1".into(),
                model: "m-1".into(),
                provider: "local".into(),
                origin: Some(Arc::new(origin())),
                usage: None,
                warnings: Vec::new(),
                rate_limit: None,
            },
            StreamEvent::TextStart { id },
            StreamEvent::TextDelta { id, text: "he\nl".into() },
            StreamEvent::TextDelta { id, text: "lo".into() },
            StreamEvent::TextEnd { id, raw: None },
            StreamEvent::Finish {
                reason: crate::FinishReason::with_raw(Finish::Stop, "stop"),
                usage: Usage { raw: Some(usage), ..Usage::new(3, 2) },
                response: None,
            },
        ]
    );
}

#[test]
fn reasoning_ends_where_text_begins() {
    for field in ["reasoning_content", "reasoning"] {
        let events = events(&transcript(
            &[
                json!({"content": null, field: "h"}),
                json!({field: "m"}),
                json!({"content": "yes", field: ""}),
            ],
            "stop",
        ));
        let end = events.iter().position(|e| matches!(e, StreamEvent::ReasoningEnd { .. })).unwrap();
        let text = events.iter().position(|e| matches!(e, StreamEvent::TextStart { .. })).unwrap();
        assert!(end < text);
        let response = folded(&events);
        assert_eq!((response.reasoning().as_str(), response.text().as_str()), ("hm", "yes"));
    }
}

#[test]
fn a_server_that_says_reasoning_twice_is_heard_once() {
    let events = events(&transcript(&[json!({"reasoning": "r", "reasoning_content": "r"})], "stop"));
    assert_eq!(folded(&events).reasoning(), "r");
}

#[test]
fn content_may_be_a_list_of_parts() {
    let events = events(&transcript(
        &[
            json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}]}),
            json!({"content": [{"type": "text", "text": "a"}, {"type": "odd"}]}),
            json!({"content": "b"}),
        ],
        "stop",
    ));
    let response = folded(&events);
    assert_eq!((response.reasoning().as_str(), response.text().as_str()), ("t", "ab"));
}

#[test]
fn a_refusal_is_text_and_a_filters_finish() {
    let response = folded(&events(&transcript(&[json!({"refusal": "n"}), json!({"refusal": "o"})], "stop")));
    assert_eq!((response.text().as_str(), response.finish_reason.unified), ("no", Finish::ContentFilter));
}

#[test]
fn openai_sends_id_and_name_once_and_fragments_by_index() {
    let calls = calls(&[
        json!({"role": "assistant", "content": null, "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}]}),
        json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"a\""}}]}),
        json!({"tool_calls": [{"index": 1, "id": "c2", "type": "function", "function": {"name": "g", "arguments": ""}}]}),
        json!({"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}, {"index": 0, "function": {"arguments": ":1}"}}]}),
    ]);
    assert_eq!(calls, [ToolCall::function("c1", "f", "{\"a\":1}"), ToolCall::function("c2", "g", "{}")]);
}

#[test]
fn calls_may_come_whole_in_one_chunk() {
    let whole = |index: Value, id: &str| json!({"index": index, "id": id, "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}});
    for deltas in [
        // By index, as Ollama; all under one index, as Gemini; without any index.
        vec![json!({"tool_calls": [whole(json!(0), "c1"), whole(json!(1), "c2")]})],
        vec![json!({"tool_calls": [whole(json!(0), "c1")]}), json!({"tool_calls": [whole(json!(0), "c2")]})],
        vec![json!({"tool_calls": [whole(Value::Null, "c1"), whole(Value::Null, "c2")]})],
    ] {
        let expected = ["c1", "c2"].map(|id| ToolCall::function(id, "f", "{\"a\":1}"));
        assert_eq!(calls(&deltas), expected, "{deltas:?}");
    }
}

#[test]
fn a_repeated_name_or_a_fresh_id_does_not_begin_a_call() {
    let fragment = |id: &str, name: &str, arguments: &str| json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": name, "arguments": arguments}}]});
    let expected = [ToolCall::function("c1", "f", "{\"a\":1}")];
    assert_eq!(calls(&[fragment("c1", "f", "{\"a\""), fragment("c1", "f", ":1}")]), expected);
    assert_eq!(calls(&[fragment("c1", "f", "{\"a\""), fragment("", "f", ":1}")]), expected);
    assert_eq!(calls(&[fragment("c1", "f", "{\"a\""), fragment("x9", "", ":1}")]), expected);
    assert_eq!(calls(&[fragment("c1", "", "{\"a\""), fragment("", "f", ":1}")]), expected);
}

#[test]
fn calls_without_index_and_id_are_told_apart_by_their_names() {
    let bare = |name: &str, arguments: Value| json!({"tool_calls": [{"function": {"name": name, "arguments": arguments}}]});
    let seen = calls(&[
        bare("f", json!({"a": 1})),
        bare("f", json!("{\"a\"")),
        bare("", json!(":2}")),
        bare("g", Value::Null),
    ]);
    let said: Vec<(&str, &str)> = seen.iter().map(|c| (c.name.as_str(), c.raw_arguments.as_str())).collect();
    assert_eq!(said, [("f", "{\"a\":1}"), ("f", "{\"a\":2}"), ("g", "")]);
    let ids: std::collections::BTreeSet<&str> = seen.iter().map(|c| c.id.as_str()).collect();
    assert!(ids.len() == 3 && !ids.contains(""), "{ids:?}");
}

#[test]
fn a_call_without_a_name_is_handed_on_at_the_end() {
    let seen = calls(&[json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"arguments": "{}"}}]})]);
    assert_eq!((seen[0].id.as_str(), seen[0].name.as_str()), ("c1", ""));
}

#[test]
fn the_single_call_of_old() {
    let seen = calls(&[
        json!({"function_call": {"name": "f", "arguments": "{\"a\""}}),
        json!({"function_call": {"arguments": ":1}"}}),
    ]);
    assert_eq!((seen.len(), seen[0].name.as_str(), &seen[0].arguments), (1, "f", &json!({"a": 1})));
}

#[test]
fn custom_tools_come_back_as_custom_whether_sent_as_such_or_as_functions() {
    let request = Request::prompt("x").tools([custom("patch")]);
    for deltas in [
        vec![
            json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "patch", "arguments": "{\"input\":"}}]}),
            json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"*** x\"}"}}]}),
        ],
        vec![
            json!({"tool_calls": [{"index": 0, "id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** "}}]}),
            json!({"tool_calls": [{"index": 0, "type": "custom", "custom": {"input": "x"}}]}),
        ],
    ] {
        let (events, result) = events_for(&request, transcript(&deltas, "tool_calls").as_bytes());
        result.unwrap();
        let said: String = events
            .iter()
            .filter_map(|e| match e {
                StreamEvent::ToolCallDelta { arguments, .. } => Some(arguments.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(said, "*** x");
        assert!(
            events.iter().any(|e| matches!(e, StreamEvent::ToolCallStart { kind: ToolCallKind::Custom, .. }))
        );
        let calls: Vec<ToolCall> = folded(&events).tool_calls().cloned().collect();
        assert_eq!(calls, [ToolCall::custom("c1", "patch", "*** x")]);
    }
}

#[test]
fn what_a_server_hangs_on_a_call_goes_back_with_it() {
    let item = json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"google": {"thought_signature": "s"}}});
    let mut delta = item.clone();
    delta["index"] = json!(0);
    let response = folded(&events(&transcript(&[json!({"tool_calls": [delta]})], "tool_calls")));
    assert_eq!(body(&Request::of([response.message]))["messages"][0]["tool_calls"], json!([item]));
}

#[test]
fn text_after_a_call_is_a_segment_of_its_own() {
    let call =
        json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}]});
    let response =
        folded(&events(&transcript(&[json!({"content": "a"}), call, json!({"content": "b"})], "stop")));
    let kinds: Vec<bool> = response.message.content.iter().map(|p| p.as_text().is_some()).collect();
    assert_eq!(kinds, [true, false, true]);
    assert_eq!(response.finish_reason.unified, Finish::ToolCalls);
}

#[test]
fn usage_comes_in_several_places() {
    let last = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]";
    for tail in [
        ",\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n",
        ",\"x_groq\":{\"id\":\"q\",\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1}}}\n\ndata: [DONE]\n\n",
        ",\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":0}}\n\ndata: {\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1}}\n\n",
    ] {
        let response = folded(&events(&format!("{last}{tail}")));
        assert_eq!((response.usage.input, response.usage.output), (7, 1), "{tail}");
    }
}

#[test]
fn oddities_are_survived() {
    let bytes = concat!(
        ": comment\n\n",
        "data: \n\n",
        "data: {\"id\":\"\",\"model\":\"\",\"choices\":[],\"prompt_filter_results\":[{}]}\n\n",
        "data: {\"id\":\"r1\",\"choices\":[{\"index\":1,\"delta\":{\"content\":\"other\"}},{\"delta\":{\"content\":\"this\",\"tool_calls\":null}}]}\n\n",
        "data: {\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":null,\"finish_reason\":\"null\"}]}\n\n",
        "data: {\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":7},\"finish_reason\":\"length\"}]}\n\n",
        "data: [DONE]\n\ndata: [DONE]\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"late\"}}]}\n\n",
    );
    let events = events(bytes);
    let response = folded(&events);
    assert_eq!(
        (response.id.as_str(), response.model.as_str(), response.text().as_str()),
        ("r1", "m", "this")
    );
    assert_eq!(response.finish_reason.unified, Finish::Length);
    assert_eq!(events.iter().filter(|e| matches!(e, StreamEvent::Finish { .. })).count(), 1);
}

#[test]
fn a_stream_may_end_without_done_but_not_without_a_reason() {
    let said = "data: {\"id\":\"r1\",\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
    let reason = "data: {\"id\":\"r1\",\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(folded(&events(&format!("{said}{reason}"))).finish_reason.unified, Finish::Stop);
    assert_eq!(folded(&events(&format!("{said}data: [DONE]\n\n"))).finish_reason.unified, Finish::Other);
    for cut in [said, "", "data: [DONE]\n\n", "data: {\"id\":\n\n"] {
        let (events, result) = events_for(&Request::default(), cut.as_bytes());
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Stream, "{cut}");
        assert!(!events.iter().any(|e| matches!(e, StreamEvent::Finish { .. })));
    }
}

#[test]
fn a_failure_in_the_middle_is_the_servers_error() {
    let said = "data: {\"id\":\"r1\",\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
    let check = |frame: &str, kind: ErrorKind, message: &str| {
        let (events, result) = events_for(&Request::default(), format!("{said}{frame}\n\n{said}").as_bytes());
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.message()), (kind, message));
        assert_eq!(folded(&events).text(), "x");
    };
    check(
        "data: {\"error\":{\"message\":\"slow\",\"code\":\"rate_limit_exceeded\"}}",
        ErrorKind::RateLimit,
        "slow",
    );
    check(
        "data: {\"id\":\"r1\",\"error\":{\"message\":\"gone\",\"code\":502},\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}",
        ErrorKind::Server,
        "gone",
    );
    check("data: {\"error\":\"text\"}", ErrorKind::Server, "text");
    check("event: error\ndata: {\"message\":\"m\"}", ErrorKind::Server, "m");
    check("event: error\ndata: plain", ErrorKind::Server, "plain");
}

#[test]
fn arguments_and_calls_are_bounded() {
    let mut decoder = Chat.stream_decoder(decode_cx(&Request::default()));
    let mut out = Vec::new();
    let data = json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "x".repeat(1 << 20)}}]}}]}).to_string();
    let frame = sse::Frame { event: "", data: &data };
    for _ in 0..15 {
        decoder.frame(frame, &mut out).unwrap();
        out.clear();
    }
    assert_eq!(decoder.frame(frame, &mut out).unwrap_err().kind(), ErrorKind::Stream);
    assert!(decoder.frame(frame, &mut out).is_ok() && decoder.end(&mut out).is_ok(), "it is over then");

    let many: Vec<Value> =
        (0..1025).map(|n| json!({"index": n, "id": n.to_string(), "function": {"name": "f"}})).collect();
    let (_, result) =
        events_for(&Request::default(), transcript(&[json!({"tool_calls": many})], "stop").as_bytes());
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Stream);
}
