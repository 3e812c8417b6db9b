//! `junto sandbox` and `junto doctor`, with the `bwrap` that the tests are given.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use assert_cmd::Command;
use junto::twin::{Play, Step};

use super::{Machine, Run, text};
use crate::stage::Stage;

/// A machine on which `bwrap` is found.
fn machine() -> Machine {
    let given = std::env::var("JUNTO_PEER_BWRAP").unwrap_or_default();
    let folder = Path::new(&given).parent().unwrap_or(Path::new("/usr/bin")).display().to_string();
    Machine::new().with("PATH", &format!("{folder}:/usr/local/bin:/usr/bin:/bin"))
}

fn sandbox(machine: &Machine, arguments: &[&str]) -> Run {
    let all: Vec<&str> = ["sandbox"].iter().chain(arguments).copied().collect();
    machine.run(&all)
}

#[test]
fn a_command_runs_and_ends_as_it_ends() {
    let machine = machine();
    let run = sandbox(&machine, &["--", "sh", "-c", "echo out; echo err >&2; echo x > new; exit 7"]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(7), "out\n", "err\n"));
    assert_eq!(std::fs::read_to_string(machine.path("project/new")).unwrap(), "x\n");
    let run = sandbox(&machine, &["--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(run.code, Some(137));
    let run = sandbox(&machine, &["--", "no-program-of-this-name"]);
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn it_cannot_leave() {
    let machine = machine();
    machine.write(".ssh/id_rsa", "the key");
    for (arguments, line) in [
        (&[][..], "echo x > /usr/junto-was-here"),
        (&[], "echo x > .git/config"),
        (&[], "cat ~/.ssh/id_rsa"),
        (&["--read-only"], "echo x > new"),
        (&["--hide", "notes"], "cat notes"),
    ] {
        machine.write("project/notes", "private");
        let arguments: Vec<&str> = arguments.iter().chain(&["--", "sh", "-c", line]).copied().collect();
        let run = sandbox(&machine, &arguments);
        assert!(run.code != Some(0) && run.out.is_empty(), "{line}: {run:?}");
    }
    assert!(!Path::new("/usr/junto-was-here").exists());
    machine.write("beside/file", "");
    let arguments = ["--writable", "../beside", "--", "sh", "-c", "echo x > ../beside/file"];
    assert_eq!(sandbox(&machine, &arguments).code, Some(0));
}

/// Through a directory that is open a command would get around its walls.
#[test]
fn a_directory_as_a_standard_stream_is_refused_and_named_as_what_it_is() {
    let machine = machine();
    line(&machine, "exec \"$0\" sandbox --read-only -- true < .")
        .fails(2, &["a standard stream is a directory"]);
}

/// A descriptor leads to where it was opened, outside of the walls.
#[test]
fn a_file_that_a_command_reads_as_its_input_is_not_changed_through_it() {
    let machine = machine();
    let changes =
        "cat; echo x > /proc/self/fd/0; echo x >&0; chmod 777 /proc/self/fd/0; truncate -s 0 /dev/stdin";
    for redirection in ["< victim", "<> victim", "< victim > said; cat said"] {
        let victim = machine.write("project/victim", "theirs\n");
        let before = victim.metadata().unwrap().permissions();
        let run = line(&machine, &format!("\"$0\" sandbox --read-only -- sh -c '{changes}' {redirection}"));
        assert_eq!(run.out, "theirs\n", "{redirection}: {run:?}");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "theirs\n", "{redirection}: {run:?}");
        assert_eq!(victim.metadata().unwrap().permissions(), before, "{redirection}: {run:?}");
    }
    // One with a name is a file, too.
    let fifo = "mkfifo fifo; exec 5<> fifo; echo first > fifo
                \"$0\" sandbox --read-only -- sh -c 'read -r a; echo \"got $a\"; echo changed > /proc/self/fd/0' < fifo
                echo last > fifo; read -r b < fifo; echo \"then $b\"";
    assert_eq!(line(&machine, fifo).out, "got first\nthen last\n");
    let null = line(&machine, "\"$0\" sandbox --read-only -- chmod 666 /proc/self/fd/0 < /dev/null");
    assert_ne!(null.code, Some(0), "{null:?}");
}

#[test]
fn a_file_arrives_whole_as_input_and_what_is_not_read_is_left() {
    let machine = machine();
    let numbers = (0..400_000).map(|number| number.to_string()).collect::<Vec<_>>().join("\n") + "\n";
    machine.write("project/large", &numbers);
    machine.write("project/empty", "");
    let whole = line(&machine, "\"$0\" sandbox --read-only -- cat < large").ok();
    assert!(whole == numbers, "{} of {} bytes", whole.len(), numbers.len());
    assert_eq!(line(&machine, "\"$0\" sandbox --read-only -- cat < empty").ok(), "");
    // Whoever ends before, or reads nothing.
    assert_eq!(line(&machine, "\"$0\" sandbox --read-only -- true < large").ok(), "");
    let run = line(&machine, "\"$0\" sandbox --read-only -- sh -c 'exec < /dev/null; kill -9 $$' < large");
    assert_eq!(run.code, Some(137), "{run:?}");
    let rest = "{ \"$0\" sandbox --read-only -- sh -c 'read -r a; echo \"$a\"'; read -r b; echo \"$b\"; \
                \"$0\" sandbox -- true; head -n 2; } < large";
    assert_eq!(line(&machine, rest).ok(), "0\n1\n2\n3\n");
    let each = "head -n 3 large > few; while read -r a; do \"$0\" sandbox -- echo \"$a\"; done < few";
    assert_eq!(line(&machine, each).ok(), "0\n1\n2\n");
}

/// What a shell says that finds this program as `$0`.
fn line(machine: &Machine, line: &str) -> Run {
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().envs(machine.environment()).current_dir(machine.path("project"));
    Run::of(shell.args(["-c", line, env!("CARGO_BIN_EXE_junto")]))
}

#[test]
fn what_is_kept_of_other_work_is_not_there_for_commands() {
    let usual = machine();
    let elsewhere = machine();
    let kept = text(&elsewhere.path("kept"));
    let elsewhere = elsewhere.with("JUNTO_STATE_DIR", &kept);
    for (machine, root) in [(&usual, ".local/state/junto"), (&elsewhere, "kept")] {
        for kept in ["sessions/x/journal.jsonl", "snapshots/x.git/objects/aa/b", "runs/x/log"] {
            let path = format!("{root}/{kept}");
            machine.write(&path, "of other work");
            let run = sandbox(machine, &["--", "cat", &text(&machine.path(&path))]);
            assert!(run.code != Some(0) && run.out.is_empty(), "{path}: {run:?}");
        }
    }
}

/// It says what agents may do: who reads it knows what is open, who writes it opens it.
#[test]
fn the_users_configuration_is_not_there_for_commands_wherever_it_is() {
    for (variable, value, file) in [
        ("XDG_CONFIG_HOME", "cfg", "cfg/junto/config.toml"),
        ("XDG_CONFIG_HOME", "project/cfg", "project/cfg/junto/config.toml"),
        ("JUNTO_CONFIG", "other/mine.toml", "other/mine.toml"),
        ("JUNTO_CONFIG", "project/mine.toml", "project/mine.toml"),
    ] {
        let machine = machine();
        let value = text(&machine.path(value));
        let machine = machine.with(variable, &value);
        machine.write(file, "policy.mode = \"ask\"\n");
        machine.write("project/q", "here");
        let path = text(&machine.path(file));
        let run = sandbox(&machine, &["--", "sh", "-c", &format!("cat q {path}")]);
        assert!(run.code != Some(0) && run.out == "here", "{path}: {run:?}");
        let arguments = ["--", "sh", "-c", &format!("echo x >> {path}; rm -f {path}; mv {path} {path}x")];
        sandbox(&machine, &arguments);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "policy.mode = \"ask\"\n");
    }
    // Whoever names no file hides none.
    let machine = machine().with("JUNTO_CONFIG", "/dev/null");
    assert_eq!(sandbox(&machine, &["--", "sh", "-c", "echo x > /dev/null; echo y"]).out, "y\n");
}

/// Whoever works where it is has chosen that.
#[test]
fn the_folder_of_the_configuration_can_be_worked_in() {
    let machine = machine();
    let value = text(&machine.path("cfg"));
    let machine = machine.with("XDG_CONFIG_HOME", &value);
    machine.write("cfg/junto/config.toml", "policy.mode = \"ask\"\n");
    let folder = text(&machine.path("cfg/junto"));
    let mut command = machine.command(&["sandbox", "--", "cat", "config.toml"]);
    assert_eq!(Run::of(command.current_dir(folder)).ok(), "policy.mode = \"ask\"\n");
}

#[test]
fn what_is_to_be_hidden_is_hidden_or_nothing_runs() {
    let machine = machine();
    machine.write("notes", "private");
    machine.write("project/q", "here");
    let hide = |path: &str, line: &str| sandbox(&machine, &["--hide", path, "--", "sh", "-c", line]);
    for path in ["~/notes", "../notes", &text(&machine.path("notes"))] {
        let run = hide(path, "cat q ../notes");
        assert!(run.code != Some(0) && run.out == "here", "{path}: {run:?}");
    }
    for path in [".", "..", "/", "~", &text(&machine.path("project"))] {
        hide(path, "pwd; cat q").fails(2, &["cannot be hidden", "the work is in it"]);
    }
    hide("none", "pwd").fails(2, &["project/none: there is nothing here to hide"]);
    hide("*", "pwd").fails(2, &["patterns are not understood"]);
}

#[test]
fn what_cannot_be_is_refused_with_a_hint_that_fits() {
    let machine = machine();
    for limit in ["--max-memory", "--max-file", "--max-processes"] {
        sandbox(&machine, &[limit, "0", "--", "true"]).fails(2, &["a limit of 0"]);
    }
    sandbox(&machine, &["--writable", "/nowhere", "--", "true"]).fails(2, &["/nowhere", "paths"]);
    let run = sandbox(&machine, &["--writable", "/", "--", "true"]).fails(2, &["--writable"]);
    assert!(!run.err.contains("install"), "{run:?}");
    if rustix::process::geteuid().is_root() {
        let limited = ["--max-processes", "9", "--", "true"];
        let run = sandbox(&machine, &limited).fails(2, &["another user"]);
        assert!(!run.err.contains("install"), "{run:?}");
    }
}

#[test]
fn what_the_file_of_the_sandbox_says_and_cannot_be_is_refused_before_a_model_is_asked() {
    let stage = Stage::on_any_wire(Play::of([Step::text("Done.")]));
    stage.machine.write("notes", "private");
    let run = |file: &str| {
        stage.machine.write("project/box.toml", file);
        stage.machine.run(&["run", "--sandbox-config", "box.toml", "Work."])
    };
    for (file, said) in [
        ("hide = [\"..\"]", &["cannot be hidden", "--sandbox-config"][..]),
        ("hide = [\"~\"]", &["cannot be hidden"]),
        ("hide = [\"*.md\"]", &["patterns are not understood", "box.toml"]),
        ("hide = [\"none\"]", &["nothing here to hide", "box.toml"]),
        ("writable = [\"/nowhere\"]", &["/nowhere", "`writable`", "box.toml"]),
        ("writable = [\"/\"]", &["could change this program", "name no such folder"]),
        ("max_memory = 0", &["a limit of 0 for memory", "--sandbox-config"]),
        ("max_file = 0", &["a limit of 0 for the size of files"]),
    ] {
        run(file).fails(2, said);
    }
    assert!(stage.requests().is_empty());
    run("hide = [\"~/notes\"]\nmax_memory = 4096").ok();
}

#[test]
fn without_bubblewrap_it_is_refused_or_said() {
    let machine = Machine::new().with("PATH", "/nowhere");
    let run = sandbox(&machine, &["--", "/bin/true"]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("bwrap") && run.err.contains("--weaker"), "{run:?}");
    let run = sandbox(&machine, &["--weaker", "--", "/bin/true"]);
    assert!(run.code == Some(0) && run.err.contains(".git"), "{run:?}");
    // Nothing is missing for this one.
    let run = sandbox(&machine, &["--read-only", "--", "/bin/true"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
}

#[test]
fn a_door_is_opened_for_named_hosts_only() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.read(&mut [0; 4096]);
            let _ =
                client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
        }
    });
    let machine = machine();
    let script = format!(
        "import urllib.request, urllib.error, socket
print(urllib.request.urlopen('http://localhost:{port}/', timeout=20).read().decode())
try: urllib.request.urlopen('http://example.org/', timeout=20)
except urllib.error.HTTPError as e: print(e.code)
try: socket.create_connection(('127.0.0.1', {port}), timeout=5); print('ESCAPED')
except OSError: print('refused')"
    );
    let hosts = format!("localhost:{port}");
    let run = sandbox(&machine, &["--network", &hosts, "--", "python3", "-c", &script]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "hello\n403\nrefused\n"), "{run:?}");
}

#[test]
fn the_doctor_tells_what_is_enforced() {
    let run = machine().run(&["doctor"]);
    assert_eq!(run.code, Some(0));
    assert!(run.out.contains("Landlock") && run.out.contains("workspace: enforced"), "{run:?}");
    let run = Machine::new().with("PATH", "/nowhere").run(&["doctor", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(told["sandbox"]["bwrap"], serde_json::Value::Null);
    let mode = &told["modes"][1];
    assert_eq!((&mode["mode"], &mode["enforced"]), (&"workspace".into(), &false.into()));
    assert_eq!(mode["gaps"][0]["gap"], "settings");
}
