//! Requests as clients send them, and streams as clients expect them.

use super::*;
use crate::{
    Content, Effort, ErrorKind, Finish, FinishReason, Media, Part, ResponseFormat, Role, SegmentId, Thinking,
    ToolCall, ToolCallKind, ToolChoice, ToolKind, ToolResult, Usage,
};

fn contents(request: &Request) -> Vec<(Role, Vec<Content>)> {
    let message = |m: &crate::Message| (m.role, m.content.iter().map(|p| p.content().clone()).collect());
    request.messages.iter().map(message).collect()
}

fn text(text: &str) -> Content {
    Content::Text(text.into())
}

/// The shape of what a coding agent sends after two rounds of tools.
fn agent_request() -> Value {
    json!({
        "model": "gpt-5.5",
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "thread-1",
        "reasoning": {"effort": "medium", "summary": "auto"},
        "text": {"verbosity": "low"},
        "parallel_tool_calls": true,
        "tool_choice": "auto",
        "tools": [
            {"type": "function", "name": "exec_command", "description": "runs", "parameters": {"type": "object"}, "strict": false},
            {"type": "custom", "name": "apply_patch", "description": "patches", "format": {"type": "grammar", "syntax": "lark", "definition": "x"}},
            {"type": "web_search", "external_web_access": false},
        ],
        "instructions": "You are an agent.",
        "client_metadata": {"x": "y"},
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "sandbox"}]},
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "agents file"}, {"type": "input_text", "text": "environment"}]},
            {"role": "user", "content": "fix it"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e1"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}], "phase": "commentary"},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "exec_command", "arguments": "{\"cmd\":\"ls\"}"},
            {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin"},
            {"type": "function_call_output", "call_id": "c1", "output": "a b"},
            {"type": "custom_tool_call_output", "call_id": "c2", "output": [
                {"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": "data:image/png;base64,AQID"}]},
            {"type": "local_shell_call", "id": "ls_1", "call_id": "c3", "status": "completed", "action": {"type": "exec", "command": ["ls"], "env": {}}},
            {"type": "local_shell_call_output", "id": "ls_1", "output": "x"},
            {"type": "message", "role": "user", "content": [{"type": "input_image", "file_id": "f1", "detail": "auto"}]},
        ],
    })
}

#[test]
fn an_agents_request_is_understood() {
    let (request, mode) = receive(&agent_request()).unwrap();
    assert_eq!(mode, Mode::Stream);
    assert_eq!(request.model.as_deref(), Some("gpt-5.5"));
    let items = &agent_request()["input"];
    let seen = ToolResult {
        images: vec![Media::from_wire_url("data:image/png;base64,AQID")],
        ..ToolResult::text("c2", "seen")
    };
    assert_eq!(
        contents(&request),
        [
            (Role::System, vec![text("You are an agent.")]),
            (Role::Developer, vec![text("sandbox")]),
            (Role::User, vec![text("agents file"), text("environment")]),
            (Role::User, vec![text("fix it")]),
            (
                Role::Assistant,
                vec![
                    Content::Thinking(Thinking { text: String::new(), signature: Some("e1".into()) }),
                    text("Looking."),
                    Content::ToolCall(ToolCall::function("c1", "exec_command", "{\"cmd\":\"ls\"}")),
                    Content::ToolCall(ToolCall::custom("c2", "apply_patch", "*** Begin")),
                ]
            ),
            (Role::Tool, vec![Content::ToolResult(ToolResult::text("c1", "a b")), Content::ToolResult(seen)]),
            (Role::Assistant, vec![Content::Other(items[9].clone())]),
            (Role::Tool, vec![Content::Other(items[10].clone())]),
            (Role::User, vec![Content::Other(items[11]["content"][0].clone())]),
        ]
    );
    assert_eq!(request.reasoning_effort, Some(Effort::Medium));
    assert_eq!(request.tool_choice, Some(ToolChoice::Auto));
    assert_eq!(request.parallel_tool_calls, Some(true));
    assert_eq!(
        request.provider_options["openai"],
        json!({
            "store": false, "include": ["reasoning.encrypted_content"], "prompt_cache_key": "thread-1",
            "reasoning": {"summary": "auto"}, "text": {"verbosity": "low"}, "client_metadata": {"x": "y"},
        })
    );
    let names: Vec<&str> = request.tools.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["exec_command", "apply_patch", "web_search"]);
    assert!(matches!(&request.tools[1].kind, ToolKind::Custom { format: Some(f) } if f["syntax"] == "lark"));
    assert!(matches!(&request.tools[2].kind, ToolKind::Hosted { wire: Wire::Responses, .. }));
}

#[test]
fn an_agents_request_goes_on_to_the_same_model_as_it_came() {
    let (request, mode) = receive(&agent_request()).unwrap();
    let names = NameMap::for_request(&request, Wire::Responses);
    let origin = origin();
    let cx = EncodeCx { origin: &origin, mode, session: None, model: None, names: &names, auto_cache: true };
    let sent = Responses.encode_request(&request, &cx).unwrap();
    assert_eq!(sent.body.to_string(), agent_request().to_string());
    assert!(sent.warnings.is_empty(), "{:?}", sent.warnings);
}

#[test]
fn fields_find_their_places() {
    let (request, mode) = receive(&json!({
        "input": "hi",
        "stream": false,
        "temperature": 0.5,
        "top_p": null,
        "max_output_tokens": 7,
        "metadata": {"a": "b"},
        "tool_choice": {"type": "function", "name": "f"},
        "tools": [{"type": "function", "name": "f", "parameters": null}],
        "text": {"format": {"type": "json_schema", "name": "o", "schema": {"type": "object"}, "strict": true}},
    }))
    .unwrap();
    assert_eq!(mode, Mode::Complete);
    assert_eq!(contents(&request), [(Role::User, vec![text("hi")])]);
    assert_eq!((request.temperature, request.top_p, request.max_tokens), (Some(0.5), None, Some(7)));
    assert_eq!(request.metadata["a"], "b");
    assert_eq!(request.tool_choice, Some(ToolChoice::Named("f".into())));
    assert_eq!(request.tools[0].parameters(), Some(&json!({"type": "object", "properties": {}})));
    let schema = json!({"type": "object"});
    let expected = ResponseFormat::JsonSchema { name: "o".into(), schema, strict: true };
    assert_eq!(request.response_format, Some(expected));
    assert!(request.provider_options.is_empty());
    // A choice without a place in ours is kept for its own wire.
    let allowed = json!({"type": "allowed_tools", "mode": "auto", "tools": []});
    let (request, _) = receive(&json!({"input": [], "tool_choice": allowed})).unwrap();
    assert_eq!((request.tool_choice, &request.provider_options["openai"]["tool_choice"]), (None, &allowed));
}

#[test]
fn media_comes_as_media() {
    let check = |piece: Value, expected: Content| {
        let (request, _) = receive(&json!({"input": [{"role": "user", "content": [piece]}]})).unwrap();
        assert_eq!(contents(&request), [(Role::User, vec![expected])]);
    };
    check(
        json!({"type": "input_image", "image_url": "https://x/y.png", "detail": "high"}),
        Content::Image(Media { detail: Some(crate::Detail::High), ..Media::url("https://x/y.png") }),
    );
    check(
        json!({"type": "input_file", "filename": "n.pdf", "file_data": "data:application/pdf;base64,AQID"}),
        Content::Document(Media {
            name: Some("n.pdf".into()),
            ..Media::from_wire_url("data:application/pdf;base64,AQID")
        }),
    );
    check(
        json!({"type": "input_file", "file_url": "https://x/y.pdf"}),
        Content::Document(Media::url("https://x/y.pdf")),
    );
    let unknown = json!({"type": "input_video", "video_url": "x"});
    check(unknown.clone(), Content::Other(unknown));
}

#[test]
fn bad_requests_say_where() {
    let check = |body: Value, place: &str| {
        let error = receive(&body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(error.message().contains(&format!("`{place}`")), "{body}: {error}");
    };
    check(json!([]), "body");
    check(json!({}), "input");
    check(json!({"input": 3}), "input");
    check(json!({"input": [3]}), "input[0]");
    check(json!({"input": [{"role": "robot", "content": "x"}]}), "input[0].role");
    check(json!({"input": [{"role": "user"}]}), "input[0].content");
    check(json!({"input": [{"role": "user", "content": [{"text": "x"}]}]}), "input[0].content[0].type");
    check(json!({"input": [{"type": "function_call", "name": "f", "arguments": "{}"}]}), "input[0].call_id");
    check(
        json!({"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": {}}]}),
        "input[0].arguments",
    );
    check(json!({"input": [{"type": "custom_tool_call", "call_id": "c", "name": "f"}]}), "input[0].input");
    check(json!({"input": [{"type": "function_call_output", "call_id": "c"}]}), "input[0].output");
    check(json!({"input": "x", "model": 3}), "model");
    check(json!({"input": "x", "stream": "yes"}), "stream");
    check(json!({"input": "x", "temperature": "hot"}), "temperature");
    check(json!({"input": "x", "max_output_tokens": -1}), "max_output_tokens");
    check(json!({"input": "x", "tools": {}}), "tools");
    check(json!({"input": "x", "tools": [{"name": "f"}]}), "tools[0].type");
    check(json!({"input": "x", "tools": [{"type": "function"}]}), "tools[0].name");
    check(json!({"input": "x", "reasoning": 1}), "reasoning");
    assert!(receive(&json!({"previous_response_id": "resp_1"})).is_ok());
}

fn write_stream(events: &[StreamEvent]) -> Vec<Value> {
    let mut encoder = Responses.stream_encoder();
    let mut bytes = Vec::new();
    for event in events {
        encoder.event(event, &mut bytes);
    }
    parse_frames(&bytes)
}

fn parse_frames(bytes: &[u8]) -> Vec<Value> {
    let mut frames = Vec::new();
    sse::Decoder::new()
        .push(bytes, |frame| {
            let data: Value = serde_json::from_str(frame.data).unwrap();
            assert_eq!(data["type"], frame.event);
            assert_eq!(data["sequence_number"], frames.len());
            frames.push(data);
            Ok(())
        })
        .unwrap();
    frames
}

fn start(origin: Option<Arc<Origin>>) -> StreamEvent {
    StreamEvent::StreamStart {
        id: "resp_7".into(),
        model: "m".into(),
        provider: "p".into(),
        origin,
        usage: None,
        warnings: Vec::new(),
        rate_limit: None,
    }
}

fn finish(unified: Finish) -> StreamEvent {
    StreamEvent::Finish { reason: FinishReason::new(unified), usage: Usage::new(1, 2), response: None }
}

fn types(frames: &[Value]) -> Vec<&str> {
    frames.iter().map(|f| f["type"].as_str().unwrap().trim_start_matches("response.")).collect()
}

#[test]
fn a_stream_has_every_event_a_client_waits_for() {
    let (a, b, c, d) = (SegmentId(0), SegmentId(1), SegmentId(5), SegmentId(6));
    let frames = write_stream(&[
        start(None),
        StreamEvent::ReasoningStart { id: a },
        StreamEvent::ReasoningDelta { id: a, text: "hm".into() },
        StreamEvent::ReasoningEnd { id: a, signature: Some("sig".into()), raw: Some(json!({"foreign": 1})) },
        StreamEvent::TextStart { id: b },
        StreamEvent::TextDelta { id: b, text: "hi".into() },
        StreamEvent::Progress { text: "…".into() },
        StreamEvent::TextEnd { id: b, raw: None },
        StreamEvent::ToolCallStart {
            id: c,
            call_id: "c1".into(),
            name: "f".into(),
            kind: ToolCallKind::Function,
        },
        StreamEvent::ToolCallDelta { id: c, arguments: "{}".into() },
        StreamEvent::ToolCallEnd { id: c, call: ToolCall::function("c1", "f", "{}"), raw: None },
        StreamEvent::ToolCallStart {
            id: d,
            call_id: "c2".into(),
            name: "p".into(),
            kind: ToolCallKind::Custom,
        },
        StreamEvent::ToolCallDelta { id: d, arguments: "x".into() },
        StreamEvent::ToolCallEnd { id: d, call: ToolCall::custom("c2", "p", "x"), raw: None },
        finish(Finish::ToolCalls),
        StreamEvent::TextStart { id: b },
    ]);
    assert_eq!(
        types(&frames),
        [
            "created",
            "in_progress",
            "output_item.added",
            "reasoning_summary_part.added",
            "reasoning_summary_text.delta",
            "reasoning_summary_text.done",
            "reasoning_summary_part.done",
            "output_item.done",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "output_item.added",
            "function_call_arguments.delta",
            "function_call_arguments.done",
            "output_item.done",
            "output_item.added",
            "custom_tool_call_input.delta",
            "custom_tool_call_input.done",
            "output_item.done",
            "completed",
        ]
    );
    let done: Vec<Value> = frames
        .iter()
        .filter(|f| f["type"] == "response.output_item.done")
        .map(|f| f["item"].clone())
        .collect();
    let last = &frames.last().unwrap()["response"];
    assert_eq!(last["output"], json!(done));
    let ids: Vec<&str> = done.iter().map(|i| i["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["rs_7_0", "msg_7_1", "fc_7_2", "ctc_7_3"]);
    assert_eq!(done[0]["encrypted_content"], "sig");
    for frame in &frames {
        if let (Some(id), Some(index)) = (frame.get("item_id"), frame["output_index"].as_u64()) {
            assert_eq!(id, ids[usize::try_from(index).unwrap()]);
        }
    }
    assert_eq!(last["usage"]["total_tokens"], 3);
}

#[test]
fn upstream_items_are_handed_on_in_a_stream_too() {
    let id = SegmentId(0);
    let item = json!({"id": "rs_up", "type": "reasoning", "summary": [], "encrypted_content": "e"});
    let search = json!({"id": "ws_up", "type": "web_search_call", "status": "completed"});
    let written = |ahead: &[StreamEvent]| {
        let events = [
            StreamEvent::ReasoningStart { id },
            StreamEvent::ReasoningEnd { id, signature: Some("e".into()), raw: Some(item.clone()) },
            StreamEvent::Part {
                part: Part::received(Content::Other(search.clone()), origin(), Some(search.clone())),
            },
            finish(Finish::Stop),
        ];
        let frames = write_stream(&[&[start(Some(origin()))], ahead, &events].concat());
        let output = frames.last().unwrap()["response"]["output"].clone();
        let added = frames.iter().find(|f| f["type"] == "response.output_item.added").unwrap();
        assert_eq!(added["item"]["id"], output[0]["id"], "an item has one id from first to last");
        output
    };
    // Whoever knows the item's own id tells it beforehand; else it is one of ours.
    let raw = json!({"type": "response.output_item.added", "item": {"id": "rs_up"}});
    assert_eq!(written(&[StreamEvent::ProviderEvent { raw }]), json!([item, search]));
    let mut renamed = item.clone();
    renamed["id"] = "rs_7_0".into();
    assert_eq!(written(&[]), json!([renamed, search]));
}

#[test]
fn ends_have_their_events() {
    let check = |unified: Finish, name: &str, reason: Value| {
        let frames = write_stream(&[start(None), finish(unified)]);
        let last = frames.last().unwrap();
        assert_eq!(last["type"], name);
        assert_eq!(last["response"]["incomplete_details"], reason);
    };
    check(Finish::Stop, "response.completed", Value::Null);
    check(Finish::Length, "response.incomplete", json!({"reason": "max_output_tokens"}));
    check(Finish::ContentFilter, "response.incomplete", json!({"reason": "content_filter"}));
    check(Finish::Error, "response.failed", Value::Null);
}

#[test]
fn a_failure_is_told_to_every_kind_of_client() {
    let id = SegmentId(0);
    for before in [
        vec![],
        vec![start(None), StreamEvent::TextStart { id }, StreamEvent::TextDelta { id, text: "x".into() }],
    ] {
        let mut encoder = Responses.stream_encoder();
        let mut bytes = Vec::new();
        for event in &before {
            encoder.event(event, &mut bytes);
        }
        encoder.error(&Error::new(ErrorKind::RateLimit, "slow down"), &mut bytes);
        encoder.event(&finish(Finish::Stop), &mut bytes);
        let frames = parse_frames(&bytes);
        assert_eq!(frames[0]["type"], "response.created");
        let (failed, error) = (&frames[frames.len() - 2], &frames[frames.len() - 1]);
        let expected = json!({"code": "rate_limit_exceeded", "message": "slow down"});
        assert_eq!((&failed["type"], &failed["response"]["error"]), (&json!("response.failed"), &expected));
        assert_eq!((&error["type"], &error["code"]), (&json!("error"), &json!("rate_limit_exceeded")));
        assert_eq!(error["error"]["message"], "slow down");
        assert_eq!(read_bytes(&bytes).unwrap_err().kind(), ErrorKind::RateLimit);
    }
}
