//! The vendors' own SDKs drive the twins, whole and streamed, with tools: what they can read and write
//! is the wire.

use std::process::Command;

use junto_llm::Wire;
use junto_twin::{Options, Play, Twin};

const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/peers");

async fn drive(script: &str) {
    let python = std::env::var_os("JUNTO_PEER_PYTHON")
        .expect("JUNTO_PEER_PYTHON is not set: run the tests with `cargo xtask test`");
    let play = Play::from_toml(&std::fs::read_to_string(format!("{PEERS}/sdk_play.toml")).unwrap()).unwrap();
    let twin = Twin::start(play, Options::default()).unwrap();
    // Anthropic's base URL is the bare address.
    let url = twin.base_url(Wire::Anthropic);
    let mut command = Command::new(python);
    command.arg(format!("{PEERS}/{script}")).arg(url);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(told.lines().last(), Some("ok"), "{told}");
}

#[tokio::test]
async fn anthropics_sdk_is_content() {
    drive("sdk_anthropic.py").await;
}

#[tokio::test]
async fn openais_sdk_is_content_on_both_its_wires() {
    drive("sdk_openai.py").await;
}

#[tokio::test]
async fn googles_sdk_is_content() {
    drive("sdk_gemini.py").await;
}
