//! The one place where it is decided whether something may happen.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use junto_llm::ToolCall;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::{
    Action, AgentError, AgentErrorKind, ApprovalRequest, AskId, Body, Decision, EventLog, Rule, Seq, Via,
};

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
    start: Seq,
}

impl Permit {
    /// The call, as it was judged and shown.
    pub fn call(&self) -> &ToolCall {
        &self.call
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
    waiting: Mutex<HashMap<AskId, oneshot::Sender<Decision>>>,
}

impl Gate {
    /// A gate with this policy that speaks through this log.
    pub fn new(policy: Arc<dyn Policy>, log: EventLog) -> Self {
        Self { policy, log, waiting: Mutex::default() }
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
                let ask = AskId::fresh();
                let request = ApprovalRequest {
                    ask: ask.clone(),
                    via,
                    call: call.clone(),
                    actions,
                    proposed,
                    expires: None,
                };
                self.ask(ask, request, cancel).await?;
            }
        }
        let committed = self.log.commit(Body::ToolCallStart { call: call.clone() }).await;
        let start = committed.map_err(|e| Rejected::Failed(e.into()))?;
        Ok(Permit { call, start: start.seq() })
    }

    async fn ask(
        &self,
        ask: AskId,
        request: ApprovalRequest,
        cancel: &CancellationToken,
    ) -> Result<(), Rejected> {
        let (sender, answer) = oneshot::channel();
        self.waiting().insert(ask.clone(), sender);
        // The question is withdrawn however this ends.
        let _withdraw = Withdraw { gate: self, ask: ask.clone() };
        self.log.commit(Body::Ask { request }).await.map_err(|e| Rejected::Failed(e.into()))?;
        let decision = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Rejected::Cancelled),
            decision = answer => decision.map_err(|_| Rejected::Cancelled)?,
        };
        let answered = Body::Answered { ask, decision: decision.clone() };
        self.log.commit(answered).await.map_err(|e| Rejected::Failed(e.into()))?;
        match decision {
            Decision::Allow { .. } => Ok(()),
            Decision::Reject { reason } => Err(Rejected::Refused(reason)),
        }
    }

    /// Gives the answer to a question.
    ///
    /// # Errors
    /// `invalid` if nobody waits for it (any more).
    pub fn answer(&self, ask: &AskId, decision: Decision) -> Result<(), AgentError> {
        let unknown = || {
            AgentError::new(AgentErrorKind::Invalid, format!("no question {ask} is open"))
                .with_hint("it was answered, withdrawn, or never asked")
        };
        let sender = self.waiting().remove(ask).ok_or_else(unknown)?;
        sender.send(decision).map_err(|_| unknown())
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<AskId, oneshot::Sender<Decision>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Withdraw<'a> {
    gate: &'a Gate,
    ask: AskId,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        self.gate.waiting().remove(&self.ask);
    }
}
