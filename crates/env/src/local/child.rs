//! The direct child: started, watched and reaped by a thread of its own.
//!
//! A thread and not the runtime, for three reasons. The child is reaped also when the runtime is
//! gone. Nobody else's children are waited for, and no signal handler is installed. And the thread
//! that forked lives as long as the child, which a child that asked to die with its parent (as
//! sandboxes do) takes for the parent.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::unistd::Pid;
use rustix::process::{WaitId, WaitIdOptions, WaitIdStatus, waitid};
use tokio::sync::watch;

use super::beside::Feed;
use super::keeper;
use super::launch::{Launch, Launched};
use super::mark::Mark;
use super::proc_table::Stream;
use super::pty::{self, Terminal, Wanted};
use super::tree::Tree;
use crate::Exit;
use crate::sandbox::{Held, Jail, Settled};

/// A child that was started, with our ends of what it reads and writes.
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) exit: watch::Receiver<Option<Exit>>,
    pub(super) ends: Ends,
}

/// Our ends of what a child reads and writes.
pub(super) enum Ends {
    Pipes {
        stdin: Option<OwnedFd>,
        stdout: OwnedFd,
        stderr: OwnedFd,
    },
    Terminal(Terminal),
    /// It has the standard streams of this process.
    Ours,
}

/// What a child reads and writes.
#[derive(Clone, Copy)]
pub(super) enum Wants {
    Pipes,
    Terminal(Wanted),
    /// The standard streams of this process, and its terminal if it has one.
    Ours,
}

/// Starts a command, in a session of its own unless it has our streams.
///
/// This blocks until the program runs, as long as a start takes. Were it awaited, somebody could stop
/// waiting and end this process between the start and the kill that then follows.
pub(super) fn start(launch: Launch, wants: Wants, mark: Mark) -> io::Result<Started> {
    let (ready, started) = sync_channel(1);
    let keep = if launch.jail.is_some() { keeper::keep_alone } else { keeper::keep };
    keep(Box::new(move || {
        let mut launch = launch;
        let started = match wants {
            Wants::Pipes => spawn(&launch, mark).map(|started| (started, None)),
            Wants::Terminal(wanted) => {
                spawn_on_terminal(&launch, wanted, mark).map(|started| (started, None))
            }
            Wants::Ours => spawn_beside(&launch, mark),
        };
        match started {
            Ok((started, feed)) => {
                let shared = Arc::clone(&started.child.0);
                let held = launch.jail.take().map(Jail::into_held);
                // What it was started with is its own now.
                drop(launch);
                // There is room for one, and it is waited for.
                drop(ready.send(Ok(started)));
                shared.watch(held, feed);
            }
            Err(e) => drop(ready.send(Err(e))),
        }
    }))?;
    started.recv().unwrap_or_else(|_| Err(io::Error::other("the thread that starts processes ended")))
}

fn spawn(launch: &Launch, mark: Mark) -> io::Result<Started> {
    let Launched { pid, stdin, stdout, stderr } = launch.start()?;
    let streams = [Stream::of(&stdout), Stream::of(&stderr)];
    let (child, exit) =
        Child::new(pid, mark, streams.into_iter().flatten().collect(), launch.has_descriptors());
    Ok(Started { child, exit, ends: Ends::Pipes { stdin, stdout, stderr } })
}

fn spawn_on_terminal(launch: &Launch, wanted: Wanted, mark: Mark) -> io::Result<Started> {
    let (pid, terminal, stream) = pty::spawn(launch, wanted)?;
    let (child, exit) = Child::new(pid, mark, stream.into_iter().collect(), launch.has_descriptors());
    Ok(Started { child, exit, ends: Ends::Terminal(terminal) })
}

fn spawn_beside(launch: &Launch, mark: Mark) -> io::Result<(Started, Option<Feed>)> {
    let (pid, feed) = launch.start_beside()?;
    let (child, exit) = Child::new(pid, mark, Vec::new(), launch.has_descriptors());
    Ok((Started { child, exit, ends: Ends::Ours }, feed))
}

/// The owner of a child. Dropping it kills the whole tree.
pub(super) struct Child(Arc<Shared>);

impl Child {
    /// `wrapped`: it is bubblewrap, and the command is inside.
    fn new(
        pid: Pid,
        mark: Mark,
        streams: Vec<Stream>,
        wrapped: bool,
    ) -> (Self, watch::Receiver<Option<Exit>>) {
        let tree = Tree::new(pid, mark, streams, wrapped);
        let (sender, exit) = watch::channel(None);
        let life = Mutex::new(Life { exit: None, empty: false, released: false });
        (Self(Arc::new(Shared { pid, tree, life, exit: sender })), exit)
    }

    pub(super) fn id(&self) -> u32 {
        self.0.pid.as_raw().unsigned_abs()
    }

    /// Sends SIGINT to the child's group; nothing if none of it is left.
    pub(super) fn interrupt(&self) -> io::Result<()> {
        match self.0.tree.interrupt() {
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

    /// Whether the child has ended and is known to have left nothing. Quick; `false` is no answer.
    pub(super) fn left_nothing(&self) -> bool {
        let (ended, empty) = {
            let life = self.0.life();
            (life.exit.is_some(), life.empty)
        };
        ended && (empty || self.0.tree.is_root_alone())
    }

    /// Lets go of a tree of which nothing lives any more.
    pub(super) fn release(&self) {
        let mut life = self.0.life();
        // Once only: the number may be another child's afterwards.
        if !std::mem::replace(&mut life.released, true) && life.exit.is_some() {
            reap(self.0.pid);
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
    /// Set once the child has ended.
    exit: Option<Exit>,
    /// Whether it is known that nothing that it started lives.
    empty: bool,
    /// Set once the tree is done with. Until then a dead child is not reaped, so that its number,
    /// which is also that of its session and group, remains its own.
    released: bool,
}

impl Shared {
    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the child's end, tells it, and reaps the child if nobody else will.
    fn watch(&self, held: Option<Held>, feed: Option<Feed>) {
        let held = held.map(|held| held.settle(self.pid));
        let seen = end_of(self.pid);
        // Before anything is let go of: what dies in these moments would see the way free.
        let empty = held.as_ref().is_some_and(Settled::is_left_empty);
        drop(feed);
        let left = held.and_then(Settled::let_go);
        let mut life = self.life();
        let exit = seen.unwrap_or(Exit { code: None, signal: None });
        if life.released {
            reap(self.pid);
        }
        life.exit = Some(exit);
        life.empty = empty;
        drop(life);
        self.exit.send_replace(Some(exit));
        // Nobody waits for it.
        drop(left);
    }
}

/// Waits for the end of a child without reaping it. `None` if the host has told the kernel to reap
/// its children.
fn end_of(pid: Pid) -> Option<Exit> {
    let status = wait(pid, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    Some(Exit { code: status.exit_status(), signal: status.terminating_signal() })
}

/// Lets the system forget a child that has ended; its number is then free.
fn reap(pid: Pid) {
    wait(pid, WaitIdOptions::EXITED);
}

fn wait(pid: Pid, options: WaitIdOptions) -> Option<WaitIdStatus> {
    let pid = rustix::process::Pid::from_raw(pid.as_raw())?;
    rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), options)).ok()?
}
