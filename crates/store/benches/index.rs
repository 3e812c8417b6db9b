//! The index of many sessions: what `junto sessions` and `junto cost` wait for.

use std::path::Path;

use junto_core::{Durability, Journal};
use junto_store::{By, Filter, Store, Sync};

use crate::past::{Past, session};
use crate::table::{Table, millis, time, typical};

const SESSIONS: usize = 1000;
/// How often what is quick is measured.
const TURNS: usize = 10;

pub(crate) async fn measure(scratch: &Path, table: &mut Table) {
    let root = scratch.join("index");
    let store = Store::open(&root, crate::options(Sync::Never)).unwrap();
    let (mut events, mut bytes) = (0, 0);
    for number in 0..SESSIONS {
        let opened = store.create(&session(number)).unwrap();
        let mut past = Past::of(session(number));
        for _ in 0..3 {
            let turn = past.turn(4);
            opened.journal.append(&turn, Durability::Written).await.unwrap();
            events += turn.len();
        }
        bytes += std::fs::metadata(opened.journal.folder().join("journal.jsonl")).unwrap().len();
    }
    let size = format!("{SESSIONS} sessions, {events} events, {:.0} MB", bytes as f64 / 1e6);
    let index = store.index().unwrap();
    let rebuilt = (0..3).map(|_| time(|| assert_eq!(index.rebuild(&store).unwrap().read, SESSIONS)));
    table.tell(&format!("the index made anew: {size}"), millis(typical(rebuilt.collect())));

    // As a command does it: a store that was just opened.
    let quick = |work: &dyn Fn(&Store)| {
        let times = (0..TURNS).map(|_| {
            let store = Store::open(&root, crate::options(Sync::Never)).unwrap();
            time(|| work(&store))
        });
        millis(typical(times.collect()))
    };
    let fresh = quick(&|store| assert!(store.index().is_ok()));
    table.tell(&format!("the index found up to date: {SESSIONS} sessions"), fresh);
    let listed = quick(&|store| {
        assert_eq!(store.index().unwrap().sessions(&Filter::default()).unwrap().len(), SESSIONS);
    });
    table.tell("that, and all of them listed (`junto sessions`)", listed);
    for by in [By::Model, By::Session] {
        let cost = quick(&|store| assert!(!store.index().unwrap().cost(by).unwrap().is_empty()));
        table.tell(&format!("that, and the cost of {} calls by {by:?} (`junto cost`)", SESSIONS * 12), cost);
    }
}
