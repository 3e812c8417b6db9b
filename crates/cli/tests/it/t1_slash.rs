//! Slash commands: `/name arguments` in an input, wherever it comes from.

use junto::twin::{Play, Step};
use serde_json::json;

use crate::Run;
use crate::stage::Stage;
use crate::terminal::Terminal;

const FIX: &str = "---\ndescription: Mends something\nargument-hint: [what] [how]\n---\nMend $1 with $2, that is: $ARGUMENTS\n";

fn stage() -> Stage {
    let stage = Stage::on_any_wire(Play::of([Step { times: Some(9), ..Step::text("Done.") }]));
    stage.machine.write(".config/junto/commands/fix.md", FIX);
    stage
}

/// The last thing that the user said, as the model saw it.
fn heard(stage: &Stage) -> String {
    let requests = stage.requests();
    let messages = requests.last().unwrap().body["messages"].as_array().unwrap().clone();
    let last = messages.iter().rfind(|message| message["role"] == "user").unwrap().clone();
    last["content"].as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect()
}

#[test]
fn a_command_is_spelled_out_however_it_comes() {
    let expected = "Mend door with hammer, that is: door hammer";
    let stage = stage();
    stage.machine.run(&["run", "/fix door hammer"]).ok();
    assert_eq!(heard(&stage), expected);

    Run::of(stage.machine.command(&["run"]).write_stdin("/fix door hammer")).ok();
    assert_eq!(heard(&stage), expected);

    let order = json!({"command": "submit", "input": {"text": "/fix door hammer"}});
    let mut command = stage.machine.command(&["run", "--input", "json"]);
    Run::of(command.write_stdin(format!("{order}\n"))).ok();
    assert_eq!(heard(&stage), expected);

    let terminal = Terminal::start(&stage.machine, 100, &["run", "/fix door hammer"]);
    let (code, screen, _) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(heard(&stage), expected);

    let requests = stage.requests().len();
    let wrong = stage.machine.run(&["run", "/fxi door"]);
    assert_eq!(wrong.code, Some(1), "{wrong:#?}");
    assert!(wrong.err.contains("there is no command /fxi; did you mean /fix?"), "{wrong:#?}");
    assert_eq!(stage.requests().len(), requests);
    stage.machine.run(&["run", "/usr/bin/env is broken"]).ok();
    assert_eq!(heard(&stage), "/usr/bin/env is broken");
}

/// What a command prints is judged like everything that is run, and is in the journal with the input.
#[test]
fn a_shell_line_of_a_command_passes_the_gate_or_is_not_run() {
    let stage = stage();
    stage.machine.write(".config/junto/commands/state.md", "State: !`printf 'it is @fine'; touch made`!\n");
    stage.machine.write("project/fine", "secret of the file");
    stage.machine.run(&["run", "/state"]).ok();
    // What is printed includes no file.
    assert_eq!(heard(&stage), "State: it is @fine!");
    assert!(stage.machine.path("project/made").exists());
    std::fs::remove_file(stage.machine.path("project/made")).unwrap();

    for flags in
        [&["--policy", "read-only", "--sandbox", "off"][..], &["--policy", "ask"], &["--no-tool", "shell"]]
    {
        let args = [&["run"][..], flags, &["/state"]].concat();
        let run = stage.machine.run(&args);
        assert_eq!(run.code, Some(0), "{flags:?}: {run:#?}");
        assert!(!stage.machine.path("project/made").exists(), "{flags:?}");
        assert!(!heard(&stage).starts_with("State: it is"), "{flags:?}: {}", heard(&stage));
    }

    // A session that goes on has what was said, and runs nothing again.
    stage.machine.run(&["run", "/state"]).ok();
    std::fs::remove_file(stage.machine.path("project/made")).unwrap();
    stage.machine.run(&["resume", "latest", "Go on."]).ok();
    let last = stage.requests().last().unwrap().body.to_string();
    assert!(last.contains("State: it is @fine!") && last.contains("Go on."), "{last}");
    assert!(!stage.machine.path("project/made").exists());
}

#[test]
fn commands_of_a_project_are_listed_and_those_that_run_something_need_trust() {
    let stage = stage();
    let machine = &stage.machine;
    machine.write(
        "project/.claude/commands/git/commit.md",
        "---\ndescription: Commits\n---\nStatus: !`git status`\n",
    );
    machine.write("project/.junto/commands/plain.md", "Only words.\n");
    machine.write("project/.junto/commands/broken.md", "---\ndescription: [\n  - x\n---\nText\n");
    let listed = machine.run(&["commands"]);
    for line in [
        "/fix [what] [how]\n    Mends something\n",
        "/plain\n    Only words.\n",
        "/git:commit (not trusted)\n",
    ] {
        assert!(listed.out.contains(line), "no {line} in {listed:#?}");
    }
    assert!(listed.err.contains("broken.md:") && listed.err.contains("is not in force"), "{listed:#?}");
    machine.run(&["run", "/plain"]).ok();
    assert_eq!(heard(&stage), "Only words.");
    machine.run(&["run", "/commit"]).ok();
    assert_eq!(heard(&stage), "/commit", "it is a text as long as it is not trusted");
    let shown = machine.run(&["trust", "--yes"]);
    assert!(shown.err.contains("+ command /git:commit, which runs `git status`"), "{shown:#?}");
    machine.run(&["run", "/commit"]).ok();
    assert!(heard(&stage).starts_with("Status: "), "{}", heard(&stage));
}

/// The text of a command that nobody vouches for must not fetch what is none of the project's; what the user names, and
/// what the user's own commands name, is included.
#[test]
fn a_command_of_a_project_includes_only_files_of_the_project() {
    let stage = stage();
    let machine = &stage.machine;
    let diary = crate::text(&machine.write("diary.md", "dear diary"));
    machine.write("project/notes.md", "our notes");
    std::os::unix::fs::symlink(&diary, machine.path("project/link.md")).unwrap();
    let text = format!("Look at @notes.md, @link.md, @../diary.md and @{diary}\n");
    machine.write("project/.claude/commands/theirs.md", &text);
    machine.write("project/.agents/skills/look/SKILL.md", &text);
    machine.write(".claude/commands/mine.md", &text);
    let run = machine.run(&["run", "/theirs"]);
    let said = heard(&stage);
    assert!(said.contains("our notes") && !said.contains("dear diary"), "{said}");
    assert!(run.err.contains("includes only files of the project"), "{run:#?}");
    machine.run(&["run", "/look"]).ok();
    assert!(!heard(&stage).contains("dear diary"), "{}", heard(&stage));
    for typed in [format!("/theirs and @{diary}"), format!("/look @{diary}"), "/mine".to_owned()] {
        machine.run(&["run", &typed]).ok();
        assert_eq!(heard(&stage).matches("dear diary").count(), 1, "{typed}: {}", heard(&stage));
    }
}

/// Keys that other tools heed and this one does not are named where commands and skills are listed.
#[test]
fn what_is_not_heeded_is_told() {
    let machine = crate::Machine::new();
    let head = "---\nallowed-tools: Bash(git *)\nmodel: haiku\n---\nText\n";
    machine.write(".config/junto/commands/commit.md", head);
    machine.write(".config/junto/skills/pdf/SKILL.md", head);
    let commands = machine.run(&["commands"]).err;
    assert!(commands.contains("`allowed-tools` of /commit allows nothing here"), "{commands}");
    assert!(commands.contains("`model` of /commit is not asked"), "{commands}");
    assert!(machine.run(&["skills"]).err.contains("`allowed-tools` of pdf allows nothing here"));
}
