//! What a journal's next sync has to see to beside the file: folders that do not list it safely yet, and somebody who
//! syncs already.
//!
//! The first sync of a new file is the dearest, and a session that has just begun has time for it: it gets ready, and
//! waits for its model. So it is done beside that, and the first event that must be safe finds little left to do. And
//! what is to be safe soon is synced beside what comes after it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::files::{File, Files};

/// What is to be synced with the file, the next time it is.
#[derive(Debug)]
pub(super) enum Fresh {
    /// These folders, if any.
    Folders(Vec<PathBuf>),
    /// Somebody is at it, and tells what came of it. Whoever breaks off tells nothing: then these folders are left.
    Underway { told: Receiver<io::Result<()>>, folders: Vec<PathBuf> },
}

/// Something to be done by another thread.
type Work = Box<dyn FnOnce() + Send>;

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
        // A runtime has threads that may be kept waiting, and at the beginning of a session one of them idles. Without any
        // thread it is done later.
        let start = |work: Work| match Handle::try_current() {
            Ok(runtime) => {
                drop(runtime.spawn_blocking(work));
                true
            }
            Err(_) => Builder::new().name("junto-sync".to_owned()).spawn(work).is_ok(),
        };
        Self::begin_by(files, file, folders, soon, is_quick, start)
    }

    /// The same, by whoever takes the work, if somebody does.
    fn begin_by(
        files: &Arc<dyn Files>,
        file: &Arc<dyn File>,
        folders: Vec<PathBuf>,
        soon: Duration,
        is_quick: &Arc<AtomicBool>,
        start: impl FnOnce(Work) -> bool,
    ) -> Self {
        if !files.can_wait() {
            return Self::Folders(folders);
        }
        let (tell, told) = sync_channel(1);
        let work = {
            // Not the session's lock: a journal that is closed must not stay locked until this is done.
            let (files, file, folders) = (Arc::clone(files), Arc::clone(file), folders.clone());
            let is_quick = Arc::clone(is_quick);
            move || {
                let started = Instant::now();
                let sync = |folder: &PathBuf| files.sync_folder(folder);
                let done = file.sync().and_then(|()| folders.iter().try_for_each(sync));
                if done.is_ok() {
                    is_quick.store(started.elapsed() < soon, Ordering::Relaxed);
                }
                // Nobody may want to know any more.
                let _ = tell.send(done);
            }
        };
        if start(Box::new(work)) { Self::Underway { told, folders } } else { Self::Folders(folders) }
    }

    /// Waits for who is at it. After this, only folders are left, or nothing.
    pub(super) fn wait(&mut self) -> io::Result<()> {
        let Self::Underway { told, folders } = self else { return Ok(()) };
        if let Ok(done) = told.recv() {
            self.clear();
            return done;
        }
        *self = Self::Folders(std::mem::take(folders));
        Ok(())
    }

    /// Whether somebody is at it still. What came of one who is done is told here.
    pub(super) fn is_underway(&mut self) -> io::Result<bool> {
        match self {
            Self::Underway { told, .. } => match told.try_recv() {
                Err(TryRecvError::Empty) => Ok(true),
                Ok(done) => {
                    self.clear();
                    done.map(|()| false)
                }
                Err(TryRecvError::Disconnected) => self.wait().map(|()| false),
            },
            Self::Folders(_) => Ok(false),
        }
    }

    /// The folders that are left.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        let folders = match self {
            Self::Folders(folders) => folders.as_slice(),
            Self::Underway { .. } => &[],
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
        assert!(matches!(fresh, Fresh::Underway { .. }));
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

    #[test]
    fn what_came_of_it_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let files: Arc<dyn Files> = Arc::new(Disk);
        let file = files.open(&dir.path().join("journal"), How::New).unwrap();
        let begin = |folder: &str| {
            let folders = vec![PathBuf::from(folder)];
            Fresh::begin_by(&files, &file, folders, LONG, &Arc::default(), |work| {
                work();
                true
            })
        };
        let mut failed = begin("/nowhere/at/all");
        assert_eq!(failed.is_underway().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!failed.is_underway().unwrap() && !begin("/").is_underway().unwrap());
    }

    #[test]
    fn what_somebody_broke_off_is_still_to_be_done() {
        let dir = tempfile::tempdir().unwrap();
        let files: Arc<dyn Files> = Arc::new(Disk);
        let file = files.open(&dir.path().join("journal"), How::New).unwrap();
        let is_quick = Arc::new(AtomicBool::new(false));
        let folders = vec![dir.path().to_owned()];
        let begin = |start: &dyn Fn(Work) -> bool| {
            Fresh::begin_by(&files, &file, folders.clone(), LONG, &is_quick, start)
        };
        let dropped = begin(&|work| {
            drop(work);
            true
        });
        for mut fresh in [dropped, begin(&|_| false)] {
            assert!(!fresh.is_underway().unwrap());
            fresh.wait().unwrap();
            assert_eq!(fresh.folders().collect::<Vec<_>>(), [dir.path()]);
        }
        let mut done = begin(&|work| {
            work();
            true
        });
        assert!(!done.is_underway().unwrap());
        assert_eq!(done.folders().count(), 0);
    }
}
