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

/// What an agent sends that has its tools in the conversation.
fn request_with_tools_within() -> Value {
    let parameters = json!({"type": "object"});
    json!({
        "model": "gpt-5.6",
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "parallel_tool_calls": false,
        "tool_choice": "auto",
        "tools": [
            {"type": "function", "name": "f", "description": "", "parameters": parameters, "strict": false},
            {"type": "namespace", "name": "mail", "description": "Mail", "tools": [
                {"type": "function", "name": "send", "description": "sends", "parameters": parameters}]},
        ],
        "input": [
            {"type": "additional_tools", "role": "developer", "tools": [
                {"type": "namespace", "name": "functions", "tools": [
                    {"type": "custom", "name": "exec", "description": "runs"}]},
                {"type": "namespace", "name": "agents", "tools": [
                    {"type": "function", "name": "send", "description": "tells", "parameters": parameters}]},
                {"type": "web_search"},
            ]},
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
            {"role": "user", "content": "go"},
            {"type": "function_call", "call_id": "c1", "name": "send", "namespace": "agents", "arguments": "{}"},
            {"type": "custom_tool_call", "call_id": "c2", "name": "exec", "input": "x"},
            {"type": "function_call_output", "call_id": "c1", "output": "a"},
            {"type": "custom_tool_call_output", "call_id": "c2", "output": "b"},
        ],
    })
}

#[test]
fn tools_in_namespaces_and_in_the_conversation_are_tools() {
    let (request, _) = receive(&request_with_tools_within()).unwrap();
    let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        ["f", "mail", "mail::send", "functions", "exec", "agents", "agents::send", "web_search"]
    );
    assert_eq!(request.tools[6].description, "tells");
    let roles: Vec<Role> = request.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::Developer, Role::Developer, Role::User, Role::Assistant, Role::Tool]);
    let called: Vec<&str> = request.messages[3].tool_calls().map(|call| call.name.as_str()).collect();
    assert_eq!(called, ["agents::send", "exec"]);
    // Declared twice, a tool is what was said last, and where it was said first.
    let tool = |what: &str| json!({"type": "function", "name": "f", "description": what});
    let more = |what: &str| json!({"type": "additional_tools", "tools": [tool(what), {"type": "f"}]});
    let (request, _) = receive(&json!({"tools": [tool("a")], "input": [more("b"), more("c")]})).unwrap();
    let tools: Vec<(&str, &str)> = request.tools.iter().map(|t| (&*t.name, &*t.description)).collect();
    assert_eq!(tools, [("f", "c"), ("f", "")]);
}

#[test]
fn tools_in_the_conversation_go_on_to_the_same_model_as_they_came() {
    let (request, mode) = receive(&request_with_tools_within()).unwrap();
    let names = NameMap::for_request(&request, Wire::Responses);
    let same = origin();
    let other = Origin { provider: "another".into(), ..(*same).clone() };
    let sent = |origin: &Origin| {
        let cx = EncodeCx { origin, mode, session: None, model: None, names: &names, auto_cache: true };
        Responses.encode_request(&request, &cx).unwrap()
    };
    assert_eq!(sent(&same).body.to_string(), request_with_tools_within().to_string());
    // Another is told of them where it is told of tools.
    let (body, came) = (sent(&other).body, request_with_tools_within());
    let (outside, within) =
        (came["tools"].as_array().unwrap(), came["input"][0]["tools"].as_array().unwrap());
    assert_eq!(body["tools"], json!([outside.as_slice(), within.as_slice()].concat()));
    assert_eq!(body["input"][0], came["input"][1]);
    assert_eq!(body["input"][2], came["input"][3]);
    assert!(sent(&other).warnings.is_empty());
}

#[test]
fn calls_of_tools_in_namespaces_have_two_names() {
    let call = ToolCall::function("c1", "agents::send", "{}");
    let mut answer = Response::empty("anthropic", "m");
    answer.message.content = vec![Part::new(Content::ToolCall(call.clone()))];
    let item = Responses.encode_response(&answer)["output"][0].take();
    assert_eq!((&item["name"], &item["namespace"]), (&json!("send"), &json!("agents")));
    // The provider's own goes on as it is, and is known by both.
    let own = json!({"type": "function_call", "id": "fc", "call_id": "c1", "name": "send", "namespace": "agents", "arguments": "{}"});
    let read = decode(&json!({"id": "r", "status": "completed", "output": [own]})).unwrap();
    assert_eq!(read.tool_calls().collect::<Vec<_>>(), [&call]);
    assert_eq!(Responses.encode_response(&read)["output"][0], own);
    let events = read_stream(&[
        created(),
        json!({"type": "response.output_item.added", "output_index": 0, "item": own}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": own}),
        completed(json!([])),
    ])
    .unwrap();
    let start = events.iter().find_map(|event| match event {
        StreamEvent::ToolCallStart { name, .. } => Some(name.as_str()),
        _ => None,
    });
    assert_eq!(start, Some("agents::send"));
    let mut encoder = Responses.stream_encoder();
    let mut bytes = Vec::new();
    for event in &events {
        encoder.event(event, &mut bytes);
    }
    let text = String::from_utf8(bytes).unwrap();
    assert!(!text.contains("agents::send") && text.contains(r#""namespace":"agents""#), "{text}");
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
    check(json!({"input": [{"type": "additional_tools"}]}), "input[0].tools");
    check(json!({"input": [], "tools": [{"type": "namespace", "tools": []}]}), "tools[0].name");
    check(
        json!({"input": [], "tools": [{"type": "namespace", "name": "n", "tools": [{}]}]}),
        "tools[0].tools[0].type",
    );
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
