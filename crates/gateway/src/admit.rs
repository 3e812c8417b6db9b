//! How much work is taken on: so many calls run, so many wait, others are refused.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bounds the calls that run, and those that wait to.
#[derive(Debug)]
pub(crate) struct Admission {
    /// One for each call that runs or waits.
    places: Arc<Semaphore>,
    /// One for each call that runs.
    running: Arc<Semaphore>,
    /// How many there are of both.
    most: (usize, usize),
}

/// A place in the house; from here the call waits until it may run.
#[derive(Debug)]
pub(crate) struct Place {
    place: OwnedSemaphorePermit,
    running: Arc<Semaphore>,
}

/// Held for as long as a call runs.
#[derive(Debug)]
pub(crate) struct Permit {
    _place: OwnedSemaphorePermit,
    _run: OwnedSemaphorePermit,
}

impl Admission {
    /// Lets this many calls run and this many more wait.
    pub(crate) fn new(running: usize, waiting: usize) -> Self {
        let running = running.clamp(1, Semaphore::MAX_PERMITS);
        let places = running.saturating_add(waiting).min(Semaphore::MAX_PERMITS);
        Self {
            places: Arc::new(Semaphore::new(places)),
            running: Arc::new(Semaphore::new(running)),
            most: (places, running),
        }
    }

    /// How many calls run.
    pub(crate) fn running(&self) -> usize {
        self.most.1.saturating_sub(self.running.available_permits())
    }

    /// How many wait to.
    pub(crate) fn waiting(&self) -> usize {
        let inside = self.most.0.saturating_sub(self.places.available_permits());
        inside.saturating_sub(self.running())
    }

    /// A place, unless the house is full.
    pub(crate) fn enter(&self) -> Option<Place> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(Place { place, running: Arc::clone(&self.running) })
    }
}

impl Place {
    /// Waits, first come first served, until the call may run. None if the gateway is gone.
    pub(crate) async fn run(self) -> Option<Permit> {
        let run = self.running.acquire_owned().await.ok()?;
        Some(Permit { _place: self.place, _run: run })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[test]
    fn some_run_some_wait_and_the_rest_is_refused() {
        let admission = Admission::new(1, 1);
        let first = admission.enter().unwrap().run().now_or_never().unwrap().unwrap();
        let mut second = Box::pin(admission.enter().unwrap().run());
        assert!(second.as_mut().now_or_never().is_none(), "it waits");
        assert!(admission.enter().is_none(), "the house is full");
        assert_eq!((admission.running(), admission.waiting()), (1, 1));
        drop(first);
        let second = second.now_or_never().unwrap().unwrap();
        assert_eq!((admission.running(), admission.waiting()), (1, 0));
        assert!(admission.enter().is_some());
        drop(second);
    }

    #[test]
    fn one_that_gives_up_waiting_leaves_its_place() {
        let admission = Admission::new(1, 1);
        let _first = admission.enter().unwrap().run().now_or_never().unwrap().unwrap();
        drop(admission.enter().unwrap().run());
        assert!(admission.enter().is_some());
    }

    #[test]
    fn at_least_one_runs() {
        assert!(Admission::new(0, 0).enter().is_some());
    }
}
