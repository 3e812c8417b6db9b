//! The one place where it is decided whether something may happen.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use junto_llm::ToolCall;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::waiting::{Open, Waiting};
use crate::{
    Action, AgentError, AgentErrorKind, ApprovalRequest, AskId, Body, Committed, Decision, EventLog, Leash,
    Permit, Policy, Rejected, Rule, Verdict, Via,
};

/// Decides whether calls may run: asks the policy, asks people where the policy says so, and writes
/// the start of each call into the journal before it may run. The sole maker of [`Permit`]s.
pub struct Gate {
    policy: Arc<dyn Policy>,
    log: EventLog,
    waiting: Waiting<Decision>,
    /// How long a question waits for its answer.
    patience: Option<Duration>,
    /// How many rules were learned: what waits may be allowed by the latest.
    learned: watch::Sender<u64>,
    /// What was decided before the session was brought back, about calls that have not run.
    recalled: Mutex<Vec<(ApprovalRequest, Decision)>>,
}

impl Gate {
    /// A gate with this policy that speaks through this log. Its questions wait for ever.
    pub fn new(policy: Arc<dyn Policy>, log: EventLog) -> Self {
        Self {
            policy,
            log,
            waiting: Waiting::default(),
            patience: None,
            learned: watch::Sender::new(0),
            recalled: Mutex::default(),
        }
    }

    /// The same, with questions that wait so long. One that nobody has answered by then is
    /// [`Decision::Unanswered`]: the model is told, and goes on.
    #[must_use]
    pub fn patient(mut self, patience: Option<Duration>) -> Self {
        self.patience = patience;
        self
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
        self.pass_advised(call, actions, via, Advice::None, cancel).await
    }

    /// The same, with what somebody says of the call whom the user has set to watch over calls. What the policy
    /// denies stays denied.
    ///
    /// # Errors
    /// Why it may not run.
    pub async fn pass_advised(
        &self,
        call: ToolCall,
        actions: Vec<Action>,
        via: Via,
        advice: Advice,
        cancel: &CancellationToken,
    ) -> Result<Permit, Rejected> {
        let leash = match advice.on(self.policy.decide_call(&call.name, &actions), &*self.policy) {
            Verdict::Allow(leash) => leash,
            Verdict::Deny { reason } => return Err(Rejected::Denied(reason)),
            Verdict::Ask { proposed, reason } => {
                if let Some(decision) = self.take_recalled(&call, &actions, via) {
                    self.leash(decision)?
                } else {
                    let request = ApprovalRequest {
                        ask: AskId::fresh(),
                        via,
                        call: call.clone(),
                        actions: actions.clone(),
                        proposed,
                        reason,
                        expires: self.patience.and_then(|patience| after(self.log.now(), patience)),
                    };
                    self.ask(request, cancel).await?
                }
            }
        };
        self.start(call, actions, via, leash).await
    }

    /// What the policy says of such a call of a tool now, whatever people would say.
    pub fn verdict(&self, tool: &str, actions: &[Action]) -> Verdict {
        self.policy.decide_call(tool, actions)
    }

    /// Whether somebody would be asked about such a call of a tool now.
    pub fn would_ask(&self, tool: &str, actions: &[Action]) -> bool {
        matches!(self.policy.decide_call(tool, actions), Verdict::Ask { .. })
    }

    async fn start(
        &self,
        call: ToolCall,
        actions: Vec<Action>,
        via: Via,
        leash: Leash,
    ) -> Result<Permit, Rejected> {
        let body = Body::ToolCallStart { call: call.clone(), via };
        // What has no effect does not wait for the disk: a crash that takes its start takes nothing else.
        let start = if self.policy.changes_nothing(&actions) {
            self.log.emit_soon(body).await
        } else {
            self.log.commit(body).await.map(Committed::seq)
        };
        let start = start.map_err(|e| Rejected::Failed(e.into()))?;
        Ok(Permit { call, actions, start, leash })
    }

    /// Recalls what was decided before the session was cut off: the call is not asked about again, if it
    /// would do exactly what was shown then. It holds once. A yes to a change of files is not recalled: what they
    /// were like when it was given is not known any more.
    pub fn recall(&self, request: ApprovalRequest, decision: Decision) {
        let writes = request.actions.iter().any(|action| matches!(action, Action::Write { .. }));
        if writes && matches!(decision, Decision::Allow { .. }) {
            return;
        }
        self.recalled.lock().unwrap_or_else(PoisonError::into_inner).push((request, decision));
    }

    fn take_recalled(&self, call: &ToolCall, actions: &[Action], via: Via) -> Option<Decision> {
        let mut recalled = self.recalled.lock().unwrap_or_else(PoisonError::into_inner);
        let found = recalled.iter().position(|(request, _)| is_about(request, call, actions, via))?;
        Some(recalled.swap_remove(found).1)
    }

    async fn ask(&self, request: ApprovalRequest, cancel: &CancellationToken) -> Result<Leash, Rejected> {
        let (ask, asked) = (request.ask.clone(), (request.call.name.clone(), request.actions.clone()));
        let mut open = self.waiting.ask(ask.clone());
        let learned = self.learned.subscribe();
        self.log.commit(Body::Ask { request }).await.map_err(|e| Rejected::Failed(e.into()))?;
        let (decision, leash) = self.decision(&mut open, learned, (&asked.0, &asked.1), cancel).await?;
        let answered = Body::Answered { ask, decision: decision.clone() };
        self.log.commit(answered).await.map_err(|e| Rejected::Failed(e.into()))?;
        match leash {
            Some(leash) => Ok(leash),
            None => self.leash(decision),
        }
    }

    /// The answer to a question: somebody's, or that of the time, or that of a rule which was learned
    /// meanwhile. A rule says how far the call may go, too.
    async fn decision(
        &self,
        open: &mut Open<'_, Decision>,
        mut learned: watch::Receiver<u64>,
        (tool, actions): (&str, &[Action]),
        cancel: &CancellationToken,
    ) -> Result<(Decision, Option<Leash>), Rejected> {
        let late = async {
            match self.patience {
                Some(patience) => tokio::time::sleep(patience).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(late);
        loop {
            tokio::select! {
                biased;
                answer = open.answer(cancel) => {
                    return answer.map(|answer| (answer, None)).ok_or(Rejected::Cancelled);
                }
                () = &mut late => {
                    let reason = "nobody answered in time; go on without it".to_owned();
                    return Ok((Decision::Unanswered { reason: Some(reason) }, None));
                }
                // The sender is ours, so it is never gone.
                _ = learned.changed() => match self.policy.decide_call(tool, actions) {
                    Verdict::Allow(leash) => return Ok((Decision::Allow { remember: None }, Some(leash))),
                    Verdict::Ask { .. } | Verdict::Deny { .. } => {}
                }
            }
        }
    }

    /// Takes up a rule; of several lines each is one, which the policy takes up together.
    ///
    /// # Errors
    /// `invalid` if the policy cannot keep one of them; what is wrong with it.
    pub fn learn(&self, rule: &Rule) -> Result<(), AgentError> {
        let lines = rule.0.lines().map(str::trim).filter(|line| !line.is_empty());
        let rules: Vec<Rule> = lines.map(|line| Rule(line.to_owned())).collect();
        self.policy.learn_all(&rules).map_err(|why| {
            AgentError::new(AgentErrorKind::Invalid, format!("the rule cannot be kept: {why}"))
                .with_hint("answer again with another rule, or with none")
        })?;
        self.learned.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Gives the answer to a question. A rule that comes with a yes is learned before the call starts.
    ///
    /// # Errors
    /// `invalid` if nobody waits for it (any more), or if the rule cannot be kept: then the question is open
    /// still.
    pub fn answer(&self, ask: &AskId, decision: Decision) -> Result<(), AgentError> {
        self.waiting.check(ask)?;
        if let Decision::Allow { remember: Some(rule) } = &decision {
            self.learn(rule)?;
        }
        self.waiting.answer(ask, decision)
    }

    /// What a decision means for the call.
    fn leash(&self, decision: Decision) -> Result<Leash, Rejected> {
        match decision {
            Decision::Allow { .. } => Ok(self.policy.yes()),
            Decision::Reject { reason } => Err(Rejected::Refused(reason)),
            Decision::Unanswered { reason } => Err(Rejected::Unanswered(reason)),
        }
    }
}

/// What is said of a call beside the policy, by somebody whom the user has set to watch over calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Advice {
    /// Nothing.
    #[default]
    None,
    /// Nobody need be asked: it is as if a person had said yes.
    Allow,
    /// Somebody must be asked, also where the policy would allow it.
    Ask {
        /// Why, for whoever is asked.
        reason: String,
    },
}

impl Advice {
    /// A verdict, with this advice.
    fn on(self, verdict: Verdict, policy: &dyn Policy) -> Verdict {
        match (self, verdict) {
            (Self::Allow, Verdict::Ask { .. }) => Verdict::Allow(policy.yes()),
            (Self::Ask { reason }, Verdict::Allow(_)) => Verdict::Ask { proposed: Vec::new(), reason },
            (_, verdict) => verdict,
        }
    }
}

/// Whether a question was about exactly this.
fn is_about(request: &ApprovalRequest, call: &ToolCall, actions: &[Action], via: Via) -> bool {
    request.call == *call && request.actions == actions && request.via == via
}

/// When a time will be over; none if it is too long to matter.
fn after(now: Timestamp, time: Duration) -> Option<Timestamp> {
    now.checked_add(SignedDuration::try_from(time).ok()?).ok()
}
