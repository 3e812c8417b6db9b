//! A call from another process passes the gate like any other.

use std::sync::Arc;

use jiff::Timestamp;
use junto_core::{
    Action, Body, Decision, EventLog, Fut, Gate, Item, Leash, Policy, Rejected, Seq, ToolCall, ToolHost,
    ToolOutcome, ToolSpec, Verdict, Via,
};
use junto_kernel::{ToolClient, ToolSocket};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Lets `look` pass, asks about `touch`, denies everything else.
struct Careful;

impl Policy for Careful {
    fn decide(&self, actions: &[Action]) -> Verdict {
        match actions {
            [Action::Tool { name, .. }] if name == "look" => Verdict::Allow(Leash::Kept),
            [Action::Tool { name, .. }] if name == "touch" => {
                Verdict::Ask { proposed: Vec::new(), reason: String::new() }
            }
            _ => Verdict::Deny { reason: "too much".into() },
        }
    }
}

struct Gated {
    gate: Gate,
}

impl ToolHost for Gated {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn call(&self, call: ToolCall, via: Via) -> Fut<'_, ToolOutcome> {
        Box::pin(async move {
            let actions = vec![Action::Tool { name: call.name.clone(), args: call.arguments.clone() }];
            let passed = self.gate.pass(call, actions, via, &CancellationToken::new()).await;
            let permit = passed.as_ref().map_err(Rejected::message);
            permit.map(|permit| format!("did {}", permit.call().raw_arguments)).into()
        })
    }
}

#[tokio::test]
async fn calls_are_judged_asked_about_and_journaled() {
    let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
    let host = Arc::new(Gated { gate: Gate::new(Arc::new(Careful), log.clone()) });
    let dir = tempfile::tempdir().unwrap();
    let socket = ToolSocket::serve(host.clone(), dir.path()).unwrap();
    let client = ToolClient::connect(socket.path(), socket.token()).await.unwrap();
    let call = async |name: &str| client.call(name, json!({"x": 1})).await.unwrap();

    assert_eq!(call("look").await, ToolOutcome::ok(r#"did {"x":1}"#));
    assert_eq!(call("burn").await, ToolOutcome::error("not allowed by the policy: too much"));

    let mut events = log.subscribe(Seq::START);
    let answer = async {
        loop {
            let Item::Event(event) = events.next().await.unwrap() else { continue };
            if let Body::Ask { request } = &event.body {
                assert_eq!((request.via, request.call.name.as_str()), (Via::Cell, "touch"));
                let no = Decision::Reject { reason: Some("not today".into()) };
                return host.gate.answer(&request.ask, no).unwrap();
            }
        }
    };
    let (outcome, ()) = tokio::join!(call("touch"), answer);
    assert_eq!(outcome, ToolOutcome::error("the user refused: not today"));

    let names: Vec<_> = log.subscribe(Seq::START).rest().await.unwrap();
    let names: Vec<&str> = names.iter().map(|event| event.body.name()).collect();
    assert_eq!(names, ["tool_call_start", "ask", "answered"], "only what was allowed has started");
}
