//! Which projects may configure Junto. A project's file could send prompts and keys elsewhere, so
//! it counts only after the user said so.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item, Value};

use super::check;
use super::problem::{Lines, Problem};

/// The list of trusted projects.
#[derive(Debug)]
pub(crate) struct Trust {
    file: PathBuf,
    document: DocumentMut,
}

/// The one key of the file.
const PROJECTS: &str = "projects";

impl Trust {
    /// Reads the list; without a file nothing is trusted.
    ///
    /// # Errors
    /// If the file is not a list of paths.
    pub(crate) fn read(file: &Path) -> Result<Self, Problem> {
        let text = check::read(file)?.unwrap_or_default();
        let lines = Lines::new(file, &text);
        let document = text.parse::<DocumentMut>().map_err(|error| {
            lines.problem(error.span().map_or(0, |span| span.start), error.message().to_owned())
        })?;
        for (name, item) in document.iter() {
            if name != PROJECTS || !item.as_array().is_some_and(|a| a.iter().all(Value::is_str)) {
                let message = format!("expected only `{PROJECTS}`, a list of paths; found `{name}`");
                return Err(Problem::in_file(file, message));
            }
        }
        Ok(Self { file: file.to_owned(), document })
    }

    /// Whether a project is trusted.
    pub(crate) fn holds(&self, root: &Path) -> bool {
        self.projects().is_some_and(|projects| projects.iter().any(|project| is(project, root)))
    }

    /// Trusts a project. Says whether that is new.
    ///
    /// # Errors
    /// If the list cannot be written.
    pub(crate) fn add(&mut self, root: &Path) -> io::Result<bool> {
        if self.holds(root) {
            return Ok(false);
        }
        let Some(text) = root.to_str() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is not UTF-8"));
        };
        let list = self.document.entry(PROJECTS).or_insert(Item::Value(Array::new().into()));
        if let Some(projects) = list.as_array_mut() {
            let mut entry = Value::from(text);
            entry.decor_mut().set_prefix("\n    ");
            projects.push_formatted(entry);
            projects.set_trailing("\n");
            projects.set_trailing_comma(true);
        }
        self.write().map(|()| true)
    }

    /// Trusts a project no more. Says whether it was trusted.
    ///
    /// # Errors
    /// If the list cannot be written.
    pub(crate) fn remove(&mut self, root: &Path) -> io::Result<bool> {
        if !self.holds(root) {
            return Ok(false);
        }
        if let Some(projects) = self.document.get_mut(PROJECTS).and_then(Item::as_array_mut) {
            projects.retain(|project| !is(project, root));
        }
        self.write().map(|()| true)
    }

    fn projects(&self) -> Option<&Array> {
        self.document.get(PROJECTS).and_then(Item::as_array)
    }

    /// Replaces the file as a whole, so that nobody ever reads half of it.
    fn write(&self) -> io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let draft = self.file.with_extension(format!("toml.{}", std::process::id()));
        let written = fs::File::create(&draft)
            .and_then(|mut file| {
                file.write_all(self.document.to_string().as_bytes())?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&draft, &self.file));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written
    }
}

fn is(project: &Value, root: &Path) -> bool {
    project.as_str().is_some_and(|text| Path::new(text) == root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_are_added_and_removed_and_comments_stay() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/trusted.toml");
        let root = Path::new("/some/project");
        let mut trust = Trust::read(&file).unwrap();
        assert!(!trust.holds(root));
        assert!(trust.add(root).unwrap());
        assert!(!trust.add(root).unwrap());
        fs::write(&file, format!("# mine\n{}", fs::read_to_string(&file).unwrap())).unwrap();
        let mut trust = Trust::read(&file).unwrap();
        assert!(trust.holds(root));
        assert!(!trust.holds(Path::new("/some/project/below")));
        assert!(trust.remove(root).unwrap());
        assert!(!trust.remove(root).unwrap());
        assert!(!Trust::read(&file).unwrap().holds(root));
        assert!(fs::read_to_string(&file).unwrap().starts_with("# mine"));
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn a_damaged_list_is_an_error_and_trusts_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("trusted.toml");
        for bad in ["projects = 3", "project = []", "projects = [1]", "projects = ["] {
            fs::write(&file, bad).unwrap();
            assert!(Trust::read(&file).is_err(), "{bad}");
        }
    }
}
