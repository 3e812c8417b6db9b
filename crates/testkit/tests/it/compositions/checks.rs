//! What must hold in every cell, whoever the mind is and whatever happened to it.

use std::collections::HashMap;

use junto::core::{Amount, Body, Delta, EndReason, Event, Item, Payload, Seq, Subscription, grammar};
use junto::env::survivors;
use junto::llm::Usage;

use super::stage::{LONG, Stage, Tokens, tokens};
use super::table;

/// Everything that a reader of a log saw who read along to the end.
pub(crate) async fn record(mut reader: Subscription) -> Vec<Item> {
    let mut items = Vec::new();
    loop {
        let item = reader.next().await.unwrap();
        let over = matches!(&item, Item::Event(e) if e.body.name() == "session_end" && e.parent.is_none());
        items.push(item);
        if over {
            return items;
        }
    }
}

/// The events among what was seen, after the checks of each log.
pub(crate) fn checked(items: &[Item]) -> Vec<Event> {
    let events: Vec<Event> = items
        .iter()
        .filter_map(|item| match item {
            Item::Event(event) => Some((**event).clone()),
            Item::Delta(_) => None,
        })
        .collect();
    let names: Vec<&str> = events.iter().map(|event| event.body.name()).collect();
    grammar::check(&events).unwrap_or_else(|faults| panic!("{faults:#?}\n{names:?}"));
    assert_eq!((names[0], names[names.len() - 1]), ("session_start", "session_end"));
    let agents = events.iter().filter(|event| event.body.name() == "session_start").count();
    assert_eq!(count(&events, "session_end"), agents, "{names:?}");
    assert_eq!(count(&events, "input_end"), count(&events, "user_input"), "{names:?}");
    let last = &events[events.len() - 1];
    assert!(last.parent.is_none(), "the last word is the root's");
    check_deltas(items);
    events
}

/// How often a type of event is there.
pub(crate) fn count(events: &[Event], name: &str) -> usize {
    events.iter().filter(|event| event.body.name() == name).count()
}

/// Deltas come between the start and the end of what they belong to, and join to the whole.
fn check_deltas(items: &[Item]) {
    let mut joined: HashMap<Seq, Option<String>> = HashMap::new();
    for item in items {
        match item {
            Item::Delta(delta) => {
                let (Delta::AssistantTextDelta { of, text }
                | Delta::ReasoningDelta { of, text }
                | Delta::ToolCallOutputDelta { of, text }) = delta;
                let open = joined.get_mut(of).unwrap_or_else(|| panic!("a delta of {of}, which is not open"));
                open.get_or_insert_default().push_str(text);
            }
            Item::Event(event) => match &event.body {
                Body::AssistantTextStart {} | Body::ReasoningStart {} | Body::ToolCallStart { .. } => {
                    joined.insert(event.seq, None);
                }
                Body::AssistantTextEnd { of, text } | Body::ReasoningEnd { of, text } => {
                    assert_eq!(joined.remove(of).unwrap().unwrap_or_default(), whole(text));
                }
                Body::ToolCallEnd { of: Some(of), output, .. } => {
                    // A tool need not show what it does; what it shows is what it says in the end.
                    if let Some(shown) = joined.remove(of).unwrap() {
                        assert_eq!(shown, whole(output));
                    }
                }
                _ => {}
            },
        }
    }
    assert!(joined.is_empty(), "what began has ended");
}

fn whole(payload: &Payload) -> String {
    match payload {
        Payload::Inline(text) => text.clone(),
        Payload::Spilled { .. } => panic!("no cell says that much"),
    }
}

/// What is true of the world when the mind has gone: the books agree to the token with what the models say
/// that they were used for, these have nothing more to do, and no process is left.
pub(crate) async fn check_world(stage: Stage, events: &[Event]) {
    let booked = check_books(events);
    for twin in &stage.twins {
        twin.wait_until_idle().await;
    }
    let told = stage.told();
    let Stage { env, twins, served, purse, host, event, .. } = stage;
    assert_eq!(purse.reserved(), Amount::default(), "all is settled");
    // The program has a purse of its own. Of what breaks off more is assumed than is known.
    let paid = purse.spent().tokens;
    match event {
        _ if host == table::Host::Program => {}
        table::Event::Cancel | table::Event::Failure | table::Event::Crash => {
            assert!(paid >= booked.0 + booked.1, "{paid} paid, {booked:?} booked");
        }
        _ => assert_eq!(paid, booked.0 + booked.1, "everybody is paid once"),
    }
    match served {
        None => assert_eq!(booked, told, "booked, and told by those who were asked"),
        Some(served) => {
            let passed_on = served.close().await;
            assert_eq!(passed_on, told, "what the gateway reports, and what it was told");
            // Of an answer that breaks off not every wire has told the client before what was read for it.
            if event != table::Event::Crash {
                assert_eq!(booked, passed_on, "booked, and passed on by the gateway");
            }
        }
    }
    let left = tokio::task::spawn_blocking(move || survivors::after(&env, LONG));
    assert_eq!(left.await.unwrap(), []);
    for twin in twins {
        twin.close().await;
    }
}

/// What was used by all calls: the same as the session's sum, and as the sum of the calls that were really
/// made, where one stands for several.
fn check_books(events: &[Event]) -> Tokens {
    let usages: Vec<&Usage> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::Call { usage, .. } => Some(usage),
            _ => None,
        })
        .collect();
    let booked = tokens(usages.iter().copied());
    let rows = usages.iter().flat_map(|usage| {
        let calls: Vec<&Usage> = usage.calls.iter().map(|call| &call.usage).collect();
        if calls.is_empty() { vec![*usage] } else { calls }
    });
    assert_eq!(tokens(rows), booked, "one row for each call that was really made");
    let Body::SessionEnd { usage, .. } = &events[events.len() - 1].body else { unreachable!() };
    assert_eq!(tokens([usage]), booked, "the session's sum is that of its calls and its children's");
    booked
}

/// An end, without its details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Interrupted,
    Rejected,
    Failed,
    Limit,
}

impl From<&EndReason> for End {
    fn from(reason: &EndReason) -> Self {
        match reason {
            EndReason::Done | EndReason::AwaitingInput => Self::Done,
            EndReason::Limit => Self::Limit,
            EndReason::Interrupted => Self::Interrupted,
            EndReason::Rejected => Self::Rejected,
            EndReason::Failed { .. } => Self::Failed,
        }
    }
}
