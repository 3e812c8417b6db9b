//! What it costs a round of tools that its events are safe, with each choice of when to sync.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use junto_core::{Body, EventLog, Seq};
use junto_llm::SessionId;
use junto_store::{Options, Store, Sync};

use crate::past::{Past, session};
use crate::table::{Table, micros, typical};

/// How many rounds are measured.
const ROUNDS: usize = 300;
/// How many calls start side by side where syncs are shared.
const BESIDE: usize = 8;

pub(crate) async fn measure(scratch: &Path, table: &mut Table) {
    let none = Duration::ZERO;
    let choices = [
        ("never synced", Sync::Never, none),
        ("synced before the tool runs", Sync::TurnEnds, none),
        ("each event synced", Sync::Always, none),
    ];
    let bodies = round();
    let mut logs = Vec::new();
    for (number, (what, sync, delay)) in choices.into_iter().enumerate() {
        logs.push((what, log(scratch, number, sync, delay), Vec::new()));
    }
    for _ in 0..ROUNDS {
        for (_, log, times) in &mut logs {
            let begin = Instant::now();
            for body in &bodies {
                match body {
                    Body::ToolCallStart { .. } => drop(log.commit(body.clone()).await.unwrap()),
                    _ => drop(log.emit(body.clone()).await.unwrap()),
                }
            }
            times.push(begin.elapsed());
        }
    }
    for (what, _, times) in logs {
        table.tell(&format!("the events of a round of tools, {what}"), micros(typical(times)));
    }
    let waits = [("at once", none), ("with a delay of 1 ms", Duration::from_millis(1))];
    for (number, (what, delay)) in waits.into_iter().enumerate() {
        let log = log(scratch, 10 + number, Sync::TurnEnds, delay);
        let start = bodies.iter().find(|body| matches!(body, Body::ToolCallStart { .. })).unwrap();
        let mut times = Vec::new();
        for _ in 0..ROUNDS / 3 {
            let begin = Instant::now();
            futures_util::future::join_all((0..BESIDE).map(|_| log.commit(start.clone()))).await;
            times.push(begin.elapsed());
        }
        table.tell(&format!("{BESIDE} calls start side by side, synced {what}"), micros(typical(times)));
    }
}

/// What happens in one round.
fn round() -> Vec<Body> {
    let events = Past::of(session(0)).turn(1);
    let is_of_round = |body: &Body| {
        !matches!(body, Body::SessionStart { .. } | Body::UserInput { .. } | Body::InputEnd { .. })
    };
    events.into_iter().map(|event| event.body).filter(is_of_round).collect()
}

fn log(scratch: &Path, number: usize, sync: Sync, delay: Duration) -> EventLog {
    let options = Options { delay, ..crate::options(sync) };
    let store = Store::open(scratch.join(format!("rounds-{number}")), options).unwrap();
    let id: SessionId = session(number);
    let opened = store.create(&id).unwrap();
    EventLog::new(id, opened.journal, Seq(0), Arc::new(Timestamp::now))
}
