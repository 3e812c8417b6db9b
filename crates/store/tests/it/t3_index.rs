//! An index that was lost, damaged, missed something or is written by several at once: what it says in the
//! end is what the journals say.

use std::path::Path;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use junto_core::{Body, Clock, Durability, EventLog, Journal};
use junto_llm::{CallId, Cost, SessionId, Usage, Usd};
use junto_store::{By, Filter, Index, Options, Redactor, Renewed, Standing, Store};
use rusqlite::Connection;

use crate::life::{Life, body_call, body_end, body_fork, body_input, body_input_end, body_start};

fn store(root: &Path) -> Store {
    Store::open(root, Options::default()).unwrap()
}

/// A clock that goes on by a little with each look, and starts somewhere else for each session.
fn clock(seed: u64) -> Clock {
    let ticks = std::sync::atomic::AtomicI64::new(i64::try_from(seed % 1_000_000).unwrap());
    Arc::new(move || {
        let tick = ticks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Timestamp::UNIX_EPOCH + SignedDuration::from_millis(tick * 7)
    })
}

/// A sequence of numbers that is the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Lets a session live through some inputs, with children, calls and rewinds as the dice have it.
async fn live(store: &Store, id: &str, inputs: u64, dice: &mut Dice) {
    let session = SessionId(id.into());
    let opened = store.create(&session).unwrap();
    let log = EventLog::new(session, opened.journal, opened.last, clock(dice.roll(1000)));
    log.emit(body_start((dice.roll(2) == 0).then_some("m"), "/project")).await.unwrap();
    for input in 0..inputs {
        log.begin_turn();
        log.emit(body_input(&format!("Input {input} of {id}"))).await.unwrap();
        for call in 0..dice.roll(4) {
            let cost = match dice.roll(3) {
                0 => Cost::Unknown,
                1 => Cost::Reported(Usd(1)),
                _ => Cost::Estimated(Usd(i64::try_from(dice.roll(1000)).unwrap())),
            };
            let body = body_call(Usage::new(dice.roll(5000), 7), cost);
            if dice.roll(4) == 0 {
                log.emit(body).await.unwrap();
            } else {
                log.emit_for(&CallId(format!("{id}-{input}-{call}")), body).await.unwrap();
            }
            log.emit(Body::Progress { text: "x".repeat(usize::try_from(dice.roll(100)).unwrap()) })
                .await
                .unwrap();
        }
        if dice.roll(3) == 0 {
            let child = log.child();
            let (agent, name) = (child.agent().clone(), format!("child {input}"));
            log.emit(Body::Child { agent, name, kind: "junto".into(), task: "t".into() }).await.unwrap();
            child.emit(body_start(None, "/project")).await.unwrap();
            child.begin_turn();
            child.emit(body_input("t")).await.unwrap();
            child.emit(body_call(Usage::new(3, 1), Cost::Estimated(Usd(1)))).await.unwrap();
            child.emit(body_input_end()).await.unwrap();
            child.emit(body_end()).await.unwrap();
        }
        log.emit(body_input_end()).await.unwrap();
        if dice.roll(5) == 0 {
            log.emit(Body::Rewound { to_turn: u32::try_from(dice.roll(input + 1)).unwrap() }).await.unwrap();
        }
    }
    if dice.roll(2) == 0 {
        log.commit(body_end()).await.unwrap();
    }
}

/// Everything in the index, table by table and row by row.
fn dump(root: &Path) -> Vec<String> {
    let db = Connection::open(root.join("index.sqlite")).unwrap();
    let mut all = Vec::new();
    for table in ["sessions", "runs", "turns", "calls", "book"] {
        let mut statement = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values: Vec<_> = (0..columns).map(|at| row.get_ref(at).unwrap()).collect();
            all.push(format!("{table} {values:?}"));
        }
    }
    all.sort();
    all
}

/// Some sessions, and some calls outside of them.
async fn busy(store: &Store, seed: u64) {
    let mut dice = Dice(seed);
    let book = store.book("gateway");
    for n in 0..6 {
        let inputs = dice.roll(8);
        live(store, &format!("{n:02}-{seed}"), inputs, &mut dice).await;
        let client = (dice.roll(2) == 0).then(|| SessionId(format!("{n:02}-{seed}")));
        book.record(CallId(format!("g{n}")), client, "p", "m", &Usage::new(5, 5), Cost::Unknown).unwrap();
    }
}

#[tokio::test]
async fn what_was_fed_live_is_what_the_journals_say() {
    for seed in 0..8 {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path());
        let mut dice = Dice(seed);
        live(&store, "first", 1, &mut dice).await;
        // From here on everything is written as it comes, also at the end.
        store.index().unwrap().sessions(&Filter::default()).unwrap();
        busy(&store, seed).await;
        let index = Index::open(root.path(), Redactor::off());
        // Without a look at the journals.
        drop(store);
        let live = dump(root.path());
        assert!(live.len() > 10, "{live:#?}");

        let again = self::store(root.path());
        let refreshed = index.refresh(&again).unwrap();
        assert_eq!((refreshed.read, refreshed.removed), (0, 0), "nothing was behind");
        assert_eq!(dump(root.path()), live);
        let refreshed = index.rebuild(&again).unwrap();
        assert_eq!((refreshed.read, refreshed.unreadable.len()), (7, 0));
        assert_eq!(dump(root.path()), live, "seed {seed}");
    }
}

#[tokio::test]
async fn an_index_that_is_lost_is_made_again() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    busy(&store, 1).await;
    store.index().unwrap();
    let before = dump(root.path());
    for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
        let _ = std::fs::remove_file(root.path().join(name));
    }
    let sessions = store.index().unwrap().sessions(&Filter::default()).unwrap();
    assert_eq!(sessions.len(), 6);
    assert_eq!(dump(root.path()), before);
}

/// Damages the index in one way after another: each time it says the same as before.
#[tokio::test]
async fn an_index_that_is_damaged_is_put_aside_and_made_again() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("index.sqlite");
    busy(&store(root.path()), 2).await;
    store(root.path()).index().unwrap();
    let before = dump(root.path());
    let sound = std::fs::read(&file).unwrap();
    let flipped = |from: usize, to: usize| {
        let mut bytes = sound.clone();
        bytes[from..to].iter_mut().for_each(|byte| *byte ^= 0xff);
        bytes
    };
    let damages = [
        ("no database", b"This is no database at all, and long enough to be read as one.".repeat(40)),
        ("a bad header", flipped(0, 16)),
        ("a bad schema", flipped(100, 120)),
        ("a bad page", flipped(3 * 4096, 3 * 4096 + 12)),
        ("half of it", sound[..sound.len() / 2].to_vec()),
        ("a piece", sound[..50].to_vec()),
    ];
    for (what, bytes) in damages {
        std::fs::write(&file, &bytes).unwrap();
        let store = store(root.path());
        let index = store.index().unwrap();
        let Some(Renewed::Damaged { aside }) = index.take_renewed() else {
            panic!("{what}: nothing was said")
        };
        assert_eq!(std::fs::read(aside).unwrap(), bytes, "{what}: it is kept");
        assert_eq!(dump(root.path()), before, "{what}");
        assert_eq!(index.take_renewed(), None, "{what}: it is said once");
    }
}

#[tokio::test]
async fn an_index_of_another_version_is_replaced() {
    let root = tempfile::tempdir().unwrap();
    busy(&store(root.path()), 3).await;
    store(root.path()).index().unwrap();
    let before = dump(root.path());
    for version in [0, 99] {
        let db = Connection::open(root.path().join("index.sqlite")).unwrap();
        db.pragma_update(None, "user_version", version).unwrap();
        db.execute_batch("DROP TABLE turns; CREATE TABLE others (x)").unwrap();
        drop(db);
        let store = store(root.path());
        assert_eq!(store.index().unwrap().take_renewed(), Some(Renewed::OtherVersion), "{version}");
        assert_eq!(dump(root.path()), before, "{version}");
    }
}

#[tokio::test]
async fn sessions_that_changed_behind_its_back_are_read_again() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    busy(&store, 4).await;
    let index = store.index().unwrap();
    // Nothing hears of these events.
    let deaf =
        Store::open(root.path(), Options { watch: Some(Arc::new(Deaf)), ..Options::default() }).unwrap();
    live(&deaf, "06-4", 3, &mut Dice(9)).await;
    let missed = SessionId("00-4".into());
    let opened = deaf.open_session(&missed).unwrap();
    let log = EventLog::new(missed, Arc::clone(&opened.journal) as Arc<dyn Journal>, opened.last, clock(5));
    log.emit(body_call(Usage::new(1, 1), Cost::Unknown)).await.unwrap();
    drop((log, opened));
    std::fs::remove_dir_all(root.path().join("sessions/01-4")).unwrap();

    let refreshed = index.refresh(&deaf).unwrap();
    assert_eq!((refreshed.read, refreshed.removed), (2, 1), "{refreshed:?}");
    let caught_up = dump(root.path());
    index.rebuild(&deaf).unwrap();
    assert_eq!(caught_up, dump(root.path()));
}

/// What a fork took over belongs to the session it is of, and to the fork once that is gone.
#[tokio::test]
async fn a_fork_inherits_what_it_shares_with_a_session_that_is_gone() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let mut old = Life::new("01-old", "/project", 0);
    old.turn("First", 100, 10).turn("Second", 200, 20);
    let mut fork = Life::new("02-fork", "/project", 0);
    fork.events[0].body = body_fork(&old.session);
    for event in &old.events[1..4] {
        fork.push_of(None, event.corr.as_ref().map(|call| call.0.as_str()), event.body.clone());
    }
    for life in [&old, &fork] {
        let opened = store.create(&life.session).unwrap();
        opened.journal.append(&life.events, Durability::Written).await.unwrap();
    }
    let spent = || {
        let rows = store.index().unwrap().cost(By::Session).unwrap();
        rows.into_iter().map(|row| (row.key.clone(), row.known().0)).collect::<Vec<_>>()
    };
    assert_eq!(spent(), [("01-old".to_owned(), 30)]);
    std::fs::remove_dir_all(root.path().join("sessions/01-old")).unwrap();
    assert_eq!(spent(), [("02-fork".to_owned(), 10)]);
    let found = dump(root.path());
    store.index().unwrap().rebuild(&store).unwrap();
    assert_eq!(found, dump(root.path()));
}

struct Deaf;

impl junto_store::Watch for Deaf {
    fn written(&self, _event: &junto_core::Event) {}
}

/// A journal that lost its end in a crash of the machine, of which the index had heard, and went on.
#[tokio::test]
async fn a_journal_that_went_back_takes_the_index_along() {
    for refreshed_between in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path());
        live(&store, "s", 6, &mut Dice(11)).await;
        let index = store.index().unwrap();
        let journal = root.path().join("sessions/s/journal.jsonl");
        let text = std::fs::read_to_string(&journal).unwrap();
        let kept: Vec<&str> = text.split_inclusive('\n').take(8).collect();
        std::fs::write(&journal, kept.concat()).unwrap();
        if refreshed_between {
            index.refresh(&store).unwrap();
        }
        let opened = store.open_session(&SessionId("s".into())).unwrap();
        let log = EventLog::new(SessionId("s".into()), opened.journal, opened.last, clock(777));
        for n in 0..text.lines().count() {
            log.emit(body_call(Usage::new(n as u64, 1), Cost::Unknown)).await.unwrap();
        }
        drop(log);
        index.refresh(&store).unwrap();
        let found = dump(root.path());
        index.rebuild(&store).unwrap();
        assert_eq!(found, dump(root.path()), "refreshed between: {refreshed_between}");
    }
}

#[tokio::test]
async fn whether_a_session_is_open_is_seen_at_its_lock() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let session = SessionId("s".into());
    let opened = store.create(&session).unwrap();
    let log = EventLog::new(session.clone(), Arc::clone(&opened.journal) as _, opened.last, clock(0));
    log.emit(body_start(None, "/project")).await.unwrap();
    let standing = || store.index().unwrap().sessions(&Filter::default()).unwrap()[0].state;
    assert_eq!(standing(), Standing::Open);
    drop((log, opened));
    assert_eq!(standing(), Standing::CutOff);
    assert!(store.open_session(&session).is_ok(), "looking locks nothing");
}

/// A call that went through our own gateway is in the journal of the session that made it.
#[tokio::test]
async fn a_gateway_does_not_count_our_own_sessions_twice() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let session = SessionId("s".into());
    let opened = store.create(&session).unwrap();
    let log = EventLog::new(session.clone(), opened.journal, opened.last, clock(0));
    log.emit(body_start(None, "/project")).await.unwrap();
    log.emit(body_call(Usage::new(10, 1), Cost::Estimated(Usd(4)))).await.unwrap();
    let book = store.book("gateway");
    book.record(CallId("g".into()), Some(session), "p", "m", &Usage::new(10, 1), Cost::Unknown).unwrap();
    let cost = store.index().unwrap().cost(By::Day).unwrap();
    assert_eq!((cost.len(), cost[0].calls, cost[0].known(), cost[0].unknown), (1, 1, Usd(4), 0));
}

/// The variable that makes the test below the other process.
const OTHER: &str = "JUNTO_TEST_OTHER_WRITER";
const SESSIONS: u64 = 8;

/// Both write sessions and calls of their own; each refreshes while the other writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_write_at_once() {
    let write = async |root: &Path, name: &str| {
        let store = store(root);
        let book = store.book(name);
        for n in 0..SESSIONS {
            live(&store, &format!("{name}-{n}"), 4, &mut Dice(n)).await;
            let call = CallId(format!("{name}-g{n}"));
            book.record(call, None, "p", "m", &Usage::new(1, 1), Cost::Unknown).unwrap();
            let refreshed = store.index().unwrap().refresh(&store).unwrap();
            assert_eq!((refreshed.renewed, refreshed.unreadable.len()), (None, 0));
        }
    };
    if let Some(root) = std::env::var_os(OTHER) {
        write(Path::new(&root), "child").await;
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "t3_index::two_processes_write_at_once"])
        .env(OTHER, root.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    write(root.path(), "parent").await;
    assert!(child.wait().unwrap().success(), "the other process failed");

    let store = store(root.path());
    let index = store.index().unwrap();
    let sessions = index.sessions(&Filter::default()).unwrap();
    assert_eq!(sessions.len() as u64, 2 * SESSIONS);
    let found = dump(root.path());
    index.rebuild(&store).unwrap();
    assert_eq!(found, dump(root.path()));
    let outside = index.cost(By::Agent).unwrap();
    let outside: Vec<_> =
        outside.iter().filter(|row| ["child", "parent"].contains(&row.key.as_str())).collect();
    assert!(outside.iter().all(|row| row.calls == SESSIONS) && outside.len() == 2, "{outside:?}");
}

/// A folder that cannot be written: the session goes on, and the error is clear.
#[tokio::test]
async fn an_index_that_cannot_be_written_holds_nobody_up() {
    let root = tempfile::tempdir().unwrap();
    // Where the file should be is a folder.
    std::fs::create_dir(root.path().join("index.sqlite")).unwrap();
    let store = store(root.path());
    live(&store, "s", 3, &mut Dice(1)).await;
    let error = store.index().unwrap_err();
    assert!(error.to_string().contains("index.sqlite"), "{error}");
    assert!(store.read(&SessionId("s".into())).unwrap().events.len() > 3);
    std::fs::remove_dir(root.path().join("index.sqlite")).unwrap();
    assert_eq!(store.index().unwrap().sessions(&Filter::default()).unwrap().len(), 1);
}

#[tokio::test]
async fn a_secret_is_in_no_title() {
    let root = tempfile::tempdir().unwrap();
    let redact = Redactor::new([junto_llm::Secret::new("correct horse battery")]);
    let store = Store::open(root.path(), Options { redact, ..Options::default() }).unwrap();
    let session = SessionId("s".into());
    let opened = store.create(&session).unwrap();
    let log = EventLog::new(session, opened.journal, opened.last, clock(0));
    log.emit(body_start(None, "/project")).await.unwrap();
    log.emit(body_input("Log in with correct horse battery please")).await.unwrap();
    let index = store.index().unwrap();
    let title = |index: &Index| index.sessions(&Filter::default()).unwrap().remove(0).title;
    let live = title(index);
    assert!(live.starts_with("Log in with [") && live.ends_with(" please"), "{live}");
    index.rebuild(&store).unwrap();
    assert_eq!(title(index), live);
    let bytes = std::fs::read(root.path().join("index.sqlite-wal")).unwrap_or_default();
    assert!(!bytes.windows(7).any(|part| part == b"correct"), "not a trace of it");
}
