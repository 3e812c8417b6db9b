//! What the index says of sessions that it is told of event by event.

use junto_core::{AgentId, Body, Change, Event};
use junto_llm::{CallId, Cost, LeafCall, SessionId, Usage, Usd};
use junto_store::{By, CallFilter, Filter, Index, Options, Redactor, Standing, Store};
use serde_json::json;

use crate::life::{Life, body_call, body_fork, body_input, body_input_end, body_run_end, body_start, second};

struct Scene {
    _root: tempfile::TempDir,
    store: Store,
    index: Index,
}

fn scene() -> Scene {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path(), Options::default()).unwrap();
    let index = Index::open(root.path(), Redactor::off());
    Scene { _root: root, store, index }
}

impl Scene {
    fn tell(&self, life: &Life) {
        self.tell_events(&life.events);
    }

    fn tell_events<'a>(&self, events: impl IntoIterator<Item = &'a Event>) {
        for event in events {
            self.index.note(event);
        }
    }

    fn titles(&self, filter: &Filter) -> Vec<String> {
        self.index.sessions(filter).unwrap().into_iter().map(|row| row.title).collect()
    }
}

#[test]
fn a_session_is_summed_up() {
    let scene = scene();
    let mut life = Life::new("s1", "/project", 100);
    life.turn("Fix the tests\nplease", 100, 5).turn("And the rest", 200, 6);
    life.push(Body::Configured { change: Change { model: Some("n".into()), ..Change::default() } });
    scene.tell(&life);
    let row = scene.index.sessions(&Filter::default()).unwrap().remove(0);
    assert_eq!((row.id.0.as_str(), row.title.as_str(), row.kind.as_str()), ("s1", "Fix the tests", "junto"));
    assert_eq!((row.model.as_deref(), row.turns, row.state), (Some("n"), 2, Standing::CutOff));
    assert_eq!(row.workdir.as_deref(), Some(std::path::Path::new("/project")));
    assert_eq!((row.created, row.updated), (second(100), second(107)));
    for (to, there) in [("/elsewhere", "/elsewhere"), ("below", "/elsewhere")] {
        life.push(Body::Configured { change: Change { workdir: Some(to.into()), ..Change::default() } });
        scene.tell(&life);
        let row = scene.index.sessions(&Filter::default()).unwrap().remove(0);
        assert_eq!(row.workdir.as_deref(), Some(std::path::Path::new(there)));
        assert_eq!(row.model.as_deref(), Some("n"));
    }

    assert_eq!((row.spent.calls, row.spent.usage.input, row.spent.estimated), (2, 300, Usd(11)));

    life.end();
    scene.tell(&life);
    assert_eq!(scene.index.sessions(&Filter::default()).unwrap()[0].state, Standing::Ended);
    life.push(Body::SessionResumed { cut_off: Vec::new() }).turn("Once more", 1, 1);
    scene.tell(&life);
    let row = scene.index.sessions(&Filter::default()).unwrap().remove(0);
    assert_eq!((row.state, row.turns, row.title.as_str()), (Standing::CutOff, 3, "Fix the tests"));
}

#[test]
fn sessions_are_found() {
    let scene = scene();
    for (id, workdir, start, text) in [
        ("01a", "/project", 100, "Fix the tests"),
        ("02b", "/project/sub", 300, "Write 100% of the docs"),
        ("03c", "/project", 200, "Explain this_thing"),
    ] {
        scene.tell(Life::new(id, workdir, start).turn(text, 1, 1));
    }
    let check = |filter: Filter, expected: &[&str]| assert_eq!(scene.titles(&filter), expected, "{filter:?}");
    let (tests, docs, thing) = ("Fix the tests", "Write 100% of the docs", "Explain this_thing");
    let text = |text: &str| Filter { text: Some(text.into()), ..Filter::default() };
    check(Filter::default(), &[docs, thing, tests]);
    check(Filter { limit: Some(1), ..Filter::default() }, &[docs]);
    check(Filter { workdir: Some("/project".into()), ..Filter::default() }, &[thing, tests]);
    check(Filter { since: Some(second(203)), ..Filter::default() }, &[docs, thing]);
    check(Filter { since: Some(second(204)), ..Filter::default() }, &[docs]);
    check(text("TESTS"), &[tests]);
    check(text("02"), &[docs]);
    check(text("0%"), &[docs]);
    check(text("s_t"), &[thing]);
    check(text("nothing"), &[]);
}

#[test]
fn children_and_turns_are_told() {
    let scene = scene();
    let mut life = Life::new("s1", "/project", 0);
    let root = life.root();
    life.push(body_input("Delegate"));
    life.push(Body::Child {
        agent: AgentId("kid".into()),
        name: "helper".into(),
        kind: "junto".into(),
        task: "Look around\nwell".into(),
    });
    life.push_of(Some("kid"), None, body_start(None, "/project"));
    life.push_of(Some("kid"), None, body_input("Look around"));
    life.push_of(Some("kid"), Some("c1"), body_call(Usage::new(7, 1), Cost::Reported(Usd(3))));
    life.push_of(Some("kid"), None, body_input_end());
    life.push_of(Some("kid"), None, crate::life::body_end());
    life.push(body_input_end()).turn("Another", 1, 1).turn("Third", 1, 1);
    life.push(Body::Rewound { to_turn: 1 }).turn("Fourth", 1, 1);
    scene.tell(&life);

    let runs = scene.index.runs(&life.session).unwrap();
    assert_eq!(runs.iter().map(|run| &run.agent).collect::<Vec<_>>(), [&root, &AgentId("kid".into())]);
    let kid = &runs[1];
    assert_eq!((kid.name.as_str(), kid.task.as_str()), ("helper", "Look around"));
    assert_eq!((kid.parent.as_ref(), kid.ended.clone()), (Some(&root), Some((second(7), "done".into()))));

    let turns = scene.index.turns(&life.session).unwrap();
    let turns: Vec<_> = turns.iter().map(|turn| (turn.turn, turn.title.as_str(), turn.rewound)).collect();
    let expected = [(1, "Delegate", false), (2, "Another", true), (3, "Third", true), (4, "Fourth", false)];
    assert_eq!(turns, expected);
    let row = scene.index.sessions(&Filter::default()).unwrap().remove(0);
    assert_eq!(
        (row.turns, row.title.as_str(), row.spent.calls),
        (2, "Delegate", 4),
        "what was rewound was paid"
    );

    let cost = scene.index.cost(By::Agent).unwrap();
    let cost: Vec<_> = cost.iter().map(|row| (row.key.as_str(), row.calls, row.known())).collect();
    assert_eq!(cost, [("helper", 1, Usd(3)), ("junto", 3, Usd(3))]);
}

#[test]
fn an_answer_of_several_calls_has_a_row_for_each() {
    let scene = scene();
    let leaf = |model: &str, tokens, cost| LeafCall {
        provider: "q".into(),
        model: model.into(),
        usage: Usage::new(tokens, 0),
        cost,
    };
    let calls = vec![leaf("m1", 10, Cost::Estimated(Usd(1))), leaf("m2", 20, Cost::Unknown)];
    let mut life = Life::new("s1", "/project", 0);
    let whole = body_call(Usage { calls, ..Usage::new(30, 0) }, Cost::Unknown);
    life.push(body_input("?")).push_of(None, Some("c1"), whole);
    scene.tell(&life);
    let rows = scene.index.calls(&CallFilter::default()).unwrap();
    let rows: Vec<_> =
        rows.iter().map(|row| (row.leaf, row.model.as_str(), row.usage.input, row.cost)).collect();
    assert_eq!(rows, [(0, "m1", 10, Cost::Estimated(Usd(1))), (1, "m2", 20, Cost::Unknown)]);
    let cost = scene.index.cost(By::Session).unwrap();
    assert_eq!((cost.len(), cost[0].usage.input, cost[0].known(), cost[0].unknown), (1, 30, Usd(1), 1));
}

/// A run of a command-line agent tells under one name what each of its models used, and that again with every result.
#[test]
fn all_that_a_run_tells_is_counted_and_a_fork_of_it_not_again() {
    let mut old = Life::new("01-old", "/project", 0);
    old.push(body_input("Go"));
    for (model, cost) in [("small", 1), ("large", 20), ("large", 300)] {
        let mut told = body_call(Usage::new(10, 1), Cost::Reported(Usd(cost)));
        if let Body::Call { model: name, .. } = &mut told {
            model.clone_into(name);
        }
        old.push_of(None, Some("run-1"), told);
    }
    // Whatever the clock says.
    for event in &mut old.events[2..] {
        event.at = second(2);
    }
    old.push_of(None, Some("run-1"), body_run_end(Some(Usage::new(30, 3)))).push(body_input_end());
    let mut fork = Life::new("02-fork", "/project", 1000);
    fork.events[0].body = body_fork(&old.session);
    for event in &old.events[1..] {
        fork.push_of(None, event.corr.as_ref().map(|call| call.0.as_str()), event.body.clone());
    }
    for lives in [[&old, &fork], [&fork, &old]] {
        let scene = scene();
        for life in lives {
            scene.tell(life);
        }
        let cost = scene.index.cost(By::Model).unwrap();
        let cost: Vec<_> = cost.iter().map(|row| (row.key.as_str(), row.calls, row.known())).collect();
        assert_eq!(cost, [("p/large", 2, Usd(320)), ("p/small", 1, Usd(1))]);
        let rows = scene.index.sessions(&Filter::default()).unwrap();
        let spent: Vec<_> = rows.iter().map(|row| (row.id.0.as_str(), row.spent.known())).collect();
        assert_eq!(spent, [("02-fork", Usd(0)), ("01-old", Usd(321))]);
    }
}

#[test]
fn a_run_that_does_not_tell_what_it_used_costs_nobody_knows_what() {
    let scene = scene();
    let mut life = Life::new("s1", "/project", 0);
    life.push(body_input("Go")).push_of(None, Some("run-1"), body_run_end(None)).push(body_input_end());
    scene.tell(&life);
    let spent = |scene: &Scene| {
        let spent = scene.index.sessions(&Filter::default()).unwrap().remove(0).spent;
        (spent.calls, spent.unknown, spent.cost())
    };
    assert_eq!(spent(&scene), (1, 1, Cost::Unknown));
    let cost = scene.index.cost(By::Model).unwrap();
    assert_eq!((cost[0].key.as_str(), cost[0].unknown), ("junto/m", 1));
    // What is known of it is told beside what is not.
    let told = body_call(Usage::new(10, 1), Cost::Reported(Usd(5)));
    life.push(body_input("More")).push_of(None, Some("run-2"), told);
    life.push_of(None, Some("run-2"), body_run_end(None)).push(body_input_end());
    scene.tell(&life);
    assert_eq!(spent(&scene), (3, 2, Cost::Unknown));
}

#[test]
fn what_a_fork_took_over_is_paid_once() {
    let scene = scene();
    let mut old = Life::new("01-old", "/project", 0);
    old.turn("First", 100, 10).turn("Second", 200, 20);
    let mut fork = Life::new("02-fork", "/project", 1000);
    fork.events[0].body = body_fork(&old.session);
    for event in &old.events[1..4] {
        fork.push_of(None, event.corr.as_ref().map(|call| call.0.as_str()), event.body.clone());
    }
    fork.turn("Another second", 400, 40);
    // Whichever the index hears of first.
    scene.tell(&fork);
    scene.tell(&old);
    let cost = scene.index.cost(By::Session).unwrap();
    let cost: Vec<_> = cost.iter().map(|row| (row.key.as_str(), row.calls, row.known())).collect();
    assert_eq!(cost, [("02-fork", 1, Usd(40)), ("01-old", 2, Usd(30))]);
    let row = scene.index.sessions(&Filter::default()).unwrap().remove(0);
    assert_eq!((row.turns, row.parent.as_ref()), (2, Some(&old.session)));
}

#[test]
fn events_come_once_whatever_is_told_twice() {
    let scene = scene();
    let mut life = Life::new("s1", "/project", 0);
    life.turn("One", 1, 1).turn("Two", 1, 1);
    scene.tell(&life);
    scene.tell(&life);
    life.turn("Three", 1, 1);
    scene.tell(&life);
    let row = scene.index.sessions(&Filter::default()).unwrap().remove(0);
    assert_eq!((row.turns, row.spent.calls), (3, 3));
}

#[test]
fn after_a_gap_nothing_is_taken_until_the_journal_was_read() {
    let scene = scene();
    let mut life = Life::new("s1", "/project", 0);
    life.turn("One", 1, 1).turn("Two", 1, 1);
    let (before, after) = life.events.split_at(4);
    scene.tell_events(before);
    scene.tell_events(after.iter().skip(1));
    let row = scene.index.sessions(&Filter::default()).unwrap().remove(0);
    assert_eq!((row.turns, row.updated), (1, second(3)));
    scene.tell_events(after);
    assert_eq!(scene.index.sessions(&Filter::default()).unwrap()[0].turns, 2);
}

#[test]
fn calls_outside_of_sessions_are_in_the_ledger() {
    let scene = scene();
    scene.tell(Life::new("s1", "/project", 0).turn("Hi", 100, 10));
    let book = scene.store.book("gateway");
    let record = |id: &str, client: Option<&str>, usage: &Usage, cost| {
        let client = client.map(|id| SessionId(id.into()));
        book.record(CallId(id.into()), client, "openai", "gpt", usage, cost).unwrap();
    };
    let raw = Usage { raw: Some(serde_json::json!({"x": 1})), ..Usage::new(5, 2) };
    record("g1", None, &raw, Cost::Estimated(Usd(7)));
    record("g2", Some("theirs"), &Usage::new(6, 2), Cost::Unknown);
    record("g3", Some("s1"), &Usage::new(100, 1), Cost::Estimated(Usd(10)));
    let index = scene.store.index().unwrap();
    let cost = index.cost(By::Agent).unwrap();
    let cost: Vec<_> =
        cost.iter().map(|row| (row.key.as_str(), row.calls, row.known(), row.unknown)).collect();
    assert_eq!(cost, [("gateway", 3, Usd(17), 1)], "the session is in no journal, so it is no longer known");
    let rows = index.calls(&CallFilter::default()).unwrap();
    assert_eq!(rows.iter().map(|row| row.usage.input).collect::<Vec<_>>(), [5, 6, 100]);
    assert!(rows.iter().all(|row| row.session.is_none() && row.usage.raw.is_none()));
}

/// A council's answer, made of two calls.
fn council_usage() -> Usage {
    let leaf = |provider: &str, cost: i64| LeafCall {
        provider: provider.into(),
        model: "m".into(),
        usage: Usage::new(10, 1),
        cost: Cost::Estimated(Usd(cost)),
    };
    Usage { calls: vec![leaf("p", 3), leaf("q", 4)], ..Usage::new(20, 2) }
}

#[test]
fn how_a_council_came_to_an_answer_is_in_the_ledger_with_what_it_cost() {
    let scene = scene();
    let minutes = |secret: &str| json!({"council": "deep", "outcome": "agreed", "reason": secret});
    let mut life = Life::new("s1", "/project", 0);
    life.push(Body::Deliberation { minutes: minutes("of a session") });
    scene.tell(&life);
    let kept = scene.index.deliberations(&CallFilter::default()).unwrap();
    let [row] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!(
        (row.session.as_ref().map(|id| id.0.as_str()), &row.minutes),
        (Some("s1"), &minutes("of a session"))
    );
    // Told again, as by a fork, it is there once.
    scene.tell(&life);
    assert_eq!(scene.index.deliberations(&CallFilter::default()).unwrap(), kept);

    let book = scene.store.book("gateway");
    let (id, cost) = (CallId("g1".into()), Cost::Estimated(Usd(7)));
    let key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let twice = [minutes("first"), minutes(key)];
    book.record_deliberated(id, None, ("council", "deep"), &council_usage(), cost, &twice).unwrap();
    let index = scene.store.index().unwrap();
    let rows: Vec<_> = index.deliberations(&CallFilter::default()).unwrap();
    let rows: Vec<_> = rows.iter().filter(|row| row.source == "gateway").collect();
    assert_eq!(rows.len(), 2, "once for each try");
    assert_eq!((rows[0].call.as_str(), &rows[0].minutes), ("g1", &minutes("first")));
    assert!(!rows[1].minutes.to_string().contains(key) && rows[1].minutes["council"] == "deep", "{rows:?}");
    let cost = index.cost(By::Council).unwrap();
    let cost: Vec<_> = cost.iter().map(|row| (row.key.as_str(), row.known())).collect();
    assert_eq!(cost, [("deep: q/m", Usd(4)), ("deep: p/m", Usd(3))]);
}

#[test]
fn calls_are_filtered_and_come_in_their_order() {
    let scene = scene();
    scene.tell(Life::new("s1", "/project", 0).turn("a", 1, 1).turn("b", 2, 1));
    scene.tell(Life::new("s2", "/project", 3).turn("c", 3, 1).turn("d", 4, 1));
    let check = |filter: CallFilter, expected: &[u64]| {
        let calls = scene.index.calls(&filter).unwrap();
        assert_eq!(calls.iter().map(|call| call.usage.input).collect::<Vec<_>>(), expected, "{filter:?}");
    };
    let all = CallFilter::default;
    check(all(), &[1, 2, 3, 4]);
    check(CallFilter { session: Some(SessionId("s2".into())), ..all() }, &[3, 4]);
    check(CallFilter { since: Some(second(5)), ..all() }, &[2, 3, 4]);
    check(CallFilter { until: Some(second(5)), ..all() }, &[1]);
    check(CallFilter { limit: Some(2), ..all() }, &[3, 4]);
    check(CallFilter { limit: Some(9), ..all() }, &[1, 2, 3, 4]);
}

/// Each command opens the index, adds to it and ends. What SQLite writes beside the tables meanwhile does not grow with
/// their number: everybody who opens the index reads all of it.
#[test]
fn the_log_of_the_index_stays_short() {
    let root = tempfile::tempdir().unwrap();
    for number in 0..80 {
        let index = Index::open(root.path(), Redactor::off());
        let mut life = Life::new(&format!("s{number}"), "/project", 0);
        life.turn("One", 1, 1).turn("Two", 1, 1);
        for event in &life.events {
            index.note(event);
        }
        assert_eq!(index.sessions(&Filter::default()).unwrap().len(), number + 1);
    }
    let log = std::fs::metadata(root.path().join("index.sqlite-wal")).unwrap().len();
    assert!(log < 2 << 20, "{log} bytes");
}
