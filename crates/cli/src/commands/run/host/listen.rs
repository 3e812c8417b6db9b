//! Standard input, line by line.

use std::io::{BufRead, Read};

use tokio::sync::mpsc;

/// The longest line that is read; a longer one is cut, and then makes no sense.
const LONGEST_LINE: u64 = 1024 * 1024;
/// How many lines may wait to be heard.
const WAITING: usize = 16;

/// Reads standard input line by line on a thread of its own. A read cannot be interrupted, so the
/// process ends without waiting for it.
pub(super) fn listen() -> mpsc::Receiver<String> {
    let (heard, lines) = mpsc::channel(WAITING);
    tokio::task::spawn_blocking(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {
                    let line = String::from_utf8_lossy(&line).into_owned();
                    if heard.blocking_send(line).is_err() {
                        return;
                    }
                }
            }
        }
    });
    lines
}
