//! Finding and reading the files, within bounds.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use junto::agent::{Fault, Skill, SlashCommand};

/// How many skills, or commands, of one folder are read.
const MOST: usize = 200;
/// How deep commands are looked for.
const DEEPEST: usize = 4;
/// The longest file of hooks, settings or servers, in bytes.
const LONGEST: u64 = 1 << 20;

/// The text of a file of hooks, settings or servers; none if there is no such file.
pub(crate) fn text(file: &Path) -> Result<Option<String>, Fault> {
    read(file, LONGEST)
}

/// The skills in a folder, by name: the `SKILL.md` of each, and what is in it.
pub(super) fn skills(folder: &Path) -> Vec<Result<(PathBuf, String), Fault>> {
    let mut found = Vec::new();
    for entry in entries(folder) {
        let file = entry.join("SKILL.md");
        found.extend(read(&file, Skill::LONGEST).transpose().map(|read| read.map(|text| (file, text))));
        if found.len() > MOST {
            found.push(Err(Fault::of(
                folder,
                format!("there are more than {MOST} skills; the rest is left out"),
            )));
            break;
        }
    }
    found
}

/// The commands in a folder and those below it: the name and file of each, and what is in it.
pub(super) fn commands(folder: &Path) -> Vec<Result<(String, PathBuf, String), Fault>> {
    let mut found = Vec::new();
    gather(folder, "", 1, &mut found);
    found
}

fn gather(
    folder: &Path,
    prefix: &str,
    depth: usize,
    found: &mut Vec<Result<(String, PathBuf, String), Fault>>,
) {
    for entry in entries(folder) {
        let Some(name) = entry.file_name().and_then(|name| name.to_str()) else { continue };
        if found.len() >= MOST {
            return;
        }
        if entry.is_dir() {
            if depth < DEEPEST {
                gather(&entry, &format!("{prefix}{name}:"), depth + 1, found);
            }
        } else if let Some(name) = name.strip_suffix(".md") {
            let command = read(&entry, SlashCommand::LONGEST).transpose();
            found.extend(
                command.map(|read| read.map(|text| (format!("{prefix}{name}"), entry.clone(), text))),
            );
        }
    }
}

/// What is in a folder, sorted, without what is hidden; nothing if there is none.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(read) = fs::read_dir(folder) else { return Vec::new() };
    let visible =
        |path: &PathBuf| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'));
    let mut entries: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).filter(visible).collect();
    entries.sort_unstable();
    entries
}

/// The text of a file of at most so many bytes; none if it is not there.
pub(super) fn read(file: &Path, longest: u64) -> Result<Option<String>, Fault> {
    let fault = |error: io::Error| Fault::of(file, format!("cannot be read: {error}"));
    // Whatever else lies there, a pipe for instance, would keep us waiting.
    if file.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(Fault::of(file, "is no file"));
    }
    let handle = match fs::File::open(file) {
        Ok(handle) => handle,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(fault(error)),
    };
    let mut bytes = Vec::new();
    handle.take(longest + 1).read_to_end(&mut bytes).map_err(fault)?;
    if bytes.len() as u64 > longest {
        return Err(Fault::of(file, format!("is longer than {longest} bytes")));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| Fault::of(file, "is not UTF-8 text"))
}
