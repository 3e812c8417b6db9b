//! Calls one tool over a tool socket and prints what came of it: the other process in the tests that
//! compose a session with a tool socket.
//!
//! `call_tool NAME ARGUMENTS`, with the socket and its token in the environment.
#![allow(clippy::disallowed_methods, reason = "a program of its own: the socket is in its environment")]

use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use junto::kernel::{SOCKET_VARIABLE, TOKEN_VARIABLE, ToolClient};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, arguments] = &arguments[..] else { return Err("call_tool NAME ARGUMENTS".into()) };
    let socket = std::env::var(SOCKET_VARIABLE)?;
    let token = std::env::var(TOKEN_VARIABLE)?;
    let client = ToolClient::connect(Path::new(&socket), &token).await?;
    let outcome = client.call(name, serde_json::from_str(arguments)?).await?;
    let output = outcome.output.preview();
    writeln!(std::io::stdout(), "{}", json!({"output": output, "is_error": outcome.is_error}))?;
    Ok(())
}
