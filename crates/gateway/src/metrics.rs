//! What is counted of all calls, for `/metrics` and `/status`.
//!
//! Labels are surfaces, the names of targets, statuses and the like: never what a client chose, so their
//! number is bounded.

mod text;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;
use junto_llm::{Cost, Usage, Usd, Wire};
use tokio::time::Instant;

use crate::report::{CallEnd, CallReport};

pub(crate) use self::text::{Gauges, TYPE, text};

/// How many calls are remembered one by one.
const RECENT: usize = 50;
/// The most characters of a model's name that are shown.
const MODEL: usize = 80;
/// The route of calls that were refused before one was found.
const NO_ROUTE: &str = "none";
/// Upper bounds of the times that are counted together, in milliseconds.
const BOUNDS: [u64; 15] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 60_000, 300_000];

/// Everything that is counted.
pub(crate) struct Metrics {
    started: Instant,
    counters: Mutex<Counters>,
}

#[derive(Default)]
struct Counters {
    requests: BTreeMap<Labels, u64>,
    routes: BTreeMap<String, Used>,
    /// The time until an answer began, by surface.
    began: BTreeMap<&'static str, Histogram>,
    /// The time until its end.
    took: BTreeMap<&'static str, Histogram>,
    recent: VecDeque<Recent>,
}

/// What tells requests apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Labels {
    surface: &'static str,
    route: String,
    /// None if the client was given none.
    status: Option<u16>,
    end: &'static str,
}

/// What a route has used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Used {
    pub(crate) calls: u64,
    pub(crate) usage: Usage,
    /// What is known of the cost.
    pub(crate) cost: Usd,
    /// How many calls had a cost that nobody knows.
    pub(crate) unpriced: u64,
}

/// Times, counted by how long they were.
#[derive(Clone, Debug, Default)]
struct Histogram {
    /// One for each of [`BOUNDS`]; longer ones are only in `count`.
    buckets: [u64; BOUNDS.len()],
    count: u64,
    sum: Duration,
}

impl Histogram {
    fn add(&mut self, time: Duration) {
        self.count += 1;
        self.sum = self.sum.saturating_add(time);
        let fits =
            BOUNDS.iter().zip(&mut self.buckets).find(|(most, _)| time <= Duration::from_millis(**most));
        if let Some((_, bucket)) = fits {
            *bucket += 1;
        }
    }
}

/// One of the latest calls.
#[derive(Clone, Debug)]
pub(crate) struct Recent {
    pub(crate) at: Instant,
    pub(crate) surface: &'static str,
    pub(crate) route: String,
    pub(crate) model: String,
    pub(crate) status: Option<u16>,
    pub(crate) end: &'static str,
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cost: Cost,
    pub(crate) took: Duration,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), counters: Mutex::default() }
    }

    /// Counts a call for an answer that has ended.
    pub(crate) fn call(&self, report: &CallReport, began: Option<StatusCode>, cost: Cost) {
        let (status, end) = match &report.end {
            CallEnd::Complete => (began, "complete"),
            CallEnd::Unread => (began, "unread"),
            CallEnd::BrokenOff => (began, "broken_off"),
            CallEnd::Failed { status, .. } => (status.or(began), "failed"),
        };
        let route = report.provider.clone().unwrap_or_else(|| NO_ROUTE.to_owned());
        let labels = Labels { surface: surface(report.wire), route, status: status.map(|s| s.as_u16()), end };
        let mut counters = self.counters();
        if let Some(route) = &report.provider {
            counters.routes.entry(route.clone()).or_default().add(&report.usage, cost);
        }
        if let Some(time) = report.began {
            counters.began.entry(labels.surface).or_default().add(time);
        }
        counters.took.entry(labels.surface).or_default().add(report.took);
        counters.remember(Recent {
            at: Instant::now(),
            surface: labels.surface,
            route: labels.route.clone(),
            model: report.model.chars().take(MODEL).collect(),
            status: labels.status,
            end,
            input: report.usage.input,
            output: report.usage.output,
            cost,
            took: report.took,
        });
        *counters.requests.entry(labels).or_default() += 1;
    }

    /// Counts a request for something else than an answer.
    pub(crate) fn request(&self, surface: &'static str, status: StatusCode) {
        let end = if status.is_success() { "complete" } else { "failed" };
        let labels = Labels { surface, route: NO_ROUTE.to_owned(), status: Some(status.as_u16()), end };
        *self.counters().requests.entry(labels).or_default() += 1;
    }

    /// For how long the gateway has been there.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The latest calls, the last one first.
    pub(crate) fn recent(&self) -> Vec<Recent> {
        self.counters().recent.iter().rev().cloned().collect()
    }

    /// What each target has used.
    pub(crate) fn routes(&self) -> BTreeMap<String, Used> {
        self.counters().routes.clone()
    }

    fn counters(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counters {
    fn remember(&mut self, call: Recent) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(call);
    }
}

impl Used {
    fn add(&mut self, usage: &Usage, cost: Cost) {
        self.calls += 1;
        // Only the numbers: what a provider said of them, and whom a council asked, grows without bound.
        self.usage += &Usage { raw: None, calls: Vec::new(), ..usage.clone() };
        match cost.amount() {
            Some(amount) => self.cost += amount,
            None => self.unpriced += 1,
        }
    }
}

/// The surface on which a wire's clients ask for answers.
fn surface(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "messages",
        Wire::Responses => "responses",
        Wire::Chat => "chat_completions",
        Wire::Gemini => "generate_content",
    }
}

#[cfg(test)]
mod tests;
