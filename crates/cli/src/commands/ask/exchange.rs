//! One question to a client and its answer, with retries that can be seen.

use std::sync::Arc;

use futures_util::StreamExt;
use junto::llm::retry::{self, Attempt, Observer, Policy};
use junto::llm::{CallCx, Client, Error, ErrorKind, Request, Response, StreamEvent, Tally};

use crate::config::{ProviderSettings, duration_text};
use crate::failure::Failure;
use crate::output::Output;

/// How an answer is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Streamed, and its text printed as it comes.
    Live,
    /// Streamed, and printed by the caller once it is complete.
    Collected,
    /// Not streamed.
    Whole,
}

/// Asks a client.
pub(crate) struct Exchange<'a> {
    /// Whom to ask.
    pub(crate) client: &'a Client,
    /// How failed calls are made again.
    pub(crate) retry: Policy,
    /// The providers' variables for keys, to name the one that holds a wrong key.
    pub(crate) keys: &'a [ProviderSettings],
    /// Where the calls that are made are written down.
    pub(crate) tally: Tally,
    /// Where progress and, if it is live, the answer are printed.
    pub(crate) output: &'a Output,
}

impl Exchange<'_> {
    /// Asks, and gives the whole answer.
    ///
    /// # Errors
    /// The provider's error once no retry is left, or an output that cannot be written.
    pub(crate) async fn run(&self, request: Request, delivery: Delivery) -> Result<Response, Failure> {
        match delivery {
            Delivery::Whole => {
                let cx = self.cx();
                let call = || self.client.complete(request.clone(), &cx);
                let answer = retry::call(&self.retry, &cx.cancel, &self.observer(), call).await;
                answer.map_err(|error| self.failure(error))
            }
            Delivery::Live | Delivery::Collected => self.stream(request, delivery).await,
        }
    }

    fn cx(&self) -> CallCx {
        CallCx { tally: Some(self.tally.clone()), ..CallCx::new() }
    }

    async fn stream(&self, request: Request, delivery: Delivery) -> Result<Response, Failure> {
        let cx = self.cx();
        let (client, call) = (self.client.clone(), cx.clone());
        let open = move || {
            let (client, request, cx) = (client.clone(), request.clone(), call.clone());
            async move { client.stream(request, &cx).await }
        };
        let events = retry::stream(self.retry, cx.cancel, self.observer(), open).await;
        let mut events = events.map_err(|error| self.failure(error))?;
        let mut text = Text { output: self.output, live: delivery == Delivery::Live, open_line: false };
        while let Some(event) = events.next().await {
            match event {
                Ok(StreamEvent::TextDelta { text: more, .. }) => text.push(&more)?,
                Ok(StreamEvent::ReasoningStart { .. }) => self.output.status("thinking …"),
                Ok(StreamEvent::Progress { text }) => self.output.note(&text),
                Ok(StreamEvent::Finish { response: Some(response), .. }) => {
                    text.end()?;
                    return Ok(*response);
                }
                Ok(_) => {}
                Err(error) => {
                    text.end()?;
                    return Err(self.failure(error));
                }
            }
        }
        text.end()?;
        Err(Error::stream("the stream ended before the answer was complete").into())
    }

    /// What to tell the user of an error.
    fn failure(&self, error: Error) -> Failure {
        let owner = self.keys.iter().find(|provider| Some(provider.name.as_str()) == error.provider());
        match owner.and_then(|provider| provider.key_variable.as_deref()) {
            Some(variable) if error.kind() == ErrorKind::Authentication => {
                error.with_hint(format!("check the key in {variable}")).into()
            }
            _ => error.into(),
        }
    }

    /// Tells the user of every retry.
    fn observer(&self) -> Observer {
        let output = self.output.clone();
        Arc::new(move |attempt: &Attempt| {
            output.note(&format!(
                "{}; trying again in {} ({} of {})",
                attempt.error,
                duration_text(attempt.delay),
                attempt.number,
                attempt.of
            ));
        })
    }
}

/// The answer's text on its way to standard output.
struct Text<'a> {
    output: &'a Output,
    live: bool,
    /// Whether something was printed whose line has not ended.
    open_line: bool,
}

impl Text<'_> {
    fn push(&mut self, text: &str) -> Result<(), Failure> {
        if !self.live || text.is_empty() {
            return Ok(());
        }
        self.open_line = !text.ends_with('\n');
        self.output.data(text)
    }

    /// Ends the last line, so that whatever comes next starts on its own.
    fn end(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.open_line) { self.output.data("\n") } else { Ok(()) }
    }
}
