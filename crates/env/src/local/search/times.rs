//! When files were last changed, for many of them.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::fcntl::{AtFlags, OFlag, open};
use nix::sys::stat::{Mode, fstatat};

/// Reads the times of files. The directory of the last one is kept open: a walk stays in a directory
/// for a while, and the way to it would be most of the work for each of its files.
#[derive(Default)]
pub(super) struct Times {
    dir: PathBuf,
    open: Option<OwnedFd>,
}

impl Times {
    /// When a file was last changed; `None` if it is gone.
    pub(super) fn modified(&mut self, path: &Path) -> Option<SystemTime> {
        let (dir, name) = (path.parent()?, path.file_name()?);
        if self.open.is_none() || self.dir.as_os_str() != dir.as_os_str() {
            self.open = open(dir, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty()).ok();
            dir.clone_into(&mut self.dir);
        }
        let found = fstatat(self.open.as_ref()?, name, AtFlags::AT_SYMLINK_NOFOLLOW).ok()?;
        let seconds = Duration::from_secs(found.st_mtime.unsigned_abs());
        let whole = if found.st_mtime < 0 {
            SystemTime::UNIX_EPOCH.checked_sub(seconds)
        } else {
            SystemTime::UNIX_EPOCH.checked_add(seconds)
        };
        whole?.checked_add(Duration::from_nanos(found.st_mtime_nsec.unsigned_abs()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn times_are_those_of_the_files() {
        let root = tempfile::tempdir().unwrap();
        let mut times = Times::default();
        let moment = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789);
        let before = SystemTime::UNIX_EPOCH - Duration::new(5, 250_000_000);
        for (dir, modified) in [("a", moment), ("a", before), ("b", before), ("a", SystemTime::UNIX_EPOCH)] {
            let path = root.path().join(dir).join("file");
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::File::create(&path).unwrap().set_modified(modified).unwrap();
            assert_eq!(times.modified(&path), path.metadata().unwrap().modified().ok());
            assert_eq!(times.modified(&path), Some(modified));
        }
        assert_eq!(times.modified(&root.path().join("a/none")), None);
        assert_eq!(times.modified(&root.path().join("none/none")), None);
        assert_eq!(times.modified(Path::new("/")), None);
    }
}
