//! Paths: which are keys, which are guarded, which are inside.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use junto_core::sensitive::{
    KEY_NAMES, NO_SECRETS, SECRET_NAMES, SECRETS_AT_HOME, SECRETS_OF_SYSTEM, SETTINGS, SETTINGS_FILES,
};

use crate::Place;
use crate::glob::{component_fits, is_pattern, overlap};

/// Places of the system that show what other processes have, and what is in memory and on disks.
const SECRETS_OF_PROCESSES: &[&str] = &[
    "/dev/dm-*",
    "/dev/hd?*",
    "/dev/kmem",
    "/dev/loop?*",
    "/dev/mapper/*",
    "/dev/md?*",
    "/dev/mem",
    "/dev/mmcblk*",
    "/dev/nvme*",
    "/dev/port",
    "/dev/rdisk*",
    "/dev/sd?*",
    "/dev/vd?*",
    "/dev/xvd?*",
    "/proc/*/cwd",
    "/proc/*/environ",
    "/proc/*/fd",
    "/proc/*/map_files",
    "/proc/*/mem",
    "/proc/*/root",
    "/proc/*/task/*/cwd",
    "/proc/*/task/*/environ",
    "/proc/*/task/*/fd",
    "/proc/*/task/*/mem",
    "/proc/*/task/*/root",
    "/proc/kcore",
];

/// Where the homes of users are, others' too.
const HOMES: &[&str] = &["/Users/*", "/home/*", "/root"];

/// Files of the system that hold nothing.
const HARMLESS: &[&str] = &[
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// The path without `.` and `..`. Links are not followed: what a line does through them is for the sandbox.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            Component::ParentDir => drop(normal.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    normal
}

/// Whether a path holds keys or passwords, by its name.
pub(crate) fn is_secret(path: &Path, place: &Place) -> bool {
    if is_private(path, place) {
        return true;
    }
    let names = names(path);
    let last = names.last().map_or("", |name| name);
    let last = last.to_lowercase();
    if NO_SECRETS.iter().any(|pattern| component_fits(pattern, &last)) {
        return false;
    }
    let is_name = |name: &Cow<'_, str>| {
        let name = name.to_lowercase();
        SECRET_NAMES.iter().chain(KEY_NAMES).any(|secret| meets(&name, secret))
    };
    if names.iter().any(is_name) {
        return true;
    }
    if SECRETS_OF_SYSTEM.iter().chain(SECRETS_OF_PROCESSES).any(|secret| is_below(&names, secret)) {
        return true;
    }
    let home = place.home.as_deref().map(Path::to_string_lossy);
    let homes = home.as_deref().into_iter().chain(HOMES.iter().copied());
    let mut at_home = homes.filter_map(|home| below(&names, home));
    at_home.any(|names| SECRETS_AT_HOME.iter().any(|secret| is_below(names, secret)))
}

/// Whether a path is among what its user keeps for himself, wherever that is.
pub(crate) fn is_private(path: &Path, place: &Place) -> bool {
    let names = names(path);
    place.private.iter().any(|private| is_below(&names, &private.to_string_lossy()))
}

fn is_below(names: &[Cow<'_, str>], start: &str) -> bool {
    below(names, start).is_some()
}

/// The names of a path behind those of a directory, if it is below that.
fn below<'n, 'p>(mut names: &'n [Cow<'p, str>], start: &str) -> Option<&'n [Cow<'p, str>]> {
    for wanted in start.split('/').filter(|name| !name.is_empty()) {
        let (name, rest) = names.split_first()?;
        // Where more follows, a pattern without letters means every directory that is there.
        let any =
            || !rest.is_empty() && !wanted.starts_with('.') && is_pattern(name) && overlap(name, wanted);
        if name != wanted && !meets(name, wanted) && !any() {
            return None;
        }
        names = rest;
    }
    Some(names)
}

/// Whether everything below a path includes where keys are kept.
pub(crate) fn holds_secrets(path: &Path, place: &Place) -> bool {
    if is_secret(path, place) || is_open(path) {
        return true;
    }
    // Where the working directory is, whoever works there has chosen it.
    if path.starts_with(&place.workdir) {
        return false;
    }
    let names = names(path);
    let above = |secret: &str| {
        let mut secret = secret.split('/').filter(|name| !name.is_empty());
        names.iter().all(|name| secret.next().is_some_and(|secret| secret == name || meets(name, secret)))
    };
    if SECRETS_OF_SYSTEM.iter().chain(SECRETS_OF_PROCESSES).any(|secret| above(secret)) {
        return true;
    }
    if place.private.iter().any(|private| above(&private.to_string_lossy())) {
        return true;
    }
    let of_home = |below: &Path| SECRETS_AT_HOME.iter().any(|secret| Path::new(secret).starts_with(below));
    let of_others = |home: &&str| {
        above(home)
            || below(&names, home)
                .is_some_and(|names| of_home(&names.iter().map(|name| &**name).collect::<PathBuf>()))
    };
    if HOMES.iter().any(of_others) {
        return true;
    }
    let Some(home) = place.home.as_deref() else { return false };
    path.strip_prefix(home).map_or_else(|_| home.starts_with(path), of_home)
}

/// Whether a file of the system holds nothing, so that reading and writing it means nothing.
pub(crate) fn is_harmless(path: &Path) -> bool {
    HARMLESS.iter().any(|harmless| path == Path::new(harmless))
        || path == Path::new("/dev/fd")
        || is_open(path) && !is_pattern(&path.to_string_lossy())
}

/// Whether a path is, or may be, another name for a file that is open by then. What was opened has been judged, but it
/// may be a directory.
pub(crate) fn is_open(path: &Path) -> bool {
    match names(path).as_slice() {
        [dev, name] => {
            may_be(dev, "dev") && ["stdin", "stdout", "stderr"].iter().any(|own| may_be(name, own))
        }
        [dev, fd, _] => may_be(dev, "dev") && may_be(fd, "fd"),
        _ => false,
    }
}

/// The same, by the names that a process has for its own, too.
pub(crate) fn may_be_open(path: &Path) -> bool {
    is_open(path)
        || matches!(names(path).as_slice(), [proc, .., fd, _] if may_be(proc, "proc") && may_be(fd, "fd"))
}

/// Whether a name is another one, or a pattern that may stand for it.
fn may_be(name: &str, wanted: &str) -> bool {
    name == wanted || is_pattern(name) && overlap(name, wanted)
}

/// Whether a path, as it is written, goes on behind a file that is open: where that leads is known only when it runs.
pub(crate) fn leads_through_open(path: &Path) -> bool {
    let mut at = PathBuf::from("/");
    let mut depth = 0_usize;
    for component in path.components() {
        let up = component == Component::ParentDir;
        if !matches!(component, Component::Normal(_)) && !up {
            continue;
        }
        // They are at the top, and a path may be long.
        if depth <= 3 && (is_open(&at) || up && at == Path::new("/dev/fd")) {
            return true;
        }
        if up {
            at.pop();
            depth = depth.saturating_sub(1);
        } else {
            at.push(component);
            depth += 1;
        }
    }
    false
}

/// Whether a path is where `workspace` lets write.
pub(crate) fn is_inside(path: &Path, place: &Place) -> bool {
    let inside =
        |start: &Path| !start.as_os_str().is_empty() && start != Path::new("/") && path.starts_with(start);
    inside(&place.workdir) || place.temp.iter().any(|temp| inside(temp))
}

/// What a path inside is guarded as: the name that is. These are how the repository and the agents are set up, and
/// what runs by itself.
pub(crate) fn guarded(path: &Path, place: &Place) -> Option<&'static str> {
    let below = path.strip_prefix(&place.workdir).ok()?;
    let names = names(below);
    // Without a `.git`, git takes a directory for a repository that has this and little more.
    if names.first().is_some_and(|name| meets(name, "HEAD"))
        && place.is_repository(&place.workdir) == Some(false)
    {
        return Some("HEAD");
    }
    names.iter().find_map(|name| {
        let name = name.to_lowercase();
        SETTINGS.iter().chain(SETTINGS_FILES).find(|guarded| meets(&name, guarded)).copied()
    })
}

/// Whether removing a path takes something guarded with it.
pub(crate) fn holds_guarded(path: &Path, place: &Place) -> bool {
    place.workdir.starts_with(path)
}

/// Whether removing a path takes something with it that its user keeps for himself.
pub(crate) fn holds_private(path: &Path, place: &Place) -> bool {
    place.private.iter().any(|private| private.starts_with(path))
}

/// Whether a name, which may be a pattern of the shell, is or may be one of these. A pattern without any letter
/// of its own is taken to mean the ordinary files.
fn meets(name: &str, wanted: &str) -> bool {
    if !is_pattern(name) {
        return component_fits(wanted, name);
    }
    // The shell's patterns do not match a dot at the beginning, unless they have one.
    if wanted.starts_with('.') && !name.starts_with('.') {
        return false;
    }
    name.chars().any(|c| !matches!(c, '*' | '?')) && overlap(name, wanted)
}

fn names(path: &Path) -> Vec<Cow<'_, str>> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_string_lossy()),
            _ => None,
        })
        .collect()
}
