//! The grammar of a council's stream, and that it says what the whole answer says.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use junto_council::{FanOut, Mode, Options};
use junto_llm::{Accumulator, Provider, SegmentId, StreamEvent};
use junto_twin::{Call, Fault, Play, Step};
use serde_json::json;

use crate::stand::{Stand, ask, session, stand, stand_with};

async fn events(stand: &Stand) -> Vec<StreamEvent> {
    let stream = stand.council.stream(ask("?"), &session()).await.unwrap();
    stream.map(Result::unwrap).collect().await
}

/// `StreamStart` first and once, `Finish` last and once, narration before content, deltas between
/// the start and the end of their segment.
fn check_grammar(events: &[StreamEvent]) {
    assert!(matches!(events.first(), Some(StreamEvent::StreamStart { .. })), "{events:?}");
    assert!(matches!(events.last(), Some(StreamEvent::Finish { .. })), "{events:?}");
    let mut open: BTreeMap<SegmentId, bool> = BTreeMap::new();
    let mut content = false;
    for event in &events[1..events.len() - 1] {
        content |= event.is_content();
        match event {
            StreamEvent::TextStart { id }
            | StreamEvent::ReasoningStart { id }
            | StreamEvent::ToolCallStart { id, .. } => {
                assert_eq!(open.insert(*id, true), None, "{id:?} starts once");
            }
            StreamEvent::TextDelta { id, .. }
            | StreamEvent::ReasoningDelta { id, .. }
            | StreamEvent::ToolCallDelta { id, .. } => assert_eq!(open.get(id), Some(&true), "{id:?}"),
            StreamEvent::TextEnd { id, .. }
            | StreamEvent::ReasoningEnd { id, .. }
            | StreamEvent::ToolCallEnd { id, .. } => {
                assert_eq!(open.insert(*id, false), Some(true), "{id:?} ends once");
            }
            StreamEvent::Progress { .. } => assert!(!content, "narration after content"),
            StreamEvent::Part { .. } | StreamEvent::Origin { .. } => {}
            other => panic!("{other:?} in the middle"),
        }
    }
    assert!(open.values().all(|is_open| !is_open), "{open:?}");
}

fn play() -> Play {
    let both =
        [Call::new("get_weather", json!({"city": "Rome"})), Call::new("get_time", json!({"zone": "CET"}))];
    Play::of([Step { text: Some("Let me look.".into()), ..Step::calls(both) }])
}

#[tokio::test]
async fn a_stream_folds_into_the_answer_that_complete_gives() {
    let whole = {
        let stand = stand(play(), play(), Play::text("unasked"));
        stand.council.complete(ask("?"), &session()).await.unwrap()
    };
    let stand = stand(play(), play(), Play::text("unasked"));
    let events = events(&stand).await;
    check_grammar(&events);
    let mut folded = Accumulator::new();
    for event in &events {
        folded.push(event);
    }
    let folded = folded.into_response();
    let Some(StreamEvent::Finish { response: Some(last), .. }) = events.last() else { panic!("no response") };
    assert_eq!(folded.id, last.id, "the start and the end name the same answer");
    assert_eq!(folded.message, last.message, "with the origin of every part");
    assert!(last.message.content.iter().all(|part| part.origin().is_some_and(|o| o.provider == "a")));
    for response in [&folded, last] {
        assert_eq!((response.text(), response.reasoning()), (whole.text(), whole.reasoning()));
        let calls = |r: &junto_llm::Response| {
            r.tool_calls().map(|c| (c.name.clone(), c.raw_arguments.clone())).collect::<Vec<_>>()
        };
        assert_eq!(calls(response), calls(&whole));
        stand.check_usage(&response.usage);
        assert_eq!(response.finish_reason, whole.finish_reason);
        assert_eq!((&response.provider, &response.model), (&whole.provider, &whole.model));
    }
}

#[tokio::test]
async fn the_narration_tells_the_whole_story() {
    let verdict = Play::of([Step::object(json!({"index": 1, "reason": "it is right"}))]);
    let stand = stand(Play::text("One."), Play::text("Two."), verdict);
    let events = events(&stand).await;
    check_grammar(&events);
    let mut lines: Vec<&str> = (events.iter())
        .filter_map(|event| match event {
            // Without the time and the tokens it took.
            StreamEvent::Progress { text } => {
                Some(text.split_once(" (").map_or(text.as_str(), |(line, _)| line))
            }
            _ => None,
        })
        .collect();
    // Who of the two is faster is open.
    lines[1..3].sort_unstable();
    assert_eq!(
        lines,
        [
            "asking a, b",
            "a answered",
            "b answered",
            "they differ: asking judge to choose",
            "judge chose b: it is right",
        ]
    );
}

#[tokio::test]
async fn a_failure_comes_after_the_narration_and_ends_the_stream() {
    let failing = || Play::of([Step::fault(Fault::status(503))]);
    let stand = stand(failing(), failing(), Play::text("unasked"));
    let stream = stand.council.stream(ask("?"), &session()).await.unwrap();
    let items: Vec<_> = stream.collect().await;
    let (last, before) = items.split_last().unwrap();
    assert!(last.as_ref().is_err_and(|error| error.is_retryable() && error.status() == Some(503)));
    assert!(matches!(before[0], Ok(StreamEvent::StreamStart { .. })));
    assert_eq!(before.len(), 4, "start, asking, and one line for each: {before:?}");
}

/// Whose answer is heard while it is made is known before its first part.
#[tokio::test]
async fn what_is_heard_live_folds_into_the_answer_as_well() {
    let never = Options { fan_out: FanOut::Never, ..Options::default() };
    let alone = stand_with(play(), play(), Play::text("unasked"), never);
    let fuse = Options { mode: Mode::Fuse, fan_out: FanOut::Always, ..Options::default() };
    let fused = stand_with(Play::text("One."), Play::text("Two."), Play::text("Both of them."), fuse);
    for (stand, counts, maker, text) in
        [(alone, [1, 0, 0], "a", "Let me look."), (fused, [1, 1, 1], "judge", "Both of them.")]
    {
        let events = events(&stand).await;
        check_grammar(&events);
        let mut folded = Accumulator::new();
        for event in &events {
            folded.push(event);
        }
        let Some(StreamEvent::Finish { response: Some(last), .. }) = events.last() else {
            panic!("no response")
        };
        assert_eq!(folded.into_response().message, last.message);
        assert_eq!((last.text().as_str(), stand.counts()), (text, counts));
        assert!(last.message.content.iter().all(|part| part.origin().is_some_and(|o| o.provider == maker)));
        stand.check_usage(&last.usage);
        assert_eq!(last.usage.calls.len(), counts.iter().sum::<usize>());
    }
}
