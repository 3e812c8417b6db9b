//! What a server reads and writes.

use super::*;
use crate::{
    Effort, ErrorKind, Finish, FinishReason, Media, ResponseFormat, Thinking, ToolChoice, ToolResult, Usage,
};

fn contents(message: &Message) -> Vec<Content> {
    message.content.iter().map(|part| part.content().clone()).collect()
}

#[test]
fn a_request_with_everything() {
    let (request, mode) = served(&json!({
        "model": "gpt-x",
        "messages": [{"role": "user", "content": "hi", "name": "ann"}],
        "stream": true,
        "stream_options": {"include_usage": true, "include_obfuscation": false},
        "tools": [
            {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": true}},
            {"type": "function", "function": {"name": "bare"}},
            {"type": "custom", "custom": {"name": "p", "format": {"type": "text"}}},
            {"type": "web_search"},
            {"type": "custom", "custom": {"name": "q", "format":
                {"type": "grammar", "grammar": {"syntax": "lark", "definition": "x"}}}},
        ],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "parallel_tool_calls": false,
        "response_format": {"type": "json_schema", "json_schema": {"name": "o", "schema": {"type": "object"}}},
        "temperature": 0.5, "top_p": 1, "max_completion_tokens": 10, "stop": "END",
        "reasoning_effort": "high", "metadata": {"k": "v"}, "seed": 4, "user": null,
    }))
    .unwrap();
    assert_eq!(mode, Mode::Stream);
    assert_eq!(request.model.as_deref(), Some("gpt-x"));
    assert_eq!(request.messages[0].name.as_deref(), Some("ann"));
    assert_eq!(request.messages[0].text(), "hi");
    let kinds: Vec<&ToolKind> = request.tools.iter().map(|tool| &tool.kind).collect();
    assert_eq!(
        *kinds[0],
        ToolKind::Function { parameters: json!({"type": "object"}).into(), strict: Some(true) }
    );
    assert_eq!(
        *kinds[1],
        ToolKind::Function { parameters: json!({"type": "object", "properties": {}}).into(), strict: None }
    );
    assert_eq!(*kinds[2], ToolKind::Custom { format: Some(json!({"type": "text"})) });
    assert_eq!(*kinds[3], ToolKind::Hosted { wire: Wire::Chat, item: json!({"type": "web_search"}) });
    let flat = json!({"type": "grammar", "syntax": "lark", "definition": "x"});
    assert_eq!(*kinds[4], ToolKind::Custom { format: Some(flat) });
    assert_eq!(request.tool_choice, Some(ToolChoice::Named("f".into())));
    assert_eq!(request.parallel_tool_calls, Some(false));
    assert_eq!(
        request.response_format,
        Some(ResponseFormat::JsonSchema {
            name: "o".into(),
            schema: json!({"type": "object"}),
            strict: false
        })
    );
    assert_eq!((request.temperature, request.top_p, request.max_tokens), (Some(0.5), Some(1.0), Some(10)));
    assert_eq!(request.stop_sequences, ["END"]);
    assert_eq!(request.reasoning_effort, Some(Effort::High));
    assert_eq!(request.metadata["k"], "v");
    assert_eq!(
        request.provider_options["chat"],
        json!({"stream_options": {"include_obfuscation": false}, "max_completion_tokens": true, "seed": 4, "custom_tools": true})
    );
}

#[test]
fn choices_and_formats_the_types_cannot_say_pass_through() {
    let allowed = json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}});
    let grammar = json!({"type": "grammar", "grammar": "x"});
    let (request, _) = served(&json!({"model": "m", "messages": [{"role": "user", "content": "x"}],
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "tool_choice": allowed, "response_format": grammar}))
    .unwrap();
    assert_eq!((&request.tool_choice, &request.response_format), (&None, &None));
    let sent = body(&request);
    assert_eq!((&sent["tool_choice"], &sent["response_format"]), (&allowed, &grammar));
}

#[test]
fn a_conversation_with_tools() {
    let (request, mode) = served(&json!({"model": "m", "messages": [
        {"role": "system", "content": [{"type": "text", "text": "s"}]},
        {"role": "developer", "content": "d"},
        {"role": "user", "content": [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID", "detail": "high"}},
            {"type": "input_audio", "input_audio": {"data": "AQ==", "format": "wav"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,Ag=="}},
        ]},
        {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"id": "c2", "type": "custom", "custom": {"name": "p", "input": "t"}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "two"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "b"}]},
    ]}))
    .unwrap();
    assert_eq!(mode, Mode::Complete);
    let roles: Vec<Role> = request.messages.iter().map(|m| m.role).collect();
    assert_eq!(
        roles,
        [Role::System, Role::Developer, Role::User, Role::Assistant, Role::Tool, Role::Assistant],
        "the results of one turn are one message"
    );
    assert!(request.messages.iter().flat_map(|m| &m.content).all(|p| p.is_from(&origin())));
    let user = contents(&request.messages[2]);
    assert!(
        matches!(&user[1], Content::Image(m) if m.detail == Some(crate::Detail::High) && m.mime() == "image/png")
    );
    assert!(matches!(&user[2], Content::Audio(m) if m.mime() == "audio/wav"));
    assert!(matches!(&user[3], Content::Document(m) if m.name.as_deref() == Some("a.pdf")));
    assert_eq!(
        contents(&request.messages[3]),
        [
            Content::Thinking(Thinking { text: "hm".into(), signature: None }),
            Content::ToolCall(ToolCall::function("c1", "f", "{}")),
            Content::ToolCall(ToolCall::custom("c2", "p", "t")),
        ]
    );
    let results: Vec<ToolResult> = request.messages[4].results().cloned().collect();
    assert_eq!(results, [ToolResult::text("c1", "one"), ToolResult::text("c2", "two")]);
    assert_eq!(request.messages[5].text(), "ab");
    assert_eq!(request.provider_options["chat"], json!({"developer_role": true, "send_reasoning": true}));
}

#[test]
fn the_functions_of_old() {
    let (request, _) = served(&json!({"model": "m",
    "functions": [{"name": "f", "parameters": {"type": "object"}}], "function_call": {"name": "f"},
    "messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "r"},
    ]}))
    .unwrap();
    assert_eq!(request.tools[0].name, "f");
    assert_eq!(request.tool_choice, Some(ToolChoice::Named("f".into())));
    let call = request.messages[1].tool_calls().next().unwrap();
    assert_eq!(request.messages[2].results().next().unwrap().call_id, call.id);
}

#[test]
fn what_the_view_cannot_hold_goes_back_verbatim_to_its_origin_and_nowhere_else() {
    let messages = json!([
        {"role": "user", "cache_control": {"type": "ephemeral"}, "content": [
            {"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}},
            {"type": "file", "file": {"file_id": "file-1"}},
            {"type": "image_url", "image_url": {"url": "https://x", "detail": "original"}},
            {"type": "video_url", "video_url": {"url": "https://v"}},
        ]},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "audio": {"id": "audio-1"}, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": {"k": 1}}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "y"}]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]},
    ]);
    let (request, _) = served(&json!({"model": "m", "messages": messages})).unwrap();
    let sent = body(&request)["messages"].clone();
    let sorted = |v: &Value| {
        serde_json::from_str::<std::collections::BTreeMap<String, Value>>(&v.to_string()).unwrap()
    };
    for (index, expected) in messages.as_array().unwrap().iter().enumerate() {
        let mut expected = sorted(expected);
        expected.entry("content".into()).or_insert(Value::Null);
        assert_eq!(sorted(&sent[index]), expected);
    }

    let names = NameMap::for_request(&request, Wire::Chat);
    let other = Origin { model: "other".into(), ..origin() };
    let cx = EncodeCx {
        origin: &other,
        mode: Mode::Complete,
        session: None,
        model: None,
        names: &names,
        auto_cache: true,
    };
    let elsewhere = Chat.encode_request(&request, &cx).unwrap();
    let text = elsewhere.body.to_string();
    for private in
        ["cache_control", "prompt_cache_breakpoint", "file-1", "video_url", "audio-1", "extra_content"]
    {
        assert!(!text.contains(private), "{private} in {text}");
    }
    assert!(!elsewhere.warnings.is_empty());
}

#[test]
fn bad_requests_say_where() {
    let check = |body: Value, place: &str| {
        let error = served(&body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(error.message().starts_with(place), "{error} for {body}");
    };
    let with =
        |message: Value| json!({"model": "m", "messages": [{"role": "user", "content": "x"}, message]});
    check(json!([]), "the body");
    check(json!({"model": "m"}), "messages must");
    check(json!({"messages": []}), "model is missing");
    check(json!({"model": 3, "messages": []}), "model must be a string");
    check(json!({"model": "m", "messages": [], "temperature": "hot"}), "temperature must be a number");
    check(json!({"model": "m", "messages": [], "max_tokens": -1}), "max_tokens must be a whole number");
    check(json!({"model": "m", "messages": [], "stream": 1}), "stream must be");
    check(json!({"model": "m", "messages": [], "stop": [1]}), "stop[0] must be a string");
    check(
        json!({"model": "m", "messages": [], "tools": [{"type": "function", "function": {}}]}),
        "tools[0].function.name",
    );
    check(json!({"model": "m", "messages": [], "tools": [{}]}), "tools[0] has no type");
    check(with(json!({"content": "x"})), "messages[1] has no role");
    check(with(json!({"role": "king", "content": "x"})), "messages[1].role cannot be `king`");
    check(with(json!({"role": "user"})), "messages[1].content must");
    check(
        with(json!({"role": "user", "content": [{"type": "text"}]})),
        "messages[1].content[0] is not a valid text part",
    );
    check(with(json!({"role": "user", "content": [{"text": "x"}]})), "messages[1].content[0] has no type");
    check(
        with(json!({"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "%"}}]})),
        "messages[1].content[0]",
    );
    check(with(json!({"role": "tool", "content": "x"})), "messages[1].tool_call_id is missing");
    check(
        with(json!({"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]})),
        "messages[1].tool_calls[0] has no id",
    );
    check(with(json!({"role": "function", "name": "f", "content": "x"})), "messages[1] answers no call");
}

fn response() -> Response {
    let content = [
        Content::Thinking(Thinking { text: "hm".into(), signature: Some("sig".into()) }),
        Content::Text("hello".into()),
        Content::ToolCall(ToolCall::function("c1", "f", "{\"a\":1}")),
        Content::ToolCall(ToolCall::custom("c2", "p", "text")),
        Content::Image(Media::bytes(vec![1])),
    ];
    Response {
        id: "r1".into(),
        message: Message::new(Role::Assistant, content.into_iter().map(Part::new).collect()),
        finish_reason: FinishReason::new(Finish::ToolCalls),
        usage: Usage { cache_read: Some(2), reasoning: Some(1), ..Usage::new(5, 4) },
        ..Response::empty("p", "m-1")
    }
}

#[test]
fn a_whole_answer() {
    assert_eq!(
        Chat.encode_response(&response()),
        json!({
            "id": "r1", "object": "chat.completion", "created": 0, "model": "m-1",
            "choices": [{"index": 0, "message": {
                "role": "assistant", "content": "hello", "refusal": null, "reasoning_content": "hm",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}},
                    {"id": "c2", "type": "custom", "custom": {"name": "p", "input": "text"}},
                ],
            }, "logprobs": null, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9,
                "prompt_tokens_details": {"cached_tokens": 2}, "completion_tokens_details": {"reasoning_tokens": 1}},
        })
    );
}

#[test]
fn answers_without_text_or_id() {
    let mut bare = Response::empty("p", "m");
    assert_eq!(Chat.encode_response(&bare)["choices"][0]["message"]["content"], "");
    assert_eq!(Chat.encode_response(&bare)["id"], "chatcmpl-0");
    bare.message = calling([ToolCall::function("c", "f", "")]);
    let message = Chat.encode_response(&bare)["choices"][0]["message"].clone();
    assert_eq!(
        (&message["content"], &message["tool_calls"][0]["function"]["arguments"]),
        (&Value::Null, &json!("{}"))
    );
}

fn streamed(events: &[StreamEvent]) -> Vec<Value> {
    let mut encoder = Chat.stream_encoder();
    let mut bytes = Vec::new();
    for event in events {
        encoder.event(event, &mut bytes);
    }
    let mut frames = Vec::new();
    let mut decoder = sse::Decoder::new();
    decoder
        .push(&bytes, |frame| {
            frames.push(serde_json::from_str(frame.data).unwrap_or_else(|_| frame.data.into()));
            Ok(())
        })
        .unwrap();
    frames
}

#[test]
fn a_streamed_answer() {
    let (text, call) = (crate::SegmentId(0), crate::SegmentId(1));
    let whole = ToolCall::function("c1", "f", "{\"a\":1}");
    let frames = streamed(&[
        StreamEvent::StreamStart {
            id: "r1".into(),
            model: "m-1".into(),
            provider: "p".into(),
            origin: None,
            usage: None,
            warnings: Vec::new(),
            rate_limit: None,
        },
        StreamEvent::ReasoningDelta { id: text, text: "hm".into() },
        StreamEvent::TextStart { id: text },
        StreamEvent::TextDelta { id: text, text: "hi".into() },
        StreamEvent::Progress { text: "still at it".into() },
        StreamEvent::ToolCallStart {
            id: call,
            call_id: "c1".into(),
            name: "f".into(),
            kind: crate::ToolCallKind::Function,
        },
        StreamEvent::ToolCallDelta { id: call, arguments: "{\"a\":1}".into() },
        StreamEvent::ToolCallEnd { id: call, call: whole.clone(), raw: None },
        StreamEvent::Part { part: Part::new(Content::ToolCall(ToolCall { id: "c2".into(), ..whole })) },
        StreamEvent::Finish {
            reason: FinishReason::new(Finish::ToolCalls),
            usage: Usage::new(3, 4),
            response: None,
        },
    ]);
    let deltas: Vec<&Value> = frames.iter().map(|frame| &frame["choices"][0]["delta"]).collect();
    let item = |item: Value| json!({"tool_calls": [item]});
    assert_eq!(
        deltas[..8],
        [
            &json!({"role": "assistant", "content": ""}),
            &json!({"reasoning_content": "hm"}),
            &json!({"content": "hi"}),
            &item(
                json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}})
            ),
            &item(json!({"index": 0, "function": {"arguments": "{\"a\":1}"}})),
            &item(
                json!({"index": 1, "id": "c2", "type": "function", "function": {"name": "f", "arguments": ""}})
            ),
            &item(json!({"index": 1, "function": {"arguments": "{\"a\":1}"}})),
            &json!({}),
        ]
    );
    assert_eq!(
        frames[7],
        json!({"id": "r1", "object": "chat.completion.chunk", "created": 0, "model": "m-1",
            "choices": [{"index": 0, "delta": {}, "logprobs": null, "finish_reason": "tool_calls"}]})
    );
    assert_eq!(
        frames[8],
        json!({"id": "r1", "object": "chat.completion.chunk", "created": 0, "model": "m-1", "choices": [],
            "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}})
    );
    assert_eq!(frames[9], "[DONE]");
}

#[test]
fn a_failure_in_the_middle_of_a_stream() {
    let mut encoder = Chat.stream_encoder();
    let mut bytes = Vec::new();
    encoder.event(&StreamEvent::TextDelta { id: crate::SegmentId(0), text: "x".into() }, &mut bytes);
    encoder.error(&Error::new(ErrorKind::RateLimit, "slow"), &mut bytes);
    let (events, result) = events_for(&Request::default(), &bytes);
    assert_eq!(folded(&events).text(), "x");
    let error = result.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::RateLimit, "slow"));
}
