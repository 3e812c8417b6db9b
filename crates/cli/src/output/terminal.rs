//! What is asked of the terminal itself.

use rustix::termios::{QueueSelector, tcflush, tcgetwinsize};

/// How wide lines are where there is no terminal, or one that does not say.
const USUAL: usize = 100;
/// Below this nothing can be shown.
const LEAST: usize = 20;

/// How many columns it has.
pub(super) fn width() -> usize {
    let size = tcgetwinsize(std::io::stderr()).or_else(|_| tcgetwinsize(std::io::stdout()));
    match size {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col).max(LEAST),
        _ => USUAL,
    }
}

/// Forgets what was typed and not read yet: nobody typed it in answer to a question that had not been
/// put. Where standard input is no terminal this does nothing.
pub(super) fn forget_typed() {
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
}
