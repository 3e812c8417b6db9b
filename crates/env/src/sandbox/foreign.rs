//! Unix sockets of others, hidden from commands that have Unix sockets themselves.
//!
//! No system call filter sees which socket is connected to, and a read-only mount does not keep anybody from
//! it. So whatever listens when a command starts is hidden from it. Not hidden is what listens there later, and
//! what is in a directory for temporary files, unless it is known to last: such come and go, and where one is gone
//! nothing can be put in its place. Our own are there; a token or a signature guards each.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Where daemons listen, also those outside of a container whose sockets were given to it, of which the system
/// says nothing in here.
const DAEMONS: &str = "/run";
/// How deep they are looked for there, and how many entries are looked at.
const DEPTH: usize = 4;
const ENTRIES: usize = 20_000;
/// What lasts in directories for temporary files, by how its name begins: agents that hold keys, terminals,
/// screens.
const LASTING: &[&str] = &["ssh-", "tmux-", "dbus-", ".X11-unix", ".ICE-unix"];

/// Sockets that are there now and that nobody has named; a name stands for all that is below it.
pub(super) fn sockets(named: &[PathBuf], temporary: &[&str]) -> Vec<PathBuf> {
    let named: Vec<PathBuf> = named.iter().map(|path| path.canonicalize().unwrap_or(path.clone())).collect();
    let mut found = BTreeSet::new();
    let known = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    found.extend(listed(&known));
    let mut left = ENTRIES;
    below(Path::new(DAEMONS), DEPTH, &mut left, &mut found);
    let real = found.into_iter().filter_map(|path| path.canonicalize().ok());
    let real: BTreeSet<PathBuf> = real.filter(|path| is_socket(path)).collect();
    let is_named = |path: &PathBuf| named.iter().any(|name| path.starts_with(name));
    real.into_iter().filter(|path| lasts(path, temporary) && !is_named(path)).collect()
}

/// The paths that the system tells; other sockets have none.
fn listed(known: &str) -> impl Iterator<Item = PathBuf> {
    known.lines().filter_map(|line| line.find(" /").and_then(|at| line.get(at + 1..))).map(PathBuf::from)
}

fn below(dir: &Path, depth: usize, left: &mut usize, found: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let Some(less) = left.checked_sub(1) else { return };
        *left = less;
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_socket() {
            found.insert(entry.path());
        } else if kind.is_dir() && depth > 1 {
            below(&entry.path(), depth - 1, left, found);
        }
    }
}

fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

fn lasts(path: &Path, temporary: &[&str]) -> bool {
    let Some(below) = temporary.iter().find_map(|dir| path.strip_prefix(dir).ok()) else { return true };
    let first = below.iter().next().and_then(|name| name.to_str()).unwrap_or_default();
    LASTING.iter().any(|start| first.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn what_listens_is_found_unless_it_was_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["named", "tmp", "tmp/ssh-1"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let at = |name: &str| UnixListener::bind(root.join(name)).unwrap();
        let _all = ["other", "named/one", "tmp/short", "tmp/ssh-1/agent"].map(at);
        let temporary = root.join("tmp");
        let found = sockets(&[root.join("named")], &[temporary.to_str().unwrap()]);
        let found: Vec<PathBuf> = found.into_iter().filter(|path| path.starts_with(&root)).collect();
        assert_eq!(found, [root.join("other"), root.join("tmp/ssh-1/agent")]);
    }
}
