//! Putting a file into a workspace: whole or not at all, and nowhere else.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, fchmod, mkdirat, openat, renameat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::note::Note;

/// What a file that nobody knows the mode of may be: nobody else's.
const PRIVATE: u32 = 0o600;
const PRIVATE_PROGRAM: u32 = 0o700;
/// How many names are tried for a file beside another.
const NAMES: u32 = 1000;

/// What files could be done with, by whom, when a snapshot was taken and when the one was whose changes are taken back.
#[derive(Clone, Debug)]
pub(super) struct Past {
    pub(super) before: Option<Note>,
    pub(super) after: Option<Note>,
}

impl Past {
    /// The mode of a file that comes back, with the one it has now if it is there. Git only knows whether it is a program.
    fn mode(&self, path: &str, is_program: bool, now: Option<u32>) -> u32 {
        let noted =
            |note: &Option<Note>, is_program| note.as_ref().and_then(|note| note.mode(path, is_program));
        let before = noted(&self.before, is_program);
        let Some(now) = now else {
            return before.unwrap_or(if is_program { PRIVATE_PROGRAM } else { PRIVATE });
        };
        // Who has changed it since knows why.
        let is_left = noted(&self.after, now & 0o100 != 0) == Some(now);
        before.filter(|_| is_left).unwrap_or(if is_program {
            now | ((now & 0o444) >> 2)
        } else {
            now & !0o111
        })
    }

    fn folder_mode(&self, folder: &str) -> u32 {
        let noted = self.before.as_ref().and_then(|note| note.folder_mode(folder));
        noted.unwrap_or(PRIVATE_PROGRAM)
    }
}

/// Puts a file that is elsewhere at this path of a workspace, in place of a file, a link or empty folders. No link is
/// followed on the way.
pub(super) fn put(workspace: &Path, path: &str, from: &Path, past: &Past) -> io::Result<()> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let dir = open(workspace, folder, past)?;
    let now = fs::symlink_metadata(workspace.join(path)).ok();
    let new = write_beside(&dir, from, |is_program| {
        let file = now.as_ref().filter(|meta| meta.is_file());
        (past.mode(path, is_program, file.map(|meta| meta.mode() & 0o777)), file)
    })?;
    if now.as_ref().is_some_and(fs::Metadata::is_dir) {
        remove_empty(&workspace.join(path));
    }
    let put = renameat(&dir, &*new, &dir, name);
    if put.is_err() {
        // Best effort: it is nobody's.
        let _ = unlinkat(&dir, &*new, AtFlags::empty());
    }
    Ok(put?)
}

/// Opens a folder of a workspace, and makes it if it is not there.
fn open(workspace: &Path, folder: &str, past: &Past) -> io::Result<OwnedFd> {
    let way = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut dir = openat(CWD, workspace, way, Mode::empty())?;
    let ends =
        folder.match_indices('/').map(|(slash, _)| slash).chain((!folder.is_empty()).then_some(folder.len()));
    for path in ends.filter_map(|end| folder.get(..end)) {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        dir = match openat(&dir, name, way | OFlags::NOFOLLOW, Mode::empty()) {
            Err(Errno::NOENT) => {
                mkdirat(&dir, name, Mode::from_raw_mode(PRIVATE_PROGRAM))?;
                let seen = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let made = openat(&dir, name, seen, Mode::empty())?;
                fchmod(&made, Mode::from_raw_mode(past.folder_mode(path)))?;
                made
            }
            opened => opened?,
        };
    }
    Ok(dir)
}

/// Copies a file, or a link, into a folder, and gives the name that it has there. The mode it is to have, and the file it
/// is to stand for, depend on whether it is a program.
fn write_beside<'a>(
    dir: &OwnedFd,
    from: &Path,
    wanted: impl Fn(bool) -> (u32, Option<&'a fs::Metadata>),
) -> io::Result<String> {
    let meta = fs::symlink_metadata(from)?;
    let mut number = 0;
    loop {
        let name = format!(".junto-undo-{}-{number}", std::process::id());
        let made = if meta.is_symlink() {
            symlinkat(fs::read_link(from)?, dir, &*name).map(|()| None)
        } else {
            let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            openat(dir, &*name, new, Mode::from_raw_mode(PRIVATE)).map(Some)
        };
        let file = match made {
            Err(Errno::EXIST) if number < NAMES => {
                number += 1;
                continue;
            }
            made => made?.map(File::from),
        };
        let Some(mut file) = file else { return Ok(name) };
        let (mode, like) = wanted(meta.mode() & 0o100 != 0);
        let copied = File::open(from).and_then(|mut from| io::copy(&mut from, &mut file)).and_then(|_| {
            if let Some(like) = like {
                // Best effort: only root can give files away.
                let _ = fchown(&file, Some(like.uid()), Some(like.gid()));
            }
            file.set_permissions(fs::Permissions::from_mode(mode))
        });
        if let Err(error) = copied {
            let _ = unlinkat(dir, &*name, AtFlags::empty());
            return Err(error);
        }
        return Ok(name);
    }
}

/// Removes a folder and those in it, as far as there is nothing else in them.
fn remove_empty(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&entry.path());
        }
    }
    // One that is not empty stays, and what was to come in its place does not.
    let _ = fs::remove_dir(folder);
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const UNKNOWN: Past = Past { before: None, after: None };

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_file_is_put_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir_all(at("work/folder/empty")).unwrap();
        fs::write(at("work/file"), "two").unwrap();
        fs::set_permissions(at("work/file"), fs::Permissions::from_mode(0o400)).unwrap();
        fs::write(at("from"), "one").unwrap();
        for path in ["file", "new/deep/file", "folder"] {
            put(&at("work"), path, &at("from"), &UNKNOWN).unwrap();
            assert_eq!(fs::read_to_string(at("work").join(path)).unwrap(), "one", "{path}");
        }
        assert_eq!((mode(&at("work/file")), mode(&at("work/new/deep/file"))), (0o400, 0o600));
        assert_eq!(mode(&at("work/new/deep")), 0o700);
        // Reading it fails in the midst.
        put(&at("work"), "file", Path::new("/proc/self/mem"), &UNKNOWN).unwrap_err();
        assert_eq!(fs::read_to_string(at("work/file")).unwrap(), "one");
        fs::create_dir(at("work/full")).unwrap();
        fs::write(at("work/full/mine"), "mine").unwrap();
        put(&at("work"), "full", &at("from"), &UNKNOWN).unwrap_err();
        assert_eq!(fs::read_to_string(at("work/full/mine")).unwrap(), "mine");
        let mut names: Vec<_> =
            fs::read_dir(at("work")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort_unstable();
        assert_eq!(names, ["file", "folder", "full", "new"], "nothing else is left");
    }

    #[test]
    fn no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for folder in ["work", "outside"] {
            fs::create_dir(at(folder)).unwrap();
        }
        fs::write(at("from"), "one").unwrap();
        fs::write(at("outside/file"), "mine").unwrap();
        symlink("../outside", at("work/link")).unwrap();
        put(&at("work"), "link/file", &at("from"), &UNKNOWN).unwrap_err();
        put(&at("work"), "link", &at("from"), &UNKNOWN).unwrap();
        assert_eq!(fs::read_to_string(at("work/link")).unwrap(), "one");
        symlink("anywhere", at("way")).unwrap();
        put(&at("work"), "link", &at("way"), &UNKNOWN).unwrap();
        assert_eq!(fs::read_link(at("work/link")).unwrap(), Path::new("anywhere"));
        assert_eq!(fs::read_to_string(at("outside/file")).unwrap(), "mine");
    }
}
