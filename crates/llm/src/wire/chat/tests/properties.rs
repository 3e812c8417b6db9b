//! What must hold for any conversation, any answer and any bytes.

use proptest::prelude::*;

use super::*;
use crate::{Finish, FinishReason, Media, Thinking, ToolResult, Usage};

fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{}".to_owned()),
        Just("{\"a\":[1,\"é\"]}".to_owned()),
        Just(String::new()),
        "[a-z{\"]{0,6}"
    ]
}

/// A turn: what the user says, and what the model answers or calls.
fn turn() -> impl Strategy<Value = Vec<Message>> {
    let said = prop_oneof![
        "\\PC{0,12}".prop_map(Message::user),
        "\\PC{1,8}".prop_map(Message::developer),
        any::<u8>().prop_map(|n| {
            let picture = Media { media_type: Some("image/png".into()), ..Media::bytes(vec![n]) };
            Message::new(Role::User, vec![Part::text("look"), Part::image(picture)])
        })
    ];
    let answered = "\\PC{1,12}".prop_map(|text| {
        let thinking = Content::Thinking(Thinking { text: "hm".into(), signature: None });
        vec![Message::new(Role::Assistant, vec![Part::new(thinking), Part::text(text)])]
    });
    let called = ("[a-z/ ]{1,50}", "[a-z./]{1,9}", arguments(), any::<bool>()).prop_map(
        |(id, name, arguments, seen)| {
            let images = if seen { vec![Media::url("https://x/p.png")] } else { Vec::new() };
            vec![
                calling([ToolCall::function(&*id, &*name, arguments), ToolCall::custom("two", "p", "in")]),
                Message::tool_results([
                    ToolResult { images, ..ToolResult::text(id, "r") },
                    ToolResult::text("two", "s"),
                ]),
            ]
        },
    );
    (said, prop_oneof![answered, called]).prop_map(|(first, mut rest)| {
        rest.insert(0, first);
        rest
    })
}

fn conversation() -> impl Strategy<Value = Request> {
    (prop::collection::vec(turn(), 1..5), prop::bits::u8::masked(0b1111)).prop_map(|(turns, switches)| {
        let on = |bit: u8| switches & (1 << bit) != 0;
        let options = json!({"developer_role": on(0), "custom_tools": on(1), "send_reasoning": on(2), "max_completion_tokens": on(3), "seed": 1});
        let request = Request::of(turns.concat()).tools([function("a/b"), custom("p")]).max_tokens(7);
        with_options(request, options)
    })
}

fn answer() -> impl Strategy<Value = Response> {
    let call = ("[a-z0-9]{1,8}", "[a-z]{1,5}", arguments(), any::<bool>());
    let parts =
        (prop::option::of("\\PC{1,20}"), prop::option::of("\\PC{1,20}"), prop::collection::vec(call, 0..3));
    (parts, 0u64..1000, prop::option::of(0u64..9)).prop_map(|((thinking, text, calls), tokens, cached)| {
        let thinking = thinking.map(|text| Content::Thinking(Thinking { text, signature: None }));
        let calls: Vec<Content> = calls
            .into_iter()
            .enumerate()
            .map(|(place, (id, name, arguments, is_custom))| {
                let id = format!("{id}-{place}");
                let raw = if arguments.is_empty() && !is_custom { "{}".to_owned() } else { arguments };
                Content::ToolCall(if is_custom {
                    ToolCall::custom(id, name, raw)
                } else {
                    ToolCall::function(id, name, raw)
                })
            })
            .collect();
        let finish = if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
        let contents = thinking.into_iter().chain(text.map(Content::Text)).chain(calls);
        let origin = Arc::new(origin());
        Response {
            id: "r1".into(),
            message: Message::new(
                Role::Assistant,
                contents.map(|c| Part::received(c, Arc::clone(&origin), None)).collect(),
            ),
            finish_reason: FinishReason::with_raw(
                finish,
                if finish == Finish::Stop { "stop" } else { "tool_calls" },
            ),
            usage: Usage { cache_read: cached, ..Usage::new(tokens, 3) },
            ..Response::empty("local", "m-1")
        }
    })
}

/// The response without what only one of the two ways keeps.
fn without_raw(mut response: Response) -> Response {
    response.raw = None;
    response.usage.raw = None;
    response
}

/// The events of an answer, its texts cut into pieces.
fn as_events(response: &Response, cut: usize) -> Vec<StreamEvent> {
    use crate::{SegmentId, ToolCallKind};
    let pieces = |text: &str| -> Vec<String> {
        text.chars().collect::<Vec<_>>().chunks(cut).map(|chunk| chunk.iter().collect()).collect()
    };
    let mut events = vec![StreamEvent::StreamStart {
        id: response.id.clone(),
        model: response.model.clone(),
        provider: response.provider.clone(),
        origin: None,
        usage: None,
        warnings: Vec::new(),
        rate_limit: None,
    }];
    for (n, part) in response.message.content.iter().enumerate() {
        let id = SegmentId(u32::try_from(n).unwrap());
        match part.content() {
            Content::Text(text) => {
                events.push(StreamEvent::TextStart { id });
                events.extend(pieces(text).into_iter().map(|text| StreamEvent::TextDelta { id, text }));
                events.push(StreamEvent::TextEnd { id, raw: None });
            }
            Content::Thinking(thinking) => {
                events.push(StreamEvent::ReasoningStart { id });
                events.extend(
                    pieces(&thinking.text).into_iter().map(|text| StreamEvent::ReasoningDelta { id, text }),
                );
                events.push(StreamEvent::ReasoningEnd { id, signature: None, raw: None });
            }
            Content::ToolCall(call) => {
                let (call_id, name, kind): (_, _, ToolCallKind) =
                    (call.id.clone(), call.name.clone(), call.kind);
                events.push(StreamEvent::ToolCallStart { id, call_id, name, kind });
                let deltas = pieces(&call.raw_arguments).into_iter();
                events.extend(deltas.map(|arguments| StreamEvent::ToolCallDelta { id, arguments }));
                events.push(StreamEvent::ToolCallEnd { id, call: call.clone(), raw: None });
            }
            _ => {}
        }
    }
    let (reason, usage) = (response.finish_reason.clone(), response.usage.clone());
    events.push(StreamEvent::Finish { reason, usage, response: None });
    events
}

proptest! {
    #[test]
    fn a_whole_answer_comes_back(response in answer()) {
        let read = decoded(&Chat.encode_response(&response)).unwrap();
        prop_assert_eq!(without_raw(read), response);
    }

    #[test]
    fn a_streamed_answer_is_the_whole_one(response in answer(), cut in 1usize..9) {
        let mut encoder = Chat.stream_encoder();
        let mut bytes = Vec::new();
        for event in as_events(&response, cut) {
            encoder.event(&event, &mut bytes);
        }
        let (events, result) = events_for(&Request::default(), &bytes);
        prop_assert!(result.is_ok());
        let whole = decoded(&Chat.encode_response(&response)).unwrap();
        prop_assert_eq!(without_raw(folded(&events)), without_raw(whole));
    }

    #[test]
    fn a_request_that_was_read_is_written_the_same(request in conversation(), stream in any::<bool>()) {
        let mode = if stream { Mode::Stream } else { Mode::Complete };
        let first = encoded_as(&request, mode).unwrap().body;
        let (read, read_mode) = served(&first).unwrap();
        prop_assert_eq!(read_mode, mode);
        let second = encoded_as(&read, mode).unwrap().body;
        prop_assert_eq!(second.to_string(), first.to_string());
    }

    #[test]
    fn a_longer_conversation_keeps_its_beginning(request in conversation(), text in "\\PC{1,9}") {
        let mut longer = request.clone();
        longer.messages.extend([Message::assistant(text), Message::user("more")]);
        let first = body(&request).to_string();
        let second = body(&longer).to_string();
        // All but the brackets that close the list and the body.
        prop_assert!(second.starts_with(&first[..first.len() - 2]), "{}\n{}", first, second);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300), status in 0u16..1000) {
        let _ = Chat.decode_response(&bytes, &decode_cx(&Request::default()));
        let _ = Chat.decode_error(status, &bytes);
        let _ = events_for(&Request::default(), &bytes);
    }

    #[test]
    fn any_json_is_survived(value in any_json()) {
        let _ = decoded(&value);
        let _ = Chat.decode_error(400, value.to_string().as_bytes());
        let frame = format!("data: {value}\n\n");
        let _ = events_for(&Request::default(), frame.repeat(3).as_bytes());
        if let Ok((request, mode)) = served(&value) {
            let _ = encoded_as(&request, mode);
        }
    }
}

/// JSON made of the wire's own words in all the wrong places.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "id",
        "model",
        "choices",
        "delta",
        "message",
        "content",
        "reasoning",
        "tool_calls",
        "function",
        "custom",
        "name",
        "arguments",
        "index",
        "finish_reason",
        "usage",
        "error",
        "code",
        "type",
        "text",
        "messages",
        "role",
        "tool_call_id",
        "tools",
        "user",
        "assistant",
        "tool",
        "image_url",
        "url",
        "stop",
        "extra_content",
        "file",
        "file_data",
        "input_audio",
        "data",
        "detail",
        "loc",
        "msg",
        "prompt_tokens",
        "refusal",
        "function_call",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..6)
                .prop_map(|entries| entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    });
    let under = |path: &'static [&'static str]| {
        move |value: Value| {
            path.iter().rev().fold(value, |inner, key| match *key {
                "[]" => json!([inner]),
                key => json!({key: inner, "model": "m"}),
            })
        }
    };
    prop_oneof![
        tree.clone(),
        tree.clone().prop_map(under(&["choices", "[]", "delta"])),
        tree.clone().prop_map(under(&["choices", "[]", "delta", "tool_calls", "[]"])),
        tree.clone().prop_map(under(&["choices", "[]", "message"])),
        tree.clone().prop_map(under(&["messages", "[]"])),
        tree.prop_map(under(&["error"])),
    ]
}
