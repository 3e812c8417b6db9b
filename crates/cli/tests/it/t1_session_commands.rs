//! What can be done with a session that was kept: fork, rewind, undo, export, replay.

use std::fs;

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::Machine;
use crate::stage::{SETUPS, Stage};
use crate::t1_sessions::{crc, damage, latest, listed};

fn write(file: &str, content: &str) -> Step {
    Step::call("write_file", json!({"file_path": file, "content": content}))
}

/// A session of two turns, each of which changed files.
fn two_turns() -> (Stage, String) {
    let stage = Stage::on_any_wire(Play::of([
        write("a.txt", "one\n"),
        Step::text("First."),
        write("a.txt", "two\n"),
        write("b.txt", "new\n"),
        Step::text("Second."),
        Step::text("Third."),
        Step::text("Fourth."),
    ]));
    stage.machine.write("project/mine.txt", "mine\n");
    stage.machine.run(&["run", "Do one."]).ok();
    stage.machine.run(&["resume", "latest", "Do two."]).ok();
    let id = latest(&stage.machine);
    (stage, id)
}

#[track_caller]
fn check_file(machine: &Machine, file: &str, expected: Option<&str>) {
    let found = fs::read_to_string(machine.path(&format!("project/{file}"))).ok();
    assert_eq!(found.as_deref(), expected, "{file}");
}

/// What the model was told last, as text.
fn last_request(stage: &Stage) -> String {
    stage.requests().last().unwrap().body["messages"].to_string()
}

#[test]
fn a_fork_has_the_first_turns_and_leaves_the_old_session_alone() {
    let (stage, id) = two_turns();
    let machine = &stage.machine;
    let run = machine.run(&["fork", &id, "--at", "1"]);
    let forked = run.out.trim().to_owned();
    assert!(run.code == Some(0) && forked != id && run.err.contains("junto resume"), "{run:#?}");
    assert_eq!(machine.run(&["resume", &forked, "Do three."]).ok(), "Third.\n");
    let sent = last_request(&stage);
    assert!(sent.contains("Do one.") && sent.contains("Do three.") && !sent.contains("Do two."), "{sent}");

    let out = machine.run(&["fork", &id, "And then?"]).ok();
    assert_eq!(out, "Fourth.\n");
    assert!(last_request(&stage).contains("Do two."));
    let turns: Vec<(String, u64)> = listed(machine, &[])
        .iter()
        .map(|row| (row["id"].as_str().unwrap().to_owned(), row["turns"].as_u64().unwrap()))
        .collect();
    assert_eq!(turns.len(), 3);
    assert!(turns.contains(&(id.clone(), 2)) && turns.contains(&(forked, 2)), "{turns:?}");

    let shows = format!("junto export {}", &id[..12]);
    machine.run(&["fork", &id, "--at", "9"]).fails(2, &["turn 9", &shows]);
    machine.run(&["fork", "nobody"]).fails(2, &["there is no session \"nobody\""]);
    machine.run(&["fork"]).fails(2, &["<ID>"]);
}

/// A fork is a session of its own: the latest when it is made, and it has ended where it was cut.
#[test]
fn a_fork_is_listed_as_what_it_is() {
    let (stage, id) = two_turns();
    let machine = &stage.machine;
    for (flags, turns) in [(&[][..], 2), (&["--at", "1"], 1), (&["--at", "0"], 0)] {
        let base = listed(machine, &[]).into_iter().find(|row| row["id"] == id.as_str()).unwrap();
        let made = machine.run(&[&["fork", &id], flags].concat()).ok().trim().to_owned();
        let row = &listed(machine, &[])[0];
        assert_eq!(row["id"], made.as_str(), "it is the latest");
        assert_eq!((&row["state"], &row["turns"]), (&json!("ended"), &json!(turns)), "{row}");
        assert_eq!(row["created"], row["updated"], "{row}");
        assert_ne!(row["created"], base["created"], "{row} {base}");
        machine.run(&["resume"]).fails(2, &["nothing to go on with", &made[..12]]);
    }
    // What was rewound is not in a fork of what is left.
    machine.run(&["rewind", &id, "--to", "1"]).ok();
    assert_eq!(machine.run(&["fork", &id, "Do three."]).ok(), "Third.\n");
    assert!(!last_request(&stage).contains("Do two."));
    machine.run(&["replay", "latest"]).ok();
}

#[test]
fn a_session_is_rewound_to_a_turn() {
    let (stage, id) = two_turns();
    let machine = &stage.machine;
    let run = machine.run(&["rewind", "--to", "1"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    check_file(machine, "a.txt", Some("two\n"));
    assert_eq!(machine.run(&["resume", &id, "Do three."]).ok(), "Third.\n");
    let sent = last_request(&stage);
    assert!(sent.contains("Do one.") && !sent.contains("Do two."), "{sent}");
    // Nothing is lost of what was left behind.
    assert!(machine.run(&["export", &id]).ok().contains("Do two."));

    machine.run(&["rewind", &id, "--to", "9"]).fails(2, &["turn 9"]);
    machine.run(&["rewind", &id]).fails(2, &["--to"]);
}

/// A session that went back to a turn is set up as it was then, as a fork that begins there is.
#[test]
fn settings_go_back_with_the_conversation() {
    let (stage, id) = two_turns();
    let machine = &stage.machine;
    machine.run(&["resume", &id, "-m", "claude-haiku-5-5", "--policy", "full", "Do three."]).ok();
    let fork = machine.run(&["fork", &id, "--at", "2"]).ok().trim().to_owned();
    machine.run(&["rewind", &id, "--to", "2"]).ok();
    for id in [&id, &fork] {
        let run = machine.run(&["resume", id, "Do four."]);
        assert!(run.code == Some(0) && !run.err.contains("policy full"), "{run:#?}");
        assert_eq!(stage.requests().last().unwrap().body["model"], "claude-opus-5-5");
    }
}

/// What was rewound is gone from the conversation. The journal has it still, and a fork takes it from there.
#[test]
fn nobody_goes_forward_by_a_rewind() {
    let (stage, id) = two_turns();
    let machine = &stage.machine;
    machine.run(&["rewind", &id, "--to", "1"]).ok();
    let fork = format!("junto fork {} --at 2", &id[..12]);
    machine.run(&["rewind", &id, "--to", "2"]).fails(2, &["turn 2 of session", "was rewound", &fork]);
    machine.run(&["rewind", &id, "--to", "99"]).fails(2, &["no turn 99: its last is turn 1"]);
    assert_eq!(listed(machine, &[])[0]["turns"], 1);
    machine.run(&["rewind", &id, "--to", "1"]).ok();
    assert_eq!(machine.run(&["fork", &id, "--at", "2", "Do three."]).ok(), "Third.\n");
    assert!(last_request(&stage).contains("Do two."));
    // Turns are numbered on.
    assert_eq!(machine.run(&["resume", &id, "Do four."]).ok(), "Fourth.\n");
    machine.run(&["rewind", &id, "--to", "2"]).fails(2, &["whose last is turn 3"]);
    machine.run(&["rewind", &id, "--to", "3"]).ok();
}

#[test]
fn files_come_back_with_the_turn() {
    let (stage, id) = two_turns();
    let machine = &stage.machine;
    machine.run(&["rewind", &id, "--to", "1", "--files"]).ok();
    check_file(machine, "a.txt", Some("one\n"));
    check_file(machine, "b.txt", None);
    check_file(machine, "mine.txt", Some("mine\n"));
    machine.run(&["rewind", &id, "--to", "0", "--files"]).ok();
    check_file(machine, "a.txt", None);
    check_file(machine, "mine.txt", Some("mine\n"));
}

/// What the user did between two turns is not the session's to take back.
#[test]
fn what_was_changed_between_turns_stays() {
    let stage = Stage::on_any_wire(Play::of([
        write("a.txt", "one\n"),
        write("c.txt", "one\n"),
        Step::text("First."),
        write("a.txt", "two\n"),
        write("b.txt", "new\n"),
        Step::call("shell", json!({"command": "rm gone.txt"})),
        Step::text("Second."),
    ]));
    let machine = &stage.machine;
    machine.write("project/mine.txt", "mine\n");
    machine.run(&["run", "Do one."]).ok();
    machine.write("project/mine.txt", "edited\n");
    machine.write("project/own.txt", "own\n");
    machine.write("project/gone.txt", "there\n");
    machine.write("project/c.txt", "edited\n");
    machine.run(&["resume", "latest", "Do two."]).ok();
    let id = latest(machine);

    let own = || {
        check_file(machine, "mine.txt", Some("edited\n"));
        check_file(machine, "own.txt", Some("own\n"));
        check_file(machine, "gone.txt", Some("there\n"));
        check_file(machine, "c.txt", Some("edited\n"));
    };
    let told = machine.run(&["rewind", &id, "--to", "1", "--files"]).ok();
    assert_eq!(told, "brought back: a.txt\nremoved: b.txt\nbrought back: gone.txt\n");
    check_file(machine, "a.txt", Some("one\n"));
    check_file(machine, "b.txt", None);
    own();
    let told = machine.run(&["rewind", &id, "--to", "0", "--files"]).ok();
    assert_eq!(told, "removed: a.txt\nleft alone, since it was changed again: c.txt\n");
    check_file(machine, "a.txt", None);
    own();
}

/// Back over both turns at once, what each of them changed again.
#[test]
fn files_come_back_over_several_turns() {
    let (stage, id) = two_turns();
    let machine = &stage.machine;
    machine.write("project/b.txt", "edited\n");
    let told = machine.run(&["rewind", &id, "--to", "0", "--files"]).ok();
    assert_eq!(told, "removed: a.txt\nleft alone, since it was changed again: b.txt\n");
    check_file(machine, "a.txt", None);
    check_file(machine, "b.txt", Some("edited\n"));
    check_file(machine, "mine.txt", Some("mine\n"));
}

#[test]
fn a_fork_knows_the_files_of_the_turns_it_shares() {
    let (stage, id) = two_turns();
    let machine = &stage.machine;
    let forked = machine.run(&["fork", &id]).ok().trim().to_owned();
    machine.run(&["rewind", &forked, "--to", "1", "--files"]).ok();
    check_file(machine, "a.txt", Some("one\n"));
    check_file(machine, "b.txt", None);
    // A fork that begins before a turn knows nothing of it.
    let early = machine.run(&["fork", &id, "--at", "1"]).ok().trim().to_owned();
    machine.run(&["rewind", &early, "--to", "0", "--files"]).ok();
    check_file(machine, "a.txt", None);
    let empty = machine.run(&["fork", &id, "--at", "0"]).ok().trim().to_owned();
    machine.run(&["undo", &empty]).fails(2, &["has done nothing yet"]);
}

#[test]
fn the_last_turn_is_undone() {
    let (stage, id) = two_turns();
    let machine = &stage.machine;
    let would = machine.run(&["undo", "--dry-run"]).ok();
    assert!(would.contains("a.txt") && would.contains("b.txt") && !would.contains("mine.txt"), "{would}");
    check_file(machine, "a.txt", Some("two\n"));

    machine.run(&["undo", &id]).ok();
    let undone = || {
        check_file(machine, "a.txt", Some("one\n"));
        check_file(machine, "b.txt", None);
        check_file(machine, "mine.txt", Some("mine\n"));
    };
    undone();
    // Once more there is nothing left of it.
    for command in [&["undo", &id][..], &["undo", "--dry-run"]] {
        assert_eq!(machine.run(command).ok(), "undone already: a.txt\nundone already: b.txt\n");
        undone();
    }
    machine.write("project/b.txt", "edited\n");
    let told = machine.run(&["undo", &id]).ok();
    assert_eq!(told, "left alone, since it was changed again: b.txt\nundone already: a.txt\n");
}

/// No snapshot is made for a turn without tools, and none is missed.
#[test]
fn a_turn_without_tools_changed_nothing() {
    let stage = Stage::on_any_wire(Play::of([
        write("a.txt", "one\n"),
        Step::text("First."),
        Step::text("Second."),
        write("a.txt", "two\n"),
        Step::text("Third."),
    ]));
    let machine = &stage.machine;
    machine.run(&["run", "Do one."]).ok();
    machine.run(&["resume", "latest", "Why?"]).ok();
    assert_eq!(machine.run(&["undo"]).ok(), "no file was changed\n");
    machine.run(&["resume", "latest", "Do two."]).ok();
    check_file(machine, "a.txt", Some("two\n"));
    assert_eq!(machine.run(&["rewind", "--to", "3", "--files"]).ok(), "no file was changed\n");
    machine.run(&["rewind", "--to", "2", "--files"]).ok();
    check_file(machine, "a.txt", Some("one\n"));
    machine.run(&["rewind", "--to", "0", "--files"]).ok();
    check_file(machine, "a.txt", None);
}

#[test]
fn what_was_not_snapshotted_cannot_be_undone() {
    let stage = Stage::on_any_wire(Play::of([write("a.txt", "one\n"), Step::text("Done.")]));
    let machine = stage.machine;
    let mut run = machine.command(&["run", "Work."]);
    crate::Run::of(run.env("JUNTO_SNAPSHOTS", "off")).ok();
    machine.run(&["undo"]).fails(1, &["store.snapshots"]);
    check_file(&machine, "a.txt", Some("one\n"));
}

#[test]
fn a_session_is_exported_in_three_forms() {
    let (stage, id) = two_turns();
    let machine = &stage.machine;
    let markdown = machine.run(&["export"]).ok();
    for part in ["Do one.", "write_file", "First.", "Do two.", "Second."] {
        assert!(markdown.contains(part), "{part} in {markdown}");
    }
    let json: Value = serde_json::from_str(&machine.run(&["export", &id, "--format", "json"]).ok()).unwrap();
    assert!(json.to_string().contains("Do two."), "{json}");
    machine.run(&["export", &id, "--format", "html", "-o", "session.html"]).ok();
    let page = fs::read_to_string(machine.path("project/session.html")).unwrap();
    assert!(page.starts_with("<!") && page.contains("Do two."), "{page}");

    // A link stays one, and leads to what it did.
    std::os::unix::fs::symlink("kept.md", machine.path("project/link.md")).unwrap();
    for _ in 0..2 {
        machine.run(&["export", &id, "-o", "link.md"]).ok();
        assert!(fs::symlink_metadata(machine.path("project/link.md")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(machine.path("project/kept.md")).unwrap(), markdown);
    }
    std::os::unix::fs::symlink("round.md", machine.path("project/round.md")).unwrap();
    machine.run(&["export", &id, "-o", "round.md"]).fails(1, &["round.md", "symbolic links"]);
    // A pipe is written to.
    let pipe = machine.path("project/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = {
        let pipe = pipe.clone();
        std::thread::spawn(move || fs::read_to_string(pipe).unwrap())
    };
    machine.run(&["export", &id, "-o", "pipe"]).ok();
    assert_eq!(reader.join().unwrap(), markdown);
    assert!(!fs::symlink_metadata(&pipe).unwrap().is_file());
    machine.run(&["export", &id, "--format", "pdf"]).fails(2, &["pdf"]);
    machine.run(&["export", &id, "-o", "gone/session.md"]).fails(1, &["gone/session.md"]);
    machine.run(&["export", "nobody"]).fails(2, &["there is no session"]);
}

#[test]
fn a_session_is_replayed_without_asking_anybody() {
    let (stage, id) = two_turns();
    let machine = &stage.machine;
    let asked = stage.requests().len();
    fs::remove_file(machine.path("project/a.txt")).unwrap();
    let out = machine.run(&["replay", &id]).ok();
    assert!(out.contains("2 turns"), "{out}");
    assert_eq!(stage.requests().len(), asked);
    check_file(machine, "a.txt", None);
    let report: Value = serde_json::from_str(&machine.run(&["replay", &id, "--json"]).ok()).unwrap();
    assert_eq!(report["divergence"], Value::Null, "{report}");
    machine.run(&["replay"]).fails(2, &["<ID>"]);
    machine.run(&["replay", "nobody"]).fails(2, &["there is no session"]);
}

#[test]
fn a_replay_goes_on_after_what_cannot_be_repeated() {
    let (stage, id) = two_turns();
    let machine = &stage.machine;
    machine.run(&["rewind", &id, "--to", "1"]).ok();
    machine.run(&["resume", &id, "Do three."]).ok();
    let report: Value = serde_json::from_str(&machine.run(&["replay", &id, "--json"]).ok()).unwrap();
    let expected = json!({
        "turns": 3,
        "calls": 6,
        "divergence": null,
        "taken": ["after turn 2: the session was rewound to turn 1"],
        "stopped": null,
    });
    assert_eq!(report, expected);
    let words = machine.run(&["replay", &id]).ok();
    assert!(words.contains("taken as it was recorded: after turn 2"), "{words}");
}

/// The ends that a subagent gets when a session is brought back that was killed are none of the session's own.
#[test]
fn a_session_that_was_killed_with_a_subagent_is_replayed() {
    let stage = Stage::on_any_wire(Play::of([
        Step::call("spawn_agent", json!({"task": "CHILD", "wait": true})),
        Step::call("shell", json!({"command": "true"})),
        Step::text("Child."),
        Step::text("Done."),
        Step::text("Again."),
    ]));
    let machine = &stage.machine;
    machine.run(&["run", "Work."]).ok();
    let id = latest(machine);
    let journal = machine.path(&format!(".local/state/junto/sessions/{id}/journal.jsonl"));
    let text = fs::read_to_string(&journal).unwrap();
    let end = text.find("\"type\":\"tool_call_end\"").unwrap();
    let end = end + text[end..].find('\n').unwrap() + 1;
    fs::write(&journal, &text[..end]).unwrap();
    assert_eq!(machine.run(&["resume", &id]).ok(), "Again.\n");
    let report: Value = serde_json::from_str(&machine.run(&["replay", &id, "--json"]).ok()).unwrap();
    assert_eq!(report["divergence"], Value::Null, "{report}");
}

#[test]
fn a_session_without_its_beginning_can_only_be_read() {
    let (stage, id) = two_turns();
    let machine = &stage.machine;
    damage(machine, &id, "session_start", 0);
    machine.run(&["replay", &id]).fails(1, &["its beginning is lost", "backup"]);
    machine.run(&["resume", &id, "Go on."]).fails(1, &["its beginning is lost", "junto export"]);
    assert!(machine.run(&["export", &id]).ok().contains("Do two."));
}

#[test]
fn a_replay_tells_what_is_damaged() {
    let (stage, id) = two_turns();
    let machine = &stage.machine;
    assert!(!machine.run(&["replay", &id]).err.contains("warning"));
    damage(machine, &id, "tool_call_start", 0);
    for flags in [&["replay", &id][..], &["replay", &id, "--json"]] {
        let run = machine.run(flags);
        assert!(
            run.err.contains("warning: the journal of session") && run.err.contains("is lost"),
            "{run:#?}"
        );
    }
}

#[test]
fn a_replay_tells_where_it_goes_another_way() {
    let shell = Step::call("shell", json!({"command": "printf marker-%s abc"}));
    let stage = Stage::on_any_wire(Play::of([shell, Step::text("Done.")]));
    let machine = &stage.machine;
    machine.run(&["run", "Look."]).ok();
    let id = latest(machine);
    machine.run(&["replay", &id]).ok();

    // As if the loop had shown the model something else.
    let journal = machine.path(&format!(".local/state/junto/sessions/{id}/journal.jsonl"));
    let changed = |line: &str| {
        let event = line.split_once("\"e\":").unwrap().1.strip_suffix('}').unwrap();
        let event = event.replace("marker-abc", "marker-xyz");
        format!("{{\"c\":\"{:08x}\",\"e\":{event}}}", crc(event.as_bytes()))
    };
    let text = fs::read_to_string(&journal).unwrap();
    let lines =
        text.lines().map(|line| if line.contains("marker-abc") { changed(line) } else { line.to_owned() });
    fs::write(&journal, lines.map(|line| line + "\n").collect::<String>()).unwrap();
    let run = machine.run(&["replay", &id, "--json"]);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &report["divergence"]["turn"]), (Some(1), &json!(1)), "{report:#}");
    let words = machine.run(&["replay", &id]);
    assert!(words.code == Some(1) && words.out.contains("turn 1 goes another way"), "{words:#?}");
}

#[test]
fn a_replay_tells_that_the_model_is_asked_once_more() {
    let shell = Step::call("shell", json!({"command": "true"}));
    let stage = Stage::on_any_wire(Play::of([shell, Step::text("Done.")]));
    let machine = &stage.machine;
    machine.run(&["run", "Look."]).ok();
    let id = latest(machine);
    // As if the turn had ended after its tool, without another question to the model.
    let journal = machine.path(&format!(".local/state/junto/sessions/{id}/journal.jsonl"));
    let text = fs::read_to_string(&journal).unwrap();
    let is_call = |line: &&str| line.contains("\"type\":\"call\"");
    let last = text.lines().rfind(is_call).unwrap();
    fs::write(&journal, text.replace(&format!("{last}\n"), "")).unwrap();
    let run = machine.run(&["replay", &id, "--json"]);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    let divergence = &report["divergence"];
    assert_eq!((run.code, &divergence["turn"]), (Some(1), &json!(1)), "{report:#}");
    assert_eq!(
        (&divergence["then"], &divergence["now"]),
        (&json!("the turn ended"), &json!("the model is asked again"))
    );
}

/// Long texts are kept beside the journal. One that is changed there, cut or gone is told, and never taken for what it was.
#[test]
fn a_long_answer_that_is_damaged_is_told() {
    let long = Step { repeat: Some(150_000), chunk: Some(65536), ..Step::text("honestly ") };
    for is_gone in [false, true] {
        let play = Play::of([long.clone(), Step::text("Second."), Step::text("Third.")]);
        // Where nobody limits the length of an answer.
        let stage = Stage::new(&SETUPS[3], play);
        let machine = &stage.machine;
        machine.run(&["run", "Speak."]).ok();
        let id = latest(machine);
        assert!(machine.run(&["replay", &id]).ok().contains("went as they did then"));
        let fork = machine.run(&["fork", &id]).ok().trim().to_owned();
        machine.run(&["replay", &fork]).ok();
        let mut blobs = 0;
        for entry in fs::read_dir(machine.path(&format!(".local/state/junto/sessions/{id}/blobs"))).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            blobs += 1;
            if is_gone {
                fs::remove_file(&path).unwrap();
            } else {
                fs::write(&path, text.replacen("honestly", "corruptl", 1)).unwrap();
            }
        }
        assert!(blobs > 0);
        let why = if is_gone { "it is gone" } else { "its checksum is wrong" };
        let run = machine.run(&["export", &id, "--format", "json"]);
        let json: Value = serde_json::from_str(&run.out).unwrap();
        assert!(json["damaged"][0].as_str().unwrap().contains(why), "{}", json["damaged"]);
        assert!(run.code == Some(0) && run.err.contains(why), "{}", run.err);
        machine.run(&["replay", &id]).fails(1, &["a long text beside its journal is lost", why, "backup"]);
        // A fork has what there is.
        let fork = machine.run(&["fork", &id]).ok().trim().to_owned();
        machine.run(&["replay", &fork]).fails(1, &[why]);
        for (id, answer) in [(&id, "Second."), (&fork, "Third.")] {
            let run = machine.run(&["resume", id, "Go on."]);
            assert!(run.code == Some(0) && run.out == format!("{answer}\n"), "{}", run.err);
            assert!(run.err.contains("a part of the conversation is lost"), "{}", run.err);
            assert!(!last_request(&stage).contains("corruptl"));
        }
    }
}
