//! Rules and verdicts: whether what a call would do is allowed, asked about or refused.
//!
//! Everything here is a function from values to values: no file is opened, no process started, no clock
//! read. A [`Judge`] takes the actions that a tool says it would take, and says what is to become of them, by
//! a [`Mode`] and by [`Rules`]; an [`Explanation`] says why. A shell line is read with a grammar of bash, and
//! every simple command in it is judged, wherever it stands; what is not understood is asked about.

mod commands;
mod deed;
mod explanation;
mod glob;
mod judge;
mod mode;
mod paths;
mod pattern;
mod place;
mod rule;
mod rules;
mod shell;
mod study;
mod variables;

pub use explanation::{By, Explanation, Step};
pub use judge::Judge;
pub use mode::{Mode, UnknownMode};
pub use place::{Confined, Entry, Finds, Links, Place};
pub use rule::{Answer, Origin, PolicyRule, RuleError};
pub use rules::Rules;
