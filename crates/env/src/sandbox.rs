//! Commands that cannot leave: the same environment over this machine, with enforcement.
//!
//! A [`Sandbox`] says what commands and file operations are kept from; a [`SandboxedEnvironment`] is
//! one over this machine, or an error that names what cannot be enforced. [`Means`] are what the
//! machine has for it, and each [`Gap`] is something that these means leave open.
//!
//! ```no_run
//! # async fn example() -> junto_env::Result<()> {
//! use junto_env::{CommandSpec, ExecutionEnvironment, LocalEnvironment, Sandbox, SandboxedEnvironment};
//!
//! let local = LocalEnvironment::builder(".").variables([("PATH", "/usr/bin:/bin")]);
//! let env = SandboxedEnvironment::new(local, Sandbox::workspace())?;
//! let mut process = env.spawn(CommandSpec::shell("rm -rf ~")).await?;
//! assert!(!process.wait().await?.success());
//! # Ok(())
//! # }
//! ```
//!
//! Three things hold a command, each what the others cannot:
//! - **Landlock** restricts the thread that starts it, and with it whatever is started: files, ports,
//!   signals, abstract sockets. Its rules only allow, so nothing can be taken out of a directory that
//!   may be written.
//! - **seccomp** denies system calls, whoever makes them: to reach into other processes, to mount, to
//!   make sockets that are not for it.
//! - **bubblewrap** gives it namespaces: a file system of which only parts can be written, with holes
//!   where secrets are; processes that end with it; a network in which nobody is.

mod bwrap;
mod confinement;
mod devices;
pub mod door;
mod environment;
mod foreign;
mod gap;
mod git_dir;
mod git_index;
mod ground;
mod guarded;
mod hosts;
mod jail;
mod kept;
mod known;
mod landlock;
mod means;
mod nested;
mod places;
mod proxy;
mod seccomp;
mod secrets;
mod standin;
mod survey;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use self::environment::{SandboxedEnvironment, sweep};
pub use self::gap::Gap;
pub(crate) use self::jail::{Held, Jail, Settled};
pub use self::means::Means;
pub use self::standin::is_stand_in;
use crate::{Error, Result};

/// What commands and file operations are kept from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// Which files they change.
    pub access: Access,
    /// Whom they reach.
    pub network: Network,
    /// Directories they may change beside the working directory and those for temporary files. Of no
    /// meaning where nothing is changed.
    pub writable: Vec<PathBuf>,
    /// Directories for temporary files, which they may change too; absent: those of the system, and what
    /// the variable `TMPDIR` says.
    pub temporary: Option<Vec<PathBuf>>,
    /// Files and directories they do not read, beside the secrets that are known: absolute, from `~`, or from the
    /// working directory. To work in one of them is an error. Nor do they make what is not there, if it is not named from
    /// the working directory.
    pub hidden: Vec<PathBuf>,
    /// The same, for rules that were not made for this working directory: one that it is in is read, as a known secret
    /// is for whoever has chosen to work there, and one that is not there can be made. A directory called `junto` is this
    /// program's own: where commands could make it, it is made before.
    pub unread: Vec<PathBuf>,
    /// Directories in which secrets are looked for beside the project of the working directory: that in which a
    /// session began, for what works in a part of it or elsewhere.
    pub searched: Vec<PathBuf>,
    /// Unix sockets they may connect to, or directories of such. If there is none, they have no Unix sockets but
    /// pairs. If there are some, those of others that listen when a command starts are hidden from it, and it has
    /// directories for temporary files of its own, in which it finds what is in the system's around such sockets: what
    /// begins to listen there later is not there for it.
    pub sockets: Vec<PathBuf>,
    /// How much one command may take.
    pub limits: ResourceLimits,
    /// The program, with its first arguments, that opens a door in the walls of bubblewrap for named
    /// hosts: one that calls [`door::open`]. Without it, [`Network::Hosts`] has a [`Gap`].
    pub door: Option<Vec<OsString>>,
    /// Whether it is accepted that the means of this machine leave something open. If not, to make
    /// an environment with such a [`Gap`] is an error.
    pub accept_weaker: bool,
}

impl Sandbox {
    /// Nothing is changed and nobody is reached.
    pub fn read_only() -> Self {
        Self::default()
    }

    /// The working directory and temporary files may be changed; nobody is reached.
    pub fn workspace() -> Self {
        Self { access: Access::Workspace, ..Self::default() }
    }

    /// That there is what it names: what may be changed, and what is hidden. For whoever was just told the names; an
    /// environment itself also hides what comes later, but not from a command that runs already.
    ///
    /// # Errors
    /// `NotFound` if there is nothing; `Invalid` if that is because a pattern was meant.
    pub fn check_named(&self, cwd: &Path, home: Option<&Path>) -> Result<()> {
        for dir in &self.writable {
            dir.metadata().map_err(|e| Error::io(dir.display(), e))?;
        }
        self.hidden.iter().try_for_each(|path| places::check_named(path, cwd, home))
    }
}

/// Which files commands change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Access {
    /// None.
    #[default]
    ReadOnly,
    /// Those in the directories that are named, and temporary ones; none in the working directory. A directory for
    /// temporary files that the working directory is in is not changed either.
    Aside,
    /// Those in the working directory and in the directories for temporary files; of the former not
    /// `.git`, `.junto` and the settings of other agents.
    Workspace,
}

/// Whom commands reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Nobody.
    #[default]
    Off,
    /// These hosts, through a proxy that knows the names: `example.org`, or `*.example.org` for those
    /// below it; a port may follow (`example.org:8443`), else it is 443 or 80.
    Hosts(Vec<String>),
    /// Everybody.
    On,
}

/// How much one command, with all it starts, may take; absent: as much as the system gives. Nothing at all is no limit
/// that a command could run with, and an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Processes and threads at a time.
    pub processes: Option<u64>,
    /// Bytes of memory, of each process.
    pub memory: Option<u64>,
    /// Bytes of each file it writes.
    pub file_size: Option<u64>,
}
