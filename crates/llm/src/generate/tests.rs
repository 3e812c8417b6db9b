//! The loop's own rules, against a scripted provider; the wires are tested against the twins.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};

use super::*;
use crate::{Content, ErrorKind, Finish, Fut, Part, Provider, Role, SegmentId, ToolChoice};

/// Answers from a list; keeps the requests.
struct Script {
    answers: Mutex<VecDeque<Vec<Content>>>,
    requests: Mutex<Vec<Request>>,
}

impl Script {
    fn next(&self, request: Request) -> Result<Response, Error> {
        self.requests.lock().unwrap().push(request);
        let content =
            self.answers.lock().unwrap().pop_front().ok_or_else(|| Error::stream("no more answers"))?;
        let mut response = Response::empty("script", "m");
        response.message = Message::new(Role::Assistant, content.into_iter().map(Part::new).collect());
        response.finish_reason.unified = Finish::Stop;
        response.usage = Usage::new(10, 1);
        Ok(response)
    }
}

impl Provider for Script {
    fn complete<'a>(&'a self, request: Request, _cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move { self.next(request) })
    }

    fn stream<'a>(&'a self, request: Request, _cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let response = self.next(request)?;
            let mut events = Vec::new();
            for (n, part) in response.message.content.iter().enumerate() {
                let id = SegmentId(u32::try_from(n).unwrap());
                match part.content() {
                    Content::Text(text) => {
                        events.push(StreamEvent::TextStart { id });
                        for piece in text.as_bytes().chunks(3) {
                            let text = String::from_utf8_lossy(piece).into_owned();
                            events.push(StreamEvent::TextDelta { id, text });
                        }
                        events.push(StreamEvent::TextEnd { id, raw: None });
                    }
                    Content::ToolCall(call) => {
                        let (call_id, name, kind) = (call.id.clone(), call.name.clone(), call.kind);
                        events.push(StreamEvent::ToolCallStart { id, call_id, name, kind });
                        events.push(StreamEvent::ToolCallEnd { id, call: call.clone(), raw: None });
                    }
                    other => panic!("not scripted: {other:?}"),
                }
            }
            events.push(StreamEvent::Finish {
                reason: response.finish_reason,
                usage: response.usage,
                response: None,
            });
            Ok(EventStream::new(futures_util::stream::iter(events.into_iter().map(Ok))))
        })
    }
}

fn text(text: &str) -> Vec<Content> {
    vec![Content::Text(text.into())]
}

fn call(id: &str, name: &str, raw: &str) -> Content {
    Content::ToolCall(ToolCall::function(id, name, raw))
}

fn script(answers: Vec<Vec<Content>>) -> (Arc<Script>, Client) {
    let script = Arc::new(Script { answers: Mutex::new(answers.into()), requests: Mutex::default() });
    let client = Client::builder().provider("script", script.clone()).build().unwrap();
    (script, client)
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
}

fn double() -> Tool {
    Tool::new("double", "Doubles a number", schema()).unwrap().json_handler(|input| async move {
        Ok::<_, String>(json!(input.arguments["n"].as_i64().unwrap_or(0) * 2))
    })
}

fn ask(client: &Client) -> Generate {
    Generate::prompt("go").client(client).model("m").retry(Policy::NONE)
}

#[tokio::test]
async fn tools_run_side_by_side_and_answer_in_call_order() {
    let (script, client) =
        script(vec![vec![call("a", "slow", "{\"n\":1}"), call("b", "double", "{\"n\":2}")], text("done")]);
    // `slow` can only finish once `double` has run: they must overlap.
    let gate = Arc::new(tokio::sync::Notify::new());
    let (wait, open) = (gate.clone(), gate);
    let slow = Tool::new("slow", "", schema()).unwrap().handler(move |_| {
        let wait = wait.clone();
        async move {
            wait.notified().await;
            Ok::<_, String>("slow")
        }
    });
    let quick = Tool::new("double", "", schema()).unwrap().handler(move |input| {
        open.notify_one();
        assert_eq!((input.call_id.as_str(), input.messages.len()), ("b", 2));
        async { Ok::<_, String>("quick") }
    });
    let result = generate(ask(&client).tool(slow).tool(quick)).await.unwrap();
    assert_eq!((result.text().as_str(), result.steps.len(), result.total_usage.total), ("done", 2, 22));
    let ids: Vec<&str> = result.steps[0].results.iter().map(|r| r.call_id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    let requests = script.requests.lock().unwrap();
    assert_eq!(requests[1].messages.len(), 3, "both results in one message");
    assert_eq!(requests[1].messages[2].results().count(), 2);
}

#[tokio::test]
async fn rounds_are_limited_and_zero_hands_back() {
    for (rounds, calls) in [(0u32, 1usize), (1, 2), (3, 4)] {
        let (script, client) = script(vec![vec![call("a", "double", "{\"n\":1}")]; 6]);
        let result = generate(ask(&client).tool(double()).max_tool_rounds(rounds)).await.unwrap();
        assert_eq!(script.requests.lock().unwrap().len(), calls);
        assert_eq!(result.response.tool_calls().count(), 1);
        assert!(result.steps.last().unwrap().results.is_empty());
    }
}

#[tokio::test]
async fn passive_tools_and_stop_conditions_end_the_loop() {
    let (script, client) = script(vec![vec![call("a", "double", "{\"n\":1}")]; 6]);
    let passive = Tool::new("double", "", schema()).unwrap();
    generate(ask(&client).tool(passive).max_tool_rounds(5)).await.unwrap();
    assert_eq!(script.requests.lock().unwrap().len(), 1);
    generate(ask(&client).tool(double()).max_tool_rounds(5).stop_when(|steps| steps.len() == 2))
        .await
        .unwrap();
    assert_eq!(script.requests.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn bad_calls_are_told_to_the_model_or_repaired() {
    let answers = vec![
        vec![call("a", "double", "{\"n\":\"x\"}"), call("b", "nope", "{}"), call("c", "double", "{oops")],
        text("ok"),
    ];
    let (_, client) = script(answers.clone());
    let result = generate(ask(&client).tool(double())).await.unwrap();
    let told: Vec<String> = result.steps[0].results.iter().map(|r| r.output.to_text()).collect();
    assert!(result.steps[0].results.iter().all(|r| r.is_error));
    assert!(
        told[0].contains("`n`") && told[1].contains("`nope`") && told[2].contains("JSON object"),
        "{told:?}"
    );

    let (_, client) = self::script(answers);
    let repaired = ask(&client).tool(double()).repair(|_, _| Some("{\"n\": 4}".into()));
    let result = generate(repaired).await.unwrap();
    assert_eq!(result.steps[0].results[0].output.to_text(), "8");
}

#[tokio::test]
async fn a_streamed_loop_tells_its_steps_and_finishes_once() {
    let (_, client) = script(vec![vec![call("a", "double", "{\"n\":1}")], text("all done")]);
    let events: Vec<StreamEvent> =
        stream(ask(&client).tool(double())).await.unwrap().map(Result::unwrap).collect().await;
    let steps = events.iter().filter(|e| matches!(e, StreamEvent::StepFinish { .. })).count();
    let finishes = events.iter().filter(|e| matches!(e, StreamEvent::Finish { .. })).count();
    assert_eq!((steps, finishes), (1, 1));
    let Some(StreamEvent::Finish { usage, response: Some(response), .. }) = events.last() else {
        panic!("no finish")
    };
    assert_eq!((usage.total, response.text().as_str()), (22, "all done"));
    let (_, client) = script(vec![text("some text")]);
    let pieces: Vec<String> =
        text_stream(stream(ask(&client)).await.unwrap()).map(Result::unwrap).collect().await;
    assert_eq!(pieces.concat(), "some text");
}

#[tokio::test]
async fn objects_are_checked_and_grow() {
    let (script, client) =
        script(vec![text("{\"n\": 7}"), text("{\"n\": \"x\"}"), text("sorry"), text("{\"n\": 12345}")]);
    let object = generate_object(ask(&client), "number", schema()).await.unwrap();
    assert_eq!(object.object, json!({"n": 7}));
    assert!(matches!(
        script.requests.lock().unwrap()[0].response_format,
        Some(crate::ResponseFormat::JsonSchema { .. })
    ));
    for _ in 0..2 {
        let error = generate_object(ask(&client), "number", schema()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoObject);
    }
    let events: Vec<ObjectEvent> =
        stream_object(ask(&client), "number", schema()).await.unwrap().map(Result::unwrap).collect().await;
    assert!(matches!(&events[0], ObjectEvent::Partial(v) if v.is_object()));
    assert!(matches!(events.last(), Some(ObjectEvent::Complete(g)) if g.object == json!({"n": 12345})));
    let error = generate_object(ask(&client), "list", json!({"type": "array"})).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Configuration && error.message().contains("`list`"));
}

#[tokio::test]
async fn contradictions_are_errors_before_anything_is_sent() {
    let (script, client) = script(vec![]);
    let both = Generate::messages([Message::user("a")]).with_prompt("b").client(&client);
    assert!(generate(both).await.unwrap_err().message().contains("both"));
    assert!(
        generate(Generate::messages([]).client(&client)).await.unwrap_err().message().contains("neither")
    );
    let twice = ask(&client).tool(double()).tool(double());
    assert!(generate(twice).await.unwrap_err().message().contains("`double`"));
    let named = ask(&client).with(|r| r.tool_choice = Some(ToolChoice::Named("ghost".into())));
    assert!(generate(named).await.unwrap_err().message().contains("`ghost`"));
    assert!(script.requests.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn time_limits_and_cancellation_reach_into_tools() {
    let forever = || {
        Tool::new("double", "", schema())
            .unwrap()
            .handler(|_| std::future::pending::<Result<String, String>>())
    };
    let answers = || vec![vec![call("a", "double", "{\"n\":1}")]; 3];
    let (_, client) = script(answers());
    let error =
        generate(ask(&client).tool(forever()).total_timeout(Duration::from_secs(5))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.message().contains("total"));
    let token = CancellationToken::new();
    let (_, client) = script(answers());
    let running = generate(ask(&client).tool(forever()).cancel(token.clone()));
    token.cancel();
    assert_eq!(running.await.unwrap_err().kind(), ErrorKind::Aborted);
}

/// A provider that takes three seconds to open a stream, and three more to end it.
struct Slow;

impl Provider for Slow {
    fn complete<'a>(&'a self, _request: Request, _cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(std::future::pending())
    }

    fn stream<'a>(&'a self, _request: Request, _cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            Ok(EventStream::new(futures_util::stream::once(async {
                tokio::time::sleep(Duration::from_secs(3)).await;
                Ok(StreamEvent::Finish {
                    reason: crate::FinishReason::new(Finish::Stop),
                    usage: Usage::default(),
                    response: None,
                })
            })))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_streamed_step_counts_from_its_opening() {
    let client = Client::builder().provider("slow", Arc::new(Slow)).build().unwrap();
    for (limit, in_time) in [(5, false), (7, true)] {
        let options = ask(&client).step_timeout(Duration::from_secs(limit));
        let last = stream(options).await.unwrap().collect::<Vec<_>>().await.pop().unwrap();
        assert_eq!(last.is_ok(), in_time, "{limit} s");
    }
}

#[tokio::test]
async fn an_object_grows_from_nothing_in_each_step() {
    let aloud = Content::Text("I shall double that number first.".into());
    let (_, client) = script(vec![vec![aloud, call("a", "double", "{\"n\":1}")], text("{\"n\": 12345}")]);
    let events = stream_object(ask(&client).tool(double()), "number", schema()).await.unwrap();
    let events: Vec<ObjectEvent> = events.map(Result::unwrap).collect().await;
    assert!(matches!(&events[0], ObjectEvent::Partial(v) if v.is_object()), "{events:?}");
}
