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

use super::repository::{self, OutOfReach, Repository};
use super::text::{one_line, shortened};

/// How long each part of the snapshot may take. What takes longer is left out.
const LIMIT: Duration = Duration::from_secs(5);
/// How many commits are shown.
const COMMITS: &str = "--max-count=10";
/// How many characters of a commit's subject, of a branch's name, or of what git complains.
const SHOWN: usize = 120;
/// How many characters of a commit's name tell it from the others.
const SHORT: usize = 10;
/// How many bytes of an entry about what is checked out are read.
const HEADER: usize = 1024;
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
    let found = match repository::find(env).await {
        // There is nothing that git could take for one, so it need not be started.
        Ok(None) => return Git::default(),
        Ok(found) => found,
        Err(OutOfReach) => None,
    };
    let by_files = |found: Option<Repository>| match found {
        Some(Repository { root, branch }) => (Some(root), branch.map(Head::Branch)),
        None => (None, None),
    };
    let ask = async { tokio::join!(timeout(LIMIT, commits(env)), timeout(LIMIT, status(env))) };
    // Where there seems to be a repository, what it holds is asked for while git still judges that.
    let (verdict, answers) = if found.is_some() {
        let (verdict, answers) = tokio::join!(verdict(env), ask);
        (verdict, Some(answers))
    } else {
        match verdict(env).await {
            Verdict::Inside => (Verdict::Inside, Some(ask.await)),
            other => (other, None),
        }
    };
    match verdict {
        Verdict::Inside => {
            let (commits, status) = answers.map(|(commits, status)| (commits.ok(), status.ok())).unzip();
            let commits = commits.flatten().flatten().unwrap_or_default();
            let mut status = status.flatten().flatten();
            let head = status.as_mut().and_then(|status| status.head.take());
            let (root, fallback) = by_files(found);
            Git { root, head: head.or(fallback), said: Some(Said { status, commits }) }
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

/// What is checked out, and how many files differ from it.
#[derive(Debug, Default)]
struct Status {
    head: Option<Head>,
    modified: u64,
    untracked: u64,
    /// The entry under way, as far as it is needed: of what is about a file, the first letter.
    entry: Vec<u8>,
}

impl Status {
    /// Reads a piece of `status --porcelain=v2 --branch -z`: entries, each with a NUL at its end, the first ones
    /// about what is checked out, which begin with `#`.
    fn read(&mut self, piece: &[u8]) {
        for &byte in piece {
            match (byte, self.entry.first()) {
                (0, _) => self.end(),
                (_, Some(b'#')) if self.entry.len() < HEADER => self.entry.push(byte),
                (_, Some(_)) => {}
                (_, None) => self.entry.push(byte),
            }
        }
    }

    fn end(&mut self) {
        let entry = std::mem::take(&mut self.entry);
        let text = String::from_utf8_lossy(&entry);
        match entry.first() {
            None => {}
            Some(b'?') => self.untracked += 1,
            Some(b'#') => {
                if let Some(commit) = text.strip_prefix("# branch.oid ") {
                    let commit = commit.get(..SHORT).unwrap_or(commit);
                    self.head = Some(Head::Detached(shown(commit)));
                } else if let Some(name) = text.strip_prefix("# branch.head ")
                    && name != "(detached)"
                {
                    self.head = Some(Head::Branch(shown(name)));
                }
            }
            Some(_) => self.modified += 1,
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
        "--porcelain=v2",
        "--branch",
        "-z",
        "--untracked-files=normal",
        "--ignore-submodules=all",
        "--no-renames",
    ];
    let mut status = Status::default();
    let mut count = |piece: &Output| match piece.stream {
        OutputStream::Stdout => status.read(&piece.bytes),
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
    shown(String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().trim())
}

fn shown(text: &str) -> String {
    shortened(&one_line(text), SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_however_they_are_cut() {
        let main = "# branch.oid 0123456789abcdef\0# branch.head main\0# branch.ab +0 -0\0";
        let detached = "# branch.oid 0123456789abcdef\0# branch.head (detached)\0";
        for (head, entries, words) in [
            (main, "", "main: clean"),
            (main, "1 .M N... 100644 100644 100644 a b # c\0", "main: 1 modified, 0 untracked"),
            (main, "? a\0? # branch.head b/\0", "main: 0 modified, 2 untracked"),
            (main, "u UU a\x001 A. ?\x001 .D x y\x00? \n\x00", "main: 3 modified, 1 untracked"),
            (detached, "? a\0", "at 0123456789: 0 modified, 1 untracked"),
            ("# branch.oid (initial)\0# branch.head new\0", "", "new: clean"),
            ("", "", "clean"),
        ] {
            let said = [head, entries].concat().into_bytes();
            for size in 1..=said.len().max(1) {
                let mut status = Status::default();
                said.chunks(size).for_each(|piece| status.read(piece));
                let head = match status.head.take() {
                    Some(Head::Branch(name)) => format!("{name}: "),
                    Some(Head::Detached(commit)) => format!("at {commit}: "),
                    None => String::new(),
                };
                assert_eq!(head + &status.words(), words, "{said:?} in pieces of {size}");
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
