//! The one place where it is decided whether something may happen.

use std::sync::{Arc, Mutex, PoisonError};

use junto_env::RealPath;
use junto_llm::ToolCall;
use tokio_util::sync::CancellationToken;

use crate::waiting::Waiting;
use crate::{Action, AgentError, ApprovalRequest, AskId, Body, Decision, EventLog, Rule, Seq, Via};

/// Judges what a call would do. Pure: the same actions get the same verdict.
pub trait Policy: Send + Sync {
    /// The verdict on all actions of one call together.
    fn decide(&self, actions: &[Action]) -> Verdict;
}

/// What a policy says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go ahead.
    Allow,
    /// Somebody must be asked; these rules would spare the next such question.
    Ask {
        /// Rules to propose.
        proposed: Vec<Rule>,
    },
    /// No.
    Deny {
        /// Why, for the model.
        reason: String,
    },
}

/// The policy that allows everything: what a library without a policy has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open;

impl Policy for Open {
    fn decide(&self, _actions: &[Action]) -> Verdict {
        Verdict::Allow
    }
}

/// What a refusal does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnReject {
    /// It ends the turn.
    #[default]
    EndTurn,
    /// The model is told, and goes on.
    TellModel,
}

/// Leave to run one call with exactly these arguments. Only a [`Gate`] makes one, after the start of
/// the call is in the journal.
#[derive(Debug)]
pub struct Permit {
    call: ToolCall,
    actions: Vec<Action>,
    start: Seq,
}

impl Permit {
    /// The call, as it was judged and shown.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// What it may do: what it said it would, and what was judged.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The files it may read, in the order in which it named them.
    pub fn reads(&self) -> impl Iterator<Item = &RealPath> {
        self.actions.iter().filter_map(|action| match action {
            Action::Read { path } => Some(path),
            _ => None,
        })
    }

    /// The files it may write, in the order in which it named them.
    pub fn writes(&self) -> impl Iterator<Item = &RealPath> {
        self.actions.iter().filter_map(|action| match action {
            Action::Write { path } => Some(path),
            _ => None,
        })
    }

    /// The same leave in other words: for a tool that passes a call on to another, which takes its
    /// arguments differently. What may be done stays what was judged and shown.
    #[must_use]
    pub fn restated(&self, call: ToolCall) -> Self {
        Self { call, actions: self.actions.clone(), start: self.start }
    }

    /// The position of its `tool_call_start`, to which output deltas belong.
    pub fn start(&self) -> Seq {
        self.start
    }
}

/// Why a call may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// The policy said no.
    Denied(String),
    /// Somebody said no.
    Refused(Option<String>),
    /// Nobody was there to say anything.
    Unanswered(Option<String>),
    /// The wait was cancelled.
    Cancelled,
    /// The journal could not be written, so nothing may happen.
    Failed(AgentError),
}

impl Rejected {
    /// What the model is told.
    pub fn message(&self) -> String {
        match self {
            Self::Denied(reason) => format!("not allowed by the policy: {reason}"),
            Self::Refused(Some(reason)) => format!("the user refused: {reason}"),
            Self::Refused(None) => "the user refused".to_owned(),
            Self::Unanswered(Some(reason)) => format!("not allowed: {reason}"),
            Self::Unanswered(None) => "not allowed: nobody is there to decide".to_owned(),
            Self::Cancelled => "cancelled before it ran".to_owned(),
            Self::Failed(error) => error.to_string(),
        }
    }
}

/// Decides whether calls may run: asks the policy, asks people where the policy says so, and writes
/// the start of each call into the journal before it may run. The sole maker of [`Permit`]s.
pub struct Gate {
    policy: Arc<dyn Policy>,
    log: EventLog,
    waiting: Waiting<Decision>,
    /// What was decided before the session was brought back, about calls that have not run.
    recalled: Mutex<Vec<(ApprovalRequest, Decision)>>,
}

impl Gate {
    /// A gate with this policy that speaks through this log.
    pub fn new(policy: Arc<dyn Policy>, log: EventLog) -> Self {
        Self { policy, log, waiting: Waiting::default(), recalled: Mutex::default() }
    }

    /// Waits until the call may run, or may not. Dropping the wait withdraws the question.
    ///
    /// # Errors
    /// Why it may not run.
    pub async fn pass(
        &self,
        call: ToolCall,
        actions: Vec<Action>,
        via: Via,
        cancel: &CancellationToken,
    ) -> Result<Permit, Rejected> {
        match self.policy.decide(&actions) {
            Verdict::Allow => {}
            Verdict::Deny { reason } => return Err(Rejected::Denied(reason)),
            Verdict::Ask { proposed } => {
                if let Some(decision) = self.take_recalled(&call, &actions, via) {
                    allowed(decision)?;
                    return self.start(call, actions, via).await;
                }
                let ask = AskId::fresh();
                let request = ApprovalRequest {
                    ask: ask.clone(),
                    via,
                    call: call.clone(),
                    actions: actions.clone(),
                    proposed,
                    expires: None,
                };
                self.ask(ask, request, cancel).await?;
            }
        }
        self.start(call, actions, via).await
    }

    async fn start(&self, call: ToolCall, actions: Vec<Action>, via: Via) -> Result<Permit, Rejected> {
        let committed = self.log.commit(Body::ToolCallStart { call: call.clone(), via }).await;
        let start = committed.map_err(|e| Rejected::Failed(e.into()))?;
        Ok(Permit { call, actions, start: start.seq() })
    }

    /// Recalls what was decided before the session was cut off: the call is not asked about again, if it
    /// would do exactly what was shown then. It holds once.
    pub fn recall(&self, request: ApprovalRequest, decision: Decision) {
        self.recalled.lock().unwrap_or_else(PoisonError::into_inner).push((request, decision));
    }

    fn take_recalled(&self, call: &ToolCall, actions: &[Action], via: Via) -> Option<Decision> {
        let mut recalled = self.recalled.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |request: &ApprovalRequest| {
            request.call == *call && request.actions == actions && request.via == via
        };
        let found = recalled.iter().position(|(request, _)| same(request))?;
        Some(recalled.swap_remove(found).1)
    }

    async fn ask(
        &self,
        ask: AskId,
        request: ApprovalRequest,
        cancel: &CancellationToken,
    ) -> Result<(), Rejected> {
        let mut open = self.waiting.ask(ask.clone());
        self.log.commit(Body::Ask { request }).await.map_err(|e| Rejected::Failed(e.into()))?;
        let decision = open.answer(cancel).await.ok_or(Rejected::Cancelled)?;
        let answered = Body::Answered { ask, decision: decision.clone() };
        self.log.commit(answered).await.map_err(|e| Rejected::Failed(e.into()))?;
        allowed(decision)
    }

    /// Gives the answer to a question.
    ///
    /// # Errors
    /// `invalid` if nobody waits for it (any more).
    pub fn answer(&self, ask: &AskId, decision: Decision) -> Result<(), AgentError> {
        self.waiting.answer(ask, decision)
    }
}

/// What a decision means for the call.
fn allowed(decision: Decision) -> Result<(), Rejected> {
    match decision {
        Decision::Allow { .. } => Ok(()),
        Decision::Reject { reason } => Err(Rejected::Refused(reason)),
        Decision::Unanswered { reason } => Err(Rejected::Unanswered(reason)),
    }
}
