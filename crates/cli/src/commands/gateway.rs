//! `junto gateway`: the configured providers behind the APIs that clients know.

mod report;
mod routes;

use std::net::SocketAddr;

use junto::gateway::{Builder, Gateway, Progress, Settings};
use junto::llm::Secret;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::report::Reporter;
use crate::args::GatewayArgs;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::Output;
use crate::{connect, saved};

/// Runs the command: serves until it is interrupted, then lets running answers finish. A second
/// interrupt does not wait for them.
pub(crate) async fn run(
    args: GatewayArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    let config = Config::load(environment, &args.values())?;
    for note in &config.notes {
        output.note(note);
    }
    let (builder, target) = routes::routes(Gateway::builder(), &args.council, &config, environment)?;
    let reporter = Reporter { catalog: connect::catalog(&config), providers: config.providers() };
    let book = saved::book("gateway", &config, environment, output);
    let told = output.clone();
    let builder = builder.on_call(move |report| {
        if let Some(book) = &book
            && let Err(error) = reporter.book(&report, book)
        {
            told.warning(&format!("`junto cost` will not know of this call: {error}"));
        }
        told.note(&reporter.line(&report));
    });
    let progress = if args.no_progress { Progress::Hidden } else { Progress::Shown };
    let builder = builder.settings(Settings { progress, ..Settings::default() });
    let key = args.key_env.as_deref().map(|name| client_key(name, environment)).transpose()?;
    let keyed = key.is_some();
    let builder = key.into_iter().fold(builder, Builder::client_key);
    let gateway = builder.build()?;

    let listener = listen(&args).await?;
    let address = listener.local_addr().map_err(|error| no_listener(&args, &error))?;
    if !address.ip().is_loopback() {
        if !keyed {
            return Err(Failure::usage(
                format!("everybody who reaches {address} could use your keys"),
                "name a variable that holds a key for clients with --key-env, or listen on 127.0.0.1",
            ));
        }
        output.warning("other machines can reach this address, and the connection is not encrypted");
    }
    output.note(&introduction(address, &target, keyed));
    let shutdown = CancellationToken::new();
    let mut serving = std::pin::pin!(gateway.serve(listener, shutdown.clone()));
    tokio::select! {
        biased;
        () = interrupts.next() => {}
        () = &mut serving => return Ok(Exit::Done),
    }
    output.note("shutting down; running answers may finish");
    shutdown.cancel();
    tokio::select! {
        biased;
        () = interrupts.next() => Err(Failure::interrupted()),
        () = serving => Ok(Exit::Done),
    }
}

fn client_key(name: &str, environment: &Environment) -> Result<Secret, Failure> {
    environment.get(name).map(Secret::new).ok_or_else(|| {
        Failure::usage(
            format!("the variable {name} is empty or not set"),
            "set it to the key that clients shall show",
        )
    })
}

async fn listen(args: &GatewayArgs) -> Result<TcpListener, Failure> {
    TcpListener::bind((args.host.as_str(), args.port)).await.map_err(|error| no_listener(args, &error))
}

fn no_listener(args: &GatewayArgs, error: &std::io::Error) -> Failure {
    Failure::usage(
        format!("cannot listen on {}:{}: {error}", args.host, args.port),
        "choose another address or port; port 0 is any that is free",
    )
}

/// Where the gateway is, who answers, and how clients find it.
fn introduction(address: SocketAddr, target: &str, keyed: bool) -> String {
    let key = if keyed { "THE_KEY" } else { "any" };
    let codex_key = if keyed { ", env_key=\"THE_VARIABLE\"" } else { "" };
    format!(
        "listening on http://{address}; {target}\n\
         Claude Code: ANTHROPIC_BASE_URL=http://{address} ANTHROPIC_AUTH_TOKEN={key} claude\n\
         Codex: codex -c model_provider=junto -c 'model_providers.junto={{name=\"junto\", \
         base_url=\"http://{address}/v1\", wire_api=\"responses\"{codex_key}}}'"
    )
}
