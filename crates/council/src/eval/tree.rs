//! Folders of files: copied, laid over others, and told by a digest.

use std::fmt::Write as _;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Lays a folder over another: files replace what is in their place, whatever that is, and a link in the place of
/// a folder is replaced and not followed, so that nothing outside is touched. Modes and links are kept.
pub(crate) fn lay_over(from: &Path, to: &Path) -> io::Result<()> {
    make_room(to, Room::Folder)?;
    for path in entries(from)? {
        let target = to.join(path.file_name().unwrap_or_default());
        let found = fs::symlink_metadata(&path)?;
        if found.is_dir() {
            lay_over(&path, &target)?;
        } else if found.is_symlink() {
            make_room(&target, Room::Nothing)?;
            symlink(fs::read_link(&path)?, &target)?;
        } else if found.is_file() {
            make_room(&target, Room::Nothing)?;
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// What is wanted in a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    Folder,
    Nothing,
}

fn make_room(place: &Path, room: Room) -> io::Result<()> {
    match fs::symlink_metadata(place) {
        Ok(found) if found.is_dir() && room == Room::Folder => return Ok(()),
        Ok(found) if found.is_dir() => fs::remove_dir_all(place)?,
        Ok(_) => fs::remove_file(place)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if room == Room::Folder { fs::create_dir_all(place) } else { Ok(()) }
}

/// Adds names, modes and contents of everything in a folder to a digest.
pub(crate) fn digest(folder: &Path, hash: &mut Sha256) -> io::Result<()> {
    for path in entries(folder)? {
        let found = fs::symlink_metadata(&path)?;
        let name = path.file_name().unwrap_or_default().as_bytes();
        hash.update([kind(&found)]);
        hash.update(name.len().to_le_bytes());
        hash.update(name);
        if found.is_dir() {
            digest(&path, hash)?;
            hash.update(b"\0end");
        } else if found.is_symlink() {
            hash.update(fs::read_link(&path)?.as_os_str().as_bytes());
        } else if found.is_file() {
            hash.update(found.len().to_le_bytes());
            let (mut file, mut piece) = (fs::File::open(&path)?, vec![0; 64 << 10]);
            loop {
                let read = file.read(&mut piece)?;
                if read == 0 {
                    break;
                }
                hash.update(piece.get(..read).unwrap_or_default());
            }
        }
    }
    Ok(())
}

fn kind(found: &Metadata) -> u8 {
    match found {
        found if found.is_dir() => b'd',
        found if found.is_symlink() => b'l',
        found if found.permissions().mode() & 0o111 != 0 => b'x',
        _ => b'f',
    }
}

/// A digest in sixteen characters.
pub(crate) fn short(hash: Sha256) -> String {
    hash.finalize().iter().take(8).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    all.sort();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_through_a_link_that_somebody_left() {
        let place = tempfile::tempdir().unwrap();
        let [from, to, outside] = ["from", "to", "outside"].map(|name| place.path().join(name));
        fs::create_dir_all(from.join("tests")).unwrap();
        fs::write(from.join("tests/check"), "right").unwrap();
        fs::write(from.join("run"), "new").unwrap();
        fs::set_permissions(from.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("run", from.join("link")).unwrap();
        for folder in [&to, &outside] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(outside.join("check"), "mine").unwrap();
        symlink(&outside, to.join("tests")).unwrap();
        symlink(outside.join("check"), to.join("run")).unwrap();
        fs::create_dir_all(to.join("link/deep")).unwrap();
        fs::write(to.join("kept"), "kept").unwrap();

        lay_over(&from, &to).unwrap();
        let read = |path: &str| fs::read_to_string(to.join(path)).unwrap();
        assert_eq!(
            (read("tests/check"), read("run"), read("kept")),
            ("right".into(), "new".into(), "kept".into())
        );
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("run"));
        assert_eq!(fs::metadata(to.join("run")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_to_string(outside.join("check")).unwrap(), "mine");
    }

    #[test]
    fn a_digest_tells_contents_names_modes_and_places_apart() {
        let digest_of = |make: &dyn Fn(&Path)| {
            let folder = tempfile::tempdir().unwrap();
            make(folder.path());
            let mut hash = Sha256::new();
            digest(folder.path(), &mut hash).unwrap();
            short(hash)
        };
        let write = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let all = [
            digest_of(&|_| ()),
            digest_of(&|to| write(to.join("a"), "1")),
            digest_of(&|to| write(to.join("a"), "2")),
            digest_of(&|to| write(to.join("b"), "1")),
            digest_of(&|to| write(to.join("d/a"), "1")),
            digest_of(&|to| symlink("1", to.join("a")).unwrap()),
            digest_of(&|to| {
                write(to.join("a"), "1");
                fs::set_permissions(to.join("a"), fs::Permissions::from_mode(0o755)).unwrap();
            }),
        ];
        let different: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len(), "{all:?}");
        assert_eq!(digest_of(&|to| write(to.join("a"), "1")), all[1]);
    }
}
