//! Letting go of the snapshots of sessions that are gone.
//!
//! To delete a session its folder is deleted, and nobody is told. So whoever keeps files of the same workspace next looks
//! which sessions are still there.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Tree;
use super::git::{Git, LATEST};

/// What is younger than this is kept: another session may be about to use it. Longer than git may take for one thing.
const SPARED: Duration = Duration::from_hours(1);
/// There as long as something is to be cleaned away.
const DUE: &str = "prune-due";

impl Git {
    /// Lets go of what only sessions have that are gone: their names at once, the contents when they are old enough. Once, and
    /// best effort: what stays is in nobody's way.
    pub(super) async fn forget_gone(&self) {
        if self.looked_for_gone.swap(true, Ordering::Relaxed) {
            return;
        }
        let (due, gone) = (self.folder().join(DUE), self.gone());
        for session in &gone {
            let _ = fs::remove_dir_all(self.folder().join("refs/junto").join(session));
            self.remove_indexes(session);
        }
        if !gone.is_empty() {
            let _ = fs::write(&due, "");
        }
        let age = fs::metadata(&due).and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
        if age.is_none_or(|age| age < SPARED) {
            return;
        }
        // They may have what is cleaned away now.
        for stale in [LATEST, "look"] {
            let _ = fs::remove_file(self.folder().join(stale));
        }
        let expire = format!("--expire={}.seconds.ago", SPARED.as_secs());
        if self.run(&["prune", &expire], &self.folder().join("no-index"), None).await.is_ok() {
            self.remove_notes();
            let _ = fs::remove_file(&due);
        }
    }

    /// The sessions that have snapshots here and are gone from the store.
    fn gone(&self) -> Vec<String> {
        let sessions = self.root().join("sessions");
        if !sessions.is_dir() {
            return Vec::new();
        }
        let is_gone =
            |name: &String| *name != self.session() && matches!(sessions.join(name).try_exists(), Ok(false));
        names(&self.folder().join("refs/junto")).filter(is_gone).collect()
    }

    fn remove_indexes(&self, session: &str) {
        let is_its = |name: &String| {
            let of = name.strip_prefix("files-").or_else(|| name.strip_prefix("index-"));
            of.is_some_and(|of| of.split('.').next() == Some(session))
        };
        for index in names(self.folder()).filter(is_its) {
            let _ = fs::remove_file(self.folder().join(index));
        }
    }

    /// Removes the notes of trees that are not there any more.
    fn remove_notes(&self) {
        let notes = self.folder().join("notes");
        for name in names(&notes) {
            if Tree::new(&*name).is_ok_and(|tree| !self.has(&tree)) {
                let _ = fs::remove_file(notes.join(name));
            }
        }
    }
}

/// What is in a folder.
fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}
