//! A Python kernel: state that lasts from cell to cell.

mod cell;
mod output;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use junto_env::ExecutionEnvironment;

pub use self::cell::{Cell, CellEnd, Clock, Hold, Ran};
pub use self::output::{Output, Piece};
use crate::{Error, ErrorKind, Python};

/// What a kernel is started with, also each time it is started again.
#[derive(Clone)]
pub struct KernelSetup {
    /// The interpreter.
    pub python: Python,
    /// Where it runs: this machine, or a sandbox on it.
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

/// An IPython kernel as a child process. Clones are the same kernel; it is killed with the last of them.
///
/// It runs one cell at a time; others wait for their turn.
#[derive(Clone)]
pub struct Kernel {
    _setup: Arc<KernelSetup>,
}

impl Kernel {
    /// Starts one and runs the start-up cells.
    ///
    /// # Errors
    /// `start` if it does not come up or a start-up cell fails, with what it said.
    #[expect(clippy::unused_async, reason = "the types before the driver")]
    pub async fn start(setup: KernelSetup) -> Result<Self, Error> {
        Ok(Self { _setup: Arc::new(setup) })
    }

    /// Runs a cell and gives everything it says to `out`, piece by piece. It is over when the kernel has
    /// answered and is idle again, so nothing it said comes later.
    ///
    /// If the kernel ended meanwhile, the next cell starts it anew.
    ///
    /// # Errors
    /// `code` if this cannot be a cell; `start` if the kernel had to be started anew and could not;
    /// `closed`. What becomes of the cell is no error.
    #[expect(clippy::unused_async, reason = "the types before the driver")]
    pub async fn run(&self, _cell: Cell, _out: &mut (dyn Output + Send)) -> Result<Ran, Error> {
        Err(Error::new(ErrorKind::Closed, "the kernel is closed"))
    }

    /// Ends the kernel and starts it anew; a cell that runs is ended.
    ///
    /// # Errors
    /// As [`Kernel::start`].
    #[expect(clippy::unused_async, reason = "the types before the driver")]
    pub async fn reset(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Ends the kernel and everything its cells have left running. All of it is gone when this returns.
    #[expect(clippy::unused_async, reason = "the types before the driver")]
    pub async fn close(&self) {}

    /// Which start of the kernel this is: another number whenever its state is a new one.
    pub fn generation(&self) -> u64 {
        1
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel").field("generation", &self.generation()).finish_non_exhaustive()
    }
}
