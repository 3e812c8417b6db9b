//! Running one cell on a kernel that lives.

use std::io;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::cell::{Cell, CellEnd};
use super::channels::From;
use super::life::End;
use super::message::Message;
use super::output::{Output, Piece};
use super::pieces;
use super::start::Live;

/// How long a dead kernel's next message is waited for, and its last; and how long one that has hung up may take to die.
const NEXT_MESSAGE: Duration = Duration::from_millis(20);
const LAST_MESSAGE: Duration = Duration::from_secs(10);
const HUNG_UP: Duration = Duration::from_secs(1);
/// How much is kept of what earlier cells say.
const STRAYS: usize = 16 << 10;

/// What became of a cell, and whether its kernel can run another.
pub(super) struct Driven {
    pub(super) end: CellEnd,
    pub(super) dead: bool,
    pub(super) strays: String,
}

/// Why a cell is being stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    TimedOut,
    Cancelled,
}

impl Stop {
    fn end(self, killed: bool) -> CellEnd {
        match self {
            Self::TimedOut => CellEnd::TimedOut { killed },
            Self::Cancelled => CellEnd::Interrupted { killed },
        }
    }
}

/// What comes next.
enum Event {
    Stop(Stop),
    /// The interrupt was not heeded so far.
    Insist,
    Ended,
    Killed,
    Said(io::Result<Option<(From, Message)>>),
}

/// How far a cell is.
struct Progress {
    id: String,
    answered: Option<Message>,
    idle: bool,
    /// The class of the exception, if there was one.
    raised: Option<String>,
    strays: String,
}

impl Progress {
    fn new(id: String) -> Self {
        Self { id, answered: None, idle: false, raised: None, strays: String::new() }
    }

    fn is_over(&self) -> bool {
        self.answered.is_some() && self.idle
    }

    /// Takes note of a message; gives what it says to the user.
    fn take(&mut self, from: From, message: Message) -> Vec<Piece> {
        let ours = message.parent == self.id;
        match from {
            From::Shell if ours && message.kind == "execute_reply" => self.answered = Some(message),
            From::Published if ours => {
                self.idle |= message.kind == "status" && message.text("execution_state") == "idle";
                if message.kind == "error" {
                    self.raised = Some(message.text("ename").to_owned());
                }
                return pieces::of(&message);
            }
            From::Published if message.kind == "stream" => self.stray(message.text("text")),
            _ => {}
        }
        Vec::new()
    }

    fn stray(&mut self, text: &str) {
        self.strays.push_str(text);
        let over = self.strays.len().saturating_sub(STRAYS);
        let over = self.strays.ceil_char_boundary(over);
        self.strays.drain(..over);
    }
}

/// Runs a cell. `leave` ends it and its kernel at once.
pub(super) async fn run(
    live: &mut Live,
    cell: &Cell,
    grace: Duration,
    limited: bool,
    leave: &CancellationToken,
    out: &mut (dyn Output + Send),
) -> Driven {
    let start = cell.clock.mark();
    let mut stopping: Option<(Stop, Insistence)> = None;
    let time_up = cell.clock.passed(cell.within, start);
    tokio::pin!(time_up);
    live.is_cut = true;
    let sent = {
        // A large cell waits for the kernel to take it, which may never do so.
        let send = live.channels.execute(&cell.code, cell.quiet);
        tokio::pin!(send);
        loop {
            let last = stopping.as_ref().map(|(_, insistence): &(Stop, Insistence)| insistence.last);
            let stop = tokio::select! {
                biased;
                () = leave.cancelled() => return unsent(Stop::Cancelled),
                sent = &mut send => break sent,
                () = cell.cancel.cancelled(), if stopping.is_none() => Stop::Cancelled,
                () = &mut time_up, if stopping.is_none() => Stop::TimedOut,
                () = at(last), if last.is_some() => {
                    return unsent(stopping.map_or(Stop::Cancelled, |(stop, _)| stop));
                }
            };
            stopping = Some((stop, Insistence::new(grace)));
        }
    };
    let id = match sent {
        Ok(id) => id,
        Err(e) => return hung_up(live, Progress::new(String::new()), out, e.to_string()).await,
    };
    live.is_cut = false;
    live.unfinished = Some(id.clone());
    let mut progress = Progress::new(id);
    if stopping.is_some() {
        // If it cannot be told it is killed soon.
        let _ = live.channels.interrupt(&progress.id).await;
    }
    while !progress.is_over() {
        let insist = stopping.as_ref().map(|(_, insistence)| insistence.next());
        let event = tokio::select! {
            biased;
            () = leave.cancelled() => Event::Killed,
            () = cell.cancel.cancelled(), if stopping.is_none() => Event::Stop(Stop::Cancelled),
            () = &mut time_up, if stopping.is_none() => Event::Stop(Stop::TimedOut),
            () = at(insist), if insist.is_some() => Event::Insist,
            _ = live.life.end() => Event::Ended,
            said = live.channels.next() => Event::Said(said),
        };
        match event {
            Event::Said(Ok(Some((from, message)))) => {
                for piece in progress.take(from, message) {
                    out.piece(piece).await;
                }
            }
            Event::Stop(stop) => {
                stopping = Some((stop, Insistence::new(grace)));
                // If it cannot be told it is killed soon.
                let _ = live.channels.interrupt(&progress.id).await;
            }
            Event::Insist => {
                let Some((stop, insistence)) = &mut stopping else { continue };
                if insistence.is_over() {
                    return Driven { end: stop.end(true), dead: true, strays: progress.strays };
                }
                let _ = live.channels.interrupt(&progress.id).await;
            }
            Event::Killed => {
                let end = CellEnd::Interrupted { killed: true };
                return Driven { end, dead: true, strays: progress.strays };
            }
            Event::Ended => return died(live, progress, out).await,
            Event::Said(Ok(None)) => return hung_up(live, progress, out, "it has hung up".to_owned()).await,
            Event::Said(Err(e)) => return hung_up(live, progress, out, e.to_string()).await,
        }
    }
    live.unfinished = None;
    let end = ended(&mut progress, stopping.map(|(stop, _)| stop), limited, out).await;
    Driven { end, dead: false, strays: progress.strays }
}

/// A cell that was to stop before the kernel had taken it. Of such a kernel nothing can be made.
fn unsent(stop: Stop) -> Driven {
    Driven { end: stop.end(true), dead: true, strays: String::new() }
}

/// How a cell ended that is over.
async fn ended(
    progress: &mut Progress,
    stopping: Option<Stop>,
    limited: bool,
    out: &mut (dyn Output + Send),
) -> CellEnd {
    let failed = progress.answered.as_ref().filter(|answer| answer.text("status") != "ok");
    // Some exceptions are only in the answer.
    if let (Some(answer), None) = (failed, &progress.raised) {
        let piece = pieces::error(answer);
        progress.raised = Some(answer.text("ename").to_owned());
        out.piece(piece).await;
    }
    match (stopping, &progress.raised) {
        (Some(stop), _) => stop.end(false),
        (None, None) => CellEnd::Done,
        (None, Some(name)) if limited && name == "MemoryError" => CellEnd::OutOfMemory,
        (None, Some(_)) => CellEnd::Failed,
    }
}

/// The kernel has ended: what it had still said, and why.
async fn died(live: &mut Live, mut progress: Progress, out: &mut (dyn Output + Send)) -> Driven {
    let began = Instant::now();
    // It has hung up, unless something it left holds its sockets. How long the pieces take that are handed on is not
    // its doing.
    while began.elapsed() < LAST_MESSAGE
        && let Ok(Ok(Some((from, message)))) = timeout(NEXT_MESSAGE, live.channels.next()).await
    {
        for piece in progress.take(from, message) {
            out.piece(piece).await;
        }
    }
    let End { exit, said } = live.life.end().await;
    let why = match exit.signal {
        // Nobody but the system kills it so without our doing.
        Some(KILLED) => "it was killed; perhaps the machine had no memory left".to_owned(),
        _ => said.trim().to_owned(),
    };
    let end = CellEnd::Died { status: exit, why };
    Driven { end, dead: true, strays: progress.strays }
}

/// The signal that cannot be heeded.
const KILLED: i32 = 9;

/// A kernel that cannot be talked to any more: it is dying, or its code has broken it.
async fn hung_up(live: &mut Live, progress: Progress, out: &mut (dyn Output + Send), why: String) -> Driven {
    if timeout(HUNG_UP, live.life.end()).await.is_ok() {
        return died(live, progress, out).await;
    }
    let end = CellEnd::Died { status: junto_env::Exit { code: None, signal: None }, why };
    Driven { end, dead: true, strays: progress.strays }
}

/// Has a cell that nobody waited for end, so that another can run; says whether it did.
pub(super) async fn settle(live: &mut Live, grace: Duration) -> bool {
    let Some(id) = live.unfinished.clone() else { return true };
    let mut progress = Progress::new(id.clone());
    let work = async {
        live.channels.interrupt(&id).await?;
        while !progress.is_over() {
            let Some((from, message)) = live.channels.next().await? else { return Ok(false) };
            progress.take(from, message);
        }
        Ok::<bool, io::Error>(true)
    };
    let settled = matches!(timeout(grace, work).await, Ok(Ok(true)));
    if settled {
        live.unfinished = None;
    }
    settled
}

/// When a cell is told again to stop, and when it is killed.
struct Insistence {
    again: Option<Instant>,
    last: Instant,
}

impl Insistence {
    fn new(grace: Duration) -> Self {
        let now = Instant::now();
        Self { again: Some(now + grace / 2), last: now + grace }
    }

    fn next(&self) -> Instant {
        self.again.unwrap_or(self.last)
    }

    /// Whether this was the last time.
    fn is_over(&mut self) -> bool {
        self.again.take().is_none()
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
