//! What one side writes the other reads.

use proptest::prelude::*;

use super::*;
use crate::{
    Content, Finish, FinishReason, ForeignThinking, Media, Message, Part, ResponseFormat, Role, SegmentId,
    Thinking, ToolCall, ToolResult, ToolSpec, Usage,
};

fn spoken() -> impl Strategy<Value = Content> {
    prop_oneof![
        ".{1,12}".prop_map(Content::Text),
        ("(.{0,8}\n\n)?.{0,8}", proptest::option::of("[a-z]{1,8}"))
            .prop_map(|(text, signature)| Content::Thinking(Thinking { text, signature })),
        ("[a-z0-9]{1,6}", "[a-z_]{1,9}", "\\{\"a\":[0-9]\\}|\\{\"a|.{0,9}")
            .prop_map(|(id, name, arguments)| Content::ToolCall(ToolCall::function(id, name, arguments))),
        ("[a-z0-9]{1,6}", "[a-z_]{1,9}", ".{0,9}")
            .prop_map(|(id, name, input)| Content::ToolCall(ToolCall::custom(id, name, input))),
    ]
}

fn response() -> impl Strategy<Value = Response> {
    let end = prop_oneof![Just(None), Just(Some(Finish::Length)), Just(Some(Finish::ContentFilter))];
    (proptest::collection::vec(spoken(), 0..6), end, any::<[u32; 5]>()).prop_map(|(contents, end, n)| {
        let mut response = Response::empty("openai", "gpt-5.5");
        response.id = "resp_9".into();
        let called = contents.iter().any(|c| matches!(c, Content::ToolCall(_)));
        response.message.content = contents.into_iter().map(Part::new).collect();
        let natural = if called { Finish::ToolCalls } else { Finish::Stop };
        response.finish_reason = FinishReason::new(end.unwrap_or(natural));
        response.usage = Usage {
            cache_read: Some(n[2].into()),
            cache_write: Some(n[3].into()),
            reasoning: Some(n[4].into()),
            ..Usage::new(n[0].into(), n[1].into())
        };
        response
    })
}

/// The normalised view alone.
fn view(response: &Response) -> (String, String, Vec<Content>, Finish, Usage) {
    (
        response.id.clone(),
        response.model.clone(),
        response.message.content.iter().map(|p| p.content().clone()).collect(),
        response.finish_reason.unified,
        Usage { raw: None, ..response.usage.clone() },
    )
}

/// The events of a stream that gives this answer, in pieces of two characters.
fn events(response: &Response) -> Vec<StreamEvent> {
    let mut events = vec![StreamEvent::StreamStart {
        id: response.id.clone(),
        model: response.model.clone(),
        provider: response.provider.clone(),
        origin: None,
        usage: None,
        warnings: Vec::new(),
        rate_limit: None,
    }];
    let pieces = |text: &str| -> Vec<String> {
        let chars: Vec<char> = text.chars().collect();
        chars.chunks(2).map(|piece| piece.iter().collect()).collect()
    };
    for (id, part) in (0..).map(SegmentId).zip(&response.message.content) {
        match part.content() {
            Content::Text(text) => {
                events.push(StreamEvent::TextStart { id });
                events.extend(pieces(text).into_iter().map(|text| StreamEvent::TextDelta { id, text }));
                events.push(StreamEvent::TextEnd { id, raw: None });
            }
            Content::Thinking(t) => {
                events.push(StreamEvent::ReasoningStart { id });
                events
                    .extend(pieces(&t.text).into_iter().map(|text| StreamEvent::ReasoningDelta { id, text }));
                events.push(StreamEvent::ReasoningEnd { id, signature: t.signature.clone(), raw: None });
            }
            Content::ToolCall(call) => {
                let (call_id, name) = (call.id.clone(), call.name.clone());
                events.push(StreamEvent::ToolCallStart { id, call_id, name, kind: call.kind });
                let pieces = pieces(&call.raw_arguments).into_iter();
                events.extend(pieces.map(|arguments| StreamEvent::ToolCallDelta { id, arguments }));
                events.push(StreamEvent::ToolCallEnd { id, call: call.clone(), raw: None });
            }
            other => panic!("{other:?} is not streamed"),
        }
    }
    events.push(StreamEvent::Finish {
        reason: response.finish_reason.clone(),
        usage: response.usage.clone(),
        response: None,
    });
    events
}

fn message() -> impl Strategy<Value = Message> {
    let user = prop_oneof![
        ".{0,9}".prop_map(Content::Text),
        Just(Content::Image(Media::url("https://x/y.png"))),
        Just(Content::Document(Media {
            media_type: Some("application/pdf".into()),
            ..Media::bytes(vec![1, 2])
        })),
    ];
    let result = ("[a-z0-9]{1,6}|[.:]{1,3}", ".{0,9}", any::<bool>()).prop_map(|(id, text, pictured)| {
        let images = if pictured { vec![Media::url("https://x/y.png")] } else { Vec::new() };
        ToolResult { images, ..ToolResult::text(id, text) }
    });
    let parts = |contents: Vec<Content>| contents.into_iter().map(Part::new).collect::<Vec<_>>();
    prop_oneof![
        ".{0,9}".prop_map(Message::system),
        ".{0,9}".prop_map(Message::developer),
        proptest::collection::vec(user, 1..4).prop_map(move |c| Message::new(Role::User, parts(c))),
        proptest::collection::vec(spoken(), 1..4).prop_map(move |c| Message::new(Role::Assistant, parts(c))),
        proptest::collection::vec(result, 1..3).prop_map(Message::tool_results),
    ]
}

fn request() -> impl Strategy<Value = Request> {
    let tools = [
        ToolSpec::foreign("a.b", "does", json!({"type": "object"})),
        ToolSpec {
            name: "p".into(),
            description: "patches".into(),
            kind: crate::ToolKind::Custom { format: None },
        },
    ];
    (proptest::collection::vec(message(), 1..6), any::<[bool; 4]>()).prop_map(move |(messages, flags)| {
        let mut request = Request::of(messages);
        if flags[0] {
            request.tools = tools.to_vec();
            request.tool_choice = Some(crate::ToolChoice::Named("p".into()));
        }
        if flags[1] {
            request.foreign_thinking = ForeignThinking::AsText;
            request.reasoning_effort = Some(crate::Effort::High);
        }
        if flags[2] {
            request.response_format = Some(ResponseFormat::JsonObject);
            request.max_tokens = Some(5);
            request.temperature = Some(0.5);
        }
        if flags[3] {
            let options = json!({"store": true, "text": {"verbosity": "low"}, "service_tier": "flex"});
            request.provider_options.insert("openai".into(), options);
        }
        request
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whole_answers(response in response()) {
        let read = decode(&Responses.encode_response(&response)).unwrap();
        prop_assert_eq!(view(&read), view(&response));
    }

    #[test]
    fn a_stream_folds_into_the_whole_answer(response in response()) {
        let mut whole = decode(&Responses.encode_response(&response)).unwrap();
        whole.raw = None;
        let mut encoder = Responses.stream_encoder();
        let mut bytes = Vec::new();
        for event in &events(&response) {
            encoder.event(event, &mut bytes);
        }
        prop_assert_eq!(accumulate(&read_bytes(&bytes).unwrap()), whole);
    }

    #[test]
    fn a_request_that_was_read_is_written_the_same(request in request()) {
        let sent = body(&request);
        let (read, _) = receive(&sent).unwrap();
        prop_assert_eq!(body(&read).to_string(), sent.to_string());
    }

    #[test]
    fn appended_messages_leave_the_prefix_alone(request in request(), more in [message(), message()]) {
        // How a result is written depends on its call, which comes before it in every real conversation.
        let is_answered = |call: &ToolCall| {
            request.messages.iter().flat_map(Message::results).any(|result| result.call_id == call.id)
        };
        prop_assume!(!more.iter().flat_map(Message::tool_calls).any(is_answered));
        // A system message in front of nothing but its like moves to the instructions.
        let mut request = request;
        request.messages.push(Message::user("x"));
        let before = body(&request).to_string();
        request.messages.extend(more);
        let after = body(&request).to_string();
        prop_assert!(after.starts_with(before.strip_suffix("]}").unwrap()), "{}\n{}", before, after);
    }

    #[test]
    fn arbitrary_bytes_are_no_panic(name in 0..EVENTS.len(), data in ".{0,40}", bytes in any::<Vec<u8>>()) {
        let cx = decode_cx();
        let mut out = Vec::new();
        let mut decoder = Responses.stream_decoder(cx.clone());
        let _ = decoder.frame(sse::Frame { event: EVENTS[name], data: &data }, &mut out);
        let _ = decoder.end(&mut out);
        let _ = Responses.decode_response(&bytes, &cx);
        let _ = Responses.decode_error(400, &bytes);
        let _ = read_bytes(&bytes);
    }

    #[test]
    fn any_order_of_events_is_no_panic(picks in proptest::collection::vec((0..EVENTS.len(), 0..SHAPES.len(), 0u8..3), 0..12)) {
        let mut decoder = Responses.stream_decoder(decode_cx());
        let mut out = Vec::new();
        for (event, shape, index) in picks {
            let data = SHAPES[shape].replace("INDEX", &index.to_string());
            if decoder.frame(sse::Frame { event: EVENTS[event], data: &data }, &mut out).is_err() {
                break;
            }
        }
        let _ = decoder.end(&mut out);
        let _ = accumulate(&out);
        let mut encoder = Responses.stream_encoder();
        let mut bytes = Vec::new();
        out.iter().rev().for_each(|event| encoder.event(event, &mut bytes));
    }
}

const EVENTS: &[&str] = &[
    "",
    "ping",
    "error",
    "response.created",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "response.refusal.delta",
    "response.reasoning_summary_text.delta",
    "response.reasoning_text.delta",
    "response.function_call_arguments.delta",
    "response.custom_tool_call_input.delta",
    "response.completed",
    "response.incomplete",
    "response.failed",
];

const SHAPES: &[&str] = &[
    r#"{"type":"ping"}"#,
    r#"{"output_index":INDEX,"delta":"é"}"#,
    r#"{"item_id":"i","delta":"x","summary_index":INDEX}"#,
    r#"{"output_index":INDEX,"item":{"type":"message","id":"i","content":[{"text":"éé"}]}}"#,
    r#"{"output_index":INDEX,"item":{"type":"reasoning","summary":[{"text":"x"},{"text":"y"}]}}"#,
    r#"{"output_index":INDEX,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}"#,
    r#"{"item":{"type":"custom_tool_call","call_id":"c","name":"f","input":"x"}}"#,
    r#"{"output_index":INDEX,"item":null}"#,
    r#"{"response":{"id":"r","output":[{"type":"message"}]}}"#,
    r#"{"response":{"error":{"code":"server_error"}}}"#,
];
