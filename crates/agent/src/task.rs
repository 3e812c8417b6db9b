//! The one task that owns a session.

use std::collections::VecDeque;
use std::sync::Arc;

use junto_core::{
    Ack, AgentError, AgentErrorKind, Body, Change, Command, Companion, EndReason, EventError, Fut, Input,
    JournalError, Outcome, SessionState, ToolHost,
};
use junto_env::GRACE;
use junto_llm::{ErrorKind, Provider, Spending};
use tokio::sync::{OwnedRwLockWriteGuard, mpsc, oneshot};

use crate::config::{Environments, Overflow};
use crate::configure::{changed, meant};
use crate::desk::Desk;
use crate::ear::Ear;
use crate::family::Family;
use crate::host::{Door, Sign};
use crate::panics::caught;
use crate::said::Said;
use crate::state::State;
use crate::status::Status;
use crate::toolbox::Toolbox;
use crate::turn::{Entry, turn};
use crate::wallet::Wallet;

/// A command, and who waits to hear what became of it.
pub(crate) struct Order {
    pub(crate) command: Command,
    pub(crate) reply: oneshot::Sender<Result<Ack, AgentError>>,
}

/// Tells who waits; one who no longer does need not know.
fn tell(reply: Option<oneshot::Sender<Result<Ack, AgentError>>>, result: Result<Ack, AgentError>) {
    if let Some(reply) = reply {
        let _ = reply.send(result);
    }
}

/// An input, and who waits to hear that work on it began; nobody, for one that was queued or cut off.
type Begun = (Entry, Option<oneshot::Sender<Result<Ack, AgentError>>>);

/// A session's life.
pub(crate) struct Life {
    pub(crate) state: State,
    pub(crate) reception: Reception,
    pub(crate) wallet: Arc<Wallet>,
    pub(crate) door: Arc<Door>,
    /// Who lives beside the session.
    pub(crate) companions: Vec<Arc<dyn Companion>>,
    /// What they call tools through, for as long as the session lives.
    pub(crate) _tools: Arc<dyn ToolHost>,
    pub(crate) status: Arc<Status>,
    /// Whether an input was under way when the session was cut off, and is to be gone on with.
    pub(crate) goes_on: bool,
    /// What was spent on that one.
    pub(crate) spent: Vec<Spending>,
    pub(crate) orders: Orders,
}

/// Commands that come in.
pub(crate) struct Orders {
    /// Bounded: a host that commands faster than the session listens waits.
    received: mpsc::Receiver<Order>,
    /// Those that came while only some were listened to.
    later: VecDeque<Order>,
}

impl Orders {
    /// How many are put off before others wait where they are.
    const MOST_LATER: usize = 32;

    pub(crate) fn new(received: mpsc::Receiver<Order>) -> Self {
        Self { received, later: VecDeque::new() }
    }

    /// The next one; none once nobody can send any. None is lost if the future is dropped.
    async fn next(&mut self) -> Option<Order> {
        match self.later.pop_front() {
            Some(order) => Some(order),
            None => self.received.recv().await,
        }
    }

    /// The next one that stops something. Others wait until all are listened to.
    async fn next_stop(&mut self) -> Option<Order> {
        while self.later.len() < Self::MOST_LATER {
            let order = self.received.recv().await?;
            if matches!(order.command, Command::Interrupt | Command::Abort) {
                return Some(order);
            }
            self.later.push_back(order);
        }
        std::future::pending().await
    }
}

/// What is listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    All,
    Stops,
}

impl Drop for Life {
    /// However it ends: also if it crashes, or the runtime goes away.
    fn drop(&mut self) {
        self.status.set(SessionState::Closed);
    }
}

impl Life {
    /// Works on inputs until the session is over; then ends what is left, and says how it was.
    pub(crate) async fn run(mut self) -> Outcome {
        let mut outcome = Outcome { reason: EndReason::Done, text: String::new() };
        while let Some((entry, reply)) = self.next_input().await {
            match self.work_on(entry, reply).await {
                Ok(ended) => outcome = ended,
                Err(error) => {
                    outcome = Outcome { reason: failed(&error.into()), text: String::new() };
                    break;
                }
            }
            if self.is_fatal(&outcome.reason) {
                break;
            }
        }
        self.finish(&mut outcome).await;
        outcome
    }

    /// Whether the session ends with an input that ended like this: whoever is not let in now will not
    /// be let in later, and what is too long now will be too long then. See `Session`.
    fn is_fatal(&self, reason: &EndReason) -> bool {
        let EndReason::Failed { error } = reason else { return false };
        error.kind == ErrorKind::Authentication.as_str()
            || error.kind == ErrorKind::ContextLength.as_str() && self.state.on_overflow == Overflow::Close
    }

    /// The next input: the one that was cut off, a queued one, else the next that is submitted. None once
    /// the session must end.
    async fn next_input(&mut self) -> Option<Begun> {
        // Also if the session must end: an input that has begun has an end.
        if std::mem::take(&mut self.goes_on) {
            return Some((Entry::GoOn, None));
        }
        let session = self.reception.desk.session().clone();
        if session.is_cancelled() {
            return None;
        }
        if let Some(said) = self.reception.desk.take_follow_up() {
            return Some((Entry::Input(said), None));
        }
        loop {
            let order = tokio::select! {
                biased;
                () = session.cancelled() => return None,
                order = self.orders.next() => order?,
            };
            match order.command {
                Command::Submit { input } | Command::FollowUp { input } => {
                    match self.reception.hear(input).await {
                        Ok(said) => return Some((Entry::Input(said), Some(order.reply))),
                        Err(error) => tell(Some(order.reply), Err(error)),
                    }
                }
                command => tell(Some(order.reply), self.reception.take(command).await),
            }
        }
    }

    /// Works on one input, from its `user_input`, or where it was cut off, to its `input_end`.
    async fn work_on(
        &mut self,
        entry: Entry,
        reply: Option<oneshot::Sender<Result<Ack, AgentError>>>,
    ) -> Result<Outcome, JournalError> {
        self.status.set(SessionState::Processing);
        if let Entry::Input(said) = &entry {
            self.state.log.begin_turn();
            // Not synced: nothing relies on it before a tool runs or the input ends, and then it is.
            if let Err(error) = self.state.log.emit(said.accepted()).await {
                tell(reply, Err(error.clone().into()));
                return Err(error);
            }
        }
        self.reception.desk.begin_input();
        let spent = std::mem::take(&mut self.spent);
        self.wallet.begin_input(&spent);
        tell(reply, Ok(Ack::Started));
        let turned = self.turn(&entry).await;
        let _nobody_inside = self.companions_rest().await;
        self.reception.desk.end_input();
        let reason = match &turned {
            Ok(Ok(reason)) => reason.clone(),
            Ok(Err(error)) => failed(&error.clone().into()),
            Err(panic) => EndReason::Failed {
                error: EventError {
                    kind: "panic".into(),
                    message: format!("the session crashed: {panic}"),
                    hint: None,
                },
            },
        };
        self.rest(&turned, &reason);
        let text = std::mem::take(&mut self.state.text);
        let end = Body::InputEnd { reason: reason.clone(), text: text.clone().into() };
        let ended = self.state.log.commit(end).await;
        if let Ok(Err(error)) = turned {
            return Err(error);
        }
        ended.map(|_| Outcome { reason, text })
    }

    /// Shows what the session does after an input that ended like this, unless it goes on or is over.
    /// Whoever sees the end of the input sees this.
    fn rest<E>(&self, turned: &Result<Result<EndReason, JournalError>, E>, reason: &EndReason) {
        let desk = &self.reception.desk;
        let over = matches!(turned, Ok(Err(_))) || self.is_fatal(reason) || desk.session().is_cancelled();
        if !over && !desk.has_follow_up() {
            self.status.set(match reason {
                EndReason::AwaitingInput => SessionState::AwaitingInput,
                _ => SessionState::Idle,
            });
        }
    }

    /// The turn, while commands are listened to.
    async fn turn(&mut self, entry: &Entry) -> Result<Result<EndReason, JournalError>, String> {
        let (state, companions) = (&mut self.state, &self.companions);
        let mut turn = std::pin::pin!(caught(async {
            match ready(companions, &state.desk).await {
                Some(reason) => Ok(reason),
                None => turn(state, entry).await,
            }
        }));
        served(&self.reception, (&mut self.orders, Heard::All), &mut turn).await
    }

    /// Has companions put things in order, unless somebody stops that. Nobody calls tools until what is given is
    /// dropped.
    async fn companions_rest(&mut self) -> OwnedRwLockWriteGuard<Sign> {
        let stop = self.reception.desk.begin_rest();
        let (door, companions) = (&self.door, &self.companions);
        let mut rest = std::pin::pin!(async {
            let nobody_inside = door.clear().await;
            let rest = async {
                for companion in companions {
                    companion.rest().await;
                }
            };
            // Whoever interrupts, or ends the session, wants it to end now.
            stop.run_until_cancelled(rest).await;
            nobody_inside
        });
        // What else comes is for the input after this one, or for nobody.
        served(&self.reception, (&mut self.orders, Heard::Stops), &mut rest).await
    }

    /// Ends everything in order: calls from outside, companions, commands in the background, inputs that nobody worked
    /// on, children, the session. The model call and the tools of an input have ended before, each command
    /// politely first. Best effort where the journal fails.
    async fn finish(&mut self, outcome: &mut Outcome) {
        self.reception.desk.session().cancel();
        self.orders.received.close();
        *self.door.clear().await = Sign::Closed;
        for companion in &self.companions {
            companion.end().await;
        }
        self.reception.toolbox.jobs().end_all(GRACE).await;
        // Every accepted input has its end; these never had their turn.
        while let Some(said) = self.reception.desk.take_follow_up() {
            let reason = match &outcome.reason {
                failed @ EndReason::Failed { .. } => failed.clone(),
                _ => EndReason::Interrupted,
            };
            self.state.log.begin_turn();
            let begun = self.state.log.emit(said.accepted()).await;
            let end = Body::InputEnd { reason: reason.clone(), text: "".into() };
            if begun.is_err() || self.state.log.commit(end).await.is_err() {
                break;
            }
            *outcome = Outcome { reason, text: String::new() };
        }
        self.reception.family.close().await;
        // Best effort, like all of this: what cannot be written is told by what comes last.
        let _ = self.state.hooks.end("other", &self.reception.toolbox.env()).await;
        let (usage, cost) = self.state.totals.get();
        // Nothing of it is left but this event: whoever sees it sees a closed session.
        self.status.set(SessionState::Closed);
        let end = Body::SessionEnd { reason: outcome.reason.clone(), usage, cost };
        // Not synced: every input before it is, and a session that lost its end in a crash of the machine goes on like
        // any other.
        if let Err(error) = self.state.log.emit(end).await {
            outcome.reason = failed(&error.into());
        }
    }
}

/// Waits for who lives beside the session; why the input ends at once, if it does.
async fn ready(companions: &[Arc<dyn Companion>], desk: &Desk) -> Option<EndReason> {
    for companion in companions {
        loop {
            // Whatever ends the input or the session ends this, and a message that cannot wait for a step waits.
            let step = desk.begin_step();
            match step.run_until_cancelled(companion.ready()).await {
                Some(Ok(())) => break,
                Some(Err(error)) => return Some(failed(&error)),
                None if desk.is_stopped() => return Some(EndReason::Interrupted),
                None => {}
            }
        }
    }
    None
}

fn failed(error: &AgentError) -> EndReason {
    EndReason::Failed { error: error.into() }
}

/// Takes the commands that begin no input.
pub(crate) struct Reception {
    pub(crate) desk: Arc<Desk>,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) family: Arc<Family>,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) environments: Option<Environments>,
    pub(crate) ear: Ear,
}

/// Does some work while commands are listened to. It goes on while one is served: one may need the log, which the other
/// may hold.
async fn served<T>(
    reception: &Reception,
    (orders, heard): (&mut Orders, Heard),
    work: &mut (impl Future<Output = T> + Unpin),
) -> T {
    let mut serving: Option<Fut<'_, ()>> = None;
    let done = loop {
        let free = serving.is_none();
        let served = async {
            match &mut serving {
                Some(serving) => serving.await,
                None => std::future::pending().await,
            }
        };
        let order = async {
            match heard {
                Heard::All => orders.next().await,
                Heard::Stops => orders.next_stop().await,
            }
        };
        tokio::select! {
            biased;
            done = &mut *work => break done,
            () = served => serving = None,
            Some(order) = order, if free => serving = Some(Box::pin(reception.serve(order))),
        }
    };
    if let Some(serving) = serving {
        serving.await;
    }
    done
}

impl Reception {
    async fn serve(&self, order: Order) {
        let result = self.take(order.command).await;
        tell(Some(order.reply), result);
    }

    async fn take(&self, command: Command) -> Result<Ack, AgentError> {
        match command {
            Command::Submit { .. } => {
                let busy = AgentError::new(AgentErrorKind::WrongState, "the session works on another input");
                Err(busy.with_hint("follow_up queues an input, steer changes the one under way"))
            }
            Command::FollowUp { input } => self.desk.follow_up(self.hear(input).await?),
            Command::Steer { input, when } => self.desk.steer(self.hear(input).await?, when),
            Command::Interrupt => {
                let own = self.desk.interrupt();
                // Whoever interrupts wants quiet, whoever of the family makes the noise.
                if self.family.interrupt().await { Ok(Ack::Started) } else { own }
            }
            Command::Abort => {
                self.desk.session().cancel();
                Ok(Ack::Started)
            }
            Command::Answer { ref ask, ref decision } => {
                let answered = self.toolbox.gate().answer(ask, decision.clone());
                self.or_a_child(answered, &command).await
            }
            Command::Reply { ref ask, ref reply } => {
                let answered = self.toolbox.questions().reply(ask, reply.clone());
                self.or_a_child(answered, &command).await
            }
            Command::Compact => Ok(self.desk.compact()),
            Command::Configure { change } => self.configure(change).await,
        }
    }

    /// Changes how the next model call is made, or nothing if something about the change is wrong.
    async fn configure(&self, change: Change) -> Result<Ack, AgentError> {
        if change == Change::default() {
            return Ok(Ack::Done);
        }
        let (provider, environments) = (&*self.provider, self.environments.as_ref());
        let settings = self.desk.settings();
        let change = meant(change, &settings, provider);
        let settings = changed(settings, &change, provider, environments).await?;
        self.family.log().commit(Body::Configured { change }).await?;
        self.desk.configure(settings);
        Ok(Ack::Done)
    }

    /// What became of an answer: if this session did not ask, a child of it may have.
    async fn or_a_child(
        &self,
        answered: Result<(), AgentError>,
        command: &Command,
    ) -> Result<Ack, AgentError> {
        match answered {
            Ok(()) => Ok(Ack::Done),
            Err(_) if self.family.answer(command).await => Ok(Ack::Done),
            Err(unknown) => Err(unknown),
        }
    }

    async fn hear(&self, input: Input) -> Result<Said, AgentError> {
        self.ear.hear(input).await
    }
}
