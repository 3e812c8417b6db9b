//! The vendors' own SDKs in front of the gateway, with twins behind it on every wire.

use std::path::Path;

use junto_gateway::Gateway;
use junto_llm::Wire;
use junto_twin::{Options, Play, Twin};

use crate::peer;
use crate::support::{House, key, model, target};

/// Runs a driver against a gateway in front of a twin on this wire.
async fn drive(script: &str, surface: Wire, wire: Wire) {
    let play = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers/sdk_play.toml");
    let play = std::fs::read_to_string(play).unwrap();
    let twin = Twin::start(Play::from_toml(&play).unwrap(), Options::default()).unwrap();
    let target = if surface == wire { target(&twin, wire) } else { target(&twin, wire).model(model(wire)) };
    let gateway = Gateway::builder().route("*", target).client_key(key()).build().unwrap();
    let house = House::open(&gateway).await;
    peer::run(script, &[&house.url, if surface == wire { "same" } else { "across" }]).await;
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
