//! The real command-line clients, unmodified, in front of a gateway with a twin behind it.
//!
//! A scenario is told once, in [`scenarios`], and played by every client on every wire of the table; how a client
//! is started and read is in [`client`], and what must hold of every scenario is checked in one place, [`desk`].

pub(crate) mod client;
pub(crate) mod council;
pub(crate) mod desk;
pub(crate) mod scenarios;
pub(crate) mod terminal;
