//! Patches in the v4a format: what they say, how they are read, and what they do to files.

mod apply;
mod diff;
mod display;
mod error;
mod occurrences;
mod parse;
mod place;
mod splice;
mod wrapper;

pub use apply::{Applied, Change, File, Placed, apply};
pub use diff::{diff, reverse};
pub use error::{ApplyError, ApplyErrorKind};
pub use parse::{ParseError, Parser, Progress};

/// A patch: operations on files, in the order in which they are to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// What to do, first to last.
    pub operations: Vec<Operation>,
}

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Makes a file, or replaces all of its text if there is one.
    Add {
        /// The file.
        path: String,
        /// Its whole text.
        text: String,
    },
    /// Removes a file.
    Delete {
        /// The file.
        path: String,
    },
    /// Changes lines of a file, and may give it another name.
    Update {
        /// The file.
        path: String,
        /// Its new name, if it is to have one.
        moved_to: Option<String>,
        /// The changes, in the order of the file. None are needed for a mere move.
        hunks: Vec<Hunk>,
    },
}

/// One change within a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The lines of the file after which the change is, outermost first: a class, then its method.
    pub contexts: Vec<String>,
    /// The lines that are there, and those that shall be.
    pub lines: Vec<Line>,
    /// The change is at the end of the file.
    pub at_end: bool,
    /// Whether the last line of the file shall end in a newline.
    pub last_newline: LastNewline,
}

/// A line of a hunk, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Is in the file and stays.
    Keep(String),
    /// Is in the file and goes.
    Remove(String),
    /// Is not in the file and comes.
    Insert(String),
}

/// What a hunk at the end of a file says about the newline there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastNewline {
    /// Nothing: the file ends with a newline if it did before.
    #[default]
    AsBefore,
    /// The file ends with a newline, which it lacked before.
    Added,
    /// The file ends without a newline.
    Dropped,
}

/// The paths of a patch by what happens to them, each once, in the order of the patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths<'a> {
    /// The files whose text is needed.
    pub reads: Vec<&'a str>,
    /// The files that get a text, which may be new ones.
    pub writes: Vec<&'a str>,
    /// The files that are deleted or moved away.
    pub removes: Vec<&'a str>,
}

impl Patch {
    /// Reads a whole patch. Use a [`Parser`] for one that arrives in pieces.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut parser = Parser::new();
        parser.push(text);
        parser.finish()
    }

    /// What the patch will touch, without applying it. Every path it names is in one of the lists.
    pub fn paths(&self) -> Paths<'_> {
        let mut paths = Paths::default();
        for operation in &self.operations {
            match operation {
                Operation::Add { path, .. } => add(&mut paths.writes, path),
                Operation::Delete { path } => add(&mut paths.removes, path),
                Operation::Update { path, moved_to, .. } => {
                    // What the patch itself made is not read.
                    if !paths.writes.contains(&path.as_str()) {
                        add(&mut paths.reads, path);
                    }
                    let target = moved_to.as_ref().unwrap_or(path);
                    add(&mut paths.writes, target);
                    if target != path {
                        add(&mut paths.removes, path);
                    }
                }
            }
        }
        paths
    }

    /// The same patch with other paths. Two paths are one file only if they are the same text, so a
    /// caller for whom `a` and `./a` are one resolves them here first.
    #[must_use]
    pub fn map_paths(mut self, mut map: impl FnMut(&str) -> String) -> Self {
        for operation in &mut self.operations {
            match operation {
                Operation::Add { path, .. } | Operation::Delete { path } => *path = map(path),
                Operation::Update { path, moved_to, .. } => {
                    *path = map(path);
                    *moved_to = moved_to.as_deref().map(&mut map);
                }
            }
        }
        self
    }
}

fn add<'a>(list: &mut Vec<&'a str>, path: &'a str) {
    if !list.contains(&path) {
        list.push(path);
    }
}
