//! What is not ours may panic, and a session must end in good order all the same.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

/// The future's value, or what it said when it panicked. What it had in its hands is dropped with it;
/// what it shares with us is ours to keep whole.
pub(crate) async fn caught<T>(work: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|payload| message(&*payload))
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
