//! `grep`: lines that match a pattern.

use std::fmt::Write as _;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::{Case, FileLines, Found, Hits, Line, RealPath, Search, Show};
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::{arguments, below, place, root, search};

/// How many results are given if nobody says.
const RESULTS: usize = 100;
/// How many results can be asked for.
const MOST_RESULTS: usize = 10_000;
/// How many lines around a match can be asked for.
const MOST_CONTEXT: u32 = 100;

/// Finds lines by a regular expression, or the files that have such lines. Ignores what Git ignores,
/// hidden files and binary ones.
pub struct Grep(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    glob_filter: Option<String>,
    #[serde(default)]
    case_insensitive: bool,
    max_results: Option<usize>,
    #[serde(default)]
    output_mode: Mode,
    #[serde(default)]
    context_lines: u32,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Content,
    FilesWithMatches,
    Count,
}

impl Default for Grep {
    fn default() -> Self {
        Self(ToolSpec::foreign(
            "grep",
            "Search in files with a regular expression (ripgrep's). Gives the matching lines with file and \
             line number, or only the files, or counts. Leaves out what .gitignore leaves out, hidden \
             files and binary ones.",
            json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "The regular expression"},
                    "path": {"type": "string", "description": "A directory or a file; the working directory by default"},
                    "glob_filter": {"type": "string", "description": "Only files that match this, for instance *.py or src/**"},
                    "case_insensitive": {"type": "boolean", "description": "Whether upper and lower case are the same; false by default"},
                    "max_results": {"type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "description": "How many results to give; 100 by default"},
                    "output_mode": {"type": "string", "enum": ["content", "files_with_matches", "count"], "description": "Lines (the default), files, or how many lines match in each file"},
                    "context_lines": {"type": "integer", "minimum": 0, "maximum": MOST_CONTEXT, "description": "How many lines to show before and after each match; 0 by default"}
                },
                "required": ["pattern"]
            }),
        ))
    }
}

impl Grep {
    async fn find(permit: &Permit, cx: &ToolCx) -> Result<String, ToolError> {
        let Arguments {
            pattern, glob_filter, case_insensitive, max_results, output_mode, context_lines, ..
        } = arguments(permit.call())?;
        let root = root(permit)?;
        let limit = max_results.unwrap_or(RESULTS).clamp(1, MOST_RESULTS);
        let context = context_lines.min(MOST_CONTEXT);
        let show = match output_mode {
            Mode::Content => Show::Lines { before: context, after: context },
            Mode::FilesWithMatches => Show::Files,
            Mode::Count => Show::Counts,
        };
        let case = if case_insensitive { Case::Insensitive } else { Case::Sensitive };
        let query = Search::grep(pattern, root).case(case).show(show).limit(limit);
        let query = match glob_filter {
            Some(glob) => query.only(glob),
            None => query,
        };
        let hits = search(cx, query).await?;
        Ok(tell(&hits, &cx.env.facts().cwd, limit))
    }
}

/// The hits as text, one on each line.
fn tell(hits: &Hits, cwd: &RealPath, limit: usize) -> String {
    let mut text = String::new();
    match &hits.found {
        Found::Lines(files) => {
            for file in files {
                lines(&mut text, file, &below(&file.path, cwd));
            }
        }
        Found::Counts(files) => {
            for file in files {
                let _ = writeln!(text, "{}:{}", below(&file.path, cwd), file.count);
            }
        }
        Found::Files(files) => {
            for file in files {
                let _ = writeln!(text, "{}", below(&file.path, cwd));
            }
        }
    }
    if text.is_empty() {
        text.push_str("no matches\n");
    }
    if hits.truncated {
        let _ = writeln!(
            text,
            "[there are more results than these; narrow the search, or set max_results above {limit}]"
        );
    }
    if hits.unreadable > 0 {
        let _ = writeln!(text, "[{} files or directories could not be searched]", hits.unreadable);
    }
    text
}

/// A file's lines, as `rg` writes them: `:` for a match, `-` for a line around one, `--` where lines
/// are left out between.
pub(crate) fn lines(text: &mut String, file: &FileLines, path: &str) {
    let has_context = file.lines.iter().any(|line| !line.matches);
    let mut before: Option<u64> = None;
    if has_context && !text.is_empty() {
        text.push_str("--\n");
    }
    for line in &file.lines {
        let Line { number, text: content, matches, cut_before, cut_after } = line;
        if has_context && before.is_some_and(|before| before.saturating_add(1) < *number) {
            text.push_str("--\n");
        }
        before = Some(*number);
        let mark = if *matches { ':' } else { '-' };
        let _ = write!(text, "{path}{mark}{number}{mark}");
        if *cut_before > 0 {
            let _ = write!(text, "[{cut_before} bytes] ");
        }
        text.push_str(content);
        if *cut_after > 0 {
            let _ = write!(text, " [{cut_after} bytes]");
        }
        text.push('\n');
    }
    if file.binary {
        let _ = writeln!(text, "[{path} is binary from there on and was searched no further]");
    }
}

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let Arguments { path, .. } = arguments(call)?;
            Ok(vec![Action::ReadAll { path: place(&*cx.env, path.as_deref()).await? }])
        })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move { Self::find(&permit, cx).await.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use junto_env::{FileCount, FoundFile};

    fn path(name: &str) -> RealPath {
        RealPath::resolved(format!("/w/{name}"))
    }

    fn line(number: u64, text: &str, matches: bool) -> Line {
        Line { number, text: text.into(), matches, cut_before: 0, cut_after: 0 }
    }

    fn file(name: &str, lines: Vec<Line>) -> FileLines {
        FileLines { path: path(name), lines, binary: false }
    }

    fn check(found: Found, truncated: bool, unreadable: usize, expected: &str) {
        let hits = Hits { found, truncated, unreadable };
        assert_eq!(tell(&hits, &RealPath::resolved("/w"), 2), expected);
    }

    #[test]
    fn hits_are_written_as_rg_writes_them() {
        check(Found::Lines(vec![]), false, 0, "no matches\n");
        let plain = vec![
            file("a", vec![line(1, "x", true), line(9, "y", true)]),
            file("b/c", vec![line(2, "z", true)]),
        ];
        check(Found::Lines(plain), false, 0, "a:1:x\na:9:y\nb/c:2:z\n");
        let around = vec![
            file("a", vec![line(1, "w", false), line(2, "x", true), line(8, "y", true)]),
            file("b", vec![line(2, "z", true), line(3, "", false)]),
        ];
        check(Found::Lines(around), false, 0, "a-1-w\na:2:x\n--\na:8:y\n--\nb:2:z\nb-3-\n");
        let counts = vec![FileCount { path: path("a"), count: 3 }];
        check(Found::Counts(counts), false, 1, "a:3\n[1 files or directories could not be searched]\n");
        let files = vec![FoundFile { path: RealPath::resolved("/else"), modified: None }];
        let more =
            "/else\n[there are more results than these; narrow the search, or set max_results above 2]\n";
        check(Found::Files(files), true, 0, more);
    }

    #[test]
    fn what_is_cut_is_said() {
        let long = Line { cut_before: 7, cut_after: 9, ..line(1, "x", true) };
        let odd = FileLines { binary: true, ..file("a", vec![long]) };
        let said = "a:1:[7 bytes] x [9 bytes]\n[a is binary from there on and was searched no further]\n";
        check(Found::Lines(vec![odd]), false, 0, said);
    }
}
