//! Named agents on disk: a queue that loses nothing, one run at a time, files of other versions.

use std::os::unix::fs::PermissionsExt as _;

use jiff::Timestamp;
use junto_core::ResumeHandle;
use junto_llm::{Cost, Secret, SessionId, Usage, Usd};
use junto_store::{
    AgentSetup, Agents, Begin, ErrorKind, Finish, Held, InputFate, InputId, InputState, MAX_ATTEMPTS,
    Options, Redactor, RunId, RunResult, RunStatus, SessionChange, Store, Suppression,
};
use serde_json::json;
use tempfile::TempDir;

/// A time so many seconds after the first.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let redact = Redactor::new([Secret::new("a-key-of-somebody-7f3a")]);
    let store = Store::open(folder.path(), Options { redact, ..Options::default() }).unwrap();
    (folder, store)
}

fn setup() -> AgentSetup {
    AgentSetup { provider: "claude".into(), workspace: "/w".into(), ..AgentSetup::default() }
}

/// A store with the agent `nex`.
fn with_nex() -> (TempDir, Agents) {
    let (folder, store) = store();
    let agents = store.agents().unwrap();
    agents.add("nex", &setup(), at(0)).unwrap();
    (folder, agents)
}

fn begin(held: &Held, input: InputId, provider: &str, fresh: Option<&str>) -> RunId {
    let fresh = fresh.map(str::to_owned);
    held.begin(&Begin { input, provider: provider.to_owned(), model: None, fresh }, at(1)).unwrap()
}

fn finish(status: RunStatus, fate: InputFate) -> Finish {
    let (result, session) = (RunResult::default(), SessionChange::Keep);
    Finish { status, result, fate, session, suppression: None }
}

fn handle(session: &str) -> ResumeHandle {
    ResumeHandle { kind: "claude".into(), v: 1, data: json!({"session": session}) }
}

#[test]
fn inputs_are_taken_in_their_order_and_once() {
    let (_folder, agents) = with_nex();
    let first = agents.send("nex", "One.", at(0)).unwrap();
    let second = agents.send("NEX", "Two.", at(0)).unwrap();
    let held = agents.take("nex", at(1)).unwrap();
    assert_eq!(
        held.next(at(1)).unwrap().map(|input| (input.id, input.text)),
        Some((first, "One.".to_owned()))
    );
    let run = begin(&held, first, "claude", None);
    assert_eq!(held.next(at(1)).unwrap().map(|input| input.id), Some(second), "the first is leased");
    let twice =
        held.begin(&Begin { input: first, provider: "codex".into(), model: None, fresh: None }, at(1));
    assert_eq!(twice.unwrap_err().kind(), ErrorKind::Invalid);
    held.finish(run, &finish(RunStatus::Completed, InputFate::Done), at(2)).unwrap();
    let states = agents.queue("nex").unwrap().into_iter().map(|input| (input.id, input.state));
    assert_eq!(states.collect::<Vec<_>>(), [(second, InputState::Waiting)]);
    assert_eq!(agents.input(first).unwrap().unwrap().state, InputState::Done);
    assert_eq!(agents.send("nex", "  ", at(0)).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn what_becomes_of_an_input_is_said_by_the_end_of_its_run() {
    let later = at(100);
    for (fate, state, attempts, due) in [
        (InputFate::Done, InputState::Done, 0, at(0)),
        (InputFate::Cancelled, InputState::Cancelled, 0, at(0)),
        (InputFate::GivenUp, InputState::GivenUp, 1, at(0)),
        (InputFate::Waits { due: later }, InputState::Waiting, 0, later),
        (InputFate::Again { due: later }, InputState::Waiting, 1, later),
    ] {
        let (_folder, agents) = with_nex();
        let input = agents.send("nex", "One.", at(0)).unwrap();
        let held = agents.take("nex", at(1)).unwrap();
        let run = begin(&held, input, "claude", None);
        assert_eq!(held.finish(run, &finish(RunStatus::Failed, fate), at(2)).unwrap(), state, "{fate:?}");
        let found = agents.input(input).unwrap().unwrap();
        assert_eq!((found.state, found.attempts, found.due), (state, attempts, due), "{fate:?}");
        let is_next = |seconds| held.next(at(seconds)).unwrap().is_some();
        assert_eq!((is_next(99), is_next(100)), (false, state == InputState::Waiting), "{fate:?}");
    }
}

#[test]
fn an_input_is_tried_so_often_and_then_kept() {
    let (_folder, agents) = with_nex();
    let input = agents.send("nex", "One.", at(0)).unwrap();
    let held = agents.take("nex", at(1)).unwrap();
    for attempt in 1..=MAX_ATTEMPTS {
        let run = begin(&held, input, "claude", None);
        let state =
            held.finish(run, &finish(RunStatus::Failed, InputFate::Again { due: at(500) }), at(2)).unwrap();
        let expected = if attempt < MAX_ATTEMPTS { InputState::Waiting } else { InputState::GivenUp };
        assert_eq!(state, expected, "{attempt}");
        assert_eq!(agents.hasten("nex", at(3)).unwrap(), usize::from(attempt < MAX_ATTEMPTS));
    }
    assert_eq!(held.next(at(1000)).unwrap(), None);
    assert_eq!(agents.again("nex", at(4)).unwrap(), 1);
    assert_eq!(held.next(at(4)).unwrap().map(|input| input.attempts), Some(0));
    assert_eq!((agents.discard("nex").unwrap(), held.next(at(4)).unwrap()), (1, None));
}

#[test]
fn one_has_the_right_to_run_an_agent() {
    let (folder, agents) = with_nex();
    let held = agents.take("nex", at(1)).unwrap();
    // Another process opens the file for itself.
    let other = Store::open(folder.path(), Options::default()).unwrap().agents().unwrap();
    for error in [other.take("NEX", at(1)).unwrap_err(), other.remove("nex").unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Locked);
        assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
        assert!(error.hint().unwrap().contains("junto agent"), "{error}");
    }
    other.add("two", &setup(), at(0)).unwrap();
    assert!(other.take("two", at(1)).is_ok(), "each has a lock of its own");
    drop(held);
    assert!(other.take("nex", at(1)).is_ok());
}

#[test]
fn what_a_process_left_under_way_has_failed() {
    let (_folder, agents) = with_nex();
    let input = agents.send("nex", "One.", at(0)).unwrap();
    for attempt in 1..=MAX_ATTEMPTS {
        let held = agents.take("nex", at(1)).unwrap();
        let run = begin(&held, input, "claude", None);
        held.has_journal(run, &SessionId("j".into())).unwrap();
        // It goes without a word.
        drop(held);
        let held = agents.take("nex", at(9)).unwrap();
        let [left] = held.left() else { panic!("{:?}", held.left()) };
        assert_eq!((left.id, left.journal.as_ref().map(|id| id.0.as_str())), (run, Some("j")));
        let row = agents.run_on(input).unwrap().unwrap();
        assert_eq!((row.status, row.ended), (RunStatus::Failed, Some(at(9))));
        assert_eq!(row.result.class.as_deref(), Some("crashed"));
        let result =
            RunResult { session: Some("s".into()), usage: Some(Usage::new(3, 4)), ..RunResult::default() };
        held.amend(run, &result, &SessionChange::Set(handle("s"), None), at(9)).unwrap();
        let row = agents.run_on(input).unwrap().unwrap();
        assert_eq!((row.result.session.as_deref(), row.result.usage), (Some("s"), Some(Usage::new(3, 4))));
        assert_eq!(held.next(at(9)).unwrap().is_some(), attempt < MAX_ATTEMPTS, "{attempt}");
    }
    assert_eq!(agents.input(input).unwrap().unwrap().state, InputState::GivenUp);
}

#[test]
fn a_row_keeps_what_is_known_of_a_run() {
    let (_folder, agents) = with_nex();
    let input = agents.send("nex", "Use a-key-of-somebody-7f3a.", at(0)).unwrap();
    let held = agents.take("nex", at(1)).unwrap();
    assert_eq!(
        held.next(at(1)).unwrap().unwrap().text,
        "Use a-key-of-somebody-7f3a.",
        "the agent must see it"
    );
    let run = begin(&held, input, "claude", Some("no-session-handle"));
    assert_eq!(agents.running("nex").unwrap().map(|run| run.pid), Some(Some(std::process::id())));
    let result = RunResult {
        session: Some("s-1".into()),
        context: Some(115),
        usage: Some(Usage { cache_read: Some(1), ..Usage::new(10, 5) }),
        cost: Some(Cost::Reported(Usd(7))),
        exit: Some(0),
        class: None,
        error: None,
        text: "The key is a-key-of-somebody-7f3a.".into(),
    };
    let whole = Finish { result: result.clone(), ..finish(RunStatus::Completed, InputFate::Done) };
    held.finish(run, &whole, at(3)).unwrap();
    let row = agents.runs("nex", 10).unwrap().remove(0);
    assert_eq!(
        (row.agent.as_str(), row.provider.as_str(), row.status),
        ("nex", "claude", RunStatus::Completed)
    );
    assert_eq!(
        (row.started, row.ended, row.fresh.as_deref()),
        (at(1), Some(at(3)), Some("no-session-handle"))
    );
    assert!(!row.result.text.contains("7f3a") && row.result.text.starts_with("The key is "), "{row:?}");
    assert_eq!(RunResult { text: result.text.clone(), ..row.result }, result);
    assert!(!agents.input(input).unwrap().unwrap().text.contains("7f3a"), "nobody needs it any more");
    assert_eq!(agents.running("nex").unwrap(), None);
}

#[test]
fn a_conversation_is_kept_for_each_provider() {
    let (_folder, agents) = with_nex();
    let held = agents.take("nex", at(1)).unwrap();
    let run = |provider: &str, fresh: Option<&str>, change: SessionChange, now: i64| {
        let input = agents.send("nex", "One.", at(0)).unwrap();
        let run = begin(&held, input, provider, fresh);
        let finish = Finish { session: change, ..finish(RunStatus::Completed, InputFate::Done) };
        held.finish(run, &finish, at(now)).unwrap();
    };
    let known = || {
        let all = agents.sessions("nex").unwrap().into_iter();
        all.map(|one| (one.provider, one.handle.data["session"].clone(), one.created, one.used))
            .collect::<Vec<_>>()
    };
    let row = |provider: &str, session: &str, created, used| {
        (provider.to_owned(), json!(session), at(created), Some(at(used)))
    };
    run("claude", Some("no"), SessionChange::Set(handle("c-1"), Some(5)), 10);
    run("codex", Some("no"), SessionChange::Set(handle("x-1"), None), 20);
    run("claude", None, SessionChange::Set(handle("c-1"), Some(6)), 30);
    assert_eq!(known(), [row("claude", "c-1", 1, 30), row("codex", "x-1", 1, 20)]);
    assert_eq!(agents.sessions("nex").unwrap()[0].context, Some(6));
    run("claude", None, SessionChange::Set(handle("c-1"), None), 35);
    assert_eq!(agents.sessions("nex").unwrap()[0].context, Some(6), "nobody says that it has become shorter");
    run("codex", None, SessionChange::Forget, 40);
    run("claude", None, SessionChange::Keep, 50);
    assert_eq!(known(), [row("claude", "c-1", 1, 35)]);
    run("claude", None, SessionChange::Set(handle("c-2"), None), 60);
    assert_eq!(agents.sessions("nex").unwrap()[0].context, None, "it is another");
}

#[test]
fn what_is_to_be_forgotten_is_not_brought_back_by_a_run_under_way() {
    let (_folder, agents) = with_nex();
    let held = agents.take("nex", at(1)).unwrap();
    let changes: [&dyn Fn(); 3] = [
        &|| assert!(!agents.forget("nex").unwrap()),
        &|| assert!(!agents.set("nex", &AgentSetup { provider: "codex".into(), ..setup() }).unwrap()),
        &|| assert!(!agents.set("nex", &AgentSetup { workspace: "/v".into(), ..setup() }).unwrap()),
    ];
    for change in changes {
        let input = agents.send("nex", "One.", at(0)).unwrap();
        let run = begin(&held, input, "claude", None);
        change();
        let session = SessionChange::Set(handle("s"), None);
        held.finish(run, &Finish { session, ..finish(RunStatus::Completed, InputFate::Done) }, at(2))
            .unwrap();
        assert_eq!(agents.sessions("nex").unwrap(), []);
    }
    // What is only another way of working changes nothing of that.
    let input = agents.send("nex", "One.", at(0)).unwrap();
    let run = begin(&held, input, "claude", None);
    agents.set("nex", &AgentSetup { model: Some("m".into()), workspace: "/v".into(), ..setup() }).unwrap();
    let session = SessionChange::Set(handle("s"), None);
    held.finish(run, &Finish { session, ..finish(RunStatus::Completed, InputFate::Done) }, at(2)).unwrap();
    assert_eq!(agents.sessions("nex").unwrap().len(), 1);
    assert!(agents.forget("nex").unwrap());
}

#[test]
fn a_provider_is_set_aside_with_the_run_that_failed() {
    let (folder, agents) = with_nex();
    let input = agents.send("nex", "One.", at(0)).unwrap();
    let held = agents.take("nex", at(1)).unwrap();
    let run = begin(&held, input, "claude", None);
    let suppression = Suppression {
        provider: "claude".into(),
        class: "usage-limit".into(),
        since: at(2),
        until: at(100),
        message: "no more".into(),
    };
    let end = Finish {
        suppression: Some(suppression.clone()),
        ..finish(RunStatus::Failed, InputFate::Waits { due: at(2) })
    };
    held.finish(run, &end, at(2)).unwrap();
    let other = Store::open(folder.path(), Options::default()).unwrap().agents().unwrap();
    assert_eq!(other.suppressed(at(99)).unwrap(), std::slice::from_ref(&suppression));
    assert_eq!(other.suppressed(at(100)).unwrap(), []);
    let longer = Suppression { until: at(200), ..suppression };
    other.suppress(&longer).unwrap();
    assert_eq!(agents.suppressed(at(100)).unwrap(), [longer]);
}

#[test]
fn somebody_may_want_a_run_to_stop() {
    let (_folder, agents) = with_nex();
    assert_eq!(agents.abort("nex").unwrap(), None);
    let input = agents.send("nex", "One.", at(0)).unwrap();
    let held = agents.take("nex", at(1)).unwrap();
    let run = begin(&held, input, "claude", None);
    assert!(!held.is_aborted(run).unwrap());
    assert_eq!(agents.abort("nex").unwrap().map(|run| run.id), Some(run));
    assert!(held.is_aborted(run).unwrap());
}

#[test]
fn what_is_long_past_is_not_kept() {
    let (folder, agents) = with_nex();
    let db = rusqlite::Connection::open(folder.path().join("agents.sqlite")).unwrap();
    db.execute_batch(
        "WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < 1500)
         INSERT INTO inputs (agent, text, queued, due, state) SELECT 'nex', 'x', 0, 0, iif(n = 1, 'given_up', 'done') FROM many;
         WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < 1500)
         INSERT INTO runs (agent, input, generation, status, started, provider, process)
         SELECT 'nex', n, 0, 'completed', 0, 'claude', '' FROM many;",
    )
    .unwrap();
    let held = agents.take("nex", at(1)).unwrap();
    let input = agents.send("nex", "One.", at(0)).unwrap();
    let run = begin(&held, input, "claude", None);
    held.finish(run, &finish(RunStatus::Completed, InputFate::Done), at(2)).unwrap();
    assert_eq!(agents.runs("nex", 5000).unwrap().len(), 1000);
    let inputs: u32 = db.query_row("SELECT count(*) FROM inputs", [], |row| row.get(0)).unwrap();
    assert_eq!(inputs, 1001, "what was given up is kept however old it is");
}

#[test]
fn the_file_is_for_its_owner_and_is_never_replaced() {
    let (folder, agents) = with_nex();
    let path = folder.path().join("agents.sqlite");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    drop(agents);
    let open = || Store::open(folder.path(), Options::default()).unwrap().agents();
    let version = |version: u32| {
        let db = rusqlite::Connection::open(&path).unwrap();
        db.pragma_update(None, "user_version", version).unwrap();
    };
    version(99);
    let error = open().unwrap_err();
    assert_eq!((error.kind(), error.hint().is_some()), (ErrorKind::Newer, true), "{error}");
    version(1);
    assert_eq!(open().unwrap().list().unwrap().len(), 1, "nothing was changed");
    for name in ["agents.sqlite-wal", "agents.sqlite-shm"] {
        let _ = std::fs::remove_file(folder.path().join(name));
    }
    std::fs::write(&path, "no database at all, but longer than the header of one, so that it is looked at")
        .unwrap();
    assert_eq!(open().unwrap_err().kind(), ErrorKind::Damaged);
    assert!(std::fs::read(&path).unwrap().starts_with(b"no database"), "it is left for whoever can mend it");
}

#[test]
fn names_are_told_apart_and_found() {
    let (_folder, agents) = with_nex();
    assert_eq!(agents.add("NEX", &setup(), at(0)).unwrap_err().kind(), ErrorKind::Exists);
    assert_eq!(agents.add("a b", &setup(), at(0)).unwrap_err().kind(), ErrorKind::Invalid);
    let error = agents.get("nxe").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("did you mean \"nex\"?"), "{error}");
    assert_eq!(agents.get("Nex").unwrap().created, at(0));
    let input = agents.send("nex", "One.", at(0)).unwrap();
    agents.remove("Nex").unwrap();
    assert_eq!((agents.list().unwrap(), agents.input(input).unwrap()), (Vec::new(), None));
    assert!(agents.folder("nex").is_dir());
}
