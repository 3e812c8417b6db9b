//! Everything a process started, wherever it went.
//!
//! A process belongs to a tree if it
//! - is in the session of the tree's root, or in one that a process of the tree leads,
//! - descends from a process of the tree,
//! - was started with the tree's mark among its variables,
//! - has one of the root's output pipes, or its terminal, as a standard stream, or
//! - was found to belong by an earlier look, and is the same process still.
//!
//! So a daemon that forked twice and called `setsid` belongs, by its variables. One that besides
//! wiped its environment and let go of the pipes is out of reach; only a cgroup would hold it.
//!
//! Nothing else is ever signalled: not a process with a number that was ours (a process is known by
//! number and start), and not the daemon of somebody else that runs a marked process for us.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::mark::Mark;
use super::proc_table::{self, Entry, Identity, Stream, Table};

/// How often a tree is looked for that keeps forking. It ends long before; a bound is a bound.
const SWEEPS: usize = 100;
/// How often processes that somebody else left are looked for, until they are gone.
const ORPHAN_LOOKS: usize = 2000;
/// How long a process is so young that its numbers cannot have come around: thousands of processes a
/// second would have to be started, and all of them by others.
const YOUTH: Duration = Duration::from_millis(500);

/// A process and everything it started.
///
/// The root must not be reaped as long as this is used: a dead root keeps its number, and with it
/// its session and group, from being given to others.
pub(super) struct Tree {
    root: Pid,
    /// Nothing that is older belongs.
    start: u64,
    mark: Mark,
    /// The root's output pipes, or its terminal.
    streams: Vec<Stream>,
    spawned: Instant,
    seen: Mutex<HashSet<Identity>>,
    /// Whether the root, and the first process of the namespace that it made, are only what the
    /// command is wrapped in. They end when it does, and it dies when they do: so what asks the
    /// command to end is kept from them.
    wrapped: bool,
}

impl Tree {
    pub(super) fn new(root: Pid, mark: Mark, streams: Vec<Stream>, wrapped: bool) -> Self {
        let start = proc_table::of(root.as_raw()).map_or(0, |entry| entry.start);
        Self { root, start, mark, streams, spawned: now(), seen: Mutex::default(), wrapped }
    }

    /// Whether any of the tree lives.
    pub(super) fn lives(&self) -> bool {
        !look_well(|| self.look()).members.is_empty()
    }

    /// Asks the whole tree to end; says whether there was anything to ask. Nothing is asked twice, and
    /// what a process starts when it is asked, to clean up, is left to it.
    pub(super) fn terminate(&self) -> bool {
        if self.wrapped && !look_well(|| self.look()).members.iter().any(|entry| !self.wraps(entry)) {
            // Nothing is inside yet that could be asked; and what wraps it must not end without it.
            self.kill();
            return true;
        }
        let mut asked = HashSet::new();
        // What is stopped hears nothing before it goes on.
        self.signal_all(&[Signal::SIGTERM, Signal::SIGCONT], Self::look_inside, |found, entry| {
            asked.insert(if found.is_whole(entry.group) {
                (entry.group, None)
            } else {
                (entry.group, Some(entry.pid))
            })
        })
    }

    /// Sends an interrupt to the root's group, as a terminal would. What the root has started is looked for
    /// first: one that ends on it leaves children that are harder to find afterwards.
    pub(super) fn interrupt(&self) -> nix::Result<()> {
        if !self.wrapped {
            drop(self.look());
            return self.signal_group(Signal::SIGINT);
        }
        let found = self.look_inside();
        let targets: Vec<&Entry> = found.members.iter().filter(|entry| entry.group == self.root).collect();
        found.signal(&targets, Signal::SIGINT);
        Ok(())
    }

    fn signal_group(&self, signal: Signal) -> nix::Result<()> {
        killpg(self.root, signal)
    }

    /// Finds what may be asked to end: without the wrapping, which ends by itself.
    fn look_inside(&self) -> Found {
        let mut found = self.look();
        if self.wrapped {
            found.spare(|entry| self.wraps(entry));
        }
        found
    }

    /// Whether a process is only what the command is wrapped in.
    fn wraps(&self, entry: &Entry) -> bool {
        self.wrapped && (entry.pid == self.root || entry.parent == self.root)
    }

    /// Kills the tree.
    pub(super) fn kill(&self) {
        let mut hit = HashSet::new();
        self.signal_all(&[Signal::SIGKILL], Self::look, |_, entry| {
            hit.insert((entry.identity(), entry.group))
        });
        // For what in the root's group runs from number to number, always ahead of a look. Not before:
        // the living are how some of their children are found.
        let _ = self.signal_group(Signal::SIGKILL);
    }

    /// Signals what is `fresh`, and looks again until nothing is: what was seen may have forked, or
    /// left its group, before it was hit. Says whether there was anything.
    fn signal_all(
        &self,
        signals: &[Signal],
        look: impl Fn(&Self) -> Found,
        mut fresh: impl FnMut(&Found, &Entry) -> bool,
    ) -> bool {
        let mut patience = Patience::default();
        let mut sweeps = 0;
        while sweeps < SWEEPS {
            let found = look(self);
            let targets: Vec<&Entry> = found.members.iter().filter(|entry| fresh(&found, entry)).collect();
            if targets.is_empty() {
                // A look that found nothing to hit is a matter of patience, and no sweep.
                if patience.lasts(&found) {
                    continue;
                }
                break;
            }
            sweeps += 1;
            for signal in signals {
                found.signal(&targets, *signal);
            }
        }
        sweeps > 0
    }

    /// Finds the living processes of the tree, and remembers them.
    fn look(&self) -> Found {
        if self.is_young() {
            // Most commands are short and leave nothing: then this is all there is to do.
            if let Some(younger) = proc_table::since(self.root.as_raw()) {
                let found = self.look_among(younger);
                if found.members.is_empty() {
                    return found;
                }
            }
        }
        self.look_among(proc_table::all())
    }

    /// Whether nothing has been started since the root, on the whole machine. That is quickly told,
    /// and often so: what is short and starts nothing leaves nothing.
    pub(super) fn is_root_alone(&self) -> bool {
        proc_table::last_number() == Some(self.root.as_raw()) && self.is_young()
    }

    /// Whether the kernel, which counts up and begins anew at the end, cannot have come around since
    /// the root was started.
    fn is_young(&self) -> bool {
        now().saturating_duration_since(self.spawned) < YOUTH
    }

    fn look_among(&self, table: Table) -> Found {
        let mut seen = self.seen();
        let mut found = Found::new(table, self.start);
        found.sessions.insert(self.root);
        found.add(|entry| Some(entry.pid == self.root || seen.contains(&entry.identity())));
        found.add(|entry| {
            let writes_to_us = self.streams.iter().any(|stream| stream.is_used_by(entry.pid));
            if writes_to_us { Some(true) } else { self.mark.is_on(entry) }
        });
        found.members.retain(|entry| entry.alive);
        // Only the living: the dead do not come back, and the set must not grow for ever.
        *seen = found.members.iter().map(Entry::identity).collect();
        found
    }

    fn seen(&self) -> MutexGuard<'_, HashSet<Identity>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The real time, which the numbering of processes follows.
#[expect(clippy::disallowed_methods, reason = "a paused clock does not pause the kernel")]
fn now() -> Instant {
    Instant::now()
}

/// The living processes with a mark, and what belongs to them.
pub(super) fn marked(mark: &Mark) -> Vec<Entry> {
    let found = look_well(|| {
        let mut found = Found::new(proc_table::all(), 0);
        found.add(|entry| mark.is_on(entry));
        found.members.retain(|entry| entry.alive);
        found
    });
    found.members
}

/// Signals whatever `belongs`, and what belongs to that, until nothing of it lives; gives how many processes
/// that were.
pub(super) fn signal_where(signal: Signal, belongs: impl Fn(&Entry) -> Option<bool>) -> usize {
    let mut hit = HashSet::new();
    let mut patience = Patience::default();
    for _ in 0..ORPHAN_LOOKS {
        let mut found = Found::new(proc_table::all(), 0);
        found.add(&belongs);
        found.members.retain(|entry| entry.alive);
        let targets: Vec<&Entry> = found.members.iter().collect();
        if targets.is_empty() {
            if patience.lasts(&found) {
                continue;
            }
            break;
        }
        found.signal(&targets, signal);
        hit.extend(targets.into_iter().map(Entry::identity));
        // Nobody tells us of their end: they are not our children.
        std::thread::sleep(Duration::from_millis(1));
    }
    hit.len()
}

/// Looks until something is found, or it is clear that there is nothing.
fn look_well(look: impl Fn() -> Found) -> Found {
    let mut patience = Patience::default();
    loop {
        let found = look();
        if !found.members.is_empty() || !patience.lasts(&found) {
            return found;
        }
    }
}

/// How often a look that left doubts is repeated.
struct Patience {
    moved: u32,
    starting: u32,
}

impl Default for Patience {
    fn default() -> Self {
        // On a busy machine something always moves. To start a program takes the kernel less than a
        // millisecond, unless the disk is slow; or many others want the processor.
        Self { moved: 3, starting: 1000 }
    }
}

impl Patience {
    /// Whether to look again, after a pause if only time can help.
    fn lasts(&mut self, found: &Found) -> bool {
        let left = if found.starting { &mut self.starting } else { &mut self.moved };
        if !(found.starting || found.moved) || *left == 0 {
            return false;
        }
        *left -= 1;
        if found.starting {
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }
}

/// The processes that belong together, among all.
#[derive(Default)]
struct Found {
    members: Vec<Entry>,
    pids: HashSet<Pid>,
    /// Sessions whose leader belongs, and with it all that is in them.
    sessions: HashSet<Pid>,
    /// Those that may belong and have not been found to.
    candidates: Vec<Entry>,
    /// The groups of those that cannot belong.
    foreign: HashSet<Pid>,
    /// Whether processes came and went during the look, and may have left others.
    moved: bool,
    /// Whether there were processes of which nothing can be told before their program has started.
    starting: bool,
}

impl Found {
    /// Nothing yet, of a table of which whatever is older than `start` is foreign, and we are.
    fn new(table: Table, start: u64) -> Self {
        let own = Pid::this();
        let (candidates, foreign): (Vec<Entry>, Vec<Entry>) =
            table.entries.into_iter().partition(|entry| entry.start >= start && entry.pid != own);
        let foreign = foreign.iter().map(|entry| entry.group).collect();
        Self { candidates, foreign, moved: table.moved, ..Self::default() }
    }

    /// Adds what `belongs`, and then what belongs by descent and session. `None` is a doubt.
    fn add(&mut self, belongs: impl Fn(&Entry) -> Option<bool>) {
        self.take(&belongs);
        while self.take(|_| Some(false)) {}
    }

    fn take(&mut self, belongs: impl Fn(&Entry) -> Option<bool>) -> bool {
        let before = self.members.len();
        let Self { members, pids, sessions, candidates, starting, .. } = self;
        candidates.retain(|entry| {
            let related = pids.contains(&entry.parent) || sessions.contains(&entry.session);
            let belongs = if related { Some(true) } else { belongs(entry) };
            *starting |= belongs.is_none();
            if belongs != Some(true) {
                return true;
            }
            pids.insert(entry.pid);
            if entry.pid == entry.session {
                sessions.insert(entry.session);
            }
            members.push(*entry);
            false
        });
        members.len() > before
    }

    /// Leaves some of the members alone.
    fn spare(&mut self, is_spared: impl Fn(&Entry) -> bool) {
        let (spared, others): (Vec<Entry>, Vec<Entry>) =
            self.members.iter().partition(|entry| is_spared(entry));
        self.foreign.extend(spared.iter().map(|entry| entry.group));
        self.members = others;
    }

    /// Sends a signal to some of the members: to their whole group where all of it belongs, because a
    /// group is hit in one moment in which none of it can fork.
    fn signal(&self, targets: &[&Entry], signal: Signal) {
        let (whole, mut shared): (Vec<&Entry>, Vec<&Entry>) =
            targets.iter().partition(|target| self.is_whole(target.group));
        for group in whole.into_iter().map(|target| target.group).collect::<HashSet<_>>() {
            // Whoever is gone meanwhile needs no signal.
            let _ = killpg(group, signal);
        }
        // Parents first: one that waits for its child would else see it end, and not know why.
        shared.sort_unstable_by_key(|target| (target.start, target.pid));
        for target in shared.into_iter().filter(|target| still_there(target)) {
            let _ = kill(target.pid, signal);
        }
    }

    /// Whether nobody else is in a group. One from outside our namespace of numbers shows as 0, which
    /// as a target would mean ourselves.
    fn is_whole(&self, group: Pid) -> bool {
        group.as_raw() > 1
            && !self.foreign.contains(&group)
            && !self.candidates.iter().any(|other| other.group == group)
    }
}

fn still_there(entry: &Entry) -> bool {
    proc_table::of(entry.pid.as_raw()).is_some_and(|now| now.identity() == entry.identity())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes as `pid parent session`, with the session for a group.
    fn check(table: &[(i32, i32, i32)], seed: i32, expected: &[i32]) -> Found {
        let pid = Pid::from_raw;
        let entries: Vec<Entry> = table
            .iter()
            .map(|(own, parent, session)| Entry {
                pid: pid(*own),
                parent: pid(*parent),
                group: pid(*session),
                session: pid(*session),
                start: 1,
                alive: true,
                bare: false,
            })
            .collect();
        let mut found = Found::new(Table { entries, moved: false }, 1);
        found.add(|entry| Some(entry.pid == pid(seed)));
        let mut pids: Vec<i32> = found.members.iter().map(|entry| entry.pid.as_raw()).collect();
        pids.sort_unstable();
        assert_eq!(pids, expected, "{table:?}");
        found
    }

    #[test]
    fn what_belongs() {
        // The host, its child in a session of its own, a grandchild.
        check(&[(10, 1, 10), (20, 10, 20), (30, 20, 20)], 20, &[20, 30]);
        // The order of the table does not matter.
        check(&[(50, 40, 20), (40, 30, 20), (30, 20, 20), (20, 10, 20)], 20, &[20, 30, 40, 50]);
        // An orphan in the session.
        check(&[(20, 10, 20), (30, 1, 20)], 20, &[20, 30]);
        // A child that leads a session of its own, and its orphan.
        check(&[(20, 10, 20), (30, 20, 30), (40, 1, 30)], 20, &[20, 30, 40]);
        // A worker that a daemon outside runs for us: neither the daemon nor what is in its session.
        check(&[(60, 1, 60), (61, 60, 60), (62, 60, 60)], 61, &[61]);
    }

    #[test]
    fn a_group_is_signalled_only_if_all_of_it_belongs() {
        let whole = check(&[(20, 10, 20), (30, 20, 20)], 20, &[20, 30]);
        assert!(whole.is_whole(Pid::from_raw(20)));
        let shared = check(&[(60, 1, 60), (61, 60, 60)], 61, &[61]);
        assert!(!shared.is_whole(Pid::from_raw(60)));
        let outside = check(&[(70, 1, 0)], 70, &[70]);
        assert!(!outside.is_whole(Pid::from_raw(0)));
    }
}
