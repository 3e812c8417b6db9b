//! `edit_file`: one text in place of another.

use std::fmt::Write as _;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::text::{Content, TextFile};
use junto_env::{ErrorKind, ExecutionEnvironment, Kind, RealPath};
use junto_llm::{ToolCall, ToolSpec};
use junto_patch::{Edit, Place, Strategy, Which, replace};
use serde::Deserialize;
use serde_json::json;

use super::numbered::{Lines, excerpt};
use super::{arguments, file_of, guard, near};

/// The largest file that is edited, in bytes.
pub(super) const MOST: u64 = 8 * 1024 * 1024;
/// How many excerpts are shown after the edit.
const EXCERPTS: usize = 3;
/// How many lines are shown before and after a place.
const AROUND: usize = 2;
/// How many lines, and how many bytes, an excerpt has.
const SHOWN: (usize, usize) = (20, 2000);

/// Replaces a text in a file, if nobody else has changed the file since the model saw it. Keeps encoding,
/// byte order mark and line ends. What stands nowhere exactly as given is looked for in looser ways
/// ([`junto_patch::replace`]), and the result says which way found it.
pub struct EditFile(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

impl Default for EditFile {
    fn default() -> Self {
        Self(ToolSpec::foreign(
            "edit_file",
            "Replace a text in a file. The text must be in the file as given, and only once unless all of \
             its occurrences are to be replaced.",
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
}

impl EditFile {
    async fn edit(permit: &Permit, cx: &ToolCx) -> Result<String, ToolError> {
        let Arguments { old_string, new_string, replace_all } = arguments(permit.call())?;
        let mut reads = permit.reads();
        let path = reads.next().ok_or_else(|| ToolError("no file was named".to_owned()))?;
        let places: Vec<RealPath> = reads.cloned().collect();
        let file = read(&*cx.env, path, &places).await?;
        guard::check(cx, path, Some(file.stamp))?;
        let which = if replace_all { Which::All } else { Which::TheOne };
        let edit = replace(&file.text, &old_string, &new_string, which)
            .map_err(|error| ToolError(format!("{path}: {error}")))?;
        let stamp = file.write_back(&*cx.env, &edit.text).await.map_err(|error| match error.kind() {
            ErrorKind::Changed => ToolError(format!(
                "{path} was changed by somebody else just now, so it was left alone; read it again"
            )),
            _ => ToolError(format!("{error}; nothing was written")),
        })?;
        cx.seen.changed(path, Some(file.stamp), stamp);
        Ok(report(path, &edit))
    }
}

/// The text of a file that is to be edited.
async fn read(
    env: &dyn ExecutionEnvironment,
    path: &RealPath,
    places: &[RealPath],
) -> Result<TextFile, ToolError> {
    let content = match TextFile::read(env, path, MOST).await {
        Ok(content) => content,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let miss = near::miss(env, path, places).await;
            return Err(ToolError(format!("{miss}; a new file has to be written whole")));
        }
        Err(error) => return Err(error.into()),
    };
    Err(ToolError(match content {
        Content::Text(file) => return Ok(file),
        Content::TooLarge { kind: Kind::Text, size } => {
            format!("{path} is too large to edit ({size} bytes, at most {MOST}); a command can change it")
        }
        Content::Binary { what, .. } | Content::TooLarge { kind: Kind::Binary(what), .. } => {
            format!("{path} is a binary file ({what}), so it cannot be edited as text")
        }
        Content::Image { media_type, .. } | Content::TooLarge { kind: Kind::Image(media_type), .. } => {
            format!("{path} is a picture ({media_type}), so it cannot be edited as text")
        }
    }))
}

/// What was done, how the text was found if not as given, and the lines as they are now.
fn report(path: &RealPath, edit: &Edit) -> String {
    let count = edit.places.len();
    let times = if count == 1 { "once" } else { &format!("{count} times") };
    let how = match edit.strategy {
        Strategy::Exact => "",
        Strategy::LineTrimmed => {
            "; old_string was found only when the space around lines is not compared, and new_string was \
             indented like what it replaced"
        }
        Strategy::Whitespace => "; old_string was found only when space and kinds of quotes are not compared",
        Strategy::Fuzzy => "; old_string is not in the file, and what is most like it was replaced: check it",
    };
    let mut report = format!("replaced {times} in {path}{how}\n");
    let total = edit.text.lines().count();
    let windows = windows(&edit.places);
    for (window, next) in windows.iter().zip(windows.iter().skip(1).map(Some).chain([None])) {
        let Window { from, to, .. } = *window;
        let limit = to.min(total).saturating_sub(from) + 1;
        let bytes = SHOWN.1;
        let shown = excerpt(&edit.text, Lines { bytes, ..Lines::new(from as u64, limit as u64) });
        let cut = shown.lines().count() < limit;
        report += &shown;
        // Not where the next line follows, or there is none.
        if cut || next.map_or(to < total, |next| next.from > to + 1) {
            report.push_str("...\n");
        }
    }
    let left = count.saturating_sub(windows.iter().map(|window| window.places).sum());
    if left > 0 {
        let _ = writeln!(report, "[and {left} places more]");
    }
    report
}

/// Lines that are shown together, and how many places are in them.
struct Window {
    from: usize,
    to: usize,
    places: usize,
}

/// What is shown of the first places. Those that are near each other are shown together, and no line twice.
fn windows(places: &[Place]) -> Vec<Window> {
    let most = SHOWN.0;
    let mut windows: Vec<Window> = Vec::new();
    for place in places {
        let from = place.after.lines.start().saturating_sub(AROUND).max(1);
        let to = place.after.lines.end().saturating_add(AROUND);
        if let Some(window) = windows.last_mut()
            && (to <= window.to || from <= window.to + 1 && to < window.from + most)
        {
            window.to = window.to.max(to);
            window.places += 1;
            continue;
        }
        if windows.len() == EXCERPTS {
            break;
        }
        let from = windows.last().map_or(from, |last| from.max(last.to + 1));
        windows.push(Window { from, to: to.clamp(from, from + most - 1), places: 1 });
    }
    windows
}

impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let path = file_of(call, &*cx.env).await?;
            let places = near::places(&*cx.env, &path).await;
            let mut actions = vec![Action::Read { path: path.clone() }, Action::Write { path }];
            actions.extend(places.into_iter().map(|path| Action::Read { path }));
            Ok(actions)
        })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        // Not cut short by a cancel: an edit is one atomic step.
        Box::pin(async move { Self::edit(&permit, cx).await.into() })
    }
}
