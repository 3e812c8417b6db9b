use junto_env::{Exit, FileCount, FileLines, FoundFile, Line, Target};

use super::*;

fn heard(text: &str, state: State) -> Heard {
    let (bytes, duration) = (text.len() as u64, Duration::from_secs(2));
    Heard { job: 7, pid: 99, text: text.to_owned(), bytes, state, duration, end: End::Wait }
}

fn exit(code: i32) -> State {
    State::Ended(Exit { code: Some(code), signal: None })
}

#[test]
fn calls_of_ours() {
    let check =
        |ask: fn(&Value) -> Result<Ours, String>, args: Value, tool: &'static str, arguments: Value| {
            assert_eq!(ask(&args), Ok(Ours::new(tool, arguments)));
        };
    let part = json!({"file_path": "a", "offset": 3, "limit": 5});
    check(read, part.clone(), "read_file", part);
    check(read, json!({"file_path": "a", "allow_large": true}), "read_file", json!({"file_path": "a"}));
    assert!(read(&json!({"file_path": "a", "pages": "1-5"})).is_err());
    let change = json!({"file_path": "a", "old_string": "x", "new_string": "", "replace_all": false});
    check(edit, change.clone(), "edit_file", change);
    let whole = json!({"file_path": "a", "content": "x"});
    check(write, whole.clone(), "write_file", whole);
    check(glob, json!({"pattern": "*", "path": "src"}), "glob", json!({"pattern": "*", "path": "src"}));
    check(ls, json!({"path": "src", "ignore": ["x"]}), "list_dir", json!({"path": "src"}));
    let todos = json!({"todos": [{"content": "look", "status": "pending", "activeForm": "looking"}]});
    check(todo_write, todos, "update_plan", json!({"steps": [{"step": "look", "status": "pending"}]}));
    let page = json!({"url": "https://a.b", "prompt": "what"});
    check(web_fetch, page, "web_fetch", json!({"url": "https://a.b", "max_chars": 28_000}));
    let spawn =
        json!({"description": "d", "prompt": "do it", "subagent_type": "general-purpose", "model": "opus"});
    check(agents::spawn, spawn, "spawn_agent", json!({"task": "do it", "wait": true}));
    let beside =
        json!({"description": "d", "prompt": "do it", "subagent_type": "codex", "run_in_background": true});
    check(agents::spawn, beside, "spawn_agent", json!({"task": "do it", "wait": false, "kind": "codex"}));
    let send = json!({"to": "a", "message": "go", "summary": "s"});
    check(agents::send, send, "send_input", json!({"agent_id": "a", "message": "go"}));
}

#[test]
fn commands() {
    let check = |args: Value, wait_ms: u64| {
        let timeouts = Timeouts::of(Some(Duration::from_mins(2)), None);
        let patience = Patience::For(Duration::from_millis(wait_ms));
        let expected = Launch { line: "ls".into(), cwd: None, means: Means::Pipes, patience };
        assert_eq!(bash(&args, timeouts), Ok(expected), "{args}");
    };
    check(json!({"command": "ls", "description": "List"}), 120_000);
    check(json!({"command": "ls", "timeout": 5000}), 5000);
    check(json!({"command": "ls", "timeout": 9_999_999}), 600_000);
    check(json!({"command": "ls", "timeout": 5000, "run_in_background": true}), 0);
}

#[test]
fn what_a_command_said() {
    let check = |args: Value, heard: &Heard, expected: Result<&str, &str>| {
        assert_eq!(ran(&args, heard), expected.map(str::to_owned).map_err(str::to_owned));
    };
    check(json!({}), &heard("hi\n", exit(0)), Ok("hi"));
    check(json!({}), &heard("out\nerr\n", exit(3)), Err("Exit code 3\nout\nerr"));
    let stopped = State::Ended(Exit { code: None, signal: Some(9) });
    check(json!({}), &heard("", stopped), Err("Exit code 137\n"));
    let how = "TaskOutput reads it, TaskStop ends it.";
    let late = format!(
        "Command still running after 2000 ms, moved to the background with ID: 7. {how}\nOutput so far:\nhi"
    );
    check(json!({}), &heard("hi\n", State::Running), Ok(&late));
    let background = format!("Command running in background with ID: 7. {how}");
    check(json!({"run_in_background": true}), &heard("", State::Running), Ok(&background));
    let cancelled = Heard { end: End::Cancelled, ..heard("hi\n", exit(143)) };
    check(json!({}), &cancelled, Err("hi\n[interrupted]"));
}

#[test]
fn tasks() {
    let check = |ask: fn(&Value) -> Result<Turn, String>, args: Value, what: What, wait_ms: u64| {
        let wait = Duration::from_millis(wait_ms);
        assert_eq!(ask(&args), Ok(Turn { job: Which::Number(7), what, since: Since::Told, wait }), "{args}");
    };
    check(task_output, json!({"task_id": "7"}), What::Listen, 30_000);
    check(task_output, json!({"task_id": "7", "block": false}), What::Listen, 0);
    check(task_output, json!({"task_id": "7", "timeout": 9e9}), What::Listen, 600_000);
    check(bash_output, json!({"bash_id": "7"}), What::Listen, 0);
    check(task_stop, json!({"task_id": "7"}), What::End, 0);
    check(task_stop, json!({"shell_id": 7}), What::End, 0);
    assert_eq!(
        task_stop(&json!({"task_id": "x"})),
        Err("`task_id` or `shell_id` is no task's ID".to_owned())
    );
    let told = |state| task(&json!({}), &heard("hi\n", state)).unwrap();
    assert_eq!(
        told(State::Running),
        "<task_id>7</task_id>\n<status>running</status>\n<output>\nhi\n</output>"
    );
    assert!(told(exit(0)).contains("<status>completed</status>\n<exit_code>0</exit_code>\n"));
    assert!(told(exit(1)).contains("<status>failed</status>\n<exit_code>1</exit_code>\n"));
}

#[test]
fn searches() {
    let root = || RealPath::resolved("/w");
    let check = |args: Value, expected: Search| assert_eq!(grep(&args, root()), Ok(expected), "{args}");
    let plain = || Search::grep("x", root()).show(Show::Files).limit(250);
    check(json!({"pattern": "x"}), plain());
    check(
        json!({"pattern": "x", "-i": true, "multiline": true}),
        plain().case(Case::Insensitive).multiline(),
    );
    check(json!({"pattern": "x", "glob": "*.rs", "type": "py"}), plain().only("*.rs").only_type("py"));
    let counts = plain().show(Show::Counts).limit(15);
    check(json!({"pattern": "x", "output_mode": "count", "head_limit": 10, "offset": 5}), counts);
    let around = |before, after| plain().show(Show::Lines { before, after });
    check(json!({"pattern": "x", "output_mode": "content", "-n": true}), around(0, 0));
    check(json!({"pattern": "x", "output_mode": "content", "-A": 1, "-B": 2}), around(2, 1));
    check(json!({"pattern": "x", "output_mode": "content", "-C": 3, "-A": 9}), around(3, 9));
    check(json!({"pattern": "x", "output_mode": "content", "context": 9000}), around(100, 100));
    assert!(
        matches!(plain().target, Target::Text(_))
            && grep(&json!({"pattern": "x", "-o": true}), root()).is_err()
    );
}

#[test]
fn what_was_found() {
    let path = |name: &str| RealPath::resolved(format!("/w/{name}"));
    let check = |args: Value, found_: Found, truncated: bool, expected: &str| {
        let hits = Hits { found: found_, truncated, unreadable: 0 };
        assert_eq!(found(&args, &hits, &RealPath::resolved("/w")), expected, "{args}");
    };
    let files = |names: &[&str]| {
        Found::Files(names.iter().map(|name| FoundFile { path: path(name), modified: None }).collect())
    };
    check(json!({}), files(&["a.txt"]), false, "Found 1 file\na.txt");
    check(json!({}), files(&["a", "b/c"]), false, "Found 2 files\na\nb/c");
    let rest = json!({"offset": 1, "head_limit": 1});
    check(rest, files(&["a", "b"]), true, "Found 1 file\nb\n\n[there is more: go on with offset 2]");
    check(json!({}), files(&[]), false, "No files found");
    check(json!({"output_mode": "content"}), Found::Lines(vec![]), false, "No matches found");
    let counts = vec![FileCount { path: path("a"), count: 3 }, FileCount { path: path("b"), count: 1 }];
    let told = "a:3\nb:1\n\nFound 4 total occurrences across 2 files.";
    check(json!({"output_mode": "count"}), Found::Counts(counts), false, told);
    let line =
        |number, text: &str| Line { number, text: text.into(), matches: true, cut_before: 0, cut_after: 0 };
    let lines = vec![FileLines { path: path("m.py"), lines: vec![line(2, "    return 1")], binary: false }];
    check(json!({"output_mode": "content"}), Found::Lines(lines), false, "m.py:2:    return 1");
}

#[test]
fn outcomes() {
    let check = |answer: fn(Came<'_>) -> ToolOutcome, args: Value, outcome: ToolOutcome, expected: &str| {
        let cwd = RealPath::resolved("/w");
        let told = answer(Came { args: &args, cwd: &cwd, elapsed: Duration::ZERO, outcome });
        assert_eq!(told.output.preview(), expected);
    };
    let (ok, error) = (|text: &str| ToolOutcome::ok(text), |text: &str| ToolOutcome::error(text));
    check(lines, json!({}), ok("  1 | alpha\n  2 | \n"), "1\talpha\n2\t");
    check(lines, json!({}), error("there is no /w/a"), "there is no /w/a");
    let report = "replaced once in /w/a\n  1 | x\n  2 | y\n...\n";
    check(edited, json!({}), ok(report), "The file /w/a has been updated. It now has:\n1\tx\n2\ty\n...");
    let loose = "replaced 2 times in /w/a; old_string was found loosely\n  1 | x\n...\n";
    let told = "The file /w/a has been updated. Note: old_string was found loosely. It now has:\n1\tx\n...";
    check(edited, json!({}), ok(loose), told);
    check(edited, json!({}), error("not there"), "<tool_use_error>not there</tool_use_error>");
    check(written, json!({}), ok("created /w/a (3 bytes)"), "File created at: /w/a (3 bytes)");
    check(written, json!({}), ok("replaced /w/a (3 bytes)"), "The file /w/a (3 bytes) has been updated.");
    check(files, json!({}), ok("src/m.py\na.py\n"), "src/m.py\na.py");
    check(files, json!({}), ok("no files match\n"), "No files found");
    check(fetched, json!({"offset": 2}), ok("abc"), "c");
    check(fetched, json!({}), ok("abc"), "abc");
    check(fetched, json!({"offset": 9}), ok("abc"), "[the page ends before this offset]");
    check(agents::spawned, json!({}), ok("the answer"), "the answer");
    let beside = json!({"run_in_background": true});
    check(agents::spawned, beside, ok("a-1: running"), "The agent works in the background.\nagentId: a-1");
}

#[test]
fn answers_stand_beside_the_questions() {
    let asked = [json!({"question": "Which?"}), json!({"question": "When?"})];
    let answered = [
        Answered { asked: &asked[0], answer: "red".into() },
        Answered { asked: &asked[1], answer: "now".into() },
    ];
    assert_eq!(answers(&answered), "The user has answered: \"Which?\"=\"red\", \"When?\"=\"now\".");
}
