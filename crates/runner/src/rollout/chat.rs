//! The conversations of gemini.
//!
//! `.gemini/tmp/PROJECT/chats/session-TIME-ID.jsonl`, where `ID` is the beginning of the session's. The first line
//! names the session; each answer of a model is a line with its tokens.

use std::path::Path;

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

/// The conversation of a session; the newest, if it was taken up in another file.
pub(super) async fn find(env: &dyn ExecutionEnvironment, home: &str, session: &str) -> Option<RealPath> {
    let start =
        session.get(..NAMED).filter(|start| start.bytes().all(|byte| byte.is_ascii_alphanumeric()))?;
    let projects = resolved(env, &Path::new(home).join(".gemini/tmp")).await?;
    let ending = format!("-{start}.jsonl");
    let mut found = Vec::new();
    for project in env.list(&projects, 1).await.ok()?.into_iter().filter(|entry| entry.is_dir).take(PROJECTS)
    {
        let chats = projects.as_path().join(project.path).join("chats");
        let Some(chats) = resolved(env, &chats).await else { continue };
        let files = env.list(&chats, 1).await.unwrap_or_default().into_iter().map(|entry| entry.path);
        let is_named = |file: &std::path::PathBuf| {
            file.to_str().is_some_and(|name| name.starts_with("session-") && name.ends_with(&ending))
        };
        found.extend(files.filter(is_named).map(|file| (file.clone(), chats.as_path().join(file))));
    }
    // Their names have the time.
    found.sort_unstable();
    for (_, path) in found.into_iter().rev() {
        let Some(file) = resolved(env, &path).await else { continue };
        let head = bytes(env, &file, 0, HEAD).await.unwrap_or_default();
        let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if serde_json::from_slice::<Value>(first).is_ok_and(|first| first["sessionId"] == session) {
            return Some(file);
        }
    }
    None
}

/// The last answer of a conversation.
pub(super) async fn last(env: &dyn ExecutionEnvironment, file: &RealPath) -> Option<RecordedTurn> {
    let size = env.stamp(file).await.ok()??.size;
    let tail = bytes(env, file, size.saturating_sub(TAIL), TAIL).await?;
    tail.rsplit(|byte| *byte == b'\n').find_map(answer)
}

/// What a line tells of an answer; `None` if it is none, or does not tell its size.
fn answer(line: &[u8]) -> Option<RecordedTurn> {
    let Record { id, kind, model, tokens } = serde_json::from_slice(line).ok()?;
    let context = tokens["total"].as_u64().filter(|_| kind == "gemini" && !id.is_empty())?;
    Some(RecordedTurn { id, model, context: Some(context), ..RecordedTurn::default() })
}
