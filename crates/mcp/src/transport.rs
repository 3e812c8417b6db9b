//! How servers are spoken to.

mod events;
mod flood;
mod http;
mod lines;
mod mend;
mod process;

pub(crate) use http::http;
pub(crate) use process::{LastWords, ProcessTransport};
