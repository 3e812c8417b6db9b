//! Sessions whose process is killed, again and again.
//!
//! The real `junto` works on a [`Scenario`] against a twin on one wire, and is killed with SIGKILL where a seed
//! says: at a moment, at a line that it prints, at a byte of its journal, at a request that it makes. It is
//! brought back and killed again, and then brought to its end. A [`Ground`] does that and judges it by a run
//! that nobody killed:
//!
//! - every event that was shown is in the journal, as it was shown;
//! - the session goes on to its end, and its log is well formed;
//! - no tool call ran twice, and one that ended well ran;
//! - what the index says is what one says that is made anew from the journals;
//! - what the model is asked next, and after that, is byte for byte what it was asked in the run that nobody
//!   killed. Where a tool call was cut off, its result says so, and nothing else is different;
//! - no process is left.
//!
//! The same seed gives the same plan. Where in the work a moment falls, the machine decides.

mod aim;
mod checks;
mod ground;
mod journal;
mod life;
mod outcome;
mod plays;
mod survivors;

use std::path::PathBuf;

pub use self::ground::Ground;
pub use self::outcome::{Outcome, Place, report};
pub use self::plays::Scenario;

/// What keeps a case from being tried, or judged: in words.
type Tried<T = ()> = Result<T, String>;

/// The `junto` that cargo built beside this program, which is a test or an example.
///
/// # Panics
/// If it is not there.
pub fn built_junto() -> PathBuf {
    let own = std::env::current_exe().expect("a program knows its file");
    let folder = own.parent().and_then(std::path::Path::parent).expect("cargo puts it into a folder");
    let junto = folder.join("junto");
    assert!(junto.exists(), "`cargo build -p junto-cli` makes {}", junto.display());
    junto
}
