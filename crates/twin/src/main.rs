//! The program `junto-twin`: a twin for whoever can start a process.

use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use junto_llm::Wire;
use junto_twin::{Checks, DEFAULT_KEY, Options, Play, Twin};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

/// A scripted, strict stand-in for the model providers, on loopback.
///
/// It speaks Anthropic Messages, OpenAI Responses, Chat Completions and Gemini on one port. When it
/// is ready it prints one line of JSON with its address, the base URL for each wire and the key, and
/// it serves until its standard input closes.
#[derive(Debug, Parser)]
#[command(
    name = "junto-twin",
    version,
    after_help = "\
Example:
  junto-twin --play play.toml --port 8080

A play says what the model does:
  [[steps]]
  when = { contains = \"weather\", round = 0 }
  calls = [{ tool = \"get_weather\", args = { city = \"Ghent\" } }]

  [[steps]]
  text = \"It says: {{last_result}}\"

Faults can also be asked for by request, with the header
  x-twin-fault: {\"status\": 429, \"retry_after\": 1, \"times\": 2}"
)]
struct Arguments {
    /// The play, as TOML or (named *.json) JSON; without one the twin echoes the last user text
    #[arg(long, value_name = "FILE")]
    play: Option<PathBuf>,
    /// The port on loopback; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Records each request and reply to this folder, without keys
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// The key that requests must carry
    #[arg(long, default_value = DEFAULT_KEY)]
    key: String,
    /// Checks only the key, and takes requests that the real provider would refuse
    #[arg(long)]
    lenient: bool,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(io::stderr(), "error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: Arguments) -> Result<(), String> {
    let Arguments { play, port, record, key, lenient } = arguments;
    let play = play.map_or_else(|| Ok(Play::default()), Play::load).map_err(|e| e.to_string())?;
    let checks = if lenient { Checks::Lenient } else { Checks::Strict };
    let options = Options { port, key, checks, record, ..Options::default() };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|e| e.to_string())?;
    runtime.block_on(async {
        let twin = Twin::start(play, options).map_err(|e| format!("cannot start on port {port}: {e}"))?;
        writeln!(io::stdout(), "{}", greeting(&twin)).map_err(|e| e.to_string())?;
        stdin_closed().await;
        twin.close().await;
        Ok(())
    })
}

fn greeting(twin: &Twin) -> Value {
    let urls: Map<String, Value> =
        Wire::ALL.iter().map(|wire| (wire.name().to_owned(), json!(twin.base_url(*wire)))).collect();
    json!({"addr": twin.addr().to_string(), "urls": urls, "key": twin.key()})
}

/// Waits until standard input closes. Reads it on a thread of its own, which nothing can interrupt
/// and which ends with the process.
async fn stdin_closed() {
    let (closed, wait) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let mut buffer = [0; 1024];
        while matches!(io::stdin().read(&mut buffer), Ok(read) if read > 0) {}
        drop(closed);
    });
    let _ = wait.await;
}
