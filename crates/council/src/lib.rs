//! Several minds behind one [`Provider`](junto_llm::Provider).
//!
//! A [`Council`] first looks whether a request is worth several minds ([`FanOut`], [`Scope`]); one that
//! is not is its first member's, and streams as that member streams. Else it hands the request to
//! several members side by side. Evidence comes first: members that fail, are late or propose what
//! cannot be done are left out; if those that remain agree, the first of them speaks, and nobody is
//! asked to judge. Where they want to call tools, a judge names an **index**, and the chosen calls are
//! used as their member gave them. Where they answer, the [`Mode`] says whether one is selected or one
//! is written out of all, or whether the others had only advised.
//!
//! A council speaks of its work through [`StreamEvent::Progress`](junto_llm::StreamEvent::Progress),
//! and tells a [`Report`] what it did when it has ended. It is a provider itself, so it can be a
//! member of another one.
//!
//! A council of agents, which work each in a worktree and are judged by the tests, is a [`contest`]. Whether any of it
//! pays is for an [evaluation](eval) to tell.
//!
//! How the parts follow each other: `deliberate` is the way from a request to an answer. `fan_out` says
//! whether several are asked; `hearing` asks one of them, within limits, and `address` and `actions`
//! write what it is asked; `gather` asks several; `proposal` says what is sound and what is the same;
//! `choose` and `judge` choose, `fuse` and `advise` have it written, `speak` lets one answer alone;
//! `minutes` writes all of it down, and `live` turns it into a stream.
//!
//! For hosts that show what happens, [`Telemetry`] around a member tells how far its answer is, and [`Served`]
//! around a council sums each call up.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod actions;
mod address;
mod advise;
mod choose;
pub mod contest;
mod council;
mod deliberate;
mod deliberation;
pub mod eval;
mod failure;
mod fan_out;
mod fuse;
mod gather;
mod hearing;
mod judge;
mod live;
mod member;
mod minutes;
mod mouth;
mod options;
mod proposal;
#[cfg(test)]
mod scripted;
mod served;
mod speak;
mod telemetry;
mod view;
mod voice;

pub use council::Council;
pub use deliberation::{Asked, Decision, Deliberation, Duty, Ended, Outcome, Why};
pub use member::{Manner, Member};
pub use options::{FanOut, Mode, Options, Report, Scope, THOROUGHNESS};
pub use served::Served;
pub use telemetry::Telemetry;

/// The examples of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
