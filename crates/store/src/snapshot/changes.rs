//! What git says changed.

use crate::{Error, ErrorKind, Result};

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It was not there before.
    Added,
    /// It is not there any more.
    Removed,
    /// It has another content, mode or kind.
    Changed,
}

/// A file that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Its path in the workspace.
    pub path: String,
    /// What happened to it.
    pub kind: Kind,
}

/// What changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) files: Vec<FileChange>,
    /// What cannot be dealt with: a path that is no text, and a repository within the workspace.
    pub(super) beyond: Vec<String>,
}

/// Reads `diff-tree -r -z --raw`: for each file its modes, its contents and a letter, a NUL, its path, a NUL.
pub(super) fn read(raw: &[u8]) -> Result<Changes> {
    let wrong = || Error::new(ErrorKind::Io, "git", "its list of changes cannot be read");
    let mut fields = raw.split(|byte| *byte == 0);
    let mut changes = Changes::default();
    loop {
        let facts = fields.next().unwrap_or_default();
        if facts.is_empty() {
            return Ok(changes);
        }
        let path = fields.next().filter(|path| !path.is_empty()).ok_or_else(wrong)?;
        let facts =
            std::str::from_utf8(facts).ok().and_then(|facts| facts.strip_prefix(':')).ok_or_else(wrong)?;
        let facts: Vec<&str> = facts.split(' ').collect();
        let [old_mode, new_mode, _, _, letter] = facts[..] else { return Err(wrong()) };
        let kind = match letter.as_bytes().first() {
            Some(b'A') => Kind::Added,
            Some(b'D') => Kind::Removed,
            Some(b'M' | b'T') => Kind::Changed,
            _ => return Err(wrong()),
        };
        let is_repository = [old_mode, new_mode].contains(&"160000");
        match std::str::from_utf8(path) {
            Ok(path) if !is_repository => changes.files.push(FileChange { path: path.to_owned(), kind }),
            _ => changes.beyond.push(String::from_utf8_lossy(path).into_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let raw = b":000000 100644 0000 1111 A\0new file\0:100644 000000 1111 0000 D\0gone\n\0\
                    :100644 100755 1111 1111 M\0run.sh\0:100644 120000 1111 2222 T\0link\0\
                    :000000 160000 0000 1111 A\0vendored\0:100644 100644 1 2 M\0\xff\0";
        let change = |path: &str, kind| FileChange { path: path.into(), kind };
        let expected = [
            change("new file", Kind::Added),
            change("gone\n", Kind::Removed),
            change("run.sh", Kind::Changed),
            change("link", Kind::Changed),
        ];
        let changes = read(raw).unwrap();
        assert_eq!(changes.files, expected);
        assert_eq!(changes.beyond, ["vendored", "\u{fffd}"]);
        assert_eq!(read(b"").unwrap(), Changes::default());
        for wrong in [&b"x\0y\0"[..], b":1 2 3 4 A\0", b":1 2 3 4 X\0path\0", b":1 2 3\0path\0"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
