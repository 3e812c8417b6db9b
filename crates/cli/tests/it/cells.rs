//! Sessions whose model answers with cells, on a machine that has a Python for them.

use std::fs;

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::stage::{SETUPS, Stage};
use crate::t1_commands::Session;
use crate::t1_interrupt::start;
use crate::t1_run::of_type;
use crate::text;

/// An MCP server with tools of the names that it is given.
const NAMED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/named.py");
pub(crate) const FAULTY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/it/faulty.py");

pub(crate) fn peer(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: run the tests with `cargo xtask test`"))
}

/// A cell that the model sends.
pub(crate) fn cell(code: &str) -> Step {
    Step::call("execute_code", json!({"code": code}))
}

/// A model that sends these, one after another.
pub(crate) fn sends(cells: &[&str]) -> Play {
    let cells = cells.iter().map(|code| cell(code));
    Play::of(cells.chain([Step::text("Done.")]).collect::<Vec<_>>())
}

/// A machine with a Python for cells, and such a model.
pub(crate) fn stage(cells: &[&str]) -> Stage {
    staged(sends(cells), "")
}

/// The same with any play, and more in the section `code`.
pub(crate) fn staged(play: Play, code: &str) -> Stage {
    let stage = Stage::new(&SETUPS[0], play);
    let python = peer("JUNTO_PEER_KERNEL");
    // What is refused is told to the model, which sends the next cell.
    configure(
        &stage,
        &format!("[policy]\non_reject = \"tell_model\"\n\n[code]\npython = \"{python}\"\n{code}"),
    );
    stage
}

/// Adds to the user's file.
pub(crate) fn configure(stage: &Stage, more: &str) {
    let file = stage.machine.path(".config/junto/config.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}\n{more}")).unwrap();
}

/// Adds servers to the user's file of them.
pub(crate) fn serve(stage: &Stage, servers: &Value) {
    stage.machine.write(".config/junto/mcp.json", json!({"mcpServers": servers}).to_string());
}

/// A server with these tools, each of which says its name and the text it is given.
pub(crate) fn named(tools: &[&str]) -> Value {
    let args: Vec<&str> = [NAMED].iter().chain(tools).copied().collect();
    json!({"command": "python3", "args": args})
}

/// Python that waits until a server is up, for what cannot be shown before.
pub(crate) fn when_up(server: &str) -> String {
    format!(
        "import importlib, time\nfor _ in range(600):\n    try:\n        importlib.import_module('mcptools.{server}')\n        \
         break\n    except ImportError:\n        time.sleep(0.1)\n"
    )
}

/// What was seen of a session with cells.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) events: Vec<Value>,
    pub(crate) asks: Vec<Value>,
    pub(crate) err: String,
}

impl Seen {
    /// What the model was told of each cell, and whether it was told that the cell failed.
    pub(crate) fn cells(&self) -> Vec<(bool, String)> {
        let ends = of_type(&self.events, "tool_call_end").into_iter();
        let ends = ends.filter(|end| end["name"] == "execute_code");
        ends.map(|end| (end["is_error"] == true, end["output"].as_str().unwrap_or_default().to_owned()))
            .collect()
    }

    /// What the model was told of a cell that did not fail.
    #[track_caller]
    pub(crate) fn fine(&self, number: usize) -> String {
        let cells = self.cells();
        let Some((false, said)) = cells.get(number) else { panic!("cell {number} of {self:#?}") };
        said.clone()
    }

    /// The lines that leave was asked for from within cells.
    pub(crate) fn lines(&self) -> Vec<String> {
        let actions = self.asks.iter().flat_map(|ask| ask["request"]["actions"].as_array().unwrap());
        let lines = actions.filter(|action| action["action"] == "shell");
        lines.map(|action| action["line"].as_str().unwrap().to_owned()).collect()
    }
}

pub(crate) fn yes() -> Value {
    json!({"answer": "allow"})
}

pub(crate) fn no() -> Value {
    json!({"answer": "reject", "reason": "not this"})
}

/// Whether a question is about a cell as a whole, and not about something in it.
pub(crate) fn about_a_cell(ask: &Value) -> bool {
    ask["request"]["actions"][0]["action"] == "code"
}

/// Lets the session work, and answers every question but those about whole cells, which are all allowed.
#[track_caller]
pub(crate) fn asked(stage: &Stage, flags: &[&str], mut answer: impl FnMut(&Value) -> Value) -> Seen {
    let fixed = ["run", "--code", "--json", "--input", "json", "--policy", "ask"];
    let args = [&fixed[..], flags, &["Work."]].concat();
    let mut session = Session::of(start(&stage.machine, &args));
    let mut asks = Vec::new();
    loop {
        let event = session.next();
        match event["type"].as_str() {
            Some("ask") => {
                let decision = if about_a_cell(&event) { yes() } else { answer(&event) };
                let id = &event["request"]["ask"];
                session.tell(json!({"command": "answer", "ask": id, "decision": decision}));
                asks.push(event);
            }
            Some("input_end") => break,
            _ => {}
        }
    }
    drop(session.child.stdin.take());
    let (code, events, err) = session.end();
    assert_eq!(code, Some(0), "{err}");
    Seen { events, asks, err }
}

/// Lets the session work where nobody can be asked.
#[track_caller]
pub(crate) fn unasked(stage: &Stage, flags: &[&str]) -> Seen {
    let run = stage.machine.run(&[&["run", "--code", "--json"], flags, &["Work."]].concat());
    assert_eq!(run.code, Some(0), "{run:#?}");
    let events = crate::t1_run::events(&run.out).0;
    Seen { events, asks: Vec::new(), err: run.err }
}

/// A path as Python writes it.
pub(crate) fn quoted(path: &std::path::Path) -> String {
    format!("{:?}", text(path))
}
