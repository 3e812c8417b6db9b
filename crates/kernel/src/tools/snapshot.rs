//! Variables that outlive their kernel.

use std::io;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use junto_core::Seq;
use serde_json::{Map, Value};
use tokio::io::AsyncWriteExt as _;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::SecretIn;
use super::pickled::texts;
use crate::{Cell, CellEnd, Kernel, Piece};

/// The module that makes and reads snapshots in the kernel.
pub(super) const MODULE: &str = include_str!("../../python/junto_snapshot.py");

/// The most bytes that are kept.
const MOST: usize = 16 * 1024 * 1024;
/// How long it may take to make a snapshot, and to bring one back.
const WITHIN: Duration = Duration::from_secs(20);
/// The field that says whether the kernel was in a sandbox.
const CONFINED: &str = "confined";
/// The field that says how far the journal was.
const AFTER: &str = "after";
/// The field with the names of variables that have a secret in them.
const SECRET: &str = "secret";
/// How much of a snapshot one cell brings back.
const PIECE: usize = 512 * 1024;

/// What was kept of a kernel.
#[derive(Debug)]
pub(super) struct Kept(String);

impl Kept {
    /// What a file has; none if there is none that can be read.
    pub(super) async fn read(file: &Path) -> Option<Self> {
        let text = tokio::fs::read_to_string(file).await.ok()?;
        serde_json::from_str::<Value>(&text).ok()?;
        Some(Self(text))
    }

    /// Whether the kernel whose variables they are was in a sandbox. What does not say so was.
    pub(super) fn was_confined(&self) -> bool {
        let kept: Value = serde_json::from_str(&self.0).unwrap_or_default();
        kept.get(CONFINED).and_then(Value::as_bool).unwrap_or(true)
    }

    /// How far the session's journal was when they were kept. What does not say so is not known to be the last.
    pub(super) fn after(&self) -> Option<Seq> {
        let kept: Value = serde_json::from_str(&self.0).unwrap_or_default();
        kept.get(AFTER).and_then(Value::as_u64).map(Seq)
    }

    /// The names of the variables.
    pub(super) fn names(&self) -> Vec<String> {
        let kept: Value = serde_json::from_str(&self.0).unwrap_or_default();
        let names = |part: &str| {
            kept.get(part).and_then(Value::as_object).into_iter().flat_map(|values| values.keys().cloned())
        };
        let pickled = kept.get("values").and_then(Value::as_array).into_iter().flatten().flat_map(names_of);
        names("modules").chain(names("sources")).chain(pickled).collect()
    }

    /// The names of those that were not kept because there is a secret in them.
    fn secret(&self) -> Vec<String> {
        let kept: Value = serde_json::from_str(&self.0).unwrap_or_default();
        kept.get(SECRET).map(texts_of).unwrap_or_default()
    }
}

/// The names of variables that were pickled together.
fn names_of(pickled: &Value) -> Vec<String> {
    pickled.get("names").map(texts_of).unwrap_or_default()
}

fn texts_of(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten();
    texts.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

/// Takes what has a secret in it out of a snapshot, and gives the names.
fn without_secrets(made: &mut Map<String, Value>, is_secret: &SecretIn) -> Vec<String> {
    let mut secret = Vec::new();
    if let Some(sources) = made.get_mut("sources").and_then(Value::as_object_mut) {
        sources.retain(|name, source| {
            let found = source.as_str().is_some_and(|source| is_secret(source.as_bytes()));
            secret.extend(found.then(|| name.clone()));
            !found
        });
    }
    if let Some(values) = made.get_mut("values").and_then(Value::as_array_mut) {
        values.retain(|value| {
            let bytes =
                value.get("pickled").and_then(Value::as_str).and_then(|text| STANDARD.decode(text).ok());
            let found = bytes.is_some_and(|bytes| texts(&bytes).any(is_secret));
            secret.extend(found.then(|| names_of(value)).into_iter().flatten());
            !found
        });
    }
    secret
}

/// What is said of a snapshot beside its variables.
pub(super) struct Circumstances<'a> {
    /// Whether the kernel is in a sandbox.
    pub(super) confined: bool,
    /// How far the session's journal is.
    pub(super) after: Seq,
    /// What must not be kept; absent: everything may.
    pub(super) secret: Option<&'a SecretIn>,
}

/// Keeps the variables of a kernel in a file. What cannot be kept is noted in it; if nothing can, the file is gone. Says
/// whether the kernel was lost over it.
pub(super) async fn keep(kernel: &Kernel, file: &Path, circumstances: Circumstances<'_>) -> bool {
    let Circumstances { confined, after, secret } = circumstances;
    let mut pieces: Vec<Piece> = Vec::new();
    let code = format!("__import__('junto_snapshot').save({MOST})");
    let cell = Cell { quiet: true, ..Cell::new(code).within(WITHIN) };
    let ran = kernel.run(cell, &mut pieces).await;
    let made = pieces.into_iter().rev().find_map(|piece| match piece {
        Piece::Json(Value::Object(value)) if value.contains_key("junto_snapshot") => Some(value),
        _ => None,
    });
    let done = ran.as_ref().is_ok_and(|ran| ran.end == CellEnd::Done && !ran.state_lost);
    let text = made.filter(|_| done).map(|mut made| {
        let secret = secret.map(|is_secret| without_secrets(&mut made, is_secret)).unwrap_or_default();
        // Ours to say, and not the kernel's.
        made.insert(CONFINED.to_owned(), confined.into());
        made.insert(AFTER.to_owned(), after.0.into());
        made.insert(SECRET.to_owned(), secret.into());
        Value::Object(made).to_string()
    });
    // A session whose variables are not kept is told so when it is resumed.
    let _ = match text {
        Some(text) => write(file, &text).await,
        None => tokio::fs::remove_file(file).await,
    };
    ran.is_ok_and(|ran| ran.state_lost)
}

/// Writes a file that is there whole or not at all.
async fn write(file: &Path, text: &str) -> io::Result<()> {
    let new = file.with_extension(Uuid::new_v4().simple().to_string());
    if let Some(folder) = file.parent() {
        tokio::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).await?;
    }
    // Nobody else reads it.
    let mut kept = tokio::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).await?;
    kept.write_all(text.as_bytes()).await?;
    kept.flush().await?;
    tokio::fs::rename(&new, file).await
}

/// Brings variables back into a kernel. Says what the model has to know: nothing, if all are there.
///
/// # Errors
/// Why they are not.
pub(super) async fn load(kernel: &Kernel, kept: Kept, cancel: &CancellationToken) -> Result<String, String> {
    let secret = kept.secret();
    let mut rest = kept.0.as_str();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        // A string of JSON is one of Python, too.
        run(kernel, format!("__import__('junto_snapshot').take({})", Value::from(piece)), cancel).await?;
        rest = after;
    }
    let pieces = run(kernel, "__import__('junto_snapshot').load()".to_owned(), cancel).await?;
    let said = pieces.into_iter().find_map(|piece| match piece {
        Piece::Json(value) => value.get("junto_restored").and_then(Value::as_array).cloned(),
        _ => None,
    });
    let left = said.map(|said| texts_of(&said.into())).unwrap_or_default();
    let but = [(left, "could not be kept"), (secret, "is not kept, because there is a secret in it")];
    let but: Vec<String> = but
        .into_iter()
        .filter(|(names, _)| !names.is_empty())
        .map(|(names, why)| format!("{}, which {why}", names.join(", ")))
        .collect();
    if but.is_empty() {
        return Ok(String::new());
    }
    Ok(format!("[variables of earlier cells are back, but for {}]", but.join(", and ")))
}

async fn run(kernel: &Kernel, code: String, cancel: &CancellationToken) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let cell = Cell { quiet: true, cancel: cancel.clone(), ..Cell::new(code).within(WITHIN) };
    match kernel.run(cell, &mut pieces).await {
        Ok(ran) if ran.end == CellEnd::Done => Ok(pieces),
        Ok(_) => Err("they could not be brought back".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
