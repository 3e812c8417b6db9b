//! Where everything that became of calls is written down: sessions, metrics, the host's own sink.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use http::StatusCode;
use junto_llm::{Cost, Usage, Usd};
use tokio::task::spawn_blocking;

use crate::aside::Backlog;
use crate::metrics::Metrics;
use crate::pace::Long;
use crate::report::{CallEnd, CallReport, is_nothing};
use crate::sessions::{self, Outcome, Sessions, Ticket};
use crate::warnings::Warnings;

/// Where reports go.
pub(crate) type Sink = Arc<dyn Fn(CallReport) + Send + Sync>;

/// What a call cost, if that is known.
pub(crate) type Prices = Arc<dyn Fn(&CallReport) -> Option<Usd> + Send + Sync>;

/// What a call has used.
pub(crate) enum Spent {
    /// What its report says.
    Told,
    /// That, and more: its provider has said it before it had answered, and nobody has counted the rest.
    More,
    /// This, since its provider has not said all.
    Presumed(Usage),
}

/// The books of a gateway.
pub(crate) struct Books {
    pub(crate) sink: Option<Sink>,
    pub(crate) prices: Option<Prices>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) metrics: Metrics,
    /// Answers that go through and are still to be read, and calls that are still to be counted.
    pub(crate) backlog: Backlog,
    /// Who counts what is long.
    pub(crate) long: Long,
    pub(crate) warnings: Warnings,
    /// Whoever catches up: one at a time, since each waits on a thread.
    pub(crate) catching_up: tokio::sync::Mutex<()>,
}

impl Books {
    /// Reads what was put aside, and counts what is to be counted. For whoever looks at the books: before it looks.
    pub(crate) async fn caught_up(self: &Arc<Self>) {
        let _turn = self.catching_up.lock().await;
        if !self.backlog.is_empty() {
            let books = Arc::clone(self);
            // It may wait for others who do it, so it is done where nobody waits for the thread. It has nothing to say.
            let _ = spawn_blocking(move || books.catch_up()).await;
        }
    }

    pub(crate) fn catch_up(&self) {
        self.backlog.read(self);
    }

    /// Does something for the books in which others have a part who may panic.
    pub(crate) fn guard(&self, work: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            self.warnings.tell("a call could not be written down: whoever was told of it panicked");
        }
    }

    /// Closes a call that has ended: once. What it has spent is on the session's budget.
    pub(crate) fn close(
        &self,
        report: CallReport,
        began: Option<StatusCode>,
        ticket: Option<Ticket>,
        spent: &Spent,
    ) {
        let cost = self.cost(&report, spent);
        self.metrics.call(&report, began, cost);
        if let Some(ticket) = ticket {
            let usage = match spent {
                Spent::Presumed(usage) => usage,
                Spent::Told | Spent::More => &report.usage,
            };
            ticket.settle(outcome(&report), sessions::spending(usage, cost));
        }
        if let Some(sink) = &self.sink {
            sink(report);
        }
    }

    fn cost(&self, report: &CallReport, spent: &Spent) -> Cost {
        match (&report.end, spent) {
            // A model may have thought for long, and nobody has seen it.
            (CallEnd::Unread, _) | (_, Spent::More) => Cost::Unknown,
            (CallEnd::Complete, _) | (_, Spent::Told) if report.is_untold() => Cost::Unknown,
            // Of what did not come to its end, what is known counts.
            (_, Spent::Presumed(usage)) => self.price(&CallReport { usage: usage.clone(), ..report.clone() }),
            (_, Spent::Told) if is_nothing(&report.usage) => Cost::Estimated(Usd::ZERO),
            (_, Spent::Told) => self.price(report),
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
                long: Long::default(),
                warnings: Warnings::default(),
                catching_up: tokio::sync::Mutex::default(),
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

    /// A part of an answer, of one token.
    fn hello() -> StreamEvent {
        StreamEvent::TextDelta { id: SegmentId(0), text: "Hello".into() }
    }

    /// What the books say of the tokens and the cost of a call of nine, where there is a budget.
    #[track_caller]
    fn check_presumed(by: fn(Meter), expected: Option<(u64, Cost)>) {
        let request = r#"{"model":"gpt-5.5","messages":[{"role":"user","content":"Hello, world"}]}"#;
        let found = booked(|meter| {
            meter.presume(Presumed::new(Wire::Chat, "gpt-5.5", request.into()));
            meter.via(crate::Via::Passthrough);
            meter.began(StatusCode::OK);
            by(meter);
        });
        assert_eq!(found.map(|record| (record.tokens, record.cost)), expected);
    }

    /// What the provider does not say is counted, where there is a budget.
    #[test]
    fn what_is_not_told_is_presumed() {
        let check = check_presumed;
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
                meter.hear(&hello());
                meter.fail(None, Error::new(ErrorKind::Server, "burst"));
            },
            Some((10, priced)),
        );
    }

    /// What it says before the end is true of the request, and too little for the answer.
    #[test]
    fn what_is_told_before_the_end_is_not_all() {
        let check = check_presumed;
        let priced = Cost::Estimated(Usd(7));
        check(
            |meter| {
                meter.note(&Usage::new(300, 1));
                meter.hear(&hello());
                meter.hear(&hello());
            },
            Some((302, priced)),
        );
        check(
            |meter| {
                meter.note(&Usage::new(0, 1));
                meter.hear(&hello());
            },
            Some((10, priced)),
        );
        check(
            |meter| {
                meter.note(&Usage::new(300, 1));
                meter.hear(&hello());
                meter.finish(&Usage::new(300, 7));
            },
            Some((307, priced)),
        );
        check(
            |meter| {
                meter.note(&Usage::new(300, 1));
                meter.hear(&hello());
                meter.unread();
            },
            Some((301, Cost::Unknown)),
        );
        check(
            |meter| {
                meter.note(&Usage::new(300, 0));
                meter.hear(&hello());
                meter.fail(None, Error::new(ErrorKind::Server, "burst"));
            },
            Some((301, priced)),
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
            Some((1, 3, Cost::Unknown)),
        );
        check(
            |meter| {
                meter.presume(Presumed::new(Wire::Chat, "gpt-5.5", "{}".into()));
                meter.via(crate::Via::Gateway);
                meter.hear(&StreamEvent::TextDelta { id: SegmentId(0), text: "enough".into() });
            },
            Some((1, 0, usd(0))),
        );
        check(|meter| meter.fail(None, Error::new(ErrorKind::Server, "burst")), None);
        check(
            |meter| {
                meter.note(&Usage::new(3, 0));
                meter.fail(None, Error::new(ErrorKind::Server, "burst"));
            },
            Some((0, 3, Cost::Unknown)),
        );
        check(
            |meter| {
                meter.paid(&Usage::new(3, 4));
                meter.fail(Some(StatusCode::BAD_GATEWAY), Error::new(ErrorKind::Server, "burst"));
            },
            Some((0, 7, usd(7))),
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
