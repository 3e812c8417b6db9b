//! Finding the repository by its files, which works in every environment and runs nothing.

use std::path::Path;

use junto_env::{ByteRange, ErrorKind, ExecutionEnvironment, RealPath};
use tokio::io::AsyncReadExt as _;

/// How much is read of `HEAD` and of a `.git` that is a file. Both are one line.
const LINE: u64 = 4096;

/// A repository, as its files show it.
pub(super) struct Repository {
    /// The directory that has the `.git`.
    pub(super) root: RealPath,
    /// The branch in `HEAD`.
    pub(super) branch: Option<String>,
}

/// The environment does not let look at all that is above the working directory.
pub(super) struct OutOfReach;

/// The nearest repository at or above the working directory.
pub(super) async fn find(env: &dyn ExecutionEnvironment) -> Result<Option<Repository>, OutOfReach> {
    for directory in env.facts().cwd.as_path().ancestors() {
        // The working directory is real, and so is what is above it: mostly there is nothing, and one look tells.
        if let Ok(None) = env.stamp(&RealPath::resolved(directory.join(".git"))).await {
            continue;
        }
        let name = directory.to_str().ok_or(OutOfReach)?;
        let root = env.resolve(name).await.map_err(|_| OutOfReach)?;
        if let Some(head) = head_of(env, directory).await {
            let branch = head.trim().strip_prefix("ref: refs/heads/");
            // What a repository writes there that keeps its references elsewhere.
            let branch = branch.filter(|name| !name.is_empty() && *name != ".invalid");
            return Ok(Some(Repository { root, branch: branch.map(str::to_owned) }));
        }
    }
    Ok(None)
}

/// The content of the `HEAD` that belongs to a working tree; none if there is no such thing.
async fn head_of(env: &dyn ExecutionEnvironment, directory: &Path) -> Option<String> {
    let git = directory.join(".git");
    let real = env.resolve(git.to_str()?).await.ok()?;
    match env.stamp(&real).await {
        // A file names the place, as in a linked working tree or a submodule.
        Ok(Some(_)) => {
            let named = line(env, &git).await?;
            let place = directory.join(named.strip_prefix("gitdir:")?.trim());
            line(env, &place.join("HEAD")).await
        }
        Err(error) if error.kind() == ErrorKind::WrongKind => line(env, &git.join("HEAD")).await,
        _ => None,
    }
}

/// The beginning of a small file.
async fn line(env: &dyn ExecutionEnvironment, path: &Path) -> Option<String> {
    let real = env.resolve(path.to_str()?).await.ok()?;
    let mut reader = env.open(&real, ByteRange { start: 0, length: Some(LINE) }).await.ok()?;
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).await.ok()?;
    String::from_utf8(bytes).ok()
}
