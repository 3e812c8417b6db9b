//! Git, run through an environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use junto_env::{CommandSpec, ExecResult, ExecutionEnvironment, Output, OutputStream, RealPath, Stdin, exec};
use tokio_util::sync::CancellationToken;

use super::{Error, ErrorKind, Result};

/// How long git may take for one thing.
const LIMIT: Duration = Duration::from_mins(10);
/// The longest list that is read of git, in bytes. Diffs go to files.
const LONGEST: usize = 64 << 20;

/// How a sandbox says that there is no such program.
const NOT_FOUND: i32 = 127;

/// What git does not do in repositories of ours, whoever configured what.
const CONFIGURATION: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.autocrlf", "false"),
    ("core.excludesFile", "/dev/null"),
    ("core.attributesFile", "/dev/null"),
    ("core.quotePath", "true"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("advice.addEmbeddedRepo", "false"),
    ("init.defaultBranch", "main"),
    ("diff.renames", "true"),
    ("diff.renameLimit", "2000"),
];

/// Git in one directory.
#[derive(Clone)]
pub(super) struct Git {
    env: Arc<dyn ExecutionEnvironment>,
    directory: PathBuf,
    variables: BTreeMap<String, String>,
}

impl Git {
    /// In the user's repository, with the user's configuration. Nothing that only looks writes there.
    pub(super) fn of_user(env: Arc<dyn ExecutionEnvironment>, directory: impl Into<PathBuf>) -> Self {
        let variables = [
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("LC_ALL", "C"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Self { env, directory: directory.into(), variables }
    }

    /// In a repository of ours, where nobody's configuration counts: no hook, filter or program of anybody's
    /// runs.
    pub(super) fn of_ours(env: Arc<dyn ExecutionEnvironment>, directory: impl Into<PathBuf>) -> Self {
        let mut git = Self::of_user(env, directory);
        let count = CONFIGURATION.len().to_string();
        let who = [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_COUNT", count.as_str()),
            ("GIT_ALLOW_PROTOCOL", "file"),
            ("GIT_AUTHOR_NAME", "junto"),
            ("GIT_AUTHOR_EMAIL", "junto@localhost"),
            ("GIT_COMMITTER_NAME", "junto"),
            ("GIT_COMMITTER_EMAIL", "junto@localhost"),
        ];
        git.variables.extend(who.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for (number, (key, value)) in CONFIGURATION.iter().enumerate() {
            git.variables.insert(format!("GIT_CONFIG_KEY_{number}"), (*key).to_owned());
            git.variables.insert(format!("GIT_CONFIG_VALUE_{number}"), (*value).to_owned());
        }
        git
    }

    /// The same with another variable.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The same with a variable that is a path.
    pub(super) fn with_path(self, name: &str, value: &Path) -> Result<Self> {
        let value = plain(value)?.to_owned();
        Ok(self.with(name, &value))
    }

    /// What git says; an error if it fails.
    pub(super) async fn run(&self, args: &[&str]) -> Result<Vec<u8>> {
        self.feed(args, None).await
    }

    /// The same, as a word.
    pub(super) async fn word(&self, args: &[&str]) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.run(args).await?).trim().to_owned())
    }

    /// What git says to an input; an error if it fails.
    pub(super) async fn feed(&self, args: &[&str], input: Option<Vec<u8>>) -> Result<Vec<u8>> {
        let (ended, said) = self.ask(args, input).await?;
        if ended.exit.success() { Ok(said) } else { Err(failed(args, &ended)) }
    }

    /// How git ends, and what it says. That it fails is no error.
    pub(super) async fn ask(&self, args: &[&str], input: Option<Vec<u8>>) -> Result<(ExecResult, Vec<u8>)> {
        let mut said = Vec::new();
        let mut whole = true;
        let mut keep = |piece: &Output| {
            if piece.stream == OutputStream::Stdout {
                whole &= said.len() + piece.bytes.len() <= LONGEST;
                if whole {
                    said.extend_from_slice(&piece.bytes);
                }
            }
        };
        let mut command = CommandSpec::argv(["git"].into_iter().chain(args.iter().copied()));
        command.variables.clone_from(&self.variables);
        command.cwd = Some(RealPath::resolved(&self.directory));
        command.stdin = input.map_or(Stdin::Empty, |bytes| Stdin::Bytes(Bytes::from(bytes)));
        // What was begun in a repository is brought to its end, whoever interrupts.
        let ended = exec(&*self.env, command, LIMIT, &CancellationToken::new(), &mut keep).await;
        let ended = ended.map_err(|error| match error.kind() {
            junto_env::ErrorKind::NotFound if self.directory.is_dir() => no_git(),
            _ => Error::new(ErrorKind::Failed, format!("git cannot be run: {error}")),
        })?;
        if ended.exit.code == Some(NOT_FOUND) {
            return Err(no_git());
        }
        if ended.timed_out {
            return Err(Error::new(
                ErrorKind::Failed,
                format!("git {} took more than {LIMIT:?}", name(args)),
            ));
        }
        if !whole {
            let message = format!("git {} says more than {LONGEST} bytes", name(args));
            return Err(Error::new(ErrorKind::Failed, message));
        }
        Ok((ended, said))
    }
}

fn no_git() -> Error {
    Error::new(ErrorKind::NoRepository, "there is no git on this machine")
        .hint("install git: a council of agents works in worktrees; `junto run` works without")
}

fn name<'a>(args: &[&'a str]) -> &'a str {
    args.first().copied().unwrap_or_default()
}

/// What git says when it fails.
pub(super) fn failed(args: &[&str], ended: &ExecResult) -> Error {
    let said = String::from_utf8_lossy(ended.stderr.head());
    let said = said.trim().trim_start_matches("fatal: ").trim_start_matches("error: ");
    Error::new(ErrorKind::Failed, format!("git {}: {said}", name(args)))
}

/// A path that can stand among the variables and arguments of a program.
pub(super) fn plain(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        let message = format!("the path {} is no text", path.display());
        Error::new(ErrorKind::Invalid, message).hint("set JUNTO_STATE_DIR to a folder whose name is")
    })
}
