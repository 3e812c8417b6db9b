//! The one place that prints. Standard output is for data, standard error for people.

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Exit, Failure};

/// Whether notes for people are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Talk {
    /// Notes, progress, warnings and the closing line.
    Normal,
    /// Errors only.
    Quiet,
}

/// The two standard streams. Clones share them.
#[derive(Clone)]
pub(crate) struct Output {
    talk: Talk,
    out_is_terminal: bool,
    err_is_terminal: bool,
    /// Whether a passing status stands on the terminal and must be wiped before anything else.
    status_shown: Arc<AtomicBool>,
}

impl Output {
    /// The streams of this process.
    pub(crate) fn of_process(talk: Talk) -> Self {
        Self {
            talk,
            out_is_terminal: io::stdout().is_terminal(),
            err_is_terminal: io::stderr().is_terminal(),
            status_shown: Arc::default(),
        }
    }

    /// Writes data to standard output at once.
    ///
    /// # Errors
    /// A silent end if the reader has gone; a failure if the disk is full or the like.
    pub(crate) fn data(&self, text: &str) -> Result<(), Failure> {
        self.wipe_status();
        let text = if self.out_is_terminal { harmless(text) } else { Cow::Borrowed(text) };
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::silent(Exit::Done)),
            Err(error) => Err(Failure::new(
                Exit::Failed,
                format!("cannot write to standard output: {error}"),
                "check where the output is redirected to, and whether the disk is full",
            )),
        }
    }

    /// Something a person may want to know.
    pub(crate) fn note(&self, text: &str) {
        if self.talk == Talk::Normal {
            self.line(text);
        }
    }

    /// Something a person should know.
    pub(crate) fn warning(&self, text: &str) {
        self.note(&format!("warning: {text}"));
    }

    /// A passing status that the next output replaces. Only on a terminal.
    pub(crate) fn status(&self, text: &str) {
        if self.talk == Talk::Normal
            && self.err_is_terminal
            && !self.status_shown.swap(true, Ordering::Relaxed)
        {
            let mut err = io::stderr().lock();
            let _ = write!(err, "{}", harmless(text)).and_then(|()| err.flush());
        }
    }

    /// What went wrong and what to do. Never silenced.
    pub(crate) fn failure(&self, failure: &Failure) {
        for error in &failure.errors {
            self.line(&format!("error: {error}"));
        }
        if let Some(hint) = &failure.hint {
            self.line(&format!("hint: {hint}"));
        }
    }

    /// A question to a person, whose answer stands on the same line. Never silenced.
    pub(crate) fn question(&self, text: &str) {
        self.wipe_status();
        let mut err = io::stderr().lock();
        let _ = write!(err, "{}", harmless(text)).and_then(|()| err.flush());
    }

    /// A line on standard error. If nobody can read it there is nobody to tell.
    fn line(&self, text: &str) {
        self.wipe_status();
        let _ = writeln!(io::stderr().lock(), "{}", harmless(text));
    }

    fn wipe_status(&self) {
        if self.status_shown.swap(false, Ordering::Relaxed) {
            let _ = write!(io::stderr().lock(), "\r\u{1b}[K");
        }
    }
}

/// `text` without control characters, so that what a model or a server wrote cannot drive the
/// user's terminal.
fn harmless(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(harmful) { Cow::Owned(text.replace(harmful, "\u{fffd}")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(harmless("a\tb\nc é"), "a\tb\nc é");
        assert_eq!(harmless("\u{1b}]0;title\u{7}x\r"), "\u{fffd}]0;title\u{fffd}x\u{fffd}");
    }
}
