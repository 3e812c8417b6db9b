//! Events of sessions, made by hand.

use jiff::{SignedDuration, Timestamp};
use junto_core::{
    Abilities, AgentId, Approve, Body, CallEnd, CallPurpose, EndReason, Event, Input, Limits, Seq, Setup,
    Steer, VERSION,
};
use junto_llm::{CallId, Cost, SessionId, Usage, Usd};

/// Writes the events of one session, second by second.
pub(crate) struct Life {
    pub(crate) session: SessionId,
    pub(crate) events: Vec<Event>,
    turn: u32,
    calls: u32,
    /// Of the first event, in seconds since 1970.
    start: i64,
}

pub(crate) fn body_start(model: Option<&str>, workdir: &str) -> Body {
    let abilities = Abilities {
        compact: false,
        steer: Steer::Now,
        approve: Approve::PerCall,
        resume: true,
        interrupt: true,
        follow_up: true,
    };
    Body::SessionStart {
        kind: "junto".into(),
        model: model.map(Into::into),
        workdir: Some(workdir.into()),
        abilities,
        setup: None,
    }
}

/// The start of a session that was forked off another.
pub(crate) fn body_fork(from: &SessionId) -> Body {
    let Body::SessionStart { kind, model, workdir, abilities, .. } = body_start(Some("m"), "/project") else {
        unreachable!()
    };
    let setup = Setup {
        system: "".into(),
        provider: None,
        effort: None,
        profile: None,
        dialect: None,
        limits: Limits::default(),
        forked_from: Some(from.clone()),
    };
    Body::SessionStart { kind, model, workdir, abilities, setup: Some(setup) }
}

pub(crate) fn body_input(text: &str) -> Body {
    Body::UserInput { input: Input::text(text), pictures: None }
}

pub(crate) fn body_call(usage: Usage, cost: Cost) -> Body {
    Body::Call {
        provider: "p".into(),
        model: "m".into(),
        response_id: None,
        usage,
        cost,
        answer: None,
        end: CallEnd::Whole,
        purpose: CallPurpose::Input,
        prefix: None,
    }
}

pub(crate) fn body_input_end() -> Body {
    Body::InputEnd { reason: EndReason::Done, text: "Done.".into() }
}

/// The end of a command that says so much of what it used.
pub(crate) fn body_run_end(billing: Option<Usage>) -> Body {
    Body::RunEnd { context: None, billing, exit: Some(0), class: None, session: None }
}

pub(crate) fn body_end() -> Body {
    Body::SessionEnd { reason: EndReason::Done, usage: Usage::default(), cost: Cost::Unknown }
}

impl Life {
    /// A session that has begun.
    pub(crate) fn new(id: &str, workdir: &str, start: i64) -> Self {
        let session = SessionId(id.into());
        let mut life = Self { session, events: Vec::new(), turn: 0, calls: 0, start };
        life.push(body_start(Some("m"), workdir));
        life
    }

    pub(crate) fn root(&self) -> AgentId {
        AgentId(format!("{}-root", self.session))
    }

    /// An event of the session's own agent.
    pub(crate) fn push(&mut self, body: Body) -> &mut Self {
        self.push_of(None, None, body)
    }

    /// An event of a child, or one that names a call.
    pub(crate) fn push_of(&mut self, child: Option<&str>, corr: Option<&str>, body: Body) -> &mut Self {
        if child.is_none() && matches!(body, Body::UserInput { .. }) {
            self.turn += 1;
        }
        let seq = self.events.len() as u64 + 1;
        self.events.push(Event {
            v: VERSION,
            seq: Seq(seq),
            at: second(self.start + i64::try_from(seq).unwrap() - 1),
            session: self.session.clone(),
            agent: child.map_or_else(|| self.root(), |name| AgentId(name.into())),
            parent: child.map(|_| self.root()),
            parent_call: None,
            turn: if child.is_none() { self.turn } else { 1 },
            corr: corr.map(|id| CallId(id.into())),
            body,
        });
        self
    }

    /// An input that was answered by one call of so many tokens, which cost so many billionths of a dollar.
    pub(crate) fn turn(&mut self, text: &str, tokens: u64, nano: i64) -> &mut Self {
        self.calls += 1;
        let id = format!("{}-call-{}", self.session, self.calls);
        self.push(body_input(text));
        let call = body_call(Usage::new(tokens, 1), Cost::Estimated(Usd(nano)));
        self.push_of(None, Some(&id), call);
        self.push(body_input_end())
    }

    pub(crate) fn end(&mut self) -> &mut Self {
        self.push(body_end())
    }
}

pub(crate) fn second(at: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(at)
}
