//! What is sent.

use super::*;
use crate::catalog::{ModelInfo, Reasoning};
use crate::{
    Content, Detail, Effort, ErrorKind, ForeignThinking, Media, Message, Part, ResponseFormat, Role,
    Thinking, ToolCall, ToolChoice, ToolKind, ToolResult, ToolSpec,
};

fn check_input(messages: Vec<Message>, expected: Value) {
    assert_eq!(body(&Request::of(messages))["input"], expected);
}

fn user(content: Value) -> Value {
    json!({"type": "message", "role": "user", "content": content})
}

fn said(index: usize, text: &str) -> Value {
    json!({
        "type": "message", "role": "assistant", "id": format!("msg_{index}"), "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

#[test]
fn a_plain_request_has_the_wires_shape_and_order() {
    let encoded = encode(&Request::prompt("hi")).unwrap();
    assert_eq!(encoded.path, "/responses");
    assert_eq!(
        encoded.body.to_string(),
        r#"{"model":"gpt-5.5","store":false,"include":["reasoning.encrypted_content"],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}"#
    );
}

#[test]
fn leading_instructions_move_and_later_ones_stay() {
    let request = Request::of([
        Message::system("a"),
        Message::developer("b"),
        Message::user("c"),
        Message::system("d"),
        Message::developer("e"),
    ]);
    let body = body(&request);
    assert_eq!(body["instructions"], "a\n\nb");
    let later = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
    assert_eq!(body["input"], json!([later("user", "c"), later("system", "d"), later("developer", "e")]));
}

#[test]
fn media_is_sent_by_url_and_by_bytes() {
    let png = || Media { media_type: Some("image/png".into()), ..Media::bytes(vec![1, 2, 3]) };
    let check = |part: Part, piece: Value| {
        check_input(vec![Message::new(Role::User, vec![part])], json!([user(json!([piece]))]));
    };
    check(
        Part::image(Media::url("https://x/y.png")),
        json!({"type": "input_image", "image_url": "https://x/y.png", "detail": "auto"}),
    );
    check(
        Part::image(Media { detail: Some(Detail::Low), ..png() }),
        json!({"type": "input_image", "image_url": "data:image/png;base64,AQID", "detail": "low"}),
    );
    check(
        Part::new(Content::Document(Media::url("https://x/y.pdf"))),
        json!({"type": "input_file", "file_url": "https://x/y.pdf"}),
    );
    let pdf = Media { media_type: Some("application/pdf".into()), ..Media::bytes(vec![1, 2, 3]) };
    check(
        Part::new(Content::Document(pdf.clone())),
        json!({"type": "input_file", "filename": "document.pdf", "file_data": "data:application/pdf;base64,AQID"}),
    );
    check(
        Part::new(Content::Document(Media { name: Some("n.pdf".into()), ..pdf })),
        json!({"type": "input_file", "filename": "n.pdf", "file_data": "data:application/pdf;base64,AQID"}),
    );
}

#[test]
fn what_the_wire_cannot_take_is_a_typed_error() {
    let check = |content: Content, kind: ErrorKind, names: &str| {
        let message = Message::new(Role::User, vec![Part::new(content)]);
        let error = encode(&Request::of([message])).unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.message().contains(names), "{error}");
    };
    check(Content::Audio(Media::url("https://x/y.wav")), ErrorKind::InvalidRequest, "audio");
    check(Content::Image(Media::path("not/read.png")), ErrorKind::Configuration, "not/read.png");
    let mut request = Request::prompt("hi");
    request.provider_options.insert("openai".into(), json!(3));
    assert_eq!(encode(&request).unwrap_err().kind(), ErrorKind::Configuration);
}

#[test]
fn calls_and_results_are_items() {
    let call = |call: ToolCall| Part::new(Content::ToolCall(call));
    check_input(
        vec![
            Message::new(
                Role::Assistant,
                vec![
                    Part::text("on it"),
                    call(ToolCall::function("c1", "f", "{\"a\": 1}")),
                    call(ToolCall::function("c2", "f", "")),
                    call(ToolCall::function("c3", "f", "{\"a\":")),
                    call(ToolCall::custom("c4", "patch", "*** Begin")),
                ],
            ),
            Message::tool_results([
                ToolResult::text("c1", "one"),
                ToolResult::json("c2", json!({"n": 2})),
                ToolResult::error("c3", "bad arguments"),
                ToolResult::text("c4", "done"),
                ToolResult { images: vec![Media::url("https://x/y.png")], ..ToolResult::text("c1", "see") },
            ]),
        ],
        json!([
            said(0, "on it"),
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\": 1}"},
            {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "c3", "name": "f", "arguments": "{\"a\":"},
            {"type": "custom_tool_call", "call_id": "c4", "name": "patch", "input": "*** Begin"},
            {"type": "function_call_output", "call_id": "c1", "output": "one"},
            {"type": "function_call_output", "call_id": "c2", "output": "{\"n\":2}"},
            {"type": "function_call_output", "call_id": "c3", "output": "bad arguments"},
            {"type": "custom_tool_call_output", "call_id": "c4", "output": "done"},
            {"type": "function_call_output", "call_id": "c1", "output": [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": "https://x/y.png", "detail": "auto"},
            ]},
        ]),
    );
}

#[test]
fn foreign_ids_and_names_are_fitted_on_both_sides_of_a_call() {
    let id = format!("toolu/{}", "x".repeat(80));
    let request = Request::of([
        Message::new(
            Role::Assistant,
            vec![Part::new(Content::ToolCall(ToolCall::function(&id, "get.weather", "{}")))],
        ),
        Message::tool_results([ToolResult::text(&id, "sun")]),
    ])
    .tools([ToolSpec::foreign("get.weather", "", json!({"type": "object"}))]);
    let body = body(&request);
    let sent = body["input"][0]["call_id"].as_str().unwrap();
    assert!(sent.len() <= 64 && !sent.contains('/'), "{sent}");
    assert_eq!(body["input"][1]["call_id"], sent);
    assert_eq!(body["input"][0]["name"], "get_weather");
    assert_eq!(body["tools"][0]["name"], "get_weather");
}

fn turn(origin: Arc<Origin>) -> Message {
    let part = |content, raw| Part::received(content, Arc::clone(&origin), Some(raw));
    let thinking = Thinking { text: "hm".into(), signature: Some("enc".into()) };
    Message::new(
        Role::Assistant,
        vec![
            part(Content::Thinking(thinking), reasoning_item()),
            part(Content::Text("hi".into()), message_item()),
            part(Content::ToolCall(ToolCall::function("odd id", "f", "{}")), call_item()),
            part(Content::Other(json!({"type": "web_search_call", "id": "ws_1"})), search_item()),
        ],
    )
}

fn reasoning_item() -> Value {
    json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "enc"})
}

fn message_item() -> Value {
    json!({"id": "msg_a", "type": "message", "role": "assistant", "status": "completed", "phase": "commentary",
        "content": [{"type": "output_text", "text": "hi", "annotations": [{"type": "x"}]}]})
}

fn call_item() -> Value {
    json!({"id": "fc_1", "type": "function_call", "call_id": "odd id", "name": "f", "arguments": "{}"})
}

fn search_item() -> Value {
    json!({"type": "web_search_call", "id": "ws_1", "status": "completed"})
}

#[test]
fn items_go_back_verbatim_to_the_model_that_made_them() {
    check_input(
        vec![turn(origin()), Message::tool_results([ToolResult::text("odd id", "x")])],
        json!([
            reasoning_item(),
            message_item(),
            call_item(),
            search_item(),
            {"type": "function_call_output", "call_id": "odd id", "output": "x"},
        ]),
    );
}

#[test]
fn thoughts_that_led_to_nothing_stay_out_unless_they_are_the_last() {
    let thought =
        |id: &str| json!({"id": id, "type": "reasoning", "summary": [], "encrypted_content": "enc"});
    let answer = |raws: &[Value]| {
        let part = |raw: &Value| match raw["type"].as_str() {
            Some("reasoning") => Content::Thinking(Thinking { text: String::new(), signature: None }),
            _ => Content::Text("hi".into()),
        };
        let parts = raws.iter().map(|raw| Part::received(part(raw), origin(), Some(raw.clone())));
        Message::new(Role::Assistant, parts.collect())
    };
    let asked = || user(json!([{"type": "input_text", "text": "and?"}]));
    check_input(vec![answer(&[thought("a"), thought("b")])], json!([thought("a"), thought("b")]));
    check_input(vec![answer(&[thought("a"), thought("b")]), Message::user("and?")], json!([asked()]));
    check_input(
        vec![answer(&[thought("a"), message_item(), thought("b")]), Message::user("and?")],
        json!([thought("a"), message_item(), asked()]),
    );
    check_input(
        vec![answer(&[thought("a")]), answer(&[message_item()]), Message::user("and?")],
        json!([thought("a"), message_item(), asked()]),
    );
}

#[test]
fn a_name_the_model_made_up_is_fitted_where_the_wire_would_refuse_it() {
    let check = |name: &str, sent: &str| {
        let raw =
            json!({"id": "fc_1", "type": "function_call", "call_id": "c", "name": name, "arguments": "{}"});
        let call = Content::ToolCall(ToolCall::function("c", name, "{}"));
        let answer = Message::new(Role::Assistant, vec![Part::received(call, origin(), Some(raw.clone()))]);
        let mut expected = raw;
        expected["name"] = sent.into();
        let result = json!({"type": "function_call_output", "call_id": "c", "output": "no such tool"});
        check_input(
            vec![answer, Message::tool_results([ToolResult::text("c", "no such tool")])],
            json!([expected, result]),
        );
    };
    check("shell", "shell");
    check("functions.shell", "functions_shell");
    check(&"x".repeat(200), &"x".repeat(64));
    check("", "_");
}

#[test]
fn another_model_gets_the_turn_rebuilt() {
    let other = Arc::new(Origin { model: "gpt-4.1".into(), ..(*origin()).clone() });
    let mut request = Request::of([turn(other)]);
    let encoded = encode(&request).unwrap();
    let call = json!({
        "type": "function_call", "call_id": encoded.body["input"][1]["call_id"], "name": "f", "arguments": "{}"
    });
    assert_eq!(encoded.body["input"], json!([said(0, "hi"), call]));
    assert_eq!(
        encoded.warnings.iter().map(|w| w.code.as_str()).collect::<Vec<_>>(),
        ["foreign_item_dropped"]
    );

    request.foreign_thinking = ForeignThinking::AsText;
    assert_eq!(body(&request)["input"], json!([said(0, "hm"), said(1, "hi"), call]));
}

#[test]
fn a_part_moved_to_another_role_is_rebuilt() {
    let part = Part::received(Content::Text("hi".into()), origin(), Some(message_item()));
    check_input(
        vec![Message::new(Role::User, vec![part])],
        json!([user(json!([{"type": "input_text", "text": "hi"}]))]),
    );
}

#[test]
fn settings_have_their_fields() {
    let mut request = Request::prompt("hi").model("gpt-x").max_tokens(9);
    request.temperature = Some(0.5);
    request.top_p = Some(0.25);
    request.parallel_tool_calls = Some(false);
    request.reasoning_effort = Some(Effort::High);
    request.metadata = json!({"a": "b", "n": 1}).as_object().unwrap().clone();
    request.stop_sequences = vec!["END".into()];
    let encoded = encode(&request).unwrap();
    assert_eq!(
        encoded.body,
        json!({
            "model": "gpt-x",
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "metadata": {"a": "b", "n": "1"},
            "reasoning": {"effort": "high"},
            "max_output_tokens": 9,
            "temperature": 0.5,
            "top_p": 0.25,
            "parallel_tool_calls": false,
            "input": [user(json!([{"type": "input_text", "text": "hi"}]))],
        })
    );
    assert_eq!(encoded.warnings[0].code, "stop_sequences_dropped");
}

#[test]
fn the_mode_the_session_and_the_model_matter() {
    let mut request = Request::prompt("hi");
    request.reasoning_effort = Some(Effort::Low);
    let model = ModelInfo {
        id: "gpt-5.5".into(),
        provider: "openai".into(),
        name: "x".into(),
        context_window: 1,
        max_output: 1,
        knowledge_cutoff: None,
        released: "2026-01-01".into(),
        tools: true,
        vision: true,
        reasoning: Reasoning::Effort,
        structured_output: true,
        price: None,
        aliases: Vec::new(),
        flagship: false,
    };
    let cx = EncodeCx {
        origin: &origin(),
        mode: Mode::Stream,
        session: Some("s1"),
        model: Some(&model),
        names: &NameMap::default(),
        auto_cache: true,
    };
    let body = Responses.encode_request(&request, &cx).unwrap().body;
    assert!(body.to_string().starts_with(r#"{"model":"gpt-5.5","stream":true,"#), "{body}");
    assert_eq!(body["prompt_cache_key"], "s1");
    assert_eq!(body["reasoning"], json!({"effort": "low", "summary": "auto"}));
}

#[test]
fn options_are_laid_over_the_body() {
    let mut request = Request::prompt("hi");
    request.response_format = Some(ResponseFormat::JsonObject);
    request.provider_options.insert(
        "openai".into(),
        json!({"store": true, "text": {"verbosity": "low"}, "service_tier": "flex", "include": []}),
    );
    request.provider_options.insert("anthropic".into(), json!({"thinking": {}}));
    let body = body(&request);
    assert_eq!(body["store"], true);
    assert_eq!(body["include"], json!([]));
    assert_eq!(body["text"], json!({"format": {"type": "json_object"}, "verbosity": "low"}));
    let fields: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["model", "store", "include", "text", "service_tier", "input"]);
}

#[test]
fn blocks_of_instructions_stay_apart() {
    let blocks = vec![Part::text("billing"), Part::text(""), Part::text("You are X")];
    let request = Request::of([
        Message::new(Role::System, blocks),
        Message::developer("Be brief."),
        Message::user("hi"),
    ]);
    assert_eq!(body(&request)["instructions"], "billing\n\nYou are X\n\nBe brief.");
}

#[test]
fn formats_are_text_formats() {
    let check = |format: ResponseFormat, expected: Value| {
        let request = Request { response_format: Some(format), ..Request::prompt("hi") };
        assert_eq!(body(&request)["text"]["format"], expected);
    };
    check(ResponseFormat::Text, json!({"type": "text"}));
    check(ResponseFormat::JsonObject, json!({"type": "json_object"}));
    let schema = json!({"type": "object"});
    check(
        ResponseFormat::JsonSchema { name: "o".into(), schema: schema.clone(), strict: true },
        json!({"type": "json_schema", "name": "o", "schema": schema, "strict": true}),
    );
}

#[test]
fn tools_and_choices_are_spelled_by_kind() {
    let hosted = |wire, item: Value| ToolSpec {
        name: "search".into(),
        description: String::new(),
        kind: ToolKind::Hosted { wire, item },
    };
    let grammar = json!({"type": "grammar", "syntax": "lark", "definition": "start: /x/"});
    let mut request = Request::prompt("hi").tools([
        ToolSpec::foreign("f", "does f", json!({"type": "object"})),
        ToolSpec {
            name: "g".into(),
            description: "does g".into(),
            kind: ToolKind::Function { parameters: json!({"type": "object"}).into(), strict: Some(true) },
        },
        ToolSpec {
            name: "patch".into(),
            description: "patches".into(),
            kind: ToolKind::Custom { format: Some(grammar.clone()) },
        },
        hosted(Wire::Responses, json!({"type": "web_search"})),
        hosted(Wire::Gemini, json!({"googleSearch": {}})),
    ]);
    let encoded = encode(&request).unwrap();
    assert_eq!(
        encoded.body["tools"],
        json!([
            {"type": "function", "name": "f", "description": "does f", "parameters": {"type": "object"}, "strict": false},
            {"type": "function", "name": "g", "description": "does g", "parameters": {"type": "object"}, "strict": true},
            {"type": "custom", "name": "patch", "description": "patches", "format": grammar},
            {"type": "web_search"},
        ])
    );
    assert_eq!(encoded.warnings[0].code, "hosted_tool_dropped");
    for (choice, expected) in [
        (ToolChoice::Auto, json!("auto")),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("required")),
        (ToolChoice::Named("f".into()), json!({"type": "function", "name": "f"})),
        (ToolChoice::Named("patch".into()), json!({"type": "custom", "name": "patch"})),
        (ToolChoice::Named("search".into()), json!({"type": "web_search"})),
    ] {
        assert!(Responses.supports_tool_choice(&choice));
        request.tool_choice = Some(choice);
        assert_eq!(body(&request)["tool_choice"], expected);
    }
}

#[test]
fn appending_keeps_every_byte_before() {
    let mut request = Request::of([
        Message::system("be brief"),
        Message::user("hi"),
        turn(origin()),
        Message::tool_results([ToolResult::text("odd id", "x")]),
    ])
    .tools([ToolSpec::foreign("f", "", json!({"type": "object"}))]);
    let before = body(&request).to_string();
    request.messages.push(turn(Arc::new(Origin { model: "other".into(), ..(*origin()).clone() })));
    request.messages.push(Message::system("more"));
    let after = body(&request).to_string();
    let open = before.strip_suffix("]}").unwrap();
    assert!(after.starts_with(open), "{open}\n{after}");
}
