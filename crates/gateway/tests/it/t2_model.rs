//! A real model behind the gateway, on a server that is not ours.

use std::sync::Arc;

use junto_env::LocalEnvironment;
use junto_gateway::{Gateway, Target};
use junto_llm::{Endpoint, HttpProvider, Wire};
use junto_testkit::cast::Who;
use serde_json::Value;

use crate::clients::client;
use crate::clients::desk;
use crate::support::{House, key};
use crate::t2_sdks;

/// A gateway that answers everything from the small model, asked on this wire.
async fn open(wire: Wire) -> House {
    let url = std::env::var("JUNTO_PEER_LLAMA")
        .expect("JUNTO_PEER_LLAMA is not set: run the tests with `cargo xtask test`");
    let base = if wire == Wire::Anthropic { url } else { format!("{url}/v1") };
    let provider = HttpProvider::new(Endpoint::new("llama", wire, base)).unwrap();
    let target = Target::new("llama", Arc::new(provider)).model("smollm2");
    House::open(&Gateway::builder().route("*", target).client_key(key()).build().unwrap()).await
}

#[tokio::test]
async fn answers_every_sdk() {
    for wire in [Wire::Chat, Wire::Responses, Wire::Anthropic] {
        let house = open(wire).await;
        t2_sdks::run("small_model.py", &[&house.url]).await;
        house.close().await;
    }
}

/// As much of it as the model's window holds: no tools, and one sentence for a prompt.
#[tokio::test]
async fn answers_claude_code() {
    let house = open(Wire::Chat).await;
    let folder = tempfile::tempdir().unwrap();
    let env = LocalEnvironment::builder(folder.path()).build().unwrap();
    let command = [&*Who::Claude.program(), "-p", "--tools", "", "--system-prompt", "Be brief.", "--model"];
    let command = [&command[..], &["claude-sonnet-4-5", "--output-format", "json"]].concat();
    let variables = client::variables(Who::Claude, &house.url, key(), folder.path());
    let command = command.into_iter().map(str::to_owned).collect();
    let (output, errors) = desk::run(&env, command, variables, "Say hello.").await.unwrap();
    let result: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(result["is_error"], false, "{result:#} {errors}");
    assert!(!result["result"].as_str().unwrap().is_empty(), "{result:#}");
    assert!(result["usage"]["input_tokens"].as_u64() > Some(100), "{result:#}");
    house.close().await;
}
