//! The vendors' own SDKs in front of the gateway, with twins behind it on every wire.

use std::path::{Path, PathBuf};

use junto_gateway::Gateway;
use junto_llm::Wire;
use junto_twin::{Options, Play, Twin};

use crate::support::{House, key, model, target};

/// Runs a Python program of this crate to its end, which must be a good one.
pub(crate) async fn run(script: &str, arguments: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = std::env::var("JUNTO_PEER_PYTHON")
        .expect("JUNTO_PEER_PYTHON is not set: run the tests with `cargo xtask test`");
    let output = tokio::process::Command::new(python)
        .arg(root.join("tests/peers").join(script))
        .args(arguments)
        .env("PYTHONPATH", shared())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.ends_with("ok\n"), "{script} {arguments:?}:\n{said}\n{errors}");
}

/// What the drivers of all crates share.
fn shared() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers")
}

/// Runs a driver against a gateway in front of a twin on this wire.
async fn drive(script: &str, surface: Wire, wire: Wire) {
    let play = std::fs::read_to_string(shared().join("sdk_play.toml")).unwrap();
    let twin = Twin::start(Play::from_toml(&play).unwrap(), Options::default()).unwrap();
    let target = if surface == wire { target(&twin, wire) } else { target(&twin, wire).model(model(wire)) };
    let gateway = Gateway::builder().route("*", target).client_key(key()).build().unwrap();
    let house = House::open(&gateway).await;
    run(script, &[&house.url, if surface == wire { "same" } else { "across" }]).await;
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
    chat_sdk_on_chat "chat.py" Chat Chat
    chat_sdk_on_openai "chat.py" Chat Responses
    chat_sdk_on_anthropic "chat.py" Chat Anthropic
    chat_sdk_on_gemini "chat.py" Chat Gemini
    google_sdk_on_gemini "generate.py" Gemini Gemini
    google_sdk_on_anthropic "generate.py" Gemini Anthropic
    google_sdk_on_openai "generate.py" Gemini Responses
    google_sdk_on_chat "generate.py" Gemini Chat
}
