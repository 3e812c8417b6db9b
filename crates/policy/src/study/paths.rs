//! Where the words of a line lead: the paths that they may be, and where those are.

use std::path::{Path, PathBuf};

use super::Study;
use crate::deed::Target;
use crate::glob::is_pattern;
use crate::paths::{is_harmless, leads_through_open, normal};
use crate::shell::{Piece, Word};

/// In how many directories a command may be thought to run.
const MOST_PLACES: usize = 8;
/// How many texts a word may be thought to be.
const MOST_TEXTS: usize = 16;
/// How long a path may be: Linux takes no longer ones.
const LONGEST_PATH: usize = 4096;

impl Study<'_> {
    /// The files that a word names, and those that they lead to.
    pub(crate) fn target(&self, word: &Word) -> Target {
        self.followed(word, |path| Some(path), |path| self.place.links.follow(path))
    }

    /// The same for what acts on a link itself, and not on what it leads to.
    pub(crate) fn entry(&self, word: &Word) -> Target {
        self.followed(word, Path::parent, |path| match (path.parent(), path.file_name()) {
            (Some(above), Some(name)) => Some(self.place.links.follow(above)?.join(name)),
            _ => self.place.links.follow(path),
        })
    }

    fn followed(
        &self,
        word: &Word,
        through: impl Fn(&Path) -> Option<&Path>,
        follow: impl Fn(&Path) -> Option<PathBuf>,
    ) -> Target {
        let unknown = || Target::Unknown(word.source().to_owned());
        // A substitution is a pipe, whatever its name is.
        if word.source().starts_with(['<', '>']) && word.text() == Some("/dev/fd/63") {
            return Target::OneOf(Vec::new());
        }
        let Some(written) = self.paths(word) else { return unknown() };
        if written.iter().any(|path| leads_through_open(path)) {
            return unknown();
        }
        let mut paths: Vec<PathBuf> = written.iter().map(|path| normal(path)).collect();
        if paths.iter().filter_map(|path| through(path)).any(|path| self.is_linked(path)) {
            return unknown();
        }
        for path in &written {
            let Some(real) = self.elsewhere(path, &follow) else { return unknown() };
            for real in real {
                if !paths.contains(&real) {
                    paths.push(real);
                }
            }
        }
        Target::OneOf(paths)
    }

    /// Where else a path leads through the links that are there, and those that a pattern in it stands for. None if
    /// they are too many.
    fn elsewhere(&self, path: &Path, follow: impl Fn(&Path) -> Option<PathBuf>) -> Option<Vec<PathBuf>> {
        let mut found = vec![path.to_owned()];
        if is_pattern(&path.to_string_lossy()) {
            found.extend(self.place.links.expanded(path, &self.patience)?);
        }
        let leads = |path: PathBuf| {
            let written = normal(&path);
            if is_harmless(&written) { None } else { follow(&path).filter(|real| *real != written) }
        };
        Some(found.into_iter().filter_map(leads).collect())
    }

    /// Where something that is written under this path ends up, if that is elsewhere; unknown, if it cannot be told.
    pub(crate) fn written_to(&self, path: &Path) -> Option<Target> {
        let real = self.elsewhere(path, |path| self.place.links.follow(path));
        match real {
            None => Some(Target::Unknown(path.display().to_string())),
            Some(real) if real.is_empty() => None,
            Some(real) => Some(Target::OneOf(real)),
        }
    }

    /// Whether the line may have put a link there.
    fn is_linked(&self, path: &Path) -> bool {
        self.linked.iter().any(|(place, itself)| path.starts_with(place) && (*itself || path != place))
    }

    /// Keeps in mind that there may be links below a place, or that it may be one itself.
    pub(crate) fn link(&mut self, place: &Target, itself: bool) {
        match place {
            Target::OneOf(paths) => self.linked.extend(paths.iter().map(|path| (path.clone(), itself))),
            Target::Unknown(_) => self.linked.push((PathBuf::from("/"), true)),
        }
    }

    /// Whether there may be a link at or below what a word names.
    pub(crate) fn may_hold_links(&self, word: &Word) -> bool {
        let Target::OneOf(paths) = self.target(word) else { return true };
        paths.iter().any(|path| {
            let pattern = path.ancestors().filter(|path| is_pattern(&path.to_string_lossy())).last();
            let whole = pattern.and_then(Path::parent).unwrap_or(path);
            self.place.links.follow(path).is_some_and(|real| real != *path)
                || self.place.links.below(whole, &self.patience, |_| false) == Some(true)
        })
    }

    /// The same, by their names: without regard to where links may lead.
    pub(crate) fn named(&self, word: &Word) -> Target {
        match self.paths(word) {
            Some(paths) => Target::OneOf(paths.iter().map(|path| normal(path)).collect()),
            None => Target::Unknown(word.source().to_owned()),
        }
    }

    /// The absolute paths that a word may be, as they are written.
    fn paths(&self, word: &Word) -> Option<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for text in self.texts(word, 0)? {
            let path = Path::new(&text);
            if path.is_absolute() {
                paths.push(path.to_owned());
            } else {
                paths.extend(self.cwd.as_ref()?.iter().map(|place| place.join(path)));
            }
        }
        Some(paths)
    }

    /// The texts that a word may be, with the shell's patterns in them; `None` if that is not known.
    fn texts(&self, word: &Word, depth: usize) -> Option<Vec<String>> {
        let mut texts = vec![String::new()];
        for piece in word.pieces() {
            let more = match piece {
                Piece::Text(text) | Piece::Glob(text) => vec![text.clone()],
                Piece::OneOf(some) => some.clone(),
                Piece::Home => vec![self.home()?],
                Piece::Variable { name, quoted, assigned } => self.values(name, *quoted, *assigned, depth)?,
                Piece::Number | Piece::Unknown { .. } => return None,
            };
            // No file has a longer path, and texts in texts grow fast.
            if more.iter().any(|text| text.len() > LONGEST_PATH) {
                return None;
            }
            texts =
                texts.iter().flat_map(|text| more.iter().map(move |more| format!("{text}{more}"))).collect();
            if texts.len() > MOST_TEXTS || texts.iter().any(|text| text.len() > LONGEST_PATH) {
                return None;
            }
        }
        Some(texts)
    }

    fn home(&self) -> Option<String> {
        if self.variables.has("HOME") {
            return None;
        }
        Some(self.place.home.as_ref()?.to_str()?.to_owned())
    }

    fn values(&self, name: &str, quoted: bool, assigned: bool, depth: usize) -> Option<Vec<String>> {
        match (name, self.cwd.as_deref()) {
            _ if depth > 3 => return None,
            ("HOME", _) => return Some(vec![self.home()?]),
            ("PWD", Some([cwd])) if self.variables.leaves("PWD") => {
                return Some(vec![cwd.to_str()?.to_owned()]);
            }
            // Before that, it has whatever the environment gives it, or nothing.
            _ if !assigned => return None,
            _ => {}
        }
        let mut texts = Vec::new();
        for word in self.variables.of(name)? {
            texts.extend(self.texts(word, depth + 1)?);
        }
        // Unquoted, a value with blanks becomes several words.
        let split = !quoted && texts.iter().any(|text| text.contains(char::is_whitespace));
        (!split && !texts.is_empty()).then_some(texts)
    }

    /// Goes to another directory; whether that worked is not known, so it may also stay.
    pub(crate) fn go(&mut self, word: Option<&Word>) {
        // The one before, or an option, also if a variable has it.
        let is_sign = |word: &Word| {
            self.texts(word, 0).is_none_or(|texts| texts.iter().any(|text| text.starts_with(['-', '+'])))
        };
        let target = match word {
            None => self.place.home.clone().map(|home| Target::OneOf(vec![home])),
            Some(word) if is_sign(word) => None,
            Some(word) => Some(self.target(word)),
        };
        self.cwd = match (self.cwd.take(), target) {
            (Some(mut places), Some(Target::OneOf(paths))) => {
                for path in paths {
                    // A pattern may be anything that is there.
                    if path.to_string_lossy().contains(['*', '?', '[']) {
                        return;
                    }
                    if !places.contains(&path) {
                        places.push(path);
                    }
                }
                (places.len() <= MOST_PLACES).then_some(places)
            }
            _ => None,
        };
    }
}
