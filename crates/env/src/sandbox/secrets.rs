//! What is known to be secret, by where it is and what it is called.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::sensitive::{KEY_NAMES, NO_SECRETS, SECRET_NAMES, SECRETS_AT_HOME, SECRETS_OF_SYSTEM, fits};

/// Directories in which keys are for tests, and nobody's.
const FIXTURES: &[&str] = &["examples", "fixtures", "test", "testdata", "tests"];

/// Directories that are not looked through: large, and made by tools.
const HEAVY: &[&str] = &[".git", "node_modules", "target", ".venv", "venv", "__pycache__"];

/// How deep, and through how many entries, a working directory is looked through.
const DEPTH: usize = 6;
const ENTRIES: usize = 20_000;

/// The places of this user's and the system's secrets, whether anything is there or not.
pub(super) fn places(home: Option<&Path>) -> Vec<PathBuf> {
    let of_home = at_home(home, |_| true);
    of_home.chain(SECRETS_OF_SYSTEM.iter().map(PathBuf::from)).collect()
}

/// Those of this user's that are folders, whether they are there or not.
pub(super) fn folders(home: Option<&Path>) -> impl Iterator<Item = PathBuf> {
    at_home(home, |below| below.ends_with('/'))
}

fn at_home(home: Option<&Path>, wanted: fn(&str) -> bool) -> impl Iterator<Item = PathBuf> {
    let all = SECRETS_AT_HOME.iter().filter(move |below| wanted(below));
    home.into_iter()
        .flat_map(move |home| all.clone().map(move |below| home.join(below.trim_end_matches('/'))))
}

/// Whether a file of the system is one of passwords in which there is none, as where nobody logs in: only `*` and `!`
/// in their place.
pub(super) fn holds_no_password(path: &Path) -> bool {
    const FILES: [&str; 4] = ["gshadow", "gshadow-", "shadow", "shadow-"];
    let is_one = FILES.iter().any(|name| path == Path::new("/etc").join(name));
    is_one && fs::read_to_string(path).is_ok_and(|text| text.lines().all(has_no_password))
}

fn has_no_password(line: &str) -> bool {
    let password = line.split(':').nth(1);
    password.is_some_and(|password| !password.is_empty() && password.chars().all(|c| matches!(c, '*' | '!')))
}

/// Whether a file is secret by its name, wherever it is.
pub(super) fn is_named_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let is_any = |patterns: &[&str]| patterns.iter().any(|pattern| fits(pattern, &name));
    is_any(SECRET_NAMES) && !is_any(NO_SECRETS)
}

/// Whether a file is a private key, by its name and first line, that is not there for tests.
pub(super) fn is_key(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fixture = || path.components().any(|part| FIXTURES.iter().any(|name| part.as_os_str() == *name));
    KEY_NAMES.iter().any(|pattern| fits(pattern, &name)) && !fixture() && begins_a_key(path)
}

fn begins_a_key(path: &Path) -> bool {
    let mut head = [0; 64];
    let is_file = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    let read = is_file.then(|| File::open(path).and_then(|mut file| file.read(&mut head)));
    let Some(Ok(read)) = read else { return false };
    let head = String::from_utf8_lossy(head.get(..read).unwrap_or_default()).into_owned();
    head.trim_start().starts_with("-----BEGIN ") && head.contains("PRIVATE KEY")
}

/// Secret files that were found in a directory.
pub(super) struct Searched {
    pub(super) found: Vec<PathBuf>,
    /// Where the settings of repositories are, the nearest first.
    pub(super) repositories: Vec<PathBuf>,
    /// Whether there were more files than are looked at.
    pub(super) cut_short: bool,
}

/// The directories above one in which somebody's work may be: those below the home, if that is above, and never the
/// root.
fn above<'a>(dir: &'a Path, home: Option<&'a Path>) -> impl Iterator<Item = &'a Path> {
    let is_place_for_work =
        move |dir: &&Path| dir.parent().is_some() && home.is_none_or(|home| !home.starts_with(dir));
    dir.ancestors().skip(1).take_while(is_place_for_work)
}

/// The top of the repository that a directory is a part of, if that is another: all of its secrets are one `..` away.
pub(super) fn project(dir: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if is_repository(dir) {
        return None;
    }
    above(dir, home).find(|dir| is_repository(dir)).map(Path::to_owned)
}

/// Secret files on the way up from a directory, the home's own included. What is beside a project is no part of it, so
/// only the directories themselves are looked at.
pub(super) fn on_the_way_up(dir: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    above(dir, home).chain(home).flat_map(|dir| in_tree(dir, 1).found).collect()
}

/// Whether a directory is the top of a repository. An empty `.git` is none, but may be one of our stand-ins.
fn is_repository(dir: &Path) -> bool {
    let git = dir.join(".git");
    git.is_file() || git.join("HEAD").exists()
}

/// Looks for secret files in a directory, first in what is nearest.
pub(super) fn in_tree(root: &Path, depth: usize) -> Searched {
    let mut searched = Searched { found: Vec::new(), repositories: Vec::new(), cut_short: false };
    let mut pending = VecDeque::from([(root.to_owned(), depth.min(DEPTH))]);
    let mut seen = 0;
    while let Some((dir, levels)) = pending.pop_front() {
        let Some(deeper) = levels.checked_sub(1) else { continue };
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            seen += 1;
            if seen > ENTRIES {
                searched.cut_short = true;
                return searched;
            }
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            let path = entry.path();
            if name == ".git" {
                searched.repositories.push(path.clone());
            }
            if kind.is_dir() {
                if deeper > 0 && !HEAVY.iter().any(|heavy| name == *heavy) {
                    pending.push_back((path, deeper));
                }
            } else if is_named_secret(&name) || (kind.is_file() && is_key(&path)) {
                searched.found.push(path);
            }
        }
    }
    searched
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_password_unless_it_is_plain_that_it_has_none() {
        for (line, without) in [
            ("root:*:20228:0:99999:7:::", true),
            ("sshd:!:20228::::::", true),
            ("polkit:!*:20228::::::", true),
            ("adm:*::", true),
            ("me:$y$j9T$x$y:20228:0:99999:7:::", false),
            ("locked:!$6$x$y:20228:0:99999:7:::", false),
            ("open::20228:0:99999:7:::", false),
            ("nonsense", false),
            ("", false),
        ] {
            assert_eq!(has_no_password(line), without, "{line}");
        }
        assert!(!holds_no_password(Path::new("/etc/passwd")));
        assert!(!holds_no_password(Path::new("/nowhere/shadow")));
    }

    #[test]
    fn names() {
        for (name, expected) in [
            (".env", true),
            (".env.local", true),
            (".env.production.local", true),
            (".env.example", false),
            (".env.local.sample", false),
            (".envrc", true),
            ("credentials.json", true),
            ("env", false),
            ("id_rsa", true),
            ("id_rsa.pub", false),
            ("vault.kdbx", true),
            ("cert.pem", false),
            ("main.rs", false),
        ] {
            assert_eq!(is_named_secret(OsStr::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn what_is_found_in_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let key = "-----BEGIN PRIVATE KEY-----\nMIIB\n";
        for (path, content) in [
            (".env", "A=b"),
            (".env.example", "A=b"),
            ("app/.env.local", ""),
            ("server.key", key),
            ("public.pem", "-----BEGIN CERTIFICATE-----\n"),
            ("tests/server.key", key),
            ("node_modules/x/.env", ""),
            ("build/.env", ""),
            ("a/b/id_rsa", ""),
        ] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let found = |depth| {
            let mut found: Vec<String> = in_tree(dir.path(), depth)
                .found
                .iter()
                .map(|path| path.strip_prefix(dir.path()).unwrap().to_str().unwrap().to_owned())
                .collect();
            found.sort();
            found
        };
        assert_eq!(found(usize::MAX), [".env", "a/b/id_rsa", "app/.env.local", "build/.env", "server.key"]);
        assert_eq!(found(1), [".env", "server.key"]);
    }

    #[test]
    fn a_project_is_the_repository_around_and_never_the_home_or_above() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for path in
            ["home/.git", "home/work/app/.git", "home/work/app/sub/.git", "home/plain/sub", "home/linked/sub"]
        {
            fs::create_dir_all(at(path)).unwrap();
        }
        for path in
            ["home/.git/HEAD", "home/work/app/.git/HEAD", "home/linked/.git", "home/.env", "home/work/.env"]
        {
            fs::write(at(path), "").unwrap();
        }
        let home = at("home");
        let of = |path: &str| project(&at(path), Some(&home));
        // What stands for `.git` in a part of it is none.
        assert_eq!(of("home/work/app/sub"), Some(at("home/work/app")));
        assert_eq!(of("home/linked/sub"), Some(at("home/linked")));
        assert_eq!(of("home/work/app"), None);
        assert_eq!(of("home/plain/sub"), None);
        assert_eq!(on_the_way_up(&at("home/work/app"), Some(&home)), [at("home/work/.env"), at("home/.env")]);
        assert_eq!(on_the_way_up(&home, Some(&home)), [at("home/.env")]);
    }
}
