//! How much one client may ask for, so that it leaves room for others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use junto_llm::{Error, ErrorKind};
use tokio::time::Instant;

use super::keys::Digest;
use crate::reply::Failure;

/// How many clients are remembered at a time.
const MOST: usize = 4096;
/// What a rate is counted over.
const WINDOW: Duration = Duration::from_mins(1);
/// When one that is busy may try again.
const SOON: Duration = Duration::from_secs(1);

/// What one client may do. What is absent is without limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Requests in a minute.
    pub(crate) rate: Option<NonZeroU32>,
    /// Requests at a time.
    pub(crate) running: Option<NonZeroU32>,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Who {
    /// Whoever has this key.
    Key(Digest),
    /// Whoever is there.
    Address(IpAddr),
    /// Nobody can say.
    Unknown,
}

/// A client whose request was let in. It counts as under way until this is dropped.
#[derive(Debug)]
pub(crate) struct Client(Option<(Who, Table)>);

impl Drop for Client {
    fn drop(&mut self) {
        if let Some((who, table)) = &self.0
            && let Some(state) = lock(table).get_mut(who)
        {
            state.running = state.running.saturating_sub(1);
        }
    }
}

type Table = Arc<Mutex<HashMap<Who, State>>>;

/// What is known of a client.
#[derive(Debug)]
struct State {
    running: u32,
    /// When all that it has asked for would have been asked for at an even pace.
    even: Instant,
}

impl State {
    fn is_idle(&self, now: Instant) -> bool {
        self.running == 0 && self.even <= now
    }
}

/// All clients that have asked lately.
#[derive(Debug)]
pub(crate) struct Clients {
    limits: Limits,
    table: Table,
}

impl Clients {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, table: Table::default() }
    }

    /// Whether they may ask for as much as they like.
    pub(super) fn are_free(&self) -> bool {
        self.limits.rate.is_none() && self.limits.running.is_none()
    }

    /// Lets a client's request in, if it has asked for less than it may.
    ///
    /// # Errors
    /// 429, with the time after which it may try again.
    pub(super) fn enter(&self, who: Who) -> Result<Client, Failure> {
        if self.are_free() {
            return Ok(Client(None));
        }
        let Limits { rate, running } = self.limits;
        let now = Instant::now();
        let mut table = lock(&self.table);
        if table.len() >= MOST && !table.contains_key(&who) {
            table.retain(|_, state| !state.is_idle(now));
            if table.len() >= MOST {
                return Err(slow_down("the gateway has too many clients", SOON));
            }
        }
        let state = table.entry(who).or_insert(State { running: 0, even: now });
        if let Some(most) = running
            && state.running >= most.get()
        {
            let message =
                format!("this client has {most} requests under way, and no more are taken from one");
            return Err(slow_down(message, SOON));
        }
        if let Some(rate) = rate {
            state.even = on_pace(state.even, now, rate).map_err(|wait| {
                slow_down(format!("this client asks more than {rate} times in a minute"), wait)
            })?;
        }
        state.running = state.running.saturating_add(1);
        Ok(Client(Some((who, Arc::clone(&self.table)))))
    }
}

/// When a client that asks now will be even, if it has not run further ahead than the window allows; else
/// how long it must wait.
fn on_pace(even: Instant, now: Instant, rate: NonZeroU32) -> Result<Instant, Duration> {
    let each = WINDOW / rate.get();
    let ahead = even.saturating_duration_since(now);
    match ahead.checked_sub(WINDOW.saturating_sub(each)) {
        Some(wait) if !wait.is_zero() => Err(wait),
        _ => Ok(even.max(now) + each),
    }
}

fn slow_down(message: impl Into<String>, wait: Duration) -> Failure {
    Error::new(ErrorKind::RateLimit, message).with_retry_after(Some(wait)).into()
}

fn lock(table: &Table) -> MutexGuard<'_, HashMap<Who, State>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients(rate: u32, running: u32) -> Clients {
        Clients::new(Limits { rate: NonZeroU32::new(rate), running: NonZeroU32::new(running) })
    }

    fn wait(refused: Result<Client, Failure>) -> Duration {
        refused.expect_err("refused").error().retry_after().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_up_to_the_rate_and_then_an_even_pace() {
        let clients = clients(3, 0);
        for _ in 0..3 {
            clients.enter(Who::Unknown).unwrap();
        }
        assert_eq!(wait(clients.enter(Who::Unknown)), Duration::from_secs(20));
        clients.enter(Who::Key([1; 32])).expect("another client is another matter");
        tokio::time::advance(Duration::from_secs(19)).await;
        assert_eq!(wait(clients.enter(Who::Unknown)), Duration::from_secs(1));
        tokio::time::advance(Duration::from_secs(1)).await;
        clients.enter(Who::Unknown).unwrap();
        assert_eq!(wait(clients.enter(Who::Unknown)), Duration::from_secs(20));
        tokio::time::advance(WINDOW * 10).await;
        for _ in 0..3 {
            clients.enter(Who::Unknown).unwrap();
        }
        wait(clients.enter(Who::Unknown));
    }

    #[test]
    fn so_many_at_a_time_and_refusals_hold_no_place() {
        let clients = clients(0, 2);
        let first = clients.enter(Who::Unknown).unwrap();
        let _second = clients.enter(Who::Unknown).unwrap();
        for _ in 0..3 {
            assert_eq!(wait(clients.enter(Who::Unknown)), SOON);
        }
        drop(first);
        clients.enter(Who::Unknown).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_table_forgets_who_is_idle_and_grows_no_further() {
        let clients = clients(1, 0);
        let key = |n: usize| {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&n.to_le_bytes());
            Who::Key(key)
        };
        for n in 0..MOST {
            clients.enter(key(n)).unwrap();
        }
        wait(clients.enter(key(MOST)));
        tokio::time::advance(WINDOW).await;
        clients.enter(key(MOST)).unwrap();
        assert_eq!(lock(&clients.table).len(), 1);
    }

    #[test]
    fn without_limits_nobody_is_remembered() {
        let clients = clients(0, 0);
        let _client = clients.enter(Who::Unknown).unwrap();
        assert!(lock(&clients.table).is_empty());
    }
}
