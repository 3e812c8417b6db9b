//! `read_many_files`: several files at once, by path and by pattern.

use std::fmt::Write as _;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::{ByteRange, Found, Order, RealPath, Search};
use junto_llm::{Media, MediaSource, ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::numbered::Lines;
use super::read_file::{self, LINES, Shown};
use super::{arguments, below, resolve};
use crate::toolbox::INTERRUPTED;

/// How many files are read at once.
const FILES: usize = 100;
/// How many bytes are shown of each.
const OF_EACH: usize = 64 * 1024;
/// How many bytes are shown in all; the file that crosses it is the last.
const OF_ALL: usize = 256 * 1024;
/// How many bytes of pictures are passed on in all.
const OF_PICTURES: usize = 8 * 1024 * 1024;
/// What makes a path a pattern, if there is no file of that name.
const WILD: [char; 4] = ['*', '?', '[', '{'];

/// Reads several files, each under its path. What cannot be read is named and does not keep the
/// others from being read. The call fails only if nothing at all could be read.
pub struct ReadManyFiles(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    paths: Vec<String>,
}

impl Default for ReadManyFiles {
    fn default() -> Self {
        Self(ToolSpec::foreign(
            "read_many_files",
            "Read several files at once, each as read_file shows it. Long files are shown in part.",
            json!({
                "type": "object",
                "properties": {
                    "paths": {
                        "type": "array",
                        "items": {"type": "string"},
                        "minItems": 1,
                        "maxItems": FILES,
                        "description": "Files, or glob patterns such as src/**/*.rs, which leave out what git ignores"
                    }
                },
                "required": ["paths"]
            }),
        ))
    }
}

impl ReadManyFiles {
    /// The files that a call names, each once, in the order in which it names them; one more than are
    /// read, if there are more.
    async fn files(call: &ToolCall, cx: &ToolCx) -> Result<Vec<RealPath>, ToolError> {
        let Arguments { paths } = arguments(call)?;
        let mut files = Vec::new();
        for path in &paths {
            let literal = resolve(&*cx.env, path).await?;
            let found = match pattern(path) {
                Some(pattern) if !is_there(cx, &literal).await => matching(pattern, cx).await?,
                _ => Vec::new(),
            };
            // A pattern without matches stays as it is, to be named as missing.
            for file in if found.is_empty() { vec![literal] } else { found } {
                if !files.contains(&file) && files.len() <= FILES {
                    files.push(file);
                }
            }
        }
        Ok(files)
    }

    async fn read(permit: &Permit, cx: &ToolCx) -> ToolOutcome {
        let mut batch = Batch::default();
        for (number, path) in permit.reads().enumerate() {
            if number == FILES {
                let _ = writeln!(batch.text, "[only the first {FILES} files; name fewer at once]");
                break;
            }
            if batch.text.len() > OF_ALL {
                batch.skipped.push(below(path, &cx.env.facts().cwd));
                continue;
            }
            let lines = Lines { bytes: OF_EACH, ..Lines::new(1, LINES) };
            let shown = read_file::read(cx, path, lines, &[]).await;
            batch.push(&below(path, &cx.env.facts().cwd), shown);
        }
        batch.outcome()
    }
}

/// A pattern: the directory it starts in, and the rest of it.
fn pattern(path: &str) -> Option<(&str, &str)> {
    let wild = path.find(WILD)?;
    let start = path.get(..wild)?.rfind('/').map_or(0, |slash| slash + 1);
    Some(path.split_at(start))
}

async fn is_there(cx: &ToolCx, path: &RealPath) -> bool {
    cx.env.open(path, ByteRange::ALL).await.is_ok()
}

/// The files that match a pattern, by path.
async fn matching((directory, glob): (&str, &str), cx: &ToolCx) -> Result<Vec<RealPath>, ToolError> {
    let root = resolve(&*cx.env, if directory.is_empty() { "." } else { directory }).await?;
    // The slash ties the pattern to its directory: without one it would match at any depth.
    let query = Search::glob(format!("/{glob}"), root).order(Order::Path).limit(FILES + 1);
    match cx.env.search(query, &cx.cancel).await {
        Ok(hits) => Ok(match hits.found {
            Found::Files(files) => files.into_iter().map(|file| file.path).collect(),
            Found::Lines(_) | Found::Counts(_) => Vec::new(),
        }),
        // The directory is missing: nothing matches.
        Err(error) if error.kind() == junto_env::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// What was read so far.
#[derive(Default)]
struct Batch {
    text: String,
    pictures: Vec<Media>,
    picture_bytes: usize,
    read: usize,
    /// Files for which there was no room.
    skipped: Vec<String>,
}

impl Batch {
    fn push(&mut self, name: &str, shown: Result<Shown, ToolError>) {
        let _ = writeln!(self.text, "==> {name} <==");
        match shown {
            Ok(Shown { text, pictures }) => {
                self.read += 1;
                self.text += &text;
                for picture in pictures {
                    self.picture(picture);
                }
            }
            Err(error) => {
                let why = if name.contains(WILD) { "nothing matches" } else { "not read" };
                let _ = write!(self.text, "[{why}: {error}]");
            }
        }
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push('\n');
    }

    fn picture(&mut self, picture: Media) {
        let bytes = match &picture.source {
            MediaSource::Bytes(bytes) => bytes.len(),
            MediaSource::Url(_) | MediaSource::Path(_) => 0,
        };
        if self.picture_bytes + bytes > OF_PICTURES {
            self.text += "\n[there are too many pictures already: read this file alone to see it]\n";
            return;
        }
        self.picture_bytes += bytes;
        self.pictures.push(picture);
    }

    fn outcome(mut self) -> ToolOutcome {
        if !self.skipped.is_empty() {
            let _ = writeln!(self.text, "[no room left for: {}]", self.skipped.join(", "));
        }
        let outcome = if self.read == 0 { ToolOutcome::error(self.text) } else { ToolOutcome::ok(self.text) };
        ToolOutcome { images: self.pictures, ..outcome }
    }
}

impl Tool for ReadManyFiles {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let files = Self::files(call, cx).await?;
            Ok(files.into_iter().map(|path| Action::Read { path }).collect())
        })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => ToolOutcome::error(INTERRUPTED),
                outcome = Self::read(&permit, cx) => outcome,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_told_from_paths() {
        for (path, expected) in [
            ("src/main.rs", None),
            ("*.rs", Some(("", "*.rs"))),
            ("src/**/*.rs", Some(("src/", "**/*.rs"))),
            ("/a/b{c,d}/e", Some(("/a/", "b{c,d}/e"))),
            ("a/b?.rs", Some(("a/", "b?.rs"))),
        ] {
            assert_eq!(pattern(path), expected, "{path}");
        }
    }
}
