//! Standard input, line by line.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

/// The longest line that is read, in MiB. A text with a large file in it fits.
pub(super) const LONGEST_MIB: u64 = 32;
/// How many lines may wait to be heard. They may be long.
const WAITING: usize = 2;

/// What came in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A line, and how many questions had been put when it came.
    Line(String, u64),
    /// A line that was too long. Nothing of it was kept.
    TooLong,
}

/// Reads standard input line by line on a thread of its own. A read cannot be interrupted, so the
/// process ends without waiting for it. `put` counts the questions that have been put.
pub(super) fn listen(put: Arc<AtomicU64>) -> mpsc::Receiver<Heard> {
    let (heard, lines) = mpsc::channel(WAITING);
    tokio::task::spawn_blocking(move || {
        let mut input = std::io::stdin().lock();
        while let Ok(Some(line)) = read_line(&mut input, LONGEST_MIB << 20, &put) {
            if heard.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// The next line; none at the end. Of one that is longer than so many bytes nothing is kept, and the rest is passed
/// over, so that it is not taken for a line of its own.
fn read_line(input: &mut impl BufRead, longest: u64, put: &AtomicU64) -> io::Result<Option<Heard>> {
    let mut line = Vec::new();
    let read = input.by_ref().take(longest).read_until(b'\n', &mut line)?;
    if read == 0 {
        return Ok(None);
    }
    let is_whole = line.ends_with(b"\n") || (read as u64) < longest;
    if is_whole || input.skip_until(b'\n')? == 0 {
        let line = String::from_utf8_lossy(&line).into_owned();
        return Ok(Some(Heard::Line(line, put.load(Ordering::SeqCst))));
    }
    Ok(Some(Heard::TooLong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_passed_over_whole() {
        let check = |text: &str, expected: &[Option<&str>]| {
            // Little at a time, so that a line goes on in the next piece.
            let mut input = io::BufReader::with_capacity(3, text.as_bytes());
            let mut heard = Vec::new();
            while let Some(line) = read_line(&mut input, 5, &AtomicU64::new(7)).unwrap() {
                heard.push(line);
            }
            let line =
                |said: Option<&str>| said.map_or(Heard::TooLong, |said| Heard::Line(said.to_owned(), 7));
            assert_eq!(heard, expected.iter().copied().map(line).collect::<Vec<_>>(), "{text:?}");
        };
        check("", &[]);
        check("a\nbc", &[Some("a\n"), Some("bc")]);
        check("1234\n12345", &[Some("1234\n"), Some("12345")]);
        check("12345\nnext\n", &[None, Some("next\n")]);
        check("1234567890 the rest of it\nb\n", &[None, Some("b\n")]);
        check("123456", &[None]);
        check("\n\n", &[Some("\n"), Some("\n")]);
    }
}
