//! A question for approval, as a handle.

use std::sync::Arc;

use junto_core::{
    Addressed, Agent, AgentError, AgentId, ApprovalRequest, Body, Command, Decision, Event, EventLog, Item,
    Seq, Via,
};
use serde_json::Value;

/// A question for approval that can be answered and waited for: a view of an `ask` event, for hosts that
/// rather hold a question than match events and send commands.
///
/// ```
/// use std::sync::Arc;
///
/// use junto::Approval;
/// use junto::prelude::*;
///
/// /// Works on a task, and lets it read and nothing else.
/// async fn look(agent: Arc<dyn Agent>, task: &str) -> Result<(), Box<dyn std::error::Error>> {
///     let mut events = agent.log().subscribe(Seq::START);
///     agent.send(Command::Submit { input: task.into() }).await?;
///     loop {
///         let Item::Event(event) = events.next().await? else { continue };
///         if let Some(approval) = Approval::of(&agent, &event) {
///             approval.approve(approval.tool_name() == "read_file").await?;
///         }
///         if matches!(event.body, Body::InputEnd { .. }) {
///             return Ok(());
///         }
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Approval {
    agent: Arc<dyn Agent>,
    asked_by: AgentId,
    at: Seq,
    request: ApprovalRequest,
}

impl Approval {
    /// The question in an event of this agent, or of a child of it; none if the event is another.
    pub fn of(agent: &Arc<dyn Agent>, event: &Event) -> Option<Self> {
        let Body::Ask { request } = &event.body else { return None };
        let (agent, asked_by, request) = (Arc::clone(agent), event.agent.clone(), request.clone());
        Some(Self { agent, asked_by, at: event.seq, request })
    }

    /// The whole question: what would be done, why it is asked, and which rules would spare the next.
    pub fn request(&self) -> &ApprovalRequest {
        &self.request
    }

    /// Who asks: the agent, or a child of it.
    pub fn agent_id(&self) -> &AgentId {
        &self.asked_by
    }

    /// The tool that was called.
    pub fn tool_name(&self) -> &str {
        &self.request.call.name
    }

    /// The arguments it was called with.
    pub fn tool_args(&self) -> &Value {
        &self.request.call.arguments
    }

    /// Whether code called it, and not the model in its loop.
    pub fn is_programmatic(&self) -> bool {
        self.request.via == Via::Cell
    }

    /// Lets it happen, or not.
    ///
    /// # Errors
    /// `invalid` if the question is not open any more.
    pub async fn approve(&self, decision: bool) -> Result<(), AgentError> {
        self.decide(if decision {
            Decision::Allow { remember: None }
        } else {
            Decision::Reject { reason: None }
        })
        .await
    }

    /// Answers with more than a yes or a no.
    ///
    /// # Errors
    /// `invalid` if the question is not open any more, or a rule in the answer cannot be kept.
    pub async fn decide(&self, decision: Decision) -> Result<(), AgentError> {
        let command = Command::Answer { ask: self.request.ask.clone(), decision };
        let order = Addressed { agent: Some(self.asked_by.clone()), command };
        order.send(&*self.agent).await.map(drop)
    }

    /// Waits until somebody has answered, whoever it is, and says whether it was a yes. A question that is
    /// withdrawn, or that nobody answers in time, is a no.
    ///
    /// # Errors
    /// `journal` if the events cannot be read.
    pub async fn approved(&self) -> Result<bool, AgentError> {
        let log: &EventLog = self.agent.log();
        let mut events = log.subscribe(self.at.next());
        loop {
            let Item::Event(event) = events.next().await? else { continue };
            let own = event.agent == self.asked_by;
            match &event.body {
                Body::Answered { ask, decision } if *ask == self.request.ask => {
                    return Ok(matches!(decision, Decision::Allow { .. }));
                }
                Body::ToolCallEnd { call_id, .. } if own && *call_id == self.request.call.id => {
                    return Ok(false);
                }
                Body::SessionResumed { .. } => return Ok(false),
                Body::SessionEnd { .. } if own => return Ok(false),
                _ => {}
            }
        }
    }
}
