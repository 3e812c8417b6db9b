//! What a host that was killed outright left running, found again by what it had written down.
//!
//! A host that is killed cannot end its children. A later one can, if the first wrote down which they were: a
//! name of its own for each run, put among the child's [variables](RUN) before the start, and the child's
//! [`Identity`] after it. Nothing is ever found by the name of a program.

use std::fs;

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use super::proc_table::{self, Variable};
use super::tree;

/// The variable in which a host gives a run its name. What the run starts inherits it.
pub const RUN: &str = "JUNTO_RUN";

/// A process and no other, ever: also not one of the same number after this one, or after a restart of the
/// machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// Its number.
    pub pid: u32,
    /// When it was started, in ticks since the machine was.
    pub start: u64,
    /// Which start of the machine that was.
    pub boot: String,
}

impl Identity {
    /// The process that has this number now. None: there is none, or the system does not tell.
    pub fn of(pid: u32) -> Option<Self> {
        let entry = proc_table::of(i32::try_from(pid).ok()?)?;
        Some(Self { pid, start: entry.start, boot: boot()? })
    }

    /// This process.
    pub fn own() -> Option<Self> {
        Self::of(std::process::id())
    }

    /// Whether it still lives.
    pub fn lives(&self) -> bool {
        let entry = i32::try_from(self.pid).ok().and_then(proc_table::of);
        entry.is_some_and(|entry| entry.alive && entry.start == self.start) && self.is_of_now()
    }

    /// Whether the machine was not started again since.
    fn is_of_now(&self) -> bool {
        boot().is_some_and(|boot| boot == self.boot)
    }
}

/// A run whose host is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its name, as [`RUN`] has it.
    pub run: String,
    /// The process that was started, if its host came to write it down.
    pub root: Option<Identity>,
}

/// Kills what is left of some runs, with all that it started, and gives how many processes that were. Blocks
/// the thread until they are gone.
pub fn end(runs: &[Left]) -> usize {
    if runs.is_empty() {
        return 0;
    }
    let roots: Vec<&Identity> = runs.iter().filter_map(|left| left.root.as_ref()).collect();
    let roots: Vec<&Identity> = roots.into_iter().filter(|root| root.is_of_now()).collect();
    tree::signal_where(Signal::SIGKILL, |entry| {
        let pid = entry.pid.as_raw().unsigned_abs();
        if roots.iter().any(|root| root.pid == pid && root.start == entry.start) {
            return Some(true);
        }
        match proc_table::variable(entry, RUN) {
            Variable::Is(name) => Some(runs.iter().any(|left| left.run == name)),
            Variable::Missing => Some(false),
            Variable::Unknown => None,
        }
    })
}

fn boot() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_itself_and_no_other() {
        let own = Identity::own().unwrap();
        assert!(own.lives());
        assert!(!Identity { start: own.start + 1, ..own.clone() }.lives());
        assert!(!Identity { boot: "another".to_owned(), ..own.clone() }.lives());
        assert_eq!(Identity::of(u32::MAX), None);
    }

    #[test]
    fn nothing_is_ended_that_was_not_written_down() {
        assert_eq!(end(&[]), 0);
        let other = Identity { start: 0, ..Identity::own().unwrap() };
        assert_eq!(end(&[Left { run: "nobody".to_owned(), root: Some(other) }]), 0);
    }
}
