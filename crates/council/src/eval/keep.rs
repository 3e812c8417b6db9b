//! Runs on disk: one file each, written whole or not at all.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::error::{Error, ErrorKind};
use super::plan::{Cell, Plan};
use super::run::Run;
use super::tree;

/// The runs that a folder holds. While this exists nobody else writes there.
#[derive(Debug)]
pub struct Runs {
    folder: PathBuf,
    kept: BTreeMap<PathBuf, Run>,
    /// Files that are no run of this version.
    unreadable: usize,
    /// Held until this is dropped.
    _lock: File,
}

impl Runs {
    /// Opens the folder, makes it if need be, and reads what it holds.
    ///
    /// # Errors
    /// If it cannot be used, or another evaluation uses it.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let cannot = |e: std::io::Error| Error::io(ErrorKind::Keep, folder, &e);
        fs::create_dir_all(folder).map_err(cannot)?;
        let lock = File::create(folder.join("lock")).map_err(cannot)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!("another evaluation keeps its runs in {}", folder.display());
                return Err(Error::new(ErrorKind::Keep, message));
            }
            Err(TryLockError::Error(error)) => return Err(cannot(error)),
        }
        let mut runs = Self { folder: folder.to_owned(), kept: BTreeMap::new(), unreadable: 0, _lock: lock };
        runs.load(&folder.join("runs")).map_err(cannot)?;
        Ok(runs)
    }

    fn load(&mut self, folder: &Path) -> std::io::Result<()> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                self.load(&path)?;
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let run = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Run>(&bytes).ok());
                match run.filter(|run| run.v == Run::VERSION) {
                    Some(run) => drop(self.kept.insert(path, run)),
                    None => self.unreadable += 1,
                }
            }
        }
        Ok(())
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How many files there are that cannot be read as a run; they count as not done.
    pub fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// The run of a cell, if it was done, by the same contender and on the same task as they are now.
    pub fn of(&self, cell: &Cell<'_>) -> Option<&Run> {
        let run = self.kept.get(&self.path(&cell.task.name, cell.contender.name(), cell.repetition))?;
        (run.task_digest == cell.task.digest && run.contender_is == cell.contender.is()).then_some(run)
    }

    /// The runs of a plan that were done, in its order.
    pub fn of_plan<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = &'a Run> {
        plan.cells().filter_map(|cell| self.of(&cell))
    }

    /// Keeps a run. Once this returns it survives a crash; before, it leaves nothing.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&mut self, run: Run) -> Result<&Run, Error> {
        let path = self.path(&run.task, &run.contender, run.repetition);
        let write = || -> std::io::Result<()> {
            let folder = path.parent().unwrap_or(&self.folder);
            fs::create_dir_all(folder)?;
            let new = path.with_extension("new");
            let mut file = File::create(&new)?;
            file.write_all(&serde_json::to_vec_pretty(&run)?)?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            File::open(folder)?.sync_all()
        };
        write().map_err(|e| Error::io(ErrorKind::Keep, &path, &e))?;
        let entry = self.kept.entry(path).insert_entry(run);
        Ok(entry.into_mut())
    }

    /// Forgets all runs of a plan, on disk as well.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn forget(&mut self, plan: &Plan) -> Result<(), Error> {
        for cell in plan.cells() {
            let path = self.path(&cell.task.name, cell.contender.name(), cell.repetition);
            if self.kept.remove(&path).is_some() {
                fs::remove_file(&path).map_err(|e| Error::io(ErrorKind::Keep, &path, &e))?;
            }
        }
        Ok(())
    }

    fn path(&self, task: &str, contender: &str, repetition: u32) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let readable: String = contender.chars().map(plain).take(60).collect();
        // Names that look alike without their special characters are told apart by a digest.
        let exact = tree::short(Sha256::new().chain_update(contender));
        let exact = exact.get(..8).unwrap_or(&exact);
        let folder = self.folder.join("runs").join(task).join(format!("{readable}.{exact}"));
        folder.join(format!("{repetition}.json"))
    }
}
