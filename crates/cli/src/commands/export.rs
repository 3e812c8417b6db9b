//! `junto export`: a session for people and for other programs.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use junto::llm::SessionId;
use junto::store::{Format, Recovery, Store};
use tempfile::NamedTempFile;

use crate::args::{ExportArgs, ExportFormat, LATEST};
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::saved;

/// Runs the command.
pub(crate) fn run(args: &ExportArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let config = Config::load(environment, &[])?;
    let store = saved::open(&config, environment)?;
    let id = saved::find(&store, args.id.as_deref().unwrap_or(LATEST), environment)?;
    let format = match args.format {
        ExportFormat::Md => Format::Markdown,
        ExportFormat::Json => Format::Json,
        ExportFormat::Html => Format::Html,
    };
    let recovery = match &args.output {
        Some(file) => to_file(&store, &id, format, &environment.directory().join(file), file)?,
        None => to_output(&store, &id, format, output)?,
    };
    if let Some(fault) = saved::faults(&id, &recovery) {
        output.warning(&fault);
    }
    Ok(Exit::Done)
}

/// Writes the whole file, or leaves what was there. What is no file, such as a pipe, is written to as it is.
fn to_file(
    store: &Store,
    id: &SessionId,
    format: Format,
    path: &Path,
    shown: &Path,
) -> Result<Recovery, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        let message = format!("cannot write {}: {error}", shown.display());
        let hint = "name a file in a folder that exists, that you may write to and that has room";
        Failure::new(Exit::Failed, message, hint)
    };
    let write = |file: &mut File| {
        let mut kept = Kept { file, error: None };
        let exported = store.export(id, format, &mut io::BufWriter::new(&mut kept));
        match (kept.error, exported) {
            (Some(error), _) => Err(failed(&error)),
            (None, exported) => exported.map_err(|error| saved::failure(&error)),
        }
    };
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        let mut file = fs::OpenOptions::new().write(true).open(path).map_err(|error| failed(&error))?;
        return write(&mut file);
    }
    let path = followed(path).map_err(|error| failed(&error))?;
    let folder = path.parent().unwrap_or(&path);
    // The whole message would name the draft, of which nobody knows.
    let mut file = NamedTempFile::new_in(folder).map_err(|error| failed(&error.kind()))?;
    let recovery = write(file.as_file_mut())?;
    file.persist(&path).map_err(|error| failed(&error.error))?;
    Ok(recovery)
}

/// How many links may lead to a file, one to the next: as many as Linux follows.
const MOST_LINKS: usize = 40;

/// The file that a path leads to, there or not: a link to it stays a link.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(to) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("/")).join(to);
    }
    Err(io::Error::other("there are too many symbolic links"))
}

/// A file that knows why it could not be written: the store says the same of what it cannot read.
struct Kept<'a> {
    file: &'a mut File,
    error: Option<io::Error>,
}

impl Write for Kept<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        written.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            kind => {
                self.error = Some(error);
                kind.into()
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn to_output(store: &Store, id: &SessionId, format: Format, output: &Output) -> Result<Recovery, Failure> {
    let mut out = Out { output, failure: None, text: Vec::new() };
    let exported = store.export(id, format, &mut out);
    match (out.failure, exported) {
        (Some(failure), _) => Err(failure),
        (None, exported) => exported.map_err(|error| saved::failure(&error)),
    }
}

/// How much is written at once.
const PIECE: usize = 64 * 1024;

/// Standard output, as something to write to.
struct Out<'a> {
    output: &'a Output,
    /// Why it cannot be written to.
    failure: Option<Failure>,
    /// What was not written yet.
    text: Vec<u8>,
}

impl Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        if self.text.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // A character may be cut in two by a piece; its rest comes with the next one.
        let whole = match std::str::from_utf8(&self.text) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let rest = self.text.split_off(whole);
        let text = String::from_utf8_lossy(&std::mem::replace(&mut self.text, rest)).into_owned();
        self.output.data(&text).map_err(|failure| {
            self.failure = Some(failure);
            io::ErrorKind::BrokenPipe.into()
        })
    }
}
