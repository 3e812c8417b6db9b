//! What one side writes the other reads, and what a session sends grows only at its end.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Anthropic;
use crate::names::NameMap;
use crate::wire::{Codec as _, DecodeCx, EncodeCx, Incoming, Mode};
use crate::{
    Accumulator, Content, Effort, Finish, FinishReason, Media, Message, Origin, Part, Request, Response,
    ResponseFormat, Role, SegmentId, StreamEvent, Thinking, ToolCall, ToolCallKind, ToolChoice, ToolResult,
    ToolSpec, Usage, Wire, sse,
};

fn origin() -> Arc<Origin> {
    Arc::new(Origin { wire: Wire::Anthropic, provider: "p".into(), model: "m".into() })
}

fn cx() -> DecodeCx {
    DecodeCx { origin: origin(), names: Arc::default(), warnings: Vec::new(), rate_limit: None }
}

// ---- answers ----

fn content() -> impl Strategy<Value = Content> {
    let text = "\\PC{0,12}";
    prop_oneof![
        text.prop_map(Content::Text),
        (text, proptest::option::of("[a-zA-Z0-9+/]{1,8}"))
            .prop_map(|(text, signature)| Content::Thinking(Thinking { text, signature })),
        "[a-z]{0,8}".prop_map(Content::RedactedThinking),
        ("[a-z0-9_]{1,8}", "[a-z_]{1,8}", proptest::collection::btree_map(text, text, 0..3)).prop_map(
            |(id, name, arguments)| Content::ToolCall(ToolCall::function(
                id,
                name,
                json!(arguments).to_string()
            ))
        ),
    ]
}

fn answer() -> impl Strategy<Value = Response> {
    let usage = (0u64..1000, proptest::option::of(0u64..1000), proptest::option::of(0u64..1000), 0u64..1000)
        .prop_map(|(fresh, cache_read, cache_write, output)| {
            let input = fresh + cache_read.unwrap_or(0) + cache_write.unwrap_or(0);
            Usage { cache_read, cache_write, reasoning: cache_read, ..Usage::new(input, output) }
        });
    let finish = prop_oneof![
        Just(("end_turn", Finish::Stop)),
        Just(("stop_sequence", Finish::Stop)),
        Just(("max_tokens", Finish::Length)),
        Just(("tool_use", Finish::ToolCalls)),
        Just(("refusal", Finish::ContentFilter)),
        Just(("pause_turn", Finish::Other)),
    ];
    (proptest::collection::vec(content(), 0..6), usage, finish).prop_map(
        |(contents, usage, (raw, unified))| {
            let parts = contents.into_iter().map(|c| Part::received(c, origin(), None)).collect();
            Response {
                id: "msg_1".into(),
                message: Message::new(Role::Assistant, parts),
                finish_reason: FinishReason::with_raw(unified, raw),
                usage,
                ..Response::empty("p", "m")
            }
        },
    )
}

/// The answer without what only a wire can add.
fn normalised(mut response: Response) -> Response {
    response.raw = None;
    response.usage.raw = None;
    response
}

/// The answer's events, the deltas cut in two. Segments overlap: each ends after the next started.
fn events(response: &Response) -> Vec<StreamEvent> {
    let mut events = vec![StreamEvent::StreamStart {
        id: response.id.clone(),
        model: response.model.clone(),
        provider: response.provider.clone(),
        origin: Some(origin()),
        usage: None,
        warnings: Vec::new(),
        rate_limit: None,
    }];
    let halves = |text: &str| {
        let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
        [text[..middle].to_owned(), text[middle..].to_owned()]
    };
    let mut waiting: Vec<StreamEvent> = Vec::new();
    for (at, part) in (0u32..).zip(&response.message.content) {
        let id = SegmentId(at);
        let (start, rest) = match part.content() {
            Content::Text(text) => {
                let mut rest: Vec<_> = halves(text).map(|text| StreamEvent::TextDelta { id, text }).into();
                rest.push(StreamEvent::TextEnd { id, raw: None });
                (StreamEvent::TextStart { id }, rest)
            }
            Content::Thinking(t) => {
                let mut rest: Vec<_> =
                    halves(&t.text).map(|text| StreamEvent::ReasoningDelta { id, text }).into();
                rest.push(StreamEvent::ReasoningEnd { id, signature: t.signature.clone(), raw: None });
                (StreamEvent::ReasoningStart { id }, rest)
            }
            Content::ToolCall(call) => {
                let mut rest: Vec<_> = halves(&call.raw_arguments)
                    .map(|arguments| StreamEvent::ToolCallDelta { id, arguments })
                    .into();
                rest.push(StreamEvent::ToolCallEnd { id, call: call.clone(), raw: None });
                let start = StreamEvent::ToolCallStart {
                    id,
                    call_id: call.id.clone(),
                    name: call.name.clone(),
                    kind: ToolCallKind::Function,
                };
                (start, rest)
            }
            _ => (StreamEvent::Part { part: part.clone() }, Vec::new()),
        };
        events.push(start);
        events.append(&mut waiting);
        waiting = rest;
    }
    events.append(&mut waiting);
    events.push(StreamEvent::Finish {
        reason: response.finish_reason.clone(),
        usage: response.usage.clone(),
        response: None,
    });
    events
}

fn streamed(response: &Response) -> Response {
    let mut encoder = Anthropic.stream_encoder();
    let mut bytes = Vec::new();
    for event in events(response) {
        encoder.event(&event, &mut bytes);
    }
    let mut decoder = Anthropic.stream_decoder(cx());
    let mut out = Vec::new();
    sse::Decoder::new().push(&bytes, |frame| decoder.frame(frame, &mut out)).unwrap();
    decoder.end(&mut out).unwrap();
    let mut accumulator = Accumulator::new();
    for event in &out {
        accumulator.push(event);
    }
    accumulator.into_response()
}

proptest! {
    #[test]
    fn a_written_answer_is_read_back(answer in answer()) {
        let body = Anthropic.encode_response(&answer).to_string();
        let read = Anthropic.decode_response(body.as_bytes(), &cx()).unwrap();
        prop_assert_eq!(normalised(read), answer);
    }

    #[test]
    fn a_streamed_answer_is_the_whole_one(answer in answer()) {
        let body = Anthropic.encode_response(&answer).to_string();
        let mut whole = Anthropic.decode_response(body.as_bytes(), &cx()).unwrap();
        whole.raw = None;
        prop_assert_eq!(streamed(&answer), whole);
    }

    #[test]
    fn arbitrary_bodies_never_panic(body in proptest::collection::vec(any::<u8>(), 0..200), status in 0u16..1000) {
        let _ = Anthropic.decode_response(&body, &cx());
        let _ = Anthropic.decode_error(status, &body);
    }
}

// ---- requests ----

fn encode(request: &Request, auto_cache: bool) -> Value {
    let names = NameMap::for_request(request, Wire::Anthropic);
    let origin = origin();
    let cx = EncodeCx {
        origin: &origin,
        mode: Mode::Complete,
        session: None,
        model: None,
        names: &names,
        auto_cache,
    };
    Anthropic.encode_request(request, &cx).unwrap().body
}

/// A conversation of this many rounds, each with thinking, a call, its result and an answer.
fn conversation(rounds: usize) -> Request {
    let own = |content| Part::received(content, origin(), None);
    let mut messages = vec![Message::system("be brief"), Message::developer("be kind")];
    for n in 0..rounds {
        let thinking = Thinking { text: format!("think {n}"), signature: Some(format!("sig{n}")) };
        messages.extend([
            Message::user(format!("question {n}")),
            Message::new(
                Role::Assistant,
                vec![
                    own(Content::Thinking(thinking)),
                    own(Content::ToolCall(ToolCall::function(format!("call:{n}"), "a_b", "{\"n\":1}"))),
                ],
            ),
            Message::tool_results([ToolResult::text(format!("call:{n}"), "done")]),
            Message::assistant(format!("answer {n}")),
        ]);
    }
    messages.push(Message::user("last"));
    let tool = ToolSpec::foreign("a_b", "does", json!({"type": "object"}));
    Request::of(messages).tools([tool]).max_tokens(100)
}

fn check_reencodes(request: &Request) {
    for auto_cache in [false, true] {
        let body = encode(request, auto_cache);
        let incoming = Incoming { path: "/v1/messages", body: &body };
        let (read, mode) = Anthropic.decode_request(incoming, &origin()).unwrap();
        assert_eq!(mode, Mode::Complete);
        assert_eq!(encode(&read, auto_cache).to_string(), body.to_string());
    }
}

#[test]
fn a_written_request_is_read_and_written_again() {
    check_reencodes(&Request::prompt("hi"));
    check_reencodes(&conversation(3));
    let full = Request {
        tool_choice: Some(ToolChoice::Named("a_b".into())),
        parallel_tool_calls: Some(false),
        temperature: Some(0.5),
        top_p: Some(0.5),
        stop_sequences: vec!["x".into()],
        metadata: json!({"user_id": "u"}).as_object().unwrap().clone(),
        provider_options:
            json!({"anthropic": {"top_k": 4, "tool_fields": {"a_b": {"eager_input_streaming": true}}}})
                .as_object()
                .unwrap()
                .clone(),
        ..conversation(1)
    };
    check_reencodes(&full);
    for effort in ["low", "max", "none"] {
        let effort = Some(Effort::from(effort.to_owned()));
        check_reencodes(&Request { reasoning_effort: effort, ..conversation(1) });
    }
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let format = ResponseFormat::JsonSchema { name: "answer".into(), schema, strict: true };
    check_reencodes(&Request { response_format: Some(format), ..Request::prompt("x") });
    let png = Media { media_type: Some("image/png".into()), ..Media::bytes(vec![1, 2]) };
    let parts = vec![
        Part::image(png),
        Part::image(Media::url("https://x/y.png")),
        Part::new(Content::Document(Media::bytes("notes"))),
    ];
    check_reencodes(&Request::of([Message::new(Role::User, parts)]));
}

#[test]
fn an_answer_asked_for_by_tool_is_understood_by_the_server() {
    let request = Request { response_format: Some(ResponseFormat::JsonObject), ..Request::prompt("x") };
    let body = encode(&request, false);
    let incoming = Incoming { path: "/v1/messages", body: &body };
    let (read, _) = Anthropic.decode_request(incoming, &origin()).unwrap();
    assert!(read.tools.is_empty() && read.tool_choice.is_none());
    assert!(matches!(read.response_format, Some(ResponseFormat::JsonSchema { .. })));
}

fn without_marks(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.shift_remove("cache_control");
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut value);
    value
}

#[test]
fn a_session_grows_only_at_its_end() {
    let mut request = conversation(2);
    request.reasoning_effort = Some(Effort::High);
    let mut previous = without_marks(encode(&request, true)).to_string();
    for n in 0..4 {
        request.messages.extend([Message::assistant(format!("more {n}")), Message::user(format!("and {n}"))]);
        let next = without_marks(encode(&request, true)).to_string();
        // All but the brackets that close the messages and the body.
        let prefix = previous.strip_suffix("]}").unwrap();
        assert!(next.starts_with(prefix), "{prefix}\n{next}");
        previous = next;
    }
}

#[test]
fn each_request_reads_the_mark_of_the_one_before() {
    let mut request = conversation(1);
    let mut marked: Option<String> = None;
    for n in 0..3 {
        let body = encode(&request, true);
        assert!(body.to_string().matches("cache_control").count() <= 4);
        if let Some(before) = marked {
            assert!(body["messages"].to_string().contains(&before), "the earlier mark is gone: {before}");
        }
        marked = body["messages"].as_array().unwrap().last().map(Value::to_string);
        request.messages.extend([Message::assistant(format!("more {n}")), Message::user(format!("and {n}"))]);
    }
}
