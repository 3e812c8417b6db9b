//! Folders of keys and settings in the home, where commands could make them: what programs find there they obey.

use std::path::{Component, Path, PathBuf};

use super::ground::Ground;
use super::places::{meant, real};
use super::{Sandbox, secrets};

/// What the folder of this program's own settings is called, wherever it is.
const OWN: &str = "junto";

/// Hidden folders that commands could make, or replace.
#[derive(Default)]
pub(super) struct Guarded {
    /// Those in whose place something stands while they are not there.
    pub(super) folders: Vec<PathBuf>,
    /// Those of this program, which are made: it writes there also while commands run.
    pub(super) own: Vec<PathBuf>,
    /// Whether a link leads to one, which can be replaced.
    pub(super) is_linked: bool,
}

impl Guarded {
    pub(super) fn new(sandbox: &Sandbox, cwd: &Path, home: Option<&Path>, ground: &Ground) -> Self {
        // What is named from the working directory is as likely a file, and tools stumble over a folder in its place.
        let is_fixed = |path: &&PathBuf| path.is_absolute() || path.starts_with("~");
        let named = sandbox.hidden.iter().chain(sandbox.unread.iter().filter(|path| path.ends_with(OWN)));
        let named = named.filter(is_fixed).map(|path| meant(path, cwd, home));
        let mut guarded = Self::default();
        for path in named.chain(secrets::folders(home)) {
            let real = real(&path);
            // Whoever works there has chosen it.
            if cwd.starts_with(&real) {
                continue;
            }
            let goes_up = path.components().any(|part| part == Component::ParentDir);
            guarded.is_linked |= path != real && !goes_up && ground.holds(&path);
            if ground.holds(&real) {
                let kind = if real.ends_with(OWN) { &mut guarded.own } else { &mut guarded.folders };
                kind.push(real);
            }
        }
        guarded
    }
}
