//! `junto run --code`: cells of Python in a session.

use std::io::{BufRead as _, BufReader, Read as _};

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::stage::{SETUPS, Stage};
use crate::t1_commands::{Session, assert_gone};
use crate::t1_interrupt::start;
use crate::t1_run::{events, of_type};

/// A cell.
pub(crate) fn cell(code: &str) -> Step {
    Step::call("execute_code", json!({ "code": code }))
}

/// A stage whose kernels are the Python that the tests are given.
pub(crate) fn stage(steps: impl Into<Vec<Step>>) -> Stage {
    with_python(Stage::on_any_wire(Play::of(steps)))
}

fn with_python(mut stage: Stage) -> Stage {
    let python = std::env::var("JUNTO_PEER_KERNEL").expect("JUNTO_PEER_KERNEL: a Python with ipykernel");
    stage.machine = stage.machine.with("JUNTO_CODE_PYTHON", &python);
    stage
}

/// What the calls of a tool said, by the session's own agent or a child.
pub(crate) fn outputs(events: &[Value]) -> Vec<String> {
    let ends = of_type(events, "tool_call_end");
    let of_cells = ends.into_iter().filter(|end| end["name"] == "execute_code");
    of_cells.map(|end| end["output"].as_str().unwrap().to_owned()).collect()
}

/// Runs it with flags, and gives its events.
pub(crate) fn work(stage: &Stage, flags: &[&str]) -> Vec<Value> {
    let args = [&["run", "--json", "--code"], flags, &["Work."]].concat();
    events(&stage.machine.run(&args).ok()).0
}

#[test]
fn cells_share_their_state_and_what_they_said_before_an_error_is_told() {
    let steps = [
        cell("import os\nx = 40\nprint('made')"),
        cell("x += 2\nprint(os.getpid())\nx"),
        cell("print('before', flush=True)\n1 / 0"),
        cell("f'still {x}'"),
        Step::call("reset_kernel", json!({})),
        cell("'x' in globals()"),
        Step::text("Done."),
    ];
    let stage = stage(steps);
    let events = work(&stage, &["--policy", "full"]);
    let said = outputs(&events);
    assert_eq!(said[0], "made\n");
    let (pid, rest) = said[1].split_once('\n').unwrap();
    assert_eq!(rest, "42\n");
    assert!(said[2].starts_with("before\n") && said[2].contains("ZeroDivisionError"), "{}", said[2]);
    assert_eq!((said[3].as_str(), said[4].as_str()), ("'still 42'\n", "False\n"));
    let failed: Vec<&Value> = of_type(&events, "tool_call_end").iter().map(|end| &end["is_error"]).collect();
    assert_eq!(failed, [false, false, true, false, false, false]);
    assert_gone(pid);
    // The model was told how to use it, and what came of it.
    let requests = stage.requests();
    let first = requests[0].body.to_string();
    for words in ["# Code", "execute_code", "reset_kernel", "mcptools"] {
        assert!(first.contains(words), "no {words} in {first}");
    }
    for hidden in ["replay_cell", "restore_variables"] {
        assert!(!first.contains(hidden), "{hidden} in {first}");
    }
    let last = requests.last().unwrap().body.to_string();
    assert!(last.contains("ZeroDivisionError") && last.contains("before"), "{last}");
}

#[test]
fn without_the_flag_there_is_no_kernel() {
    let stage = Stage::on_any_wire(Play::text("Done."));
    stage.machine.run(&["run", "Hi."]).ok();
    let body = stage.requests()[0].body.to_string();
    assert!(!body.contains("execute_code") && !body.contains("# Code"), "{body}");
}

/// A picture of one point.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[test]
fn images_are_saved_shown_and_seen_by_the_model() {
    let code = format!(
        "import base64\nfrom IPython.display import Image, display\ndisplay(Image(base64.b64decode('{PNG}')))\nprint('drawn')"
    );
    let stage = stage([cell(&code), Step::text("Done.")]);
    let run = stage.machine.run(&["run", "--code", "--policy", "full", "Work."]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    let line = run.err.lines().find(|line| line.trim_start().starts_with("image: ")).unwrap();
    let path = line.trim().strip_prefix("image: ").unwrap();
    assert!(
        path.contains("/sessions/") && std::path::Path::new(path).extension().is_some_and(|end| end == "png"),
        "{path}"
    );
    assert!(std::fs::read(path).unwrap().starts_with(b"\x89PNG"));
    for words in ["> execute_code", "  | import base64", "    drawn"] {
        assert!(run.err.contains(words), "no {words:?} in {}", run.err);
    }
    let seen = stage.requests().last().unwrap().body.to_string();
    assert!(seen.contains(PNG) && seen.contains("drawn"), "{seen}");
}

/// An image that a provider refuses would be refused with every request after it, also when the session is resumed.
#[test]
fn an_image_that_is_another_or_none_ends_no_session() {
    let code = "from IPython.display import display\nimport base64\n\
        jpeg = b'\\xff\\xd8\\xff\\xc0\\0\\x0b\\x08\\0\\x10\\0\\x10\\x01\\x01\\x11\\0\\xff\\xd9'\n\
        for data in (jpeg, b'', b'no picture'):\n    \
            display({'image/png': base64.b64encode(data).decode()}, raw=True)";
    let steps = [cell(code), Step::text("First."), Step::text("Second.")];
    // Where such a picture is refused.
    let stage = with_python(Stage::new(&SETUPS[0], Play::of(steps)));
    let said = outputs(&work(&stage, &["--policy", "full"])).concat();
    assert!(
        said.contains(".jpg]") && said.contains("[an image with nothing in it, said to be image/png]"),
        "{said}"
    );
    assert!(said.contains("not shown: it is no image, though it was said to be image/png]"), "{said}");
    stage.machine.run(&["resume", "latest", "Go on."]).ok();
    let seen = stage.requests().last().unwrap().body.to_string();
    assert_eq!((seen.matches("image/jpeg").count(), seen.matches("\"image/png\"").count()), (1, 0), "{seen}");
}

#[test]
fn code_calls_tools_that_are_asked_about_while_its_time_stands_still() {
    let code = "import junto_tools\nt = junto_tools.connect()\n\
                def write(name):\n    try:\n        return t.write_file(file_path=name, content='x')\n    \
                except junto_tools.ToolError as e:\n        return f'refused: {e}'\n\
                print(write('a.txt'))\nprint(write('b.txt'))";
    let stage = stage([cell(code), Step::text("Done.")]);
    let mut session = Session::start(&stage, &["--code", "--ask", "--input", "json"]);
    let whole = session.wait_for("ask");
    assert_eq!(whole["request"]["actions"][0]["code"], code);
    session.answer(&whole, json!({"answer": "allow"}));
    let first = session.wait_for("ask");
    assert_eq!(
        (&first["request"]["via"], &first["request"]["call"]["name"]),
        (&json!("cell"), &json!("write_file"))
    );
    session.answer(&first, json!({"answer": "allow"}));
    let second = session.wait_for("ask");
    session.answer(&second, json!({"answer": "reject", "reason": "not this"}));
    let (_, events, err) = session.end();
    let said = outputs(&events);
    assert!(
        said[0].contains("a.txt") && said[0].contains("refused: the user refused: not this"),
        "{said:?} {err}"
    );
    let project = stage.machine.path("project");
    assert!(project.join("a.txt").exists() && !project.join("b.txt").exists());
}

/// What has a cell say when more time has passed than it may take.
const LATER: &str = "import threading\nthreading.Timer(3, lambda: print('later', flush=True)).start()\n";

/// Waits until it has said so. One that was ended before says nothing any more, and the run ends.
#[track_caller]
fn await_later(session: &mut Session) {
    while !session.wait_for("tool_call_output_delta")["text"].as_str().unwrap().contains("later") {}
}

#[test]
fn a_cell_that_asks_the_user_has_all_the_time_he_takes() {
    let code = &format!(
        "{LATER}import junto_tools\nprint(junto_tools.connect().ask_user(question='Which?'), flush=True)"
    );
    let mut stage = stage([cell(code), Step::text("Done.")]);
    stage.machine = stage.machine.with("JUNTO_CODE_TIMEOUT", "2s");
    let mut session = Session::start(&stage, &["--code", "--policy", "full", "--input", "json"]);
    let question = session.wait_for("question");
    await_later(&mut session);
    let reply = json!({"reply": "said", "text": "the red one"});
    session.tell(json!({"command": "reply", "ask": question["ask"], "reply": reply}));
    let (code, events, err) = session.end();
    assert_eq!(code, Some(0), "{err}");
    let said = &outputs(&events)[0];
    assert!(said.contains("the red one") && !said.contains("took too long"), "{said}");
}

/// In words, and through pipes: the cell ends only after somebody has seen what it said.
#[test]
fn what_a_cell_says_is_shown_while_it_runs() {
    let code = "print('begun', flush=True)\nimport os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n\
                print('ended')";
    let mut stage = stage([cell(code), Step::text("Done.")]);
    // Shown too late it is ended, and says less.
    stage.machine = stage.machine.with("JUNTO_CODE_TIMEOUT", "60s");
    let mut child = start(&stage.machine, &["run", "--code", "--policy", "full", "Work."]);
    drop(child.stdin.take());
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    while !told.lines().any(|line| line == "    begun") {
        assert_ne!(err.read_line(&mut told).unwrap(), 0, "{told}");
    }
    stage.machine.write("project/go", "");
    err.read_to_string(&mut told).unwrap();
    assert!(child.wait().unwrap().success(), "{told}");
    let times = |wanted: &str| told.lines().filter(|line| *line == wanted).count();
    assert_eq!((times("    begun"), times("    ended"), times("  execute_code ok")), (1, 1, 1), "{told}");
}

#[test]
fn a_cell_that_takes_too_long_is_ended_but_not_while_somebody_is_asked() {
    let code = &format!(
        "{LATER}import junto_tools\njunto_tools.connect().write_file(file_path='a.txt', content='x')\n\
         print('asked')\nimport time\ntime.sleep(600)"
    );
    let mut stage = stage([cell(code), Step::text("Done.")]);
    stage.machine = stage.machine.with("JUNTO_CODE_TIMEOUT", "2s");
    let mut session = Session::start(&stage, &["--code", "--ask", "--input", "json"]);
    let whole = session.wait_for("ask");
    session.answer(&whole, json!({"answer": "allow"}));
    let asked = session.wait_for("ask");
    await_later(&mut session);
    session.answer(&asked, json!({"answer": "allow"}));
    let (code, events, err) = session.end();
    assert_eq!(code, Some(0), "{err}");
    let said = outputs(&events);
    assert!(said[0].contains("asked\n") && said[0].contains("took too long"), "{said:?}");
}

#[test]
fn a_subagent_has_a_kernel_of_its_own() {
    let steps = [
        cell("x = 1\nimport os\nprint(os.getpid())"),
        Step::call("spawn_agent", json!({"task": "CHILD", "wait": true})),
        cell("import os\nprint('x' in globals(), os.getpid())"),
        Step::text("Child."),
        cell("x"),
        Step::text("Done."),
    ];
    let stage = stage(steps);
    let events = work(&stage, &["--policy", "full"]);
    let said = outputs(&events);
    let own = said[0].trim();
    let child = said[1].trim().strip_prefix("False ").unwrap();
    assert_ne!(own, child);
    assert_eq!(said[2], "1\n");
    assert_gone(own);
    assert_gone(child);
}

#[test]
fn a_python_that_cannot_be_one_is_told_with_what_to_do() {
    let mut stage = stage([cell("1"), Step::text("{{last_result}}")]);
    stage.machine = stage.machine.with("JUNTO_CODE_PYTHON", "/nowhere/python");
    let run = stage.machine.run(&["run", "--code", "--policy", "full", "Work."]);
    assert!(run.code != Some(0) && run.err.contains("/nowhere/python"), "{run:#?}");
    assert!(run.err.contains("junto doctor"), "{run:#?}");
    assert_eq!(stage.requests().len(), 0, "the model was not asked");
}

#[test]
fn code_imports_tools_and_shell_lines_ask_with_what_will_run() {
    let code = "from mcptools.junto import write_file\nwrite_file(file_path='a.txt', content='x')\nv = 'two words'\n\
                !echo $v {1 + 1} > out.txt";
    let stage = stage([cell(code), Step::text("Done.")]);
    let mut session = Session::start(&stage, &["--code", "--ask", "--input", "json"]);
    let mut asked = Vec::new();
    for _ in 0..3 {
        let ask = session.wait_for("ask");
        asked.push(ask["request"]["actions"][0].clone());
        session.answer(&ask, json!({"answer": "allow"}));
    }
    let (ended, events, err) = session.end();
    assert_eq!(ended, Some(0), "{err} {:?}", outputs(&events));
    assert_eq!((&asked[0]["action"], &asked[1]["action"]), (&json!("code"), &json!("write")));
    assert_eq!(asked[2]["line"], "echo two words 2 > out.txt");
    let out = std::fs::read_to_string(stage.machine.path("project/out.txt")).unwrap();
    assert_eq!(out, "two words 2\n", "{:?}", outputs(&events));
}

#[test]
fn tools_are_found_by_words() {
    let find = |arguments: Value| Step::call("find_code_tools", arguments);
    let steps = [
        find(json!({})),
        find(json!({"query": "read a file"})),
        find(json!({"signature": "mcptools.junto.read_file"})),
        cell("import mcptools.junto as j\nprint(hasattr(j, 'execute_code'), hasattr(j, 'cell_shell'))"),
        Step::text("Done."),
    ];
    let stage = stage(steps);
    let events = work(&stage, &["--policy", "full"]);
    let said: Vec<&str> =
        of_type(&events, "tool_call_end").iter().map(|end| end["output"].as_str().unwrap()).collect();
    assert!(said[0].contains("mcptools.junto ("), "{}", said[0]);
    assert!(said[1].contains("mcptools.junto.read_file: "), "{}", said[1]);
    assert!(said[2].contains("file_path"), "{}", said[2]);
    assert_eq!(said[3], "False False\n");
}

/// What the model is shown as an example can be run as it stands, whatever its tools are called.
#[test]
fn the_example_in_the_prompt_works_in_every_profile_and_dialect() {
    for setup in &SETUPS[..3] {
        for dialect in ["spec", "native"] {
            let flags = ["run", "--json", "--code", "--policy", "full", "--dialect", dialect, "Work."];
            let asked = with_python(Stage::new(setup, Play::text("Done.")));
            asked.machine.run(&flags).ok();
            let told = asked.requests()[0].body.to_string().replace("\\n", "\n").replace("\\\"", "\"");
            let lines = told.lines().map(str::trim).filter(|line| !line.contains("<server>"));
            let example: Vec<&str> = lines
                .filter(|line| line.starts_with("from mcptools.junto import ") || line.starts_with("text = "))
                .collect();
            assert_eq!(example.len(), 2, "{} {dialect}: {example:?}", setup.provider);
            let code = format!("{}\nprint(type(text).__name__, len(text) > 0)", example.join("\n"));
            let stage = with_python(Stage::new(setup, Play::of([cell(&code), Step::text("Done.")])));
            stage.machine.write("project/README.md", "Read me.\n");
            let said = outputs(&events(&stage.machine.run(&flags).ok()).0);
            assert_eq!(said, ["str True\n"], "{} {dialect}: {code}", setup.provider);
        }
    }
}
