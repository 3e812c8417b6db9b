//! Model calls that were cut off with their process. No event says that a call has begun; but an agent of ours that has
//! an input, and whose tools have all ended, asks its model and does nothing else.

use std::collections::HashMap;

use junto_core::{AgentId, Body, CallEnd, CallPurpose, Event, Payload, Via};
use junto_llm::Message;

use super::settings::PastSettings;

/// A call of which nothing is known but that it may have been made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    /// How many events there were then.
    pub(super) at: usize,
    pub(super) agent: AgentId,
    /// Who was asked, and for which model, as far as that is known.
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
}

/// What an agent does.
#[derive(Debug, Default)]
enum Work {
    #[default]
    Nothing,
    Asks,
    /// It waits for these calls of tools.
    Tools(Vec<String>),
}

impl Work {
    /// It waits for this call too.
    fn add(&mut self, call: &str) {
        match self {
            Self::Tools(left) if left.iter().any(|id| id == call) => {}
            Self::Tools(left) => left.push(call.to_owned()),
            work => *work = Self::Tools(vec![call.to_owned()]),
        }
    }
}

#[derive(Debug, Default)]
struct Asker {
    /// Whether it asks models by itself: others tell afterwards what they used.
    is_ours: bool,
    settings: PastSettings,
    /// Whether it has an input. Between two nobody asks by itself.
    has_input: bool,
    /// Who answered last; none if that was a council, whose name is no model's.
    answered: Option<(String, String)>,
    work: Work,
}

impl Asker {
    fn take(&mut self, event: &Event) {
        self.settings.take(&event.body);
        match &event.body {
            Body::SessionStart { setup, .. } => self.is_ours = setup.is_some(),
            Body::UserInput { .. } => (self.has_input, self.work) = (true, Work::Asks),
            Body::SteeringInjected { .. } | Body::Compacted { .. } => self.work = Work::Asks,
            Body::Call { provider, model, usage, answer, end, purpose, .. } => {
                self.answered = usage.calls.is_empty().then(|| (provider.clone(), model.clone()));
                // After a chore the model is asked; after a failure perhaps for a summary.
                self.work = match (purpose, end) {
                    (CallPurpose::Compaction, _) | (_, CallEnd::Failed { .. }) => Work::Asks,
                    (CallPurpose::Input, CallEnd::Interrupted) => Work::Nothing,
                    (CallPurpose::Input, CallEnd::Whole | CallEnd::Paused) => match calls(answer.as_ref()) {
                        Some(calls) if !calls.is_empty() => Work::Tools(calls),
                        Some(_) if end.is_whole() => Work::Nothing,
                        Some(_) => Work::Asks,
                        None => Work::Tools(Vec::new()),
                    },
                };
            }
            Body::ToolCallStart { call, via: Via::Loop } => self.work.add(&call.id),
            // Of an answer that cannot be read here this is all that tells of the call.
            Body::Ask { request } if request.via == Via::Loop => self.work.add(&request.call.id),
            Body::ToolCallEnd { call_id, via: Via::Loop, .. } => {
                if let Work::Tools(left) = &mut self.work {
                    left.retain(|id| id != call_id);
                    if left.is_empty() {
                        self.work = Work::Asks;
                    }
                }
            }
            Body::LoopDetection { stops: true, .. } | Body::TurnLimit { .. } | Body::Error { .. } => {
                self.work = Work::Nothing;
            }
            Body::InputEnd { .. } | Body::SessionEnd { .. } => {
                (self.has_input, self.work) = (false, Work::Nothing);
            }
            _ => {}
        }
    }

    fn lost(&self, at: usize, agent: &AgentId) -> Option<Lost> {
        if !self.is_ours || !self.has_input || !matches!(self.work, Work::Asks) {
            return None;
        }
        let PastSettings { provider, model, .. } = self.settings.clone();
        let (answered_by, answered_as) = self.answered.clone().unzip();
        let (provider, model) = (provider.or(answered_by), model.or(answered_as));
        Some(Lost { at, agent: agent.clone(), provider, model })
    }
}

/// The ids of the calls in an answer; none if it cannot be read here.
fn calls(answer: Option<&Payload>) -> Option<Vec<String>> {
    let Some(Payload::Inline(answer)) = answer else { return answer.is_none().then(Vec::new) };
    let message: Message = serde_json::from_str(answer).ok()?;
    Some(message.tool_calls().map(|call| call.id.clone()).collect())
}

/// The calls that were under way whenever the session of these events stopped without its end: before it was brought
/// back, and now.
pub(super) fn lost(events: &[Event]) -> Vec<Lost> {
    let root = events.first().map(|event| &event.agent);
    let mut askers: HashMap<&AgentId, Asker> = HashMap::new();
    let mut order = Vec::new();
    let mut lost = Vec::new();
    for (at, event) in events.iter().enumerate() {
        if matches!(event.body, Body::SessionResumed { .. }) {
            lost.extend(under_way(&askers, &order, at));
        }
        let asker = askers.entry(&event.agent).or_insert_with(|| {
            order.push(&event.agent);
            Asker::default()
        });
        asker.take(event);
        if matches!(event.body, Body::SessionEnd { .. }) && Some(&event.agent) == root {
            // Its children end with it. Of those that work on, as in what a fork copies, nothing was cut off.
            for asker in askers.values_mut() {
                asker.has_input = false;
            }
        }
    }
    lost.extend(under_way(&askers, &order, events.len()));
    lost
}

fn under_way(askers: &HashMap<&AgentId, Asker>, order: &[&AgentId], at: usize) -> Vec<Lost> {
    order.iter().filter_map(|agent| askers.get(agent)?.lost(at, agent)).collect()
}
