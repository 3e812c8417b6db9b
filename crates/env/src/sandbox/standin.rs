//! Directories that stand where settings would be, so that no command makes them.
//!
//! What is not there cannot be kept read-only. So an empty directory is put there while a command runs,
//! and taken away after it; nobody takes it for settings. Several commands, also of other processes,
//! share one: each has a lock on it, and the last takes it away. One that was left behind by a process
//! that was killed is taken for one of ours.

use std::fs::{self, DirBuilder, File};
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

use super::door;

/// The mode by which ours are known, if they are empty. Nobody makes such a directory by chance.
const MODE: u32 = 0o500;

/// How often it is tried again because another was just taking it away; and after how often, and how long, it is waited
/// for the other: both can keep step, as whoever waits for a lock is woken by its being taken away.
const ATTEMPTS: usize = 64;
const IN_STEP: usize = 8;
const PAUSE: Duration = Duration::from_micros(100);

/// An empty directory that is there as long as this is.
pub(super) struct StandIn {
    path: PathBuf,
    lock: File,
}

impl StandIn {
    /// Stands at a path where nothing else is; `None` if something is, or none can be made there, as no
    /// command could either.
    ///
    /// # Errors
    /// If what is there comes and goes, or none can be made for a reason that may pass: then nothing keeps a command from
    /// making it.
    pub(super) fn at(path: &Path) -> io::Result<Option<Self>> {
        for attempt in 0..ATTEMPTS {
            if attempt >= IN_STEP {
                thread::sleep(PAUSE);
            }
            match DirBuilder::new().mode(MODE).create(path) {
                Ok(()) => {}
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => match is_ours(path) {
                    Some(true) => {}
                    Some(false) => return Ok(None),
                    None => continue,
                },
                Err(e) if is_impossible(&e) => return Ok(None),
                // A disk that is full may have room again when the command runs.
                Err(e) => {
                    return Err(io::Error::new(
                        e.kind(),
                        format!("{} cannot be kept as it is: {e}", path.display()),
                    ));
                }
            }
            let Ok(lock) = File::open(path) else { continue };
            // Who takes it away has the lock for itself; then this is one that is gone.
            if lock.lock_shared().is_ok() && is_same(&lock, path) {
                return Ok(Some(Self { path: path.to_owned(), lock }));
            }
        }
        Err(io::Error::other(format!("{} cannot be kept as it is: it comes and goes", path.display())))
    }

    /// Whether nothing is at a path but perhaps one of these.
    pub(super) fn is_free(path: &Path) -> bool {
        is_ours(path) != Some(false)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// How many files one message takes with it, at most; the kernel takes some more.
const MESSAGE: usize = 128;

/// What is left of some that were taken away. Of no use; but when it is dropped the file system frees what the
/// directories took, and on some that waits for the disk.
///
/// The files are open in messages that nobody reads, and not among the descriptors of this process: of those every child
/// has copies when it is started, and if it were the last to close them it would do that work, before its program runs.
pub(crate) struct Left {
    _sockets: (OwnedFd, OwnedFd),
}

/// Takes some away, those that nobody else needs.
pub(super) fn take_away(all: Vec<StandIn>) -> Option<Left> {
    if all.is_empty() {
        return None;
    }
    let sockets = door::pair().ok()?;
    for some in all.chunks(MESSAGE) {
        let files: Vec<RawFd> = some.iter().map(|stand_in| stand_in.lock.as_raw_fd()).collect();
        let files = [ControlMessage::ScmRights(&files)];
        // What is not sent is closed at once, which only takes longer.
        let word = [IoSlice::new(b"!")];
        let _ = sendmsg::<()>(sockets.0.as_raw_fd(), &word, &files, MsgFlags::MSG_DONTWAIT, None);
    }
    drop(all);
    Some(Left { _sockets: sockets })
}

impl Drop for StandIn {
    fn drop(&mut self) {
        if self.lock.try_lock().is_ok() && is_same(&self.lock, &self.path) {
            // If somebody has put something into it, it is theirs and stays.
            drop(fs::remove_dir(&self.path));
        }
        // Not by closing it, which may come later. Whoever has waited for it sees then that it is gone.
        drop(self.lock.unlock());
    }
}

/// Makes a directory that stays, and those on the way, for nobody but their owner.
///
/// # Errors
/// If that cannot be done for a reason that may pass.
pub(super) fn make_for_good(path: &Path) -> io::Result<()> {
    match DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Err(e) if !is_impossible(&e) && e.kind() != io::ErrorKind::AlreadyExists => {
            Err(io::Error::new(e.kind(), format!("{} cannot be kept from commands: {e}", path.display())))
        }
        _ => Ok(()),
    }
}

/// Whether a directory only stands where settings would be, while commands run: it is no repository, and no settings.
pub fn is_stand_in(path: &Path) -> bool {
    is_ours(path) == Some(true)
}

/// Takes away what a process that was killed left at these paths. What somebody still needs stays.
pub(super) fn sweep(paths: impl IntoIterator<Item = PathBuf>) {
    for path in paths.into_iter().filter(|path| is_ours(path) == Some(true)) {
        if let Ok(lock) = File::open(&path) {
            drop(StandIn { path, lock });
        }
    }
}

/// Whether nobody with our rights makes anything there, and so no command.
fn is_impossible(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), NotADirectory | NotFound | PermissionDenied | ReadOnlyFilesystem)
}

/// Whether what is there is one of ours; `None` if it is gone.
fn is_ours(path: &Path) -> Option<bool> {
    let unless_gone = |e: io::Error| (e.kind() != io::ErrorKind::NotFound).then_some(false);
    let is_alike = match fs::symlink_metadata(path) {
        Ok(found) => found.is_dir() && found.permissions().mode() & 0o777 == MODE,
        Err(e) => return unless_gone(e),
    };
    match fs::read_dir(path) {
        _ if !is_alike => Some(false),
        Ok(mut entries) => Some(entries.next().is_none()),
        Err(e) => unless_gone(e),
    }
}

fn is_same(held: &File, path: &Path) -> bool {
    match (held.metadata(), fs::symlink_metadata(path)) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_there_as_long_as_somebody_needs_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".git");
        let first = StandIn::at(&path).unwrap().unwrap();
        let second = StandIn::at(&path).unwrap().unwrap();
        drop(first);
        assert!(path.is_dir());
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn while_others_come_and_go_one_is_always_had() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".git");
        let comes_and_goes = || {
            for _ in 0..2_000 {
                let stand_in = StandIn::at(&path).unwrap().expect("nothing but ours is there");
                assert!(is_same(&stand_in.lock, &path));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(comes_and_goes);
            }
        });
        assert!(!path.exists());
    }

    #[test]
    fn what_is_left_of_those_that_were_taken_away_is_nowhere_and_keeps_nobody_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> =
            (0..MESSAGE + 2).map(|number| dir.path().join(number.to_string())).collect();
        let all: Vec<StandIn> = paths.iter().map(|path| StandIn::at(path).unwrap().unwrap()).collect();
        let late = File::open(&paths[0]).unwrap();
        let left = take_away(all).unwrap();
        assert!(paths.iter().all(|path| !path.exists()));
        assert!(late.try_lock_shared().is_ok());
        drop(late);
        let own = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let open: Vec<PathBuf> = own.filter_map(|entry| fs::read_link(entry.path()).ok()).collect();
        assert!(open.iter().all(|open| !open.starts_with(dir.path())), "{open:?}");
        drop(StandIn::at(&paths[0]).unwrap().unwrap());
        assert!(!paths[0].exists());
        drop(left);
    }

    #[test]
    fn what_is_somebody_elses_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = dir.path().join("theirs");
        fs::create_dir(&theirs).unwrap();
        assert!(StandIn::at(&theirs).unwrap().is_none());
        assert!(theirs.is_dir());
        let filled = dir.path().join("filled");
        let stand_in = StandIn::at(&filled).unwrap().unwrap();
        fs::set_permissions(&filled, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(filled.join("x"), "").unwrap();
        drop(stand_in);
        assert!(filled.join("x").exists());
    }

    #[test]
    fn where_none_can_be_made_that_is_an_error_unless_no_command_could() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        for below in ["missing/.git", "file/.git"] {
            assert!(StandIn::at(&dir.path().join(below)).unwrap().is_none(), "{below}");
        }
        assert!(StandIn::at(Path::new("/proc/.git")).unwrap().is_none());
        // Stands for a full disk: it may not be full any more when the command runs.
        assert!(StandIn::at(&dir.path().join("x".repeat(300))).is_err());
    }

    #[test]
    fn those_that_were_left_are_swept_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let left = |name: &str| DirBuilder::new().mode(MODE).create(dir.path().join(name)).unwrap();
        left(".git");
        left(".claude");
        left("mine");
        let needed = StandIn::at(&dir.path().join(".claude")).unwrap().unwrap();
        fs::create_dir(dir.path().join(".codex")).unwrap();
        sweep([".git", ".claude", ".codex", ".gemini"].map(|name| dir.path().join(name)));
        let there = |name: &str| dir.path().join(name).exists();
        assert_eq!([".git", ".claude", ".codex", "mine"].map(there), [false, true, true, true]);
        drop(needed);
        assert!(!there(".claude"));
    }

    #[test]
    fn one_that_was_left_behind_is_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".git");
        DirBuilder::new().mode(MODE).create(&path).unwrap();
        drop(StandIn::at(&path).unwrap().unwrap());
        assert!(!path.exists());
    }
}
