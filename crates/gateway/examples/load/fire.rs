//! Clients that ask for whole answers over connections that stay open.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Outcome;
use super::answers::{self, Aim, Order};
use super::http::Peer;

/// How many pieces of text an answer has.
const PIECES: usize = 20;
/// A whole answer, at once.
const WHOLE: Order = Order { stream: false, pieces: PIECES, pace: 0, fault: None };

/// What all connections of a client note together.
#[derive(Default)]
struct Notes {
    /// Of answers that came, in microseconds.
    times: RefCell<Vec<u64>>,
    failed: Cell<usize>,
    example: RefCell<Option<String>>,
}

impl Notes {
    fn took(&self, time: Duration) {
        self.times.borrow_mut().push(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    fn failed(&self, why: String) {
        self.failed.set(self.failed.get() + 1);
        self.example.borrow_mut().get_or_insert(why);
    }

    fn told(self, elapsed: Duration) -> Value {
        let mut times = self.times.into_inner();
        times.sort_unstable();
        let at = |part: usize| times.get((times.len() * part / 1000).min(times.len().saturating_sub(1)));
        json!({
            "answers": times.len(), "failed": self.failed.get(), "why": self.example.into_inner(),
            "seconds": elapsed.as_secs_f64(),
            "p50_us": at(500), "p90_us": at(900), "p99_us": at(990), "most_us": times.last(),
        })
    }
}

/// A connection that asks again and again, and makes a new one if it must.
struct Asker<'a> {
    aim: &'a Aim,
    request: &'a [u8],
    peer: Option<Peer>,
    notes: &'a Notes,
}

impl Asker<'_> {
    /// Asks once; `since` is when the answer's time began.
    async fn ask(&mut self, since: Instant) {
        match self.exchange().await {
            Ok(()) => self.notes.took(since.elapsed()),
            Err(why) => {
                self.peer = None;
                self.notes.failed(why);
            }
        }
    }

    async fn exchange(&mut self) -> Outcome {
        let peer = match &mut self.peer {
            Some(peer) => peer,
            none => none.insert(Peer::connect(&self.aim.address).await.map_err(|e| e.to_string())?),
        };
        peer.send(self.request).await.map_err(|e| e.to_string())?;
        let head = peer.head().await.map_err(|e| e.to_string())?.ok_or("the connection was closed")?;
        let mut body = Vec::new();
        peer.body(&head, |bytes| body.extend_from_slice(bytes)).await.map_err(|e| e.to_string())?;
        let last = answers::piece(PIECES - 1);
        let last = last.trim().as_bytes();
        match head.status() {
            200 if body.windows(last.len()).any(|window| window == last) => Ok(()),
            status => Err(format!("{status} {}", String::from_utf8_lossy(&body))),
        }
    }
}

/// How often each server has its turn, and how many requests it is asked in one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    pub(crate) count: usize,
    pub(crate) requests: u32,
}

/// Asks several servers at a fixed rate: one after another, again and again, and each time another one first, so that a busy
/// moment of the machine hits all of them alike. Tells what each turn of each server was like.
pub(crate) async fn at_rate(aims: &[Aim], connections: usize, rate: u32, turns: Turns) -> Outcome<Value> {
    let requests: Vec<_> = aims.iter().map(|aim| answers::request(aim, WHOLE)).collect();
    let mut told = vec![Vec::new(); aims.len()];
    // Made once, as the connections of a client are. What is noted while they are made is of no turn.
    let beginning = Notes::default();
    let mut peers = Vec::new();
    for (aim, request) in aims.iter().zip(&requests) {
        let askers = askers(aim, request, connections, &beginning).await?;
        peers.push(askers.into_iter().map(|asker| asker.peer).collect::<Vec<_>>());
    }
    for turn in 0..turns.count {
        for at in (0..aims.len()).map(|at| (at + turn) % aims.len()) {
            let (notes, start) = (Notes::default(), Instant::now());
            let asker = |peer: &mut Option<Peer>| Asker {
                aim: &aims[at],
                request: &requests[at],
                peer: peer.take(),
                notes: &notes,
            };
            let mut askers: Vec<_> = peers[at].iter_mut().map(asker).collect();
            for_a_turn(&mut askers, rate, turns.requests).await;
            peers[at] = askers.into_iter().map(|asker| asker.peer).collect();
            told[at].push(notes.told(start.elapsed()));
        }
    }
    Ok(json!(told))
}

/// Asks at a fixed rate, whether answers come or not. An answer's time begins when its request was due, if all
/// connections were busy then: a server that stops for a while makes all wait that come meanwhile.
async fn for_a_turn(askers: &mut [Asker<'_>], rate: u32, requests: u32) {
    let (start, next) = (Instant::now(), Cell::new(0_u32));
    join_all(askers.iter_mut().map(|asker| async {
        while next.get() < requests {
            let due = start + Duration::from_secs(1) * next.replace(next.get() + 1) / rate;
            let was_late = Instant::now() > due;
            tokio::time::sleep_until(due).await;
            asker.ask(if was_late { due } else { Instant::now() }).await;
        }
    }))
    .await;
}

/// Asks again as soon as an answer is there.
pub(crate) async fn at_full_speed(aim: Aim, connections: usize, seconds: u64) -> Outcome<Value> {
    let request = answers::request(&aim, WHOLE);
    let notes = Notes::default();
    let mut askers = askers(&aim, &request, connections, &notes).await?;
    let start = Instant::now();
    let end = start + Duration::from_secs(seconds);
    join_all(askers.iter_mut().map(|asker| async {
        while Instant::now() < end {
            asker.ask(Instant::now()).await;
        }
    }))
    .await;
    drop(askers);
    Ok(notes.told(start.elapsed()))
}

/// Connections that have had an answer each, so that none is measured that is just being made.
async fn askers<'a>(
    aim: &'a Aim,
    request: &'a [u8],
    connections: usize,
    notes: &'a Notes,
) -> Outcome<Vec<Asker<'a>>> {
    let mut askers: Vec<Asker<'_>> =
        (0..connections).map(|_| Asker { aim, request, peer: None, notes }).collect();
    let tries = join_all(askers.iter_mut().map(Asker::exchange)).await;
    tries.into_iter().collect::<Outcome<()>>()?;
    Ok(askers)
}
