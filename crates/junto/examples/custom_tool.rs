//! A tool of one's own: an async function whose argument is its schema.
//!
//! `cargo run -p junto --example custom_tool` plays against a scripted model; with a client from
//! `Client::from_env()` in its place, a real one calls the tool.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "an example")]

use std::error::Error;
use std::sync::Arc;

use junto::agent::{Session, SessionConfig, ToolRegistry, tool};
use junto::core::{EventLog, Tool, ToolCx};
use junto::prelude::*;
use junto::twin::{DEFAULT_KEY, Options, Play, Step, Twin};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt as _;

#[derive(Deserialize, JsonSchema)]
struct CountWords {
    /// The file to count in
    file_path: String,
}

/// Tools reach files through the environment, wherever that is.
async fn count_words(args: CountWords, cx: ToolCx) -> Result<String, Box<dyn Error + Send + Sync>> {
    let path = cx.env.resolve(&args.file_path).await?;
    let mut text = String::new();
    cx.env.open(&path, junto::env::ByteRange::ALL).await?.read_to_string(&mut text).await?;
    Ok(format!("{} words", text.split_whitespace().count()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let call = Step::call("count_words", json!({"file_path": "README.md"}));
    let twin = Twin::start(Play::of([call, Step::text("Not too many.")]), Options::default())?;
    let endpoint = Endpoint::new("local", Wire::Chat, twin.base_url(Wire::Chat)).key(DEFAULT_KEY);
    let client = Client::builder().provider("local", Arc::new(HttpProvider::new(endpoint)?)).build()?;
    let here = Arc::new(LocalEnvironment::new(env!("CARGO_MANIFEST_DIR"))?);
    let log = EventLog::in_memory(Arc::new(jiff::Timestamp::now));
    let count = tool("count_words", "Count the words of a file.", count_words);
    let tools = ToolRegistry::from_iter([Arc::new(count) as Arc<dyn Tool>]);
    let config = SessionConfig::new(Arc::new(client), here, log);
    let session = Session::start(SessionConfig { tools, model: Some("any".into()), ..config }).await?;
    let mut events = session.log().subscribe(Seq::START);
    session.send(Command::Submit { input: "How long is the README?".into() }).await?;
    loop {
        let Item::Event(event) = events.next().await? else { continue };
        match &event.body {
            Body::ToolCallEnd { name, output, .. } => println!("{name}: {}", output.preview()),
            Body::InputEnd { text, .. } => break println!("{}", text.preview()),
            _ => {}
        }
    }
    session.close().await;
    Ok(())
}
