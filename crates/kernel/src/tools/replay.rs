//! The tools behind `execute_code` that bring back what was there before a session was resumed. What they run is judged
//! like any other code.

use std::sync::Arc;

use junto_core::{Action, Fut, Permit, Tool, ToolCall, ToolCx, ToolError, ToolOutcome, ToolSpec};
use serde_json::json;

use super::arguments::{actions, code};
use super::{CodeRoom, REPLAY_CELL, RESTORE_VARIABLES, snapshot};
use crate::{Cell, CellEnd, Piece};

/// Runs a cell again that was run before.
pub(super) struct ReplayCell {
    spec: ToolSpec,
    room: Arc<CodeRoom>,
}

impl ReplayCell {
    pub(super) fn new(room: Arc<CodeRoom>) -> Self {
        let schema =
            json!({"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]});
        let spec = ToolSpec::foreign(REPLAY_CELL, "Run a cell of before again.", schema);
        Self { spec, room }
    }
}

impl Tool for ReplayCell {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, _: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        actions(call)
    }

    /// A cell that fails, as it may have done before, or whose time is up, is no error; one that is not run is.
    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            let (Ok(code), Some(kernel)) = (code(permit.call()), self.room.running()) else {
                return ToolOutcome::error("there is no kernel");
            };
            let (within, clock, cancel) =
                (self.room.setup.within, self.room.clock.clone(), cx.cancel.clone());
            let cell = Cell { within, clock, cancel, ..Cell::new(code) };
            let mut last = LastError::default();
            let _running = self.room.cells.begin();
            match kernel.run(cell, &mut last).await {
                Ok(ran) if ran.state_lost => {
                    self.room.replayed().forget();
                    ToolOutcome::error("the kernel has ended, and with it all that was run before")
                }
                Ok(ran) => match ran.end {
                    CellEnd::Done => ToolOutcome::ok("done"),
                    CellEnd::Failed | CellEnd::OutOfMemory => {
                        ToolOutcome::ok(last.0.unwrap_or_else(|| "failed".to_owned()))
                    }
                    CellEnd::TimedOut { .. } => {
                        self.room.replayed().leave();
                        ToolOutcome::ok("it took too long and was ended")
                    }
                    _ => ToolOutcome::error("it was ended before it was done"),
                },
                Err(error) => ToolOutcome::error(error.to_string()),
            }
        })
    }
}

/// What a cell raised; the rest of what it says was seen before.
#[derive(Default)]
struct LastError(Option<String>);

impl crate::Output for LastError {
    fn piece(&mut self, piece: Piece) -> Fut<'_, ()> {
        if let Piece::Error { name, value, .. } = piece {
            self.0 = Some(format!("{name}: {value}"));
        }
        Box::pin(std::future::ready(()))
    }
}

/// Brings back the variables that were kept.
pub(super) struct RestoreVariables {
    spec: ToolSpec,
    room: Arc<CodeRoom>,
}

impl RestoreVariables {
    pub(super) fn new(room: Arc<CodeRoom>) -> Self {
        let schema = json!({"type": "object", "properties": {"names": {"type": "array", "items": {"type": "string"}}}});
        let spec = ToolSpec::foreign(RESTORE_VARIABLES, "Bring back variables that were kept.", schema);
        Self { spec, room }
    }
}

impl Tool for RestoreVariables {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// What was pickled may run anything when it is brought back, so it is code; and what was made in a sandbox stays
    /// in one.
    fn actions<'a>(&'a self, call: &'a ToolCall, _: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        let names = call.arguments.get("names").map(ToString::to_string).unwrap_or_default();
        let code = format!(
            "# Runs the definitions of an earlier kernel, and loads its pickled values: whatever they do.\n\
             junto_snapshot.load(...)  # {names}"
        );
        Box::pin(async move { Ok(vec![Action::Code { code }]) })
    }

    fn run<'a>(&'a self, _: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            let (Some(kernel), Some(kept)) = (self.room.running(), self.room.kept_variables()) else {
                return ToolOutcome::error("nothing was kept");
            };
            if kept.was_confined() && !self.room.is_confined() {
                return ToolOutcome::error(
                    "they were kept by a kernel in a sandbox, and this one is in none",
                );
            }
            match snapshot::load(kernel, kept, &cx.cancel).await {
                Ok(told) => ToolOutcome::ok(told),
                Err(why) => ToolOutcome::error(why),
            }
        })
    }
}
