//! One agent, from its task to its end.

use std::sync::Arc;
use std::time::Duration;

use junto::core::{
    Addressed, Agent, AgentError, Body, Command, EndReason, Event, Fut, Input, Item, Outcome, Seq,
};
use junto::named::EndedBy;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::host::Host;
use super::prepare::Begun;
use super::view::{Short, View, journal};
use crate::config::duration_text;
use crate::failure::{Exit, Failure};
use crate::interrupts::{Interrupt, Interrupts};
use crate::output::Output;

/// How often what moves on the screen moves.
const TICK: Duration = Duration::from_millis(120);

/// Runs an agent: shows what it does, answers what it asks, hands on what it is told, and closes it when
/// it is done. Gives the reason it ended.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own that comes once")]
pub(crate) struct Drive {
    agent: Arc<dyn Agent>,
    /// The first event that is shown.
    from: Seq,
    view: View,
    host: Host,
    output: Output,
    started: Instant,
    /// How long it may take.
    most: Option<Duration>,
    /// Whether it takes further inputs from standard input until that ends.
    stays: bool,
    /// Inputs that were accepted and have not ended.
    open: u32,
    /// The end of the agent, once it was told to end.
    closing: Option<Fut<'static, Outcome>>,
    /// Somebody elsewhere wants it to stop.
    stop: CancellationToken,
    /// Whether that was seen.
    stopped: bool,
    /// Who ended it.
    by: EndedBy,
    interrupted: bool,
    out_of_time: bool,
    /// Why nothing more is shown.
    failure: Option<Failure>,
}

impl Drive {
    pub(super) fn new(begun: Begun, view: View, host: Host, output: Output) -> Self {
        Self {
            agent: begun.agent,
            from: begun.from,
            view,
            host,
            output,
            started: Instant::now(),
            most: None,
            stays: false,
            open: u32::from(begun.goes_on),
            closing: None,
            stop: CancellationToken::new(),
            stopped: false,
            by: EndedBy::Itself,
            interrupted: false,
            out_of_time: false,
            failure: None,
        }
    }

    /// Ends it after this time.
    pub(super) fn at_most(mut self, time: Option<Duration>) -> Self {
        self.most = time;
        self
    }

    /// Stops it as an interrupt does when this is cancelled.
    pub(super) fn stopped_by(mut self, stop: CancellationToken) -> Self {
        self.stop = stop;
        self
    }

    /// Works until the agent has ended and everything it started with it. Without a task the agent works
    /// on what standard input says until that ends. An interrupt ends what it is doing; a second one does
    /// not wait for that.
    ///
    /// # Errors
    /// If the task is refused, if nothing else than nonsense was said, if the output fails, and on the
    /// second interrupt.
    pub(crate) async fn run(
        mut self,
        task: Option<Input>,
        interrupts: &mut Interrupts,
    ) -> Result<End, Failure> {
        let mut events = self.agent.log().subscribe(self.from);
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        self.stays = task.is_none() && self.host.takes_orders();
        if let Some(input) = task {
            let agent = Arc::clone(&self.agent);
            let first = self.first(input);
            // To hear it may take a while: commands and hooks of the user's have their part in it.
            let sent = tokio::select! {
                biased;
                sent = self.send(first) => sent,
                () = interrupts.next() => {
                    agent.close().await;
                    return Err(Failure::interrupted());
                }
            };
            if let Err(error) = sent {
                self.agent.close().await;
                return Err(refused(&error));
            }
        }
        let outcome = loop {
            tokio::select! {
                biased;
                interrupt = interrupts.who() => {
                    if self.interrupted {
                        return Err(Failure::interrupted());
                    }
                    self.by = match interrupt {
                        Interrupt::Keyboard => EndedBy::User,
                        Interrupt::Terminate => EndedBy::Host,
                    };
                    self.interrupt(interrupt).await;
                }
                () = self.stop.cancelled(), if !self.stopped => {
                    (self.stopped, self.by) = (true, EndedBy::User);
                    self.interrupt(Interrupt::Keyboard).await;
                }
                () = time(self.started, self.most), if !self.out_of_time => {
                    self.out_of_time = true;
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
                        if let Some(order) = self.host.order(&line) {
                            self.order(order).await;
                        }
                    }
                    None => self.alone().await,
                },
                _ = ticks.tick(), if self.view.moves() => self.view.tick(),
            }
        };
        match self.failure {
            Some(failure) => Err(failure),
            None if self.host.heard_only_nonsense() => Err(Failure::usage(
                "standard input had no line that is a command",
                "write each as a line of JSON, as in {\"command\": \"submit\", \"input\": {\"text\": \"Fix the failing test.\"}}",
            )),
            None => Ok(self.end(outcome.reason)),
        }
    }

    /// The task comes after an input that was cut off and goes on.
    fn first(&self, input: Input) -> Command {
        if self.open == 0 { Command::Submit { input } } else { Command::FollowUp { input } }
    }

    fn end(&self, reason: EndReason) -> End {
        match (self.most, reason) {
            (Some(most), EndReason::Interrupted) if self.out_of_time => {
                let limit = format!("at most {} in all", duration_text(most));
                End { reason: EndReason::Limit, limit: Some(limit), short: None, by: self.by }
            }
            (_, reason) => {
                let limit = self.view.limit().map(str::to_owned);
                End { reason, limit, short: self.view.short(), by: self.by }
            }
        }
    }

    /// Stops what the agent is doing, or the agent.
    async fn interrupt(&mut self, interrupt: Interrupt) {
        self.interrupted = true;
        self.host.forget();
        self.output.note("interrupted; waiting for the agent to end (Ctrl-C again aborts at once)");
        let stops = interrupt == Interrupt::Keyboard && self.open > 0 && self.agent.abilities().interrupt;
        if !stops || self.send(Command::Interrupt).await.is_err() {
            self.close();
        }
    }

    /// Nobody is left at the other end of standard input.
    async fn alone(&mut self) {
        self.stays = false;
        for refusal in self.host.refusals() {
            self.order(refusal.into()).await;
        }
        if self.open == 0 {
            self.close();
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
            self.order(command.into()).await;
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
                if self.open == 0 && !self.stays {
                    self.close();
                } else {
                    // What follows can be interrupted by itself.
                    self.interrupted = self.closing.is_some();
                }
            }
            Body::SessionEnd { usage, cost, .. } => {
                if self.failure.is_none() {
                    self.view.close(usage, *cost, self.started.elapsed());
                }
                self.close();
            }
            _ => {}
        }
    }

    /// Hands on a command of the host's; what the agent cannot do is told, and ends nothing.
    async fn order(&mut self, order: Addressed) {
        if let Err(error) = self.send(order).await {
            self.output.warning(&error.to_string());
        }
    }

    async fn send(&mut self, order: impl Into<Addressed>) -> Result<(), AgentError> {
        let order = order.into();
        let own = order.agent.as_ref().is_none_or(|id| id == self.agent.log().agent());
        let is_input = own && matches!(order.command, Command::Submit { .. } | Command::FollowUp { .. });
        order.send(&*self.agent).await?;
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
    /// What its last answer lacks.
    pub(crate) short: Option<Short>,
    /// Who ended it.
    pub(crate) by: EndedBy,
}

/// Waits for the end of an agent that was told to end.
async fn end(closing: &mut Option<Fut<'static, Outcome>>) -> Outcome {
    match closing {
        Some(closing) => closing.await,
        None => std::future::pending().await,
    }
}

/// Waits until the time is up.
async fn time(started: Instant, most: Option<Duration>) {
    match most.and_then(|most| started.checked_add(most)) {
        Some(end) => tokio::time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}

/// An agent that does not begin.
pub(crate) fn refused(error: &AgentError) -> Failure {
    let hint = error.hint().unwrap_or("`junto run --help` has examples");
    Failure::new(Exit::Failed, error.to_string(), hint)
}
