//! `execute_code`: a cell.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use junto_core::{Action, Fut, Permit, Tool, ToolCall, ToolCx, ToolError, ToolOutcome, ToolSpec};
use serde_json::json;

use super::arguments::{actions, code};
use super::heard::Heard;
use super::{CodeRoom, EXECUTE_CODE};
use crate::{Cell, Kernel};

/// Runs a cell in the session's kernel. What it says is shown as it comes.
pub(super) struct ExecuteCode {
    spec: ToolSpec,
    room: Arc<CodeRoom>,
}

impl ExecuteCode {
    pub(super) fn new(room: Arc<CodeRoom>) -> Self {
        let spec = ToolSpec::foreign(
            EXECUTE_CODE,
            "Run Python in the session's IPython kernel. Variables, imports and definitions stay for the next \
             cell. Gives what the cell prints, the value of its last line, and the traceback if it fails. Your \
             other tools can be imported and called in it.",
            json!({
                "type": "object",
                "properties": {"code": {"type": "string", "description": "The cell"}},
                "required": ["code"]
            }),
        );
        Self { spec, room }
    }

    /// The kernel, with what was there before the session was resumed.
    async fn kernel(&self, cx: &ToolCx) -> Result<&Kernel, ToolOutcome> {
        let starting = async {
            let kernel = self.room.kernel().await?;
            self.room.bring_back().await;
            Ok::<_, crate::Error>(kernel)
        };
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(ToolOutcome::error("interrupted before the kernel was there")),
            started = starting => started.map_err(|error| ToolOutcome::error(error.to_string())),
        }
    }

    async fn execute(&self, call: &str, code: String, cx: &ToolCx) -> ToolOutcome {
        let kernel = match self.kernel(cx).await {
            Ok(kernel) => kernel,
            Err(outcome) => return outcome,
        };
        let room = &self.room;
        room.used.store(true, Ordering::Release);
        let images = room.images().await;
        let mut heard = Heard::new(cx, images, call, room.cells.begin());
        room.tell_fresh(call).await;
        if let Some(news) = room.take_news() {
            heard.line(&news).await;
        }
        let cell = Cell {
            within: room.setup.within,
            clock: room.clock.clone(),
            cancel: cx.cancel.clone(),
            ..Cell::new(code)
        };
        let ran = kernel.run(cell, &mut heard).await;
        room.tell_failure().await;
        match ran {
            Ok(ran) => {
                if ran.state_lost {
                    room.lost(call).await;
                }
                heard.finish(&ran).await
            }
            Err(error) => heard.fail(&error).await,
        }
    }
}

impl Tool for ExecuteCode {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, _: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        actions(call)
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            match code(permit.call()) {
                Ok(code) => self.execute(&permit.call().id, code, cx).await,
                Err(error) => ToolOutcome::error(error.to_string()),
            }
        })
    }
}
