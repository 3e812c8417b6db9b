//! What is told of a call when it has ended.

use std::sync::Mutex;

use junto_llm::{Cost, Entry, Tally, Usd};

use super::*;
use crate::{Decision, Deliberation, Duty, Ended, Outcome, Report, Why};

type Told = Arc<Mutex<Vec<Deliberation>>>;

fn reporting(options: Options) -> (Options, Told) {
    let told = Told::default();
    let into = told.clone();
    let report = Report::new(move |deliberation| into.lock().unwrap().push(deliberation.clone()));
    (Options { report: Some(report), ..options }, told)
}

fn only(told: &Told) -> Deliberation {
    let told = told.lock().unwrap();
    let [deliberation] = told.as_slice() else { panic!("told {} times", told.len()) };
    deliberation.clone()
}

#[tokio::test]
async fn everybody_is_in_it_with_votes_and_the_choice() {
    let (options, told) = reporting(all());
    let members = [
        Scripted::answers(text("one")),
        Scripted::fails(error(ErrorKind::Server, "down")),
        Scripted::answers(call("f", r#"{"n": 1}"#)),
    ];
    let table = table_with(members, Some(judge(r#"{"index": 1, "reason": "it looks"}"#)), options);
    let cx = CallCx::new();
    table.council.complete(ask(), &cx).await.unwrap();
    let told = only(&told);
    assert_eq!((told.call.clone(), told.council.as_str()), (cx.call, "council"));
    assert_eq!(told.fan_out, Decision::FanOut(Why::Policy));
    assert_eq!((told.outcome, told.reason.as_str()), (Outcome::Selected, "judge chose c: it looks"));
    assert_eq!((told.input, told.output, told.cost), (30, 15, Cost::Unknown));
    let rows: Vec<_> = told.asked.iter().map(|a| (a.name.as_str(), a.duty, a.votes, a.chosen)).collect();
    assert_eq!(
        rows,
        [
            ("a", Duty::Member, 1, false),
            ("b", Duty::Member, 0, false),
            ("c", Duty::Member, 1, true),
            ("judge", Duty::Judge, 0, false),
        ]
    );
    let left_out = Ended::LeftOut { kind: "server".into(), message: "down".into() };
    let ends: Vec<_> = told.asked.iter().map(|asked| asked.ended.clone()).collect();
    let called = Ended::Called { tools: vec!["f".into()] };
    assert_eq!(ends, [Ended::Answered, left_out, called, Ended::Answered]);
    assert_ne!(told.asked[0].digest, told.asked[2].digest);
    let json = serde_json::to_string(&told).unwrap();
    assert_eq!(serde_json::from_str::<Deliberation>(&json).unwrap(), told);
}

#[tokio::test]
async fn agreement_has_one_digest_and_all_votes() {
    let (options, told) = reporting(all());
    let members = [Scripted::answers(text("It  is.")), Scripted::answers(text("It is."))];
    table_with(members, None, options).complete().await.unwrap();
    let told = only(&told);
    assert_eq!(told.outcome, Outcome::Agreed);
    assert_eq!(told.asked[0].digest, told.asked[1].digest);
    assert_eq!(told.asked[0].digest.as_deref(), Some("25957ff598d1a89c"), "the same on every machine");
    assert!(told.asked.iter().all(|asked| asked.votes == 2));
}

#[tokio::test]
async fn failures_and_dropped_calls_are_told_of_once() {
    let (options, told) = reporting(all());
    let members =
        [Scripted::fails(error(ErrorKind::Server, "down")), Scripted::fails(error(ErrorKind::Quota, "q"))];
    table_with(members, None, options).complete().await.unwrap_err();
    let failed = only(&told);
    assert_eq!((failed.outcome, failed.asked.len()), (Outcome::Failed, 2));
    assert_eq!(failed.cost, Cost::Estimated(Usd::ZERO), "nothing was used");

    let (options, told) = reporting(all());
    let table = table_with([Scripted::hangs(), Scripted::hangs()], None, options);
    let mut events = table.council.stream(ask(), &CallCx::new()).await.unwrap();
    events.next().await.unwrap().unwrap();
    events.next().await.unwrap().unwrap();
    assert!(futures_util::poll!(events.next()).is_pending());
    assert!(told.lock().unwrap().is_empty());
    drop(events);
    let dropped = only(&told);
    assert_eq!(dropped.outcome, Outcome::Cancelled);
    assert!(dropped.asked.iter().all(|asked| asked.ended == Ended::Dropped), "{dropped:?}");
}

#[tokio::test]
async fn what_members_write_into_the_books_reaches_the_caller_and_the_report() {
    let (options, told) = reporting(all());
    let cent = Cost::Reported(Usd::from_dollars(0.01));
    let table = table_with(
        [Scripted::answers(text("x")).costs(cent), Scripted::answers(text("x")).costs(cent)],
        None,
        options,
    );
    let tally = Tally::default();
    let cx = CallCx { tally: Some(tally.clone()), ..CallCx::new() };
    table.council.complete(ask(), &cx).await.unwrap();
    let entries: Vec<Entry> = tally.take();
    assert_eq!(entries.len(), 2);
    assert!(entries.iter().all(|entry| entry.parent.as_ref() == Some(&cx.call)), "{entries:?}");
    let told = only(&told);
    assert_eq!(told.cost.amount(), Some(Usd::from_dollars(0.02)));
    assert_eq!(told.asked[0].cost, cent);
}
