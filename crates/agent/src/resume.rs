//! Bringing a session back.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use junto_core::{
    AgentError, AgentErrorKind, AgentId, Body, CallPurpose, Change, Decision, EndReason, Event, EventLog,
    Plan, ResumeHandle, SessionState, Setup,
};
use junto_env::ExecutionEnvironment;
use junto_llm::catalog::Catalog;
use junto_llm::{Allowance, Cost, Spending, Usage};

use crate::configure::{changed, is_in, meant};
use crate::desk::Settings;
use crate::frame::{Frame, Mind, Unfinished};
use crate::hooks::Source;
use crate::prefix::Prefixes;
use crate::restore::{self, OpenInput, PastSettings, Restored, restore};
use crate::said::Said;
use crate::{Session, SessionConfig, profile};

/// What becomes of an input that was under way when a session was cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnOpen {
    /// It goes on where it was.
    #[default]
    GoOn,
    /// It ends as interrupted, and the session waits for the next. Calls that have not started never will.
    End,
}

/// The past of a session, and how it is to be gone on with. What is not said is as it was: a list of
/// events is enough.
#[derive(Clone, Debug)]
pub struct Past {
    events: Vec<Event>,
    on_open: OnOpen,
    rewind: Option<u32>,
    change: Change,
}

impl From<Vec<Event>> for Past {
    fn from(events: Vec<Event>) -> Self {
        Self { events, on_open: OnOpen::default(), rewind: None, change: Change::default() }
    }
}

impl Past {
    /// All events of a session, from the first to the last.
    pub fn new(events: impl Into<Vec<Event>>) -> Self {
        Self::from(events.into())
    }

    /// What becomes of an input that has no end.
    #[must_use]
    pub fn on_open(mut self, on_open: OnOpen) -> Self {
        self.on_open = on_open;
        self
    }

    /// Goes back to the end of this input, or with 0 to before the first: the conversation, the plan and the
    /// settings are what they were then. What was used stays counted, and inputs are numbered on. An input
    /// that has no end is ended first. One that was rewound before is gone, and cannot be gone back to.
    #[must_use]
    pub fn rewind(mut self, to_turn: u32) -> Self {
        self.rewind = Some(to_turn);
        self
    }

    /// The input that it goes back to, if it does.
    pub fn rewinds_to(&self) -> Option<u32> {
        self.rewind
    }

    /// Goes on with these changes: another model or provider takes the conversation over.
    #[must_use]
    pub fn change(mut self, change: Change) -> Self {
        self.change = change;
        self
    }

    /// The events.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// How the session was set up; absent if it is none that can be brought back.
    pub fn setup(&self) -> Option<&Setup> {
        match &self.events.first()?.body {
            Body::SessionStart { setup, .. } => setup.as_ref(),
            _ => None,
        }
    }

    /// The events that the session is made of now: its own, without what was rewound.
    pub fn branch(&self) -> Vec<&Event> {
        self.events.first().map(|first| restore::branch(&self.events, &first.agent)).unwrap_or_default()
    }

    fn settings(&self) -> PastSettings {
        let mut settings = PastSettings::default();
        self.branch().iter().for_each(|event| settings.take(&event.body));
        settings
    }

    /// The provider that was asked last, where one was chosen.
    pub fn provider(&self) -> Option<String> {
        self.settings().provider
    }

    /// The model that was asked last, where one was chosen.
    pub fn model(&self) -> Option<String> {
        self.settings().model
    }

    /// Where the session worked last.
    pub fn workdir(&self) -> Option<PathBuf> {
        self.settings().workdir
    }

    /// What the agent meant to do.
    pub fn plan(&self) -> Option<Plan> {
        self.branch().into_iter().rev().find_map(|event| match &event.body {
            Body::Plan { plan } => Some(plan.clone()),
            _ => None,
        })
    }

    /// The input that has no end.
    pub fn open_input(&self) -> Option<u32> {
        // An answer tells of an input that is lost itself.
        let tells = |event: &&Event| match &event.body {
            Body::UserInput { .. } | Body::InputEnd { .. } => true,
            Body::Call { purpose: CallPurpose::Input, answer, .. } => answer.is_some(),
            _ => false,
        };
        let last = self.branch().into_iter().rev().find(tells)?;
        (!matches!(last.body, Body::InputEnd { .. })).then_some(last.turn)
    }

    /// The inputs that the conversation has now, by number: without those that were rewound.
    pub fn turns(&self) -> Vec<u32> {
        // One of the two may be damaged, and the other left.
        let marks = |event: &&Event| matches!(event.body, Body::UserInput { .. } | Body::InputEnd { .. });
        let mut turns: Vec<u32> = self.branch().into_iter().filter(marks).map(|event| event.turn).collect();
        turns.dedup();
        turns
    }

    /// What all agents of the session have used: each model call once.
    pub fn spent(&self) -> (Usage, Cost) {
        restore::spent(&self.events)
    }

    /// What each model call of the session is to be booked as in a budget that shall pay for it, too: what it cost; where
    /// nobody knows that, what it used by the prices of this catalog; and where nobody knows that either, the most
    /// that it could have used. Of models that have no price here it is the tokens alone. Those that were lost are not
    /// among them.
    pub fn bill(&self, catalog: &Catalog) -> Vec<Spending> {
        restore::calls(&self.events, 0, catalog)
    }

    /// The same of the model calls that were under way when the session was cut off, now or before: no event tells what
    /// became of them, and each is booked as the most that it could have taken; one of a council as nothing, since whom
    /// that asked is not told. That one was made is inferred, so one may be here that was about to be. `limit` tells
    /// what the session might spend in all after these of its events: none has taken more than was left of that.
    pub fn bill_of_lost(&self, catalog: &Catalog, limit: impl Fn(&[Event]) -> Allowance) -> Vec<Spending> {
        restore::bill_of_lost(&self.events, catalog, &limit)
    }

    /// Prepares the log of a session whose own agent is not ours, such as a command-line agent, so that it
    /// can go on: says that it does, and ends everything that was under way. Gives the log as that agent
    /// goes on writing to it, and what the agent has used so far.
    ///
    /// # Errors
    /// `invalid` if the events are not those of the log; `journal` if the log cannot be written.
    pub async fn rejoin(&self, log: &EventLog) -> Result<(EventLog, Usage, Cost), AgentError> {
        check_last(&self.events, log).await?;
        let (log, totals) = restore::close_all(&self.events, log).await?;
        let (usage, cost) = totals.get();
        Ok((log, usage, cost))
    }

    /// What brings agents of the session back that are of other kinds, by agent: each one's last handle.
    /// The session's children are over when it is brought back; a host starts one again with
    /// [`junto_core::AgentSpec::resume`].
    pub fn handles(&self) -> BTreeMap<AgentId, ResumeHandle> {
        restore::handles(&self.events)
    }
}

impl Session {
    /// Brings a session back from its events. It goes on in the same log, under the same agent id, with
    /// the conversation byte for byte as the model saw it.
    ///
    /// From the events come the system prompt, the conversation, provider, model, effort and limits as
    /// they were last configured, the working directory, the sums, and how far the input under way was;
    /// what the configuration says of these does not count. Everything else is the host's to give again:
    /// the tools, the profile, the policy. The log is one over the journal that has the events, made with
    /// [`EventLog::new`] and their last position; or a later one, if what stood there cannot be read any more.
    ///
    /// ```no_run
    /// # use std::sync::Arc;
    /// # use junto_agent::{Past, Session, SessionConfig};
    /// # use junto_core::{AgentError, Clock, EventLog, Journal, Seq};
    /// # async fn example(provider: Arc<dyn junto_llm::Provider>,
    /// #     env: Arc<dyn junto_env::ExecutionEnvironment>,
    /// #     session: junto_llm::SessionId, journal: Arc<dyn Journal>, clock: Clock) -> Result<(), AgentError> {
    /// let events = journal.read(Seq::START, usize::MAX).await?;
    /// let last = events.last().map_or(Seq(0), |event| event.seq);
    /// let log = EventLog::new(session, journal, last, clock);
    /// let session = Session::resume(SessionConfig::new(provider, env, log), events).await?;
    /// # let _ = session; Ok(()) }
    /// ```
    ///
    /// # What was cut off
    ///
    /// A `session_resumed` event says what was under way. An input goes on where it was, unless the past
    /// says [`OnOpen::End`]:
    ///
    /// - A tool call that has ended is not run again. One that had started and not ended gets an error
    ///   as its result that says that it may have run; that goes for each of several calls that ran side by
    ///   side, and results stand in the order of the calls whatever the order of their ends. One that had
    ///   not started runs now.
    /// - A request for approval that was open is withdrawn, and made again under a new name. What was
    ///   decided about a call that had not started holds, if the call would still do the same; rules that
    ///   were given with answers are learned again. A question of
    ///   the model belongs to a call that had started, and ends with it: the model may ask again.
    /// - A model call that was cut off is made again with the same request. What it had said so far is lost.
    /// - Children are ended. What they used is counted, and their handles are in [`Past::handles`].
    /// - What was said to the session and had no event yet is lost: steering that waited for the end of a
    ///   step, inputs that were queued.
    ///
    /// A session that had ended goes on idle. If the working directory is gone, the session works where the
    /// configuration says, and the model is told.
    ///
    /// Must be called within a Tokio runtime, which runs the session.
    ///
    /// # Errors
    /// `invalid` if these are not the events of such a session or not those of the log, if a tool's schema
    /// is none, or if the past is to be changed in a way that makes no sense; nothing was written then.
    /// `journal` if the log cannot be written.
    pub async fn resume(config: SessionConfig, past: impl Into<Past>) -> Result<Self, AgentError> {
        let past = past.into();
        check(&past.events, &config.log).await?;
        let (plan, turns) = (past.plan(), past.turns());
        let Past { mut events, mut on_open, rewind, change } = past;
        if let Some(to_turn) = rewind {
            events.push(rewound(&events, &turns, to_turn)?);
            on_open = OnOpen::End;
        }
        let mut config = profile::apply(config);
        let mut restored = restore(&events, &config.log, config.loop_rules()).await?;
        let (env, moved) = place(&config, &restored.settings, &change).await;
        config.env = env;
        config.log = restored.log.clone();
        let frame = Frame::with_children_born(config, restored.born)?;
        let settings = settings(&frame.config, &restored.settings);
        let (provider, environments) = (&*frame.config.provider, frame.config.environments.as_ref());
        let change = meant(change, &settings, provider);
        let settings = changed(settings, &change, provider, environments).await?;

        restored.close_gaps(on_open, frame.config.ask_on_question).await?;
        restored.tell_unread().await?;
        relearn(&events, &frame).await?;
        if let Some(to_turn) = rewind {
            restored.tell_rewound(to_turn, plan).await?;
        }
        if change != Change::default() {
            frame.log().commit(Body::Configured { change }).await?;
        }
        let (context, warnings) = frame.hooks.begin(Source::Resume, &settings.env, &frame.cancel).await;
        for message in warnings {
            frame.log().emit(Body::Warning { code: "hook".to_owned(), message }).await?;
        }
        let back = frame.config.companions.iter().filter_map(|companion| companion.came_back());
        let told = context.into_iter().chain(back).collect::<Vec<_>>().join("\n\n");
        let told = (!told.is_empty()).then(|| Said::note(told));
        let spent = spent_on_open(&events, &restored, &frame.config.catalog);
        Ok(go_on(frame, restored, settings, moved, (spent, told)))
    }
}

/// Teaches the policy the rules that were given in answers before, also to children, and in what was rewound:
/// they were meant for the session. One that the policy of now does not take is told.
async fn relearn(events: &[Event], frame: &Frame) -> Result<(), AgentError> {
    for event in events {
        if let Body::Answered { decision: Decision::Allow { remember: Some(rule) }, .. } = &event.body
            && let Err(error) = frame.toolbox.gate().learn(rule)
        {
            let message = format!("a rule of this session does not hold any more: {error}");
            frame.log().emit(Body::Warning { code: "rule_lost".to_owned(), message }).await?;
        }
    }
    Ok(())
}

/// What was spent on the input that goes on, children and all. A call that was lost is for the session's budget to pay: the
/// share of one input may be less than it could have taken, and would end for what was perhaps never asked.
fn spent_on_open(events: &[Event], restored: &Restored, catalog: &Catalog) -> Vec<Spending> {
    if restored.open.is_none() {
        return Vec::new();
    }
    let own = restored.log.agent();
    let begins = |event: &Event| event.agent == *own && matches!(event.body, Body::UserInput { .. });
    events.iter().rposition(begins).map(|from| restore::calls(events, from, catalog)).unwrap_or_default()
}

/// Lets a session go on that was brought back.
fn go_on(
    frame: Frame,
    restored: Restored,
    settings: Settings,
    moved: bool,
    (spent, told): (Vec<Spending>, Option<Said>),
) -> Session {
    let (usage, cost) = restored.totals().get();
    frame.totals.add(&usage, cost);
    if restored.last_end == Some(EndReason::AwaitingInput) {
        frame.status.begin_as(SessionState::AwaitingInput);
    }
    let open = restored.open.map(|open| {
        let OpenInput { rounds, text, calls, decided, .. } = open;
        for (request, decision) in decided {
            frame.toolbox.gate().recall(request, decision);
        }
        Unfinished { rounds, text, left: calls, spent }
    });
    let Restored { history, loops, prefix, plan, turns, answered_by, .. } = restored;
    if let Some(plan) = plan {
        frame.status.set_plan(plan);
    }
    let prefixes = Prefixes::after(prefix.as_ref());
    frame.begin(Mind { settings, history, loops, prefixes, turns, answered_by, moved, open, told })
}

/// That the events are those of the log.
async fn check(events: &[Event], log: &EventLog) -> Result<(), AgentError> {
    restore::root(events)?;
    check_last(events, log).await
}

async fn check_last(events: &[Event], log: &EventLog) -> Result<(), AgentError> {
    let last = events.last().map(|event| event.seq).unwrap_or_default();
    if last == log.last() {
        return Ok(());
    }
    // Positions after the last event are taken by what cannot be read any more: there is nothing there to bring
    // back, and what comes gets positions of its own.
    if last < log.last() && log.subscribe(last.next()).rest().await?.is_empty() {
        return Ok(());
    }
    let message = format!("the events end at {last}, and the log at {}", log.last());
    let hint = "make the log over the journal that has the events, with its last position";
    Err(AgentError::new(AgentErrorKind::Invalid, message).with_hint(hint))
}

/// The event that the session was rewound to one of these inputs, as the last of these events.
fn rewound(events: &[Event], turns: &[u32], to_turn: u32) -> Result<Event, AgentError> {
    let root = restore::root(events)?;
    let own = events.iter().rev().find(|event| event.agent == *root);
    let had = own.map_or(0, |last| last.turn);
    match own {
        Some(last) if to_turn == 0 || turns.contains(&to_turn) => {
            Ok(Event { body: Body::Rewound { to_turn }, ..last.clone() })
        }
        _ => {
            let message = if to_turn <= had {
                format!("input {to_turn} is no longer part of the conversation")
            } else {
                format!("there is no input {to_turn}: the session has had {had}")
            };
            Err(AgentError::new(AgentErrorKind::Invalid, message))
        }
    }
}

/// Where the session works: where it did, if that can be had, else where the configuration says, and there too if it is
/// moved there now. And whether the model does not know of it.
async fn place(
    config: &SessionConfig,
    past: &PastSettings,
    change: &Change,
) -> (Arc<dyn ExecutionEnvironment>, bool) {
    let here = Arc::clone(&config.env);
    let Some(workdir) = &past.workdir else { return (here, past.untold) };
    if is_in(&*here, workdir) {
        return (here, past.untold);
    }
    if change.workdir.as_ref().is_some_and(|to| is_in(&*here, &workdir.join(to))) {
        return (here, true);
    }
    match &config.environments {
        Some(make) => match make(workdir.clone()).await {
            Ok(env) => (env, past.untold),
            Err(_) => (here, true),
        },
        None => (here, true),
    }
}

/// The settings as they were, in this place.
fn settings(config: &SessionConfig, past: &PastSettings) -> Settings {
    let PastSettings { provider, model, effort, limits, .. } = past.clone();
    Settings { provider, model, effort, limits, env: Arc::clone(&config.env) }
}
