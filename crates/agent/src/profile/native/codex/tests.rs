use junto_env::Exit;

use super::*;

fn heard(text: &str, state: State) -> Heard {
    let (bytes, duration) = (text.len() as u64, Duration::from_millis(1500));
    Heard { job: 7, pid: 99, text: text.to_owned(), bytes, state, duration, end: End::Wait }
}

fn exit(code: i32) -> State {
    State::Ended(Exit { code: Some(code), signal: None })
}

#[test]
fn commands() {
    let check = |args: Value, line: &str, cwd: Option<&str>, means: Means, wait_ms: u64| {
        let launch = exec_command(&args, Timeouts::default()).unwrap();
        let expected = Launch {
            line: line.to_owned(),
            cwd: cwd.map(str::to_owned),
            means,
            patience: Patience::For(Duration::from_millis(wait_ms)),
        };
        assert_eq!(launch, expected, "{args}");
    };
    check(json!({"cmd": "ls"}), "ls", None, Means::Pipes, 10_000);
    check(json!({"cmd": "ls", "workdir": "src", "login": false}), "ls", Some("src"), Means::Pipes, 10_000);
    check(json!({"cmd": "top", "tty": true, "yield_time_ms": 1000.0}), "top", None, Means::Terminal, 1000);
    check(json!({"cmd": "ls", "yield_time_ms": 1}), "ls", None, Means::Pipes, 250);
    check(json!({"cmd": "ls", "yield_time_ms": 1e9}), "ls", None, Means::Pipes, 30_000);
    check(
        json!({"cmd": "echo 'a'", "shell": "/bin/sh"}),
        r"/bin/sh -c 'echo '\''a'\'''",
        None,
        Means::Pipes,
        10_000,
    );
    assert!(exec_command(&json!({}), Timeouts::default()).is_err());
}

#[test]
fn commands_in_the_older_form() {
    let check = |command: Value, expected: &str| {
        assert_eq!(shell(&json!({ "command": command }), Timeouts::default()).unwrap().line, expected);
    };
    check(json!("ls -l | wc"), "ls -l | wc");
    check(json!(["bash", "-lc", "ls | wc"]), "ls | wc");
    check(json!(["git", "commit", "-m", "it's done", ""]), r"git commit -m 'it'\''s done' ''");
    check(json!(["bash", "-lc"]), "bash -lc");
    let waits =
        |ms: u64| shell(&json!({"command": "x", "timeout_ms": ms}), Timeouts::default()).unwrap().patience;
    assert_eq!(waits(5000), Patience::For(Duration::from_secs(5)));
    assert_eq!(waits(u64::MAX), Patience::For(Duration::from_mins(10)));
}

#[test]
fn what_is_written_to_a_session() {
    let check = |args: Value, what: What, wait_ms: u64| {
        let wait = Duration::from_millis(wait_ms);
        let expected = Turn { job: Which::Number(3), what, since: Since::Told, wait };
        assert_eq!(write_stdin(&args).unwrap(), expected, "{args}");
    };
    check(json!({"session_id": 3}), What::Listen, 5000);
    check(json!({"session_id": 3, "chars": "", "yield_time_ms": 100}), What::Listen, 5000);
    check(json!({"session_id": 3.0, "chars": "y\n"}), What::Write("y\n".into()), 250);
    check(
        json!({"session_id": 3, "chars": "y\n", "yield_time_ms": 99_999}),
        What::Write("y\n".into()),
        30_000,
    );
    check(json!({"session_id": 3, "chars": "\u{3}"}), What::Interrupt, 250);
    assert!(write_stdin(&json!({"chars": "x"})).is_err());
}

#[test]
fn a_chunk_says_how_the_command_stands() {
    let check = |heard: &Heard, fine: bool, expected: &str| {
        let told = chunk(&json!({}), heard);
        assert_eq!(told.is_ok(), fine);
        let told = told.unwrap_or_else(|error| error);
        let (id, rest) = told.split_once('\n').unwrap();
        let id = id.strip_prefix("Chunk ID: ").unwrap();
        assert!(id.len() == 6 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        assert_eq!(rest, expected);
    };
    let head = "Wall time: 1.5000 seconds\n";
    let done = format!("{head}Process exited with code 0\nOriginal token count: 1\nOutput:\nhi\n");
    check(&heard("hi\n", exit(0)), true, &done);
    let failed = format!("{head}Process exited with code 3\nOriginal token count: 0\nOutput:\n");
    check(&heard("", exit(3)), false, &failed);
    let runs = format!("{head}Process running with session ID 7\nOriginal token count: 0\nOutput:\n");
    check(&heard("", State::Running), true, &runs);
    let killed = State::Ended(Exit { code: None, signal: Some(2) });
    let killed_told = format!("{head}Process exited with code 130\nOriginal token count: 0\nOutput:\n");
    check(&heard("", killed), false, &killed_told);
    // The same piece has the same name, so that a model that goes in circles is noticed.
    assert_eq!(chunk(&json!({}), &heard("a", exit(0))), chunk(&json!({}), &heard("a", exit(0))));
}

#[test]
fn a_chunk_is_cut_to_what_was_asked_for() {
    let text = format!("{}é{}\n", "a".repeat(39), "b".repeat(38));
    let told = chunk(&json!({"max_output_tokens": 10}), &heard(&text, exit(0))).unwrap();
    let (_, output) = told.split_once("Output:\n").unwrap();
    let expected = format!(
        "Warning: truncated output (original token count: 20)\nTotal output lines: 1\n\n{}…10 tokens truncated…{}\n",
        "a".repeat(20),
        "b".repeat(19)
    );
    assert_eq!(output, expected);
    let whole = chunk(&json!({"max_output_tokens": 20}), &heard(&text, exit(0))).unwrap();
    assert!(whole.ends_with(&text));
    let none = chunk(&json!({"max_output_tokens": 0}), &heard("é", exit(0))).unwrap();
    assert!(none.ends_with("\n\n…1 tokens truncated…"), "{none}");
}

#[test]
fn calls_of_ours() {
    let check =
        |ask: fn(&Value) -> Result<Ours, String>, args: Value, tool: &'static str, arguments: Value| {
            assert_eq!(ask(&args), Ok(Ours::new(tool, arguments)));
        };
    let patch = json!({"patch": "*** Begin Patch"});
    check(apply_patch, json!("*** Begin Patch"), "apply_patch", patch.clone());
    check(apply_patch, json!({"input": "*** Begin Patch"}), "apply_patch", patch.clone());
    check(apply_patch, json!({"patch": "*** Begin Patch"}), "apply_patch", patch);
    assert!(apply_patch(&json!({"text": "x"})).is_err());
    let steps = json!([{"step": "look", "status": "pending"}]);
    let plan = json!({"explanation": "why", "plan": steps});
    check(update_plan, plan, "update_plan", json!({"explanation": "why", "steps": steps}));
    check(view_image, json!({"path": "a.png", "detail": "high"}), "read_file", json!({"file_path": "a.png"}));
    let spawn = json!({"message": "do it", "agent_type": "worker", "model": "m"});
    check(agents::spawn, spawn, "spawn_agent", json!({"task": "do it", "wait": false, "model": "m"}));
    let send = json!({"target": "a", "message": "go", "interrupt": true});
    check(agents::send, send, "send_input", json!({"agent_id": "a", "message": "go", "interrupt": true}));
    let wait = json!({"agent_ids": ["a"], "timeout_ms": 10_000, "until": "first"});
    check(agents::wait, json!({"targets": ["a"], "timeout_ms": 1}), "wait", wait);
    check(agents::close, json!({"target": "a"}), "close_agent", json!({"agent_id": "a"}));
}

#[test]
fn outcomes() {
    let check = |answer: fn(Came<'_>) -> ToolOutcome, outcome: ToolOutcome, expected: &str, failed: bool| {
        let cwd = junto_env::RealPath::resolved("/w");
        let args = json!({"path": "a.txt"});
        let came = Came { args: &args, cwd: &cwd, elapsed: Duration::ZERO, outcome };
        let told = answer(came);
        assert_eq!((told.output.preview().as_ref(), told.is_error), (expected, failed));
    };
    let success = "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\n";
    let report = ToolOutcome::ok("A new\nM old\nR from -> to\nD gone\n");
    check(patched, report, &format!("{success}A new\nM old\nM to\nD gone\n"), false);
    let miss = ToolOutcome::error("no such line");
    check(patched, miss, "apply_patch verification failed: no such line", true);
    check(plan_updated, ToolOutcome::ok("noted: 0 of 1 steps done"), "Plan updated", false);
    check(viewed, ToolOutcome::ok("  1 | text"), "a.txt is no picture that can be shown", true);
    let running = ToolOutcome::ok("kind-1: running");
    check(agents::spawned, running, r#"{"agent_id":"kind-1","nickname":null}"#, false);
    let closed = ToolOutcome::ok("kind-1: closed (it was running; turns used: 2)");
    check(agents::closed, closed, r#"{"previous_status":"running"}"#, false);
}

#[test]
fn answers_go_by_the_questions_ids() {
    let asked = json!({"id": "colour", "question": "Which?"});
    let answered = [Answered { asked: &asked, answer: "red".into() }];
    assert_eq!(answers(&answered), r#"{"answers":{"colour":{"answers":["red"]}}}"#);
}
