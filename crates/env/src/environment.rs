//! The trait: files and processes, wherever they are.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tokio::io::AsyncRead;
use tokio_util::sync::CancellationToken;

use crate::{CommandSpec, Hits, Process, RealPath, Result, Search, search};

/// A boxed future, as traits used as objects return it.
pub type Fut<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A file being read.
pub type Reader = Pin<Box<dyn AsyncRead + Send>>;

/// Files and processes, wherever they are.
///
/// Contract: paths given to anything but [`resolve`](Self::resolve) come from `resolve`; writes are
/// atomic; a process ends with its handle.
pub trait ExecutionEnvironment: Send + Sync {
    /// What is known of the place.
    fn facts(&self) -> &EnvFacts;

    /// Makes a path real: `~`, relative to the working directory, `..`, symbolic links. The file need
    /// not exist; its existing ancestors are resolved.
    fn resolve<'a>(&'a self, path: &'a str) -> Fut<'a, Result<RealPath>>;

    /// What a file is like now; `None` if it is not there.
    fn stamp<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<Option<Stamp>>>;

    /// Opens a file for reading.
    fn open<'a>(&'a self, path: &'a RealPath, range: ByteRange) -> Fut<'a, Result<Reader>>;

    /// Writes a whole file atomically, if it is as expected; makes the directories it needs. Mode is
    /// kept. Gives the new stamp.
    fn write<'a>(&'a self, path: &'a RealPath, data: &'a [u8], expect: Expect) -> Fut<'a, Result<Stamp>>;

    /// What is in a directory, `depth` levels deep (1 is the directory itself), sorted by path.
    /// Links are not followed. More than an environment gives at once is `TooLarge`.
    fn list<'a>(&'a self, path: &'a RealPath, depth: u32) -> Fut<'a, Result<Vec<DirEntry>>>;

    /// Removes a file.
    fn remove<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<()>>;

    /// Renames a file; what was there is replaced. Makes the directories it needs.
    fn rename<'a>(&'a self, from: &'a RealPath, to: &'a RealPath) -> Fut<'a, Result<()>>;

    /// Starts a process.
    fn spawn(&self, command: CommandSpec) -> Fut<'_, Result<Process>>;

    /// Finds files by name, or lines by pattern. Cancelling, or dropping the future, stops it.
    ///
    /// # Errors
    /// `Invalid` if the pattern or a glob is not well formed, with what is wrong and where; `Cancelled`;
    /// and whatever the environment says of the root. What cannot be read below it is passed over and
    /// counted.
    ///
    /// What is provided lists and reads file by file, with the regular expressions, globs and ignore
    /// files of ripgrep. It asks for a [`stamp`](Self::stamp) of every file when the newest are
    /// wanted, and does not know a `.git` that is a file which names another place. An environment
    /// that can do it faster where the files are should.
    fn search<'a>(&'a self, query: Search, cancel: &'a CancellationToken) -> Fut<'a, Result<Hits>> {
        Box::pin(search::provided::search(self, query, cancel))
    }

    /// The same place without the confinement of this environment, for what somebody has allowed to
    /// leave it; `None` if there is no confinement, or it is not to be left.
    fn unconfined(&self) -> Option<Arc<dyn ExecutionEnvironment>> {
        None
    }
}

/// What is known of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvFacts {
    /// Where relative paths start.
    pub cwd: RealPath,
    /// `linux`, `macos`, `windows`.
    pub platform: String,
    /// The system's own name for itself.
    pub os_version: String,
    /// The user's home, for `~`.
    pub home: Option<PathBuf>,
    /// What commands are kept from, whatever they try.
    #[serde(default)]
    pub enforces: Enforces,
}

/// What an environment keeps its commands from, whatever they try. Nothing, unless it says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
pub struct Enforces {
    /// They change no files.
    pub read_only: bool,
    /// They reach no files outside the working directory.
    pub scope: bool,
    /// They change no files but those in the working directory, in directories for temporary files and
    /// where else they were let; and not the settings of the tools that work there, such as `.git`.
    pub writes: bool,
    /// They read no secrets: keys, credentials, `.env`.
    pub secrets: bool,
    /// They reach no other machine, unless it was named.
    pub network: bool,
}

/// What a file was like at one moment; changes with its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// When it was last changed.
    pub modified: Option<SystemTime>,
    /// A digest of the content, where the environment computed one.
    pub digest: Option<[u8; 32]>,
}

impl Stamp {
    /// Whether the content is the same, as far as the two can tell: by its digest if both have one,
    /// and by size and time if not. A file that was written again with what it had is the same.
    pub fn same_content(&self, other: &Self) -> bool {
        self.size == other.size
            && match (self.digest, other.digest) {
                (Some(one), Some(other)) => one == other,
                _ => self.modified.is_some() && self.modified == other.modified,
            }
    }
}

/// What must hold for a write to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The file is not there.
    Absent,
    /// The file is as it was.
    Unchanged(Stamp),
    /// Nothing.
    Any,
}

/// Which bytes of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteRange {
    /// The first.
    pub start: u64,
    /// How many; absent: to the end.
    pub length: Option<u64>,
}

impl ByteRange {
    /// The whole file.
    pub const ALL: Self = Self { start: 0, length: None };
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirEntry {
    /// The path below the listed directory.
    pub path: PathBuf,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Bytes, for files.
    pub size: Option<u64>,
}
