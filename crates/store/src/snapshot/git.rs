//! The repository that holds snapshots.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use junto_env::{CommandSpec, ExecResult, ExecutionEnvironment, Output, OutputStream, Stdin, exec};
use junto_llm::SessionId;
use tokio_util::sync::CancellationToken;

use super::Tree;
use super::changes::{self, FileChange};
use crate::{Error, ErrorKind, Result};

/// How long git may take for one thing. A large workspace is read whole at the first snapshot.
const LIMIT: Duration = Duration::from_mins(5);
/// The longest list that is read of git, in bytes.
const LONGEST: usize = 64 << 20;
/// How `git add` ends if it could not take everything.
const SOME_LEFT_OUT: i32 = 1;
/// Bytes are kept as they are, whatever the workspace says of its files.
const ATTRIBUTES: &str = "* -text -eol -ident -filter -working-tree-encoding -merge -diff\n";

/// A repository apart from the workspace, with an index for each session.
pub(super) struct Git {
    env: Arc<dyn ExecutionEnvironment>,
    folder: PathBuf,
    workspace: PathBuf,
    /// The store, which may be within the workspace and is no part of it.
    root: PathBuf,
    index: PathBuf,
}

impl Git {
    pub(super) fn new(
        env: Arc<dyn ExecutionEnvironment>,
        folder: PathBuf,
        workspace: PathBuf,
        root: PathBuf,
        session: &SessionId,
    ) -> Self {
        let index = folder.join(format!("index-{session}"));
        Self { env, folder, workspace, root, index }
    }

    pub(super) fn folder(&self) -> &PathBuf {
        &self.folder
    }

    pub(super) fn workspace(&self) -> &Path {
        &self.workspace
    }

    pub(super) fn env(&self) -> &dyn ExecutionEnvironment {
        &*self.env
    }

    /// Makes the repository if it is not there.
    pub(super) async fn begin(&self) -> Result<()> {
        if self.folder.join("info/attributes").exists() {
            return Ok(());
        }
        let fault = |path: &Path, error| Error::io(path, error);
        fs::create_dir_all(&self.folder).map_err(|error| fault(&self.folder, error))?;
        let folder = self.folder.to_string_lossy().into_owned();
        self.run(&["init", "--quiet", "--bare", &folder], &self.index, None).await?;
        let info = self.folder.join("info");
        fs::create_dir_all(&info).map_err(|error| fault(&info, error))?;
        if let Ok(own) = self.root.strip_prefix(&self.workspace) {
            let exclude = info.join("exclude");
            let line = format!("/{}/\n", own.display());
            fs::write(&exclude, line).map_err(|error| fault(&exclude, error))?;
        }
        // Last, because it says that everything is there.
        let attributes = info.join("attributes");
        fs::write(&attributes, ATTRIBUTES).map_err(|error| fault(&attributes, error))
    }

    /// Whether the workspace has more files than that, those left out that it ignores.
    pub(super) async fn has_more_files_than(&self, most: u64) -> Result<bool> {
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let mut files = 0;
        let mut count = |piece: &Output| {
            if piece.stream == OutputStream::Stdout {
                files += piece.bytes.split(|byte| *byte == 0).skip(1).count() as u64;
            }
        };
        let listed = self.ask(&list, &self.index, None, &mut count).await?;
        succeeded(&list, &listed)?;
        Ok(files > most)
    }

    /// Reads the workspace, and gives what it is a name.
    pub(super) async fn write_tree(&self) -> Result<Tree> {
        // A file that cannot be read, or a repository without a commit, does not keep the others out.
        let add = ["add", "--all", "--ignore-errors", "."];
        let added = self.ask(&add, &self.index, None, &mut |_| {}).await?;
        if added.exit.code != Some(SOME_LEFT_OUT) {
            succeeded(&add, &added)?;
        }
        let name = self.run(&["write-tree"], &self.index, None).await?;
        Tree::new(String::from_utf8_lossy(&name).trim())
    }

    /// Keeps a tree from being cleaned away.
    pub(super) async fn keep(&self, tree: &Tree, name: &str) -> Result<()> {
        let message = ["commit-tree", tree.id(), "-m", name];
        let commit = self.run(&message, &self.index, None).await?;
        let commit = String::from_utf8_lossy(&commit).trim().to_owned();
        self.run(&["update-ref", name, &commit], &self.index, None).await.map(drop)
    }

    /// The tree that is kept under a name.
    pub(super) async fn kept(&self, name: &str) -> Result<Option<Tree>> {
        if !self.folder.join("info/attributes").exists() {
            return Ok(None);
        }
        let list = ["for-each-ref", "--format=%(tree)", name];
        let found = self.run(&list, &self.index, None).await?;
        let found = String::from_utf8_lossy(&found).trim().to_owned();
        if found.is_empty() { Ok(None) } else { Tree::new(found).map(Some) }
    }

    pub(super) async fn changes(&self, from: &Tree, to: &Tree) -> Result<Vec<FileChange>> {
        let list = ["diff-tree", "-r", "-z", "--raw", "--no-renames", from.id(), to.id()];
        changes::read(&self.run(&list, &self.index, None).await?)
    }

    /// Puts these files of a tree into the workspace.
    pub(super) async fn check_out(&self, tree: &Tree, paths: &[&str]) -> Result<()> {
        let index = self.index.with_extension("undo");
        self.run(&["read-tree", tree.id()], &index, None).await?;
        let list: Vec<u8> = paths.iter().flat_map(|path| [path.as_bytes(), b"\0"].concat()).collect();
        let checked_out = self.run(&["checkout-index", "--force", "-z", "--stdin"], &index, Some(list)).await;
        // It is made anew each time.
        let _ = fs::remove_file(&index);
        checked_out.map(drop)
    }

    /// What git says; an error if it fails.
    async fn run(&self, args: &[&str], index: &Path, input: Option<Vec<u8>>) -> Result<Vec<u8>> {
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
        let ended = self.ask(args, index, input, &mut keep).await?;
        succeeded(args, &ended)?;
        if !whole {
            return Err(Error::new(ErrorKind::Io, "git", format!("it says more than {LONGEST} bytes")));
        }
        Ok(said)
    }

    async fn ask(
        &self,
        args: &[&str],
        index: &Path,
        input: Option<Vec<u8>>,
        sink: &mut (dyn FnMut(&Output) + Send),
    ) -> Result<ExecResult> {
        let mut command = CommandSpec::argv(["git"].into_iter().chain(args.iter().copied()));
        command.variables = self.variables(index);
        if args.first() == Some(&"init") {
            // A repository without a tree of its own is not made for one.
            command.variables.remove("GIT_WORK_TREE");
        }
        command.stdin = input.map_or(Stdin::Empty, |bytes| Stdin::Bytes(Bytes::from(bytes)));
        let unsupported = |message| Error::new(ErrorKind::Unsupported, "git", message);
        let ended = exec(&*self.env, command, LIMIT, &CancellationToken::new(), sink)
            .await
            .map_err(|error| unsupported(format!("it cannot be started: {error}")))?;
        if ended.timed_out {
            return Err(unsupported(format!("it took more than {LIMIT:?}")));
        }
        Ok(ended)
    }

    /// Where everything is, who commits, and that nobody's configuration counts.
    fn variables(&self, index: &Path) -> BTreeMap<String, String> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let who = "junto";
        let configuration = [
            ("core.hooksPath", "/dev/null"),
            ("core.fsmonitor", "false"),
            ("core.bare", "false"),
            ("core.autocrlf", "false"),
            ("core.excludesFile", "/dev/null"),
            ("core.attributesFile", "/dev/null"),
            ("gc.auto", "0"),
            ("commit.gpgSign", "false"),
        ];
        let count = configuration.len().to_string();
        let mut variables: BTreeMap<String, String> = [
            ("GIT_DIR", path(&self.folder)),
            ("GIT_WORK_TREE", path(&self.workspace)),
            ("GIT_INDEX_FILE", path(index)),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
            ("GIT_CONFIG_COUNT", count),
            ("GIT_TERMINAL_PROMPT", "0".to_owned()),
            ("GIT_AUTHOR_NAME", who.to_owned()),
            ("GIT_AUTHOR_EMAIL", who.to_owned()),
            ("GIT_COMMITTER_NAME", who.to_owned()),
            ("GIT_COMMITTER_EMAIL", who.to_owned()),
            ("LC_ALL", "C".to_owned()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        for (number, (key, value)) in configuration.into_iter().enumerate() {
            variables.insert(format!("GIT_CONFIG_KEY_{number}"), key.to_owned());
            variables.insert(format!("GIT_CONFIG_VALUE_{number}"), value.to_owned());
        }
        variables
    }
}

/// An error unless git did what it was asked.
fn succeeded(args: &[&str], ended: &ExecResult) -> Result<()> {
    if ended.exit.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(ended.stderr.head()).trim().to_owned();
    let kind = match ended.exit.code {
        Some(126 | 127) => ErrorKind::Unsupported,
        _ if said.contains("bad object") || said.contains("ot a valid object") => ErrorKind::NotFound,
        _ => ErrorKind::Io,
    };
    Err(Error::new(kind, "git", format!("{}: {said}", args.first().copied().unwrap_or_default())))
}
