//! Tools that users and agents have written in Python: `gentools/<category>/<tool>`.

mod scan;
mod tool;

use std::fs;
use std::path::{Path, PathBuf};

use crate::codegen::is_name;
use crate::discovery::ModuleSource;
use scan::Scanned;

pub use tool::{SAVE_TOOL, SaveTool};

/// The longest file that is read.
const LONGEST: u64 = 1024 * 1024;
/// How many entries of a directory are looked at.
const MOST_ENTRIES: usize = 1000;

/// A folder of tools written in Python. Each is a module or a package `<category>/<tool>` with a function `run`;
/// code imports it as `gentools.<category>.<tool>`.
#[derive(Clone, Debug)]
pub struct Gentools {
    root: PathBuf,
}

/// A tool written in Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GenTool {
    pub(crate) category: String,
    pub(crate) name: String,
    pub(crate) scanned: Scanned,
}

impl Gentools {
    /// Those in this folder, which need not exist.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a tool belongs.
    ///
    /// # Errors
    /// If a name is none that can be imported.
    pub fn place(&self, category: &str, name: &str) -> Result<PathBuf, String> {
        for name in [category, name] {
            if !is_name(name) {
                return Err(format!(
                    "`{name}` cannot be imported: a name has letters, digits and underscores, begins with a \
                     letter and is no word of Python's own"
                ));
            }
        }
        Ok(self.root.join(category).join(name).join("__init__.py"))
    }

    /// The tools there are, by category and name.
    pub(crate) fn list(&self) -> Vec<GenTool> {
        let mut tools = Vec::new();
        for category in names(&self.root) {
            for name in names(&self.root.join(&category)) {
                let package = [category.as_str(), name.as_str()];
                // A tool may keep its function in a module `api`.
                let sources = [self.read(&package), self.read(&[&category, &name, "api"])];
                let mut scanned = sources.iter().flatten().map(|source| Scanned::of(&source.text));
                if let Some(scanned) = scanned.find(|scanned| scanned.signature.is_some()) {
                    tools.push(GenTool { category: category.clone(), name, scanned });
                }
            }
        }
        tools
    }

    /// The module below `gentools` with these names; the folder itself, if there are none.
    pub(crate) fn read(&self, names: &[&str]) -> Option<ModuleSource> {
        if !names.iter().all(|name| is_name(name) || *name == "__init__" || is_inner(name)) {
            return None;
        }
        let place = names.iter().fold(self.root.clone(), |place, name| place.join(name));
        let package = place.join("__init__.py");
        let module = place.with_extension("py");
        if let Some(text) = self.text(&package) {
            return Some(ModuleSource { text, file: Some(package), is_package: true });
        }
        if !names.is_empty()
            && let Some(text) = self.text(&module)
        {
            return Some(ModuleSource { text, file: Some(module), is_package: false });
        }
        // The folder, and categories, need not say anything.
        (names.len() <= 1 && (names.is_empty() || place.is_dir())).then(|| ModuleSource {
            text: String::new(),
            file: None,
            is_package: true,
        })
    }

    /// The text of a file that is really below the folder.
    fn text(&self, file: &Path) -> Option<String> {
        let (file, root) = (file.canonicalize().ok()?, self.root.canonicalize().ok()?);
        let is_fit = file.starts_with(root) && fs::metadata(&file).ok()?.len() <= LONGEST;
        if is_fit { fs::read_to_string(file).ok() } else { None }
    }
}

/// Whether a module within a tool may be called so: they may begin with an underscore.
fn is_inner(name: &str) -> bool {
    name.strip_prefix('_').is_some_and(is_name)
}

/// What in a directory could be a category or a tool.
fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .take(MOST_ENTRIES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .map(|name| name.strip_suffix(".py").map(str::to_owned).unwrap_or(name))
        .filter(|name| is_name(name))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Gentools) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("gentools");
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        (dir, Gentools::at(root))
    }

    #[test]
    fn tools_are_listed_wherever_their_function_is() {
        let run = "\"\"\"Weekly.\"\"\"\ndef run(week: int) -> str:\n    pass\n";
        let (_dir, gentools) = folder(&[
            ("reports/weekly/__init__.py", run),
            ("reports/daily.py", run),
            ("reports/monthly/__init__.py", "from .api import run"),
            ("reports/monthly/api.py", run),
            ("reports/notes/__init__.py", "no function"),
            ("reports/im-port/__init__.py", run),
            ("__pycache__/x/__init__.py", run),
        ]);
        let names: Vec<String> =
            gentools.list().iter().map(|tool| format!("{}.{}", tool.category, tool.name)).collect();
        assert_eq!(names, ["reports.daily", "reports.monthly", "reports.weekly"]);
        let read = |names: &[&str]| gentools.read(names).map(|source| source.is_package);
        assert_eq!(read(&[]), Some(true));
        assert_eq!(read(&["reports"]), Some(true));
        assert_eq!(read(&["reports", "weekly"]), Some(true));
        assert_eq!(read(&["reports", "daily"]), Some(false));
        assert_eq!(read(&["reports", "monthly", "api"]), Some(false));
        assert_eq!(read(&["reports", "none"]), None);
        assert_eq!(read(&["none"]), None);
    }

    #[test]
    fn nothing_outside_the_folder_is_read_or_named() {
        let (dir, gentools) = folder(&[("a/b.py", "")]);
        fs::write(dir.path().join("secret.py"), "x = 1").unwrap();
        std::os::unix::fs::symlink(dir.path().join("secret.py"), gentools.root().join("a/link.py")).unwrap();
        for names in
            [&["..", "secret"][..], &["a", "link"], &["a/../..", "secret"], &["/etc", "x"], &["a", ""]]
        {
            assert_eq!(gentools.read(names).map(|source| source.text), None, "{names:?}");
        }
        for (category, name) in
            [("..", "x"), ("a", "../b"), ("a", ""), ("import", "x"), ("a", "1"), ("a", "x y")]
        {
            let refused = gentools.place(category, name).unwrap_err();
            assert!(refused.contains("cannot be imported"), "{refused}");
        }
        let place = gentools.place("a", "fine_1").unwrap();
        assert_eq!(place, gentools.root().join("a/fine_1/__init__.py"));
    }
}
