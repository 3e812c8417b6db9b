//! Stops asking a provider that is down, for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{End, Middleware, Next, watch_complete, watch_stream};
use crate::{CallCx, Error, ErrorKind, EventStream, Fut, Request, Response};

/// Fails calls at once after so many failures in a row, until a pause is over; then one call may
/// try, and its end decides. Each provider has a count of its own.
#[derive(Clone, Debug)]
pub struct CircuitBreaker {
    failures: u32,
    pause: Duration,
    circuits: Arc<Mutex<HashMap<String, Circuit>>>,
}

#[derive(Debug, Default)]
struct Circuit {
    failed: u32,
    /// Until when calls fail at once.
    open_until: Option<Instant>,
}

impl CircuitBreaker {
    /// Opens after `failures` in a row, for `pause`.
    pub fn new(failures: u32, pause: Duration) -> Self {
        Self { failures: failures.max(1), pause, circuits: Arc::default() }
    }

    fn circuits(&self) -> MutexGuard<'_, HashMap<String, Circuit>> {
        self.circuits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, provider: &str) -> Result<(), Error> {
        let mut circuits = self.circuits();
        let circuit = circuits.entry(provider.to_owned()).or_default();
        let Some(until) = circuit.open_until else { return Ok(()) };
        let now = Instant::now();
        if now < until {
            return Err(Error::new(
                ErrorKind::Server,
                "the provider failed repeatedly and is left alone for a while",
            )
            .with_provider(provider)
            .with_retry_after(Some(until - now)));
        }
        // This call is the trial; others keep failing until it has ended.
        circuit.open_until = Some(now + self.pause);
        Ok(())
    }

    /// Counts how a call ended. What the caller broke off, or what was never sent, says nothing
    /// about the provider.
    fn leave(&self, provider: &str, end: &End) {
        let mut circuits = self.circuits();
        let circuit = circuits.entry(provider.to_owned()).or_default();
        match end {
            End::Failed(error) => match error.kind() {
                ErrorKind::Server | ErrorKind::Network | ErrorKind::Timeout | ErrorKind::Stream => {
                    circuit.failed = circuit.failed.saturating_add(1);
                    if circuit.failed >= self.failures {
                        circuit.open_until = Some(Instant::now() + self.pause);
                    }
                }
                ErrorKind::Aborted | ErrorKind::Configuration => {}
                _ => *circuit = Circuit::default(),
            },
            End::Dropped(_) => {}
            End::Finished(_) => *circuit = Circuit::default(),
        }
    }
}

impl Middleware for CircuitBreaker {
    fn complete<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<Response, Error>> {
        let provider = request.provider.clone().unwrap_or_default();
        Box::pin(async move {
            self.enter(&provider)?;
            watch_complete(next, request, cx, |end| self.leave(&provider, &end)).await
        })
    }

    fn stream<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<EventStream, Error>> {
        let provider = request.provider.clone().unwrap_or_default();
        let breaker = self.clone();
        Box::pin(async move {
            self.enter(&provider)?;
            watch_stream(next, request, cx, move |end| breaker.leave(&provider, &end)).await
        })
    }
}
