//! Terminals: what a process has that thinks somebody is there.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::Pid;
use pty_process::Size;
use pty_process::blocking::{Command as TerminalCommand, Pty, open};

use super::launch::{self, Launch};
use super::proc_table::Stream;
use crate::TerminalSize;

/// The key that ends the input, at the beginning of a line.
pub(super) const END_OF_INPUT: u8 = 0x04;

/// Held by whoever forks. A terminal is made while nobody does: for a moment it would be inherited,
/// and be open as long as a foreign child lives.
static FORK: RwLock<()> = RwLock::new(());

/// To be held while a process is started.
pub(super) fn forking() -> RwLockReadGuard<'static, ()> {
    FORK.read().unwrap_or_else(PoisonError::into_inner)
}

/// A terminal that a process is to have.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) size: TerminalSize,
    /// Whether its input is typed there; otherwise it has none.
    pub(super) typed: bool,
}

/// Our end of a terminal. Once it is dropped, the other end is dead.
pub(super) struct Terminal(Pty);

impl Terminal {
    pub(super) fn resize(&self, size: TerminalSize) -> io::Result<()> {
        self.0.resize(Size::new(size.rows, size.columns)).map_err(io::Error::other)
    }

    /// A descriptor to read from or write to, which does not block.
    pub(super) fn descriptor(&self) -> io::Result<OwnedFd> {
        self.0.as_fd().try_clone_to_owned()
    }
}

/// Starts a command in a session of its own, which has a terminal of its own. Gives the process's end
/// of it too, by which whoever holds it is known.
pub(super) fn spawn(launch: &Launch, wanted: Wanted) -> io::Result<(Pid, Terminal, Option<Stream>)> {
    let (pty, pts) = {
        let _alone = FORK.write().unwrap_or_else(PoisonError::into_inner);
        open().map_err(system)?
    };
    let flags = OFlag::from_bits_retain(fcntl(&pty, FcntlArg::F_GETFL)?);
    fcntl(&pty, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    let terminal = Terminal(pty);
    terminal.resize(wanted.size)?;
    let stream = Stream::of(&pts);
    let _fork = forking();
    if launch.jail.is_some() {
        let name = stream.as_ref().ok_or_else(|| io::Error::other("the terminal has no name"))?.name();
        let pid = launch.start_on(name, wanted.typed)?;
        return Ok((pid, terminal, stream));
    }
    let mut command = TerminalCommand::from(launch.command());
    if !wanted.typed {
        command = command.stdin(Stdio::null());
    }
    let child = command.spawn(pts).map_err(system)?;
    Ok((launch::number(&child)?, terminal, stream))
}

fn system(error: pty_process::Error) -> io::Error {
    match error {
        pty_process::Error::Io(e) => e,
        pty_process::Error::Rustix(e) => e.into(),
    }
}
