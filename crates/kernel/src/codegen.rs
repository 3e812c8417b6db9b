//! Python made from the descriptions of tools: what a server's tools look like to code that imports them.
//!
//! Everything here is a pure function of the descriptions, which others have written: nothing in them leaves the
//! string literal or the name it belongs to.

mod module;
mod names;
mod text;
mod types;

pub(crate) use module::{ModuleTool, of_server, of_types, signature, summary};
pub(crate) use names::{is_name, unique};
