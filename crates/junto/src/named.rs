//! Agents that have a name: they remember, they have a queue, and one of them does one thing at a time.
//!
//! [`junto_store::Agents`] keeps them. What is here decides: which conversation a run goes on with
//! ([`refresh`]), which provider does it ([`choose`]), what becomes of the input, the conversation and the
//! provider when it has ended ([`judge`]). All of that is functions of values, the time among them.
//! [`NamedHost`] puts it together.

mod choice;
mod complete;
mod facts;
mod host;
mod judge;
pub mod refresh;

pub use self::choice::{Unavailable, Why, choose};
pub use self::complete::{Detail, RunComplete};
pub use self::facts::RunFacts;
pub use self::host::{Finished, NamedHost, Next, Plan, Turn};
pub use self::judge::{EndedBy, judge, suppression};
