//! A model in memory that says what it is told to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt, stream};
use junto_llm::{
    CallCx, Error, EventStream, Finish, FinishReason, Fut, Provider, Request, Response, SegmentId,
    StreamEvent, ToolCall, ToolCallKind, Usage,
};
use serde_json::Value;

/// What the model does when it is asked.
pub(crate) enum Line {
    /// Answers with a text.
    Text(&'static str),
    /// Says a text, and pauses while it runs a tool of its own.
    Pauses(&'static str),
    /// Calls tools: names and arguments.
    Calls(Vec<(&'static str, Value)>),
    /// Says a line of narration, then answers with a text.
    Narrated(&'static str, &'static str),
    /// Fails at once.
    Fails(Error),
    /// Begins to answer and then fails.
    Breaks(&'static str, Error),
    /// Begins to answer and then never goes on.
    Hangs(&'static str),
    /// Panics instead of answering.
    Panics,
    /// Begins to answer and then panics.
    PanicsAfter(&'static str),
}

/// Plays its lines in order.
pub(crate) struct Script {
    /// How many lines were played before.
    before: usize,
    lines: Mutex<VecDeque<Line>>,
    pub(crate) requests: Mutex<Vec<Request>>,
}

pub(crate) fn script(lines: impl IntoIterator<Item = Line>) -> Arc<Script> {
    script_from(0, lines)
}

/// Goes on after so many lines, which are among these.
pub(crate) fn script_from(before: usize, lines: impl IntoIterator<Item = Line>) -> Arc<Script> {
    let lines = Mutex::new(lines.into_iter().skip(before).collect());
    Arc::new(Script { before, lines, requests: Mutex::default() })
}

fn start() -> StreamEvent {
    StreamEvent::StreamStart {
        id: "r".into(),
        model: "m".into(),
        provider: "script".into(),
        origin: None,
        usage: None,
        warnings: vec![],
        rate_limit: None,
    }
}

fn finish(reason: Finish) -> StreamEvent {
    StreamEvent::Finish { reason: FinishReason::new(reason), usage: Usage::new(10, 1), response: None }
}

fn begin(text: &str) -> Vec<StreamEvent> {
    let id = SegmentId(0);
    let deltas = text.chars().map(|c| StreamEvent::TextDelta { id, text: c.to_string() });
    [start(), StreamEvent::TextStart { id }].into_iter().chain(deltas).collect()
}

fn text(text: &str) -> Vec<StreamEvent> {
    let mut events = begin(text);
    events.extend([StreamEvent::TextEnd { id: SegmentId(0), raw: None }, finish(Finish::Stop)]);
    events
}

fn calls(number: usize, calls: Vec<(&'static str, Value)>) -> Vec<StreamEvent> {
    let mut events = vec![start()];
    for (n, (name, args)) in calls.into_iter().enumerate() {
        let id = SegmentId(u32::try_from(n).unwrap());
        let call_id = format!("call-{number}-{n}");
        let raw = match args {
            Value::String(raw) => raw,
            args => args.to_string(),
        };
        let kind = ToolCallKind::Function;
        events.push(StreamEvent::ToolCallStart { id, call_id: call_id.clone(), name: name.into(), kind });
        events.push(StreamEvent::ToolCallEnd { id, call: ToolCall::function(call_id, name, raw), raw: None });
    }
    events.push(finish(Finish::ToolCalls));
    events
}

fn whole(events: Vec<StreamEvent>) -> EventStream {
    EventStream::new(stream::iter(events.into_iter().map(Ok)))
}

impl Provider for Script {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move { self.stream(request, cx).await?.into_response().await })
    }

    fn stream<'a>(&'a self, request: Request, _cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        let number = {
            let mut requests = self.requests.lock().unwrap();
            requests.push(request);
            self.before + requests.len()
        };
        let line = self.lines.lock().unwrap().pop_front().expect("another line");
        Box::pin(async move {
            Ok(match line {
                Line::Text(said) => whole(text(said)),
                Line::Pauses(said) => {
                    let mut events = text(said);
                    events.pop();
                    let reason = FinishReason::with_raw(Finish::Other, "pause_turn");
                    events.push(StreamEvent::Finish { reason, usage: Usage::new(10, 1), response: None });
                    whole(events)
                }
                Line::Calls(made) => whole(calls(number, made)),
                Line::Narrated(narration, said) => {
                    let mut events = text(said);
                    events.insert(1, StreamEvent::Progress { text: narration.into() });
                    whole(events)
                }
                Line::Fails(error) => return Err(error),
                Line::Breaks(said, error) => {
                    let begun = begin(said).into_iter().map(Ok);
                    EventStream::new(stream::iter(begun.chain([Err(error.after_content())])))
                }
                Line::Hangs(said) => {
                    EventStream::new(stream::iter(begin(said).into_iter().map(Ok)).chain(stream::pending()))
                }
                Line::Panics => panic!("no idea"),
                Line::PanicsAfter(said) => {
                    let broken = stream::once(async { panic!("half an idea") });
                    EventStream::new(stream::iter(begin(said).into_iter().map(Ok)).chain(broken))
                }
            })
        })
    }
}
