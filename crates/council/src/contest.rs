//! A council of agents: several work on one task side by side, and the tests decide.
//!
//! A [`Contest`] is an [`Agent`](junto_core::Agent). Each input is a run: its members get the task, each in a
//! worktree of its own that begins with the same commit; an [`Oracle`] (build, lint, test) runs on that base and
//! then on each candidate; whoever passes with the smallest sufficient diff wins. A synthesis of those that
//! pass may be asked for, and counts only if it passes too and stays small.
//!
//! The user's repository is read and never written, until somebody calls [`apply`]. A worktree has a repository
//! of its own that borrows the user's objects: a linked worktree would share branches, stashes and settings
//! with the user and with the other candidates, and would leave its name behind where the host is killed. What
//! is proved is what would be applied: the oracle runs in a fresh checkout of the candidate's diff, and not
//! where the candidate worked.
//!
//! Everything that is known of a run is a [`Record`], which [`Runs`] keeps: another process applies it later.
//! A contest knows no model and no command-line agent; a [`Crew`] starts its members.

mod agent;
mod apply;
mod capture;
mod choose;
mod error;
mod git;
mod hold;
mod marks;
mod member;
mod oracle;
mod record;
mod repository;
mod runs;
mod scratch;
mod setup;
mod synthesis;
mod words;

pub use agent::Contest;
pub use apply::{Applied, apply};
pub use error::{Error, ErrorKind};
pub use oracle::{Oracle, Step, detect};
pub use record::{
    Base, Candidate, Changed, Diff, Ended, Mark, Phase, Proof, Record, Role, RunId, State, Verdict,
};
pub use runs::Runs;
pub use setup::{ContestSetup, Crew, Dirty, MOST_CANDIDATES, Member, OracleChoice, Report};

/// What a fallible function of this module returns.
pub type Result<T> = std::result::Result<T, Error>;
