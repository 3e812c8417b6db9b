//! Skills: found where users keep them, told by name, loaded on use.

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::stage::{Stage, on_every_wire};
use crate::{Machine, text};

const GREET: &str = "---\nname: greet\ndescription: Greets people. Use when: somebody comes in.\nlicense: MIT\n---\n\n\
                     # Greeting\n\nSay \"Salve\".\n";

fn place_skills(machine: &Machine) {
    machine.write("project/.agents/skills/greet/SKILL.md", GREET);
    machine.write(".config/junto/skills/mine/SKILL.md", "---\ndescription: My own way\n---\nDo it my way.\n");
    machine.write(".agents/skills/home/SKILL.md", "Text without a head\n");
    machine.write(
        ".claude/skills/theirs/SKILL.md",
        "---\nname: theirs\ndescription: Of another tool\n---\nText.\n",
    );
    machine.write(
        "project/.claude/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Reads PDFs\n---\nRun read.sh\n",
    );
    machine.write("project/.claude/skills/pdf/scripts/read.sh", "echo read\n");
    machine.write("project/.junto/skills/broken/SKILL.md", "---\nname: x\ndescription: y\n");
}

#[test]
fn a_skill_is_told_by_name_and_loaded_on_use() {
    on_every_wire(
        || Play::of([Step::call("skill", json!({"name": "greet"})), Step::text("{{last_result}}")]),
        |setup, stage| {
            place_skills(&stage.machine);
            let run = stage.machine.run(&["run", "Greet them."]);
            let requests = stage.requests();
            let first = requests[0].body.to_string();
            for told in [
                "- greet: Greets people. Use when: somebody comes in.",
                "- mine: My own way",
                "- theirs: ",
                "- home: ",
            ] {
                assert!(first.contains(told), "{}: no {told} in {first}", setup.provider);
            }
            assert!(!first.contains("Salve"), "it is loaded on use: {first}");
            assert!(!first.contains("- pdf: "), "it is not trusted: {first}");
            let folder = text(&stage.machine.path("project/.agents/skills/greet"));
            assert!(run.out.contains("Say \"Salve\".") && run.out.contains(&folder), "{run:#?}");
            let broken = "project/.junto/skills/broken/SKILL.md:1: the front matter has no end";
            assert!(run.err.contains(broken) && run.err.contains("is not in force"), "{run:#?}");
        },
    );
}

#[test]
fn skills_with_files_need_trust_and_a_change_asks_again() {
    let stage = Stage::on_any_wire(Play::of([Step { times: Some(9), ..Step::text("Done.") }]));
    let machine = &stage.machine;
    place_skills(machine);
    let names = || -> Vec<(String, bool)> {
        let listed: Value = serde_json::from_str(&machine.run(&["skills", "--json"]).ok()).unwrap();
        let row =
            |row: &Value| (row["name"].as_str().unwrap().to_owned(), row["in_force"].as_bool().unwrap());
        listed["skills"].as_array().unwrap().iter().map(row).collect()
    };
    assert_eq!(names().last(), Some(&("pdf".to_owned(), false)));
    let listed = machine.run(&["skills"]);
    assert!(listed.out.contains("pdf (not trusted)\n    Reads PDFs\n"), "{listed:#?}");
    assert!(listed.err.contains("SKILL.md:1: the front matter has no end"), "{listed:#?}");

    let shown = machine.run(&["trust", "--yes"]);
    assert!(shown.err.contains("+ skill pdf, with files beside its text"), "{shown:#?}");
    assert_eq!(names().last(), Some(&("pdf".to_owned(), true)));
    machine.run(&["run", "Work."]).ok();
    assert!(stage.requests()[0].body.to_string().contains("- pdf: Reads PDFs"));

    machine.write("project/.claude/skills/pdf/scripts/read.sh", "rm -rf /\n");
    assert_eq!(names().last(), Some(&("pdf".to_owned(), false)), "a changed file asks again");
    assert!(machine.run(&["skills"]).err.contains("has changed since it was trusted"));
}

/// The model may name it as another agent's model would, and is told what there is.
#[test]
fn a_skill_that_is_not_there_is_told() {
    let stage = Stage::on_any_wire(Play::of([
        Step::call("skill", json!({"name": "gret"})),
        Step::text("{{last_result}}"),
    ]));
    place_skills(&stage.machine);
    let run = stage.machine.run(&["run", "Greet them."]);
    assert!(run.out.contains("there is no skill `gret`; did you mean `greet`?"), "{run:#?}");
}

#[test]
fn a_link_out_of_the_project_is_not_followed() {
    let machine = Machine::new();
    machine.write("elsewhere/SKILL.md", GREET);
    machine.write("project/.agents/skills/other/SKILL.md", "Text\n");
    std::os::unix::fs::symlink(machine.path("elsewhere"), machine.path("project/.agents/skills/greet"))
        .unwrap();
    let listed = machine.run(&["skills"]);
    assert!(listed.out.contains("other\n") && !listed.out.contains("greet"), "{listed:#?}");
    assert!(listed.err.contains("leads out of the project"), "{listed:#?}");
}

/// A folder that a skill links to belongs to it: what is in there is compared like the rest, and a link in circles
/// hangs nobody.
#[test]
fn what_a_skill_links_to_counts() {
    let machine = Machine::new();
    machine.write("project/.agents/skills/pdf/SKILL.md", "Run lib/read.sh\n");
    machine.write("project/shared/read.sh", "echo read\n");
    for (target, link) in [("shared", ".agents/skills/pdf/lib"), (".agents/skills", "shared/round")] {
        std::os::unix::fs::symlink(machine.path("project").join(target), machine.path("project").join(link))
            .unwrap();
    }
    let standing = || machine.run(&["trust", "--list"]).ok();
    machine.run(&["trust", "--yes"]).ok();
    assert!(standing().contains("(in force)"), "{}", standing());
    machine.write("project/shared/read.sh", "rm -rf /\n");
    assert!(standing().contains("(changed since)"), "{}", standing());
}
