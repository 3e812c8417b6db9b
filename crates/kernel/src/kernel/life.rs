//! The process of a kernel, from its start to its end.

use std::collections::VecDeque;
use std::time::Duration;

use junto_env::{Exit, Process};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::{Error, ErrorKind};

/// How much is kept of what it says outside of cells.
const KEPT: usize = 16 << 10;
/// How long what it said last is waited for: it is there, unless something it left holds the pipe.
const LAST_WORDS: Duration = Duration::from_millis(20);

/// What is said of a kernel that cannot import what it needs.
pub(super) const BROKEN: &str =
    "its Python environment is broken: install `ipykernel` into it again, or have junto make one of its own";

/// How a kernel ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) exit: Exit,
    /// What it said last, outside of cells.
    pub(super) said: String,
}

/// A process that is watched. Dropping this kills it, and all it has started.
pub(super) struct Life {
    end: watch::Receiver<Option<End>>,
    close: oneshot::Sender<Duration>,
    task: AbortOnDropHandle<()>,
}

impl Life {
    /// Waits until a process says a word, as a line of its own, and watches it from then on. Its memory may have a limit.
    ///
    /// # Errors
    /// If it ends before, with what it said instead.
    pub(super) async fn begin(mut process: Process, word: &str, limited: bool) -> Result<Self, Error> {
        let mut said = Tail::default();
        while !said.has_line(word) {
            match process.output().await {
                Ok(Some(piece)) => said.add(&piece.bytes),
                Ok(None) => {
                    let exit = process.close(Duration::ZERO).await;
                    let exit = exit.map_or_else(|e| e.to_string(), |exit| exit.to_string());
                    return Err(Error::new(ErrorKind::Start, not_ready(&said.text(), &exit, limited)));
                }
                Err(e) => {
                    return Err(Error::new(ErrorKind::Start, format!("the kernel does not start: {e}")));
                }
            }
        }
        let (tell, end) = watch::channel(None);
        let (close, asked) = oneshot::channel();
        let task = AbortOnDropHandle::new(tokio::spawn(watch_over(process, asked, tell)));
        Ok(Self { end, close, task })
    }

    /// How it ended, if it has.
    pub(super) fn ended(&self) -> Option<End> {
        self.end.borrow().clone()
    }

    /// Waits for its end.
    pub(super) async fn end(&mut self) -> End {
        let unseen = End { exit: Exit { code: None, signal: None }, said: String::new() };
        match self.end.wait_for(Option::is_some).await {
            Ok(end) => end.clone().unwrap_or(unseen),
            Err(_) => unseen,
        }
    }

    /// Ends it and everything it has started, which are gone when this returns.
    pub(super) async fn close(self, grace: Duration) {
        // It may have ended just now.
        let _ = self.close.send(grace);
        let _ = self.task.await;
    }
}

async fn watch_over(
    mut process: Process,
    asked: oneshot::Receiver<Duration>,
    tell: watch::Sender<Option<End>>,
) {
    let exit = tokio::select! {
        exit = process.wait() => exit,
        grace = asked => {
            // Of an error nothing else can be made: the tree is killed in any case.
            let exit = process.close(grace.unwrap_or_default()).await;
            let exit = exit.unwrap_or(Exit { code: None, signal: None });
            let _ = tell.send(Some(End { exit, said: String::new() }));
            return;
        }
    };
    let exit = exit.unwrap_or(Exit { code: None, signal: None });
    let mut said = Tail::default();
    let listen = async {
        while let Ok(Some(piece)) = process.output().await {
            said.add(&piece.bytes);
        }
    };
    // What else it would say is not worth waiting for.
    let _ = timeout(LAST_WORDS, listen).await;
    let _ = tell.send(Some(End { exit, said: said.text() }));
    // What its cells have left running.
    let _ = process.close(Duration::ZERO).await;
}

/// By which it is known that there was no room.
const NO_ROOM: [&str; 3] = ["MemoryError", "can't start new thread", "failed to map segment"];
const RAISE: &str = "it may have too little memory: raise the limit (`code.memory`)";

/// What went wrong as a kernel with a limit started, with what may help.
pub(super) fn hinted(what: String, limited: bool) -> String {
    // What it fails with then may be anything.
    if limited { format!("{RAISE}; {what}") } else { what }
}

fn not_ready(said: &str, exit: &str, limited: bool) -> String {
    let said = said.trim();
    let is_there = |signs: &[&str]| signs.iter().any(|sign| said.contains(sign));
    // Libraries that find no room are told as failed imports, too.
    let hint = if is_there(&NO_ROOM) {
        RAISE
    } else if is_there(&["ModuleNotFoundError", "ImportError", "SyntaxError"]) {
        BROKEN
    } else if limited {
        RAISE
    } else {
        "see whether this Python can import `ipykernel`"
    };
    let said = if said.is_empty() { "it said nothing".to_owned() } else { format!("it said:\n{said}") };
    format!("the kernel ended before it was ready ({exit}); {hint}; {said}")
}

/// The end of what was said.
#[derive(Default)]
struct Tail(VecDeque<u8>);

impl Tail {
    fn add(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
        let over = self.0.len().saturating_sub(KEPT);
        self.0.drain(..over);
    }

    fn text(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn has_line(&self, word: &str) -> bool {
        self.text().lines().any(|line| line == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_whole_lines_are_found() {
        let mut tail = Tail::default();
        tail.add(&vec![b'x'; KEPT]);
        tail.add(b"\nrea");
        assert!(!tail.has_line("ready"));
        tail.add(b"dy\nmore");
        assert!(tail.has_line("ready") && !tail.has_line("mor"));
        assert_eq!(tail.text().len(), KEPT);
    }
}
