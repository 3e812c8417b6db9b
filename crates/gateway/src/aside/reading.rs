//! The thread on which copies are read that can wait.
//!
//! To read a request and its answer for the books takes as long as to hand both on. Done by whoever serves the connection,
//! it keeps a core from the next request, which may be there already. This thread stands back behind all others, and
//! takes what has come meanwhile in one go.
//!
//! What it has read goes back to those who serve, who made it and free it: where one thread frees what another makes,
//! each waits for the other's lock, and whoever stands back may be holding it.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use tokio::sync::oneshot;

use super::Copy;
use crate::books::Books;

/// How many copies may wait. Whoever has another reads it himself then, so that what waits is bounded whatever comes.
const MOST: usize = 128;
/// How long those that come may wait for each other, at least, unless half of the room is taken; at most twice as long.
/// Each time another: requests that come at a steady pace would else be met at the same point each time, where it may be
/// that each is answered just then.
const REST: Duration = Duration::from_millis(15);
/// How often it looks whether there is something, before it has itself woken, and frees what was read: where requests
/// keep coming nobody takes the time to wake it.
const LOOKS: u32 = 16;
/// While no more than this many wait it lets others go first after each. Where more do, everybody is busy, and to change
/// places that often takes longer than to read.
const FEW: usize = MOST / 4;
/// How many that were read whoever brings one takes back.
const TAKEN_BACK: usize = 2;
/// How far it stands back (`nice`): as far as there is. It cannot starve, since what it has no time for others do.
#[cfg(target_os = "linux")]
const BEHIND: i32 = 19;

/// The way to the thread. It ends when nobody has one any more.
#[derive(Clone)]
pub(crate) struct Reading {
    copies: SyncSender<Arc<Copy>>,
    thread: Thread,
    shared: Arc<Shared>,
}

/// What both sides know.
#[derive(Default)]
struct Shared {
    /// How many copies wait.
    waiting: AtomicUsize,
    /// Those that were read.
    read: Mutex<Vec<Arc<Copy>>>,
}

/// Tells when the thread has read everything.
pub(crate) struct Done(oneshot::Receiver<()>);

impl Reading {
    /// Starts the thread; none if the system has no room for another.
    pub(crate) fn start(books: Arc<Books>) -> Option<(Self, Done)> {
        let (copies, waiting) = sync_channel(MOST);
        let (ends, ended) = oneshot::channel();
        let shared = Arc::new(Shared::default());
        let other = Arc::clone(&shared);
        let work = move || {
            other.work(&waiting, &books);
            drop(ends);
        };
        let thread = thread::Builder::new().name("junto-reading".into()).spawn(work).ok()?;
        Some((Self { copies, thread: thread.thread().clone(), shared }, Done(ended)))
    }

    /// Takes a copy, if there is room.
    pub(super) fn take(&self, copy: &Arc<Copy>) -> bool {
        self.shared.take_back();
        // Before it is there, so that it is not taken from a number that does not have it.
        let before = self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        let is_taken = self.copies.try_send(Arc::clone(copy)).is_ok();
        if !is_taken {
            self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        if before == MOST / 2 {
            self.thread.unpark();
        }
        is_taken
    }
}

impl Done {
    pub(crate) async fn wait(self) {
        // It says nothing; that it is gone is the end.
        let _ = self.0.await;
    }
}

impl Shared {
    fn work(&self, copies: &Receiver<Arc<Copy>>, books: &Books) {
        // Here that is this thread; elsewhere it would be the whole process. If it is refused, nothing is lost.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::setpriority_process(None, BEHIND);
        let random = RandomState::new();
        let mut looks = LOOKS;
        for turn in 0_u64.. {
            let mut first = None;
            if looks == LOOKS {
                drop(std::mem::take(&mut *self.read()));
                let Ok(woken_by) = copies.recv() else { return };
                first = Some(woken_by);
            }
            let [part, ..] = random.hash_one(turn).to_le_bytes();
            // It may be woken for no reason: then there is less to read.
            thread::park_timeout(REST + REST * u32::from(part) / 256);
            looks += 1;
            loop {
                let copy = match first.take().map_or_else(|| copies.try_recv(), Ok) {
                    Ok(copy) => copy,
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return,
                };
                looks = 0;
                let waiting = self.waiting.fetch_sub(1, Ordering::Relaxed);
                // Whoever is told of it may panic, and this thread is everybody's.
                books.guard(|| {
                    copy.read();
                });
                books.backlog.remove(&copy);
                self.read().push(copy);
                if waiting <= FEW {
                    // Whoever came meanwhile need not wait for all of them: the kernel lets even this thread have its
                    // time once it has a core.
                    thread::yield_now();
                }
            }
        }
    }

    fn read(&self) -> MutexGuard<'_, Vec<Arc<Copy>>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees some that were read. They are few: where more were brought at once than are taken back, whoever brought
    /// them has read some himself.
    fn take_back(&self) {
        // Nobody waits for it.
        let Ok(mut read) = self.read.try_lock() else { return };
        let left = read.len().saturating_sub(TAKEN_BACK);
        let back = read.split_off(left);
        drop(read);
        drop(back);
    }
}
