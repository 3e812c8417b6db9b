//! Code actions: a Python kernel, and the tools of a session for its code.
//!
//! A [`Kernel`] is an IPython whose state lasts from cell to cell. It is a child process, here or in a sandbox,
//! with an interpreter of the user's or one that is made and kept ([`Python`]). It is talked to over the Jupyter
//! protocol on Unix sockets:
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use std::time::Duration;
//! use junto_env::LocalEnvironment;
//! use junto_kernel::{Cell, CellEnd, Kernel, KernelSetup, Piece, Python};
//!
//! let env = Arc::new(LocalEnvironment::builder(".").variables([("PATH", "/usr/bin:/bin")]).build()?);
//! let python = Python::kept("/home/me/.local/share/junto".as_ref(), &*env, &|_| {}).await?;
//! let kernel = Kernel::start(KernelSetup::new(python, env, ".", "/run/user/1000")).await?;
//! let mut said: Vec<Piece> = Vec::new();
//! let ran = kernel.run(Cell::new("x = 20; x + 22").within(Duration::from_secs(60)), &mut said).await?;
//! assert_eq!(ran.end, CellEnd::Done);
//! assert_eq!(said, [Piece::Result { text: "42".into() }]);
//! kernel.close().await;
//! # Ok(()) }
//! ```
//!
//! - **Nothing is lost, nothing crosses**: a cell is over when the kernel has answered and is idle; what processes
//!   and threads of it write is read before; whoever writes faster than it is read waits.
//! - **Bounded**: pieces of output, messages, code. What a cell prints is handed on, never kept.
//! - **Time** stands still while a [`Hold`] on the cell's [`Clock`] lives. When it is up the cell is interrupted,
//!   then killed; the next one finds a new kernel in which the start-up cells have run, and [`Ran::state_lost`] says
//!   so.
//! - **Memory** has a hard limit, set before any code runs, for the kernel and each process it starts. Code that may
//!   raise hard limits, that of root outside of a sandbox, can raise this one; in a sandbox nobody can.
//!
//! A [`ToolSocket`] lets another process call the tools of a session: code in a Python kernel today,
//! MCP and others through the same door. It knows nothing of what tools do. Every call goes through
//! the [`ToolHost`](junto_core::ToolHost) it was given, which judges and journals it like a call of
//! the model's own, under [`Via::Cell`](junto_core::Via::Cell).
//!
//! The other side is a [`ToolClient`] in Rust, or [`PYTHON_CLIENT`], a module without dependencies:
//!
//! ```python
//! import junto_tools
//! tools = junto_tools.connect()          # finds the socket by its environment
//! text = tools.read_file(path="README.md")
//! ```
//!
//! # The protocol
//! A Unix socket in a directory of its own that only its owner can enter; JSON objects, one a line,
//! in UTF-8. The first line proves that the client was meant to come; then requests are answered as
//! they finish, in any order:
//!
//! | client | socket |
//! |---|---|
//! | `{"v":1,"token":"…"}` | `{"v":1,"calls":16,"line":4194304}`: how many calls at a time, how long a line |
//! | `{"id":1,"op":"list"}` | `{"id":1,"ok":true,"tools":[…]}` |
//! | `{"id":2,"op":"call","name":"…","arguments":{…}}` | `{"id":2,"ok":true,"output":"…","is_error":false}`, perhaps with `images`, `data`, `rejected` |
//! | `{"id":3,"op":"module","name":"mcptools.github"}` | `{"id":3,"ok":true,"source":{"text":"…","is_package":true}}` |
//! | `{"id":4,"op":"categories"}`, or `tools` with `module`, `signature` with `name`, `search` with `query` and `limit` | `{"id":4,"ok":true,"found":…}` |
//! | `{"id":2,"op":"cancel"}` | nothing of its own: call 2 is ended and answered with an error |
//! | anything else | `{"id":…,"ok":false,"error":"…"}`; the id is null where none could be read |
//!
//! An id is a string or a number from 0 and names one call at a time. `ok` says whether the socket
//! did its part; `is_error` whether the tool did. A client that goes away, also one that only stops
//! sending, ends its running calls.
#![cfg(unix)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod client;
mod codegen;
mod discovery;
mod error;
mod folder;
mod gentools;
mod hex;
mod kernel;
mod leave;
mod lines;
mod protocol;
mod python;
mod shim;
mod socket;
mod tools;

pub use client::ToolClient;
pub use discovery::{Category, Discovery, Embedder, FoundTool, Meaning, ModuleSource};
pub use error::{Error, ErrorKind};
pub use gentools::{Gentools, SAVE_TOOL, SaveTool};
pub use kernel::{Cell, CellEnd, Clock, Hold, Kernel, KernelSetup, Output, Piece, Ran, sandbox_for_kernels};
pub use leave::{SHELL_LEAVE, ShellLeave};
pub use python::{Maker, Python, Standing};
pub use shim::{PYTHON_CLIENT, PYTHON_MODULES, START_UP};
pub use socket::{Limits, ToolSocket};
pub use tools::{
    CodeRoom, CodeSetup, Course, EXECUTE_CODE, EarlierCell, FIND_CODE_TOOLS, IMAGE_MARK, Interpreter,
    KERNEL_FRESH, KERNEL_LOST, NO_OUTPUT, RESET_KERNEL, Resumption, RunFolder, STATE_LOST, SecretIn,
    earlier_cells, is_call_of,
};

/// The environment variable that tells a child where the socket is.
pub const SOCKET_VARIABLE: &str = "JUNTO_TOOLS_SOCKET";
/// The environment variable that tells a child the token.
pub const TOKEN_VARIABLE: &str = "JUNTO_TOOLS_TOKEN";

/// The examples of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
