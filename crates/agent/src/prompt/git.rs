//! What git says of the working directory, once.
//!
//! A repository that came from somebody else has a configuration that names programs, and git runs them
//! for commands that only read: a monitor of the file system and filters of content for `status`, a
//! checker of signatures for `log`, a transport for objects that are missing. So the commands here are
//! those that need the least, and everything that could run is switched off for them. What decides whom
//! git trusts (`safe.directory`) is left as the user has it.

use std::collections::BTreeSet;
use std::time::Duration;

use junto_env::{CommandSpec, ExecResult, ExecutionEnvironment, Output, OutputStream, RealPath, exec};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::repository::{self, Repository};
use super::text::{one_line, shortened};

/// How long each part of the snapshot may take. What takes longer is left out.
const LIMIT: Duration = Duration::from_secs(3);
/// How many commits are shown.
const COMMITS: &str = "--max-count=10";
/// How many characters of a commit's subject, of a branch's name, or of what git complains.
const SHOWN: usize = 120;
/// How many filters are switched off; a repository with more gets no status.
const FILTERS: usize = 64;

/// Settings that win over those of the repository.
const SETTINGS: &[&str] = &[
    // A program that `status` would ask for what has changed.
    "core.fsmonitor=false",
    // Where hooks would be.
    "core.hooksPath=/dev/null",
    // A directory that poses as a repository without a working tree.
    "safe.bareRepository=explicit",
];

/// Variables for the same end.
const VARIABLES: &[(&str, &str)] = &[
    // The index is not written, which would run a hook.
    ("GIT_OPTIONAL_LOCKS", "0"),
    // Missing objects are not fetched, by whatever program; older versions know only the second.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// What is known of the repository around the working directory.
#[derive(Debug, Default)]
pub(super) struct Git {
    /// Where it begins; absent if there is none, or if it is out of the environment's reach.
    pub(super) root: Option<RealPath>,
    /// What is checked out.
    pub(super) head: Option<Head>,
    /// What git says; absent if it could not be asked.
    said: Option<Said>,
}

/// What is checked out.
#[derive(Debug)]
pub(super) enum Head {
    /// A branch, which need not have a commit yet.
    Branch(String),
    /// A commit.
    Detached(String),
}

#[derive(Debug)]
struct Said {
    status: Option<Status>,
    commits: Vec<String>,
}

/// How git takes the working directory.
enum Verdict {
    /// It is in a working tree.
    Inside,
    /// It is in none, or in one that git does not trust.
    Refused(String),
    /// Git could not be asked.
    Silent,
}

/// Looks at the repository around the working directory.
///
/// Git's word counts: what it does not take for a repository is none, and documents above the working
/// directory are not looked for then, which anybody could have put there. Only where git cannot be asked
/// do the files decide.
pub(super) async fn look(env: &dyn ExecutionEnvironment, warnings: &mut Vec<String>) -> Git {
    let found = repository::find(env).await;
    let by_files = |found: Option<Repository>| match found {
        Some(Repository { root, branch }) => (Some(root), branch.map(Head::Branch)),
        None => (None, None),
    };
    match verdict(env).await {
        Verdict::Inside => {
            let (head, commits, status) = tokio::join!(
                timeout(LIMIT, head(env)),
                timeout(LIMIT, commits(env)),
                timeout(LIMIT, status(env)),
            );
            let (root, fallback) = by_files(found);
            let said =
                Said { status: status.ok().flatten(), commits: commits.ok().flatten().unwrap_or_default() };
            Git { root, head: head.ok().flatten().or(fallback), said: Some(said) }
        }
        Verdict::Refused(why) => {
            if let Some(Repository { root, .. }) = found {
                warnings.push(format!("git does not take {root} for a repository: {why}"));
            }
            Git::default()
        }
        Verdict::Silent => {
            let (root, head) = by_files(found);
            Git { root, head, said: None }
        }
    }
}

impl Git {
    pub(super) fn is_repository(&self) -> bool {
        self.said.is_some() || self.root.is_some()
    }

    /// The snapshot for the prompt; empty if git said nothing.
    pub(super) fn snapshot(&self) -> String {
        let Some(said) = &self.said else { return String::new() };
        let mut lines = vec![
            "<git_snapshot>".to_owned(),
            "The repository when the session began. This is not kept up to date: ask git for what holds now."
                .to_owned(),
        ];
        match &self.head {
            Some(Head::Branch(name)) => lines.push(format!("Branch: {name}")),
            Some(Head::Detached(commit)) => lines.push(format!("No branch; detached at {commit}")),
            None => {}
        }
        lines.extend(said.status.as_ref().map(|status| format!("Status: {}", status.words())));
        if !said.commits.is_empty() {
            lines.push("Recent commits, the latest first:".to_owned());
            lines.extend(said.commits.iter().map(|commit| format!("- {commit}")));
        }
        lines.push("</git_snapshot>".to_owned());
        lines.join("\n")
    }
}

async fn verdict(env: &dyn ExecutionEnvironment) -> Verdict {
    let asked = timeout(LIMIT, git(env, &[], &["rev-parse", "--is-inside-work-tree"], &mut |_| {})).await;
    match asked.ok().flatten() {
        Some(answer) if answer.exit.success() => match first_line(answer.stdout.head()) {
            line if line == "true" => Verdict::Inside,
            _ => Verdict::Refused("the working directory is not in its working tree".to_owned()),
        },
        // A shell or container that has no git says 127.
        Some(answer) if answer.exit.code.is_some_and(|code| code != 127) => {
            Verdict::Refused(first_line(answer.stderr.head()))
        }
        _ => Verdict::Silent,
    }
}

async fn head(env: &dyn ExecutionEnvironment) -> Option<Head> {
    let branch = git(env, &[], &["symbolic-ref", "--quiet", "--short", "HEAD"], &mut |_| {}).await?;
    if branch.exit.success() {
        return Some(Head::Branch(first_line(branch.stdout.head())));
    }
    let commit = git(env, &[], &["rev-parse", "--short", "HEAD"], &mut |_| {}).await?;
    commit.exit.success().then(|| Head::Detached(first_line(commit.stdout.head())))
}

/// The latest commits. Not by `log`, which the repository's configuration can make check signatures with
/// a program of its choice.
async fn commits(env: &dyn ExecutionEnvironment) -> Option<Vec<String>> {
    let list = ["rev-list", COMMITS, "--encoding=UTF-8", "--format=%h %s", "HEAD", "--"];
    let listed = git(env, &[], &list, &mut |_| {}).await?;
    let text = String::from_utf8_lossy(listed.stdout.head()).into_owned();
    // Each is announced by a line with its whole name.
    let subjects = text.split('\n').filter(|line| !line.is_empty() && !line.starts_with("commit "));
    listed.exit.success().then(|| subjects.map(|line| shortened(&one_line(line), SHOWN)).collect())
}

/// How many files differ from what is checked out.
#[derive(Debug, Default, PartialEq, Eq)]
struct Status {
    modified: u64,
    untracked: u64,
    /// Whether the entry under way has said what it is.
    told: bool,
}

impl Status {
    /// Counts the entries in a piece of `status -z`: each is two letters, a path and a NUL.
    fn count(&mut self, piece: &[u8]) {
        for byte in piece {
            match (self.told, byte) {
                (_, 0) => self.told = false,
                (true, _) => {}
                (false, letter) => {
                    self.told = true;
                    match letter {
                        b'?' => self.untracked += 1,
                        _ => self.modified += 1,
                    }
                }
            }
        }
    }

    fn words(&self) -> String {
        match (self.modified, self.untracked) {
            (0, 0) => "clean".to_owned(),
            (modified, untracked) => format!("{modified} modified, {untracked} untracked"),
        }
    }
}

async fn status(env: &dyn ExecutionEnvironment) -> Option<Status> {
    let filters = filters(env).await?;
    // Submodules have a configuration of their own, and renames need the content of files.
    let list = [
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=normal",
        "--ignore-submodules=all",
        "--no-renames",
    ];
    let mut status = Status::default();
    let mut count = |piece: &Output| match piece.stream {
        OutputStream::Stdout => status.count(&piece.bytes),
        OutputStream::Stderr => {}
    };
    let ended = git(env, &filters, &list, &mut count).await?;
    ended.exit.success().then_some(status)
}

/// Settings that switch off the filters which the configuration names: `status` would run them on files
/// that may have changed. None if it is not certain that these are all.
async fn filters(env: &dyn ExecutionEnvironment) -> Option<Vec<String>> {
    let list = ["config", "--null", "--name-only", "--get-regexp", r"^filter\."];
    let listed = git(env, &[], &list, &mut |_| {}).await?;
    match listed.exit.code {
        Some(0) if listed.stdout.total() == listed.stdout.head().len() as u64 => {
            switched_off(listed.stdout.head())
        }
        // There are none.
        Some(1) => Some(Vec::new()),
        _ => None,
    }
}

fn switched_off(keys: &[u8]) -> Option<Vec<String>> {
    let keys = std::str::from_utf8(keys).ok()?;
    let names: BTreeSet<&str> = keys
        .split_terminator('\0')
        .filter_map(|key| key.strip_prefix("filter.")?.rsplit_once('.'))
        .map(|(name, _)| name)
        .collect();
    // The first `=` ends the key of a setting.
    if names.len() > FILTERS || names.iter().any(|name| name.contains('=')) {
        return None;
    }
    let settings = ["clean=", "smudge=", "process=", "required=false"];
    let off = |name| settings.map(|setting| format!("filter.{name}.{setting}"));
    Some(names.into_iter().flat_map(off).collect())
}

/// Runs git in the working directory. None if there is none, or it fails to start.
async fn git(
    env: &dyn ExecutionEnvironment,
    settings: &[String],
    arguments: &[&str],
    sink: &mut (dyn FnMut(&Output) + Send),
) -> Option<ExecResult> {
    let settings = SETTINGS.iter().copied().chain(settings.iter().map(String::as_str));
    let argv = ["git", "--no-pager"].into_iter().chain(settings.flat_map(|setting| ["-c", setting]));
    let mut command = CommandSpec::argv(argv.chain(arguments.iter().copied()));
    command.variables = VARIABLES.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    exec(env, command, LIMIT, &CancellationToken::new(), sink).await.ok().filter(|result| !result.timed_out)
}

fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    shortened(&one_line(text.lines().next().unwrap_or_default().trim()), SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_counted_however_they_are_cut() {
        for (said, words) in [
            (&b""[..], "clean"),
            (b" M a\0", "1 modified, 0 untracked"),
            (b"?? a\0?? b/\0", "0 modified, 2 untracked"),
            (b"UU a\0A  ?\0 D x y\0?? \n\0", "3 modified, 1 untracked"),
        ] {
            for size in 1..=said.len().max(1) {
                let mut status = Status::default();
                said.chunks(size).for_each(|piece| status.count(piece));
                assert_eq!(status.words(), words, "{said:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn filters_are_switched_off_by_name_or_there_is_no_status() {
        let off = |name: &str| {
            ["clean=", "smudge=", "process=", "required=false"].map(|key| format!("filter.{name}.{key}"))
        };
        let many = (0..=FILTERS).map(|n| format!("filter.f{n}.clean\0")).collect::<Vec<_>>().concat();
        for (keys, expected) in [
            ("", Some(vec![])),
            ("filter.lfs.clean\0filter.lfs.process\0", Some(off("lfs").to_vec())),
            ("filter.b.c.clean\0filter.a b.smudge\0", Some([off("a b"), off("b.c")].concat())),
            ("filter.clean\0", Some(vec![])),
            ("filter.a=b.clean\0", None),
            (many.as_str(), None),
        ] {
            assert_eq!(switched_off(keys.as_bytes()), expected, "{keys:?}");
        }
        assert_eq!(switched_off(b"filter.\xff.clean\0"), None);
    }
}
