use junto_env::{FileLines, FoundFile, Line};

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
    check(list_directory, json!({"dir_path": "src", "ignore": ["x"]}), "list_dir", json!({"path": "src"}));
    check(read_file, json!({"file_path": "a"}), "read_file", json!({"file_path": "a"}));
    let part = json!({"file_path": "a", "start_line": 3, "end_line": 5});
    check(read_file, part, "read_file", json!({"file_path": "a", "offset": 3, "limit": 3}));
    check(
        read_file,
        json!({"file_path": "a", "end_line": 5}),
        "read_file",
        json!({"file_path": "a", "limit": 5}),
    );
    assert!(read_file(&json!({"file_path": "a", "start_line": 5, "end_line": 4})).is_err());
    check(read_many_files, json!({"include": ["a"]}), "read_many_files", json!({"paths": ["a"]}));
    check(glob, json!({"pattern": "*", "dir_path": "src"}), "glob", json!({"pattern": "*", "path": "src"}));
    let change = json!({"file_path": "a", "instruction": "i", "old_string": "x", "new_string": "y", "allow_multiple": true});
    let edit = json!({"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true});
    check(replace, change, "edit_file", edit);
    let new =
        replace(&json!({"file_path": "a", "instruction": "i", "old_string": "", "new_string": "y"})).unwrap();
    assert_eq!((new.tool, new.only), ("write_file", Only::NewFiles));
    assert_eq!(new.arguments, json!({"file_path": "a", "content": "y"}));
    check(
        write_file,
        json!({"file_path": "a", "content": "x"}),
        "write_file",
        json!({"file_path": "a", "content": "x"}),
    );
    let todos = json!({"todos": [
        {"description": "a", "status": "in_progress"},
        {"description": "b", "status": "cancelled"},
        {"description": "c", "status": "blocked"}
    ]});
    let steps = json!({"steps": [
        {"step": "a", "status": "in_progress"},
        {"step": "b (cancelled)", "status": "completed"},
        {"step": "c (blocked)", "status": "pending"}
    ]});
    check(write_todos, todos, "update_plan", steps);
    let page = json!({"prompt": "What is said on (https://a.b/c?d=e), and https://f.g?"});
    check(web_fetch, page, "web_fetch", json!({"url": "https://a.b/c?d=e"}));
    assert!(web_fetch(&json!({"prompt": "What is new?"})).is_err());
    let agent = json!({"agent_name": "generalist", "prompt": "do it"});
    check(agents::invoke, agent, "spawn_agent", json!({"task": "do it", "wait": true}));
}

#[test]
fn commands() {
    let check = |args: Value, cwd: Option<&str>, patience: Patience| {
        let cwd = cwd.map(str::to_owned);
        let expected = Launch { line: "ls".into(), cwd, means: Means::Pipes, patience };
        assert_eq!(run_shell_command(&args, Timeouts::default()), Ok(expected), "{args}");
    };
    check(json!({"command": "ls", "description": "d"}), None, Patience::Silence(SILENCE));
    check(json!({"command": "ls", "dir_path": "src"}), Some("src"), Patience::Silence(SILENCE));
    check(json!({"command": "ls", "is_background": true}), None, Patience::For(Duration::ZERO));
    let watched = json!({"command": "ls", "is_background": true, "delay_ms": 500});
    check(watched, None, Patience::For(Duration::from_millis(500)));
}

#[test]
fn what_a_command_said() {
    let check = |heard: &Heard, fine: bool, expected: &str| {
        let expected = format!("<untrusted_context>\n{expected}\n</untrusted_context>");
        assert_eq!(ran(&json!({}), heard), if fine { Ok(expected) } else { Err(expected) });
    };
    check(&heard("hi\n", exit(0)), true, "Output: hi\nExit Code: 0");
    check(&heard("", exit(3)), true, "Output: (empty)\nExit Code: 3");
    let killed = State::Ended(Exit { code: None, signal: Some(9) });
    check(&heard("", killed.clone()), true, "Output: (empty)\nSignal: 9");
    check(&heard("up\n", State::Running), true, "Output: up\nBackground PIDs: 99");
    let silent = Heard { end: End::Silent(SILENCE), ..heard("up\n", killed) };
    check(&silent, false, "Output: up\nSignal: 9\nError: ended after 5 minutes without output");
    let read = |args: Value| said(&args, &heard("a\nb\nc\n", State::Running)).unwrap();
    assert_eq!(read(json!({"pid": 99})), "[PID 99] running\na\nb\nc");
    assert_eq!(read(json!({"pid": 99, "lines": 1})), "[PID 99] running\n[2 lines before this]\nc");
    let turn = read_background_output(&json!({"pid": 99, "delay_ms": 5})).unwrap();
    let wait = Duration::from_millis(5);
    assert_eq!(turn, Turn { job: Which::Process(99), what: What::Listen, since: Since::Start, wait });
    assert_eq!(processes(&[]), "No background processes.");
}

#[test]
fn searches() {
    let root = || RealPath::resolved("/w");
    let check =
        |args: Value, expected: Search| assert_eq!(grep_search(&args, root()), Ok(expected), "{args}");
    let plain = || Search::grep("x", root()).case(Case::Insensitive).context(50, 50).limit(100);
    check(json!({"pattern": "x"}), plain());
    check(json!({"pattern": "x", "names_only": true}), plain().show(Show::Files));
    check(json!({"pattern": "x", "context": 2, "total_max_matches": 7}), plain().context(2, 2).limit(7));
    check(json!({"pattern": "x", "before": 1, "after": 0}), plain().context(1, 0));
    let other = plain().case(Case::Sensitive).only("*.rs").literal().with_ignored();
    let args = json!({"pattern": "x", "case_sensitive": true, "include_pattern": "*.rs", "fixed_strings": true, "no_ignore": true});
    check(args, other);
    assert!(grep_search(&json!({"pattern": "x", "exclude_pattern": "y"}), root()).is_err());
}

#[test]
fn what_was_found() {
    let check = |args: Value, found: Found, expected: &str| {
        let hits = Hits { found, truncated: false, unreadable: 0 };
        assert_eq!(matches(&args, &hits, &RealPath::resolved("/w")), expected, "{args}");
    };
    let line = |number: u64, matches: bool| Line {
        number,
        text: format!("line {number}"),
        matches,
        cut_before: 0,
        cut_after: 0,
    };
    let file = |lines: Vec<Line>| {
        Found::Lines(vec![FileLines { path: RealPath::resolved("/w/a"), lines, binary: false }])
    };
    // The fewer there are, the more is shown around them.
    let one = file(vec![line(1, false), line(50, true), line(99, false)]);
    check(
        json!({"pattern": "x"}),
        one,
        "Found 1 match for pattern \"x\":\n---\nFile: a\nL-1: line 1\nL50: line 50\nL-99: line 99\n---",
    );
    let two = file(vec![line(1, false), line(50, true), line(51, true), line(60, false)]);
    check(
        json!({"pattern": "x"}),
        two,
        "Found 2 matches for pattern \"x\":\n---\nFile: a\nL50: line 50\nL51: line 51\nL-60: line 60\n---",
    );
    let many = || file((1..=5).map(|number| line(number, number != 2)).collect());
    check(
        json!({"pattern": "x"}),
        many(),
        "Found 4 matches for pattern \"x\":\n---\nFile: a\nL1: line 1\nL3: line 3\nL4: line 4\nL5: line 5\n---",
    );
    check(
        json!({"pattern": "x", "max_matches_per_file": 1, "context": 0}),
        many(),
        "Found 1 match for pattern \"x\":\n---\nFile: a\nL1: line 1\nL-2: line 2\n---",
    );
    check(json!({"pattern": "x"}), Found::Lines(vec![]), "No matches found for pattern \"x\".");
    let files = Found::Files(vec![FoundFile { path: RealPath::resolved("/w/b"), modified: None }]);
    check(json!({"pattern": "x"}), files, "Found 1 files with matches for pattern \"x\":\nb");
}

#[test]
fn outcomes() {
    let check = |answer: fn(Came<'_>) -> ToolOutcome, args: Value, outcome: ToolOutcome, expected: &str| {
        let cwd = RealPath::resolved("/w");
        let told = answer(Came { args: &args, cwd: &cwd, elapsed: Duration::ZERO, outcome });
        assert_eq!(told.output.preview(), expected);
    };
    let (ok, error) = (|text: &str| ToolOutcome::ok(text), |text: &str| ToolOutcome::error(text));
    let listing = "/w:\na.pyc (3 bytes)\nb.py (9 bytes)\nsrc/\nx (no regular file)\n[only some]\n";
    let told = "Directory listing for /w:\n[DIR] src\nb.py (9 bytes)\nx (no regular file)\n[only some]";
    check(listed, json!({"ignore": ["*.pyc"]}), ok(listing), told);
    check(
        listed,
        json!({}),
        ok("/w:\n[the directory is empty]\n"),
        "Directory listing for /w:\n[the directory is empty]",
    );
    check(content, json!({}), ok("  1 | alpha\n  2 | \n"), "alpha\n");
    let more = "  3 | a\n[the file goes on: continue with offset 4]\n";
    let told = "Status: Showing lines 3-3; the file goes on.\nAction: To read more, set start_line to 4.\n\n\
                --- FILE CONTENT (truncated) ---\na";
    check(content, json!({}), ok(more), told);
    check(content, json!({}), ok("[the file is empty]\n"), "[the file is empty]\n");
    check(content, json!({}), error("there is no /w/a"), "there is no /w/a");
    check(
        files,
        json!({"pattern": "*"}),
        ok("a\nb/c\n[there are more]\n"),
        "Found 2 file(s) matching \"*\", the last changed first:\n/w/a\n/w/b/c\n[there are more]",
    );
    check(files, json!({"pattern": "*"}), ok("no files match\n"), "No files found matching pattern \"*\"");
    let edit = "replaced once in /w/a\n  1 | x\n  2 | y\n...\n";
    check(replaced, json!({}), ok(edit), "Modified file: /w/a (1 replacement). It now has:\nx\ny");
    let edits = "replaced 2 times in /w/a\n  1 | x\n...\n";
    check(replaced, json!({}), ok(edits), "Modified file: /w/a (2 replacements). It now has:\nx");
    check(replaced, json!({}), ok("created /w/a (1 bytes)"), "Created and wrote new file: /w/a (1 bytes)");
    check(written, json!({}), ok("replaced /w/a (1 bytes)"), "Overwrote file: /w/a (1 bytes)");
    let todos = json!({"todos": [{"description": "look", "status": "blocked"}]});
    check(noted, todos, ok("noted"), "The todo list is now:\n1. [blocked] look");
    let two = json!({"prompt": "https://a.b and https://c.d"});
    check(fetched, two, ok("page"), "page\n[one page is fetched by each call; not yet: https://c.d]");
    let agent = json!({"agent_name": "generalist"});
    check(
        agents::invoked,
        agent,
        ok("42"),
        "Subagent 'generalist' finished.\nTermination Reason: GOAL\nResult:\n42",
    );
}

#[test]
fn patterns_of_names() {
    for (pattern, name, expected) in [
        ("*.pyc", "a.pyc", true),
        ("*.pyc", "a.py", false),
        ("a*c*", "abcd", true),
        ("a", "a", true),
        ("a", "ab", false),
        ("*", "é", true),
        ("é*", "éa", true),
    ] {
        assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
    }
}

#[test]
fn answers_are_numbered() {
    let asked = json!({"question": "Which?"});
    let answered = [Answered { asked: &asked, answer: "red".into() }];
    assert_eq!(answers(&answered), r#"{"answers":{"0":"red"}}"#);
}
