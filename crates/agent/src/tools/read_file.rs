//! `read_file`: a file's lines, numbered.

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::ByteRange;
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use super::numbered::{Binary, Lines, Numbered, Wanted};
use super::{arguments, file_of, resolve};
use crate::toolbox::INTERRUPTED;

/// How many lines are read if nobody says.
const LINES: u64 = 2000;
/// How many bytes are read at once.
const PIECE: usize = 64 * 1024;

/// Reads a text file. A file of any size is read in pieces, and only as far as it was asked for.
pub struct ReadFile(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    file_path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

impl ReadFile {
    /// The tool.
    #[expect(clippy::new_without_default, reason = "a tool has no default; this is its only form")]
    pub fn new() -> Self {
        Self(ToolSpec::foreign(
            "read_file",
            "Read a text file. Each line comes with its number.",
            json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string", "description": "The file; best an absolute path"},
                    "offset": {"type": "integer", "minimum": 1, "description": "The first line to read, from 1"},
                    "limit": {"type": "integer", "minimum": 1, "description": "How many lines to read; 2000 by default"}
                },
                "required": ["file_path"]
            }),
        ))
    }

    async fn read(call: &ToolCall, cx: &ToolCx) -> Result<String, ToolError> {
        let Arguments { file_path, offset, limit } = arguments(call)?;
        let path = resolve(&*cx.env, &file_path).await?;
        let mut file = cx.env.open(&path, ByteRange::ALL).await?;
        let lines = Lines { offset: offset.unwrap_or(1).max(1), limit: limit.unwrap_or(LINES).max(1) };
        let mut numbered = Numbered::new(lines);
        let mut piece = vec![0; PIECE];
        loop {
            let read = file.read(&mut piece).await.map_err(|e| ToolError(format!("{path}: {e}")))?;
            let bytes = piece.get(..read).unwrap_or_default();
            let wanted = numbered
                .push(bytes)
                .map_err(|Binary| ToolError(format!("{path} is a binary file; it has no lines to show")))?;
            if read == 0 || wanted == Wanted::NoMore {
                return numbered.finish().map_err(ToolError);
            }
        }
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move { Ok(vec![Action::Read { path: file_of(call, &*cx.env).await? }]) })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => ToolOutcome::error(INTERRUPTED),
                text = Self::read(permit.call(), cx) => text.into(),
            }
        })
    }
}
