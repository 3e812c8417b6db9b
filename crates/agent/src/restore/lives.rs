//! What each agent of a log has left open, and what it has used.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use junto_core::{AgentId, AskId, Body, CallPurpose, CutOff, Event, Seq, Via};
use junto_llm::{CallId, ToolCall};

use crate::totals::Totals;

/// All agents of a log.
#[derive(Debug, Default)]
pub(super) struct Lives {
    /// In the order in which they began, so that children come after their parents.
    order: Vec<AgentId>,
    of: HashMap<AgentId, Life>,
    /// What children are called by their parents.
    names: HashMap<AgentId, String>,
}

/// What is known of one agent.
#[derive(Debug)]
pub(super) struct Life {
    /// Its first event, with the number of its last input: what it takes to write on as this agent.
    seat: Event,
    /// The input that has no end.
    pub(super) input: Option<u32>,
    /// Texts and reasonings that have not ended.
    pub(super) segments: BTreeMap<Seq, Segment>,
    /// Tool calls that have started and not ended.
    pub(super) calls: BTreeMap<Seq, (ToolCall, Via)>,
    /// Questions, for approval and of the model, that were not answered.
    asked: BTreeSet<AskId>,
    over: bool,
    totals: Totals,
    turns: u32,
    /// Whether there are results that were not counted: they are one turn when the round is over.
    has_results: bool,
    children: u32,
}

/// A text or a reasoning that has not ended.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) kind: Kind,
    /// The model call it belongs to.
    pub(super) call: Option<CallId>,
}

/// What a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Reasoning,
}

impl Lives {
    /// Takes any agent's event.
    pub(super) fn take(&mut self, event: &Event) {
        if let Body::Child { agent, name, .. } = &event.body {
            self.names.insert(agent.clone(), name.clone());
        }
        if let (Body::SessionEnd { usage, cost, .. }, Some(parent)) = (&event.body, &event.parent)
            && let Some(parent) = self.of.get(parent)
        {
            // As the parent books a child that ends.
            parent.totals.add(usage, *cost);
        }
        let life = self.of.entry(event.agent.clone()).or_insert_with(|| {
            self.order.push(event.agent.clone());
            Life::new(event)
        });
        life.take(event);
    }

    pub(super) fn of(&self, agent: &AgentId) -> Option<&Life> {
        self.of.get(agent)
    }

    /// The children that have no end, and theirs: the youngest first, so that each ends before its parent.
    pub(super) fn children_left(&self, root: &AgentId) -> Vec<AgentId> {
        let left = self.order.iter().rev().filter(|agent| *agent != root);
        left.filter(|agent| self.of(agent).is_some_and(|life| !life.over)).cloned().collect()
    }

    /// What was under way: of the session itself, and its children.
    pub(super) fn cut_off(&self, root: &AgentId) -> Vec<CutOff> {
        let own = self.of(root).map(Life::cut_off).unwrap_or_default();
        let children = self.children_left(root).into_iter().rev().map(|child| {
            let name = self.names.get(&child).cloned().unwrap_or_default();
            CutOff::Child { child, name }
        });
        own.into_iter().chain(children).collect()
    }
}

impl Life {
    fn new(first: &Event) -> Self {
        Self {
            seat: first.clone(),
            input: None,
            segments: BTreeMap::new(),
            calls: BTreeMap::new(),
            asked: BTreeSet::new(),
            over: false,
            totals: Totals::default(),
            turns: 0,
            has_results: false,
            children: 0,
        }
    }

    fn take(&mut self, event: &Event) {
        self.seat.turn = event.turn;
        let ends_round = matches!(
            event.body,
            Body::Call { .. }
                | Body::SteeringInjected { .. }
                | Body::LoopDetection { .. }
                | Body::TurnLimit { .. }
                | Body::InputEnd { .. }
                | Body::UserInput { .. }
        );
        if ends_round && std::mem::take(&mut self.has_results) {
            self.turns = self.turns.saturating_add(1);
        }
        let seq = event.seq;
        let segment = |kind| Segment { kind, call: event.corr.clone() };
        match &event.body {
            Body::SessionResumed { .. } => {
                self.over = false;
                self.asked.clear();
            }
            Body::SessionEnd { .. } => self.over = true,
            Body::UserInput { .. } => {
                self.input = Some(event.turn);
                self.turns = self.turns.saturating_add(1);
            }
            Body::SteeringInjected { .. } | Body::LoopDetection { stops: false, .. } => {
                self.turns = self.turns.saturating_add(1);
            }
            Body::InputEnd { .. } => self.input = None,
            Body::AssistantTextStart {} => drop(self.segments.insert(seq, segment(Kind::Text))),
            Body::ReasoningStart {} => drop(self.segments.insert(seq, segment(Kind::Reasoning))),
            Body::AssistantTextEnd { of, .. } | Body::ReasoningEnd { of, .. } => {
                self.segments.remove(of);
            }
            Body::ToolCallStart { call, via } => drop(self.calls.insert(seq, (call.clone(), *via))),
            Body::ToolCallEnd { of, via, .. } => {
                if let Some(of) = of {
                    self.calls.remove(of);
                }
                self.has_results |= *via == Via::Loop;
            }
            Body::Ask { request } => drop(self.asked.insert(request.ask.clone())),
            Body::Question { ask, .. } => drop(self.asked.insert(ask.clone())),
            Body::Answered { ask, .. } | Body::Replied { ask, .. } => drop(self.asked.remove(ask)),
            // Calls that make room are paid, and are no turns.
            Body::Call { purpose: CallPurpose::Compaction, usage, cost, .. } => self.totals.add(usage, *cost),
            Body::Call { usage, cost, answer, .. } => {
                self.totals.add(usage, *cost);
                self.turns = self.turns.saturating_add(u32::from(answer.is_some()));
            }
            // Names may have been left out.
            Body::Child { name, .. } => {
                let number = name.rsplit('-').next().and_then(|number| number.parse().ok());
                self.children = self.children.saturating_add(1).max(number.unwrap_or(0));
            }
            _ => {}
        }
    }

    /// An event of it, with the number of its last input.
    pub(super) fn seat(&self) -> &Event {
        &self.seat
    }

    pub(super) fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Its turns: what was said to it, its answers, and the results of each round of tools.
    pub(super) fn turns(&self) -> u32 {
        self.turns
    }

    /// The number of the last child it has had.
    pub(super) fn children(&self) -> u32 {
        self.children
    }

    fn cut_off(&self) -> Vec<CutOff> {
        let input = self.input.map(|turn| CutOff::Input { turn });
        let texts = self.segments.keys().map(|start| CutOff::Text { start: *start });
        let calls = self.calls.iter().map(|(start, (call, _))| CutOff::ToolCall {
            start: *start,
            call_id: call.id.clone(),
            name: call.name.clone(),
        });
        let asked = self.asked.iter().map(|ask| CutOff::Question { ask: ask.clone() });
        input.into_iter().chain(texts).chain(calls).chain(asked).collect()
    }
}
