//! The conversation as the model saw it, from the events of a session.

use std::collections::BTreeMap;

use junto_core::{
    ApprovalRequest, AskId, Body, CallEnd, CallPurpose, Decision, EndReason, Event, EventLog, Payload, Seen,
    Seq, Via,
};
use junto_llm::{Media, Message, ResultOutput, ToolResult};
use serde::de::DeserializeOwned;

use crate::call::says_something;
use crate::history::{History, Pins};
use crate::loops::Loops;
use crate::round::Calls;
use crate::said::Said;

/// What the model reads in the place of an input that is damaged. An answer must not stand without one: a
/// conversation begins with what a user said, and the calls of an answer have their results within an input.
const LOST: &str = "What the user said here is lost: the record of this session is damaged.";

/// Something of the past that cannot be had any more: where, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) seq: Seq,
    pub(crate) why: String,
}

/// An input that has no end.
#[derive(Debug, Default)]
pub(crate) struct OpenInput {
    /// The rounds of tools that are done.
    pub(crate) rounds: u32,
    /// The text of the last answer.
    pub(crate) text: String,
    /// The calls of the last answer, if not all of their results were read by the model.
    pub(crate) calls: Option<Calls>,
    /// Why it is over, if it is and only its end is missing.
    pub(crate) over: Option<Over>,
    /// What was decided about calls that have not started.
    pub(crate) decided: Vec<(ApprovalRequest, Decision)>,
    /// What was asked about calls and not decided.
    asked: BTreeMap<AskId, ApprovalRequest>,
}

/// Why an input is over that has no end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Over {
    /// The last answer is there.
    Answered,
    /// Something else, which was told.
    Ended(EndReason),
    /// The model call failed, and the `error` is missing too.
    Failed(EndReason),
}

/// The conversation, event by event.
pub(super) struct Conversation<'a> {
    log: &'a EventLog,
    pub(super) history: History,
    pub(super) loops: Loops,
    pub(super) answered_by: Option<String>,
    pub(super) open: Option<OpenInput>,
    pub(super) unread: Vec<Unread>,
    /// The input that came last.
    turn: u32,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(log: &'a EventLog, loops: Loops) -> Self {
        let history = History::new("");
        Self { log, history, loops, answered_by: None, open: None, unread: Vec::new(), turn: 0 }
    }

    /// Takes an event of the session itself.
    pub(super) async fn take(&mut self, event: &Event) {
        let seq = event.seq;
        match &event.body {
            Body::SessionStart { setup: Some(setup), .. } => {
                let system = self.text(seq, &setup.system).await;
                self.history = History::new(&system.unwrap_or_else(|| setup.system.preview()));
            }
            Body::UserInput { input, pictures } => {
                self.end_round();
                let pictures = self.media(seq, pictures.as_ref()).await;
                self.begin(event.turn, &Said::recalled(input.clone(), pictures));
            }
            Body::SteeringInjected { input, pictures } => {
                self.end_round();
                let pictures = self.media(seq, pictures.as_ref()).await;
                self.history.say(&Said::recalled(input.clone(), pictures));
                self.over(None);
            }
            // What it came to, a `compacted` event tells, if it came to anything.
            Body::Call { purpose: CallPurpose::Compaction, model, .. } => {
                self.end_round();
                self.answered_by = Some(model.clone());
            }
            Body::Call { .. } => self.call(event).await,
            Body::Compacted { .. } => self.compacted(event).await,
            Body::ToolCallStart { call, via: Via::Loop } => {
                if let Some(open) = &mut self.open {
                    open.decided.retain(|(request, _)| request.call != *call);
                    open.calls.iter_mut().for_each(|calls| calls.started(&call.id, seq));
                }
            }
            Body::ToolCallEnd { via: Via::Loop, .. } => self.tool_ended(event).await,
            Body::Ask { request } => {
                if let Some(open) = &mut self.open {
                    open.asked.insert(request.ask.clone(), request.clone());
                }
            }
            Body::Answered { ask, decision } => self.decided(ask, decision),
            Body::LoopDetection { message, stops } => {
                self.end_round();
                if *stops {
                    self.over(Some(Over::Ended(EndReason::Limit)));
                } else {
                    self.history.say(&Said::note(message));
                }
            }
            Body::TurnLimit { .. } => {
                self.end_round();
                self.over(Some(Over::Ended(EndReason::Limit)));
            }
            Body::Error { error } => {
                self.over(Some(Over::Ended(EndReason::Failed { error: error.clone() })));
            }
            Body::InputEnd { .. } => {
                self.end_round();
                self.open = None;
            }
            _ => {}
        }
    }

    fn begin(&mut self, turn: u32, said: &Said) {
        self.history.begin(said);
        self.loops.begin_input();
        self.open = Some(OpenInput::default());
        self.turn = turn;
    }

    async fn call(&mut self, event: &Event) {
        let Body::Call { model, usage, answer, end, .. } = &event.body else { return };
        self.end_round();
        self.answered_by = Some(model.clone());
        let message: Option<Message> = match answer {
            Some(answer) => self.json(event.seq, answer).await,
            None => None,
        };
        // Earlier versions kept thoughts that led to nothing, which providers do not take back.
        let message = message.filter(says_something);
        let text = message.as_ref().map(Message::text).unwrap_or_default();
        let calls: Vec<_> = message.iter().flat_map(Message::tool_calls).cloned().collect();
        if let Some(message) = message {
            if self.open.is_none() || self.turn != event.turn {
                self.begin(event.turn, &Said::note(LOST));
            }
            self.history.enter(message);
        }
        let Some(open) = &mut self.open else { return };
        open.text = text;
        match end {
            CallEnd::Whole | CallEnd::Paused => {
                self.history.count(usage);
                open.over = (calls.is_empty() && end.is_whole()).then_some(Over::Answered);
                open.calls = (!calls.is_empty()).then(|| Calls::new(calls));
            }
            // Whatever it was interrupted for came to nothing if it is not the next event.
            CallEnd::Interrupted => open.over = Some(Over::Ended(EndReason::Interrupted)),
            CallEnd::Failed { error } => {
                open.over = Some(Over::Failed(EndReason::Failed { error: error.clone() }));
            }
        }
    }

    async fn compacted(&mut self, event: &Event) {
        let Body::Compacted { messages, pinned, input, tokens_after, .. } = &event.body else { return };
        self.end_round();
        // The model is asked again, also if its call has failed because of the length.
        self.over(None);
        let Some(messages) = self.json(event.seq, messages).await else { return };
        let place = |place: u32| place as usize;
        let pinned = pinned.iter().copied().map(place).collect();
        let pins = Pins { pinned, input: input.map(place) };
        self.history.replace(messages, pins, *tokens_after);
    }

    async fn tool_ended(&mut self, event: &Event) {
        let Body::ToolCallEnd { call_id, output, is_error, seen, .. } = &event.body else { return };
        let Seen { text, images } = seen.clone().unwrap_or_default();
        let shown = text.as_ref().unwrap_or(output);
        let text = self.text(event.seq, shown).await.unwrap_or_else(|| shown.preview());
        let images = self.media(event.seq, images.as_ref()).await;
        let output = ResultOutput::Text(text);
        let result = ToolResult { call_id: call_id.clone(), output, is_error: *is_error, images };
        if let Some(open) = &mut self.open {
            open.decided.retain(|(request, _)| request.call.id != *call_id);
            open.calls.iter_mut().for_each(|calls| calls.ended(result.clone()));
        }
    }

    fn decided(&mut self, ask: &AskId, decision: &Decision) {
        let Some(open) = &mut self.open else { return };
        let Some(request) = open.asked.remove(ask) else { return };
        if let (Decision::Reject { reason }, Some(calls)) = (decision, &mut open.calls) {
            calls.refused(reason.clone());
        }
        // Code that asked is gone, and with it its call.
        if request.via == Via::Loop {
            open.decided.push((request, decision.clone()));
        }
    }

    /// The model was asked again, or the input went on otherwise: it has read all results.
    fn end_round(&mut self) {
        let Some(open) = &mut self.open else { return };
        let Some(calls) = open.calls.take() else { return };
        open.decided.clear();
        open.asked.clear();
        open.rounds = open.rounds.saturating_add(1);
        self.history.results(calls.into_results());
        // What came of it is in the log.
        let _told = self.loops.note(self.history.last_round());
    }

    fn over(&mut self, over: Option<Over>) {
        if let Some(open) = &mut self.open {
            open.over = over;
        }
    }

    async fn text(&mut self, seq: Seq, payload: &Payload) -> Option<String> {
        match self.log.read(payload).await {
            Ok(text) => Some(text),
            Err(error) => {
                self.unread.push(Unread { seq, why: error.to_string() });
                None
            }
        }
    }

    async fn json<T: DeserializeOwned>(&mut self, seq: Seq, payload: &Payload) -> Option<T> {
        let text = self.text(seq, payload).await?;
        match serde_json::from_str(&text) {
            Ok(part) => Some(part),
            Err(error) => {
                self.unread.push(Unread { seq, why: error.to_string() });
                None
            }
        }
    }

    async fn media(&mut self, seq: Seq, payload: Option<&Payload>) -> Vec<Media> {
        match payload {
            Some(payload) => self.json(seq, payload).await.unwrap_or_default(),
            None => Vec::new(),
        }
    }
}
