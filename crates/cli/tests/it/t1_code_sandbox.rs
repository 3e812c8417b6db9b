//! Kernels in the sandbox.

use std::io::{Read as _, Write as _};

use junto::twin::Step;
use serde_json::json;

use crate::t1_code::{cell, outputs, stage, work};
use crate::t1_code_escapes::outside;
use crate::text;

/// Tries what the sandbox keeps code from, and says what came of each.
const TRY: &str = r#"
import os, pathlib, socket, subprocess
home = pathlib.Path.home()
def attempt(name, what):
    try:
        what()
        print(name, "yes")
    except Exception:
        print(name, "no")
attempt("inside", lambda: pathlib.Path("inside.txt").write_text("x"))
attempt("outside", lambda: pathlib.Path("OUTSIDE/own.txt").write_text("x"))
attempt("secret", lambda: (home / ".ssh/id_rsa").read_text())
attempt("settings", lambda: pathlib.Path(".git/config").write_text("x"))
attempt("network", lambda: socket.create_connection(("127.0.0.1", PORT), 5))
attempt("child", lambda: subprocess.run(["sh", "-c", "echo x > OUTSIDE/child.txt"], check=True, stderr=subprocess.DEVNULL))
"#;

/// What comes of [`TRY`] with these flags, and of tools that it calls.
fn tried(flags: &[&str]) -> (String, bool) {
    // Somebody who could be reached.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let tools = "from mcptools.junto import read_file\nprint(read_file(file_path='note.txt'))";
    let outside = outside();
    let code = TRY.replace("PORT", &port).replace("OUTSIDE", &text(outside.path()));
    let stage = stage([cell(&code), cell(tools), Step::text("Done.")]);
    stage.machine.write(".ssh/id_rsa", "key");
    stage.machine.write("project/note.txt", "noted");
    let events = work(&stage, flags);
    let said = outputs(&events);
    assert!(said[1].contains("noted"), "{said:?}");
    let left = std::fs::read_dir(outside.path()).unwrap().count() > 0;
    (said[0].clone(), left)
}

const HELD: &str = "outside no\nsecret no\nsettings no\nnetwork no\nchild no\n";

#[test]
fn in_the_workspace_code_runs_unasked_and_cannot_leave() {
    let (said, left) = tried(&[]);
    assert_eq!((said, left), (format!("inside yes\n{HELD}"), false));
}

#[test]
fn read_only_code_changes_nothing() {
    let (said, left) = tried(&["--policy", "read-only"]);
    assert_eq!((said, left), (format!("inside no\n{HELD}"), false));
}

#[test]
fn where_it_is_insisted_on_code_is_held_in_every_mode() {
    let (said, left) = tried(&["--policy", "full", "--sandbox", "whole"]);
    assert_eq!((said, left), (format!("inside yes\n{HELD}"), false));
}

#[test]
fn a_subagent_is_held_too_and_a_file_says_more() {
    let more = outside();
    let write = format!(
        "import pathlib\ntry:\n    pathlib.Path('{}/a.txt').write_text('x')\n    print('written')\n\
         except OSError:\n    print('kept')",
        text(more.path())
    );
    let steps = [
        cell(&write),
        Step::call("spawn_agent", json!({"task": "CHILD", "wait": true})),
        cell(&write),
        Step::text("Child."),
        Step::text("Done."),
    ];
    for (flags, expected) in [(&[][..], "kept\n"), (&["--sandbox-config", "../box.toml"], "written\n")] {
        let stage = stage(steps.clone());
        stage.machine.write("box.toml", format!("writable = [\"{}\"]\n", text(more.path())));
        let said = outputs(&work(&stage, flags));
        assert_eq!(said, [expected, expected], "{flags:?}");
    }
}

/// Named hosts are reached through the door in the walls, by the kernel and what it starts, and no others.
#[test]
fn code_reaches_named_hosts_and_no_others() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.read(&mut [0; 4096]);
            let _ =
                client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
        }
    });
    let code = r#"
import socket, subprocess, sys, urllib.error, urllib.request
get = "import urllib.request; print(urllib.request.urlopen('http://localhost:PORT/').read().decode())"
exec(get)
print(subprocess.run([sys.executable, "-c", get], capture_output=True, text=True).stdout, end="")
try: urllib.request.urlopen("http://example.org/")
except urllib.error.HTTPError as error: print(error.code)
try: socket.create_connection(("127.0.0.1", PORT)); print("ESCAPED")
except OSError: print("refused")
"#;
    let again =
        "import urllib.request\nprint(urllib.request.urlopen('http://localhost:PORT/').read().decode())";
    let with_port = |code: &str| cell(&code.replace("PORT", &port.to_string()));
    // Also after the kernel was started anew.
    let steps =
        [with_port(code), Step::call("reset_kernel", json!({})), with_port(again), Step::text("Done.")];
    let stage = stage(steps);
    stage.machine.write("box.toml", format!("network = [\"localhost:{port}\"]\n"));
    let said = outputs(&work(&stage, &["--sandbox-config", "../box.toml"]));
    assert_eq!(said, ["hello\nhello\n403\nrefused\n", "hello\n"]);
}

#[test]
fn where_there_is_no_sandbox_it_is_refused_with_what_to_do() {
    let stage = stage([cell("1"), Step::text("Done.")]);
    let mut command =
        stage.machine.command(&["run", "--code", "--policy", "full", "--sandbox", "whole", "Work."]);
    // Without bubblewrap.
    let run = crate::Run::of(command.env("PATH", "/usr/sbin"));
    run.fails(1, &["needs commands to be held", "bubblewrap"]);
    assert!(stage.requests().is_empty());
}

#[test]
fn without_the_sandbox_code_is_asked_about_or_refused() {
    for (mode, said) in [("workspace", "not allowed"), ("read-only", "no sandbox would hold it")] {
        let stage = stage([cell("open('a.txt', 'w')"), Step::text("Done.")]);
        // Nobody is there to be asked.
        let told = outputs(&work(&stage, &["--policy", mode, "--sandbox", "off"]));
        assert!(told[0].contains(said), "{mode}: {told:?}");
        assert!(!stage.machine.path("project/a.txt").exists());
    }
}
