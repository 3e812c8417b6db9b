//! The cells of a session before it was resumed, and how their state comes back.

use std::collections::HashSet;
use std::path::PathBuf;

use junto_core::{Body, Event, Seq};
use serde_json::json;

use super::snapshot::Kept;
use super::{
    CodeRoom, EXECUTE_CODE, KERNEL_FRESH, KERNEL_LOST, REPLAY_CELL, RESET_KERNEL, RESTORE_VARIABLES, heard,
};

/// What a journal has in the place of a secret, or begins with.
const MASK: &str = "[redacted]";

/// What is brought back of the kernel's state when a session is resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// Nothing; the model is told, if cells were run before.
    Fresh {
        /// Whether there were any.
        had_cells: bool,
    },
    /// What comes of running the cells again, each judged anew. They do again what they did.
    Replay {
        /// They, in their order.
        cells: Vec<EarlierCell>,
    },
    /// The variables that were kept at the end of the last input.
    Snapshot {
        /// The file that has them.
        file: PathBuf,
        /// By which it is known whether they are those of the last cell.
        course: Course,
    },
}

/// Which cell was the last of those that made a session's state, as the session went on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// From where on it was which.
    changes: Vec<(Seq, Option<Seq>)>,
    /// Where the journal ends.
    end: Seq,
    /// The last one of those that are left.
    last: Option<Seq>,
}

impl Course {
    /// That of a session's own agent. What was rewound or is going to be is left out at its end, not before.
    pub fn of(events: &[Event], rewind: Option<u32>) -> Self {
        let mut changes: Vec<(Seq, Option<Seq>)> = Vec::new();
        let cells = walk(events, rewind, |at, last| {
            if changes.last().is_none_or(|(_, before)| *before != last) {
                changes.push((at, last));
            }
        });
        let end = events.last().map_or(Seq::default(), |event| event.seq);
        Self { changes, end, last: cells.last().map(|cell| cell.start) }
    }

    /// Whether cells were run whose state is to be there.
    pub fn had_cells(&self) -> bool {
        self.last.is_some()
    }

    /// Whether the state is what it was when the journal had come so far.
    fn is_as_at(&self, at: Seq) -> bool {
        let change = self.changes.iter().rev().find(|(since, _)| *since <= at);
        // What the journal does not have any more may have been a cell.
        at <= self.end && change.and_then(|(_, last)| *last) == self.last
    }
}

/// A cell that was run before a session was resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierCell {
    /// Its code, as the journal has it.
    pub code: String,
    /// Whether it did not come to its end: its time was up, it was interrupted, or the session ended in it.
    pub was_cut_short: bool,
}

impl EarlierCell {
    /// Whether the journal does not have all of it, because there was a secret in it.
    fn is_masked(&self) -> bool {
        self.code.contains(MASK)
    }
}

impl Default for Resumption {
    fn default() -> Self {
        Self::Fresh { had_cells: false }
    }
}

impl Resumption {
    /// Brings back what there is. Gives what the model has to know of it.
    pub(super) async fn bring_back(&self, room: &CodeRoom) -> Option<String> {
        match self {
            Self::Fresh { .. } => None,
            Self::Replay { cells } => replay(room, cells).await,
            Self::Snapshot { file, course } => {
                let had_cells = course.had_cells();
                let gone = |why: &str| {
                    room.begins_fresh(had_cells);
                    had_cells.then(|| format!("[{why}: those of earlier cells are gone]"))
                };
                let Some(kept) = Kept::read(file).await else { return gone("no variables were kept") };
                if !kept.after().is_some_and(|at| course.is_as_at(at)) {
                    return gone("the variables that were kept are not those after the last cell");
                }
                let names = kept.names();
                room.keep_variables(kept);
                let outcome = room.call(RESTORE_VARIABLES, json!({ "names": names })).await;
                let text = outcome.output.preview().into_owned();
                if outcome.is_error {
                    room.begins_fresh(had_cells);
                    return Some(format!("[variables of earlier cells are gone: {text}]"));
                }
                Some(text).filter(|text| !text.is_empty())
            }
        }
    }
}

/// How far running cells again is.
#[derive(Debug, Default)]
pub(super) struct Replayed {
    /// In which start of the kernel.
    start: u64,
    /// How many were run, or left out.
    done: usize,
    /// Those that were not run to their end, or not at all: the first is 0.
    left: Vec<usize>,
}

impl Replayed {
    /// The cell under way did not come to its end.
    pub(super) fn leave(&mut self) {
        self.left.push(self.done);
    }

    /// The kernel has ended, and nothing is left of what was run.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// Runs cells again. Interrupted, it goes on with the cell in which it was, as long as the kernel is the same.
async fn replay(room: &CodeRoom, cells: &[EarlierCell]) -> Option<String> {
    let start = room.running()?.generation();
    let of = cells.len();
    let from = {
        let mut replayed = room.replayed();
        if replayed.start != start {
            *replayed = Replayed { start, ..Replayed::default() };
        }
        replayed.done
    };
    for (done, cell) in cells.iter().enumerate().skip(from) {
        let stopped = |why: &str| {
            Some(format!(
                "[of {of} earlier cells {done} were run again; then it stopped: {why}. What the others had made is gone]"
            ))
        };
        room.replayed().done = done;
        // It would take its whole time again.
        if cell.was_cut_short {
            room.replayed().leave();
            continue;
        }
        if cell.is_masked() {
            return stopped(
                "the next one has a secret in it, which is not kept; run it yourself with the secret",
            );
        }
        let outcome = room.call(REPLAY_CELL, json!({ "code": cell.code })).await;
        if room.replayed().start != start {
            room.begins_fresh(true);
            return Some(format!(
                "[of {of} earlier cells {done} were run again; then the kernel ended: everything they had made is gone]"
            ));
        }
        if outcome.is_error {
            return stopped(&outcome.output.preview());
        }
    }
    let mut left = std::mem::take(&mut room.replayed().left);
    left.dedup();
    let left: Vec<String> = left.into_iter().map(|cell| (cell + 1).to_string()).collect();
    (!left.is_empty()).then(|| {
        let left = left.join(", ");
        format!(
            "[{of} earlier cells were run again, but for those that took too long or were interrupted, before or \
             now: number {left}. What they had made is gone, or there in part]"
        )
    })
}

/// The cells of a session's own agent that made the state its kernel had: those that were allowed and started since it
/// was fresh last, without what was rewound or is going to be. In their order.
pub fn earlier_cells(events: &[Event], rewind: Option<u32>) -> Vec<EarlierCell> {
    walk(events, rewind, |_, _| {}).into_iter().map(|run| run.cell).collect()
}

/// A cell, and where it was run.
struct Run {
    turn: u32,
    start: Seq,
    call: String,
    cell: EarlierCell,
}

/// Those cells. Which one is the last is told after each event.
fn walk(events: &[Event], rewind: Option<u32>, mut tell: impl FnMut(Seq, Option<Seq>)) -> Vec<Run> {
    let Some(own) = events.first().map(|event| &event.agent) else { return Vec::new() };
    let mut cells: Vec<Run> = Vec::new();
    // The cells in which it was noticed that the kernel was another.
    let mut lost: HashSet<&str> = HashSet::new();
    for event in events.iter().filter(|event| event.agent == *own) {
        match &event.body {
            Body::ToolCallStart { call, .. } if call.name == EXECUTE_CODE => {
                let code = call.arguments.get("code").and_then(|code| code.as_str());
                // Until its end is seen.
                let cell = |code: &str| EarlierCell { code: code.to_owned(), was_cut_short: true };
                let (turn, start) = (event.turn, event.seq);
                cells.extend(code.map(|code| Run { turn, start, call: call.id.clone(), cell: cell(code) }));
            }
            Body::ToolCallEnd { name, is_error: false, .. } if name == RESET_KERNEL => cells.clear(),
            Body::Warning { code, .. } if code == KERNEL_LOST => {
                lost.extend(event.corr.as_ref().map(|call| call.0.as_str()));
            }
            Body::Warning { code, .. } if code == KERNEL_FRESH => {
                let call = event.corr.as_ref().map(|call| call.0.as_str());
                let at = cells.iter().rposition(|run| Some(run.call.as_str()) == call);
                cells.drain(..at.unwrap_or_default());
            }
            Body::ToolCallEnd { name, call_id, is_error, output, .. } if name == EXECUTE_CODE => {
                let at = cells.iter().rposition(|run| run.call == *call_id);
                if let Some(run) = at.and_then(|at| cells.get_mut(at)) {
                    run.cell.was_cut_short = *is_error && heard::was_cut_short(&output.preview());
                }
                if lost.contains(call_id.as_str()) {
                    // Of those before it nothing is left; what came beside it waited for its turn. Where the kernel
                    // was found dead, the cell itself was run by a new one.
                    let gone = at.map_or(cells.len(), |at| at + usize::from(*is_error));
                    cells.drain(..gone);
                }
            }
            Body::Rewound { to_turn } => cells.retain(|run| run.turn <= *to_turn),
            _ => {}
        }
        tell(event.seq, cells.last().map(|run| run.start));
    }
    cells.retain(|run| rewind.is_none_or(|to_turn| run.turn <= to_turn));
    cells
}

#[cfg(test)]
mod tests {
    use junto_core::{AgentId, Event};
    use serde_json::{Value, json};

    use super::*;

    /// An event of an agent in one of its turns.
    fn event(agent: &str, turn: u32, body: Value) -> Event {
        let mut event = json!({
            "v": 1, "seq": 1, "at": "2026-01-31T00:00:00Z", "session": "s", "agent": agent, "turn": turn
        });
        event.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        serde_json::from_value(event).unwrap()
    }

    /// The start of a call whose id is its code.
    fn start(turn: u32, name: &str, code: &str) -> Event {
        let call = junto_core::ToolCall::function(code, name, json!({ "code": code }).to_string());
        event("own", turn, json!({"type": "tool_call_start", "call": call}))
    }

    fn end(turn: u32, name: &str, id: &str, is_error: bool) -> Event {
        let body =
            json!({"type": "tool_call_end", "call_id": id, "name": name, "output": "", "is_error": is_error});
        event("own", turn, body)
    }

    /// The end of a cell in which the kernel was lost.
    fn lost(id: &str, is_error: bool) -> [Event; 2] {
        let warning = json!({"type": "warning", "code": KERNEL_LOST, "message": "", "corr": id});
        [event("own", 1, warning), end(1, EXECUTE_CODE, id, is_error)]
    }

    fn check(events: &[Event], rewind: Option<u32>, expected: &[&str]) {
        let first = event("own", 0, json!({"type": "progress", "text": ""}));
        let all: Vec<Event> = std::iter::once(first).chain(events.iter().cloned()).collect();
        let cells = earlier_cells(&all, rewind);
        let codes: Vec<&str> = cells.iter().map(|cell| cell.code.as_str()).collect();
        assert_eq!(codes, expected, "{events:?}");
    }

    #[test]
    fn the_cells_that_made_the_state_are_known() {
        let run = |turn, code| start(turn, EXECUTE_CODE, code);
        check(&[], None, &[]);
        check(&[run(1, "a"), start(1, "shell", "no"), run(2, "b")], None, &["a", "b"]);
        check(&[run(1, "a"), end(1, RESET_KERNEL, "r", false), run(2, "b")], None, &["b"]);
        check(&[run(1, "a"), end(1, RESET_KERNEL, "r", true)], None, &["a"]);
        // The cell in which the kernel died is not run again; one that found it dead is.
        let [warned, ended] = lost("b", true);
        check(&[run(1, "a"), run(1, "b"), warned, ended, run(1, "c")], None, &["c"]);
        let [warned, ended] = lost("b", false);
        check(&[run(1, "a"), run(1, "b"), warned.clone(), ended.clone()], None, &["b"]);
        // Of two that were started together, the second is run by the new kernel.
        check(&[run(1, "b"), run(1, "c"), warned, ended], None, &["b", "c"]);
        let [warned, ended] = lost("b", true);
        check(&[run(1, "b"), run(1, "c"), warned, ended], None, &["c"]);
        // What a cell prints is no such news.
        let said = super::super::STATE_LOST;
        let printed = json!({"type": "tool_call_end", "call_id": "b", "name": EXECUTE_CODE, "output": said, "is_error": false});
        check(&[run(1, "a"), run(1, "b"), event("own", 1, printed)], None, &["a", "b"]);
        let rewound = event("own", 2, json!({"type": "rewound", "to_turn": 1}));
        check(&[run(1, "a"), run(2, "b"), rewound, run(3, "c")], None, &["a", "c"]);
        check(&[run(1, "a"), run(2, "b")], Some(1), &["a"]);
        let mut child = run(1, "child");
        child.agent = AgentId("child".to_owned());
        check(&[run(1, "a"), child], None, &["a"]);
        // The first cell after a session began afresh.
        let fresh =
            event("own", 1, json!({"type": "warning", "code": KERNEL_FRESH, "message": "", "corr": "b"}));
        check(&[run(1, "a"), run(2, "b"), fresh.clone(), run(2, "c")], None, &["b", "c"]);
        let failed = end(2, EXECUTE_CODE, "b", true);
        check(&[run(1, "a"), run(2, "b"), fresh, failed], None, &["b"]);
    }

    #[test]
    fn a_state_is_known_to_be_another_than_it_was() {
        let numbered = |events: &[Event]| -> Vec<Event> {
            let first = event("own", 0, json!({"type": "progress", "text": ""}));
            let all = std::iter::once(first).chain(events.iter().cloned());
            all.zip(1..).map(|(event, seq)| Event { seq: Seq(seq), ..event }).collect()
        };
        // At which events of a journal the state was what it is at its end.
        let check = |events: &[Event], rewind: Option<u32>, expected: &[u64]| {
            let events = numbered(events);
            let course = Course::of(&events, rewind);
            let same: Vec<u64> = (1..=9).filter(|at| course.is_as_at(Seq(*at))).collect();
            assert_eq!(same, expected, "{events:?}");
        };
        // The ids of the calls are not told apart: some providers give the same ones again.
        let cell = |turn| [start(turn, EXECUTE_CODE, "x"), end(turn, EXECUTE_CODE, "x", false)];
        let [[a, b], [c, d]] = [cell(1), cell(2)];
        let run = [a, b, c, d];
        check(&run[..2], None, &[2, 3]);
        check(&run, None, &[4, 5]);
        check(&run, Some(1), &[2, 3]);
        let rewound = event("own", 2, json!({"type": "rewound", "to_turn": 1}));
        check(&[&run[..], &[rewound]].concat(), None, &[2, 3, 6]);
        let reset = end(2, RESET_KERNEL, "r", false);
        assert!(!Course::of(&numbered(&[&run[..2], &[reset]].concat()), None).had_cells());
        assert!(Course::of(&numbered(&run), None).had_cells());
    }

    #[test]
    fn those_that_did_not_come_to_their_end_are_known() {
        let check = |output: Option<&str>, is_error: bool, expected: bool| {
            let mut events = vec![start(1, EXECUTE_CODE, "a")];
            let body = json!({
                "type": "tool_call_end", "call_id": "a", "name": EXECUTE_CODE, "output": output, "is_error": is_error
            });
            events.extend(output.map(|_| event("own", 1, body)));
            let cells = earlier_cells(&events, None);
            assert_eq!(
                cells.iter().map(|cell| cell.was_cut_short).collect::<Vec<_>>(),
                [expected],
                "{output:?}"
            );
        };
        check(Some("1\n"), false, false);
        check(Some("Traceback\nNameError: x\n"), true, false);
        check(
            Some("on its way\n[the cell took too long and was ended; what it said until then is above]\n"),
            true,
            true,
        );
        check(Some("[interrupted; what it said until then is above]\n"), true, true);
        let strays = "[interrupted; what it said until then is above]\n[said since the cell before by what it left running:]\nx\n";
        check(Some(strays), true, true);
        // As a session says it that stopped waiting, or was cut off.
        check(Some("interrupted before it was done"), true, true);
        check(Some("so far\n[interrupted before it was done]"), true, true);
        check(Some("interrupted, may have run: the session stopped before the result was known"), true, true);
        check(None, true, true);
        // What a cell prints is no such news.
        check(Some("[interrupted; what it said until then is above]\n"), false, false);
        check(Some("[interrupted; what it said until then is above]\nNameError: x\n"), true, false);
        check(Some("Traceback\nValueError: a\ninterrupted by hand\n"), true, false);
    }

    #[test]
    fn a_cell_with_a_secret_is_known() {
        let is_masked = |code: &str| EarlierCell { code: code.to_owned(), was_cut_short: false }.is_masked();
        assert!(is_masked("key = 'ghp_[redacted]**********'"));
        assert!(!is_masked("key = '**********'"));
    }
}
