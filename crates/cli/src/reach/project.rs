//! What a project brings, and which of it needs the user's trust: hooks, commands that run commands, and skills that
//! have files beside their text. Skills and commands that are nothing but text are read like the project's other
//! documents.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use junto::agent::{Fault, HookFile, Skill, SlashCommand};
use junto::core::Leash;

use super::{COMMANDS, HOOKS, Kit, SKILLS, files};
use crate::config::digest;

/// How many files a skill, or the hooks, may have, so that they can be compared each time.
const MOST_FILES: usize = 256;
/// How many bytes these may have.
const MOST_BYTES: u64 = 16 << 20;

/// What a project brings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Brought {
    /// What needs nobody's trust.
    pub(crate) free: Kit,
    /// What needs it.
    pub(crate) bound: Kit,
    /// What is wrong with the rest.
    pub(crate) faults: Vec<Fault>,
    /// Events of its hooks that never happen.
    pub(crate) unused: Vec<String>,
    /// Every file that trust is about, below the root, and what is in it, as a digest.
    pub(crate) files: Vec<(String, String)>,
}

impl Brought {
    /// What the project with this root brings.
    pub(crate) fn of(root: &Path) -> Self {
        let mut brought = Self::default();
        for place in SKILLS {
            for found in files::skills(&root.join(place)) {
                let read = found.and_then(|(file, text)| {
                    inside(root, &file)?;
                    Ok((Skill::read(&file, &text)?, text))
                });
                match read {
                    Ok((skill, text)) => brought.skill(root, skill, &text),
                    Err(fault) => brought.faults.push(fault),
                }
            }
        }
        for place in COMMANDS {
            for found in files::commands(&root.join(place)) {
                let read = found.and_then(|(name, file, text)| {
                    inside(root, &file)?;
                    Ok((SlashCommand::read(&name, &file, &text)?, text))
                });
                match read {
                    Ok((command, text)) if !command.shell_lines().is_empty() => {
                        brought.files.push((below(root, &command.file), digest(&text)));
                        brought.bound.commands.push(command);
                    }
                    // Nobody vouches for its text: it includes what is in the project, and nothing else.
                    Ok((command, _)) => {
                        brought.free.commands.push(SlashCommand { within: Some(root.to_owned()), ..command });
                    }
                    Err(fault) => brought.faults.push(fault),
                }
            }
        }
        for place in HOOKS {
            brought.hooks(root, &root.join(place));
        }
        // Two places may lead to one file.
        brought.files.sort_unstable();
        brought.files.dedup();
        brought
    }

    fn skill(&mut self, root: &Path, skill: Skill, text: &str) {
        match others(root, skill.folder(), &skill.file) {
            Ok(others) if others.is_empty() => self.free.skills.push(skill),
            Ok(others) => {
                self.files.push((below(root, &skill.file), digest(text)));
                self.files.extend(others);
                self.bound.skills.push(skill);
            }
            Err(fault) => self.faults.push(fault),
        }
    }

    fn hooks(&mut self, root: &Path, file: &Path) {
        let text = match inside(root, file).and_then(|()| files::text(file)) {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(fault) => return self.faults.push(fault),
        };
        // They stay in the sandbox: what they run may be in the project, where agents can change it.
        let HookFile { hooks, faults, unused } = HookFile::read(file, &text, Leash::Kept);
        self.faults.extend(faults);
        self.unused.extend(unused);
        if hooks.is_empty() {
            return;
        }
        // The usual place for their programs.
        let programs = file.with_file_name("hooks");
        match others(root, &programs, file) {
            Ok(programs) => {
                self.files.push((below(root, file), digest(&text)));
                self.files.extend(programs);
                self.bound.hooks.extend(hooks);
            }
            Err(fault) => self.faults.push(fault),
        }
    }
}

/// That a file does not lead out of the project. One that is not there leads nowhere.
fn inside(root: &Path, file: &Path) -> Result<(), Fault> {
    match file.canonicalize() {
        Ok(real) if !real.starts_with(root) => {
            Err(Fault::of(file, format!("leads out of the project, to {}", real.display())))
        }
        _ => Ok(()),
    }
}

/// All files in a folder but one, each with its digest.
fn others(root: &Path, folder: &Path, but: &Path) -> Result<Vec<(String, String)>, Fault> {
    let (mut found, mut left, mut folders) = (Vec::new(), MOST_BYTES, vec![folder.to_owned()]);
    let mut seen = HashSet::new();
    let too_many = |folder: &Path| {
        let message = format!(
            "has more than {MOST_FILES} files or {MOST_BYTES} bytes, too many to be compared each time"
        );
        Err(Fault::of(folder, message))
    };
    while let Some(folder) = folders.pop() {
        // What a linked folder has counts like the rest; a link may lead in circles.
        if !seen.insert(folder.canonicalize().unwrap_or_else(|_| folder.clone())) {
            continue;
        }
        if seen.len() > MOST_FILES {
            return too_many(&folder);
        }
        for path in all(&folder) {
            if path == but {
                continue;
            }
            inside(root, &path)?;
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let fault = |error: io::Error| Fault::of(&path, format!("cannot be read: {error}"));
            if !path.metadata().map_err(fault)?.is_file() {
                continue;
            }
            let (digest, bytes) = digest_of(&path, left).map_err(fault)?;
            left = left.saturating_sub(bytes);
            found.push((below(root, &path), digest));
            if left == 0 || found.len() > MOST_FILES {
                return too_many(folders.first().unwrap_or(&folder));
            }
        }
    }
    Ok(found)
}

/// Everything in a folder, what is hidden too.
fn all(folder: &Path) -> Vec<PathBuf> {
    let Ok(read) = fs::read_dir(folder) else { return Vec::new() };
    let mut all: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
    all.sort_unstable();
    all
}

/// The digest of at most so many bytes of a file, and how many these are.
fn digest_of(path: &Path, most: u64) -> io::Result<(String, u64)> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok((digest(&bytes), bytes.len() as u64))
}

fn below(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}
