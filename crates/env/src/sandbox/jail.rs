//! What confines one command.

use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use nix::unistd::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use seccompiler::BpfProgram;
use tokio_util::sync::DropGuard;

use super::bwrap::{self, Plan};
use super::devices;
use super::landlock::Rules;
use super::standin::{self, Left, StandIn};

/// What confines one command: entered by the thread that starts it, and with it by whatever that
/// thread starts.
pub(crate) struct Jail {
    rules: Rules,
    /// Absent, if somebody else sees to it.
    filter: Option<Arc<BpfProgram>>,
    /// Whether root keeps its powers, because somebody else sees to that too.
    powers: bool,
    /// Whether it keeps root from changing the devices of the system.
    devices: bool,
    /// What the command needs as long as it runs.
    held: Held,
}

/// What root keeps of its powers: those over files, which the rules then limit.
const FILE_POWERS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// How long the kernel may take to end what it has been told to.
const DEATH: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

impl Jail {
    pub(super) fn new(rules: Rules, filter: Option<Arc<BpfProgram>>, held: Held) -> Self {
        Self { rules, filter, powers: true, devices: false, held }
    }

    /// The same, with nothing left of what root may do to the system.
    pub(super) fn without_powers(self) -> Self {
        Self { powers: false, ..self }
    }

    /// The same, with the devices of the system as they are. Only root may enter it.
    pub(super) fn with_kept_devices(self) -> Self {
        Self { devices: true, ..self }
    }

    /// Confines this thread, for a command on this terminal. There is no way back.
    pub(crate) fn enter(&self, terminal: Option<&Path>) -> io::Result<()> {
        if self.devices {
            devices::keep()?;
        }
        if !self.powers {
            drop_powers()?;
        }
        self.rules.enter(terminal)?;
        match &self.filter {
            Some(filter) => seccompiler::apply_filter(filter).map_err(io::Error::other),
            None => Ok(()),
        }
    }

    /// Leaves of it what is needed until the command has ended.
    pub(crate) fn into_held(self) -> Held {
        self.held
    }
}

/// A program that is then started gets none back, because of `no_new_privs`.
fn drop_powers() -> io::Result<()> {
    let own = capabilities(None)?;
    let kept = CapabilitySets {
        effective: own.effective & FILE_POWERS,
        permitted: own.permitted & FILE_POWERS,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, kept)?)
}

/// What goes when the command has ended.
#[derive(Default)]
pub(crate) struct Held {
    pub(super) proxy: Option<DropGuard>,
    /// What bubblewrap has still to be told.
    pub(super) plan: Option<Plan>,
    /// Where bubblewrap tells which process is the first inside.
    pub(super) told: Option<PipeReader>,
}

impl Held {
    /// Tells bubblewrap what it waits for, waits until the command runs, and gives what is to be kept until it has
    /// ended. `child` is what was started: bubblewrap, where that is.
    pub(crate) fn settle(self, child: Pid) -> Settled {
        let stand_ins = self.plan.map(|plan| plan.carry_out(child)).unwrap_or_default();
        let first = self.told.as_ref().and_then(bwrap::first_inside);
        Settled { first, stand_ins, _proxy: self.proxy }
    }
}

/// What is kept until a command has ended, and everything it left with it.
pub(crate) struct Settled {
    /// The first process inside, with which all others end.
    first: Option<OwnedFd>,
    stand_ins: Vec<StandIn>,
    _proxy: Option<DropGuard>,
}

impl Settled {
    /// Called when the command has ended: waits for what it has left running, which dies in these
    /// moments. Says whether it is known that nothing is left; nothing leaves a namespace of processes.
    pub(crate) fn is_left_empty(&self) -> bool {
        let Some(first) = &self.first else { return false };
        let dead = rustix::io::retry_on_intr(|| poll(&mut [PollFd::new(first, PollFlags::IN)], Some(&DEATH)));
        dead == Ok(1)
    }

    /// Lets go of everything. What is returned is of no use, and takes its time when it is dropped.
    pub(crate) fn let_go(self) -> Option<Left> {
        standin::take_away(self.stand_ins)
    }
}
