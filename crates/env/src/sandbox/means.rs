//! What this machine has to confine a process with.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::bwrap::{self, Bwrap};
use super::{Access, Gap, Network, Sandbox, landlock};

/// The version of Landlock that keeps files: with the third, no file is cut short either.
const FILES: u32 = 3;
/// The version that keeps signals.
const SIGNALS: u32 = 6;

/// What this machine has to confine a process with. Found by trying.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
pub struct Means {
    /// The version of Landlock, if the kernel has it.
    pub landlock: Option<u32>,
    /// Whether the kernel filters system calls.
    pub seccomp: bool,
    /// The program `bwrap`, if it is there and works.
    pub bwrap: Option<PathBuf>,
    /// Why the `bwrap` that is there does not work.
    pub bwrap_fails: Option<String>,
    /// The program `prlimit`, by which commands are limited.
    pub prlimit: Option<PathBuf>,
    /// Whether this is root, whose processes the system does not count.
    pub root: bool,
    /// Whether bubblewrap makes a namespace of users here; root may do without.
    pub user_namespace: bool,
    /// Whether keys of a terminal reach a command in bubblewrap and not bubblewrap itself, which then
    /// ends: the program `env` must know `--default-signal`.
    pub resets_signals: bool,
    /// Whether a directory of message queues can be put in a place, in which a command that may have no queues
    /// makes nothing.
    pub message_queues: bool,
}

impl Means {
    /// Looks for them; `path` is where programs are, as in the variable `PATH`. Blocks for some
    /// milliseconds, because `bwrap` is tried.
    pub fn find(path: Option<&OsStr>) -> Self {
        let mut means = Self {
            landlock: landlock::version(),
            seccomp: Path::new("/proc/sys/kernel/seccomp/actions_avail").exists(),
            prlimit: program("prlimit", path),
            root: nix::unistd::geteuid().is_root(),
            ..Self::default()
        };
        if let Some(found) = program("bwrap", path) {
            match bwrap::try_out(&found, means.root) {
                Ok(tried) => {
                    means.bwrap = Some(found);
                    means.user_namespace = tried.user_namespace;
                    means.resets_signals = tried.resets_signals;
                    means.message_queues = tried.message_queues;
                }
                Err(why) => means.bwrap_fails = Some(why),
            }
        }
        means
    }

    /// The same without bubblewrap.
    pub fn without_bwrap(mut self) -> Self {
        self.bwrap = None;
        self
    }

    /// What these leave open of a sandbox; nothing, if they are enough.
    pub fn gaps(&self, sandbox: &Sandbox) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let mut gap = |gap: Gap, is_open: bool| gaps.extend(is_open.then_some(gap));
        let landlock = self.landlock.unwrap_or(0);
        let walls = self.bwrap.is_some();
        let files = walls || landlock >= FILES;
        let inside = files && !walls && sandbox.access != Access::ReadOnly;
        gap(Gap::Files, !files);
        gap(Gap::SystemCalls, !self.seccomp);
        gap(Gap::Settings, inside);
        gap(Gap::Secrets, inside);
        gap(Gap::Modes, inside);
        gap(Gap::Signals, !walls && landlock < SIGNALS);
        gap(Gap::Hosts, matches!(sandbox.network, Network::Hosts(_)) && !(walls && sandbox.door.is_some()));
        gap(Gap::Sockets, !walls && !sandbox.sockets.is_empty());
        let limits = sandbox.limits;
        let limited = limits.processes.is_some() || limits.memory.is_some() || limits.file_size.is_some();
        gap(Gap::Limits, limited && self.prlimit.is_none());
        gap(Gap::Processes, limits.processes.is_some() && self.root);
        gaps
    }

    /// What these leave open besides where a command is started on the standard streams of this process, and so in its
    /// group of processes: a signal to that reaches those outside, too.
    pub fn gap_beside(&self) -> Option<Gap> {
        (self.bwrap.is_some() && self.landlock.unwrap_or(0) < SIGNALS).then_some(Gap::Signals)
    }

    /// Bubblewrap, as it works here.
    pub(super) fn walls(&self) -> Option<Bwrap> {
        let program = self.bwrap.clone()?;
        Some(Bwrap {
            program,
            user: self.user_namespace,
            resets_signals: self.resets_signals,
            message_queues: self.message_queues,
        })
    }
}

fn program(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let path = path.unwrap_or(OsStr::new("/usr/bin:/bin"));
    let there = |file: &PathBuf| nix::unistd::access(file, nix::unistd::AccessFlags::X_OK).is_ok();
    std::env::split_paths(path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(name)).find(there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ResourceLimits;

    #[test]
    fn what_is_left_open() {
        let all =
            Means { landlock: Some(7), seccomp: true, bwrap: Some("/bwrap".into()), ..Means::default() };
        let kernel = all.clone().without_bwrap();
        let old = Means { landlock: Some(2), ..kernel.clone() };
        let none = Means { landlock: None, seccomp: false, ..kernel.clone() };
        let (read_only, workspace) = (Sandbox::read_only(), Sandbox::workspace());
        let hosts = Sandbox { network: Network::Hosts(vec![]), ..Sandbox::read_only() };
        let door = Sandbox { door: Some(vec!["door".into()]), ..hosts.clone() };
        let limits = ResourceLimits { memory: Some(1), ..ResourceLimits::default() };
        let limited = Sandbox { limits, ..Sandbox::read_only() };
        let sockets = Sandbox { sockets: vec!["/s".into()], ..Sandbox::read_only() };
        for (means, sandbox, expected) in [
            (&all, &read_only, &[][..]),
            (&all, &workspace, &[]),
            (&kernel, &read_only, &[]),
            (&kernel, &workspace, &[Gap::Settings, Gap::Secrets, Gap::Modes]),
            (&old, &read_only, &[Gap::Files, Gap::Signals]),
            (&none, &workspace, &[Gap::Files, Gap::SystemCalls, Gap::Signals]),
            (&all, &hosts, &[Gap::Hosts]),
            (&all, &door, &[]),
            (&kernel, &door, &[Gap::Hosts]),
            (&all, &limited, &[Gap::Limits]),
            (&all, &sockets, &[]),
            (&kernel, &sockets, &[Gap::Sockets]),
        ] {
            assert_eq!(means.gaps(sandbox), expected, "{means:?} {sandbox:?}");
        }
        // Without bubblewrap it is among the others.
        let older = Means { landlock: Some(5), ..all.clone() };
        let beside = [&all, &older, &kernel, &old].map(Means::gap_beside);
        assert_eq!(beside, [None, Some(Gap::Signals), None, None]);
    }
}
