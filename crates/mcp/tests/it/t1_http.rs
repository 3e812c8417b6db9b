//! Servers with streamable HTTP that do something wrong: no answer is taken without bounds, and nobody waits for them in
//! the end.

use serde_json::json;

use crate::bench::{Bench, HANG};
use crate::web::Web;

/// More than the longest answer, and what may be on its way.
const BOUND: u64 = 64 << 20;

async fn too_much(tool: &str, expected: &str) {
    let web = Web::new().await;
    let bench = Bench::ready(vec![web.config()]).await;
    let said = bench.fails(&format!("web__{tool}"), json!({})).await;
    assert!(said.contains(expected), "{said}");
    assert!(said.len() < 2000 && web.taken() < BOUND, "{} bytes were taken", web.taken());
    assert_eq!(bench.text("web__echo", json!({"text": "still"})).await, "echo says: still");
    bench.close().await;
}

#[tokio::test]
async fn an_answer_without_end_is_an_error_of_its_call() {
    too_much("huge_json", "more than is taken at once").await;
}

#[tokio::test]
async fn an_event_without_end_is_an_error_of_its_call() {
    too_much("huge_event", "more than is taken at once").await;
}

#[tokio::test]
async fn an_error_without_end_is_an_error_of_its_call() {
    too_much("huge_error", "HTTP 500").await;
}

#[tokio::test]
async fn a_refusal_without_end_is_told_by_its_beginning() {
    too_much("huge_refusal", "I will not. xxx").await;
}

#[tokio::test]
async fn a_flood_of_events_is_an_error_of_its_call() {
    too_much("flood", "without end").await;
}

#[tokio::test]
async fn an_error_that_names_no_call_is_that_of_the_call() {
    too_much("strange", "not so").await;
}

#[tokio::test]
async fn a_server_that_does_not_list_its_tools_again_keeps_nobody_from_the_end() {
    let web = Web::new().await;
    let bench = Bench::ready(vec![web.config()]).await;
    assert_eq!(bench.text("web__rename", json!({})).await, "rename says: ");
    let asked = async {
        while web.asked() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(HANG, asked).await.unwrap();
    // It has two minutes to list them.
    bench.close().await;
}
