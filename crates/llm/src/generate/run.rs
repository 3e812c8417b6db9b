//! The tool loop: one step after another, whole or streamed.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, future, stream};
use tokio::time::Instant;

use super::{Generate, Generated, Step, ToolInput};
use crate::{
    CallCx, Client, Error, ErrorKind, EventStream, Message, Request, Response, StreamEvent, ToolCall,
    ToolResult, ToolSpec, Usage, retry, schema,
};

/// A generation under way.
pub(super) struct Run {
    client: Client,
    request: Request,
    options: Generate,
    steps: Vec<Step>,
    usage: Usage,
    deadline: Option<Instant>,
}

/// A step's stream.
pub(super) struct Opened {
    events: EventStream,
    /// The step's time counts from before it was opened.
    deadline: Option<Instant>,
}

/// Whether there is a next step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Over,
    Again,
}

impl After {
    pub(super) fn is_over(self) -> bool {
        self == Self::Over
    }
}

impl Run {
    pub(super) fn new(client: Client, request: Request, options: Generate) -> Self {
        let deadline = options.total_timeout.map(|limit| Instant::now() + limit);
        Self { client, request, options, steps: Vec::new(), usage: Usage::default(), deadline }
    }

    /// The next answer, whole.
    pub(super) async fn complete(&self) -> Result<Response, Error> {
        let cx = self.options.cx.clone();
        let call = retry::call(&self.options.retry, &cx.cancel, &self.options.on_retry, || {
            self.client.complete(self.request.clone(), &self.options.cx)
        });
        self.within(call).await
    }

    /// The next answer, streamed, and when it must be over.
    pub(super) async fn open(&self) -> Result<Opened, Error> {
        let deadline = self.options.step_timeout.map(|limit| Instant::now() + limit);
        let (client, request, cx) = (self.client.clone(), self.request.clone(), self.options.cx.clone());
        let open = move || {
            let (client, request, cx): (Client, Request, CallCx) =
                (client.clone(), request.clone(), cx.clone());
            // Boxed, so that the futures around it stay small.
            Box::pin(async move { client.stream(request, &cx).await })
        };
        let cancel = self.options.cx.cancel.clone();
        let opening = retry::stream(self.options.retry, cancel, self.options.on_retry.clone(), open);
        Ok(Opened { events: self.within(opening).await?, deadline })
    }

    /// Books an answer; runs its tools if there is to be another step.
    pub(super) async fn finish_step(&mut self, response: Response) -> Result<After, Error> {
        self.usage += &response.usage;
        self.request.messages.push(response.message.clone());
        let calls: Vec<ToolCall> = response.tool_calls().cloned().collect();
        self.steps.push(Step { response, results: Vec::new() });
        let rounds = self.steps.len() - 1;
        let handed_back = calls.iter().any(|call| self.is_passive(&call.name));
        let stop = self.options.stop_when.as_ref().is_some_and(|stop| stop(&self.steps));
        if calls.is_empty() || handed_back || stop || rounds >= self.options.max_tool_rounds as usize {
            return Ok(After::Over);
        }
        let conversation: Arc<[Message]> = self.request.messages.as_slice().into();
        let running = future::join_all(calls.iter().map(|call| self.run_tool(call, &conversation)));
        let results = self.within_total(async { Ok(running.await) }).await?;
        self.request.messages.push(Message::tool_results(results.clone()));
        if let Some(step) = self.steps.last_mut() {
            step.results = results;
        }
        Ok(After::Again)
    }

    pub(super) fn into_generated(self) -> Result<Generated, Error> {
        let response = self.steps.last().map(|step| step.response.clone());
        let response = response.ok_or_else(|| Error::stream("nothing was answered"))?;
        Ok(Generated {
            response,
            steps: self.steps,
            total_usage: self.usage,
            messages: self.request.messages.into_vec(),
        })
    }

    fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.request.tools.iter().find(|spec| spec.name == name)
    }

    /// A tool that is declared but has no handler. (One that is not declared at all is the model's
    /// mistake, and the model is told.)
    fn is_passive(&self, name: &str) -> bool {
        let active = self.options.tools.iter().any(|tool| tool.spec.name == name && tool.handler.is_some());
        !active && self.spec(name).is_some()
    }

    async fn run_tool(&self, call: &ToolCall, conversation: &Arc<[Message]>) -> ToolResult {
        let tool = self.options.tools.iter().find(|tool| tool.spec.name == call.name);
        let Some(handler) = tool.and_then(|tool| tool.handler.as_ref()) else {
            return ToolResult::error(&call.id, format!("there is no tool named `{}`", call.name));
        };
        let arguments = match self.checked(call) {
            Ok(call) => call.arguments,
            Err(error) => return ToolResult::error(&call.id, error.message()),
        };
        let input = ToolInput {
            call_id: call.id.clone(),
            name: call.name.clone(),
            arguments,
            messages: Arc::clone(conversation),
            cancel: self.options.cx.cancel.child_token(),
        };
        match handler(input).await {
            Ok(output) => ToolResult { output, ..ToolResult::text(&call.id, "") },
            Err(message) => ToolResult::error(&call.id, message),
        }
    }

    /// The call, if its arguments fit the schema, or its repaired version if that one does.
    fn checked(&self, call: &ToolCall) -> Result<ToolCall, Error> {
        let error = match self.check(call) {
            Ok(()) => return Ok(call.clone()),
            Err(error) => error,
        };
        let repaired = self.options.repair.as_ref().and_then(|repair| repair(call, &error));
        let Some(raw) = repaired else { return Err(error) };
        let call = ToolCall::function(&call.id, &call.name, raw);
        self.check(&call).map(|()| call)
    }

    fn check(&self, call: &ToolCall) -> Result<(), Error> {
        let fault = |message: String| Error::new(ErrorKind::InvalidToolCall, message);
        if !call.is_well_formed() {
            return Err(fault(format!("the arguments of `{}` are not a JSON object", call.name)));
        }
        let Some(parameters) = self.spec(&call.name).and_then(ToolSpec::parameters) else { return Ok(()) };
        let what = format!("the arguments of `{}`", call.name);
        schema::compile(&call.name, parameters)?.check(&call.arguments, ErrorKind::InvalidToolCall, &what)
    }

    /// Within the step's time and the total.
    async fn within<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        match self.options.step_timeout {
            None => self.within_total(work).await,
            Some(limit) => {
                let step = async {
                    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(late("step", limit)))
                };
                self.within_total(step).await
            }
        }
    }

    async fn within_total<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let cancel = &self.options.cx.cancel;
        let timed = async {
            match (self.deadline, self.options.total_timeout) {
                (Some(at), Some(limit)) => {
                    tokio::time::timeout_at(at, work).await.unwrap_or_else(|_| Err(late("total", limit)))
                }
                _ => work.await,
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Error::new(ErrorKind::Aborted, "the generation was cancelled")),
            result = timed => result,
        }
    }
}

fn late(which: &str, limit: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("not done within {limit:?} ({which} timeout)"))
}

/// The events of a generation.
pub(super) fn events(run: Run, first: Opened) -> EventStream {
    struct State {
        run: Run,
        current: Option<Opened>,
        /// The step that ended with a tool call is told of before its tools run.
        ended: Option<Response>,
    }

    impl State {
        async fn next(&mut self) -> Option<Result<StreamEvent, Error>> {
            loop {
                if let Some(response) = self.ended.take() {
                    match self.go_on(response).await {
                        Ok(None) => {}
                        Ok(Some(finish)) => {
                            self.current = None;
                            return Some(Ok(finish));
                        }
                        Err(error) => return Some(self.fail(error)),
                    }
                }
                let run = &self.run;
                let item = run.within_total(timed(self.current.as_mut()?, run.options.step_timeout)).await;
                match item {
                    Ok(Some(StreamEvent::Finish { response: Some(response), .. })) => {
                        let told = StreamEvent::StepFinish { response: response.clone() };
                        let calls = response.tool_calls().next().is_some();
                        self.ended = Some(*response);
                        // A last step needs no announcement: its `Finish` follows at once.
                        if calls {
                            return Some(Ok(told));
                        }
                    }
                    Ok(Some(event)) => return Some(Ok(event)),
                    Ok(None) => {
                        return Some(
                            self.fail(Error::stream("the stream ended before the answer was complete")),
                        );
                    }
                    Err(error) => return Some(self.fail(error)),
                }
            }
        }

        /// Runs the tools and opens the next step, or gives the last event.
        async fn go_on(&mut self, response: Response) -> Result<Option<StreamEvent>, Error> {
            if self.run.finish_step(response.clone()).await?.is_over() {
                return Ok(Some(StreamEvent::Finish {
                    reason: response.finish_reason.clone(),
                    usage: self.run.usage.clone(),
                    response: Some(Box::new(response)),
                }));
            }
            self.current = Some(self.run.open().await?);
            Ok(None)
        }

        fn fail(&mut self, error: Error) -> Result<StreamEvent, Error> {
            self.current = None;
            Err(error)
        }
    }

    async fn timed(step: &mut Opened, limit: Option<Duration>) -> Result<Option<StreamEvent>, Error> {
        let next = async { step.events.next().await.transpose() };
        match (step.deadline, limit) {
            (Some(at), Some(limit)) => {
                tokio::time::timeout_at(at, next).await.unwrap_or_else(|_| Err(late("step", limit)))
            }
            _ => next.await,
        }
    }

    let state = State { run, current: Some(first), ended: None };
    EventStream::new(stream::unfold(state, |mut state| async move {
        let item = state.next().await?;
        Some((item, state))
    }))
}
