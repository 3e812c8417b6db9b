//! The conversations of gemini.
//!
//! `.gemini/tmp/PROJECT/chats/session-TIME-ID.jsonl`, where `ID` is the beginning of the session's. The first line
//! names the session; each answer of a model is a line with its tokens.

use std::path::Path;
use std::time::SystemTime;

use junto_env::{ExecutionEnvironment, RealPath};
use serde::Deserialize;
use serde_json::Value;

use super::RecordedTurn;
use super::find::resolved;
use super::read::bytes;

/// How much of an id is in the name of a file.
const NAMED: usize = 8;

/// How many projects are looked at.
const PROJECTS: usize = 4096;

/// How much is read from the beginning, and from the end. An answer of which the end is farther away has no size.
const HEAD: u64 = 4 << 10;
const TAIL: u64 = 8 << 20;

/// A line that may be an answer.
#[derive(Deserialize)]
struct Record {
    #[serde(default)]
    id: String,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    tokens: Value,
}

/// The last answer in a session. Each run that takes it up in another minute begins a file of that minute and then goes
/// on in the one it took up, so the newest name is often that of a file without answers: what counts is which file was
/// written last.
pub(super) async fn last(env: &dyn ExecutionEnvironment, home: &str, session: &str) -> Option<RecordedTurn> {
    let mut files = files(env, home, session).await?;
    // Their names have the time as well, for where the file system does not tell.
    files.sort_unstable_by(|a, b| (a.modified, a.path.as_path()).cmp(&(b.modified, b.path.as_path())));
    for File { path, size, .. } in files.into_iter().rev() {
        if begins(env, &path, session).await
            && let Some(tail) = bytes(env, &path, size.saturating_sub(TAIL), TAIL).await
            && let Some(turn) = tail.rsplit(|byte| *byte == b'\n').find_map(answer)
        {
            return Some(turn);
        }
    }
    None
}

/// A file that may be a session's.
struct File {
    path: RealPath,
    modified: Option<SystemTime>,
    size: u64,
}

/// The files whose names have the beginning of the session's id.
async fn files(env: &dyn ExecutionEnvironment, home: &str, session: &str) -> Option<Vec<File>> {
    let start =
        session.get(..NAMED).filter(|start| start.bytes().all(|byte| byte.is_ascii_alphanumeric()))?;
    let projects = resolved(env, &Path::new(home).join(".gemini/tmp")).await?;
    let ending = format!("-{start}.jsonl");
    let mut found = Vec::new();
    for project in env.list(&projects, 1).await.ok()?.into_iter().filter(|entry| entry.is_dir).take(PROJECTS)
    {
        let chats = projects.as_path().join(project.path).join("chats");
        let Some(chats) = resolved(env, &chats).await else { continue };
        for entry in env.list(&chats, 1).await.unwrap_or_default() {
            let is_named = |name: &str| name.starts_with("session-") && name.ends_with(&ending);
            if entry.path.to_str().is_some_and(is_named)
                && let Some(path) = resolved(env, &chats.as_path().join(&entry.path)).await
                && let Ok(Some(stamp)) = env.stamp(&path).await
            {
                found.push(File { path, modified: stamp.modified, size: stamp.size });
            }
        }
    }
    Some(found)
}

/// Whether a file's first line names the session.
async fn begins(env: &dyn ExecutionEnvironment, file: &RealPath, session: &str) -> bool {
    let head = bytes(env, file, 0, HEAD).await.unwrap_or_default();
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    serde_json::from_slice::<Value>(first).is_ok_and(|first| first["sessionId"] == session)
}

/// What a line tells of an answer; `None` if it is none, or does not tell its size.
fn answer(line: &[u8]) -> Option<RecordedTurn> {
    let Record { id, kind, model, tokens } = serde_json::from_slice(line).ok()?;
    let context = tokens["total"].as_u64().filter(|_| kind == "gemini" && !id.is_empty())?;
    Some(RecordedTurn { id, model, context: Some(context), ..RecordedTurn::default() })
}
