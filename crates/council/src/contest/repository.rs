//! The user's repository. It is looked at, and not touched.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto_env::ExecutionEnvironment;

use super::git::Git;
use super::{Error, ErrorKind, Result};

/// How deep repositories within repositories are looked at.
const DEEPEST: usize = 8;
/// How many files are named that changed meanwhile.
const NAMED: usize = 5;
/// The mode of a repository within a repository.
pub(super) const LINK: &str = "160000";

/// A repository of the user's.
pub(super) struct Repository {
    env: Arc<dyn ExecutionEnvironment>,
    /// Its top.
    pub(super) top: PathBuf,
    /// The folder that is meant, below the top.
    pub(super) folder: PathBuf,
    /// The last commit.
    pub(super) head: String,
    /// The branch; absent if there is none.
    pub(super) branch: Option<String>,
    /// `sha1` or `sha256`.
    pub(super) format: String,
    /// Where its objects are.
    pub(super) objects: PathBuf,
    /// The commits at which its history is cut off, if it is.
    pub(super) shallow: Option<Vec<u8>>,
    /// What git ignores here beside what the project says.
    pub(super) excludes: Vec<u8>,
    /// Repositories within it that are checked out.
    pub(super) nested: Vec<Nested>,
}

/// A repository within the user's, as it is checked out.
#[derive(Clone, Debug)]
pub(super) struct Nested {
    /// Where, from the top.
    pub(super) path: PathBuf,
    /// The commit that the repository around it names.
    pub(super) commit: String,
    /// Where its objects are.
    pub(super) objects: PathBuf,
    /// As in [`Repository`].
    pub(super) format: String,
    /// As in [`Repository`].
    pub(super) shallow: Option<Vec<u8>>,
}

impl Repository {
    /// The one that a directory is in.
    ///
    /// # Errors
    /// `no_repository` if it is in none, or in one without a commit or without files.
    pub(super) async fn find(env: Arc<dyn ExecutionEnvironment>, directory: &Path) -> Result<Self> {
        let git = Git::of_user(Arc::clone(&env), directory);
        let missing = |message: String| Error::new(ErrorKind::NoRepository, message);
        let (ended, said) = git.ask(&["rev-parse", "--show-toplevel"], None).await?;
        if !ended.exit.success() || said.is_empty() {
            let said = String::from_utf8_lossy(ended.stderr.head()).trim().to_owned();
            let message = match said.trim_start_matches("fatal: ") {
                "" => format!("{} is in no git repository with files", directory.display()),
                said => format!("{} is in no git repository: {said}", directory.display()),
            };
            return Err(
                missing(message).hint("run `git init` and commit, or let one agent work: `junto run`")
            );
        }
        let top = path(&said);
        let (ended, head) = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], None).await?;
        if !ended.exit.success() {
            return Err(missing(format!("the repository {} has no commit", top.display()))
                .hint("commit something: the candidates need a base to begin with"));
        }
        let head = String::from_utf8_lossy(&head).trim().to_owned();
        let folder = path(&git.run(&["rev-parse", "--show-prefix"]).await?);
        let (ended, branch) = git.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"], None).await?;
        let branch = ended.exit.success().then(|| String::from_utf8_lossy(&branch).trim().to_owned());
        let inner = Git::of_user(Arc::clone(&env), &top);
        let Store { format, objects, shallow } = Store::of(&inner).await?;
        let mut nested = Vec::new();
        // Nearest to the top first, so that a folder is there before what is within it.
        let mut waiting = vec![(PathBuf::new(), head.clone(), 0)];
        while let Some((at, commit, depth)) = waiting.pop() {
            let git = Git::of_user(Arc::clone(&env), top.join(&at));
            for (name, commit) in links(&git, &commit).await? {
                let within = at.join(name);
                if depth == DEEPEST || !top.join(&within).join(".git").exists() {
                    continue;
                }
                let git = Git::of_user(Arc::clone(&env), top.join(&within));
                let Ok(Store { format, objects, shallow }) = Store::of(&git).await else { continue };
                // What was never fetched stays as empty as it is.
                let wanted = format!("{commit}^{{tree}}");
                if git.run(&["rev-parse", "--verify", "--quiet", &wanted]).await.is_err() {
                    continue;
                }
                nested.push(Nested {
                    path: within.clone(),
                    commit: commit.clone(),
                    objects,
                    format,
                    shallow,
                });
                waiting.push((within, commit, depth + 1));
            }
        }
        let excludes = excludes(&inner, &*env).await?;
        Ok(Self { env, top, folder, head, branch, format, objects, shallow, excludes, nested })
    }

    /// Where it is looked at.
    pub(super) fn env(&self) -> Arc<dyn ExecutionEnvironment> {
        Arc::clone(&self.env)
    }

    /// Git in it, with the user's configuration.
    pub(super) fn git(&self) -> Git {
        Git::of_user(Arc::clone(&self.env), &self.top)
    }

    /// What is in no commit: `git status`, a line for each thing. Ignored files are left out.
    pub(super) async fn changes(&self, untracked: Untracked) -> Result<Vec<String>> {
        let untracked = match untracked {
            Untracked::Count => "--untracked-files=normal",
            Untracked::LeaveOut => "--untracked-files=no",
        };
        let args = ["-c", "core.fsmonitor=false", "status", "--porcelain", "-z", untracked];
        let said = self.git().run(&args).await?;
        let lines = said.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        Ok(lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect())
    }

    /// What a member that leaves its checkout would change here: the commit, branches and tags, and what is in no
    /// commit. A change within a file that was changed before is not seen.
    pub(super) async fn standing(&self) -> Result<Standing> {
        let git = self.git();
        let refs = git.run(&["for-each-ref", "--format=%(refname) %(objectname)"]).await?;
        let refs = String::from_utf8_lossy(&refs).lines().map(str::to_owned).collect();
        let head = git.word(&["rev-parse", "HEAD"]).await?;
        Ok(Standing { head, refs, changes: self.changes(Untracked::Count).await? })
    }
}

/// How a repository of the user's stands.
pub(super) struct Standing {
    head: String,
    refs: Vec<String>,
    changes: Vec<String>,
}

impl Standing {
    /// What is other than it was before, in words; nothing if nothing is.
    pub(super) fn since(&self, before: &Self) -> Option<String> {
        let mut parts = Vec::new();
        if self.head != before.head {
            parts.push("its last commit is another");
        }
        if self.refs != before.refs {
            parts.push("branches or tags are others");
        }
        let new =
            self.changes.iter().filter(|change| !before.changes.contains(change)).map(|line| line.trim());
        let new: Vec<&str> = new.take(NAMED).collect();
        parts.extend(&new);
        if parts.is_empty() && self.changes != before.changes {
            parts.push("changes in it are gone");
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// Whether files that git does not know of count as changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Untracked {
    /// They do.
    Count,
    /// They do not.
    LeaveOut,
}

/// Where a repository keeps what it has.
struct Store {
    format: String,
    objects: PathBuf,
    shallow: Option<Vec<u8>>,
}

impl Store {
    async fn of(git: &Git) -> Result<Self> {
        let at = ["rev-parse", "--path-format=absolute", "--git-path"];
        let objects = path(&git.run(&[at[0], at[1], at[2], "objects"]).await?);
        let shallow = path(&git.run(&[at[0], at[1], at[2], "shallow"]).await?);
        let format = git.word(&["rev-parse", "--show-object-format"]).await?;
        Ok(Self { format, objects, shallow: std::fs::read(shallow).ok() })
    }
}

/// What git ignores in a repository beside what the project says: its own list, and the user's.
async fn excludes(git: &Git, env: &dyn ExecutionEnvironment) -> Result<Vec<u8>> {
    let own = git.run(&["rev-parse", "--path-format=absolute", "--git-path", "info/exclude"]).await?;
    let (ended, users) = git.ask(&["config", "--type=path", "--get", "core.excludesFile"], None).await?;
    let users = if ended.exit.success() {
        Some(path(&users))
    } else {
        env.facts().home.as_ref().map(|home| home.join(".config/git/ignore"))
    };
    let mut all = Vec::new();
    for file in users.into_iter().chain([path(&own)]) {
        // What is not there ignores nothing.
        all.extend(std::fs::read(file).unwrap_or_default());
        all.push(b'\n');
    }
    Ok(all)
}

/// The repositories within a commit: where, and at which commit.
pub(super) async fn links(git: &Git, commit: &str) -> Result<Vec<(PathBuf, String)>> {
    let listed = git.run(&["ls-tree", "-r", "-z", "--full-tree", commit]).await?;
    Ok(listed.split(|byte| *byte == 0).filter_map(link).collect())
}

/// A line of `ls-tree`, if it is of a repository: `160000 commit ID\tPATH`.
fn link(line: &[u8]) -> Option<(PathBuf, String)> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let (head, path) = (line.get(..tab)?, line.get(tab + 1..)?);
    let head = std::str::from_utf8(head).ok()?;
    let commit = head.strip_prefix(LINK)?.split_whitespace().last()?;
    Some((PathBuf::from(OsString::from_vec(path.to_vec())), commit.to_owned()))
}

/// A path as git prints it, with the end of its line.
fn path(said: &[u8]) -> PathBuf {
    let said = said.strip_suffix(b"\n").unwrap_or(said);
    PathBuf::from(OsString::from_vec(said.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_repositories_are_links() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        let line = format!("160000 commit {id}\tlib/a b");
        assert_eq!(link(line.as_bytes()), Some((PathBuf::from("lib/a b"), id.to_owned())));
        for other in [format!("100644 blob {id}\ta"), String::new(), format!("160000 commit {id}")] {
            assert_eq!(link(other.as_bytes()), None, "{other}");
        }
    }
}
