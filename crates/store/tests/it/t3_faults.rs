//! Every operation on files fails once, in every way, and the machine stops at every byte.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use junto_core::{BlobId, Durability, Event, Journal, Seq};
use junto_store::files::{Fault, Faulty, File, Files, How, Loss};
use junto_store::{Opened, Store, Sync};
use tokio::runtime::Runtime;

use crate::support::{
    ROOT, append, journal_of, journal_path, line, naming, options, positions, session, store, with_journal,
};

/// What somebody may rely on after a run.
#[derive(Debug, Default)]
struct Promised {
    /// The events whose append returned.
    written: Vec<Event>,
    /// How many of them the disk has.
    synced: usize,
}

/// How many bytes the payload has. Words, so that little of it is held back.
const BLOB: usize = 1200;

fn blob() -> BlobId {
    BlobId("payload".to_owned())
}

/// A session that writes events and a payload, is opened again, and writes more. Whoever is told of a
/// failure goes on with what comes next, as a session would that still runs.
async fn run(store: &Store) -> Promised {
    let mut promised = Promised::default();
    let Ok(opened) = store.create(&session()) else { return promised };
    work(&*opened.journal, opened.last, &mut promised).await;
    drop(opened);
    if let Ok(opened) = store.open_session(&session()) {
        assert_eq!(opened.last, promised.written.last().map_or(Seq(0), |event| event.seq));
        work(&*opened.journal, opened.last, &mut promised).await;
    }
    promised
}

async fn work(journal: &dyn Journal, last: Seq, promised: &mut Promised) {
    let mut next = last.0 + 1;
    let mut say = async |make: &dyn Fn(u64) -> Event, durability| {
        let event = make(next);
        if journal.append(std::slice::from_ref(&event), durability).await.is_ok() {
            next += 1;
            promised.written.push(event);
            if durability == Durability::Synced {
                promised.synced = promised.written.len();
            }
        }
    };
    for _ in 0..2 {
        say(&line, Durability::Written).await;
        say(&line, Durability::Synced).await;
    }
    let mut is_whole = true;
    let name = BlobId(format!("{}-{last}", blob()));
    for _ in 0..2 {
        let piece = Bytes::from("words ".repeat(BLOB / 12));
        is_whole = is_whole && journal.extend_blob(&name, piece).await.is_ok();
    }
    if is_whole {
        say(&|seq| naming(seq, &name, BLOB as u64), Durability::Written).await;
    }
    say(&line, Durability::Synced).await;
    say(&line, Durability::Written).await;
}

/// Everything that was promised is there, and what is there is whole and in order.
fn check(files: &Faulty, promised: &Promised, loss: Loss, what: &str) {
    let must = match loss {
        Loss::Nothing => promised.written.len(),
        Loss::Unsynced | Loss::HalfOfUnsynced => promised.synced,
    };
    let store = store(files);
    let opened = match store.open_session(&session()) {
        Ok(opened) => opened,
        Err(error) => {
            assert_eq!(error.kind(), junto_store::ErrorKind::NotFound, "{what}: {error}");
            assert_eq!(must, 0, "{what}");
            return;
        }
    };
    assert!(opened.recovery.damaged.is_empty(), "{what}: {}", opened.recovery);
    let recorded = store.read(&session()).unwrap();
    assert!(recorded.recovery.is_clean(), "{what}");
    assert!(recorded.events.len() >= must, "{what}: {:?}", positions(&recorded.events));
    let count = recorded.events.len() as u64;
    assert_eq!(positions(&recorded.events), (1..=count).collect::<Vec<_>>(), "{what}");
    assert_eq!(recorded.events[..must], promised.written[..must], "{what}");
    // An append that was under way when everything stopped may be there, and no more than that.
    assert!(recorded.events.len() <= promised.written.len() + 1, "{what}");
    for event in &recorded.events {
        let text = serde_json::to_value(event).unwrap();
        if let Some(name) = text["text"]["blob"].as_str() {
            let payload = store.read_blob(&session(), &BlobId(name.to_owned()), 0, 2 * BLOB).unwrap();
            assert!(payload.starts_with(b"words words"), "{what}");
            assert_eq!(payload.len(), BLOB / 12 * 12, "{what}");
        }
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

fn faulty(fault: Fault) -> (Faulty, Option<Store>) {
    let files = Faulty::new(fault);
    let store = Store::on(Arc::new(files.clone()), ROOT, options()).ok();
    (files, store)
}

/// How many operations and bytes a run is in which nothing goes wrong.
fn extent(runtime: &Runtime) -> (u64, u64) {
    let (files, store) = faulty(Fault::Full(u64::MAX));
    let promised = runtime.block_on(run(&store.unwrap()));
    assert_eq!(promised.written.len(), 14);
    check(&files.after_crash(Loss::Nothing), &promised, Loss::Nothing, "nothing goes wrong");
    (files.operations(), files.written())
}

#[test]
fn an_operation_that_fails_once_tears_nothing() {
    let runtime = runtime();
    let (operations, _) = extent(&runtime);
    for number in 0..operations {
        for kind in [ErrorKind::StorageFull, ErrorKind::PermissionDenied, ErrorKind::Other] {
            let fault = Fault::Once(number, kind);
            let (files, store) = faulty(fault);
            let Some(store) = store else { continue };
            let promised = runtime.block_on(run(&store));
            let what = format!("{fault:?}");
            for loss in [Loss::Nothing, Loss::Unsynced, Loss::HalfOfUnsynced] {
                check(&files.after_crash(loss), &promised, loss, &what);
            }
            // Where the process lives on, exactly what was promised is there.
            files.set(None);
            if let Ok(recorded) = store.read(&session()) {
                assert_eq!(recorded.events, promised.written, "{what}");
            } else {
                assert!(promised.written.is_empty(), "{what}");
            }
        }
    }
}

#[test]
fn a_write_that_writes_less_than_it_should_is_completed() {
    let runtime = runtime();
    let (operations, _) = extent(&runtime);
    for number in 0..operations {
        let fault = Fault::Short(number);
        let (files, store) = faulty(fault);
        let promised = runtime.block_on(run(&store.unwrap()));
        assert_eq!(promised.written.len(), 14, "{fault:?}");
        check(&files.after_crash(Loss::Nothing), &promised, Loss::Nothing, &format!("{fault:?}"));
    }
}

#[test]
fn a_disk_that_fails_from_some_point_on_tears_nothing() {
    let runtime = runtime();
    let (operations, _) = extent(&runtime);
    for number in 0..operations {
        for kind in [ErrorKind::StorageFull, ErrorKind::ReadOnlyFilesystem] {
            let fault = Fault::From(number, kind);
            let (files, store) = faulty(fault);
            let Some(store) = store else { continue };
            let promised = runtime.block_on(run(&store));
            for loss in [Loss::Nothing, Loss::Unsynced, Loss::HalfOfUnsynced] {
                check(&files.after_crash(loss), &promised, loss, &format!("{fault:?}"));
            }
        }
    }
}

#[test]
fn a_full_disk_tears_nothing_and_what_fits_later_is_taken() {
    let runtime = runtime();
    let (_, bytes) = extent(&runtime);
    for limit in (0..bytes).step_by(5) {
        let fault = Fault::Full(limit);
        let (files, store) = faulty(fault);
        let store = store.unwrap();
        let mut promised = runtime.block_on(run(&store));
        check(&files.after_crash(Loss::Nothing), &promised, Loss::Nothing, &format!("{fault:?}"));
        files.set(None);
        let Ok(opened) = store.open_session(&session()) else {
            assert!(promised.written.is_empty(), "{fault:?}");
            continue;
        };
        let before = promised.written.len();
        runtime.block_on(work(&*opened.journal, opened.last, &mut promised));
        assert_eq!(promised.written.len(), before + 7, "{fault:?}");
        drop(opened);
        check(&files.after_crash(Loss::Nothing), &promised, Loss::Nothing, &format!("{fault:?}"));
    }
}

#[test]
fn a_crash_at_any_operation_loses_nothing_that_was_promised() {
    let runtime = runtime();
    let (operations, _) = extent(&runtime);
    for number in 0..operations {
        let fault = Fault::CrashAt(number);
        let (files, store) = faulty(fault);
        let promised = match store {
            Some(store) => runtime.block_on(run(&store)),
            None => Promised::default(),
        };
        for loss in [Loss::Nothing, Loss::Unsynced, Loss::HalfOfUnsynced] {
            check(&files.after_crash(loss), &promised, loss, &format!("{fault:?} {loss:?}"));
        }
    }
}

#[test]
fn a_crash_at_any_byte_loses_nothing_that_was_promised() {
    let runtime = runtime();
    let (_, bytes) = extent(&runtime);
    for limit in 0..bytes {
        let fault = Fault::CrashAfter(limit);
        let (files, store) = faulty(fault);
        let promised = runtime.block_on(run(&store.unwrap()));
        for loss in [Loss::Nothing, Loss::Unsynced, Loss::HalfOfUnsynced] {
            check(&files.after_crash(loss), &promised, loss, &format!("{fault:?} {loss:?}"));
        }
    }
}

#[test]
fn after_a_sync_that_failed_nothing_is_taken_until_it_is_opened_again() {
    let runtime = runtime();
    // Nothing can be synced, too: that is for what is there.
    for events in [vec![line(2)], vec![]] {
        let files = Faulty::default();
        let store = store(&files);
        let opened = store.create(&session()).unwrap();
        runtime.block_on(async {
            let journal = &*opened.journal;
            journal.append(&[line(1)], Durability::Written).await.unwrap();
            // The write, if there is something to write, is the first operation, the sync the next.
            files.set(Some(Fault::Once(events.len() as u64, ErrorKind::Other)));
            journal.append(&events, Durability::Synced).await.unwrap_err();
            files.set(None);
            for durability in [Durability::Written, Durability::Synced] {
                let error = journal.append(&[line(2)], durability).await.unwrap_err();
                assert!(error.to_string().contains("opened again"), "{error}");
            }
            assert_eq!(positions(&journal.read(Seq(1), 10).await.unwrap()), [1]);
        });
        drop(opened);
        let opened = store.open_session(&session()).unwrap();
        assert_eq!(opened.last, Seq(1));
        runtime.block_on(opened.journal.append(&[line(2)], Durability::Synced)).unwrap();
    }
}

#[test]
fn what_could_not_be_cut_back_is_cut_back_later() {
    let runtime = runtime();
    let files = Faulty::default();
    let store =
        Store::on(Arc::new(files.clone()), ROOT, junto_store::Options { sync: Sync::Never, ..options() });
    let store = store.unwrap();
    let opened = store.create(&session()).unwrap();
    runtime.block_on(async {
        let journal = &*opened.journal;
        journal.append(&[line(1)], Durability::Written).await.unwrap();
        // The write gets halfway, and then neither the rest of it nor the cut works.
        files.set(Some(Fault::CrashAfter(10)));
        let before = files.bytes(&journal_path()).unwrap().len();
        journal.append(&[line(2)], Durability::Written).await.unwrap_err();
        assert_eq!(files.bytes(&journal_path()).unwrap().len(), before + 10);
        journal.append(&[line(2)], Durability::Written).await.unwrap_err();
        files.set(None);
        journal.append(&[line(2)], Durability::Written).await.unwrap();
    });
    let recorded = store.read(&session()).unwrap();
    assert!(recorded.recovery.is_clean());
    assert_eq!(positions(&recorded.events), [1, 2]);
}

/// A process was killed before anything was synced: whoever opens the journal then makes its place safe, too.
#[tokio::test]
async fn what_is_synced_after_a_journal_was_opened_again_is_safe() {
    let files = Faulty::default();
    let opened = store(&files).create(&session()).unwrap();
    append(&*opened.journal, [line(1)]).await;
    drop(opened);
    let opened = store(&files).open_session(&session()).unwrap();
    opened.journal.append(&[line(2)], Durability::Synced).await.unwrap();
    let left = files.after_crash(Loss::Unsynced);
    assert_eq!(positions(&store(&left).read(&session()).unwrap().events), [1, 2]);
}

/// The folders above a new store are as safe as what is in it.
#[tokio::test]
async fn a_new_store_is_safe_with_its_first_event() {
    let root = "/home/user/.local/state/junto";
    let on = |files: &Faulty| Store::on(Arc::new(files.clone()), root, options()).unwrap();
    let files = Faulty::default();
    let opened = on(&files).create(&session()).unwrap();
    opened.journal.append(&[line(1)], Durability::Synced).await.unwrap();
    let left = files.after_crash(Loss::Unsynced);
    assert_eq!(positions(&on(&left).read(&session()).unwrap().events), [1]);
}

/// What is cut off the end of a journal is safe before it is.
#[tokio::test]
async fn what_is_kept_aside_is_there_after_a_crash() {
    let mut bytes = journal_of([line(1)]).await;
    bytes.extend(b"{\"c\":\"0000");
    let files = with_journal(&bytes);
    let opened = store(&files).open_session(&session()).unwrap();
    let kept = opened.recovery.cut.unwrap().kept.unwrap();
    let left = files.after_crash(Loss::Unsynced);
    assert_eq!(left.bytes(&kept).as_deref(), Some(&b"{\"c\":\"0000"[..]));
}

/// A session that cannot be begun leaves nothing, at whatever operation it fails.
#[test]
fn what_cannot_be_begun_leaves_nothing() {
    let folder = Path::new(ROOT).join("sessions");
    let mut failed = 0;
    for number in 0.. {
        let files = Faulty::default();
        let store = store(&files);
        files.set(Some(Fault::Once(number, ErrorKind::StorageFull)));
        let created = store.create(&session());
        if files.operations() <= number {
            break;
        }
        if created.is_err() {
            failed += 1;
            assert_eq!(files.list(&folder).unwrap(), Vec::<String>::new(), "{number}");
        }
    }
    assert!(failed >= 4, "{failed}");
}

/// Files whose first sync is done by another thread, as on a disk; their folders cannot be synced.
#[derive(Debug)]
struct Sluggish(Faulty);

impl Files for Sluggish {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.0.make_folder(path)
    }

    fn open(&self, path: &Path, how: How) -> io::Result<Arc<dyn File>> {
        self.0.open(path, how)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.0.list(folder)
    }

    fn is_there(&self, path: &Path) -> bool {
        self.0.is_there(path)
    }

    fn has_folder(&self, path: &Path) -> bool {
        self.0.has_folder(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.0.remove_folder(path)
    }

    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        Err(ErrorKind::StorageFull.into())
    }

    fn can_wait(&self) -> bool {
        true
    }
}

/// A first sync that fails elsewhere is told to the first who relies on it, and nothing is written after that.
#[tokio::test]
async fn a_first_sync_that_fails_is_told() {
    let files = Faulty::default();
    let made = store(&files);
    let store = Store::on(Arc::new(Sluggish(files.clone())), ROOT, options()).unwrap();
    let check = async |opened: Opened| {
        let journal = &opened.journal;
        let next = opened.last.next().0;
        journal.append(&[line(next)], Durability::Written).await.unwrap();
        let error = journal.append(&[line(next + 1)], Durability::Synced).await.unwrap_err();
        assert!(error.to_string().contains("no storage space"), "{error}");
        for durability in [Durability::Written, Durability::Synced] {
            let error = journal.append(&[line(next + 2)], durability).await.unwrap_err();
            assert!(error.to_string().contains("the disk failed"), "{error}");
        }
    };
    check(store.create(&session()).unwrap()).await;
    // What was only written is there, and what was to be safe is not.
    assert_eq!(positions(&made.read(&session()).unwrap().events), [1]);
    check(store.open_session(&session()).unwrap()).await;
    assert_eq!(positions(&made.read(&session()).unwrap().events), [1, 2]);
}
