//! `junto gateway`: the configured providers behind the APIs that clients know.

mod clerk;
mod files;
mod keys;
mod log;
mod memory;
mod printer;
mod report;
mod routes;
mod serve;
mod service;
mod settings;
mod setup;
mod status;

use std::thread::available_parallelism;

use junto::llm::Secret;
use tokio::runtime::Builder;

use crate::args::GatewayCommand;
use crate::config::{Config, Origin};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;

pub(crate) use self::serve::run as serve;

/// The variable by which tokio is told how many threads to have.
const THREADS: &str = "TOKIO_WORKER_THREADS";

/// What the gateway runs on: a thread for every second processor, unless it is told how many. The others are for whoever
/// asks, and for what is done about a call when its answer is on its way. Where they serve as well, calls wander between
/// them, and the slowest of a hundred takes longer.
pub(crate) fn runtime(environment: &Environment) -> Builder {
    let mut builder = Builder::new_multi_thread();
    if environment.get(THREADS).is_none() {
        builder.worker_threads(available_parallelism().map_or(1, |all| all.get().div_ceil(2)));
    }
    builder
}

/// Runs a command below `junto gateway`.
pub(crate) async fn run(
    command: GatewayCommand,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let config = Config::load(environment, &[])?;
    for note in &config.notes {
        output.note(note);
    }
    match command {
        GatewayCommand::Setup(args) => setup::run(&args, &config, environment, output)?,
        GatewayCommand::Install(args) => service::install(&args, &config, environment, output).await?,
        GatewayCommand::Uninstall => service::uninstall(environment, output).await?,
        GatewayCommand::Status(args) => return status::run(&args, &config, environment, output).await,
        GatewayCommand::Token => {
            output.exact(&format!("{}\n", keys::token(&config, environment)?.expose()))?;
        }
    }
    Ok(Exit::Done)
}

/// The variable that holds the key which clients must show.
fn key_variable(config: &Config) -> (&str, &Origin) {
    config.text("gateway.key_env").unwrap_or(("JUNTO_GATEWAY_TOKEN", &Origin::Default))
}

/// The key which clients must show; none if nobody wants one.
///
/// # Errors
/// If somebody named a variable for it, and that is not set.
fn client_key(config: &Config, environment: &Environment) -> Result<Option<Secret>, Failure> {
    let (name, origin) = key_variable(config);
    match environment.get(name) {
        Some(key) => Ok(Some(Secret::new(key))),
        None if *origin == Origin::Default => Ok(None),
        None => Err(Failure::usage(
            format!("the variable {name} is empty or not set"),
            "set it to the key that clients shall show",
        )),
    }
}

/// The address that clients use where the gateway listens on this host and port: one that listens everywhere
/// is reached on this machine.
fn url(host: &str, port: u64) -> String {
    let host = match host {
        "0.0.0.0" => "127.0.0.1",
        "::" => "::1",
        host => host,
    };
    if host.contains(':') { format!("http://[{host}]:{port}") } else { format!("http://{host}:{port}") }
}

/// The address that clients use where the gateway is configured to listen.
fn configured_url(config: &Config) -> String {
    let host = config.text("gateway.host").map_or("127.0.0.1", |(host, _)| host);
    url(host, config.count("gateway.port").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_that_clients_reach() {
        for (host, expected) in [
            ("127.0.0.1", "http://127.0.0.1:6767"),
            ("localhost", "http://localhost:6767"),
            ("0.0.0.0", "http://127.0.0.1:6767"),
            ("::1", "http://[::1]:6767"),
            ("::", "http://[::1]:6767"),
        ] {
            assert_eq!(url(host, 6767), expected);
        }
    }
}
