//! The real programs, and our own loop beside them, each over a twin of the model that it asks.
//!
//! A scenario is told once, in [`table`], and played by everybody: what the model does is a play that has
//! the words of whoever plays it filled in, and what must hold in every scenario is checked for
//! all of them in one place ([`stage`]).

pub(crate) mod hostile;
pub(crate) mod stage;
pub(crate) mod table;
