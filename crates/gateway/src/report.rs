//! What became of calls, told to whoever keeps the books or looks on.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use junto_llm::{CallCx, CallId, Error, Response, SessionId, StreamEvent, Traffic, Usage, Wire};
use tokio::time::Instant;

use crate::books::{Books, Spent};
use crate::closing::Ended;
use crate::presumed::Presumed;
use crate::sessions::Ticket;

/// Which way a call took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// By bytes: no middleware of the provider has seen the call, so this report is the only trace
    /// of what it used.
    Passthrough,
    /// Decoded and encoded again: a provider with a ledger of its own has booked it already.
    Translation,
    /// The gateway itself answered and asked nobody, which costs nothing: a session that has had all its turns is told so.
    Gateway,
}

/// What became of one call.
#[derive(Clone, Debug)]
pub struct CallReport {
    /// The call.
    pub call: CallId,
    /// The session it belongs to: by the client's own name for it, else by one that the gateway made up for
    /// a conversation, and gives it again when it goes on. None if the call was refused before it was read.
    pub session: Option<SessionId>,
    /// What it was for.
    pub traffic: Traffic,
    /// The name of the provider that was asked; none if the call was refused before that.
    pub provider: Option<String>,
    /// The model as that provider was asked for it; empty if none was.
    pub model: String,
    /// Which way it took; none if it was refused before that.
    pub via: Option<Via>,
    /// Tokens used, as far as the provider has told them: of a call that did not come to its end, often what it had read and
    /// nothing of what it wrote.
    pub usage: Usage,
    /// How it ended.
    pub end: CallEnd,
    /// The wire on which the client asked.
    pub wire: Wire,
    /// The time until the answer began; none if it never did.
    pub began: Option<Duration>,
    /// The time until the end.
    pub took: Duration,
    /// How many bytes the request had; none if it was refused before it was read.
    pub request_bytes: usize,
}

impl CallReport {
    /// Whether a provider has answered, or was about to when its client left, and nothing is known of what it used; that is
    /// not nothing.
    pub fn is_untold(&self) -> bool {
        let has_worked = match self.end {
            CallEnd::Complete | CallEnd::Unread => true,
            // It has the request, and does not forget it because the client does not wait.
            CallEnd::BrokenOff => self.via.is_some(),
            CallEnd::Failed { .. } => false,
        };
        has_worked && is_nothing(&self.usage) && self.via != Some(Via::Gateway)
    }
}

/// Whether this is what is known where nothing is.
pub(crate) fn is_nothing(usage: &Usage) -> bool {
    usage.input == 0 && usage.output == 0
}

/// How a call ended.
#[derive(Clone, Debug)]
pub enum CallEnd {
    /// The answer came to its end.
    Complete,
    /// It went through by bytes that could not be read along: how it ended and what it used is between
    /// the provider and the client.
    Unread,
    /// The client left, or the gateway was closed, before the end. More may have been used than is known.
    BrokenOff,
    /// It failed: the gateway refused it, or the provider did or broke off.
    Failed {
        /// The status that the client was given; none if an answer had begun.
        status: Option<StatusCode>,
        /// Why.
        error: Error,
    },
}

/// Makes the one report of a call: when its end is seen, or with what is known when the last clone is
/// dropped.
#[derive(Clone)]
pub(crate) struct Meter(Arc<Open>);

struct Open {
    books: Arc<Books>,
    asked: Instant,
    /// How many bytes the request has.
    size: AtomicUsize,
    /// Gone once the report is made.
    notes: Mutex<Option<Notes>>,
}

/// What is known of a call so far.
struct Notes {
    report: CallReport,
    /// The status with which the answer began.
    status: Option<StatusCode>,
    ticket: Option<Ticket>,
    /// Whether the report has all that is used, and not what the provider said before it had answered.
    is_all: bool,
    /// Where somebody has to know, until the provider says all that is used.
    presumed: Option<Presumed>,
}

impl Meter {
    pub(crate) fn new(books: &Arc<Books>, wire: Wire, cx: &CallCx) -> Self {
        let report = CallReport {
            call: cx.call.clone(),
            session: None,
            traffic: cx.traffic.clone(),
            provider: None,
            model: String::new(),
            via: None,
            usage: Usage::default(),
            end: CallEnd::BrokenOff,
            wire,
            began: None,
            took: Duration::ZERO,
            request_bytes: 0,
        };
        let notes = Notes { report, status: None, ticket: None, is_all: false, presumed: None };
        Self(Arc::new(Open {
            books: Arc::clone(books),
            asked: Instant::now(),
            size: AtomicUsize::new(0),
            notes: Mutex::new(Some(notes)),
        }))
    }

    /// Takes note of how many bytes the request has.
    pub(crate) fn read(&self, size: usize) {
        self.0.size.store(size, Ordering::Relaxed);
    }

    /// Takes note of who will be asked, and for what.
    pub(crate) fn route(&self, traffic: &Traffic, provider: &str, model: &str) {
        self.with(|notes| {
            notes.report.traffic = traffic.clone();
            notes.report.provider = Some(provider.to_owned());
            model.clone_into(&mut notes.report.model);
        });
    }

    /// Takes note of the session, whose books will be kept too.
    pub(crate) fn session(&self, ticket: Ticket) {
        self.with(|notes| {
            notes.report.session = Some(ticket.id().clone());
            notes.ticket = Some(ticket);
        });
    }

    /// Takes note of the way, if none was noted before.
    pub(crate) fn via(&self, via: Via) {
        self.with(|notes| {
            notes.report.via.get_or_insert(via);
        });
    }

    /// Counts what is used, should the provider not say it.
    pub(crate) fn presume(&self, presumed: Presumed) {
        self.with(|notes| notes.presumed = Some(presumed));
    }

    /// Takes note of what is answered, as far as that may have to be counted.
    pub(crate) fn hear(&self, event: &StreamEvent) {
        self.with(|notes| {
            if let Some(presumed) = &mut notes.presumed {
                presumed.hear(event);
            }
        });
    }

    /// The same of a whole answer, which is complete.
    pub(crate) fn finish_with(&self, response: &Response) {
        self.with(|notes| {
            if let Some(presumed) = &mut notes.presumed {
                presumed.hear_all(response);
            }
        });
        self.finish(&response.usage);
    }

    /// Takes note that the answer begins.
    pub(crate) fn began(&self, status: StatusCode) {
        let time = self.0.asked.elapsed();
        self.with(|notes| {
            notes.report.began = Some(time);
            notes.status = Some(status);
        });
    }

    /// Takes note of usage before the end.
    pub(crate) fn note(&self, usage: &Usage) {
        self.with(|notes| {
            notes.report.usage = usage.clone();
            if let Some(presumed) = &mut notes.presumed {
                presumed.hear_usage(usage);
            }
        });
    }

    /// Takes note of all that is used, whatever becomes of the answer.
    pub(crate) fn paid(&self, usage: &Usage) {
        self.with(|notes| {
            notes.report.usage = usage.clone();
            notes.is_all = true;
            if !is_nothing(usage) {
                notes.presumed = None;
            }
        });
    }

    /// At the end of the answer.
    pub(crate) fn finish(&self, usage: &Usage) {
        self.paid(usage);
        self.0.tell(CallEnd::Complete);
    }

    /// At the end of an answer that could not be read.
    pub(crate) fn unread(&self) {
        self.0.tell(CallEnd::Unread);
    }

    /// When it fails.
    pub(crate) fn fail(&self, status: Option<StatusCode>, error: Error) {
        self.0.tell(CallEnd::Failed { status, error });
    }

    fn with(&self, note: impl FnOnce(&mut Notes)) {
        if let Some(notes) = &mut *self.0.notes.lock().unwrap_or_else(PoisonError::into_inner) {
            note(notes);
        }
    }
}

impl Open {
    fn tell(&self, end: CallEnd) {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Notes { report, mut status, ticket, is_all, presumed }) = notes {
            let took = self.asked.elapsed();
            let request_bytes = self.size.load(Ordering::Relaxed);
            let mut report = CallReport { end, took, request_bytes, ..report };
            if matches!(report.end, CallEnd::Complete) && report.began.is_none() {
                // A whole answer is handed out when all of it is there.
                report.began = Some(took);
                status = Some(StatusCode::OK);
            }
            let counts = |presumed: &Presumed| presumed.has_heard() || report.is_untold();
            let presumed = presumed.filter(|_| report.via != Some(Via::Gateway)).filter(counts);
            if let Some(presumed) = presumed {
                return Ended { report, began: status, ticket, presumed }.close(&self.books);
            }
            let spent = if is_all || is_nothing(&report.usage) { Spent::Told } else { Spent::More };
            self.books.close(report, status, ticket, &spent);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.tell(CallEnd::BrokenOff);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use junto_llm::ErrorKind;

    /// What a meter told: tokens in and out, and how it ended.
    pub(crate) fn told(by: impl FnOnce(Meter)) -> Vec<(u64, u64, String)> {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let book = Arc::clone(&reports);
        let books = Books::for_tests(move |report: CallReport| {
            book.lock().unwrap().push((report.usage.input, report.usage.output, word(&report.end)));
        });
        by(Meter::new(&books, Wire::Anthropic, &CallCx::new()));
        let reports = reports.lock().unwrap();
        reports.clone()
    }

    fn word(end: &CallEnd) -> String {
        match end {
            CallEnd::Complete => "complete".to_owned(),
            CallEnd::Unread => "unread".to_owned(),
            CallEnd::BrokenOff => "broken off".to_owned(),
            CallEnd::Failed { status, error } => {
                let status = status.map_or("begun".to_owned(), |status| status.as_u16().to_string());
                format!("{status} {}", error.kind().as_str())
            }
        }
    }

    #[test]
    fn every_call_makes_one_report() {
        let check = |by: fn(Meter), input: u64, end: &str| {
            let found: Vec<(u64, String)> =
                told(by).into_iter().map(|(input, _, end)| (input, end)).collect();
            assert_eq!(found, [(input, end.to_owned())]);
        };
        check(drop, 0, "broken off");
        check(|meter| meter.note(&Usage::new(3, 0)), 3, "broken off");
        check(
            |meter| {
                meter.note(&Usage::new(3, 0));
                meter.finish(&Usage::new(4, 1));
                meter.finish(&Usage::new(9, 9));
                meter.unread();
            },
            4,
            "complete",
        );
        check(
            |meter| {
                let shared = meter.clone();
                drop(meter);
                shared.fail(Some(StatusCode::BAD_REQUEST), Error::new(ErrorKind::InvalidRequest, "no"));
            },
            0,
            "400 invalid_request",
        );
    }
}
