//! What commands leave as it is: what git and other tools obey in the directories that commands change, and the
//! directories on the way to that and to secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::git_dir::is_repository;
use super::ground::Ground;
use super::nested::is_in_place;
use super::places::Places;
use super::standin::StandIn;
use crate::sensitive::{BARE_REPOSITORY, SETTINGS, SETTINGS_FILES};

/// How many directories are held in their places for repositories, and how many for secrets: each is a mount, and takes
/// a tenth of a millisecond.
const FOR_REPOSITORIES: usize = 64;
const FOR_SECRETS: usize = 32;

/// Settings, and whether something stands where they would be if they are not there.
pub(super) type Settings = BTreeMap<PathBuf, bool>;

/// All that is kept, whether it is there or not.
pub(super) fn settings(places: &Places) -> Settings {
    let mut all = Settings::new();
    for root in places.roots() {
        all.extend(SETTINGS_FILES.iter().map(|name| (root.join(name), false)));
        all.extend(SETTINGS.iter().chain(posing(root)).map(|name| (root.join(name), true)));
    }
    for root in places.roots() {
        // Git goes up from there, as far as the next repository.
        let mut is_reached = !is_repository(root);
        for dir in places.ground().above(root) {
            *all.entry(dir.join(".git")).or_default() |= is_reached;
            if is_reached {
                all.extend(posing(dir).iter().map(|name| (dir.join(name), true)));
                is_reached = !is_repository(dir);
            }
        }
    }
    for path in places.nested().settings() {
        all.entry(path.to_owned()).or_insert(false);
    }
    all.extend(places.nested().missing().map(|path| (path, true)));
    all
}

/// Where something stands as long as a command runs, if nothing is there: settings, and folders of keys.
pub(super) fn stood_for(places: &Places, settings: &Settings) -> BTreeSet<PathBuf> {
    let settings = settings.iter().filter(|(_, stood)| **stood).map(|(path, _)| path);
    settings.chain(places.guarded()).cloned().collect()
}

/// Where something of ours can be that was left there.
pub(super) fn left_over(places: &Places, settings: &Settings) -> BTreeSet<PathBuf> {
    let above = places.roots().flat_map(|root| places.ground().above(root));
    let posing = above.flat_map(|dir| BARE_REPOSITORY.iter().map(|name| dir.join(name)));
    stood_for(places, settings).into_iter().chain(posing).collect()
}

/// Whether a path is kept, or cannot be replaced without something that is.
pub(super) fn holds(places: &Places, path: &Path) -> bool {
    let below_root = places.roots().find_map(|root| path.strip_prefix(root).ok());
    // Also of a repository that was not there when the environment was made.
    below_root.is_some_and(|below| below.iter().any(|part| part == ".git"))
        || settings(places).keys().any(|kept| path.starts_with(kept) || kept.starts_with(path))
}

/// Directories that are mounts of their own, so that no command moves them away with what is in them, or puts another
/// in their place.
#[derive(Default)]
pub(super) struct Pins {
    pub(super) dirs: BTreeSet<PathBuf>,
    /// Whether there were more on the way to repositories, or to secrets, than are held.
    pub(super) more_repositories: bool,
    pub(super) more_secrets: bool,
}

impl Pins {
    /// Those on the way from where commands change files to a directory with settings in it, to what is kept, and to
    /// what is hidden.
    pub(super) fn new<'a>(
        places: &'a Places,
        kept: &[PathBuf],
        hidden: impl Iterator<Item = &'a Path>,
    ) -> Self {
        let mut pins = Self::default();
        let ground = places.ground();
        pins.dirs.extend(places.roots().flat_map(|root| ground.on_the_way(root)).map(Path::to_owned));
        pins.more_repositories = pins.hold(ground, kept.iter().map(PathBuf::as_path), FOR_REPOSITORIES);
        // What is kept is not moved in any case.
        let is_loose = |path: &&Path| !kept.iter().any(|kept| path.starts_with(kept));
        pins.more_secrets = pins.hold(ground, hidden.filter(is_loose), FOR_SECRETS);
        pins
    }

    /// Holds the nearest; says whether there are more.
    fn hold<'a>(&mut self, ground: &'a Ground, paths: impl Iterator<Item = &'a Path>, most: usize) -> bool {
        let ways: BTreeSet<&Path> = paths.flat_map(|path| ground.on_the_way(path)).collect();
        let is_new = |dir: &&Path| !self.dirs.contains(*dir) && is_in_place(dir);
        let mut new: Vec<&Path> = ways.into_iter().filter(is_new).collect();
        new.sort_by_key(|dir| dir.components().count());
        self.dirs.extend(new.iter().take(most).map(|dir| (*dir).to_owned()));
        new.len() > most
    }
}

/// What must stay as it is in a directory, so that no command makes a repository of the directory itself: without a
/// `.git` of its own, git would obey it. To keep one thing from being made that every repository has is enough, and
/// nobody misses these.
fn posing(root: &Path) -> &'static [&'static str] {
    const HEAD: &[&str] = &["HEAD"];
    // One of them can be elsewhere, if another says so.
    const REFS: &[&str] = &["refs", "commondir"];
    const OBJECTS: &[&str] = &["objects", "commondir"];
    if is_repository(root) {
        return &[];
    }
    // Within a repository, `HEAD` is what commands call its state, and must not be a file as well.
    let within = root.ancestors().skip(1).any(is_repository);
    let ways = if within { [REFS, OBJECTS, HEAD] } else { [HEAD, REFS, OBJECTS] };
    let is_free = |name: &&str| StandIn::is_free(&root.join(name));
    ways.into_iter().find(|names| names.iter().all(is_free)).unwrap_or(BARE_REPOSITORY)
}
