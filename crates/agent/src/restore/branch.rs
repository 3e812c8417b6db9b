//! Which events count after a rewind.

use junto_core::{AgentId, Body, Event};

/// The events of one agent that its conversation is made of. Each `rewound` takes away those of the inputs
/// after the one it names, and what came between them; what came before that input's end stays. What was
/// used and paid is not taken away: sums are made over all events.
pub(crate) fn branch<'a>(events: &'a [Event], agent: &AgentId) -> Vec<&'a Event> {
    let mut branch: Vec<&Event> = Vec::new();
    for event in events.iter().filter(|event| event.agent == *agent) {
        match &event.body {
            Body::Rewound { to_turn } => {
                // Inputs are numbered on after a rewind, so numbers grow along every branch.
                let kept = branch.partition_point(|kept| kept.turn <= *to_turn);
                branch.truncate(kept);
                // What came after the input's end has its number, too: it was for the next one.
                let ends =
                    |kept: &&Event| kept.turn == *to_turn && matches!(kept.body, Body::InputEnd { .. });
                if let Some(end) = branch.iter().rposition(ends) {
                    branch.truncate(end + 1);
                }
            }
            _ => branch.push(event),
        }
    }
    branch
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use junto_core::{Change, EndReason, EventLog, Seq};

    use super::*;

    /// A log of inputs and rewinds, each input with what it says; what is left of it.
    async fn left(steps: &[Result<&str, u32>]) -> Vec<String> {
        let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
        let say = |text: &str| Body::Progress { text: text.to_owned() };
        log.emit(say("start")).await.unwrap();
        for step in steps {
            match step {
                Ok(text) => {
                    log.begin_turn();
                    log.emit(say(text)).await.unwrap();
                }
                Err(to_turn) => {
                    log.emit(Body::Rewound { to_turn: *to_turn }).await.unwrap();
                    log.child().emit(say("a child")).await.unwrap();
                }
            }
        }
        let events = log.subscribe(Seq::START).rest().await.unwrap();
        let text = |event: &&Event| match &event.body {
            Body::Progress { text } => text.clone(),
            other => panic!("{other:?}"),
        };
        branch(&events, log.agent()).iter().map(text).collect()
    }

    /// Such as another model, which is given before the next input.
    #[tokio::test]
    async fn what_came_after_the_end_of_an_input_goes_with_the_next() {
        let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
        let model = |name: &str| Body::Configured {
            change: Change { model: Some(name.to_owned()), ..Change::default() },
        };
        log.emit(model("begin")).await.unwrap();
        for name in ["first", "second"] {
            log.begin_turn();
            log.emit(model(name)).await.unwrap();
            log.emit(Body::InputEnd { reason: EndReason::Done, text: "".into() }).await.unwrap();
            log.emit(model("between")).await.unwrap();
        }
        for (to_turn, expected) in
            [(2, &["begin", "first", "between", "second"][..]), (1, &["begin", "first"]), (0, &["begin"])]
        {
            log.emit(Body::Rewound { to_turn }).await.unwrap();
            let events = log.subscribe(Seq::START).rest().await.unwrap();
            let models: Vec<&str> = branch(&events, log.agent())
                .iter()
                .filter_map(|event| match &event.body {
                    Body::Configured { change } => change.model.as_deref(),
                    _ => None,
                })
                .collect();
            assert_eq!(models, expected, "{to_turn}");
        }
    }

    #[tokio::test]
    async fn a_rewind_takes_away_what_came_after_an_input() {
        let check = async |steps: &[Result<&str, u32>], expected: &[&str]| {
            assert_eq!(left(steps).await, expected, "{steps:?}");
        };
        check(&[], &["start"]).await;
        check(&[Ok("1"), Ok("2")], &["start", "1", "2"]).await;
        check(&[Ok("1"), Ok("2"), Ok("3"), Err(1)], &["start", "1"]).await;
        check(&[Ok("1"), Ok("2"), Err(0)], &["start"]).await;
        check(&[Ok("1"), Ok("2"), Err(7)], &["start", "1", "2"]).await;
        check(&[Ok("1"), Ok("2"), Err(1), Ok("3"), Ok("4")], &["start", "1", "3", "4"]).await;
        check(&[Ok("1"), Ok("2"), Err(1), Ok("3"), Ok("4"), Err(3)], &["start", "1", "3"]).await;
        check(&[Ok("1"), Ok("2"), Err(1), Ok("3"), Err(2)], &["start", "1"]).await;
        check(&[Ok("1"), Ok("2"), Err(1), Err(0), Ok("3")], &["start", "3"]).await;
    }
}
