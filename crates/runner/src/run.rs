//! One process of a command, from its start to its end.

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use junto_env::{CommandSpec, Exit, HeadTail, Output, OutputStream, Process, RealPath, Stdin};
use junto_llm::{Error, ErrorKind, Secret};
use tempfile::TempDir;
use tokio::time::{Instant, sleep_until, timeout};

use crate::{
    CliEvent, CommandLine, Definition, Host, Invocation, LINE_LIMIT, Line, Lines, Parser, Patience, PromptBy,
    environment,
};

/// How much is kept of each end of what a command prints on standard error.
const STDERR_KEPT: usize = 2 << 10;

/// A process that is under way. Dropping it kills everything it started.
pub(crate) struct Run {
    process: Process,
    lines: Lines,
    reader: Reader,
    stderr: HeadTail,
    patience: Patience,
    /// When it was last heard of.
    heard: Instant,
    /// When it must have ended.
    deadline: Option<Instant>,
    /// Set once there is nothing more to read.
    drained: bool,
    /// Files of its own; gone with it.
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
}

/// Which of the two clocks ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stall {
    /// It was silent for so long.
    Idle(Duration),
    /// It took so long altogether.
    Hard(Duration),
}

impl Stall {
    pub(crate) fn error(self, kind: &str) -> Error {
        let message = match self {
            Self::Idle(limit) => format!("{kind} was silent for {limit:?} (idle timeout)"),
            Self::Hard(limit) => format!("{kind} took longer than {limit:?} (hard timeout)"),
        };
        Error::new(ErrorKind::Timeout, message)
    }
}

/// How a process ended, and what it said on standard error.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    exit: Option<Exit>,
    stderr: String,
}

impl Ending {
    /// Whether it says itself that it went well.
    pub(crate) fn success(&self) -> bool {
        self.exit.is_some_and(Exit::success)
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exit {
            Some(Exit { code: Some(code), .. }) => write!(f, "status {code}")?,
            Some(Exit { signal: Some(signal), .. }) => write!(f, "signal {signal}")?,
            _ => f.write_str("status unknown")?,
        }
        if self.stderr.is_empty() { Ok(()) } else { write!(f, ": {}", self.stderr) }
    }
}

/// What a run is started with.
pub(crate) struct Start<'a> {
    pub(crate) definition: &'a Definition,
    pub(crate) host: &'a Host,
    pub(crate) invocation: Invocation<'a>,
    pub(crate) prompt: String,
    pub(crate) cwd: Option<RealPath>,
    pub(crate) patience: Patience,
}

impl Run {
    /// Starts a process and gives it its prompt.
    ///
    /// # Errors
    /// `configuration` if the program is not there, or there are too many agents above.
    pub(crate) async fn start(start: Start<'_>) -> Result<Self, Error> {
        let Start { definition, host, invocation, prompt, cwd, patience } = start;
        environment::fuse(definition, host)?;
        let token = host.token();
        let mut line = definition.command_line(&Invocation { token: Some(&token), ..invocation })?;
        let files = write_files(&mut line)?;
        let command = CommandSpec {
            cwd,
            variables: environment::variables(definition, host, &line, &token),
            inherits: false,
            stdin: match definition.prompt {
                PromptBy::Stdin => Stdin::Bytes(line.prompt(&prompt).into()),
            },
            ..CommandSpec::argv(line.argv)
        };
        let process = host.env.spawn(command).await.map_err(|e| not_started(definition, e))?;
        let now = Instant::now();
        Ok(Self {
            process,
            lines: Lines::new(LINE_LIMIT),
            reader: Reader {
                parser: definition.output.parser(),
                secrets: host.secrets(),
                events: VecDeque::new(),
                too_long: false,
            },
            stderr: HeadTail::new(STDERR_KEPT, STDERR_KEPT),
            patience,
            heard: now,
            deadline: patience.hard.map(|hard| now + hard),
            drained: false,
            _files: files,
        })
    }

    /// Waits for what comes next. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Step {
        loop {
            if let Some(event) = self.reader.events.pop_front() {
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
                piece = self.process.output() => match piece {
                    Ok(Some(piece)) => self.take(&piece),
                    // Pipes that cannot be read are at their end.
                    Ok(None) | Err(_) => self.drain(),
                },
                () = sleep_until(silent_until) => return Step::Stalled(Stall::Idle(self.patience.idle)),
            }
        }
    }

    /// Asks it to end its turn, as a person at a terminal would.
    pub(crate) fn interrupt(&mut self) {
        // What cannot be interrupted is closed when its grace is over.
        let _ = self.process.interrupt();
    }

    /// Reads nothing more; gives what was read and not handed out, and the ends of what is open.
    pub(crate) fn rest(&mut self) -> VecDeque<CliEvent> {
        self.drain();
        std::mem::take(&mut self.reader.events)
    }

    /// Waits for the end of a process that has nothing more to say, and ends whatever it left behind.
    pub(crate) async fn end(mut self) -> Ending {
        let _ = timeout(self.patience.grace, self.process.wait()).await;
        self.close().await
    }

    /// Asks the process and everything it started to end, and kills what does not.
    pub(crate) async fn close(self) -> Ending {
        let stderr = self.stderr.text(|omitted| format!("\n[… {omitted} bytes left out …]\n"));
        let stderr = redacted(stderr.trim().to_owned(), &self.reader.secrets);
        let exit = self.process.close(self.patience.grace).await.ok();
        Ending { exit, stderr }
    }

    fn take(&mut self, piece: &Output) {
        self.heard = Instant::now();
        match piece.stream {
            OutputStream::Stderr => self.stderr.push(&piece.bytes),
            OutputStream::Stdout => self.lines.push(&piece.bytes, |line| self.reader.line(line)),
        }
    }

    fn drain(&mut self) {
        if !self.drained {
            self.drained = true;
            self.lines.finish(|line| self.reader.line(line));
            self.reader.finish();
        }
    }
}

/// Writes the files that a command wants to read into a folder of their own, if there are any.
fn write_files(line: &mut CommandLine) -> Result<Option<TempDir>, Error> {
    if line.files.is_empty() {
        return Ok(None);
    }
    let failed = |e: std::io::Error| Error::configuration(format!("cannot write a file for the run: {e}"));
    let folder = tempfile::Builder::new().prefix("junto-run-").tempdir().map_err(failed)?;
    line.place(folder.path());
    for file in &line.files {
        std::fs::write(folder.path().join(file.name), &file.text).map_err(failed)?;
    }
    Ok(Some(folder))
}

/// The working directory of a run: as given, else the environment's.
pub(crate) async fn directory(host: &Host, path: Option<&Path>) -> Result<Option<RealPath>, Error> {
    let Some(path) = path else { return Ok(None) };
    let text = path.to_str().ok_or_else(|| {
        Error::configuration(format!("the path of the working directory {} is no text", path.display()))
    })?;
    let real = host.env.resolve(text).await.map_err(|e| Error::configuration(e.to_string()))?;
    Ok(Some(real))
}

/// Reads lines, free of secrets, into events.
struct Reader {
    parser: Box<dyn Parser>,
    secrets: Vec<Secret>,
    events: VecDeque<CliEvent>,
    /// Set once a line was too long.
    too_long: bool,
}

impl Reader {
    fn line(&mut self, line: Line<'_>) {
        let mut events = Vec::new();
        match line {
            Line::Whole(line) => match std::str::from_utf8(line) {
                Ok(text) if self.secrets.iter().any(|secret| text.contains(secret.expose())) => {
                    let text = redacted(text.to_owned(), &self.secrets);
                    self.parser.line(text.as_bytes(), &mut events);
                }
                _ => self.parser.line(line, &mut events),
            },
            Line::TooLong if !self.too_long => {
                self.too_long = true;
                let message = format!("a line of more than {LINE_LIMIT} bytes was thrown away");
                events.push(CliEvent::Warning { code: "line_too_long", message });
            }
            Line::TooLong => {}
        }
        self.events.extend(events);
    }

    fn finish(&mut self) {
        let mut events = Vec::new();
        self.parser.finish(&mut events);
        self.events.extend(events);
    }
}

fn redacted(text: String, secrets: &[Secret]) -> String {
    secrets.iter().fold(text, |text, secret| secret.redact(&text))
}

async fn reached(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn not_started(definition: &Definition, error: junto_env::Error) -> Error {
    let message = format!("cannot start {}: {error}", definition.kind);
    let error = Error::configuration(message).with_source(error);
    error.with_hint(format!("is `{}` installed and in the PATH?", definition.program()))
}

/// That a run ended without saying how.
pub(crate) fn no_result(kind: &str, ending: &Ending, excuse: Option<&str>) -> String {
    match excuse {
        Some(excuse) => format!("{kind} ended without a result ({ending}); it said: {excuse}"),
        None => format!("{kind} ended without a result ({ending})"),
    }
}
