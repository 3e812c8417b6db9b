//! One agent, from its task to its end.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use junto::core::{
    Addressed, Agent, AgentError, Body, Command, EndReason, Event, Fut, Input, Item, Outcome, Seq,
    Subscription,
};
use junto::named::EndedBy;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::clock::Clock;
use super::ending::ending;
use super::host::Host;
use super::prepare::{Begun, Job};
use super::view::{Short, View, journal};
use crate::failure::{Exit, Failure};
use crate::interrupts::{Interrupt, Interrupts};
use crate::output::{Output, PATIENCE};

/// How often what moves on the screen moves.
const TICK: Duration = Duration::from_millis(120);
/// How long an agent that was starting may take to end.
const START_PATIENCE: Duration = Duration::from_secs(5);

/// Runs an agent: shows what it does, answers what it asks, hands on what it is told, and closes it when
/// it is done. Gives the reason it ended.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own that comes once")]
pub(crate) struct Drive {
    agent: Arc<dyn Agent>,
    /// The first event that is shown.
    from: Seq,
    /// The first that can end an input it was given.
    own: Seq,
    view: View,
    host: Host,
    output: Output,
    clock: Clock,
    /// Whether it takes further inputs from standard input until that ends.
    stays: bool,
    /// Inputs that it was given and that have not ended.
    open: u32,
    /// What is on its way to it, one after another.
    orders: VecDeque<Sending>,
    /// The end of the agent, once it was told to end.
    closing: Option<Fut<'static, Outcome>>,
    ended: Option<Outcome>,
    /// Somebody elsewhere wants it to stop.
    stop: CancellationToken,
    /// Whether that was seen.
    stopped: bool,
    /// Who ended it.
    by: EndedBy,
    interrupted: bool,
    out_of_time: bool,
    /// Whether it was told to end before its time, and no input has ended since that would tell how it was.
    is_cut: bool,
    /// Whether nothing more is shown, because that failed.
    is_blind: bool,
    /// Why the command fails, whatever the agent says.
    failure: Option<Failure>,
}

/// Something on its way to the agent. It may take a while: commands and hooks of the user's have their part in it.
struct Sending {
    what: Errand,
    is_input: bool,
    answer: Fut<'static, Result<(), AgentError>>,
}

/// What it is for.
enum Errand {
    /// To begin with. Without it there is nothing to do.
    Task,
    /// Somebody's wish. What the agent cannot do is told, and ends nothing.
    Order,
    /// To end the input under way.
    Stop,
}

impl Drive {
    pub(super) fn new(begun: Begun, view: View, host: Host, (output, clock): (Output, Clock)) -> Self {
        Self {
            agent: begun.agent,
            from: begun.from,
            own: begun.own,
            view,
            host,
            output,
            clock,
            stays: false,
            open: u32::from(begun.goes_on),
            orders: VecDeque::new(),
            closing: None,
            ended: None,
            stop: CancellationToken::new(),
            stopped: false,
            by: EndedBy::Itself,
            interrupted: false,
            out_of_time: false,
            is_cut: false,
            is_blind: false,
            failure: None,
        }
    }

    /// Stops it as an interrupt does when this is cancelled.
    pub(super) fn stopped_by(mut self, stop: CancellationToken) -> Self {
        self.stop = stop;
        self
    }

    /// Works until the agent has ended and everything it started with it, and what it did is shown. Without a task
    /// the agent works on what standard input says until that ends. An interrupt ends what it is doing; a second
    /// one does not wait for that: an agent that can be killed is, and tells its end.
    ///
    /// This is the one place that waits, and nothing that it does in between makes it wait for anybody but the
    /// journal.
    ///
    /// # Errors
    /// If the task is refused, if nothing else than nonsense was said, if the output fails, and on the
    /// second interrupt.
    pub(crate) async fn run(
        mut self,
        task: Option<Input>,
        interrupts: &mut Interrupts,
    ) -> Result<End, Failure> {
        let agent = Arc::clone(&self.agent);
        let (mut events, mut own_end) = (agent.log().subscribe(self.from), agent.ended());
        let mut killed: Option<Instant> = None;
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        self.output.be_patient();
        self.stays = task.is_none() && self.host.takes_orders();
        if let Some(input) = task {
            let first = self.first(input);
            self.send(Errand::Task, first);
        }
        while self.ended.is_none() || self.has_more(&events) {
            let lives = self.ended.is_none();
            // Whoever wants an end does not wait for those who read nothing.
            let in_haste = !lives && (self.interrupted || self.out_of_time);
            tokio::select! {
                biased;
                interrupt = interrupts.who() => {
                    if !self.interrupted {
                        self.interrupt(interrupt);
                    } else if lives && killed.is_none() && self.agent.kill() {
                        killed = Some(Instant::now());
                    } else {
                        return Err(Failure::interrupted());
                    }
                }
                // What is killed has an end to tell, and no time for anything else.
                () = sleep_until(killed.map_or_else(Instant::now, |at| at + PATIENCE)), if killed.is_some() => {
                    return Err(Failure::interrupted());
                }
                () = self.stop.cancelled(), if !self.stopped => {
                    self.stopped = true;
                    self.interrupt(Interrupt::Keyboard);
                }
                () = self.clock.up(), if !self.out_of_time => {
                    self.out_of_time = true;
                    self.cut();
                }
                taken = self.output.taken(), if self.output.waits() => if let Err(failure) = taken {
                    self.lose(failure);
                },
                item = events.next(), if !self.is_blind && !self.output.is_full() => match item {
                    Ok(item) => self.take(&item).await,
                    Err(error) => self.lose(journal(&error)),
                },
                outcome = &mut own_end, if lives => self.ended = Some(outcome),
                outcome = end(&mut self.closing), if lives => self.ended = Some(outcome),
                answer = first_answer(&mut self.orders), if lives => self.answered(answer),
                line = self.host.line(), if lives && self.orders.is_empty() => match line {
                    Some(line) => if let Some(order) = self.host.order(&line) {
                        self.send(Errand::Order, order);
                    },
                    None => self.alone(),
                },
                _ = ticks.tick(), if lives && self.view.moves() => self.view.tick(),
                () = sleep(PATIENCE), if in_haste => {
                    self.give_up();
                    break;
                }
            }
        }
        if !self.output.waits() {
            self.output.insist();
        }
        match (self.failure.take(), self.ended.take()) {
            (Some(failure), _) => Err(failure),
            (None, _) if self.host.heard_only_nonsense() => Err(Failure::usage(
                "standard input had no line that is a command",
                "write each as a line of JSON, as in {\"command\": \"submit\", \"input\": {\"text\": \"Fix the failing test.\"}}",
            )),
            (None, ended) => Ok(self.end(ended.map_or(EndReason::Interrupted, |outcome| outcome.reason))),
        }
    }

    /// Whether something is to be shown, or was not taken, of an agent that has ended.
    fn has_more(&self, events: &Subscription) -> bool {
        self.output.waits() || !self.is_blind && events.is_behind()
    }

    /// The task comes after an input that was cut off and goes on.
    fn first(&self, input: Input) -> Command {
        if self.open == 0 { Command::Submit { input } } else { Command::FollowUp { input } }
    }

    fn end(&self, reason: EndReason) -> End {
        let reason = if self.is_cut { EndReason::Interrupted } else { reason };
        if self.out_of_time && reason == EndReason::Interrupted {
            return self.clock.end(self.by);
        }
        End { reason, limit: self.view.limit().map(str::to_owned), short: self.view.short(), by: self.by }
    }

    /// Stops what the agent is doing, or the agent.
    fn interrupt(&mut self, interrupt: Interrupt) {
        self.interrupted = true;
        self.by = match interrupt {
            Interrupt::Keyboard => EndedBy::User,
            Interrupt::Terminate => EndedBy::Host,
        };
        self.host.forget();
        self.output.note("interrupted; waiting for the agent to end (Ctrl-C again aborts at once)");
        // What is still on its way would come first, and an end that cannot be shown would not be seen.
        let at_once = self.orders.is_empty() && !self.output.is_full();
        let stops = interrupt == Interrupt::Keyboard && self.open > 0 && self.agent.abilities().interrupt;
        if stops && at_once {
            self.send(Errand::Stop, Command::Interrupt);
        } else {
            self.cut();
        }
    }

    /// Nobody is left at the other end of standard input.
    fn alone(&mut self) {
        self.stays = false;
        for refusal in self.host.refusals() {
            self.send(Errand::Order, refusal);
        }
        if self.open == 0 {
            self.close();
        }
    }

    /// Takes note of an event or a delta, and shows it.
    async fn take(&mut self, item: &Item) {
        if let Err(failure) = self.view.show(item).await {
            return self.lose(failure);
        }
        let Item::Event(event) = item else { return };
        if let Some(command) = self.host.see(event) {
            self.send(Errand::Order, command);
        }
        if event.agent == *self.agent.log().agent() {
            self.follow(event);
        }
    }

    /// Sees when the agent's work is over.
    fn follow(&mut self, event: &Event) {
        match &event.body {
            Body::InputEnd { reason, .. } if event.seq >= self.own => {
                self.open = self.open.saturating_sub(1);
                self.is_cut = false;
                if self.open == 0 && !self.stays {
                    self.close();
                } else {
                    self.tell_of(reason);
                    // What follows can be interrupted by itself.
                    self.interrupted = self.closing.is_some();
                }
            }
            Body::SessionEnd { usage, cost, .. } => {
                if self.failure.is_none() {
                    self.view.close(usage, *cost, self.clock.elapsed());
                }
                self.close();
            }
            _ => {}
        }
    }

    /// Tells of an input that did not end well while others may follow. How the last one ended is told in the end.
    fn tell_of(&self, reason: &EndReason) {
        if *reason != EndReason::Interrupted
            && self.view.is_text()
            && let Err(failure) = ending(&self.end(reason.clone()), &[])
        {
            self.output.failure(&failure);
        }
    }

    /// Tells the agent something, after what it was told before.
    fn send(&mut self, what: Errand, order: impl Into<Addressed>) {
        let (agent, order) = (Arc::clone(&self.agent), order.into());
        let own = order.agent.as_ref().is_none_or(|id| id == agent.log().agent());
        let is_input = own && matches!(order.command, Command::Submit { .. } | Command::FollowUp { .. });
        self.open += u32::from(is_input);
        let answer = Box::pin(async move { order.send(&*agent).await.map(drop) });
        self.orders.push_back(Sending { what, is_input, answer });
    }

    /// What the agent says to what it was told.
    fn answered(&mut self, answer: Result<(), AgentError>) {
        let (Some(Sending { what, is_input, .. }), Err(error)) = (self.orders.pop_front(), answer) else {
            return;
        };
        self.open = self.open.saturating_sub(u32::from(is_input));
        match what {
            // It was told to end meanwhile.
            Errand::Task if self.is_cut => {}
            Errand::Task => self.fail(refused(&error)),
            Errand::Order => self.output.warning(&error.to_string()),
            Errand::Stop => self.cut(),
        }
        if self.open == 0 && !self.stays {
            self.close();
        }
    }

    /// Tells the agent to end, once.
    fn close(&mut self) {
        if self.closing.is_none() {
            let agent = Arc::clone(&self.agent);
            self.closing = Some(Box::pin(async move { agent.close().await }));
        }
    }

    /// The same before its time.
    fn cut(&mut self) {
        self.is_cut |= self.closing.is_none();
        self.close();
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
        self.close();
    }

    /// Nobody sees what the agent does any more, so it shall do nothing more.
    fn lose(&mut self, failure: Failure) {
        self.is_blind = true;
        if !failure.errors.is_empty() {
            self.fail(failure);
        } else if self.open > 0 && self.closing.is_none() {
            self.fail(Failure::new(
                Exit::Failed,
                "the agent was stopped in its work: standard output was closed",
                "let somebody read it to the end, or write it to a file",
            ));
        } else {
            // Whoever has read enough has gone, and nothing is missing.
            self.close();
        }
    }

    /// What was not taken until now will not be.
    fn give_up(&mut self) {
        if self.output.waits() {
            self.output.forget();
            self.output.warning("nobody reads the output; what was left of it is lost");
        }
        self.is_cut = true;
    }
}

/// Waits for an agent to start. Whoever wants an end meanwhile gets it: what has begun by then ends in order, unless
/// that takes long, or an interrupt says that nobody waits.
///
/// # Errors
/// Whatever keeps it from starting, an interrupt, and the end of the time.
pub(super) async fn started(job: Job, clock: &Clock, interrupts: &mut Interrupts) -> Result<Begun, Failure> {
    let cancel = CancellationToken::new();
    let mut start = pin!(job.start(cancel.clone()));
    let failure = tokio::select! {
        biased;
        begun = &mut start => return begun,
        () = interrupts.next() => Failure::interrupted(),
        () = clock.up() => clock.failure(),
    };
    cancel.cancel();
    let over = async {
        if let Ok(begun) = start.await {
            begun.agent.close().await;
        }
    };
    tokio::select! {
        () = over => {}
        () = interrupts.next() => {}
        () = sleep(START_PATIENCE) => {}
    }
    Err(failure)
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

/// Waits for what the agent says to what it was told first.
async fn first_answer(orders: &mut VecDeque<Sending>) -> Result<(), AgentError> {
    match orders.front_mut() {
        Some(first) => (&mut first.answer).await,
        None => std::future::pending().await,
    }
}

/// An agent that does not begin.
pub(crate) fn refused(error: &AgentError) -> Failure {
    let hint = error.hint().unwrap_or("`junto run --help` has examples");
    Failure::new(Exit::Failed, error.to_string(), hint)
}
