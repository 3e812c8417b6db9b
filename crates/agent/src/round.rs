//! One round of tools: all calls of one answer, side by side.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use junto_core::{JournalError, OnReject, Via};
use junto_env::RealPath;
use junto_llm::{ResultOutput, ToolCall, ToolResult};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::toolbox::{Prepared, Ran, Toolbox};

/// What came of a round.
pub(crate) struct Round {
    /// One for each call, in the order of the calls.
    pub(crate) results: Vec<ToolResult>,
    /// Whether somebody refused one of them.
    pub(crate) refused: bool,
}

/// Runs the calls of one answer. Those that write the same file run one after another, in the order
/// in which the model made them; all others side by side. `step` interrupts them.
pub(crate) async fn round(
    toolbox: &Toolbox,
    calls: Vec<ToolCall>,
    on_reject: OnReject,
    step: &CancellationToken,
) -> Result<Round, JournalError> {
    let prepared = join_all(calls.into_iter().map(|call| toolbox.prepare(call, step))).await;
    // Where a refusal ends the turn, it also withdraws the other questions; what runs may finish.
    let asking = step.child_token();
    let mut turns = Turns::default();
    let runs = prepared.into_iter().map(|prepared| {
        let mine = turns.of(&prepared);
        let asking = &asking;
        async move {
            let mut held = Vec::new();
            for file in mine {
                held.push(file.lock_owned().await);
            }
            let (id, name) = (prepared.call().id.clone(), prepared.call().name.clone());
            let ran = toolbox.execute(prepared, Via::Loop, asking, step).await?;
            if ran.refused && on_reject == OnReject::EndTurn {
                asking.cancel();
            }
            Ok((id, name, ran))
        }
    });
    // All of them end before the first failure of the journal is handed on.
    let ran = join_all(runs).await.into_iter().collect::<Result<Vec<_>, JournalError>>()?;
    let refused = ran.iter().any(|(_, _, ran)| ran.refused);
    let results = ran.into_iter().map(|(id, name, ran)| result(toolbox, id, &name, ran)).collect();
    Ok(Round { results, refused })
}

/// What the model sees of an outcome.
fn result(toolbox: &Toolbox, call_id: String, name: &str, ran: Ran) -> ToolResult {
    let output = ResultOutput::Text(toolbox.cut(name, &ran.outcome.output));
    ToolResult { call_id, output, is_error: ran.outcome.is_error, images: ran.outcome.images }
}

/// Whose turn it is at each file. The locks are fair and are first asked for in the order of the
/// calls, which is therefore the order in which they are had.
#[derive(Default)]
struct Turns(HashMap<RealPath, Arc<Mutex<()>>>);

impl Turns {
    /// The files a call must have for itself, sorted, so that no two calls wait for each other.
    fn of(&mut self, prepared: &Prepared<'_>) -> Vec<Arc<Mutex<()>>> {
        let mut paths: Vec<&RealPath> = prepared.writes().collect();
        paths.sort();
        paths.dedup();
        paths.into_iter().map(|path| Arc::clone(self.0.entry(path.clone()).or_default())).collect()
    }
}
