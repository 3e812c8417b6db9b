//! Where everything that became of calls is written down: sessions, metrics, the host's own sink.

use std::sync::Arc;

use http::StatusCode;
use junto_llm::{Cost, Usage, Usd};

use crate::aside::Backlog;
use crate::metrics::Metrics;
use crate::report::{CallEnd, CallReport, is_nothing};
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

    /// Closes a call that has ended: once. What it is presumed to have used, since its provider does not say, is on the
    /// session's budget.
    pub(crate) fn close(
        &self,
        report: CallReport,
        began: Option<StatusCode>,
        ticket: Option<Ticket>,
        presumed: Option<Usage>,
    ) {
        let cost = self.cost(&report, presumed.as_ref());
        self.metrics.call(&report, began, cost);
        if let Some(ticket) = ticket {
            ticket.settle(
                outcome(&report),
                sessions::spending(presumed.as_ref().unwrap_or(&report.usage), cost),
            );
        }
        if let Some(sink) = &self.sink {
            sink(report);
        }
    }

    fn cost(&self, report: &CallReport, presumed: Option<&Usage>) -> Cost {
        match (&report.end, presumed) {
            // A model may have thought for long, and nobody has seen it.
            (CallEnd::Unread, _) => Cost::Unknown,
            (CallEnd::Complete, _) | (_, None) if report.is_untold() => Cost::Unknown,
            // Of what did not come to its end, what is known counts.
            (_, Some(usage)) => self.price(&CallReport { usage: usage.clone(), ..report.clone() }),
            (_, None) if is_nothing(&report.usage) => Cost::Estimated(Usd::ZERO),
            (_, None) => self.price(report),
        }
    }

    fn price(&self, report: &CallReport) -> Cost {
        let price = self.prices.as_ref().and_then(|prices| prices(report));
        price.map_or(Cost::Unknown, Cost::Estimated)
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
    use crate::presumed::Presumed;
    use crate::report::Meter;
    use crate::sessions::{Key, Limits, SessionRecord, Turn};
    use junto_llm::{Allowance, CallCx, Error, ErrorKind, SegmentId, SessionId, StreamEvent, Usage, Wire};

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

    /// What the provider does not say is counted, where there is a budget.
    #[test]
    fn what_is_not_told_is_presumed() {
        let request = r#"{"model":"gpt-5.5","messages":[{"role":"user","content":"Hello, world"}]}"#;
        let presume = |meter: &Meter| {
            meter.presume(Presumed::new(Wire::Chat, "gpt-5.5", request.into()));
            meter.via(crate::Via::Passthrough);
            meter.began(StatusCode::OK);
        };
        let check = |by: fn(Meter), expected: Option<(u64, Cost)>| {
            let found = booked(|meter| {
                presume(&meter);
                by(meter);
            });
            assert_eq!(found.map(|record| (record.tokens, record.cost)), expected);
        };
        let priced = Cost::Estimated(Usd(7));
        check(|meter| meter.finish(&Usage::default()), Some((9, Cost::Unknown)));
        check(|meter| meter.unread(), Some((9, Cost::Unknown)));
        check(drop, Some((9, priced)));
        check(|meter| meter.finish(&Usage::new(3, 4)), Some((7, priced)));
        check(|meter| meter.note(&Usage::new(3, 0)), Some((3, priced)));
        check(
            |meter| meter.fail(Some(StatusCode::BAD_GATEWAY), Error::new(ErrorKind::Server, "burst")),
            None,
        );
        check(
            |meter| {
                meter.hear(&StreamEvent::TextDelta { id: SegmentId(0), text: "Hello".into() });
                meter.fail(None, Error::new(ErrorKind::Server, "burst"));
            },
            Some((10, priced)),
        );
    }

    #[test]
    fn each_end_is_booked_as_what_it_was() {
        let check = |by: fn(Meter), expected: Option<(u32, u64, Cost)>| {
            let found = booked(by).map(|record| (record.turns, record.tokens, record.cost));
            assert_eq!(found, expected);
        };
        let usd = |nano| Cost::Estimated(Usd(nano));
        check(|meter| meter.finish(&Usage::new(3, 4)), Some((1, 7, usd(7))));
        check(|meter| meter.finish(&Usage::default()), Some((1, 0, Cost::Unknown)));
        check(|meter| meter.unread(), Some((1, 0, Cost::Unknown)));
        check(
            |meter| {
                meter.via(crate::Via::Gateway);
                meter.finish(&Usage::default());
            },
            Some((1, 0, usd(0))),
        );
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
