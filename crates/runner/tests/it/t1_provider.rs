//! The fake `claude` as a provider.

use std::time::Duration;

use futures_util::StreamExt as _;
use junto_llm::{
    CallCx, ErrorKind, Finish, Message, Provider as _, Request, StreamEvent, Timeouts, ToolChoice, ToolSpec,
};
use junto_testkit::fake_claude::{Behaviour, Fault, Ignored};
use serde_json::json;

use crate::stage::{Stage, with_variable};

/// All events of a stream, and the error it ended in.
async fn collect(
    stage: &Stage,
    request: Request,
    cx: &CallCx,
) -> (Vec<StreamEvent>, Option<junto_llm::Error>) {
    let mut stream = stage.provider().stream(request, cx).await.unwrap();
    let mut events = Vec::new();
    let mut error = None;
    while let Some(item) = stream.next().await {
        assert!(error.is_none(), "an error is the last item");
        match item {
            Ok(event) => events.push(event),
            Err(failed) => error = Some(failed),
        }
    }
    (events, error)
}

fn text(events: &[StreamEvent]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        StreamEvent::TextDelta { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn a_whole_answer() {
    let stage = Stage::new(Behaviour::default());
    let response = stage.provider().complete(Request::prompt("hello"), &CallCx::new()).await.unwrap();
    assert_eq!(response.text(), "You said: hello");
    assert_eq!((response.provider.as_str(), response.model.as_str()), ("claude", "claude-opus-5-5"));
    assert_eq!(response.id, "00000000-0000-4000-8000-000000000001");
    assert_eq!((response.usage.input, response.usage.output), (100, 10));
    assert_eq!(response.usage.raw.unwrap()["claude-opus-5-5"]["costUSD"], json!(0.0006));
    assert_eq!(response.finish_reason.unified, Finish::Stop);
    let argv = stage.runs()[0]["argv"].to_string();
    assert!(argv.contains("Bash,Edit,Write,NotebookEdit") && !argv.contains("partial"), "{argv}");
    stage.assert_no_survivors();
}

#[tokio::test]
async fn a_streamed_answer() {
    let stage = Stage::new(Behaviour::replaying("partial"));
    let (events, error) = collect(&stage, Request::prompt("hello"), &CallCx::new()).await;
    assert!(error.is_none(), "{error:?}");
    assert!(matches!(events.first(), Some(StreamEvent::StreamStart { .. })), "{events:#?}");
    assert_eq!(text(&events), "Hello there, this is streamed.");
    let Some(StreamEvent::Finish { usage, response: Some(response), .. }) = events.last() else {
        panic!("{events:#?}")
    };
    assert_eq!((usage.input, usage.output), (100, 10));
    assert_eq!(response.text(), "Hello there, this is streamed.");
    assert_eq!(response.reasoning(), "Let me think about it.");
    stage.assert_no_survivors();
}

#[tokio::test]
async fn streamed_or_not_the_answer_is_the_same() {
    for name in
        ["plain", "partial", "tools-all", "err-drop-mid", "json-schema", "subagent-bg", "max-tokens-stop"]
    {
        let stage = Stage::new(Behaviour::replaying(name));
        let whole = stage.provider().complete(Request::prompt("x"), &CallCx::new()).await.unwrap();
        let (events, error) = collect(&stage, Request::prompt("x"), &CallCx::new()).await;
        assert!(error.is_none(), "{name}: {error:?}");
        let Some(StreamEvent::Finish { response: Some(streamed), .. }) = events.last() else {
            panic!("{name}")
        };
        assert_eq!(whole.text(), streamed.text(), "{name}");
        assert_eq!(whole.usage, streamed.usage, "{name}");
        stage.assert_no_survivors();
    }
}

#[tokio::test]
async fn its_own_tools_are_narration() {
    let stage = Stage::new(Behaviour::replaying("mcp"));
    let (events, _) = collect(&stage, Request::prompt("x"), &CallCx::new()).await;
    let told = events.iter().filter(|event| matches!(event, StreamEvent::Progress { .. })).count();
    assert_eq!(told, 1, "{events:#?}");
    assert!(!events.iter().any(|event| matches!(event, StreamEvent::ToolCallStart { .. })), "{events:#?}");
}

#[tokio::test]
async fn the_conversation_the_directory_and_the_depth_reach_the_command() {
    let mut stage = Stage::new(Behaviour::default());
    with_variable(&mut stage.host, "JUNTO_DEPTH", "2");
    stage.host.max_depth = 3;
    let sub = stage.path().join("sub");
    std::fs::create_dir(&sub).unwrap();
    let cx = CallCx { workdir: Some(sub.clone()), ..CallCx::new() };
    let tool = ToolSpec::new("add", "adds", json!({"type": "object"})).unwrap();
    let request = Request::of([Message::system("Be short."), Message::user("hello")]).tools([tool]);
    let response = stage.provider().complete(request, &cx).await.unwrap();
    assert_eq!(response.warnings.len(), 1, "{:?}", response.warnings);
    let run = &stage.runs()[0];
    let prompt = run["prompt"].as_str().unwrap();
    assert!(prompt.contains("Be short.") && prompt.contains("<message role=\"user\">\nhello\n"), "{prompt}");
    assert_eq!((&run["cwd"], &run["depth"]), (&json!(sub), &json!("3")));
    stage.host.max_depth = 2;
    let error = stage.provider().complete(Request::prompt("x"), &CallCx::new()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert_eq!(stage.runs().len(), 1);
}

#[tokio::test]
async fn failures_are_errors_of_their_kind() {
    let crash = |after| Behaviour::replaying("partial").then(after, Fault::Crash);
    for (behaviour, kind, retryable) in [
        (Behaviour::replaying("err-401"), ErrorKind::Authentication, false),
        (Behaviour::replaying("err-529-exhaust2"), ErrorKind::Server, true),
        (Behaviour::replaying("budget-final-answer"), ErrorKind::Quota, false),
        (Behaviour::replaying("refusal-stop"), ErrorKind::ContentFilter, false),
        (Behaviour::default().then(1, Fault::Exit(3)), ErrorKind::Stream, true),
        (crash(1), ErrorKind::Stream, true),
        // Some of the answer was handed on.
        (crash(13), ErrorKind::Stream, false),
    ] {
        let stage = Stage::new(behaviour.clone());
        let (events, error) = collect(&stage, Request::prompt("x"), &CallCx::new()).await;
        let error = error.unwrap_or_else(|| panic!("{behaviour:?}: {events:#?}"));
        assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{behaviour:?}: {error}");
        assert_eq!(error.provider(), Some("claude"));
        stage.assert_no_survivors();
    }
}

#[tokio::test]
async fn what_must_not_be_left_out_is_an_error() {
    let stage = Stage::new(Behaviour::default());
    assert!(!stage.provider().supports_tool_choice(&ToolChoice::Required));
    let request = Request { tool_choice: Some(ToolChoice::Required), ..Request::prompt("x") };
    let error = stage.provider().complete(request, &CallCx::new()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedToolChoice);
    assert_eq!(stage.runs().len(), 0);
}

/// Hangs after it has begun to answer, listens to nobody, and has left a process behind.
fn stubborn() -> Behaviour {
    let ignore = vec![Ignored::Interrupt, Ignored::Terminate];
    Behaviour { ignore, escape: true, ..Behaviour::default().then(4, Fault::Hang) }
}

#[tokio::test]
async fn cancelling_kills_everything() {
    let stage = Stage::new(stubborn());
    let cx = CallCx::new();
    let mut stream = stage.provider().stream(Request::prompt("x"), &cx).await.unwrap();
    while !matches!(stream.next().await.unwrap().unwrap(), StreamEvent::TextDelta { .. }) {}
    cx.cancel.cancel();
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    assert!(stream.next().await.is_none());
    stage.assert_no_survivors();
    let error = stage.provider().complete(Request::prompt("x"), &cx).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    stage.assert_no_survivors();
}

#[tokio::test]
async fn dropping_the_stream_kills_everything() {
    let stage = Stage::new(stubborn());
    let mut stream = stage.provider().stream(Request::prompt("x"), &CallCx::new()).await.unwrap();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    stage.assert_no_survivors();
}

#[tokio::test]
async fn silence_after_the_answer_is_no_failure() {
    let stage = Stage::new(Behaviour::default().then(usize::MAX, Fault::Hang))
        .with_patience(|patience| patience.idle = Duration::from_secs(2));
    let (events, error) = collect(&stage, Request::prompt("x"), &CallCx::new()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(text(&events), "You said: x");
    let told = |event: &StreamEvent| matches!(event, StreamEvent::Progress { text } if text.contains("idle timeout"));
    assert!(events.iter().any(told), "{events:#?}");
    assert!(matches!(events.last(), Some(StreamEvent::Finish { .. })), "{events:#?}");
    stage.assert_no_survivors();
}

#[tokio::test]
async fn the_calls_own_timeouts_win() {
    let short = Duration::from_millis(50);
    // Before it has answered.
    let stage = Stage::new(Behaviour { after: 1, ..stubborn() });
    let cx = CallCx::new().timeouts(Timeouts { request: short, idle: short, ..Timeouts::default() });
    let error = stage.provider().complete(Request::prompt("x"), &cx).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.message().contains("hard timeout"), "{error}");
    let (_, error) = collect(&stage, Request::prompt("x"), &cx).await;
    assert!(error.unwrap().message().contains("idle timeout"));
    stage.assert_no_survivors();
}
