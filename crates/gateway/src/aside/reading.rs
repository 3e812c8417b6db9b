//! The thread on which copies are read that can wait.
//!
//! To read a request and its answer for the books takes as long as to hand both on. Done by whoever serves the connection,
//! it keeps a core from the next request, which may be there already. This thread stands back behind all others, and
//! takes what has come meanwhile in one go.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use super::Copy;
use crate::books::Books;

/// How many copies may wait. Whoever has another reads it himself then, so that what waits is bounded whatever comes.
const MOST: usize = 128;
/// How long those that come may wait for each other: to wake a thread for each would take longer than to read it.
const REST: Duration = Duration::from_millis(5);
/// How far it stands back (`nice`): as far as there is. It cannot starve, since what it has no time for others do.
#[cfg(target_os = "linux")]
const BEHIND: i32 = 19;

/// The way to the thread. It ends when nobody has one any more.
#[derive(Clone)]
pub(crate) struct Reading(SyncSender<Arc<Copy>>);

/// Tells when the thread has read everything.
pub(crate) struct Done(oneshot::Receiver<()>);

impl Reading {
    /// Starts the thread; none if the system has no room for another.
    pub(crate) fn start(books: Arc<Books>) -> Option<(Self, Done)> {
        let (copies, waiting) = sync_channel(MOST);
        let (ends, ended) = oneshot::channel();
        let work = move || {
            read(&waiting, &books);
            drop(ends);
        };
        thread::Builder::new().name("junto-reading".into()).spawn(work).ok()?;
        Some((Self(copies), Done(ended)))
    }

    /// Takes a copy, if there is room.
    pub(super) fn take(&self, copy: &Arc<Copy>) -> bool {
        self.0.try_send(Arc::clone(copy)).is_ok()
    }
}

impl Done {
    pub(crate) async fn wait(self) {
        // It says nothing; that it is gone is the end.
        let _ = self.0.await;
    }
}

fn read(copies: &Receiver<Arc<Copy>>, books: &Books) {
    // Here that is this thread; elsewhere it would be the whole process. If it is refused, nothing is lost.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, BEHIND);
    while let Ok(first) = copies.recv() {
        thread::sleep(REST);
        for copy in std::iter::once(first).chain(copies.try_iter()) {
            copy.read();
            books.backlog.remove(&copy);
            // Whoever came meanwhile need not wait for all of them: the kernel lets even this thread have its time once it
            // has a core.
            thread::yield_now();
        }
    }
}
