use super::*;
use crate::names::NameMap;
use crate::wire::{Codec as _, EncodeCx};
use crate::{Media, MediaSource, ResultOutput, Thinking, ToolCall, ToolResult};

fn origin() -> Arc<Origin> {
    Arc::new(Origin { wire: Wire::Anthropic, provider: "p".into(), model: "claude-x".into() })
}

fn decoded(body: &Value) -> Request {
    decode(body, &origin()).unwrap().0
}

/// What the request looks like when it goes on to the same provider and model.
fn forwarded(request: &Request) -> Value {
    let names = NameMap::for_request(request, Wire::Anthropic);
    let origin = origin();
    let cx = EncodeCx {
        origin: &origin,
        mode: Mode::Stream,
        session: None,
        model: None,
        names: &names,
        auto_cache: true,
    };
    super::super::Anthropic.encode_request(request, &cx).unwrap().body
}

/// The shape of what today's coding client sends: markers of its own, system messages in the
/// middle, deferred and hosted tools, tool references, per-message fields.
fn client_body() -> Value {
    let mark = json!({"type": "ephemeral"});
    json!({
        "model": "claude-x", "max_tokens": 32000, "stream": true,
        "thinking": {"type": "adaptive", "display": "updates"},
        "output_config": {"effort": "medium"},
        "metadata": {"user_id": "{\"device_id\":\"d\"}"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "safeguards": [{"type": "dangerous_tool_use"}],
        "tools": [
            {"name": "Bash", "description": "runs", "input_schema": {"type": "object", "properties": {}}},
            {"name": "Later", "description": "d", "input_schema": {"type": "object"}, "defer_loading": true},
            {"type": "custom", "name": "Typed", "input_schema": {"type": "object"}, "cache_control": mark},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 8},
        ],
        "system": [
            {"type": "text", "text": "billing"},
            {"type": "text", "text": "main", "cache_control": mark},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "<system-reminder>"}, {"type": "text", "text": "hi"}]},
            {"role": "system", "content": [{"type": "text", "text": "environment"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": ""},
                {"type": "redacted_thinking", "data": "xx"},
                {"type": "text", "text": "running", "citations": null},
                {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls", "b": 1}},
                {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "tool_reference", "tool_name": "Later"}]},
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a\nb", "is_error": true},
                {"type": "text", "text": "next", "cache_control": mark},
            ]},
            {"role": "system", "content": [], "output_config": {"effort": "low"}},
            {"role": "system", "content": [{"type": "text", "text": "update"}], "clear_at": "next_user_message"},
        ],
    })
}

#[test]
fn a_coding_clients_request_goes_on_unchanged() {
    let body = client_body();
    let (request, mode) = decode(&body, &origin()).unwrap();
    assert_eq!(mode, Mode::Stream);
    assert_eq!(forwarded(&request), body);
}

#[test]
fn a_coding_clients_request_in_our_terms() {
    use Role::{Assistant, System, Tool, User};

    let request = decoded(&client_body());
    assert_eq!((request.model.as_deref(), request.max_tokens), (Some("claude-x"), Some(32000)));
    assert_eq!(request.reasoning_effort, Some(Effort::Medium));
    let roles: Vec<Role> = request.messages.iter().map(|m| m.role).collect();
    assert_eq!(roles, [System, User, System, Assistant, Tool, User, System, System]);
    assert_eq!(request.messages[0].text(), "billingmain");
    let results: Vec<&ToolResult> = request.messages[4].results().collect();
    assert_eq!(
        results,
        [
            &ToolResult::text("toolu_2", "{\"type\":\"tool_reference\",\"tool_name\":\"Later\"}"),
            &ToolResult::error("toolu_1", "a\nb"),
        ]
    );
    let calls: Vec<&ToolCall> = request.messages[3].tool_calls().collect();
    assert_eq!(calls[0], &ToolCall::function("toolu_1", "Bash", "{\"command\":\"ls\",\"b\":1}"));
    assert_eq!(
        request.messages[3].content[0].content(),
        &Content::Thinking(Thinking { text: "hm".into(), signature: None })
    );
    let kinds: Vec<bool> =
        request.tools.iter().map(|t| matches!(t.kind, ToolKind::Function { .. })).collect();
    assert_eq!(kinds, [true, true, true, false]);
    let options = request.provider_options["anthropic"].as_object().unwrap();
    let names: Vec<&str> = options.keys().map(String::as_str).collect();
    assert_eq!(names, ["thinking", "context_management", "safeguards", "tool_fields"]);
}

#[test]
fn another_model_gets_it_rebuilt() {
    let request = decoded(&client_body());
    let names = NameMap::for_request(&request, Wire::Anthropic);
    let elsewhere = Origin { model: "claude-y".into(), ..(*origin()).clone() };
    let cx = EncodeCx {
        origin: &elsewhere,
        mode: Mode::Complete,
        session: None,
        model: None,
        names: &names,
        auto_cache: false,
    };
    let body = super::super::Anthropic.encode_request(&request, &cx).unwrap().body;
    let messages = body["messages"].to_string();
    for gone in ["thinking", "xx", "cache_control", "clear_at", "\"system\""] {
        assert!(!messages.contains(gone), "{gone} in {messages}");
    }
    assert_eq!(body["messages"][1]["content"][0], json!({"type": "text", "text": "running"}));
}

#[test]
fn contents_of_every_shape() {
    let check = |content: Value, expected: Vec<Content>| {
        let body = json!({"messages": [{"role": "user", "content": content}]});
        let request = decoded(&body);
        let seen: Vec<Content> =
            request.messages.into_iter().flat_map(|m| m.content).map(Part::into_content).collect();
        assert_eq!(seen, expected);
    };
    let png =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQID"}});
    let image = Media { media_type: Some("image/png".into()), ..Media::bytes(vec![1, 2, 3]) };
    check(json!("hi"), vec![Content::Text("hi".into())]);
    check(json!([]), vec![]);
    check(Value::Null, vec![]);
    check(json!([png]), vec![Content::Image(image.clone())]);
    check(
        json!([{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "t"}, "title": "n"}]),
        vec![Content::Document(Media {
            source: MediaSource::Bytes("t".into()),
            media_type: Some("text/plain".into()),
            detail: None,
            name: Some("n".into()),
        })],
    );
    check(
        json!([{"type": "image", "source": {"type": "url", "url": "https://x/y"}}]),
        vec![Content::Image(Media::url("https://x/y"))],
    );
    let file = json!({"type": "image", "source": {"type": "file", "file_id": "f"}});
    check(json!([file]), vec![Content::Other(file.clone())]);
    let found = json!({"type": "search_result", "source": "https://x/y", "title": "Y",
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "citations": {"enabled": true}});
    check(json!([found]), vec![Content::Text("Y\nhttps://x/y\na\nb".into())]);
    check(
        json!([{"type": "tool_result", "tool_use_id": "c", "content": [found]}]),
        vec![Content::ToolResult(ToolResult::text("c", "Y\nhttps://x/y\na\nb"))],
    );
    let result = json!({"type": "tool_result", "tool_use_id": "c", "content": [
        {"type": "text", "text": "a"}, png, {"type": "text", "text": "b"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "t"}},
    ]});
    check(
        json!([result]),
        vec![Content::ToolResult(ToolResult {
            call_id: "c".into(),
            output: ResultOutput::Text("a\nb\nt".into()),
            is_error: false,
            images: vec![image],
        })],
    );
    let nothing = json!({"type": "tool_result", "tool_use_id": "c"});
    check(json!([nothing]), vec![Content::ToolResult(ToolResult::text("c", ""))]);
}

#[test]
fn tool_choices() {
    let check = |choice: Value, expected: ToolChoice, parallel: Option<bool>| {
        let request = decoded(&json!({"messages": [], "tool_choice": choice}));
        assert_eq!((request.tool_choice, request.parallel_tool_calls), (Some(expected), parallel));
    };
    check(json!({"type": "auto"}), ToolChoice::Auto, None);
    check(json!({"type": "none"}), ToolChoice::None, None);
    check(json!({"type": "any", "disable_parallel_tool_use": true}), ToolChoice::Required, Some(false));
    check(json!({"type": "tool", "name": "f"}), ToolChoice::Named("f".into()), None);
}

#[test]
fn thinking_and_effort_go_on_as_they_came() {
    for (thinking, config) in [
        (json!({"type": "disabled"}), Value::Null),
        (json!({"type": "disabled"}), json!({"effort": "low"})),
        (json!({"type": "enabled", "budget_tokens": 31999}), Value::Null),
        (json!({"type": "adaptive"}), json!({"effort": "max", "task_budget": {"n": 1}})),
        (Value::Null, json!({"effort": "high"})),
        (
            Value::Null,
            json!({"format": {"type": "json_schema", "schema": {"type": "object", "additionalProperties": false}}}),
        ),
    ] {
        let mut body = json!({"model": "claude-x", "max_tokens": 9, "stream": true});
        for (name, value) in [("thinking", thinking), ("output_config", config)] {
            if !value.is_null() {
                body[name] = value;
            }
        }
        body["messages"] = json!([{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}]);
        assert_eq!(forwarded(&decoded(&body)), body);
    }
    assert_eq!(
        decoded(&json!({"messages": [], "thinking": {"type": "disabled"}})).reasoning_effort,
        Some(Effort::Other("none".into()))
    );
}

#[test]
fn faults_are_placed() {
    let check = |body: Value, place: &str| {
        let error = decode(&body, &origin()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(error.message().starts_with(place), "{error}");
    };
    let of_block = |block: Value| json!({"messages": [{"role": "user", "content": [block]}]});
    check(json!([]), "body:");
    check(json!({}), "messages:");
    check(json!({"messages": 1}), "messages:");
    check(json!({"messages": ["x"]}), "messages.0:");
    check(json!({"messages": [{"role": "tool"}]}), "messages.0:");
    check(json!({"messages": [{"role": "user", "content": 3}]}), "messages.0.content:");
    check(of_block(json!("x")), "messages.0.content.0:");
    check(of_block(json!({"type": "text"})), "messages.0.content.0: text");
    check(of_block(json!({"type": "image"})), "messages.0.content.0: source");
    check(
        of_block(json!({"type": "image", "source": {"type": "base64", "data": "!"}})),
        "messages.0.content.0: source.data",
    );
    check(
        of_block(json!({"type": "tool_use", "id": "a", "name": "b", "input": []})),
        "messages.0.content.0: input",
    );
    check(of_block(json!({"type": "tool_result"})), "messages.0.content.0: tool_use_id");
    check(
        of_block(json!({"type": "tool_result", "tool_use_id": "a", "content": 1})),
        "messages.0.content.0: content",
    );
    check(json!({"messages": [], "model": 3}), "model:");
    check(json!({"messages": [], "max_tokens": -1}), "max_tokens:");
    check(json!({"messages": [], "temperature": "x"}), "temperature:");
    check(json!({"messages": [], "stop_sequences": [1]}), "stop_sequences:");
    check(json!({"messages": [], "system": 1}), "system:");
    check(json!({"messages": [], "tools": [1]}), "tools.0:");
    check(json!({"messages": [], "tools": [{}]}), "tools.0.name:");
    check(json!({"messages": [], "tool_choice": {"type": "x"}}), "tool_choice:");
}
