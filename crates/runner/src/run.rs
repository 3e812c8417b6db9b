//! One process of a command, from its start to its end.

mod ending;
mod launch;
mod reader;
mod record;

use std::collections::VecDeque;
use std::time::Duration;

use junto_env::{HeadTail, Output, OutputStream, Process};
use junto_llm::Error;
use tempfile::TempDir;
use tokio::time::{Instant, sleep_until, timeout};

pub(crate) use self::ending::{Ending, Stall};
pub(crate) use self::launch::{Start, directory};
use self::reader::Reader;
use crate::control::Dialogue;
use crate::sweep::Entry;
use crate::{CliEvent, EndSignal, Lines, Patience};

/// How much is kept of each end of what a command prints on standard error.
const STDERR_KEPT: usize = 2 << 10;

/// How long a process that has said its last word is waited for, so that its exit code is known. Most end at
/// once, and nobody notices; one that lingers is left to end by itself.
const COURTESY: Duration = Duration::from_millis(100);

/// How often one that has reported, and does not end, is looked at. Who has closed its output says nothing more, though
/// it lives on; one that ends closes it a moment before, which is seen at one look at most.
const LOOK: Duration = Duration::from_millis(250);

/// A process that is under way. Dropping it kills everything it started.
pub(crate) struct Run {
    process: Process,
    /// What is said to it while it works.
    dialogue: Option<Dialogue>,
    stdout: Lines,
    stderr_lines: Lines,
    stderr: HeadTail,
    reader: Reader,
    patience: Patience,
    signal: EndSignal,
    /// When it was last heard of.
    heard: Instant,
    /// Why it is to try again, if it said that last.
    retried: Option<Error>,
    /// When it must have ended.
    deadline: Option<Instant>,
    /// Set once there is nothing more to read.
    drained: bool,
    /// Set once it was asked to end its turn.
    interrupted: bool,
    /// When it is looked at whether its output is closed; absent until it has reported.
    look: Option<Instant>,
    /// Set once its output was seen to be closed.
    is_closed: bool,
    /// A digest of the instructions that its session has once and for all.
    pub(crate) told: Option<String>,
    /// After the process, so that a run is not over before its process is.
    _entry: Option<Entry>,
    /// Removed with the run.
    _files: Option<TempDir>,
}

/// What comes of waiting for a run.
pub(crate) enum Step {
    /// It said something.
    Event(CliEvent),
    /// It took too long.
    Stalled(Stall),
    /// It will say nothing more.
    Drained,
    /// It has reported and closed its output, and does not end.
    Closed,
}

impl Run {
    /// Waits for what comes next. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Step {
        loop {
            if let Some(event) = self.reader.events.pop_front() {
                self.retried = match &event {
                    CliEvent::Retry { error, .. } => Some(error.clone()),
                    CliEvent::Warning { .. } => self.retried.take(),
                    _ => None,
                };
                if matches!(event, CliEvent::Report(_)) {
                    self.look = Some(Instant::now() + LOOK);
                }
                return Step::Event(event);
            }
            if self.drained {
                return Step::Drained;
            }
            let hard = self.patience.hard.unwrap_or_default();
            let silent_until = self.heard + self.patience.idle;
            tokio::select! {
                biased;
                // Asked first, or a process that never stops talking would never be stopped.
                () = reached(self.deadline) => return Step::Stalled(Stall::Hard(hard)),
                () = reached(self.look) => {
                    self.look = Some(Instant::now() + LOOK);
                    let was_closed = std::mem::replace(&mut self.is_closed, self.process.stdout_ended());
                    if was_closed {
                        return Step::Closed;
                    }
                }
                piece = exchange(&mut self.process, self.dialogue.as_mut()) => match piece {
                    Some(piece) => self.take(&piece),
                    None => self.drain(),
                },
                () = sleep_until(silent_until) => {
                    return Step::Stalled(Stall::Idle(self.patience.idle, self.retried.take()));
                }
            }
        }
    }

    /// Asks it to end its turn: in its protocol if it has one, else as a person at a terminal would.
    pub(crate) fn interrupt(&mut self) {
        if !self.dialogue.as_mut().is_some_and(Dialogue::interrupt) {
            self.signal_interrupt();
        }
    }

    /// Tells it something while it works. Says whether it is still listening.
    pub(crate) fn steer(&mut self, text: &str) -> bool {
        !self.drained && self.dialogue.as_mut().is_some_and(|dialogue| dialogue.steer(text))
    }

    /// It has reported: one that waits for more to be said is told that nothing comes.
    pub(crate) fn reported(&mut self) {
        if let Some(dialogue) = &mut self.dialogue {
            dialogue.end();
        }
    }

    /// Waits for the end of a process that has nothing more to say, and ends whatever it left behind.
    pub(crate) async fn end(mut self) -> Ending {
        if timeout(self.patience.grace, self.process.wait()).await.is_err() {
            self.ask_to_end().await;
            return self.close().await;
        }
        let grace = self.patience.grace;
        self.finish(grace).await
    }

    /// Gives a process that has said its last word a moment to end; whether it did.
    pub(crate) async fn courtesy(&mut self) -> bool {
        timeout(COURTESY, self.read_out()).await.is_ok()
    }

    /// Waits for a process that lingers, but not for ever, and ends it with whatever it started.
    pub(crate) async fn see_off(mut self) {
        if timeout(self.patience.grace, self.read_out()).await.is_err() {
            self.ask_to_end().await;
        }
        self.close().await;
    }

    /// Asks one to end that wants to be interrupted for it, and reads what it still says.
    pub(crate) async fn ask_to_end(&mut self) {
        if self.signal == EndSignal::Int && !self.interrupted {
            self.signal_interrupt();
            let _ = timeout(self.patience.grace, self.read_out()).await;
        }
    }

    /// Reads nothing more; gives what was read and not handed out, and the ends of what is open.
    pub(crate) fn rest(&mut self) -> VecDeque<CliEvent> {
        self.drain();
        std::mem::take(&mut self.reader.events)
    }

    /// Ends the process and everything it started: asks it to, unless that was [done](Self::ask_to_end), and
    /// kills what does not.
    pub(crate) async fn close(self) -> Ending {
        let grace = match self.signal {
            EndSignal::Term => self.patience.grace,
            EndSignal::Int => Duration::ZERO,
        };
        self.finish(grace).await
    }

    async fn finish(self, grace: Duration) -> Ending {
        let stderr = self.stderr.text(|omitted| format!("\n[… {omitted} bytes left out …]\n"));
        let stderr = self.reader.redacted(stderr.trim());
        Ending { exit: self.process.close(grace).await.ok(), stderr }
    }

    fn signal_interrupt(&mut self) {
        self.interrupted = true;
        // What cannot be interrupted is closed when its grace is over.
        let _ = self.process.interrupt();
    }

    /// Reads to the end of the output and waits for that of the process.
    async fn read_out(&mut self) {
        while let Ok(Some(piece)) = self.process.output().await {
            // One that lingers is not listened to, but must not be kept waiting for a reader either.
            if !self.drained {
                self.take(&piece);
            }
        }
        self.drain();
        let _ = self.process.wait().await;
    }

    fn take(&mut self, piece: &Output) {
        self.heard = Instant::now();
        let Self { stdout, stderr_lines, stderr, reader, dialogue, .. } = self;
        match piece.stream {
            OutputStream::Stderr => {
                stderr.push(&piece.bytes);
                stderr_lines.push(&piece.bytes, |line| reader.aside(line));
            }
            OutputStream::Stdout => stdout.push(&piece.bytes, |line| {
                if let Some(dialogue) = dialogue {
                    dialogue.hear(line);
                }
                reader.line(line);
            }),
        }
    }

    fn drain(&mut self) {
        if !self.drained {
            self.drained = true;
            let Self { stdout, stderr_lines, reader, .. } = self;
            stdout.finish(|line| reader.line(line));
            stderr_lines.finish(|line| reader.aside(line));
            reader.finish();
        }
    }
}

/// Says what there is to say, and waits for what the process says; `None` at the end of its output. Nothing is
/// lost if the future is dropped.
async fn exchange(process: &mut Process, mut dialogue: Option<&mut Dialogue>) -> Option<Output> {
    if let Some(dialogue) = dialogue.as_mut()
        && let Some(piece) = dialogue.speak(process).await
    {
        return Some(piece);
    }
    // Pipes that cannot be read are at their end.
    process.output().await.ok().flatten()
}

async fn reached(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
