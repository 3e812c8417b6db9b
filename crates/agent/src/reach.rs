//! What a session can reach beside its tools, and who watches over it.

use std::sync::Arc;

use crate::hooks::Hooks;
use crate::skills::Skills;
use crate::slash::SlashCommands;

/// What a session has beside its tools: skills that its model can load, commands that its user can call, hooks that
/// watch over it, and whether `@path` in what is said to it includes files. Nothing, unless a host gives it.
///
/// Hosts read the files; this is what was in them. Children of a session have the same skills and hooks. What is
/// said to a child is its parent's, and is taken as it is.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// What the model can load.
    pub skills: Arc<Skills>,
    /// What the user can call.
    pub commands: Arc<SlashCommands>,
    /// What is run when something happens.
    pub hooks: Arc<Hooks>,
    /// Whether `@path` includes files.
    pub references: References,
}

/// Whether `@path` in what is said to a session includes files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum References {
    /// It is a text like any other.
    #[default]
    Ignored,
    /// It includes what it names, if the policy lets that be read.
    Included,
}
