//! The threads that keep children: each has one at a time, from its start to its end.
//!
//! One that has lost its child waits a little for another: commands come in rows, and to start a thread
//! for each costs a part of what a short command takes.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// A keeper only starts a program and waits.
const STACK: usize = 256 << 10;
/// How long an idle one waits.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many wait at most.
const MOST_IDLE: usize = 4;

/// Everything a keeper does for one child.
pub(super) type Work = Box<dyn FnOnce() + Send>;

struct Idle {
    thread: ThreadId,
    /// Has room for the one piece of work that it is sent.
    work: SyncSender<Work>,
}

static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

fn idle() -> MutexGuard<'static, Vec<Idle>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a thread do the work that has nothing else to do.
pub(super) fn keep(work: Work) -> io::Result<()> {
    let waiting = idle().pop();
    let work = match waiting {
        // Whoever was taken from the list waits until it is sent something.
        Some(idle) => match idle.work.send(work) {
            Ok(()) => return Ok(()),
            Err(unsent) => unsent.0,
        },
        None => work,
    };
    let keeper = thread::Builder::new().name("junto-child".into()).stack_size(STACK);
    keeper.spawn(move || serve(work)).map(drop)
}

/// Has a thread do the work that does nothing else before or after: one that confines itself.
pub(super) fn keep_alone(work: Work) -> io::Result<()> {
    let keeper = thread::Builder::new().name("junto-confined".into()).stack_size(STACK);
    keeper.spawn(work).map(drop)
}

fn serve(first: Work) {
    let (sender, works) = sync_channel(1);
    let mut next = Some(first);
    while let Some(work) = next {
        work();
        next = wait(&sender, &works);
    }
}

/// The next work; none if enough others wait for it, or it does not come.
fn wait(sender: &SyncSender<Work>, works: &Receiver<Work>) -> Option<Work> {
    let own = thread::current().id();
    {
        let mut idle = idle();
        if idle.len() >= MOST_IDLE {
            return None;
        }
        idle.push(Idle { thread: own, work: sender.clone() });
    }
    match works.recv_timeout(PATIENCE) {
        Ok(work) => Some(work),
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => {
            let mut idle = idle();
            if let Some(place) = idle.iter().position(|idle| idle.thread == own) {
                idle.remove(place);
                return None;
            }
            // Taken from the list this moment: the work is on its way.
            drop(idle);
            works.recv().ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thread that did some work, and has had time to wait for more.
    fn thread_of(work: impl FnOnce() + Send + 'static) -> ThreadId {
        let (sender, thread) = sync_channel(1);
        keep(Box::new(move || {
            work();
            sender.send(thread::current().id()).unwrap();
        }))
        .unwrap();
        let thread = thread.recv().unwrap();
        while !idle().iter().any(|idle| idle.thread == thread) {
            thread::yield_now();
        }
        thread
    }

    #[test]
    fn an_idle_keeper_is_taken_again_and_a_busy_one_is_not() {
        let first = thread_of(|| {});
        assert_eq!(thread_of(|| {}), first);
        let inner = thread_of(move || {
            let own = thread::current().id();
            assert_ne!(thread_of(|| {}), own);
        });
        assert_eq!(inner, first);
    }
}
