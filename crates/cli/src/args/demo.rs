//! What `junto demo` takes.

use clap::{Args, ValueEnum};

/// What `junto demo` takes.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Only this profile, instead of all three side by side
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) profile: Option<DemoProfile>,
}

/// The profiles that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoProfile {
    /// Edits with patches
    Openai,
    /// Edits by replacing one text with another
    Anthropic,
    /// Reads many files at once, and edits by replacing
    Gemini,
}
