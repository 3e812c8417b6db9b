//! What past sessions did, for whoever wants to judge it anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use junto_agent::ToolRegistry;
use junto_core::{Action, AgentId, ApprovalRequest, AskId, Body, Decision, Event, Rejected, Seq, ToolCx};
use junto_env::ExecutionEnvironment;
use junto_llm::ToolCall;

/// A tool call of a past session that came before the gate, and what became of it there.
#[derive(Clone, Debug, PartialEq)]
pub struct PastCall {
    /// Whose it was.
    pub agent: AgentId,
    /// In which turn.
    pub turn: u32,
    /// Where in the log it was decided.
    pub seq: Seq,
    /// The call.
    pub call: ToolCall,
    /// What became of it.
    pub then: Then,
}

/// What became of a call at the gate.
#[derive(Clone, Debug, PartialEq)]
pub enum Then {
    /// It was allowed without a question.
    Allowed,
    /// Somebody was asked.
    Asked {
        /// The question, with what the call would have done.
        request: Box<ApprovalRequest>,
        /// The answer; none if the question was withdrawn.
        answer: Option<Decision>,
    },
    /// The policy refused it.
    Denied,
}

impl PastCall {
    /// What the call would do, as its tool says now: what was shown if it was asked about. `None` if the tool
    /// is not there, or finds that the call makes no sense.
    pub async fn actions(
        &self,
        tools: &ToolRegistry,
        env: &Arc<dyn ExecutionEnvironment>,
    ) -> Option<Vec<Action>> {
        if let Then::Asked { request, .. } = &self.then {
            return Some(request.actions.clone());
        }
        let tool = tools.get(&self.call.name)?;
        tool.actions(&self.call, &ToolCx::alone(Arc::clone(env))).await.ok()
    }
}

/// The calls of a session that came before the gate, in the order in which it was decided.
pub fn past_calls(events: &[Event]) -> Vec<PastCall> {
    let denied = Rejected::Denied(String::new()).message();
    let mut asked: BTreeMap<AskId, usize> = BTreeMap::new();
    let mut calls: Vec<PastCall> = Vec::new();
    let past = |event: &Event, call: &ToolCall, then| PastCall {
        agent: event.agent.clone(),
        turn: event.turn,
        seq: event.seq,
        call: call.clone(),
        then,
    };
    for event in events {
        match &event.body {
            Body::Ask { request } => {
                let then = Then::Asked { request: Box::new(request.clone()), answer: None };
                asked.insert(request.ask.clone(), calls.len());
                calls.push(past(event, &request.call, then));
            }
            Body::Answered { ask, decision } => {
                let place = asked.remove(ask).and_then(|at| calls.get_mut(at));
                if let Some(PastCall { then: Then::Asked { answer, .. }, .. }) = place {
                    *answer = Some(decision.clone());
                }
            }
            // One that was asked about is there already.
            Body::ToolCallStart { call, .. } => {
                let known = calls.iter().rev().any(|past| {
                    past.agent == event.agent
                        && past.turn == event.turn
                        && past.call == *call
                        && matches!(past.then, Then::Asked { .. })
                });
                if !known {
                    calls.push(past(event, call, Then::Allowed));
                }
            }
            Body::ToolCallEnd { call: Some(call), output, .. }
                if output.preview().starts_with(denied.trim_end()) =>
            {
                calls.push(past(event, call, Then::Denied));
            }
            _ => {}
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use junto_core::{EventLog, Gate, Leash, Policy, Verdict, Via};
    use tokio_util::sync::CancellationToken;

    use super::*;

    struct ByName;

    impl Policy for ByName {
        fn decide(&self, actions: &[Action]) -> Verdict {
            match actions {
                [Action::Tool { name, .. }] if name == "ask" => {
                    Verdict::Ask { proposed: Vec::new(), reason: String::new() }
                }
                [Action::Tool { name, .. }] if name == "deny" => Verdict::Deny { reason: "no".to_owned() },
                _ => Verdict::Allow(Leash::Kept),
            }
        }
    }

    #[tokio::test]
    async fn what_became_of_calls_is_found_again() {
        let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
        let gate = Gate::new(Arc::new(ByName), log.clone());
        let never = CancellationToken::new();
        for name in ["allow", "ask", "deny"] {
            let call = ToolCall::function(name, name, "{}");
            let actions = vec![Action::Tool { name: name.to_owned(), args: serde_json::json!({}) }];
            let answer = async {
                let mut events = log.subscribe(Seq::START);
                if name != "ask" {
                    return;
                }
                loop {
                    if let junto_core::Item::Event(event) = events.next().await.unwrap()
                        && let Body::Ask { request } = &event.body
                    {
                        gate.answer(&request.ask, Decision::Allow { remember: None }).unwrap();
                        break;
                    }
                }
            };
            let (passed, ()) = tokio::join!(gate.pass(call.clone(), actions, Via::Loop, &never), answer);
            if let Err(rejected) = passed {
                let output = rejected.message().into();
                let (call_id, name) = (call.id.clone(), call.name.clone());
                let call = Some(call);
                let (of, is_error, seen, via) = (None, true, None, Via::Loop);
                log.emit(Body::ToolCallEnd { of, call_id, name, call, output, is_error, seen, via })
                    .await
                    .unwrap();
            }
        }
        let events: Vec<Event> = log.subscribe(Seq::START).rest().await.unwrap();
        let found: Vec<(String, &str)> = past_calls(&events)
            .iter()
            .map(|past| {
                let then = match &past.then {
                    Then::Allowed => "allowed",
                    Then::Asked { answer: Some(Decision::Allow { .. }), .. } => "asked, yes",
                    Then::Asked { .. } => "asked",
                    Then::Denied => "denied",
                };
                (past.call.name.clone(), then)
            })
            .collect();
        let expected = [("allow", "allowed"), ("ask", "asked, yes"), ("deny", "denied")];
        assert_eq!(found, expected.map(|(name, then)| (name.to_owned(), then)));
    }
}
