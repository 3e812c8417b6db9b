//! The parts of `cargo xtask bench gateway`, each a process of its own: a model that answers at once, proxies that
//! know nothing of models, and clients that ask at a rate, as fast as they can, or two thousand at a time.
//!
//! A server prints one JSON line with its address and serves until its standard input closes; a client prints one
//! JSON line with what it measured. None of them is a part of the gateway: that runs as the program that it is.
#![expect(clippy::disallowed_macros, reason = "a developer's tool: it prints")]

mod answers;
mod fire;
mod http;
mod library;
mod relay;
mod streams;
mod upstream;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::process::ExitCode;

use junto_llm::Wire;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use self::answers::Aim;
use self::fire::Turns;

/// What went wrong, in words.
type Outcome<T = ()> = Result<T, String>;

fn main() -> ExitCode {
    // Everything shares few cores: one thread for each of these leaves the rest to what is measured.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.map_err(|e| e.to_string()).and_then(|runtime| runtime.block_on(run()));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Outcome {
    let mut given = std::env::args().skip(1);
    let part = given.next().unwrap_or_default();
    let flags = Flags::read(given)?;
    match part.as_str() {
        "upstream" => serve(upstream::serve).await,
        "relay-bytes" => {
            let to = flags.address("to")?;
            serve(move |listener| relay::bytes(listener, to)).await
        }
        "relay-http" => {
            let to = flags.address("to")?;
            serve(move |listener| relay::http(listener, to)).await
        }
        "library" => {
            let to = flags.address("to")?;
            serve(move |listener| library::serve(listener, to)).await
        }
        "rate" => {
            let turns = Turns { count: flags.number("turns")?, requests: flags.number("requests")? };
            let (connections, rate) = (flags.number("connections")?, flags.number("rate")?);
            print(&fire::at_rate(&flags.aims()?, connections, rate, turns).await?)
        }
        "full" => {
            let seconds = flags.number("seconds")?;
            print(&fire::at_full_speed(flags.aim()?, flags.number("connections")?, seconds).await?)
        }
        "streams" => {
            let (count, frames) = (flags.number("count")?, flags.number("frames")?);
            print(&streams::all_at_once(flags.aim()?, count, frames, flags.number("pace")?).await?)
        }
        other => Err(format!("there is no part `{other}`")),
    }
}

/// Announces a listener and serves until the standard input closes.
async fn serve<S: Future<Output = Outcome>>(server: impl FnOnce(TcpListener) -> S) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|e| e.to_string())?;
    let address = listener.local_addr().map_err(|e| e.to_string())?;
    println!("{}", json!({ "address": address.to_string() }));
    let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    tokio::select! {
        done = server(listener) => done,
        _ = ended => Ok(()),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the last word of every client")]
fn print(measured: &Value) -> Outcome {
    println!("{measured}");
    Ok(())
}

/// `--name value` pairs.
struct Flags(BTreeMap<String, String>);

impl Flags {
    fn read(mut given: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut flags = BTreeMap::new();
        while let Some(name) = given.next() {
            let value = given.next().ok_or_else(|| format!("{name} has no value"))?;
            flags.insert(name.trim_start_matches('-').to_owned(), value);
        }
        Ok(Self(flags))
    }

    fn text(&self, name: &str) -> Outcome<&str> {
        self.0.get(name).map(String::as_str).ok_or_else(|| format!("--{name} is missing"))
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Outcome<T> {
        let text = self.text(name)?;
        text.parse().map_err(|_| format!("--{name} {text} is no number"))
    }

    /// Host and port, also of a URL.
    fn address(&self, name: &str) -> Outcome<String> {
        Ok(self.text(name)?.trim_start_matches("http://").trim_end_matches('/').to_owned())
    }

    /// Several, with commas between their addresses and between their models.
    fn aims(&self) -> Outcome<Vec<Aim>> {
        let (one, addresses, models) = (self.aim()?, self.address("to")?, self.text("model")?);
        let pairs = addresses.split(',').zip(models.split(','));
        let aim = |(to, model): (&str, &str)| Aim { address: to.into(), model: model.into(), ..one.clone() };
        Ok(pairs.map(aim).collect())
    }

    fn aim(&self) -> Outcome<Aim> {
        let name = self.text("wire")?;
        let wire = Wire::ALL.into_iter().find(|wire| wire.name() == name);
        Ok(Aim {
            address: self.address("to")?,
            wire: wire.ok_or_else(|| format!("there is no wire `{name}`"))?,
            key: self.text("key")?.to_owned(),
            model: self.text("model")?.to_owned(),
            size: self.number("size")?,
        })
    }
}
