//! `read_file`: a file's lines, numbered; or the picture that it is.

use std::ffi::OsStr;
use std::fmt::Write as _;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::text::{Content, LineEnding, TextFile};
use junto_env::{ByteRange, ErrorKind, ExecutionEnvironment, Kind, RealPath, Stamp};
use junto_llm::{Media, ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use super::numbered::{Lines, Numbered, Wanted};
use super::{arguments, file_of, image, near, notebook};
use crate::toolbox::INTERRUPTED;

/// How many lines are read if nobody says.
pub(super) const LINES: u64 = 2000;
/// Up to this size a file is taken whole, and its encoding found out. A longer one is read in pieces
/// and only as far as it was asked for, and is taken for UTF-8.
const WHOLE: u64 = 8 * 1024 * 1024;
/// The largest notebook that is shown as text. Pictures make them large.
const NOTEBOOK: u64 = 16 * 1024 * 1024;
/// How many bytes are read at once.
const PIECE: usize = 64 * 1024;

/// Reads a file: text with line numbers, notebooks as text, pictures as pictures. Says what the file
/// is if it is something else, and what may have been meant if there is none. Memory is bounded
/// whatever the file is.
pub struct ReadFile(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    offset: Option<u64>,
    limit: Option<u64>,
}

impl Default for ReadFile {
    fn default() -> Self {
        Self(ToolSpec::foreign(
            "read_file",
            "Read a file. Text comes with line numbers, a Jupyter notebook as the text of its cells, and a \
             picture (PNG, JPEG, GIF, WebP) as a picture.",
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
}

impl ReadFile {
    async fn read(permit: &Permit, cx: &ToolCx) -> Result<Shown, ToolError> {
        let Arguments { offset, limit } = arguments(permit.call())?;
        let lines = Lines::new(offset.unwrap_or(1), limit.unwrap_or(LINES));
        let mut reads = permit.reads();
        let path = reads.next().ok_or_else(|| ToolError("no file was named".to_owned()))?;
        let places: Vec<RealPath> = reads.cloned().collect();
        read(cx, path, lines, &places).await
    }
}

/// What a model is shown of a file.
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) pictures: Vec<Media>,
}

impl From<String> for Shown {
    fn from(text: String) -> Self {
        Self { text, pictures: Vec::new() }
    }
}

/// Reads a file for a model, and notes that it was seen. `places` is where to look for what was meant if
/// there is none.
pub(super) async fn read(
    cx: &ToolCx,
    path: &RealPath,
    lines: Lines,
    places: &[RealPath],
) -> Result<Shown, ToolError> {
    let (shown, stamp) = look(&*cx.env, path, lines, places).await?;
    match stamp {
        Some(stamp) => cx.seen.note(path, stamp),
        None => cx.seen.forget(path),
    }
    Ok(shown)
}

/// What a model is shown of a file, and what the file was like, if it was read whole for that.
async fn look(
    env: &dyn ExecutionEnvironment,
    path: &RealPath,
    lines: Lines,
    places: &[RealPath],
) -> Result<(Shown, Option<Stamp>), ToolError> {
    let is_notebook = path.as_path().extension() == Some(OsStr::new("ipynb"));
    let most = if is_notebook { NOTEBOOK } else { WHOLE };
    let content = match TextFile::read(env, path, most).await {
        Ok(content) => content,
        Err(error) => {
            return Err(match error.kind() {
                ErrorKind::NotFound => ToolError(near::miss(env, path, places).await),
                ErrorKind::WrongKind if is_directory(env, path).await => ToolError(format!(
                    "{path} is a directory, so there are no lines to show; list what is in it"
                )),
                _ => error.into(),
            });
        }
    };
    match content {
        Content::Text(file) => {
            let shown =
                if is_notebook { from_notebook(&file, lines) } else { text(&file, lines).map(Shown::from) };
            Ok((shown?, Some(file.stamp)))
        }
        Content::TooLarge { kind: Kind::Text, .. } => Ok((stream(env, path, lines).await?.into(), None)),
        Content::TooLarge { kind: Kind::Image(media_type), size } => {
            Err(ToolError(format!("{path}: {}", image::too_large(media_type, size))))
        }
        Content::Image { bytes, .. } => {
            let name = path.as_path().file_name().unwrap_or_default().to_string_lossy();
            let (picture, line) =
                image::picture(bytes, &name).map_err(|why| ToolError(format!("{path}: {why}")))?;
            Ok((Shown { text: line, pictures: vec![picture] }, None))
        }
        Content::Binary { what, size } | Content::TooLarge { kind: Kind::Binary(what), size } => {
            Err(ToolError(format!(
                "{path} is a binary file ({what}, {size} bytes), so there are no lines to show; use a program \
                 that knows it"
            )))
        }
    }
}

async fn is_directory(env: &dyn ExecutionEnvironment, path: &RealPath) -> bool {
    env.list(path, 1).await.map_or_else(|error| error.kind() == ErrorKind::TooLarge, |_| true)
}

/// The lines of a text that is held whole.
fn text(file: &TextFile, lines: Lines) -> Result<String, ToolError> {
    let mut shown = match file.format.line_ending {
        LineEnding::Cr => number(&file.text.replace('\r', "\n"), lines)?,
        LineEnding::Lf | LineEnding::CrLf => number(&file.text, lines)?,
    };
    if let Some(caveat) = file.caveat() {
        let _ = writeln!(shown, "[{caveat}]");
    }
    Ok(shown)
}

fn number(text: &str, lines: Lines) -> Result<String, ToolError> {
    let mut numbered = Numbered::new(lines);
    numbered.push(text.as_bytes());
    numbered.finish().map_err(ToolError)
}

/// The lines of a text that is too long to be held.
async fn stream(env: &dyn ExecutionEnvironment, path: &RealPath, lines: Lines) -> Result<String, ToolError> {
    let mut file = env.open(path, ByteRange::ALL).await?;
    let mut numbered = Numbered::new(lines);
    let mut piece = vec![0; PIECE];
    loop {
        let read = file.read(&mut piece).await.map_err(|e| ToolError(format!("{path}: {e}")))?;
        let wanted = numbered.push(piece.get(..read).unwrap_or_default());
        if read == 0 || wanted == Wanted::NoMore {
            return numbered.finish().map_err(ToolError);
        }
    }
}

/// The cells of a notebook; or its lines, if it turns out to be none.
fn from_notebook(file: &TextFile, lines: Lines) -> Result<Shown, ToolError> {
    let notebook = match notebook::read(file.text.as_bytes()) {
        Ok(notebook) => notebook,
        Err(why) => {
            let shown = text(file, lines)?;
            return Ok(format!("{shown}[no notebook that can be read: {why}]\n").into());
        }
    };
    let left_out = match notebook.left_out {
        0 => String::new(),
        cells => format!(" The last {cells} did not fit."),
    };
    let note = format!(
        "[a notebook of {} cells, shown as text: the file itself is JSON, and what is changed in it is that.{left_out}]\n",
        notebook.cells
    );
    let shown = if notebook.text.is_empty() { String::new() } else { number(&notebook.text, lines)? };
    Ok(Shown { text: note + &shown, pictures: notebook.pictures })
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let path = file_of(call, &*cx.env).await?;
            let places = near::places(&*cx.env, &path).await;
            Ok([path].into_iter().chain(places).map(|path| Action::Read { path }).collect())
        })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => ToolOutcome::error(INTERRUPTED),
                shown = Self::read(&permit, cx) => match shown {
                    Ok(Shown { text, pictures }) => ToolOutcome { images: pictures, ..ToolOutcome::ok(text) },
                    Err(error) => ToolOutcome::error(error.to_string()),
                },
            }
        })
    }
}
