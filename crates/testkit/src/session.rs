//! What must be true of every agent once it has ended.

use junto_core::{Event, EventLog, Seq, grammar};

/// All events of a log whose session has ended.
///
/// # Panics
/// If the log breaks the grammar of events; the message has all events and all faults.
pub async fn finished(log: &EventLog) -> Vec<Event> {
    let events = log.subscribe(Seq::START).rest().await.expect("a journal that can be read");
    if let Err(faults) = grammar::check(&events) {
        let bodies: Vec<_> = events.iter().map(|event| (event.seq, &event.body)).collect();
        panic!("{faults:#?}\n{bodies:#?}");
    }
    events
}
