//! Many runs at once, and what is left of them when their host is killed.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use junto_core::{EndReason, EventLog, Mode};
use junto_runner::background::{Background, Errand};
use junto_runner::sweep::{Roster, Swept};

use crate::stage::{Stage, fake_claude, parent, program};

/// How many runs there are, and how many of them at once.
const RUNS: usize = 50;
const AT_ONCE: usize = 8;

#[tokio::test]
async fn fifty_runs_stay_within_what_may_run_at_once() {
    // Each counts those that run with it.
    let stage = Stage::codex(
        r#"cat > /dev/null
        mkdir "running.$$"
        ls -d running.* | wc -l >> counts.txt
        sleep 0.05
        rmdir "running.$$"
        while [ "$1" != --output-last-message ]; do shift; done
        printf done > "$2""#,
    );
    let folder = tempfile::tempdir().unwrap();
    let (roster, swept) = Roster::open(folder.path()).unwrap();
    assert_eq!(swept, Swept::default());
    let roster = Arc::new(roster);
    let line = Background::new(NonZeroUsize::new(AT_ONCE).unwrap(), NonZeroUsize::new(RUNS).unwrap());
    let mut jobs = Vec::new();
    for _ in 0..RUNS {
        let mut host = stage.host.clone();
        host.roster = Some(Arc::clone(&roster));
        let (definition, prompt) = (stage.definition.clone(), "go".to_owned());
        let errand = Errand { definition, host, mode: Mode::ReadOnly, model: None, workdir: None, prompt };
        let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
        jobs.push(line.submit(errand, parent(), log).await.unwrap());
    }
    for job in &jobs {
        let outcome = job.outcome().await;
        assert_eq!((outcome.reason, outcome.text.as_str()), (EndReason::Done, "done"));
    }
    let counts = fs::read_to_string(stage.path().join("counts.txt")).unwrap();
    let counts: Vec<usize> = counts.lines().map(|count| count.trim().parse().unwrap()).collect();
    assert_eq!(counts.len(), RUNS);
    assert!(counts.iter().all(|count| *count <= AT_ONCE), "{counts:?}");
    stage.assert_no_survivors();
    // Nothing runs, so nothing is written down.
    drop(jobs);
    drop(roster);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn what_a_killed_host_left_is_ended_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = start(folder.path());
    let began = || fs::read_to_string(folder.path().join("runs.jsonl")).unwrap_or_default().lines().count();
    while began() < AT_ONCE {
        assert!(host.try_wait().unwrap().is_none(), "the host ended");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(began(), AT_ONCE, "the others wait");
    // A host that lives is left alone, with its children.
    let children = folder.path().join("children");
    assert_eq!(open(&children).await, Swept::default());
    host.kill().unwrap();
    host.wait().unwrap();
    // Each has left a process that has a session of its own and no parent.
    assert_eq!(alive(folder.path()).len(), 2 * AT_ONCE);
    assert_eq!(open(&children).await, Swept { hosts: 1, processes: 2 * AT_ONCE });
    assert_eq!(alive(folder.path()), Vec::<String>::new());
    assert_eq!(open(&children).await, Swept::default(), "there is nothing left to do");
}

/// Begins a new host's file, and ends that host at once.
async fn open(children: &Path) -> Swept {
    let children = children.to_owned();
    tokio::task::spawn_blocking(move || Roster::open(&children).unwrap().1).await.unwrap()
}

fn start(folder: &Path) -> Child {
    let mut command = Command::new(program("many_runs"));
    command.arg(folder).arg(fake_claude()).args([RUNS.to_string(), AT_ONCE.to_string()]);
    command.stdin(Stdio::null()).spawn().unwrap()
}

/// The processes, but the dead, that have this folder among their variables.
fn alive(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap().as_bytes();
    let processes = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        environ.windows(folder.len()).any(|window| window == folder)
    });
    processes.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
