//! Which children run, written down so that a later host can end what one that was killed left behind.
//!
//! Each host has a file in a folder that all of them share. Its first line says who the host is; then each run is
//! written down before it starts (by a name that the child and all it starts carry among their variables), once
//! its process is known, and when it is over. [`Roster::open`] looks at the files of hosts that are gone, ends
//! what is left of their runs, and removes the files.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use junto_env::left::{self, Identity, Left};
use junto_llm::Error;
use serde::{Deserialize, Serialize};

/// How the names of the files end.
const EXTENSION: &str = "runs";

/// One line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// Whose file it is.
    Host(Identity),
    /// A run is about to be started.
    Starts(String),
    /// Its process.
    Runs(String, Identity),
    /// It has ended, with all that it started.
    Over(String),
}

/// The running children of this host. Dropping it when none runs removes its file.
#[derive(Debug)]
pub struct Roster {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    /// How long the file is when nothing runs.
    empty: u64,
    running: usize,
}

/// What was found of hosts that are gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many of them had runs under way.
    pub hosts: usize,
    /// How many processes of these were still there, and have been ended.
    pub processes: usize,
}

impl Roster {
    /// Ends what hosts that are gone left running, and begins this host's own file. Hosts that live are left
    /// alone, with theirs. Blocks the thread until what was left is gone.
    ///
    /// # Errors
    /// `configuration` if the folder cannot be made, read or written.
    pub fn open(folder: &Path) -> Result<(Self, Swept), Error> {
        let failed = |error: io::Error| {
            Error::configuration(format!("cannot keep track of children in {}: {error}", folder.display()))
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let swept = sweep(folder).map_err(failed)?;
        let own = Identity::own().ok_or_else(|| failed(io::ErrorKind::Unsupported.into()))?;
        // Several hosts can be one process.
        let path = (0..=u16::MAX)
            .map(|number| folder.join(format!("{}-{}-{number}.{EXTENSION}", own.pid, own.start)))
            .find(|path| !path.exists())
            .ok_or_else(|| failed(io::ErrorKind::AlreadyExists.into()))?;
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
        write(&mut file, &Line::Host(own)).map_err(failed)?;
        let empty = file.metadata().map_err(failed)?.len();
        Ok((Self { path, state: Mutex::new(State { file, empty, running: 0 }) }, swept))
    }

    /// Writes down that a run of this name is about to start: all of it has the name in the variable
    /// [`RUN`](junto_env::left::RUN).
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn enter(self: &Arc<Self>, run: &str) -> io::Result<Entry> {
        let mut state = self.state();
        write(&mut state.file, &Line::Starts(run.to_owned()))?;
        state.running += 1;
        Ok(Entry { roster: Arc::clone(self), run: run.to_owned() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Roster {
    fn drop(&mut self) {
        if self.state().running == 0 {
            // A file that cannot be removed says that nothing runs.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A run that is written down. Dropping it writes down that it is over, so it lives as long as the process.
#[derive(Debug)]
pub struct Entry {
    roster: Arc<Roster>,
    run: String,
}

impl Entry {
    /// Writes down which process it is.
    pub(crate) fn started(&self, pid: u32) -> io::Result<()> {
        let Some(process) = Identity::of(pid) else { return Ok(()) };
        write(&mut self.roster.state().file, &Line::Runs(self.run.clone(), process))
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut state = self.roster.state();
        state.running -= 1;
        // If it cannot be written, a later host looks for the run once more, and finds nothing.
        let _ = match state.running {
            // Nothing of what was written is needed any more, and the file must not grow for ever.
            0 => state.file.set_len(state.empty),
            _ => write(&mut state.file, &Line::Over(self.run.clone())),
        };
    }
}

fn write(file: &mut File, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    file.write_all(text.as_bytes())
}

/// Ends what is left of the runs of hosts that are gone.
fn sweep(folder: &Path) -> io::Result<Swept> {
    let mut swept = Swept::default();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != EXTENSION) {
            continue;
        }
        // Removed meanwhile: its host has ended, or another one sweeps, too.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let Some(runs) = left_by_the_gone(&text) else { continue };
        swept.hosts += usize::from(!runs.is_empty());
        swept.processes += left::end(&runs);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(swept)
}

/// The runs of a file that were not over; `None` if its host lives, or cannot be told.
fn left_by_the_gone(text: &str) -> Option<Vec<Left>> {
    // The last line may have been cut off in the middle.
    let mut lines = text.lines().map_while(|line| serde_json::from_str(line).ok());
    match lines.next() {
        Some(Line::Host(host)) if !host.lives() => {}
        _ => return None,
    }
    let mut runs: BTreeMap<String, Option<Identity>> = BTreeMap::new();
    for line in lines {
        match line {
            Line::Host(_) => {}
            Line::Starts(run) => drop(runs.insert(run, None)),
            Line::Runs(run, process) => drop(runs.insert(run, Some(process))),
            Line::Over(run) => drop(runs.remove(&run)),
        }
    }
    Some(runs.into_iter().map(|(run, root)| Left { run, root }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone() -> Identity {
        Identity { boot: "before".to_owned(), ..Identity::own().unwrap() }
    }

    fn text(lines: &[Line]) -> String {
        lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect()
    }

    #[test]
    fn what_was_not_over_is_left() {
        let starts = |run: &str| Line::Starts(run.to_owned());
        let over = |run: &str| Line::Over(run.to_owned());
        let left = |run: &str, root| Left { run: run.to_owned(), root };
        let lines = [
            Line::Host(gone()),
            starts("a"),
            Line::Runs("a".into(), gone()),
            starts("b"),
            starts("c"),
            over("c"),
        ];
        let expected = Some(vec![left("a", Some(gone())), left("b", None)]);
        assert_eq!(left_by_the_gone(&text(&lines)), expected);
        // Cut off in the middle of a line.
        assert_eq!(left_by_the_gone(&(text(&lines) + "{\"starts\":\"d")), expected);
    }

    #[test]
    fn a_host_that_lives_or_is_nobody_is_left_alone() {
        let own = Line::Host(Identity::own().unwrap());
        assert_eq!(left_by_the_gone(&text(&[own, Line::Starts("a".into())])), None);
        assert_eq!(left_by_the_gone("not a host\n"), None);
        assert_eq!(left_by_the_gone(""), None);
    }

    #[test]
    fn a_file_lasts_as_long_as_something_runs_and_does_not_grow() {
        let folder = tempfile::tempdir().unwrap();
        let files = || fs::read_dir(folder.path()).unwrap().count();
        let (roster, swept) = Roster::open(folder.path()).unwrap();
        assert_eq!(swept, Swept::default());
        let roster = Arc::new(roster);
        let length = || fs::metadata(&roster.path).unwrap().len();
        let empty = length();
        let entry = roster.enter("a").unwrap();
        entry.started(std::process::id()).unwrap();
        assert!(length() > empty);
        // Another host of the same process does not touch it.
        let (other, swept) = Roster::open(folder.path()).unwrap();
        assert_eq!((swept, files()), (Swept::default(), 2));
        drop(other);
        drop(entry);
        assert_eq!((length(), files()), (empty, 1));
        drop(roster);
        assert_eq!(files(), 0);
    }

    #[test]
    fn files_of_the_gone_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("1-1-0.runs"), text(&[Line::Host(gone()), Line::Starts("a".into())]))
            .unwrap();
        fs::write(folder.path().join("notes.txt"), "somebody else's").unwrap();
        let (roster, swept) = Roster::open(folder.path()).unwrap();
        assert_eq!(swept, Swept { hosts: 1, processes: 0 });
        drop(roster);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
