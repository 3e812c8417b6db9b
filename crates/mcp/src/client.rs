//! The client: servers, their connections, and their tools as ours.

mod connection;
mod content;
mod handler;
mod hub;
mod keeper;
mod offer;
mod schema;
mod search;
mod shelf;
mod tool;

pub use hub::{Hub, Places, Standing, Status};
