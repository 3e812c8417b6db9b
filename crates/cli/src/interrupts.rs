//! What the user, or the system, sends to stop the process.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Exit, Failure};

/// Interrupts from the keyboard, requests to terminate and terminals that are closed, one after another.
/// While this exists they end nothing by themselves.
pub(crate) struct Interrupts {
    keyboard: Signal,
    terminate: Signal,
    /// None if whoever started us wants it ignored, as `nohup` does.
    hangup: Option<Signal>,
}

/// Who wants it to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// Somebody pressed Ctrl-C.
    Keyboard,
    /// Somebody wants the process to end, or has closed its terminal.
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
        let hangup = SignalKind::hangup();
        Ok(Self {
            keyboard: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: if is_ignored(hangup) { None } else { Some(listen(hangup)?) },
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        self.who().await;
    }

    /// Waits for the next one, and tells who sent it.
    pub(crate) async fn who(&mut self) -> Interrupt {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.keyboard.recv() => Interrupt::Keyboard,
            _ = self.terminate.recv() => Interrupt::Terminate,
            _ = hangup => Interrupt::Terminate,
        }
    }
}

/// Whether the process was started with this signal ignored. Not known without `/proc`: then it was not.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored(&status).is_some_and(|signals| signals >> (kind.as_raw_value() - 1) & 1 == 1)
}

/// The signals that a process ignores, one bit each, from its status.
fn ignored(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_which_signals_are_ignored() {
        assert_eq!(ignored("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n"), Some(0x1001));
        assert_eq!(ignored(""), None);
    }
}
