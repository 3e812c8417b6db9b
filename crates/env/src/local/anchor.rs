//! A file by the directory it is in, which is held.
//!
//! A path was resolved and perhaps judged some time ago. A directory in it may be a link by now, put
//! there by a command that runs beside us, and lead elsewhere. So the way to the file is gone once,
//! without following links, and what is then done is done in the directory where it ended.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2};
use rustix::io::Errno;

use crate::{Error, ErrorKind, RealPath};

/// A place in a directory that is held.
pub(super) struct Anchor {
    /// Open as long as the path through it is used.
    _dir: Option<OwnedFd>,
    path: PathBuf,
}

impl Anchor {
    /// That of a path whose directory is there.
    pub(super) fn of(path: &RealPath) -> io::Result<Self> {
        match path.as_path().parent() {
            Some(parent) => Ok(Self::in_dir(open(CWD, parent)?, path.as_path())),
            None => Ok(Self { _dir: None, path: path.as_path().to_owned() }),
        }
    }

    /// That of a path whose directory is made if it is not there.
    pub(super) fn making(path: &RealPath) -> io::Result<Self> {
        let mut missing: Vec<&OsStr> = Vec::new();
        let mut above = path.as_path().parent();
        while let Some(dir) = above {
            match open(CWD, dir) {
                Ok(dir) => return Ok(Self::in_dir(make(dir, &missing)?, path.as_path())),
                Err(Errno::NOENT) => missing.extend(dir.file_name()),
                Err(e) => return Err(e.into()),
            }
            above = dir.parent();
        }
        Ok(Self { _dir: None, path: path.as_path().to_owned() })
    }

    fn in_dir(dir: OwnedFd, path: &Path) -> Self {
        let held = Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string());
        // Where there is no /proc there is only the path.
        let path = match path.file_name() {
            Some(name) if held.symlink_metadata().is_ok() => held.join(name),
            _ => path.to_owned(),
        };
        Self { _dir: Some(dir), path }
    }

    /// A path to the same, which is so as long as this is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// A directory that is held, as a path that leads there whatever becomes of its name.
pub(super) fn directory(path: &RealPath) -> io::Result<Anchor> {
    let dir = open(CWD, path.as_path())?;
    let held = Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string());
    let path = if held.symlink_metadata().is_ok() { held } else { path.as_path().to_owned() };
    Ok(Anchor { _dir: Some(dir), path })
}

/// Opens a file to read it, in one step that follows no link anywhere in the path: a search opens
/// thousands, and a second step for the directory would be felt. It does not wait for a pipe.
pub(super) fn open_to_read(path: &RealPath) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    match openat2(CWD, path.as_path(), flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Err(Errno::NOSYS | Errno::PERM) => {
            Ok(openat(CWD, Anchor::of(path)?.path(), flags, Mode::empty())?.into())
        }
        opened => Ok(opened?.into()),
    }
}

/// Refuses a path in which a link stands by now. What is not there is none.
///
/// # Errors
/// `Changed` if one does.
pub(super) fn check(path: &RealPath) -> crate::Result<()> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, path.as_path(), flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Err(Errno::LOOP) => Err(said(path, Errno::LOOP.into())),
        _ => Ok(()),
    }
}

/// What the system said, unless it is in riddles because of a link in the path.
pub(super) fn said(path: &RealPath, error: io::Error) -> Error {
    if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
        let message = "a part of this path is a symbolic link by now, which it was not when it was looked at";
        return Error::new(ErrorKind::Changed, path, message);
    }
    Error::io(path, error)
}

/// Makes directories, of which the last is the outermost, below one that is there.
fn make(mut dir: OwnedFd, missing: &[&OsStr]) -> io::Result<OwnedFd> {
    for name in missing.iter().rev() {
        match mkdirat(&dir, *name, Mode::from_raw_mode(0o777)) {
            // Somebody else was faster.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(e) => return Err(e.into()),
        }
        dir = open(&dir, Path::new(name))?;
    }
    Ok(dir)
}

fn open(from: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat2(&from, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // An old kernel, or one that a sandbox around us hides.
        Err(Errno::NOSYS | Errno::PERM) => openat(&from, path, flags, Mode::empty()),
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_in_the_way_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("outside")).unwrap();
        symlink("outside", root.join("link")).unwrap();
        for below in ["link/file", "link/new/file"] {
            let path = RealPath::resolved(root.join(below));
            assert!(Anchor::of(&path).is_err(), "{below}");
            assert!(Anchor::making(&path).is_err(), "{below}");
        }
        assert_eq!(fs::read_dir(root.join("outside")).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_that_is_replaced_is_still_held() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let path = RealPath::resolved(root.join("a/b/file"));
        let anchor = Anchor::making(&path).unwrap();
        fs::rename(root.join("a"), root.join("moved")).unwrap();
        symlink("/", root.join("a")).unwrap();
        fs::write(anchor.path(), "x").unwrap();
        assert_eq!(fs::read_to_string(root.join("moved/b/file")).unwrap(), "x");
    }
}
