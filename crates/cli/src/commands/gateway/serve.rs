//! Serving.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use junto::core::Minutes;
use junto::gateway::{Builder, Gateway, SessionFile};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::clerk::Clerk;
use super::files;
use super::log::{Form, Log};
use super::printer::Printer;
use super::report::Reporter;
use super::routes::{self, Routed};
use super::settings::settings;
use super::{client_key, key_variable, url};
use crate::args::ServeArgs;
use crate::config::{Config, Origin, ProviderSettings, problems_failure};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::Output;
use crate::{connect, saved};

/// The APIs that are served, as the first line names them.
const SURFACES: &str = "Anthropic (/v1/messages) + OpenAI (/v1/responses) + Chat (/v1/chat/completions) + \
                        Gemini (/v1beta/models)";

/// How long it may take, after a second interrupt, to write down what is known of the answers that were running.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Runs the command: serves until it is interrupted, then lets running answers finish. A second
/// interrupt does not wait for them.
pub(crate) async fn run(
    args: ServeArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    files::take_all();
    let mut config = Config::load(environment, &args.values())?;
    for route in &args.route {
        config.add_route(route).map_err(|problem| problems_failure(&[problem]))?;
    }
    // Nobody waits for whoever reads standard error but the printer. Like all that comes before the gateway it is there
    // until the gateway is gone.
    output.be_patient();
    let form = Form::of(&config);
    let printer = Printer::start(output.apart(), move |lines| form.left_out(lines)).map_err(no_thread)?;
    let log = Log::new(&config, printer.desk());
    for note in &config.notes {
        log.always(note);
    }
    let minutes = Minutes::default();
    let Routed { builder, words, notes } =
        routes::routes(Gateway::builder(), &config, environment, &minutes)?;
    for note in &notes {
        log.warning(note);
    }
    let reporter = Arc::new(Reporter { catalog: connect::catalog(&config), providers: config.providers() });
    let prices = Arc::clone(&reporter);
    let book = saved::book("gateway", &config, environment, output);
    let told = log.clone();
    let clerk = Clerk::start(move |report| {
        if let Some(book) = &book
            && let Err(error) = reporter.book(report, &minutes.take(&report.call), book)
        {
            told.warning(&format!("`junto cost` will not know of this call: {error}"));
        }
        told.call(report, &reporter);
    });
    let clerk = clerk.map_err(no_thread)?;
    let builder = builder.on_call(clerk.desk());
    let builder = builder.settings(settings(&config, environment)).prices(move |report| prices.price(report));
    let told = log.clone();
    let builder = builder.on_warning(move |text| told.warning(text));
    let builder = match sessions(&config, environment, &log) {
        Some(file) => builder.session_store(file),
        None => builder,
    };
    let key = client_key(&config, environment)?;
    let is_keyed = key.is_some();
    let gateway = key.into_iter().fold(builder, Builder::client_key).build()?;

    let (host, port) = place(&config);
    let failed = |error: std::io::Error| no_listener(host, port, &error);
    let listener = TcpListener::bind((host, port)).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    if let Some(provider) = itself(&connect::usable(&config, environment), address).await {
        return Err(circle(provider));
    }
    if !address.ip().is_loopback() {
        if !is_keyed {
            return Err(open_to_everybody(address));
        }
        log.warning("other machines can reach this address, and the connection is not encrypted");
    }
    log.always(&format!("listening on http://{address} — {SURFACES}"));
    let keyed = if is_keyed {
        format!("; clients show the key in {}", key_variable(&config).0)
    } else {
        String::new()
    };
    log.always(&format!("{words}{keyed}"));
    log.always(&format!(
        "`junto gateway setup claude|codex|gemini{}` points a client here",
        elsewhere(&config, address.port())
    ));
    let [shutdown, stop] = [(); 2].map(|()| CancellationToken::new());
    let mut serving = std::pin::pin!(gateway.serve_until(listener, shutdown.clone(), stop.clone()));
    tokio::select! {
        biased;
        () = interrupts.next() => {}
        () = &mut serving => return Ok(Exit::Done),
    }
    log.always("shutting down; running answers may finish");
    shutdown.cancel();
    tokio::select! {
        biased;
        () = interrupts.next() => {}
        () = &mut serving => return Ok(Exit::Done),
    }
    stop.cancel();
    // Whatever has not ended by then is not worth a third interrupt.
    let _ = tokio::time::timeout(LAST_WORDS, serving).await;
    Err(Failure::interrupted())
}

fn no_thread(error: std::io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("cannot start a thread: {error}"), "is the machine out of threads?")
}

/// Where it is kept what sessions have used; none if nothing is to be kept.
fn sessions(config: &Config, environment: &Environment, log: &Log) -> Option<SessionFile> {
    if !config.flag("store.save") {
        return None;
    }
    let folder = saved::root(environment).ok()?.join("gateway");
    match std::fs::create_dir_all(&folder) {
        Ok(()) => Some(SessionFile::new(folder.join("sessions.json"))),
        Err(error) => {
            log.warning(&format!(
                "what sessions used is forgotten at the end: {}: {error}",
                folder.display()
            ));
            None
        }
    }
}

/// Where to listen.
fn place(config: &Config) -> (&str, u16) {
    let host = config.text("gateway.host").map_or("127.0.0.1", |(host, _)| host);
    // The table of keys lets no other numbers in.
    let port = config.count("gateway.port").and_then(|port| u16::try_from(port).ok());
    (host, port.unwrap_or_default())
}

/// What the set-up of a client must be told to find this gateway: nothing where it looks by itself. Flags and
/// variables of this process are not known there, so whatever is not the default is said.
fn elsewhere(config: &Config, port: u16) -> String {
    let is_default =
        |key| config.setting(key).is_none_or(|setting| matches!(setting.origin, Origin::Default));
    if is_default("gateway.host") && is_default("gateway.port") {
        return String::new();
    }
    format!(" --url {}", url(place(config).0, u64::from(port)))
}

/// How long a name that a provider has is looked up. One that takes longer is taken for another's: the gateway also knows
/// its own requests when they come back.
const LOOKUP: Duration = Duration::from_secs(1);

/// The provider that is this gateway itself, if one is: each of its requests would come back here.
async fn itself(providers: &[ProviderSettings], address: SocketAddr) -> Option<&ProviderSettings> {
    for provider in providers {
        let Some((host, port)) = authority(&provider.base_url) else { continue };
        if port != address.port() {
            continue;
        }
        let found = tokio::time::timeout(LOOKUP, tokio::net::lookup_host((host.as_str(), port))).await;
        if let Ok(Ok(mut found)) = found
            && found.any(|found| is_here(found.ip(), address.ip()))
        {
            return Some(provider);
        }
    }
    None
}

/// The host and the port of a URL without TLS, which the gateway does not speak.
fn authority(base_url: &str) -> Option<(String, u16)> {
    let base_url = base_url.to_ascii_lowercase();
    let rest = base_url.strip_prefix("http://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, authority)| authority);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority, 80),
    };
    Some((host.trim_matches(['[', ']']).to_owned(), port))
}

/// Whether whoever asks there asks a gateway that listens here.
fn is_here(asked: IpAddr, listening: IpAddr) -> bool {
    let (asked, listening) = (asked.to_canonical(), listening.to_canonical());
    let is_loopback = asked == Ipv4Addr::LOCALHOST || asked == Ipv6Addr::LOCALHOST;
    // The address of no machine leads to one's own. One that something can be bound to is one's own.
    let is_own = || listening.is_unspecified() && UdpSocket::bind((asked, 0)).is_ok();
    asked == listening || is_loopback || asked.is_unspecified() || is_own()
}

fn circle(provider: &ProviderSettings) -> Failure {
    let ProviderSettings { name, base_url, .. } = provider;
    Failure::usage(
        format!("the provider {name} is at {base_url}, which is this gateway itself"),
        format!(
            "`junto config show` tells who set `providers.{name}.base_url`; unset that, or choose another port"
        ),
    )
}

fn no_listener(host: &str, port: u16, error: &std::io::Error) -> Failure {
    Failure::usage(
        format!("cannot listen on {host}:{port}: {error}"),
        "choose another address or port; port 0 is any that is free",
    )
}

fn open_to_everybody(address: SocketAddr) -> Failure {
    Failure::usage(
        format!("everybody who reaches {address} could use your keys"),
        "set JUNTO_GATEWAY_TOKEN to a key for clients, or name another variable with --key-env, or listen on \
         127.0.0.1",
    )
}

#[cfg(test)]
mod tests {
    use junto::llm::Wire;

    use super::*;

    #[tokio::test]
    async fn a_provider_that_is_the_gateway_itself_is_found() {
        let check = async |base: &str, listening: [u8; 4], expected: bool| {
            let provider = ProviderSettings {
                name: "p".to_owned(),
                wire: Wire::Chat,
                base_url: base.to_owned(),
                key_variable: None,
                headers: Vec::new(),
            };
            let address = SocketAddr::from((listening, 6767));
            assert_eq!(itself(&[provider], address).await.is_some(), expected, "{base}");
        };
        let (loopback, everywhere) = ([127, 0, 0, 1], [0; 4]);
        check("http://127.0.0.1:6767", loopback, true).await;
        check("http://localhost:6767/v1", loopback, true).await;
        check("HTTP://LOCALHOST:6767/v1", loopback, true).await;
        check("http://[::1]:6767/v1", loopback, true).await;
        check("http://127.1:6767", loopback, true).await;
        check("http://[::ffff:127.0.0.1]:6767", loopback, true).await;
        check("http://user@0.0.0.0:6767?a", loopback, true).await;
        check("http://127.9.9.9:6767", loopback, false).await;
        check("http://127.9.9.9:6767", everywhere, true).await;
        check("http://192.0.2.1:6767", everywhere, false).await;
        check("http://127.0.0.1:6768", loopback, false).await;
        check("http://127.0.0.1", loopback, false).await;
        check("http://[::1]/v1", loopback, false).await;
        check("https://127.0.0.1:6767", loopback, false).await;
        check("https://api.openai.com/v1", loopback, false).await;
    }

    #[test]
    fn hosts_and_ports_are_read() {
        let check = |base: &str, expected: Option<(&str, u16)>| {
            assert_eq!(authority(base), expected.map(|(host, port)| (host.to_owned(), port)), "{base}");
        };
        check("http://example.org:6767/v1", Some(("example.org", 6767)));
        check("http://example.org", Some(("example.org", 80)));
        check("http://[::1]", Some(("::1", 80)));
        check("http://a:b@[::1]:1/x:2", Some(("::1", 1)));
        check("http://example.org:many", None);
        check("example.org:6767", None);
    }
}
