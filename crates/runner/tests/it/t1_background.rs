//! Runs in the background: in a line, recorded, abortable, and never more at once than may be.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use junto_core::{AgentErrorKind, Body, EndReason, Event, EventLog, Mode};
use junto_llm::{Cost, Usd};
use junto_runner::background::{Background, Errand, Job};
use junto_testkit::fake_claude::{Behaviour, Fault, Ignored};

use crate::stage::{Stage, count, parent, runs_of, the_end};

fn line(at_once: usize, waiting: usize) -> Background {
    Background::new(NonZeroUsize::new(at_once).unwrap(), NonZeroUsize::new(waiting).unwrap())
}

fn errand(stage: &Stage, prompt: &str) -> Errand {
    Errand {
        definition: stage.definition.clone(),
        host: stage.host.clone(),
        mode: Mode::ReadOnly,
        model: None,
        workdir: None,
        prompt: prompt.to_owned(),
    }
}

async fn submit(line: &Background, stage: &Stage, prompt: &str) -> Job {
    let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
    line.submit(errand(stage, prompt), parent(), log).await.unwrap()
}

async fn events(job: &Job) -> Vec<Event> {
    junto_testkit::finished(job.log()).await
}

#[tokio::test]
async fn the_final_text_is_the_answer() {
    let stage = Stage::new(Behaviour::default());
    let job = submit(&line(1, 1), &stage, "hello\nyou").await;
    let outcome = job.outcome().await;
    assert_eq!((outcome.reason, outcome.text.as_str()), (EndReason::Done, "You said: hello\nyou"));
    let events = events(&job).await;
    assert_eq!(the_end(&events).1, "You said: hello\nyou");
    assert_eq!(runs_of(&events), [(None, None, Some(0), None)]);
    assert!(stage.runs()[0]["argv"].to_string().contains(r#""--output-format","text""#));
    stage.assert_no_survivors();
}

#[tokio::test]
async fn codex_writes_its_final_text_into_a_file() {
    let stage = Stage::codex(
        r#"cat > /dev/null
        while [ "$1" != --output-last-message ]; do shift; done
        printf 'from the file' > "$2"
        echo "what happened on the way""#,
    );
    let job = submit(&line(1, 1), &stage, "hello").await;
    assert_eq!(job.outcome().await.text, "from the file");
    // It would wait for the network without end.
    let waits = r#"{"type":"error","message":"Reconnecting... waiting for network (refused)"}"#;
    let stage =
        Stage::codex(&format!("cat > /dev/null; for i in 1 2 3; do echo '{waits}'; done; exec sleep 600"));
    let job = submit(&line(1, 1), &stage, "hello").await;
    let EndReason::Failed { error } = job.outcome().await.reason else { panic!("there is no network") };
    assert_eq!((error.kind.as_str(), error.message.as_str()), ("network", "refused"));
    stage.assert_no_survivors();
    let stage = Stage::codex("cat > /dev/null; echo 'usage limit reached, resets 3pm' >&2; exit 1");
    let job = submit(&line(1, 1), &stage, "hello").await;
    assert!(matches!(job.outcome().await.reason, EndReason::Failed { .. }));
    assert_eq!(runs_of(&events(&job).await)[0].3.as_deref(), Some("usage-limit"));
}

#[tokio::test]
async fn codex_is_not_waited_for_once_it_has_answered_and_tells_what_it_used() {
    let stage = Stage::codex(
        r#"cat > /dev/null
        while [ "$1" != --output-last-message ]; do shift; done
        printf 'from the file' > "$2"
        cat "$RECORDINGS/plain.jsonl"
        exec sleep 1000"#,
    )
    .at_a_price(1000.0)
    .with_patience(|patience| patience.grace = Duration::from_millis(200));
    let work = Errand { model: Some("gpt-5.5".to_owned()), ..errand(&stage, "hello") };
    let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
    let job = line(1, 1).submit(work, parent(), log).await.unwrap();
    let outcome = job.outcome().await;
    assert_eq!((outcome.reason, outcome.text.as_str()), (EndReason::Done, "from the file"));
    stage.assert_no_survivors();
    let events = events(&job).await;
    let [(_, Some((input, output)), Some(130), None)] = runs_of(&events)[..] else {
        panic!("{:?}", runs_of(&events))
    };
    let booked = events.iter().find_map(|event| match &event.body {
        Body::Call { provider, model, usage, cost, .. } => Some((provider, model, usage, cost)),
        _ => None,
    });
    let (provider, model, usage, cost) = booked.unwrap();
    assert_eq!((provider.as_str(), model.as_str()), ("codex", "gpt-5.5"));
    assert!(input > 0 && (usage.input, usage.output) == (input, output), "{usage:?}");
    assert_eq!(*cost, Cost::Estimated(Usd::from_dollars(1.0)));
    let Some(Body::SessionEnd { usage: all, cost: sum, .. }) = events.last().map(|event| &event.body) else {
        panic!("{events:#?}")
    };
    assert_eq!((all.input, all.output, sum), (input, output, cost));
}

#[tokio::test]
async fn a_failure_says_why() {
    let stage = Stage::new(Behaviour { exit: Some(1), ..Behaviour::default() });
    let job = submit(&line(1, 1), &stage, "Invalid API key").await;
    let EndReason::Failed { error } = job.outcome().await.reason else { panic!("it failed") };
    assert_eq!(error.kind, "authentication", "{error:?}");
    assert_eq!(runs_of(&events(&job).await)[0].3.as_deref(), Some("auth"));
    let mut stage = Stage::new(Behaviour::default());
    stage.definition.command[0] = "no-such-program-as-this".to_owned();
    let job = submit(&line(1, 1), &stage, "hello").await;
    job.outcome().await;
    assert_eq!(runs_of(&events(&job).await)[0].3.as_deref(), Some("not-installed"));
}

#[tokio::test]
async fn who_comes_too_late_is_sent_away_and_who_waits_can_leave() {
    let hanging = Stage::new(Behaviour::default().then(0, Fault::Hang));
    let quick = Stage::new(Behaviour::default());
    let line = line(1, 2);
    let first = submit(&line, &hanging, "first").await;
    // The usher may not have let it in yet; then there is one place less to wait in.
    hanging.until_it_runs().await;
    let second = submit(&line, &quick, "second").await;
    let third = submit(&line, &quick, "third").await;
    let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
    let refused = line.submit(errand(&quick, "fourth"), parent(), log).await.err().unwrap();
    assert_eq!(refused.kind(), AgentErrorKind::Limit);
    second.abort();
    assert_eq!(second.outcome().await.reason, EndReason::Interrupted);
    assert_eq!(count(&events(&second).await, "run_end"), 0, "it never ran");
    first.abort();
    let outcome = first.outcome().await;
    assert_eq!(outcome.reason, EndReason::Interrupted);
    assert_eq!(runs_of(&events(&first).await)[0].3.as_deref(), Some("cancelled"));
    assert_eq!(third.outcome().await.text, "You said: third");
    assert_eq!(quick.runs().len(), 1);
    hanging.assert_no_survivors();
}

#[tokio::test]
async fn dropping_a_job_kills_it_at_once() {
    let ignore = vec![Ignored::Interrupt, Ignored::Terminate];
    let stage = Stage::new(Behaviour { ignore, escape: true, ..Behaviour::default().then(0, Fault::Hang) });
    let job = submit(&line(1, 1), &stage, "x").await;
    stage.until_it_runs().await;
    let log = job.log().clone();
    drop(job);
    let mut reader = log.subscribe(junto_core::Seq::START);
    crate::stage::until(&mut reader, |body| matches!(body, junto_core::Body::SessionEnd { .. })).await;
    stage.assert_no_survivors();
}

#[tokio::test]
async fn silence_ends_it() {
    let stage = Stage::new(Behaviour::default().then(0, Fault::Hang))
        .with_patience(|patience| patience.idle = Duration::from_millis(50));
    let job = submit(&line(1, 1), &stage, "x").await;
    job.outcome().await;
    assert_eq!(runs_of(&events(&job).await)[0].3.as_deref(), Some("timed-out-idle"));
    stage.assert_no_survivors();
}
