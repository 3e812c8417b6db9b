//! What code in the sandbox does not find: the secrets of a project it works in a part of, and sockets of others; and
//! what it must not leave behind.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use junto::twin::Step;
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::t1_code::{cell, outputs, stage, work};
use crate::t1_interrupt::start;
use crate::t1_run::of_type;
use crate::text;

/// For what must not hang.
const HANG: Duration = Duration::from_mins(2);

/// Waits until something is so.
#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < HANG, "{what} never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Reads files that are secrets of others, and one that is not.
const READ: &str = "
for path in ['../.env', '../other/.env.local', '../../.env', '../notes.txt', '../other/notes.txt']:
    try:
        print(path, open(path).read())
    except OSError:
        print(path, '-')
";
const KEPT: &str =
    "../.env -\n../other/.env.local -\n../../.env -\n../notes.txt note\n../other/notes.txt note\n";
/// The same in a shell; in a file, so that nobody sees from the line what it reads.
const CAT: &str = "for f in ../.env ../other/.env.local ../../.env ../notes.txt ../other/notes.txt; do echo \"$f $(cat $f 2>/dev/null || echo -)\"; done";

/// A project with secrets above and beside the part that is worked in.
fn with_parts(stage: &Stage) {
    for (path, content) in [
        ("project/.env", "SECRET"),
        ("project/other/.env.local", "SECRET"),
        (".env", "SECRET"),
        ("project/notes.txt", "note"),
        ("project/other/notes.txt", "note"),
        ("project/sub/look.sh", CAT),
    ] {
        stage.machine.write(path, content);
    }
}

fn shell_said(events: &[Value]) -> Vec<String> {
    let ends = of_type(events, "tool_call_end").into_iter().filter(|end| end["name"] == "shell");
    ends.map(|end| end["output"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_subagent_in_a_part_of_the_project_reads_no_secrets_of_the_rest() {
    let steps = [
        Step::call("spawn_agent", json!({"task": "CHILD", "working_dir": "sub", "wait": true})),
        cell(READ),
        Step::call("shell", json!({"command": "sh look.sh"})),
        Step::text("Child."),
        Step::text("Done."),
    ];
    let stage = stage(steps);
    with_parts(&stage);
    // The project is known only by where the session began: it is no repository.
    let events = work(&stage, &[]);
    assert_eq!(outputs(&events), [KEPT]);
    assert!(shell_said(&events)[0].starts_with(KEPT), "{:?}", shell_said(&events));
}

#[test]
fn a_session_in_a_part_of_a_repository_reads_no_secrets_of_the_rest() {
    let stage =
        stage([cell(READ), Step::call("shell", json!({"command": "sh look.sh"})), Step::text("Done.")]);
    with_parts(&stage);
    stage.machine.write("project/.git/HEAD", "ref: refs/heads/main\n");
    let events = work(&stage, &["-C", "sub"]);
    assert_eq!(outputs(&events), [KEPT]);
    assert!(shell_said(&events)[0].starts_with(KEPT), "{:?}", shell_said(&events));
}

/// Connects to sockets; one of them is made while it waits. DIR is the folder of the first, LATER a file that will have
/// the path of the second.
const CONNECT: &str = "
import pathlib, socket, tempfile, time
def reached(path):
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.connect(path)
            return s.recv(5).decode()
        except OSError:
            return 'no'
print('before', reached('DIR/before.sock'))
pathlib.Path('waits').touch()
while not pathlib.Path('later').exists():
    time.sleep(0.02)
for path in pathlib.Path('later').read_text().split():
    print('later', reached(path))
print('data', pathlib.Path('DIR/data.txt').read_text())
with tempfile.NamedTemporaryFile() as file:
    file.write(b'x')
pathlib.Path('MADE').write_text('mine')
print('made', pathlib.Path('MADE').read_text())
import multiprocessing.connection as c, os
with c.Listener(family='AF_UNIX') as listener, c.Client(listener.address) as client, listener.accept() as other:
    client.send('hello')
    print('own', other.recv())
from mcptools.junto import read_file
print('tool', 'note' in read_file(file_path='note.txt'))
";

/// Somebody who greets whoever comes.
fn greeter(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    std::thread::spawn(move || listener.incoming().flatten().for_each(|mut c| drop(c.write_all(b"hello"))));
}

/// What comes of [`CONNECT`], and whether what it made where everybody makes files can be seen outside.
fn connected(flags: &[&str]) -> (String, bool) {
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    greeter(&dir.path().join("before.sock"));
    std::fs::write(dir.path().join("data.txt"), "given").unwrap();
    let name = format!("junto-made-{}-{}", std::process::id(), dir.path().file_name().unwrap().display());
    let made = Path::new("/tmp").join(name);
    let code = CONNECT.replace("DIR", &text(dir.path())).replace("MADE", &text(&made));
    let stage = stage([cell(&code), Step::text("Done.")]);
    stage.machine.write("project/note.txt", "noted");
    let project = stage.machine.path("project");
    let begins_later = std::thread::spawn(move || {
        until("the cell", || project.join("waits").exists());
        let later = tempfile::tempdir_in("/tmp").unwrap();
        let beside = dir.path().join("beside.sock");
        greeter(&later.path().join("later.sock"));
        greeter(&beside);
        let paths = format!("{}/later.sock {}", later.path().display(), beside.display());
        std::fs::write(project.join("new"), paths).unwrap();
        std::fs::rename(project.join("new"), project.join("later")).unwrap();
        (later, dir)
    });
    let said = outputs(&work(&stage, flags));
    drop(begins_later.join().unwrap());
    let is_seen = made.exists();
    let _ = std::fs::remove_file(&made);
    (said[0].clone(), is_seen)
}

#[test]
fn sockets_of_others_are_not_there_for_code_whenever_they_begin_to_listen() {
    let rest = "data given\nmade mine\nown hello\ntool True\n";
    let (said, is_seen) = connected(&[]);
    assert_eq!((said, is_seen), (format!("before no\nlater no\nlater no\n{rest}"), false));
    // They are real: without the sandbox each answers.
    let (said, is_seen) = connected(&["--policy", "full"]);
    assert_eq!((said, is_seen), (format!("before hello\nlater hello\nlater hello\n{rest}"), true));
}

/// The empty folders that stand for settings.
fn stand_ins(project: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(project).unwrap().map(|entry| entry.unwrap());
    let ours = all.filter(|entry| entry.metadata().unwrap().permissions().mode() & 0o777 == 0o500);
    ours.map(|entry| entry.path()).collect()
}

#[test]
fn what_a_killed_host_left_is_swept_by_whoever_starts_there_next() {
    let wait = "import pathlib, time\npathlib.Path('waits').touch()\ntime.sleep(600)";
    for next in [
        &["run", "--policy", "full", "Go on."][..],
        &["run", "Go on."],
        &["run", "--code", "Go on."],
        &["sandbox", "--", "true"],
    ] {
        let stage = stage([cell(wait), Step::text("Done.")]);
        let project = stage.machine.path("project");
        let mut child = start(&stage.machine, &["run", "--code", "Work."]);
        drop(child.stdin.take());
        until("the cell", || project.join("waits").exists());
        child.kill().unwrap();
        child.wait().unwrap();
        let left = stand_ins(&project);
        assert!(left.iter().any(|path| path.ends_with(".claude")), "{left:?}");
        let run = stage.machine.run(next);
        assert_eq!(run.code, Some(0), "{run:#?}");
        assert_eq!(stand_ins(&project), [] as [PathBuf; 0], "{next:?}");
        // What was there before is there still.
        assert!(project.join(".git").is_dir());
    }
}

#[test]
fn folders_that_stand_for_settings_end_with_the_session() {
    let look = "import os\nprint(sorted(name for name in os.listdir('.') if name.startswith('.c')))";
    let stage = stage([cell(look), Step::text("Done.")]);
    let events = work(&stage, &[]);
    assert_eq!(outputs(&events), ["['.claude', '.codex', '.continue', '.cursor']\n"]);
    assert_eq!(stand_ins(&stage.machine.path("project")), [] as [PathBuf; 0]);
}
