//! The Definition of Done, line by line: `docs/conformance.md` says which test proves which line.
//!
//! Where a model takes part, it is a strict twin of the profile's provider on that provider's own wire,
//! and it calls the tools that its profile declares, in the way its profile means them to be called.

mod body;
mod children;
mod effort;
mod environments;
mod events;
mod failures;
mod matrix;
mod model;
mod output;
mod profiles;
mod prompts;
mod sessions;
mod steering;
mod tools;
