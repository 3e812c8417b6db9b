//! What whoever really asks a model does before and after: set aside the worst case, and write down what
//! became of it.

mod bid;
mod bound;
mod tally;
mod ticket;

pub use bound::UNKNOWN_OUTPUT;
pub use tally::{Counts, Entry, Tally};
pub(crate) use ticket::Ticket;

#[cfg(test)]
mod tests;
