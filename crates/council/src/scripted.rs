//! Providers for tests that do as they are told, and answers for them to give.

use std::future;
use std::sync::Mutex;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use junto_llm::{
    Allowance, CallCx, Content, Cost, Entry, Error, EventStream, Finish, FinishReason, Fut, Message, Part,
    Provider, Replay, Request, Response, StreamEvent, ToolCall, ToolResult, Usage,
};
use tokio_util::sync::CancellationToken;

/// An answer of one text that used 10 tokens and 5.
pub(crate) fn text(text: &str) -> Response {
    let mut response = Response::empty("scripted", "model");
    response.message.content = vec![Part::text(text)];
    response.finish_reason = FinishReason::new(Finish::Stop);
    response.usage = Usage::new(10, 5);
    response
}

/// An answer of one call.
pub(crate) fn call(name: &str, arguments: &str) -> Response {
    calls(&[(name, arguments)])
}

/// An answer of several calls.
pub(crate) fn calls(calls: &[(&str, &str)]) -> Response {
    let part = |(name, arguments): &(&str, &str)| {
        Part::new(Content::ToolCall(ToolCall::function(format!("call-{name}"), *name, *arguments)))
    };
    let mut response = text("");
    response.message.content = calls.iter().map(part).collect();
    response.finish_reason = FinishReason::new(Finish::ToolCalls);
    response
}

/// Gives every caller the same answer, and remembers what it was asked.
pub(crate) struct Scripted {
    act: Act,
    delay: Duration,
    cost: Option<Cost>,
    pub(crate) requests: Mutex<Vec<(Request, u8)>>,
    /// What it could have spent.
    pub(crate) allowed: Mutex<Vec<Allowance>>,
    /// Cancelled when a call that never answers is dropped.
    pub(crate) dropped: CancellationToken,
}

enum Act {
    Answer(Box<Response>),
    Fail(Error),
    Break(Usage, Error),
    Hang,
}

impl Scripted {
    fn new(act: Act) -> Self {
        Self {
            act,
            delay: Duration::ZERO,
            cost: None,
            requests: Mutex::default(),
            allowed: Mutex::default(),
            dropped: CancellationToken::new(),
        }
    }

    pub(crate) fn answers(response: Response) -> Self {
        Self::new(Act::Answer(Box::new(response)))
    }

    pub(crate) fn fails(error: Error) -> Self {
        Self::new(Act::Fail(error))
    }

    /// Starts to stream, says what it has used, and breaks off.
    pub(crate) fn breaks(usage: Usage, error: Error) -> Self {
        Self::new(Act::Break(usage, error))
    }

    pub(crate) fn hangs() -> Self {
        Self::new(Act::Hang)
    }

    /// This provider, but slow.
    pub(crate) fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// This provider, writing into the books that each call cost this much.
    pub(crate) fn costs(mut self, cost: Cost) -> Self {
        self.cost = Some(cost);
        self
    }

    pub(crate) fn asked(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

impl Provider for Scripted {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move { self.stream(request, cx).await?.into_response().await })
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            self.requests.lock().unwrap().push((request, cx.depth));
            self.allowed.lock().unwrap().push(cx.budget.left());
            if let (Some(cost), Some(tally)) = (self.cost, &cx.tally) {
                tally.add(Entry::new(cx, "scripted", "model", Usage::new(10, 5), cost));
            }
            // Even a sleep of no time waits for the timer.
            if !self.delay.is_zero() {
                tokio::time::sleep(self.delay).await;
            }
            let start = |usage| {
                Ok(StreamEvent::StreamStart {
                    id: String::new(),
                    model: "model".into(),
                    provider: "scripted".into(),
                    origin: None,
                    usage,
                    warnings: Vec::new(),
                    rate_limit: None,
                })
            };
            match &self.act {
                Act::Answer(response) => {
                    let answer = Replay::new((**response).clone()).map(Ok);
                    Ok(EventStream::new(stream::iter([start(None)].into_iter().chain(answer))))
                }
                Act::Fail(error) => Err(error.clone()),
                Act::Break(usage, error) => {
                    Ok(EventStream::new(stream::iter([start(Some(usage.clone())), Err(error.clone())])))
                }
                Act::Hang => {
                    let guard = self.dropped.clone().drop_guard();
                    let silence = stream::once(async move {
                        let _guard = guard;
                        future::pending().await
                    });
                    Ok(EventStream::new(stream::iter([start(None)]).chain(silence)))
                }
            }
        })
    }
}

/// A request in the middle of a tool loop that began with this question.
pub(crate) fn results(question: &str) -> Request {
    let asked = call("f", "{}").message;
    Request::of([Message::user(question), asked, Message::tool_results([ToolResult::text("call-f", "ok")])])
}
