//! A workspace whose snapshots are taken, with the real git.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use junto_env::LocalEnvironment;
use junto_llm::SessionId;
use junto_store::{ChangeKind, Extent, FileChange, Snapshots, Tree};
use tempfile::TempDir;

/// A workspace, and a store beside it.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
    pub(crate) snapshots: Snapshots,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        let snapshots = snapshots(dir.path(), &dir.path().join("state"), "s1");
        Self { dir, snapshots }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join("work").join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.at(path)).ok()
    }

    pub(crate) async fn take(&self, name: &str) -> Tree {
        self.snapshots.take(name).await.unwrap()
    }
}

pub(crate) fn snapshots(dir: &Path, root: &Path, session: &str) -> Snapshots {
    let path = std::env::var("PATH").unwrap();
    let work = fs::canonicalize(dir.join("work")).unwrap();
    let env = LocalEnvironment::builder(work).variables([("PATH", path)]).build().unwrap();
    Snapshots::new(root, Arc::new(env), SessionId(session.into()), Extent::Moderate)
}

pub(crate) fn change(path: &str, kind: ChangeKind) -> FileChange {
    FileChange { path: path.into(), kind }
}

pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=me", "-c", "user.email=me", "-C"]).arg(dir).args(args);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
