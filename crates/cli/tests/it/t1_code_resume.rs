//! What becomes of a kernel's state when its session is resumed.

use junto::twin::Step;
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::t1_code::{cell, outputs, stage, work};
use crate::t1_commands::Session;
use crate::t1_interrupt::{signal, start};
use crate::t1_run::of_type;
use crate::t1_sessions::lines;

/// A session with three cells, and one that looks what is left of them.
fn steps() -> Vec<Step> {
    vec![
        cell(
            "import json as j\nx = {'a': [1, 2]}\nopen('ran.txt', 'a').write('x')\nlock = __import__('threading').Lock()",
        ),
        cell(
            "def double(n):\n    return 2 * n\n\nclass Point:\n    def __init__(self, x):\n        self.x = x\n\np = Point(3)",
        ),
        Step::call("reset_kernel", json!({})),
        cell(
            "import json as j\nx = {'a': [1, 2]}\nopen('ran.txt', 'a').write('y')\nlock = __import__('threading').Lock()",
        ),
        cell(
            "def double(n):\n    return 2 * n\n\nclass Point:\n    def __init__(self, x):\n        self.x = x\n\np = Point(3)",
        ),
        Step::text("First."),
        cell(
            "try:\n    print(j.dumps(x), double(21), p.x, double(Point(1).x))\nexcept NameError as e:\n    print('gone', e)",
        ),
        cell("print('lock' in globals())"),
        Step::text("Second."),
    ]
}

/// The events of the second run, which went on with the session of the first.
fn resumed(stage: &Stage, how: &str) -> Vec<Value> {
    work(stage, &["--policy", "full", "--code-resume", how]);
    let out = stage.machine.run(&["resume", "--json", "latest", "Go on."]).ok();
    lines(&out).into_iter().filter(|line| line["seq"].is_u64()).collect()
}

/// The end of the next cell of the model's, not of one that runs again.
fn cell_end(session: &mut Session) -> Value {
    loop {
        let end = session.wait_for("tool_call_end");
        if end["name"] == "execute_code" {
            return end;
        }
    }
}

fn ran(stage: &Stage) -> String {
    std::fs::read_to_string(stage.machine.path("project/ran.txt")).unwrap()
}

#[test]
fn fresh_the_state_is_gone_and_the_model_is_told() {
    let stage = stage(steps());
    let said = outputs(&resumed(&stage, "fresh"));
    assert_eq!(said, ["gone name 'j' is not defined\n", "False\n"]);
    assert_eq!(ran(&stage), "xy");
    let requests = stage.requests();
    let told = |at: usize| requests[at].body.to_string().contains("Its Python kernel is a new one");
    assert!(!told(5) && told(6), "told with the first request after it was brought back");
}

#[test]
fn replay_runs_the_cells_again_since_the_kernel_was_fresh_last() {
    let stage = stage(steps());
    let events = resumed(&stage, "replay");
    assert_eq!(outputs(&events), ["{\"a\": [1, 2]} 42 3 2\n", "True\n"]);
    assert_eq!(ran(&stage), "xyy");
    let starts = of_type(&events, "tool_call_start");
    let again: Vec<&Value> =
        starts.into_iter().filter(|start| start["call"]["name"] == "replay_cell").collect();
    assert_eq!(again.len(), 2);
    assert!(again.iter().all(|start| start["via"] == "cell"));
}

#[test]
fn replay_asks_again_and_stops_where_it_is_refused() {
    let stage = stage(steps());
    work(&stage, &["--policy", "full", "--code-resume", "replay"]);
    let args = ["resume", "--json", "--input", "json", "--policy", "ask", "latest", "Go on."];
    let mut session = Session::of(start(&stage.machine, &args));
    let cell = session.wait_for("ask");
    session.answer(&cell, json!({"answer": "allow"}));
    let again = session.wait_for("ask");
    let request = &again["request"];
    assert_eq!((&request["call"]["name"], &request["via"]), (&json!("replay_cell"), &json!("cell")));
    session.answer(&again, json!({"answer": "reject", "reason": "not twice"}));
    let end = cell_end(&mut session);
    drop(session.child.stdin.take());
    session.child.wait().unwrap();
    let said = end["output"].as_str().unwrap();
    assert!(said.contains("of 2 earlier cells 0 were run again") && said.contains("not twice"), "{said}");
    assert_eq!(ran(&stage), "xy");
}

/// Interrupted in the second of its cells, it runs that one again and not the first.
#[test]
fn a_replay_that_was_interrupted_goes_on_with_the_cell_in_which_it_was() {
    let waits = "open('ran.txt', 'a').write('b')\nimport os, time\nprint('there', flush=True)\n\
                 open('waits', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)";
    let stage = stage([
        cell("x = 1\nopen('ran.txt', 'a').write('a')"),
        cell(waits),
        Step::text("First."),
        cell("x"),
        cell("x + 41"),
        Step::text("Second."),
    ]);
    let (go, waiting) = (stage.machine.path("project/go"), stage.machine.path("project/waits"));
    std::fs::write(&go, "").unwrap();
    work(&stage, &["--policy", "full", "--code-resume", "replay"]);
    std::fs::remove_file(&go).unwrap();
    std::fs::remove_file(&waiting).unwrap();
    let args = ["resume", "--json", "--input", "json", "--policy", "full", "latest", "Go on."];
    let mut session = Session::of(start(&stage.machine, &args));
    while session.wait_for("tool_call_start")["call"]["arguments"]["code"] != waits {}
    while !waiting.exists() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    // In one piece: a run that has a task ends when nothing is left to do.
    let interrupt = json!({"command": "interrupt"});
    let submit = json!({"command": "submit", "input": {"text": "Once more."}});
    session.tell(format_args!("{interrupt}\n{submit}"));
    session.wait_for("input_end");
    std::fs::write(&go, "").unwrap();
    let end = cell_end(&mut session);
    session.wait_for("input_end");
    drop(session.child.stdin.take());
    session.child.wait().unwrap();
    assert_eq!(end["output"], "42\n");
    assert_eq!(ran(&stage), "ababb");
}

/// The events of one more run, which goes on with the session.
fn again(stage: &Stage, how: &str) -> Vec<Value> {
    let args = ["resume", "--json", "--code", "--policy", "full", "--code-resume", how, "latest", "Go on."];
    let out = stage.machine.run(&args).ok();
    lines(&out).into_iter().filter(|line| line["seq"].is_u64()).collect()
}

#[test]
fn a_kernel_that_ends_while_cells_are_run_again_is_told_and_so_is_the_next_resume() {
    let stage = stage([
        cell("x = 1\nopen('ran.txt', 'a').write('a')"),
        cell("import os\nif os.path.exists('die'): os._exit(3)"),
        cell("y = 1"),
        Step::text("First."),
        cell("print('x' in globals(), 'y' in globals())\nz = 1"),
        Step::text("Second."),
        cell("print('z' in globals())"),
        Step::text("Third."),
    ]);
    work(&stage, &["--policy", "full", "--code-resume", "replay"]);
    stage.machine.write("project/die", "");
    let said = outputs(&again(&stage, "replay")).concat();
    assert!(said.contains("of 3 earlier cells 1 were run again; then the kernel ended"), "{said}");
    assert!(said.contains("everything they had made is gone") && said.ends_with("False False\n"), "{said}");
    // Of the cells before nothing was left, so that they are not run again either.
    assert_eq!(outputs(&again(&stage, "replay")), ["True\n"]);
    assert_eq!(ran(&stage), "aa");
}

#[test]
fn a_cell_that_was_interrupted_is_not_run_again_and_the_model_is_told() {
    let waits = "open('ran.txt', 'a').write('b')\nimport time\nopen('waits', 'w').close()\n\
                 while True: time.sleep(0.01)";
    let stage = stage([
        cell("x = 1\nopen('ran.txt', 'a').write('a')"),
        cell(waits),
        cell("print(x)"),
        Step::text("Second."),
    ]);
    let args = ["run", "--json", "--input", "json", "--code", "--policy", "full", "--code-resume", "replay"];
    let mut session = Session::of(start(&stage.machine, &[&args[..], &["Work."]].concat()));
    let waiting = stage.machine.path("project/waits");
    while !waiting.exists() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    session.tell(json!({"command": "interrupt"}));
    session.wait_for("input_end");
    drop(session.child.stdin.take());
    session.child.wait().unwrap();
    let said = outputs(&again(&stage, "replay")).concat();
    assert!(said.contains("2 earlier cells were run again, but for those"), "{said}");
    assert!(said.contains("number 2") && said.ends_with("1\n"), "{said}");
    assert_eq!(ran(&stage), "aba");
}

#[test]
fn a_cell_that_takes_too_long_the_second_time_does_not_keep_the_others_from_being_run() {
    let mut stage = stage([
        cell("x = 1"),
        cell("import os, time\nif os.path.exists('slow'): time.sleep(600)"),
        cell("y = 2"),
        Step::text("First."),
        cell("print(x, y)"),
        Step::text("Second."),
    ]);
    work(&stage, &["--policy", "full", "--code-resume", "replay"]);
    stage.machine.write("project/slow", "");
    // Far more than the other cells take.
    stage.machine = stage.machine.with("JUNTO_CODE_TIMEOUT", "20s");
    let said = outputs(&again(&stage, "replay")).concat();
    assert!(said.contains("number 2.") && said.ends_with("1 2\n"), "{said}");
}

/// The journal has a mask in the place of a key, which is not what was run.
#[test]
fn a_cell_with_a_secret_is_not_run_again_without_it() {
    let key = format!("ghp_{}", "a1B2".repeat(9));
    let stage = stage([
        cell("x = 1"),
        cell(&format!("key = '{key}'\nopen('ran.txt', 'a').write(key[:4])")),
        cell("y = 2"),
        Step::text("First."),
        cell("print(x, 'key' in globals(), 'y' in globals())"),
        Step::text("Second."),
    ]);
    work(&stage, &["--policy", "full", "--code-resume", "replay"]);
    assert_eq!(ran(&stage), "ghp_");
    let said = outputs(&again(&stage, "replay")).concat();
    assert!(said.contains("of 3 earlier cells 1 were run again; then it stopped"), "{said}");
    assert!(said.contains("has a secret in it") && said.ends_with("1 False False\n"), "{said}");
    assert_eq!(ran(&stage), "ghp_");
}

#[test]
fn cells_from_before_a_fresh_start_are_not_run_again() {
    let stage = stage([
        cell("open('ran.txt', 'a').write('a')"),
        Step::text("First."),
        // Also one that fails has made something.
        cell("open('ran.txt', 'a').write('b')\nx = 1\n1 / 0"),
        Step::text("Second."),
        cell("print(x)"),
        Step::text("Third."),
    ]);
    work(&stage, &["--policy", "full"]);
    let events = again(&stage, "fresh");
    let warnings: Vec<&Value> =
        of_type(&events, "warning").into_iter().filter(|warning| warning["code"] == "kernel_fresh").collect();
    assert_eq!(warnings.len(), 1, "{events:?}");
    assert_eq!(outputs(&again(&stage, "replay")), ["1\n"]);
    assert_eq!(ran(&stage), "abb");
}

#[test]
fn a_snapshot_brings_back_what_needs_each_other() {
    let stage = stage([
        cell("from dataclasses import dataclass\n@dataclass\nclass D:\n    x: int\n\nd = D(4)\nn = 5"),
        cell("k = [1]\ndef f(x=k):\n    return x\n\na = [1]\nb = {'of': a}"),
        Step::text("First."),
        cell("a.append(2)\nprint(d, D(1), n, f(), b)"),
        Step::text("Second."),
    ]);
    let events = resumed(&stage, "snapshot");
    assert_eq!(outputs(&events), ["D(x=4) D(x=1) 5 [1] {'of': [1, 2]}\n"]);
    assert!(
        of_type(&events, "warning").iter().all(|warning| warning["code"] != "kernel_fresh"),
        "{events:?}"
    );
}

/// What is said of a snapshot that is not of the last cell.
const NOT_LAST: &str =
    "[the variables that were kept are not those after the last cell: those of earlier cells are gone]\n";

/// A cell that tells which variables there are.
fn looks() -> Step {
    cell("print([name for name in 'xyz' if name in globals()])")
}

#[test]
fn a_snapshot_of_before_a_cell_of_a_killed_session_is_not_brought_back() {
    let waits = "import time\nopen('waits', 'w').close()\nwhile True: time.sleep(0.01)";
    let steps = [
        cell("x = 1"),
        Step::text("First."),
        cell("x = 2; z = 3"),
        cell(waits),
        looks(),
        Step::text("Third."),
    ];
    let stage = stage(steps);
    work(&stage, &["--policy", "full", "--code-resume", "snapshot"]);
    let args = ["resume", "--json", "--input", "json", "latest", "Go on."];
    let mut session = Session::of(start(&stage.machine, &args));
    assert_eq!(cell_end(&mut session)["is_error"], false);
    let waiting = stage.machine.path("project/waits");
    while !waiting.exists() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    signal(&session.child, "KILL");
    session.child.wait().unwrap();
    let said = outputs(&again(&stage, "snapshot"));
    assert_eq!(said.last(), Some(&format!("{NOT_LAST}[]\n")), "{said:?}");
}

#[test]
fn variables_of_a_turn_that_was_rewound_do_not_come_back() {
    let stage = stage([
        cell("x = 1"),
        Step::text("First."),
        cell("y = 2"),
        Step::text("Second."),
        looks(),
        Step::text("Third."),
    ]);
    work(&stage, &["--policy", "full", "--code-resume", "snapshot"]);
    assert_eq!(outputs(&again(&stage, "snapshot")), ["[no output]"]);
    stage.machine.run(&["rewind", "latest", "--to", "1"]).ok();
    assert_eq!(outputs(&again(&stage, "snapshot")), [format!("{NOT_LAST}[]\n")]);
}

#[test]
fn a_snapshot_from_before_a_resume_without_one_is_not_brought_back() {
    let stage = stage([
        cell("x = 1"),
        Step::text("First."),
        cell("x = 5"),
        Step::text("Second."),
        looks(),
        Step::text("Third."),
        looks(),
        Step::text("Fourth."),
    ]);
    work(&stage, &["--policy", "full", "--code-resume", "snapshot"]);
    assert_eq!(outputs(&again(&stage, "replay")), ["[no output]"]);
    assert_eq!(outputs(&again(&stage, "snapshot")), [format!("{NOT_LAST}[]\n")]);
    // That one was kept.
    assert_eq!(outputs(&again(&stage, "snapshot")), ["[]\n"]);
}

/// The journal has a mask in the place of a key, and the snapshot has nothing of it.
#[test]
fn variables_with_a_secret_in_them_are_not_kept() {
    // With a length that looks like a letter where it is pickled.
    let key = format!("sk-ant-api03-{}", "a1B2".repeat(24));
    let steps = || {
        vec![
            cell(&format!(
                "key = '{key}'\ndef ask(key='{key}'):\n    return key\n\nx = 1\nheld = [b'{key}']"
            )),
            Step::text("First."),
            cell("print('key' in globals(), 'ask' in globals(), 'held' in globals(), x)"),
            Step::text("Second."),
        ]
    };
    let kept = |stage: &Stage| {
        let sessions = std::fs::read_dir(stage.machine.path(".local/state/junto/sessions")).unwrap();
        let files = sessions.flatten().map(|session| session.path().join("kernel.json"));
        let text = files.map(|file| std::fs::read_to_string(file).unwrap()).collect::<String>();
        let kept: Value = serde_json::from_str(&text).unwrap();
        (text.contains(&key), kept["secret"].clone())
    };
    let masked = stage(steps());
    work(&masked, &["--policy", "full", "--code-resume", "snapshot"]);
    assert_eq!(kept(&masked), (false, json!(["ask", "key", "held"])));
    let said = outputs(&again(&masked, "snapshot")).concat();
    assert!(
        said.contains("but for ask, key, held, which is not kept, because there is a secret in it"),
        "{said}"
    );
    assert!(said.ends_with("False False False 1\n"), "{said}");
    let mut open = stage(steps());
    open.machine = open.machine.with("JUNTO_REDACT", "false");
    work(&open, &["--policy", "full", "--code-resume", "snapshot"]);
    assert_eq!(kept(&open), (true, json!([])));
    assert_eq!(outputs(&again(&open, "snapshot")), ["True True True 1\n"]);
}

#[test]
fn a_snapshot_keeps_what_can_be_kept() {
    let stage = stage(steps());
    let said = outputs(&resumed(&stage, "snapshot"));
    assert!(said[0].contains("but for lock, which could not be kept"), "{said:?}");
    assert!(said[0].ends_with("{\"a\": [1, 2]} 42 3 2\n"), "{said:?}");
    assert_eq!((said[1].as_str(), ran(&stage).as_str()), ("False\n", "xy"));
}
