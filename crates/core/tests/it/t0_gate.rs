//! Nothing runs without a permit, and a permit comes only after the start is in the journal.

use std::sync::Arc;

use jiff::Timestamp;
use junto_core::{
    Action, AskId, Body, Decision, EventLog, Gate, Item, Open, Policy, Rejected, Seq, Verdict, Via,
};
use junto_llm::ToolCall;
use serde_json::json;
use tokio_util::sync::CancellationToken;

struct Fixed(Verdict);

impl Policy for Fixed {
    fn decide(&self, _actions: &[Action]) -> Verdict {
        self.0.clone()
    }
}

fn log() -> EventLog {
    EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH))
}

fn call() -> ToolCall {
    ToolCall::function("c1", "shell", "{\"command\":\"ls\"}")
}

fn actions() -> Vec<Action> {
    vec![Action::Tool { name: "shell".into(), args: json!({}) }]
}

/// The question, once it is asked.
async fn asked(log: &EventLog) -> AskId {
    let mut reader = log.subscribe(Seq::START);
    loop {
        if let Item::Event(event) = reader.next().await.unwrap()
            && let Body::Ask { request } = &event.body
        {
            return request.ask.clone();
        }
    }
}

async fn names(log: &EventLog) -> Vec<&'static str> {
    log.subscribe(Seq::START).rest().await.unwrap().iter().map(|e| e.body.name()).collect()
}

#[tokio::test]
async fn an_allowed_call_is_in_the_journal_before_it_runs() {
    let log = log();
    let gate = Gate::new(Arc::new(Open), log.clone());
    let permit = gate.pass(call(), actions(), Via::Loop, &CancellationToken::new()).await.unwrap();
    assert_eq!((permit.call(), permit.start()), (&call(), Seq(1)));
    assert_eq!(permit.actions(), actions());
    assert_eq!(names(&log).await, ["tool_call_start"]);
}

#[tokio::test]
async fn a_denied_call_never_starts() {
    let log = log();
    let gate = Gate::new(Arc::new(Fixed(Verdict::Deny { reason: "no net".into() })), log.clone());
    let rejected = gate.pass(call(), actions(), Via::Cell, &CancellationToken::new()).await.unwrap_err();
    assert_eq!(rejected, Rejected::Denied("no net".into()));
    assert!(rejected.message().contains("no net"));
    assert!(names(&log).await.is_empty());
}

#[tokio::test]
async fn a_question_waits_for_its_answer() {
    for (decision, allowed) in [
        (Decision::Allow { remember: None }, true),
        (Decision::Reject { reason: Some("later".into()) }, false),
    ] {
        let log = log();
        let gate = Gate::new(Arc::new(Fixed(Verdict::Ask { proposed: vec![] })), log.clone());
        let never = CancellationToken::new();
        let (result, ()) = tokio::join!(gate.pass(call(), actions(), Via::Loop, &never), async {
            let ask = asked(&log).await;
            assert!(gate.answer(&AskId::fresh(), decision.clone()).is_err(), "a question nobody asked");
            gate.answer(&ask, decision.clone()).unwrap();
            assert!(gate.answer(&ask, decision.clone()).is_err(), "answered already");
        });
        assert_eq!(result.is_ok(), allowed);
        let expected: &[&str] =
            if allowed { &["ask", "answered", "tool_call_start"] } else { &["ask", "answered"] };
        assert_eq!(names(&log).await, expected);
    }
}

#[tokio::test]
async fn a_cancelled_or_dropped_wait_withdraws_the_question() {
    let log = log();
    let gate = Gate::new(Arc::new(Fixed(Verdict::Ask { proposed: vec![] })), log.clone());
    let cancel = CancellationToken::new();
    let (result, ask) = tokio::join!(gate.pass(call(), actions(), Via::Loop, &cancel), async {
        let ask = asked(&log).await;
        cancel.cancel();
        ask
    });
    assert_eq!(result.unwrap_err(), Rejected::Cancelled);
    assert!(gate.answer(&ask, Decision::Allow { remember: None }).is_err());
}
