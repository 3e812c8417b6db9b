//! The direct child: started, watched and reaped by a thread of its own.
//!
//! A thread and not the runtime, for three reasons. The child is reaped also when the runtime is
//! gone. Nobody else's children are waited for, and no signal handler is installed. And the thread
//! that forked lives as long as the child, which a child that asked to die with its parent (as
//! sandboxes do) takes for the parent.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};
use tokio::sync::watch;

use super::mark::Mark;
use super::proc_table::Stream;
use super::pty::{self, Terminal, Wanted};
use super::tree::Tree;
use crate::Exit;

/// The thread only starts a program and waits.
const STACK: usize = 256 << 10;

/// A child that was started, with our ends of what it reads and writes.
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) exit: watch::Receiver<Option<Exit>>,
    pub(super) ends: Ends,
}

/// Our ends of what a child reads and writes.
pub(super) enum Ends {
    Pipes { stdin: Option<OwnedFd>, stdout: OwnedFd, stderr: OwnedFd },
    Terminal(Terminal),
}

/// Starts a command in a session of its own.
///
/// This blocks until the program runs, as long as a fork takes. Were it awaited, somebody could stop
/// waiting and end this process between the fork and the kill that then follows.
pub(super) fn start(
    command: std::process::Command,
    terminal: Option<Wanted>,
    mark: Mark,
) -> io::Result<Started> {
    let (ready, started) = sync_channel(1);
    let keeper = thread::Builder::new().name("junto-child".into()).stack_size(STACK);
    keeper.spawn(move || keep(command, terminal, mark, &ready))?;
    started.recv().unwrap_or_else(|_| Err(io::Error::other("the thread that starts processes ended")))
}

fn keep(
    command: std::process::Command,
    terminal: Option<Wanted>,
    mark: Mark,
    ready: &SyncSender<io::Result<Started>>,
) {
    let started = match terminal {
        Some(wanted) => spawn_on_terminal(command, wanted, mark),
        None => spawn(command, mark),
    };
    match started {
        Ok(started) => {
            let shared = Arc::clone(&started.child.0);
            // There is room for one, and it is waited for.
            drop(ready.send(Ok(started)));
            shared.watch();
        }
        Err(e) => drop(ready.send(Err(e))),
    }
}

fn spawn(command: std::process::Command, mark: Mark) -> io::Result<Started> {
    let mut command = CommandWrap::from(command);
    let mut handle = {
        let _fork = pty::forking();
        // The wrapper's own child would wait for the whole group; only ours is ours to wait for.
        command.wrap(ProcessSession).spawn()?.into_inner()
    };
    let stdin = handle.stdin().take().map(OwnedFd::from);
    let pipes = handle.stdout().take().map(OwnedFd::from).zip(handle.stderr().take().map(OwnedFd::from));
    let streams = pipes.iter().flat_map(|(stdout, stderr)| [Stream::of(stdout), Stream::of(stderr)]);
    let (child, exit) = Child::new(handle, mark, streams.flatten().collect())?;
    // From here on, leaving means killing.
    let (stdout, stderr) = pipes.ok_or_else(|| io::Error::other("the child has no output pipes"))?;
    Ok(Started { child, exit, ends: Ends::Pipes { stdin, stdout, stderr } })
}

fn spawn_on_terminal(command: std::process::Command, wanted: Wanted, mark: Mark) -> io::Result<Started> {
    let (handle, terminal, stream) = pty::spawn(command, wanted)?;
    let (child, exit) = Child::new(Box::new(handle), mark, stream.into_iter().collect())?;
    Ok(Started { child, exit, ends: Ends::Terminal(terminal) })
}

/// The owner of a child. Dropping it kills the whole tree.
pub(super) struct Child(Arc<Shared>);

impl Child {
    fn new(
        handle: Box<dyn ChildWrapper>,
        mark: Mark,
        streams: Vec<Stream>,
    ) -> io::Result<(Self, watch::Receiver<Option<Exit>>)> {
        let pid = Pid::from_raw(i32::try_from(handle.id()).map_err(io::Error::other)?);
        let tree = Tree::new(pid, mark, streams);
        let (sender, exit) = watch::channel(None);
        let life = Mutex::new(Life { handle, exit: None, released: false });
        Ok((Self(Arc::new(Shared { pid, tree, life, exit: sender })), exit))
    }

    pub(super) fn id(&self) -> u32 {
        self.0.pid.as_raw().unsigned_abs()
    }

    /// Sends SIGINT to the child's group; nothing if none of it is left.
    pub(super) fn interrupt(&self) -> io::Result<()> {
        match self.0.tree.signal_group(Signal::SIGINT) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Does something with the tree on a thread that may be kept waiting: `/proc` can be long.
    pub(super) async fn with_tree<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tree) -> T + Send + 'static,
    ) -> io::Result<T> {
        let shared = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || work(&shared.tree)).await.map_err(io::Error::other)
    }

    /// Lets go of a tree of which nothing lives any more.
    pub(super) fn release(&self) {
        let mut life = self.0.life();
        life.released = true;
        if life.exit.is_some() {
            life.reap();
        }
    }

    /// Kills the whole tree, unless it was let go of. The watching thread reaps the child.
    pub(super) fn kill(&self) {
        if !self.0.life().released {
            self.0.tree.kill();
            self.release();
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What owner and thread share.
struct Shared {
    pid: Pid,
    tree: Tree,
    life: Mutex<Life>,
    /// Told when the child has ended.
    exit: watch::Sender<Option<Exit>>,
}

struct Life {
    handle: Box<dyn ChildWrapper>,
    /// Set once the child has ended.
    exit: Option<Exit>,
    /// Set once the tree is done with. Until then a dead child is not reaped, so that its number,
    /// which is also that of its session and group, remains its own.
    released: bool,
}

impl Life {
    fn reap(&mut self) -> Option<Exit> {
        let status = self.handle.wait().ok()?;
        Some(Exit { code: status.code(), signal: status.signal() })
    }
}

impl Shared {
    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the child's end, tells it, and reaps the child if nobody else will.
    fn watch(&self) {
        let seen = end_of(self.pid);
        let mut life = self.life();
        let reaped = if life.released || seen.is_none() { life.reap() } else { None };
        // Neither says anything only if the host has told the kernel to reap its children.
        let exit = seen.or(reaped).unwrap_or(Exit { code: None, signal: None });
        life.exit = Some(exit);
        drop(life);
        self.exit.send_replace(Some(exit));
    }
}

/// Waits for the end of a child without reaping it. `None` for an end that cannot be told this way,
/// as by a real-time signal.
fn end_of(pid: Pid) -> Option<Exit> {
    loop {
        match waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
            Ok(WaitStatus::Exited(_, code)) => return Some(Exit { code: Some(code), signal: None }),
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                return Some(Exit { code: None, signal: Some(signal as i32) });
            }
            Err(Errno::EINTR) => {}
            Ok(_) | Err(_) => return None,
        }
    }
}
