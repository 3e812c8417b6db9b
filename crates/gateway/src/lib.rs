//! The gateway: an HTTP server that clients of the big model APIs point at unmodified, and that
//! answers from any [`Provider`](junto_llm::Provider) it is handed.
//!
//! ```no_run
//! use std::sync::Arc;
//! use junto_gateway::{Gateway, Target};
//! use junto_llm::{Endpoint, HttpProvider, Wire};
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let openai = HttpProvider::new(Endpoint::new("openai", Wire::Responses, "https://api.openai.com/v1").key("sk-…"))?;
//! let gateway = Gateway::builder()
//!     .route("claude-*", Target::new("openai", Arc::new(openai)).model("gpt-5.5"))
//!     .build()?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:6767").await?;
//! gateway.serve(listener, CancellationToken::new()).await;
//! # Ok(()) }
//! ```
//!
//! The surfaces are Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini's
//! generateContent, whole and streamed, and the list of models in each dialect; `openapi.json` has
//! every path. A request is read and its model looked up in the routes; [`classify()`] says what it
//! is for, which travels in the call's [`CallCx`](junto_llm::CallCx). Then it takes one of two ways:
//!
//! - **By bytes**, when the route's provider speaks the client's own wire and nothing has to be
//!   changed: the body goes out as it came, the answer comes back as it came, and nothing is added
//!   to it. A copy is read for its usage once the client has the bytes.
//! - **Translated**, in all other cases: decoded by the wire's codec, answered by the provider,
//!   encoded by the same codec. While the provider is silent a stream is kept alive, and what the
//!   provider says about its progress rides the reasoning channel. Reasoning that another provider
//!   or wire signed is sealed into the client's own slot for signatures, and restored on its return.
//!
//! When a client goes, everything that its call started is cancelled at once. What the gateway does
//! not know: which of its providers is a council, a command-line program or a plain API.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod admit;
mod aside;
mod body;
mod books;
mod call;
mod classify;
mod closing;
mod gateway;
mod glance;
mod guard;
mod headers;
mod limits;
mod live;
mod metrics;
mod models;
mod note;
mod pace;
mod passthrough;
mod presumed;
mod progress;
mod reply;
mod report;
mod route;
mod sealed;
mod serve;
mod sessions;
mod status;
mod surface;
mod tee;
mod translate;
mod turns;
mod warnings;
mod workdir;

pub use classify::{Classified, classify};
pub use gateway::{Builder, Gateway, Progress, Settings};
pub use models::ModelEntry;
pub use report::{CallEnd, CallReport, Via};
pub use route::Target;
pub use sessions::{KnownBy, SessionFile, SessionRecord, SessionStore};

/// The examples of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
