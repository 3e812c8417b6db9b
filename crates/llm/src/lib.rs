//! One client for every model wire.
//!
//! A [`Request`] goes in; a [`Response`], or a stream of [`StreamEvent`]s that folds into one, comes
//! out. OpenAI Responses, Anthropic Messages, Gemini and Chat Completions are spoken natively, each
//! by one module under [`wire`] that knows **both directions**: what a client sends and what a
//! server answers. Adapters, gateways and test twins therefore share one source of wire truth.
//!
//! Four layers, each usable alone:
//! 1. the contract: [`Provider`] and the types of this page;
//! 2. the utilities for people who write adapters: [`sse`], [`wire`], [`retry`], [`names`], [`schema`];
//! 3. the [`Client`]: named providers, routing, [`middleware`];
//! 4. the convenience functions in [`mod@generate`]: tools that run by themselves, objects, retries.
//!
//! ```no_run
//! # async fn run() -> Result<(), junto_llm::Error> {
//! use futures_util::StreamExt;
//! use junto_llm::{CallCx, Client, Request, StreamEvent};
//! let client = Client::from_env()?;
//! let mut events = client.stream(Request::prompt("What is a junto?"), &CallCx::new()).await?;
//! while let Some(event) = events.next().await {
//!     if let StreamEvent::TextDelta { text, .. } = event? {
//!         print!("{text}");
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! What this crate does not know: what a tool means, what a file is for, what an agent is. It reads
//! the environment in one place only ([`Client::from_env`]) and a file only when a message names a
//! local image, sound or document by path.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod accumulate;
mod budget;
mod call;
pub mod catalog;
mod client;
mod conversation;
mod cost;
mod error;
mod event;
mod fresh;
pub mod generate;
pub mod http;
mod media;
mod message;
mod meter;
pub mod middleware;
pub mod names;
mod provider;
mod replay;
mod request;
mod response;
pub mod retry;
pub mod schema;
mod secret;
pub mod sse;
pub mod tokens;
mod tool;
pub mod vendor;
pub mod wire;

pub use accumulate::Accumulator;
pub use budget::{Allowance, Budget, Exhausted, Freed, Reservation, Spending, Unlimited};
pub use call::{CallCx, CallId, Chore, Narration, SessionId, THROUGH, Timeouts, Traffic};
pub use client::{Client, ClientBuilder, default_client, set_default_client};
pub use conversation::Messages;
pub use cost::{Cost, Usd};
pub use error::{Error, ErrorKind};
pub use event::{SegmentId, StreamEvent};
pub use generate::{generate, generate_object, stream, stream_object};
pub use http::{Auth, Endpoint, HttpProvider, HttpVersion};
pub use message::{
    Content, Detail, Media, MediaSource, Message, Origin, Part, ResultOutput, Role, Thinking, ToolCall,
    ToolCallKind, ToolResult,
};
pub use meter::{Counts, Entry, Tally, UNKNOWN_OUTPUT};
pub use middleware::Middleware;
pub use provider::{ByteStream, EventStream, Fut, Passthrough, Provider};
pub use replay::Replay;
pub use request::{Effort, ForeignThinking, Request, ResponseFormat};
pub use response::{Finish, FinishReason, LeafCall, RateLimit, RawBody, Response, Usage, Warning};
pub use secret::Secret;
pub use tool::{ToolChoice, ToolKind, ToolSpec};
pub use wire::Wire;

/// The examples of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
