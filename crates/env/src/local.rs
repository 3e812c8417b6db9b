//! This machine.

mod anchor;
mod beside;
mod child;
mod files;
mod input;
mod keeper;
mod launch;
pub mod left;
mod locks;
mod mark;
mod output;
mod proc_table;
mod process;
mod pty;
mod resolve;
mod search;
mod tree;
mod write;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::AsyncReadExt as _;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::child::Wants;
pub(crate) use self::launch::Launch;
use self::mark::Mark;
pub(crate) use self::mark::VARIABLE as MARK;
use self::process::LocalProcess;
use self::pty::Wanted;
pub use self::resolve::{entries, follow_links};
pub(crate) use self::search::Veil;
use crate::survivors::Survivor;
use crate::variables::{self, Inherit, Variables};
use crate::{
    ByteRange, CommandSpec, DirEntry, Enforces, EnvFacts, Error, ErrorKind, ExecutionEnvironment, Expect,
    Fut, Hits, Process, Program, Reader, RealPath, Result, Search, Stamp, Stdin,
};

/// The files and processes of this machine.
///
/// Files are as their user sees them; what may be touched is for a policy to judge before. Commands
/// run in a session of their own, with the variables that the policy lets through. Each has the
/// variable `JUNTO_TREE`, by which what it started is found again.
pub struct LocalEnvironment {
    /// In the mark of every process, and of no other environment's.
    id: String,
    facts: EnvFacts,
    shell: &'static str,
    /// What every child gets.
    variables: Variables,
    /// The mark of the process we run under, if an environment of this kind started it.
    outer: Option<OsString>,
    list_limit: usize,
    started: AtomicU64,
}

impl LocalEnvironment {
    /// An environment in a directory, whose children inherit nothing.
    ///
    /// # Errors
    /// If there is no such directory.
    pub fn new(cwd: impl AsRef<Path>) -> Result<Self> {
        Self::builder(cwd).build()
    }

    /// An environment in a directory, to be described further.
    pub fn builder(cwd: impl AsRef<Path>) -> LocalBuilder {
        LocalBuilder {
            cwd: cwd.as_ref().to_owned(),
            home: None,
            base: Variables::new(),
            inherit: Inherit::default(),
            extra: Variables::new(),
            list_limit: 100_000,
        }
    }

    /// A variable of every child.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.get(std::ffi::OsStr::new(name))
    }

    /// The processes that this environment started, or that these started, and that live.
    pub fn survivors(&self) -> Vec<Survivor> {
        tree::marked(&Mark::Environment(self.id.clone()))
            .into_iter()
            .map(|entry| Survivor {
                pid: entry.pid.as_raw().unsigned_abs(),
                command: proc_table::command_line(entry.pid),
            })
            .collect()
    }

    /// Searches what is not behind a veil.
    pub(crate) fn search_behind(
        veil: Option<Veil>,
        query: Search,
        cancel: &CancellationToken,
    ) -> Fut<'_, Result<Hits>> {
        Box::pin(async move {
            // Who drops the future wants no more either.
            let stop = cancel.child_token();
            let _stop = stop.clone().drop_guard();
            let root = query.root.clone();
            blocking(&root, move |_| search::search(&query, veil, &stop)).await
        })
    }

    fn launch(&self, spec: &CommandSpec, mark: &Mark) -> Result<Launch> {
        let (program, arguments) = match &spec.program {
            Program::Shell(line) => (self.shell.into(), vec!["-c".into(), line.into()]),
            Program::Argv(argv) => {
                let (program, arguments) = argv.split_first().ok_or_else(|| {
                    Error::new(ErrorKind::NotFound, "(empty command)", "a program is needed")
                })?;
                (program.into(), arguments.iter().map(OsString::from).collect())
            }
        };
        let cwd = spec.cwd.as_ref().unwrap_or(&self.facts.cwd).as_path();
        let mut variables = if spec.inherits { self.variables.clone() } else { Variables::new() };
        variables.insert("PWD".into(), cwd.into());
        if spec.terminal.is_some() {
            // One that nobody has described can do nothing.
            variables.entry("TERM".into()).or_insert_with(|| "dumb".into());
        }
        variables.extend(spec.variables.iter().map(|(name, value)| (name.into(), value.into())));
        variables.insert(mark::VARIABLE.into(), mark.value(self.outer.as_deref()));
        let piped_input = spec.stdin != Stdin::Empty;
        let cwd = cwd.to_owned();
        let roomy = spec.roomy;
        Ok(Launch {
            program,
            arguments,
            variables,
            cwd,
            piped_input,
            roomy,
            descriptors: Vec::new(),
            jail: None,
        })
    }

    /// Starts a command after something was done to how it is started.
    pub(crate) fn start(
        &self,
        spec: CommandSpec,
        streams: Streams,
        confine: impl FnOnce(Launch, bool) -> std::io::Result<Launch>,
    ) -> Result<Process> {
        let mark = Mark::tree(&self.id, self.started.fetch_add(1, Ordering::Relaxed));
        let launch = self.launch(&spec, &mark)?;
        let name = launch.program.to_string_lossy().into_owned();
        // The system would say of the program that it is not there.
        anchor::check(spec.cwd.as_ref().unwrap_or(&self.facts.cwd))?;
        check_directory(&launch.cwd)?;
        let wants = match (streams, spec.terminal) {
            (Streams::Ours, _) => Wants::Ours,
            (Streams::Own, Some(size)) => Wants::Terminal(Wanted { size, typed: launch.piped_input }),
            (Streams::Own, None) => Wants::Pipes,
        };
        let keys = !matches!(wants, Wants::Pipes);
        let launch = confine(launch, keys).map_err(|e| not_started(&name, e))?;
        let started = child::start(launch, wants, mark).map_err(|e| not_started(&name, e))?;
        let process =
            LocalProcess::new(name.clone(), started, spec.stdin).map_err(|e| Error::io(&name, e))?;
        Ok(Process::new(process))
    }
}

/// Whose streams a command has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// Its own, which we read and write.
    Own,
    /// Those of this process.
    Ours,
}

/// Describes a [`LocalEnvironment`].
#[derive(Clone)]
pub struct LocalBuilder {
    cwd: PathBuf,
    home: Option<PathBuf>,
    base: Variables,
    inherit: Inherit,
    extra: Variables,
    list_limit: usize,
}

impl LocalBuilder {
    /// What `~` stands for; if this is not called, the variable `HOME`.
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// The variables to choose from for children; usually those of the host process.
    pub fn variables<N: Into<OsString>, V: Into<OsString>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.base = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        self
    }

    /// What children inherit of these.
    pub fn inherit(mut self, inherit: Inherit) -> Self {
        self.inherit = inherit;
        self
    }

    /// A variable for every child, whatever it is called.
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// Where programs are looked for, as far as it is known yet.
    pub(crate) fn search_path(&self) -> Option<&std::ffi::OsStr> {
        let name = std::ffi::OsStr::new("PATH");
        self.extra.get(name).or_else(|| self.base.get(name)).map(OsString::as_os_str)
    }

    /// How many entries a listing may have.
    pub fn list_limit(mut self, entries: usize) -> Self {
        self.list_limit = entries;
        self
    }

    /// The environment.
    ///
    /// # Errors
    /// If the working directory is none.
    pub fn build(self) -> Result<LocalEnvironment> {
        let cwd = self.cwd.canonicalize().map_err(|e| Error::io(self.cwd.display(), e))?;
        check_directory(&cwd)?;
        let home =
            self.home.or_else(|| self.base.get("HOME".as_ref() as &std::ffi::OsStr).map(PathBuf::from));
        Ok(LocalEnvironment {
            id: Uuid::now_v7().simple().to_string(),
            facts: EnvFacts {
                cwd: RealPath::resolved(cwd),
                platform: std::env::consts::OS.to_owned(),
                os_version: os_version(),
                home: home.filter(|home| home.is_absolute()),
                enforces: Enforces::default(),
            },
            shell: if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" },
            variables: variables::select(&self.inherit, &self.base, &self.extra),
            outer: self.base.get(mark::VARIABLE.as_ref() as &std::ffi::OsStr).cloned(),
            list_limit: self.list_limit,
            started: AtomicU64::new(0),
        })
    }
}

fn check_directory(path: &Path) -> Result<()> {
    let metadata = path.metadata().map_err(|e| Error::io(path.display(), e))?;
    if metadata.is_dir() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::WrongKind, path.display(), "it is no directory"))
}

/// Why a program could not be started, where the system says it in riddles.
fn not_started(name: &str, error: std::io::Error) -> Error {
    match error.raw_os_error() {
        Some(nix::libc::E2BIG) => Error::new(
            ErrorKind::TooLarge,
            name,
            "its arguments and variables are longer than the system takes; put what is long into a file or \
             its standard input",
        ),
        // By the standard library, before the system is asked.
        None if error.kind() == std::io::ErrorKind::InvalidInput => Error::new(
            ErrorKind::Io,
            name,
            "an argument or variable has a NUL byte in it, which nothing can be given",
        ),
        _ => Error::io(name, error),
    }
}

/// As `uname` says it, such as `Linux 6.8.0`.
fn os_version() -> String {
    match nix::sys::utsname::uname() {
        Ok(name) => format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy()),
        Err(_) => std::env::consts::OS.to_owned(),
    }
}

/// Does what may block on a thread for it. Work on a file is finished once begun, so that a future
/// that is dropped leaves nothing half done.
async fn blocking<T: Send + 'static>(
    path: &RealPath,
    work: impl FnOnce(&RealPath) -> Result<T> + Send + 'static,
) -> Result<T> {
    let own = path.clone();
    let done = tokio::task::spawn_blocking(move || work(&own)).await;
    done.unwrap_or_else(|e| Err(Error::io(path, std::io::Error::other(e))))
}

impl ExecutionEnvironment for LocalEnvironment {
    fn facts(&self) -> &EnvFacts {
        &self.facts
    }

    fn resolve<'a>(&'a self, path: &'a str) -> Fut<'a, Result<RealPath>> {
        let path = path.to_owned();
        let home = self.facts.home.clone();
        Box::pin(blocking(&self.facts.cwd, move |cwd| {
            resolve::resolve(&path, cwd.as_path(), home.as_deref())
        }))
    }

    fn stamp<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<Option<Stamp>>> {
        Box::pin(blocking(path, files::stamp))
    }

    fn open<'a>(&'a self, path: &'a RealPath, range: ByteRange) -> Fut<'a, Result<Reader>> {
        Box::pin(async move {
            let file = blocking(path, move |path| files::open(path, range)).await?;
            let file = tokio::fs::File::from_std(file);
            Ok(Box::pin(file.take(range.length.unwrap_or(u64::MAX))) as Reader)
        })
    }

    fn write<'a>(&'a self, path: &'a RealPath, data: &'a [u8], expect: Expect) -> Fut<'a, Result<Stamp>> {
        let data = data.to_vec();
        Box::pin(blocking(path, move |path| write::write(path, &data, expect)))
    }

    fn list<'a>(&'a self, path: &'a RealPath, depth: u32) -> Fut<'a, Result<Vec<DirEntry>>> {
        let limit = self.list_limit;
        Box::pin(blocking(path, move |path| files::list(path, depth, limit)))
    }

    fn remove<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<()>> {
        Box::pin(blocking(path, files::remove))
    }

    fn rename<'a>(&'a self, from: &'a RealPath, to: &'a RealPath) -> Fut<'a, Result<()>> {
        let to = to.clone();
        Box::pin(blocking(from, move |from| files::rename(from, &to)))
    }

    fn spawn(&self, command: CommandSpec) -> Fut<'_, Result<Process>> {
        Box::pin(async { self.start(command, Streams::Own, |launch, _| Ok(launch)) })
    }

    fn search<'a>(&'a self, query: Search, cancel: &'a CancellationToken) -> Fut<'a, Result<Hits>> {
        Self::search_behind(None, query, cancel)
    }
}
