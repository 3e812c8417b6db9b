//! A Python kernel: state that lasts from cell to cell.

mod cell;
mod channels;
mod drive;
mod folder;
mod life;
mod message;
mod output;
mod pieces;
mod start;
mod zmtp;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use junto_env::{Access, ExecutionEnvironment, Sandbox};
use tokio::sync::Mutex as Turn;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use self::cell::{Cell, CellEnd, Clock, Hold, Ran};
pub use self::output::{Output, Piece};
pub(crate) use self::pieces::is_bare;
use self::start::Live;
use crate::{Error, ErrorKind, Python};

/// What a kernel is started with, also each time it is started again.
#[derive(Clone)]
pub struct KernelSetup {
    /// The interpreter.
    pub python: Python,
    /// Where it runs: this machine, or a sandbox on it (see [`sandbox_for_kernels`]).
    pub env: Arc<dyn ExecutionEnvironment>,
    /// Where its code finds itself.
    pub directory: PathBuf,
    /// Where the kernel has a folder of its own, for its sockets; must be there, and its path short: about
    /// 60 bytes.
    pub run_dir: PathBuf,
    /// Variables beside those that the environment gives. They win.
    pub variables: BTreeMap<String, String>,
    /// Cells that are run at every start, before any other, and not shown.
    pub start_up: Vec<String>,
    /// Modules that its code can import: file name and text.
    pub modules: Vec<(String, String)>,
    /// The most bytes of memory of the kernel, and of each process its cells start.
    pub memory: Option<u64>,
    /// How long a cell that is interrupted, and a kernel that is closed, has before it is killed.
    pub grace: Duration,
}

impl KernelSetup {
    /// An interpreter in a place, with nothing else: no start-up, no limits, two seconds of grace.
    pub fn new(
        python: Python,
        env: Arc<dyn ExecutionEnvironment>,
        directory: impl Into<PathBuf>,
        run_dir: impl Into<PathBuf>,
    ) -> Self {
        Self {
            python,
            env,
            directory: directory.into(),
            run_dir: run_dir.into(),
            variables: BTreeMap::new(),
            start_up: Vec::new(),
            modules: Vec::new(),
            memory: None,
            grace: Duration::from_secs(2),
        }
    }
}

/// A sandbox in which a kernel can run whose sockets are below `run_dir`, and so can the tool socket its code
/// calls: the same, with that one directory writable and its sockets named. Give each session a directory of its
/// own for it.
pub fn sandbox_for_kernels(sandbox: Sandbox, run_dir: &Path) -> Sandbox {
    let mut sandbox = sandbox;
    if sandbox.access == Access::ReadOnly {
        // Its sockets must be made somewhere; nothing else becomes writable by this.
        sandbox.access = Access::Aside;
        sandbox.temporary = Some(Vec::new());
        sandbox.writable.clear();
    }
    sandbox.writable.push(run_dir.to_owned());
    sandbox.sockets.push(run_dir.to_owned());
    sandbox
}

/// The most bytes of a cell.
const LONGEST: usize = 4 << 20;

/// An IPython kernel as a child process. Clones are the same kernel; it is killed with the last of them.
///
/// It runs one cell at a time; others wait for their turn.
#[derive(Clone)]
pub struct Kernel(Arc<Shared>);

struct Shared {
    setup: KernelSetup,
    /// Held by whoever has his turn.
    slot: Turn<Slot>,
    generation: AtomicU64,
    closed: CancellationToken,
    /// Ends the cell that runs, and its kernel; another one after each reset.
    leave: Mutex<CancellationToken>,
}

/// Where the kernel is.
#[derive(Default)]
struct Slot {
    /// The kernel, if it lives.
    live: Option<Live>,
    /// Whether one has ended and nobody was told so far.
    lost: bool,
}

impl Kernel {
    /// Starts one and runs the start-up cells.
    ///
    /// # Errors
    /// `start` if it does not come up or a start-up cell fails, with what it said.
    pub async fn start(setup: KernelSetup) -> Result<Self, Error> {
        let closed = CancellationToken::new();
        let shared = Shared {
            setup,
            slot: Turn::default(),
            generation: AtomicU64::new(0),
            leave: Mutex::new(closed.child_token()),
            closed,
        };
        let live = shared.begin().await?;
        shared.slot.lock().await.live = Some(live);
        Ok(Self(Arc::new(shared)))
    }

    /// Runs a cell and gives everything it says to `out`, piece by piece. It is over when the kernel has
    /// answered and is idle again, so nothing it said comes later.
    ///
    /// If the kernel ended meanwhile, the next cell starts it anew. If the future is dropped, the cell is
    /// interrupted when the next one is to run.
    ///
    /// # Errors
    /// `code` if this cannot be a cell; `start` if the kernel had to be started anew and could not;
    /// `closed`. What becomes of the cell is no error.
    pub async fn run(&self, cell: Cell, out: &mut (dyn Output + Send)) -> Result<Ran, Error> {
        check(&cell.code)?;
        let shared = &*self.0;
        let started = Instant::now();
        let mut slot = tokio::select! {
            biased;
            () = shared.closed.cancelled() => return Err(closed()),
            () = cell.cancel.cancelled() => return Ok(not_begun(started)),
            slot = shared.slot.lock() => slot,
        };
        if shared.closed.is_cancelled() {
            return Err(closed());
        }
        let leave = shared.leave();
        if let Some(live) = &mut slot.live {
            let usable = tokio::select! {
                biased;
                () = cell.cancel.cancelled() => return Ok(not_begun(started)),
                usable = shared.is_usable(live) => usable,
            };
            if !usable && let Some(live) = slot.live.take() {
                slot.lost = true;
                live.close(Duration::ZERO).await;
            }
        }
        let live = match &mut slot.live {
            Some(live) => live,
            empty => tokio::select! {
                biased;
                () = cell.cancel.cancelled() => return Ok(not_begun(started)),
                begun = shared.begin_or_leave(&leave) => empty.insert(begun?),
            },
        };
        out.begin();
        let setup = &shared.setup;
        let driven = drive::run(live, &cell, setup.grace, setup.memory.is_some(), &leave, out).await;
        if driven.dead
            && let Some(live) = slot.live.take()
        {
            slot.lost = true;
            live.close(Duration::ZERO).await;
        }
        if shared.closed.is_cancelled() {
            return Err(closed());
        }
        let state_lost = std::mem::take(&mut slot.lost);
        Ok(Ran { end: driven.end, state_lost, strays: driven.strays, took: started.elapsed() })
    }

    /// Ends the kernel and starts it anew; a cell that runs is ended.
    ///
    /// # Errors
    /// As [`Kernel::start`]; `closed`.
    pub async fn reset(&self) -> Result<(), Error> {
        let shared = &*self.0;
        shared.renew().cancel();
        let mut slot = shared.slot.lock().await;
        slot.lost = true;
        if let Some(live) = slot.live.take() {
            live.close(shared.setup.grace).await;
        }
        if shared.closed.is_cancelled() {
            return Err(closed());
        }
        slot.live = Some(shared.begin().await?);
        slot.lost = false;
        Ok(())
    }

    /// Ends the kernel and everything its cells have left running. All of it is gone when this returns.
    pub async fn close(&self) {
        let shared = &*self.0;
        shared.closed.cancel();
        let live = shared.slot.lock().await.live.take();
        if let Some(live) = live {
            live.close(shared.setup.grace).await;
        }
    }

    /// Which start of the kernel this is: another number whenever its state is a new one.
    pub fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Acquire)
    }
}

impl Shared {
    /// A kernel that has run the start-up cells.
    async fn begin(&self) -> Result<Live, Error> {
        let mut live = Live::start(&self.setup).await?;
        self.generation.fetch_add(1, Ordering::AcqRel);
        for code in &self.setup.start_up {
            let cell = Cell { quiet: true, ..Cell::new(code.as_str()) }.within(START_UP);
            let mut said = LastError::default();
            let leave = self.closed.clone();
            let driven = drive::run(&mut live, &cell, self.setup.grace, false, &leave, &mut said).await;
            if driven.end != CellEnd::Done {
                live.close(Duration::ZERO).await;
                let message = life::hinted(said.message(&driven.end), self.setup.memory.is_some());
                return Err(Error::new(ErrorKind::Start, message));
            }
        }
        Ok(live)
    }

    async fn begin_or_leave(&self, leave: &CancellationToken) -> Result<Live, Error> {
        leave.run_until_cancelled(self.begin()).await.unwrap_or_else(|| Err(closed()))
    }

    /// Whether a kernel can run a cell. Dropped, it can be asked again.
    async fn is_usable(&self, live: &mut Live) -> bool {
        // One that just died has hung up before its end is known.
        let lives = live.life.ended().is_none() && !live.channels.is_hung_up() && !live.is_cut;
        lives && drive::settle(live, self.setup.grace).await
    }

    fn leave(&self) -> CancellationToken {
        self.leave.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts another token in the place of the one that cells have, and gives that.
    fn renew(&self) -> CancellationToken {
        let mut leave = self.leave.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *leave, self.closed.child_token())
    }
}

/// How long a start-up cell may run.
const START_UP: Duration = Duration::from_mins(1);

/// Keeps what went wrong.
#[derive(Default)]
struct LastError(String);

impl LastError {
    fn message(&self, end: &CellEnd) -> String {
        match self.0.as_str() {
            "" => format!("the start-up code of the kernel did not run to its end: {end:?}"),
            traceback => format!("the start-up code of the kernel failed:\n{traceback}"),
        }
    }
}

impl Output for LastError {
    fn piece(&mut self, piece: Piece) -> junto_core::Fut<'_, ()> {
        if let Piece::Error { traceback, .. } = piece {
            self.0 = traceback;
        }
        Box::pin(std::future::ready(()))
    }
}

fn check(code: &str) -> Result<(), Error> {
    let refuse = |message: String| Err(Error::new(ErrorKind::Code, message));
    if code.len() > LONGEST {
        return refuse(format!(
            "the cell has {} bytes; a cell has at most {LONGEST}: put data into a file and read it from there",
            code.len()
        ));
    }
    if let Some(at) = code.find('\0') {
        return refuse(format!(
            "the cell has a NUL character at byte {at}, which Python does not take: write it as \\0 in a string"
        ));
    }
    Ok(())
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the kernel is closed")
}

/// A cell that was cancelled while it waited for its turn, or its kernel.
fn not_begun(started: Instant) -> Ran {
    let end = CellEnd::Interrupted { killed: false };
    Ran { end, state_lost: false, strays: String::new(), took: started.elapsed() }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel").field("generation", &self.generation()).finish_non_exhaustive()
    }
}
