//! A host that is killed outright leaves nothing of its kernels, whatever they are doing.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use junto::twin::Step;

use crate::stage::Stage;
use crate::t1_code::{cell, stage};
use crate::t1_commands::Session;
use crate::t1_interrupt::signal;

/// How often is looked whether all are gone; a look and its pause take some milliseconds.
const LOOKS: usize = 10_000;

/// Which processes there are of a machine: its folder is among their variables or arguments. By number and start, so
/// that none is taken for another.
fn processes(stage: &Stage) -> Vec<(String, String)> {
    let folder = stage.machine.path("").to_str().unwrap().trim_end_matches('/').to_owned();
    let of = |file: &Path| {
        let text = std::fs::read(file).unwrap_or_default();
        text.windows(folder.len()).any(|part| part == folder.as_bytes())
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let path = entry.path();
        let pid = entry.file_name().to_string_lossy().into_owned();
        if !pid.starts_with(|first: char| first.is_ascii_digit()) || pid == std::process::id().to_string() {
            continue;
        }
        let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
        let Some((_, fields)) = stat.rsplit_once(") ") else { continue };
        let fields: Vec<&str> = fields.split(' ').collect();
        // What is dead and not yet buried by its new parent is gone.
        if fields[0] != "Z" && (of(&path.join("environ")) || of(&path.join("cmdline"))) {
            found.push((pid, fields[19].to_owned()));
        }
    }
    found
}

fn kill(child: &mut Child) {
    signal(child, "KILL");
    child.wait().unwrap();
}

#[track_caller]
fn check(code: &str, least: usize, flags: &[&str]) -> Stage {
    let stage = stage([cell(code), Step::text("Done.")]);
    let mut session = Session::start(&stage, &[&["--code"], flags].concat());
    // A file, and not what the cell says: a call that lets no other thread run keeps that from being told.
    let begun = stage.machine.path("project/begun");
    while !begun.exists() || processes(&stage).len() < least {
        std::thread::sleep(Duration::from_millis(5));
    }
    kill(&mut session.child);
    let mut left = Vec::new();
    for _ in 0..LOOKS {
        left = processes(&stage);
        if left.is_empty() {
            return stage;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{code}: {left:?} live");
}

/// Junto, the kernel, who watches over it; and what the cell started, in a session of its own and without variables, too.
const STARTS: &str = "import os, subprocess\nsubprocess.Popen(['sleep', '600'])\n\
                      subprocess.Popen(['setsid', 'sleep', '600'])\n\
                      open('held', 'w').close()\nsubprocess.Popen(['env', '-i', 'tail', '-f', os.path.abspath('held')])\n\
                      open('begun', 'w').close()\nsubprocess.run(['sleep', '600'])";
const BUSY: &str = "open('begun', 'w').close()\nwhile True: pass";
/// A call that lets no other thread of the interpreter run.
const DEAF: &str = "open('begun', 'w').close()\nsum(range(10 ** 13))";

/// The folders of kernels and their sockets that are left in a machine's own folder for them.
fn folders(stage: &Stage) -> Vec<PathBuf> {
    let run = std::fs::read_dir(stage.machine.path(".local/state/junto/run")).unwrap();
    run.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_kernel_and_all_that_its_cell_started_end_with_a_host_that_is_killed() {
    let stage = check(STARTS, 7, &["--policy", "full"]);
    assert_eq!(folders(&stage), Vec::<PathBuf>::new(), "who watched over it has removed its folder");
}

#[test]
fn a_busy_kernel_ends_with_a_host_that_is_killed() {
    check(BUSY, 3, &["--policy", "full"]);
    check(DEAF, 3, &["--policy", "full"]);
}

#[test]
fn a_kernel_in_the_sandbox_ends_with_a_host_that_is_killed() {
    check(STARTS, 7, &["--policy", "workspace"]);
    check(DEAF, 3, &["--policy", "workspace"]);
}

/// In the sandbox nobody but the host can remove the folder of its sockets.
#[test]
fn what_a_killed_host_leaves_is_removed_by_the_next() {
    let stage = check(BUSY, 3, &["--policy", "workspace"]);
    stage.machine.run(&["run", "--code", "--policy", "workspace", "Again."]).ok();
    assert_eq!(folders(&stage), Vec::<PathBuf>::new());
}
