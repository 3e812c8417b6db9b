use super::super::ANSWER_TOOL;
use super::super::testing::{
    call, codes, encoded, function, model, options, origin, text, theirs, try_encode,
};
use super::*;
use crate::catalog::ModelInfo;
use crate::names::NameMap;
use crate::{
    Content, Effort, ErrorKind, Media, Message, Part, Role, Thinking, ToolChoice, ToolKind, ToolResult,
    ToolSpec, Wire,
};

#[test]
fn a_whole_body_in_its_order() {
    let mut request = Request::of([Message::system("be"), Message::user("hi")]).max_tokens(9);
    request.temperature = Some(0.5);
    request.top_p = Some(0.25);
    request.stop_sequences = vec!["END".into()];
    request.metadata = json!({"user_id": "u", "team": "t"}).as_object().unwrap().clone();
    request.tools = vec![function("f")];
    request.tool_choice = Some(ToolChoice::Auto);
    options(&mut request, json!({"top_k": 3, "metadata": {"x": 1}, "beta_headers": ["b1", "b2"]}));
    let names = NameMap::for_request(&request, Wire::Anthropic);
    let cx = EncodeCx {
        origin: &origin(),
        mode: Mode::Stream,
        session: None,
        model: None,
        names: &names,
        auto_cache: true,
    };
    let encoded = encode(&request, &cx).unwrap();
    assert_eq!(encoded.path, "/v1/messages");
    assert_eq!(encoded.headers, [("anthropic-beta", "b1,b2".to_owned())]);
    assert_eq!(codes(&encoded), ["metadata_dropped"]);
    assert_eq!(
        encoded.body.to_string(),
        concat!(
            r#"{"model":"m","max_tokens":9,"stream":true,"temperature":0.5,"top_p":0.25,"stop_sequences":["END"],"#,
            r#""metadata":{"user_id":"u","x":1},"tool_choice":{"type":"auto"},"top_k":3,"#,
            r#""tools":[{"name":"f","description":"does","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],"#,
            r#""system":[{"type":"text","text":"be","cache_control":{"type":"ephemeral"}}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}"#,
        )
    );
}

/// The API takes a system message after the user's and before an answer or the end only.
#[test]
fn tools_of_every_kind() {
    let search = json!({"type": "web_search_20250305", "name": "web_search"});
    let hosted = |wire| ToolKind::Hosted { wire, item: search.clone() };
    let spec = |name: &str, kind| ToolSpec { name: name.into(), description: String::new(), kind };
    let mut request = Request::prompt("x").tools([
        ToolSpec::foreign("mcp.tool", "d", json!({"properties": {}})),
        spec(
            "strict",
            ToolKind::Function { parameters: json!({"type": "object"}).into(), strict: Some(true) },
        ),
        spec("patch", ToolKind::Custom { format: Some(json!({"type": "grammar"})) }),
        spec("web_search", hosted(Wire::Anthropic)),
        spec("other", hosted(Wire::Gemini)),
    ]);
    options(&mut request, json!({"tool_fields": {"strict": {"defer_loading": true}}}));
    let encoded = encoded(&request);
    assert_eq!(
        encoded.body["tools"],
        json!([
            {"name": "mcp_tool", "description": "d", "input_schema": {"type": "object", "properties": {}}},
            {"name": "strict", "input_schema": {"type": "object"}, "strict": true, "defer_loading": true},
            {"name": "patch", "input_schema":
                {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}},
            search,
        ])
    );
    assert_eq!(codes(&encoded), ["tool_format_dropped", "hosted_tool_dropped"]);
}

#[test]
fn tool_choice() {
    let check = |choice: Option<ToolChoice>, parallel: Option<bool>, expected: Value| {
        let mut request = Request::prompt("x").tools([function("a.b")]);
        request.tool_choice = choice;
        request.parallel_tool_calls = parallel;
        let body = encoded(&request).body;
        assert_eq!(body.get("tool_choice").cloned().unwrap_or_default(), expected);
        assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    };
    check(None, None, Value::Null);
    check(None, Some(true), Value::Null);
    check(None, Some(false), json!({"type": "auto", "disable_parallel_tool_use": true}));
    check(Some(ToolChoice::None), Some(false), json!({"type": "none"}));
    check(Some(ToolChoice::Required), None, json!({"type": "any"}));
    check(Some(ToolChoice::Required), Some(false), json!({"type": "any", "disable_parallel_tool_use": true}));
    check(Some(ToolChoice::Named("a.b".into())), None, json!({"type": "tool", "name": "a_b"}));
}

#[test]
fn what_cannot_be_said_is_an_error_that_names_it() {
    use ErrorKind::InvalidRequest as Bad;

    let check = |request: Request, kind: ErrorKind, names: &str| {
        let error = try_encode(&request, None, true).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(names), "{error}");
    };
    let with_choice = |choice| Request { tool_choice: Some(choice), ..Request::prompt("x") };
    let of_part = |role, content| Request::of([Message::new(role, vec![Part::new(content)])]);
    check(with_choice(ToolChoice::Required), Bad, "no tool");
    check(with_choice(ToolChoice::Named("gone".into())), Bad, "`gone`");
    check(Request::prompt("x").tools([ToolSpec::foreign("f", "", json!({"type": "array"}))]), Bad, "`f`");
    check(of_part(Role::User, Content::Audio(Media::bytes(vec![1]))), Bad, "audio");
    check(of_part(Role::User, Content::Image(Media::path("p.png"))), ErrorKind::Configuration, "p.png");
    check(of_part(Role::System, Content::Image(Media::url("u"))), Bad, "text only");
    check(of_part(Role::User, call("c", "f", "{}").into_content()), Bad, "assistant message");
    check(of_part(Role::Assistant, Content::ToolResult(ToolResult::text("c", "x"))), Bad, "tool result");
    check(Request::of([Message::system("only")]), Bad, "nothing to say");
    check(Request::prompt("  "), Bad, "nothing to say");
    check(Request::prompt("x").tools([function(ANSWER_TOOL)]), ErrorKind::Configuration, ANSWER_TOOL);
}

#[test]
fn structured_answers_by_format_or_by_tool() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let format = ResponseFormat::JsonSchema { name: "o".into(), schema: schema.clone(), strict: true };
    let ask = |format: &ResponseFormat, model: Option<&ModelInfo>, tools: Vec<ToolSpec>| {
        let mut request = Request::prompt("x").tools(tools);
        request.response_format = Some(format.clone());
        try_encode(&request, model, false).unwrap()
    };
    let closed =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": false});
    for model in [None, Some(&model(Reasoning::Effort, true))] {
        let body = ask(&format, model, vec![]).body;
        assert_eq!(body["output_config"]["format"], json!({"type": "json_schema", "schema": closed}));
        assert_eq!(body.get("tools"), None);
    }
    let old = model(Reasoning::Budget, false);
    let body = ask(&format, Some(&old), vec![]).body;
    assert_eq!(body["tools"][0]["name"], ANSWER_TOOL);
    assert_eq!(body["tools"][0]["input_schema"], schema);
    assert_eq!(body["tool_choice"], json!({"type": "tool", "name": ANSWER_TOOL}));
    assert_eq!(body.get("output_config"), None);
    let body = ask(&format, Some(&old), vec![function("f")]).body;
    assert_eq!(body["tool_choice"], json!({"type": "any"}));
    assert_eq!(body["tools"][1]["name"], ANSWER_TOOL);

    let object = ask(&ResponseFormat::JsonObject, None, vec![]);
    assert_eq!(object.body["tools"][0]["input_schema"], json!({"type": "object"}));
    assert_eq!(codes(&object), ["json_object_as_tool"]);
    assert_eq!(ask(&ResponseFormat::Text, None, vec![]).body.get("tool_choice"), None);
}

#[test]
fn effort_and_sampling_by_model() {
    let adaptive = model(Reasoning::Effort, true);
    let budget = model(Reasoning::Budget, true);
    let check =
        |effort: Option<Effort>, temperature: f64, model: Option<&ModelInfo>, sent: bool, warned: &[&str]| {
            let mut request = Request::prompt("x");
            request.reasoning_effort = effort;
            request.temperature = Some(temperature);
            let encoded = try_encode(&request, model, false).unwrap();
            assert_eq!(encoded.body.get("temperature").is_some(), sent, "{}", encoded.body);
            assert_eq!(codes(&encoded), warned, "{}", encoded.body);
            encoded.body
        };
    check(None, 0.5, None, true, &[]);
    check(None, 0.5, Some(&budget), true, &[]);
    check(None, 0.5, Some(&adaptive), false, &["sampling_dropped"]);
    check(None, 1.0, Some(&adaptive), false, &[]);
    let body = check(Some(Effort::High), 0.5, None, false, &["sampling_dropped"]);
    assert_eq!(
        (&body["thinking"], &body["output_config"]),
        (&json!({"type": "adaptive"}), &json!({"effort": "high"}))
    );
    let body = check(Some(Effort::Low), 0.5, Some(&budget), false, &["sampling_dropped"]);
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 4096}));
    assert_eq!((&body["max_tokens"], body.get("output_config")), (&json!(32_000), None));
    let body = check(Some(Effort::Other("none".into())), 0.5, None, true, &[]);
    assert_eq!(body["thinking"], json!({"type": "disabled"}));
}

#[test]
fn a_budget_waits_for_calls_made_without_thinking() {
    let budget = model(Reasoning::Budget, true);
    let thought = theirs(Content::Thinking(Thinking { text: "t".into(), signature: Some("s".into()) }), None);
    let ask = |parts: Vec<Part>| {
        let mut request = Request::of([
            Message::user("go"),
            Message::new(Role::Assistant, parts),
            Message::tool_results([ToolResult::text("c", "x")]),
        ]);
        request.reasoning_effort = Some(Effort::Low);
        try_encode(&request, Some(&budget), false).unwrap().body.get("thinking").is_some()
    };
    assert!(!ask(vec![call("c", "f", "{}")]));
    assert!(ask(vec![thought, call("c", "f", "{}")]));
}

#[test]
fn provider_options_override_and_remove() {
    let mut request = Request::prompt("x");
    request.reasoning_effort = Some(Effort::High);
    options(
        &mut request,
        json!({
            "thinking": {"display": "omitted"},
            "output_config": {"task_budget": 5},
            "max_tokens": 77,
            "metadata": null,
            "context_management": {"edits": []},
            "system": [{"type": "text", "text": "s"}],
        }),
    );
    let body = encoded(&request).body;
    assert_eq!(body["thinking"], json!({"type": "adaptive", "display": "omitted"}));
    assert_eq!(body["output_config"], json!({"effort": "high", "task_budget": 5}));
    assert_eq!((&body["max_tokens"], &body["context_management"]), (&json!(77), &json!({"edits": []})));
    assert_eq!(body["system"], json!([text("s")]));
}

#[test]
fn automatic_breakpoints_and_when_not() {
    let marks = |body: &Value| body.to_string().matches("cache_control").count();
    let mut request = Request::of([
        Message::system("s"),
        Message::user("1"),
        Message::assistant("2"),
        Message::user("3"),
        Message::assistant("4"),
        Message::user("5"),
    ])
    .tools([function("f"), function("g")]);
    let body = try_encode(&request, None, true).unwrap().body;
    assert_eq!(marks(&body), 4);
    for place in [
        &body["tools"][1],
        &body["system"][0],
        &body["messages"][2]["content"][0],
        &body["messages"][4]["content"][0],
    ] {
        assert_eq!(place["cache_control"], json!({"type": "ephemeral"}), "{body}");
    }
    assert_eq!(marks(&try_encode(&request, None, false).unwrap().body), 0);

    let marked = json!({"type": "text", "text": "6", "cache_control": {"type": "ephemeral", "ttl": "1h"}});
    let mut own = request.clone();
    own.messages.push(Message::new(Role::User, vec![theirs(Content::Text("6".into()), Some(marked))]));
    assert_eq!(marks(&try_encode(&own, None, true).unwrap().body), 1);

    options(&mut request, json!({"auto_cache": false}));
    assert_eq!(marks(&try_encode(&request, None, true).unwrap().body), 0);
}
