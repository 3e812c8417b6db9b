//! Several providers as one.

use std::fmt;
use std::sync::Arc;

use junto_llm::{CallCx, Error, EventStream, Fut, Provider, Request, Response, ToolChoice};

use crate::voice::Voice;
use crate::{Manner, Member, Options, live};

/// The provider that answers, as callers see it.
pub(crate) const PROVIDER: &str = "council";
/// The most members a council may have: each holds a copy of the request and an answer.
pub(crate) const MOST_MEMBERS: usize = 16;

/// Several providers as one. Cheap to clone.
///
/// - A native member gets the request as it came, but for provider and model and for its own framing and
///   effort, in a child context: one deeper, within the council's budget and its own, cancelled
///   together. Members are streamed, so that silence ends a member and length does not.
/// - Every call that a member proposes is checked against the tools of the request and their schemas
///   before anybody else sees it, whether the member was asked alone or beside others.
/// - Where an answer is selected, its message and finish reason are as its member gave them.
///   `provider` is `council`, `model` the council's name, `id` the call's, `usage` the sum of all
///   calls made.
/// - What one member or the synthesizer writes alone is streamed as it is written; what was chosen
///   comes when it is chosen. Before the parts, [`StreamEvent::Origin`](junto_llm::StreamEvent::Origin)
///   says whose they are, and `Finish` carries the whole [`Response`].
#[derive(Clone)]
pub struct Council(pub(crate) Arc<Inner>);

#[derive(Clone)]
pub(crate) struct Inner {
    pub(crate) members: Vec<Member>,
    pub(crate) judge: Option<Member>,
    pub(crate) synthesizer: Option<Member>,
    pub(crate) triage: Option<Member>,
    pub(crate) chores: Option<Member>,
    pub(crate) options: Options,
}

impl Council {
    /// A council of these members. Without a judge the first sound answer in this order wins where
    /// they differ.
    ///
    /// # Errors
    /// `configuration` for no members, more than 16, or two of the same name; for options that ask
    /// nobody, more than 16, or have a quorum of nobody.
    pub fn new(members: Vec<Member>, judge: Option<Member>, options: Options) -> Result<Self, Error> {
        if members.is_empty() || members.len() > MOST_MEMBERS {
            let message = format!("a council has 1 to {MOST_MEMBERS} members, not {}", members.len());
            return Err(Error::configuration(message));
        }
        for (i, member) in members.iter().enumerate() {
            if members.iter().take(i).any(|other| other.name == member.name) {
                return Err(Error::configuration(format!(
                    "two members of the council are named `{}`",
                    member.name
                )));
            }
        }
        options.check()?;
        let inner = Inner { members, judge, synthesizer: None, triage: None, chores: None, options };
        Ok(Self(Arc::new(inner)))
    }

    /// This council with somebody who writes the answer in the mode [`Fuse`](crate::Mode::Fuse).
    /// Without one the judge does, and without a judge the first member.
    pub fn synthesizer(self, member: Member) -> Self {
        self.with(|inner| inner.synthesizer = Some(member))
    }

    /// This council with somebody cheap who says, under the policy [`Auto`](crate::FanOut::Auto), whether a
    /// question that looks hard is worth several minds. One who fails or says neither means it is not.
    /// Without one the look of the question decides.
    pub fn triage(self, member: Member) -> Self {
        self.with(|inner| inner.triage = Some(member))
    }

    /// This council with somebody who does the client's chores, and is asked for exactly the model that
    /// the client names. A member of exactly that model comes first; without either it is the first
    /// member, with its own model.
    pub fn chores(self, member: Member) -> Self {
        self.with(|inner| inner.chores = Some(member))
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// The council's name.
    pub fn name(&self) -> &str {
        &self.0.options.name
    }

    /// The members, in order.
    pub fn members(&self) -> &[Member] {
        &self.0.members
    }
}

impl Inner {
    /// Whether a call may go this deep.
    pub(crate) fn check_depth(&self, cx: &CallCx) -> Result<(), Error> {
        let most = self.options.max_depth;
        if cx.depth < most {
            return Ok(());
        }
        Err(Error::configuration(format!("calls are nested more than {most} deep"))
            .with_provider(&self.options.name)
            .with_hint("does a council contain itself?"))
    }
}

impl Provider for Council {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move { Ok(self.0.deliberate(&request, cx, &Voice::unheard()).await?.response) })
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            self.0.check_depth(cx)?;
            Ok(live::events(self.clone(), request, cx.clone()))
        })
    }

    /// One member that can is enough: the others fail and are left out. One who can only write can be told.
    fn supports_tool_choice(&self, choice: &ToolChoice) -> bool {
        let can = |member: &Member| {
            member.manner == Manner::Actions || member.provider.supports_tool_choice(choice)
        };
        self.0.members.iter().any(can)
    }
}

impl fmt::Debug for Council {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Council")
            .field("members", &self.0.members)
            .field("judge", &self.0.judge)
            .field("options", &self.0.options)
            .finish()
    }
}
