//! The environment over this machine, with enforcement.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::bwrap;
use super::confinement::Confinement;
use super::kept::Pins;
use super::places::{Places, is_device};
use super::{Access, Gap, Means, Network, ResourceLimits, Sandbox, kept, standin};
use crate::local::{Streams, Veil};
use crate::sensitive::{BARE_REPOSITORY, SETTINGS};
use crate::survivors::Survivor;
use crate::{
    ByteRange, CommandSpec, DirEntry, Enforces, EnvFacts, Error, ErrorKind, ExecutionEnvironment, Expect,
    Fut, Hits, LocalBuilder, LocalEnvironment, Process, Reader, RealPath, Result, Search, Stamp, wrappers,
};

/// How much can be hidden: bubblewrap takes 9000 words, of which a file needs three, and others need some, too.
const MOST_HIDDEN: usize = 2500;

/// This machine, with commands and file operations that cannot leave a [`Sandbox`].
///
/// A file operation that would leave it is `Denied`. A command is told by the system when it tries:
/// permission denied, operation not permitted, or a read-only file system.
///
/// A command in bubblewrap that a signal ends has, as in a shell, 128 and the signal's number for its
/// code; and whatever it leaves running ends with it.
pub struct SandboxedEnvironment {
    inside: LocalEnvironment,
    outside: Arc<LocalEnvironment>,
    facts: EnvFacts,
    gaps: Vec<Gap>,
    places: Arc<Places>,
    confinement: Confinement,
}

impl SandboxedEnvironment {
    /// The environment that a builder describes, in a sandbox made with what this machine has. Programs
    /// for it are looked for where the environment's commands find theirs.
    ///
    /// # Errors
    /// `Unsupported` if something cannot be enforced and this is not accepted; `Invalid` if nothing could run in it:
    /// what is to be hidden has the working directory in it, or is too much; a directory is among the devices, which
    /// bubblewrap makes anew; or a limit is 0. Whatever [`LocalBuilder::build`] says.
    pub fn new(local: LocalBuilder, sandbox: Sandbox) -> Result<Self> {
        let means = Means::find(local.search_path());
        Self::with_means(local, sandbox, &means)
    }

    /// The same with means that are known.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_means(local: LocalBuilder, sandbox: Sandbox, means: &Means) -> Result<Self> {
        let inside = local.clone().build()?;
        check_limits(sandbox.limits)?;
        let temp = inside.variable("TMPDIR").map(OsStr::new);
        let places = Arc::new(Places::new(&sandbox, inside.facts(), temp)?);
        let settings = kept::settings(&places);
        if means.bwrap.is_some() {
            check_buildable(&places, inside.facts())?;
        }
        let mut gaps = means.gaps(&sandbox);
        gaps.extend(places.has_linked_settings().then_some(Gap::LinkedSettings));
        gaps.extend(places.is_cut_short().then_some(Gap::Unsearched));
        if means.bwrap.is_some() {
            let paths: Vec<PathBuf> = settings.keys().cloned().collect();
            let pins = Pins::new(&places, &paths, places.secrets());
            let more = pins.more_repositories || places.nested().is_cut_short();
            gaps.extend(more.then_some(Gap::Submodules));
            gaps.extend(pins.more_secrets.then_some(Gap::Moved));
        }
        // Without these there is nothing left that would be one.
        let hollow = gaps.iter().any(|gap| matches!(gap, Gap::Files | Gap::SystemCalls | Gap::Limits));
        if !gaps.is_empty() && (hollow || !sandbox.accept_weaker) {
            return Err(Error::new(ErrorKind::Unsupported, "sandbox", refusal(&gaps)));
        }
        if let Some(bwrap) = means.bwrap.as_deref()
            && places.writable().any(|dir| bwrap.starts_with(dir))
        {
            // It runs before anything is confined.
            let message = "commands could change this program, which is to confine them";
            return Err(Error::new(ErrorKind::Unsupported, bwrap.display(), message));
        }
        let mut facts = inside.facts().clone();
        facts.enforces = enforced(&sandbox, &gaps);
        sweep(inside.facts());
        standin::sweep(kept::left_over(&places, &settings));
        let runtime = inside.variable("XDG_RUNTIME_DIR").map(OsString::as_os_str);
        let confinement = Confinement::new(&sandbox, means, Arc::clone(&places), runtime)?;
        let outside = Arc::new(local.build()?);
        Ok(Self { inside, outside, facts, gaps, places, confinement })
    }

    /// What is left open although the sandbox says otherwise; empty unless that was accepted.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// Starts a command on the standard streams of this process, and on its terminal if it has one.
    /// Nothing can be read of it or written to it here; keys and interrupts of the terminal reach it as
    /// they reach us. A file as standard input it reads through a pipe, because the file itself would lead it out.
    ///
    /// # Errors
    /// As of [`ExecutionEnvironment::spawn`].
    pub fn spawn_attached(&self, command: CommandSpec) -> Result<Process> {
        self.inside.start(command, Streams::Ours, |launch, keys| self.confinement.confine(launch, keys))
    }

    /// The processes that were started in the sandbox, or that these started, and that live.
    pub fn survivors(&self) -> Vec<Survivor> {
        self.inside.survivors()
    }

    fn reading<'a, T: 'a>(&self, path: &RealPath, act: Fut<'a, Result<T>>) -> Fut<'a, Result<T>> {
        if_ok(self.places.check_read(path), act)
    }

    fn writing<'a, T: 'a>(&self, paths: &[&RealPath], act: Fut<'a, Result<T>>) -> Fut<'a, Result<T>> {
        if_ok(paths.iter().try_for_each(|path| self.places.check_write(path)), act)
    }
}

/// Takes away the empty directories that stood for settings in a working directory while commands ran, if a host that
/// was killed has left them. A [`SandboxedEnvironment`] does so by itself when it is made; this is for those who work
/// there without one.
pub fn sweep(facts: &EnvFacts) {
    let names = SETTINGS.iter().chain(BARE_REPOSITORY);
    standin::sweep(names.map(|name| facts.cwd.as_path().join(name)));
}

/// Does something, unless it may not be.
fn if_ok<'a, T: 'a>(checked: Result<()>, act: Fut<'a, Result<T>>) -> Fut<'a, Result<T>> {
    match checked {
        Ok(()) => act,
        Err(e) => Box::pin(async move { Err(e) }),
    }
}

/// That limits leave something to a command.
fn check_limits(limits: ResourceLimits) -> Result<()> {
    let all =
        [("processes", limits.processes), ("memory", limits.memory), ("the size of files", limits.file_size)];
    let Some((what, _)) = all.into_iter().find(|(_, limit)| *limit == Some(0)) else { return Ok(()) };
    let message = format!("a limit of 0 for {what} leaves a command nothing to run with");
    Err(Error::new(ErrorKind::Invalid, "sandbox", message))
}

/// That bubblewrap can build walls for it, around what is there in them.
fn check_buildable(places: &Places, facts: &EnvFacts) -> Result<()> {
    let invalid =
        |subject: &Path, message: String| Err(Error::new(ErrorKind::Invalid, subject.display(), message));
    let cwd = facts.cwd.as_path();
    // Of the directory for memory itself there is another one.
    let named = places.roots().filter(|dir| *dir != Path::new(bwrap::SHARED));
    if let Some(dir) = [cwd].into_iter().chain(named).find(|dir| is_device(dir)) {
        let message =
            "commands in bubblewrap have a /dev of their own, in which this is not: take another folder";
        return invalid(dir, message.to_owned());
    }
    let hidden = places.masked().len();
    if hidden > MOST_HIDDEN {
        let message = format!(
            "{hidden} files and folders here are secrets to be hidden, and bubblewrap takes no more than \
             {MOST_HIDDEN}: work in a folder with fewer, or hide a folder as a whole that many of them are in"
        );
        return invalid(cwd, message);
    }
    Ok(())
}

fn refusal(gaps: &[Gap]) -> String {
    let each: Vec<String> =
        gaps.iter().map(|gap| format!("commands could {gap} (needed: {})", gap.needs())).collect();
    format!("this machine cannot enforce it: {}", each.join("; "))
}

fn enforced(sandbox: &Sandbox, gaps: &[Gap]) -> Enforces {
    let open = |gap| gaps.contains(&gap);
    let read_only = sandbox.access == Access::ReadOnly;
    Enforces {
        read_only,
        scope: false,
        writes: read_only
            || ![Gap::Settings, Gap::LinkedSettings, Gap::Submodules, Gap::Modes].into_iter().any(open),
        secrets: ![Gap::Secrets, Gap::Unsearched, Gap::Moved].into_iter().any(open),
        network: sandbox.network != Network::On && !open(Gap::Hosts) && !open(Gap::Sockets),
    }
}

impl wrappers::Layer for SandboxedEnvironment {
    fn inner(&self) -> &dyn ExecutionEnvironment {
        &self.inside
    }

    fn facts(&self) -> &EnvFacts {
        &self.facts
    }

    fn stamp<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<Option<Stamp>>> {
        self.reading(path, self.inside.stamp(path))
    }

    fn open<'a>(&'a self, path: &'a RealPath, range: ByteRange) -> Fut<'a, Result<Reader>> {
        self.reading(path, self.inside.open(path, range))
    }

    fn write<'a>(&'a self, path: &'a RealPath, data: &'a [u8], expect: Expect) -> Fut<'a, Result<Stamp>> {
        self.writing(&[path], self.inside.write(path, data, expect))
    }

    fn list<'a>(&'a self, path: &'a RealPath, depth: u32) -> Fut<'a, Result<Vec<DirEntry>>> {
        self.reading(path, self.inside.list(path, depth))
    }

    fn remove<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<()>> {
        self.writing(&[path], self.inside.remove(path))
    }

    fn rename<'a>(&'a self, from: &'a RealPath, to: &'a RealPath) -> Fut<'a, Result<()>> {
        self.writing(&[from, to], self.inside.rename(from, to))
    }

    fn spawn(&self, command: CommandSpec) -> Fut<'_, Result<Process>> {
        Box::pin(async {
            let confine = |launch, keys| self.confinement.confine(launch, keys);
            self.inside.start(command, Streams::Own, confine)
        })
    }

    fn search<'a>(&'a self, query: Search, cancel: &'a CancellationToken) -> Fut<'a, Result<Hits>> {
        let root = query.root.clone();
        let places = Arc::clone(&self.places);
        let veil: Veil = Arc::new(move |path| places.hides(path));
        self.reading(&root, LocalEnvironment::search_behind(Some(veil), query, cancel))
    }

    fn unconfined(&self) -> Option<Arc<dyn ExecutionEnvironment>> {
        Some(Arc::clone(&self.outside) as Arc<dyn ExecutionEnvironment>)
    }
}
