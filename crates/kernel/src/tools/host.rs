//! The session's tools as code in a cell sees them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use junto_core::{Body, EventLog, Fut, Item, Listed, ToolCall, ToolHost, ToolOutcome, ToolSpec, Via};

use super::NOT_FROM_CODE;
use crate::{Clock, Hold, SHELL_LEAVE};

/// The session's tools as code in a cell sees them. While somebody is asked about a call, the cell's time stands still.
pub(super) struct CellHost {
    pub(super) tools: Weak<dyn ToolHost>,
    pub(super) log: EventLog,
    pub(super) clock: Clock,
    pub(super) cells: Cells,
}

/// How many cells of the model's run. What the kernel does beside them, a thread that a cell has left for instance, is not
/// the model's doing.
#[derive(Clone, Default)]
pub(super) struct Cells(Arc<AtomicUsize>);

impl Cells {
    /// One runs until what is given is dropped.
    pub(super) fn begin(&self) -> Running {
        self.0.fetch_add(1, Ordering::AcqRel);
        Running(self.clone())
    }

    fn any(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

/// A cell that runs.
pub(super) struct Running(Cells);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
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
            let Some(tools) = self.tools.upgrade().filter(|_| self.cells.any()) else {
                return ToolOutcome::error("tools can be called only while a cell runs");
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
