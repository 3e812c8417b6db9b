//! Agents that have a name, as a user sets them up and talks to them.

use serde_json::{Value, json};

use crate::Machine;
use crate::agents::{Agents, each, until};
use crate::t1_run::of_type;
use crate::t1_sessions::lines;

fn json(out: &str) -> Value {
    serde_json::from_str(out).unwrap()
}

#[test]
fn an_agent_is_added_changed_listed_and_removed() {
    let agents = Agents::unnamed(Machine::new());
    assert_eq!(
        agents.run(&["agent", "list"]).ok(),
        "there are no agents yet; `junto agent add NAME` adds one\n"
    );
    let flags =
        ["--model", "opus", "--effort", "high", "--max-context", "1000", "--daily-reset", "4:00", "--json"];
    let added = json(&agents.run(&[&["agent", "add", "Nex"][..], &flags].concat()).ok());
    let project = agents.machine.path("project").display().to_string();
    let folder = agents.machine.path(".local/state/junto/agents/Nex");
    let setup = json!({
        "provider": "claude", "model": "opus", "effort": "high", "workspace": project,
        "refresh": {"max_context": 1000, "daily_at": "04:00"},
    });
    assert_eq!((&added["name"], &added["setup"]), (&json!("Nex"), &setup));
    assert_eq!(added["folder"], folder.display().to_string());
    assert!(folder.is_dir(), "an agent has a folder of its own");

    let flags = ["--idle-timeout", "2d", "--unset", "max-context,effort", "--add-dir", "..", "--json"];
    let set = json(&agents.run(&[&["agent", "set", "nex"][..], &flags].concat()).ok());
    let home = agents.machine.path("").display().to_string();
    let home = home.trim_end_matches('/');
    let setup = json!({
        "provider": "claude", "model": "opus", "workspace": project, "directories": [home],
        "refresh": {"daily_at": "04:00", "idle": "PT48H"},
    });
    assert_eq!((&set["name"], &set["setup"]), (&json!("Nex"), &setup), "case makes no difference");

    let list = json(&agents.run(&["agent", "list", "--json"]).ok());
    assert_eq!(
        (each(&list["agents"], "name"), each(&list["agents"], "state")),
        (vec![json!("Nex")], vec![json!("idle")])
    );
    let status = agents.run(&["agent", "status", "nex"]).ok();
    for line in [
        "state          idle, health unknown",
        "daily reset    04:00",
        "idle timeout   48h",
        "runs           none yet",
    ] {
        assert!(status.contains(line), "no {line:?} in {status}");
    }

    agents.run(&["agent", "remove", "nex"]).ok();
    assert!(folder.is_dir(), "what it wrote stays");
    agents.run(&["agent", "status", "nex"]).fails(2, &["\"nex\": there is no agent of this name"]);
}

#[test]
fn what_makes_no_sense_is_told_with_what_does() {
    let agents = Agents::new();
    let add = |args: &[&str], said: &[&str]| {
        agents.run(&[&["agent", "add"], args].concat()).fails(2, said);
    };
    add(&["NEX"], &["\"NEX\": there is an agent of this name", "junto agent set"]);
    add(&["a b"], &["words of letters and digits"]);
    add(&["Claude"], &["has a meaning of its own"]);
    add(&["x", "--provider", "cluade"], &["no command-line agent \"cluade\"; did you mean \"claude\"?"]);
    add(&["x", "--fallback", "native"], &["no command-line agent \"native\""]);
    add(&["x", "--workspace", "gone"], &["--workspace", "a folder that exists"]);
    add(&["x", "--daily-reset", "25:00"], &["--daily-reset", "25:00"]);
    add(&["x", "--idle-timeout", "soon"], &["--idle-timeout", "30m, 8h or 2d"]);
    add(&["x", "--provider", "codex", "--effort", "minimal"], &["codex does not think", "\"minimal\""]);
    agents
        .run(&["agent", "set", "nex", "--provider", "codex", "--effort", "minimal"])
        .fails(2, &["codex does not think"]);
    for command in
        [&["status", "nxe"][..], &["send", "nxe", "Hi."], &["abort", "nxe"], &["new", "nxe"], &["set", "nxe"]]
    {
        agents.run(&[&["agent"], command].concat()).fails(2, &["did you mean \"nex\"?", "junto agent list"]);
    }
    agents
        .run(&["run", "--agent", "nxe", "Hi."])
        .fails(2, &["no agent \"nxe\"; did you mean \"nex\"?", "native, claude"]);
    let run = |flags: &[&str], said: &str| {
        agents
            .run(&[&["run", "--agent", "nex", "Hi."], flags].concat())
            .fails(2, &[said, "that has a name", "junto agent"]);
    };
    run(&["--model", "m"], "--model does nothing");
    run(&["-C", "."], "--cwd does nothing");
    run(&["--resume"], "--resume does nothing");
    run(&["--policy", "read-only"], "--policy does nothing");
    agents.run(&["agent", "send", "nex", "--policy", "full", "Hi."]).fails(2, &["--policy does nothing"]);
    agents.run(&["run", "--agent", "nex", " "]).fails(2, &["there is no task"]);
    assert!(agents.calls().is_empty() && agents.status()["queue"] == json!([]));
}

#[test]
fn an_agent_goes_on_where_it_was() {
    let agents = Agents::set_up(&["--model", "opus"]);
    let first = agents.send("One.");
    assert_eq!((first.code, first.out.as_str()), (Some(0), "I was told: One.\n"), "{first:#?}");
    assert!(first.err.starts_with("nex · claude · opus · "), "{first:#?}");
    let second = agents.run(&["run", "--agent", "nex", "--json", "Two."]).ok();
    let events = lines(&second);
    assert_eq!(of_type(&events, "input_end")[0]["text"], "I was told: Two.");
    let [one, two] = &agents.calls()[..] else { panic!("{:#?}", agents.calls()) };
    assert_eq!((one.resumed(), two.resumed()), (None, Some(one.session.as_str())));
    assert!(one.arguments.contains("--model opus"), "{one:?}");

    let status = agents.status();
    assert_eq!(each(&status["runs"], "status"), ["completed", "completed"]);
    assert_eq!(each(&status["runs"], "fresh"), [Value::Null, json!("no-session-handle")]);
    assert_eq!(each(&status["runs"], "session"), [json!(one.session), json!(one.session)]);
    assert_eq!(each(&status["runs"], "text"), ["I was told: Two.", "I was told: One."]);
    assert_eq!((&status["health"], &status["waiting"]), (&json!("ok"), &json!(0)));
    // Each run is a session like any other, and says whose it is.
    let journal = status["runs"][0]["journal"].as_str().unwrap();
    assert!(agents.run(&["export", journal]).ok().contains("I was told: Two."));
    let cost = json(&agents.run(&["cost", "--by", "agent", "--json"]).ok());
    assert_eq!((each(&cost["rows"], "key"), &cost["rows"][0]["calls"]), (vec![json!("nex")], &json!(2)));

    agents.run(&["agent", "new", "nex"]).ok();
    agents.send("Three.").ok();
    assert_eq!(agents.calls()[2].resumed(), None, "it was to forget");
}

#[test]
fn the_log_tells_of_each_run() {
    let agents = Agents::new();
    let line = |run: &crate::Run| {
        let found = run.err.lines().find(|line| line.contains("event=agent-run-complete"));
        found.unwrap_or_else(|| panic!("{run:#?}")).to_owned()
    };
    let plain = line(&agents.send("One."));
    let fields = |line: &str| {
        let names = line.split(' ').map(|field| field.split('=').next().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(
        fields(&plain),
        ["ts", "level", "event", "agent", "state", "duration", "context-length"],
        "{plain}"
    );
    assert!(
        plain.contains(" agent=nex state=success ") && plain.ends_with(" context-length=1000"),
        "{plain}"
    );
    let debug = line(&agents.run(&["agent", "send", "nex", "--debug", "Two."]));
    let billing =
        ["input-tokens", "output-tokens", "cache-read-tokens", "cache-write-tokens", "total-tokens"];
    let expected = ["ts", "level", "event", "agent", "agent-run-id", "state", "duration", "context-length"];
    assert_eq!(fields(&debug), [&expected[..], &billing].concat(), "{debug}");
    assert!(
        debug.ends_with(" output-tokens=25 cache-read-tokens=50 cache-write-tokens=25 total-tokens=1000"),
        "{debug}"
    );
    agents.mode("crash");
    let failed = line(&agents.send("Three."));
    assert!(failed.contains(" state=failed ") && failed.contains(" context-length=none error="), "{failed}");
}

#[test]
fn an_agent_gets_its_own_folder_and_others_and_what_it_is_told() {
    let agents = Agents::set_up(&["--add-dir", "..", "--instructions", "Be-kind.", "--policy", "full"]);
    agents.send("One.").ok();
    let arguments = agents.calls()[0].arguments.clone();
    let own = agents.machine.path(".local/state/junto/agents/nex");
    let home = agents.machine.path("").display().to_string();
    assert!(arguments.contains(&own.display().to_string()), "{arguments}");
    assert!(arguments.contains(home.trim_end_matches('/')) && arguments.contains("Be-kind."), "{arguments}");
    assert!(arguments.contains("--permission-mode bypassPermissions"), "{arguments}");
    // What the configuration says to all agents it hears, too, and before.
    agents.machine.write(".config/junto/config.toml", "instructions = \"Be-brief.\"\n");
    agents.send("Two.").ok();
    let told = std::fs::read_to_string(agents.machine.path("bin/calls")).unwrap();
    assert!(told.contains("Be-brief.\n\nBe-kind."), "{told}");
}

#[test]
fn what_is_refused_is_not_queued() {
    let agents = Agents::new();
    let refused = |flags: &[&str], said: &[&str]| {
        for command in [&["run", "--agent", "nex"][..], &["agent", "send", "nex"]] {
            agents.run(&[command, flags, &["Hi."]].concat()).fails(2, said);
        }
    };
    refused(&["--max-rounds", "3"], &["--max-rounds does nothing"]);
    refused(&["--ask"], &["--ask does nothing"]);
    let folder = agents.machine.path("project/inner");
    std::fs::create_dir(&folder).unwrap();
    agents.run(&["agent", "set", "nex", "--workspace", "inner"]).ok();
    std::fs::remove_dir(&folder).unwrap();
    refused(&[], &["the workspace of nex is no folder", "junto agent set nex --workspace"]);
    assert!(agents.calls().is_empty() && agents.status()["queue"] == json!([]));
}

#[test]
fn an_agent_has_its_own_folder_whoever_removed_it() {
    let agents = Agents::new();
    let own = agents.machine.path(".local/state/junto/agents/nex");
    std::fs::remove_dir(&own).unwrap();
    agents.send("One.").ok();
    assert!(own.is_dir());
}

#[test]
fn a_session_that_was_cut_off_takes_what_it_is_told_next() {
    let agents = Agents::unnamed(Machine::new());
    agents.mode("hold");
    let mut child = agents.start(&["run", "--agent", "claude", "One."]);
    until("the session is known", || {
        let Some(call) = agents.calls().pop() else { return false };
        agents.run(&["export", "--format", "json", "latest"]).out.contains(&call.session)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    // What the killed one left behind ends by itself.
    agents.mode("");
    agents.open_gate();
    let run = agents.run(&["run", "--agent", "claude", "--resume", "latest", "Two."]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "I was told: Two.\n"), "{run:#?}");
    let [one, two] = &agents.calls()[..] else { panic!("{:#?}", agents.calls()) };
    assert_eq!((two.resumed(), two.task.as_str()), (Some(one.session.as_str()), "Two."));
}

#[test]
fn a_kind_goes_on_with_its_latest_session() {
    let agents = Agents::unnamed(Machine::new());
    agents.run(&["run", "--agent", "claude", "One."]).ok();
    agents.run(&["run", "--agent", "claude", "--resume", "latest", "Two."]).ok();
    let calls = agents.calls();
    assert_eq!(calls[1].resumed(), Some(calls[0].session.as_str()));
    agents
        .run(&["run", "--agent", "native", "--resume", "latest", "Hi."])
        .fails(2, &["no session of native"]);
    let sessions = json(&agents.run(&["sessions", "--json"]).ok());
    let id = sessions["sessions"][0]["id"].as_str().unwrap();
    agents
        .run(&["run", "--agent", "native", "--resume", id, "Hi."])
        .fails(2, &["is of the kind claude, not native"]);
}
