//! How the real command ends when it is told to.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::exit;

use nix::sys::signal::{SigSet, Signal, raise};

use super::Ignored;

/// Listens from now on, on a thread of its own: an interrupt ends the turn with `interrupted` and
/// status 0; a termination ends the program at once.
pub(super) fn handle(ignore: Vec<Ignored>, interrupted: String, told: Option<PathBuf>) -> Result<(), String> {
    let signals = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM]);
    signals.thread_block().map_err(|e| format!("cannot hold signals back: {e}"))?;
    std::thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            match signal {
                Signal::SIGINT if !ignore.contains(&Ignored::Interrupt) => {
                    // The test that looks for it fails if it is not there.
                    let _ = super::note(told.as_deref(), &interrupted);
                    // Nobody may read any more; then there is nobody to tell.
                    let _ = writeln!(io::stdout(), "{interrupted}");
                    exit(0);
                }
                Signal::SIGTERM if !ignore.contains(&Ignored::Terminate) => exit(143),
                _ => {}
            }
        }
    });
    Ok(())
}

/// Ends as by a crash, without a word.
pub(super) fn die() -> io::Result<()> {
    raise(Signal::SIGKILL)?;
    Ok(())
}
