//! `list_dir`: what is in a directory.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::{DirEntry, ErrorKind, ExecutionEnvironment, RealPath};
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::{arguments, near, place};
use crate::toolbox::INTERRUPTED;

/// How many entries are shown.
const MOST: usize = 1000;
/// How deep a listing goes at most.
const DEEPEST: u32 = 10;

/// Directories that programs fill and nobody writes by hand. They are shown, and what is in them only
/// if they are asked for by name: one of them can be larger than everything around it.
const CLOSED: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "node_modules",
    "target",
    "__pycache__",
    ".venv",
    "venv",
    ".tox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".gradle",
    ".next",
    ".cache",
];

/// Lists a directory, sorted by path. Directories end with a slash, files have their sizes. The first
/// level shows everything; deeper levels leave out what is in directories of generated files.
pub struct ListDir(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    path: Option<String>,
    depth: Option<u32>,
}

impl Default for ListDir {
    fn default() -> Self {
        Self(ToolSpec::foreign(
            "list_dir",
            "List what is in a directory. Directories end with a slash, files come with their sizes.",
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The directory; the working directory by default"},
                    "depth": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": DEEPEST,
                        "description": "How many levels to go down; 1 by default. Directories such as .git or node_modules are not opened unless they are the path"
                    }
                }
            }),
        ))
    }
}

impl ListDir {
    async fn directory(call: &ToolCall, env: &dyn ExecutionEnvironment) -> Result<RealPath, ToolError> {
        let Arguments { path, .. } = arguments(call)?;
        place(env, path.as_deref()).await
    }

    async fn list(permit: &Permit, cx: &ToolCx) -> Result<String, ToolError> {
        let Arguments { depth, .. } = arguments(permit.call())?;
        let mut reads = permit.reads();
        let path = reads.next().ok_or_else(|| ToolError("no directory was named".to_owned()))?;
        let places: Vec<RealPath> = reads.cloned().collect();
        match walk(&*cx.env, path, depth.unwrap_or(1).clamp(1, DEEPEST)).await {
            Ok(listing) => Ok(listing.text(path)),
            Err(error) => Err(match error.kind() {
                ErrorKind::NotFound => ToolError(near::miss(&*cx.env, path, &places).await),
                ErrorKind::WrongKind => {
                    ToolError(format!("{path} is a file and no directory; read it instead"))
                }
                _ => error.into(),
            }),
        }
    }
}

/// What was found.
#[derive(Default)]
struct Listing {
    entries: Vec<DirEntry>,
    /// Directories that were not opened.
    closed: Vec<PathBuf>,
    /// Directories that could not be.
    unreadable: Vec<PathBuf>,
    /// Whether there is more than is shown.
    goes_on: bool,
}

/// Lists level by level, so that what does not fit is what is deepest.
async fn walk(
    env: &dyn ExecutionEnvironment,
    root: &RealPath,
    depth: u32,
) -> Result<Listing, junto_env::Error> {
    let mut listing = Listing::default();
    let mut level = vec![PathBuf::new()];
    for levels_left in (0..depth).rev() {
        let mut next = Vec::new();
        for below in level {
            // Joined to a resolved path, and no link: listings say of links that they are no directories.
            let dir = RealPath::resolved(root.as_path().join(&below));
            let found = match env.list(&dir, 1).await {
                Ok(found) => found,
                Err(error) if below.as_os_str().is_empty() => return Err(error),
                Err(_) => {
                    listing.unreadable.push(below);
                    continue;
                }
            };
            for entry in found {
                if listing.entries.len() == MOST {
                    listing.goes_on = true;
                    listing.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
                    return Ok(listing);
                }
                let path = below.join(&entry.path);
                if entry.is_dir && levels_left > 0 {
                    let opened = if is_closed(&path) { &mut listing.closed } else { &mut next };
                    opened.push(path.clone());
                }
                listing.entries.push(DirEntry { path, ..entry });
            }
        }
        level = next;
    }
    listing.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(listing)
}

fn is_closed(path: &Path) -> bool {
    path.file_name().is_some_and(|name| CLOSED.iter().any(|closed| name == *closed))
}

impl Listing {
    fn text(&self, root: &RealPath) -> String {
        let mut text = format!("{root}:\n");
        for DirEntry { path, is_dir, size } in &self.entries {
            let path = one_line(path);
            let _ = match (is_dir, size) {
                (true, _) => writeln!(text, "{path}/"),
                (false, Some(size)) => writeln!(text, "{path} ({size} bytes)"),
                (false, None) => writeln!(text, "{path} (no regular file)"),
            };
        }
        if self.entries.is_empty() {
            text.push_str("[the directory is empty]\n");
        }
        for (paths, why) in [(&self.closed, "not opened"), (&self.unreadable, "not readable")] {
            if !paths.is_empty() {
                let names: Vec<String> = paths.iter().map(|path| one_line(path)).collect();
                let _ = writeln!(text, "[{why}: {}]", names.join(", "));
            }
        }
        if self.goes_on {
            let _ = writeln!(text, "[only the first {MOST} entries; list a directory in it, or use glob]");
        }
        text
    }
}

/// A path for a line of its own: names may have line ends in them.
fn one_line(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.chars().any(char::is_control) { text.escape_debug().to_string() } else { text.into_owned() }
}

impl Tool for ListDir {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let path = Self::directory(call, &*cx.env).await?;
            let places = near::places(&*cx.env, &path).await;
            Ok([path].into_iter().chain(places).map(|path| Action::Read { path }).collect())
        })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => ToolOutcome::error(INTERRUPTED),
                text = Self::list(&permit, cx) => text.into(),
            }
        })
    }
}
