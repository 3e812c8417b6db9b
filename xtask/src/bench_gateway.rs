//! `cargo xtask bench gateway`: what the gateway adds to a call, and what it bears.
//!
//! The model answers at once and costs next to nothing, and so do the clients (`crates/gateway/examples/load`); the
//! gateway is the release binary. Beside it run two proxies that look at nothing, one that forwards bytes between
//! connections and one that forwards requests over a pool of connections as the gateway must, and the gateways of
//! others. All take short turns, each time in another order, so that a busy moment of the machine hits all of them alike.
//! What something adds is taken turn by turn, beside what answered without it just before or after, and the middle of
//! the turns is what counts.
//!
//! What is added to an answer's time is judged on all processors, and shown with everything on one. On several the kernel
//! decides at each of four wakings whether the next process begins here or elsewhere, which makes a difference of about ten
//! microseconds each time, and from run to run; on one processor the time is what is done.

mod clients;
mod others;
mod processors;
mod server;
mod verdict;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use self::clients::{Aim, Clients, OwnedAim, Shots, Streams};
use self::others::Other;
use self::processors::Processors;
use self::server::{Memory, Server};
use self::verdict::{Added, Flow, Speed, Verdict, middle};
use crate::Outcome;
use crate::command::{cargo, root, run};

/// At a fixed rate: how often everything is started anew, how many turns each server has then, and how many requests there
/// are in one. Where the system puts a process and its memory makes some ten microseconds, for as long as it runs.
const STARTS: u32 = 3;
const RATE_TURNS: u32 = 11;
const RATE_REQUESTS: u32 = 500;
const RATE: u32 = 1000;
/// Turns at full speed, of so many seconds.
const FULL_TURNS: usize = 3;
const SECONDS: u32 = 2;
/// Clients at a fixed rate, and at full speed.
const CONNECTIONS: u32 = 32;
/// Streams at a time, the pieces of each, and the milliseconds between two; twice, to see whether memory grows.
const STREAMS: u32 = 2000;
const PIECES: u32 = 40;
const PACE: u32 = 200;
const WAVES: usize = 2;
/// Bytes of conversation in a request.
const SIZE: u32 = 2000;

/// The model that the gateway is set to: asked for by this name, bytes go through.
const MODEL: &str = "claude-opus-5-5";
/// A model of another vendor, whose wire is another.
const FOREIGN: &str = "openai/gpt-5.5";

/// Builds, measures, prints, and fails if a promise is broken.
pub(crate) fn run_all() -> Outcome {
    // In one go and of the whole workspace, as the other benchmarks do, so that nothing is built twice.
    run(cargo().args(["build", "--release", "--workspace", "--bins", "--example", "load"]))?;
    let scratch = root().join("target/bench-gateway");
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch).map_err(|e| format!("cannot make {}: {e}", scratch.display()))?;
    let release = root().join("target/release");
    let mut verdict = Verdict::default();
    latency(Processors::One, &|| Stand::start(Processors::One, &release, &scratch))?;
    let start = || Stand::start(Processors::All, &release, &scratch);
    let [requests, ours, bytes] = latency(Processors::All, &start)?;
    verdict.latency(ours, requests, bytes);
    let stand = start()?;
    speed(&stand, &others::start(stand.upstream.address(), &scratch)?, &mut verdict)?;
    streams(&stand, &mut verdict)?;
    println!();
    for line in &verdict.kept {
        println!("ok    {line}");
    }
    if verdict.broken.is_empty() { Ok(()) } else { Err(verdict.broken.join("\n")) }
}

/// Everything of ours that runs.
struct Stand {
    clients: Clients,
    upstream: Server,
    relay_bytes: Server,
    relay_http: Server,
    gateway: Server,
}

impl Stand {
    fn start(on: Processors, release: &Path, scratch: &Path) -> Outcome<Self> {
        let load: PathBuf = release.join("examples/load");
        let upstream = Server::of_load(on.command(&load)?, &["upstream"], scratch)?;
        let to = ["--to", upstream.address()];
        let relay_bytes = Server::of_load(on.command(&load)?, &["relay-bytes", to[0], to[1]], scratch)?;
        let relay_http = Server::of_load(on.command(&load)?, &["relay-http", to[0], to[1]], scratch)?;
        let gateway = on.command(&release.join("junto"))?;
        let gateway = Server::gateway(gateway, upstream.address(), MODEL, scratch)?;
        Ok(Self { clients: Clients::new(on, load, SIZE), upstream, relay_bytes, relay_http, gateway })
    }

    fn by_bytes(&self) -> Aim<'_> {
        Aim { address: self.gateway.address(), wire: "anthropic", model: MODEL, key: "any" }
    }

    fn translated(&self) -> Aim<'_> {
        Aim { model: FOREIGN, ..self.by_bytes() }
    }
}

/// What is added to an answer's time at a fixed rate: by a proxy for requests, by the gateway, and by one for bytes.
fn latency(on: Processors, start: &dyn Fn() -> Outcome<Stand>) -> Outcome<[Added; 3]> {
    const ROWS: [&str; 5] = [
        "nothing in between",
        "bytes forwarded",
        "requests forwarded",
        "gateway, by bytes",
        "gateway, translated",
    ];
    println!("\n{RATE} requests a second, {SIZE} bytes of conversation, {}, times in µs", on.words());
    let mut shots: [Vec<Shots>; 5] = Default::default();
    for _ in 0..STARTS {
        let stand = start()?;
        let at = |server: &Server| Aim { address: server.address(), ..stand.by_bytes() }.owned();
        let servers = [&stand.upstream, &stand.relay_bytes, &stand.relay_http, &stand.gateway].map(at);
        let mut aims: Vec<Aim<'_>> = servers.iter().map(OwnedAim::aim).collect();
        aims.push(stand.translated());
        let turns = stand.clients.at_rate(&aims, (CONNECTIONS, RATE), (RATE_TURNS, RATE_REQUESTS))?;
        for (shots, turns) in shots.iter_mut().zip(turns) {
            // The first turn warms up.
            shots.extend(turns.into_iter().skip(1));
        }
    }
    println!("{:<22} {:>8} {:>8} {:>10} {:>10}", "", "p50", "p99", "added p50", "added p99");
    let added = shots.each_ref().map(|row| Added::between(&shots[0], row));
    for ((name, row), more) in ROWS.iter().zip(&shots).zip(added) {
        let (p50, p99) = verdict::times(row);
        println!("{name:<22} {p50:>8} {p99:>8} {:>10} {:>10}", more.p50, more.p99);
    }
    let [_, bytes, requests, ours, _] = added;
    Ok([requests, ours, bytes])
}

/// How many answers there are in a second if clients ask as fast as they can.
fn speed(stand: &Stand, others: &[Other], verdict: &mut Verdict) -> Outcome {
    let relay = Aim { address: stand.relay_http.address(), ..stand.by_bytes() };
    let mut rows = vec![
        ("requests forwarded".to_owned(), relay.owned(), &stand.relay_http),
        ("gateway, by bytes".to_owned(), stand.by_bytes().owned(), &stand.gateway),
        ("gateway, translated".to_owned(), stand.translated().owned(), &stand.gateway),
    ];
    let own = rows.len();
    for other in others {
        rows.push((other.name.clone(), other.aim.clone(), &*other.server));
    }
    println!("\n{CONNECTIONS} clients as fast as they can");
    println!("{:<34} {:>10} {:>12} {:>10} {:>10}", "", "answers/s", "CPU µs each", "p50 µs", "p99 µs");
    let mut speeds: Vec<Vec<Speed>> = rows.iter().map(|_| Vec::new()).collect();
    for turn in 0..=FULL_TURNS {
        for ((_, aim, server), speeds) in rows.iter().zip(&mut speeds) {
            let before = server.cpu()?;
            let shots =
                stand.clients.at_full_speed(&aim.aim(), CONNECTIONS, if turn == 0 { 1 } else { SECONDS })?;
            let cpu = server.cpu()?.saturating_sub(before);
            if turn > 0 {
                speeds.push(Speed::of(&shots, cpu));
            }
        }
    }
    let mut middles = Vec::new();
    for ((name, ..), speeds) in rows.iter().zip(&speeds) {
        let speed = Speed::middle(speeds).ok_or("nothing was measured")?;
        let Speed { answers, cpu, p50, p99 } = speed;
        println!("{name:<34} {answers:>10} {:>12} {p50:>10} {p99:>10}", cpu.as_micros());
        middles.push((name.as_str(), speed));
    }
    let (ours, others) = middles.split_at(own);
    let [_, by_bytes, translated] = ours else { return Err("nothing was measured".to_owned()) };
    verdict.translation("a whole answer", by_bytes.1.cpu, translated.1.cpu);
    for (name, other) in others {
        verdict.against(name, by_bytes.1.answers, other.answers);
    }
    Ok(())
}

/// Thousands of streams at a time.
fn streams(stand: &Stand, verdict: &mut Verdict) -> Outcome {
    println!("\n{STREAMS} streams at a time, {PIECES} pieces each, {PACE} ms apart");
    println!(
        "{:<22} {:>8} {:>9} {:>10} {:>12} {:>9} {:>9} {:>9}",
        "", "whole", "together", "pieces", "CPU µs each", "idle MiB", "begin MiB", "end MiB"
    );
    let mut costs = Vec::new();
    for (name, aim) in [("gateway, by bytes", stand.by_bytes()), ("gateway, translated", stand.translated())]
    {
        let (mut cpu, mut flows) = (Vec::new(), Vec::new());
        for _ in 0..WAVES {
            let before = stand.gateway.cpu()?;
            let watched = Memory::watch(&stand.gateway)?;
            let heard: Streams = stand.clients.streams(&aim, STREAMS, PIECES, PACE)?;
            let memory = watched.end();
            let used = stand.gateway.cpu()?.saturating_sub(before);
            let flow = Flow::of(&heard, &memory);
            cpu.push(used / u32::try_from(heard.pieces).unwrap_or(u32::MAX).max(1));
            println!(
                "{name:<22} {:>8} {:>9} {:>10} {:>12} {:>9.1} {:>9.1} {:>9.1}",
                heard.whole,
                heard.together,
                heard.pieces,
                cpu.last().map_or(0, Duration::as_micros),
                mebibytes(memory.idle()),
                mebibytes(flow.begin),
                mebibytes(flow.end),
            );
            verdict.whole(name, STREAMS, &heard);
            flows.push(flow);
        }
        verdict.flat(name, STREAMS, &flows);
        costs.push(middle(cpu).ok_or("nothing was measured")?);
    }
    let [by_bytes, translated] = costs[..] else { return Err("nothing was measured".to_owned()) };
    verdict.translation("a piece of a stream", by_bytes, translated);
    Ok(())
}

/// For people: precision beyond a tenth is noise.
#[expect(clippy::cast_precision_loss, reason = "sizes of processes are far below 2^52")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
