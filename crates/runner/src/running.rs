//! The command's tools that run.

use junto_llm::ToolCall;

use crate::CliEvent;

/// How many may run at a time, and how long an id may be. More are not shown.
const CALLS: usize = 1024;
const ID: usize = 1024;

/// Sees to it that every tool that is shown to begin is shown to end, once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running {
    /// The ids of the calls, in the order in which they began.
    calls: Vec<String>,
}

impl Running {
    pub(crate) fn start(&mut self, call: ToolCall, events: &mut Vec<CliEvent>) {
        // Nobody could tell the ends of two calls with one id apart.
        if !self.has(&call.id) && self.calls.len() < CALLS && call.id.len() <= ID {
            self.calls.push(call.id.clone());
            events.push(CliEvent::ToolStart(call));
        }
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.calls.iter().any(|call| call == id)
    }

    /// Whether any runs.
    pub(crate) fn any(&self) -> bool {
        !self.calls.is_empty()
    }

    pub(crate) fn end(&mut self, id: &str, output: String, is_error: bool, events: &mut Vec<CliEvent>) {
        if let Some(at) = self.calls.iter().position(|call| call == id) {
            let call_id = self.calls.remove(at);
            events.push(CliEvent::ToolEnd { call_id, output, is_error });
        }
    }

    /// Ends what still runs. What it did is not known.
    pub(crate) fn end_all(&mut self, events: &mut Vec<CliEvent>) {
        for call_id in std::mem::take(&mut self.calls) {
            let output = "the agent ended before the tool did".to_owned();
            events.push(CliEvent::ToolEnd { call_id, output, is_error: true });
        }
    }
}

/// Tells the calls of a model from what comes of them, where the command does not say when it makes one:
/// the model is called in the beginning, and again when its tools have answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    /// Whether what the model says next is of a call that was told.
    told: bool,
}

impl Rounds {
    /// The model was called, or said something.
    pub(crate) fn model(&mut self, events: &mut Vec<CliEvent>) {
        if !std::mem::replace(&mut self.told, true) {
            events.push(CliEvent::Turn);
        }
    }

    /// A tool answered.
    pub(crate) fn tool_answered(&mut self, running: &Running) {
        self.told &= running.any();
    }
}
