//! Writes down what became of calls, on a thread of its own: no answer waits for the disk. What people are told of it
//! goes on to [the printer](super::printer): nobody who does not read it keeps anything from the books.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use junto::gateway::CallReport;

use super::memory::Memory;

/// How many reports may wait to be written. Whoever brings another then waits: none is lost.
const MOST: usize = 1024;
/// How long it rests after a report: those that come meanwhile need not wake it, which each time would take a core from
/// an answer that is on its way.
///
/// From the least to twice as long, each time another: calls that come at a steady pace would else be met at the same
/// point each time, where it may be that each is answered just then.
const REST: Duration = Duration::from_millis(5);

/// How many it writes one by one, letting others go first between two. Where more have come while it rested everybody is
/// busy, and to change places that often takes longer than to write.
const FEW: usize = 32;

/// After how many calls memory is given back, and how long none must have ended before: then it is quiet.
const MANY: usize = 256;
/// A call whose request is larger counts as several, one for each so many bytes: to read it takes many times that.
const LARGE: usize = 8 * 1024;
const QUIET: Duration = Duration::from_millis(100);

/// How far it stands back (`nice`): what became of a call can wait for a core, and an answer on its way cannot.
#[cfg(target_os = "linux")]
const BEHIND: i32 = 5;

/// How many that were written whoever brings one takes back, and how many wait for that at most.
const TAKEN_BACK: usize = 2;
const MOST_BACK: usize = 128;

/// Dropping it writes what is left.
pub(super) struct Clerk {
    /// None in it says that there will be no more.
    reports: SyncSender<Option<CallReport>>,
    written: Arc<Written>,
    thread: Option<JoinHandle<()>>,
}

/// Reports that were written, for those who made them to free: where one thread frees what another makes, each waits for
/// the other's lock, and whoever stands back may be holding it.
#[derive(Default)]
struct Written(Mutex<Vec<CallReport>>);

impl Written {
    fn put(&self, report: CallReport) {
        let mut written = self.reports();
        if written.len() < MOST_BACK {
            written.push(report);
        }
    }

    /// Frees some. They are few: where more were brought at once than are taken back, the clerk frees them.
    fn take_back(&self) {
        // Nobody waits for it.
        let Ok(mut written) = self.0.try_lock() else { return };
        let left = written.len().saturating_sub(TAKEN_BACK);
        let back = written.split_off(left);
        drop(written);
        drop(back);
    }

    fn free(&self) {
        drop(std::mem::take(&mut *self.reports()));
    }

    fn reports(&self) -> MutexGuard<'_, Vec<CallReport>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clerk {
    /// One that does this with each report, in the order in which they come.
    pub(super) fn start(write: impl FnMut(&CallReport) + Send + 'static) -> io::Result<Self> {
        let (reports, received) = sync_channel(MOST);
        let written = Arc::<Written>::default();
        let back = Arc::clone(&written);
        let work = move || work(&received, &back, write);
        let thread = thread::Builder::new().name("junto-clerk".into()).spawn(work)?;
        Ok(Self { reports, written, thread: Some(thread) })
    }

    /// Takes reports for it.
    pub(super) fn desk(&self) -> impl Fn(CallReport) + Send + Sync + 'static {
        let (reports, written) = (self.reports.clone(), Arc::clone(&self.written));
        move |report| {
            written.take_back();
            // If it is gone, so is everybody who would have read.
            drop(reports.send(Some(report)));
        }
    }
}

impl Drop for Clerk {
    fn drop(&mut self) {
        drop(self.reports.send(None));
        if let Some(thread) = self.thread.take() {
            // Should it have panicked, that was said.
            let _ = thread.join();
        }
    }
}

fn work(reports: &Receiver<Option<CallReport>>, back: &Written, mut write: impl FnMut(&CallReport)) {
    // Here that is this thread; elsewhere it would be the whole process. If it is refused, nothing is lost.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, BEHIND);
    let random = RandomState::new();
    let mut calls: usize = 0;
    let mut memory = Memory::default();
    let mut write = |report: CallReport, calls: &mut usize| {
        *calls = calls.saturating_add(weight(&report));
        write(&report);
        back.put(report);
    };
    while let Some(report) = next(reports, back, &mut calls, &mut memory) {
        write(report, &mut calls);
        let [part, ..] = random.hash_one(calls).to_le_bytes();
        thread::sleep(REST + REST * u32::from(part) / 256);
        for written in 0_usize.. {
            match reports.try_recv() {
                Ok(Some(report)) => {
                    write(report, &mut calls);
                    if written < FEW {
                        thread::yield_now();
                    }
                }
                Ok(None) => return,
                Err(_) => break,
            }
        }
    }
}

/// As how many calls one counts.
fn weight(report: &CallReport) -> usize {
    1 + report.request_bytes / LARGE
}

/// The next report, however long that takes. If there were many, and it gets quiet, memory is given back meanwhile.
fn next(
    reports: &Receiver<Option<CallReport>>,
    back: &Written,
    calls: &mut usize,
    memory: &mut Memory,
) -> Option<CallReport> {
    if *calls >= MANY {
        match reports.recv_timeout(QUIET) {
            Ok(report) => return report,
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {
                back.free();
                memory.when_quiet();
                *calls = 0;
            }
        }
    }
    reports.recv().ok().flatten()
}
