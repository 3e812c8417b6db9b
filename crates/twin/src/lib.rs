//! Model twins: scripted, strict stand-ins for the model providers.
//!
//! A [`Twin`] is a server on loopback that speaks Anthropic Messages, OpenAI Responses, Chat
//! Completions and Gemini on one port, so that a client can be tested for real without a key. What
//! the model does is a [`Play`]: a list of steps with texts, thoughts, tool calls, delays and
//! faults. The same play works on every wire.
//!
//! ```no_run
//! use junto_llm::Wire;
//! use junto_twin::{Fault, Options, Play, Step, Twin};
//! use serde_json::json;
//!
//! # async fn example() -> std::io::Result<()> {
//! let play = Play::of([
//!     Step::call("get_weather", json!({"city": "Ghent"})),
//!     Step { fault: Some(Fault::status(503).times(1)), ..Step::text("It says: {{last_result}}") },
//! ]);
//! let twin = Twin::start(play, Options::default())?;
//! println!("{} with the key {}", twin.base_url(Wire::Anthropic), twin.key());
//! // … drive a client against it …
//! assert_eq!(twin.requests().len(), 3);
//! twin.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! How an answer comes about: [`strict`] judges the request as the real provider would and says
//! what it saw; the play chooses a step; the step becomes a [`junto_llm::Response`]; [`strict`]
//! signs it; the wire's codec writes it, whole or event by event; faults spoil it on the way out.
//! Whatever happens, nothing that a twin keeps grows without bound, and no key reaches its log or
//! its recordings.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod again;
mod answer;
pub mod cache;
mod events;
mod exchange;
mod fault;
mod frames;
mod log;
mod minimal;
mod models;
mod play;
mod reasoning;
mod record;
mod reply;
mod route;
mod send;
mod server;
pub mod sign;
mod stage;
pub mod strict;
mod template;
pub mod tokens;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use again::Repeats;
pub use fault::{After, Fault, RetryAfter};
pub use log::Received;
pub use play::{Call, Play, PlayError, Step, Stop, Think, ToolRef, UsageOverride, When};
pub use server::{Checks, DEFAULT_KEY, Options, Twin};
