//! `write_file`: a whole file, new or in place of what was there.

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::Expect;
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::{arguments, file_of, resolve};

/// Writes a whole file, and the directories it needs.
pub struct WriteFile(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    file_path: String,
    content: String,
}

impl WriteFile {
    /// The tool.
    #[expect(clippy::new_without_default, reason = "a tool has no default; this is its only form")]
    pub fn new() -> Self {
        Self(ToolSpec::foreign(
            "write_file",
            "Write a whole file. What was in it is replaced; directories are made as needed.",
            json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string", "description": "The file; best an absolute path"},
                    "content": {"type": "string", "description": "Everything the file shall contain"}
                },
                "required": ["file_path", "content"]
            }),
        ))
    }

    async fn write(call: &ToolCall, cx: &ToolCx) -> Result<String, ToolError> {
        let Arguments { file_path, content } = arguments(call)?;
        let path = resolve(&*cx.env, &file_path).await?;
        let before = cx.env.stamp(&path).await?;
        let expect = before.map_or(Expect::Absent, Expect::Unchanged);
        cx.env.write(&path, content.as_bytes(), expect).await?;
        let done = if before.is_some() { "replaced" } else { "created" };
        Ok(format!("{done} {path} ({} bytes)", content.len()))
    }
}

impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move { Ok(vec![Action::Write { path: file_of(call, &*cx.env).await? }]) })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        // Not cut short by a cancel: a write is one atomic step.
        Box::pin(async move { Self::write(permit.call(), cx).await.into() })
    }
}
