//! The vendors' own SDKs in front of the gateway, with twins behind it on every wire.

use std::path::Path;

use junto_gateway::Gateway;
use junto_llm::Wire;
use junto_twin::{Options, Play, Twin};

use crate::support::{House, key, model, target};

/// Runs a Python program of this crate against a gateway in front of a twin on this wire.
async fn drive(script: &str, surface: Wire, wire: Wire) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let peers = root.join("../../tests/peers");
    let play = std::fs::read_to_string(peers.join("sdk_play.toml")).unwrap();
    let twin = Twin::start(Play::from_toml(&play).unwrap(), Options::default()).unwrap();
    let target = if surface == wire { target(&twin, wire) } else { target(&twin, wire).model(model(wire)) };
    let gateway = Gateway::builder().route("*", target).client_key(key()).build().unwrap();
    let house = House::open(&gateway).await;
    let python = std::env::var("JUNTO_PEER_PYTHON")
        .expect("JUNTO_PEER_PYTHON is not set: run the tests with `cargo xtask test`");
    let mode = if surface == wire { "same" } else { "across" };
    let output = tokio::process::Command::new(python)
        .arg(root.join("tests/peers").join(script))
        .args([house.url.as_str(), mode])
        .env("PYTHONPATH", peers)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.ends_with("ok\n"), "{script} on {wire:?}:\n{said}\n{errors}");
    house.close().await;
}

macro_rules! pairs {
    ($($name:ident $script:literal $surface:ident $wire:ident)*) => {
        $(#[tokio::test]
        async fn $name() {
            drive($script, Wire::$surface, Wire::$wire).await;
        })*
    };
}

pairs! {
    anthropic_sdk_on_anthropic "messages.py" Anthropic Anthropic
    anthropic_sdk_on_openai "messages.py" Anthropic Responses
    anthropic_sdk_on_gemini "messages.py" Anthropic Gemini
    anthropic_sdk_on_chat "messages.py" Anthropic Chat
    openai_sdk_on_openai "responses.py" Responses Responses
    openai_sdk_on_anthropic "responses.py" Responses Anthropic
    openai_sdk_on_gemini "responses.py" Responses Gemini
    openai_sdk_on_chat "responses.py" Responses Chat
}
