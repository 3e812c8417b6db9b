//! Members for property tests: each does as its part says, at its time, and pays for it.

use std::future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use junto_llm::{
    CallCx, Content, Cost, Error, ErrorKind, EventStream, Finish, FinishReason, Fut, Part, Provider, Replay,
    Request, Response, Spending, StreamEvent, ToolCall, Usage,
};
use proptest::prelude::*;

/// What a member does when it is asked.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Says this, which may be nothing.
    Say(String),
    /// Calls tools with these raw arguments, after a few words.
    Call(Vec<(String, String)>),
    /// Fails at once.
    Fail,
    /// Says something and breaks off.
    Break(String),
    /// Says something and falls silent.
    Stall(String),
    /// Refuses.
    Refuse,
}

/// A member's part: what it does, how many seconds after it was asked, and how many tokens that takes.
#[derive(Clone, Debug)]
pub(crate) struct Role {
    pub(crate) act: Act,
    pub(crate) after: u64,
    pub(crate) tokens: u64,
}

/// Parts of which each bears a mark, so that its words are known wherever they turn up.
pub(crate) fn part(mark: &'static str) -> impl Strategy<Value = Role> {
    let said = prop_oneof![Just("same".to_owned()), Just(format!("word-of-{mark}"))];
    let tool = prop_oneof![Just("get"), Just("put"), Just("no_such_tool")];
    let arguments = prop_oneof![
        Just(r#"{"key":"k"}"#.to_owned()),
        Just(format!(r#"{{"key":"word-of-{mark}"}}"#)),
        Just(format!(r#"{{"wrong":"word-of-{mark}"}}"#)),
        Just(r#"{"key":"#.to_owned()),
    ];
    let call = (tool, arguments).prop_map(|(tool, arguments)| (tool.to_owned(), arguments));
    let act = prop_oneof![
        3 => said.clone().prop_map(Act::Say),
        3 => prop::collection::vec(call, 1..3).prop_map(Act::Call),
        1 => Just(Act::Fail),
        1 => said.clone().prop_map(Act::Break),
        1 => said.prop_map(Act::Stall),
        1 => Just(Act::Refuse),
        1 => Just(Act::Say(String::new())),
    ];
    (act, 0_u64..40, 1_u64..60).prop_map(|(act, after, tokens)| Role { act, after, tokens })
}

/// How many calls are under way, of all members together.
#[derive(Clone, Default)]
pub(crate) struct Running(Arc<AtomicUsize>);

impl Running {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    fn begin(&self) -> Guard {
        self.0.fetch_add(1, Ordering::SeqCst);
        Guard(self.0.clone())
    }
}

struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A member that plays its part.
pub(crate) struct Actor {
    pub(crate) part: Role,
    pub(crate) running: Running,
    pub(crate) asked: std::sync::Mutex<Vec<Request>>,
}

impl Actor {
    pub(crate) fn new(part: Role, running: &Running) -> Arc<Self> {
        Arc::new(Self { part, running: running.clone(), asked: std::sync::Mutex::default() })
    }

    /// What it answers if it does.
    pub(crate) fn answer(&self) -> Option<Response> {
        let mut response = Response::empty("actor", "model");
        response.usage = Usage::new(self.part.tokens, 0);
        response.finish_reason = FinishReason::new(Finish::Stop);
        match &self.part.act {
            Act::Say(text) => response.message.content = vec![Part::text(text)],
            Act::Call(calls) => {
                response.finish_reason = FinishReason::new(Finish::ToolCalls);
                response.message.content = vec![Part::text("let me see")];
                for (n, (name, arguments)) in calls.iter().enumerate() {
                    let call = ToolCall::function(format!("c{n}"), name, arguments.clone());
                    response.message.content.push(Part::new(Content::ToolCall(call)));
                }
            }
            Act::Refuse => {
                response.finish_reason = FinishReason::new(Finish::ContentFilter);
                response.message.content = vec![Part::text("I refuse.")];
            }
            Act::Fail | Act::Break(_) | Act::Stall(_) => return None,
        }
        Some(response)
    }
}

impl Provider for Actor {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move { self.stream(request, cx).await?.into_response().await })
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(request);
            let guard = self.running.begin();
            let spending = Spending { cost: Cost::Unknown, tokens: self.part.tokens };
            let paid = cx.budget.reserve(spending)?;
            tokio::time::sleep(Duration::from_secs(self.part.after)).await;
            if matches!(self.part.act, Act::Fail) {
                return Err(Error::new(ErrorKind::Server, "it failed"));
            }
            // Some take less than they had set aside.
            let taken =
                self.part.tokens - self.part.tokens / 3 * u64::from(self.part.after.is_multiple_of(2));
            paid.settle(Spending { tokens: taken, ..spending });
            let start = StreamEvent::StreamStart {
                id: String::new(),
                model: "model".into(),
                provider: "actor".into(),
                origin: None,
                usage: None,
                warnings: Vec::new(),
                rate_limit: None,
            };
            let said = |text: &str| {
                let mut response = Response::empty("actor", "model");
                response.message.content = vec![Part::text(text)];
                // All but the end.
                let mut events: Vec<_> = Replay::new(response).map(Ok).collect();
                events.pop();
                events
            };
            let mut events = vec![Ok(start)];
            let mut stalls = false;
            match (&self.part.act, self.answer()) {
                (_, Some(answer)) => events.extend(Replay::new(answer).map(Ok)),
                (Act::Break(text), _) => {
                    events.extend(said(text));
                    events.push(Err(Error::stream("it broke off")));
                }
                (Act::Stall(text), _) => {
                    events.extend(said(text));
                    stalls = true;
                }
                _ => {}
            }
            let silence = stream::once(async move {
                let _guard = guard;
                if stalls {
                    future::pending::<()>().await;
                }
                Err(Error::stream("it ended"))
            });
            Ok(EventStream::new(stream::iter(events).chain(silence)))
        })
    }
}
