//! MCP both ways: the tools of servers as ours, and agents served to others.
//!
//! **As a client**, a [`Hub`] has the servers of a configuration ([`config::parse`], the `mcpServers` form). It starts
//! nothing by itself. [`Hub::tools_for_session`] gives a session its tools as a [`junto_core::ToolSource`]: with the
//! session's first model request the servers are started in the background, and their tools are there from the next
//! request on. No request waits for a server. A tool is named `server__tool` in letters that every wire takes; every
//! call is an [`Action::Tool`](junto_core::Action::Tool) of that name, which the session's gate judges.
//!
//! While servers start, and where there are many tools, the model has `tool_search` instead of a declaration of each:
//! what it finds is declared from then on.
//!
//! A server that dies is started again when it is next called; one that hangs costs the call its time; what it says too
//! much, too long or in the wrong form is an error of that call. Its process runs in an environment of `junto-env` and
//! ends with the hub.
//!
//! ```no_run
//! # async fn example(env: std::sync::Arc<dyn junto_env::ExecutionEnvironment>) {
//! use junto_mcp::{Hub, Places, config::ServerConfig};
//!
//! let time = ServerConfig::program("time", "uvx", ["mcp-server-time"]);
//! let hub = Hub::new(vec![time], Places::open(env));
//! for status in hub.ready().await {
//!     assert_eq!(status.name, "time");
//! }
//! hub.close().await;
//! # }
//! ```
//!
//! **As a server**, [`server::serve`] gives any MCP host the agents of a [`server::Workers`] as tools: `start`, `steer`,
//! `status`, `result`, `apply`, `stop`.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod client;
pub mod config;
mod names;
pub mod server;
mod transport;

pub use client::{Hub, Places, Standing, Status};

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
