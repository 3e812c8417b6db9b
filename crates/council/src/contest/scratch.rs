//! The repository of a run, and the checkouts that are made from it.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use junto_env::{CommandSpec, ExecutionEnvironment, RealPath, exec};
use tokio_util::sync::CancellationToken;

use super::git::{Git, plain};
use super::repository::{Nested, Repository};
use super::{Error, ErrorKind, Result};

/// What the project says of its files counts, but for programs that they are to be sent through.
const ATTRIBUTES: &str = "* -filter\n";
/// How long a copy of what a checkout needs may take.
const COPY: Duration = Duration::from_mins(10);

/// The repository of a run: it has the base, and what the candidates made of it. It borrows the user's objects
/// and adds its own.
pub(super) struct Scratch {
    pub(super) env: Arc<dyn ExecutionEnvironment>,
    /// Where it is.
    pub(super) folder: PathBuf,
    /// What the checkouts are called that are made now.
    pub(super) branch: String,
    format: String,
    /// Where objects are that a checkout needs.
    objects: Vec<PathBuf>,
    shallow: Option<Vec<u8>>,
    excludes: Vec<u8>,
    pub(super) nested: Vec<Nested>,
}

/// A checkout with a repository of its own.
#[derive(Clone, Debug)]
pub(super) struct Checkout {
    /// Its top.
    pub(super) top: PathBuf,
}

impl Scratch {
    /// Makes the repository of a run.
    pub(super) async fn create(
        env: Arc<dyn ExecutionEnvironment>,
        folder: &Path,
        user: &Repository,
    ) -> Result<Self> {
        let parent = folder.parent().unwrap_or(folder);
        let git = Git::of_ours(Arc::clone(&env), parent);
        let format = format!("--object-format={}", user.format);
        git.run(&["init", "--quiet", "--bare", "--template=", &format, plain(folder)?]).await?;
        let nested = user.nested.iter().map(|nested| nested.objects.clone());
        let borrowed: Vec<PathBuf> = std::iter::once(user.objects.clone()).chain(nested).collect();
        furnish(folder, &borrowed, user.shallow.as_deref(), &user.excludes)?;
        let objects = std::iter::once(folder.join("objects")).chain([user.objects.clone()]).collect();
        Ok(Self {
            env,
            folder: folder.to_owned(),
            branch: user.branch.clone().unwrap_or_else(|| "main".to_owned()),
            format: user.format.clone(),
            objects,
            shallow: user.shallow.clone(),
            excludes: user.excludes.clone(),
            nested: user.nested.clone(),
        })
    }

    /// Git in it.
    pub(super) fn git(&self) -> Result<Git> {
        Git::of_ours(Arc::clone(&self.env), &self.folder).with_path("GIT_DIR", &self.folder)
    }

    /// A commit of these files after another one, kept under a name.
    pub(super) async fn commit(&self, tree: &str, parent: &str, message: &str, name: &str) -> Result<String> {
        let git = self.git()?;
        let commit = git.word(&["commit-tree", tree, "-p", parent, "-m", message]).await?;
        git.run(&["update-ref", name, &commit]).await?;
        Ok(commit)
    }

    /// The user's files as they are, ignored ones left out: what the user would commit. Nothing is written to
    /// the user's repository.
    pub(super) async fn tree_of_user(&self, user: &Repository) -> Result<String> {
        let index = self.folder.join("user-index");
        let mut others = user.objects.as_os_str().as_bytes().to_vec();
        for nested in &user.nested {
            others.push(b':');
            others.extend_from_slice(nested.objects.as_os_str().as_bytes());
        }
        let others = String::from_utf8(others)
            .map_err(|_| Error::new(ErrorKind::Invalid, "the path of the repository is no text"))?;
        let git = user
            .git()
            .with_path("GIT_INDEX_FILE", &index)?
            .with_path("GIT_OBJECT_DIRECTORY", &self.folder.join("objects"))?
            .with("GIT_ALTERNATE_OBJECT_DIRECTORIES", &others);
        git.run(&["read-tree", "HEAD"]).await?;
        git.run(&["-c", "core.fsmonitor=false", "-c", "advice.addEmbeddedRepo=false", "add", "--all", "."])
            .await?;
        let tree = git.word(&["write-tree"]).await;
        // It is only ours, and made anew each time.
        let _ = fs::remove_file(&index);
        tree
    }

    /// Makes a checkout of a commit, with a repository of its own on a branch as the user has it, and the
    /// repositories within as they are checked out.
    pub(super) async fn check_out(&self, commit: &str, top: &Path) -> Result<Checkout> {
        let checkout = Checkout { top: top.to_owned() };
        self.furnished(top, commit, &self.format, &self.objects, self.shallow.as_deref()).await?;
        for nested in &self.nested {
            let inner = top.join(&nested.path);
            // A candidate may have put something else in its place.
            if inner.is_dir() && !inner.is_symlink() {
                let objects = std::slice::from_ref(&nested.objects);
                self.furnished(&inner, &nested.commit, &nested.format, objects, nested.shallow.as_deref())
                    .await?;
            }
        }
        Ok(checkout)
    }

    async fn furnished(
        &self,
        top: &Path,
        commit: &str,
        format: &str,
        objects: &[PathBuf],
        shallow: Option<&[u8]>,
    ) -> Result<()> {
        private(top).map_err(|error| Error::io(top.display(), &error))?;
        let git = Git::of_ours(Arc::clone(&self.env), top);
        let format = format!("--object-format={format}");
        let branch = format!("--initial-branch={}", self.branch);
        git.run(&["init", "--quiet", "--template=", &format, &branch]).await?;
        furnish(&top.join(".git"), objects, shallow, &self.excludes)?;
        // A candidate may want to commit.
        for (key, value) in [("user.name", "junto"), ("user.email", "junto@localhost"), ("gc.auto", "0")] {
            git.run(&["config", key, value]).await?;
        }
        git.run(&["config", "commit.gpgSign", "false"]).await?;
        git.run(&["reset", "--quiet", "--hard", commit]).await.map(drop)
    }

    /// Copies ignored paths of the user's into a checkout, such as installed dependencies. Paths are relative
    /// to both, and what is not there, or is there already, is left out.
    pub(super) async fn bring(&self, from: &Path, to: &Path, paths: &[PathBuf]) -> Result<()> {
        for path in paths {
            let (source, target) = (from.join(path), to.join(path));
            if !source.exists() || target.exists() {
                continue;
            }
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent).map_err(|error| Error::io(parent.display(), &error))?;
            }
            let mut command =
                CommandSpec::argv(["cp", "-a", "--reflink=auto", "--", plain(&source)?, plain(&target)?]);
            command.cwd = Some(RealPath::resolved(to));
            let copied = exec(&*self.env, command, COPY, &CancellationToken::new(), &mut |_| {}).await;
            let copied = copied.map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))?;
            if !copied.exit.success() {
                let said = String::from_utf8_lossy(copied.stderr.head()).trim().to_owned();
                return Err(Error::new(ErrorKind::Failed, format!("cannot copy {}: {said}", path.display())));
            }
        }
        Ok(())
    }

    /// Keeps every commit that a checkout's own repository has, so that nothing that was committed there is
    /// lost with it. Whether that could be done.
    pub(super) async fn keep_commits(&self, checkout: &Checkout, number: u32) -> bool {
        let own = checkout.top.join(".git");
        if !own.is_dir() {
            // What it deleted itself is nobody's to keep.
            return true;
        }
        let (Ok(git), Ok(own)) = (self.git(), plain(&own)) else { return false };
        let every = format!("+refs/*:refs/candidates/{number}/*");
        let last = format!("+HEAD:refs/candidates/{number}/HEAD");
        let fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--update-shallow", own];
        let args: Vec<&str> = fetch.into_iter().chain([every.as_str(), last.as_str()]).collect();
        git.run(&args).await.is_ok()
    }
}

impl Checkout {
    /// Removes it with everything in it, also what somebody has write-protected.
    pub(super) async fn remove(&self) -> Result<()> {
        let top = self.top.clone();
        let gone = tokio::task::spawn_blocking(move || match fs::remove_dir_all(&top) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                open_up(&top);
                fs::remove_dir_all(&top)
            }
            gone => gone,
        });
        match gone.await.unwrap_or_else(|crashed| Err(io::Error::other(crashed))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io(self.top.display(), &error))
            }
            _ => Ok(()),
        }
    }
}

/// Makes every folder below one writable; what cannot be made so stays.
fn open_up(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

/// Lets a repository borrow objects and ignore what the user ignores, and run no programs over its files.
fn furnish(folder: &Path, objects: &[PathBuf], shallow: Option<&[u8]>, excludes: &[u8]) -> Result<()> {
    let lines: Vec<&[u8]> = objects.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\n"]).collect();
    let files = [
        ("objects/info/alternates", Some(lines.concat())),
        ("info/attributes", Some(ATTRIBUTES.as_bytes().to_vec())),
        ("info/exclude", Some(excludes.to_vec())),
        ("shallow", shallow.map(<[u8]>::to_vec)),
    ];
    for (name, content) in files {
        let Some(content) = content else { continue };
        let path = folder.join(name);
        let written = path.parent().map_or(Ok(()), private).and_then(|()| fs::write(&path, content));
        written.map_err(|error| Error::io(path.display(), &error))?;
    }
    Ok(())
}

/// Makes a folder that only its owner enters, and those above it.
fn private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
