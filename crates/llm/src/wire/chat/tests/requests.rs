//! What the client sends.

use super::*;
use crate::{
    Detail, Effort, ErrorKind, ForeignThinking, Media, ResponseFormat, Thinking, ToolChoice, ToolResult,
};

fn messages(request: &Request) -> Value {
    body(request)["messages"].clone()
}

#[test]
fn a_plain_request() {
    let sent = encoded(&Request::of([Message::system("be brief"), Message::user("hi")]));
    assert_eq!(sent.path, "/chat/completions");
    assert_eq!(
        sent.body,
        json!({"model": "m", "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hi"},
        ]})
    );
    assert!(sent.warnings.is_empty() && sent.headers.is_empty());
}

#[test]
fn all_fields_in_a_stable_order_with_the_messages_last() {
    let mut request = with_options(
        Request::prompt("hi").tools([function("f")]).max_tokens(9),
        json!({"seed": 7, "stream_options": {"include_obfuscation": false}, "top_p": 0.5}),
    );
    request.tool_choice = Some(ToolChoice::Auto);
    request.parallel_tool_calls = Some(false);
    request.response_format = Some(ResponseFormat::JsonSchema {
        name: "o".into(),
        schema: json!({"type": "object"}),
        strict: true,
    });
    request.temperature = Some(0.25);
    request.top_p = Some(0.75);
    request.stop_sequences = vec!["END".into()];
    request.reasoning_effort = Some(Effort::Other("minimal".into()));
    request.metadata.insert("k".into(), "v".into());
    let sent = encoded_as(&request, Mode::Stream).unwrap().body;
    assert_eq!(
        sent.to_string(),
        json!({
            "model": "m",
            "stream": true,
            "stream_options": {"include_usage": true, "include_obfuscation": false},
            "tools": [{"type": "function", "function":
                {"name": "f", "description": "does it", "parameters": {"type": "object"}}}],
            "tool_choice": "auto",
            "parallel_tool_calls": false,
            "response_format": {"type": "json_schema", "json_schema":
                {"name": "o", "schema": {"type": "object"}, "strict": true}},
            "temperature": 0.25,
            "top_p": 0.5,
            "max_tokens": 9,
            "stop": ["END"],
            "reasoning_effort": "minimal",
            "metadata": {"k": "v"},
            "seed": 7,
            "messages": [{"role": "user", "content": "hi"}],
        })
        .to_string()
    );
}

#[test]
fn switches_change_the_body_and_never_reach_it() {
    let request = || {
        let mut request =
            Request::of([Message::developer("d"), calling([ToolCall::custom("c1", "patch", "*** x")])]);
        request.tools = vec![custom("patch")];
        request.tool_choice = Some(ToolChoice::Named("patch".into()));
        request.max_tokens(5)
    };
    let plain = body(&request());
    assert_eq!(plain["messages"][0], json!({"role": "system", "content": "d"}));
    assert_eq!(plain["max_tokens"], 5);
    assert_eq!(plain["tools"][0]["function"]["parameters"]["required"], json!(["input"]));
    assert_eq!(plain["tool_choice"], json!({"type": "function", "function": {"name": "patch"}}));
    assert_eq!(
        plain["messages"][1]["tool_calls"],
        json!([{"id": "c1", "type": "function", "function": {"name": "patch", "arguments": "{\"input\":\"*** x\"}"}}])
    );

    let on = json!({"developer_role": true, "custom_tools": true, "max_completion_tokens": true, "send_reasoning": true});
    let rich = body(&with_options(request(), on.clone()));
    assert_eq!(rich["messages"][0]["role"], "developer");
    assert_eq!((&rich["max_completion_tokens"], rich.get("max_tokens")), (&json!(5), None));
    assert_eq!(rich["tools"], json!([{"type": "custom", "custom": {"name": "patch"}}]));
    assert_eq!(rich["tool_choice"], json!({"type": "custom", "custom": {"name": "patch"}}));
    assert_eq!(
        rich["messages"][1]["tool_calls"],
        json!([{"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** x"}}])
    );
    for switch in on.as_object().unwrap().keys().filter(|key| *key != "max_completion_tokens") {
        assert!(rich.get(switch).is_none(), "{switch}");
    }
}

#[test]
fn a_number_under_the_name_of_a_switch_is_the_wires_own_field() {
    let sent = body(&with_options(Request::prompt("x"), json!({"max_completion_tokens": 77})));
    assert_eq!(sent["max_completion_tokens"], 77);
}

#[test]
fn options_may_not_replace_what_is_ours() {
    for options in [json!({"stream": true}), json!({"messages": []}), json!("x")] {
        let error = encoded_as(&with_options(Request::prompt("x"), options), Mode::Complete).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.message().contains("provider_options.chat"), "{error}");
    }
}

#[test]
fn texts_are_joined_and_media_make_parts() {
    let mixed = Message::new(
        Role::User,
        vec![
            Part::text("look"),
            Part::image(Media { detail: Some(Detail::Low), ..Media::url("https://x/y.png") }),
            Part::image(Media { media_type: Some("image/png".into()), ..Media::bytes(vec![1, 2, 3]) }),
            Part::new(Content::Audio(Media {
                media_type: Some("audio/mpeg".into()),
                ..Media::bytes(vec![1])
            })),
            Part::new(Content::Document(Media {
                media_type: Some("application/pdf".into()),
                name: Some("a.pdf".into()),
                ..Media::bytes(vec![2])
            })),
            Part::text(""),
        ],
    );
    let texts = Message::new(Role::User, vec![Part::text("a"), Part::text("b")]);
    let mut named = Message::user("c");
    named.name = Some("ann".into());
    let nothing = Message::new(Role::User, Vec::new());
    assert_eq!(
        messages(&Request::of([mixed, texts, named, nothing])),
        json!([
            {"role": "user", "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}},
                {"type": "input_audio", "input_audio": {"data": "AQ==", "format": "mp3"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,Ag=="}},
            ]},
            {"role": "user", "content": "a\n\nb"},
            {"role": "user", "name": "ann", "content": "c"},
        ])
    );
}

#[test]
fn what_the_wire_cannot_say_is_an_error_that_says_where() {
    let check = |message: Message, kind: ErrorKind, place: &str| {
        let request = Request::of([Message::user("x"), message]);
        let error = encoded_as(&request, Mode::Complete).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(place), "{error}");
    };
    let user = |content| Message::new(Role::User, vec![Part::new(content)]);
    check(
        user(Content::Audio(Media::url("https://x/y.wav"))),
        ErrorKind::InvalidRequest,
        "messages[1].content[0]",
    );
    check(user(Content::Document(Media::url("https://x/y.pdf"))), ErrorKind::InvalidRequest, "messages[1]");
    check(user(Content::Image(Media::path("/tmp/x.png"))), ErrorKind::Configuration, "messages[1]");
    check(
        user(Content::ToolCall(ToolCall::function("c", "f", "{}"))),
        ErrorKind::InvalidRequest,
        "tool call",
    );
    let picture = Message::new(Role::System, vec![Part::image(Media::url("https://x"))]);
    check(picture, ErrorKind::InvalidRequest, "system");
    let result = Part::new(Content::ToolResult(ToolResult::text("c", "x")));
    check(Message::new(Role::Assistant, vec![result]), ErrorKind::InvalidRequest, "tool result");

    let mut choice = Request::prompt("x");
    choice.tool_choice = Some(ToolChoice::Required);
    assert_eq!(encoded_as(&choice, Mode::Complete).unwrap_err().kind(), ErrorKind::InvalidRequest);
}

#[test]
fn a_turn_with_calls_results_and_pictures() {
    let calls = [ToolCall::function("c1", "f", "{\"a\": 1}"), ToolCall::function("c2", "g", "")];
    let picture =
        ToolResult { images: vec![Media::url("https://x/p.png")], ..ToolResult::text("c1", "seen") };
    let request = Request::of([
        Message::user("go"),
        calling(calls),
        Message::tool_results([picture]),
        Message::tool_results([ToolResult::json("c2", json!({"n": 1}))]),
        Message::user("and?"),
    ]);
    assert_eq!(
        messages(&request),
        json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}},
                {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "seen"},
            {"role": "tool", "tool_call_id": "c2", "content": "{\"n\":1}"},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/p.png"}}]},
            {"role": "user", "content": "and?"},
        ])
    );
}

#[test]
fn results_in_a_users_message_come_before_its_text() {
    let result = Part::new(Content::ToolResult(ToolResult::text("c1", "r")));
    let message = Message::new(Role::User, vec![Part::text("more"), result]);
    let sent = messages(&Request::of([calling([ToolCall::function("c1", "f", "{}")]), message]));
    assert_eq!(sent[1], json!({"role": "tool", "tool_call_id": "c1", "content": "r"}));
    assert_eq!(sent[2], json!({"role": "user", "content": "more"}));
}

#[test]
fn malformed_arguments_are_mended_with_a_warning() {
    let sent = encoded(&Request::of([calling([ToolCall::function("c1", "f", "{\"a\":")])]));
    assert_eq!(sent.body["messages"][0]["tool_calls"][0]["function"]["arguments"], "{}");
    assert_eq!(sent.warnings[0].code, "tool_arguments_mended");
}

#[test]
fn ids_and_names_from_elsewhere_are_fitted() {
    let request = Request::of([
        calling([ToolCall::function("a|b", "srv/tool", "{}"), ToolCall::function("dup", "x", "{}")]),
        Message::tool_results([ToolResult::text("a|b", "1"), ToolResult::text("dup", "2")]),
        calling([ToolCall::function("dup", "x", "{}")]),
        Message::tool_results([ToolResult::text("dup", "3")]),
    ])
    .tools([function("srv/tool")]);
    let sent = body(&request);
    let id = |message: usize, call: usize| sent["messages"][message]["tool_calls"][call]["id"].clone();
    let answered = |message: usize| sent["messages"][message]["tool_call_id"].clone();
    assert_eq!(sent["tools"][0]["function"]["name"], "srv_tool");
    assert_eq!(sent["messages"][0]["tool_calls"][0]["function"]["name"], "srv_tool");
    assert!(id(0, 0).as_str().unwrap().starts_with("call_"));
    assert_eq!((id(0, 0), id(0, 1), id(3, 0)), (answered(1), json!("dup"), answered(4)));
    assert_eq!(answered(2), json!("dup"));
    assert_ne!(id(3, 0), id(0, 1));
}

#[test]
fn reasoning_goes_home_when_asked_and_elsewhere_as_text_when_asked() {
    let thinking = || Content::Thinking(Thinking { text: "hm".into(), signature: Some("s".into()) });
    let own = Part::received(thinking(), Arc::new(origin()), None);
    let foreign = Part::new(thinking());
    let redacted = Part::new(Content::RedactedThinking("x".into()));
    let check = |part: &Part, asked: ForeignThinking, options: Value, expected: Value| {
        let message = Message::new(Role::Assistant, vec![part.clone(), redacted.clone(), Part::text("yes")]);
        let mut request = with_options(Request::of([message]), options);
        request.foreign_thinking = asked;
        let sent = encoded(&request);
        assert_eq!(sent.body["messages"][0], expected);
        assert!(sent.warnings.is_empty());
    };
    let bare = json!({"role": "assistant", "content": "yes"});
    let home = json!({"send_reasoning": true});
    check(&own, ForeignThinking::AsText, json!({}), bare.clone());
    check(
        &own,
        ForeignThinking::Drop,
        home.clone(),
        json!({"role": "assistant", "content": "yes", "reasoning_content": "hm"}),
    );
    check(&foreign, ForeignThinking::Drop, home.clone(), bare);
    check(&foreign, ForeignThinking::AsText, home, json!({"role": "assistant", "content": "hm\n\nyes"}));
}

#[test]
fn an_assistant_that_said_nothing_here_is_left_out() {
    let only_thinking =
        Message::new(Role::Assistant, vec![Part::new(Content::Thinking(Thinking::default()))]);
    let empty = Message::assistant("");
    assert_eq!(messages(&Request::of([only_thinking, empty])), json!([{"role": "assistant", "content": ""}]));
}

#[test]
fn what_belongs_to_another_wire_is_left_out_with_a_warning() {
    let hosted = |wire, item| ToolSpec {
        name: "search".into(),
        description: String::new(),
        kind: ToolKind::Hosted { wire, item },
    };
    let assistant = Message::new(
        Role::Assistant,
        vec![
            Part::text("x"),
            Part::new(Content::Other(json!({"type": "web_search_call"}))),
            Part::image(Media::bytes(vec![1])),
        ],
    );
    let sent = encoded(&Request::of([assistant]).tools([
        hosted(Wire::Anthropic, json!({"type": "web_search_20260209"})),
        hosted(Wire::Chat, json!({"type": "browser"})),
    ]));
    assert_eq!(sent.body["tools"], json!([{"type": "browser"}]));
    assert_eq!(sent.body["messages"], json!([{"role": "assistant", "content": "x"}]));
    let codes: Vec<&str> = sent.warnings.iter().map(|w| w.code.as_str()).collect();
    assert_eq!(codes, ["hosted_tool_dropped", "part_dropped", "part_dropped"]);
}

#[test]
fn tool_choice_says_how_tools_are_chosen_and_keeps_them() {
    for (choice, expected) in [
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("required")),
        (ToolChoice::Named("f".into()), json!({"type": "function", "function": {"name": "f"}})),
    ] {
        let mut request = Request::prompt("x").tools([function("f")]);
        request.tool_choice = Some(choice);
        let sent = body(&request);
        assert_eq!(sent["tool_choice"], expected);
        assert_eq!(sent["tools"].as_array().unwrap().len(), 1);
    }
    let mut none = Request::prompt("x");
    none.tool_choice = Some(ToolChoice::None);
    assert!(body(&none).get("tool_choice").is_none(), "servers refuse a choice among no tools");
}

#[test]
fn the_format_of_a_custom_tool_is_kept_or_its_loss_is_told() {
    let tool =
        ToolSpec { kind: ToolKind::Custom { format: Some(json!({"type": "text"})) }, ..custom("patch") };
    let request = Request::prompt("x").tools([tool]);
    assert_eq!(encoded(&request).warnings[0].code, "tool_format_dropped");
    let rich = encoded(&with_options(request, json!({"custom_tools": true})));
    assert_eq!(rich.body["tools"][0]["custom"]["format"], json!({"type": "text"}));
    assert!(rich.warnings.is_empty());
    // OpenAI's two wires spell a grammar differently.
    let grammar = json!({"type": "grammar", "syntax": "lark", "definition": "start: /x/"});
    let tool = ToolSpec { kind: ToolKind::Custom { format: Some(grammar) }, ..custom("patch") };
    let request = Request::prompt("x").tools([tool]);
    let plain = encoded(&request);
    let told = plain.body["tools"][0]["function"]["description"].as_str().unwrap();
    assert!(told.ends_with("Lark grammar:\n\nstart: /x/"), "{told}");
    assert_eq!(plain.warnings[0].code, "tool_format_described");
    let rich = encoded(&with_options(request, json!({"custom_tools": true})));
    let nested = json!({"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /x/"}});
    assert_eq!(rich.body["tools"][0]["custom"]["format"], nested);
}
