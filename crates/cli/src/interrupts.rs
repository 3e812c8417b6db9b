//! What the user, or the system, sends to stop the process.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Exit, Failure};

/// Interrupts from the keyboard and requests to terminate, one after another. While this exists they
/// end nothing by themselves.
pub(crate) struct Interrupts {
    keyboard: Signal,
    terminate: Signal,
}

/// Who wants it to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// Somebody pressed Ctrl-C.
    Keyboard,
    /// Somebody wants the process to end.
    Terminate,
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
        self.who().await;
    }

    /// Waits for the next one, and tells who sent it.
    pub(crate) async fn who(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.keyboard.recv() => Interrupt::Keyboard,
            _ = self.terminate.recv() => Interrupt::Terminate,
        }
    }
}
