//! Who writes which file when.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use junto_env::RealPath;
use tokio_util::sync::CancellationToken;

/// The queues before the files that are being written: calls that write the same file run one after another,
/// in the order in which they joined, whoever made them.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathQueues(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    next: AtomicU64,
    /// Those that queue at each file and are not done, each with what says that it is.
    files: Mutex<HashMap<RealPath, Vec<(u64, CancellationToken)>>>,
}

/// A place in the queues of some files. It is given up when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    queues: PathQueues,
    id: u64,
    paths: BTreeSet<RealPath>,
    /// Those before it, at any of the files.
    before: Vec<CancellationToken>,
    done: CancellationToken,
}

impl PathQueues {
    fn files(&self) -> MutexGuard<'_, HashMap<RealPath, Vec<(u64, CancellationToken)>>> {
        self.0.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins the queues of all these files at once, so that no two can wait for each other.
    pub(crate) fn join<'a>(&self, paths: impl IntoIterator<Item = &'a RealPath>) -> Turn {
        let paths: BTreeSet<RealPath> = paths.into_iter().cloned().collect();
        let (id, done) = (self.0.next.fetch_add(1, Ordering::Relaxed), CancellationToken::new());
        let mut before = Vec::new();
        let mut files = self.files();
        for path in &paths {
            let queue = files.entry(path.clone()).or_default();
            before.extend(queue.iter().map(|(_, done)| done.clone()));
            queue.push((id, done.clone()));
        }
        drop(files);
        Turn { queues: self.clone(), id, paths, before, done }
    }
}

impl Turn {
    /// Waits for everybody who was there before.
    pub(crate) async fn comes(&self) {
        for done in &self.before {
            done.cancelled().await;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut files = self.queues.files();
        for path in &self.paths {
            if let Some(queue) = files.get_mut(path) {
                queue.retain(|(id, _)| *id != self.id);
                if queue.is_empty() {
                    files.remove(path);
                }
            }
        }
        drop(files);
        self.done.cancel();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn path(name: &str) -> RealPath {
        RealPath::resolved(format!("/{name}"))
    }

    fn has_come(turn: &Turn) -> bool {
        turn.comes().now_or_never().is_some()
    }

    #[test]
    fn those_at_one_file_come_in_order_and_others_do_not_wait() {
        let queues = PathQueues::default();
        let (a, b, c) = (path("a"), path("b"), path("c"));
        let first = queues.join([&a, &b, &a]);
        let second = queues.join([&b, &c]);
        let third = queues.join([&c]);
        let apart = queues.join([&path("d")]);
        let nothing = queues.join([]);
        assert_eq!(
            [&first, &second, &third, &apart, &nothing].map(has_come),
            [true, false, false, true, true]
        );
        drop(first);
        assert_eq!([&second, &third].map(has_come), [true, false]);
        drop(second);
        assert!(has_come(&third));
        drop((third, apart, nothing));
        assert!(queues.files().is_empty());
    }

    #[test]
    fn one_that_leaves_lets_nobody_past_those_before_it() {
        let queues = PathQueues::default();
        let a = path("a");
        let (first, second, third) = (queues.join([&a]), queues.join([&a]), queues.join([&a]));
        drop(second);
        assert!(!has_come(&third));
        drop(first);
        assert!(has_come(&third));
    }
}
