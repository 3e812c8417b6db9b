//! `reset_kernel`: a fresh start.

use std::sync::Arc;

use junto_core::{Action, Fut, Permit, Tool, ToolCall, ToolCx, ToolError, ToolOutcome, ToolSpec};
use serde_json::json;

use super::{CodeRoom, RESET_KERNEL};

/// Starts the session's kernel anew. It changes nothing but what cells have made in the kernel, so there is nothing to
/// be judged.
pub(super) struct ResetKernel {
    spec: ToolSpec,
    room: Arc<CodeRoom>,
}

impl ResetKernel {
    pub(super) fn new(room: Arc<CodeRoom>) -> Self {
        let spec = ToolSpec::foreign(
            RESET_KERNEL,
            "Start the Python kernel anew: all variables, imports and definitions of earlier cells are gone. A cell \
             that runs is ended.",
            json!({"type": "object", "properties": {}}),
        );
        Self { spec, room }
    }
}

impl Tool for ResetKernel {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, _: &'a ToolCall, _: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn run<'a>(&'a self, _: Permit, _: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            // What was there before is not wanted any more.
            self.room.forget_past();
            let Some(kernel) = self.room.running() else {
                return ToolOutcome::ok("the kernel is fresh: no cell was run in it yet");
            };
            match kernel.reset().await {
                Ok(()) => ToolOutcome::ok("the kernel is fresh"),
                Err(error) => ToolOutcome::error(error.to_string()),
            }
        })
    }
}
