//! What somebody has seen of files.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{RealPath, Stamp};

/// What files were like when somebody saw them last, so that what he did not see is not overwritten. Of
/// more files than a limit the one noted longest ago is forgotten.
pub struct SeenFiles {
    limit: usize,
    files: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// How many notes were made.
    notes: u64,
    /// When each was noted, and what it was like.
    files: HashMap<RealPath, (u64, Stamp)>,
}

impl SeenFiles {
    /// Room for so many files.
    pub fn new(limit: usize) -> Self {
        Self { limit, files: Mutex::default() }
    }

    /// What a file was like when it was seen; `None` if it was not, or was forgotten.
    pub fn of(&self, path: &RealPath) -> Option<Stamp> {
        self.table().files.get(path).map(|(_, stamp)| *stamp)
    }

    /// A file was seen, and was like this.
    pub fn note(&self, path: &RealPath, stamp: Stamp) {
        let mut table = self.table();
        table.notes += 1;
        let now = table.notes;
        table.files.insert(path.clone(), (now, stamp));
        if table.files.len() > self.limit
            && let Some(oldest) = table.files.iter().min_by_key(|(_, (noted, _))| *noted)
        {
            let oldest = oldest.0.clone();
            table.files.remove(&oldest);
        }
    }

    /// Nothing is known of a file any more.
    pub fn forget(&self, path: &RealPath) {
        self.table().files.remove(path);
    }

    /// Who saw a file has changed it. What it is like now is noted, unless it had been changed by
    /// somebody else before: that change is still unseen.
    pub fn changed(&self, path: &RealPath, before: Option<Stamp>, after: Stamp) {
        let unseen = self.of(path).zip(before).is_some_and(|(seen, before)| !seen.same_content(&before));
        if !unseen {
            self.note(path, after);
        }
    }

    /// Whether a file that is like this now was changed since it was seen.
    pub fn is_outdated(&self, path: &RealPath, now: Stamp) -> bool {
        self.of(path).is_some_and(|seen| !seen.same_content(&now))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(size: u64) -> Stamp {
        Stamp { size, modified: None, digest: Some([0; 32]) }
    }

    fn path(name: &str) -> RealPath {
        RealPath::resolved(name)
    }

    #[test]
    fn of_too_many_files_the_oldest_is_forgotten() {
        let seen = SeenFiles::new(2);
        for (name, size) in [("/a", 1), ("/b", 2), ("/a", 3), ("/c", 4)] {
            seen.note(&path(name), stamp(size));
        }
        let sizes = ["/a", "/b", "/c"].map(|name| seen.of(&path(name)).map(|stamp| stamp.size));
        assert_eq!(sizes, [Some(3), None, Some(4)]);
        seen.forget(&path("/a"));
        assert_eq!(seen.of(&path("/a")), None);
    }

    #[test]
    fn a_change_by_another_stays_unseen() {
        let (seen, file) = (SeenFiles::new(9), path("/a"));
        assert!(!seen.is_outdated(&file, stamp(1)), "what was never seen");
        seen.changed(&file, Some(stamp(1)), stamp(2));
        seen.changed(&file, Some(stamp(2)), stamp(3));
        assert!(!seen.is_outdated(&file, stamp(3)));
        seen.changed(&file, Some(stamp(9)), stamp(10));
        assert!(seen.is_outdated(&file, stamp(10)));
        seen.note(&file, stamp(10));
        assert!(!seen.is_outdated(&file, stamp(10)));
        // What is gone was seen to go by whoever makes it anew.
        seen.changed(&file, None, stamp(1));
        assert!(!seen.is_outdated(&file, stamp(1)));
    }
}
