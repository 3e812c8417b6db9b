//! The runs that were kept: a folder for each.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use junto_llm::SessionId;

use super::{Error, ErrorKind, Record, Result, RunId};

/// Where runs are kept. Each has a folder: `record.json`, the diffs, a repository with the files of all
/// candidates, and while it lasts the worktrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    root: PathBuf,
}

impl Runs {
    /// Those in this folder, which need not be there.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// All that are kept, the oldest first.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn list(&self) -> Result<Vec<RunId>> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io(self.root.display(), &error)),
        };
        let names = entries.flatten().filter(|entry| entry.path().join(RECORD).is_file());
        let mut names: Vec<RunId> =
            names.filter_map(|entry| entry.file_name().into_string().ok().map(RunId)).collect();
        names.sort();
        Ok(names)
    }

    /// The latest run in the repository that this directory is in. A run whose record cannot be read is passed over.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn latest_in(&self, directory: &Path) -> Result<Option<RunId>> {
        let directory = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        let is_here = |run: &RunId| {
            self.read(run).is_ok_and(|record| {
                directory.starts_with(fs::canonicalize(&record.repository).unwrap_or(record.repository))
            })
        };
        Ok(self.list()?.into_iter().rev().find(is_here))
    }

    /// The run of this name, or the only one whose name begins with it.
    ///
    /// # Errors
    /// `not_found` if there is none, or there are several.
    pub fn find(&self, name: &str) -> Result<RunId> {
        let all = self.list()?;
        let matching: Vec<&RunId> = all.iter().filter(|run| run.0.starts_with(name)).collect();
        let missing = |message: String| {
            let latest: Vec<&str> = all.iter().rev().take(3).map(|run| run.0.as_str()).collect();
            let hint = if latest.is_empty() {
                "no run was kept yet; `junto council` makes one".to_owned()
            } else {
                format!("the latest are {}", latest.join(", "))
            };
            Error::new(ErrorKind::NotFound, message).hint(hint)
        };
        match matching.as_slice() {
            _ if name.is_empty() => Err(missing("a run has a name".to_owned())),
            [run] => Ok((*run).clone()),
            [] => Err(missing(format!("there is no run \"{name}\""))),
            several => Err(missing(format!("{} runs begin with \"{name}\"", several.len()))),
        }
    }

    /// What is known of a run.
    ///
    /// # Errors
    /// `not_found` if there is none of this name; else what is wrong with it.
    pub fn read(&self, run: &RunId) -> Result<Record> {
        let path = self.folder(run)?.join(RECORD);
        let text = fs::read(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::new(ErrorKind::NotFound, format!("there is no run \"{run}\""))
            }
            _ => Error::io(path.display(), &error),
        })?;
        let damaged = |error| Error::new(ErrorKind::Failed, format!("{}: {error}", path.display()));
        let record: Record = serde_json::from_slice(&text).map_err(damaged)?;
        if record.v > Record::VERSION {
            let message = format!("run {run} was kept by a newer version");
            return Err(Error::new(ErrorKind::Failed, message).hint("install the newer junto again"));
        }
        Ok(record)
    }

    /// What a candidate changed, as a diff of git's with everything in it: the bytes of a file that may be large.
    ///
    /// # Errors
    /// `not_found` if nothing is known of it.
    pub fn diff_file(&self, run: &RunId, candidate: u32) -> Result<PathBuf> {
        let path = self.diff_path(run, candidate)?;
        if path.is_file() {
            return Ok(path);
        }
        let message = format!("nothing is known of what candidate {candidate} of run {run} changed");
        Err(Error::new(ErrorKind::NotFound, message))
    }

    pub(super) fn diff_path(&self, run: &RunId, candidate: u32) -> Result<PathBuf> {
        Ok(self.folder(run)?.join(format!("{candidate}.diff")))
    }

    /// The repository that has the files of a run's candidates.
    pub(super) fn repository(&self, run: &RunId) -> Result<PathBuf> {
        Ok(self.folder(run)?.join("repo.git"))
    }

    /// Makes the folder of a new run.
    pub(super) fn create(&self) -> Result<RunId> {
        let run = RunId(SessionId::fresh().0);
        let folder = self.folder(&run)?;
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&folder).map_err(|error| Error::io(folder.display(), &error))?;
        Ok(run)
    }

    /// Keeps what is known of a run, in the place of what was known before.
    pub(super) fn write(&self, record: &Record) -> Result<()> {
        let folder = self.folder(&record.run)?;
        let path = folder.join(RECORD);
        let fault = |error: &std::io::Error| Error::io(path.display(), error);
        let text = serde_json::to_vec_pretty(record)
            .map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))?;
        let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(|error| fault(&error))?;
        file.write_all(&text).and_then(|()| file.as_file().sync_all()).map_err(|error| fault(&error))?;
        file.persist(&path).map(drop).map_err(|error| fault(&error.error))
    }

    /// Removes a run that never began.
    pub(super) fn forget(&self, run: &RunId) {
        if let Ok(folder) = self.folder(run) {
            // Best effort: there is nothing in it that anybody made.
            let _ = fs::remove_dir_all(folder);
        }
    }

    /// The folder of a run. Names come from command lines.
    pub(super) fn folder(&self, run: &RunId) -> Result<PathBuf> {
        let is_name = !run.0.is_empty() && run.0.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if !is_name {
            return Err(Error::new(ErrorKind::NotFound, format!("\"{run}\" is no name of a run")));
        }
        Ok(self.root.join(&run.0))
    }

    /// The folder in which runs are.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// The file that says what is known.
const RECORD: &str = "record.json";
