//! What is looked up before walls are built, and put where nothing is.
//!
//! That takes about as long as bubblewrap takes to start, and on some disks longer: so it is done meanwhile, on a thread
//! of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::{fs, io};

use super::foreign::Foreign;
use super::kept::{self, Pins};
use super::nested::is_in_place;
use super::places::Places;
use super::standin::StandIn;

/// What is there now, of what walls are about.
pub(super) struct Survey {
    pub(super) foreign: Foreign,
    /// What must stand while the walls do.
    pub(super) stand_ins: Vec<StandIn>,
    /// What stays as it is: settings, and what stands in for them.
    pub(super) kept: Vec<PathBuf>,
    /// Directories that stay where they are.
    pub(super) pins: BTreeSet<PathBuf>,
    /// What is not read.
    pub(super) hidden: Vec<Hidden>,
}

/// Something that is not read.
pub(super) enum Hidden {
    Directory(PathBuf),
    /// Or something else.
    File(PathBuf),
}

impl Survey {
    fn of(places: &Places) -> io::Result<Self> {
        let foreign = places.foreign();
        places.make_own()?;
        let settings = kept::settings(places);
        let mut stand_ins = Vec::new();
        for path in kept::stood_for(places, &settings) {
            stand_ins.extend(StandIn::at(&path)?);
        }
        let is_there = |path: &PathBuf| path.exists() && path.parent().is_some_and(is_in_place);
        let mut kept: Vec<PathBuf> = settings.into_keys().filter(is_there).collect();
        kept.extend(stand_ins.iter().map(|stand_in| stand_in.path().to_owned()));
        kept.sort();
        // What is below something kept is kept with it.
        kept.dedup_by(|later, earlier| later.starts_with(earlier));
        let masked = places.masked();
        let mut pins = Pins::new(places, &kept, masked.iter().map(PathBuf::as_path)).dirs;
        // What is not shown is not there to be moved, and a pin would show all that is in it, sockets too.
        let is_below = |dir: &Path, paths: &[PathBuf]| paths.iter().any(|path| dir.starts_with(path));
        pins.retain(|dir| {
            let mut own = foreign.own.iter().filter(|own| dir.starts_with(&own.dir));
            is_below(dir, &places.ground().roots) || own.all(|own| is_below(dir, &own.shown))
        });
        let hidden = masked.into_iter().filter_map(|path| {
            let found = fs::symlink_metadata(&path);
            if found.as_ref().is_ok_and(fs::Metadata::is_dir) {
                return Some(Hidden::Directory(path));
            }
            // A wall before a file takes bubblewrap a tenth of a millisecond.
            let needs_none = || places.is_closed(&path) || places.is_empty_of_secrets(&path);
            let is_open = !(found.is_ok_and(|found| found.is_file()) && needs_none());
            is_open.then_some(Hidden::File(path))
        });
        let hidden = hidden.collect();
        Ok(Self { foreign, stand_ins, kept, pins, hidden })
    }
}

/// A survey that is under way. What it has put somewhere is gone when this is dropped.
pub(super) struct Surveying(Option<JoinHandle<io::Result<Survey>>>);

impl Surveying {
    pub(super) fn begin(places: Arc<Places>) -> io::Result<Self> {
        let thread = thread::Builder::new().name("junto-survey".to_owned());
        Ok(Self(Some(thread.spawn(move || Survey::of(&places))?)))
    }

    /// Waits for it.
    pub(super) fn end(mut self) -> io::Result<Survey> {
        let done = self.0.take().map(JoinHandle::join);
        let Some(Ok(survey)) = done else { return Err(io::Error::other("nobody looked what is there")) };
        survey
    }
}

impl Drop for Surveying {
    fn drop(&mut self) {
        drop(self.0.take().map(JoinHandle::join));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sandbox;
    use crate::sensitive::SETTINGS;
    use crate::{EnvFacts, LocalEnvironment};

    fn places(dir: &std::path::Path) -> Arc<Places> {
        let env = LocalEnvironment::builder(dir).build().unwrap();
        let facts: &EnvFacts = crate::ExecutionEnvironment::facts(&env);
        // Or something would stand in the system's, where other tests are.
        let sandbox = Sandbox { temporary: Some(Vec::new()), ..Sandbox::workspace() };
        Arc::new(Places::new(&sandbox, facts, None).unwrap())
    }

    #[test]
    fn what_nobody_waits_for_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let entries = || fs::read_dir(dir.path()).unwrap().count();
        let places = places(dir.path());
        let survey = Surveying::begin(Arc::clone(&places)).unwrap().end().unwrap();
        assert_eq!(survey.stand_ins.len(), entries());
        assert!(survey.stand_ins.len() >= SETTINGS.len());
        drop(survey);
        assert_eq!(entries(), 0);
        for _ in 0..100 {
            drop(Surveying::begin(Arc::clone(&places)).unwrap());
            assert_eq!(entries(), 0);
        }
    }
}
