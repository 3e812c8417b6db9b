//! What can be wrong with a Python, and with a cell: each is told with what to do, and nothing hangs.

use std::fs;

use crate::cells::{configure, sends, stage, unasked};
use crate::stage::{SETUPS, Stage};
use crate::{Machine, text};

/// A machine whose `[code]` has this text, and a model that sends one cell.
fn with_code(code: &str) -> Stage {
    let stage = Stage::new(&SETUPS[0], sends(&["print(6 * 7)"]));
    configure(&stage, &format!("[code]\n{code}"));
    stage
}

/// What is said of a Python that cannot be used, before the model is asked.
fn told(stage: &Stage) -> String {
    let run = stage.machine.run(&["run", "--code", "--policy", "full", "--json", "Work."]);
    assert!(run.code != Some(0) && !run.out.contains("\"output\":\"42"), "{run:#?}");
    assert_eq!(stage.requests().len(), 0, "nothing was spent before it was known");
    format!("{}\n{}", run.out, run.err)
}

/// A machine on whose path there is nothing but what is in a folder.
fn with_path(mut stage: Stage, folder: &str) -> Stage {
    let path = text(&stage.machine.path(folder));
    stage.machine = stage.machine.with("PATH", &path);
    stage
}

/// A `python3` that says this of itself, whatever it is asked.
fn fake(machine: &Machine, body: &str) -> String {
    machine.program("bin/python3", &format!("#!/bin/sh\n{body}\n"));
    text(&machine.path("bin/python3"))
}

#[test]
fn no_python_at_all_is_told_with_what_to_do() {
    let stage = with_code("");
    fs::create_dir_all(stage.machine.path("empty")).unwrap();
    let said = told(&with_path(stage, "empty"));
    assert!(said.contains("Python") && (said.contains("uv") || said.contains("code.python")), "{said}");
}

#[test]
fn an_interpreter_that_is_not_there_is_named() {
    let said = told(&with_code("python = \"/nowhere/python\"\n"));
    assert!(said.contains("/nowhere/python"), "{said}");
}

#[test]
fn an_interpreter_that_is_none_or_too_old_is_named() {
    for body in ["echo 3 8", "echo nonsense", "exit 3", "kill -9 $$"] {
        let stage = with_code("");
        let program = fake(&stage.machine, body);
        configure(&stage, &format!("python = \"{program}\"\n"));
        let said = told(&stage);
        assert!(said.contains(&program), "{body}: {said}");
    }
}

#[test]
fn an_interpreter_without_ipykernel_is_told_what_it_lacks() {
    // The system's own, which has none.
    let said = told(&with_code("python = \"/usr/bin/python3\"\n"));
    assert!(said.contains("ipykernel"), "{said}");
}

/// The tests have no network, and neither has a user on a train: what was tried is told, and what would help.
#[test]
fn without_network_the_first_time_it_is_told_that_it_is_needed() {
    let stage = with_code("");
    let machine = &stage.machine;
    // Nobody listens there.
    let index = "http://127.0.0.1:9/simple";
    machine
        .write(".config/pip/pip.conf", format!("[global]\nindex-url = {index}\nretries = 0\ntimeout = 1\n"));
    machine.write(".config/uv/uv.toml", format!("[[index]]\nurl = \"{index}\"\ndefault = true\n"));
    let said = told(&stage);
    assert!(said.contains("connect to the network"), "{said}");
    assert!(said.contains("`code.python`"), "what to do: {said}");
}

#[test]
fn what_prints_at_import_is_output_and_nothing_else() {
    let stage = stage(&[
        "import noisy\nprint('value', noisy.value)",
        "import sys\nsys.stdout.write('{\"id\": 1}\\n'); sys.stderr.write('aside\\n')",
        "import os\nos.write(1, b'straight\\n'); os.write(2, b'to the descriptor\\n')",
        "print('after all that')",
    ]);
    stage.machine.write(
        "project/noisy.py",
        "import os, sys\nprint('loading')\nos.write(1, b'raw\\n')\nprint('err', file=sys.stderr)\nvalue = 42\n",
    );
    let seen = unasked(&stage, &["--policy", "full"]);
    let said = seen.fine(0);
    for part in ["loading", "raw", "err", "value 42"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(seen.fine(1).contains("{\"id\": 1}") && seen.fine(1).contains("aside"), "{seen:#?}");
    assert!(seen.fine(2).contains("straight") && seen.fine(2).contains("to the descriptor"), "{seen:#?}");
    assert!(seen.fine(3).contains("after all that"), "{seen:#?}");
}

#[test]
fn cells_that_make_no_sense_are_answered_and_the_kernel_goes_on() {
    let odd = [
        "",
        "   \n",
        "print('a\0b')",
        "def f(:",
        "\u{feff}x = 1",
        "%nomagic",
        "%%nomagic\nx",
        "raise SystemExit(3)",
    ];
    let codes: Vec<&str> = odd.iter().copied().chain(["print('still', 6 * 7)"]).collect();
    let stage = stage(&codes);
    let seen = unasked(&stage, &["--policy", "full", "--max-rounds", "20"]);
    let cells = seen.cells();
    assert_eq!(cells.len(), codes.len(), "{seen:#?}");
    for (number, part) in [(2, "NUL"), (3, "SyntaxError"), (5, "nomagic"), (6, "nomagic")] {
        let (failed, said) = &cells[number];
        assert!(*failed && said.contains(part), "{:?}: {said}", codes[number]);
    }
    assert!(seen.fine(odd.len()).contains("still 42"), "{seen:#?}");
}

/// Output is cut for the model like any tool's, and whole in the log.
#[test]
fn a_flood_of_output_is_cut_and_kept() {
    let stage = stage(&["for n in range(200_000): print('line', n)"]);
    let seen = unasked(&stage, &["--policy", "full"]);
    let (failed, said) = &seen.cells()[0];
    assert!(!failed && said.len() < 8 << 20, "{}", said.len());
    let requests = stage.requests();
    let last = requests.last().unwrap().body.to_string();
    assert!(
        last.len() < 1 << 20 && last.contains("line 0") && last.contains("line 199999"),
        "{}",
        last.len()
    );
}
