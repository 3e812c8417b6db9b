//! The gateway as a library, in front of one model: what it costs without the program around it.

use std::sync::Arc;

use junto_gateway::{Gateway, Settings, Target};
use junto_llm::{Endpoint, HttpProvider, Wire};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Outcome;

/// Calls for `claude-…` go through by bytes on Anthropic's wire, calls for anything else are translated to OpenAI's.
pub(crate) async fn serve(listener: TcpListener, to: String) -> Outcome {
    let target = |wire, base: String| {
        let provider = HttpProvider::new(Endpoint::new("upstream", wire, base).key("any"));
        provider.map(|provider| Target::new("upstream", Arc::new(provider))).map_err(|e| e.to_string())
    };
    let gateway = Gateway::builder()
        .route("claude-*", target(Wire::Anthropic, format!("http://{to}"))?)
        .route("*", target(Wire::Responses, format!("http://{to}/v1"))?.model("gpt-5.5"))
        .settings(Settings { running: 4096, ..Settings::default() })
        .build()
        .map_err(|e| e.to_string())?;
    gateway.serve(listener, CancellationToken::new()).await;
    Ok(())
}
