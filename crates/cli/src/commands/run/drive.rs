//! One agent, from its task to its end.

use std::sync::Arc;

use junto::core::{Agent, AgentError, Body, Command, EndReason, Event, Fut, Input, Item, Outcome, Seq};
use tokio::time::Instant;

use super::host::Host;
use super::view::{View, journal};
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::Output;

/// Runs an agent on a task: shows what it does, answers what it asks, hands on what it is told, and
/// closes it when it is done. Gives the reason it ended.
pub(crate) struct Drive {
    agent: Arc<dyn Agent>,
    view: View,
    host: Host,
    output: Output,
    started: Instant,
    /// Inputs that were accepted and have not ended.
    open: u32,
    /// The end of the agent, once it was told to end.
    closing: Option<Fut<'static, Outcome>>,
    interrupted: bool,
    /// Why nothing more is shown.
    failure: Option<Failure>,
}

impl Drive {
    pub(super) fn new(agent: Arc<dyn Agent>, view: View, host: Host, output: Output) -> Self {
        Self {
            agent,
            view,
            host,
            output,
            started: Instant::now(),
            open: 0,
            closing: None,
            interrupted: false,
            failure: None,
        }
    }

    /// Works until the agent has ended and everything it started with it. An interrupt ends it early;
    /// a second one does not wait for it.
    ///
    /// # Errors
    /// If the task is refused or the output fails, and on the second interrupt.
    pub(crate) async fn run(mut self, task: Input, interrupts: &mut Interrupts) -> Result<End, Failure> {
        let mut events = self.agent.log().subscribe(Seq::START);
        if let Err(error) = self.send(Command::Submit { input: task }).await {
            self.agent.close().await;
            return Err(refused(&error));
        }
        let outcome = loop {
            tokio::select! {
                biased;
                () = interrupts.next() => {
                    if std::mem::replace(&mut self.interrupted, true) {
                        return Err(Failure::interrupted());
                    }
                    self.output.note("interrupted; waiting for the agent to end");
                    self.close();
                }
                item = events.next() => match item {
                    Ok(item) => self.take(&item).await,
                    Err(error) => {
                        self.failure.get_or_insert_with(|| journal(&error));
                        break self.agent.close().await;
                    }
                },
                outcome = end(&mut self.closing) => break outcome,
                line = self.host.line() => match line {
                    Some(line) => {
                        if let Some(command) = self.host.order(&line) {
                            self.order(command).await;
                        }
                    }
                    None => for refusal in self.host.refusals() {
                        self.order(refusal).await;
                    },
                },
            }
        };
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(End { reason: outcome.reason, limit: self.view.limit().map(str::to_owned) }),
        }
    }

    /// Takes note of an event or a delta, and shows it.
    async fn take(&mut self, item: &Item) {
        if self.failure.is_none()
            && let Err(failure) = self.view.show(item).await
        {
            // Nobody sees what the agent does any more, so it shall do nothing more.
            self.failure = Some(failure);
            self.close();
        }
        let Item::Event(event) = item else { return };
        if let Some(command) = self.host.see(event) {
            self.order(command).await;
        }
        if event.agent == *self.agent.log().agent() {
            self.follow(event);
        }
    }

    /// Sees when the agent's work is over.
    fn follow(&mut self, event: &Event) {
        match &event.body {
            Body::InputEnd { .. } => {
                self.open = self.open.saturating_sub(1);
                if self.open == 0 {
                    self.close();
                }
            }
            Body::SessionEnd { .. } => {
                if self.failure.is_none() {
                    self.view.close(event, self.started.elapsed());
                }
                self.close();
            }
            _ => {}
        }
    }

    /// Hands on a command of the host's; what the agent cannot do is told, and ends nothing.
    async fn order(&mut self, command: Command) {
        if let Err(error) = self.send(command).await {
            self.output.warning(&error.to_string());
        }
    }

    async fn send(&mut self, command: Command) -> Result<(), AgentError> {
        let is_input = matches!(command, Command::Submit { .. } | Command::FollowUp { .. });
        self.agent.send(command).await?;
        self.open += u32::from(is_input);
        Ok(())
    }

    /// Tells the agent to end, once.
    fn close(&mut self) {
        if self.closing.is_none() {
            let agent = Arc::clone(&self.agent);
            self.closing = Some(Box::pin(async move { agent.close().await }));
        }
    }
}

/// How an agent ended.
pub(crate) struct End {
    /// Why.
    pub(crate) reason: EndReason,
    /// The limit it reached, if one stopped it.
    pub(crate) limit: Option<String>,
}

/// Waits for the end of an agent that was told to end.
async fn end(closing: &mut Option<Fut<'static, Outcome>>) -> Outcome {
    match closing {
        Some(closing) => closing.await,
        None => std::future::pending().await,
    }
}

/// An agent that does not begin.
pub(crate) fn refused(error: &AgentError) -> Failure {
    let hint = error.hint().unwrap_or("`junto run --help` has examples");
    Failure::new(Exit::Failed, error.to_string(), hint)
}
