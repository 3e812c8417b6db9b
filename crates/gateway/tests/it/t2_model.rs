//! A real model behind the gateway, on a server that is not ours.

use std::sync::Arc;

use junto_env::LocalEnvironment;
use junto_gateway::{CallEnd, Gateway, Target};
use junto_llm::{Endpoint, HttpProvider, Wire};
use junto_testkit::cast::Who;
use serde_json::Value;

use crate::clients::{client, desk};
use crate::peer;
use crate::support::{House, Reports, key};

/// The model runs on when nobody stops it.
const LIMIT: u64 = 24;

/// A gateway that answers everything from the small model, asked on this wire.
async fn open(wire: Wire, reports: &Reports) -> House {
    let url = std::env::var("JUNTO_PEER_LLAMA")
        .expect("JUNTO_PEER_LLAMA is not set: run the tests with `cargo xtask test`");
    let base = if wire == Wire::Anthropic { url } else { format!("{url}/v1") };
    let provider = HttpProvider::new(Endpoint::new("llama", wire, base)).unwrap();
    let target = Target::new("llama", Arc::new(provider)).model("smollm2");
    let gateway =
        Gateway::builder().route("*", target).client_key(key()).on_call(reports.sink()).build().unwrap();
    House::open(&gateway).await
}

async fn answers_every_sdk(wire: Wire) {
    let house = open(wire, &Reports::default()).await;
    peer::run("small_model.py", &[&house.url, &LIMIT.to_string()]).await;
    house.close().await;
}

#[tokio::test]
async fn answers_every_sdk_on_anthropic() {
    answers_every_sdk(Wire::Anthropic).await;
}

#[tokio::test]
async fn answers_every_sdk_on_responses() {
    answers_every_sdk(Wire::Responses).await;
}

#[tokio::test]
async fn answers_every_sdk_on_chat() {
    answers_every_sdk(Wire::Chat).await;
}

/// As much of the client as the model's window holds: no tools, and one sentence for a prompt. An answer that the
/// limit cuts off the client asks to be finished, and gives up in the end: how it ends is the model's affair. What
/// the model says is shown and counted.
#[tokio::test]
async fn answers_claude_code() {
    let reports = Reports::default();
    let house = open(Wire::Chat, &reports).await;
    let folder = tempfile::tempdir().unwrap();
    let env = LocalEnvironment::builder(folder.path()).build().unwrap();
    let mut command = client::command(Who::Claude, None);
    command.extend(["--tools", "", "--system-prompt", "Answer the question."].map(str::to_owned));
    let mut variables = client::variables(Who::Claude, &house.url, key(), folder.path());
    variables.insert("CLAUDE_CODE_MAX_OUTPUT_TOKENS".to_owned(), LIMIT.to_string());
    let ran = desk::run(&env, command, variables, "What is the capital of France?").await;
    house.close().await;
    let lines: Vec<Value> = ran.output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let pieces: Vec<&str> = lines.iter().filter_map(|line| line["event"]["delta"]["text"].as_str()).collect();
    assert!(pieces.len() > 3 && !pieces.concat().trim().is_empty(), "{ran:#?}");
    let reports = reports.all();
    assert!(reports.iter().all(|report| matches!(report.end, CallEnd::Complete)), "{reports:#?}");
    assert!(reports.iter().all(|report| (1..=LIMIT).contains(&report.usage.output)), "{reports:#?}");
    let written: u64 = reports.iter().map(|report| report.usage.output).sum();
    let result = lines.iter().find(|line| line["type"] == "result").expect("a result");
    assert_eq!(result["usage"]["output_tokens"], written, "{ran:#?}");
}
