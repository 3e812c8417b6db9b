//! Whether a process is at work on a session.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use junto_llm::SessionId;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, test_kill_process};

/// Whether a process has locked this session. Looked at in a way that keeps nobody from locking it: the
/// lock is tried only if the process that is named in it lives.
pub(super) fn is_open(root: &Path, session: &SessionId) -> bool {
    let path = root.join("sessions").join(&session.0).join("lock");
    let Ok(mut lock) = File::open(path) else { return false };
    let mut pid = String::new();
    let named = lock.by_ref().take(16).read_to_string(&mut pid).ok().and_then(|_| pid.trim().parse().ok());
    let lives = |pid| !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH));
    if !named.and_then(Pid::from_raw).is_some_and(lives) {
        return false;
    }
    matches!(flock(&lock, FlockOperation::NonBlockingLockShared), Err(rustix::io::Errno::WOULDBLOCK))
}
