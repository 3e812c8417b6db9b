//! Servers that do something wrong: the call fails, is told why, and everything else goes on.

use std::time::Duration;

use junto_core::ToolCx;
use junto_env::survivors;
use junto_mcp::Standing;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::bench::{Bench, HANG, faulty, named};

/// After whatever went wrong the server can be called, or is started again for it.
async fn goes_on(bench: Bench) {
    assert_eq!(bench.text("faulty__echo", json!({"text": "still"})).await, "echo says: still");
    bench.close().await;
}

#[tokio::test]
async fn one_that_dies_is_started_again() {
    let bench = Bench::ready(vec![faulty(&[])]).await;
    for _ in 0..4 {
        let said = bench.fails("faulty__die", json!({})).await;
        assert!(said.contains("exit 7") && said.contains("I cannot go on"), "{said}");
        assert!(said.contains("may have been done"), "{said}");
    }
    goes_on(bench).await;
}

#[tokio::test]
async fn one_that_hangs_costs_its_call_the_time_it_has() {
    let mut server = faulty(&[]);
    server.answer_within = Duration::from_millis(300);
    let bench = Bench::ready(vec![server]).await;
    let said = bench.fails("faulty__hang", json!({})).await;
    assert!(said.contains("did not answer within 300ms"), "{said}");
    goes_on(bench).await;
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_ends_at_once() {
    let bench = Bench::ready(vec![faulty(&[])]).await;
    let cancel = CancellationToken::new();
    let cx = ToolCx { cancel: cancel.clone(), ..bench.cx() };
    let call = bench.call_in("faulty__hang", json!({}), &cx);
    let (outcome, ()) = tokio::join!(call, async { cancel.cancel() });
    assert!(outcome.is_error && outcome.output.preview().contains("interrupted"));
    goes_on(bench).await;
}

#[tokio::test]
async fn one_that_floods_is_ended_and_started_again() {
    // Answers to what nobody asked are no better than other messages.
    for tool in ["faulty__flood", "faulty__babble"] {
        let bench = Bench::ready(vec![faulty(&[])]).await;
        let said = bench.fails(tool, json!({})).await;
        assert!(said.contains("without end"), "{said}");
        goes_on(bench).await;
    }
}

#[tokio::test]
async fn an_answer_of_fifty_megabytes_is_an_error_and_nothing_else() {
    let bench = Bench::ready(vec![faulty(&[])]).await;
    let said = bench.fails("faulty__huge", json!({})).await;
    assert!(said.contains("50000") && said.contains("bytes"), "{said}");
    goes_on(bench).await;
}

#[tokio::test]
async fn an_answer_of_the_wrong_form_is_an_error_of_its_call() {
    let bench = Bench::ready(vec![faulty(&[])]).await;
    let said = bench.fails("faulty__garble", json!({})).await;
    assert!(said.contains("form"), "{said}");
    goes_on(bench).await;
}

#[tokio::test]
async fn one_that_renames_its_tools_is_listed_anew() {
    let bench = Bench::ready(vec![faulty(&[])]).await;
    let renamed = |n: u32| vec![format!("faulty__echo_{n}")];
    assert_eq!(bench.text("faulty__rename", json!({})).await, "rename says: ");
    let listed = async {
        while bench.declared() != renamed(1) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(HANG, listed).await.unwrap();
    assert_eq!(bench.text("faulty__echo_1", json!({"text": "a"})).await, "echo_1 says: a");
    bench.close().await;
}

#[tokio::test]
async fn one_that_lies_about_its_schemas_has_the_tools_that_can_be_called() {
    let bench = Bench::ready(vec![faulty(&["lie"])]).await;
    // Whoever declares them compiles the schemas; what is none is left out there.
    assert_eq!(
        bench.declared(),
        ["faulty__fine", "faulty__wrong", "faulty__text", "faulty__odd_name_of_a_tool"]
    );
    assert_eq!(bench.tool("faulty__text").spec().parameters(), Some(&json!({"type": "object"})));
    let said = bench.text("faulty__odd_name_of_a_tool", json!({"text": "a"})).await;
    assert_eq!(said, "odd.name/of a tool says: a");
    bench.close().await;
}

#[tokio::test]
async fn one_that_cannot_start_is_given_up_and_says_why() {
    let bench = Bench::ready(vec![named("broken", &["broken"]), faulty(&[])]).await;
    let statuses = bench.hub.statuses();
    let Standing::Failed(why) = &statuses[0].standing else { panic!("{statuses:?}") };
    assert!(why.contains("there is no key for me"), "{why}");
    let said = bench.text("faulty__echo", json!({"text": "a"})).await;
    assert_eq!(said, "echo says: a");
    bench.close().await;
}

#[tokio::test]
async fn what_a_server_starts_ends_with_the_hub() {
    let bench = Bench::ready(vec![faulty(&[])]).await;
    bench.text("faulty__child", json!({})).await;
    assert_eq!(bench.env.survivors().len(), 2, "the server and its child");
    bench.close().await;
}

#[tokio::test]
async fn what_a_server_starts_ends_when_the_hub_is_dropped() {
    let bench = Bench::ready(vec![faulty(&[])]).await;
    bench.text("faulty__child", json!({})).await;
    let env = std::sync::Arc::clone(&bench.env);
    drop(bench);
    let left = tokio::task::spawn_blocking(move || survivors::after(&env, HANG)).await.unwrap();
    assert_eq!(left, []);
}

#[tokio::test]
async fn one_whose_program_is_another_now_is_not_started_again() {
    let program = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(program.path(), "as it was").unwrap();
    let mut server = faulty(&[]);
    server.pins = vec![junto_mcp::config::Pin::of(program.path()).unwrap()];
    let bench = Bench::ready(vec![server]).await;
    assert_eq!(bench.text("faulty__echo", json!({"text": "a"})).await, "echo says: a");
    std::fs::write(program.path(), "something else").unwrap();
    bench.fails("faulty__die", json!({})).await;
    let said = bench.fails("faulty__echo", json!({})).await;
    assert!(said.contains("has changed since it was trusted"), "{said}");
    bench.close().await;
}
