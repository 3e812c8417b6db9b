//! MCP servers in sessions: what a user configures, trusts and allows.

use std::io::{BufRead as _, BufReader, Write as _};
use std::time::{Duration, Instant};

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::Machine;
use crate::stage::{SETUPS, Stage, on_every_wire};
use crate::t1_interrupt::start;

/// Nothing here takes this long; what does hangs.
const HANG: Duration = Duration::from_mins(1);

const FAULTY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/it/faulty.py");

/// A file with one server, which notes each of its starts.
fn servers(machine: &Machine, modes: &[&str]) -> String {
    let count = format!("count={}", crate::text(&machine.path("started")));
    let args: Vec<&str> = [FAULTY, &count].into_iter().chain(modes.iter().copied()).collect();
    json!({"mcpServers": {"faulty": {"command": "python3", "args": args}}}).to_string()
}

fn allow(machine: &Machine) {
    let file = machine.path(".config/junto/config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let rule = "\n[[policy.rule]]\ntool = \"faulty__*\"\ndecision = \"allow\"\n";
    std::fs::write(&file, text + rule).unwrap();
}

/// The calls of a run that ended, each with its outcome.
fn ends(out: &str) -> Vec<(String, bool, String)> {
    let events = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events
        .filter(|event| event["type"] == "tool_call_end")
        .map(|event| {
            let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
            (text("name"), event["is_error"].as_bool().unwrap(), text("output"))
        })
        .collect()
}

#[test]
fn a_session_finds_and_calls_the_tools_of_a_server_on_every_wire() {
    let play = || {
        Play::of(vec![
            Step::call("tool_search", json!({"query": "echo"})),
            Step::call("faulty__echo", json!({"text": "hello"})),
            Step::text("Done."),
        ])
    };
    on_every_wire(play, |setup, stage| {
        stage.machine.write(".config/junto/mcp.json", servers(&stage.machine, &[]));
        allow(&stage.machine);
        let run = stage.machine.run(&["run", "--json", "Use it."]).ok();
        let ends = ends(&run);
        let [(search, false, found), (echo, false, said)] = &ends[..] else { panic!("{ends:?}") };
        assert_eq!(
            (search.as_str(), echo.as_str(), said.as_str()),
            ("tool_search", "faulty__echo", "echo says: hello")
        );
        assert!(found.contains("faulty__echo"), "{}: {found}", setup.provider);
    });
}

#[test]
fn whatever_a_server_does_the_session_goes_on() {
    let calls = ["die", "garble", "huge", "rename", "echo"];
    let search = Step::call("tool_search", json!({"query": "die"}));
    let calls = calls.iter().map(|tool| Step::call(format!("faulty__{tool}"), json!({})));
    let steps: Vec<Step> = [search].into_iter().chain(calls).chain([Step::text("Done.")]).collect();
    let stage = Stage::on_any_wire(Play::of(steps));
    stage.machine.write(".config/junto/mcp.json", servers(&stage.machine, &["noisy"]));
    allow(&stage.machine);
    let run = stage.machine.run(&["run", "--json", "Use it."]).ok();
    let ends = ends(&run);
    let failed: Vec<(&str, bool)> = ends.iter().map(|(name, failed, _)| (name.as_str(), *failed)).collect();
    let expected = [
        ("tool_search", false),
        ("faulty__die", true),
        ("faulty__garble", true),
        ("faulty__huge", true),
        ("faulty__rename", false),
    ];
    assert_eq!(failed[..5], expected, "{ends:?}");
    assert_eq!(std::fs::read_to_string(stage.machine.path("started")).unwrap(), "started\nstarted\n");
}

#[test]
fn a_server_that_hangs_and_one_that_floods_cost_their_calls() {
    let search = Step::call("tool_search", json!({"query": "hang"}));
    let calls =
        ["hang", "flood", "babble", "echo"].map(|tool| Step::call(format!("faulty__{tool}"), json!({})));
    let steps: Vec<Step> = [search].into_iter().chain(calls).chain([Step::text("Done.")]).collect();
    let stage = Stage::on_any_wire(Play::of(steps));
    let mut file: Value = serde_json::from_str(&servers(&stage.machine, &[])).unwrap();
    file["mcpServers"]["faulty"]["timeout"] = json!(4000);
    stage.machine.write(".config/junto/mcp.json", file.to_string());
    allow(&stage.machine);
    let ends = ends(&stage.machine.run(&["run", "--json", "Use it."]).ok());
    let [_, (_, true, hung), (_, true, flooded), (_, true, babbled), (_, false, said)] = &ends[..] else {
        panic!("{ends:?}")
    };
    assert!(hung.contains("did not answer within 4s"), "{hung}");
    assert!(flooded.contains("without end") && babbled.contains("without end"), "{flooded} {babbled}");
    assert_eq!(said, "echo says: ");
}

#[test]
fn a_call_that_no_rule_allows_is_not_made_where_nobody_can_be_asked() {
    let steps = vec![
        Step::call("tool_search", json!({"query": "echo"})),
        Step::call("faulty__echo", json!({"text": "hello"})),
        Step::text("Done."),
    ];
    let stage = Stage::on_any_wire(Play::of(steps));
    stage.machine.write(".config/junto/mcp.json", servers(&stage.machine, &[]));
    let run = stage.machine.run(&["run", "--json", "Use it."]).ok();
    let ends = ends(&run);
    assert!(matches!(&ends[..], [_, (_, true, said)] if !said.contains("echo says")), "{ends:?}");
}

/// A server in the sandbox changes nothing that commands in it do not, whatever the agent may do.
#[test]
fn a_server_that_is_kept_in_the_sandbox_does_not_leave_it() {
    for sandbox in [false, true] {
        let steps = vec![
            Step::call("tool_search", json!({"query": "touch"})),
            Step::call("faulty__touch", json!({"text": ".git/touched"})),
            Step::text("Done."),
        ];
        let stage = Stage::on_any_wire(Play::of(steps));
        let mut file: Value = serde_json::from_str(&servers(&stage.machine, &[])).unwrap();
        file["mcpServers"]["faulty"]["sandbox"] = json!(sandbox);
        stage.machine.write(".config/junto/mcp.json", file.to_string());
        let run = stage.machine.run(&["run", "--json", "--policy", "full", "Use it."]).ok();
        let (ends, touched) = (ends(&run), stage.machine.path("project/.git/touched").exists());
        assert_eq!((ends[1].1, touched), (sandbox, !sandbox), "{ends:?}");
    }
}

/// What can be kept only in part is not started as if it were kept.
#[test]
fn a_server_that_wants_a_sandbox_is_refused_where_there_is_no_whole_one() {
    let stage = Stage::on_any_wire(Play::text("Done."));
    let bin = crate::text(&stage.machine.path("bin"));
    let machine = stage.machine.with("PATH", &bin);
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/usr/bin/python3", machine.path("bin/python3")).unwrap();
    let mut file: Value = serde_json::from_str(&servers(&machine, &[])).unwrap();
    file["mcpServers"]["faulty"]["sandbox"] = json!(true);
    machine.write(".config/junto/mcp.json", file.to_string());
    let run = machine.run(&["mcp", "test"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    for said in ["it wants a sandbox", "bubblewrap", "junto doctor"] {
        assert!(run.out.contains(said), "no {said} in {run:#?}");
    }
    let run = machine.run(&["run", "--policy", "full", "Work."]);
    assert!(run.err.contains("MCP servers that are not started (faulty): "), "{run:#?}");
    assert!(run.out.contains("Done.") && !machine.path("started").exists(), "it was started");
}

/// Trust in a project's servers is trust in the programs in it that they run; what a person is asked about is shown.
#[test]
fn what_a_projects_servers_run_is_trusted_with_them() {
    let machine = Machine::new();
    let count = format!("count={}", crate::text(&machine.path("started")));
    machine.write("project/tools/serve.py", std::fs::read(FAULTY).unwrap());
    let entry =
        json!({"command": "python3", "args": ["${CLAUDE_PROJECT_DIR:-.}/tools/serve.py", count, "data.db"]});
    machine.write("project/.mcp.json", json!({"mcpServers": {"faulty": entry}}).to_string());
    machine.write("project/data.db", "1");
    let shown = machine.run(&["trust", "--yes"]).err;
    let runs = "; of this project it runs tools/serve.py, and what that loads; outside of the sandbox";
    assert!(shown.contains("+ server faulty: python3 ") && shown.contains(runs), "{shown}");
    let standing = || machine.run(&["trust", "--list"]).ok();
    machine.write("project/data.db", "2");
    assert!(standing().contains("(in force)"), "data may change: {}", standing());
    // From wherever an agent works, it is this file that runs.
    std::fs::create_dir(machine.path("project/below")).unwrap();
    let mut below = machine.command(&["mcp", "test"]);
    let below = crate::Run::of(below.current_dir(machine.path("project/below")));
    assert!(below.ok().contains("faulty__echo"));
    assert_eq!(std::fs::read_to_string(machine.path("started")).unwrap(), "started\n");

    let other = std::fs::read_to_string(FAULTY).unwrap() + "\n# more\n";
    machine.write("project/tools/serve.py", other);
    assert!(standing().contains("(changed since)"), "{}", standing());
    machine.run(&["mcp", "test"]).fails(2, &["no MCP server is configured"]);
    assert_eq!(std::fs::read_to_string(machine.path("started")).unwrap(), "started\n");
}

/// Whoever can change a program runs it, however the entry names it.
#[test]
fn what_a_line_or_a_variable_names_is_trusted_with_the_server() {
    let machine = Machine::new();
    let count = format!("count={}", crate::text(&machine.path("started")));
    machine.write("project/tools/serve.py", std::fs::read(FAULTY).unwrap());
    machine.write("project/hook", "true");
    let line = format!("exec python3 \"tools/serve.py\" {count}");
    let entry = json!({"command": "bash", "args": ["-c", line], "env": {"BASH_ENV": "./hook"}});
    machine.write("project/.mcp.json", json!({"mcpServers": {"faulty": entry}}).to_string());
    let shown = machine.run(&["trust", "--yes"]).err;
    assert!(shown.contains("; of this project it runs hook, tools/serve.py, and what that loads"), "{shown}");
    std::fs::create_dir(machine.path("project/below")).unwrap();
    let mut below = machine.command(&["mcp", "test"]);
    let below = crate::Run::of(below.current_dir(machine.path("project/below")));
    assert!(below.ok().contains("faulty__echo"), "it runs where it was looked at");
    for file in ["hook", "tools/serve.py"] {
        let path = format!("project/{file}");
        let before = std::fs::read_to_string(machine.path(&path)).unwrap();
        machine.write(&path, format!("{before}\n# more\n"));
        let standing = machine.run(&["trust", "--list"]).ok();
        assert!(standing.contains("(changed since)"), "{file}: {standing}");
        machine.run(&["mcp", "test"]).fails(2, &["no MCP server is configured"]);
        machine.write(&path, before);
    }
    assert!(machine.run(&["trust", "--list"]).ok().contains("(in force)"));
}

/// A file of a project that nobody can read, or that is too long, keeps nobody from working in it.
#[test]
fn a_projects_file_that_cannot_be_read_is_told_and_left_out() {
    for path in [".mcp.json", ".junto/config.toml"] {
        for (text, why) in [(vec![b' '; (1 << 20) + 1], "is longer than"), (vec![0xff], "is not UTF-8")] {
            let stage = Stage::on_any_wire(Play::text("Done."));
            stage.machine.write(&format!("project/{path}"), text);
            let run = stage.machine.run(&["run", "Work."]);
            assert_eq!(run.code, Some(0), "{path}: {run:#?}");
            assert!(run.out.contains("Done.") && run.err.contains(path) && run.err.contains(why), "{run:#?}");
            stage.machine.run(&["trust", "--yes"]).fails(2, &[why, "no configuration of its own to trust"]);
        }
    }
}

/// A call that waited for leave when its session was killed is made when the session comes back: it waits for the
/// server. And the server of the host that was killed, which does not end with its input, is ended by the next one.
#[test]
fn a_call_that_was_pending_is_made_when_the_session_comes_back() {
    let steps = vec![
        Step::call("tool_search", json!({"query": "echo"})),
        Step::call("faulty__echo", json!({"text": "hello"})),
        Step::text("It says: {{last_result}}"),
    ];
    let stage = Stage::on_any_wire(Play::of(steps));
    let machine = &stage.machine;
    let stays = format!("stays={}", crate::text(&machine.path("stays")));
    machine.write(".config/junto/mcp.json", servers(machine, &["slow=0.2", &stays]));
    let mut child = start(machine, &["run", "--json", "--input", "json"]);
    let order = json!({"command": "submit", "input": {"text": "Use it."}});
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{order}").unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut events = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let asked = events.find(|event| event["type"] == "ask");
    assert!(asked.is_some(), "nobody was asked");
    child.kill().unwrap();
    child.wait().unwrap();
    let deadline = Instant::now() + HANG;
    let left = loop {
        let pid = std::fs::read_to_string(machine.path("stays")).unwrap_or_default();
        if !pid.is_empty() {
            break pid;
        }
        assert!(Instant::now() < deadline, "the server does not know that its host is gone");
        std::thread::yield_now();
    };

    allow(machine);
    let run = machine.run(&["resume"]);
    assert!(run.out.contains("It says: echo says: hello"), "{run:#?}");
    let cmdline = std::fs::read_to_string(format!("/proc/{left}/cmdline")).unwrap_or_default();
    assert!(!cmdline.contains("faulty.py"), "{cmdline} is left");
}

#[test]
fn a_projects_servers_start_only_when_it_is_trusted() {
    let steps = || vec![Step::text("Done.")];
    let stage = Stage::on_any_wire(Play::of(steps()));
    let machine = &stage.machine;
    machine.write("project/.mcp.json", servers(machine, &[]));
    let root = crate::text(&machine.path("project"));
    let run = machine.run(&["run", "Work."]);
    assert!(run.err.contains("is not in force because it is not trusted"), "{run:#?}");
    assert!(machine.run(&["mcp", "list"]).ok().contains("no MCP server is configured"));
    machine.run(&["mcp", "test"]).fails(2, &["no MCP server is configured"]);
    assert!(!machine.path("started").exists(), "it was started");

    let trusted = machine.run(&["trust", "--yes"]);
    assert!(
        trusted.err.contains("+ server faulty: python3") && trusted.err.contains("is trusted now"),
        "{trusted:#?}"
    );
    let tested: Value = serde_json::from_str(&machine.run(&["mcp", "test", "--json"]).ok()).unwrap();
    assert_eq!(tested["servers"][0]["error"], Value::Null, "{tested}");
    assert_eq!(std::fs::read_to_string(machine.path("started")).unwrap(), "started\n");
    assert_eq!(machine.run(&["trust", "--list"]).ok(), format!("{root} (in force)\n"));

    // What has changed has to be looked at again.
    machine.write("project/.mcp.json", servers(machine, &["noisy"]));
    let run = machine.run(&["run", "Work."]);
    assert!(run.err.contains("has changed since it was trusted"), "{run:#?}");
    assert_eq!(machine.run(&["trust", "--list"]).ok(), format!("{root} (changed since)\n"));
    machine.run(&["trust", "--yes"]);
    machine.run(&["trust", "--revoke"]);
    assert!(machine.run(&["run", "Work."]).err.contains("is not trusted"));
    assert_eq!(std::fs::read_to_string(machine.path("started")).unwrap(), "started\n");
}

/// What a project's file says is shown as it would be, keys by their names; the user's servers stay; a broken file
/// or one that is none stops nobody.
#[test]
fn a_projects_servers_are_shown_as_they_are_and_replace_none() {
    let stage = Stage::on_any_wire(Play::of([Step { times: Some(9), ..Step::text("Done.") }]));
    let machine = &stage.machine;
    let theirs = json!({"servers": {
        "mine": {"command": "theirs"},
        "far": {"type": "http", "command": "decoy", "url": "http://127.0.0.1:9/?k=${SECRET}",
            "headers": {"Authorization": "Bearer ${SECRET}"}},
    }});
    machine.write("project/.mcp.json", theirs.to_string());
    machine.write(".config/junto/mcp.json", json!({"mcpServers": {"mine": {"command": "mine"}}}).to_string());
    let trusted = machine.run(&["trust", "--yes"]).err;
    let far = "+ server far: http://127.0.0.1:9/?k=${SECRET}; headers: Authorization=Bearer ${SECRET}";
    assert!(trusted.contains(far) && !trusted.contains("decoy"), "{trusted}");
    let listed = machine.command(&["mcp", "list"]).env("SECRET", "sk-1").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("mine: mine") && !listed.contains("theirs"), "{listed}");
    assert!(listed.contains("${SECRET}") && !listed.contains("sk-1"), "{listed}");
    machine.write("project/.mcp.json", "{}");
    machine.run(&["trust", "--yes"]);
    assert!(machine.run(&["run", "Work."]).ok().contains("Done."));
    std::fs::remove_file(machine.path("project/.mcp.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", machine.path("project/.mcp.json")).unwrap();
    assert!(machine.run(&["run", "Work."]).ok().contains("Done."));
}

/// The first request goes out although a server never answers.
#[test]
fn no_request_waits_for_a_server() {
    let stage = Stage::new(&SETUPS[1], Play::text("Done."));
    stage.machine.write(".config/junto/mcp.json", servers(&stage.machine, &["mute"]));
    assert!(stage.machine.run(&["run", "Work."]).ok().contains("Done."));
    let requests = stage.requests();
    assert!(requests[0].body.to_string().contains("faulty (still starting)"), "{}", requests[0].body);
}

#[test]
fn a_server_that_cannot_be_started_is_told_once() {
    let steps = vec![Step::call("tool_search", json!({"query": "x"})), Step::text("Done.")];
    let stage = Stage::on_any_wire(Play::of(steps));
    stage.machine.run(&["mcp", "add", "bad", "--", "/nonexistent/prog"]).ok();
    let run = stage.machine.run(&["run", "Work."]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert_eq!(run.err.matches("warning: the MCP server bad could not be started: ").count(), 1, "{run:#?}");
    assert!(run.err.contains("`junto mcp test bad`"), "{run:#?}");
}

#[test]
fn servers_are_added_listed_and_tested() {
    let machine = Machine::new();
    let add = |args: &[&str]| {
        let args: Vec<&str> = ["mcp", "add"].iter().chain(args).copied().collect();
        machine.run(&args).ok()
    };
    add(&["one", "--env", "A=b", "--deny", "die", "--", "python3", FAULTY]);
    add(&["two", "--url", "http://127.0.0.1:9/mcp", "--header", "X-Key=k"]);
    add(&["three", "--project", "--", "python3", FAULTY, "broken"]);
    let listed: Value = serde_json::from_str(&machine.run(&["mcp", "list", "--json"]).ok()).unwrap();
    let names: Vec<&Value> = listed["servers"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["one", "two", "three"], "whoever adds one to a project trusts it");
    assert!(!listed.to_string().contains("X-Key"), "{listed}");

    let tested: Value = serde_json::from_str(&machine.run(&["mcp", "test", "one", "--json"]).ok()).unwrap();
    let tools = tested["servers"][0]["tools"].as_array().unwrap();
    let has = |name: &str| tools.iter().any(|tool| tool["name"] == name);
    assert!(has("one__echo") && !has("one__die"), "{tested}");
    let all = machine.run(&["mcp", "test"]);
    assert_eq!(all.code, Some(1), "{all:#?}");
    assert!(all.out.contains("three: failed") && all.out.contains("there is no key for me"), "{all:#?}");
    assert!(all.out.contains("two: failed"), "{all:#?}");
    machine.run(&["mcp", "add", "x"]).fails(2, &[]);
    machine.run(&["mcp", "add", "x", "--env", "A", "--", "p"]).fails(2, &["NAME=VALUE"]);
    machine.run(&["mcp", "test", "nobody"]).fails(2, &["no MCP server \"nobody\""]);
    machine.run(&["mcp", "remove", "one"]).ok();
    machine.run(&["mcp", "remove", "one"]).fails(2, &["no MCP server \"one\""]);
    machine.run(&["mcp", "remove", "three"]).fails(2, &["no MCP server \"three\"", "--project"]);
    machine.run(&["mcp", "remove", "three", "--project"]).ok();
    let left = machine.run(&["mcp", "list"]).ok();
    assert!(left.starts_with("two: ") && left.lines().count() == 1, "{left}");
    let trusted = machine.run(&["trust", "--list"]).ok();
    assert!(trusted.contains("(in force)"), "what is left was trusted: {trusted}");
    machine.write(".config/junto/mcp.json", "{");
    machine.run(&["mcp", "list"]).fails(2, &["mcp.json: line 1: it is no JSON"]);
}
