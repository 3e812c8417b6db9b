//! What a command says, written into an agent's log.

use std::collections::HashMap;

use junto_core::{Body, Delta, EventError, EventLog, JournalError, Payload, Seq, Via};
use junto_llm::CallId;

use crate::CliEvent;

/// Writes what one run says as events, and sees to it that what began also ends.
pub(crate) struct Scribe<'a> {
    log: &'a EventLog,
    call: CallId,
    /// The text or reasoning that is being written.
    open: Option<Seq>,
    /// The command's tools that are running, with their names.
    running: HashMap<String, (Seq, String)>,
}

impl<'a> Scribe<'a> {
    /// For the run of this name.
    pub(crate) fn new(log: &'a EventLog, call: CallId) -> Self {
        Self { log, call, open: None, running: HashMap::new() }
    }

    /// Writes an event. Sessions, turns, sizes, excuses and reports are for whoever runs the process.
    pub(crate) async fn write(&mut self, event: CliEvent) -> Result<(), JournalError> {
        match event {
            CliEvent::TextStart => self.open = Some(self.emit(Body::AssistantTextStart {}).await?),
            CliEvent::ReasoningStart => self.open = Some(self.emit(Body::ReasoningStart {}).await?),
            CliEvent::TextDelta(text) => {
                if let Some(of) = self.open {
                    self.log.delta(Delta::AssistantTextDelta { of, text });
                }
            }
            CliEvent::ReasoningDelta(text) => {
                if let Some(of) = self.open {
                    self.log.delta(Delta::ReasoningDelta { of, text });
                }
            }
            CliEvent::TextEnd(text) => {
                if let Some(of) = self.open.take() {
                    self.emit(Body::AssistantTextEnd { of, text: text.into() }).await?;
                }
            }
            CliEvent::ReasoningEnd(text) => {
                if let Some(of) = self.open.take() {
                    self.emit(Body::ReasoningEnd { of, text: text.into() }).await?;
                }
            }
            CliEvent::Abandoned => self.warn("abandoned", "a text broke off; it comes again").await?,
            CliEvent::ToolStart(call) => {
                // Nobody could tell the ends of two calls with one id apart.
                if !self.running.contains_key(&call.id) {
                    let (id, name) = (call.id.clone(), call.name.clone());
                    let start = self.emit(Body::ToolCallStart { call, via: Via::Loop }).await?;
                    self.running.insert(id, (start, name));
                }
            }
            CliEvent::ToolEnd { call_id, output, is_error } => {
                if let Some((of, name)) = self.running.remove(&call_id) {
                    let output = output.into();
                    self.emit(ended(of, call_id, name, output, is_error)).await?;
                }
            }
            CliEvent::Plan(plan) => drop(self.emit(Body::Plan { plan }).await?),
            CliEvent::Progress(text) => drop(self.emit(Body::Progress { text }).await?),
            CliEvent::Retry { attempt, delay_ms, error } => {
                let error = EventError::from(&error);
                self.emit(Body::Retry { attempt, delay_ms, error }).await?;
            }
            CliEvent::Warning { code, message } => self.warn(code, message).await?,
            CliEvent::Session { .. }
            | CliEvent::Turn
            | CliEvent::Context(_)
            | CliEvent::Excuse(_)
            | CliEvent::Report(_) => {}
        }
        Ok(())
    }

    /// Writes an event of this run.
    pub(crate) async fn emit(&self, body: Body) -> Result<Seq, JournalError> {
        self.log.emit_for(&self.call, body).await
    }

    pub(crate) async fn warn(&self, code: &str, message: impl Into<String>) -> Result<(), JournalError> {
        self.emit(Body::Warning { code: code.to_owned(), message: message.into() }).await?;
        Ok(())
    }

    /// Ends the tools that were running when the process ended. What they did is not known.
    pub(crate) async fn end_tools(&mut self) -> Result<(), JournalError> {
        let mut running: Vec<_> = self.running.drain().collect();
        running.sort_unstable_by_key(|(_, (start, _))| *start);
        for (call_id, (of, name)) in running {
            let output = "the agent ended before the tool did".into();
            self.emit(ended(of, call_id, name, output, true)).await?;
        }
        Ok(())
    }
}

/// The end of one of the command's own tool calls.
fn ended(of: Seq, call_id: String, name: String, output: Payload, is_error: bool) -> Body {
    let (of, call) = (Some(of), None);
    Body::ToolCallEnd { of, call_id, name, call, output, is_error, seen: None, via: Via::Loop }
}
