//! What a command does to the world, as far as its words tell.

use std::path::PathBuf;

use crate::shell::Word;

/// One thing that a command does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Reads a file, or the names in a directory.
    Read(Target),
    /// Reads everything below a directory.
    ReadAll(Target),
    /// Creates or changes a file, or something in a directory.
    Write(Target),
    /// Removes or moves away a file or a directory with everything in it.
    Remove(Target),
    /// Reaches out to a host; to some host, if it is not known which.
    Net(Option<String>),
    /// Does what its words do not tell. A sandbox can hold it.
    Opaque(String),
    /// Runs a text as commands that are not seen. A sandbox can hold it.
    Hidden(String),
    /// Acts on more than the files of a user: no sandbox lets it do what it is for.
    Beyond(String),
    /// Is not understood, so that more than is seen may run.
    Unclear(String),
}

/// Files that a command acts on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// One of these. The paths are absolute, without `.` and `..`; links in them are not followed, and names may
    /// be patterns of the shell.
    OneOf(Vec<PathBuf>),
    /// It is known only when it runs; this is how it is written.
    Unknown(String),
}

/// A simple command that bash would run, also inside another one (`env`, `xargs`, `bash -c`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its words; none, if it only assigns or redirects.
    pub(crate) words: Vec<Word>,
    /// How it is shown.
    pub(crate) shown: String,
    /// What it does. A rule that allows the command allows this.
    pub(crate) deeds: Vec<Deed>,
    /// What happens beside it: redirections, variables that change what programs do. No rule about the
    /// command allows this.
    pub(crate) asides: Vec<Deed>,
    /// Variables that it is given and that are not known to change nothing.
    pub(crate) given: Vec<String>,
}
