//! What `junto skills`, `junto commands` and `junto hooks` take.

use clap::Args;

/// What the commands take that list what agents can reach.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
