//! `junto run` with each of its tools, on every wire.

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::stage::on_every_wire;

/// Each tool, what it is called with, and what its output has in it. They build on one another.
fn calls() -> Vec<(&'static str, Value, &'static str)> {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n*** Add File: b.txt\n+three\n*** End Patch\n";
    let notebook = json!({"cells": [{"cell_type": "code", "source": "1 + 1", "metadata": {}, "outputs": []}],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    vec![
        ("write_file", json!({"file_path": "a.txt", "content": "one\ntwo\n"}), "a.txt"),
        ("read_file", json!({"file_path": "a.txt"}), "2 | two"),
        ("edit_file", json!({"file_path": "a.txt", "old_string": "one", "new_string": "ONE"}), "ONE"),
        ("apply_patch", json!({"patch": patch}), "b.txt"),
        ("write_file", json!({"file_path": "n.ipynb", "content": notebook.to_string()}), "n.ipynb"),
        ("read_file", json!({"file_path": "n.ipynb"}), "1 + 1"),
        ("read_many_files", json!({"paths": ["*.txt"]}), "TWO"),
        ("list_dir", json!({"path": "."}), "b.txt"),
        ("glob", json!({"pattern": "*.txt"}), "a.txt"),
        ("grep", json!({"pattern": "thr.e"}), "three"),
        ("shell", json!({"command": "cat a.txt b.txt; exit 0"}), "three"),
        ("shell", json!({"command": "read line; echo heard $line", "background": true}), ""),
        ("update_plan", json!({"steps": [{"step": "all", "status": "completed"}]}), ""),
    ]
}

#[test]
fn each_tool_works() {
    let steps = || calls().into_iter().map(|(tool, args, _)| Step::call(tool, args));
    on_every_wire(
        || Play::of(steps().chain([Step::text("Done.")]).collect::<Vec<_>>()),
        |setup, stage| {
            let extra = ["apply_patch", "edit_file", "list_dir", "read_many_files"];
            let flags = extra.iter().flat_map(|tool| ["--tool", tool]);
            let args: Vec<&str> = ["run", "--json"].into_iter().chain(flags).chain(["Work."]).collect();
            let run = stage.machine.run(&args).ok();
            let ends: Vec<Value> = run
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap())
                .filter(|event| event["type"] == "tool_call_end")
                .collect();
            let calls = calls();
            assert_eq!(ends.len(), calls.len(), "{}: {run}", setup.provider);
            for (end, (tool, _, says)) in ends.iter().zip(calls) {
                assert_eq!((&end["name"], &end["is_error"]), (&json!(tool), &json!(false)), "{end}");
                assert!(end["output"].as_str().unwrap().contains(says), "{says}: {end}");
            }
        },
    );
}
