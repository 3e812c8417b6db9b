//! What a candidate changed: its files as a tree, and the diff against the base, as bytes in a file.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::git::{Git, failed, plain};
use super::record::{Changed, Diff};
use super::repository::LINK;
use super::scratch::{Checkout, Scratch};
use super::{Error, ErrorKind, Mark, Result};

/// How `git add` ends if it could not take everything.
const SOME_LEFT_OUT: i32 = 1;
/// How many changed files a record names.
const NAMED: usize = 200;
/// So many bytes of a binary file count as a line.
const LINE: u64 = 64;

/// What a candidate changed.
pub(super) struct Captured {
    pub(super) diff: Diff,
    /// The files, for marks.
    pub(super) files: Vec<File>,
    /// What keeps the diff from being all of it.
    pub(super) marks: Vec<Mark>,
}

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    /// Where it is, or was.
    pub(super) path: PathBuf,
    /// Where it was, if it was renamed.
    pub(super) from: Option<PathBuf>,
    /// A, M, D, R, T.
    pub(super) how: char,
    old_mode: String,
    new_mode: String,
    new_blob: String,
    lines: Option<(u64, u64)>,
}

impl File {
    fn is_link(&self) -> bool {
        self.old_mode == LINK || self.new_mode == LINK
    }
}

impl Scratch {
    /// What is in a checkout now, against a base commit. The checkout's own repository is not asked, so that it
    /// does not matter what became of it. The diff is written to a file.
    pub(super) async fn capture(&self, checkout: &Checkout, base: &str, into: &Path) -> Result<Captured> {
        let (tree, whole) = self.tree(&checkout.top, base).await?;
        let mut marks = Vec::new();
        if !whole {
            marks.push(Mark::Unread {});
        }
        let git = self.git()?;
        let looks =
            ["diff-tree", "-r", "-z", "-M", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none"];
        let list: Vec<&str> = looks.into_iter().chain(["--raw", "--numstat", base, &tree]).collect();
        let files = read(&git.run(&list).await?)?;
        let nested = files.iter().filter(|file| file.is_link()).map(|file| file.path.clone());
        let mut nested: Vec<PathBuf> = nested.collect();
        for known in &self.nested {
            let inner = checkout.top.join(&known.path);
            if inner.is_dir() && !inner.is_symlink() && !nested.contains(&known.path) {
                let wanted = git.word(&["rev-parse", &format!("{}^{{tree}}", known.commit)]).await?;
                let (now, whole) = self.tree(&inner, &known.commit).await?;
                if now != wanted || !whole {
                    nested.push(known.path.clone());
                }
            }
        }
        marks.extend(nested.iter().map(|path| Mark::Nested { path: path.display().to_string() }));
        let output = format!("--output={}", plain(into)?);
        let write =
            ["diff-tree", "-r", "-M", "-p", "--binary", "--full-index", "--no-ext-diff", "--no-textconv"];
        let write: Vec<&str> = write.into_iter().chain([output.as_str(), base, &tree]).collect();
        git.run(&write).await?;
        let bytes = fs::metadata(into).map_err(|error| Error::io(into.display(), &error))?.len();
        let diff = Diff { bytes, ..self.measure(&files, tree).await? };
        Ok(Captured { diff, files, marks })
    }

    /// The files below a folder as a tree, ignored ones left out, and whether all of them could be read.
    async fn tree(&self, top: &Path, start: &str) -> Result<(String, bool)> {
        let index = tempfile::Builder::new().prefix("index-").tempdir_in(&self.folder);
        let index = index.map_err(|error| Error::io(self.folder.display(), &error))?;
        let git = Git::of_ours(Arc::clone(&self.env), top)
            .with_path("GIT_DIR", &self.folder)?
            .with_path("GIT_WORK_TREE", top)?
            .with_path("GIT_INDEX_FILE", &index.path().join("index"))?;
        git.run(&["read-tree", start]).await?;
        // A file that cannot be read, or a repository without a commit, does not keep the others out.
        let add = ["-c", "core.bare=false", "add", "--all", "--ignore-errors", "."];
        let (added, _) = git.ask(&add, None).await?;
        let whole = added.exit.success();
        if !whole && added.exit.code != Some(SOME_LEFT_OUT) {
            return Err(failed(&["add"], &added));
        }
        Ok((git.word(&["write-tree"]).await?, whole))
    }

    /// How large the changes are.
    async fn measure(&self, files: &[File], tree: String) -> Result<Diff> {
        let binary = files.iter().filter(|file| file.lines.is_none() && !is_nothing(&file.new_blob));
        let asked: Vec<&str> = binary.map(|file| file.new_blob.as_str()).collect();
        let sizes = if asked.is_empty() {
            Vec::new()
        } else {
            let batch = ["cat-file", "--batch-check=%(objectsize)"];
            self.git()?.feed(&batch, Some(format!("{}\n", asked.join("\n")).into_bytes())).await?
        };
        let sizes = String::from_utf8_lossy(&sizes);
        let binary: u64 = sizes.lines().filter_map(|line| line.parse::<u64>().ok()).sum();
        let sum = |part: fn((u64, u64)) -> u64| files.iter().filter_map(|file| file.lines.map(part)).sum();
        let (added, removed): (u64, u64) = (sum(|(added, _)| added), sum(|(_, removed)| removed));
        let count = files.len() as u64;
        let changed = files.iter().take(NAMED).map(|file| Changed {
            path: file.path.display().to_string(),
            how: file.how,
            added: file.lines.map(|(added, _)| added),
            removed: file.lines.map(|(_, removed)| removed),
        });
        Ok(Diff {
            tree,
            bytes: 0,
            size: added + removed + binary / LINE + count,
            added,
            removed,
            files: count,
            changed: changed.collect(),
        })
    }
}

fn is_nothing(blob: &str) -> bool {
    blob.bytes().all(|byte| byte == b'0')
}

/// Reads what `diff-tree -z --raw --numstat` says: first the kinds of changes, then the lines, in the same order.
fn read(said: &[u8]) -> Result<Vec<File>> {
    let strange = || Error::new(ErrorKind::Failed, "git diff-tree says something that is not understood");
    let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
    let mut fields = said.split(|byte| *byte == 0).filter(|field| !field.is_empty()).peekable();
    let mut files = Vec::new();
    while let Some(field) = fields.next_if(|field| field.starts_with(b":")) {
        let words = std::str::from_utf8(field).map_err(|_| strange())?;
        let mut words = words.trim_start_matches(':').split(' ');
        let mut word = || words.next().map(str::to_owned).ok_or_else(strange);
        let (old_mode, new_mode, _, new_blob, how) = (word()?, word()?, word()?, word()?, word()?);
        let how = how.chars().next().ok_or_else(strange)?;
        let first = path(fields.next().ok_or_else(strange)?);
        let (from, path) = if matches!(how, 'R' | 'C') {
            (Some(first), path(fields.next().ok_or_else(strange)?))
        } else {
            (None, first)
        };
        files.push(File { path, from, how, old_mode, new_mode, new_blob, lines: None });
    }
    for file in &mut files {
        let field = fields.next().ok_or_else(strange)?;
        let mut parts = field.splitn(3, |byte| *byte == b'\t');
        let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse::<u64>().ok();
        file.lines = number().zip(number());
        if file.from.is_some() {
            // Its two names follow.
            fields.next().and_then(|_| fields.next()).ok_or_else(strange)?;
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_with_their_lines() {
        let (none, one) = ("0".repeat(40), "1".repeat(40));
        let said = [
            format!(":100644 100644 {one} {one} M"),
            "a b".to_owned(),
            format!(":100644 100755 {one} {one} R100"),
            "old".to_owned(),
            "new".to_owned(),
            format!(":000000 160000 {none} {one} A"),
            "lib".to_owned(),
            "3\t4\ta b".to_owned(),
            "0\t0\t".to_owned(),
            "old".to_owned(),
            "new".to_owned(),
            "-\t-\tlib".to_owned(),
        ];
        let files = read(said.join("\0").as_bytes()).unwrap();
        let seen: Vec<_> = files.iter().map(|file| (file.how, file.lines, file.is_link())).collect();
        assert_eq!(seen, [('M', Some((3, 4)), false), ('R', Some((0, 0)), false), ('A', None, true)]);
        assert_eq!(files[1].from.as_deref(), Some(Path::new("old")));
        assert!(read(b"").unwrap().is_empty());
        assert!(read(format!(":100644 100644 {one} {one} M\0a\0").as_bytes()).is_err());
    }
}
