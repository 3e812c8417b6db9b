//! One round of tools: all calls of one answer.

use futures_util::future::join_all;
use junto_core::{JournalError, OnReject, Seq, Via};
use junto_llm::{ToolCall, ToolResult};
use tokio_util::sync::CancellationToken;

use crate::toolbox::{CUT_OFF, Prepared, Toolbox};

/// What came of a round.
pub(crate) struct Round {
    /// One for each call, in the order of the calls.
    pub(crate) results: Vec<ToolResult>,
    /// Whether somebody refused one of them, or something to the code that one of them ran, in a way that ends the
    /// turn.
    pub(crate) ends_turn: bool,
}

/// The calls of one answer. Of a session that was brought back some may have their results already.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Calls {
    calls: Vec<Made>,
    /// Why somebody refused some of them, or what their code wanted, as far as that was said.
    refused: Vec<Refusal>,
}

/// What somebody said who refused a call.
pub(crate) type Refusal = Option<String>;

/// A call, and how far it is.
#[derive(Debug, PartialEq)]
struct Made {
    call: ToolCall,
    /// Its start in the log, if it has one.
    start: Option<Seq>,
    result: Option<ToolResult>,
}

impl Calls {
    /// Calls that were just made.
    pub(crate) fn new(calls: Vec<ToolCall>) -> Self {
        let made = |call| Made { call, start: None, result: None };
        Self { calls: calls.into_iter().map(made).collect(), refused: Vec::new() }
    }

    /// The first call of this id that has no result. Ids are unique, unless a model is careless.
    fn open(&mut self, id: &str) -> Option<&mut Made> {
        self.calls.iter_mut().find(|made| made.result.is_none() && made.call.id == id)
    }

    /// A call has started.
    pub(crate) fn started(&mut self, id: &str, start: Seq) {
        if let Some(made) = self.open(id) {
            made.start = Some(start);
        }
    }

    /// A call has ended.
    pub(crate) fn ended(&mut self, result: ToolResult) {
        if let Some(made) = self.open(&result.call_id) {
            made.result = Some(result);
        }
    }

    /// Somebody refused one of them, or something to the code that one of them ran.
    pub(crate) fn refused(&mut self, why: Refusal) {
        self.refused.push(why);
    }

    /// Whether one of the refusals ends the turn.
    fn ends_turn(&self, on_reject: OnReject) -> bool {
        self.refused.iter().any(|why| on_reject.ends(why.as_deref()))
    }

    /// Those that have no result, each with its start if it has one.
    pub(crate) fn left(&self) -> impl Iterator<Item = (&ToolCall, Option<Seq>)> {
        self.calls.iter().filter(|made| made.result.is_none()).map(|made| (&made.call, made.start))
    }

    /// All results. A call without one was cut off.
    pub(crate) fn into_results(self) -> Vec<ToolResult> {
        let result = |made: Made| made.result.unwrap_or_else(|| ToolResult::error(made.call.id, CUT_OFF));
        self.calls.into_iter().map(result).collect()
    }
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

/// Runs the calls of one answer that have no result. `step` interrupts them.
pub(crate) async fn round(
    toolbox: &Toolbox,
    mut calls: Calls,
    order: Order,
    on_reject: OnReject,
    step: &CancellationToken,
) -> Result<Round, JournalError> {
    // Where a refusal ends the turn, it also withdraws the other questions; what runs may finish.
    let asking = step.child_token();
    if calls.ends_turn(on_reject) {
        asking.cancel();
    }
    toolbox.refusals().begin_round(on_reject, &asking);
    let run = |prepared: Prepared| {
        let turn = toolbox.queue(&prepared);
        let asking = &asking;
        async move {
            let ran = toolbox.execute(prepared, turn, Via::Loop, asking, step).await?;
            if ran.refused.as_ref().is_some_and(|why| on_reject.ends(why.as_deref())) {
                asking.cancel();
            }
            Ok(ran)
        }
    };
    let left: Vec<ToolCall> = calls.left().map(|(call, _)| call.clone()).collect();
    let groups: Vec<Vec<ToolCall>> = match order {
        Order::SideBySide => vec![left],
        Order::OneByOne => left.into_iter().map(|call| vec![call]).collect(),
    };
    let mut ran = Vec::new();
    for group in groups {
        let prepared = join_all(group.into_iter().map(|call| toolbox.prepare(call, step))).await;
        ran.extend(join_all(prepared.into_iter().map(run)).await);
    }
    toolbox.refusals().end_round().into_iter().for_each(|why| calls.refused(why));
    // All of them have ended before the first failure of the journal is handed on.
    for ran in ran.into_iter().collect::<Result<Vec<_>, JournalError>>()? {
        if let Some(why) = ran.refused {
            calls.refused(why);
        }
        calls.ended(ran.result);
    }
    Ok(Round { ends_turn: calls.ends_turn(on_reject), results: calls.into_results() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(ids: &[&str]) -> Calls {
        Calls::new(ids.iter().map(|id| ToolCall::function(*id, "f", "{}")).collect())
    }

    /// Results are told apart by their ids and stand in the order of the calls, in whichever they came.
    #[test]
    fn results_stand_in_the_order_of_the_calls() {
        let check = |ids: &[&str], ended: &[(&str, &str)], expected: &[&str]| {
            let mut calls = made(ids);
            for (id, text) in ended {
                calls.ended(ToolResult::text(*id, *text));
            }
            let results: Vec<String> = calls.into_results().iter().map(|r| r.output.to_text()).collect();
            assert_eq!(results, expected, "{ids:?} {ended:?}");
        };
        check(&["a", "b"], &[("b", "two"), ("a", "one")], &["one", "two"]);
        check(&["a", "a"], &[("a", "one"), ("a", "two")], &["one", "two"]);
        check(&["a", "b"], &[("b", "two"), ("x", "nobody's")], &[CUT_OFF, "two"]);
        check(&["a"], &[("a", "one"), ("a", "again")], &["one"]);
    }

    #[test]
    fn what_is_left_has_its_start() {
        let mut calls = made(&["a", "b", "c"]);
        calls.started("a", Seq(3));
        calls.started("c", Seq(4));
        calls.ended(ToolResult::text("c", "three"));
        let left: Vec<_> = calls.left().map(|(call, start)| (call.id.as_str(), start)).collect();
        assert_eq!(left, [("a", Some(Seq(3))), ("b", None)]);
    }
}
