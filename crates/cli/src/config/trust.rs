//! Which projects may configure Junto, and with what. A project's files could send prompts and keys elsewhere, allow
//! what the user would not, or run programs, so they count only after the user said so, and only as they were then.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::problem::{Lines, Problem};
use super::{check, replace_file};

/// The list of trusted projects.
#[derive(Debug)]
pub(crate) struct Trust {
    file: PathBuf,
    document: DocumentMut,
}

/// What is thought of what a project brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is trusted as it is.
    Trusted,
    /// It was trusted, and is another now, or it is not known what it was then.
    Changed,
    /// It never was.
    Unknown,
}

/// The file that settings of a project are in, below its root.
pub(crate) const CONFIG: &str = ".junto/config.toml";

/// One entry for each project: its folder, and what its file was like.
const PROJECT: &str = "project";
const PATH: &str = "path";
const DIGEST: &str = "digest";
/// A list of folders: how earlier versions kept it. It does not say what was trusted, so that has to be looked
/// at once more.
const PROJECTS: &str = "projects";

/// What bytes are told by.
pub(crate) fn digest(bytes: impl AsRef<[u8]>) -> String {
    let mut hex = String::from("sha256:");
    for byte in Sha256::digest(bytes.as_ref()) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// What several files are told by together: where each is, and what is in it. One that stands alone as the
/// project's configuration is told by itself, as it was before there were others.
pub(crate) fn digest_of_all<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut files: Vec<(&str, &str)> = files.into_iter().collect();
    files.sort_unstable();
    if let [(CONFIG, digest)] = &files[..] {
        return (*digest).to_owned();
    }
    let mut list = String::new();
    for (path, digest) in files {
        // A path may have any character but this one.
        let _ = write!(list, "{path}\0{digest}\0");
    }
    digest(list)
}

impl Trust {
    /// Reads the list; without a file nothing is trusted.
    ///
    /// # Errors
    /// If the file is not such a list.
    pub(crate) fn read(file: &Path) -> Result<Self, Problem> {
        let text = check::read(file)?.unwrap_or_default();
        let lines = Lines::new(file, &text);
        let document = text.parse::<DocumentMut>().map_err(|error| {
            lines.problem(error.span().map_or(0, |span| span.start), error.message().to_owned())
        })?;
        for (name, item) in document.iter() {
            let fits = match name {
                PROJECTS => item.as_array().is_some_and(|all| all.iter().all(toml_edit::Value::is_str)),
                PROJECT => item.as_array_of_tables().is_some_and(|all| all.iter().all(is_entry)),
                _ => false,
            };
            if !fits {
                let message =
                    format!("expected only [[{PROJECT}]] with `{PATH}` and `{DIGEST}`; found `{name}`");
                return Err(Problem::in_file(file, message));
            }
        }
        Ok(Self { file: file.to_owned(), document })
    }

    /// What is thought of a project whose files have this digest.
    pub(crate) fn standing(&self, root: &Path, digest: &str) -> Standing {
        let of_it: Vec<_> = self.entries().filter(|(path, _)| path == root).collect();
        match &of_it[..] {
            [] => Standing::Unknown,
            all if all.iter().any(|(_, known)| known.as_deref() == Some(digest)) => Standing::Trusted,
            _ => Standing::Changed,
        }
    }

    /// The projects, each with the digest of what was trusted, where that is known.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (PathBuf, Option<String>)> {
        let old = self.document.get(PROJECTS).and_then(Item::as_array).into_iter().flatten();
        let old = old.filter_map(|path| Some((PathBuf::from(path.as_str()?), None)));
        let new = self.document.get(PROJECT).and_then(Item::as_array_of_tables).into_iter().flatten();
        let text = |table: &Table, key| table.get(key).and_then(Item::as_str).map(str::to_owned);
        let new = new.filter_map(move |table| Some((PathBuf::from(text(table, PATH)?), text(table, DIGEST))));
        old.chain(new)
    }

    /// Trusts a project as its file is. Says whether that is new.
    ///
    /// # Errors
    /// If the list cannot be written.
    pub(crate) fn add(&mut self, root: &Path, digest: &str) -> io::Result<bool> {
        if self.standing(root, digest) == Standing::Trusted {
            return Ok(false);
        }
        let Some(text) = root.to_str() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is not UTF-8"));
        };
        self.take_out(root);
        let list = self.document.entry(PROJECT).or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        if let Some(projects) = list.as_array_of_tables_mut() {
            let mut entry = Table::new();
            entry.insert(PATH, value(text));
            entry.insert(DIGEST, value(digest));
            projects.push(entry);
        }
        self.write().map(|()| true)
    }

    /// Trusts a project no more. Says whether it was in the list.
    ///
    /// # Errors
    /// If the list cannot be written.
    pub(crate) fn remove(&mut self, root: &Path) -> io::Result<bool> {
        if !self.entries().any(|(path, _)| path == root) {
            return Ok(false);
        }
        self.take_out(root);
        self.write().map(|()| true)
    }

    fn take_out(&mut self, root: &Path) {
        if let Some(projects) = self.document.get_mut(PROJECTS).and_then(Item::as_array_mut) {
            projects.retain(|project| project.as_str().is_none_or(|text| Path::new(text) != root));
            if projects.is_empty() {
                self.document.remove(PROJECTS);
            }
        }
        if let Some(projects) = self.document.get_mut(PROJECT).and_then(Item::as_array_of_tables_mut) {
            projects.retain(|table| {
                table.get(PATH).and_then(Item::as_str).is_none_or(|text| Path::new(text) != root)
            });
        }
    }

    fn write(&self) -> io::Result<()> {
        replace_file(&self.file, &self.document.to_string())
    }
}

fn is_entry(table: &Table) -> bool {
    let text = |key| table.get(key).is_some_and(Item::is_str);
    text(PATH) && text(DIGEST) && table.len() == 2
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn projects_are_added_and_removed_and_comments_stay() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/trusted.toml");
        let root = Path::new("/some/project");
        let (one, two) = (digest("one"), digest("two"));
        let mut trust = Trust::read(&file).unwrap();
        assert_eq!(trust.standing(root, &one), Standing::Unknown);
        assert!(trust.add(root, &one).unwrap());
        assert!(!trust.add(root, &one).unwrap());
        assert_eq!(trust.standing(root, &two), Standing::Changed);
        fs::write(&file, format!("# mine\n{}", fs::read_to_string(&file).unwrap())).unwrap();
        let mut trust = Trust::read(&file).unwrap();
        assert_eq!(trust.standing(root, &one), Standing::Trusted);
        assert_eq!(trust.standing(Path::new("/some/project/below"), &one), Standing::Unknown);
        assert!(trust.add(root, &two).unwrap());
        assert_eq!((trust.standing(root, &one), trust.entries().count()), (Standing::Changed, 1));
        assert!(trust.remove(root).unwrap());
        assert!(!trust.remove(root).unwrap());
        assert_eq!(Trust::read(&file).unwrap().standing(root, &two), Standing::Unknown);
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "no draft is left");
    }

    /// The earlier form did not say what was trusted: it has to be looked at once more, and is then kept in
    /// the new form.
    #[test]
    fn an_earlier_list_is_read_and_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("trusted.toml");
        fs::write(&file, "# mine\nprojects = [\"/a\", \"/b\"]\n").unwrap();
        let mut trust = Trust::read(&file).unwrap();
        let text = digest("text");
        assert_eq!(trust.standing(Path::new("/a"), &text), Standing::Changed);
        assert!(trust.add(Path::new("/a"), &text).unwrap());
        let mut trust = Trust::read(&file).unwrap();
        assert_eq!(trust.standing(Path::new("/a"), &text), Standing::Trusted);
        assert_eq!(trust.standing(Path::new("/b"), &text), Standing::Changed);
        assert!(trust.remove(Path::new("/b")).unwrap());
        assert_eq!(Trust::read(&file).unwrap().entries().count(), 1);
    }

    /// Every file counts, by its place and by what is in it; a configuration alone as it always did.
    #[test]
    fn a_digest_is_of_all_files() {
        let (one, two) = (digest("one"), digest("two"));
        assert_eq!(digest_of_all([(CONFIG, one.as_str())]), one);
        let both = digest_of_all([(CONFIG, one.as_str()), ("b", two.as_str())]);
        assert_eq!(digest_of_all([("b", two.as_str()), (CONFIG, one.as_str())]), both);
        for other in [
            digest_of_all([(CONFIG, two.as_str()), ("b", two.as_str())]),
            digest_of_all([(CONFIG, one.as_str()), ("c", two.as_str())]),
            digest_of_all([(CONFIG, one.as_str())]),
            digest_of_all([("b", two.as_str())]),
        ] {
            assert_ne!(other, both);
        }
    }

    #[test]
    fn a_damaged_list_is_an_error_and_trusts_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("trusted.toml");
        for bad in ["projects = 3", "project = []", "projects = [1]", "projects = [", "[[project]]\npath = 1"]
        {
            fs::write(&file, bad).unwrap();
            assert!(Trust::read(&file).is_err(), "{bad}");
        }
    }
}
