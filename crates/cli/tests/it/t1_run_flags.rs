//! Each flag of `junto run`, and the setting that does the same.

use std::fs;

use junto::twin::{Play, Step, When};
use serde_json::{Value, json};

use crate::stage::{KEY, SETUPS, Stage, on_every_wire};
use crate::t1_interrupt::start;
use crate::{Machine, Run, text};

fn shell(command: &str) -> Play {
    Play::of([Step::call("shell", json!({"command": command})), Step::text("It says: {{last_result}}")])
}

/// The names of the tools in a request on Anthropic's wire.
fn tools(stage: &Stage) -> Vec<String> {
    let requests = stage.requests();
    let tools = requests.last().unwrap().body["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// The tools that are offered with these flags.
#[track_caller]
fn offered(flags: &[&str]) -> Vec<String> {
    let stage = Stage::on_any_wire(Play::text("Done."));
    stage.machine.run(&[&["run"], flags, &["Work."]].concat()).ok();
    tools(&stage)
}

#[track_caller]
fn check_offered(flags: &[&str], there: &[&str], absent: &[&str]) {
    let offered = offered(flags);
    let has = |name: &&&str| offered.iter().any(|tool| tool == **name);
    assert!(there.iter().all(|name| has(&name)), "{flags:?}: {there:?} in {offered:?}");
    assert!(!absent.iter().any(|name| has(&name)), "{flags:?}: no {absent:?} in {offered:?}");
}

#[test]
fn tools_are_switched_on_and_off() {
    check_offered(&[], &["shell", "edit_file", "spawn_agent"], &["list_dir", "web_fetch", "ask_user"]);
    check_offered(&["--tool", "list_dir", "--tool", "apply_patch"], &["list_dir", "apply_patch"], &[]);
    check_offered(&["--no-tool", "shell", "--no-tool", "spawn_agent"], &["grep"], &["shell", "spawn_agent"]);
    check_offered(&["--web"], &["web_fetch", "web_search"], &[]);
}

#[test]
fn the_web_is_searched_where_the_provider_can() {
    on_every_wire(
        || Play::text("Done."),
        |setup, stage| {
            // Older models of Google's do not search beside other tools.
            let newer: &[&str] =
                if setup.provider == "gemini" { &["--model", "gemini-3.5-flash"] } else { &[] };
            stage.machine.run(&[&["run", "--web", "Work."], newer].concat()).ok();
            let tools = stage.requests()[0].body["tools"].to_string();
            assert!(tools.contains("web_fetch"), "{tools}");
            let searches = tools.contains("web_search") || tools.contains("googleSearch");
            assert_eq!(searches, setup.provider != "local", "{tools}");
        },
    );
}

#[test]
fn a_program_can_be_asked() {
    let ask = Step::call("ask_user", json!({"question": "Which?"}));
    let stage = Stage::on_any_wire(Play::of([ask, Step::text("Heard: {{last_result}}")]));
    let mut child = start(&stage.machine, &["run", "--json", "--input", "json", "Work."]);
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let question = lines
        .by_ref()
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
        .find(|event| event["type"] == "question")
        .unwrap();
    let reply =
        json!({"command": "reply", "ask": question["ask"], "reply": {"reply": "said", "text": "That."}});
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, format!("{reply}\n").as_bytes()).unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(rest.iter().any(|line| line.contains("Heard: That.")), "{rest:?}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(tools(&stage).contains(&"ask_user".to_owned()));
}

#[test]
fn a_profile_is_named_or_a_file() {
    check_offered(&["--profile", "openai"], &["apply_patch"], &["edit_file"]);
    let file = "[profile]\nid = \"mine\"\nextends = \"anthropic\"\nmodel = \"anthropic/claude-haiku-5-5\"\n\
                base = \"You are terse.\"\ntools = [\"grep\"]\n";
    let stage = Stage::on_any_wire(Play::text("Done."));
    stage.machine.write("project/mine.toml", file);
    stage.machine.run(&["run", "--profile", "mine.toml", "Work."]).ok();
    let body = stage.requests()[0].body.clone();
    assert!(body["system"].to_string().contains("You are terse."), "{body}");
    assert!(!tools(&stage).contains(&"shell".to_owned()), "{body}");
    // What the user says of the model counts more.
    assert_eq!(body["model"], "claude-opus-5-5");

    // The file's own model, where nobody names one; and a file that a file names stands beside it.
    let config = stage.machine.path(".config/junto/config.toml");
    fs::write(&config, "profile = \"profiles/own.toml\"\n").unwrap();
    stage.machine.write(".config/junto/profiles/own.toml", file);
    stage.machine.run(&["run", "Work."]).ok();
    assert_eq!(stage.requests()[1].body["model"], "claude-haiku-5-5");
}

#[test]
fn the_dialect_is_chosen() {
    let check = |flags: &[&str], setting: &str, there: &str, absent: &str| {
        let stage = Stage::on_any_wire(Play::text("Done."));
        let config = stage.machine.path(".config/junto/config.toml");
        fs::write(&config, fs::read_to_string(&config).unwrap() + setting).unwrap();
        stage.machine.run(&[&["run"], flags, &["Work."]].concat()).ok();
        let tools = tools(&stage);
        let has = |name: &str| tools.iter().any(|tool| tool == name);
        assert!(has(there) && !has(absent), "{flags:?} {setting:?}: {tools:?}");
    };
    let native = "\ndialect = \"native\"\n";
    check(&[], "", "shell", "Bash");
    check(&["--dialect", "native"], "", "Bash", "shell");
    check(&[], native, "Bash", "shell");
    check(&["--dialect", "spec"], native, "shell", "Bash");
}

#[test]
fn instructions_come_last() {
    let stage = Stage::on_any_wire(Play::text("Done."));
    stage.machine.run(&["run", "--instructions", "Answer in Latin.", "Work."]).ok();
    let body = stage.requests()[0].body.clone();
    let system = body["system"].to_string();
    let (_, rest) = system.split_once("Answer in Latin.").unwrap_or_else(|| panic!("{system}"));
    assert!(!rest.contains(' '), "nothing comes after it: {rest}");
}

#[test]
fn the_answer_has_at_most_so_many_tokens() {
    let check = |flags: &[&str], variable: Option<&str>| {
        on_every_wire(
            || Play::text("Done."),
            |setup, stage| {
                let mut command = stage.machine.command(&[&["run"], flags, &["Work."]].concat());
                Run::of(command.envs(variable.map(|value| ("JUNTO_MAX_TOKENS", value)))).ok();
                let body = stage.requests()[0].body.clone();
                let fields = [
                    "/max_tokens",
                    "/max_output_tokens",
                    "/generationConfig/maxOutputTokens",
                    "/max_completion_tokens",
                ];
                let limit = fields.iter().find_map(|field| body.pointer(field));
                assert_eq!(limit, Some(&json!(777)), "{} {body}", setup.provider);
            },
        );
    };
    check(&["--max-answer-tokens", "777"], None);
    check(&[], Some("777"));
}

#[test]
fn it_ends_when_its_time_is_up() {
    let endless = || Play::of([Step::call("shell", json!({"command": "sleep 600", "timeout_ms": 600_000}))]);
    let stage = Stage::on_any_wire(endless());
    let said = ["stopped at a limit: at most 300ms in all", "--timeout"];
    stage.machine.run(&["run", "--timeout", "300ms", "Work."]).fails(4, &said);
    let mut stage = Stage::on_any_wire(endless());
    stage.machine = stage.machine.with("JUNTO_RUN_TIMEOUT", "300ms");
    stage.machine.run(&["run", "Work."]).fails(4, &said);
    // Time enough.
    let stage = Stage::on_any_wire(Play::text("Done."));
    assert_eq!(stage.machine.run(&["run", "--timeout", "10m", "Work."]).ok(), "Done.\n");
}

#[test]
fn commands_have_their_time() {
    let stage = Stage::on_any_wire(shell("echo begun; sleep 600"));
    let out = stage.machine.run(&["run", "--command-timeout", "300ms", "Work."]).ok();
    assert!(out.contains("begun") && out.contains("timed out after 300ms"), "{out}");
    let mut stage = Stage::on_any_wire(shell("sleep 600"));
    stage.machine = stage.machine.with("JUNTO_COMMAND_TIMEOUT", "200ms");
    let out = stage.machine.run(&["run", "Work."]).ok();
    assert!(out.contains("timed out after 200ms"), "{out}");
}

#[test]
fn commands_inherit_what_they_may() {
    let check = |flags: &[&str], there: &[&str], absent: &[&str]| {
        let mut stage = Stage::on_any_wire(shell("/usr/bin/env"));
        stage.machine = stage.machine.with("MY_SETTING", "set").with("MY_TOKEN", "secret");
        let out = stage.machine.run(&[&["run"], flags, &["Work."]].concat()).ok();
        assert!(there.iter().all(|name| out.contains(name)), "{flags:?} {there:?} in {out}");
        assert!(!absent.iter().any(|name| out.contains(name)), "{flags:?} no {absent:?} in {out}");
        assert!(!out.contains(KEY), "{out}");
    };
    check(&[], &["HOME="], &["MY_SETTING=", "MY_TOKEN="]);
    check(&["--env-policy", "core"], &["HOME="], &["MY_SETTING=", "MY_TOKEN="]);
    check(&["--env-policy", "all"], &["HOME=", "MY_SETTING=set"], &["MY_TOKEN="]);
    check(&["--env-policy", "none"], &["PWD="], &["HOME=", "MY_SETTING="]);
}

#[test]
fn it_works_in_the_folder_and_by_the_settings_of_its_project() {
    let stage = Stage::on_any_wire(shell("pwd"));
    let other = stage.machine.path("other");
    stage.machine.write("other/.junto/config.toml", "instructions = \"Be kind.\"\n");
    stage.machine.run(&["config", "trust", "../other"]).ok();
    let out = stage.machine.run(&["run", "-C", "../other", "Work."]).ok();
    assert!(out.contains(&text(&other)), "{out}");
    assert!(stage.requests()[0].body["system"].to_string().contains("Be kind."));
}

#[test]
fn limits_can_be_configured() {
    let step = Step { times: Some(100), ..Step::call("shell", json!({"command": "true"})) };
    for (key, most) in [("max_turns", 5), ("max_rounds", 2)] {
        let stage = Stage::on_any_wire(Play::of([step.clone()]));
        let config = stage.machine.path(".config/junto/config.toml");
        let setting = format!("\n[limits]\n{key} = {most}\n");
        fs::write(&config, fs::read_to_string(&config).unwrap() + &setting).unwrap();
        stage.machine.run(&["run", "Go on."]).fails(4, &["stopped at a limit"]);
        assert_eq!(stage.requests().len(), 2, "{key}");
    }
}

/// A conversation that gets too long is made shorter, unless somebody wants something else.
#[test]
fn what_gets_too_long_is_made_shorter() {
    let stage = || {
        let work = Step::call("shell", json!({"command": "seq -s ' ' 100000 104000 | fold -w 70"}));
        let summary = Step::text("## Task\nCount.")
            .when(When { contains: Some("<hand-over".into()), ..When::default() });
        Stage::on_any_wire(Play::of([summary, Step { times: Some(12), ..work }, Step::text("Counted.")]))
    };
    let run = |stage: &Stage, more: &[&str]| {
        stage.machine.run(&[&["run", "--model", "claude-tiny-30000", "Count."], more].concat())
    };
    let compacting = stage();
    let done = run(&compacting, &[]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "Counted.\n"), "{done:#?}");
    assert!(done.err.contains("the conversation was made shorter"), "{done:#?}");
    let failing = stage();
    run(&failing, &["--on-overflow", "fail"]).fails(3, &["prompt is too long"]);
    assert_eq!(failing.requests().iter().filter(|request| request.status == 400).count(), 1);
}

#[test]
fn settings_are_shown_with_their_origin() {
    let machine = Machine::configured("dialect = \"native\"\n[timeouts]\nrun = \"1h\"\n")
        .with("JUNTO_PROFILE", "openai");
    let shown = machine.run(&["config", "show"]).ok();
    for line in
        ["dialect = \"native\"", "timeouts.run = \"1h\"", "profile = \"openai\"", "env_policy = \"core\""]
    {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    assert!(
        shown.contains("# env JUNTO_PROFILE") && shown.contains("timeouts.command is not set"),
        "{shown}"
    );
}

#[test]
fn a_wrong_key_names_its_variable() {
    for setup in &SETUPS {
        let mut stage = Stage::new(setup, Play::text("Done."));
        let (_, variable) = setup.variables();
        stage.machine = stage.machine.with(variable, "wrong");
        stage
            .machine
            .run(&["run", "Hi."])
            .fails(3, &[setup.provider, &format!("hint: check the key in {variable}")]);
    }
}

#[test]
fn piped_output_has_no_control_characters() {
    let edit = json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"});
    let plan = json!({"steps": [{"step": "look", "status": "pending"}]});
    let steps = [
        Step::call("shell", json!({"command": "printf '\\033[31mred\\033[0m\\n'"})),
        Step::call("edit_file", edit),
        Step::call("update_plan", plan),
        Step::text("# Done\n\nIt **works**.\n"),
    ];
    let stage = Stage::on_any_wire(Play::of(steps.clone()));
    stage.machine.write("project/a.txt", "one\n");
    let run = stage.machine.run(&["run", "Work."]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "# Done\n\nIt **works**.\n"), "{run:#?}");
    assert!(!run.err.contains(|c: char| c.is_control() && c != '\n'), "{run:#?}");
    assert!(run.err.contains("[ ] look") && run.err.contains("> edit_file a.txt"), "{run:#?}");

    // Unless somebody asks for them; the model's own stay out.
    let stage = Stage::on_any_wire(Play::of(steps));
    stage.machine.write("project/a.txt", "one\n");
    let run = stage.machine.run(&["run", "--color", "always", "Work."]);
    assert!(run.out.contains("\u{1b}[1mworks\u{1b}[0m"), "{run:#?}");
    assert!(run.err.contains("\u{1b}[32m+ two") && !run.err.contains('\r'), "{run:#?}");
}

#[test]
fn what_a_model_writes_drives_no_terminal_through_a_pipe() {
    let evil = "a\u{1b}]0;owned\u{7}\u{202e}b\n";
    let stage = Stage::on_any_wire(Play::text(evil));
    for command in ["run", "ask"] {
        let run = stage.machine.run(&[command, "Hi."]);
        assert_eq!(
            (run.code, run.out.as_str()),
            (Some(0), "a\u{fffd}]0;owned\u{fffd}\u{fffd}b\n"),
            "{run:#?}"
        );
    }
    let out = stage.machine.run(&["run", "--json", "Hi."]).ok();
    let end = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let end = end.into_iter().find(|event| event["type"] == "input_end").unwrap();
    assert_eq!(end["text"], evil);
}

#[test]
fn what_makes_no_sense_ends_with_2() {
    let stage = Stage::on_any_wire(Play::default());
    stage.machine.write("project/broken.toml", "[profile]\nid = \"x\"\nextends = \"nobody\"\n");
    let check = |flags: &[&str], said: &[&str]| {
        stage.machine.run(&[&["run"], flags, &["Hi."]].concat()).fails(2, said);
    };
    check(&["--provider", "gone"], &["unknown provider \"gone\""]);
    check(&["--model", "zebra"], &["unknown model alias \"zebra\""]);
    check(&["--profile", "gemni"], &["no profile \"gemni\"; did you mean \"gemini\"?"]);
    check(&["--profile", "gone.toml"], &["cannot read the profile"]);
    check(&["--profile", "broken.toml"], &["broken.toml", "line"]);
    check(&["--dialect", "klingon"], &["klingon", "spec, native"]);
    check(&["--timeout", "3"], &["flag --timeout: expected a duration above zero"]);
    check(&["--timeout", "0s"], &["--timeout"]);
    check(&["--command-timeout", "soon"], &["--command-timeout", "soon"]);
    check(&["--command-timeout", "2h"], &["no command may take 2h", "at most 10m"]);
    check(&["-C", "gone"], &["cannot work in", "-C"]);
    check(&["--env-policy", "some"], &["some", "all, core, none"]);
    check(&["--on-overflow", "hide"], &["hide", "close, fail, compact"]);
    check(&["--max-rounds", "0"], &["--max-rounds"]);
    check(&["--max-tokens", "many"], &["many"]);
    check(&["--tool", "shel"], &["no tool \"shel\"; did you mean \"shell\"?"]);
    check(&["--no-tool", "fly"], &["--no-tool: there is no tool \"fly\"", "the tools are "]);
    check(&["--input", "xml"], &["xml", "text, json"]);
    check(&["--color", "sometimes"], &["sometimes", "auto, always, never"]);
    for flag in ["--web", "--profile=openai", "--tool=shell", "--no-tool=shell", "--command-timeout=1s"] {
        check(&["--kind", "claude", flag], &["does nothing for agents of the kind claude"]);
    }
    assert!(stage.requests().is_empty());
}
