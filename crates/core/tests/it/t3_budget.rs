//! Whatever calls cost, however many are made at once, and however they end: no budget is broken.
//!
//! Each case is a tree of purses and a list of callers, each with calls that it makes one after another. The
//! cases come from a fixed seed, and time stands still unless everybody waits, so that each has one order
//! of events, which the pauses in it decide.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt as _, future, stream};
use junto_core::{Amount, Purse};
use junto_llm::catalog::Catalog;
use junto_llm::middleware::BudgetGuard;
use junto_llm::{
    Allowance, CallCx, Client, Error, ErrorKind, EventStream, Finish, FinishReason, Fut, Provider, Request,
    Response, SegmentId, StreamEvent, Usage, Usd,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const CASES: u32 = 200;

const MODEL: &str = r#"
[[model]]
id = "m"
provider = "p"
name = "M"
context_window = 200_000
max_output = 60_000
released = "2026-01-01"
price = { input = 3.0, output = 15.0, cache_read = 0.3, cache_write = 3.75, long_prompt = { above = 40_000, input = 2.0, output = 1.5 } }
"#;

/// How the model's part of a call ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Answers,
    Refuses,
    /// Breaks off, after it has told what it read.
    Breaks,
    /// Breaks off, and has told nothing.
    BreaksUnknown,
    Hangs,
}

/// What the caller does while it waits.
#[derive(Clone, Copy, Debug)]
enum Patience {
    Waits,
    Drops,
    Cancels,
}

#[derive(Clone, Debug)]
struct Call {
    pause: u8,
    takes: u8,
    streamed: bool,
    prompt: usize,
    max_tokens: Option<u64>,
    /// Which parts of what is possible it uses, in percent: input, of that cached, of that written, output.
    used: [u8; 4],
    end: End,
    patience: Patience,
}

/// A purse below another of them, by its place; the first lies in none.
#[derive(Clone, Debug)]
struct Below {
    of: usize,
    usd: Option<u32>,
    tokens: Option<u32>,
}

#[derive(Clone, Debug)]
struct Case {
    purses: Vec<Below>,
    /// The purse of each caller, and its calls.
    callers: Vec<(usize, Vec<Call>)>,
}

fn call() -> impl Strategy<Value = Call> {
    let end = prop_oneof![
        5 => Just(End::Answers),
        1 => Just(End::Refuses),
        1 => Just(End::Breaks),
        1 => Just(End::BreaksUnknown),
        1 => Just(End::Hangs),
    ];
    let patience =
        prop_oneof![6 => Just(Patience::Waits), 1 => Just(Patience::Drops), 1 => Just(Patience::Cancels)];
    let size = prop_oneof![4 => 0_usize..4000, 1 => 0_usize..60_000];
    let limit = prop::option::of(prop_oneof![1_u64..3000, 1_u64..60_000]);
    (0_u8..5, 0_u8..9, any::<bool>(), size, limit, prop::array::uniform4(0_u8..=100), end, patience).prop_map(
        |(pause, takes, streamed, prompt, max_tokens, used, end, patience)| {
            // Somebody has to stop waiting for one that hangs.
            let patience = match (end, patience) {
                (End::Hangs, Patience::Waits) => Patience::Drops,
                _ => patience,
            };
            Call { pause, takes, streamed, prompt, max_tokens, used, end, patience }
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let purse =
        (any::<usize>(), prop::option::of(0_u32..3_000_000), prop::option::weighted(0.3, 0_u32..300_000));
    let caller = (any::<usize>(), prop::collection::vec(call(), 1..6));
    (prop::collection::vec(purse, 1..6), prop::collection::vec(caller, 1..8)).prop_map(|(purses, callers)| {
        let below = |(place, (of, usd, tokens)): (usize, (usize, Option<u32>, Option<u32>))| {
            // The outermost has a limit at least.
            let usd = if place == 0 { usd.or(Some(1_500_000)) } else { usd };
            Below { of: of % place.max(1), usd, tokens }
        };
        let count = purses.len();
        let purses = purses.into_iter().enumerate().map(below).collect();
        let callers = callers.into_iter().map(|(purse, calls)| (purse % count, calls)).collect();
        Case { purses, callers }
    })
}

/// What is true at every moment.
struct World {
    catalog: Catalog,
    purses: Vec<Purse>,
    started: AtomicU64,
    refused: AtomicU64,
    waited: AtomicU64,
    /// What was really used by calls that came to their end, in nano-dollars and tokens.
    used: Mutex<Amount>,
}

impl World {
    fn check(&self) {
        for purse in &self.purses {
            let (spent, reserved, limit) = (purse.spent(), purse.reserved(), purse.limit());
            let tokens = spent.tokens + reserved.tokens;
            assert!(limit.usd.is_none_or(|usd| spent.usd + reserved.usd <= usd), "{purse:?}");
            assert!(limit.tokens.is_none_or(|most| tokens <= most), "{purse:?}");
        }
    }
}

/// A model that does what the call's plan says.
struct Model {
    world: Arc<World>,
    plan: Call,
}

impl Model {
    /// What it uses, which is never more than the request allows.
    fn usage(&self, request: &Request) -> Usage {
        let part = |of: u64, percent: u8| of * u64::from(percent) / 100;
        let [read, cached, written, wrote] = self.plan.used;
        let input = part(self.plan.prompt as u64, read);
        let cache_read = part(input, cached);
        let most = request.max_tokens.unwrap_or(60_000);
        Usage {
            cache_read: Some(cache_read),
            cache_write: Some(part(input - cache_read, written)),
            ..Usage::new(input.max(1), part(most, wrote))
        }
    }

    async fn begin(&self, request: &Request) -> Result<Usage, Error> {
        self.world.check();
        self.world.started.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(self.plan.takes.into())).await;
        self.world.check();
        match self.plan.end {
            End::Refuses => Err(Error::new(ErrorKind::Server, "down").with_status(500)),
            End::Hangs => future::pending().await,
            End::Answers => {
                let usage = self.usage(request);
                let cost = self.world.catalog.cost("p", "m", &usage).amount().unwrap();
                let mut used = self.world.used.lock().unwrap();
                *used = Amount { usd: used.usd + cost, tokens: used.tokens + usage.total };
                Ok(usage)
            }
            End::Breaks | End::BreaksUnknown => Ok(self.usage(request)),
        }
    }
}

impl Provider for Model {
    fn complete<'a>(&'a self, request: Request, _cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move {
            let usage = self.begin(&request).await?;
            match self.plan.end {
                End::Answers => Ok(Response { usage, ..Response::empty("p", "m") }),
                _ => Err(Error::new(ErrorKind::Timeout, "no answer in time")),
            }
        })
    }

    fn stream<'a>(&'a self, request: Request, _cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let usage = self.begin(&request).await?;
            let known = matches!(self.plan.end, End::Breaks);
            let start = StreamEvent::StreamStart {
                id: String::new(),
                model: "m".into(),
                provider: "p".into(),
                origin: None,
                usage: known.then(|| Usage { output: 0, total: usage.input, ..usage.clone() }),
                warnings: Vec::new(),
                rate_limit: None,
            };
            let text = "x".repeat(usize::try_from(usage.output).unwrap_or_default());
            let delta = StreamEvent::TextDelta { id: SegmentId(0), text };
            let last = match self.plan.end {
                End::Answers => {
                    let reason = FinishReason::new(Finish::Stop);
                    Ok(StreamEvent::Finish { reason, usage, response: None })
                }
                _ => Err(Error::stream("cut")),
            };
            let (world, pause) = (Arc::clone(&self.world), Duration::from_millis(self.plan.takes.into()));
            let items = stream::iter([Ok(start), Ok(delta), last]).then(move |item| {
                let world = Arc::clone(&world);
                async move {
                    world.check();
                    tokio::time::sleep(pause).await;
                    item
                }
            });
            Ok(EventStream::new(items))
        })
    }
}

async fn make(world: &Arc<World>, purse: &Purse, plan: Call) {
    tokio::time::sleep(Duration::from_millis(plan.pause.into())).await;
    let catalog = world.catalog.clone();
    let model = Model { world: Arc::clone(world), plan: plan.clone() };
    let client = Client::builder()
        .provider("p", Arc::new(model))
        .catalog(catalog.clone())
        .middleware(Arc::new(BudgetGuard::new(catalog)))
        .build()
        .unwrap();
    let cx = CallCx { budget: Arc::new(purse.clone()), ..CallCx::new() };
    let request =
        Request { max_tokens: plan.max_tokens, ..Request::prompt("x".repeat(plan.prompt)).model("m") };
    let answer = async {
        if plan.streamed {
            let mut events = client.stream(request, &cx).await?;
            while let Some(event) = events.next().await {
                event?;
            }
            Ok(())
        } else {
            client.complete(request, &cx).await.map(drop)
        }
    };
    let gone = async {
        // After those who hang have begun, and some of the others.
        tokio::time::sleep(Duration::from_millis(u64::from(plan.takes) + 3)).await;
        match plan.patience {
            Patience::Waits => future::pending().await,
            Patience::Drops => {}
            Patience::Cancels => {
                cx.cancel.cancel();
                // Those who only wait for their turn end by themselves; a model here does not listen.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    };
    let ended = tokio::select! {
        ended = answer => ended,
        () = gone => Ok(()),
    };
    if let Err(error) = ended {
        if let Some(exhausted) = error.exhausted() {
            assert!(!exhausted.left.covers(exhausted.worst), "{exhausted}");
            world.refused.fetch_add(1, Ordering::Relaxed);
        } else if error.kind() == ErrorKind::Aborted {
            world.waited.fetch_add(1, Ordering::Relaxed);
        }
    }
    world.check();
}

fn purses(below: &[Below]) -> Vec<Purse> {
    let mut purses: Vec<Purse> = Vec::new();
    for Below { of, usd, tokens } in below {
        let limit =
            Allowance { usd: usd.map(|micro| Usd(i64::from(micro) * 1000)), tokens: tokens.map(u64::from) };
        let purse = match purses.get(*of) {
            Some(outer) => Purse::within(Arc::new(outer.clone()), limit),
            None => Purse::new(limit),
        };
        purses.push(purse);
    }
    purses
}

/// Runs a case, and gives how many calls were started, refused, and given up while they waited for others.
async fn run(case: Case, catalog: Catalog) -> [u64; 3] {
    let world = Arc::new(World {
        catalog,
        purses: purses(&case.purses),
        started: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        waited: AtomicU64::new(0),
        used: Mutex::default(),
    });
    let callers = case.callers.into_iter().map(|(purse, calls)| {
        let world = Arc::clone(&world);
        async move {
            let purse = world.purses[purse].clone();
            for call in calls {
                make(&world, &purse, call).await;
            }
        }
    });
    future::join_all(callers).await;
    for purse in &world.purses {
        assert_eq!(purse.reserved(), Amount::default(), "all is settled: {purse:?}");
    }
    let (spent, used) = (world.purses[0].spent(), *world.used.lock().unwrap());
    assert!(used.usd <= spent.usd && used.tokens <= spent.tokens, "{used:?} of {spent:?}");
    // What is spent in a purse is spent in those around it.
    for (purse, below) in world.purses.iter().zip(&case.purses).skip(1) {
        let (inner, outer) = (purse.spent(), world.purses[below.of].spent());
        assert!(inner.usd <= outer.usd && inner.tokens <= outer.tokens, "{inner:?} in {outer:?}");
    }
    [&world.started, &world.refused, &world.waited].map(|count| count.load(Ordering::Relaxed))
}

#[test]
fn no_budget_is_broken_whatever_calls_cost_and_however_they_end() {
    let mut runner = TestRunner::new_with_rng(
        Config { cases: CASES, failure_persistence: None, ..Config::default() },
        TestRng::from_seed(RngAlgorithm::ChaCha, &[23; 32]),
    );
    let sums = Mutex::new([0; 3]);
    let catalog = Catalog::parse(MODEL).unwrap();
    runner
        .run(&case(), |case| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .unwrap();
            let counts = runtime.block_on(run(case, catalog.clone()));
            let mut sums = sums.lock().unwrap();
            *sums = std::array::from_fn(|i| sums[i] + counts[i]);
            Ok(())
        })
        .unwrap();
    let sums = *sums.lock().unwrap();
    assert!(sums.iter().all(|sum| *sum > 50), "each of them happened: {sums:?}");
}
