//! One call, paid for.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt as _};

use super::Entry;
use super::bid::{Bid, Paid};
use super::bound::{Output, Size};
use super::tally::{Asked, Count};
use crate::catalog::Catalog;
use crate::{
    CallCx, Cost, Error, ErrorKind, EventStream, Request, Response, Spending, StreamEvent, Usage, Warning,
};

/// A call whose worst case is set aside. What it used is booked when it ends, once, however it ends.
pub(crate) struct Ticket {
    /// Gone once the call has ended.
    open: Option<Open>,
    /// What the provider has told of the usage before the end.
    known: Option<Usage>,
    /// The model, as the provider names it.
    answered_by: Option<String>,
    /// Whether the model began to answer.
    began: bool,
    /// Whether it may have begun unseen.
    awaited: bool,
    /// How many bytes of an answer were seen.
    seen: u64,
}

struct Open {
    paid: Paid,
    catalog: Catalog,
    asked: Asked,
    /// The request's size, where it was measured.
    size: Option<Size>,
    cx: CallCx,
}

/// How a call ended.
enum End<'a> {
    Finished(&'a Usage),
    Failed(&'a Error),
    Dropped,
}

impl Ticket {
    /// Sets aside the worst case of a request: all it can read at the dearest rate, and the longest answer
    /// that it allows. Where that is not left and a shorter answer would fit, the request's limit is
    /// lowered. Where others have set aside what would be enough, this waits for them.
    ///
    /// # Errors
    /// `quota` if the budget cannot pay, see [`Error::exhausted`]; `configuration` for a model of unknown
    /// price under a limit of money; `aborted` if it was cancelled while it waited.
    pub(crate) async fn buy(
        catalog: &Catalog,
        provider: &str,
        request: &mut Request,
        cx: &CallCx,
    ) -> Result<Self, Error> {
        let model = request.model.clone().unwrap_or_default();
        let asked = Asked { provider: provider.to_owned(), model };
        let (paid, size) = if cx.budget.left().is_unlimited() {
            let reservation = cx.budget.reserve(Spending::NOTHING)?;
            (Paid { reservation, worst: Spending::NOTHING, longest: u64::MAX, warning: None }, None)
        } else {
            let own = catalog.of(provider, &asked.model);
            let known = own.or_else(|| catalog.get(&asked.model));
            let size = Size::of(request, cx.counts.get(&asked), known);
            let output = Output::of(request, known);
            let price = own.and_then(|model| model.price);
            let bid = Bid { asked: &asked, input: size.tokens, output, price };
            (Box::pin(bid.place(request, cx)).await?, Some(size))
        };
        let open = Open { paid, catalog: catalog.clone(), asked, size, cx: cx.clone() };
        Ok(Self { open: Some(open), known: None, answered_by: None, began: false, awaited: false, seen: 0 })
    }

    /// Books a call for a whole answer, and puts what is to be said of it into the answer.
    pub(crate) fn close(mut self, mut result: Result<Response, Error>) -> Result<Response, Error> {
        match &mut result {
            Ok(response) => {
                self.answered_by = Some(response.model.clone());
                response.warnings.extend(self.warning());
                self.end(&End::Finished(&response.usage));
            }
            Err(error) => {
                // Whether the model was at work when the time was up nobody says.
                self.began = matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Aborted);
                self.end(&End::Failed(error));
            }
        }
        result
    }

    /// Notes that the provider has the request, or will have it: if nobody waits for the answer any longer,
    /// the model may have been at work.
    pub(crate) fn awaits(&mut self) {
        self.awaited = true;
    }

    /// A streamed answer, which is booked when it has ended.
    pub(crate) fn follow(mut self, events: Result<EventStream, Error>) -> Result<EventStream, Error> {
        match events {
            Ok(events) => {
                self.awaits();
                Ok(EventStream::new(Followed { events, ticket: self }))
            }
            Err(error) => {
                self.end(&End::Failed(&error));
                Err(error)
            }
        }
    }

    /// What is to be said of the call, once.
    fn warning(&mut self) -> Option<Warning> {
        self.open.as_mut().and_then(|open| open.paid.warning.take())
    }

    fn note(&mut self, item: &mut Result<StreamEvent, Error>) {
        self.began |= item.is_ok();
        match item {
            Ok(StreamEvent::StreamStart { model, usage, warnings, .. }) => {
                self.answered_by = Some(model.clone());
                self.known.clone_from(usage);
                warnings.extend(self.warning());
            }
            Ok(StreamEvent::TextDelta { text, .. } | StreamEvent::ReasoningDelta { text, .. }) => {
                self.seen = self.seen.saturating_add(text.len() as u64);
            }
            Ok(StreamEvent::ToolCallDelta { arguments, .. }) => {
                self.seen = self.seen.saturating_add(arguments.len() as u64);
            }
            Ok(StreamEvent::Finish { usage, .. }) => self.end(&End::Finished(usage)),
            Ok(_) => {}
            Err(error) => self.end(&End::Failed(error)),
        }
    }

    fn end(&mut self, end: &End<'_>) {
        let Some(Open { paid, catalog, asked, size, cx }) = self.open.take() else { return };
        let Paid { reservation, worst, longest, .. } = paid;
        let cost_of = |usage: &Usage| {
            let names = self.answered_by.iter().chain([&asked.model]);
            let mut costs = names.map(|model| catalog.cost(&asked.provider, model, usage));
            costs.find(|cost| *cost != Cost::Unknown).unwrap_or(Cost::Unknown)
        };
        let (usage, cost, actual) = match end {
            // A provider that does not count has told nothing.
            End::Finished(usage) if usage.total > 0 => {
                let cost = cost_of(usage);
                if let Some(Size { messages, print, .. }) = size {
                    cx.counts.set(asked.clone(), Count { messages, print, tokens: usage.total });
                }
                ((*usage).clone(), cost, Spending { cost, tokens: usage.total })
            }
            End::Finished(usage) => ((*usage).clone(), Cost::Unknown, worst),
            // It used nothing: the reservation is given back.
            End::Failed(_) if !self.began => return,
            End::Dropped if !self.began && !self.awaited => return,
            End::Failed(_) | End::Dropped => match self.known.take() {
                Some(known) => {
                    // Each token of what was seen has at least a byte.
                    let output = known.output.max(self.seen.min(longest));
                    let total = known.input.saturating_add(output);
                    let cost = cost_of(&Usage { output, total, ..known.clone() });
                    (known, Cost::Unknown, Spending { cost, tokens: total })
                }
                None => (Usage::default(), Cost::Unknown, worst),
            },
        };
        reservation.settle(actual);
        if let Some(tally) = &cx.tally {
            let model = self.answered_by.as_deref().filter(|model| !model.is_empty()).unwrap_or(&asked.model);
            let error = match end {
                End::Finished(_) => None,
                End::Failed(error) => Some((*error).clone()),
                End::Dropped => Some(Error::new(ErrorKind::Aborted, "nobody waited for its end")),
            };
            tally.add(Entry { error, ..Entry::new(&cx, &asked.provider, model, usage, cost) });
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.end(&End::Dropped);
    }
}

/// A streamed answer and its ticket.
struct Followed {
    events: EventStream,
    ticket: Ticket,
}

impl Stream for Followed {
    type Item = Result<StreamEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut next = self.events.poll_next_unpin(cx);
        if let Poll::Ready(Some(item)) = &mut next {
            self.ticket.note(item);
        }
        next
    }
}
