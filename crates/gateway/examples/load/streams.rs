//! Many clients that listen to streams at the same time, and miss nothing.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use junto_llm::names::NameMap;
use junto_llm::wire::{DecodeCx, StreamDecoder};
use junto_llm::{Origin, StreamEvent, sse};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::Outcome;
use super::answers::{self, Aim, Order};
use super::http::Peer;

/// A stream that takes so much longer than its pieces does not end.
const PATIENCE: Duration = Duration::from_mins(1);

/// How many streams are open, and how many were at most.
#[derive(Default)]
struct Open {
    now: Cell<usize>,
    most: Cell<usize>,
    /// Milliseconds from the start until all had begun.
    all_since: Cell<Option<u128>>,
}

impl Open {
    fn begins(&self, of: usize, started: Instant) {
        self.now.set(self.now.get() + 1);
        self.most.set(self.most.get().max(self.now.get()));
        if self.now.get() == of && self.all_since.get().is_none() {
            self.all_since.set(Some(started.elapsed().as_millis()));
        }
    }

    fn ends(&self) {
        self.now.set(self.now.get() - 1);
    }
}

/// Opens so many streams at once and reads each to its end.
pub(crate) async fn all_at_once(aim: Aim, count: usize, pieces: usize, pace: u64) -> Outcome<Value> {
    let request = answers::request(&aim, Order { stream: true, pieces, pace, fault: None });
    let open = Open::default();
    let start = Instant::now();
    let due = Duration::from_millis(pace.saturating_mul(u64::try_from(pieces).unwrap_or(u64::MAX)));
    let listeners = (0..count).map(|_| async {
        let mut listener = Listener::new(&aim);
        let heard =
            timeout(due + PATIENCE, listener.listen(&aim, &request, || open.begins(count, start))).await;
        if listener.next > 0 {
            open.ends();
        }
        heard.unwrap_or(Err("it does not end".to_owned()))?;
        listener.judge(pieces)
    });
    let heard = join_all(listeners).await;
    let faults: Vec<&String> = heard.iter().filter_map(|heard| heard.as_ref().err()).collect();
    Ok(json!({
        "streams": count, "whole": count - faults.len(), "why": faults.first(),
        "pieces": heard.iter().filter_map(|heard| heard.as_ref().ok()).sum::<usize>(),
        "together": open.most.get(), "all_since_ms": open.all_since.get(),
        "seconds": start.elapsed().as_secs_f64(),
    }))
}

/// Reads one stream.
struct Listener {
    frames: sse::Decoder,
    decoder: Box<dyn StreamDecoder>,
    /// The piece that is to come.
    next: usize,
    /// What has come of it.
    text: String,
    is_over: bool,
    fault: Option<String>,
}

impl Listener {
    fn new(aim: &Aim) -> Self {
        let origin = Origin { wire: aim.wire, provider: "load".into(), model: aim.model.clone() };
        let cx = DecodeCx {
            origin: Arc::new(origin),
            names: Arc::new(NameMap::default()),
            warnings: Vec::new(),
            rate_limit: None,
        };
        let decoder = aim.wire.codec().stream_decoder(cx);
        Self {
            frames: sse::Decoder::new(),
            decoder,
            next: 0,
            text: String::new(),
            is_over: false,
            fault: None,
        }
    }

    async fn listen(&mut self, aim: &Aim, request: &[u8], begins: impl Fn()) -> Outcome {
        let mut peer = Peer::connect(&aim.address).await.map_err(|e| format!("connect: {e}"))?;
        peer.send(request).await.map_err(|e| format!("send: {e}"))?;
        let head = peer.head().await.map_err(|e| e.to_string())?.ok_or("the connection was closed")?;
        if head.status() != 200 {
            let mut body = Vec::new();
            peer.body(&head, |bytes| body.extend_from_slice(bytes)).await.map_err(|e| e.to_string())?;
            return Err(format!("{} {}", head.first, String::from_utf8_lossy(&body)));
        }
        let body = peer.body(&head, |bytes| {
            let had_begun = self.next > 0;
            self.read(bytes);
            if self.next > 0 && !had_begun {
                begins();
            }
        });
        body.await.map_err(|e| e.to_string())
    }

    fn read(&mut self, bytes: &[u8]) {
        let mut events = Vec::new();
        let decoder = &mut self.decoder;
        if let Err(error) = self.frames.push(bytes, |frame| decoder.frame(frame, &mut events)) {
            self.fault.get_or_insert(error.to_string());
        }
        for event in events {
            match event {
                StreamEvent::TextDelta { text, .. } => self.count(&text),
                StreamEvent::Finish { .. } => self.is_over = true,
                _ => {}
            }
        }
    }

    /// Takes the pieces in their order; two may come as one.
    fn count(&mut self, text: &str) {
        self.text.push_str(text);
        while let Some((piece, rest)) = self.text.split_once(' ') {
            if piece.parse() != Ok(self.next) {
                self.fault.get_or_insert(format!("piece {piece} came in place of {}", self.next));
            }
            self.next += 1;
            self.text = rest.to_owned();
        }
    }

    /// How many pieces have come, if they are all.
    fn judge(self, pieces: usize) -> Outcome<usize> {
        match self.fault {
            Some(fault) => Err(fault),
            None if self.next == pieces && self.is_over => Ok(pieces),
            None => Err(format!("{} of {pieces} pieces, over: {}", self.next, self.is_over)),
        }
    }
}
