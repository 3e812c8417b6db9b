//! Where tools act.
//!
//! An [`ExecutionEnvironment`] has files and starts processes. Tools know nothing else of the world,
//! so the same tool works on this machine, in a sandbox, in a container or on another host. Paths are
//! resolved before they are used: a [`RealPath`] has no `~`, no `..` and no symbolic links in it, and
//! it is what a policy judges and what is then opened.
//!
//! No process outlives its owner: dropping a [`Process`] kills its whole tree at once; grace exists
//! only in [`Process::close`]. [`exec()`] runs a command to its end; a [`Background`] reads one while
//! its owner does something else, and [`Jobs`] are several of them.
//!
//! ```
//! # async fn example() -> junto_env::Result<()> {
//! use std::time::Duration;
//! use junto_env::{CommandSpec, ExecutionEnvironment, Expect, LocalEnvironment, exec};
//! use tokio_util::sync::CancellationToken;
//!
//! let env = LocalEnvironment::builder(".").variables([("PATH", "/usr/bin:/bin")]).build()?;
//! let notes = env.resolve("notes.txt").await?;
//! env.write(&notes, b"remember\n", Expect::Absent).await?;
//!
//! let count = CommandSpec::shell("wc -l notes.txt");
//! let limit = Duration::from_secs(10);
//! let result = exec(&env, count, limit, &CancellationToken::new(), &mut |_| {}).await?;
//! assert!(result.exit.success());
//! # Ok(())
//! # }
//! ```
//!
//! [`LocalEnvironment`] is this machine, which must be a Linux so far. Environments of other kinds are
//! written against the trait and tested with the feature `suite`; what changes the behaviour of any of
//! them is one of the [`wrappers`] around it. [`text`] reads files as text and writes them back the way
//! they were.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod background;
mod characters;
mod environment;
mod error;
mod exec;
mod head_tail;
mod jobs;
mod kind;
#[cfg(target_os = "linux")]
mod local;
mod path;
pub mod plain;
mod process;
#[cfg(target_os = "linux")]
pub mod sandbox;
mod search;
mod seen_files;
pub mod sensitive;
#[cfg(feature = "suite")]
pub mod suite;
#[cfg(target_os = "linux")]
pub mod survivors;
pub mod text;
pub mod variables;
pub mod wrappers;

pub use background::{Background, Snapshot, State};
pub use environment::{
    ByteRange, DirEntry, Enforces, EnvFacts, ExecutionEnvironment, Expect, Fut, Reader, Stamp,
};
pub use error::{Error, ErrorKind, Result};
pub use exec::{Ended, ExecResult, GRACE, Listener, exec, exec_into};
pub use head_tail::HeadTail;
pub use jobs::{JobId, Jobs, Origin};
pub use kind::Kind;
#[cfg(target_os = "linux")]
pub use local::{LocalBuilder, LocalEnvironment, entries, follow_links, left};
pub use path::RealPath;
pub use process::{
    CommandSpec, Exit, Offered, Output, OutputStream, Process, Program, RawProcess, Stdin, TerminalSize,
};
#[cfg(target_os = "linux")]
pub use sandbox::{Access, Gap, Means, Network, ResourceLimits, Sandbox, SandboxedEnvironment};
pub use search::{
    Case, FileCount, FileLines, Filter, Found, FoundFile, Grep, Hits, Limits, Line, Order, Search, Show,
    Target,
};
pub use seen_files::SeenFiles;
