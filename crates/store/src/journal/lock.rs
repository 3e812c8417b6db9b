//! One writer for each session.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use junto_llm::SessionId;

use crate::files::{File, Files, How};
use crate::{Error, ErrorKind, Result};

/// The file that is locked.
pub(crate) const FILE: &str = "lock";

/// How long a lock is waited for whose holder is dead, and how often it is tried meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// The right to write a session, until it is dropped or the process ends in whatever way.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: Arc<dyn File>,
}

/// What comes of trying to take a lock.
#[derive(Debug)]
pub(crate) enum Taken {
    /// It is ours.
    Ours(Lock),
    /// Somebody has it: the process of this number, if it is known.
    Held(Option<u32>),
}

impl Lock {
    /// Takes the lock of the session in this folder.
    ///
    /// # Errors
    /// If somebody has it.
    pub(crate) fn take(files: &Arc<dyn Files>, folder: &Path, session: &SessionId) -> Result<Self> {
        let message = match Self::try_take(files, &folder.join(FILE))? {
            Taken::Ours(lock) => return Ok(lock),
            Taken::Held(Some(pid)) => format!("process {pid} writes this session"),
            Taken::Held(None) => "another process writes this session".to_owned(),
        };
        Err(Error::new(ErrorKind::Locked, session, message))
    }

    /// Takes the lock that this file is, if nobody has it.
    ///
    /// A process that was killed just when it started another leaves the lock to that one, until it has become the
    /// program it shall be. So the lock of a dead process is waited for.
    ///
    /// # Errors
    /// If the file cannot be opened or locked.
    pub(crate) fn try_take(files: &Arc<dyn Files>, path: &Path) -> Result<Taken> {
        let mut waited = Duration::ZERO;
        Self::take_patiently(files, path, || {
            std::thread::sleep(PAUSE);
            waited += PAUSE;
            waited < PATIENCE
        })
    }

    /// The same; `wait` waits, and says whether to try once more.
    fn take_patiently(files: &Arc<dyn Files>, path: &Path, mut wait: impl FnMut() -> bool) -> Result<Taken> {
        let failed = |error| Error::io(path, error);
        let file = files.open(path, How::Create).map_err(failed)?;
        while !file.try_lock().map_err(failed)? {
            let holder = holder(&*file);
            if holder.is_some_and(is_dead) && wait() {
                continue;
            }
            return Ok(Taken::Held(holder));
        }
        // Only for the message above: where it cannot be written, that is a little poorer.
        let _ = file.resize(0).and_then(|()| {
            let pid = format!("{}\n", std::process::id());
            file.write_all_at(pid.as_bytes(), 0)
        });
        Ok(Taken::Ours(Self { _file: file }))
    }
}

fn holder(file: &dyn File) -> Option<u32> {
    let mut text = [0; 16];
    let read = file.read_full_at(&mut text, 0).ok()?;
    std::str::from_utf8(text.get(..read)?).ok()?.trim().parse().ok()
}

/// Whether a process has ended, be it that nobody has taken note of it. Where that cannot be told it has not.
fn is_dead(pid: u32) -> bool {
    if !Path::new("/proc/self/stat").exists() {
        return false;
    }
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        // The name before it is in brackets, and may have any character in it.
        Ok(facts) => facts.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Disk;

    /// Beyond the highest that Linux gives.
    const NOBODY: u32 = 1 << 23;

    /// `expected`: after how many waits it is taken; none: it is not, and the holder is told.
    fn check(holder: u32, expected: Option<u32>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let files: Arc<dyn Files> = Arc::new(Disk);
        let other = files.open(&path, How::Create).unwrap();
        other.write_all_at(format!("{holder}\n").as_bytes(), 0).unwrap();
        assert!(other.try_lock().unwrap());
        let (mut other, mut waited) = (Some(other), 0);
        let taken = Lock::take_patiently(&files, &path, || {
            waited += 1;
            if waited == 3 {
                other = None;
            }
            waited < 10
        });
        match (taken.unwrap(), expected) {
            (Taken::Ours(_), Some(times)) => assert_eq!(waited, times),
            (Taken::Held(pid), None) => assert_eq!(pid, Some(holder)),
            (taken, expected) => panic!("{taken:?}, not {expected:?}"),
        }
    }

    #[test]
    fn the_lock_of_the_dead_is_waited_for() {
        check(NOBODY, Some(3));
        check(std::process::id(), None);
    }

    #[test]
    fn who_writes_a_session_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let files: Arc<dyn Files> = Arc::new(Disk);
        let session = SessionId("s".into());
        let _held = Lock::take(&files, folder.path(), &session).unwrap();
        let error = Lock::take(&files, folder.path(), &session).unwrap_err();
        let said = format!("s: process {} writes this session", std::process::id());
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Locked, said));
    }
}
