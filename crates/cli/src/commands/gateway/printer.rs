//! Prints what people are told, on a thread of its own, which alone waits for whoever reads it.
//!
//! A terminal that was stopped, or a program that started the gateway and reads nothing of what it says, takes no more at
//! some point. What is said then waits here, and what has no room is left out and counted.

use std::io;
use std::mem::take;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::output::Output;

/// How many bytes may wait.
const MOST: usize = 256 * 1024;
/// How long it rests after it has printed something, so that those who say more need not wake it, and it prints many lines
/// in one piece. Nobody reads faster.
const REST: Duration = Duration::from_millis(50);
/// How long its end waits for the last lines to be taken.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How far it stands back (`nice`): as far as the clerk.
#[cfg(target_os = "linux")]
const BEHIND: i32 = 5;

/// Something for people.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Note(String),
    Warning(String),
}

/// Dropping it prints what is left, if somebody takes it soon.
pub(super) struct Printer {
    desk: Desk,
    /// Ends when the thread does.
    done: Receiver<()>,
}

/// Where lines are left. Nobody waits for anything here.
#[derive(Clone)]
pub(super) struct Desk(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Rings when there is something for one that sleeps.
    bell: Condvar,
}

#[derive(Default)]
struct State {
    lines: Vec<Line>,
    bytes: usize,
    left_out: usize,
    sleeps: bool,
    ends: bool,
}

impl Printer {
    /// One that prints there, and that says in these words how many lines were left out.
    ///
    /// # Errors
    /// If the system has no room for a thread.
    pub(super) fn start(
        output: Output,
        left_out: impl Fn(usize) -> Line + Send + 'static,
    ) -> io::Result<Self> {
        let desk = Desk(Arc::default());
        let shared = Arc::clone(&desk.0);
        let (ends, done) = sync_channel(0);
        thread::Builder::new().name("junto-printer".into()).spawn(move || {
            // Here that is this thread; elsewhere it would be the whole process. If it is refused, nothing is lost.
            #[cfg(target_os = "linux")]
            let _ = rustix::process::setpriority_process(None, BEHIND);
            shared.work(&output, &left_out);
            drop(ends);
        })?;
        Ok(Self { desk, done })
    }

    /// Takes lines for it.
    pub(super) fn desk(&self) -> Desk {
        self.desk.clone()
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        self.desk.0.state().ends = true;
        self.desk.0.bell.notify_one();
        // It says nothing; that it is gone is the end. Where nobody reads, the thread ends with the process.
        let _ = self.done.recv_timeout(LAST_WORDS);
    }
}

impl Desk {
    pub(super) fn put(&self, line: Line) {
        let mut state = self.0.state();
        let bytes = line.text().len();
        if state.bytes > 0 && state.bytes.saturating_add(bytes) > MOST {
            state.left_out += 1;
            return;
        }
        state.bytes += bytes;
        state.lines.push(line);
        if take(&mut state.sleeps) {
            drop(state);
            self.0.bell.notify_one();
        }
    }
}

impl Line {
    fn text(&self) -> &str {
        match self {
            Self::Note(text) | Self::Warning(text) => text,
        }
    }
}

impl Shared {
    fn work(&self, output: &Output, left_out: &dyn Fn(usize) -> Line) {
        loop {
            let mut state = self.state();
            while state.lines.is_empty() && !state.ends {
                state.sleeps = true;
                state = self.bell.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.sleeps = false;
            let (mut lines, without) = (take(&mut state.lines), take(&mut state.left_out));
            state.bytes = 0;
            drop(state);
            if lines.is_empty() {
                return;
            }
            if without > 0 {
                lines.push(left_out(without));
            }
            print(&lines, output);
            let state = self.state();
            // It may wake for no reason: then it prints a little less in one piece.
            drop(self.bell.wait_timeout_while(state, REST, |state| !state.ends));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prints lines, those of one kind in one piece.
fn print(lines: &[Line], output: &Output) {
    for alike in lines.chunk_by(|a, b| matches!((a, b), (Line::Note(_), Line::Note(_)))) {
        match alike {
            [Line::Warning(text)] => output.warning(text),
            notes => output.note(&notes.iter().map(Line::text).collect::<Vec<_>>().join("\n")),
        }
    }
}
