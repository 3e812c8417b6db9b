use serde_json::json;

use super::super::testing::{call, codes, encoded, foreign, model, options, text, theirs, try_encode};
use super::*;
use crate::{ForeignThinking, Media, Thinking, ToolCall, ToolResult};

/// `system` and `messages` of a request with these messages.
fn check(messages: Vec<Message>, system: Value, expected: Value) {
    check_with(Request::of(messages), system, expected);
}

fn check_with(request: Request, system: Value, expected: Value) {
    let body = encoded(&request).body;
    assert_eq!(body.get("system").cloned().unwrap_or_default(), system);
    assert_eq!(body["messages"], expected);
}

#[test]
fn leading_instructions_go_to_system_and_neighbours_merge() {
    check(
        vec![
            Message::system("a"),
            Message::developer("b"),
            Message::user("1"),
            Message::user(" "),
            Message::user("2"),
            Message::assistant(""),
            Message::assistant("3"),
            Message::developer("c"),
            Message::user("4"),
        ],
        json!([text("a"), text("b")]),
        json!([
            {"role": "user", "content": [text("1"), text("2")]},
            {"role": "assistant", "content": [text("3")]},
            {"role": "user", "content": [text("c"), text("4")]},
        ]),
    );
}

#[test]
fn later_instructions_keep_their_place_where_the_model_takes_them() {
    let messages = [Message::user("1"), Message::developer("c"), Message::assistant("2"), Message::user("3")];
    let kept = json!([
        {"role": "user", "content": [text("1")]},
        {"role": "system", "content": [text("c")]},
        {"role": "assistant", "content": [text("2")]},
        {"role": "user", "content": [text("3")]},
    ]);
    let merged = json!([
        {"role": "user", "content": [text("1"), text("c")]},
        {"role": "assistant", "content": [text("2")]},
        {"role": "user", "content": [text("3")]},
    ]);
    let request = Request::of(messages.clone());
    let mut forced = request.clone();
    options(&mut forced, json!({"mid_system": true}));
    let mut forbidden = request.clone();
    options(&mut forbidden, json!({"mid_system": false}));
    let adaptive = model(Reasoning::Effort, true);
    let budget = model(Reasoning::Budget, true);
    for (request, model, expected) in [
        (&request, None, &merged),
        (&request, Some(&adaptive), &kept),
        (&request, Some(&budget), &merged),
        (&forced, Some(&budget), &kept),
        (&forbidden, Some(&adaptive), &merged),
    ] {
        assert_eq!(try_encode(request, model, false).unwrap().body["messages"], *expected);
    }
    let from_client = Message::new(Role::System, vec![theirs(Content::Text("c".into()), None)]);
    let request =
        Request { messages: [&messages[..1], &[from_client], &messages[2..]].concat().into(), ..request };
    assert_eq!(encoded(&request).body["messages"], kept);
}

#[test]
fn later_instructions_out_of_place_become_the_users() {
    let roles = |conversation: &str| {
        let messages: Vec<Message> = conversation
            .chars()
            .map(|c| match c {
                'u' => Message::user("x"),
                'a' => Message::assistant("x"),
                _ => Message::system("x"),
            })
            .collect();
        let mut request = Request::of(messages);
        options(&mut request, json!({"mid_system": true}));
        let body = encoded(&request).body;
        let roles = body["messages"].as_array().unwrap().iter();
        roles.map(|m| m["role"].as_str().unwrap().chars().next().unwrap()).collect::<String>()
    };
    for (conversation, expected) in [
        ("us", "us"),
        ("uss", "us"),
        ("usau", "usau"),
        ("usu", "u"),
        ("uasu", "uau"),
        ("uas", "uau"),
        ("uasua", "uaua"),
        ("uausau", "uausau"),
    ] {
        assert_eq!(roles(conversation), expected, "{conversation}");
    }
}

#[test]
fn results_stand_together_and_first_right_after_their_calls() {
    let calls = Message::new(Role::Assistant, vec![call("c1", "f", "{\"a\":1}"), call("c2", "g", "")]);
    let mut request = Request::of([
        Message::user("go"),
        calls,
        Message::developer("hurry"),
        Message::tool_results([ToolResult::text("c1", "one")]),
        Message::user("and"),
        Message::tool_results([ToolResult::error("c2", "no")]),
    ]);
    let assistant = json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
        {"type": "tool_use", "id": "c2", "name": "g", "input": {}},
    ]});
    let one = json!({"type": "tool_result", "tool_use_id": "c1", "content": "one"});
    let two = json!({"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": true});
    check_with(
        request.clone(),
        Value::Null,
        json!([
            {"role": "user", "content": [text("go")]},
            assistant,
            {"role": "user", "content": [one, two, text("hurry"), text("and")]},
        ]),
    );
    options(&mut request, json!({"mid_system": true}));
    request.messages.retain(|message| message.text() != "and");
    check_with(
        request,
        Value::Null,
        json!([
            {"role": "user", "content": [text("go")]},
            assistant,
            {"role": "user", "content": [one, two]},
            {"role": "system", "content": [text("hurry")]},
        ]),
    );
}

#[test]
fn results_hold_text_json_and_images() {
    let image = Media { media_type: Some("image/png".into()), ..Media::bytes(vec![1]) };
    let picture =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQ=="}});
    check(
        vec![Message::tool_results([
            ToolResult::json("a", json!({"k": [1]})),
            ToolResult { images: vec![image.clone()], ..ToolResult::text("b", "see") },
            ToolResult { images: vec![image], ..ToolResult::text("c", "") },
        ])],
        Value::Null,
        json!([{"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "{\"k\":[1]}"},
            {"type": "tool_result", "tool_use_id": "b", "content": [text("see"), picture]},
            {"type": "tool_result", "tool_use_id": "c", "content": [picture]},
        ]}]),
    );
}

#[test]
fn thinking_goes_back_to_its_maker_only() {
    let signed = || Thinking { text: " hm\n".into(), signature: Some("sig=".into()) };
    let raw = json!({"type": "thinking", "thinking": "x", "signature": "y", "extra": 1});
    let item = json!({"type": "server_tool_use", "id": "s", "input": {"q": "é"}});
    let own = Message::new(
        Role::Assistant,
        vec![
            theirs(Content::Thinking(signed()), None),
            theirs(Content::Thinking(signed()), Some(raw.clone())),
            theirs(Content::RedactedThinking("xx".into()), None),
            theirs(Content::Other(item.clone()), None),
            theirs(Content::Thinking(Thinking { text: "cut off".into(), signature: None }), None),
            Part::text("a"),
        ],
    );
    check(
        vec![own],
        Value::Null,
        json!([{"role": "assistant", "content": [
            {"type": "thinking", "thinking": " hm\n", "signature": "sig="}, raw,
            {"type": "redacted_thinking", "data": "xx"}, item, text("a"),
        ]}]),
    );
    let others = Message::new(
        Role::Assistant,
        vec![
            foreign(Content::Thinking(signed())),
            foreign(Content::RedactedThinking("xx".into())),
            foreign(Content::Other(item)),
            foreign(Content::Text("a".into())),
        ],
    );
    let mut request = Request::of([others]);
    check_with(request.clone(), Value::Null, json!([{"role": "assistant", "content": [text("a")]}]));
    assert_eq!(codes(&encoded(&request)), ["foreign_item_dropped"]);
    request.foreign_thinking = ForeignThinking::AsText;
    check_with(request, Value::Null, json!([{"role": "assistant", "content": [text(" hm\n"), text("a")]}]));
}

#[test]
fn an_answer_that_broke_off_in_thought_is_left_out() {
    let thought = theirs(Content::Thinking(Thinking { text: "t".into(), signature: Some("s".into()) }), None);
    check(
        vec![
            Message::user("1"),
            Message::new(Role::Assistant, vec![thought.clone()]),
            Message::user("2"),
            Message::new(Role::Assistant, vec![thought.clone(), Part::text("a"), thought.clone()]),
            Message::user("3"),
        ],
        Value::Null,
        json!([
            {"role": "user", "content": [text("1"), text("2")]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}, text("a")]},
            {"role": "user", "content": [text("3")]},
        ]),
    );
}

#[test]
fn calls_of_any_origin_become_valid() {
    let raw = json!({"type": "tool_use", "id": "toolu_1", "name": "old", "input": {"a": 1}, "caller": {"type": "direct"}});
    let request = Request::of([
        Message::new(
            Role::Assistant,
            vec![
                theirs(Content::ToolCall(ToolCall::function("toolu_1", "a.b", "{\"a\":1}")), Some(raw)),
                call("call|2", "f", "{\"broken"),
                Part::new(Content::ToolCall(ToolCall::custom("c3", "patch", "*** text"))),
            ],
        ),
        Message::tool_results([ToolResult::text("call|2", "x")]),
    ]);
    let body = encoded(&request).body;
    let blocks = &body["messages"][0]["content"];
    assert_eq!(
        blocks[0],
        json!({"type": "tool_use", "id": "toolu_1", "name": "a_b", "input": {"a": 1}, "caller": {"type": "direct"}})
    );
    assert_eq!(blocks[1]["input"], json!({"_raw": "{\"broken"}));
    assert_eq!(blocks[1]["id"], body["messages"][1]["content"][0]["tool_use_id"]);
    assert!(blocks[1]["id"].as_str().unwrap().starts_with("call_2_"));
    assert_eq!(blocks[2]["input"], json!({"input": "*** text"}));
}

#[test]
fn media_of_an_assistant_is_left_out_with_a_warning() {
    let painted = Message::new(Role::Assistant, vec![Part::text("a"), Part::image(Media::url("u"))]);
    let request = Request::of([painted]);
    assert_eq!(encoded(&request).body["messages"], json!([{"role": "assistant", "content": [text("a")]}]));
    assert_eq!(codes(&encoded(&request)), ["media_dropped"]);
}
