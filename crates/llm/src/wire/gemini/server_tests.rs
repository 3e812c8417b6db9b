//! Requests as today's clients send them.

use super::super::round_trip::{origin, received};
use super::*;
use crate::{Effort, Media, Thinking, ToolCall};

const PATH: &str = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";

fn read(body: &Value) -> Result<Request, Error> {
    decode(Incoming { path: PATH, body }, &Arc::new(origin())).map(|(request, _)| request)
}

#[track_caller]
fn check_messages(contents: Value, expected: &[Message]) {
    let request = read(&json!({ "contents": contents })).unwrap();
    assert_eq!(request.messages, expected);
}

fn user(text: &str) -> Message {
    Message::new(Role::User, vec![received(Content::Text(text.into()), origin(), None)])
}

#[test]
fn what_a_coding_client_sends_is_understood() {
    let body = json!({
        "contents": [
            {"role": "user", "parts": [{"text": "<session_context>"}]},
            {"role": "user", "parts": [{"text": "go"}]}
        ],
        "systemInstruction": {"role": "user", "parts": [{"text": "be good"}]},
        "tools": [{"functionDeclarations": [
            {"name": "glob", "description": "d", "parametersJsonSchema": {"type": "object", "properties": {"pattern": {"type": "string"}}}},
            {"name": "old", "parameters": {"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}}},
            {"name": "none"}
        ]}, {"googleSearch": {}}],
        "generationConfig": {"temperature": 1, "topP": 0.95, "topK": 64,
            "thinkingConfig": {"includeThoughts": true, "thinkingBudget": 8192}},
        "safetySettings": []
    });
    let (request, mode) = decode(Incoming { path: PATH, body: &body }, &Arc::new(origin())).unwrap();
    assert_eq!((request.model.as_deref(), mode), (Some("gemini-x"), Mode::Stream));
    let system = Message::new(Role::System, vec![received(Content::Text("be good".into()), origin(), None)]);
    assert_eq!(request.messages, [system, user("<session_context>"), user("go")]);
    let int = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let search = ToolKind::Hosted { wire: Wire::Gemini, item: json!({"googleSearch": {}}) };
    assert_eq!(
        request.tools,
        [
            ToolSpec::foreign(
                "glob",
                "d",
                json!({"type": "object", "properties": {"pattern": {"type": "string"}}})
            ),
            ToolSpec::foreign("old", "", int),
            ToolSpec::foreign("none", "", json!({"type": "object", "properties": {}})),
            ToolSpec { name: "googleSearch".into(), description: String::new(), kind: search },
        ]
    );
    assert_eq!((request.temperature, request.top_p), (Some(1.0), Some(0.95)));
    assert_eq!(request.reasoning_effort, Some(Effort::Medium));
    assert_eq!(
        request.provider_options["gemini"],
        json!({
            "generationConfig": {"topK": 64, "thinkingConfig": {"includeThoughts": true, "thinkingBudget": 8192}},
            "safetySettings": [],
        })
    );
}

#[test]
fn a_level_that_says_it_all_leaves_nothing_behind() {
    let body = json!({"contents": [], "generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH", "includeThoughts": true}}});
    let request = read(&body).unwrap();
    assert_eq!((request.reasoning_effort, request.provider_options.len()), (Some(Effort::High), 0));
}

#[test]
fn calls_and_results_find_each_other() {
    let call = |id: &str, raw: Option<Value>| {
        received(Content::ToolCall(ToolCall::function(id, "f", "{}")), origin(), raw)
    };
    let result = |result: ToolResult, raw: Value| received(Content::ToolResult(result), origin(), Some(raw));
    let signed = json!({"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"});
    let plain = json!({"functionCall": {"name": "f", "args": {}}});
    let with_id = json!({"functionCall": {"id": "x", "name": "f", "args": {}}});
    let first = json!({"functionResponse": {"name": "f", "response": {"output": "1"}}});
    let second = json!({"functionResponse": {"id": "cli-7", "name": "f", "response": {"error": "2"}}});
    let third = json!({"functionResponse": {"id": "x", "name": "f", "response": {"k": 3}}});
    check_messages(
        json!([
            {"role": "model", "parts": [{"text": "t", "thought": true}, signed, plain, with_id]},
            {"role": "user", "parts": [third, first, second, {"text": "next"}]},
        ]),
        &[
            Message::new(
                Role::Assistant,
                vec![
                    received(
                        Content::Thinking(Thinking { text: "t".into(), signature: None }),
                        origin(),
                        None,
                    ),
                    call("junto_call_0", Some(signed)),
                    call("junto_call_1", None),
                    call("x", None),
                ],
            ),
            Message::new(
                Role::Tool,
                vec![
                    result(ToolResult::json("x", json!({"k": 3})), third),
                    result(ToolResult::text("junto_call_0", "1"), first),
                    result(ToolResult::error("junto_call_1", "2"), second),
                ],
            ),
            user("next"),
        ],
    );
}

#[test]
fn a_result_that_is_told_twice_counts_once() {
    let count = |parts: Value| {
        let request = read(&json!({"contents": [{"role": "user", "parts": parts}]})).unwrap();
        request.messages.iter().map(|message| message.results().count()).sum::<usize>()
    };
    let result = |id: &str| json!({"functionResponse": {"id": id, "name": "f", "response": {"output": "1"}}});
    let nameless = json!({"functionResponse": {"name": "f", "response": {"output": "1"}}});
    assert_eq!(count(json!([result("a"), result("b"), result("a")])), 2);
    assert_eq!(count(json!([nameless, nameless])), 2, "two calls may give the same");
}

#[test]
fn pictures_behind_a_result_belong_to_it() {
    let answer = json!({"functionResponse": {"name": "f", "response": {"output": "see"}}});
    let png = json!({"inlineData": {"mimeType": "image/png", "data": "AQID"}});
    let image = Media { media_type: Some("image/png".into()), ..Media::bytes(vec![1, 2, 3]) };
    let request =
        read(&json!({"contents": [{"role": "user", "parts": [answer, png, {"text": "a"}, png]}]})).unwrap();
    let roles: Vec<Role> = request.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::Tool, Role::User]);
    assert_eq!(request.messages[0].results().next().unwrap().images, std::slice::from_ref(&image));
    assert_eq!(request.messages[0].content[0].raw_for(&origin()), Some(&json!([answer, png])));
    assert_eq!(request.messages[1].content[1].content(), &Content::Image(image));
}

#[test]
fn results_are_unwrapped() {
    let check = |response: Value, expected: ResultOutput, is_error: bool| {
        assert_eq!(output(response.as_object().unwrap()), (expected, is_error), "{response}");
    };
    let text = |text: &str| ResultOutput::Text(text.into());
    check(json!({"output": "a"}), text("a"), false);
    check(json!({"error": "a"}), text("a"), true);
    check(json!({"error": {"code": 1}}), ResultOutput::Json(json!({"code": 1})), true);
    check(json!({"output": [1]}), ResultOutput::Json(json!([1])), false);
    for whole in
        [json!({}), json!({"output": {"a": 1}}), json!({"output": "a", "exit": 1}), json!({"result": "a"})]
    {
        check(whole.clone(), ResultOutput::Json(whole), false);
    }
}

#[test]
fn choices_of_tools_are_read() {
    let check = |config: Value, choice: Option<ToolChoice>, kept: bool| {
        let request = read(&json!({"contents": [], "tool_config": config})).unwrap();
        assert_eq!(request.tool_choice, choice, "{config}");
        let options = request.provider_options.get("gemini").map(|options| &options["toolConfig"]);
        assert_eq!(options, kept.then_some(&config));
    };
    let mode = |mode: &str| json!({"functionCallingConfig": {"mode": mode}});
    let any = |names: Value| json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": names}});
    check(mode("AUTO"), Some(ToolChoice::Auto), false);
    check(mode("none"), Some(ToolChoice::None), false);
    check(mode("ANY"), Some(ToolChoice::Required), false);
    check(any(json!(["f"])), Some(ToolChoice::Named("f".into())), false);
    check(any(json!(["f", "g"])), Some(ToolChoice::Required), true);
    check(mode("VALIDATED"), Some(ToolChoice::Auto), true);
    check(json!({"retrievalConfig": {}}), None, true);
}

#[test]
fn the_form_of_the_answer_is_read() {
    let check = |config: Value, expected: Option<ResponseFormat>| {
        let request = read(&json!({"contents": [], "generationConfig": config})).unwrap();
        assert_eq!(request.response_format, expected, "{config}");
    };
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
        "additionalProperties": false});
    let format = |schema: &Value, strict| {
        Some(ResponseFormat::JsonSchema { name: "answer".into(), schema: schema.clone(), strict })
    };
    check(json!({}), None);
    check(json!({"responseMimeType": "application/json"}), Some(ResponseFormat::JsonObject));
    let given = json!({"responseMimeType": "application/json", "responseJsonSchema": schema});
    check(given, format(&schema, true));
    let own = json!({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a"]});
    check(json!({"response_mime_type": "application/json", "response_schema": own}), format(&schema, true));
    // Other wires hold no answer to what leaves something open.
    for open in [json!({"type": "object"}), json!({"type": "array", "items": {"properties": {"a": {}}}})] {
        let given = json!({"responseMimeType": "application/json", "responseJsonSchema": open});
        check(given, format(&open, false));
    }
}

#[test]
fn faults_are_named_with_their_place() {
    let check = |body: Value, place: &str| {
        let error = read(&body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(error.message().contains(place), "{error}");
    };
    check(json!(3), "the body");
    check(json!({}), "contents");
    check(json!({"contents": [3]}), "contents[0]");
    check(json!({"contents": [{"role": "robot"}]}), "contents[0].role");
    check(json!({"contents": [{}, {"parts": [{"text": "a"}, {}]}]}), "contents[1].parts[1]");
    check(json!({"contents": [{"parts": [{"text": 3}]}]}), "contents[0].parts[0]");
    check(
        json!({"contents": [{"parts": [{"functionResponse": {"name": "f"}}]}]}),
        "functionResponse.response",
    );
    check(
        json!({"contents": [], "tools": [{"functionDeclarations": [{}]}]}),
        "tools[0].functionDeclarations[0]",
    );
    check(json!({"contents": [], "generationConfig": {"maxOutputTokens": "x"}}), "maxOutputTokens");
}
