//! Which candidates changed what judges them.

use std::path::Path;

use super::capture::File;
use super::{Mark, Oracle};

/// Folders in which everything is a test.
const FOLDERS: &[&str] = &["test", "tests", "__tests__", "spec", "specs", "testdata", "__snapshots__"];
/// Names of tests, wherever they are.
const NAMES: &[&str] = &[
    "test_*.py",
    "*_test.py",
    "*_test.go",
    "*_test.rs",
    "*.test.*",
    "*.spec.*",
    "*_spec.rb",
    "*Test.java",
    "*Tests.java",
    "*Test.kt",
    "*Tests.cs",
];

/// What is to be looked at of a candidate that changed these files. A new test is nothing of the kind, unless
/// the oracle is run by it.
pub(super) fn marks(files: &[File], oracle: Option<&Oracle>) -> Vec<Mark> {
    let mut marks = Vec::new();
    let was = |file: &File| file.from.clone().unwrap_or_else(|| file.path.clone());
    let test = files.iter().find(|file| file.how != 'A' && is_test(&was(file)));
    marks.extend(test.map(|file| Mark::Tests { path: was(file).display().to_string() }));
    let runs =
        |path: &Path| oracle.is_some_and(|oracle| oracle.files.iter().any(|name| is_named(path, name)));
    let own = files.iter().find(|file| runs(&file.path) || runs(&was(file)));
    marks.extend(own.map(|file| Mark::Oracle { path: file.path.display().to_string() }));
    marks
}

fn is_test(path: &Path) -> bool {
    let is_folder = |part: &std::ffi::OsStr| FOLDERS.iter().any(|folder| part == *folder);
    path.parent().is_some_and(|folders| folders.iter().any(is_folder))
        || NAMES.iter().any(|name| is_named(path, name))
}

/// Whether a path has this name; a name with a slash is the end of a path. `*` stands for anything.
fn is_named(path: &Path, name: &str) -> bool {
    if name.contains('/') {
        return path.ends_with(name);
    }
    path.file_name().and_then(|own| own.to_str()).is_some_and(|own| matches(name, own))
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            // Names are short, and have few stars.
            text.char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .any(|at| text.get(at..).is_some_and(|text| matches(rest, text)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_places_and_names() {
        for test in ["tests/a.rs", "a/test/b.c", "x/test_a.py", "a_test.go", "src/a.test.ts", "b.spec.js"] {
            assert!(is_test(Path::new(test)), "{test}");
        }
        for other in ["src/lib.rs", "testing.md", "latest/a.py", "src/contest.rs", "tests"] {
            assert!(!is_test(Path::new(other)), "{other}");
        }
    }

    #[test]
    fn names_have_stars() {
        for (pattern, text) in [("*.mk", "a.mk"), ("a*", "a"), ("*.test.*", "x.test.ts"), ("a", "a")] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("*.mk", "a.mkx"), ("a", "ab"), ("*.test.*", "test.ts")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
        assert!(is_named(Path::new("sub/.cargo/config.toml"), ".cargo/config.toml"));
        assert!(!is_named(Path::new("config.toml"), ".cargo/config.toml"));
    }
}
