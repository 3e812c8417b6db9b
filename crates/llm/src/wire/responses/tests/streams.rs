//! Streams as servers send them.

use super::*;
use crate::wire::responses::segment::MAX_ARGUMENTS;
use crate::{Content, ErrorKind, Finish, Part};

fn item(kind: &str, index: u64, item: &Value) -> Value {
    json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item})
}

fn delta(kind: &str, index: u64, text: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": index, "item_id": "i", "delta": text})
}

fn message(id: &str, text: &str) -> Value {
    json!({"id": id, "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn call(arguments: &str) -> Value {
    json!({"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "c1",
        "name": "get_weather", "arguments": arguments})
}

/// Reads the stream, checks its grammar, and gives what it folds into.
fn check(events: &[Value]) -> Response {
    let events = read_stream(events).unwrap();
    check_grammar(&events);
    accumulate(&events)
}

/// One start first, one finish last; each segment has one start, one end, and deltas only between.
fn check_grammar(events: &[StreamEvent]) {
    use StreamEvent as E;
    let mut open = std::collections::BTreeSet::new();
    let mut used = std::collections::BTreeSet::new();
    for (n, event) in events.iter().enumerate() {
        assert_eq!(n == 0, matches!(event, E::StreamStart { .. }), "{events:?}");
        assert_eq!(n + 1 == events.len(), matches!(event, E::Finish { .. }), "{events:?}");
        match event {
            E::TextStart { id } | E::ReasoningStart { id } | E::ToolCallStart { id, .. } => {
                assert!(used.insert(*id) && open.insert(*id), "{events:?}");
            }
            E::TextDelta { id, .. } | E::ReasoningDelta { id, .. } | E::ToolCallDelta { id, .. } => {
                assert!(open.contains(id), "{events:?}");
            }
            E::TextEnd { id, .. } | E::ReasoningEnd { id, .. } | E::ToolCallEnd { id, .. } => {
                assert!(open.remove(id), "{events:?}");
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{events:?}");
}

/// What the deltas of a stream say, by themselves.
fn deltas(events: &[StreamEvent]) -> (String, String, String) {
    let mut said = (String::new(), String::new(), String::new());
    for event in events {
        match event {
            StreamEvent::TextDelta { text, .. } => said.0.push_str(text),
            StreamEvent::ReasoningDelta { text, .. } => said.1.push_str(text),
            StreamEvent::ToolCallDelta { arguments, .. } => said.2.push_str(arguments),
            _ => {}
        }
    }
    said
}

fn full_output() -> Value {
    json!([
        {"id": "rs_1", "type": "reasoning", "encrypted_content": "enc", "summary": [
            {"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Second."}]},
        message("msg_1", "Let me \u{e9} look"),
        call("{\"at\":\"here\"}"),
        {"id": "ctc_1", "type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "*** x"},
        {"id": "ws_1", "type": "web_search_call", "status": "completed"},
    ])
}

/// As the provider itself streams, with every bookkeeping event.
fn full_transcript() -> Vec<Value> {
    let output = full_output();
    let begun = |index: usize, changes: Value| {
        let mut begun = output[index].clone();
        begun.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        item("added", index as u64, &begun)
    };
    let summary = |part: u64, text: &str| {
        json!({"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "output_index": 0,
            "summary_index": part, "delta": text, "obfuscation": "xx"})
    };
    let mut events = vec![
        created(),
        json!({"type": "response.in_progress", "response": {"id": "resp_1"}}),
        begun(0, json!({"summary": [], "encrypted_content": "early"})),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 0,
            "item_id": "rs_1", "part": {"type": "summary_text", "text": ""}}),
        summary(0, "Fir"),
        summary(0, "st."),
        json!({"type": "response.reasoning_summary_text.done", "output_index": 0, "summary_index": 0,
            "item_id": "rs_1", "text": "First."}),
        summary(1, "Second."),
        item("done", 0, &output[0]),
        begun(1, json!({"content": [], "status": "in_progress"})),
        json!({"type": "response.content_part.added", "output_index": 1, "content_index": 0,
            "item_id": "msg_1", "part": {"type": "output_text", "text": ""}}),
        delta("output_text", 1, "Let me "),
        delta("output_text", 1, "\u{e9} look"),
        json!({"type": "response.output_text.done", "output_index": 1, "content_index": 0,
            "item_id": "msg_1", "text": "Let me \u{e9} look"}),
        item("done", 1, &output[1]),
        begun(2, json!({"arguments": ""})),
        begun(3, json!({"input": ""})),
        delta("function_call_arguments", 2, "{\"at\":"),
        delta("custom_tool_call_input", 3, "*** "),
        delta("function_call_arguments", 2, "\"here\"}"),
        delta("custom_tool_call_input", 3, "x"),
        json!({"type": "response.function_call_arguments.done", "output_index": 2, "item_id": "fc_1",
            "name": "get_weather", "arguments": "{\"at\":\"here\"}"}),
        item("done", 2, &output[2]),
        item("done", 3, &output[3]),
        item("added", 4, &output[4]),
        json!({"type": "response.web_search_call.searching", "output_index": 4, "item_id": "ws_1"}),
        item("done", 4, &output[4]),
        completed(output.clone()),
    ];
    for (n, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = n.into();
    }
    events
}

/// What `complete` would have given, without the body that a stream does not have.
fn whole(output: Value) -> Response {
    let mut response = decode(&completed(output)["response"]).unwrap();
    response.raw = None;
    response
}

#[test]
fn a_full_transcript_folds_into_the_whole_answer() {
    assert_eq!(check(&full_transcript()), whole(full_output()));
    let events = read_stream(&full_transcript()).unwrap();
    let said = deltas(&events);
    assert_eq!(said.0, "Let me \u{e9} look");
    assert_eq!(said.1, "First.\n\nSecond.");
    assert_eq!(said.2, "{\"at\":*** \"here\"}x");
    let provider_events = events.iter().filter(|e| matches!(e, StreamEvent::ProviderEvent { .. })).count();
    assert_eq!(provider_events, 1, "the search's progress");
    assert!(
        events.iter().any(|e| matches!(e, StreamEvent::ToolCallStart { name, .. } if name == "get.weather"))
    );
}

#[test]
fn less_than_everything_is_enough() {
    let output = full_output();
    let expected = whole(output.clone());
    let all = full_transcript();
    let without = |gone: &[&str]| -> Vec<Value> {
        all.iter()
            .filter(|e| !gone.iter().any(|g| e["type"].as_str().unwrap().ends_with(g)))
            .cloned()
            .collect()
    };
    for gone in [&[".added"][..], &[".delta"], &[".added", ".delta"], &["response.created"]] {
        let mut expected = expected.clone();
        if gone == ["response.created"] {
            // Its successor knows the id, but not the model.
            expected.model = "gpt-5.5".into();
        }
        let events = without(gone);
        assert_eq!(check(&events), expected, "{gone:?}");
        let said = deltas(&read_stream(&events).unwrap());
        // Without their deltas or names the calls come whole, one after the other.
        let calls =
            if gone == ["response.created"] { "{\"at\":*** \"here\"}x" } else { "{\"at\":\"here\"}*** x" };
        assert_eq!(said.0, "Let me \u{e9} look", "{gone:?}");
        assert_eq!(said.1, "First.\n\nSecond.", "{gone:?}");
        assert_eq!(said.2, calls, "{gone:?}");
    }
    let items: Vec<Value> = (0..).zip(output.as_array().unwrap()).map(|(n, i)| item("done", n, i)).collect();
    let minimal = [vec![created()], items, vec![completed(json!([]))]].concat();
    assert_eq!(check(&minimal), expected);
    assert_eq!(check(&[created(), completed(output.clone())]), expected, "only the end has the items");
}

#[test]
fn servers_without_indices_are_understood() {
    let strip = |mut event: Value| {
        event.as_object_mut().unwrap().remove("output_index");
        event
    };
    let text =
        |id: &str, text: &str| json!({"type": "response.output_text.delta", "item_id": id, "delta": text});
    let mut nameless = call("{\"a\":1}");
    nameless.as_object_mut().unwrap().remove("id");
    let output = json!([
        {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "",
            "content": [{"type": "reasoning_text", "text": "hm"}]},
        message("msg_1", "hello"),
        nameless,
    ]);
    let mut begun = nameless.clone();
    begun["arguments"] = "".into();
    let events = [
        created(),
        strip(item("added", 0, &json!({"id": "rs_1", "type": "reasoning", "summary": []}))),
        json!({"type": "response.reasoning_text.delta", "item_id": "rs_1", "delta": "hm"}),
        strip(item("added", 0, &message("msg_1", ""))),
        text("msg_1", "hel"),
        text("msg_1", "lo"),
        strip(item("added", 0, &begun)),
        json!({"type": "response.function_call_arguments.delta", "item_id": "c1", "delta": "{\"a\":1}"}),
        strip(item("done", 0, &output[0])),
        strip(item("done", 0, &output[1])),
        strip(item("done", 0, &output[2])),
        completed(output.clone()),
    ];
    assert_eq!(check(&events), whole(output));
}

#[test]
fn repeated_and_late_events_change_nothing() {
    let mut events = Vec::new();
    for event in full_transcript() {
        events.push(event.clone());
        events.push(event);
    }
    assert_eq!(check(&events), whole(full_output()));
    let mut events = full_transcript();
    let end = events.pop().unwrap();
    events.push(item("added", 1, &full_output()[1]));
    events.push(
        json!({"type": "response.output_text.delta", "output_index": 1, "item_id": "msg_1", "delta": "x"}),
    );
    events.push(item("done", 1, &full_output()[1]));
    events.push(end.clone());
    events.push(end);
    assert_eq!(check(&events), whole(full_output()));
}

#[test]
fn items_that_share_one_place_are_told_apart_by_id() {
    let output = json!([message("msg_1", "a"), message("msg_2", "b")]);
    let events =
        [created(), item("done", 0, &output[0]), item("done", 0, &output[1]), completed(output.clone())];
    assert_eq!(check(&events), whole(output));
}

#[test]
fn what_was_never_finished_keeps_what_it_had() {
    let response = check(&[
        created(),
        delta("output_text", 0, "half"),
        item("added", 1, &call("")),
        delta("function_call_arguments", 1, "{}"),
        delta("function_call_arguments", 2, "nameless"),
        completed(json!([])),
    ]);
    assert_eq!(response.text(), "half");
    assert_eq!(response.tool_calls().map(|c| c.raw_arguments.as_str()).collect::<Vec<_>>(), ["{}"]);
    assert_eq!(response.finish_reason.unified, Finish::ToolCalls);
}

#[test]
fn refusals_and_limits_end_the_answer() {
    let refusal =
        json!({"id": "msg_1", "type": "message", "content": [{"type": "refusal", "refusal": "I won't"}]});
    let response = check(&[
        created(),
        item("added", 0, &message("msg_1", "")),
        delta("refusal", 0, "I "),
        item("done", 0, &refusal),
        completed(json!([])),
    ]);
    assert_eq!(
        (response.text().as_str(), response.finish_reason.unified),
        ("I won't", Finish::ContentFilter)
    );

    let mut end = completed(json!([]));
    end["type"] = "response.incomplete".into();
    end["response"]["status"] = "incomplete".into();
    end["response"]["incomplete_details"] = json!({"reason": "max_output_tokens"});
    let response = check(&[created(), delta("output_text", 0, "x"), end]);
    assert_eq!(response.finish_reason.unified, Finish::Length);
}

#[test]
fn failures_are_errors_of_their_kind() {
    let check = |event: Value, kind: ErrorKind| {
        let error = read_stream(&[created(), event.clone()]).unwrap_err();
        assert_eq!(error.kind(), kind, "{event}");
        assert_eq!(error.provider(), Some("openai"));
    };
    let failed = |code: &str| {
        json!({"type": "response.failed", "response": {"id": "r", "status": "failed",
            "error": {"code": code, "message": "m"}}})
    };
    check(failed("rate_limit_exceeded"), ErrorKind::RateLimit);
    check(failed("context_length_exceeded"), ErrorKind::ContextLength);
    check(failed("insufficient_quota"), ErrorKind::Quota);
    check(failed("server_error"), ErrorKind::Server);
    check(json!({"type": "error", "code": "invalid_prompt", "message": "m"}), ErrorKind::InvalidRequest);
    check(
        json!({"type": "error", "error": {"type": "x", "code": "rate_limit_exceeded", "message": "m"}}),
        ErrorKind::RateLimit,
    );
    check(json!({"error": {"code": "server_error", "message": "m"}}), ErrorKind::Server);
    check(json!({"type": "response.in_progress"}), ErrorKind::Stream);
}

#[test]
fn a_stream_that_breaks_off_or_makes_no_sense_is_an_error() {
    for bytes in [
        &b""[..],
        b"event: response.created\ndata: {\"response\":{\"id\":\"r\"}}\n\n",
        b"event: response.output_text.delta\ndata: {\"delta\": \"x\n\n",
        b"event: response.output_text.delta\ndata: {}\n\n",
        b"data: nonsense\n\n",
        b"data: [DONE]\n\n",
    ] {
        assert_eq!(read_bytes(bytes).unwrap_err().kind(), ErrorKind::Stream, "{bytes:?}");
    }
}

#[test]
fn pings_are_no_part_of_the_answer() {
    let mut bytes = b"event: ping\ndata: {}\n\n".to_vec();
    let frames = [created(), json!({"type": "codex.rate_limits"}), completed(json!([message("m", "hi")]))];
    for event in &frames {
        sse::encode("", &event.to_string(), &mut bytes);
        bytes.extend_from_slice(b"event: ping\ndata: {\"type\": \"ping\"}\n\n: note\n\n");
    }
    sse::encode("", "[DONE]", &mut bytes);
    let events = read_bytes(&bytes).unwrap();
    check_grammar(&events);
    assert_eq!(accumulate(&events).text(), "hi");
    let raw = StreamEvent::ProviderEvent { raw: json!({"type": "ping"}) };
    assert!(events.contains(&raw));
}

#[test]
fn reasoning_in_both_forms_is_read_in_the_first() {
    let reasoning =
        json!({"id": "rs", "type": "reasoning", "summary": [{"text": "s"}], "content": [{"text": "c"}]});
    let response = check(&[
        created(),
        delta("reasoning_summary_text", 0, "s"),
        delta("reasoning_text", 0, "c"),
        item("done", 0, &reasoning),
        completed(json!([])),
    ]);
    assert_eq!(response.reasoning(), "s");
}

#[test]
fn arguments_are_bounded() {
    let piece = "x".repeat(MAX_ARGUMENTS / 2);
    let events = [
        created(),
        item("added", 0, &call("")),
        delta("function_call_arguments", 0, &piece),
        delta("function_call_arguments", 0, &piece),
        delta("function_call_arguments", 0, "y"),
    ];
    let error = read_stream(&events).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stream);
    assert!(error.message().contains("arguments"), "{error}");
}

#[test]
fn a_partial_stream_gives_a_partial_answer() {
    let mut decoder = Responses.stream_decoder(decode_cx());
    let mut events = Vec::new();
    for event in [created(), delta("output_text", 0, "half")] {
        let data = event.to_string();
        let frame = sse::Frame { event: event["type"].as_str().unwrap(), data: &data };
        decoder.frame(frame, &mut events).unwrap();
    }
    let contents: Vec<Content> =
        accumulate(&events).message.content.into_iter().map(Part::into_content).collect();
    assert_eq!(contents, [Content::Text("half".into())]);
}

#[test]
fn what_is_open_and_what_is_remembered_is_bounded() {
    let opened = (0..300).map(|index| delta("output_text", index, "x"));
    let items = (0..5000).map(|index| item("done", index, &message("", "x")));
    for events in [opened.collect::<Vec<_>>(), items.collect()] {
        let error = read_stream(&events).unwrap_err();
        assert!(error.message().contains("more items"), "{error}");
    }
}
