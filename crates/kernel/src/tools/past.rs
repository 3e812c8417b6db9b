//! The cells of a session before it was resumed, and how their state comes back.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::PoisonError;

use junto_core::{Body, Event};
use serde_json::json;

use super::snapshot::Kept;
use super::{CodeRoom, EXECUTE_CODE, KERNEL_LOST, REPLAY_CELL, RESET_KERNEL, RESTORE_VARIABLES};

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
        /// Their code, in their order.
        cells: Vec<String>,
    },
    /// The variables that were kept at the end of the last input.
    Snapshot {
        /// The file that has them.
        file: PathBuf,
        /// Whether cells were run before.
        had_cells: bool,
    },
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
            Self::Snapshot { file, had_cells } => {
                let Some(kept) = Kept::read(file).await else {
                    let gone = "[no variables were kept: those of earlier cells are gone]";
                    return had_cells.then(|| gone.to_owned());
                };
                let names = kept.names();
                room.keep_variables(kept);
                let outcome = room.call(RESTORE_VARIABLES, json!({ "names": names })).await;
                let text = outcome.output.preview().into_owned();
                let gone = || format!("[variables of earlier cells are gone: {text}]");
                if outcome.is_error { Some(gone()) } else { Some(text).filter(|text| !text.is_empty()) }
            }
        }
    }
}

/// Runs cells again. Interrupted, it goes on with the cell in which it was, as long as the kernel is the same.
async fn replay(room: &CodeRoom, cells: &[String]) -> Option<String> {
    let start = room.running()?.generation();
    let done = || *room.replayed.lock().unwrap_or_else(PoisonError::into_inner);
    let from = Some(done()).filter(|(of, _)| *of == start).map_or(0, |(_, done)| done);
    for (done, code) in cells.iter().enumerate().skip(from) {
        *room.replayed.lock().unwrap_or_else(PoisonError::into_inner) = (start, done);
        let outcome = room.call(REPLAY_CELL, json!({ "code": code })).await;
        if outcome.is_error {
            let why = outcome.output.preview();
            return Some(format!(
                "[of {} earlier cells {done} were run again; then it stopped: {why}. What the others had made is gone]",
                cells.len()
            ));
        }
    }
    None
}

/// The cells of a session's own agent that made the state its kernel had: those that were allowed and started since it
/// was fresh last, without what was rewound or is going to be. The code of each, in their order.
pub fn earlier_cells(events: &[Event], rewind: Option<u32>) -> Vec<String> {
    let Some(own) = events.first().map(|event| &event.agent) else { return Vec::new() };
    let mut cells: Vec<(u32, String, String)> = Vec::new();
    // The cells in which it was noticed that the kernel was another.
    let mut lost: HashSet<&str> = HashSet::new();
    for event in events.iter().filter(|event| event.agent == *own) {
        match &event.body {
            Body::ToolCallStart { call, .. } if call.name == EXECUTE_CODE => {
                let code = call.arguments.get("code").and_then(|code| code.as_str());
                cells.extend(code.map(|code| (event.turn, call.id.clone(), code.to_owned())));
            }
            Body::ToolCallEnd { name, is_error: false, .. } if name == RESET_KERNEL => cells.clear(),
            Body::Warning { code, .. } if code == KERNEL_LOST => {
                lost.extend(event.corr.as_ref().map(|call| call.0.as_str()));
            }
            Body::ToolCallEnd { name, call_id, is_error, .. }
                if name == EXECUTE_CODE && lost.contains(call_id.as_str()) =>
            {
                // Of those before it nothing is left; what came beside it waited for its turn. Where the kernel was
                // found dead, the cell itself was run by a new one.
                let at = cells.iter().rposition(|(_, id, _)| id == call_id);
                let gone = at.map_or(cells.len(), |at| at + usize::from(*is_error));
                cells.drain(..gone);
            }
            Body::Rewound { to_turn } => cells.retain(|(turn, ..)| turn <= to_turn),
            _ => {}
        }
    }
    let stays = |turn: u32| rewind.is_none_or(|to_turn| turn <= to_turn);
    cells.into_iter().filter(|(turn, ..)| stays(*turn)).map(|(.., code)| code).collect()
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
        assert_eq!(earlier_cells(&all, rewind), expected, "{events:?}");
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
    }
}
