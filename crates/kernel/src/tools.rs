//! Code actions as tools of a session: `execute_code`, `reset_kernel`, and what stands behind them.
//!
//! A [`CodeRoom`] is a session's place for code. It is a [`Companion`](junto_core::Companion): its kernel starts with
//! the first cell, calls the session's tools through a socket of its own, and ends with the session.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use junto_kernel::{CodeRoom, CodeSetup, Interpreter, RunFolder};
//! # fn example(env: Arc<dyn junto_env::ExecutionEnvironment>) -> std::io::Result<()> {
//! let interpreter = Interpreter::Kept("/home/me/.cache/junto/python".into());
//! let run_dir = RunFolder::below("/tmp".as_ref())?;
//! let room = CodeRoom::new(CodeSetup::new(interpreter, env, run_dir, "/tmp/images"));
//! let (declared, behind) = (room.tools(), room.tools_behind());
//! # let _ = (declared, behind); Ok(())
//! # }
//! ```

mod arguments;
mod execute;
mod find;
mod finding;
mod heard;
mod host;
mod images;
mod past;
mod pickled;
mod prompt;
mod replay;
mod reset;
mod room;
mod run_folder;
mod snapshot;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use junto_env::ExecutionEnvironment;

use crate::Meaning;

pub use host::is_call_of;
pub use past::{Course, EarlierCell, Resumption, earlier_cells};
pub use room::CodeRoom;
pub use run_folder::RunFolder;

/// The name of the tool that runs a cell.
pub const EXECUTE_CODE: &str = "execute_code";
/// The name of the tool that finds tools for code.
pub const FIND_CODE_TOOLS: &str = "find_code_tools";
/// The name of the tool that starts the kernel anew.
pub const RESET_KERNEL: &str = "reset_kernel";
/// The tool behind them that runs a cell of before again.
const REPLAY_CELL: &str = "replay_cell";
/// The tool behind them that brings variables back.
const RESTORE_VARIABLES: &str = "restore_variables";
/// Tools that code does not call, because they are what runs it: a cell would wait for itself.
pub(crate) const NOT_FROM_CODE: &[&str] = &[EXECUTE_CODE, RESET_KERNEL, REPLAY_CELL, RESTORE_VARIABLES];

/// How an image that a cell made stands in its output: this, the path of the file, and `]`.
pub const IMAGE_MARK: &str = "[image: ";
/// What stands in the place of the output of a cell that said nothing.
pub const NO_OUTPUT: &str = "[no output]";
/// The code of the warning that a session's log has, for the cell in which it was noticed, when the kernel's variables
/// are gone.
pub const KERNEL_LOST: &str = "kernel_lost";
/// The code of the warning that the log has, for the first cell after a session was resumed, when nothing of the cells
/// before came back.
pub const KERNEL_FRESH: &str = "kernel_fresh";
/// What a cell's output ends with, for the model, when its variables are gone.
pub const STATE_LOST: &str =
    "[the kernel was started anew: variables, imports and definitions of earlier cells are gone]";

/// How long a kernel that was asked to stop may take before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// Says whether there is a secret in a text that is going to be kept.
pub type SecretIn = dyn Fn(&[u8]) -> bool + Send + Sync;

/// Which Python is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interpreter {
    /// The user's own, which has `ipykernel`.
    At(PathBuf),
    /// The one that is made below this folder, and kept there.
    Kept(PathBuf),
}

/// How a session's code runs.
#[derive(Clone)]
pub struct CodeSetup {
    /// By which Python.
    pub interpreter: Interpreter,
    /// Where: in the sandbox, if this is one.
    pub env: Arc<dyn ExecutionEnvironment>,
    /// A folder of its own for sockets.
    pub run_dir: RunFolder,
    /// Variables of the kernel's environment beside those that commands there inherit.
    pub variables: BTreeMap<String, String>,
    /// How long a cell may take, without the time in which somebody is asked for approval; absent: for ever.
    pub within: Option<Duration>,
    /// How much memory the kernel may take, in bytes.
    pub memory: Option<u64>,
    /// The folder in which images are saved. It need not exist.
    pub images: PathBuf,
    /// The user's own tools, as packages `<category>/<tool>`, importable as `gentools`.
    pub gentools: Option<PathBuf>,
    /// Ranks tools by what they mean, beside the ranking by words; absent: by words alone.
    pub meaning: Option<Meaning>,
    /// What is brought back of the state before the session was resumed.
    pub resumption: Resumption,
    /// The file in which picklable variables are kept at the end of each input; absent: they are not.
    pub snapshot: Option<PathBuf>,
    /// Finds secrets: variables with one in them are not kept; absent: they are.
    pub secret: Option<Arc<SecretIn>>,
}

impl CodeSetup {
    /// Cells may take five minutes, and nothing is brought back or kept.
    pub fn new(
        interpreter: Interpreter,
        env: Arc<dyn ExecutionEnvironment>,
        run_dir: RunFolder,
        images: impl Into<PathBuf>,
    ) -> Self {
        Self {
            interpreter,
            env,
            images: images.into(),
            run_dir,
            variables: BTreeMap::new(),
            within: Some(Duration::from_mins(5)),
            memory: None,
            gentools: None,
            meaning: None,
            resumption: Resumption::default(),
            snapshot: None,
            secret: None,
        }
    }
}
