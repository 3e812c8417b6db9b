//! What the user, or the system, sends to stop the process.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Exit, Failure};

/// Interrupts from the keyboard and requests to terminate, one after another. While this exists they
/// end nothing by themselves.
pub(crate) struct Interrupts {
    keyboard: Signal,
    terminate: Signal,
}

impl Interrupts {
    /// Listens from now on. Needs a runtime.
    ///
    /// # Errors
    /// If the system lets nobody listen.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Failure::new(
                    Exit::Failed,
                    format!("cannot listen for interrupts: {error}"),
                    "the system may be out of file handles",
                )
            })
        };
        Ok(Self { keyboard: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.keyboard.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
