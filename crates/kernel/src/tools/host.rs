//! The session's tools as code in a cell sees them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use junto_core::{
    AskId, Body, Event, EventLog, Fut, Item, Listed, Seq, ToolCall, ToolHost, ToolOutcome, ToolSpec, Via,
};

use super::NOT_FROM_CODE;
use crate::{Clock, Hold, SHELL_LEAVE};

/// What stands in the id of a call from code between that of its cell and its own.
const OF_CELL: char = '/';

/// Whether a call, by its id, was made by the code of a cell.
pub fn is_call_of(call: &str, cell: &str) -> bool {
    call.strip_prefix(cell).is_some_and(|rest| rest.starts_with(OF_CELL))
}

/// The session's tools as code in a cell sees them. While somebody is asked about a call, the cell's time stands still.
pub(super) struct CellHost {
    pub(super) tools: Weak<dyn ToolHost>,
    pub(super) log: EventLog,
    pub(super) clock: Clock,
    pub(super) cells: Cells,
}

/// The cells of the model's that run. What the kernel does beside them, a thread that a cell has left for instance, is
/// not the model's doing.
#[derive(Clone, Default)]
pub(super) struct Cells(Arc<Mutex<Under>>);

/// What is under way.
#[derive(Default)]
struct Under {
    /// How many cells run, or wait for their turn.
    cells: usize,
    /// The call of the one that has its turn.
    now: Option<String>,
}

impl Cells {
    /// One runs, or waits for its turn, until what is given is dropped.
    pub(super) fn begin(&self) -> Running {
        self.under().cells += 1;
        Running { cells: self.clone(), call: None }
    }

    fn any(&self) -> bool {
        self.under().cells > 0
    }

    fn now(&self) -> Option<String> {
        self.under().now.clone()
    }

    fn under(&self) -> MutexGuard<'_, Under> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A cell that runs, or waits for its turn.
pub(super) struct Running {
    cells: Cells,
    call: Option<String>,
}

impl Running {
    /// The cell of this call has its turn.
    pub(super) fn turn(&mut self, call: &str) {
        self.call = Some(call.to_owned());
        self.cells.under().now = Some(call.to_owned());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut under = self.cells.under();
        under.cells = under.cells.saturating_sub(1);
        // The next one may have its turn already.
        if self.call.is_some() && under.now == self.call {
            under.now = None;
        }
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

    /// The id of a call that a cell makes begins with the cell's: by that it is known whose it is.
    fn call(&self, mut call: ToolCall, via: Via) -> Fut<'_, ToolOutcome> {
        Box::pin(async move {
            if NOT_FROM_CODE.contains(&call.name.as_str()) {
                return ToolOutcome::error(format!("`{}` cannot be called from code", call.name));
            }
            let Some(tools) = self.tools.upgrade().filter(|_| self.cells.any()) else {
                return ToolOutcome::error("tools can be called only while a cell runs");
            };
            if let Some(cell) = self.cells.now() {
                call.id = format!("{cell}{OF_CELL}{}", call.id);
            }
            let mut events = self.log.subscribe(self.log.last().next());
            let mut pause = Pause { clock: &self.clock, call: call.id.clone(), start: None, asked: None };
            let work = tools.call(call, via);
            tokio::pin!(work);
            let mut listens = true;
            loop {
                tokio::select! {
                    biased;
                    outcome = &mut work => return outcome,
                    item = events.next(), if listens => match item {
                        Ok(Item::Event(event)) => pause.hear(&event),
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

/// Holds the cell's time while somebody is asked: whether a call may be made, or what the call itself asks.
struct Pause<'a> {
    clock: &'a Clock,
    call: String,
    /// Where the call began, once it has.
    start: Option<Seq>,
    asked: Option<(AskId, Hold)>,
}

impl Pause<'_> {
    fn hear(&mut self, event: &Event) {
        match &event.body {
            Body::ToolCallStart { call, .. } if call.id == self.call => self.start = Some(event.seq),
            Body::Ask { request } if request.call.id == self.call => {
                self.asked = Some((request.ask.clone(), self.clock.hold()));
            }
            Body::Question { of, ask, .. } if self.start == Some(*of) => {
                self.asked = Some((ask.clone(), self.clock.hold()));
            }
            Body::Answered { ask, .. } | Body::Replied { ask, .. }
                if self.asked.as_ref().is_some_and(|(asked, _)| asked == ask) =>
            {
                self.asked = None;
            }
            _ => {}
        }
    }
}
