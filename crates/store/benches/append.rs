//! Appending an event, against a buffered write of the same bytes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use junto_core::{Durability, Event, Journal, Seq};
use junto_store::{Store, Sync};

use crate::past::{Past, session, source};
use crate::table::{Table, micros, ratio, time, typical};

/// How long the lines are, about.
const SIZES: [usize; 4] = [300, 1000, 10_000, 100_000];
/// How many times a buffered write an append may take.
const BOUND: f64 = 3.0;
/// How often the sides take turns.
const TURNS: usize = 300;
/// How many bytes are written in one turn, about.
const TURN: usize = 200_000;

pub(crate) async fn measure(scratch: &Path, table: &mut Table) {
    let store = Store::open(scratch.join("append"), crate::options(Sync::TurnEnds)).unwrap();
    for (number, size) in SIZES.into_iter().enumerate() {
        let opened = store.create(&session(number)).unwrap();
        let mut past = Past::of(session(number));
        let mut event = event(&mut past, size);
        let line = line(&event);
        let file = |name: &str| BufWriter::new(File::create(scratch.join(format!("{name}-{size}"))).unwrap());
        let (mut flushed, mut unflushed) = (file("flushed"), file("unflushed"));
        let count = u32::try_from((TURN / size).clamp(4, 200)).unwrap();
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..TURNS {
            let begin = Instant::now();
            for _ in 0..count {
                event.seq = event.seq.next();
                opened.journal.append(std::slice::from_ref(&event), Durability::Written).await.unwrap();
            }
            times[0].push(begin.elapsed() / count);
            times[1].push(
                time(|| {
                    for _ in 0..count {
                        flushed.write_all(&line).unwrap();
                        flushed.flush().unwrap();
                    }
                }) / count,
            );
            times[2].push(time(|| (0..count).for_each(|_| unflushed.write_all(&line).unwrap())) / count);
        }
        let [ours, flushed, unflushed] = times.map(typical);
        table.judge(
            &format!("append an event, a line of {} bytes", line.len()),
            format!("{}; a buffered write, flushed {}", micros(ours), micros(flushed)),
            ratio(ours, flushed),
            BOUND,
        );
        table.tell(
            "the same beside a buffer that keeps it for later",
            format!("{}: {:.1}", micros(unflushed), ratio(ours, unflushed)),
        );
        check(&store, number, event.seq);
    }
}

/// An event whose line is about this long.
fn event(past: &mut Past, size: usize) -> Event {
    let bare = line(&past.output(String::new())).len();
    // Escapes make a text longer on its way into the line.
    past.output(source(size.saturating_sub(bare) * 100 / 106))
}

/// The line of an event, as long as the journal's.
fn line(event: &Event) -> Vec<u8> {
    format!("{{\"c\":\"00000000\",\"e\":{}}}\n", serde_json::to_string(event).unwrap()).into_bytes()
}

/// What was measured was really written.
fn check(store: &Store, number: usize, last: Seq) {
    let events = store.events(&session(number), last).unwrap();
    assert_eq!(events.map(|event| event.unwrap().seq).collect::<Vec<_>>(), [last]);
}
