use std::fs;

use junto::core::{Event, grammar};
use junto::twin::{Fault, Play, Step, Stop};
use serde_json::{Value, json};

use crate::stage::{KEY, SETUPS, Stage, on_every_wire};
use crate::t1_commands::Session;
use crate::t1_interrupt::start;
use crate::{Machine, Run, text};

/// A round of the shell, and an answer that tells what it said.
fn one_round(command: &str) -> Play {
    Play::of([Step::call("shell", json!({"command": command})), Step::text("It says: {{last_result}}")])
}

/// The events of a finished session and its deltas, after a look at their grammar.
#[track_caller]
pub(crate) fn events(out: &str) -> (Vec<Value>, Vec<Value>) {
    assert!(out.ends_with('\n'), "{out}");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (events, deltas): (Vec<Value>, Vec<Value>) = lines.into_iter().partition(|line| line["seq"].is_u64());
    let typed: Vec<Event> = events.iter().map(|line| serde_json::from_value(line.clone()).unwrap()).collect();
    assert_eq!(grammar::check(&typed), Ok(()), "{out}");
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("session_start", "session_end"));
    for delta in &deltas {
        let start = &events[usize::try_from(delta["of"].as_u64().unwrap()).unwrap() - 1];
        let kind = start["type"].as_str().unwrap().trim_end_matches("_start");
        assert!(delta["type"].as_str().unwrap().starts_with(kind), "{delta} of {start}");
        for field in ["v", "session", "agent"] {
            assert_eq!(delta[field], start[field], "{delta} of {start}");
        }
    }
    (events, deltas)
}

pub(crate) fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

#[test]
fn the_answer_is_all_of_standard_output() {
    on_every_wire(
        || one_round("echo made > made.txt && cat made.txt"),
        |setup, stage| {
            let run = stage.machine.run(&["run", "Make a file."]);
            assert_eq!(run.code, Some(0), "{run:#?}");
            assert!(run.out.starts_with("It says: made\n"), "{run:#?}");
            let who = format!("{}/{}", setup.provider, setup.model);
            let folder = text(&stage.machine.path("project"));
            // As well as this machine can: the line says if that is only in part.
            let first = format!("native · {who} · {folder} · policy workspace, enforced ");
            let whole = !run.err.contains("not enforced here");
            let said = run.err.lines().next().unwrap().strip_prefix(&first).unwrap().to_owned();
            let expected =
                if whole { "by the kernel, no network" } else { "in part (see below), no network" };
            assert_eq!(said, expected, "{run:#?}");
            assert!(
                run.err.contains("> shell echo made > made.txt && cat made.txt\n  shell ok\n"),
                "{run:#?}"
            );
            let closing = run.err.lines().nth_back(1).unwrap();
            assert!(closing.starts_with(&format!("{who} · 1 round · in ")), "{run:#?}");
            assert_eq!(fs::read_to_string(stage.machine.path("project/made.txt")).unwrap(), "made\n");
        },
    );
}

#[test]
fn the_task_may_be_piped_in_and_the_talk_left_out() {
    let stage = Stage::on_any_wire(Play::default());
    let run = Run::of(stage.machine.command(&["run", "-q"]).write_stdin("Say this.\n"));
    assert_eq!((run.code, run.out.trim_end(), run.err.as_str()), (Some(0), "Say this.", ""), "{run:#?}");
    let sent = stage.requests()[0].body.to_string();
    assert!(sent.contains(&text(&stage.machine.path("project"))), "the prompt names the folder: {sent}");
    // With a task it is what the task is about.
    let mut command = stage.machine.command(&["run", "-q", "Review this."]);
    assert_eq!(
        Run::of(command.write_stdin("- one\n+ two\n")).ok().trim_end(),
        "Review this.\n\n- one\n+ two"
    );
}

#[test]
fn json_is_one_event_a_line() {
    on_every_wire(
        || one_round("echo one; echo two"),
        |setup, stage| {
            let out = stage.machine.run(&["run", "--json", "--effort", "high", "Count."]).ok();
            let (events, deltas) = events(&out);
            let joined = |kind: &str| -> String {
                of_type(&deltas, kind).iter().map(|delta| delta["text"].as_str().unwrap()).collect()
            };
            let ends = of_type(&events, "input_end");
            assert_eq!((ends.len(), &ends[0]["reason"]["end"]), (1, &json!("done")), "{out}");
            assert_eq!(ends[0]["text"], joined("assistant_text_delta"));
            assert!(joined("tool_call_output_delta").starts_with("one\ntwo\n"), "{out}");
            assert_eq!(of_type(&events, "call").len(), stage.requests().len());
            assert_eq!(of_type(&events, "call")[0]["provider"], setup.provider);
            assert!(!out.contains(KEY));
        },
    );
}

#[test]
fn children_do_not_see_the_keys() {
    let stage = Stage::on_any_wire(one_round("env"));
    let out = stage.machine.run(&["run", "--json", "Look."]).ok();
    assert!(out.contains("PATH="), "{out}");
    assert!(!out.contains("ANTHROPIC_API_KEY"), "{out}");
}

#[test]
fn an_answer_that_is_not_whole_is_told_by_the_exit_code() {
    let check = |finish: Stop, code: i32, said: &[&str]| {
        on_every_wire(
            || Play::of([Step { finish: Some(finish), ..Step::text("Once upon") }]),
            |setup, stage| {
                let run = stage.machine.run(&["run", "Tell."]);
                assert_eq!(
                    (run.code, run.out.trim_end()),
                    (Some(code), "Once upon"),
                    "{} {run:#?}",
                    setup.provider
                );
                assert!(said.iter().all(|part| run.err.contains(part)), "{} {run:#?}", setup.provider);
            },
        );
    };
    check(Stop::Length, 4, &["error: the answer was cut off", "hint: raise --max-answer-tokens"]);
    check(Stop::ContentFilter, 3, &["error: the model refused", "hint: rephrase"]);
}

#[test]
fn an_answer_that_was_cut_off_on_the_way_does_not_count() {
    let cut = Step { finish: Some(Stop::Length), ..Step::text("Once upon") };
    let stage = Stage::on_any_wire(Play::of([cut, Step::text("Done.")]));
    let mut session = Session::of(start(&stage.machine, &["run", "--json", "--input", "json"]));
    for task in ["Tell.", "Go on."] {
        session.tell(json!({"command": "submit", "input": {"text": task}}));
        session.wait_for("input_end");
    }
    drop(session.child.stdin.take());
    let (code, _, err) = session.end();
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn a_refusal_of_the_provider_is_told_as_ask_tells_it() {
    let check = |status: u16, hint: &str| {
        let stage = Stage::on_any_wire(Play::of([Step::fault(Fault::status(status))]));
        let machine = stage.machine.with("JUNTO_MAX_RETRIES", "0");
        for command in ["ask", "run"] {
            let run = machine.run(&[command, "Hi."]).fails(3, &[hint]);
            assert!(!run.err.contains("no model was asked"), "{run:#?}");
        }
    };
    check(400, "hint: change what the message names");
    check(401, "hint: check the key in ANTHROPIC_API_KEY");
    check(429, "hint: wait, or lower the rate of requests");
}

#[test]
fn nonsense_is_no_input() {
    let stage = Stage::on_any_wire(Play::default());
    let mut command = stage.machine.command(&["run", "--input", "json"]);
    let said = ["warning: this line is no command", "error: standard input had no line", "\"submit\""];
    Run::of(command.write_stdin("garbage\n")).fails(2, &said);
    assert!(stage.requests().is_empty());
    // Beside a task it is a warning.
    let mut command = stage.machine.command(&["run", "--input", "json", "Say this."]);
    assert_eq!(Run::of(command.write_stdin("garbage\n")).ok().trim_end(), "Say this.");
}

#[test]
fn a_limit_ends_it_with_4() {
    let turns = Play::of([Step { times: Some(100), ..Step::call("shell", json!({"command": "true"})) }]);
    // The task, two answers and two rounds of results are five turns.
    for (flag, most) in [("--max-turns", "5"), ("--max-rounds", "2")] {
        let stage = Stage::on_any_wire(turns.clone());
        stage.machine.run(&["run", flag, most, "Go on."]).fails(4, &["stopped at a limit", "--max-turns"]);
        assert_eq!(stage.requests().len(), 2, "{flag}");
    }
}

#[test]
fn a_provider_that_fails_ends_it_with_3() {
    let stage = Stage::on_any_wire(Play::of([Step::fault(Fault::status(500))]));
    let run = stage.machine.run(&["run", "Hi."]).fails(3, &["anthropic", "trying again"]);
    assert_eq!(run.err.matches("trying again").count(), 2, "{run:#?}");
    let (events, _) = events(&stage.machine.run(&["run", "--json", "Hi."]).out);
    assert_eq!(of_type(&events, "input_end")[0]["reason"]["end"], "failed");
}

#[test]
fn wrong_calls_end_with_2() {
    let stage = Stage::on_any_wire(Play::default());
    let check = |args: &[&str], said: &str| drop(stage.machine.run(args).fails(2, &[said]));
    check(&["run"], "there is no task");
    check(&["run", " "], "there is no task");
    check(&["run", "--cwd", "gone", "Hi."], "cannot work in");
    check(&["run", "--max-turns", "0", "Hi."], "--max-turns");
    check(&["run", "--max-tokens", "0", "Hi."], "--max-tokens");
    check(&["ask", "--max-tokens", "0", "Hi."], "--max-tokens");
    check(&["run", "--kind", "claude", "--ask", "Hi."], "--ask does nothing");
    check(&["run", "--kind", "claude", "--policy", "ask", "Hi."], "--policy ask does nothing");
    check(
        &["run", "--kind", "codex", "--effort", "minimal", "Hi."],
        "choose one of low, medium, high, xhigh",
    );
    check(&["run", "--policy", "workspac", "Hi."], "workspace");
    check(&["run", "--policy", "full", "--ask", "Hi."], "--ask");
    Machine::new().run(&["run", "Hi."]).fails(2, &["no model provider is configured"]);
    assert!(stage.requests().is_empty());
}

#[test]
fn what_nobody_can_be_asked_about_is_refused_and_the_model_told() {
    let stage = Stage::on_any_wire(one_round("touch made.txt"));
    let run = stage.machine.run(&["run", "--ask", "Make a file."]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.out.contains("nobody is there"), "{run:#?}");
    assert!(run.err.contains(" · policy ask\n"), "{run:#?}");
    assert!(!stage.machine.path("project/made.txt").exists());
}

#[test]
fn reading_needs_no_leave() {
    let read = Step::call("read_file", json!({"file_path": "note.txt"}));
    let stage = Stage::on_any_wire(Play::of([read, Step::text("It says: {{last_result}}")]));
    stage.machine.write("project/sub/note.txt", "hello there\n");
    let out = stage.machine.run(&["run", "--ask", "--cwd", "sub", "Read it."]).ok();
    assert!(out.contains("hello there"), "{out}");
}

#[test]
fn another_program_can_be_the_agent() {
    let machine = Machine::new().with_claude();
    let run = machine.run(&["run", "--kind", "claude", "--model", "m", "Be brief."]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "I was told: Be brief.\n"), "{run:#?}");
    assert!(run.err.starts_with("claude · m · "), "{run:#?}");
    events(&machine.run(&["run", "--kind", "claude", "--json", "Be brief."]).ok());
}

#[test]
fn a_program_that_is_not_there_is_named() {
    Machine::new().run(&["run", "--kind", "claude", "Hi."]).fails(2, &["cannot start claude", "installed"]);
}

/// A play that hands a task to Claude Code and tells what came of it.
fn handing_on() -> Play {
    let spawn = Step::call("spawn_agent", json!({"task": "Be brief.", "kind": "claude", "wait": true}));
    Play::of([spawn, Step::text("It says: {{last_result}}")])
}

#[test]
fn another_program_can_be_a_subagent() {
    let mut stage = Stage::on_any_wire(handing_on());
    stage.machine = stage.machine.with_claude();
    let out = stage.machine.run(&["run", "--policy", "full", "Hand it on."]).ok();
    assert!(out.contains("It says: ") && out.contains("I was told: Be brief."), "{out}");

    let offered = |stage: &Stage| {
        let tools = stage.requests()[0].body["tools"].as_array().unwrap().clone();
        let spawn = tools.into_iter().find(|tool| tool["name"] == "spawn_agent").unwrap();
        spawn["input_schema"]["properties"]["kind"]["enum"].clone()
    };
    assert_eq!(offered(&stage), json!(["claude", "native"]));

    // Where it is not installed it is not offered.
    let without = Stage::on_any_wire(handing_on());
    let out = without.machine.run(&["run", "--policy", "full", "Hand it on."]).ok();
    assert_eq!(offered(&without), json!(["native"]));
    assert!(out.contains("It says: `spawn_agent` cannot be called like this: `kind`"), "{out}");
}

#[test]
fn a_council_can_be_the_model() {
    let mut stage = Stage::new(&SETUPS[3], one_round("echo made > made.txt && cat made.txt"));
    stage.machine = stage.machine.with_claude();
    // The round was proposed by the one member that can.
    let run = stage.machine.run(&["run", "--council", "local/a-1,claude", "Make a file."]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.out.contains("It says: made"), "{run:#?}");
    assert!(run.err.starts_with("native · council of local/a-1, claude · "), "{run:#?}");
    assert!(stage.machine.path("project/made.txt").exists());

    let stage = Stage::new(&SETUPS[3], Play::text("We agree."));
    let out = stage.machine.run(&["run", "--council", "local/a-1,local/b-1", "Agree."]).ok();
    assert_eq!(out, "We agree.\n");
    let mut asked: Vec<_> = stage.requests().iter().map(|request| request.body["model"].clone()).collect();
    asked.sort_by_key(ToString::to_string);
    assert_eq!(asked, ["a-1", "b-1"]);
}

#[test]
fn a_council_costs_what_its_members_cost() {
    let council = ["run", "--council", "local/a-1,local/b-1", "Say this."];
    let stage = Stage::new(&SETUPS[3], Play::default());
    stage.price(&["a-1", "b-1"]);
    let run = stage.machine.run(&council);
    assert!(run.err.contains(&format!(" · about ${}.00 · ", stage.tokens())), "{run:#?}");
    // A sum is known no better than its parts.
    let stage = Stage::new(&SETUPS[3], Play::default());
    stage.price(&["a-1"]);
    let run = stage.machine.run(&council);
    assert!(run.err.contains(" · cost unknown · "), "{run:#?}");
}

#[test]
fn councils_that_cannot_be_end_with_2() {
    let stage = Stage::new(&SETUPS[3], Play::default());
    let check = |flags: &[&str], said: &str| {
        stage.machine.run(&[&["run", "Hi.", "--council"], flags].concat()).fails(2, &[said, "hint: "]);
    };
    check(&["tiny"], "nobody knows \"tiny\"");
    check(&["gone/tiny,claude"], "there is no provider \"gone\"");
    check(&["local/a,local/a"], "two members");
    check(&["local/a", "--model", "local/b"], "--model does nothing beside --council");
    check(&["local/a", "--provider", "local"], "--provider does nothing beside --council");
    check(&["local/a", "--kind", "claude"], "--council does nothing for agents of the kind claude");
    check(&["council:deep"], "there is no council \"deep\"");
    let none = Machine::new();
    none.run(&["run", "--council", "claude", "Hi."])
        .fails(2, &["the command-line agent claude is not installed"]);
    none.run(&["run", "--council", "openai/x", "Hi."]).fails(2, &["provider \"openai\" has no key"]);
    assert!(stage.requests().is_empty());
}

#[test]
fn an_answer_that_cannot_be_written_ends_it_with_1() {
    let stage = Stage::on_any_wire(Play::text("Words."));
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_junto"));
    command.env_clear().envs(stage.machine.environment()).current_dir(stage.machine.path("project"));
    let output = command.args(["run", "Hi."]).stdout(full).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("error: cannot write to standard output"), "{err}");
}
