//! `junto mcp`: serves agents to MCP hosts, and sees to the servers that agents use.

mod add;
mod serve;

use std::fmt::Write as _;

use junto::mcp::{Standing, Status};
use serde_json::json;

use crate::args::{McpArgs, McpCommand};
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::mcp::{self, Servers};
use crate::output::Output;
use crate::output::paint::visible;

/// Runs the command.
pub(crate) async fn run(args: McpArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let Some(command) = args.command else {
        return Box::pin(serve::serve(*args.work, environment, output)).await;
    };
    let mut interrupts = Interrupts::listen()?;
    let work = async {
        match command {
            McpCommand::List { json } => list(json, environment, output),
            McpCommand::Test { name, json } => test(name.as_deref(), json, environment, output).await,
            McpCommand::Add(args) => add::add(&args, environment, output),
            McpCommand::Remove { name, project } => add::remove(&name, project, environment, output),
        }
    };
    tokio::select! {
        biased;
        () = interrupts.next() => Err(Failure::interrupted()),
        done = Box::pin(work) => done,
    }
}

/// The servers, with a word about what does not count.
fn found(config: &Config, environment: &Environment, output: &Output) -> Result<Servers, Failure> {
    for note in &config.notes {
        output.note(note);
    }
    let servers = mcp::servers(config, environment)?;
    for warning in &servers.warnings {
        output.warning(warning);
    }
    Ok(servers)
}

fn list(as_json: bool, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let servers = found(&Config::load(environment, &[])?, environment, output)?;
    if as_json {
        let rows: Vec<_> = servers
            .known
            .iter()
            .map(|known| {
                json!({
                    "name": known.server.name,
                    "reach": known.shown,
                    "enabled": known.server.enabled,
                    "sandbox": known.server.sandboxed,
                    "file": known.file.display().to_string(),
                })
            })
            .collect();
        output.data(&format!("{:#}\n", json!({"servers": rows})))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for known in &servers.known {
        let off = if known.server.enabled { "" } else { " (disabled)" };
        let (name, reach) = (visible(&known.server.name), &known.shown);
        let _ = writeln!(text, "{name}: {}{off} · {}", visible(reach), known.file.display());
    }
    if text.is_empty() {
        text.push_str("no MCP server is configured; `junto mcp add` adds one\n");
    }
    output.data(&text)?;
    Ok(Exit::Done)
}

async fn test(
    name: Option<&str>,
    as_json: bool,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let config = Config::load(environment, &[])?;
    let servers = found(&config, environment, output)?;
    let all = servers.known.into_iter().map(|known| known.server);
    let mut wanted: Vec<_> = match name {
        Some(name) => all.filter(|server| server.name == name).collect(),
        None => all.filter(|server| server.enabled).collect(),
    };
    if wanted.is_empty() {
        let message = match name {
            Some(name) => format!("there is no MCP server \"{name}\""),
            None => "no MCP server is configured".to_owned(),
        };
        return Err(Failure::usage(message, "`junto mcp list` lists them, and `junto mcp add` adds one"));
    }
    // Whoever names one means it.
    for server in &mut wanted {
        server.enabled = true;
    }
    let (hub, _) = mcp::hub(wanted, &config, environment, environment.directory())?;
    let statuses = hub.ready().await;
    hub.close().await;
    let failed = statuses.iter().any(|status| status.standing != Standing::Up);
    output.data(&if as_json { as_data(&statuses) } else { as_text(&statuses) })?;
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

fn as_data(statuses: &[Status]) -> String {
    let rows: Vec<_> = statuses
        .iter()
        .map(|status| {
            let tools = status.tools.iter().map(|(name, about)| json!({"name": name, "description": about}));
            let error = match &status.standing {
                Standing::Failed(why) => Some(why),
                _ => None,
            };
            json!({"name": status.name, "error": error, "tools": tools.collect::<Vec<_>>()})
        })
        .collect();
    format!("{:#}\n", json!({"servers": rows}))
}

fn as_text(statuses: &[Status]) -> String {
    let mut text = String::new();
    for Status { name, standing, tools, .. } in statuses {
        let name = visible(name);
        let _ = match standing {
            Standing::Failed(why) => writeln!(text, "{name}: failed: {}", visible(why)),
            _ => writeln!(text, "{name}: {} tools", tools.len()),
        };
        for (tool, about) in tools {
            let about = about.lines().next().unwrap_or_default();
            let _ = writeln!(text, "    {tool}: {}", visible(about));
        }
    }
    text
}
