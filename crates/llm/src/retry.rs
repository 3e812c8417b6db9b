//! Trying again: the one place that does.
//!
//! A retry repeats one model call, never a multi-step operation, and a stream only while nothing of
//! it was handed on. Callers compose it; providers and clients never retry by themselves.

use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio_util::sync::CancellationToken;

use crate::{Error, ErrorKind, EventStream, StreamEvent};

/// How many beginnings of segments are held back at most; one more counts as content.
const MOST_HELD: usize = 64;

/// How often and how patiently to try again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// How many times after the first.
    pub max_retries: u32,
    /// The wait before the first retry.
    pub base: Duration,
    /// By how much each wait is longer than the one before.
    pub factor: f64,
    /// The longest wait. A provider that asks for more is not asked again.
    pub cap: Duration,
    /// How much chance shortens or lengthens a wait: 0.5 is ±50 %.
    pub jitter: f64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_retries: 2,
            base: Duration::from_secs(1),
            factor: 2.0,
            cap: Duration::from_mins(1),
            jitter: 0.5,
        }
    }
}

impl Policy {
    /// No retries.
    pub const NONE: Self =
        Self { max_retries: 0, base: Duration::ZERO, factor: 1.0, cap: Duration::ZERO, jitter: 0.0 };

    /// How long to wait before retry number `retry` (from 0) of a call that failed with `error`;
    /// `None` if it should not be tried again. `chance` is between 0 and 1.
    pub fn delay(&self, retry: u32, error: &Error, chance: f64) -> Option<Duration> {
        if retry >= self.max_retries || !error.is_retryable() {
            return None;
        }
        if let Some(asked) = error.retry_after() {
            return (asked <= self.cap).then_some(asked);
        }
        let exponent = i32::try_from(retry).unwrap_or(i32::MAX);
        let spread = 1.0 + self.jitter * (2.0 * chance - 1.0);
        let seconds = self.base.as_secs_f64() * self.factor.powi(exponent) * spread;
        Some(Duration::try_from_secs_f64(seconds).unwrap_or(self.cap).min(self.cap))
    }
}

/// A retry that is about to happen.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Which retry this is, from 1.
    pub number: u32,
    /// How many there may be.
    pub of: u32,
    /// How long it waits first.
    pub delay: Duration,
    /// What failed.
    pub error: Error,
}

/// Is told of every retry, so that it can be shown.
pub type Observer = Arc<dyn Fn(&Attempt) + Send + Sync>;

/// An observer that tells nobody.
pub fn silent() -> Observer {
    Arc::new(|_| {})
}

/// Makes a call, and makes it again as the policy says.
///
/// # Errors
/// The last attempt's error; `aborted` if it was cancelled while it waited.
pub async fn call<T, F>(
    policy: &Policy,
    cancel: &CancellationToken,
    observer: &Observer,
    mut attempt: impl FnMut() -> F,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut retry = 0;
    loop {
        let error = match attempt().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        pause(policy, &mut retry, error, cancel, observer).await?;
    }
}

/// Opens a stream, and opens it again as the policy says, also when it breaks before any content
/// was handed on. That a text or reasoning begins is held back until there is something of it, so that
/// nobody has seen a beginning that another attempt makes again.
///
/// # Errors
/// As [`call`].
pub async fn stream<F>(
    policy: Policy,
    cancel: CancellationToken,
    observer: Observer,
    mut open: impl FnMut() -> F + Send + 'static,
) -> Result<EventStream, Error>
where
    F: Future<Output = Result<EventStream, Error>> + Send + 'static,
{
    struct Run<O> {
        policy: Policy,
        cancel: CancellationToken,
        observer: Observer,
        open: O,
        current: Option<EventStream>,
        retry: u32,
        /// Beginnings of segments that have nothing in them yet.
        held: Vec<StreamEvent>,
        /// What comes next.
        ready: VecDeque<StreamEvent>,
        /// Whether the start of the answer went out: a later attempt's is left out.
        started: bool,
        /// Whether content was handed on: then nothing is tried again, whoever the error is from.
        delivered: bool,
        over: bool,
    }

    let mut retry = 0;
    let first = loop {
        match open().await {
            Ok(events) => break events,
            Err(error) => pause(&policy, &mut retry, error, &cancel, &observer).await?,
        }
    };
    let run = Run {
        policy,
        cancel,
        observer,
        open,
        current: Some(first),
        retry,
        held: Vec::new(),
        ready: VecDeque::new(),
        started: false,
        delivered: false,
        over: false,
    };
    Ok(EventStream::new(stream::unfold(run, |mut run| async move {
        loop {
            if let Some(event) = run.ready.pop_front() {
                return Some((Ok(event), run));
            }
            if run.over {
                return None;
            }
            let step = match &mut run.current {
                Some(events) => events.next().await,
                None => match (run.open)().await {
                    Ok(events) => {
                        run.current = Some(events);
                        continue;
                    }
                    Err(error) => Some(Err(error)),
                },
            };
            let item = match step {
                None => {
                    run.over = true;
                    run.ready.extend(run.held.drain(..));
                    continue;
                }
                Some(Ok(StreamEvent::StreamStart { .. })) if run.started => continue,
                Some(Ok(event)) if run.delivered => Ok(event),
                Some(Ok(event)) if event.is_content() || run.held.len() == MOST_HELD => {
                    run.delivered = true;
                    run.ready.extend(run.held.drain(..));
                    run.ready.push_back(event);
                    continue;
                }
                Some(Ok(event)) if begins_segment(&event) => {
                    run.held.push(event);
                    continue;
                }
                Some(Ok(event)) => {
                    run.started |= matches!(event, StreamEvent::StreamStart { .. });
                    Ok(event)
                }
                Some(Err(error)) => {
                    run.current = None;
                    run.held.clear();
                    let error = if run.delivered { error.after_content() } else { error };
                    match pause(&run.policy, &mut run.retry, error, &run.cancel, &run.observer).await {
                        Ok(()) => continue,
                        Err(error) => {
                            run.over = true;
                            Err(error)
                        }
                    }
                }
            };
            return Some((item, run));
        }
    })))
}

/// Whether this is a segment's beginning, or a piece of it with nothing in it.
fn begins_segment(event: &StreamEvent) -> bool {
    use StreamEvent::{ReasoningDelta, ReasoningStart, TextDelta, TextStart};
    matches!(event, TextStart { .. } | ReasoningStart { .. } | TextDelta { .. } | ReasoningDelta { .. })
}

/// Waits before the next attempt, or gives the error back if there is none.
async fn pause(
    policy: &Policy,
    retry: &mut u32,
    error: Error,
    cancel: &CancellationToken,
    observer: &Observer,
) -> Result<(), Error> {
    let Some(delay) = policy.delay(*retry, &error, chance()) else { return Err(error) };
    *retry += 1;
    observer(&Attempt { number: *retry, of: policy.max_retries, delay, error });
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Error::new(ErrorKind::Aborted, "the call was cancelled while waiting to retry")),
        () = tokio::time::sleep(delay) => Ok(()),
    }
}

/// A number between 0 and 1 by chance. The standard library's hash keys are random enough for
/// spreading retries, and cost no dependency.
#[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
fn chance() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn server() -> Error {
        Error::new(ErrorKind::Server, "down")
    }

    #[test]
    fn delays_follow_the_policy() {
        let policy = Policy::default();
        let wait = |retry, error: Error, chance| policy.delay(retry, &error, chance);
        assert_eq!(wait(0, server(), 0.5), Some(Duration::from_secs(1)));
        assert_eq!(wait(1, server(), 0.5), Some(Duration::from_secs(2)));
        assert_eq!(wait(0, server(), 0.0), Some(Duration::from_millis(500)));
        assert_eq!(wait(0, server(), 1.0), Some(Duration::from_millis(1500)));
        assert_eq!(wait(2, server(), 0.5), None);
        assert_eq!(wait(0, Error::new(ErrorKind::Authentication, "no"), 0.5), None);
        let asked =
            |s| Error::new(ErrorKind::RateLimit, "slow").with_retry_after(Some(Duration::from_secs(s)));
        assert_eq!(wait(0, asked(7), 0.0), Some(Duration::from_secs(7)));
        assert_eq!(wait(0, asked(61), 0.0), None, "over the cap: do not try again");
        let patient = Policy { max_retries: 50, ..policy };
        assert_eq!(patient.delay(40, &server(), 0.5), Some(Duration::from_mins(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn retries_are_counted_and_told() {
        let told = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&told);
        let observer: Observer =
            Arc::new(move |a| assert_eq!(seen.fetch_add(1, Ordering::SeqCst) + 1, a.number));
        let calls = AtomicU32::new(0);
        let result: Result<(), _> = call(&Policy::default(), &CancellationToken::new(), &observer, || {
            calls.fetch_add(1, Ordering::SeqCst);
            async { Err(server()) }
        })
        .await;
        assert!(result.is_err());
        assert_eq!((calls.load(Ordering::SeqCst), told.load(Ordering::SeqCst)), (3, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_can_be_cancelled() {
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let observer: Observer = Arc::new(move |_| token.cancel());
        let result: Result<(), _> =
            call(&Policy::default(), &cancel, &observer, || async { Err(server()) }).await;
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Aborted);
    }

    #[tokio::test(start_paused = true)]
    async fn streams_are_reopened_only_before_content() {
        let start = || StreamEvent::StreamStart {
            id: "1".into(),
            model: "m".into(),
            provider: "p".into(),
            origin: None,
            usage: None,
            warnings: vec![],
            rate_limit: None,
        };
        let id = crate::SegmentId(0);
        let begin = || Ok(StreamEvent::TextStart { id });
        let think = || Ok(StreamEvent::ReasoningStart { id });
        let more = |text: &str| Ok(StreamEvent::TextDelta { id, text: text.into() });
        let cut = || Err(Error::stream("cut"));
        let check = async |first: Vec<Result<StreamEvent, Error>>, expected: usize, ends_well: bool| {
            let mut attempts = vec![first, vec![Ok(start()), begin(), more("hi")]];
            attempts.reverse();
            let events = stream(Policy::default(), CancellationToken::new(), silent(), move || {
                let next = attempts.pop().unwrap_or_default();
                async move { Ok(EventStream::new(stream::iter(next))) }
            });
            let seen: Vec<_> = events.await.unwrap().collect().await;
            assert_eq!(seen.len(), expected, "{seen:?}");
            assert_eq!(seen.last().unwrap().is_ok(), ends_well, "{seen:?}");
        };
        check(vec![Ok(start()), cut()], 3, true).await;
        // A beginning with nothing in it is handed on once, and by the attempt that goes on with it.
        check(vec![Ok(start()), begin(), cut()], 3, true).await;
        check(vec![Ok(start()), think(), cut()], 3, true).await;
        check(vec![Ok(start()), begin(), more(""), cut()], 3, true).await;
        check(vec![Ok(start()), begin(), more("he"), cut()], 4, false).await;
        check(vec![Ok(start()), begin()], 2, true).await;
        let endless = std::iter::once(Ok(start())).chain((0..=MOST_HELD).map(|_| begin())).chain([cut()]);
        check(endless.collect(), MOST_HELD + 3, false).await;
        check(vec![Err(Error::new(ErrorKind::Authentication, "no"))], 1, false).await;
    }
}
