//! Every fault of a provider with every way in which a client can leave, many at a time; and then nothing is left.
//!
//! A run is every combination once, in an order and with cuts that follow from a seed. `cargo xtask soak gateway`
//! makes many runs of it, and looks at the memory.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use junto_gateway::{Gateway, Settings, Target};
use junto_llm::{Endpoint, HttpProvider, Wire};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::load::answers::{self, Aim, Fault, Order};
use crate::load::http::Peer;
use crate::load::{self, Upstream};
use crate::support::{House, SOON};

/// The surfaces that clients ask.
const SURFACES: [Wire; 4] = Wire::ALL;
/// How many clients there are at a time.
const AT_A_TIME: usize = 24;
/// Enough that an answer can be left in its middle.
const PIECES: usize = 12;
/// How long a client bears with silence.
const TEMPER: Duration = Duration::from_millis(50);

/// When a client goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaves {
    /// With the whole answer, or once it has lost its temper.
    Late,
    /// With this many thousandths of its request sent; with all of them, before it has read anything.
    Sent(usize),
    /// With this many bytes of the answer, head included.
    Read(usize),
}

/// One client.
#[derive(Clone, Copy, Debug)]
struct Case {
    surface: Wire,
    /// What the provider speaks; if it is the surface, bytes go through.
    wire: Wire,
    order: Order,
    leaves: Leaves,
}

/// What a client saw that stayed.
#[derive(Debug)]
struct Seen {
    status: u16,
    body: String,
    /// Whether the body came to its end.
    is_whole: bool,
}

/// Numbers that follow from a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(sides).unwrap()).unwrap()
    }
}

/// Every combination, in the order of a seed.
fn cases(seed: u64) -> Vec<Case> {
    let mut dice = Dice(seed);
    let faults: Vec<Option<Fault>> =
        [None].into_iter().chain(Fault::ALL.iter().map(|(_, fault)| Some(*fault))).collect();
    let mut cases = Vec::new();
    for surface in SURFACES {
        for wire in Wire::ALL {
            for stream in [true, false] {
                for fault in &faults {
                    let pace = u64::try_from(dice.roll(3)).unwrap();
                    let order = Order { stream, pieces: PIECES, pace, fault: *fault };
                    let leaves = [
                        Leaves::Late,
                        Leaves::Sent(dice.roll(1000)),
                        Leaves::Sent(1000),
                        Leaves::Read(1 + dice.roll(200)),
                        Leaves::Read(200 + dice.roll(2000)),
                    ];
                    cases.extend(leaves.map(|leaves| Case { surface, wire, order, leaves }));
                }
            }
        }
    }
    for at in (1..cases.len()).rev() {
        cases.swap(at, dice.roll(at + 1));
    }
    cases
}

impl Case {
    /// Plays the client.
    async fn play(&self, gateway: &str) -> Option<Seen> {
        let aim = Aim {
            address: gateway.to_owned(),
            wire: self.surface,
            key: "any".into(),
            model: format!("{}-1", self.wire.name()),
            size: 0,
        };
        let request = answers::request(&aim, self.order);
        let mut client = TcpStream::connect(gateway).await.unwrap();
        if let Leaves::Sent(part) = self.leaves {
            client.write_all(&request[..request.len() * part / 1000]).await.unwrap();
            return None;
        }
        client.write_all(&request).await.unwrap();
        if let Leaves::Read(bytes) = self.leaves {
            // It may be over before, or never come so far.
            let _ = timeout(TEMPER, client.read_exact(&mut vec![0; bytes])).await;
            return None;
        }
        let silent = matches!(self.order.fault, Some(Fault::Mute | Fault::Stall));
        let seen = timeout(if silent { TEMPER } else { SOON }, self.listen(&mut Peer::new(client))).await;
        assert!(silent || seen.is_ok(), "no end: {self:?}");
        seen.ok()
    }

    async fn listen(&self, peer: &mut Peer) -> Seen {
        let head = peer.head().await.unwrap().unwrap_or_else(|| panic!("no answer: {self:?}"));
        let mut body = Vec::new();
        let is_whole = peer.body(&head, |bytes| body.extend_from_slice(bytes)).await.is_ok();
        Seen { status: head.status(), body: String::from_utf8_lossy(&body).into_owned(), is_whole }
    }

    /// What a client that stayed must have seen.
    fn judge(&self, seen: &Seen) {
        let Order { stream, fault, .. } = self.order;
        let by_bytes = self.surface == self.wire;
        let good = match fault {
            None => seen.status == 200 && seen.is_whole && seen.body.contains("000011"),
            Some(Fault::TooMany) => seen.status == 429,
            Some(Fault::Broken) => seen.status == 500,
            // As it came, or in the client's words for it.
            Some(Fault::Garbage) if by_bytes => seen.status == 200 && seen.is_whole,
            Some(Fault::Drop) if by_bytes => seen.status == 200 && !seen.is_whole,
            Some(Fault::Garbage | Fault::Drop) if stream && seen.status == 200 => {
                seen.is_whole && (seen.body.contains("error") || seen.body.contains("failed"))
            }
            Some(Fault::Garbage | Fault::Drop | Fault::Hangup | Fault::Noise) => seen.status >= 500,
            Some(Fault::Mute | Fault::Stall) => true,
        };
        assert!(good, "{self:?} saw {seen:?}");
    }
}

/// The gateway on a runtime of its own, so that its tasks can be counted.
struct Stand {
    runtime: Runtime,
    house: House,
    address: SocketAddr,
    upstream: Upstream,
}

impl Stand {
    fn open() -> Self {
        let upstream = Upstream::start();
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let mut builder = Gateway::builder();
        for wire in Wire::ALL {
            // As the bases of the vendors are.
            let base = match wire {
                Wire::Anthropic => "",
                Wire::Responses | Wire::Chat => "/v1",
                Wire::Gemini => "/v1beta",
            };
            let endpoint = Endpoint::new("upstream", wire, format!("http://{}{base}", upstream.address));
            let target = Target::new("upstream", std::sync::Arc::new(HttpProvider::new(endpoint).unwrap()));
            builder = builder.route(format!("{}-*", wire.name()), target);
        }
        let settings = Settings { grace: SOON, ..Settings::default() };
        let gateway = builder.settings(settings).build().unwrap();
        let house = runtime.block_on(House::open(&gateway));
        let address = house.url.trim_start_matches("http://").parse().unwrap();
        Self { runtime, house, address, upstream }
    }

    /// Plays all cases.
    async fn run(&self, seed: u64) {
        let gateway = self.address.to_string();
        let clients = stream::iter(cases(seed)).map(|case| {
            let gateway = &gateway;
            async move { (case, case.play(gateway).await) }
        });
        clients
            .buffer_unordered(AT_A_TIME)
            .for_each(async |(case, seen)| {
                if let Some(seen) = seen {
                    case.judge(&seen);
                }
            })
            .await;
    }

    /// Waits until nobody asks any more, and the model has been let go of by everybody who did not stay.
    async fn is_quiet(&self) {
        eventually("calls in the gateway's own count", || self.counted()).await;
        eventually("connections of clients that have gone", async || sockets(self.address)).await;
        eventually("calls that nobody waits for", async || self.upstream.running().await).await;
    }

    /// How many calls the gateway says are running or waiting.
    async fn counted(&self) -> usize {
        let metrics = load::get(self.address, "/metrics").await;
        let count = |name: &str| {
            let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse::<usize>().unwrap()
        };
        count("junto_gateway_running") + count("junto_gateway_waiting")
    }

    /// Closes the gateway; then nothing of it is left.
    async fn close(self) {
        let Self { runtime, house, upstream, .. } = self;
        house.close().await;
        eventually("connections to the model", async || sockets(upstream.address)).await;
        eventually("tasks", async || runtime.metrics().num_alive_tasks()).await;
        assert_eq!(children(), 0, "processes are left");
        runtime.shutdown_background();
    }
}

/// Waits until there are none.
async fn eventually(what: &str, count: impl AsyncFn() -> usize) {
    let mut last = 0;
    let none = async {
        loop {
            last = count().await;
            if last == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(SOON, none).await.is_ok(), "{last} {what} are left");
}

/// How many open connections have this address at one end. One that has been closed from both sides is none, nor is
/// a listener.
fn sockets(address: SocketAddr) -> usize {
    const TIME_WAIT: &str = "06";
    const LISTEN: &str = "0A";
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let port = format!(":{:04X}", address.port());
    let lines = table.lines().skip(1).map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>());
    lines
        .filter(|fields| fields[0].ends_with(&port) || fields[1].ends_with(&port))
        .filter(|fields| fields[2] != TIME_WAIT && fields[2] != LISTEN)
        .count()
}

/// How many processes were started and are still there.
fn children() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("children")).ok());
    lists.map(|list| list.split_whitespace().count()).sum()
}

/// The memory that the process has, in bytes.
fn memory() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

fn clients() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn whatever_goes_wrong_nothing_is_left() {
    let stand = Stand::open();
    clients().block_on(async {
        stand.run(1).await;
        stand.is_quiet().await;
        stand.close().await;
    });
}

/// As often as `JUNTO_SOAK` says, from a seed on; twice unless it does.
#[test]
#[expect(clippy::disallowed_macros, reason = "who soaks wants to see how it goes")]
fn it_goes_on_like_that_for_as_long_as_one_likes() {
    /// What the last half of the runs may add.
    const MOST_GROWTH: usize = 8 << 20;
    let setting = |name: &str, otherwise| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (runs, seed) = (setting("JUNTO_SOAK", 2), setting("JUNTO_SOAK_SEED", 2));
    let stand = Stand::open();
    clients().block_on(async {
        let mut after = BTreeMap::new();
        for run in 0..runs {
            stand.run(seed + run).await;
            stand.is_quiet().await;
            after.insert(run, memory());
            println!("run {run} from seed {}: {} KiB", seed + run, memory() >> 10);
        }
        stand.close().await;
        let growth = after[&(runs - 1)].saturating_sub(after[&((runs - 1) / 2)]);
        assert!(growth <= MOST_GROWTH, "{growth} bytes more than half-way: {after:?}");
    });
}
