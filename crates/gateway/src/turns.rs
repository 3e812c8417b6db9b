//! A connection's future, which does in one turn whatever can be done.
//!
//! What serves a connection is made of parts that hand things to each other: the reader of a request's body to whoever
//! asked for it, a provider's connection to whoever waits for the answer. Each time one of them wakes the very task that
//! is at work, the scheduler would put that task at the end of its queue and wake another thread to have a look at it,
//! which takes longer than all that is left to be done. Here such a call is heard at once.
//!
//! And what need not be done before a client has its bytes is done after them: when a turn is over they are written.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

use crate::aside::Desk;

/// How often a future is asked again within one turn; then others have theirs.
const MOST: usize = 16;

/// A future that is polled until it has nothing more to do.
pub(crate) struct Turns<F> {
    future: Pin<Box<F>>,
    bell: Arc<Bell>,
    waker: Waker,
    /// After the future, which may still have something to be written down when it is dropped.
    after: After,
}

impl<F> Turns<F> {
    pub(crate) fn new(future: F, desk: Arc<Desk>) -> Self {
        let bell = Arc::<Bell>::default();
        Self { future: Box::pin(future), waker: Arc::clone(&bell).into(), bell, after: After(desk) }
    }
}

impl<F: Future> Future for Turns<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        this.bell.task.register(cx.waker());
        this.bell.is_heard.store(true, Ordering::SeqCst);
        let mut within = Context::from_waker(&this.waker);
        let mut result = Poll::Pending;
        for _ in 0..MOST {
            this.bell.rang.store(false, Ordering::SeqCst);
            result = this.future.as_mut().poll(&mut within);
            if result.is_ready() || !this.bell.rang.load(Ordering::SeqCst) {
                break;
            }
        }
        this.after.work();
        this.bell.is_heard.store(false, Ordering::SeqCst);
        if result.is_pending() && this.bell.rang.load(Ordering::SeqCst) {
            cx.waker().wake_by_ref();
        }
        result
    }
}

/// Who is woken: the task if it sleeps, else the turn that it has.
#[derive(Default)]
struct Bell {
    task: AtomicWaker,
    /// Whether somebody is at work, who will see that it rang.
    is_heard: AtomicBool,
    rang: AtomicBool,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // In this order: whoever ends a turn first says that nobody listens, and then looks whether it rang.
        self.rang.store(true, Ordering::SeqCst);
        if !self.is_heard.load(Ordering::SeqCst) {
            self.task.wake();
        }
    }
}

/// What is done after a turn.
struct After(Arc<Desk>);

impl After {
    fn work(&self) {
        self.0.read();
    }
}

impl Drop for After {
    fn drop(&mut self) {
        self.work();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::books::Books;
    use futures_util::future::poll_fn;
    use std::sync::atomic::AtomicUsize;
    use tokio_util::task::TaskTracker;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// How often a future is polled, and its task woken, in one turn.
    fn turn(future: impl Fn(usize, &Waker) -> Poll<()>) -> (usize, usize) {
        let (polls, woken) = (AtomicUsize::new(0), Arc::<Count>::default());
        let counted = poll_fn(|cx| future(polls.fetch_add(1, Ordering::SeqCst), cx.waker()));
        let mut turns = Turns::new(counted, Desk::new(Books::for_tests(drop), None, TaskTracker::new()));
        let waker = Waker::from(Arc::clone(&woken));
        let _ = Pin::new(&mut turns).poll(&mut Context::from_waker(&waker));
        (polls.load(Ordering::SeqCst), woken.0.load(Ordering::SeqCst))
    }

    #[test]
    fn what_wakes_itself_is_asked_again_at_once() {
        assert_eq!(turn(|_, _| Poll::Pending), (1, 0));
        let thrice = |at, waker: &Waker| {
            if at < 2 {
                waker.wake_by_ref();
            }
            Poll::Pending
        };
        assert_eq!(turn(thrice), (3, 0));
        let done = |_, waker: &Waker| {
            waker.wake_by_ref();
            Poll::Ready(())
        };
        assert_eq!(turn(done), (1, 0));
    }

    #[test]
    fn one_that_never_rests_lets_others_have_their_turn() {
        let restless = |_, waker: &Waker| {
            waker.wake_by_ref();
            Poll::Pending
        };
        assert_eq!(turn(restless), (MOST, 1));
    }

    #[test]
    fn one_that_sleeps_is_woken() {
        let kept = std::sync::Mutex::new(None);
        let woken = Arc::<Count>::default();
        let future = poll_fn(|cx| {
            *kept.lock().unwrap() = Some(cx.waker().clone());
            Poll::<()>::Pending
        });
        let mut turns = Turns::new(future, Desk::new(Books::for_tests(drop), None, TaskTracker::new()));
        let waker = Waker::from(Arc::clone(&woken));
        assert!(Pin::new(&mut turns).poll(&mut Context::from_waker(&waker)).is_pending());
        kept.lock().unwrap().take().unwrap().wake();
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    }
}
