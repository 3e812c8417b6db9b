//! The index of a git repository, read for the other repositories that it names.
//!
//! Git goes into each of these by itself, whatever `.gitmodules` says of them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// What an index says of other repositories.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    /// Where they are, from the top of the repository: its submodules, checked out or not.
    pub(super) repositories: Vec<PathBuf>,
    /// The name of the file in which the rest of the index is, if it is split.
    pub(super) rest: Option<String>,
}

/// The lengths of a hash; which it is, the index does not say.
const HASHES: [usize; 2] = [20, 32];
/// Times, device, inode, mode, owner and size, which come before the hash; where in them the mode is.
const BEFORE_HASH: usize = 40;
const MODE_AT: usize = 24;
/// How many are read of: more are not kept in any case, and a name may be as long as all others together.
const MOST: usize = 256;
/// The mode of an entry that is another repository.
const REPOSITORY: u32 = 0o160_000;
/// Among the flags of an entry: that there are more flags, and the length of the name.
const EXTENDED: u16 = 0x4000;
const NAME_LENGTH: u16 = 0xfff;

/// Reads an index; `None` if it is none, or is damaged, and git would not read it either.
pub(super) fn read(bytes: &[u8]) -> Option<Index> {
    HASHES.into_iter().find_map(|hash| read_with(bytes, hash))
}

fn read_with(bytes: &[u8], hash: usize) -> Option<Index> {
    let body = bytes.get(..bytes.len().checked_sub(hash)?)?;
    let mut rest = Reader(body);
    if rest.take(4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (rest.number()?, rest.number()?);
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut index = Index::default();
    let mut name = Vec::new();
    for _ in 0..count {
        let before = rest.0.len();
        let mode = Reader(rest.take(BEFORE_HASH)?.get(MODE_AT..)?).number()?;
        rest.take(hash)?;
        let flags = rest.flags()?;
        if flags & EXTENDED != 0 {
            rest.take(2)?;
        }
        if version == 4 {
            let cut = rest.offset()?;
            name.truncate(name.len().checked_sub(cut)?);
            name.extend_from_slice(rest.until_zero()?);
        } else {
            name.clear();
            match flags & NAME_LENGTH {
                NAME_LENGTH => name.extend_from_slice(rest.until_zero_ahead()?),
                length => name.extend_from_slice(rest.take(length.into())?),
            }
            // At least one, so that what was read is a multiple of eight.
            let read = before.checked_sub(rest.0.len())?;
            rest.take(8 - read % 8)?;
        }
        if mode == REPOSITORY && index.repositories.len() < MOST {
            index.repositories.extend(below(&name));
        }
    }
    // What follows shows also whether the hashes were as long as was thought.
    while !rest.0.is_empty() {
        let (kind, length) = (rest.take(4)?, rest.number()?);
        let extension = rest.take(usize::try_from(length).ok()?)?;
        if kind == b"link" {
            let name = extension.get(..hash)?.iter().map(|byte| format!("{byte:02x}"));
            index.rest = Some(format!("sharedindex.{}", name.collect::<String>()));
        }
    }
    Some(index)
}

/// A path in a repository. In an index that is split, what only changes an entry of the rest has no name.
fn below(name: &[u8]) -> Option<PathBuf> {
    let path = Path::new(OsStr::from_bytes(name));
    let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
    (is_below && !name.is_empty()).then(|| path.to_owned())
}

/// What is still to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn flags(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    /// A number of seven bits at a time, of which each but the last is one too small.
    fn offset(&mut self) -> Option<usize> {
        let mut value: usize = 0;
        loop {
            let [byte] = *self.take(1)? else { return None };
            value = value.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            value = value.checked_add(1)?;
        }
    }

    /// What comes before a zero, which is left.
    fn until_zero_ahead(&mut self) -> Option<&'a [u8]> {
        let length = self.0.iter().position(|byte| *byte == 0)?;
        self.take(length)
    }

    fn until_zero(&mut self) -> Option<&'a [u8]> {
        let found = self.until_zero_ahead()?;
        self.take(1)?;
        Some(found)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "git itself writes what is read")]
mod tests {
    use std::fs;
    use std::process::{Command, Stdio};

    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";

    fn git(work: &Path, line: &str) {
        let mut git = Command::new("git");
        git.args(line.split_whitespace()).current_dir(work).stdin(Stdio::null());
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", "/nonexistent");
        let output = git.output().unwrap();
        assert!(output.status.success(), "git {line}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A repository with submodules among files, one of each with a long name.
    fn repository(work: &Path, init: &str) -> Vec<PathBuf> {
        git(work, init);
        let long = format!("{}/{}", "d".repeat(200), "e/".repeat(2_000));
        let submodules = ["a", "lib/one", "lib/two", "z", &format!("{long}sub")].map(PathBuf::from);
        let hash = if init.contains("sha256") { format!("{ONE}{}", "2".repeat(24)) } else { ONE.to_owned() };
        for (mode, paths) in [("160000", &submodules[..]), ("100644", &files(&long))] {
            for path in paths {
                let add = format!("update-index --add --cacheinfo {mode},{hash},{}", path.display());
                git(work, &add);
            }
        }
        let mut submodules = submodules.to_vec();
        submodules.sort();
        submodules
    }

    fn files(long: &str) -> Vec<PathBuf> {
        let many = (0..40).map(|number| PathBuf::from(format!("lib/two-{}", "x".repeat(number))));
        many.chain([PathBuf::from(format!("{long}file")), PathBuf::from("b")]).collect()
    }

    #[test]
    fn submodules_are_found_in_whatever_git_writes() {
        for init in ["init -q", "init -q --object-format=sha256"] {
            for (how, version) in [
                ("update-index --index-version 2", 2),
                ("update-index --index-version 4", 4),
                // Flags that the second version has no room for.
                ("update-index --skip-worktree b", 3),
                ("update-index --untracked-cache", 2),
                (
                    "-c index.threads=2 -c index.recordEndOfIndexEntries=true update-index --force-write-index",
                    2,
                ),
                ("-c index.skipHash=true update-index --force-write-index", 2),
            ] {
                let dir = tempfile::tempdir().unwrap();
                let expected = repository(dir.path(), init);
                git(dir.path(), how);
                let bytes = fs::read(dir.path().join(".git/index")).unwrap();
                assert_eq!(bytes.get(7), Some(&version), "{init} {how}");
                let index = read(&bytes).unwrap();
                assert_eq!((index.repositories, index.rest), (expected, None), "{init} {how}");
            }
        }
    }

    #[test]
    fn an_index_that_is_split_says_where_the_rest_is() {
        let dir = tempfile::tempdir().unwrap();
        let expected = repository(dir.path(), "init -q");
        git(dir.path(), "update-index --split-index");
        git(dir.path(), &format!("update-index --add --cacheinfo 160000,{ONE},new"));
        let at = |name: &str| fs::read(dir.path().join(".git").join(name)).unwrap();
        let own = read(&at("index")).unwrap();
        assert_eq!(own.repositories, [Path::new("new")]);
        let rest = read(&at(&own.rest.unwrap())).unwrap();
        assert_eq!((rest.repositories, rest.rest), (expected, None));
    }

    #[test]
    fn what_is_damaged_gives_nothing_and_does_no_harm() {
        let dir = tempfile::tempdir().unwrap();
        for version in [2, 4] {
            fs::remove_dir_all(dir.path().join(".git")).ok();
            let expected = repository(dir.path(), "init -q");
            git(dir.path(), &format!("update-index --index-version {version}"));
            let whole = fs::read(dir.path().join(".git/index")).unwrap();
            for length in 0..whole.len() {
                let cut = read(&whole[..length]);
                assert!(
                    cut.is_none_or(|cut| cut.repositories.len() <= expected.len()),
                    "{version}: {length}"
                );
            }
            assert_eq!(read(&whole[..whole.len() / 2]), None);
            for (at, byte) in
                (0..whole.len().min(3_000)).flat_map(|at| [0, 0x7f, 0xff].map(|byte| (at, byte)))
            {
                let mut damaged = whole.clone();
                damaged[at] = byte;
                drop(read(&damaged));
            }
        }
        assert_eq!(read(b""), None);
        assert_eq!(read(b"DIRC\0\0\0\x05\0\0\0\0aaaaaaaaaaaaaaaaaaaa"), None);
        // More entries than there are bytes.
        assert_eq!(read(b"DIRC\0\0\0\x02\xff\xff\xff\xffaaaaaaaaaaaaaaaaaaaa"), None);
    }

    #[test]
    fn what_leads_out_of_the_repository_is_no_part_of_it() {
        for (name, expected) in
            [("a/b", true), ("", false), ("..", false), ("a/../../b", false), ("/etc", false)]
        {
            assert_eq!(below(name.as_bytes()).is_some(), expected, "{name}");
        }
    }
}
