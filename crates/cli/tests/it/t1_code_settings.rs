//! What the configuration says of code: limits, variables, folders, the sandbox's file, the Python that is kept.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use junto::twin::{Play, Step};
use serde_json::json;

use crate::cells::{asked, cell, peer, sends, staged, unasked, yes};
use crate::stage::{SETUPS, Stage};
use crate::t1_code_escapes::outside;
use crate::t1_run::of_type;
use crate::{text, usual_path};

/// A picture of one point.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[test]
fn a_cell_that_wants_more_memory_than_there_is_fails_and_the_kernel_goes_on() {
    let cells = [
        "x = 1",
        "much = bytearray(2 << 30)",
        "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'bytearray(2 << 30)'], stderr=subprocess.PIPE, text=True).stderr.splitlines()[-1]",
        "print('x is', x)",
    ];
    let stage = staged(sends(&cells), "memory = 1024\n");
    let seen = unasked(&stage, &["--policy", "full"]);
    let said = seen.cells();
    assert!(said[1].0 && said[1].1.contains("MemoryError"), "{said:?}");
    assert!(seen.fine(2).contains("MemoryError"), "what it starts is limited, too: {said:?}");
    assert_eq!(seen.fine(3), "x is 1\n");
}

/// Starts processes that start processes, until it is told that there may be no more; no test machine falls.
const BOMB: &str = "
import os, time
started = 0
try:
    for _ in range(MOST):
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        started += 1
    print('all', started)
except BlockingIOError:
    print('held', started)
";

#[test]
fn a_fork_bomb_stays_within_its_limit_or_it_is_said_that_there_is_none_and_nothing_is_left_of_it() {
    let mark = format!("bomb-{}", std::process::id());
    let code = BOMB.replace("MOST", "200");
    let stage = staged(sends(&[&code, "1 + 1"]), &format!("env = {{ MARK = \"{mark}\" }}\n"));
    stage.machine.write("box.toml", "max_processes = 64\n");
    let seen = unasked(&stage, &["--sandbox-config", "../box.toml"]);
    let said = seen.fine(0);
    if is_uncounted() {
        // The system does not count root's, which is said before anything runs.
        assert!(seen.err.contains("start any number of processes"), "{}", seen.err);
        assert_eq!(said, "all 200\n");
    } else {
        let started: u32 = said.trim().strip_prefix("held ").unwrap().parse().unwrap();
        assert!(started < 64, "{said}");
        assert_eq!(seen.fine(1), "2\n");
    }
    let left = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let of = fs::read(entry.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&of).contains(&format!("MARK={mark}"))
    });
    assert_eq!(left.count(), 0);
}

/// Whether the processes of this user are not counted.
fn is_uncounted() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

#[test]
fn variables_and_images_go_where_they_are_wanted() {
    let draw = format!(
        "import base64, os\nfrom IPython.display import Image, display\ndisplay(Image(base64.b64decode('{PNG}')))\nprint(os.environ['DATA'])"
    );
    let stage = staged(sends(&[&draw]), "images = \"~/pictures\"\nenv = { DATA = \"two words\" }\n");
    let seen = unasked(&stage, &[]);
    let said = seen.fine(0);
    assert!(said.contains("two words"), "{said}");
    let pictures: Vec<_> = fs::read_dir(stage.machine.path("pictures")).unwrap().flatten().collect();
    assert_eq!(pictures.len(), 1, "{pictures:?}");
    assert!(fs::read(pictures[0].path()).unwrap().starts_with(b"\x89PNG"));
    assert!(said.contains(&text(&pictures[0].path())), "{said}");
}

#[test]
fn code_that_worked_is_saved_and_is_a_tool_of_later_sessions() {
    let code =
        "\"\"\"Adds up numbers.\"\"\"\n\ndef run(numbers: list[int]) -> int:\n    return sum(numbers)\n";
    let save = Step::call("save_code_tool", json!({"category": "sums", "name": "total", "code": code}));
    let broken = json!({"category": "sums", "name": "total", "code": "x = 1"});
    let play = Play::of([
        cell("print(sum([1, 2]))"),
        Step::call("save_code_tool", broken),
        save,
        // It is there at once,
        cell("from gentools.sums.total import run\nprint(run([1, 2]))"),
        Step::text("Saved."),
        // and in a session that never heard of it.
        Step::call("find_code_tools", json!({"query": "add up numbers"})),
        cell("from gentools.sums import total\nprint(total.run(numbers=[40, 2]))"),
        Step::text("Done."),
    ]);
    let stage = staged(play, "gentools = \"~/tools\"\n");
    let seen = asked(&stage, &[], |ask| {
        assert_eq!(ask["request"]["actions"][0]["action"], "write", "{ask}");
        yes()
    });
    let saved =
        of_type(&seen.events, "tool_call_end").into_iter().filter(|end| end["name"] == "save_code_tool");
    let saved: Vec<(bool, &str)> =
        saved.map(|end| (end["is_error"] == true, end["output"].as_str().unwrap())).collect();
    assert!(saved[0].0 && saved[0].1.contains("no function `run`"), "{saved:?}");
    assert_eq!(saved[1], (false, "saved: from gentools.sums.total import run"));
    assert_eq!(fs::read_to_string(stage.machine.path("tools/sums/total/__init__.py")).unwrap(), code);
    assert_eq!(seen.fine(1), "3\n");
    let later = unasked(&stage, &[]);
    let found = of_type(&later.events, "tool_call_end")[0]["output"].as_str().unwrap().to_owned();
    assert!(found.contains("gentools.sums.total: Adds up numbers."), "{found}");
    assert_eq!(later.fine(0), "42\n");
}

#[test]
fn the_file_of_the_sandbox_holds_for_commands_and_cells_and_is_checked() {
    let more = outside();
    let shell = |line: String| Step::call("shell", json!({"command": line}));
    let new = text(&more.path().join("new"));
    let play = Play::of([
        shell(format!("cat plan.md; echo x > {new} && echo written")),
        cell(&format!(
            "try:\n    open('plan.md').read()\nexcept OSError as e:\n    print(type(e).__name__)\nprint(open('{new}').read())"
        )),
        Step::text("Done."),
    ]);
    let stage = staged(play, "");
    let file = stage.machine.path(".config/junto/config.toml");
    let config = fs::read_to_string(&file).unwrap();
    fs::write(&file, config.replace("[policy]\n", "[policy]\nsandbox_config = \"box.toml\"\n")).unwrap();
    stage.machine.write("project/plan.md", "the plan");
    // It is looked for beside the file that names it.
    stage.machine.run(&["run", "--code", "Work."]).fails(2, &[".config/junto/box.toml"]);
    stage.machine.write(".config/junto/box.toml", "hidden = []\n");
    stage.machine.run(&["run", "--code", "Work."]).fails(2, &["hidden", "max_processes"]);
    let hide = text(&stage.machine.path("project/plan.md"));
    stage.machine.write(
        ".config/junto/box.toml",
        format!("writable = [\"{}\"]\nhide = [\"{hide}\"]\n", text(more.path())),
    );
    let seen = unasked(&stage, &[]);
    let ends = of_type(&seen.events, "tool_call_end");
    let said = ends[0]["output"].as_str().unwrap();
    assert!(said.contains("written") && !said.contains("the plan"), "{said}");
    assert_eq!(seen.fine(0), "PermissionError\nx\n\n");
}

#[test]
fn the_python_that_is_kept_is_made_once_and_not_changed_from_the_sandbox() {
    let kernel = peer("JUNTO_PEER_KERNEL");
    let folder = Path::new(&kernel).parent().unwrap().parent().unwrap();
    let packages = format!("{}/lib/python3*/site-packages", folder.display());
    let code = "import pathlib, sys, IPython\nprint(sys.prefix)\n\
                for name in ['new', 'bin/python', 'junto.json']:\n    \
                try:\n        open(pathlib.Path(sys.prefix, name), 'a')\n        print('changed', name)\n    \
                except OSError:\n        print('kept')";
    let mut stage = Stage::new(&SETUPS[0], sends(&[code, "import sys; print(sys.prefix)"]));
    // Makes environments of what the developer's commands keep, and counts them.
    let count = text(&stage.machine.path("count"));
    stage.machine.program(
        "bin/uv",
        &format!(
            "#!/bin/sh\ncase \"$1 $2\" in\n\
             'venv '*) for last; do :; done; echo made >> {count}; exec {kernel} -m venv --without-pip \"$last\";;\n\
             'pip install') for kept in {packages}/*; do ln -s \"$kept\" $(dirname $(dirname $6))/lib/python*/site-packages/; done;;\n\
             esac\n"
        ),
    );
    let path = format!("{}:{}", text(&stage.machine.path("bin")), usual_path());
    // Where cells could change it, it would be theirs.
    let place = outside();
    let state = text(place.path());
    stage.machine = stage.machine.with("PATH", &path).with("XDG_STATE_HOME", &state);
    let seen = unasked(&stage, &[]);
    let said = seen.fine(0);
    let (prefix, rest) = said.split_once('\n').unwrap();
    assert!(prefix.starts_with(&format!("{state}/junto/python/")), "{said}");
    assert_eq!(rest, "kept\nkept\nkept\n");
    assert_eq!(seen.fine(1), format!("{prefix}\n"));
    // A later session finds it.
    let mut later = Stage::new(&SETUPS[0], sends(&["import sys; print(sys.prefix)"]));
    later.machine = later.machine.with("PATH", &path).with("XDG_STATE_HOME", &state);
    assert_eq!(unasked(&later, &[]).fine(0), format!("{prefix}\n"));
    assert_eq!(fs::read_to_string(&count).unwrap(), "made\n");
}
