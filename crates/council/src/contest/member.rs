//! One member at work, from its task to its end.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use junto_core::{
    Ack, Agent, AgentError, AgentErrorKind, AgentId, Body, Command, EndReason, Event, EventLog, Input, Item,
    Outcome, Parent, Subscription,
};
use junto_llm::{Budget, Cost, Usage};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Crew, Ended, Member};

/// The members that live now, for whoever wants to speak to one.
#[derive(Clone, Default)]
pub(super) struct Living(Arc<Mutex<HashMap<AgentId, Arc<dyn Agent>>>>);

impl Living {
    fn all(&self) -> MutexGuard<'_, HashMap<AgentId, Arc<dyn Agent>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent of this id among the members and their children.
    pub(super) fn find(&self, id: &AgentId) -> Option<Arc<dyn Agent>> {
        // A copy: a member may be asked for its children, and may take its time.
        let all = self.all().clone();
        all.get(id).cloned().or_else(|| all.values().find_map(|member| member.child(id)))
    }

    /// Hands an answer to the member that asked, or whose child did.
    ///
    /// # Errors
    /// `invalid` if nobody who lives has asked that.
    pub(super) async fn answer(&self, command: &Command) -> Result<Ack, AgentError> {
        let all: Vec<_> = self.all().values().cloned().collect();
        for member in all {
            if let Ok(ack) = member.send(command.clone()).await {
                return Ok(ack);
            }
        }
        Err(AgentError::new(AgentErrorKind::Invalid, "no member waits for this answer")
            .with_hint("it was given, the member has ended, or the question was withdrawn"))
    }
}

/// What members are started with.
#[derive(Clone)]
pub(super) struct Household {
    pub(super) log: EventLog,
    pub(super) living: Living,
    pub(super) budget: Arc<dyn Budget>,
    pub(super) depth: u8,
}

/// What a member is to do.
pub(super) struct Errand<'a> {
    pub(super) member: &'a Member,
    /// What it is called among the children.
    pub(super) name: String,
    pub(super) directory: &'a Path,
    pub(super) task: String,
    pub(super) within: Duration,
}

/// What came of it.
pub(super) struct Finished {
    pub(super) ended: Ended,
    pub(super) said: String,
    pub(super) usage: Usage,
    pub(super) cost: Option<Cost>,
    pub(super) seconds: f64,
}

impl Household {
    /// Lets a member work. It has ended, with everything it started, when this returns; it ends at once when
    /// `stop` is cancelled.
    pub(super) async fn work(
        &self,
        crew: &dyn Crew,
        errand: Errand<'_>,
        stop: &CancellationToken,
    ) -> Finished {
        let started = Instant::now();
        let parent = Parent {
            log: Some(self.log.clone()),
            env: None,
            depth: self.depth,
            cancel: stop.child_token(),
            budget: Arc::clone(&self.budget),
        };
        let mut finished = match crew.start(errand.member.spec.clone(), errand.directory, parent).await {
            Ok(agent) => self.follow(agent, errand, stop).await,
            Err(error) => failed(&error),
        };
        finished.seconds = started.elapsed().as_secs_f64();
        finished
    }

    async fn follow(&self, agent: Arc<dyn Agent>, errand: Errand<'_>, stop: &CancellationToken) -> Finished {
        let id = agent.log().agent().clone();
        let mut events = agent.log().subscribe(agent.log().last().next());
        let Errand { member, name, task, within, .. } = errand;
        let kind = member.spec.kind.clone();
        // A log that cannot be written ends the contest elsewhere.
        let _ = self.log.emit(Body::Child { agent: id.clone(), name, kind, task: task.clone() }).await;
        self.living.all().insert(id.clone(), Arc::clone(&agent));
        let mut past = Past::default();
        let ended = tokio::select! {
            biased;
            () = stop.cancelled() => Some(Ended::Interrupted),
            () = tokio::time::sleep(within) => Some(Ended::TimedOut),
            asked = ask(&*agent, &id, task, &mut events, &mut past) => asked.err().map(|error| {
                Ended::Failed { message: error.to_string() }
            }),
        };
        let outcome = agent.close().await;
        self.living.all().remove(&id);
        for event in events.rest().await.unwrap_or_default() {
            past.take(&event, &id);
        }
        let said = match &past.answer {
            Some(text) => self.log.read(text).await.unwrap_or_default(),
            None => outcome.text.clone(),
        };
        let ended = ended.unwrap_or_else(|| past.reason.map_or_else(|| of(outcome), of_reason));
        Finished { ended, said, usage: past.usage, cost: past.cost, seconds: 0.0 }
    }
}

/// What the events of a member tell.
#[derive(Default)]
struct Past {
    reason: Option<EndReason>,
    answer: Option<junto_core::Payload>,
    usage: Usage,
    cost: Option<Cost>,
}

impl Past {
    fn take(&mut self, event: &Event, id: &AgentId) {
        if event.agent != *id {
            return;
        }
        match &event.body {
            Body::InputEnd { reason, text } => {
                (self.reason, self.answer) = (Some(reason.clone()), Some(text.clone()));
            }
            Body::SessionEnd { usage, cost, .. } => {
                (self.usage, self.cost) = (usage.clone(), Some(*cost));
            }
            _ => {}
        }
    }
}

/// Gives an agent its task, and waits for the end of it.
async fn ask(
    agent: &dyn Agent,
    id: &AgentId,
    task: String,
    events: &mut Subscription,
    past: &mut Past,
) -> Result<(), AgentError> {
    agent.send(Command::Submit { input: Input::text(task) }).await?;
    while past.reason.is_none() {
        if let Item::Event(event) = events.next().await? {
            past.take(&event, id);
            if event.agent == *id && matches!(event.body, Body::SessionEnd { .. }) {
                break;
            }
        }
    }
    Ok(())
}

fn of(outcome: Outcome) -> Ended {
    of_reason(outcome.reason)
}

fn of_reason(reason: EndReason) -> Ended {
    match reason {
        EndReason::Done | EndReason::AwaitingInput => Ended::Answered,
        EndReason::Limit => Ended::Limit,
        EndReason::Interrupted => Ended::Interrupted,
        EndReason::Rejected => Ended::Failed { message: "what it wanted to do was refused".to_owned() },
        EndReason::Failed { error } => Ended::Failed { message: error.message },
    }
}

fn failed(error: &AgentError) -> Finished {
    Finished {
        ended: Ended::Failed { message: error.to_string() },
        said: String::new(),
        usage: Usage::default(),
        cost: None,
        seconds: 0.0,
    }
}
