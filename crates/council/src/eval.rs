//! Whether it pays: tasks with an oracle, worked on again and again by one and by several.
//!
//! A folder of [`Task`]s (a prompt, a repository, a command that decides) is given to [`Contender`]s: one
//! model, one agent, or a council of them. Each works in a fresh copy; then the oracle says whether the task is
//! done. [`evaluate`] does that as often as wanted, keeps every run on disk before the next one counts on it
//! ([`Runs`]), and goes on where it was cut off. A [`Report`] puts the contenders side by side: how often each
//! passes, what that costs and how long it takes, and what a council gains or loses against its best member.
//!
//! Every rate has an interval, because a dozen runs say little: see [`stats`] for what the intervals promise.
//!
//! How the parts follow each other: `task` reads folders, `plan` orders the runs, `arena` prepares a copy and
//! lets the oracle judge it, `evaluate` drives them, `keep` has them on disk, `report` counts, `show` writes tables.

mod arena;
mod contender;
mod error;
mod evaluate;
mod keep;
mod plan;
mod report;
mod run;
mod show;
pub mod stats;
mod task;
mod tree;

pub use arena::{Arena, EnvironmentIn};
pub use contender::{Attempt, Contender, Ended, Fut, Job};
pub use error::{Error, ErrorKind};
pub use evaluate::{Evaluated, Progress, Stopped, Terms, evaluate};
pub use keep::Runs;
pub use plan::{Cell, Plan};
pub use report::{Lift, Possible, Report, Row, Skipped, TaskRow};
pub use run::{Deliberations, Run, Tokens, Verdict};
pub use show::{markdown, table};
pub use task::{Source, Task};
