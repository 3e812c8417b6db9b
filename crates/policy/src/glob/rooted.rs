//! Patterns of absolute paths.

use std::borrow::Cow;
use std::path::{Component, Path};

use super::component::{component_fits, is_pattern, overlap};
use crate::pattern::Fit;

/// How many components of a pattern may follow those that are plain names.
pub(super) const MOST: usize = 60;

/// A pattern of absolute paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RootedGlob {
    /// The plain names that it begins with.
    base: Vec<String>,
    /// What follows; at most [`MOST`].
    parts: Vec<String>,
}

/// Places in the pattern behind which a path has come: a bit for each.
type Places = u64;

/// What of a path a deed is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What it names.
    Itself,
    /// What it names and everything below.
    Whole,
}

impl RootedGlob {
    pub(super) fn new(text: &str) -> Self {
        let mut base: Vec<String> = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(base.pop()),
                part => base.push(part.to_owned()),
            }
        }
        let plain = base.iter().take_while(|part| !is_pattern(part)).count();
        let parts = base.split_off(plain);
        Self { base, parts }
    }

    /// Whether it matches this path or one above it, or, if the deed is about the whole of it, one below. A name
    /// in the path may be a pattern of the shell; what it will stand for is then not known.
    pub(crate) fn fit(&self, path: &Path, extent: Extent) -> Fit {
        let below = if extent == Extent::Whole { Fit::Perhaps } else { Fit::No };
        let mut names = names(path);
        let mut is_sure = true;
        for own in &self.base {
            match names.next() {
                None => return below,
                Some(name) if name == own.as_str() => {}
                Some(name) if may_be(&name, own) => is_sure = false,
                Some(_) => return Fit::No,
            }
        }
        let start = self.enter(0, 0);
        // What is reached in any case, and what is if the shell's patterns stand for the right names.
        let (mut sure, mut perhaps) = (if is_sure { start } else { 0 }, start);
        let mut best = self.best(sure, perhaps);
        for name in names {
            if best == Fit::Yes || perhaps == 0 {
                break;
            }
            let is_open = is_pattern(&name);
            let knows = |part: &str| !is_open && component_fits(part, &name);
            sure = self.step(sure, knows);
            perhaps = self.step(perhaps, |part| knows(part) || may_be(&name, part));
            best = best.max(self.best(sure, perhaps));
        }
        if perhaps == 0 { best } else { best.max(below) }
    }

    fn best(&self, sure: Places, perhaps: Places) -> Fit {
        let is_done = |places: Places| places >> self.parts.len() & 1 == 1;
        match (is_done(sure), is_done(perhaps)) {
            (true, _) => Fit::Yes,
            (false, true) => Fit::Perhaps,
            (false, false) => Fit::No,
        }
    }

    /// The places behind one more name.
    fn step(&self, places: Places, fits: impl Fn(&str) -> bool) -> Places {
        let mut next = 0;
        for (at, part) in self.parts.iter().enumerate().filter(|(at, _)| places >> at & 1 == 1) {
            if part == "**" {
                next = self.enter(next, at);
            } else if fits(part) {
                next = self.enter(next, at + 1);
            }
        }
        next
    }

    /// Adds a place in the pattern, and those behind it that `**` lets skip.
    fn enter(&self, mut places: Places, mut at: usize) -> Places {
        loop {
            places |= 1 << at;
            if self.parts.get(at).is_none_or(|part| part != "**") {
                return places;
            }
            at += 1;
        }
    }
}

/// Whether a name that is a pattern of the shell may stand for one that is wanted. Such patterns do not match a dot
/// at the beginning, unless they have one.
fn may_be(name: &str, wanted: &str) -> bool {
    is_pattern(name) && (!wanted.starts_with('.') || name.starts_with(['.', '['])) && overlap(name, wanted)
}

fn names(path: &Path) -> impl Iterator<Item = Cow<'_, str>> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Glob;
    use super::*;

    fn fit(pattern: &str, path: &str, extent: Extent) -> Fit {
        let glob = Glob::path(pattern).unwrap();
        glob.rooted(Path::new("/w"), Some(Path::new("/h"))).unwrap().fit(Path::new(path), extent)
    }

    #[test]
    fn paths() {
        for (pattern, path, expected) in [
            ("src/**", "/w/src/a/b.rs", true),
            ("src", "/w/src/a/b.rs", true),
            ("src/*.rs", "/w/src/a.rs", true),
            ("src/*.rs", "/w/src/a/b.rs", false),
            ("**/*.pem", "/w/a/b/c.pem", true),
            ("**/*.pem", "/etc/c.pem", false),
            ("/**/*.pem", "/etc/c.pem", true),
            ("~/notes", "/h/notes/x", true),
            ("~", "/h/notes/x", true),
            ("~x", "/h/notes/x", false),
            ("../b", "/b/x", true),
            ("/", "/anything", true),
            ("/a/**/b", "/a/b", true),
            ("/a/**/b", "/a/x/y/b/c", true),
            ("/a/**/b", "/a/x/y/c", false),
        ] {
            let expected = if expected { Fit::Yes } else { Fit::No };
            assert_eq!(fit(pattern, path, Extent::Itself), expected, "{pattern} {path}");
        }
        for wrong in ["", "a[b", "a**b", &"*/".repeat(61)] {
            assert!(Glob::path(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_the_shell_may_make_of_a_path() {
        for (pattern, path, expected) in [
            ("hidden/**", "/w/hid*", Fit::Perhaps),
            ("hidden/**", "/w/hid*/x", Fit::Perhaps),
            ("hidden/**", "/w/*/x", Fit::Perhaps),
            ("hidden/**", "/w/h[i]dden/x", Fit::Perhaps),
            ("hidden/**", "/w/other*/x", Fit::No),
            ("hidden/**", "/w/hidden/*.rs", Fit::Yes),
            ("**/*.pem", "/w/*/a.pem", Fit::Yes),
            ("**/*.pem", "/w/a/*", Fit::Perhaps),
            ("**/*.pem", "/w/a/*.rs", Fit::No),
            ("a/*/c", "/w/*/b/c", Fit::Perhaps),
            (".git", "/w/*", Fit::No),
            (".git", "/w/.g*", Fit::Perhaps),
            (".git", "/w/[.]git", Fit::Perhaps),
            ("~/a", "/?/a", Fit::Perhaps),
        ] {
            assert_eq!(fit(pattern, path, Extent::Itself), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn what_takes_all_of_a_directory_takes_what_is_below() {
        for (pattern, path, expected) in [
            ("hidden/**", "/w", Fit::Perhaps),
            ("hidden/**", "/", Fit::Perhaps),
            ("hidden/**", "/w/other", Fit::No),
            ("a/*/c", "/w/a", Fit::Perhaps),
            ("a/*/c", "/w/a/b", Fit::Perhaps),
            ("a/*/c", "/w/a/b/d", Fit::No),
            ("**/*.pem", "/w/a", Fit::Perhaps),
            ("src", "/w/src", Fit::Yes),
        ] {
            assert_eq!(fit(pattern, path, Extent::Whole), expected, "{pattern} {path}");
        }
    }
}
