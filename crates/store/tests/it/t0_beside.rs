//! What is to be safe soon is synced with what others sync; or, if they do not, beside what goes on.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use junto_core::{Durability, Journal};
use junto_store::files::{Faulty, File, Files, How};
use junto_store::{Opened, Options, Store, Sync};

use crate::support::{ROOT, line, options, session};

/// Files in memory of which some may be synced by other threads: when that is let through, and how it ends.
#[derive(Clone, Debug, Default)]
struct Slow {
    files: Faulty,
    gate: Arc<(Mutex<Gate>, Condvar)>,
    syncs: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct Gate {
    is_shut: bool,
    fails: bool,
}

impl Slow {
    fn set(&self, gate: Gate) {
        *self.gate.0.lock().unwrap() = gate;
        self.gate.1.notify_all();
    }

    fn created(&self, sync: Sync) -> Opened {
        let options = Options { sync, ..options() };
        Store::on(Arc::new(self.clone()), ROOT, options).unwrap().create(&session()).unwrap()
    }
}

impl Files for Slow {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.files.make_folder(path)
    }
    fn open(&self, path: &Path, how: How) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(SlowFile { file: self.files.open(path, how)?, of: self.clone() }))
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.files.list(folder)
    }
    fn is_there(&self, path: &Path) -> bool {
        self.files.is_there(path)
    }
    fn has_folder(&self, path: &Path) -> bool {
        self.files.has_folder(path)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.files.remove(path)
    }
    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.files.remove_folder(path)
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.files.sync_folder(folder)
    }
    fn can_wait(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct SlowFile {
    file: Arc<dyn File>,
    of: Slow,
}

impl File for SlowFile {
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        self.file.read_at(into, at)
    }
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        self.file.write_at(bytes, at)
    }
    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }
    fn resize(&self, size: u64) -> io::Result<()> {
        self.file.resize(size)
    }
    fn sync(&self) -> io::Result<()> {
        let (gate, changed) = &*self.of.gate;
        let gate = changed.wait_while(gate.lock().unwrap(), |gate| gate.is_shut).unwrap();
        self.of.syncs.fetch_add(1, Ordering::Relaxed);
        if gate.fails { Err(io::Error::other("bad disk")) } else { self.file.sync() }
    }
    fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }
}

/// Longer than what is to be safe soon may wait for others.
async fn a_while_later() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(2)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn what_is_wanted_soon_waits_for_a_sync_that_others_want() {
    let files = Slow::default();
    let journal = files.created(Sync::TurnEnds).journal;
    journal.append(&[line(1)], Durability::Synced).await.unwrap();
    let before = files.syncs.load(Ordering::Relaxed);
    tokio::time::pause();
    for n in 2..=4 {
        journal.append(&[line(n)], Durability::Soon).await.unwrap();
    }
    tokio::time::resume();
    journal.append(&[], Durability::Synced).await.unwrap();
    assert_eq!(files.syncs.load(Ordering::Relaxed), before + 1);
}

#[tokio::test]
async fn who_wants_it_soon_does_not_wait_and_who_wants_it_now_does() {
    let files = Slow::default();
    let journal = files.created(Sync::TurnEnds).journal;
    journal.append(&[line(1)], Durability::Synced).await.unwrap();
    a_while_later().await;
    let before = files.syncs.load(Ordering::Relaxed);
    files.set(Gate { is_shut: true, fails: false });
    for n in 2..=4 {
        journal.append(&[line(n)], Durability::Soon).await.unwrap();
    }
    assert_eq!(files.syncs.load(Ordering::Relaxed), before);
    files.set(Gate::default());
    journal.append(&[], Durability::Synced).await.unwrap();
    // The one that was begun, and the one for what came after it.
    assert_eq!(files.syncs.load(Ordering::Relaxed), before + 2);
    drop(journal);
    let left = files.files.after_crash(junto_store::files::Loss::Unsynced);
    let store = Store::on(Arc::new(left), ROOT, options()).unwrap();
    assert_eq!(store.read(&session()).unwrap().events, (1..=4).map(line).collect::<Vec<_>>());
}

#[tokio::test]
async fn that_it_failed_is_told_to_the_next_who_wants_it_now() {
    let files = Slow::default();
    let journal = files.created(Sync::TurnEnds).journal;
    journal.append(&[line(1)], Durability::Synced).await.unwrap();
    a_while_later().await;
    files.set(Gate { is_shut: true, fails: true });
    journal.append(&[line(2)], Durability::Soon).await.unwrap();
    files.set(Gate { is_shut: false, fails: true });
    let failed = journal.append(&[], Durability::Synced).await.unwrap_err();
    assert!(failed.to_string().contains("bad disk"), "{failed}");
    files.set(Gate::default());
    let after = journal.append(&[line(3)], Durability::Written).await.unwrap_err();
    assert!(after.to_string().contains("opened again"), "{after}");
}

#[tokio::test]
async fn what_is_never_synced_is_not_synced_soon() {
    let files = Slow::default();
    let journal = files.created(Sync::Never).journal;
    journal.append(&[line(1)], Durability::Soon).await.unwrap();
    journal.append(&[line(2)], Durability::Synced).await.unwrap();
    assert_eq!(files.syncs.load(Ordering::Relaxed), 0);
}

/// A journal that was closed is free at once, whoever is still at work for it.
#[tokio::test]
async fn nobody_waits_for_it_to_open_the_session_again() {
    let files = Slow::default();
    let journal = files.created(Sync::TurnEnds).journal;
    journal.append(&[line(1)], Durability::Synced).await.unwrap();
    a_while_later().await;
    files.set(Gate { is_shut: true, fails: false });
    journal.append(&[line(2)], Durability::Soon).await.unwrap();
    drop(journal);
    let store = Store::on(Arc::new(files.clone()), ROOT, options()).unwrap();
    let opened = store.open_session(&session());
    // Or the thread that waits would keep the test.
    files.set(Gate::default());
    assert_eq!(opened.unwrap().last.0, 2);
}
