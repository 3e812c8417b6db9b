//! Several minds behind one [`Provider`](junto_llm::Provider).
//!
//! A [`Council`] hands a request to all its members side by side and answers with one of their
//! answers. Evidence comes first: members that fail, are late or propose what cannot be done are
//! left out; if those that remain agree, the first of them speaks; only if they differ is a judge
//! asked, and it names an **index**. Whatever is chosen is used as its member gave it: nothing is
//! rewritten, parallel calls stay together, and reasoning keeps the origin it has to go back to.
//!
//! A council speaks of its work through [`StreamEvent::Progress`](junto_llm::StreamEvent::Progress).
//! It is a provider itself, so it can be a member of another one.
//!
//! A council of agents, which work each in a worktree and are judged by the tests, is a [`contest`].
//!
//! How the parts follow each other: `ask` gets one member's answer, `deliberate` asks all of them
//! and decides, `proposal` says what is sound and what agrees, `judge` writes the question for the
//! judge and reads the verdict, `live` turns all of it into a stream.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod ask;
pub mod contest;
mod council;
mod deliberate;
mod failure;
mod judge;
mod live;
mod narrator;
mod proposal;
#[cfg(test)]
mod scripted;
mod view;

pub use council::{Council, Member, Options};

/// The examples of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
