//! Who speaks for the council, and who is paid.

use junto_llm::{ErrorKind, Finish, Provider};
use junto_twin::{Call, Fault, Play, Step};
use serde_json::json;

use crate::stand::{ask, session, stand};

fn calls(args: &[(&str, serde_json::Value)]) -> Play {
    Play::of([Step::calls(
        args.iter().map(|(tool, args)| Call::new(*tool, args.clone())).collect::<Vec<_>>(),
    )])
}

fn verdict(index: i64) -> Play {
    Play::of([Step::object(json!({"index": index, "reason": "it fits"}))])
}

fn unasked() -> Play {
    Play::of([Step::fault(Fault::status(500))])
}

#[tokio::test]
async fn agreement_on_text_asks_no_judge() {
    let stand = stand(Play::text("It is noon."), Play::text("It  is\nnoon. "), unasked());
    let response = stand.council.complete(ask("?"), &session()).await.unwrap();
    assert_eq!(response.text(), "It is noon.");
    assert_eq!((response.provider.as_str(), response.model.as_str()), ("council", "council"));
    assert_eq!(stand.counts(), [1, 1, 0]);
    stand.check_usage(&response.usage);
}

#[tokio::test]
async fn agreement_on_calls_keeps_them_all() {
    let both = [("get_weather", json!({"city": "Rome"})), ("get_time", json!({"zone": "CET"}))];
    let stand = stand(calls(&both), calls(&both), unasked());
    let response = stand.council.complete(ask("?"), &session()).await.unwrap();
    let called: Vec<_> = response.tool_calls().map(|c| (c.name.as_str(), c.arguments.clone())).collect();
    assert_eq!(called, both);
    assert_eq!(response.finish_reason.unified, Finish::ToolCalls);
    assert_eq!(stand.counts(), [1, 1, 0]);
}

#[tokio::test]
async fn disagreement_is_settled_by_index() {
    for (index, city) in [(0, "Rome"), (1, "Oslo")] {
        let of = |city: &str| calls(&[("get_weather", json!({"city": city}))]);
        let stand = stand(of("Rome"), of("Oslo"), verdict(index));
        let response = stand.council.complete(ask("Weather in the capital?"), &session()).await.unwrap();
        assert_eq!(response.tool_calls().next().unwrap().arguments, json!({"city": city}));
        assert_eq!(stand.counts(), [1, 1, 1]);
        stand.check_usage(&response.usage);
        let judged = stand.judge.requests()[0].body.to_string();
        assert!(judged.contains("Weather in the capital?") && judged.contains("Oslo"), "{judged}");
    }
}

#[tokio::test]
async fn a_judge_that_fails_or_errs_leaves_the_first() {
    for judge in [unasked(), verdict(7), verdict(-1), Play::text("The second.")] {
        let stand = stand(Play::text("One."), Play::text("Two."), judge);
        let response = stand.council.complete(ask("?"), &session()).await.unwrap();
        assert_eq!(response.text(), "One.");
        assert_eq!(response.warnings.iter().filter(|w| w.code == "judge_failed").count(), 1);
        assert_eq!(stand.counts(), [1, 1, 1]);
        stand.check_usage(&response.usage);
    }
}

#[tokio::test]
async fn a_member_that_fails_is_left_out() {
    let stand = stand(Play::of([Step::fault(Fault::status(529))]), Play::text("Two."), unasked());
    let response = stand.council.complete(ask("?"), &session()).await.unwrap();
    assert_eq!(response.text(), "Two.");
    assert!(response.warnings.iter().any(|w| w.message.starts_with("a: ")), "{:?}", response.warnings);
    assert_eq!(stand.counts(), [1, 1, 0]);
    stand.check_usage(&response.usage);
}

#[tokio::test]
async fn when_all_fail_the_most_telling_failure_is_told() {
    let failing = |status| Play::of([Step::fault(Fault::status(status))]);
    let stand = stand(failing(401), failing(429), unasked());
    let error = stand.council.complete(ask("?"), &session()).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::RateLimit, Some(429)));
    assert!(error.is_retryable());
    assert!(error.message().contains("a: ") && error.message().contains("b: "), "{error}");
    assert_eq!(stand.counts(), [1, 1, 0]);
}

#[tokio::test]
async fn calls_that_cannot_be_run_are_left_out() {
    let good = || calls(&[("get_weather", json!({"city": "Rome"}))]);
    for bad in [
        Play::of([Step::calls([Call::raw("get_weather", r#"{"town": "Rome"}"#)])]),
        Play::of([Step::calls([
            Call::new("get_weather", json!({"city": "Rome"})),
            Call::raw("get_time", "{}"),
        ])]),
    ] {
        let stand = stand(bad, good(), unasked());
        let response = stand.council.complete(ask("?"), &session()).await.unwrap();
        assert_eq!(response.tool_calls().count(), 1);
        assert!(response.warnings.iter().any(|w| w.message.contains("does not fit")));
        assert_eq!(stand.counts(), [1, 1, 0]);
        // What was left out was paid for all the same.
        stand.check_usage(&response.usage);
    }
}
