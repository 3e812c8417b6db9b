//! The events of a session as those of a code-action agent. A fold: nothing is decided here.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use junto_core::{
    Agent, AgentId, Body, CallEnd, CallPurpose, Delta, EndReason, Event, Item, JournalError, Payload, Seq,
    Via,
};

use junto_kernel::{NO_OUTPUT, is_call_of};

use super::images::images_in;
use super::{AgentEvent, AgentEventKind, ApprovalRequest, EXECUTE_CODE, ParentCall, Phase, SHELL_LEAVE};
use crate::Approval;

/// What was seen of a turn so far.
pub(super) struct View {
    agent: Arc<dyn Agent>,
    /// What the agent calls itself.
    name: String,
    images_dir: PathBuf,
    /// Texts and tool calls that have begun and not ended.
    open: HashMap<Seq, Open>,
    /// What each agent has said and thought in the model call under way.
    said: HashMap<AgentId, Said>,
    phase: Phase,
    /// The agent's own calls that have been asked about or started, and not ended.
    calls: Vec<String>,
}

/// Something that deltas belong to.
struct Open {
    agent: AgentId,
    corr_id: String,
    parent: Option<ParentCall>,
    /// Whether it is a cell.
    is_cell: bool,
}

#[derive(Default)]
struct Said {
    text: String,
    thoughts: String,
}

impl View {
    pub(super) fn new(agent: Arc<dyn Agent>, name: String, images_dir: PathBuf) -> Self {
        Self {
            agent,
            name,
            images_dir,
            open: HashMap::new(),
            said: HashMap::new(),
            phase: Phase::BetweenTurns,
            calls: Vec::new(),
        }
    }

    /// What the agent is doing.
    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Takes an item of the session's log, and adds what it means to the events.
    ///
    /// # Errors
    /// If a text that stands beside the journal cannot be read.
    pub(super) async fn take(
        &mut self,
        item: &Item,
        out: &mut VecDeque<AgentEvent>,
    ) -> Result<(), JournalError> {
        match item {
            Item::Delta(delta) => out.extend(self.delta(delta)),
            Item::Event(event) => {
                self.follow(event);
                self.event(event, out).await?;
            }
        }
        Ok(())
    }

    /// The end of a turn that was cancelled.
    pub(super) fn cancelled(&self, phase: Phase) -> AgentEvent {
        let agent_id = self.name.clone();
        let kind = AgentEventKind::Cancelled { phase };
        AgentEvent { agent_id, corr_id: String::new(), parent: None, kind }
    }

    fn delta(&self, delta: &Delta) -> Option<AgentEvent> {
        let open = self.open.get(&delta.of())?;
        let text = delta.text().to_owned();
        if open.is_cell && text == NO_OUTPUT {
            return None;
        }
        let kind = match delta {
            Delta::AssistantTextDelta { .. } => AgentEventKind::ResponseChunk { content: text },
            Delta::ReasoningDelta { .. } => AgentEventKind::ThoughtsChunk { content: text },
            Delta::ToolCallOutputDelta { .. } if open.is_cell => {
                AgentEventKind::CodeExecutionOutputChunk { text }
            }
            Delta::ToolCallOutputDelta { .. } => return None,
        };
        let (corr_id, parent) = (open.corr_id.clone(), open.parent.clone());
        Some(AgentEvent { agent_id: self.id(&open.agent), corr_id, parent, kind })
    }

    /// Follows what the agent itself is doing.
    fn follow(&mut self, event: &Event) {
        if event.agent != *self.agent.log().agent() {
            return;
        }
        match &event.body {
            Body::UserInput { .. } | Body::AssistantTextStart {} | Body::ReasoningStart {} => {
                self.phase = Phase::LlmStreaming;
            }
            Body::Call { purpose: CallPurpose::Input, end: CallEnd::Whole, .. } => {
                self.phase = Phase::BetweenTurns;
            }
            Body::Ask { request } if request.via == Via::Loop => self.call_begins(&request.call.id),
            Body::ToolCallStart { call, via: Via::Loop } => self.call_begins(&call.id),
            Body::ToolCallEnd { call_id, via: Via::Loop, .. } => {
                self.calls.retain(|open| open != call_id);
                if self.calls.is_empty() {
                    // It is told what came of them at once.
                    self.phase = Phase::LlmStreaming;
                }
            }
            _ => {}
        }
    }

    fn call_begins(&mut self, id: &str) {
        self.phase = Phase::ToolExecution;
        if !self.calls.iter().any(|open| open == id) {
            self.calls.push(id.to_owned());
        }
    }

    async fn event(&mut self, event: &Event, out: &mut VecDeque<AgentEvent>) -> Result<(), JournalError> {
        match &event.body {
            Body::AssistantTextStart {} | Body::ReasoningStart {} => {
                self.begin(event, model_call(event), self.started_by(event), false);
            }
            Body::AssistantTextEnd { of, text } => {
                self.open.remove(of);
                let text = self.agent.log().read(text).await?;
                self.said.entry(event.agent.clone()).or_default().text.push_str(&text);
            }
            Body::ReasoningEnd { of, text } => {
                self.open.remove(of);
                let text = self.agent.log().read(text).await?;
                self.said.entry(event.agent.clone()).or_default().thoughts.push_str(&text);
            }
            Body::Call { purpose: CallPurpose::Input, end, .. } => {
                let said = self.said.remove(&event.agent).unwrap_or_default();
                if matches!(end, CallEnd::Whole | CallEnd::Paused) {
                    out.extend(self.step(event, said));
                }
            }
            Body::Ask { request } => {
                if let Some(approval) = Approval::of(&self.agent, event) {
                    let parent = self.called_for(event, &request.call.id, request.via);
                    let kind = AgentEventKind::ApprovalRequest(ApprovalRequest::new(approval));
                    out.push_back(self.made(event, request.call.id.clone(), parent, kind));
                }
            }
            Body::ToolCallStart { call, via } => {
                let parent = self.called_for(event, &call.id, *via);
                self.begin(event, call.id.clone(), parent, *via == Via::Loop && call.name == EXECUTE_CODE);
            }
            Body::ToolCallEnd { .. } => {
                let ended = self.ended(event).await?;
                out.extend(ended);
            }
            _ => {}
        }
        Ok(())
    }

    /// What the model said at a step.
    fn step(&self, event: &Event, said: Said) -> Vec<AgentEvent> {
        let Said { text, thoughts } = said;
        let thoughts = (!thoughts.is_empty()).then_some(AgentEventKind::Thoughts { content: thoughts });
        let response = (!text.is_empty()).then_some(AgentEventKind::Response { content: text });
        let made = |kind| self.made(event, model_call(event), self.started_by(event), kind);
        thoughts.into_iter().chain(response).map(made).collect()
    }

    async fn ended(&mut self, event: &Event) -> Result<Option<AgentEvent>, JournalError> {
        let Body::ToolCallEnd { of, call_id, name, output, is_error, seen, via, .. } = &event.body else {
            return Ok(None);
        };
        // Before it is forgotten: a cell is not its own parent, and what code called is the cell's.
        let open = of.and_then(|of| self.open.remove(&of));
        let is_cell = open.as_ref().is_some_and(|open| open.is_cell);
        let parent = match open {
            Some(open) => open.parent,
            None => self.called_for(event, call_id, *via),
        };
        let shown = seen.as_ref().and_then(|seen| seen.text.as_ref()).unwrap_or(output);
        let text = match (shown, via) {
            // Code has had all of it; whoever looks on is shown the ends of what is very large.
            (Payload::Spilled { .. }, Via::Cell | Via::Child) => shown.preview(),
            _ => self.agent.log().read(shown).await?,
        };
        // A line that may run says what it has to say in its cell.
        if name == SHELL_LEAVE && !is_error {
            return Ok(None);
        }
        let kind = if is_cell {
            AgentEventKind::CodeExecutionOutput {
                text: Some(text).filter(|text| !text.is_empty() && text != NO_OUTPUT),
                images: images_in(self.agent.log(), output, &self.images_dir).await?,
                truncated: shown.bytes() < output.bytes(),
            }
        } else {
            AgentEventKind::ToolOutput { content: text, is_error: *is_error, ptc: *via == Via::Cell }
        };
        Ok(Some(self.made(event, call_id.clone(), parent, kind)))
    }

    fn begin(&mut self, event: &Event, corr_id: String, parent: Option<ParentCall>, is_cell: bool) {
        self.open.insert(event.seq, Open { agent: event.agent.clone(), corr_id, parent, is_cell });
    }

    fn made(
        &self,
        event: &Event,
        corr_id: String,
        parent: Option<ParentCall>,
        kind: AgentEventKind,
    ) -> AgentEvent {
        AgentEvent { agent_id: self.id(&event.agent), corr_id, parent, kind }
    }

    /// What an agent is called.
    fn id(&self, agent: &AgentId) -> String {
        if agent == self.agent.log().agent() { self.name.clone() } else { agent.0.clone() }
    }

    /// What a call is made for: the cell whose code makes it, where that is known, else what its agent was started by.
    fn called_for(&self, event: &Event, call: &str, via: Via) -> Option<ParentCall> {
        let mut cells = self.open.values().filter(|open| open.is_cell && open.agent == event.agent);
        match cells.find(|cell| via == Via::Cell && is_call_of(call, &cell.corr_id)) {
            Some(cell) => Some(ParentCall { agent_id: self.id(&event.agent), corr_id: cell.corr_id.clone() }),
            None => self.started_by(event),
        }
    }

    /// The call that started the agent of an event, if it is a subagent.
    fn started_by(&self, event: &Event) -> Option<ParentCall> {
        let agent_id = self.id(event.parent.as_ref()?);
        let corr_id = event.parent_call.as_ref().map(|call| call.0.clone()).unwrap_or_default();
        Some(ParentCall { agent_id, corr_id })
    }
}

/// The model call that an event belongs to.
fn model_call(event: &Event) -> String {
    event.corr.as_ref().map(|call| call.0.clone()).unwrap_or_default()
}

/// How the input of the agent itself ended, if it did.
pub(super) fn input_end(agent: &dyn Agent, item: &Item) -> Option<EndReason> {
    match item {
        Item::Event(event) if event.agent == *agent.log().agent() => match &event.body {
            Body::InputEnd { reason, .. } => Some(reason.clone()),
            _ => None,
        },
        _ => None,
    }
}
