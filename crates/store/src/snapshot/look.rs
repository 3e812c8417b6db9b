//! What a workspace looks like from outside: enough to tell that nothing in it has changed.
//!
//! To start git costs more than to look at a thousand files. So the look of a workspace is kept beside the
//! snapshot that was taken of it, and as long as it looks the same, that snapshot is taken again without git.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::Tree;

/// A change that comes so soon after another may leave the time of the file as it was: some file systems
/// count in steps of two seconds. What changed so lately is looked at by git.
const SETTLED: i64 = 3;

/// Names, numbers, sizes and times of everything in a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// Of all of it.
    pub(super) digest: String,
    /// When something changed last, in seconds.
    youngest: i64,
    /// The modes of files, and of folders with a slash behind them, by their paths in the workspace.
    pub(super) modes: Vec<(String, u32)>,
}

impl Look {
    /// Looks at a workspace, and follows no links. The store, which may be within, is left out, and so is the user's
    /// repository, which is no part of a snapshot either. None if there is more than that, or something
    /// cannot be seen. With what else a snapshot depends on.
    pub(super) fn at(workspace: &Path, store: &Path, most: u64, also: &[u8]) -> Option<Self> {
        let (mut folders, mut seen) = (vec![workspace.to_owned()], 0);
        let (mut digest, mut youngest, mut modes) = (Sha256::new(), i64::MIN, Vec::new());
        digest.update(also);
        digest.update([0]);
        while let Some(folder) = folders.pop() {
            let mut entries = fs::read_dir(&folder).ok()?.collect::<Result<Vec<_>, _>>().ok()?;
            entries.sort_unstable_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let (path, meta) = (entry.path(), entry.metadata().ok()?);
                if path == store || folder == workspace && entry.file_name() == ".git" {
                    continue;
                }
                seen += 1;
                if seen > most {
                    return None;
                }
                if let Some(mode) = mode_of(workspace, &path, &meta) {
                    modes.push(mode);
                }
                digest.update(path.as_os_str().as_bytes());
                digest.update([0]);
                if meta.is_dir() {
                    // When a folder changed tells nothing that its entries do not tell, and more than is wanted: the
                    // store may be one of them.
                    digest.update(meta.mode().to_le_bytes());
                    folders.push(path);
                    continue;
                }
                for number in [meta.ino(), meta.size(), u64::from(meta.mode())] {
                    digest.update(number.to_le_bytes());
                }
                for time in [meta.ctime(), meta.ctime_nsec(), meta.mtime(), meta.mtime_nsec()] {
                    digest.update(time.to_le_bytes());
                }
                youngest = youngest.max(meta.ctime());
            }
        }
        Some(Self { digest: hex(&digest.finalize()), youngest, modes })
    }

    /// Keeps it with the snapshot that was taken after it, in place of what is kept there. That it cannot be
    /// kept is no failure: git is asked then.
    pub(super) fn keep(&self, tree: &Tree, path: &Path) {
        let Some(folder) = path.parent() else { return };
        let kept = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
            write!(file, "{} {} {}", self.digest, self.youngest, tree.id())?;
            file.persist(path).map_err(|error| error.error)
        });
        drop(kept);
    }

    /// The snapshot that was kept with this look; none if there is another, or it had just changed then.
    pub(super) fn tree(&self, path: &Path) -> Option<Tree> {
        let kept = fs::read_to_string(path).ok()?;
        let at = fs::metadata(path).ok()?.mtime();
        let mut parts = kept.split(' ');
        let same = parts.next()? == self.digest && parts.next()? == self.youngest.to_string();
        let settled = self.youngest.saturating_add(SETTLED) <= at;
        if same && settled { Tree::new(parts.next()?).ok() } else { None }
    }
}

/// The mode of a file or folder, with its path; none if that is no text, and of a link, which has none.
fn mode_of(workspace: &Path, path: &Path, meta: &fs::Metadata) -> Option<(String, u32)> {
    let inner = path.strip_prefix(workspace).ok()?.to_str().filter(|_| !meta.is_symlink())?;
    let slash = if meta.is_dir() { "/" } else { "" };
    Some((format!("{inner}{slash}"), meta.mode() & 0o777))
}

/// Bytes as text.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    type Change<'a> = (&'a str, Box<dyn Fn() + 'a>);

    fn look(dir: &Path) -> Option<Look> {
        Look::at(dir, &dir.join("store"), 10, b"")
    }

    #[test]
    fn it_changes_with_anything_and_only_then() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for folder in ["sub", "store", ".git"] {
            fs::create_dir(at(folder)).unwrap();
        }
        fs::write(at("sub/a"), "one").unwrap();
        let mut before = look(dir.path());
        assert!(before.is_some());
        fs::write(at("store/journal"), "grows").unwrap();
        fs::write(at(".git/index"), "changes").unwrap();
        assert_eq!(look(dir.path()), before, "neither is a part of it");
        let changes: [Change<'_>; 5] = [
            ("another text of the same length and age", {
                Box::new(|| {
                    let age = fs::metadata(at("sub/a")).unwrap().modified().unwrap();
                    // A text written within the same step of the clock is what `SETTLED` is for.
                    std::thread::sleep(Duration::from_millis(20));
                    fs::write(at("sub/a"), "two").unwrap();
                    fs::File::options().write(true).open(at("sub/a")).unwrap().set_modified(age).unwrap();
                })
            }),
            ("a new file", Box::new(|| fs::write(at("b"), "").unwrap())),
            ("an empty folder", Box::new(|| fs::create_dir(at("sub/empty")).unwrap())),
            ("another name", Box::new(|| fs::rename(at("b"), at("c")).unwrap())),
            ("one file less", Box::new(|| fs::remove_file(at("c")).unwrap())),
        ];
        for (what, change) in changes {
            change();
            let now = look(dir.path());
            assert!(now.is_some() && now != before, "{what}");
            before = now;
        }
        assert_ne!(Look::at(dir.path(), &at("store"), 10, b"ignored"), before);
        for number in 0..10 {
            fs::write(at(&number.to_string()), "").unwrap();
        }
        assert_eq!(look(dir.path()), None, "there is too much of it");
    }

    #[test]
    fn what_has_just_changed_is_not_relied_on() {
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("look");
        let tree = Tree::new("0123456789abcdef0123456789abcdef01234567").unwrap();
        let now = fs::metadata(dir.path()).unwrap().ctime();
        for (age, expected) in [(60, Some(&tree)), (0, None), (-60, None)] {
            let look = Look { digest: "d".to_owned(), youngest: now - age, modes: vec![] };
            look.keep(&tree, &kept);
            assert_eq!(look.tree(&kept).as_ref(), expected, "{age}");
            let other = Look { digest: "e".to_owned(), ..look };
            assert_eq!(other.tree(&kept), None);
        }
        fs::write(&kept, "nonsense").unwrap();
        assert_eq!(Look { digest: "nonsense".to_owned(), youngest: 0, modes: vec![] }.tree(&kept), None);
    }
}
