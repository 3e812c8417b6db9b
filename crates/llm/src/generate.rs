//! The convenience layer: ask, with tools that run by themselves, retries and timeouts.
//!
//! ```no_run
//! # async fn run() -> Result<(), junto_llm::Error> {
//! use junto_llm::generate::{Generate, Tool, generate};
//! use serde_json::json;
//! let weather = Tool::new(
//!     "weather",
//!     "The weather in a city",
//!     json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
//! )?
//! .handler(|call| async move { Ok::<_, String>(format!("sunny in {}", call.arguments["city"])) });
//! let result = generate(Generate::prompt("Is it sunny in Rome?").tool(weather)).await?;
//! println!("{} after {} steps", result.text(), result.steps.len());
//! # Ok(()) }
//! ```

mod object;
mod partial;
mod run;
mod tool;

use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;

pub use object::{Generated as GeneratedObject, ObjectEvent, generate_object, stream_object};
pub use partial::parse as parse_partial;
pub use tool::{Tool, ToolInput};

use crate::retry::{self, Observer, Policy};
use crate::{
    CallCx, Client, Error, EventStream, Message, Request, Response, StreamEvent, ToolCall, ToolResult, Usage,
    default_client,
};

/// Decides, after a step, whether to stop although the model asked for tools.
type StopWhen = Arc<dyn Fn(&[Step]) -> bool + Send + Sync>;
/// Mends the arguments of a call that does not fit its schema; gives the new raw arguments.
type Repair = Arc<dyn Fn(&ToolCall, &Error) -> Option<String> + Send + Sync>;

/// What to ask, of whom, with which tools and limits.
#[derive(Clone)]
#[must_use]
pub struct Generate {
    client: Option<Client>,
    prompt: Option<String>,
    system: Option<String>,
    request: Request,
    tools: Vec<Tool>,
    max_tool_rounds: u32,
    stop_when: Option<StopWhen>,
    repair: Option<Repair>,
    retry: Policy,
    on_retry: Observer,
    total_timeout: Option<Duration>,
    step_timeout: Option<Duration>,
    cx: CallCx,
}

impl Generate {
    fn empty() -> Self {
        Self {
            client: None,
            prompt: None,
            system: None,
            request: Request::default(),
            tools: Vec::new(),
            max_tool_rounds: 1,
            stop_when: None,
            repair: None,
            retry: Policy::default(),
            on_retry: retry::silent(),
            total_timeout: None,
            step_timeout: None,
            cx: CallCx::new(),
        }
    }

    /// Asks this.
    pub fn prompt(text: impl Into<String>) -> Self {
        Self { prompt: Some(text.into()), ..Self::empty() }
    }

    /// Goes on from this conversation.
    pub fn messages(messages: impl Into<Vec<Message>>) -> Self {
        Self { request: Request::of(messages), ..Self::empty() }
    }

    /// Everything a request can say. Its messages count as the conversation.
    pub fn request(request: Request) -> Self {
        Self { request, ..Self::empty() }
    }

    /// Adds a prompt. With messages as well it is an error to ask.
    pub fn with_prompt(mut self, text: impl Into<String>) -> Self {
        self.prompt = Some(text.into());
        self
    }

    /// Puts a system message in front.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Uses this client instead of the process-wide default.
    pub fn client(mut self, client: &Client) -> Self {
        self.client = Some(client.clone());
        self
    }

    /// Asks this model.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.request.model = Some(model.into());
        self
    }

    /// Asks this provider.
    pub fn provider(mut self, provider: impl Into<String>) -> Self {
        self.request.provider = Some(provider.into());
        self
    }

    /// Changes the request in any other way.
    pub fn with(mut self, change: impl FnOnce(&mut Request)) -> Self {
        change(&mut self.request);
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// How many rounds of tools are run at most; so there are at most one more calls of the model.
    /// With 0 the calls are handed back.
    pub fn max_tool_rounds(mut self, rounds: u32) -> Self {
        self.max_tool_rounds = rounds;
        self
    }

    /// Stops after a step for which this holds, although the model asked for tools.
    pub fn stop_when(mut self, stop: impl Fn(&[Step]) -> bool + Send + Sync + 'static) -> Self {
        self.stop_when = Some(Arc::new(stop));
        self
    }

    /// Is given a call whose arguments do not fit and the reason, and may give better ones.
    pub fn repair(
        mut self,
        repair: impl Fn(&ToolCall, &Error) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.repair = Some(Arc::new(repair));
        self
    }

    /// How each call of the model is retried.
    pub fn retry(mut self, policy: Policy) -> Self {
        self.retry = policy;
        self
    }

    /// Is told of every retry.
    pub fn on_retry(mut self, observer: Observer) -> Self {
        self.on_retry = observer;
        self
    }

    /// How long everything may take together.
    pub fn total_timeout(mut self, limit: Duration) -> Self {
        self.total_timeout = Some(limit);
        self
    }

    /// How long each call of the model may take, retries included.
    pub fn step_timeout(mut self, limit: Duration) -> Self {
        self.step_timeout = Some(limit);
        self
    }

    /// Cancels everything with this token.
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cx.cancel = token;
        self
    }

    /// Runs in this context.
    pub fn context(mut self, cx: CallCx) -> Self {
        self.cx = cx;
        self
    }

    /// The request to start with, and the client to ask.
    fn settle(&mut self) -> Result<(Client, Request), Error> {
        let mut request = std::mem::take(&mut self.request);
        match (self.prompt.take(), request.messages.is_empty()) {
            (Some(_), false) => {
                return Err(Error::configuration("both a prompt and messages were given")
                    .with_hint("give one: a prompt is the same as a single user message"));
            }
            (None, true) => {
                return Err(Error::configuration("neither a prompt nor messages were given")
                    .with_hint("give a prompt"));
            }
            (Some(prompt), true) => request.messages.push(Message::user(prompt)),
            (None, false) => {}
        }
        if let Some(system) = self.system.take() {
            request.messages.insert(0, Message::system(system));
        }
        request.tools.extend(self.tools.iter().map(|tool| tool.spec.clone()));
        for (i, tool) in request.tools.iter().enumerate() {
            if request.tools[..i].iter().any(|other| other.name == tool.name) {
                return Err(Error::configuration(format!("two tools are named `{}`", tool.name)));
            }
        }
        let client = match self.client.take() {
            Some(client) => client,
            None => default_client()?,
        };
        Ok((client, request))
    }
}

/// One call of the model, and the results of the tools it asked for.
#[derive(Clone, Debug)]
pub struct Step {
    /// The model's answer.
    pub response: Response,
    /// What the tools answered, in the order of the calls; empty if none were run.
    pub results: Vec<ToolResult>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The last answer.
    pub response: Response,
    /// Every step, the last one included.
    pub steps: Vec<Step>,
    /// The usage of all steps.
    pub total_usage: Usage,
    /// The conversation, with everything that was added to it.
    pub messages: Vec<Message>,
}

impl Generated {
    /// The last answer's text.
    pub fn text(&self) -> String {
        self.response.text()
    }
}

/// Asks, runs the tools the model calls, and gives the last answer.
///
/// # Errors
/// `configuration` for contradictory options; else the model call's error. A tool that fails is
/// not an error: the model is told.
pub async fn generate(mut options: Generate) -> Result<Generated, Error> {
    let (client, request) = options.settle()?;
    let mut run = run::Run::new(client, request, options);
    loop {
        let response = run.complete().await?;
        if run.finish_step(response).await?.is_over() {
            return run.into_generated();
        }
    }
}

/// As [`generate`], but hands on events as they come: the events of each step, a `StepFinish`
/// between steps, and one `Finish` at the end with the last answer.
///
/// # Errors
/// As [`generate`], for what fails before the first event.
pub async fn stream(mut options: Generate) -> Result<EventStream, Error> {
    let (client, request) = options.settle()?;
    let run = run::Run::new(client, request, options);
    // Boxed, so that the caller's future stays small.
    let first = Box::pin(run.open()).await?;
    Ok(run::events(run, first))
}

/// The text of a stream, piece by piece.
pub fn text_stream(events: EventStream) -> impl Stream<Item = Result<String, Error>> + Send {
    events.filter_map(|item| async move {
        match item {
            Ok(StreamEvent::TextDelta { text, .. }) => Some(Ok(text)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        }
    })
}

#[cfg(test)]
mod tests;
