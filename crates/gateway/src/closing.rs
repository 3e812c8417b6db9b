//! Calls that have ended, but for what they used, which is still to be counted.
//!
//! To count takes the longer the more was said: a tenth of a second for a megabyte. So it is done where nobody else waits
//! for the thread; and whoever looks at the books before it is done does it himself, or waits for who does.

use std::sync::{Arc, Mutex, PoisonError};

use http::StatusCode;
use tokio::runtime::Handle;

use crate::books::{Books, Spent};
use crate::presumed::Presumed;
use crate::report::CallReport;
use crate::sessions::Ticket;

/// Such a call.
pub(crate) struct Ended {
    pub(crate) report: CallReport,
    /// The status with which the answer began.
    pub(crate) began: Option<StatusCode>,
    pub(crate) ticket: Option<Ticket>,
    pub(crate) presumed: Presumed,
}

impl Ended {
    /// Counts and closes it: at once if that takes no time, or if this is nobody's thread but that of whoever keeps books.
    pub(crate) fn close(self, books: &Arc<Books>) {
        let runtime = Handle::try_current().ok().filter(|_| self.presumed.is_long());
        let Some(runtime) = runtime else { return self.write(books) };
        let closing = Arc::new(Closing(Mutex::new(Some(self))));
        books.backlog.close(&closing);
        let last = Last { closing, books: Arc::clone(books) };
        // Should nobody come to do it any more, it is done when it is dropped.
        drop(runtime.spawn(books.long.clone().run(move || drop(last))));
    }

    fn write(self, books: &Books) {
        let Self { report, began, ticket, presumed } = self;
        books.close(report, began, ticket, &Spent::Presumed(presumed.usage()));
    }
}

/// One that is counted by whoever comes first.
pub(crate) struct Closing(Mutex<Option<Ended>>);

impl Closing {
    /// When this returns it is closed.
    pub(crate) fn close(&self, books: &Books) {
        let mut ended = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ended) = ended.take() {
            books.guard(|| ended.write(books));
        }
    }
}

/// Closes it at the latest when this is dropped.
struct Last {
    closing: Arc<Closing>,
    books: Arc<Books>,
}

impl Drop for Last {
    fn drop(&mut self) {
        self.closing.close(&self.books);
        self.books.backlog.closed(&self.closing);
    }
}
