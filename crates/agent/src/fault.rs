//! What is wrong with a file that somebody wrote for an agent.

use std::fmt;
use std::path::{Path, PathBuf};

/// What is wrong with a skill, a command or hooks. The rest of what there is works without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1, where one is to blame.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl Fault {
    /// A fault of a file as a whole.
    pub fn of(file: &Path, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, message: message.into() }
    }

    /// The same, in this line.
    #[must_use]
    pub fn at(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }
}

/// `FILE:LINE: MESSAGE`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.message)
    }
}
