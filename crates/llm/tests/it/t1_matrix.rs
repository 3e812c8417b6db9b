//! The table of what the client promises: each row on each wire.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use junto_llm::generate::{Generate, Tool, generate, generate_object, stream};
use junto_llm::retry::Policy;
use junto_llm::{
    CallCx, Effort, ErrorKind, EventStream, Finish, Media, Message, Part, Request, Response, Role,
    StreamEvent, Timeouts, Wire,
};
use junto_twin::{After, Call, Fault, Options, Play, RetryAfter, Step, Think, Twin, When};
use serde_json::{Value, json};

use crate::support::{PNG, Stand, client, clock, eager, endpoint, model, session, stand, weather};

macro_rules! on_each_wire {
    ($($row:ident)*) => {
        on_each_wire!(@wire anthropic Anthropic $($row)*);
        on_each_wire!(@wire openai Responses $($row)*);
        on_each_wire!(@wire gemini Gemini $($row)*);
        on_each_wire!(@wire chat Chat $($row)*);
    };
    (@wire $module:ident $wire:ident $($row:ident)*) => {
        mod $module {
            $(#[tokio::test]
            async fn $row() {
                super::$row(junto_llm::Wire::$wire).await;
            })*
        }
    };
}

on_each_wire! {
    plain_text
    streamed_text
    image_by_bytes
    image_by_url
    image_by_path
    one_tool_call
    several_calls_in_one_turn
    a_loop_of_three_rounds
    streaming_with_tool_calls
    structured_output
    reasoning_tokens
    wrong_key_401
    too_many_requests_429
    exact_usage
    cache_reads_from_turn_five
    provider_options
    cancel
    timeout
    mid_stream_failure
    failure_before_any_content
    streamed_equals_whole
    tool_choice
}

async fn finish(events: EventStream) -> (Vec<StreamEvent>, Response) {
    let events: Vec<StreamEvent> = events.map(|e| e.expect("an event")).collect().await;
    let Some(StreamEvent::Finish { response: Some(response), .. }) = events.last() else {
        panic!("no finish: {:?}", events.last())
    };
    let response = (**response).clone();
    (events, response)
}

async fn plain_text(wire: Wire) {
    let s = stand(wire, Play::text("Hello, wörld.")).await;
    let response = s.client.complete(s.ask("hi"), &CallCx::new()).await.unwrap();
    assert_eq!(response.text(), "Hello, wörld.");
    assert_eq!(response.finish_reason.unified, Finish::Stop);
    assert_eq!(response.provider, "twin");
    assert!(!response.id.is_empty() && response.raw.is_some());
}

async fn streamed_text(wire: Wire) {
    let s = stand(wire, Play::text("One two three, four fünf six seven.")).await;
    let (events, response) = finish(s.client.stream(s.ask("hi"), &CallCx::new()).await.unwrap()).await;
    assert!(matches!(events[0], StreamEvent::StreamStart { .. }));
    let deltas: Vec<&str> = events
        .iter()
        .filter_map(|e| if let StreamEvent::TextDelta { text, .. } = e { Some(text.as_str()) } else { None })
        .collect();
    assert!(deltas.len() > 1, "in pieces: {deltas:?}");
    assert_eq!(deltas.concat(), "One two three, four fünf six seven.");
    assert_eq!(response.text(), deltas.concat());
}

async fn image(wire: Wire, media: Media) -> Value {
    let s = stand(wire, Play::text("a dot")).await;
    let parts = vec![Part::text("What is this?"), Part::image(media)];
    let request = Request::of([Message::new(Role::User, parts)]).model(model(wire));
    assert_eq!(s.client.complete(request, &CallCx::new()).await.unwrap().text(), "a dot");
    s.last_body()
}

async fn image_by_bytes(wire: Wire) {
    let body = image(wire, Media::bytes(PNG)).await.to_string();
    assert!(body.contains("image/png") && body.contains(&Media::bytes(PNG).base64().unwrap()), "{body}");
}

async fn image_by_url(wire: Wire) {
    let body = image(wire, Media::url("https://example.com/dot.png")).await.to_string();
    assert!(body.contains("https://example.com/dot.png"), "{body}");
}

async fn image_by_path(wire: Wire) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("dot.png");
    std::fs::write(&path, PNG).unwrap();
    let body = image(wire, Media::path(&path)).await.to_string();
    assert!(body.contains("image/png") && !body.contains("dot.png\"}") || wire == Wire::Responses, "{body}");
    assert!(body.contains(&Media::bytes(PNG).base64().unwrap()));
}

async fn one_tool_call(wire: Wire) {
    let play = Play::of([
        Step::call("get_weather", json!({"city": "Ghent"})),
        Step::text("It says: {{last_result}}"),
    ]);
    let s = stand(wire, play).await;
    let request = s.ask("weather?").tools([weather()]);
    let first = s.client.complete(request.clone(), &session()).await.unwrap();
    assert_eq!(first.finish_reason.unified, Finish::ToolCalls);
    let call = first.tool_calls().next().unwrap().clone();
    assert_eq!((call.name.as_str(), &call.arguments), ("get_weather", &json!({"city": "Ghent"})));
    let mut messages = request.messages.clone();
    messages.push(first.message.clone());
    messages.push(Message::tool_results([junto_llm::ToolResult::text(&call.id, "rain")]));
    let second = s.client.complete(Request { messages, ..request }, &session()).await.unwrap();
    assert_eq!(second.text(), "It says: rain");
}

fn active(s: &Stand, order: &Arc<AtomicU32>) -> Generate {
    let count = Arc::clone(order);
    let sunny = Tool::from(weather()).handler(move |input| {
        count.fetch_add(1, Ordering::SeqCst);
        async move { Ok::<_, String>(format!("sunny in {}", input.arguments["city"].as_str().unwrap_or("?"))) }
    });
    let count = Arc::clone(order);
    let noon = Tool::from(clock()).json_handler(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async move { Ok::<_, String>(json!({"time": "12:00"})) }
    });
    Generate::request(s.ask("weather and time?"))
        .client(&s.client)
        .tool(sunny)
        .tool(noon)
        .context(session())
        .retry(Policy::NONE)
}

fn both() -> Step {
    Step::calls([
        Call::new("get_weather", json!({"city": "Rome"})),
        Call::new("get_time", json!({"zone": "CET"})),
        Call::new("get_weather", json!({"city": "Oslo"})),
    ])
}

async fn several_calls_in_one_turn(wire: Wire) {
    let s = stand(wire, Play::of([both(), Step::text("done")])).await;
    let runs = Arc::new(AtomicU32::new(0));
    let result = generate(active(&s, &runs)).await.unwrap();
    assert_eq!((result.text().as_str(), runs.load(Ordering::SeqCst)), ("done", 3));
    assert_eq!(s.twin.requests().len(), 2, "all answers in one request");
    let outputs: Vec<String> = result.steps[0].results.iter().map(|r| r.output.to_text()).collect();
    assert_eq!(outputs, ["sunny in Rome", "{\"time\":\"12:00\"}", "sunny in Oslo"]);
    let body = s.last_body().to_string();
    let at = |text: &str| body.find(text).unwrap_or_else(|| panic!("{text} is not in {body}"));
    assert!(at("sunny in Rome") < at("12:00") && at("12:00") < at("sunny in Oslo"), "in call order");
}

async fn a_loop_of_three_rounds(wire: Wire) {
    let step = |n| Step { when: Some(When { round: Some(n), ..When::default() }), ..both() };
    let s = stand(wire, Play::of([step(0), step(1), step(2), Step::text("after three")])).await;
    let runs = Arc::new(AtomicU32::new(0));
    let result = generate(active(&s, &runs).max_tool_rounds(5)).await.unwrap();
    assert_eq!((result.text().as_str(), result.steps.len()), ("after three", 4));
    assert_eq!(runs.load(Ordering::SeqCst), 9);
    assert_eq!(result.total_usage.total, result.steps.iter().map(|s| s.response.usage.total).sum::<u64>());
}

async fn streaming_with_tool_calls(wire: Wire) {
    let s = stand(wire, Play::of([both(), Step::text("streamed answer at the end")])).await;
    let runs = Arc::new(AtomicU32::new(0));
    let (events, response) = finish(stream(active(&s, &runs)).await.unwrap()).await;
    assert_eq!(response.text(), "streamed answer at the end");
    assert_eq!(runs.load(Ordering::SeqCst), 3);
    for call in events.iter().filter_map(|e| {
        if let StreamEvent::ToolCallEnd { id, call, .. } = e { Some((id, call)) } else { None }
    }) {
        let joined: String = events
            .iter()
            .take_while(|e| !matches!(e, StreamEvent::StepFinish { .. }))
            .filter_map(|e| match e {
                StreamEvent::ToolCallDelta { id, arguments } if id == call.0 => Some(arguments.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(
            serde_json::from_str::<Value>(&joined).unwrap(),
            call.1.arguments,
            "deltas join to the whole"
        );
    }
}

async fn structured_output(wire: Wire) {
    let schema = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": false
    });
    let play = Play::of([
        Step::object(json!({"name": "Ada", "age": 36})),
        Step::object(json!({"name": "Ada", "age": "old"})),
    ]);
    let s = stand(wire, play).await;
    let ask = || Generate::request(s.ask("who?")).client(&s.client).retry(Policy::NONE);
    let object = generate_object(ask(), "person", schema.clone()).await.unwrap();
    assert_eq!(object.object, json!({"name": "Ada", "age": 36}));
    let error = generate_object(ask(), "person", schema).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoObject);
    assert!(error.message().contains("`age` must be an integer"), "{error}");
    assert_eq!(s.twin.requests().len(), 2, "a mismatch is not retried");
}

async fn reasoning_tokens(wire: Wire) {
    let step =
        Step { think: Think::Text("Let me count to ten, slowly and with care.".into()), ..Step::text("ten") };
    let s = stand(wire, Play::of([step])).await;
    let request = Request { reasoning_effort: Some(Effort::High), ..s.ask("count") };
    let whole = s.client.complete(request.clone(), &session()).await.unwrap();
    let (_, streamed) = finish(s.client.stream(request, &session()).await.unwrap()).await;
    for response in [whole, streamed] {
        assert_eq!(response.reasoning(), "Let me count to ten, slowly and with care.");
        assert_eq!(response.text(), "ten");
        let reasoning = response.usage.reasoning.expect("reasoning tokens");
        assert!(reasoning > 0 && reasoning <= response.usage.output, "{:?}", response.usage);
    }
}

async fn wrong_key_401(wire: Wire) {
    let s = stand(wire, Play::default()).await;
    let client = client(endpoint(&s.twin, wire).key("wrong-key-0123456789"));
    for error in [
        client.complete(s.ask("hi"), &CallCx::new()).await.unwrap_err(),
        client.stream(s.ask("hi"), &CallCx::new()).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Authentication, "{error:?}");
        assert!(!error.is_retryable() && error.hint().is_some() && error.provider() == Some("twin"));
        assert!(matches!(error.status(), Some(400 | 401)));
    }
}

async fn too_many_requests_429(wire: Wire) {
    let limited = |f: Fault| Options { fault: Some(f), ..Options::default() };
    let fault = Fault { retry_after: Some(RetryAfter::Seconds(7)), ..Fault::status(429) };
    let twin = Twin::start(Play::text("at last"), limited(fault.times(1))).unwrap();
    let client = client(endpoint(&twin, wire));
    let ask = || Request::prompt("hi").model(model(wire));
    let error = client.complete(ask(), &CallCx::new()).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::RateLimit, Some(429)));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
    assert!(error.is_retryable());

    // With retries it succeeds, and each retry is told of.
    for form in [
        Fault { retry_after_ms: Some(1), ..Fault::status(429) },
        Fault { retry_after_date: Some(0), ..Fault::status(429) },
        Fault::status(503),
    ] {
        let twin = Twin::start(Play::text("at last"), limited(form.times(2))).unwrap();
        let client = crate::support::client(endpoint(&twin, wire));
        let told = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&told);
        let options = Generate::request(ask())
            .client(&client)
            .retry(eager())
            .on_retry(Arc::new(move |_| _ = count.fetch_add(1, Ordering::SeqCst)));
        assert_eq!(generate(options.clone()).await.unwrap().text(), "at last");
        assert_eq!((told.load(Ordering::SeqCst), twin.requests().len()), (2, 3));
    }
}

async fn exact_usage(wire: Wire) {
    let mut step = Step::text("counted");
    step.usage.input = Some(1234);
    step.usage.output = Some(56);
    step.usage.reasoning = Some(20);
    step.usage.cache_read = Some(1000);
    let s = stand(wire, Play::of([step])).await;
    let request = Request { reasoning_effort: Some(Effort::High), ..s.ask("count") };
    let whole = s.client.complete(request.clone(), &session()).await.unwrap().usage;
    let streamed = finish(s.client.stream(request, &session()).await.unwrap()).await.1.usage;
    for usage in [whole, streamed] {
        assert_eq!((usage.input, usage.output, usage.total), (1234, 56, 1290), "{usage:?}");
        assert_eq!((usage.cache_read, usage.reasoning), (Some(1000), Some(20)), "{usage:?}");
        assert!(usage.raw.is_some());
    }
}

async fn cache_reads_from_turn_five(wire: Wire) {
    let s = stand(
        wire,
        Play::of([Step { loop_rounds: None, ..Step::text("An answer of some length to turn {{round}}.") }]),
    )
    .await;
    let system = "Rule: keep the answers short and to the point. ".repeat(400);
    let mut messages = vec![Message::system(system)];
    let cx = session();
    for turn in 1..=8 {
        messages.push(Message::user(format!("Question {turn}: what about it?")));
        let request = Request::of(messages.clone()).model(model(wire)).tools([weather(), clock()]);
        let response = s.client.complete(request, &cx).await.unwrap();
        messages.push(response.message.clone());
        if turn >= 5 {
            let read = response.usage.cache_read.unwrap_or(0);
            assert!(read * 2 > response.usage.input, "turn {turn}: {:?}", response.usage);
        }
    }
}

async fn provider_options(wire: Wire) {
    let (options, pointer, expected) = match wire {
        Wire::Anthropic => {
            (json!({"service_tier": "auto", "beta_headers": ["a-1", "b-2"]}), "/service_tier", json!("auto"))
        }
        Wire::Responses => {
            (json!({"service_tier": "flex", "text": {"verbosity": "low"}}), "/text/verbosity", json!("low"))
        }
        Wire::Gemini => (json!({"generationConfig": {"seed": 7}}), "/generationConfig/seed", json!(7)),
        Wire::Chat => (json!({"seed": 7}), "/seed", json!(7)),
    };
    let s = stand(wire, Play::text("ok")).await;
    let mut request = s.ask("hi");
    request.provider_options.insert(wire.name().into(), options);
    request.provider_options.insert("someone-else".into(), json!({"unknown": true}));
    s.client.complete(request, &CallCx::new()).await.unwrap();
    assert_eq!(s.last_body().pointer(pointer), Some(&expected));
    if wire == Wire::Anthropic {
        assert_eq!(s.twin.requests()[0].header("anthropic-beta"), Some("a-1,b-2"));
    }
}

async fn cancel(wire: Wire) {
    let stalled =
        Step { fault: Some(Fault { stall: Some(After(1)), ..Fault::default() }), ..Step::text("never") };
    let slow = Step {
        fault: Some(Fault { stall: Some(After(900)), ..Fault::default() }),
        ..Step::text("x".repeat(4000))
    };
    let s = stand(wire, Play::of([stalled, slow])).await;

    let cx = CallCx::new();
    let token = cx.cancel.clone();
    let call = s.client.complete(s.ask("hi"), &cx);
    let (result, ()) = tokio::join!(call, async {
        s.twin.wait_for_requests(1).await;
        token.cancel();
    });
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Aborted);
    s.twin.wait_until_idle().await; // The connection is closed, or this would hang.

    let cx = CallCx::new();
    let mut events = s.client.stream(s.ask("hi"), &cx).await.unwrap();
    events.next().await.unwrap().unwrap();
    cx.cancel.cancel();
    let rest: Vec<_> = events.collect().await;
    assert_eq!(rest.last().unwrap().as_ref().unwrap_err().kind(), ErrorKind::Aborted);
    s.twin.wait_until_idle().await;
}

async fn timeout(wire: Wire) {
    let quiet = Fault { slow_headers_ms: Some(60_000), ..Fault::default() };
    let stall = Fault { stall: Some(After(900)), ..Fault::default() };
    let s = stand(
        wire,
        Play::of([Step::fault(quiet), Step { fault: Some(stall), ..Step::text("x".repeat(4000)) }]),
    )
    .await;
    let short = Duration::from_millis(300);
    let cx = CallCx::new().timeouts(Timeouts { request: short, ..Timeouts::default() });
    let error = s.client.complete(s.ask("hi"), &cx).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.message().contains("request timeout") && !error.is_retryable());
    let cx = CallCx::new().timeouts(Timeouts { idle: short, ..Timeouts::default() });
    let events: Vec<_> = s.client.stream(s.ask("hi"), &cx).await.unwrap().collect().await;
    let error = events.last().unwrap().as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.message().contains("idle timeout"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("`timeouts.idle`")), "{error:?}");
    s.twin.wait_until_idle().await;
}

async fn mid_stream_failure(wire: Wire) {
    let fail = |fault: Fault| Step { fault: Some(fault), ..Step::text("word ".repeat(400)) };
    let s = stand(
        wire,
        Play::of([
            fail(Fault { drop_after_bytes: Some(After(3000)), ..Fault::default() }),
            fail(Fault { error_event: Some(After(8)), ..Fault::default() }),
        ]),
    )
    .await;
    for expected in [ErrorKind::Stream, ErrorKind::Server] {
        let events: Vec<_> = s.client.stream(s.ask("hi"), &CallCx::new()).await.unwrap().collect().await;
        let (last, before) = events.split_last().unwrap();
        let error = last.as_ref().expect_err("the stream fails");
        assert_eq!(error.kind(), expected, "{error:?}");
        assert!(before.iter().any(|e| matches!(e, Ok(StreamEvent::TextDelta { .. }))), "content came first");
        assert!(!error.is_retryable(), "content was delivered");
        assert_eq!(error.provider(), Some("twin"));
    }
    // Not retried either, whatever the policy says.
    let before = s.twin.requests().len();
    let events: Vec<_> = stream(Generate::request(s.ask("hi")).client(&s.client).retry(eager()))
        .await
        .unwrap()
        .collect()
        .await;
    assert!(events.last().unwrap().is_err());
    assert_eq!(s.twin.requests().len(), before + 1);
}

/// A stream that has begun and shown nothing is tried again, and what came of it is not seen.
async fn failure_before_any_content(wire: Wire) {
    // How many events come before the first that shows something.
    let before = match wire {
        Wire::Anthropic => 2,
        Wire::Responses => 3,
        Wire::Chat => 1,
        Wire::Gemini => 0,
    };
    let fault = Fault { error_event: Some(After(before)), ..Fault::default() }.times(1);
    let s = stand(wire, Play::of([Step { fault: Some(fault), ..Step::text("Here it is.") }])).await;
    let request = Request { reasoning_effort: Some(Effort::High), ..s.ask("hi") };
    let events = stream(Generate::request(request).client(&s.client).retry(eager())).await.unwrap();
    let (events, response) = finish(events).await;
    assert_eq!(response.text(), "Here it is.");
    assert_eq!(s.twin.requests().len(), 2);
    let begun = |event: &&StreamEvent| matches!(event, StreamEvent::TextStart { .. });
    assert_eq!(events.iter().filter(begun).count(), 1, "{events:?}");
}

async fn streamed_equals_whole(wire: Wire) {
    let step = || Step { text: Some("I will look it up.".into()), ..both() };
    let s = stand(wire, Play::of([step(), step()])).await;
    let request =
        Request { reasoning_effort: Some(Effort::High), ..s.ask("both?") }.tools([weather(), clock()]);
    let whole = s.client.complete(request.clone(), &session()).await.unwrap();
    let streamed = finish(s.client.stream(request, &session()).await.unwrap()).await.1;
    let view = |r: &Response| {
        let parts = r.message.content.iter().map(|p| match p.content() {
            // Ids and signatures are fresh each time.
            junto_llm::Content::ToolCall(call) => format!("call {} {}", call.name, call.arguments),
            junto_llm::Content::Thinking(t) => format!("think {} {}", t.text, t.signature.is_some()),
            other => format!("{other:?}"),
        });
        (parts.collect::<Vec<_>>(), r.finish_reason.clone(), r.model.clone(), r.usage.output)
    };
    assert_eq!(view(&streamed), view(&whole));
}

async fn tool_choice(wire: Wire) {
    use junto_llm::ToolChoice as C;
    let s = stand(wire, Play::of([Step::calls([Call::bare("*")])])).await;
    for (choice, calls) in [(C::Auto, 1), (C::None, 0), (C::Required, 1), (C::Named("get_time".into()), 1)] {
        let request =
            Request { tool_choice: Some(choice.clone()), ..s.ask("go") }.tools([weather(), clock()]);
        let response = s.client.complete(request, &CallCx::new()).await.unwrap();
        assert_eq!(response.tool_calls().count(), calls, "{choice:?}");
        if let C::Named(name) = choice {
            assert_eq!(response.tool_calls().next().unwrap().name, name);
        }
        assert!(s.last_body().to_string().contains("get_weather"), "the tools stay declared");
    }
}
