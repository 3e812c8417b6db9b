//! The real programs in the background: their own final text, recorded, in a line, and abortable.

use std::num::NonZeroUsize;
use std::sync::Arc;

use jiff::Timestamp;
use junto_core::{Body, EndReason, Event, EventLog, Mode};
use junto_runner::background::{Background, Errand, Job};
use junto_testkit::cast::Who;
use junto_testkit::finished;
use junto_twin::{Options, Play, Step, Twin, When};

use crate::real::stage::{Scenario, Stage, opened};
use crate::real::table::busy;
use crate::stage::{parent, runs_of, the_end};

/// What they are all asked to say. The spaces at its end are nobody's answer.
const ANSWER: &str = "First line.\n\n- naïve 東京 🦀\n{\"type\":\"result\"}";

fn line(at_once: usize) -> Background {
    Background::new(NonZeroUsize::new(at_once).unwrap(), NonZeroUsize::new(4).unwrap())
}

async fn submit(line: &Background, stage: &Stage, twin: &Twin, scenario: &Scenario, task: &str) -> Job {
    let (definition, host) = stage.host(twin, scenario);
    let model = Some(stage.who.model().to_owned());
    let errand = Errand { definition, host, mode: Mode::Full, model, workdir: None, prompt: task.to_owned() };
    let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
    line.submit(errand, parent(), log).await.unwrap()
}

fn twin(steps: &[Step]) -> Twin {
    Twin::start(Play::of(steps.to_vec()), Options::default()).unwrap()
}

fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.body.name()).filter(|name| *name != "warning").collect()
}

async fn gives_its_final_text(who: Who) {
    let stage = Stage::new(who);
    let twin = twin(&[Step::calls([stage.write("made.txt", "one\n")]), Step::text(ANSWER)]);
    let job = submit(&line(1), &stage, &twin, &Scenario::new([]), "Work").await;
    let outcome = job.outcome().await;
    let events = finished(job.log()).await;
    assert_eq!((outcome.reason, outcome.text.as_str()), (EndReason::Done, ANSWER), "{events:#?}");
    assert_eq!(stage.read("made.txt").as_deref(), Some("one\n"));
    // Who tells more than its text tells what it used, too.
    let call = (who == Who::Codex).then_some("call");
    let expected = ["session_start", "user_input"].into_iter().chain(call);
    let expected: Vec<_> = expected.chain(["run_end", "input_end", "session_end"]).collect();
    assert_eq!(names(&events), expected);
    assert_eq!((the_end(&events).1.as_str(), runs_of(&events)[0].2), (ANSWER, Some(0)));
    stage.assert_no_survivors().await;
    twin.close().await;
}

async fn says_why_it_has_none(who: Who) {
    let stage = Stage::new(who);
    let twin = twin(&[Step::text(ANSWER)]);
    let job = submit(&line(1), &stage, &twin, &Scenario { key: "wrong", ..Scenario::new([]) }, "Work").await;
    let outcome = job.outcome().await;
    let EndReason::Failed { error } = outcome.reason else { panic!("{outcome:?}") };
    assert_eq!((error.kind.as_str(), outcome.text.as_str()), ("authentication", ""), "{error:?}");
    // In its own words one of them says that it should be signed in.
    let class = runs_of(&finished(job.log()).await)[0].3.clone();
    assert!(class.as_deref().is_some_and(|class| matches!(class, "auth" | "not-signed-in")), "{class:?}");
    twin.close().await;
}

/// Whoever waits has not asked anything yet; whoever runs is ended with what it started.
async fn waits_in_line_and_is_aborted(who: Who) {
    let stage = Stage::new(who);
    let pipe = stage.pipe();
    let on = |text: &str| When { contains: Some(text.to_owned()), ..When::default() };
    let twin = twin(&[
        Step::calls([who.shell(&busy(pipe.to_str().unwrap()))]).when(on("First")),
        Step::text("two").when(on("Second")),
    ]);
    let line = line(1);
    let first = submit(&line, &stage, &twin, &Scenario::new([]), "First").await;
    let second = submit(&line, &stage, &twin, &Scenario::new([]), "Second").await;
    let third = submit(&line, &stage, &twin, &Scenario::new([]), "Third").await;
    drop(opened(&pipe, std::fs::OpenOptions::new().read(true)).await);
    assert!(twin.requests().iter().all(|request| request.body.to_string().contains("First")));
    third.abort();
    assert_eq!(third.outcome().await.reason, EndReason::Interrupted);
    first.abort();
    assert_eq!(first.outcome().await.reason, EndReason::Interrupted);
    let outcome = second.outcome().await;
    assert_eq!((outcome.reason, outcome.text.as_str()), (EndReason::Done, "two"));
    let ended = |events: &[Event]| {
        let run = events.iter().find(|event| matches!(event.body, Body::RunEnd { .. }));
        run.map(|_| runs_of(events)[0].3.clone())
    };
    assert_eq!(ended(&finished(first.log()).await), Some(Some("cancelled".to_owned())));
    assert_eq!(ended(&finished(third.log()).await), None, "it never ran");
    assert!(!twin.requests().iter().any(|request| request.body.to_string().contains("Third")));
    stage.assert_no_survivors().await;
    twin.close().await;
}

macro_rules! by_all {
    ($($module:ident: $who:ident),*) => {
        $(mod $module {
            use super::Who;

            #[tokio::test]
            async fn gives_its_final_text() {
                super::gives_its_final_text(Who::$who).await;
            }

            #[tokio::test]
            async fn says_why_it_has_none() {
                super::says_why_it_has_none(Who::$who).await;
            }

            #[tokio::test]
            async fn waits_in_line_and_is_aborted() {
                super::waits_in_line_and_is_aborted(Who::$who).await;
            }
        })*
    };
}

by_all! { claude: Claude, codex: Codex, gemini: Gemini }
