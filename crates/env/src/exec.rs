//! Running a command to its end, over any environment.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::{CommandSpec, ExecutionEnvironment, Exit, HeadTail, Output, OutputStream, Process, Result};

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
    let started = Instant::now();
    let mut process = env.spawn(command).await?;
    let mut capture = Capture { stdout: HeadTail::new(KEPT, KEPT), stderr: HeadTail::new(KEPT, KEPT), sink };
    let stop = tokio::select! {
        biased;
        () = cancel.cancelled() => Some(Stop::Cancelled),
        () = sleep(limit) => Some(Stop::TimedOut),
        ended = follow(&mut process, &mut capture) => {
            ended?;
            None
        }
    };
    let mut duration = started.elapsed();
    if stop.is_some() {
        capture.rest(&mut process).await;
    }
    let exit = process.close(GRACE).await?;
    if stop.is_some() {
        duration = started.elapsed();
    }
    Ok(ExecResult {
        exit,
        timed_out: stop == Some(Stop::TimedOut),
        cancelled: stop == Some(Stop::Cancelled),
        duration,
        stdout: capture.stdout,
        stderr: capture.stderr,
    })
}

async fn follow(process: &mut Process, capture: &mut Capture<'_>) -> Result<Exit> {
    while let Some(piece) = process.output().await? {
        capture.take(&piece);
    }
    process.wait().await
}

struct Capture<'a> {
    stdout: HeadTail,
    stderr: HeadTail,
    sink: &'a mut (dyn FnMut(&Output) + Send),
}

impl Capture<'_> {
    fn take(&mut self, piece: &Output) {
        match piece.stream {
            OutputStream::Stdout => self.stdout.push(&piece.bytes),
            OutputStream::Stderr => self.stderr.push(&piece.bytes),
        }
        (self.sink)(piece);
    }

    /// Takes what has been said and not been read yet, without waiting for more.
    async fn rest(&mut self, process: &mut Process) {
        for _ in 0..LAST_PIECES {
            match timeout(Duration::ZERO, process.output()).await {
                Ok(Ok(Some(piece))) => self.take(&piece),
                _ => return,
            }
        }
    }
}
