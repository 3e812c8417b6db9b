//! Stops asking a provider that is down, for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{End, Middleware, Next, ended, watch};
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

    fn leave(&self, provider: &str, end: &End) {
        let mut circuits = self.circuits();
        let circuit = circuits.entry(provider.to_owned()).or_default();
        let down = matches!(end, End::Failed(e) if matches!(e.kind(), ErrorKind::Server | ErrorKind::Network | ErrorKind::Timeout));
        if down {
            circuit.failed += 1;
            if circuit.failed >= self.failures {
                circuit.open_until = Some(Instant::now() + self.pause);
            }
        } else {
            *circuit = Circuit::default();
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
            let result = next.complete(request, cx).await;
            self.leave(&provider, &ended(&result));
            result
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
            match next.stream(request, cx).await {
                Ok(events) => Ok(watch(events, move |end| breaker.leave(&provider, &end))),
                Err(error) => {
                    self.leave(&provider, &End::Failed(error.clone()));
                    Err(error)
                }
            }
        })
    }
}
