//! Opening a long session, against `serde_json` reading the same file.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use junto_core::{Durability, Event, Journal, Seq};
use junto_llm::SessionId;
use junto_store::{Options, Store, Sync};
use serde_json::Value;

use crate::past::{Past, session};
use crate::table::{Table, millis, ratio, time, typical};

/// How large the journal is at least.
const BYTES: u64 = 50_000_000;
/// How often each side reads it.
const TURNS: usize = 12;
/// At most so many times `serde_json`.
const BOUND: f64 = 2.0;
/// In megabytes.
const MOST_MEMORY: f64 = 100.0;
/// Tells this program that it shall do nothing but open a session, so that its memory can be looked at.
pub(crate) const ALONE: &str = "open-alone";

pub(crate) async fn measure(scratch: &Path, table: &mut Table) {
    let id = session(1);
    let store =
        Store::open(scratch.join("open"), Options { sync: Sync::Never, ..Options::default() }).unwrap();
    let path = store.folder(&id).unwrap().join("journal.jsonl");
    let count = write(&store, &id, &path).await;
    let megabytes = std::fs::metadata(&path).unwrap().len() as f64 / 1e6;

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (mut one_by_one, mut values) = (Vec::new(), Vec::new());
    // Kept in memory on both sides, as a session needs it; then not kept on both.
    for _ in 0..TURNS {
        ours.push(time(|| assert_eq!(resume(&store, &id).len(), count)));
        theirs.push(time(|| assert_eq!(lines(&path).collect::<Vec<_>>().len(), count + 1)));
        let events = store.events(&id, Seq::START).unwrap();
        one_by_one.push(time(|| assert_eq!(seen(events.map(Result::unwrap)), count)));
        values.push(time(|| assert_eq!(seen(lines(&path)), count + 1)));
    }
    let (ours, theirs) = (typical(ours), typical(theirs));
    let figures =
        |ours: Duration, theirs: Duration| format!("{}; serde_json {}", millis(ours), millis(theirs));
    let what = format!("open a journal of {megabytes:.0} MB, {count} events");
    table.judge(&what, figures(ours, theirs), ratio(ours, theirs), BOUND);
    let (one_by_one, values) = (typical(one_by_one), typical(values));
    table.tell(
        "the same, read one by one and not kept",
        format!("{}: {:.2}", figures(one_by_one, values), ratio(one_by_one, values)),
    );
    let peak = peak_alone(store.root(), &id);
    table.judge("peak memory of a process that opens it, MB", format!("{peak:.0} MB"), peak, MOST_MEMORY);
}

/// How many there are. Each is made, and nothing is kept.
fn seen<T>(items: impl Iterator<Item = T>) -> usize {
    let mut count = 0;
    for item in items {
        black_box(item);
        count += 1;
    }
    count
}

/// Writes a long session; returns how many events it has.
async fn write(store: &Store, id: &SessionId, path: &Path) -> usize {
    let opened = store.create(id).unwrap();
    let mut past = Past::of(id.clone());
    let mut count = 0;
    while std::fs::metadata(path).unwrap().len() < BYTES {
        let events = past.turn(12);
        opened.journal.append(&events, Durability::Written).await.unwrap();
        count += events.len();
    }
    count
}

/// What bringing a session back does with its journal: it is locked and brought in order, then read.
fn resume(store: &Store, id: &SessionId) -> Vec<Event> {
    let opened = store.open_session(id).unwrap();
    let recorded = store.read(id).unwrap();
    assert!(opened.recovery.is_clean() && recorded.recovery.is_clean());
    recorded.events
}

/// The lines of a file as `serde_json` reads them, knowing nothing of events or checksums.
fn lines(path: &Path) -> impl Iterator<Item = Value> {
    let mut file = BufReader::with_capacity(256 * 1024, File::open(path).unwrap());
    let mut line = Vec::new();
    std::iter::from_fn(move || {
        line.clear();
        let read = file.read_until(b'\n', &mut line).unwrap();
        (read > 0).then(|| serde_json::from_slice(&line).unwrap())
    })
}

/// The peak of the memory of a process that opens a session and does nothing else, in megabytes.
fn peak_alone(root: &Path, id: &SessionId) -> f64 {
    let output =
        Command::new(std::env::current_exe().unwrap()).arg(ALONE).arg(root).arg(&id.0).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

/// Opens a session in a process of its own, and prints its peak.
pub(crate) fn alone(root: &str, id: &str) {
    let store = Store::open(root, Options::default()).unwrap();
    let events = resume(&store, &SessionId(id.to_owned()));
    assert!(!events.is_empty());
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    println!("{}", kib * 1024.0 / 1e6);
}
