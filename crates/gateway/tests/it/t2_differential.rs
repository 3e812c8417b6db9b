//! The same play twice, seen by the vendors' own SDKs: straight from the twin of their wire, and through
//! the gateway from the twin of any wire. They must not be able to tell.

use std::path::Path;

use junto_gateway::Gateway;
use junto_llm::Wire;
use junto_twin::{Options, Play, Twin};

use crate::peer::run;
use crate::support::{House, model, target};

async fn compare(surface: Wire, wire: Wire) {
    let play = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers/sdk_play.toml");
    let play = Play::from_toml(&std::fs::read_to_string(play).unwrap()).unwrap();
    let straight = Twin::start(play.clone(), Options::default()).unwrap();
    let behind = Twin::start(play, Options::default()).unwrap();
    let target =
        if surface == wire { target(&behind, wire) } else { target(&behind, wire).model(model(wire)) };
    let house = House::open(&Gateway::builder().route("*", target).build().unwrap()).await;
    let mode = if surface == wire { "same" } else { "across" };
    let twin = format!("http://{}", straight.addr());
    run("differential.py", &[surface.name(), mode, &twin, &house.url]).await;
    house.close().await;
}

macro_rules! pairs {
    ($($name:ident $surface:ident $($wire:ident)*;)*) => {
        $(#[tokio::test]
        async fn $name() {
            $(compare(Wire::$surface, Wire::$wire).await;)*
        })*
    };
}

pairs! {
    anthropics_sdk_by_bytes Anthropic Anthropic;
    anthropics_sdk_across Anthropic Responses Gemini Chat;
    openais_sdk_by_bytes Responses Responses;
    openais_sdk_across Responses Anthropic Gemini Chat;
    googles_sdk_by_bytes Gemini Gemini;
    googles_sdk_across Gemini Anthropic Responses Chat;
    openais_sdk_on_chat_by_bytes Chat Chat;
    openais_sdk_on_chat_across Chat Anthropic Responses Gemini;
}
