//! The repository that holds snapshots.

mod kept;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use junto_env::{CommandSpec, ExecResult, ExecutionEnvironment, Output, OutputStream, Stdin, exec};
use junto_llm::SessionId;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::changes::{self, Changes, FileChange};
use super::look::Look;
use super::note::{Beside, Note};
use super::read::list;
use super::{Tree, around};
use crate::{Error, ErrorKind, Result};

/// How long git may take for one thing. A large workspace is read whole at the first snapshot.
const LIMIT: Duration = Duration::from_mins(5);
/// The longest list that is read of git, in bytes.
const LONGEST: usize = 256 << 20;
/// How many indexes a session may have. Another one is taken where a git that a killed process left behind has
/// locked the one before.
const INDEXES: usize = 8;
/// The index that was used last, by whichever session. The next one begins with it, and reads only what has changed
/// since. Indexes of earlier versions had other names, and repositories within the workspace in them.
pub(super) const LATEST: &str = "files-latest";
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
    /// The tree that the index was when it was looked at last, and how to tell that it still is.
    last: Mutex<Option<(Tree, Seal)>>,
    session: String,
    /// Whether it was looked which sessions are gone.
    pub(super) looked_for_gone: AtomicBool,
}

/// What is wanted to be known of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// What a snapshot has of it.
    Files,
    /// Also what it has not; and it is not read if there is more to read than so many bytes.
    Noted { most: u64 },
}

/// Tells a file from what was put in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seal {
    inode: u64,
    len: u64,
    changed: (i64, i64),
}

impl Seal {
    fn of(path: &Path) -> Option<Self> {
        let meta = fs::metadata(path).ok()?;
        Some(Self { inode: meta.ino(), len: meta.len(), changed: (meta.ctime(), meta.ctime_nsec()) })
    }
}

impl Git {
    pub(super) fn new(
        env: Arc<dyn ExecutionEnvironment>,
        folder: PathBuf,
        workspace: PathBuf,
        root: PathBuf,
        session: &SessionId,
    ) -> Self {
        let index = folder.join(format!("files-{session}"));
        let session = session.to_string();
        let (last, looked_for_gone) = (Mutex::default(), AtomicBool::new(false));
        Self { env, folder, workspace, root, index, last, session, looked_for_gone }
    }

    pub(super) fn folder(&self) -> &PathBuf {
        &self.folder
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn session(&self) -> &str {
        &self.session
    }

    pub(super) fn workspace(&self) -> &Path {
        &self.workspace
    }

    pub(super) fn env(&self) -> &dyn ExecutionEnvironment {
        &*self.env
    }

    /// Makes the repository if it is not there. It appears whole or not at all, whatever is killed meanwhile
    /// and whoever else makes it.
    pub(super) async fn begin(&self) -> Result<()> {
        if !self.is_there() {
            self.make_whole().await?;
        }
        self.keep_ignored()
    }

    async fn make_whole(&self) -> Result<()> {
        let fault = |path: &Path, error| Error::io(path, error);
        if let Some(all) = self.folder.parent() {
            make_private(all).map_err(|error| fault(all, error))?;
        }
        let index = self.index.file_name().unwrap_or_default().to_string_lossy();
        let new = self.folder.with_extension(format!("{index}-{}", std::process::id()));
        let made = self.make(&new).await;
        let moved = made.and_then(|()| fs::rename(&new, &self.folder).map_err(|error| fault(&new, error)));
        if moved.is_err() {
            // Best effort: it is nobody's.
            let _ = fs::remove_dir_all(&new);
        }
        // Another process may have been faster.
        if self.is_there() { Ok(()) } else { moved }
    }

    /// Keeps what is ignored from outside the workspace where git reads it.
    fn keep_ignored(&self) -> Result<()> {
        let (path, ignored) = (self.ignored(), around::ignored(&self.workspace));
        if fs::read(&path).is_ok_and(|kept| kept == ignored) {
            return Ok(());
        }
        let kept = tempfile::NamedTempFile::new_in(&self.folder).and_then(|mut file| {
            file.write_all(&ignored)?;
            file.persist(&path).map_err(|error| error.error)
        });
        kept.map(drop).map_err(|error| Error::io(&path, error))
    }

    fn ignored(&self) -> PathBuf {
        self.folder.join("ignored")
    }

    fn is_there(&self) -> bool {
        self.folder.join("info/attributes").exists()
    }

    /// Makes a repository. No hooks and no samples come with it.
    async fn make(&self, folder: &Path) -> Result<()> {
        let name = folder.to_string_lossy();
        self.run(&["init", "--quiet", "--bare", "--template=", "--shared=0600", &name], &self.index, None)
            .await?;
        let info = folder.join("info");
        make_private(&info).map_err(|error| Error::io(&info, error))?;
        let write = |path: PathBuf, text: &str| {
            let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
            let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
            written.map_err(|error| Error::io(&path, error))
        };
        write(info.join("attributes"), ATTRIBUTES)
    }

    /// What the workspace looks like; none if it has more files than that, those that it ignores among them.
    pub(super) async fn look(&self, most: u64) -> Option<Look> {
        let (workspace, store) = (self.workspace.clone(), self.root.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let ignored = around::ignored(&workspace);
            Look::at(&workspace, &store, most, &ignored)
        })
        .await;
        looked.ok().flatten()
    }

    /// The workspace as a tree: the one that is kept with its look, or a new one, which is noted.
    pub(super) async fn tree_of(&self, mut look: Option<Look>, most: u64) -> Result<Tree> {
        let kept = self.folder.join("look");
        let known = look.as_ref().and_then(|look| look.tree(&kept));
        if let Some(tree) = known.filter(|tree| self.has(tree) && self.note(tree).is_some()) {
            return Ok(tree);
        }
        let (tree, mut beside) = self.write_tree(Reading::Noted { most }).await?;
        beside.modes = look.as_mut().map(|look| std::mem::take(&mut look.modes));
        let (workspace, store, path) = (self.workspace.clone(), self.root.clone(), self.note_path(&tree));
        let noted =
            tokio::task::spawn_blocking(move || Note::new(&workspace, &store, beside).keep(&path)).await;
        noted.map_err(|error| Error::new(ErrorKind::Io, "snapshot", error.to_string()))??;
        if let Some(look) = look {
            look.keep(&tree, &kept);
        }
        Ok(tree)
    }

    /// What there was beside a tree when it was taken last; none if nobody has noted it.
    pub(super) fn note(&self, tree: &Tree) -> Option<Note> {
        Note::kept(&self.note_path(tree))
    }

    fn note_path(&self, tree: &Tree) -> PathBuf {
        self.folder.join("notes").join(tree.id())
    }

    /// Whether a tree is there as a file of its own, as git writes them. Packed it may be there all the same.
    pub(super) fn has(&self, tree: &Tree) -> bool {
        let (folder, rest) = tree.id().split_at(2);
        self.folder.join("objects").join(folder).join(rest).exists()
    }

    /// Whether the workspace has more files than that, those left out that it ignores.
    pub(super) async fn has_more_files_than(&self, most: u64) -> Result<bool> {
        let own = self.own_pattern();
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", &own];
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

    /// Reads the workspace, and gives what it is a name. With what is in it and not in the tree, if that is to be noted.
    pub(super) async fn write_tree(&self, reading: Reading) -> Result<(Tree, Beside)> {
        let (mut tried, mut anew) = (0, false);
        loop {
            let index = self.free_index(tried);
            match self.write_tree_with(&index, reading).await {
                Err(_) if is_locked(&index) && tried < INDEXES => tried += 1,
                // What the index has may have been cleaned away with a session. Then everything is read anew.
                Err(error) if error.to_string().contains("error building trees") && !anew => {
                    anew = true;
                    for stale in [&index, &self.folder.join(LATEST)] {
                        let _ = fs::remove_file(stale);
                    }
                }
                written => return written,
            }
        }
    }

    async fn write_tree_with(&self, index: &Path, reading: Reading) -> Result<(Tree, Beside)> {
        if !index.exists() {
            copy(&self.folder.join(LATEST), index);
        }
        let most = if let Reading::Noted { most } = reading { most } else { u64::MAX };
        let repositories = self.read(index, most).await?;
        // A folder of which the index has nothing stands for all that is in it.
        let list = ["ls-files", "-z", "--others", "--directory"];
        let others = async {
            if reading == Reading::Files { Ok(Vec::new()) } else { self.run(&list, index, None).await }
        };
        let (tree, others) = tokio::try_join!(self.name(index), others)?;
        Ok((tree, Beside { others, repositories, modes: None }))
    }

    /// The name of what is in an index.
    async fn name(&self, index: &Path) -> Result<Tree> {
        // The index is only written anew if something is not what it was.
        let seal = Seal::of(index);
        if let Some((tree, of)) = &*self.last()
            && seal.is_some_and(|seal| seal == *of)
        {
            return Ok(tree.clone());
        }
        let name = self.run(&["write-tree"], index, None).await?;
        let tree = Tree::new(String::from_utf8_lossy(&name).trim())?;
        *self.last() = seal.map(|seal| (tree.clone(), seal));
        copy(index, &self.folder.join(LATEST));
        Ok(tree)
    }

    fn last(&self) -> MutexGuard<'_, Option<(Tree, Seal)>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An index that nobody works with. Only who writes the session comes here, and a git that a killed process
    /// left behind: that goes on with its own.
    fn free_index(&self, tried: usize) -> PathBuf {
        let numbered = |number: usize| match number {
            0 => self.index.clone(),
            number => self.index.with_extension(number.to_string()),
        };
        let free = (tried..INDEXES).map(numbered).find(|index| !is_locked(index));
        free.unwrap_or_else(|| numbered(INDEXES))
    }

    pub(super) async fn changes(&self, from: &Tree, to: &Tree) -> Result<Vec<FileChange>> {
        Ok(self.all_changes(from, to).await?.files)
    }

    pub(super) async fn all_changes(&self, from: &Tree, to: &Tree) -> Result<Changes> {
        let list = ["diff-tree", "-r", "-z", "--raw", "--no-renames", from.id(), to.id()];
        let mut changes = changes::read(&self.run(&list, &self.index, None).await?)?;
        // Snapshots of earlier versions may have the store itself.
        if let Some(own) = self.own() {
            changes.files.retain(|change| !Path::new(&change.path).starts_with(own));
        }
        Ok(changes)
    }

    /// Where in the workspace the store is, if it is within.
    pub(super) fn own(&self) -> Option<&Path> {
        self.root.strip_prefix(&self.workspace).ok()
    }

    /// What keeps the store out of a list.
    pub(super) fn own_pattern(&self) -> String {
        let own = self.own().map(|own| format!("/{}", literal(&own.to_string_lossy())));
        format!("--exclude={}", own.unwrap_or_default())
    }

    /// These files of a tree, in a folder of their own.
    pub(super) async fn stage(&self, tree: &Tree, paths: &[&str]) -> Result<TempDir> {
        let index = self.index.with_extension("undo");
        let stage = tempfile::Builder::new().prefix("stage-").tempdir_in(&self.folder);
        let stage = stage.map_err(|error| Error::io(&self.folder, error))?;
        let prefix = format!("--prefix={}/", stage.path().to_string_lossy());
        self.run(&["read-tree", tree.id()], &index, None).await?;
        let staged = self.run(&["checkout-index", &prefix, "-z", "--stdin"], &index, Some(list(paths))).await;
        // It is made anew each time.
        let _ = fs::remove_file(&index);
        staged.map(|_| stage)
    }

    /// What git says; an error if it fails.
    pub(super) async fn run(&self, args: &[&str], index: &Path, input: Option<Vec<u8>>) -> Result<Vec<u8>> {
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

    pub(super) async fn ask(
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

    /// Where everything is, and that nobody's configuration counts.
    fn variables(&self, index: &Path) -> BTreeMap<String, String> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let ignored = path(&self.ignored());
        let configuration = [
            ("core.hooksPath", "/dev/null"),
            ("core.fsmonitor", "false"),
            ("core.bare", "false"),
            ("core.autocrlf", "false"),
            ("core.excludesFile", &*ignored),
            ("core.attributesFile", "/dev/null"),
            ("core.sharedRepository", "0600"),
            ("core.filesRefLockTimeout", "1000"),
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
            ("GIT_OPTIONAL_LOCKS", "0".to_owned()),
            // References are files.
            ("GIT_DEFAULT_REF_FORMAT", "files".to_owned()),
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

/// A pattern for nothing but this path.
fn literal(path: &str) -> String {
    let is_special = |character| matches!(character, '*' | '?' | '[' | '\\' | ' ');
    path.chars()
        .flat_map(|character| is_special(character).then_some('\\').into_iter().chain([character]))
        .collect()
}

/// Makes a folder that only its owner can enter, and those above it; one that is there becomes so.
pub(super) fn make_private(folder: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mode = fs::metadata(folder)?.permissions().mode();
    match mode & 0o077 {
        0 => Ok(()),
        _ => fs::set_permissions(folder, fs::Permissions::from_mode(0o700)),
    }
}

/// Copies an index, with its age, by which git tells what it may have missed. Whoever finds none reads everything.
fn copy(from: &Path, to: &Path) {
    let copied = (|| {
        let mut source = fs::File::open(from)?;
        let mut file = tempfile::NamedTempFile::new_in(to.parent().unwrap_or(to))?;
        std::io::copy(&mut source, &mut file)?;
        file.as_file().set_modified(source.metadata()?.modified()?)?;
        file.persist(to).map_err(|error| error.error)
    })();
    drop(copied);
}

/// Whether a git works with an index, or did when it was killed.
fn is_locked(index: &Path) -> bool {
    let mut lock = index.as_os_str().to_owned();
    lock.push(".lock");
    Path::new(&lock).exists()
}

/// An error unless git did what it was asked.
pub(super) fn succeeded(args: &[&str], ended: &ExecResult) -> Result<()> {
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
