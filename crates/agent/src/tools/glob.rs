//! `glob`: files by name.

use std::fmt::Write as _;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::{Found, RealPath, Search};
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::{arguments, below, place, root, search};

/// How many files are given, and how many characters their paths may have. It is a little less than a
/// model sees of this tool by default: what is cut there is the beginning, which is the newest.
const FILES: usize = 490;
const CHARS: usize = 19_000;

/// Finds files by a pattern, the last changed first. Ignores what Git ignores, and hidden files.
pub struct Glob(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
}

impl Default for Glob {
    fn default() -> Self {
        Self(ToolSpec::foreign(
            "glob",
            "Find files by name, the last changed first. A pattern without / matches at any depth. Leaves \
             out what .gitignore leaves out, and hidden files unless the pattern names them.",
            json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "For instance *.rs, src/**/*.ts or {a,b}.json"},
                    "path": {"type": "string", "description": "The directory to look in; the working directory by default"}
                },
                "required": ["pattern"]
            }),
        ))
    }
}

impl Glob {
    async fn find(permit: &Permit, cx: &ToolCx) -> Result<String, ToolError> {
        let Arguments { pattern, .. } = arguments(permit.call())?;
        let root = root(permit)?;
        let pattern = relative(&pattern, &root)?;
        let hits = search(cx, Search::glob(pattern, root).limit(FILES)).await?;
        let Found::Files(files) = &hits.found else {
            return Err(ToolError("the environment answered something else than files".to_owned()));
        };
        let mut text = String::new();
        let mut truncated = hits.truncated;
        for file in files {
            if text.len() > CHARS {
                truncated = true;
                break;
            }
            let _ = writeln!(text, "{}", below(&file.path, &cx.env.facts().cwd));
        }
        if files.is_empty() {
            text.push_str("no files match\n");
        }
        if truncated {
            text.push_str("[there are more; these were changed last]\n");
        }
        if hits.unreadable > 0 {
            let _ = writeln!(text, "[{} directories could not be searched]", hits.unreadable);
        }
        Ok(text)
    }
}

/// A pattern as seen from the directory it is looked for in.
fn relative(pattern: &str, root: &RealPath) -> Result<String, ToolError> {
    let root = root.to_string();
    let inner = pattern.strip_prefix(root.as_str()).and_then(|rest| rest.strip_prefix('/'));
    let inner = inner.or_else(|| pattern.strip_prefix("./")).unwrap_or(pattern);
    if inner.trim().is_empty() {
        return Err(ToolError("the pattern is empty".to_owned()));
    }
    if inner.starts_with('!') {
        return Err(ToolError("a pattern that begins with ! names no files; say which to find".to_owned()));
    }
    if inner.starts_with('/') {
        return Err(ToolError(format!("`{pattern}` is not in {root}; set path to where it begins")));
    }
    Ok(inner.to_owned())
}

impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let Arguments { path, .. } = arguments(call)?;
            Ok(vec![Action::Read { path: place(&*cx.env, path.as_deref()).await? }])
        })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move { Self::find(&permit, cx).await.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, expected: Result<&str, &str>) {
        let found = relative(pattern, &RealPath::resolved("/w/p"));
        match expected {
            Ok(inner) => assert_eq!(found, Ok(inner.to_owned())),
            Err(why) => assert!(found.as_ref().is_err_and(|e| e.0.contains(why)), "{found:?}"),
        }
    }

    #[test]
    fn patterns_are_seen_from_the_directory() {
        check("*.rs", Ok("*.rs"));
        check("./src/*.rs", Ok("src/*.rs"));
        check("/w/p/src/**", Ok("src/**"));
        check("/w/other/*", Err("set path"));
        check("!x", Err("begins with !"));
        check(" ", Err("empty"));
        check("/w/p/", Err("empty"));
    }
}
