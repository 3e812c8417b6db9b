//! Unix sockets and FIFOs of others, hidden from commands.
//!
//! No system call filter sees which socket is connected to, and a read-only mount does not keep anybody from it. So
//! what a command that has Unix sockets is not to reach must not be there for it:
//!
//! - whatever listens when the command starts is covered;
//! - directories for temporary files, where programs begin to listen at any time, are the command's own. What is in
//!   the system's, around such sockets, is shown in them, so that data and programs there are found; what comes later
//!   is not. The directory for the sockets of users (`/run/user`) is empty.
//!
//! Left is what begins to listen later in a directory that was there when the command started: in the home, in the
//! project, in a directory below `/tmp` that is shown.
//!
//! A FIFO, too, can be written through a read-only mount, by every command. So those are covered that were where
//! services have theirs when the environment was made; others are left.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

/// Where daemons listen, also those outside of a container whose sockets were given to it, of which the system
/// says nothing in here.
const DAEMONS: &str = "/run";
/// Where programs of users listen; nothing else is there that a command would need.
const OF_USERS: &str = "/run/user";
/// How deep they are looked for, and how many entries are looked at.
const DEPTH: usize = 4;
const ENTRIES: usize = 20_000;
/// How many entries are shown in directories that are a command's own. Each is a mount, which takes the more time the
/// more there are: sixty take some twenty milliseconds, and four hundred as many times ten.
const SHOWN: usize = 64;

/// What of the world's sockets a command is kept from, and how.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    /// Sockets that are covered.
    pub(super) covered: Vec<PathBuf>,
    /// Directories that are the command's own.
    pub(super) own: Vec<Own>,
}

/// A directory that is a command's own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Own {
    pub(super) dir: PathBuf,
    /// What is there of the system's directory of that name.
    pub(super) shown: Vec<PathBuf>,
}

impl Foreign {
    /// What is there now: `named` are sockets that are not foreign, or directories of such; `temporary` are directories
    /// for temporary files; what is below `roots` is there for the command as it is; what is `needed` is shown, wherever it is.
    pub(super) fn now(named: &[PathBuf], temporary: &[&Path], roots: &[PathBuf], needed: &[&Path]) -> Self {
        let sockets = listening(named);
        let within_root = |path: &Path| roots.iter().any(|root| path.starts_with(root));
        let real = |dir: &Path| dir.canonicalize().ok().filter(|dir| dir.is_dir() && !within_root(dir));
        let is_needed = |path: &Path| {
            let needed = needed.iter().copied();
            roots.iter().map(PathBuf::as_path).chain(needed).any(|needed| needed.starts_with(path))
        };
        let mut own: Vec<Own> = Vec::new();
        for dir in temporary.iter().filter_map(|dir| real(dir)) {
            if own.iter().all(|own| !dir.starts_with(&own.dir)) {
                let shown = around(&dir, &sockets, is_needed);
                own.push(Own { dir, shown });
            }
        }
        own.extend(real(Path::new(OF_USERS)).map(|dir| Own { dir, shown: Vec::new() }));
        let is_gone = |path: &Path| own.iter().any(|own| path.starts_with(&own.dir)) && !within_root(path);
        let covered = sockets.into_iter().filter(|path| !is_gone(path)).collect();
        Self { covered, own }
    }

    /// What can still be reached of these, and is there.
    pub(super) fn left_of<'a>(&self, fifos: &'a [PathBuf]) -> impl Iterator<Item = &'a PathBuf> {
        let is_gone = |path: &Path| self.own.iter().any(|own| path.starts_with(&own.dir));
        fifos.iter().filter(move |path| !is_gone(path) && is(path, FileType::is_fifo))
    }

    /// Whether a directory is the command's own.
    pub(super) fn is_own(&self, dir: &Path) -> bool {
        self.own.iter().any(|own| own.dir == dir)
    }
}

/// FIFOs of services that this user may write: the system's, and those of the user's `runtime` directory.
pub(super) fn fifos(runtime: Option<&Path>, is_own: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    let mut left = ENTRIES;
    for dir in [Some(Path::new(DAEMONS)), runtime].into_iter().flatten() {
        below(dir, DEPTH, &mut left, &mut found, FileType::is_fifo);
    }
    let real: BTreeSet<PathBuf> = found.into_iter().filter_map(|path| path.canonicalize().ok()).collect();
    real.into_iter().filter(|path| !is_own(path) && access(path, AccessFlags::W_OK).is_ok()).collect()
}

/// Sockets that are there now and that nobody has named; a name stands for all that is below it.
fn listening(named: &[PathBuf]) -> BTreeSet<PathBuf> {
    let named: Vec<PathBuf> = named.iter().map(|path| path.canonicalize().unwrap_or(path.clone())).collect();
    let mut found = BTreeSet::new();
    let known = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    found.extend(listed(&known));
    let mut left = ENTRIES;
    below(Path::new(DAEMONS), DEPTH, &mut left, &mut found, FileType::is_socket);
    let real = found.into_iter().filter_map(|path| path.canonicalize().ok());
    let is_named = |path: &PathBuf| named.iter().any(|name| path.starts_with(name));
    real.filter(|path| is(path, FileType::is_socket) && !is_named(path)).collect()
}

/// The paths that the system tells; other sockets have none.
fn listed(known: &str) -> impl Iterator<Item = PathBuf> {
    known.lines().filter_map(|line| line.find(" /").and_then(|at| line.get(at + 1..))).map(PathBuf::from)
}

fn below(
    dir: &Path,
    depth: usize,
    left: &mut usize,
    found: &mut BTreeSet<PathBuf>,
    is_wanted: fn(&FileType) -> bool,
) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let Some(less) = left.checked_sub(1) else { return };
        *left = less;
        let Ok(kind) = entry.file_type() else { continue };
        if is_wanted(&kind) {
            found.insert(entry.path());
        } else if kind.is_dir() && depth > 1 {
            below(&entry.path(), depth - 1, left, found, is_wanted);
        }
    }
}

fn is(path: &Path, kind: fn(&FileType) -> bool) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| kind(&found.file_type()))
}

/// What is in a directory around sockets: entries in which there are none, and of the others what is in these. If there
/// are too many, those that are needed, and then the newest.
fn around(dir: &Path, sockets: &BTreeSet<PathBuf>, is_needed: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let (mut pending, mut left) = (vec![dir.to_owned()], ENTRIES);
    let mut shown = Vec::new();
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten().take(left) {
            left -= 1;
            let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else { continue };
            // Those of another network are not among the sockets that are known.
            if metadata.file_type().is_socket() {
                continue;
            }
            if sockets.range(path.clone()..).next().is_some_and(|socket| socket.starts_with(&path)) {
                pending.push(path);
            } else if metadata.is_symlink() || access(&path, AccessFlags::R_OK).is_ok() {
                shown.push((!is_needed(&path), Reverse(metadata.modified().ok()), path));
            }
        }
    }
    shown.sort();
    shown.into_iter().map(|(.., path)| path).take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::slice::from_ref;

    #[test]
    fn fifos_of_services_are_covered_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("deep/er")).unwrap();
        fs::create_dir_all(root.join("own")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        for name in ["deep/er/control", "own/fifo", "passing"] {
            nix::unistd::mkfifo(&root.join(name), nix::sys::stat::Mode::S_IRWXU).unwrap();
        }
        let mut found = fifos(Some(&root), |path| path.starts_with(root.join("own")));
        found.retain(|path| path.starts_with(&root));
        assert_eq!(found, ["deep/er/control", "passing"].map(|name| root.join(name)));
        fs::remove_file(root.join("passing")).unwrap();
        let left = |foreign: &Foreign| foreign.left_of(&found).cloned().collect::<Vec<_>>();
        assert_eq!(left(&Foreign::default()), [root.join("deep/er/control")]);
        let own = vec![Own { dir: root.join("deep"), shown: Vec::new() }];
        assert!(left(&Foreign { own, ..Foreign::default() }).is_empty());
    }

    #[test]
    fn what_listens_is_covered_or_not_there_unless_it_was_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["named", "tmp/mixed/data", "tmp/work", "tmp/plain"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("tmp/file"), "").unwrap();
        let at = |name: &str| UnixListener::bind(root.join(name)).unwrap();
        let _all =
            ["other", "named/one", "tmp/top", "tmp/mixed/deep", "tmp/work/server", "tmp/mixed-not"].map(at);
        let (named, temporary, work) = (root.join("named"), root.join("tmp"), root.join("tmp/work"));
        let here = |paths: Vec<PathBuf>| {
            let mut paths: Vec<PathBuf> = paths.into_iter().filter(|path| path.starts_with(&root)).collect();
            paths.sort();
            paths
        };
        let foreign = Foreign::now(from_ref(&named), &[&temporary], &[work], &[]);
        assert_eq!(here(foreign.covered), [root.join("other"), root.join("tmp/work/server")]);
        let [own, ..] = &foreign.own[..] else { panic!("{:?}", foreign.own) };
        assert_eq!(own.dir, temporary);
        assert_eq!(
            here(own.shown.clone()),
            ["tmp/file", "tmp/mixed/data", "tmp/plain"].map(|path| root.join(path))
        );
        // Whoever works in such a directory has all of it.
        let foreign = Foreign::now(from_ref(&named), &[&temporary], from_ref(&temporary), &[]);
        assert!(!foreign.is_own(&temporary));
        let all = ["other", "tmp/mixed/deep", "tmp/mixed-not", "tmp/top", "tmp/work/server"];
        assert_eq!(here(foreign.covered), all.map(|path| root.join(path)));
    }
}
