//! The file into which a command writes its final text.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use junto_llm::Error;
use tempfile::TempDir;

use crate::Definition;

/// The most that is read of it.
const LONGEST: u64 = 16 << 20;

/// A file for the final text of a run, in a folder of its own that is removed with it.
pub(crate) struct LastMessage {
    _folder: TempDir,
    path: PathBuf,
}

impl LastMessage {
    /// The file for a run of this command; `None` if it writes none.
    ///
    /// # Errors
    /// `configuration` if there is no room for it.
    pub(crate) fn of(definition: &Definition) -> Result<Option<Self>, Error> {
        if definition.options.last_message.is_empty() {
            return Ok(None);
        }
        let folder = tempfile::Builder::new().prefix("junto-text-").tempdir();
        let folder =
            folder.map_err(|e| Error::configuration(format!("cannot make a folder for its answer: {e}")))?;
        let path = folder.path().join("answer.md");
        Ok(Some(Self { _folder: folder, path }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What was written; `None` if nothing was.
    pub(crate) fn read(&self) -> Option<String> {
        let mut bytes = Vec::new();
        std::fs::File::open(&self.path).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end().to_owned()).filter(|text| !text.is_empty())
    }
}
