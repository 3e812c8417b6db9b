//! What a command says while somebody waits for it.

use std::time::Duration;

use junto_core::{ToolCx, ToolOutcome};
use junto_env::{Background, Exit, HeadTail, JobId, Snapshot, State};
use tokio::time::Instant;

/// How many bytes are kept of the beginning, and as many of the end, of what is said in one wait.
const KEPT: usize = 512 * 1024;
/// How long can be waited.
pub(super) const LONGEST: Duration = Duration::from_hours(1);

/// How long a wait lasts if the command does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// So long; it runs on then.
    For(Duration),
    /// Until it has been silent for so long; it is ended then.
    Silence(Duration),
}

/// What a command said in one wait, and how it stands.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) job: JobId,
    /// The process's id on its host.
    pub(crate) pid: u32,
    pub(crate) text: String,
    /// How many bytes it said, of which the text may have the ends only.
    pub(crate) bytes: u64,
    pub(crate) state: State,
    /// How long it has run, or ran.
    pub(crate) duration: Duration,
    pub(crate) end: End,
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nobody wanted to wait longer, or the command ended.
    Wait,
    /// The command was ended because it was silent for so long.
    Silent(Duration),
    /// The call was interrupted, and the command ended with it.
    Cancelled,
}

impl Heard {
    /// The exit code, as a shell gives it; none while it runs, or if nobody knows.
    pub(crate) fn code(&self) -> Option<i32> {
        match self.state {
            State::Ended(Exit { code, signal }) => code.or(signal.map(|signal| 128 + signal)),
            State::Running | State::Failed(_) => None,
        }
    }
}

/// A command that nobody waits for: what it says is for whoever asks next.
pub(super) fn unheard(id: JobId, job: &Background) -> Heard {
    let (text, state, duration) = (String::new(), State::Running, Duration::ZERO);
    Heard { job: id, pid: job.id(), text, bytes: 0, state, duration, end: End::Wait }
}

/// From where on is told what a job said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// From where the last wait ended, so that everything is told once.
    Told,
    /// From the beginning, as far as it is kept.
    Start,
}

/// Waits for what a job says.
pub(super) async fn listen(
    cx: &ToolCx,
    (id, job): (JobId, &Background),
    since: Since,
    patience: Patience,
) -> Heard {
    let mut ends = HeadTail::new(KEPT, KEPT);
    let mut at = match since {
        Since::Told => job.told(),
        Since::Start => 0,
    };
    let news = |at: u64| match since {
        Since::Told => job.news(),
        Since::Start => job.poll(at),
    };
    let started = Instant::now();
    let mut spoke = started;
    let (state, duration, end) = loop {
        let (from, limit) = match patience {
            Patience::For(limit) => (started, limit),
            Patience::Silence(limit) => (spoke, limit),
        };
        let left = limit.min(LONGEST).saturating_sub(from.elapsed());
        let cancelled = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => true,
            _ = job.wait_for_output(at, left) => false,
        };
        let Snapshot { text, dropped, next, state, duration } = news(at);
        if dropped > 0 && next > at {
            ends.push(format!("\n[{dropped} bytes before this are no longer kept]\n").as_bytes());
        }
        ends.push(text.as_bytes());
        if next > at {
            (at, spoke) = (next, Instant::now());
        }
        let end = match patience {
            _ if cancelled => End::Cancelled,
            _ if !state.is_running() => End::Wait,
            Patience::For(_) if left.is_zero() => End::Wait,
            Patience::Silence(limit) if left.is_zero() => End::Silent(limit),
            _ => continue,
        };
        break (state, duration, end);
    };
    let text = ends.text(|left_out| format!("\n... {left_out} bytes omitted ...\n"));
    Heard { job: id, pid: job.id(), text, bytes: ends.total(), state, duration, end }
}

/// What the model is told, large or not.
pub(super) async fn outcome(cx: &ToolCx, told: Result<String, String>) -> ToolOutcome {
    let is_error = told.is_err();
    let mut spool = cx.caller.spool();
    spool.push(&told.unwrap_or_else(|error| error)).await;
    let output = spool.finish().await;
    if is_error { ToolOutcome::error(output) } else { ToolOutcome::ok(output) }
}
