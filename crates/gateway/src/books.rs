//! Where everything that became of calls is written down: sessions, metrics, the host's own sink.

use std::sync::Arc;

use http::StatusCode;
use junto_llm::{Cost, Usd};

use crate::aside::Backlog;
use crate::metrics::Metrics;
use crate::report::{CallEnd, CallReport};
use crate::sessions::{self, Outcome, Sessions, Ticket};

/// Where reports go.
pub(crate) type Sink = Arc<dyn Fn(CallReport) + Send + Sync>;

/// What a call cost, if that is known.
pub(crate) type Prices = Arc<dyn Fn(&CallReport) -> Option<Usd> + Send + Sync>;

/// The books of a gateway.
pub(crate) struct Books {
    pub(crate) sink: Option<Sink>,
    pub(crate) prices: Option<Prices>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) metrics: Metrics,
    /// Answers that go through and are still to be read.
    pub(crate) backlog: Backlog,
}

impl Books {
    /// Reads what was put aside. For whoever looks at the books: before it looks.
    pub(crate) fn catch_up(&self) {
        self.backlog.read();
    }

    /// Closes a call that has ended: once.
    pub(crate) fn close(&self, report: CallReport, began: Option<StatusCode>, ticket: Option<Ticket>) {
        let cost = self.cost(&report);
        self.metrics.call(&report, began, cost);
        if let Some(ticket) = ticket {
            ticket.settle(outcome(&report), sessions::spending(&report.usage, cost));
        }
        if let Some(sink) = &self.sink {
            sink(report);
        }
    }

    fn cost(&self, report: &CallReport) -> Cost {
        match report.end {
            CallEnd::Unread => Cost::Unknown,
            _ if report.usage.input == 0 && report.usage.output == 0 => Cost::Estimated(Usd::ZERO),
            _ => {
                let price = self.prices.as_ref().and_then(|prices| prices(report));
                price.map_or(Cost::Unknown, Cost::Estimated)
            }
        }
    }
}

/// Whether there was an answer, or some of one. Who leaves while the call still waits has had none.
fn outcome(report: &CallReport) -> Outcome {
    match report.end {
        CallEnd::Complete | CallEnd::Unread => Outcome::Answered,
        CallEnd::BrokenOff if report.via.is_some() => Outcome::Answered,
        CallEnd::BrokenOff | CallEnd::Failed { .. } => Outcome::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Meter;
    use crate::sessions::{Key, Limits, SessionRecord, Turn};
    use junto_llm::{Allowance, CallCx, Error, ErrorKind, SessionId, Usage, Wire};

    impl Books {
        /// Books of which only this sink is looked at.
        pub(crate) fn for_tests(sink: impl Fn(CallReport) + Send + Sync + 'static) -> Arc<Self> {
            let limits = Limits { turns: Some(60), budget: Allowance::UNLIMITED, most: 10 };
            Arc::new(Self {
                sink: Some(Arc::new(sink)),
                prices: Some(Arc::new(|report| (report.model == "priced").then_some(Usd(7)))),
                sessions: Arc::new(Sessions::open(limits, None).unwrap()),
                metrics: Metrics::new(),
                backlog: Backlog::default(),
            })
        }
    }

    /// What the books of a session say after one call.
    fn booked(by: impl FnOnce(Meter)) -> Option<SessionRecord> {
        let books = Books::for_tests(drop);
        let cx = CallCx::new();
        let meter = Meter::new(&books, Wire::Chat, &cx);
        meter.session(books.sessions.begin(Key::Id(SessionId("s".into())), Turn::Counted).0);
        meter.route(&cx.traffic, "p", "priced");
        by(meter);
        books.sessions.latest(1).pop()
    }

    #[test]
    fn each_end_is_booked_as_what_it_was() {
        let check = |by: fn(Meter), expected: Option<(u32, u64, Cost)>| {
            let found = booked(by).map(|record| (record.turns, record.tokens, record.cost));
            assert_eq!(found, expected);
        };
        let usd = |nano| Cost::Estimated(Usd(nano));
        check(|meter| meter.finish(&Usage::new(3, 4)), Some((1, 7, usd(7))));
        check(|meter| meter.finish(&Usage::default()), Some((1, 0, usd(0))));
        check(|meter| meter.unread(), Some((1, 0, Cost::Unknown)));
        check(drop, None);
        check(
            |meter| {
                meter.via(crate::Via::Translation);
                meter.note(&Usage::new(3, 0));
            },
            Some((1, 3, usd(7))),
        );
        check(|meter| meter.fail(None, Error::new(ErrorKind::Server, "burst")), None);
        check(
            |meter| {
                meter.note(&Usage::new(3, 0));
                meter.fail(None, Error::new(ErrorKind::Server, "burst"));
            },
            Some((0, 3, usd(7))),
        );
        check(
            |meter| {
                meter.route(&CallCx::new().traffic, "p", "no price");
                meter.finish(&Usage::new(3, 4));
            },
            Some((1, 7, Cost::Unknown)),
        );
    }
}
