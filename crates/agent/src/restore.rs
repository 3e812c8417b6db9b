//! Reads a session's past from its events: the conversation as the model saw it, the settings, the sums, and
//! what was under way when it stopped. Nothing is written and nothing is run here.
//!
//! `bill.rs` says what calls are booked as, `branch.rs` which events count after a rewind, `conversation.rs` rebuilds what the model saw,
//! `lives.rs` finds what was left open and what was used, `lost.rs` which calls have no event, `settings.rs` how the session was set, and
//! `close.rs` writes the ends that are missing.

mod bill;
mod branch;
mod close;
mod conversation;
mod lives;
mod lost;
mod settings;

use std::collections::BTreeMap;

use junto_core::{
    AgentError, AgentErrorKind, AgentId, Body, CallPurpose, EndReason, Event, EventLog, JournalError, Plan,
    Prefix, ResumeHandle,
};
use junto_llm::{Cost, Usage};

pub(crate) use self::bill::{bill_of_lost, calls};
pub(crate) use self::branch::branch;
pub(crate) use self::close::close_all;
use self::conversation::Conversation;
pub(crate) use self::conversation::{OpenInput, Unread};
use self::lives::Lives;
pub(crate) use self::settings::PastSettings;
use crate::history::History;
use crate::loops::{Loops, Rules};
use crate::totals::Totals;

/// What a session was when its events stopped.
pub(crate) struct Restored {
    /// The log, as the session goes on writing to it.
    pub(crate) log: EventLog,
    pub(crate) settings: PastSettings,
    pub(crate) history: History,
    pub(crate) loops: Loops,
    /// What the request of the last call began with.
    pub(crate) prefix: Option<Prefix>,
    /// Model calls so far.
    pub(crate) turns: u32,
    /// The model that answered last, by its own name.
    pub(crate) answered_by: Option<String>,
    /// How many children it has had.
    pub(crate) born: u32,
    /// What it meant to do.
    pub(crate) plan: Option<Plan>,
    /// The input that has no end.
    pub(crate) open: Option<OpenInput>,
    /// How its last input ended.
    pub(crate) last_end: Option<EndReason>,
    /// What could not be read of its past.
    pub(crate) unread: Vec<Unread>,
    /// What everybody in the log has left open.
    lives: Lives,
}

/// Reads a session's past from its events.
///
/// # Errors
/// `invalid` if these are not the events of a session of this kind.
pub(crate) async fn restore(events: &[Event], log: &EventLog, rules: Rules) -> Result<Restored, AgentError> {
    let root = root(events)?;
    let mut lives = Lives::default();
    for event in events {
        lives.take(event);
    }
    let branch = branch(events, root);
    let mut conversation = Conversation::new(log, Loops::new(rules));
    let mut settings = PastSettings::default();
    let mut plan = None;
    let mut last_end = None;
    for event in branch {
        settings.take(&event.body);
        match &event.body {
            Body::Plan { plan: next } => plan = Some(next.clone()),
            Body::InputEnd { reason, .. } => last_end = Some(reason.clone()),
            Body::UserInput { .. } => last_end = None,
            _ => {}
        }
        conversation.take(event).await;
    }
    let own = lives.of(root);
    let log = own.map_or_else(|| log.clone(), |own| log.rejoin(own.seat()));
    let (turns, born) = own.map_or((0, 0), |own| (own.turns(), own.children()));
    let Conversation { history, loops, answered_by, open, unread, .. } = conversation;
    Ok(Restored {
        log,
        settings,
        history,
        loops,
        prefix: last_prefix(events, root),
        turns,
        answered_by,
        born,
        plan,
        open,
        last_end,
        unread,
        lives,
    })
}

/// What the request of an agent's last call began with. A rewind does not matter: the provider has seen it.
fn last_prefix(events: &[Event], agent: &AgentId) -> Option<Prefix> {
    let of_agent = events.iter().rev().filter(|event| event.agent == *agent);
    let mut calls = of_agent.filter_map(|event| match &event.body {
        Body::Call { prefix, purpose: CallPurpose::Input, .. } => Some(*prefix),
        _ => None,
    });
    calls.next().flatten()
}

impl Restored {
    /// Tells what could not be read, once.
    pub(crate) async fn tell_unread(&mut self) -> Result<(), JournalError> {
        for Unread { seq, why } in std::mem::take(&mut self.unread) {
            let message = format!("a part of the conversation is lost, of event {seq}: {why}");
            self.log.emit(Body::Warning { code: "resume_lost".to_owned(), message }).await?;
        }
        Ok(())
    }

    /// Tells that the conversation went back, and the plan with it.
    pub(crate) async fn tell_rewound(&self, to_turn: u32, before: Option<Plan>) -> Result<(), JournalError> {
        self.log.commit(Body::Rewound { to_turn }).await?;
        if before != self.plan {
            let plan = self.plan.clone().unwrap_or_default();
            self.log.emit(Body::Plan { plan }).await?;
        }
        Ok(())
    }

    /// What it has used, the children that ended included.
    pub(crate) fn totals(&self) -> Totals {
        self.lives.of(self.log.agent()).map(|own| own.totals().clone()).unwrap_or_default()
    }
}

/// The agent that the session is: the one that began it.
///
/// # Errors
/// `invalid` if the events do not begin with the start of a session of ours.
pub(crate) fn root(events: &[Event]) -> Result<&AgentId, AgentError> {
    let invalid = |message: &str| AgentError::new(AgentErrorKind::Invalid, message);
    let first = events.first().ok_or_else(|| invalid("there is nothing to bring back"))?;
    match &first.body {
        Body::SessionStart { setup: Some(_), .. } => Ok(&first.agent),
        Body::SessionStart { kind, .. } => {
            let hint = "only sessions of the native kind can be brought back this way";
            Err(invalid(&format!("the session was one of the kind `{kind}`")).with_hint(hint))
        }
        _ => Err(invalid("the events do not begin with the start of a session")),
    }
}

/// What all agents of a log have used: each model call once.
pub(crate) fn spent(events: &[Event]) -> (Usage, Cost) {
    let totals = Totals::default();
    for event in events {
        if let Body::Call { usage, cost, .. } = &event.body {
            totals.add(usage, *cost);
        }
    }
    totals.get()
}

/// The handles that agents of the session gave, each agent's last.
pub(crate) fn handles(events: &[Event]) -> BTreeMap<AgentId, ResumeHandle> {
    let given = events.iter().filter_map(|event| match &event.body {
        Body::Handle { handle } => Some((event.agent.clone(), handle.clone())),
        _ => None,
    });
    given.collect()
}
