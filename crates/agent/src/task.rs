//! The one task that owns a session.

use std::sync::Arc;

use junto_core::{
    Ack, AgentError, AgentErrorKind, Body, Command, EndReason, EventError, Fut, Input, JournalError, Outcome,
};
use junto_env::GRACE;
use tokio::sync::{mpsc, oneshot};

use crate::desk::Desk;
use crate::family::Family;
use crate::host::{Door, Sign};
use crate::panics::caught;
use crate::said::Said;
use crate::state::State;
use crate::toolbox::Toolbox;
use crate::turn::turn;

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

/// An input, and who waits to hear that work on it began; nobody, for one that was queued.
type Begun = (Said, Option<oneshot::Sender<Result<Ack, AgentError>>>);

/// A session's life.
pub(crate) struct Life {
    pub(crate) state: State,
    pub(crate) reception: Reception,
    pub(crate) door: Arc<Door>,
    /// Bounded: a host that commands faster than the session listens waits.
    pub(crate) orders: mpsc::Receiver<Order>,
}

impl Life {
    /// Works on inputs until the session is over; then ends what is left, and says how it was.
    pub(crate) async fn run(mut self) -> Outcome {
        let mut outcome = Outcome { reason: EndReason::Done, text: String::new() };
        while let Some((said, reply)) = self.next_input().await {
            match self.work_on(said, reply).await {
                Ok(ended) => outcome = ended,
                Err(error) => {
                    outcome = Outcome { reason: failed(&error.into()), text: String::new() };
                    break;
                }
            }
            // Whoever is not let in now will not be let in later; see `Session`.
            if matches!(&outcome.reason, EndReason::Failed { error } if error.kind == "authentication") {
                break;
            }
        }
        self.finish(&mut outcome).await;
        outcome
    }

    /// The next input: a queued one, else the next that is submitted. None once the session must end.
    async fn next_input(&mut self) -> Option<Begun> {
        let session = self.reception.desk.session().clone();
        if session.is_cancelled() {
            return None;
        }
        if let Some(said) = self.reception.desk.take_follow_up() {
            return Some((said, None));
        }
        loop {
            let order = tokio::select! {
                biased;
                () = session.cancelled() => return None,
                order = self.orders.recv() => order?,
            };
            match order.command {
                Command::Submit { input } | Command::FollowUp { input } => {
                    match Said::read(input, &**self.state.toolbox.env()).await {
                        Ok(said) => return Some((said, Some(order.reply))),
                        Err(error) => tell(Some(order.reply), Err(error)),
                    }
                }
                command => tell(Some(order.reply), self.reception.take(command).await),
            }
        }
    }

    /// Works on one input, from its `user_input` to its `input_end`.
    async fn work_on(
        &mut self,
        said: Said,
        reply: Option<oneshot::Sender<Result<Ack, AgentError>>>,
    ) -> Result<Outcome, JournalError> {
        self.state.log.begin_turn();
        if let Err(error) = self.state.log.commit(Body::UserInput { input: said.input.clone() }).await {
            tell(reply, Err(error.clone().into()));
            return Err(error);
        }
        self.reception.desk.begin_input();
        tell(reply, Ok(Ack::Started));
        self.state.text.clear();
        let turned = self.turn(&said).await;
        self.reception.desk.end_input();
        let _nobody_inside = self.door.clear().await;
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
        let text = std::mem::take(&mut self.state.text);
        let end = Body::InputEnd { reason: reason.clone(), text: text.clone().into() };
        let ended = self.state.log.commit(end).await;
        if let Ok(Err(error)) = turned {
            return Err(error);
        }
        ended.map(|_| Outcome { reason, text })
    }

    /// The turn, while commands are listened to.
    async fn turn(&mut self, said: &Said) -> Result<Result<EndReason, JournalError>, String> {
        let mut turn = std::pin::pin!(caught(turn(&mut self.state, said)));
        // The turn goes on while a command is served: one may need the log, which the other may hold.
        let mut serving: Option<Fut<'_, ()>> = None;
        let reason = loop {
            let free = serving.is_none();
            let served = async {
                match &mut serving {
                    Some(serving) => serving.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                reason = &mut turn => break reason,
                () = served => serving = None,
                Some(order) = self.orders.recv(), if free => {
                    serving = Some(Box::pin(self.reception.serve(order)));
                }
            }
        };
        if let Some(serving) = serving {
            serving.await;
        }
        reason
    }

    /// Ends everything in order: calls from outside, commands in the background, inputs that nobody worked on, children, the
    /// session. Best effort where the journal fails.
    async fn finish(&mut self, outcome: &mut Outcome) {
        self.reception.desk.session().cancel();
        self.orders.close();
        *self.door.clear().await = Sign::Closed;
        self.reception.toolbox.jobs().end_all(GRACE).await;
        // Every accepted input has its end; these never had their turn.
        while let Some(said) = self.reception.desk.take_follow_up() {
            let reason = match &outcome.reason {
                failed @ EndReason::Failed { .. } => failed.clone(),
                _ => EndReason::Interrupted,
            };
            self.state.log.begin_turn();
            let begun = self.state.log.commit(Body::UserInput { input: said.input }).await;
            let end = Body::InputEnd { reason: reason.clone(), text: "".into() };
            if begun.is_err() || self.state.log.commit(end).await.is_err() {
                break;
            }
            *outcome = Outcome { reason, text: String::new() };
        }
        self.reception.family.close().await;
        let (usage, cost) = self.state.totals.get();
        let end = Body::SessionEnd { reason: outcome.reason.clone(), usage, cost };
        if let Err(error) = self.state.log.commit(end).await {
            outcome.reason = failed(&error.into());
        }
    }
}

fn failed(error: &AgentError) -> EndReason {
    EndReason::Failed { error: error.into() }
}

/// Takes the commands that begin no input.
pub(crate) struct Reception {
    pub(crate) desk: Arc<Desk>,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) family: Arc<Family>,
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
            Command::Configure { change } => Ok(self.desk.configure(change)),
        }
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
        Said::read(input, &**self.toolbox.env()).await
    }
}
