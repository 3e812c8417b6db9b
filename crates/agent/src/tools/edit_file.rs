//! `edit_file`: one text in place of another.

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::{ByteRange, ErrorKind, ExecutionEnvironment, Expect, RealPath, Stamp};
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use super::{arguments, file_of, resolve};

/// The largest file that is edited, in bytes.
const MOST: u64 = 32 * 1024 * 1024;
/// How many places of an ambiguous text are named.
const PLACES: usize = 5;

/// Replaces a text in a file, if the file has not changed since it was read for that.
pub struct EditFile(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

impl EditFile {
    /// The tool.
    #[expect(clippy::new_without_default, reason = "a tool has no default; this is its only form")]
    pub fn new() -> Self {
        Self(ToolSpec::foreign(
            "edit_file",
            "Replace a text in a file. The text must be in the file exactly as given, and only once \
             unless all of its occurrences are to be replaced.",
            json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string", "description": "The file; best an absolute path"},
                    "old_string": {"type": "string", "description": "The exact text to replace, without line numbers"},
                    "new_string": {"type": "string", "description": "What to put in its place"},
                    "replace_all": {"type": "boolean", "description": "Replace every occurrence; false by default"}
                },
                "required": ["file_path", "old_string", "new_string"]
            }),
        ))
    }

    async fn edit(call: &ToolCall, cx: &ToolCx) -> Result<String, ToolError> {
        let Arguments { file_path, old_string, new_string, replace_all } = arguments(call)?;
        let path = resolve(&*cx.env, &file_path).await?;
        let (stamp, text) = read(&*cx.env, &path).await?;
        let which = if replace_all { Which::All } else { Which::TheOne };
        let (edited, count) = replace(&text, &old_string, &new_string, which).map_err(ToolError)?;
        let written = cx.env.write(&path, edited.as_bytes(), Expect::Unchanged(stamp)).await;
        written.map_err(|error| match error.kind() {
            ErrorKind::Changed => ToolError(format!(
                "{path} was changed by somebody else just now, so it was left alone; read it again"
            )),
            _ => error.into(),
        })?;
        let times = if count == 1 { "once" } else { &format!("{count} times") };
        Ok(format!("replaced {times} in {path}"))
    }
}

/// The whole text of a file, and what the file was like before it was read.
async fn read(env: &dyn ExecutionEnvironment, path: &RealPath) -> Result<(Stamp, String), ToolError> {
    let missing = || ToolError(format!("there is no file {path}; write_file makes one"));
    let stamp = env.stamp(path).await?.ok_or_else(missing)?;
    if stamp.size > MOST {
        return Err(ToolError(format!("{path} is too large to edit ({} bytes); use the shell", stamp.size)));
    }
    let mut bytes = Vec::new();
    let mut file = env.open(path, ByteRange::ALL).await?.take(MOST + 1);
    file.read_to_end(&mut bytes).await.map_err(|e| ToolError(format!("{path}: {e}")))?;
    let text = String::from_utf8(bytes);
    Ok((stamp, text.map_err(|_| ToolError(format!("{path} is no UTF-8 text, so it cannot be edited")))?))
}

/// Which occurrences to replace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    TheOne,
    All,
}

/// The edited text, and how many places were replaced; or what to tell the model.
fn replace(text: &str, old: &str, new: &str, which: Which) -> Result<(String, usize), String> {
    if old.is_empty() {
        return Err("old_string is empty; to write a whole file use write_file".to_owned());
    }
    if old == new {
        return Err("old_string and new_string are the same".to_owned());
    }
    // The model sees lines without their ends. In a file with Windows ends it means those.
    let windows = text.contains("\r\n") && !old.contains('\r');
    let (old, new) = if windows {
        (old.replace('\n', "\r\n"), new.replace("\r\n", "\n").replace('\n', "\r\n"))
    } else {
        (old.to_owned(), new.to_owned())
    };
    let places: Vec<usize> = text.match_indices(&old).map(|(at, _)| at).collect();
    match (places.as_slice(), which) {
        ([], _) => Err(not_found(text, &old)),
        ([_], _) => Ok((text.replacen(&old, &new, 1), 1)),
        (places, Which::All) => Ok((text.replace(&old, &new), places.len())),
        (places, Which::TheOne) => Err(ambiguous(text, places)),
    }
}

fn ambiguous(text: &str, places: &[usize]) -> String {
    let lines: Vec<String> = places.iter().take(PLACES).map(|at| line_at(text, *at).to_string()).collect();
    let more = if places.len() > PLACES { ", …" } else { "" };
    format!(
        "old_string is in the file {} times (lines {}{more}); add lines around it until it is there once, \
         or set replace_all",
        places.len(),
        lines.join(", "),
    )
}

/// What is wrong with a text that is not there. The usual mistake is the space before a line.
fn not_found(text: &str, old: &str) -> String {
    let wanted: Vec<&str> = old.lines().map(str::trim).collect();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let near = lines.windows(wanted.len().max(1)).position(|window| window == wanted);
    let hint = match near {
        Some(line) if old.chars().any(|c| !c.is_whitespace()) => format!(
            "; the lines from {} on differ from it in white space only: copy them as they are",
            line + 1
        ),
        _ => "; read the file again and copy the text as it is, without line numbers".to_owned(),
    };
    format!("old_string is not in the file{hint}")
}

/// The number of the line, from 1, that this byte is on.
fn line_at(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let path = file_of(call, &*cx.env).await?;
            Ok(vec![Action::Read { path: path.clone() }, Action::Write { path }])
        })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        // Not cut short by a cancel: an edit is one atomic step.
        Box::pin(async move { Self::edit(permit.call(), cx).await.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, old: &str, new: &str, which: Which, expected: Result<(&str, usize), &str>) {
        match (replace(text, old, new, which), expected) {
            (Ok((edited, count)), Ok(expected)) => assert_eq!((edited.as_str(), count), expected),
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (got, expected) => panic!("{old:?} in {text:?}: {got:?}, not {expected:?}"),
        }
    }

    #[test]
    fn texts_are_replaced_exactly() {
        check("a b c", "b", "x", Which::TheOne, Ok(("a x c", 1)));
        check("a b a", "a", "x", Which::All, Ok(("x b x", 2)));
        check("a $1 b", "$1", "$2", Which::TheOne, Ok(("a $2 b", 1)));
        check("a b", "b", "", Which::TheOne, Ok(("a ", 1)));
        check("a\r\nb\r\n", "a\nb", "x\ny", Which::TheOne, Ok(("x\r\ny\r\n", 1)));
        check("a\r\nb\r\n", "a\r\nb", "x", Which::TheOne, Ok(("x\r\n", 1)));
    }

    #[test]
    fn what_cannot_be_replaced_is_explained() {
        check("a", "", "x", Which::TheOne, Err("write_file"));
        check("a", "a", "a", Which::TheOne, Err("the same"));
        check("a", "b", "x", Which::TheOne, Err("read the file again"));
        check("x\n  if a:\n    b\n", "if a:\n  b", "x", Which::TheOne, Err("lines from 2 on differ"));
        check("a\nb\na\n", "a", "x", Which::TheOne, Err("2 times (lines 1, 3)"));
        check(&"a\n".repeat(9), "a", "x", Which::TheOne, Err("9 times (lines 1, 2, 3, 4, 5, …)"));
        check("a\n\n", " ", "x", Which::TheOne, Err("read the file again"));
    }
}
