//! Where the rollout of a thread is.
//!
//! `sessions/YYYY/MM/DD/rollout-TIME-THREAD.jsonl`, dated by the thread's first turn; what a person has put
//! aside is in `archived_sessions`. The newest days are looked at first: a thread that is gone on with is
//! mostly young.

use std::path::{Path, PathBuf};

use junto_env::{ExecutionEnvironment, RealPath};

/// Folders below the homes: years, months, days.
const DEPTH: usize = 3;

/// How many folders are looked at.
const FOLDERS: usize = 4096;

/// The rollout of a thread, be it compressed.
pub(super) async fn rollout(env: &dyn ExecutionEnvironment, home: &str, thread: &str) -> Option<RealPath> {
    if thread.is_empty() || !thread.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return None;
    }
    for folder in ["sessions", "archived_sessions"] {
        let folder = resolved(env, &Path::new(home).join(folder)).await;
        if let Some(folder) = folder
            && let Some(file) = below(env, folder, thread).await
        {
            return Some(file);
        }
    }
    None
}

/// The rollout of a thread below a folder, in the folder whose name is last of those that have it.
async fn below(env: &dyn ExecutionEnvironment, folder: RealPath, thread: &str) -> Option<RealPath> {
    let mut folders = vec![(folder, 0)];
    for _ in 0..FOLDERS {
        let (folder, depth) = folders.pop()?;
        // A folder that cannot be read has nothing for us.
        let Ok(entries) = env.list(&folder, 1).await else { continue };
        let (inner, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.is_dir);
        let files = files.into_iter().map(|entry| entry.path);
        if let Some(file) = files.filter(|file| is_of(file, thread)).max_by_key(|file| rank(file)) {
            return resolved(env, &folder.as_path().join(file)).await;
        }
        if depth < DEPTH {
            // Sorted by name, so that the last one is the newest and is taken next.
            for entry in inner {
                folders
                    .extend(resolved(env, &folder.as_path().join(entry.path)).await.map(|f| (f, depth + 1)));
            }
        }
    }
    None
}

pub(super) async fn resolved(env: &dyn ExecutionEnvironment, path: &Path) -> Option<RealPath> {
    env.resolve(path.to_str()?).await.ok()
}

fn is_of(file: &Path, thread: &str) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.strip_suffix(".zst").unwrap_or(name);
    let thread_of = name.strip_prefix("rollout-").and_then(|name| name.strip_suffix(".jsonl"));
    thread_of.and_then(|name| name.strip_suffix(thread)).is_some_and(|time| time.ends_with('-'))
}

/// A plain file is newer than its compressed one, and a later name than an earlier.
fn rank(file: &Path) -> (bool, PathBuf) {
    (!is_compressed(file), file.to_owned())
}

pub(super) fn is_compressed(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "zst")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollout_is_named_after_its_thread() {
        let is_of = |name: &str| is_of(Path::new(name), "01a1-77d0");
        assert!(is_of("rollout-2026-11-15T01-02-03-01a1-77d0.jsonl"));
        assert!(is_of("rollout-2026-11-15T01-02-03-01a1-77d0.jsonl.zst"));
        for other in [
            "rollout-x01a1-77d0.jsonl",
            "rollout-1-01a1-77d0.json",
            "log-1-01a1-77d0.jsonl",
            "rollout-1-01a1-77d0x.jsonl",
        ] {
            assert!(!is_of(other), "{other}");
        }
    }
}
