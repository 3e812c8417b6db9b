//! What one side writes the other reads; bytes from anywhere never panic.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Gemini;
use crate::names::NameMap;
use crate::sse::{self, Frame};
use crate::wire::{Codec, DecodeCx, EncodeCx, Incoming, Mode, StreamDecoder, Wire};
use crate::{
    Accumulator, Content, Effort, Error, Finish, FinishReason, Media, Message, Origin, Part, Request,
    Response, ResponseFormat, Role, StreamEvent, Thinking, ToolCall, ToolChoice, ToolResult, ToolSpec, Usage,
};

pub(super) fn origin() -> Origin {
    Origin { wire: Wire::Gemini, provider: "gemini".into(), model: "gemini-x".into() }
}

pub(super) fn other_origin() -> Origin {
    Origin { wire: Wire::Anthropic, provider: "anthropic".into(), model: "claude-x".into() }
}

pub(super) fn received(content: Content, origin: Origin, raw: Option<Value>) -> Part {
    Part::received(content, Arc::new(origin), raw)
}

pub(super) fn decode_cx() -> DecodeCx {
    DecodeCx { origin: Arc::new(origin()), names: Arc::default(), warnings: Vec::new(), rate_limit: None }
}

/// Calls with the context in which this request would be sent to [`origin`].
pub(super) fn with_cx<T>(request: &Request, call: impl FnOnce(&EncodeCx<'_>) -> T) -> T {
    let origin = origin();
    let names = NameMap::for_request(request, Wire::Gemini);
    call(&EncodeCx {
        origin: &origin,
        mode: Mode::Complete,
        session: None,
        model: None,
        names: &names,
        auto_cache: true,
    })
}

fn encode(request: &Request) -> Value {
    with_cx(request, |cx| Gemini.encode_request(request, cx)).unwrap().body
}

fn decode_stream(bytes: &[u8]) -> Result<Vec<StreamEvent>, Error> {
    let mut events = Vec::new();
    let mut decoder = Gemini.stream_decoder(decode_cx());
    let mut frames = sse::Decoder::new();
    let mut sink = |frame: Frame<'_>| decoder.frame(frame, &mut events);
    frames.push(bytes, &mut sink)?;
    frames.finish(&mut sink)?;
    decoder.end(&mut events)?;
    Ok(events)
}

fn fold(events: &[StreamEvent]) -> Response {
    let mut accumulator = Accumulator::new();
    for event in events {
        accumulator.push(event);
    }
    accumulator.into_response()
}

fn text() -> impl Strategy<Value = String> {
    "[a-z\"\\\\\n é]{1,12}"
}

fn signature() -> impl Strategy<Value = Option<String>> {
    proptest::option::of("[A-Za-z0-9]{4}")
}

/// A part as this wire gives it, in the order of its kinds.
fn own_part() -> impl Strategy<Value = Value> {
    let sign = |(mut part, signature): (Value, Option<String>)| {
        if let Some(signature) = signature {
            part["thoughtSignature"] = signature.into();
        }
        part
    };
    let thought = text().prop_map(|text| json!({"text": text, "thought": true}));
    let plain = text().prop_map(|text| json!({ "text": text }));
    let call = ("[a-z]{1,4}", text(), proptest::option::of("[a-z0-9]{3}")).prop_map(|(name, value, id)| {
        let mut call = json!({"name": name, "args": {"a": value, "n": [1, null, 1.5]}});
        if let Some(id) = id {
            call["id"] = id.into();
        }
        json!({ "functionCall": call })
    });
    let code = text().prop_map(|code| json!({"executableCode": {"code": code}}));
    let image = Just(json!({"inlineData": {"mimeType": "image/png", "data": "AQID"}}));
    (prop_oneof![3 => thought, 3 => plain, 3 => call, 1 => code, 1 => image], signature()).prop_map(sign)
}

/// An answer of this wire.
fn own_answer() -> impl Strategy<Value = Value> {
    let reason = prop_oneof![Just("STOP"), Just("MAX_TOKENS"), Just("SPII"), Just("OTHER")];
    (proptest::collection::vec(own_part(), 0..6), reason, 0..1000u64, 0..1000u64).prop_map(
        |(parts, reason, input, output)| {
            json!({
                "candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0, "finishReason": reason}],
                "modelVersion": "gemini-x-001", "responseId": "r1",
                "usageMetadata": {"promptTokenCount": input, "candidatesTokenCount": output,
                    "totalTokenCount": input + output, "thoughtsTokenCount": 0},
            })
        },
    )
}

/// The message as it goes back to its maker.
fn sent_back(response: &Response) -> Value {
    let results = response.tool_calls().map(|call| ToolResult::text(&call.id, "done")).collect::<Vec<_>>();
    let message = response.message.clone();
    encode(&Request::of([Message::user("q"), message, Message::tool_results(results), Message::user("q")]))
}

/// The same parts, neighbouring plain texts of one kind joined, as a stream gives them.
fn joined(parts: &[Value]) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for part in parts {
        let last = out.last_mut().filter(|last| {
            let open = |p: &Value| p.get("text").is_some() && p.get("thoughtSignature").is_none();
            let thought = |p: &Value| p.get("thought").is_some();
            open(last)
                && thought(last) == thought(part)
                && (open(part) || (thought(part) && part.get("text").is_some()))
        });
        match last {
            Some(last) => {
                let text = [&*last, part].map(|p| p["text"].as_str().unwrap()).concat();
                *last = part.clone();
                last["text"] = text.into();
            }
            None => out.push(part.clone()),
        }
    }
    out
}

fn model_parts(body: &Value) -> Vec<Value> {
    let contents = body["contents"].as_array().unwrap();
    let model = contents.iter().find(|content| content["role"] == "model");
    model.map(|content| content["parts"].as_array().unwrap().clone()).unwrap_or_default()
}

fn request() -> impl Strategy<Value = Request> {
    let turn = (
        text(),
        proptest::collection::vec((text(), any::<bool>(), any::<bool>()), 0..3),
        proptest::option::of(text()),
        any::<bool>(),
    );
    let messages = proptest::collection::vec(turn, 1..4).prop_map(|turns| {
        let mut messages = vec![Message::system("be good"), Message::developer("and brief")];
        for (turn, (question, calls, thought, own)) in turns.into_iter().enumerate() {
            let origin = if own { origin() } else { other_origin() };
            let from = |content| received(content, origin.clone(), None);
            messages.push(Message::new(
                Role::User,
                vec![Part::text(question), Part::image(Media::bytes(vec![1, 2]))],
            ));
            let mut parts = vec![from(Content::Text("so".into()))];
            parts.extend(
                thought
                    .map(|text| from(Content::Thinking(Thinking { text, signature: Some("c2ln".into()) }))),
            );
            let id = |index: usize| format!("call_{turn}_{index}");
            parts.extend(calls.iter().enumerate().map(|(index, (value, ..))| {
                let arguments = json!({"a": value}).to_string();
                from(Content::ToolCall(ToolCall::function(id(index), "look/up", arguments)))
            }));
            messages.push(Message::new(Role::Assistant, parts));
            let results: Vec<_> = calls
                .iter()
                .enumerate()
                .map(|(index, (value, failed, pictured))| {
                    let result = if *failed {
                        ToolResult::error(id(index), value.as_str())
                    } else {
                        ToolResult::json(id(index), json!({"found": value}))
                    };
                    let images = if *pictured { vec![Media::url("https://x/y.png")] } else { Vec::new() };
                    ToolResult { images, ..result }
                })
                .collect();
            messages.push(Message::tool_results(results.into_iter().rev()));
        }
        messages.push(Message::user("and now?"));
        messages
    });
    let choice = prop_oneof![
        Just(None),
        Just(Some(ToolChoice::Auto)),
        Just(Some(ToolChoice::None)),
        Just(Some(ToolChoice::Required)),
        Just(Some(ToolChoice::Named("plain".into()))),
    ];
    let schema = json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": ["x", null]},
        "b": {"type": "array", "items": {"enum": [1, 2]}}}, "required": ["a"]});
    (messages, choice, proptest::option::of(0..100u64), any::<bool>()).prop_map(
        move |(messages, tool_choice, max_tokens, formed)| Request {
            model: Some("gemini-x".into()),
            tools: vec![
                ToolSpec::foreign("plain", "d", schema.clone()),
                ToolSpec::foreign("bare", "d", json!({"type": "object", "properties": {}})),
            ],
            tool_choice,
            max_tokens,
            reasoning_effort: formed.then_some(Effort::High),
            response_format: formed.then(|| ResponseFormat::JsonSchema {
                name: "answer".into(),
                schema: schema.clone(),
                strict: false,
            }),
            provider_options: serde_json::from_value(
                json!({"gemini": {"safetySettings": [], "generationConfig": {"topK": 3}}}),
            )
            .unwrap(),
            ..Request::of(messages)
        },
    )
}

proptest! {
    #[test]
    fn an_answer_goes_back_as_it_came(answer in own_answer()) {
        let response = Gemini.decode_response(answer.to_string().as_bytes(), &decode_cx()).unwrap();
        let parts = answer["candidates"][0]["content"]["parts"].as_array().unwrap();
        prop_assert_eq!(&model_parts(&sent_back(&response)), parts);
    }

    #[test]
    fn a_written_answer_is_read_as_it_was(answer in own_answer()) {
        let read = |body: &Value| Gemini.decode_response(body.to_string().as_bytes(), &decode_cx()).unwrap();
        let response = read(&answer);
        let mut again = read(&Gemini.encode_response(&response));
        again.raw.clone_from(&response.raw);
        again.usage.raw.clone_from(&response.usage.raw);
        prop_assert_eq!(sent_back(&again), sent_back(&response));
        // Raw items differ where a made id was written out.
        prop_assert_eq!(
            again.message.content.iter().map(Part::content).collect::<Vec<_>>(),
            response.message.content.iter().map(Part::content).collect::<Vec<_>>()
        );
        prop_assert_eq!((again.id, again.model, again.usage), (response.id, response.model, response.usage));
        prop_assert_eq!(again.finish_reason, response.finish_reason);
    }

    #[test]
    fn a_stream_folds_into_the_whole_answer(answer in own_answer()) {
        // One chunk for each part, as the API sends them.
        let parts = answer["candidates"][0]["content"]["parts"].as_array().unwrap();
        let mut bytes = Vec::new();
        for part in parts {
            let chunk = json!({"candidates": [{"content": {"parts": [part]}}], "responseId": "r1",
                "modelVersion": "gemini-x-001", "usageMetadata": {"promptTokenCount": 1}});
            sse::encode("", &chunk.to_string(), &mut bytes);
        }
        let mut last = answer.clone();
        last["candidates"][0]["content"]["parts"] = json!([]);
        sse::encode("", &last.to_string(), &mut bytes);
        let events = decode_stream(&bytes).unwrap();
        let streamed = fold(&events);
        prop_assert_eq!(model_parts(&sent_back(&streamed)), joined(parts));
        let whole = Gemini.decode_response(answer.to_string().as_bytes(), &decode_cx()).unwrap();
        prop_assert_eq!(streamed.text(), whole.text());
        prop_assert_eq!(streamed.reasoning(), whole.reasoning());
        prop_assert_eq!(streamed.tool_calls().collect::<Vec<_>>(), whole.tool_calls().collect::<Vec<_>>());
        prop_assert_eq!((streamed.id, streamed.model), (whole.id, whole.model));
        prop_assert_eq!((streamed.usage, streamed.finish_reason), (whole.usage, whole.finish_reason));

        // Written anew and read again it is the same stream, but for where signatures of texts stand.
        let mut written = Vec::new();
        let mut encoder = Gemini.stream_encoder();
        for event in &events {
            encoder.event(event, &mut written);
        }
        let again = fold(&decode_stream(&written).unwrap());
        let streamed = fold(&events);
        prop_assert_eq!(again.text(), streamed.text());
        prop_assert_eq!(again.reasoning(), streamed.reasoning());
        prop_assert_eq!(again.tool_calls().collect::<Vec<_>>(), streamed.tool_calls().collect::<Vec<_>>());
        let signatures = |response: &Response| {
            let parts = model_parts(&sent_back(response));
            parts.iter().filter_map(|part| part.get("thoughtSignature").cloned()).collect::<Vec<_>>()
        };
        prop_assert_eq!(signatures(&again), signatures(&streamed));
        prop_assert_eq!(again.finish_reason, streamed.finish_reason);
    }

    #[test]
    fn a_foreign_answer_keeps_its_meaning(
        thought in text(), said in text(), names in proptest::collection::vec("[a-z]{1,5}", 0..3), sig in signature(),
    ) {
        let mut parts = vec![
            Part::new(Content::Thinking(Thinking { text: thought, signature: sig.clone() })),
            Part::text(said),
        ];
        parts.extend(names.iter().enumerate().map(|(index, name)| {
            Part::new(Content::ToolCall(ToolCall::function(format!("toolu_{index}"), name, "{\"a\":1}")))
        }));
        let mut response = Response::empty("council", "m");
        response.message = Message::new(Role::Assistant, parts);
        let unified = if names.is_empty() { Finish::Stop } else { Finish::ToolCalls };
        response.finish_reason = FinishReason::with_raw(unified, "STOP");
        response.usage = Usage { reasoning: Some(1), cache_read: Some(2), ..Usage::new(5, 4) };
        let body = Gemini.encode_response(&response);
        let again = Gemini.decode_response(body.to_string().as_bytes(), &decode_cx()).unwrap();
        prop_assert_eq!(again.text(), response.text());
        prop_assert_eq!(again.reasoning(), response.reasoning());
        prop_assert_eq!(again.tool_calls().collect::<Vec<_>>(), response.tool_calls().collect::<Vec<_>>());
        prop_assert_eq!(&again.finish_reason, &response.finish_reason);
        prop_assert_eq!(Usage { raw: None, ..again.usage.clone() }, response.usage);
        let signed = model_parts(&sent_back(&again)).iter().filter(|p| p.get("thoughtSignature").is_some()).count();
        prop_assert_eq!(signed, usize::from(sig.is_some()));
    }

    #[test]
    fn a_request_read_and_written_again_is_the_same(request in request()) {
        let body = encode(&request);
        let incoming = Incoming { path: "/v1beta/models/gemini-x:generateContent", body: &body };
        let (read, mode) = Gemini.decode_request(incoming, &Arc::new(origin())).unwrap();
        prop_assert_eq!(mode, Mode::Complete);
        prop_assert_eq!(encode(&read).to_string(), body.to_string());
        let results = |request: &Request| {
            request.messages.iter().flat_map(Message::results).count()
        };
        prop_assert_eq!(results(&read), results(&request));
        // Every result answers a call.
        let calls: Vec<&str> = read.messages.iter().flat_map(Message::tool_calls).map(|c| c.id.as_str()).collect();
        prop_assert!(read.messages.iter().flat_map(Message::results).all(|r| calls.contains(&r.call_id.as_str())));
    }

    #[test]
    fn a_longer_conversation_starts_with_the_same_bytes(request in request()) {
        let before = encode(&request).to_string();
        let mut longer = request;
        longer.messages.extend([Message::assistant("done"), Message::user("more")]);
        let after = encode(&longer).to_string();
        let shared = before.strip_suffix("]}").unwrap();
        prop_assert!(after.starts_with(shared), "{before}\n{after}");
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), status in 0..700u16) {
        let _ = Gemini.decode_response(&bytes, &decode_cx());
        let _ = Gemini.decode_error(status, &bytes);
        let _ = decode_stream(&bytes);
        let text = String::from_utf8_lossy(&bytes);
        let mut events = Vec::new();
        let _ = Gemini.stream_decoder(decode_cx()).frame(Frame { event: "", data: &text }, &mut events);
        let _ = Gemini.decode_request(Incoming { path: &text, body: &json!({}) }, &Arc::new(origin()));
    }

    #[test]
    fn arbitrary_json_never_panics(body in any_json(), wrapped in 0..4usize) {
        let body = match wrapped {
            0 => json!({"candidates": [{"content": {"parts": [body]}}], "usageMetadata": body, "error": null}),
            1 => json!({"contents": [{"role": "model", "parts": [body]}, {"parts": [{"functionResponse": body}]}],
                "tools": [{"functionDeclarations": [{"name": "f", "parameters": body}]}], "generationConfig": body}),
            2 => json!({"error": body}),
            _ => body,
        };
        let text = body.to_string();
        let _ = Gemini.decode_response(text.as_bytes(), &decode_cx());
        let _ = Gemini.decode_error(400, text.as_bytes());
        let mut events = Vec::new();
        let mut decoder = Gemini.stream_decoder(decode_cx());
        let _ = decoder.frame(Frame { event: "", data: &text }, &mut events);
        let _ = decoder.end(&mut events);
        let incoming = Incoming { path: "/v1beta/models/m:generateContent", body: &body };
        if let Ok((request, _)) = Gemini.decode_request(incoming, &Arc::new(origin())) {
            let _ = with_cx(&request, |cx| Gemini.encode_request(&request, cx));
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        Just("text"),
        Just("thought"),
        Just("functionCall"),
        Just("name"),
        Just("args"),
        Just("response"),
        Just("inlineData"),
        Just("data"),
        Just("mime_type"),
        Just("type"),
        Just("properties"),
        Just("anyOf"),
        Just("enum"),
        Just("status"),
        Just("details"),
        Just("thinkingConfig"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-zA-Z=_]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 30, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::vec((key.clone(), inner), 0..4)
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

#[test]
fn plain_text_is_handed_on_and_not_kept() {
    let mut decoder: Box<dyn StreamDecoder> = Gemini.stream_decoder(decode_cx());
    let chunk = json!({"candidates": [{"content": {"parts": [{"text": "x".repeat(1000)}]}}],
        "usageMetadata": {"promptTokenCount": 1}})
    .to_string();
    let mut out = Vec::new();
    for _ in 0..1000 {
        decoder.frame(Frame { event: "", data: &chunk }, &mut out).unwrap();
        assert!(out.iter().all(|event| !matches!(event, StreamEvent::TextEnd { .. })), "one segment");
        out.clear();
    }
    let last = json!({"candidates": [{"finishReason": "STOP"}]}).to_string();
    decoder.frame(Frame { event: "", data: &last }, &mut out).unwrap();
    decoder.end(&mut out).unwrap();
    assert!(matches!(out.as_slice(), [StreamEvent::TextEnd { raw: None, .. }, StreamEvent::Finish { .. }]));
}
