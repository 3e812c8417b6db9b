//! The session's tools as code in a cell sees them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use junto_core::{Body, EventLog, Fut, Item, Listed, ToolCall, ToolHost, ToolOutcome, ToolSpec, Via};

use super::{EXECUTE_CODE, REPLAY_CELL, RESET_KERNEL, RESTORE_VARIABLES};
use crate::{Clock, Hold, SHELL_LEAVE};

/// Tools that code does not call: a cell would wait for itself.
const NOT_FROM_CODE: &[&str] = &[EXECUTE_CODE, RESET_KERNEL, REPLAY_CELL, RESTORE_VARIABLES];

/// The session's tools as code in a cell sees them. While somebody is asked about a call, the cell's time stands still.
pub(super) struct CellHost {
    pub(super) tools: Weak<dyn ToolHost>,
    pub(super) log: EventLog,
    pub(super) clock: Clock,
    /// Whether the session rests: what the kernel does then is not the model's doing.
    pub(super) resting: Arc<AtomicBool>,
}

impl ToolHost for CellHost {
    fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = self.tools.upgrade().map(|tools| tools.specs()).unwrap_or_default();
        specs.retain(|spec| is_for_code(&spec.name));
        specs
    }

    fn catalog(&self) -> Vec<Listed> {
        let mut catalog = self.tools.upgrade().map(|tools| tools.catalog()).unwrap_or_default();
        catalog.retain(|tool| is_for_code(&tool.spec.name));
        catalog
    }

    fn call(&self, call: ToolCall, via: Via) -> Fut<'_, ToolOutcome> {
        Box::pin(async move {
            if NOT_FROM_CODE.contains(&call.name.as_str()) {
                return ToolOutcome::error(format!("`{}` cannot be called from code", call.name));
            }
            let Some(tools) = self.tools.upgrade().filter(|_| !self.resting.load(Ordering::Acquire)) else {
                return ToolOutcome::error("the session takes no calls now");
            };
            let mut events = self.log.subscribe(self.log.last().next());
            let mut pause = Pause { clock: &self.clock, call: call.id.clone(), asked: None };
            let work = tools.call(call, via);
            tokio::pin!(work);
            let mut listens = true;
            loop {
                tokio::select! {
                    biased;
                    outcome = &mut work => return outcome,
                    item = events.next(), if listens => match item {
                        Ok(Item::Event(event)) => pause.hear(&event.body),
                        Ok(Item::Delta(_)) => {}
                        // Then time goes on, and the call is answered all the same.
                        Err(_) => listens = false,
                    },
                }
            }
        })
    }
}

/// Whether code is told of a tool. What asks for leave is called by what runs beside it.
fn is_for_code(name: &str) -> bool {
    !NOT_FROM_CODE.contains(&name) && name != SHELL_LEAVE
}

/// Holds the cell's time while a call is asked about.
struct Pause<'a> {
    clock: &'a Clock,
    call: String,
    asked: Option<(junto_core::AskId, Hold)>,
}

impl Pause<'_> {
    fn hear(&mut self, body: &Body) {
        match body {
            Body::Ask { request } if request.call.id == self.call => {
                self.asked = Some((request.ask.clone(), self.clock.hold()));
            }
            Body::Answered { ask, .. } if self.asked.as_ref().is_some_and(|(asked, _)| asked == ask) => {
                self.asked = None;
            }
            _ => {}
        }
    }
}
