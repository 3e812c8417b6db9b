//! `junto gateway status`: whether it is installed, and whether it answers.

use std::fmt::Write as _;
use std::time::Duration;

use clap::ValueEnum as _;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::service::{self, Standing};
use super::setup::points_at;
use super::{configured_url, keys};
use crate::args::{ClientName, StatusOfGatewayArgs};
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// How long the gateway may take to answer that it is there.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs the command; it ends with 1 if the gateway does not answer.
pub(super) async fn run(
    args: &StatusOfGatewayArgs,
    config: &Config,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let Standing { file, is_installed, is_running } = service::look(environment).await?;
    let url = configured_url(config);
    let answers = tokio::time::timeout(PATIENCE, answers(&url)).await.unwrap_or(false);
    let keys = keys::file(environment)?;
    let clients: Vec<_> = ClientName::value_variants()
        .iter()
        .filter_map(|client| {
            let name = client.to_possible_value()?.get_name().to_owned();
            Some((name, points_at(*client, &url, environment)))
        })
        .collect();
    if args.json {
        let clients: serde_json::Map<_, _> = clients
            .into_iter()
            .map(|(name, file)| (name, file.map(|file| file.display().to_string()).into()))
            .collect();
        let service =
            json!({"file": file.display().to_string(), "installed": is_installed, "running": is_running});
        let keys = json!({"file": keys.display().to_string(), "exists": keys.exists()});
        let all =
            json!({"url": url, "answers": answers, "service": service, "keys": keys, "clients": clients});
        output.exact(&format!("{all:#}\n"))?;
        return Ok(if answers { Exit::Done } else { Exit::Failed });
    }
    let mut text = String::new();
    let _ = writeln!(text, "gateway  {url} ({})", if answers { "answers" } else { "does not answer" });
    let standing = match (is_installed, is_running) {
        (false, _) => "not installed",
        (true, Some(true)) => "installed, running",
        (true, Some(false)) => "installed, not running",
        (true, None) => "installed",
    };
    let _ = writeln!(text, "service  {} ({standing})", file.display());
    let presence = match (keys.exists(), keys::is_open(&keys)) {
        (false, _) => "absent",
        (true, false) => "only you can read it",
        (true, true) => "others can read it",
    };
    let _ = writeln!(text, "keys     {} ({presence})", keys.display());
    for (name, file) in clients {
        let set_up = match file {
            Some(file) => format!("set up in {}", file.display()),
            None => format!("not set up; `junto gateway setup {name} --write` does that"),
        };
        let _ = writeln!(text, "{name:<8} {set_up}");
    }
    output.data(&text)?;
    Ok(if answers { Exit::Done } else { Exit::Failed })
}

/// Whether a gateway answers at this address.
async fn answers(url: &str) -> bool {
    let Some(address) = url.strip_prefix("http://") else { return false };
    let Ok(mut stream) = TcpStream::connect(address).await else { return false };
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    let mut answer = Vec::new();
    stream.write_all(request.as_bytes()).await.is_ok()
        && (&mut stream).take(4096).read_to_end(&mut answer).await.is_ok()
        && answer.starts_with(b"HTTP/1.1 200 ")
}
