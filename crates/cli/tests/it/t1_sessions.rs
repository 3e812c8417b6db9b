//! Sessions that are kept, listed and gone on with.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::stage::{KEY, SETUPS, Stage, on_every_wire};
use crate::t1_run::of_type;
use crate::{Machine, Run, text};

/// The sessions of this folder, as `junto sessions --json` lists them.
pub(crate) fn listed(machine: &Machine, flags: &[&str]) -> Vec<Value> {
    let out = machine.run(&[&["sessions", "--json"], flags].concat()).ok();
    let all: Value = serde_json::from_str(&out).unwrap();
    all["sessions"].as_array().unwrap().clone()
}

/// The id of the latest session.
pub(crate) fn latest(machine: &Machine) -> String {
    listed(machine, &[])[0]["id"].as_str().unwrap().to_owned()
}

/// The lines of a run with `--json`.
pub(crate) fn lines(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_run_is_kept_and_listed() {
    let stage = Stage::on_any_wire(Play::text("Done."));
    let machine = &stage.machine;
    let run = machine.run(&["run", "Mend the roof."]);
    let id = latest(machine);
    let last = run.err.lines().last().unwrap_or_default();
    assert!(last.starts_with(&format!("session {id} · ")) && last.contains("junto resume"), "{run:#?}");

    let row = &listed(machine, &[])[0];
    assert_eq!(
        (&row["turns"], &row["title"], &row["state"]),
        (&json!(1), &json!("Mend the roof."), &json!("ended"))
    );
    assert_eq!(row["model"], "claude-opus-5-5");
    assert_eq!(row["workdir"], machine.path("project").display().to_string());
    let table = machine.run(&["sessions"]).ok();
    assert!(table.contains(&id[..12]) && table.contains("Mend the roof."), "{table}");

    assert_eq!(machine.run(&["run", "-q", "Again."]).err, "", "quiet says nothing of it");
    assert_eq!(listed(machine, &[]).len(), 2);
    assert_eq!(listed(machine, &["--limit", "1"]).len(), 1);
    assert_eq!(listed(machine, &[])[1]["id"], id, "newest first");
}

/// A folder or a file that nobody else can read, and everything in it.
fn check_private(path: &Path) {
    let meta = fs::metadata(path).unwrap();
    let mode = meta.permissions().mode() & 0o777;
    // What git never changes not even its owner can write.
    let is_private = if meta.is_dir() { mode == 0o700 } else { mode == 0o600 || mode == 0o400 };
    assert!(is_private, "{mode:o} {}", path.display());
    if meta.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            check_private(&entry.unwrap().path());
        }
    }
}

#[test]
fn only_the_user_can_read_what_is_kept() {
    let write = Step::call("write_file", json!({"file_path": "a.txt", "content": "one\n"}));
    let stage = Stage::on_any_wire(Play::of([write, Step::text("Done.")]));
    stage.machine.run(&["run", "Hi."]).ok();
    // Who looks makes the index.
    stage.machine.run(&["sessions"]).ok();
    let root = stage.machine.path(".local/state/junto");
    for kept in ["sessions", "index.sqlite", "snapshots"] {
        check_private(&root.join(kept));
    }
}

#[test]
fn keys_are_not_kept() {
    // One that is there, and not used since the other is.
    let unused = "quiet-river-stone";
    let mut stage = Stage::on_any_wire(Play::of([
        Step::call("shell", json!({"command": format!("echo the keys are {KEY} and {unused}")})),
        Step::text("Seen."),
    ]));
    stage.machine = stage.machine.with("ANTHROPIC_AUTH_TOKEN", unused);
    stage.machine.run(&["run", "Look."]).ok();
    let journal =
        stage.machine.path(&format!(".local/state/junto/sessions/{}/journal.jsonl", latest(&stage.machine)));
    let text = fs::read_to_string(journal).unwrap();
    for key in [KEY, unused] {
        assert!(!text.contains(key), "{key}");
    }
}

/// The journal has the name of a folder as a text, also where it is none.
#[test]
fn a_session_goes_on_in_a_folder_whose_name_is_no_text() {
    let stage = Stage::on_any_wire(Play::of([Step::text("First."), Step::text("Second.")]));
    let odd = stage.machine.path("project").join(std::ffi::OsStr::from_bytes(b"odd\xff"));
    fs::create_dir_all(&odd).unwrap();
    let run = |args: &[&str]| Run::of(stage.machine.command(args).current_dir(&odd));
    run(&["run", "One."]).ok();
    assert_eq!(run(&["resume", "latest", "Two."]).ok(), "Second.\n");
    let sent = stage.requests().last().unwrap().body["messages"].to_string();
    assert!(!sent.contains("The working directory is now"), "{sent}");
}

/// A key that a tool printed is masked on the disk and not in the conversation: the model may need what it read.
/// After the session was brought back the model is shown the mask, and everything else byte for byte.
#[test]
fn a_key_in_the_conversation_is_masked_once_it_comes_from_the_disk() {
    let key = "sk-proj-4fJ29dkLw83hGvQx7TzB1cNm";
    let mask = "[redacted]**********************";
    assert_eq!(key.len(), mask.len());
    on_every_wire(
        || {
            let shell = Step::call("shell", json!({"command": format!("echo {key}")}));
            Play::of([shell, Step::text("First."), Step::text("Second.")])
        },
        |setup, stage| {
            stage.machine.run(&["run", "Look."]).ok();
            stage.machine.run(&["resume", "latest", "More."]).ok();
            let requests = stage.requests();
            let field =
                ["messages", "input", "contents"].into_iter().find(|f| !requests[0].body[f].is_null());
            let said = |n: usize| -> Vec<String> {
                let messages = requests[n].body[field.unwrap()].as_array().unwrap();
                messages.iter().map(|message| without_marks(message).to_string()).collect()
            };
            let (live, back) = (said(1), said(2));
            assert!(live.concat().contains(key), "{}: {live:#?}", setup.provider);
            assert!(!back.concat().contains(key), "{}: {back:#?}", setup.provider);
            let live: Vec<String> = live.iter().map(|message| message.replace(key, mask)).collect();
            assert!(back.starts_with(&live), "{}: {back:#?}", setup.provider);
        },
    );
}

#[test]
fn what_shall_not_be_kept_is_not() {
    let stage = Stage::on_any_wire(Play::default());
    let run = stage.machine.run(&["run", "--no-save", "Hi."]);
    assert!(run.code == Some(0) && !run.err.contains("session "), "{run:#?}");
    let mut quiet = stage.machine.command(&["run", "Hi."]);
    Run::of(quiet.env("JUNTO_SAVE", "false")).ok();
    assert!(!stage.machine.path(".local/state/junto").exists());
    assert!(listed(&stage.machine, &[]).is_empty());
    assert!(stage.machine.run(&["sessions"]).ok().contains("no session"));
}

#[test]
fn sessions_are_of_the_folder_they_work_in() {
    let stage = Stage::on_any_wire(Play::default());
    let machine = &stage.machine;
    machine.write("project/sub/x", "");
    machine.run(&["run", "-C", "sub", "There."]).ok();
    machine.run(&["run", "Here."]).ok();
    assert_eq!(listed(machine, &[]).len(), 1);
    assert_eq!(listed(machine, &["--all"]).len(), 2);
    // One that works elsewhere is found by its id, and goes on there.
    let there = listed(machine, &["--all"])[1]["id"].as_str().unwrap().to_owned();
    let run = machine.run(&["resume", &there, "Go on."]);
    assert!(run.err.contains("/project/sub · "), "{run:#?}");
}

/// One that is gone on with in another folder works there, remembers it, and is listed there; whether the old one is
/// still there does not matter.
#[test]
fn a_session_is_moved_to_another_folder() {
    let write = |name: &str| Step::call("write_file", json!({"file_path": name, "content": "new\n"}));
    for is_gone in [false, true] {
        let stage = Stage::on_any_wire(Play::of([
            Step::text("First."),
            write("b.txt"),
            Step::text("Second."),
            write("c.txt"),
            Step::text("Third."),
            write("d.txt"),
            Step::text("Fourth."),
        ]));
        let machine = &stage.machine;
        machine.write("project/old/x", "");
        machine.write("project/new/x", "");
        machine.write("project/third/x", "");
        machine.run(&["run", "-C", "old", "One."]).ok();
        let id = listed(machine, &["--all"])[0]["id"].as_str().unwrap().to_owned();
        if is_gone {
            fs::remove_dir_all(machine.path("project/old")).unwrap();
        }
        machine.run(&["resume", "-C", "new", &id, "Two."]).ok();
        assert!(machine.path("project/new/b.txt").exists());
        let sent = stage.requests().last().unwrap().body["messages"].to_string();
        assert_eq!(sent.matches("The working directory is now ").count(), 1, "{sent}");
        // It stays there.
        let run = machine.run(&["resume", &id, "Three."]);
        assert!(run.code == Some(0) && run.err.contains("/project/new · "), "{run:#?}");
        assert!(machine.path("project/new/c.txt").exists());
        let sent = stage.requests().last().unwrap().body["messages"].to_string();
        assert_eq!(sent.matches("The working directory is now ").count(), 1, "{sent}");
        assert_eq!(listed(machine, &["--all"])[0]["workdir"], text(&machine.path("project/new")));
        assert!(machine.run(&["undo", &id]).ok().contains("removed: c.txt"));
        assert!(!machine.path("project/new/c.txt").exists());
        machine.run(&["fork", &id, "-C", "third", "Four."]).ok();
        assert!(machine.path("project/third/d.txt").exists());
    }
}

#[test]
fn a_session_goes_on_where_it_was() {
    on_every_wire(
        || {
            let shell = Step::call("shell", json!({"command": "echo one"}));
            Play::of([shell, Step::text("First."), Step::text("Second."), Step::text("Third.")])
        },
        |setup, stage| {
            let machine = &stage.machine;
            machine.run(&["run", "Begin."]).ok();
            let id = latest(machine);
            let run = machine.run(&["resume", &id[..13], "And then?"]);
            assert_eq!((run.code, run.out.as_str()), (Some(0), "Second.\n"), "{run:#?}");
            // All that is told at the end is this run's: the rounds, the time, and what was used.
            let told: Value =
                serde_json::from_str(&machine.run(&["export", "--format", "json"]).ok()).unwrap();
            let usage = &of_type(told["events"].as_array().unwrap(), "call")[2]["usage"];
            let closing = run.err.lines().find(|line| line.contains(" · 0 rounds · ")).unwrap_or_default();
            for part in [format!(" in {} ", usage["input"]), format!(" out {} ", usage["output"])] {
                assert!(closing.contains(&part), "{part} in {run:#?}");
            }
            assert_eq!(machine.run(&["run", "--resume", "And in the end?"]).ok(), "Third.\n");
            assert_eq!(listed(machine, &[]).len(), 1, "it stays one session");
            assert_eq!(listed(machine, &[])[0]["turns"], 3);

            // Each request begins with the one before it.
            let requests = stage.requests();
            let field =
                ["messages", "input", "contents"].into_iter().find(|f| !requests[0].body[f].is_null());
            let said: Vec<Vec<Value>> = requests
                .iter()
                .map(|r| r.body[field.unwrap()].as_array().unwrap().iter().map(without_marks).collect())
                .collect();
            for pair in said.windows(2) {
                assert!(pair[1].starts_with(&pair[0]), "{}: {pair:#?}", setup.provider);
            }
            let tools = |n: usize| requests[n].body["tools"].clone();
            assert_eq!((tools(0), tools(0)), (tools(2), tools(3)));
        },
    );
}

/// A message without the marks where the cache shall end, which move.
fn without_marks(message: &Value) -> Value {
    let mut message = message.clone();
    if let Some(parts) = message["content"].as_array_mut() {
        for part in parts {
            part.as_object_mut().map(|part| part.remove("cache_control"));
        }
    }
    message
}

#[test]
fn flags_hold_when_the_session_goes_on() {
    let stage = Stage::on_any_wire(Play::default());
    let machine = &stage.machine;
    let flags = ["--no-tool", "shell", "--web", "--instructions", "Be kind.", "--effort", "high", "--ask"];
    machine.run(&[&["run"], &flags[..], &["Hi."]].concat()).ok();
    let run = machine.run(&["resume", "latest", "More."]);
    assert!(run.err.contains(" · policy ask\n"), "{run:#?}");
    let requests = stage.requests();
    for field in ["system", "tools", "model", "thinking", "output_config"] {
        assert_eq!(requests[0].body[field], requests[1].body[field], "{field}");
    }
    // What is said now counts more.
    machine.run(&["resume", "latest", "--model", "claude-haiku-5-5", "--tool", "shell", "More."]).ok();
    let body = &stage.requests()[2].body;
    assert_eq!(body["model"], "claude-haiku-5-5");
    assert!(body["tools"].to_string().contains("\"shell\""), "{body}");
}

#[test]
fn a_session_goes_on_with_a_model_of_another_provider() {
    let mut stage = Stage::on_any_wire(Play::of([
        Step::call("shell", json!({"command": "echo one"})),
        Step::text("First."),
        Step::text("Second."),
    ]));
    let url = stage.base_url(SETUPS[1].wire);
    stage.machine = stage.machine.with("OPENAI_BASE_URL", &url).with("OPENAI_API_KEY", KEY);
    stage.machine.run(&["run", "Begin."]).ok();
    let run = stage.machine.run(&["resume", "--model", "openai/gpt-6.1-sol", "And then, please?"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Second.\n"), "{run:#?}");
    assert!(run.err.starts_with("native · openai/gpt-6.1-sol"), "{run:#?}");
    let sent = stage.requests()[2].body["input"].to_string();
    for part in ["Begin.", "echo one", "First.", "And then, please?"] {
        assert!(sent.contains(part), "{part} in {sent}");
    }
    // From then on it is that one's.
    stage.machine.run(&["resume", "latest", "More."]).ok();
    assert_eq!(stage.requests()[3].body["model"], "gpt-6.1-sol");
}

#[test]
fn events_of_a_resumed_session_are_its_new_ones() {
    let stage = Stage::on_any_wire(Play::default());
    let first = lines(&stage.machine.run(&["run", "--json", "One."]).ok());
    let start = &of_type(&first, "session_start")[0];
    let second = lines(&stage.machine.run(&["resume", "--json", "latest", "Two."]).ok());
    assert_eq!(second[0]["type"], "session_resumed", "{second:#?}");
    assert_eq!((&second[0]["session"], &second[0]["agent"]), (&start["session"], &start["agent"]));
    assert!(second[0]["seq"].as_u64() > first.last().unwrap()["seq"].as_u64());
    assert_eq!(of_type(&second, "user_input")[0]["turn"], 2);
}

#[test]
fn another_program_goes_on_too() {
    let machine = Machine::new().with_claude();
    machine.run(&["run", "--kind", "claude", "Be brief."]).ok();
    let run = machine.run(&["resume", "latest", "And now?"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "I was told: And now?\n"), "{run:#?}");
    assert_eq!(listed(&machine, &[])[0]["turns"], 2);
    machine.write("project/new/x", "");
    machine.run(&["resume", "-C", "new", "latest", "And there?"]).ok();
    assert_eq!(listed(&machine, &["--all"])[0]["workdir"], text(&machine.path("project/new")));
}

#[test]
fn wrong_ids_are_told_with_the_nearest() {
    let stage = Stage::on_any_wire(Play::default());
    let machine = &stage.machine;
    machine.run(&["resume"]).fails(2, &["there is no session of", "junto run"]);
    machine
        .run(&["resume", "0199", "Hi."])
        .fails(2, &["there is no session \"0199\"", "no session was kept yet"]);
    machine.run(&["run", "Hi."]).ok();
    let id = latest(machine);
    let slip = format!("{}{}", &id[..11], if &id[11..12] == "0" { "1" } else { "0" });
    machine
        .run(&["resume", &slip])
        .fails(2, &[&slip, &format!("did you mean {}", &id[..12]), "the latest are"]);
    machine
        .run(&["resume", &id])
        .fails(2, &["nothing to go on with", &format!("junto resume {}", &id[..12])]);
    machine.run(&["resume", "../../x", "Hi."]).fails(2, &["there is no session"]);
    let meant = "one word is taken for an id, and as a prompt: junto resume latest \"Continue\"";
    for command in [&["run", "--resume", "Continue"][..], &["resume", "Continue"]] {
        machine.run(command).fails(2, &["there is no session \"Continue\"", "the latest are", meant]);
    }
    for command in [&["resume", &slip][..], &["resume", "nobody", "Hi."], &["export", "nobody"]] {
        let run = machine.run(command);
        assert!(run.code == Some(2) && !run.err.contains("one word"), "{run:#?}");
    }
    machine.run(&["run", "Hi."]).ok();
    machine.run(&["resume", "0", "Hi."]).fails(2, &["2 sessions begin with \"0\"", "give more of the id"]);
    machine.run(&["run", "--resume", "--no-save", "Hi."]).fails(2, &["--no-save"]);
    machine
        .run(&["run", "--agent", "claude", "--resume", "latest", "Hi."])
        .fails(2, &["no session of claude"]);
    assert_eq!(stage.requests().len(), 2);
}

#[test]
fn what_cannot_be_kept_is_told_before_anything_is_asked() {
    let stage = Stage::on_any_wire(Play::default());
    let run = |name: &str, value: &str, code: i32, said: &[&str]| {
        let mut command = stage.machine.command(&["run", "Hi."]);
        Run::of(command.env(name, value)).fails(code, said);
    };
    run("HOME", "", 2, &["there is no place for sessions", "--no-save"]);
    stage.machine.write("file", "");
    run("JUNTO_STATE_DIR", &stage.machine.path("file/x").display().to_string(), 1, &["--no-save"]);
    assert!(stage.requests().is_empty());
}

#[test]
fn a_session_of_a_newer_version_is_refused() {
    let stage = Stage::on_any_wire(Play::default());
    stage.machine.run(&["run", "Hi."]).ok();
    let id = latest(&stage.machine);
    let journal = stage.machine.path(&format!(".local/state/junto/sessions/{id}/journal.jsonl"));
    let text = fs::read_to_string(&journal).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let newer = first.replace("\"v\":1", "\"v\":2");
    let header = newer.split_once("\"h\":").unwrap().1.strip_suffix('}').unwrap();
    let sum = format!("{{\"c\":\"{:08x}\",\"h\":{header}}}", crc(header.as_bytes()));
    fs::write(&journal, format!("{sum}\n{rest}")).unwrap();
    stage.machine.run(&["resume", &id, "Go on."]).fails(1, &["newer"]);
    stage.machine.run(&["export", &id]).fails(1, &["newer"]);
}

/// CRC-32, bit by bit.
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 * (sum & 1)))
    })
}

#[test]
fn damage_is_told_and_the_rest_goes_on() {
    let stage = Stage::on_any_wire(Play::of([Step::text("First."), Step::text("Second.")]));
    stage.machine.run(&["run", "Begin."]).ok();
    let id = latest(&stage.machine);
    let journal = stage.machine.path(&format!(".local/state/junto/sessions/{id}/journal.jsonl"));
    let mut text = fs::read_to_string(&journal).unwrap();
    text.push_str("{\"c\":\"0000");
    fs::write(&journal, text).unwrap();
    let run = stage.machine.run(&["resume", &id, "Go on."]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Second.\n"), "{run:#?}");
    assert!(run.err.contains("warning: the journal of session"), "{run:#?}");
}

/// The journal of a session, of which `damage` makes another, goes on: what was lost is told, the model is shown what
/// is left, and no position is there twice.
fn check_damaged_end(damage: impl Fn(&mut Vec<u8>), told: &str) {
    let play = Play::of([Step::text("First."), Step::text("Second."), Step::text("Third.")]);
    let stage = Stage::on_any_wire(play);
    stage.machine.run(&["run", "Begin."]).ok();
    let id = latest(&stage.machine);
    let journal = stage.machine.path(&format!(".local/state/junto/sessions/{id}/journal.jsonl"));
    let mut bytes = fs::read(&journal).unwrap();
    damage(&mut bytes);
    fs::write(&journal, &bytes).unwrap();

    let rewound = stage.machine.run(&["rewind", "--to", "1", &id]);
    assert_eq!(rewound.code, Some(0), "{rewound:#?}");
    assert!(rewound.err.contains(told), "{rewound:#?}");
    for (command, said) in
        [(["resume", &id, "Go on."], "Second.\n"), (["resume", &id, "And on."], "Third.\n")]
    {
        let run = stage.machine.run(&command);
        assert_eq!((run.code, run.out.as_str()), (Some(0), said), "{run:#?}");
        assert!(run.err.contains(told), "{run:#?}");
    }
    assert!(stage.requests()[1].body.to_string().contains("First."));
    let exported = stage.machine.run(&["export", "--format", "json", &id]).ok();
    let exported: Value = serde_json::from_str(&exported).unwrap();
    let places: Vec<u64> =
        exported["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(places.is_sorted_by(|one, next| one < next), "{places:?}");
}

#[test]
fn a_damaged_end_does_not_keep_a_session_from_going_on() {
    // A byte of the last line is another.
    let flipped = |bytes: &mut Vec<u8>| {
        let at = bytes.len() - 20;
        bytes[at] ^= 1;
    };
    check_damaged_end(flipped, "is lost");
    check_damaged_end(|bytes| bytes.extend(b"\0\0\n"), "is lost");
    // A whole record of a kind that only a later version knows.
    let unknown = |bytes: &mut Vec<u8>| {
        let text = String::from_utf8(bytes.clone()).unwrap();
        let last = text.lines().last().unwrap();
        let event = last.split_once("\"e\":").unwrap().1.strip_suffix('}').unwrap();
        let mut event: Value = serde_json::from_str(event).unwrap();
        event["seq"] = json!(event["seq"].as_u64().unwrap() + 1);
        event["type"] = json!("of_another_time");
        let event = event.to_string();
        bytes.extend(format!("{{\"c\":\"{:08x}\",\"e\":{event}}}\n", crc(event.as_bytes())).bytes());
    };
    check_damaged_end(unknown, "no event that this version knows");
}

/// Makes a record of a journal unreadable: the nth of this type.
pub(crate) fn damage(machine: &Machine, id: &str, kind: &str, nth: usize) {
    let journal = machine.path(&format!(".local/state/junto/sessions/{id}/journal.jsonl"));
    let text = fs::read_to_string(&journal).unwrap();
    let sign = format!("\"type\":\"{kind}\"");
    let line = text.lines().filter(|line| line.contains(&sign)).nth(nth).unwrap();
    fs::write(&journal, text.replace(line, &line.replace(&sign, "\"type\":\"\""))).unwrap();
}

#[test]
fn a_session_goes_on_without_its_first_input() {
    on_every_wire(
        || {
            let shell = Step::call("shell", json!({"command": "echo one"}));
            Play::of([shell, Step::text("First."), Step::text("Second."), Step::text("Third.")])
        },
        |setup, stage| {
            let machine = &stage.machine;
            machine.run(&["run", "Begin."]).ok();
            machine.run(&["resume", "latest", "Turn two."]).ok();
            let id = latest(machine);
            damage(machine, &id, "user_input", 0);
            let run = machine.run(&["resume", &id, "Turn three."]);
            assert_eq!((run.code, run.out.as_str()), (Some(0), "Third.\n"), "{} {run:#?}", setup.provider);
            assert!(run.err.contains("is lost"), "{run:#?}");
            let sent = stage.requests().last().unwrap().body.to_string();
            for part in ["said here is lost", "First.", "Turn two.", "Second.", "Turn three."] {
                assert!(sent.contains(part), "{part} in {sent}");
            }
        },
    );
}
