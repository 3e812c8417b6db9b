//! `write_file`: a whole file, new or in place of what was there.

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::text::{Content, Encoding, Format, LineEnding, TextFile};
use junto_env::{ErrorKind, ExecutionEnvironment, Expect, RealPath};
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::{arguments, file_of, guard};

/// The largest file that is looked at for how it is written. A larger one is replaced as given.
const LOOKED_AT: u64 = 8 * 1024 * 1024;

/// Writes a whole file, and the directories it needs.
///
/// A text that replaces a text is written as that was: in its encoding, with its byte order mark, and
/// with its line ends if the new text has only plain ones. A model sees none of these when it reads,
/// so it cannot mean to change them. What cannot be written that way is written in UTF-8, and the
/// result says so. A file that was changed by somebody else since the model saw it, or since somebody was shown
/// what would be done to it, is left alone.
pub struct WriteFile(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    content: String,
}

impl Default for WriteFile {
    fn default() -> Self {
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
}

impl WriteFile {
    async fn write(permit: &Permit, cx: &ToolCx) -> Result<String, ToolError> {
        let Arguments { content } = arguments(permit.call())?;
        let path = permit.writes().next().ok_or_else(|| ToolError("no file was named".to_owned()))?;
        let (Written { bytes, note }, expect) = plan(&*cx.env, path, content).await?;
        let now = match expect {
            Expect::Unchanged(now) => Some(now),
            Expect::Absent | Expect::Any => None,
        };
        guard::check(cx, path, now)?;
        let written = cx.env.write(path, &bytes, expect).await;
        let stamp = written.map_err(|error| match error.kind() {
            ErrorKind::Changed | ErrorKind::Exists => ToolError(format!(
                "{path} was changed by somebody else just now, so it was left alone; read it and decide again"
            )),
            _ => ToolError(format!("{error}; nothing was written")),
        })?;
        cx.seen.note(path, stamp);
        let done = if expect == Expect::Absent { "created" } else { "replaced" };
        Ok(format!("{done} {path} ({} bytes{note})", bytes.len()))
    }
}

/// What is to be written, and what the file must be like for that.
async fn plan(
    env: &dyn ExecutionEnvironment,
    path: &RealPath,
    content: String,
) -> Result<(Written, Expect), ToolError> {
    let expect = match TextFile::read(env, path, LOOKED_AT).await {
        Ok(Content::Text(file)) => return Ok((as_it_was(&file, content), Expect::Unchanged(file.stamp))),
        Ok(_) => env.stamp(path).await?.map_or(Expect::Absent, Expect::Unchanged),
        Err(error) if error.kind() == ErrorKind::NotFound => Expect::Absent,
        Err(error) => return Err(ToolError(format!("{error}; nothing was written"))),
    };
    Ok((Written { bytes: content.into_bytes(), note: String::new() }, expect))
}

/// A text as bytes, and what was kept or not of how the file was written.
pub(super) struct Written {
    pub(super) bytes: Vec<u8>,
    note: String,
}

/// A new text for a file, in the way in which the file is written.
pub(super) fn as_it_was(file: &TextFile, content: String) -> Written {
    let Format { encoding, byte_order_mark, line_ending } = file.format;
    let plain = line_ending == LineEnding::Lf || content.contains('\r');
    let content = if plain { content } else { line_ending.apply(&content).into_owned() };
    let mut kept = Vec::new();
    if line_ending == LineEnding::CrLf && !plain && content.contains('\n') {
        kept.push("CRLF line ends".to_owned());
    }
    let marked = byte_order_mark && !content.starts_with('\u{feff}');
    if encoding == Encoding::Utf8 && !marked {
        return Written { bytes: content.into_bytes(), note: note(&kept) };
    }
    let Ok(bytes) = file.encode(&content) else {
        let note = format!("{}, now in UTF-8 and no longer {encoding}", note(&kept));
        return Written { bytes: content.into_bytes(), note };
    };
    let mark = if marked { " with a byte order mark" } else { "" };
    kept.push(format!("{encoding}{mark}"));
    Written { bytes, note: note(&kept) }
}

fn note(kept: &[String]) -> String {
    if kept.is_empty() { String::new() } else { format!(", as before in {}", kept.join(" and ")) }
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
        Box::pin(async move { Self::write(&permit, cx).await.into() })
    }
}
