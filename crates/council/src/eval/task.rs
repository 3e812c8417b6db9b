//! Tasks, read from folders.
//!
//! ```text
//! evals/NAME/task.toml   the prompt, the oracle, and what it needs
//!            repo/       what the contender finds, unless task.toml names a git repository
//!            hidden/     laid over its result before the oracle runs, so that nobody can edit the tests
//!            solution/   laid over repo/, it solves the task: with it the task itself can be checked
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::error::{Error, ErrorKind};
use super::tree;

/// The file that makes a folder a task.
const FILE: &str = "task.toml";
/// How long an oracle may take if the task does not say.
const PATIENCE: Duration = Duration::from_mins(2);

/// Something to do, and a command that tells whether it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The name of its folder.
    pub name: String,
    /// What the contender is told.
    pub prompt: String,
    /// In which language, for people.
    pub language: Option<String>,
    /// Programs without which it cannot be judged.
    pub needs: Vec<String>,
    /// A shell line that ends well if and only if the task is done. It finds the contender's last words in the
    /// file that `JUNTO_ANSWER` names.
    pub oracle: String,
    /// A shell line that contenders may decide by, if they decide by one. It is `oracle` unless the task says
    /// otherwise or hides files from them.
    pub check: Option<String>,
    /// How long the oracle may take.
    pub within: Duration,
    /// What the contender begins with.
    pub source: Source,
    /// What is laid over the result before the oracle runs.
    pub hidden: Option<PathBuf>,
    /// What would solve it.
    pub solution: Option<PathBuf>,
    /// All of it in a few characters, which change with it.
    pub digest: String,
}

/// What a contender begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A copy of this folder.
    Folder(PathBuf),
    /// The files of a git repository as of a revision, without its history: what came later would tell.
    Git {
        /// Where it is.
        repository: PathBuf,
        /// Which commit, or a name of one.
        revision: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    prompt: String,
    oracle: String,
    language: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
    check: Option<String>,
    within_seconds: Option<u64>,
    git: Option<Git>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Git {
    repository: PathBuf,
    revision: String,
}

impl Task {
    /// The task in a folder.
    ///
    /// # Errors
    /// If there is none, or it makes no sense; the message names the file.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let text = fs::read_to_string(&path).map_err(|e| Error::io(ErrorKind::Task, &path, &e))?;
        let wrong = |what: &str| Error::new(ErrorKind::Task, format!("{}: {what}", path.display()));
        let file: File = toml::from_str(&text).map_err(|e| wrong(e.to_string().trim()))?;
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let plain =
            |name: &str| !name.is_empty() && name.chars().all(is_plain) && !name.starts_with(['-', '.']);
        if !plain(&name) {
            return Err(wrong("the folder's name may have only letters, digits, `-`, `_`, `.` and `+`"));
        }
        for (field, text) in [("prompt", &file.prompt), ("oracle", &file.oracle)] {
            if text.trim().is_empty() {
                return Err(wrong(&format!("`{field}` is empty")));
            }
        }
        if let Some(program) = file.needs.iter().find(|program| !plain(program)) {
            return Err(wrong(&format!("`needs`: \"{program}\" is no name of a program")));
        }
        let within = file.within_seconds.map_or(PATIENCE, Duration::from_secs);
        if within.is_zero() {
            return Err(wrong("`within_seconds` must be more than 0"));
        }
        let part = |name: &str| Some(folder.join(name)).filter(|path| path.is_dir());
        let source = match (file.git, part("repo")) {
            (Some(_), Some(_)) => return Err(wrong("there are both `git` and a folder repo/")),
            (None, None) => return Err(wrong("there is neither a folder repo/ nor `git`")),
            (Some(Git { repository, revision }), None)
                if !revision.is_empty() && !revision.starts_with('-') =>
            {
                Source::Git { repository: folder.join(repository), revision }
            }
            (Some(_), None) => return Err(wrong("`git.revision` is no name of a commit")),
            (None, Some(repo)) => Source::Folder(repo),
        };
        let hidden = part("hidden");
        let check = file.check.or_else(|| hidden.is_none().then(|| file.oracle.clone()));
        let digest =
            digest(&text, &source, hidden.as_deref()).map_err(|e| Error::io(ErrorKind::Task, folder, &e))?;
        Ok(Self {
            name,
            prompt: file.prompt,
            language: file.language,
            needs: file.needs,
            oracle: file.oracle,
            check,
            within,
            source,
            hidden,
            solution: part("solution"),
            digest,
        })
    }

    /// All tasks in a folder, by name. A folder that is a task itself is the only one.
    ///
    /// # Errors
    /// If there is none, or one makes no sense.
    pub fn read_all(folder: &Path) -> Result<Vec<Self>, Error> {
        if folder.join(FILE).is_file() {
            return Ok(vec![Self::read(folder)?]);
        }
        let cannot = |e: std::io::Error| Error::io(ErrorKind::Task, folder, &e);
        let mut folders = Vec::new();
        for entry in fs::read_dir(folder).map_err(cannot)? {
            let path = entry.map_err(cannot)?.path();
            if path.join(FILE).is_file() {
                folders.push(path);
            }
        }
        folders.sort();
        if folders.is_empty() {
            let message = format!("there is no task in {}: no folder in it has a {FILE}", folder.display());
            return Err(Error::new(ErrorKind::Task, message));
        }
        folders.iter().map(|folder| Self::read(folder)).collect()
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.+".contains(c)
}

/// What the task is. A git revision stands for its files, so it should be a commit and not a branch.
fn digest(text: &str, source: &Source, hidden: Option<&Path>) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    hash.update(text);
    if let Source::Folder(repo) = source {
        tree::digest(repo, &mut hash)?;
    }
    if let Some(hidden) = hidden {
        hash.update(b"hidden");
        tree::digest(hidden, &mut hash)?;
    }
    Ok(tree::short(hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    const PLAIN: &str = "prompt = \"Do it.\"\noracle = \"test -f done\"\n";

    #[test]
    fn tasks_are_read_by_name_and_the_oracle_is_the_check_unless_files_are_hidden() {
        let tasks = folder(&[
            ("two/task.toml", PLAIN),
            ("two/repo/x", ""),
            ("two/hidden/y", ""),
            ("one/task.toml", &format!("{PLAIN}needs = [\"python3\"]\nwithin_seconds = 5\n")),
            ("one/repo/x", ""),
            ("notes/readme", "no task"),
        ]);
        let read = Task::read_all(tasks.path()).unwrap();
        let seen: Vec<_> = read
            .iter()
            .map(|task| (task.name.as_str(), task.check.as_deref(), task.within.as_secs()))
            .collect();
        assert_eq!(seen, [("one", Some("test -f done"), 5), ("two", None, 120)]);
        assert_eq!(Task::read_all(&tasks.path().join("one")).unwrap().len(), 1);
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_file_and_reason() {
        let check = |text: &str, files: &[(&str, &str)], expected: &str| {
            let tasks = folder(&[&[("t/task.toml", text)], files].concat());
            let error = Task::read_all(tasks.path()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Task);
            let message = error.to_string();
            assert!(message.contains("t/task.toml") && message.contains(expected), "{message}");
        };
        let repo = [("t/repo/x", "")];
        check("prompt = \"x\"", &repo, "oracle");
        check("prompt = \" \"\noracle = \"true\"", &repo, "`prompt` is empty");
        check(PLAIN, &[], "neither a folder repo/ nor `git`");
        check(&format!("{PLAIN}needs = [\"a b\"]"), &repo, "no name of a program");
        check(&format!("{PLAIN}within_seconds = 0"), &repo, "more than 0");
        check(&format!("{PLAIN}orcale = \"x\""), &repo, "orcale");
        let git = "[git]\nrepository = \"..\"\nrevision = ";
        check(&format!("{PLAIN}{git}\"v1\""), &repo, "both");
        check(&format!("{PLAIN}{git}\"--all\""), &[], "no name of a commit");
        let nothing = folder(&[("readme", "")]);
        assert!(Task::read_all(nothing.path()).unwrap_err().to_string().contains("no task in"));
        assert!(Task::read_all(&nothing.path().join("gone")).is_err());
    }

    #[test]
    fn whatever_is_changed_changes_the_digest() {
        let base = [("t/task.toml", PLAIN), ("t/repo/x", "1"), ("t/hidden/y", "2")];
        let digest = |files: &[(&str, &str)]| Task::read(&folder(files).path().join("t")).unwrap().digest;
        let first = digest(&base);
        assert_eq!(digest(&base), first);
        for (index, text) in [(0, "prompt = \"Do.\"\noracle = \"true\"\n"), (1, "3"), (2, "3")] {
            let mut changed = base;
            changed[index].1 = text;
            assert_ne!(digest(&changed), first, "{index}");
        }
        assert_ne!(digest(&[base[0], ("t/repo/z", "1"), base[2]]), first);
        // A solution is for those who check the task, and changes nothing about it.
        assert_eq!(digest(&[base.as_slice(), &[("t/solution/x", "9")]].concat()), first);
    }
}
