//! One round of tools: all calls of one answer.

use futures_util::future::join_all;
use junto_core::{JournalError, OnReject, Via};
use junto_llm::{ToolCall, ToolResult};
use tokio_util::sync::CancellationToken;

use crate::toolbox::{Prepared, Toolbox};

/// What came of a round.
pub(crate) struct Round {
    /// One for each call, in the order of the calls.
    pub(crate) results: Vec<ToolResult>,
    /// Whether somebody refused one of them.
    pub(crate) refused: bool,
}

/// In which order the calls of one answer run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Those that write the same file one after another, in the order in which the model made them; all
    /// others side by side.
    SideBySide,
    /// Each after the one before it has ended.
    OneByOne,
}

/// Runs the calls of one answer. `step` interrupts them.
pub(crate) async fn round(
    toolbox: &Toolbox,
    calls: Vec<ToolCall>,
    order: Order,
    on_reject: OnReject,
    step: &CancellationToken,
) -> Result<Round, JournalError> {
    // Where a refusal ends the turn, it also withdraws the other questions; what runs may finish.
    let asking = step.child_token();
    let run = |prepared: Prepared| {
        let turn = toolbox.queue(&prepared);
        let asking = &asking;
        async move {
            let ran = toolbox.execute(prepared, turn, Via::Loop, asking, step).await?;
            if ran.refused && on_reject == OnReject::EndTurn {
                asking.cancel();
            }
            Ok(ran)
        }
    };
    let groups: Vec<Vec<ToolCall>> = match order {
        Order::SideBySide => vec![calls],
        Order::OneByOne => calls.into_iter().map(|call| vec![call]).collect(),
    };
    let mut ran = Vec::new();
    for calls in groups {
        let prepared = join_all(calls.into_iter().map(|call| toolbox.prepare(call, step))).await;
        ran.extend(join_all(prepared.into_iter().map(run)).await);
    }
    // All of them have ended before the first failure of the journal is handed on.
    let ran = ran.into_iter().collect::<Result<Vec<_>, JournalError>>()?;
    let refused = ran.iter().any(|ran| ran.refused);
    let results = ran.into_iter().map(|ran| ran.result).collect();
    Ok(Round { results, refused })
}
