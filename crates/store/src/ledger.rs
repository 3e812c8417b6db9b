//! What model calls used and cost, wherever they were made.
//!
//! Each call is written down once. A session writes its calls into its journal, its children's and a
//! command's among them; whatever is no session, such as a gateway, writes them into the [`Book`]. A call
//! that is made of others, a council's, has no row of its own: those have. The index gathers all rows.

mod book;
mod cache;
mod cost;
mod row;

pub use book::{Book, Booking};
pub(crate) use book::{Page, page};
pub use cache::{CacheVerdict, PrefixPart, explain, verdict};
pub use cost::{By, CostRow, table};
pub use row::{CallRow, DeliberationRow};
