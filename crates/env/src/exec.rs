//! Running a command to its end, over any environment.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::characters::Interleave;
use crate::{CommandSpec, ExecutionEnvironment, Exit, Fut, HeadTail, Output, OutputStream, Process, Result};

/// How long a command that is stopped has for ending by itself.
pub const GRACE: Duration = Duration::from_secs(2);

/// How many bytes are kept of the beginning, and as many of the end, of each stream.
const KEPT: usize = 256 << 10;

/// How many pieces are still read of a command whose time is up; more than its pipes hold at once.
const LAST_PIECES: usize = 64;

/// How a command went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecResult {
    /// How it ended.
    pub exit: Exit,
    /// Whether it was stopped because its time was up.
    pub timed_out: bool,
    /// Whether it was stopped because it was cancelled.
    pub cancelled: bool,
    /// How long it ran.
    pub duration: Duration,
    /// The beginning and the end of its standard output.
    pub stdout: HeadTail,
    /// The beginning and the end of its standard error.
    pub stderr: HeadTail,
    /// The beginning and the end of both, in the order they came.
    pub both: HeadTail,
}

/// How a command ended, without what it said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub exit: Exit,
    /// Whether it was stopped because its time was up.
    pub timed_out: bool,
    /// Whether it was stopped because it was cancelled.
    pub cancelled: bool,
    /// How long it ran.
    pub duration: Duration,
}

/// Takes what a command says, and may take its time: the command waits meanwhile.
pub trait Listener: Send {
    /// Takes a piece. The wait may be dropped when the command is stopped; the piece must not be lost
    /// then.
    fn hear<'a>(&'a mut self, piece: &'a Output) -> Fut<'a, ()>;
}

/// Why nothing more is awaited of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    TimedOut,
    Cancelled,
}

/// Runs a command to its end, which is also that of everything it started.
///
/// Every piece of output goes to `sink` as it is read; the result keeps the beginning and the end of
/// each stream. A command that takes longer than `limit`, or is cancelled, is asked to end (SIGTERM),
/// killed after [`GRACE`], and reported with what it had said. Dropping the future kills it at once.
///
/// # Errors
/// If it cannot be started, or the environment fails. That the command failed is a result.
pub async fn exec(
    env: &dyn ExecutionEnvironment,
    command: CommandSpec,
    limit: Duration,
    cancel: &CancellationToken,
    sink: &mut (dyn FnMut(&Output) + Send),
) -> Result<ExecResult> {
    let mut capture = Capture::new(sink);
    let Ended { exit, timed_out, cancelled, duration } =
        exec_into(env, command, limit, cancel, &mut capture).await?;
    let both = capture.finish();
    Ok(ExecResult {
        exit,
        timed_out,
        cancelled,
        duration,
        stdout: capture.stdout,
        stderr: capture.stderr,
        both,
    })
}

/// The same, with everything it says going to somebody who may take his time, and nothing kept.
///
/// # Errors
/// If it cannot be started, or the environment fails. That the command failed is a result.
pub async fn exec_into(
    env: &dyn ExecutionEnvironment,
    command: CommandSpec,
    limit: Duration,
    cancel: &CancellationToken,
    listener: &mut dyn Listener,
) -> Result<Ended> {
    let started = Instant::now();
    let mut process = env.spawn(command).await?;
    let stop = tokio::select! {
        biased;
        () = cancel.cancelled() => Some(Stop::Cancelled),
        () = sleep(limit) => Some(Stop::TimedOut),
        ended = follow(&mut process, listener) => {
            ended?;
            None
        }
    };
    let mut duration = started.elapsed();
    if stop.is_some() {
        let mut last = Vec::new();
        rest(&mut process, |piece| last.push(piece.clone())).await;
        for piece in &last {
            listener.hear(piece).await;
        }
    }
    let exit = process.close(GRACE).await?;
    if stop.is_some() {
        duration = started.elapsed();
    }
    Ok(Ended {
        exit,
        timed_out: stop == Some(Stop::TimedOut),
        cancelled: stop == Some(Stop::Cancelled),
        duration,
    })
}

async fn follow(process: &mut Process, listener: &mut dyn Listener) -> Result<Exit> {
    while let Some(piece) = process.output().await? {
        listener.hear(&piece).await;
    }
    process.wait().await
}

/// Takes what a process has said and nobody has read yet, without waiting for more.
pub(crate) async fn rest(process: &mut Process, mut take: impl FnMut(&Output)) {
    for _ in 0..LAST_PIECES {
        match timeout(Duration::ZERO, process.output()).await {
            Ok(Ok(Some(piece))) => take(&piece),
            _ => return,
        }
    }
}

struct Capture<'a> {
    stdout: HeadTail,
    stderr: HeadTail,
    both: HeadTail,
    interleave: Interleave,
    sink: &'a mut (dyn FnMut(&Output) + Send),
}

impl<'a> Capture<'a> {
    fn new(sink: &'a mut (dyn FnMut(&Output) + Send)) -> Self {
        let [stdout, stderr, both] = [(); 3].map(|()| HeadTail::new(KEPT, KEPT));
        Self { stdout, stderr, both, interleave: Interleave::default(), sink }
    }

    fn take(&mut self, piece: &Output) {
        match piece.stream {
            OutputStream::Stdout => self.stdout.push_shared(&piece.bytes),
            OutputStream::Stderr => self.stderr.push_shared(&piece.bytes),
        }
        self.interleave.push(piece, |bytes| self.both.push_shared(bytes));
        (self.sink)(piece);
    }

    /// Both streams, once there is no more.
    fn finish(&mut self) -> HeadTail {
        self.interleave.finish(|bytes| self.both.push_shared(bytes));
        std::mem::replace(&mut self.both, HeadTail::new(0, 0))
    }
}

impl Listener for Capture<'_> {
    fn hear<'a>(&'a mut self, piece: &'a Output) -> Fut<'a, ()> {
        self.take(piece);
        Box::pin(std::future::ready(()))
    }
}
