//! Where tools act.
//!
//! An [`ExecutionEnvironment`] has files and starts processes. Tools know nothing else of the world,
//! so the same tool works on this machine, in a sandbox, in a container or on another host. Paths are
//! resolved before they are used: a [`RealPath`] has no `~`, no `..` and no symbolic links in it, and
//! it is what a policy judges and what is then opened.
//!
//! No process outlives its owner: dropping a [`Process`] kills its whole tree at once; grace exists
//! only in [`Process::close`].
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod environment;
mod error;
mod path;
mod process;

pub use environment::{ByteRange, DirEntry, EnvFacts, ExecutionEnvironment, Expect, Fut, Reader, Stamp};
pub use error::{Error, ErrorKind, Result};
pub use path::RealPath;
pub use process::{CommandSpec, Exit, Output, OutputStream, Process, Program, RawProcess, Stdin};
