//! Every kind of mind in every host, in every event: one table, and what drives its cells.

pub(crate) mod checks;
pub(crate) mod drive;
pub(crate) mod gateway;
pub(crate) mod plays;
pub(crate) mod program;
pub(crate) mod socket;
pub(crate) mod stage;
pub(crate) mod table;
