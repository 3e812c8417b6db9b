//! Who sits in a council and within which limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use junto_llm::{CallCx, Error, EventStream, Fut, Provider, Request, Response, ToolChoice};

use crate::live;
use crate::narrator::Narrator;

/// The provider that answers, as callers see it.
pub(crate) const PROVIDER: &str = "council";
/// The most members a council may have: each holds a copy of the request and an answer.
const MOST_MEMBERS: usize = 16;

/// Somebody who is asked: a provider, and how to address it.
#[derive(Clone)]
pub struct Member {
    /// What it is called in progress, warnings and errors.
    pub name: String,
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// The model to ask for. Absent: the provider's own choice; a bare
    /// [`HttpProvider`](junto_llm::HttpProvider) has none and needs this.
    pub model: Option<String>,
    /// The provider to name in the request, where `provider` is a [`Client`](junto_llm::Client)
    /// that holds several.
    pub provider_name: Option<String>,
}

impl Member {
    /// A member that chooses its model by itself.
    pub fn new(name: impl Into<String>, provider: Arc<dyn Provider>) -> Self {
        Self { name: name.into(), provider, model: None, provider_name: None }
    }

    /// This member with a model.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// This member with a provider's name for the request.
    pub fn provider_name(mut self, name: impl Into<String>) -> Self {
        self.provider_name = Some(name.into());
        self
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("name", &self.name)
            .field("model", &self.model)
            .field("provider_name", &self.provider_name)
            .finish_non_exhaustive()
    }
}

/// The limits of a council.
#[derive(Clone, Debug)]
pub struct Options {
    /// The council's name: the model that answers, as callers see it.
    pub name: String,
    /// How long the others may take once one usable answer is there.
    pub straggler: Duration,
    /// How long the judge may take.
    pub judge_within: Duration,
    /// The most bytes of one member's answer.
    pub max_answer: usize,
    /// How deep calls may be nested before a council refuses: one that contains itself must end.
    pub max_depth: u8,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "council".to_owned(),
            straggler: Duration::from_mins(1),
            judge_within: Duration::from_mins(1),
            max_answer: 16 * 1024 * 1024,
            max_depth: 4,
        }
    }
}

/// Several providers as one. Cheap to clone.
///
/// - All members get the request as it came, but for provider and model, in a child context: one
///   deeper, cancelled together. They are streamed, so that silence ends a member and length does
///   not.
/// - The answer is one member's: its message and finish reason untouched; `provider` is `council`,
///   `model` the council's name, `id` the call's, `usage` the sum of all calls made.
/// - A stream's `Finish` carries the whole [`Response`], since only that can hold the origin of the
///   parts: the stream starts before it is known whose they will be.
#[derive(Clone)]
pub struct Council(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) members: Vec<Member>,
    pub(crate) judge: Option<Member>,
    pub(crate) options: Options,
}

impl Council {
    /// A council of these members. Without a judge the first sound answer in this order wins where
    /// they differ.
    ///
    /// # Errors
    /// `configuration` for no members, more than 16, or two of the same name.
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
        Ok(Self(Arc::new(Inner { members, judge, options })))
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
        Box::pin(async move { self.0.deliberate(&request, cx, &Narrator::silent()).await })
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            self.0.check_depth(cx)?;
            Ok(live::events(self.clone(), request, cx.clone()))
        })
    }

    /// One member that can is enough: the others fail and are left out.
    fn supports_tool_choice(&self, choice: &ToolChoice) -> bool {
        self.0.members.iter().any(|member| member.provider.supports_tool_choice(choice))
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
