//! What is new about a journal's place on the disk: its folders list it only once they are synced.
//!
//! The first sync of a new file is the dearest, and a session that has just begun has time for it: it gets ready, and
//! waits for its model. So it is done beside that, and the first event that must be safe finds little left to do.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use tokio::time::Instant;

use crate::files::{File, Files};

/// What is to be synced with the file, the next time it is.
#[derive(Debug)]
pub(super) enum Fresh {
    /// These folders, if any.
    Folders(Vec<PathBuf>),
    /// Somebody is at it.
    Underway(JoinHandle<io::Result<()>>),
}

impl Fresh {
    /// Begins to sync a new file and its folders, where the files are such that this can be done beside other things.
    /// Whether that was over soon is noted.
    pub(super) fn begin(
        files: &Arc<dyn Files>,
        file: &Arc<dyn File>,
        folders: Vec<PathBuf>,
        soon: Duration,
        is_quick: &Arc<AtomicBool>,
    ) -> Self {
        if !files.can_wait() {
            return Self::Folders(folders);
        }
        let work = {
            // Not the session's lock: a journal that is closed must not stay locked until this is done.
            let (files, file, folders) = (Arc::clone(files), Arc::clone(file), folders.clone());
            let is_quick = Arc::clone(is_quick);
            move || {
                let started = Instant::now();
                file.sync()?;
                folders.iter().try_for_each(|folder| files.sync_folder(folder))?;
                is_quick.store(started.elapsed() < soon, Ordering::Relaxed);
                Ok(())
            }
        };
        // Without a thread it is done later.
        Builder::new()
            .name("junto-sync".to_owned())
            .spawn(work)
            .map_or(Self::Folders(folders), Self::Underway)
    }

    /// Waits for who is at it. After this, only folders are left, or nothing.
    pub(super) fn wait(&mut self) -> io::Result<()> {
        match std::mem::replace(self, Self::Folders(Vec::new())) {
            Self::Underway(thread) => {
                thread.join().unwrap_or_else(|_| Err(io::Error::other("the first sync broke off")))
            }
            folders @ Self::Folders(_) => {
                *self = folders;
                Ok(())
            }
        }
    }

    /// The folders that are left.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        let folders = match self {
            Self::Folders(folders) => folders.as_slice(),
            Self::Underway(_) => &[],
        };
        folders.iter().map(PathBuf::as_path)
    }

    /// There is nothing new any more.
    pub(super) fn clear(&mut self) {
        *self = Self::Folders(Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Disk, How};

    const LONG: Duration = Duration::from_mins(1);

    fn begun(folders: Vec<PathBuf>) -> (tempfile::TempDir, Fresh, Arc<AtomicBool>) {
        let dir = tempfile::tempdir().unwrap();
        let files: Arc<dyn Files> = Arc::new(Disk);
        let file = files.open(&dir.path().join("journal"), How::New).unwrap();
        let is_quick = Arc::new(AtomicBool::new(false));
        let fresh = Fresh::begin(&files, &file, folders, LONG, &is_quick);
        (dir, fresh, is_quick)
    }

    #[test]
    fn once_waited_for_nothing_is_left() {
        let (_dir, mut fresh, is_quick) = begun(vec![std::env::temp_dir()]);
        assert!(matches!(fresh, Fresh::Underway(_)));
        fresh.wait().unwrap();
        assert_eq!(fresh.folders().count(), 0);
        assert!(is_quick.load(Ordering::Relaxed));
    }

    #[test]
    fn who_waits_hears_that_it_failed() {
        let (_dir, mut fresh, is_quick) = begun(vec![PathBuf::from("/nowhere/at/all")]);
        assert_eq!(fresh.wait().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!is_quick.load(Ordering::Relaxed));
    }
}
