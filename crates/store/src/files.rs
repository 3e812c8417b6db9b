//! The file operations that the journal is made of, so that tests can make any of them fail.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

mod faulty;

pub use faulty::{Fault, Faulty, Loss};

/// How a file is opened. What is made is for its owner alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// For reading; it must be there.
    Read,
    /// For reading and writing; it must be there.
    Write,
    /// For reading and writing; it is made if it is not there.
    Create,
    /// For reading and writing; it must not be there.
    New,
}

/// Folders and files by their paths.
pub trait Files: fmt::Debug + Send + Sync {
    /// Makes a folder, and those above it. It may be there already.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
    /// Opens a file.
    fn open(&self, path: &Path, how: How) -> io::Result<Arc<dyn File>>;
    /// The names in a folder, in any order. Those that are no text are left out.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Whether there is such a file.
    fn is_there(&self, path: &Path) -> bool;
    /// Whether there is such a folder.
    fn has_folder(&self, path: &Path) -> bool;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// Makes what a folder lists safe against a crash of the machine.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Whether some of this may be done by another thread while its caller goes on: not where a test says at which
    /// step something fails.
    fn can_wait(&self) -> bool {
        false
    }
}

/// An open file.
pub trait File: fmt::Debug + Send + Sync {
    /// Reads from a place, perhaps less than wanted; nothing at the end.
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize>;
    /// Writes to a place, perhaps less than given.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize>;
    /// How long it is.
    fn size(&self) -> io::Result<u64>;
    /// Cuts it, or adds zeros.
    fn resize(&self, size: u64) -> io::Result<()>;
    /// Makes its content safe against a crash of the machine.
    fn sync(&self) -> io::Result<()>;
    /// Takes the lock that one handle can have, until the handle is dropped. False if another has it.
    fn try_lock(&self) -> io::Result<bool>;
}

impl dyn File + '_ {
    /// Writes all of it, or fails with some of it written.
    pub(crate) fn write_all_at(&self, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_at(bytes, at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = bytes.get(written..).unwrap_or_default();
                    at += written as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads until there is no more room, or no more to read.
    pub(crate) fn read_full_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        let mut done = 0;
        while let Some(room) = into.get_mut(done..)
            && !room.is_empty()
        {
            match self.read_at(room, at + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }
}

/// A file from a place on, as a stream that ends at another place.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) file: Arc<dyn File>,
    pub(crate) at: u64,
    pub(crate) end: u64,
}

impl io::Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let room = left.min(into.len());
        let read = self.file.read_at(into.get_mut(..room).unwrap_or_default(), self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The files of the system.
#[derive(Clone, Copy, Debug)]
pub struct Disk;

impl Files for Disk {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    fn open(&self, path: &Path, how: How) -> io::Result<Arc<dyn File>> {
        let file = fs::OpenOptions::new()
            .read(true)
            .write(how != How::Read)
            .create(how == How::Create)
            .create_new(how == How::New)
            .mode(0o600)
            .open(path)?;
        Ok(Arc::new(file))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn is_there(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|found| found.is_file())
    }

    fn has_folder(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|found| found.is_dir())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        fs::File::open(folder)?.sync_all()
    }

    fn can_wait(&self) -> bool {
        true
    }
}

impl File for fs::File {
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        FileExt::read_at(self, into, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, at)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn resize(&self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn try_lock(&self) -> io::Result<bool> {
        match fs::File::try_lock(self) {
            Ok(()) => Ok(true),
            Err(fs::TryLockError::WouldBlock) => Ok(false),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }
}
