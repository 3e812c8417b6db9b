//! Writes the ends that are missing in a log, so that everything that began in it has ended, or goes on.

use junto_core::{AgentId, Body, EndReason, Event, EventLog, JournalError, Payload, Rejected, Seq, Via};
use junto_llm::{ToolCall, ToolResult};

use super::Restored;
use super::conversation::{OpenInput, Over};
use super::lives::{Kind, Life, Lives};
use crate::resume::OnOpen;
use crate::said::is_question;
use crate::toolbox::CUT_OFF;
use crate::totals::Totals;

impl Restored {
    /// Says that the session goes on, and ends what does not: children, texts, tool calls, and the input if
    /// it is over or shall be.
    ///
    /// # Errors
    /// If the journal cannot be written. What was written is whole, and the session can be brought back
    /// again.
    pub(crate) async fn close_gaps(
        &mut self,
        on_open: OnOpen,
        ask_on_question: bool,
    ) -> Result<(), JournalError> {
        let root = self.log.agent().clone();
        let cut_off = self.lives.cut_off(&root);
        self.log.commit(Body::SessionResumed { cut_off }).await?;
        for child in self.lives.children_left(&root) {
            end_child(&self.log, &self.lives, &child).await?;
        }
        if let Some(own) = self.lives.of(&root) {
            end_segments(&self.log, own).await?;
            for (start, (call, via)) in &own.calls {
                end_call(&self.log, Some(*start), call, *via, CUT_OFF).await?;
                let open = self.open.as_mut().and_then(|open| open.calls.as_mut());
                if let (Some(calls), Via::Loop) = (open, via) {
                    calls.ended(ToolResult::error(&call.id, CUT_OFF));
                }
            }
        }
        let input = self.lives.of(&root).and_then(|own| own.input);
        let Some(mut open) = self.open.take() else {
            // One that is rewound away, and has no end all the same.
            return match input {
                Some(_) => self.end_input(OpenInput::default(), EndReason::Interrupted).await,
                None => Ok(()),
            };
        };
        let reason = match (open.over.take(), on_open) {
            (None, OnOpen::GoOn) => {
                self.open = Some(open);
                return Ok(());
            }
            (None, OnOpen::End) => EndReason::Interrupted,
            (Some(Over::Answered), _) if ask_on_question && is_question(&open.text) => {
                EndReason::AwaitingInput
            }
            (Some(Over::Answered), _) => EndReason::Done,
            (Some(Over::Ended(reason)), _) => reason,
            (Some(Over::Failed(reason)), _) => {
                if let EndReason::Failed { error } = &reason {
                    self.log.emit(Body::Error { error: error.clone() }).await?;
                }
                reason
            }
        };
        self.end_input(open, reason).await
    }

    /// Ends an input. Calls that have not started never will.
    async fn end_input(&mut self, open: OpenInput, reason: EndReason) -> Result<(), JournalError> {
        if let Some(mut calls) = open.calls {
            let left: Vec<ToolCall> = calls.left().map(|(call, _)| call.clone()).collect();
            for call in left {
                let message = Rejected::Cancelled.message();
                end_call(&self.log, None, &call, Via::Loop, &message).await?;
                calls.ended(ToolResult::error(&call.id, message));
            }
            self.history.results(calls.into_results());
        }
        self.log.commit(Body::InputEnd { reason: reason.clone(), text: open.text.into() }).await?;
        self.last_end = Some(reason);
        Ok(())
    }
}

/// Says that a session of any kind goes on, and ends everything that was under way in it. Gives the log as its
/// own agent goes on writing to it, and what that agent has used.
///
/// # Errors
/// As [`Restored::close_gaps`].
pub(crate) async fn close_all(events: &[Event], log: &EventLog) -> Result<(EventLog, Totals), JournalError> {
    let mut lives = Lives::default();
    for event in events {
        lives.take(event);
    }
    let own = events.first().and_then(|first| lives.of(&first.agent));
    let Some(own) = own else { return Ok((log.clone(), Totals::default())) };
    let log = log.rejoin(own.seat());
    log.commit(Body::SessionResumed { cut_off: lives.cut_off(log.agent()) }).await?;
    for child in lives.children_left(log.agent()) {
        end_child(&log, &lives, &child).await?;
    }
    end_work(&log, own).await?;
    Ok((log, own.totals().clone()))
}

/// Ends a child, and books what it has used.
async fn end_child(log: &EventLog, lives: &Lives, child: &AgentId) -> Result<(), JournalError> {
    let Some(life) = lives.of(child) else { return Ok(()) };
    let log = log.rejoin(life.seat());
    end_work(&log, life).await?;
    let (usage, cost) = life.totals().get();
    let parent = log.parent().and_then(|parent| lives.of(parent)).map(Life::totals);
    if let Some(parent) = parent {
        parent.add(&usage, cost);
    }
    log.commit(Body::SessionEnd { reason: EndReason::Interrupted, usage, cost }).await.map(drop)
}

/// Ends what an agent was doing, its input too.
async fn end_work(log: &EventLog, life: &Life) -> Result<(), JournalError> {
    end_segments(log, life).await?;
    for (start, (call, via)) in &life.calls {
        end_call(log, Some(*start), call, *via, CUT_OFF).await?;
    }
    if life.input.is_some() {
        log.commit(Body::InputEnd { reason: EndReason::Interrupted, text: "".into() }).await?;
    }
    Ok(())
}

/// Ends the texts that were being written. What they said so far was live only, and is lost.
async fn end_segments(log: &EventLog, life: &Life) -> Result<(), JournalError> {
    for (of, segment) in &life.segments {
        let (of, text) = (*of, Payload::from(""));
        let end = match segment.kind {
            Kind::Text => Body::AssistantTextEnd { of, text },
            Kind::Reasoning => Body::ReasoningEnd { of, text },
        };
        match &segment.call {
            Some(call) => log.emit_for(call, end).await?,
            None => log.emit(end).await?,
        };
    }
    Ok(())
}

/// Ends a call that did not come to its end.
async fn end_call(
    log: &EventLog,
    of: Option<Seq>,
    call: &ToolCall,
    via: Via,
    message: &str,
) -> Result<(), JournalError> {
    let end = Body::ToolCallEnd {
        of,
        call_id: call.id.clone(),
        name: call.name.clone(),
        call: of.is_none().then(|| call.clone()),
        output: message.into(),
        is_error: true,
        seen: None,
        via,
    };
    log.emit(end).await.map(drop)
}
