//! What is laid before a member that can only write, and what becomes of its reply.

use junto_llm::ToolResult;

use super::*;
use crate::proposal;
use crate::scripted::text;

fn request() -> Request {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let custom = ToolSpec {
        name: "patch".into(),
        description: "Edits.".into(),
        kind: ToolKind::Custom { format: None },
    };
    let hosted = ToolSpec {
        name: "web_search".into(),
        description: String::new(),
        kind: ToolKind::Hosted { wire: junto_llm::Wire::Anthropic, item: json!({}) },
    };
    let call = Part::new(Content::ToolCall(ToolCall::function("c1", "weather", r#"{"city":"Rome"}"#)));
    let messages = [
        Message::system("Be brief."),
        Message::user("Weather?"),
        Message::new(junto_llm::Role::Assistant, vec![call]),
        Message::tool_results([ToolResult::text("c1", "sun")]),
    ];
    Request::of(messages).tools([ToolSpec::new("weather", "Tells it.", schema).unwrap(), custom, hosted])
}

#[test]
fn the_document_holds_the_schemas_and_the_whole_conversation() {
    let asked = question(&request(), "Look twice.");
    assert!(asked.tools.is_empty() && asked.tool_choice.is_none());
    assert!(asked.messages[0].text().ends_with("Look twice."));
    let document: Value = serde_json::from_str(&asked.messages[1].text()).unwrap();
    assert_eq!(
        document,
        json!({
            "tools": [
                {"name": "weather", "description": "Tells it.", "parameters": request().tools[0].parameters()},
                {"name": "patch", "description": "Edits."},
            ],
            "conversation": [
                {"role": "system", "text": "Be brief."},
                {"role": "user", "text": "Weather?"},
                {"role": "assistant", "calls": [{"name": "weather", "arguments": "{\"city\":\"Rome\"}"}]},
                {"role": "tool", "results": [{"output": "sun"}]},
            ],
        })
    );
    let last = document.as_object().unwrap().keys().next_back().unwrap();
    assert_eq!(last, "conversation", "what grows comes last");
}

#[test]
fn what_binds_the_reply_is_said() {
    let bound = Request {
        tool_choice: Some(ToolChoice::Named("weather".into())),
        parallel_tool_calls: Some(false),
        response_format: Some(ResponseFormat::JsonSchema {
            name: "o".into(),
            schema: json!({"type": "object"}),
            strict: true,
        }),
        ..request()
    };
    let document: Value = serde_json::from_str(&question(&bound, "").messages[1].text()).unwrap();
    assert_eq!(document["answer_schema"], json!({"type": "object"}));
    assert_eq!(document["rules"].as_array().unwrap().len(), 3);
    assert!(document["rules"][0].as_str().unwrap().contains("`weather`"));
}

#[test]
fn plain_writing_needs_no_document() {
    assert!(is_needed(&request()));
    assert!(!is_needed(&Request::prompt("?")));
    assert!(!is_needed(&Request { tool_choice: Some(ToolChoice::None), ..request() }));
    assert!(is_needed(&Request {
        response_format: Some(ResponseFormat::JsonObject),
        ..Request::prompt("?")
    }));
}

/// The calls that a reply stands for, or its text, or why it is none.
fn check(request: &Request, reply: &str, expected: Result<Value, &str>) {
    let read = read(request, text(reply)).and_then(|r| proposal::check(request, &r).map(|()| r));
    match (read, expected) {
        (Ok(response), Ok(expected)) => {
            let calls: Vec<Value> =
                response.tool_calls().map(|call| json!([call.name, call.raw_arguments])).collect();
            let said = if calls.is_empty() { json!(response.text()) } else { json!(calls) };
            assert_eq!(said, expected, "{reply}");
            let finish = if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
            assert_eq!(response.finish_reason.unified, finish);
        }
        (Err(error), Err(part)) => assert!(error.message().contains(part), "{reply}: {error}"),
        (read, expected) => panic!("{reply}: {read:?} instead of {expected:?}"),
    }
}

#[test]
fn replies_become_calls_or_text() {
    let request = request();
    let rome = r#"{"city":"Rome"}"#;
    check(
        &request,
        r#"{"action":"call","calls":[{"name":"weather","arguments":{"city":"Rome"}}]}"#,
        Ok(json!([["weather", rome]])),
    );
    check(
        &request,
        r#"{"name":"weather","arguments":"{\"city\":\"Rome\"}"}"#,
        Ok(json!([["weather", rome]])),
    );
    check(
        &request,
        r#"{"action":"call","calls":[{"name":"patch","arguments":"*** a"}]}"#,
        Ok(json!([["patch", "*** a"]])),
    );
    check(
        &request,
        r#"{"action":"call","calls":[{"name":"patch","arguments":{"input":"x"}}]}"#,
        Ok(json!([["patch", "x"]])),
    );
    check(&request, r#"{"action":"answer","text":"Sunny."}"#, Ok(json!("Sunny.")));
    check(&request, "Sunny.", Ok(json!("Sunny.")));
    check(&request, r#"{"action":"call","calls":[{"name":"wether","arguments":{}}]}"#, Err("no tool named"));
    check(&request, r#"{"action":"call","calls":[{"name":"weather","arguments":{}}]}"#, Err("does not fit"));
    check(
        &request,
        r#"{"action":"call","calls":[{"name":"weather","arguments":3}]}"#,
        Err("not a JSON object"),
    );
    check(&request, r#"{"action":"call","calls":[{"#, Err("not the JSON action"));
    let one = Request { parallel_tool_calls: Some(false), ..request };
    let two = r#"{"calls":[{"name":"weather","arguments":{"city":"a"}},{"name":"weather","arguments":{"city":"b"}}]}"#;
    check(&one, two, Err("2 calls where one is allowed"));
}

#[test]
fn the_ids_of_calls_are_their_own() {
    let two = r#"{"calls":[{"name":"weather","arguments":{"city":"a"}},{"name":"weather","arguments":{"city":"a"}}]}"#;
    let response = read(&request(), text(two)).unwrap();
    let ids: Vec<&str> = response.tool_calls().map(|call| call.id.as_str()).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
}
