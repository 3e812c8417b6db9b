//! What references name, read for the model.

use std::fmt::Write as _;
use std::path::PathBuf;

use junto_core::{Action, Gate, Verdict};
use junto_env::text::{Content, TextFile};
use junto_env::{ByteRange, ErrorKind, ExecutionEnvironment, Kind, RealPath, Stamp};
use tokio::io::AsyncReadExt as _;

use super::Reference;
use crate::tools::below;

/// How many bytes of one file are included.
const FILE: usize = 64 * 1024;
/// How many bytes all files together may have.
const ALL: usize = 256 * 1024;
/// How many entries of a directory.
const ENTRIES: usize = 200;

/// What was included.
#[derive(Debug, Default)]
pub(crate) struct Included {
    /// What follows the input; empty if there is nothing.
    pub(crate) text: String,
    /// The pictures among them.
    pub(crate) images: Vec<PathBuf>,
    /// The files that the model has seen whole, as they were.
    pub(crate) seen: Vec<(RealPath, Stamp)>,
    /// What was not included, for the user.
    pub(crate) refused: Vec<String>,
}

/// What there is of a file.
enum Found {
    Text {
        text: String,
        cut: bool,
        stamp: Option<Stamp>,
    },
    Picture,
    /// Something that cannot be shown.
    Other(String),
    Directory(String),
}

/// Reads what these references name, as far as the gate lets anybody read it. What is not there is passed over.
pub(crate) async fn include(
    references: &[Reference],
    env: &dyn ExecutionEnvironment,
    gate: &Gate,
) -> Included {
    let mut included = Included::default();
    let mut known: Vec<RealPath> = Vec::new();
    for reference in references {
        let Some(path) = there(reference, env).await else { continue };
        if known.contains(&path) {
            continue;
        }
        known.push(path.clone());
        let name = below(&path, &env.facts().cwd);
        if reference.within.as_ref().is_some_and(|folder| !path.as_path().starts_with(folder)) {
            included.refuse(&name, "a command of a project includes only files of the project");
            continue;
        }
        let reason = match gate.verdict("read_file", &[Action::Read { path: path.clone() }]) {
            Verdict::Allow(_) => None,
            Verdict::Deny { reason } => Some(reason),
            Verdict::Ask { reason, .. } if reason.is_empty() => Some("it needs leave".to_owned()),
            Verdict::Ask { reason, .. } => Some(format!("it needs leave: {reason}")),
        };
        if let Some(reason) = reason {
            included.refuse(&name, &reason);
            continue;
        }
        match look(&path, env).await {
            Ok(found) => included.add(&path, &name, found),
            Err(reason) => included.refuse(&name, &reason),
        }
    }
    included
}

/// The first path of a reference that is there.
async fn there(reference: &Reference, env: &dyn ExecutionEnvironment) -> Option<RealPath> {
    for path in &reference.paths {
        if let Ok(real) = env.resolve(path).await
            && !matches!(env.stamp(&real).await, Ok(None))
        {
            return Some(real);
        }
    }
    None
}

async fn look(path: &RealPath, env: &dyn ExecutionEnvironment) -> Result<Found, String> {
    Ok(match TextFile::read(env, path, FILE as u64).await {
        Ok(Content::Text(file)) => Found::Text { stamp: Some(file.stamp), text: file.text, cut: false },
        Ok(Content::Image { .. } | Content::TooLarge { kind: Kind::Image(_), .. }) => Found::Picture,
        Ok(Content::TooLarge { kind: Kind::Text, .. }) => {
            let range = ByteRange { start: 0, length: Some(FILE as u64) };
            let mut bytes = Vec::new();
            let mut file = env.open(path, range).await.map_err(|error| error.to_string())?;
            file.read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
            Found::Text { text: String::from_utf8_lossy(&bytes).into_owned(), cut: true, stamp: None }
        }
        Ok(Content::Binary { what, .. } | Content::TooLarge { kind: Kind::Binary(what), .. }) => {
            Found::Other(what.to_owned())
        }
        Err(error) if error.kind() == ErrorKind::WrongKind => {
            Found::Directory(listing(path, env).await.map_err(|error| error.to_string())?)
        }
        Err(error) => return Err(error.to_string()),
    })
}

/// What is in a directory, a line for each.
async fn listing(path: &RealPath, env: &dyn ExecutionEnvironment) -> junto_env::Result<String> {
    let entries = env.list(path, 1).await?;
    let mut text = String::new();
    for entry in entries.iter().take(ENTRIES) {
        let _ = writeln!(text, "{}{}", entry.path.display(), if entry.is_dir { "/" } else { "" });
    }
    if entries.len() > ENTRIES {
        let _ = writeln!(text, "[{} more]", entries.len() - ENTRIES);
    }
    Ok(text)
}

impl Included {
    fn add(&mut self, path: &RealPath, name: &str, found: Found) {
        let (text, cut, stamp) = match found {
            Found::Text { text, cut, stamp } => (text, cut, stamp),
            Found::Directory(text) => (text, false, None),
            Found::Picture => {
                self.images.push(path.as_path().to_owned());
                return;
            }
            Found::Other(what) => return self.refuse(name, &format!("it is {what}")),
        };
        if self.text.len() + text.len() > ALL {
            return self.refuse(name, "together with the others it would be too much; read it with a tool");
        }
        self.block(name, &text);
        if cut {
            let _ = write!(self.text, "\n[{name} goes on; this is its first {FILE} bytes]");
        }
        self.seen.extend(stamp.map(|stamp| (path.clone(), stamp)));
    }

    fn refuse(&mut self, name: &str, reason: &str) {
        self.block(name, &format!("[not included: {reason}]"));
        self.refused.push(format!("@{name} is not included: {reason}"));
    }

    fn block(&mut self, name: &str, text: &str) {
        let name = name.replace('"', "&quot;").replace('\n', " ");
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(self.text, "\n\n<included path=\"{name}\">\n{text}{end}</included>");
    }
}
