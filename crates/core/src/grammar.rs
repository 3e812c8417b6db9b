//! What every agent's log must look like, whatever the agent is: checked by tests and by hosts that
//! do not trust an agent.

use std::collections::{HashMap, HashSet};

use crate::{AgentId, AskId, Body, Event, Seq};

/// Checks the events of a whole, finished session, in order.
///
/// - positions go up by one; the first event of each agent is its `session_start`, its last its
///   `session_end`, and each comes once, but for ends that a `session_resumed` follows;
/// - each `user_input` has exactly one `input_end` after it, and none comes without one;
/// - steering, limits, loops and the ends of runs are of an input, and come while one is open;
/// - every started text, reasoning and tool call ends, once;
/// - an answer belongs to a question that was asked before, since the session was last resumed, and that
///   was not answered yet;
/// - the conversation is rewound between two inputs, and to an input that there was;
/// - a child starts after its parent and ends before it.
///
/// # Errors
/// Everything that is wrong, in words.
pub fn check(events: &[Event]) -> Result<(), Vec<String>> {
    let mut faults = Vec::new();
    for pair in events.windows(2) {
        if pair[1].seq != pair[0].seq.next() {
            faults.push(format!("event {} follows event {}", pair[1].seq, pair[0].seq));
        }
    }
    let mut order: Vec<&AgentId> = Vec::new();
    let mut agents: HashMap<&AgentId, Life> = HashMap::new();
    for event in events {
        let life = agents.entry(&event.agent).or_insert_with(|| {
            order.push(&event.agent);
            Life { parent: event.parent.as_ref(), ..Life::default() }
        });
        life.take(event, &mut faults);
    }
    for agent in &order {
        let life = &agents[*agent];
        life.close(agent, &mut faults);
        if let Some(parent) = life.parent.and_then(|parent| agents.get(parent))
            && (life.start < parent.start || life.end > parent.end)
        {
            faults.push(format!("agent {agent} does not live within its parent's life"));
        }
    }
    if events.is_empty() {
        faults.push("there are no events".to_owned());
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// What is known of one agent.
#[derive(Default)]
struct Life<'a> {
    parent: Option<&'a AgentId>,
    start: Option<Seq>,
    end: Option<Seq>,
    open_input: bool,
    /// Started texts, reasonings and tool calls that have not ended.
    open: HashSet<Seq>,
    /// Questions, for approval and of the model, that were not answered.
    asked: HashSet<AskId>,
}

impl Life<'_> {
    fn take(&mut self, event: &Event, faults: &mut Vec<String>) {
        let seq = event.seq;
        let mut fault = |what: &str| faults.push(format!("event {seq} ({}): {what}", event.body.name()));
        if self.start.is_none() && !matches!(event.body, Body::SessionStart { .. }) {
            fault("comes before the session's start");
        }
        if matches!(event.body, Body::SessionResumed { .. }) {
            // What was asked before is withdrawn; what was begun before is ended after it, or goes on.
            self.end = None;
            self.asked.clear();
        }
        if self.end.is_some() {
            fault("comes after the session's end");
        }
        let wrong = match &event.body {
            Body::SessionStart { .. } => {
                self.start.replace(seq).is_some().then_some("starts the session a second time")
            }
            Body::SessionEnd { .. } => {
                self.end = Some(seq);
                self.open_input.then_some("ends the session while an input is open")
            }
            Body::UserInput { .. } => {
                std::mem::replace(&mut self.open_input, true).then_some("comes while another input is open")
            }
            Body::InputEnd { .. } if !std::mem::take(&mut self.open_input) => {
                Some("ends an input that is not open")
            }
            Body::InputEnd { .. } => {
                (!self.open.is_empty()).then_some("ends an input while something it started is open")
            }
            Body::Rewound { .. } if self.open_input => Some("comes while an input is open"),
            Body::Rewound { to_turn } => {
                (*to_turn > event.turn).then_some("goes back to an input that is still to come")
            }
            Body::SteeringInjected { .. }
            | Body::TurnLimit { .. }
            | Body::LoopDetection { .. }
            | Body::RunEnd { .. } => (!self.open_input).then_some("comes while no input is open"),
            Body::AssistantTextStart {} | Body::ReasoningStart {} | Body::ToolCallStart { .. } => {
                self.open.insert(seq);
                None
            }
            Body::AssistantTextEnd { of, .. }
            | Body::ReasoningEnd { of, .. }
            | Body::ToolCallEnd { of: Some(of), .. } => {
                (!self.open.remove(of)).then_some("ends what is not open")
            }
            Body::Ask { request } => {
                self.asked.insert(request.ask.clone());
                None
            }
            Body::Question { ask, .. } => {
                self.asked.insert(ask.clone());
                None
            }
            Body::Answered { ask, .. } | Body::Replied { ask, .. } => {
                (!self.asked.remove(ask)).then_some("answers what was not asked")
            }
            _ => None,
        };
        if let Some(wrong) = wrong {
            fault(wrong);
        }
    }

    fn close(&self, agent: &AgentId, faults: &mut Vec<String>) {
        if self.end.is_none() {
            faults.push(format!("agent {agent} has no session_end"));
        }
        for seq in &self.open {
            faults.push(format!("what event {seq} of agent {agent} started never ended"));
        }
    }
}
