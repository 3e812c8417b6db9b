//! Processes: what to start, and the handle of what was started.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use crate::{Error, ErrorKind, Fut, RealPath, Result};

/// What to start, and with what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSpec {
    /// What runs.
    pub program: Program,
    /// Where it runs; absent: the environment's working directory.
    pub cwd: Option<RealPath>,
    /// Variables beside those the environment gives by its own policy. They win.
    pub variables: BTreeMap<String, String>,
    /// Whether it gets what the environment gives by its own policy; else only `variables`, and what the
    /// environment needs to find it again.
    pub inherits: bool,
    /// Whether much of its output is held for it, as far as the system lets us: some programs end without having
    /// written what nobody had read in time.
    pub roomy: bool,
    /// What it reads.
    pub stdin: Stdin,
    /// A terminal of its own, of this size; absent: pipes.
    ///
    /// On a terminal both output streams are one and come as standard output, with what is written to
    /// the process echoed and lines ended as the terminal does it. What is written is typed: Ctrl-C in
    /// it interrupts, and the end of the input is Ctrl-D, which ends a line that was begun.
    pub terminal: Option<TerminalSize>,
}

impl CommandSpec {
    /// A line for the shell.
    pub fn shell(line: impl Into<String>) -> Self {
        Self::of(Program::Shell(line.into()))
    }

    /// A program and its arguments, without a shell between.
    pub fn argv(argv: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::of(Program::Argv(argv.into_iter().map(Into::into).collect()))
    }

    fn of(program: Program) -> Self {
        Self {
            program,
            cwd: None,
            variables: BTreeMap::new(),
            inherits: true,
            roomy: false,
            stdin: Stdin::Empty,
            terminal: None,
        }
    }
}

/// What runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A line for the environment's shell.
    Shell(String),
    /// A program and its arguments.
    Argv(Vec<String>),
}

/// The line, or the arguments with spaces between: for people, not for a shell.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell(line) => f.write_str(line),
            Self::Argv(argv) => f.write_str(&argv.join(" ")),
        }
    }
}

/// What a process reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing.
    #[default]
    Empty,
    /// These bytes, then nothing.
    Bytes(Bytes),
    /// What [`Process::write`] gives it, until [`Process::close_stdin`].
    Open,
}

/// How large a terminal is, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// How many lines.
    pub rows: u16,
    /// How many characters in a line.
    pub columns: u16,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self { rows: 24, columns: 80 }
    }
}

/// Which of its two mouths a process spoke with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A piece of output, in the order it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Which stream.
    pub stream: OutputStream,
    /// The bytes.
    pub bytes: Bytes,
}

/// What came first of a process that was offered input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It took so many bytes.
    Took(usize),
    /// It said something, and took nothing.
    Said(Output),
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl Exit {
    /// Whether it ended well.
    pub fn success(self) -> bool {
        self.code == Some(0)
    }
}

/// `exit 1` or `signal 9`.
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("end"),
        }
    }
}

/// What an environment implements for its processes.
pub trait RawProcess: Send + Sync {
    /// Its id on its host, for people.
    fn id(&self) -> u32;
    /// The next piece of output; `None` once both streams are at their end, or soon after the process
    /// has ended, even if something it started still holds them. Nothing is buffered without bound: a
    /// process whose output nobody reads is made to wait. Nothing is lost if the future is dropped.
    fn output(&mut self) -> Fut<'_, Result<Option<Output>>>;
    /// Whether its standard output is known to be at its end, as it is once [`output`](Self::output) was waited for
    /// after that. Standard error may go on.
    fn stdout_ended(&self) -> bool {
        false
    }
    /// Offers bytes, of which there is at least one, to its standard input, and waits until some are
    /// taken or there is output, so that neither side waits for the other for ever. If the future is
    /// dropped nothing was taken. That its input is not open, or that it has ended, is an error.
    fn offer<'a>(&'a mut self, data: &'a [u8]) -> Fut<'a, Result<Offered>>;
    /// Ends its standard input.
    fn close_stdin(&mut self) -> Fut<'_, Result<()>>;
    /// Waits for its end. The tree may live on; see `close`.
    fn wait(&mut self) -> Fut<'_, Result<Exit>>;
    /// Asks the whole tree to end (SIGTERM), kills what is left after the grace, and waits for it.
    fn close(&mut self, grace: Duration) -> Fut<'_, Result<Exit>>;
    /// Sends SIGINT to the process, as a terminal would.
    fn interrupt(&mut self) -> Result<()>;
    /// Gives its terminal another size. `Unsupported` if it has none.
    fn resize(&mut self, size: TerminalSize) -> Result<()>;
    /// Kills the whole tree at once. Called by the handle's `Drop`.
    fn kill(&mut self);
}

/// The handle of a process. Dropping it kills the whole tree at once.
pub struct Process {
    raw: Box<dyn RawProcess>,
    /// What it said while input was written.
    early: VecDeque<Output>,
    /// Who is told of its end.
    told: Vec<Told>,
}

type Told = Box<dyn FnOnce(Option<Exit>) + Send + Sync>;

/// How much output is kept while input is written.
const EARLY: usize = 1 << 20;

impl Process {
    /// Wraps an environment's process.
    pub fn new(raw: impl RawProcess + 'static) -> Self {
        Self { raw: Box::new(raw), early: VecDeque::new(), told: Vec::new() }
    }

    /// Its id on its host, for people.
    pub fn id(&self) -> u32 {
        self.raw.id()
    }

    /// The next piece of output; `None` once both streams are at their end, or soon after the process
    /// has ended: what it started may hold the streams open for ever. What the process itself wrote
    /// is given whole. Nothing is lost if the future is dropped.
    ///
    /// # Errors
    /// What the system says.
    pub async fn output(&mut self) -> Result<Option<Output>> {
        match self.early.pop_front() {
            Some(piece) => Ok(Some(piece)),
            None => self.raw.output().await,
        }
    }

    /// Whether its standard output is at its end, as far as that was seen while [`output`](Self::output) was waited for.
    /// Standard error may go on.
    pub fn stdout_ended(&self) -> bool {
        let is_stdout = |piece: &Output| piece.stream == OutputStream::Stdout;
        self.raw.stdout_ended() && !self.early.iter().any(is_stdout)
    }

    /// Writes to its standard input. What it says meanwhile is kept for [`output`](Self::output), so
    /// that a process that answers before it has read everything does not wait for us while we wait
    /// for it. If the future is dropped a part may have been written.
    ///
    /// # Errors
    /// What the system says; `Unsupported` if its input is not open; `TooLarge` if it says more than
    /// a MiB meanwhile: [`offer`](Self::offer) is for such.
    pub async fn write(&mut self, mut data: &[u8]) -> Result<()> {
        let mut kept: usize = self.early.iter().map(|piece| piece.bytes.len()).sum();
        while !data.is_empty() {
            match self.raw.offer(data).await? {
                Offered::Took(taken) => data = data.get(taken..).unwrap_or_default(),
                Offered::Said(piece) => {
                    kept += piece.bytes.len();
                    self.early.push_back(piece);
                }
            }
            if kept > EARLY && !data.is_empty() {
                let message = "it says more than is kept and does not read its input";
                return Err(Error::new(ErrorKind::TooLarge, format!("process {}", self.id()), message));
            }
        }
        Ok(())
    }

    /// Offers bytes to its standard input, and waits until it takes some of them or says something,
    /// whichever comes first. If the future is dropped nothing was taken.
    ///
    /// # Errors
    /// What the system says; `Unsupported` if its input is not open.
    pub async fn offer(&mut self, data: &[u8]) -> Result<Offered> {
        match self.early.pop_front() {
            Some(piece) => Ok(Offered::Said(piece)),
            None if data.is_empty() => Ok(Offered::Took(0)),
            None => self.raw.offer(data).await,
        }
    }

    /// Ends its standard input. A terminal's is ended by Ctrl-D.
    ///
    /// # Errors
    /// What the system says.
    pub async fn close_stdin(&mut self) -> Result<()> {
        self.raw.close_stdin().await
    }

    /// Waits for its end. What it started may live on until the handle is closed or dropped. Output
    /// is not read meanwhile: a process that has more to say than its pipes hold does not end.
    ///
    /// # Errors
    /// What the system says.
    pub async fn wait(&mut self) -> Result<Exit> {
        let exit = self.raw.wait().await?;
        self.tell(Some(exit));
        Ok(exit)
    }

    /// Sends SIGINT to the process, as a terminal would.
    ///
    /// # Errors
    /// What the system says.
    pub fn interrupt(&mut self) -> Result<()> {
        self.raw.interrupt()
    }

    /// Gives its terminal another size.
    ///
    /// # Errors
    /// What the system says; `Unsupported` if it has no terminal.
    pub fn resize(&mut self, size: TerminalSize) -> Result<()> {
        self.raw.resize(size)
    }

    /// Asks the whole tree to end, kills what is left after the grace, and waits for it.
    ///
    /// # Errors
    /// What the system says.
    pub async fn close(mut self, grace: Duration) -> Result<Exit> {
        let exit = self.raw.close(grace).await?;
        self.tell(Some(exit));
        Ok(exit)
    }

    /// Calls `tell` once, when it is known how the process ended, or when the handle is dropped before
    /// that was asked.
    pub fn on_end(&mut self, tell: impl FnOnce(Option<Exit>) + Send + Sync + 'static) {
        self.told.push(Box::new(tell));
    }

    fn tell(&mut self, exit: Option<Exit>) {
        for tell in self.told.drain(..) {
            tell(exit);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.raw.kill();
        self.tell(None);
    }
}
