//! `apply_patch`: changes to several files, all of them or none.

mod commit;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::text::{Content, TextFile};
use junto_env::{ErrorKind, ExecutionEnvironment, RealPath, Stamp};
use junto_llm::{ToolCall, ToolSpec};
use junto_patch::{Applied, Change, File, Operation, Patch, Placed, Stage};
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use self::commit::{Done, Step, commit};
use super::edit_file::MOST;
use super::write_file::as_it_was;
use super::{arguments, below, guard, outdated, resolve};

/// How many bytes of files are held for one patch. All are kept until it is done, to be put back.
const MOST_IN_ALL: u64 = 2 * MOST;

/// Applies a patch in the v4a format ([`junto_patch::Patch`]). The whole patch is worked out in memory
/// before anything is written. If a write fails nevertheless, what was written before it is put back,
/// so that a patch that fails leaves all files as they were; directories that it made may stay. What a
/// symbolic link leads to is changed under its own name, and neither deleted nor moved.
pub struct ApplyPatch(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    patch: String,
}

impl Default for ApplyPatch {
    fn default() -> Self {
        Self(ToolSpec::foreign(
            "apply_patch",
            "Change files with a patch in the v4a format. It can add, update, move and delete several files. \
             If a part of it does not fit, nothing is changed.",
            json!({
                "type": "object",
                "properties": {
                    "patch": {
                        "type": "string",
                        "description": "The patch, from \"*** Begin Patch\" to \"*** End Patch\". Paths are relative to the working directory"
                    }
                },
                "required": ["patch"]
            }),
        ))
    }
}

/// A file of the patch as it is before.
struct Before {
    path: RealPath,
    held: Held,
}

enum Held {
    Missing,
    Text(TextFile),
    /// There is one that is no text, or too large to be held.
    Opaque {
        stamp: Stamp,
        size: u64,
    },
}

impl Before {
    fn file(&self) -> File<'_> {
        match &self.held {
            Held::Missing => File::Missing,
            Held::Text(file) => File::Text(&file.text),
            Held::Opaque { .. } => File::Opaque,
        }
    }

    fn stamp(&self) -> Option<Stamp> {
        match &self.held {
            Held::Missing => None,
            Held::Text(file) => Some(file.stamp),
            Held::Opaque { stamp, .. } => Some(*stamp),
        }
    }
}

/// The files of a patch, by the paths that it has when these are resolved.
type Files = HashMap<String, Before>;

fn parse(call: &ToolCall) -> Result<Patch, ToolError> {
    let Arguments { patch } = arguments(call)?;
    let patch =
        Patch::parse(&patch).map_err(|error| ToolError(format!("the patch cannot be read: {error}")))?;
    if patch.operations.is_empty() {
        return Err(ToolError("the patch is empty".to_owned()));
    }
    Ok(patch)
}

/// The paths that a patch names, each once, in its order.
fn names(patch: &Patch) -> Vec<&str> {
    let mut names = Vec::new();
    for operation in &patch.operations {
        let (path, moved_to) = match operation {
            Operation::Add { path, .. } | Operation::Delete { path } => (path, None),
            Operation::Update { path, moved_to, .. } => (path, moved_to.as_ref()),
        };
        for name in [Some(path), moved_to].into_iter().flatten() {
            if !names.contains(&name.as_str()) {
                names.push(name.as_str());
            }
        }
    }
    names
}

/// The paths that a patch takes away: what it deletes, and what it moves elsewhere.
fn taken_away(patch: &Patch) -> Vec<&str> {
    let taken = patch.operations.iter().filter_map(|operation| match operation {
        Operation::Delete { path } => Some(path),
        Operation::Update { path, moved_to: Some(to), .. } if to != path => Some(path),
        Operation::Update { .. } | Operation::Add { .. } => None,
    });
    taken.map(String::as_str).collect()
}

/// Refuses a name that is a symbolic link: what it leads to, maybe far from here, would be taken away,
/// and the link would be left behind.
async fn refuse_link(env: &dyn ExecutionEnvironment, name: &str, real: &RealPath) -> Result<(), ToolError> {
    let given = Path::new(name);
    let (Some(parent), Some(last)) = (given.parent().and_then(Path::to_str), given.file_name()) else {
        return Ok(());
    };
    let folder = resolve(env, if parent.is_empty() { "." } else { parent }).await?;
    if name == "~" || folder.as_path().join(last) == real.as_path() {
        return Ok(());
    }
    Err(ToolError(format!(
        "{name} is a symbolic link to {real}, and a patch neither deletes nor moves what a link leads to; \
         nothing was changed"
    )))
}

impl ApplyPatch {
    async fn apply(permit: &Permit, cx: &ToolCx) -> Result<String, ToolError> {
        let patch = parse(permit.call())?;
        let (patch, paths) = resolved(patch, permit)?;
        let files = read(&*cx.env, &patch, paths).await?;
        refuse_outdated(&patch, &files, cx)?;
        let applied = {
            let before = |path: &str| files.get(path).map_or(File::Missing, Before::file);
            junto_patch::apply(&patch, before).map_err(|error| {
                too_large(&files, &error)
                    .unwrap_or_else(|| ToolError(format!("{error}\nNothing was changed.")))
            })?
        };
        if applied.changes.is_empty() {
            return Ok("the patch changes nothing: the files are like this already".to_owned());
        }
        let report = report(&applied, &files, &cx.env.facts().cwd);
        let steps = steps(&*cx.env, &patch, applied.changes, &files).await?;
        // In a task of its own: whoever drops this call must not leave half of a patch behind.
        let done = tokio::spawn(commit(Arc::clone(&cx.env), steps)).await;
        let Done { note, written } = done
            .unwrap_or_else(|error| Err(format!("the patch was broken off: {error}")))
            .map_err(ToolError)?;
        for (path, stamp) in written {
            let before = files.values().find(|file| file.path == path).and_then(Before::stamp);
            cx.seen.changed(&path, before, stamp);
        }
        Ok(report + &note)
    }
}

/// The patch with resolved paths, and these. They come from the permit, which has one for each name.
fn resolved(patch: Patch, permit: &Permit) -> Result<(Patch, Vec<(String, RealPath)>), ToolError> {
    let mut real = HashMap::new();
    for (name, path) in names(&patch).into_iter().zip(permit.writes()) {
        let text = path.as_path().to_str();
        let text = text.ok_or_else(|| ToolError(format!("{path} has a name that is no UTF-8")))?;
        real.insert(name.to_owned(), (text.to_owned(), path.clone()));
    }
    let patch =
        patch.map_paths(|name| real.get(name).map_or_else(|| name.to_owned(), |(text, _)| text.clone()));
    Ok((patch, real.into_values().collect()))
}

async fn read(
    env: &dyn ExecutionEnvironment,
    patch: &Patch,
    paths: Vec<(String, RealPath)>,
) -> Result<Files, ToolError> {
    let only_removed = |name: &str| {
        patch.operations.iter().all(|operation| match operation {
            Operation::Delete { .. } => true,
            Operation::Add { path, .. } => path != name,
            Operation::Update { path, moved_to, .. } => path != name && moved_to.as_deref() != Some(name),
        })
    };
    let mut left = MOST_IN_ALL;
    let mut files = Files::new();
    for (name, path) in paths {
        // What only goes is not read: its beginning tells that it is there.
        let most = if only_removed(&name) { 0 } else { left.min(MOST) };
        let held = match TextFile::read(env, &path, most).await {
            Ok(Content::Text(file)) => Held::Text(file),
            Ok(Content::Image { bytes, .. }) => opaque(env, &path, bytes.len() as u64).await?,
            Ok(Content::Binary { size, .. } | Content::TooLarge { size, .. }) => {
                opaque(env, &path, size).await?
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Held::Missing,
            Err(error) => return Err(ToolError(format!("{error}\nNothing was changed."))),
        };
        if let Held::Text(file) = &held {
            left = left.saturating_sub(file.text.len() as u64);
        }
        files.insert(name, Before { path, held });
    }
    Ok(files)
}

/// Refuses a patch of files that are not what was shown to whoever allowed it, and one that adds a file in the
/// place of one that was changed since the model saw it. An update shows by its context that it is about what
/// is there.
fn refuse_outdated(patch: &Patch, files: &Files, cx: &ToolCx) -> Result<(), ToolError> {
    for file in files.values() {
        guard::as_shown(cx, &file.path, file.stamp())?;
    }
    for operation in &patch.operations {
        if let Operation::Add { path, .. } = operation
            && let Some(file) = files.get(path)
            && let Some(stamp) = file.stamp()
            && cx.seen.is_outdated(&file.path, stamp)
        {
            return Err(outdated(&file.path));
        }
    }
    Ok(())
}

async fn opaque(env: &dyn ExecutionEnvironment, path: &RealPath, size: u64) -> Result<Held, ToolError> {
    Ok(env.stamp(path).await?.map_or(Held::Missing, |stamp| Held::Opaque { stamp, size }))
}

/// What to say of a text that the patch does not fit because it was not read.
fn too_large(files: &Files, error: &junto_patch::ApplyError) -> Option<ToolError> {
    let Held::Opaque { size, .. } = files.get(error.path())?.held else { return None };
    (*error.kind() == junto_patch::ApplyErrorKind::NotText).then(|| {
        let path = error.path();
        ToolError(format!(
            "{path} cannot be patched: it has {size} bytes and is no text, or the patch is about more than \
             {MOST_IN_ALL} bytes of files. Nothing was changed."
        ))
    })
}

/// What to do to the files, with what is needed to put them back.
async fn steps(
    env: &dyn ExecutionEnvironment,
    patch: &Patch,
    changes: Vec<Change>,
    files: &Files,
) -> Result<Vec<Step>, ToolError> {
    let added = |name: &str| {
        patch.operations.iter().any(|op| matches!(op, Operation::Add { path, .. } if path == name))
    };
    let before = |name: &str| {
        files.get(name).ok_or_else(|| ToolError(format!("the patch came up with the file {name}")))
    };
    let (mut writes, mut removals) = (Vec::new(), Vec::new());
    for change in changes {
        match change {
            Change::Create { path, text } => {
                writes.push(Step::Create { path: before(&path)?.path.clone(), new: text.into_bytes() });
            }
            Change::Write { path, text, moved_from } => {
                let target = before(&path)?;
                let source = before(moved_from.as_ref().unwrap_or(&path))?;
                let new = match &source.held {
                    Held::Text(file) if added(&path) => as_it_was(file, text).bytes,
                    Held::Text(file) => file.encode(&text)?,
                    Held::Missing | Held::Opaque { .. } => text.into_bytes(),
                };
                match (&moved_from, source.stamp(), target.stamp()) {
                    // Renamed and not written anew, so that the file keeps its mode.
                    (Some(_), Some(stamp), None) => {
                        let old = bytes(env, source).await?;
                        let content = (old != new).then_some((old, new));
                        let (from, to) = (source.path.clone(), target.path.clone());
                        writes.push(Step::Move { from, to, stamp, content });
                    }
                    (_, from, Some(stamp)) => {
                        let old = bytes(env, target).await?;
                        writes.push(Step::Write { path: target.path.clone(), old, new, stamp });
                        if let (Some(_), Some(stamp)) = (moved_from, from) {
                            removals.push(Step::Remove { path: source.path.clone(), stamp });
                        }
                    }
                    (_, _, None) => writes.push(Step::Create { path: target.path.clone(), new }),
                }
            }
            Change::Remove { path } => {
                let Before { path, .. } = before(&path)?;
                let stamp = env.stamp(path).await?.ok_or_else(|| ToolError(format!("there is no {path}")))?;
                removals.push(Step::Remove { path: path.clone(), stamp });
            }
        }
    }
    writes.append(&mut removals);
    Ok(writes)
}

/// What a file has, byte by byte.
async fn bytes(env: &dyn ExecutionEnvironment, before: &Before) -> Result<Vec<u8>, ToolError> {
    let path = &before.path;
    if let Held::Text(file) = &before.held
        && let Ok(bytes) = file.encode(&file.text)
    {
        return Ok(bytes);
    }
    let mut bytes = Vec::new();
    let file = env.open(path, junto_env::ByteRange::ALL).await?;
    file.take(MOST + 1)
        .read_to_end(&mut bytes)
        .await
        .map_err(|error| ToolError(format!("{path}: {error}")))?;
    if bytes.len() as u64 > MOST {
        return Err(ToolError(format!("{path} is too large to be replaced by a patch; nothing was changed")));
    }
    Ok(bytes)
}

/// What was done to which file, and which hunks were found only by looking less closely.
fn report(applied: &Applied, files: &Files, cwd: &RealPath) -> String {
    let name = |path: &str| files.get(path).map_or_else(|| path.to_owned(), |file| below(&file.path, cwd));
    let mut report = String::new();
    for change in &applied.changes {
        let line = match change {
            Change::Create { path, .. } => format!("A {}", name(path)),
            Change::Write { path, moved_from: None, .. } => format!("M {}", name(path)),
            Change::Write { path, moved_from: Some(from), .. } => {
                format!("R {} -> {}", name(from), name(path))
            }
            Change::Remove { path } => format!("D {}", name(path)),
        };
        let _ = writeln!(report, "{line}");
    }
    for Placed { path, hunk, line, stage } in &applied.hunks {
        let without = match stage {
            Stage::Exact => continue,
            Stage::TrailingSpace => "space at the end of lines",
            Stage::SurroundingSpace => "space around lines",
            Stage::Punctuation => "space around lines and kinds of quotes and dashes",
        };
        let _ = writeln!(
            report,
            "[{}, hunk {hunk}: found at line {line} only when {without} is not compared]",
            name(path)
        );
    }
    report
}

impl Tool for ApplyPatch {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let patch = parse(call)?;
            let taken_away = taken_away(&patch);
            let mut actions = Vec::new();
            for name in names(&patch) {
                let path = resolve(&*cx.env, name).await?;
                if taken_away.contains(&name) {
                    refuse_link(&*cx.env, name, &path).await?;
                }
                actions.extend([Action::Read { path: path.clone() }, Action::Write { path }]);
            }
            Ok(actions)
        })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        // Not cut short by a cancel: it is all or nothing.
        Box::pin(async move { Self::apply(&permit, cx).await.into() })
    }
}
