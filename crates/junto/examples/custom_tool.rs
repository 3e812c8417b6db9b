//! A tool of one's own: an async function whose argument is its schema.
//!
//! `cargo run -p junto --example custom_tool`
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "an example prints and has a clock")]

mod support;

use std::error::Error;
use std::sync::Arc;

use junto::agent::{Session, SessionConfig, ToolRegistry, tool};
use junto::core::{EventLog, Tool, ToolCx};
use junto::prelude::*;
use junto::twin::{Play, Step};
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
    let model = support::model(Play::of([call, Step::text("Not too many: {{last_result}}.")]))?;
    let here = Arc::new(LocalEnvironment::new(env!("CARGO_MANIFEST_DIR"))?);
    let log = EventLog::in_memory(Arc::new(jiff::Timestamp::now));
    let count = tool("count_words", "Count the words of a file.", count_words);
    let tools = ToolRegistry::from_iter([Arc::new(count) as Arc<dyn Tool>]);
    let config = SessionConfig::new(Arc::new(model.client.clone()), here, log);
    let session = Session::start(SessionConfig { tools, ..config }).await?;
    let mut events = session.log().subscribe(Seq::START);
    session.send(Command::Submit { input: "How many words has README.md?".into() }).await?;
    support::follow(&mut events).await?;
    session.close().await;
    Ok(())
}
