//! A process of this machine.

use std::io;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::child::{Child, Ends, Started};
use super::input::Input;
use super::output::Streams;
use super::pty::Terminal;
use super::tree::Tree;
use crate::{Error, ErrorKind, Exit, Fut, Offered, Output, RawProcess, Result, Stdin, TerminalSize};

/// How long output is still waited for after the process has ended, because something it started
/// still holds the pipes. What was written before the end is read in any case.
const DRAIN: Duration = Duration::from_millis(100);

/// How long killed processes may take to die. Only the kernel can hold them up, on a broken disk.
const DEATH: Duration = Duration::from_secs(10);

/// The pause between two looks at a tree that is to end: short at first, longer each time.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_millis(50);

/// A process of this machine: its pipes or terminal, and the owner of its tree.
pub(super) struct LocalProcess {
    name: String,
    child: Child,
    exit: watch::Receiver<Option<Exit>>,
    input: Input,
    streams: Streams,
    terminal: Option<Terminal>,
    /// Until when output is waited for; set once the process has ended.
    drained: Option<Instant>,
}

impl LocalProcess {
    /// Takes over a child. `name` is for errors.
    pub(super) fn new(name: String, started: Started, stdin: Stdin) -> io::Result<Self> {
        let Started { child, exit, ends } = started;
        let is_empty = stdin == Stdin::Empty;
        let given = match stdin {
            Stdin::Bytes(bytes) => Some(bytes),
            Stdin::Empty | Stdin::Open => None,
        };
        let (input, streams, terminal) = match ends {
            Ends::Pipes { stdin, stdout, stderr } => {
                (Input::new(stdin, given)?, Streams::of_pipes(stdout, stderr)?, None)
            }
            Ends::Ours => (Input::none(), Streams::none(), None),
            Ends::Terminal(terminal) => {
                let input =
                    if is_empty { Input::none() } else { Input::typed(terminal.descriptor()?, given)? };
                (input, Streams::of_terminal(terminal.descriptor()?)?, Some(terminal))
            }
        };
        Ok(Self { name, child, exit, input, streams, terminal, drained: None })
    }

    fn error(&self, source: io::Error) -> Error {
        Error::io(&self.name, source)
    }

    async fn next_output(&mut self) -> io::Result<Option<Output>> {
        loop {
            let ended = self.exit.borrow().is_some();
            let until = ended.then(|| *self.drained.get_or_insert_with(|| Instant::now() + DRAIN));
            // Asked first, or something that never stops writing would keep us here.
            if until.is_some_and(|until| Instant::now() >= until) {
                return self.streams.rest();
            }
            tokio::select! {
                biased;
                () = self.input.feed(), if self.input.is_pending() => {}
                piece = self.streams.next() => return piece,
                exit = end(&mut self.exit), if !ended => drop(exit?),
                () = sleep_until(until.unwrap_or_else(Instant::now)), if ended => {}
            }
        }
    }

    async fn take_or_say(&mut self, data: &[u8]) -> io::Result<Offered> {
        if self.exit.borrow().is_some() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        loop {
            tokio::select! {
                biased;
                written = self.input.write_some(data) => return written.map(Offered::Took),
                piece = self.streams.next(), if !self.streams.ended() => {
                    if let Some(piece) = piece? {
                        return Ok(Offered::Said(piece));
                    }
                }
                // What it started may hold the pipe, and never read.
                exit = end(&mut self.exit) => {
                    exit?;
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
            }
        }
    }

    async fn wait_for_end(&mut self) -> io::Result<Exit> {
        loop {
            tokio::select! {
                biased;
                exit = end(&mut self.exit) => return exit,
                () = self.input.feed(), if self.input.is_pending() => {}
            }
        }
    }

    async fn end_tree(&mut self, grace: Duration) -> io::Result<Exit> {
        self.input.end();
        if self.child.left_nothing() {
            self.child.release();
            return end(&mut self.exit).await;
        }
        if self.child.with_tree(Tree::terminate).await? && !self.is_gone_within(grace).await? {
            self.child.with_tree(Tree::kill).await?;
            if !self.is_gone_within(DEATH).await? {
                return Err(io::Error::other("processes that were killed did not die"));
            }
        }
        let exit = end(&mut self.exit).await;
        self.child.release();
        exit
    }

    /// Whether all of the tree is gone before the time is up. What it still says is not kept.
    async fn is_gone_within(&mut self, limit: Duration) -> io::Result<bool> {
        let deadline = sleep(limit);
        tokio::pin!(deadline);
        let mut pause = FIRST_PAUSE;
        while self.child.with_tree(Tree::lives).await? {
            if deadline.is_elapsed() {
                return Ok(false);
            }
            let running = self.exit.borrow().is_none();
            tokio::select! {
                () = &mut deadline => {}
                // Descendants tell nobody that they ended; of the process itself we hear.
                () = sleep(pause) => pause = (pause * 2).min(LAST_PAUSE),
                exit = end(&mut self.exit), if running => drop(exit?),
                () = self.streams.discard() => {}
            }
        }
        Ok(true)
    }
}

/// The end of the process.
async fn end(exit: &mut watch::Receiver<Option<Exit>>) -> io::Result<Exit> {
    let exit = exit.wait_for(Option::is_some).await.map_err(io::Error::other)?;
    exit.ok_or_else(|| io::Error::other("the process ended unseen"))
}

impl RawProcess for LocalProcess {
    fn id(&self) -> u32 {
        self.child.id()
    }

    fn output(&mut self) -> Fut<'_, Result<Option<Output>>> {
        Box::pin(async { self.next_output().await.map_err(|e| self.error(e)) })
    }

    fn stdout_ended(&self) -> bool {
        self.streams.stdout_ended()
    }

    fn offer<'a>(&'a mut self, data: &'a [u8]) -> Fut<'a, Result<Offered>> {
        Box::pin(async {
            if !self.input.is_open() {
                return Err(Error::new(ErrorKind::Unsupported, &self.name, "its input is not open"));
            }
            self.take_or_say(data).await.map_err(|e| self.error(e))
        })
    }

    fn close_stdin(&mut self) -> Fut<'_, Result<()>> {
        Box::pin(async {
            if self.input.is_open() {
                self.input.close();
            }
            Ok(())
        })
    }

    fn wait(&mut self) -> Fut<'_, Result<Exit>> {
        Box::pin(async { self.wait_for_end().await.map_err(|e| self.error(e)) })
    }

    fn close(&mut self, grace: Duration) -> Fut<'_, Result<Exit>> {
        Box::pin(async move { self.end_tree(grace).await.map_err(|e| self.error(e)) })
    }

    fn interrupt(&mut self) -> Result<()> {
        self.child.interrupt().map_err(|e| self.error(e))
    }

    fn resize(&mut self, size: TerminalSize) -> Result<()> {
        match &self.terminal {
            Some(terminal) => terminal.resize(size).map_err(|e| self.error(e)),
            None => Err(Error::new(ErrorKind::Unsupported, &self.name, "it has no terminal")),
        }
    }

    fn kill(&mut self) {
        self.child.kill();
    }
}
