//! A copy of the workspace in which mutants are built: nothing is changed in place.

use std::collections::HashSet;
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::Group;
use crate::Outcome;
use crate::command::{capture, cargo, root};

/// The copy. It stays where it is between runs, so that little is built again.
pub(super) struct Tree {
    dir: PathBuf,
    /// Whoever comes next waits until this one is done with it.
    _lock: File,
}

/// What became of a build.
pub(super) enum Build {
    /// The programs that run the tests, the library's own first.
    Made(Vec<PathBuf>),
    /// What the compiler says against it.
    Failed(Vec<Complaint>),
}

/// An error of the compiler.
#[derive(Debug)]
pub(super) struct Complaint {
    /// Where it is: the file, and where in its text.
    pub(super) at: Vec<(String, Range<usize>)>,
    /// As it is shown.
    pub(super) text: String,
}

impl Tree {
    /// Copies what git knows of, as it is now.
    pub(super) fn copy() -> Outcome<Self> {
        let dir = root().join("target/mutants/tree");
        let lock = dir.with_extension("lock");
        let locked = fs::create_dir_all(&dir)
            .and_then(|()| File::create(&lock))
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|e| format!("cannot lock {}: {e}", lock.display()))?;
        let tree = Self { dir, _lock: locked };
        let mut list = Command::new("git");
        list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root());
        let files = capture(&mut list)?;
        let files: HashSet<&str> = files.split('\0').filter(|file| root().join(file).is_file()).collect();
        tree.forget(&tree.dir, &files)?;
        for file in files {
            tree.restore(file)?;
        }
        Ok(tree)
    }

    /// Takes away what is no longer there.
    fn forget(&self, dir: &Path, files: &HashSet<&str>) -> Outcome {
        let Ok(entries) = fs::read_dir(dir) else { return Ok(()) };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let known = path.strip_prefix(&self.dir).ok().and_then(Path::to_str);
            if path.is_dir() {
                self.forget(&path, files)?;
            } else if !known.is_some_and(|file| files.contains(file)) {
                fs::remove_file(&path).map_err(|e| format!("cannot remove {}: {e}", path.display()))?;
            }
        }
        Ok(())
    }

    /// Gives a file the text that it has in the workspace.
    pub(super) fn restore(&self, file: &str) -> Outcome {
        let from = root().join(file);
        let bytes = fs::read(&from).map_err(|e| format!("cannot read {}: {e}", from.display()))?;
        self.write_bytes(file, &bytes)?;
        let mode = fs::metadata(&from).map_err(|e| format!("cannot read {}: {e}", from.display()))?;
        fs::set_permissions(self.dir.join(file), mode.permissions())
            .map_err(|e| format!("cannot copy {}: {e}", from.display()))
    }

    pub(super) fn write(&self, file: &str, text: &str) -> Outcome {
        self.write_bytes(file, text.as_bytes())
    }

    /// What is not changed is not touched: cargo looks at the time of a file.
    fn write_bytes(&self, file: &str, bytes: &[u8]) -> Outcome {
        let path = self.dir.join(file);
        if fs::read(&path).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        let dir = path.parent().unwrap_or(&self.dir);
        fs::create_dir_all(dir)
            .and_then(|()| fs::write(&path, bytes))
            .map_err(|e| format!("cannot write {}: {e}", path.display()))
    }

    /// Where a package is.
    pub(super) fn package(&self, package: &str) -> PathBuf {
        self.dir.join("crates").join(package.trim_start_matches("junto-"))
    }

    /// Builds the tests of a group's package.
    pub(super) fn build(&self, group: &Group) -> Outcome<Build> {
        let package = group.package;
        let mut build = cargo();
        build.current_dir(&self.dir).env("CARGO_TARGET_DIR", root().join("target"));
        // Nobody debugs a mutant.
        build.env("CARGO_PROFILE_DEV_DEBUG", "0");
        build.args(["test", "--no-run", "--quiet", "--package", package, "--lib", "--tests"]);
        build.args(["--message-format", "json"]);
        if group.busy {
            build.args(["--config", &format!("profile.dev.package.{package}.opt-level=1")]);
        }
        let output = build
            .stderr(Stdio::piped())
            .output()
            .map_err(|e| format!("could not start cargo to build {package}: {e}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let messages = || said.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        if output.status.success() {
            let mut made: Vec<Line> = messages().filter(|m| m.executable.is_some()).collect();
            made.sort_by_key(|m| m.target.as_ref().is_none_or(|t| !t.kind.iter().any(|kind| kind == "lib")));
            return Ok(Build::Made(made.into_iter().filter_map(|m| m.executable).collect()));
        }
        let errors: Vec<Complaint> = messages()
            .filter_map(|message| message.message)
            .filter(|said| said.level == "error" && !said.spans.is_empty())
            .map(Said::complaint)
            .collect();
        if errors.is_empty() {
            return Err(format!("{package} was not built:\n{}", String::from_utf8_lossy(&output.stderr)));
        }
        Ok(Build::Failed(errors))
    }
}

/// A line of what cargo writes.
#[derive(Deserialize)]
struct Line {
    executable: Option<PathBuf>,
    target: Option<Target>,
    message: Option<Said>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Said {
    level: String,
    rendered: Option<String>,
    spans: Vec<Spanned>,
}

#[derive(Deserialize)]
struct Spanned {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
    expansion: Option<Expansion>,
}

/// Where the macro is called that the text is in.
#[derive(Deserialize)]
struct Expansion {
    span: Box<Spanned>,
}

impl Said {
    fn complaint(self) -> Complaint {
        let mut at = Vec::new();
        for span in self.spans.into_iter().filter(|span| span.is_primary) {
            // What a macro of another file makes is an error there: whose it is is known by the calls that led to it.
            let mut next = Some(span);
            while let Some(span) = next {
                at.push((span.file_name, span.byte_start..span.byte_end));
                next = span.expansion.map(|expansion| *expansion.span);
            }
        }
        Complaint { at, text: self.rendered.unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_a_macro_is_also_where_it_is_called() {
        let span = |file: &str, at: Range<usize>, is_primary: bool, expansion: &str| {
            format!(
                r#"{{"file_name":"{file}","byte_start":{},"byte_end":{},"is_primary":{is_primary},"expansion":{expansion}}}"#,
                at.start, at.end
            )
        };
        let call = span("a.rs", 5..9, false, "null");
        let within = span("macros.rs", 1..2, true, &format!(r#"{{"span":{call}}}"#));
        let beside = span("a.rs", 20..30, false, "null");
        let said = format!(r#"{{"level":"error","rendered":"no","spans":[{within},{beside}]}}"#);
        let complaint = serde_json::from_str::<Said>(&said).unwrap().complaint();
        assert_eq!(complaint.at, [("macros.rs".to_owned(), 1..2), ("a.rs".to_owned(), 5..9)]);
    }
}
