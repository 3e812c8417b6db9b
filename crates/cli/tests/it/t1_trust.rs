//! A project's own configuration: not in force until somebody has said so, and only as it was then.

use std::fs;

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::terminal::Terminal;
use crate::{Machine, text};

const PROJECT: &str = "# what we use\nmodel = \"project\"\n\n[policy]\nmode = \"full\"\n\n\
                       [[policy.rule]]\ncommand = \"make *\"\ndecision = \"allow\"\n";

fn machine() -> Machine {
    let machine = Machine::configured("model = \"user\"\n");
    machine.write("project/.junto/config.toml", PROJECT);
    machine
}

/// The mode in force, and the rules.
fn policy(machine: &Machine) -> (String, usize) {
    let shown: Value = serde_json::from_str(&machine.run(&["policy", "show", "--json"]).ok()).unwrap();
    (shown["mode"].as_str().unwrap().to_owned(), shown["rules"].as_array().unwrap().len())
}

#[test]
fn a_project_is_trusted_as_it_was_shown() {
    let machine = machine();
    let root = text(&machine.path("project"));
    assert_eq!(policy(&machine), ("workspace".to_owned(), 0));
    let told = machine.run(&["policy", "show"]);
    assert!(
        told.err.contains("is not in force") && told.err.contains(&format!("junto trust {root}")),
        "{told:#?}"
    );

    let run = machine.run(&["trust", "--yes"]);
    for line in [
        "- model = \"user\"",
        "+ model = \"project\"",
        "+ policy.mode = \"full\"",
        "+ allow command \"make *\"",
    ] {
        assert!(run.err.contains(&format!("\n    {line}\n")), "no {line} in {run:#?}");
    }
    assert!(run.err.contains(&format!("{root} is trusted now")), "{run:#?}");
    assert_eq!(policy(&machine), ("full".to_owned(), 1));
    assert!(machine.run(&["trust"]).err.contains("was trusted already"));
    assert_eq!(machine.run(&["trust", "--list"]).ok(), format!("{root} (in force)\n"));

    // What has changed has to be looked at again.
    machine.write("project/.junto/config.toml", format!("{PROJECT}\n# more\n"));
    assert_eq!(policy(&machine), ("workspace".to_owned(), 0));
    let told = machine.run(&["policy", "show"]);
    assert!(told.err.contains("has changed since it was trusted"), "{told:#?}");
    assert_eq!(machine.run(&["trust", "--list"]).ok(), format!("{root} (changed since)\n"));
    machine.write("project/.junto/config.toml", PROJECT);
    assert_eq!(policy(&machine).0, "full", "it is what was trusted");

    assert!(machine.run(&["trust", "--revoke"]).err.contains("is trusted no more"));
    assert_eq!(policy(&machine), ("workspace".to_owned(), 0));
    assert_eq!(machine.run(&["trust", "--list"]).ok(), "no project is trusted\n");
}

#[test]
fn what_is_wrong_is_not_trusted() {
    let machine = Machine::new();
    machine.run(&["trust"]).fails(2, &["no configuration of its own to trust"]);
    machine.run(&["trust", "/"]).fails(2, &["is not in a project"]);
    machine.write("project/.junto/config.toml", "[policy]\nmod = \"full\"\n");
    machine
        .run(&["trust", "--yes"])
        .fails(2, &["config.toml:2: unknown key \"mod\"", "did you mean \"mode\"?"]);
    assert!(!machine.path(".config/junto/trusted.toml").exists());
    // It is read before anybody trusts it, and is not in force for that.
    machine.run(&["config", "validate"]).fails(2, &["config.toml:2: unknown key \"mod\""]);
    machine.write("project/.junto/config.toml", "[policy]\nmode = \"full\"\n");
    let run = machine.run(&["config", "validate"]);
    assert!(run.err.contains("config.toml, which is not in force"), "{run:#?}");
    assert_eq!((run.code, policy(&machine).0.as_str()), (Some(0), "workspace"));
}

#[test]
fn an_interrupt_ends_the_question() {
    let machine = machine();
    let mut terminal = Terminal::start(&machine, 200, &["trust"]);
    terminal.wait_for("Trust it? [y/n]");
    terminal.keys("\u{3}");
    let (code, screen, _) = terminal.end();
    assert_eq!((code, screen.matches("Trust it?").count()), (Some(130), 1), "{screen}");
    assert!(screen.trim_end().ends_with("error: interrupted"), "{screen}");
}

#[test]
fn an_earlier_list_of_trusted_projects_is_taken_over() {
    let machine = machine();
    let root = text(&machine.path("project"));
    machine.write(".config/junto/trusted.toml", format!("# mine\nprojects = [{root:?}]\n"));
    assert_eq!(policy(&machine).0, "workspace", "what was trusted then is not known");
    machine.run(&["trust", "--yes"]).ok();
    assert_eq!(policy(&machine).0, "full");
    let list = fs::read_to_string(machine.path(".config/junto/trusted.toml")).unwrap();
    assert!(list.contains("[[project]]") && !list.contains("projects"), "{list}");
}

/// The model asked for a key in the environment of a project that would have allowed everything.
#[test]
fn a_run_says_what_is_not_in_force() {
    let stage = Stage::on_any_wire(Play::of([
        Step::call("write_file", json!({"file_path": "/usr/local/share/junto-never", "content": "x"})),
        Step::text("It says: {{last_result}}"),
    ]));
    stage.machine.write("project/.junto/config.toml", "[policy]\nmode = \"full\"\n");
    let run = stage.machine.run(&["run", "Work."]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.err.contains("is not in force") && run.err.contains("policy workspace"), "{run:#?}");
    assert!(run.out.contains("not allowed"), "{run:#?}");
    assert!(!std::path::Path::new("/usr/local/share/junto-never").exists());
}

#[test]
fn a_person_is_asked_whether_a_project_shall_count() {
    let play = || Play::of([Step::text("Done.")]);
    for (key, mode) in [("y\n", "policy full"), ("n\n", "policy workspace")] {
        let stage = Stage::on_any_wire(play());
        stage.machine.write("project/.junto/config.toml", "[policy]\nmode = \"full\"\n");
        let mut terminal = Terminal::start(&stage.machine, 200, &["run", "Work."]);
        terminal.wait_for(
            "    + policy.mode = \"full\"\nThis project brings its own configuration. Trust it? [y/n]",
        );
        terminal.keys(key);
        let (code, screen, _) = terminal.end();
        assert_eq!(code, Some(0), "{screen}");
        assert!(screen.contains(mode), "{screen}");
        // A yes is remembered.
        let run = stage.machine.run(&["policy", "show"]);
        assert_eq!(run.out.starts_with("policy full"), key == "y\n", "{run:#?}");
    }
}
