//! Where a sandbox lets files be read and changed, and what of a path it forbids.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use nix::errno::Errno;
use nix::unistd::{AccessFlags, access, geteuid};

use super::foreign::Foreign;
use super::ground::Ground;
use super::guarded::Guarded;
use super::known::Known;
use super::nested::Nested;
use super::standin::{self, StandIn};
use super::{Access, Sandbox, kept, secrets};
use crate::sensitive::{SETTINGS, SETTINGS_FILES};
use crate::{EnvFacts, Error, ErrorKind, RealPath, Result, follow_links};

/// Where everybody makes temporary files.
const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// Where things are, resolved once.
pub(crate) struct Places {
    access: Access,
    /// Where files are changed.
    ground: Ground,
    home: Option<PathBuf>,
    /// The program that opens the door for named hosts.
    door: Option<PathBuf>,
    /// Directories for temporary files.
    temporary: Vec<PathBuf>,
    /// What is not read, whether it is there or not.
    hidden: Vec<PathBuf>,
    /// Those of them that somebody named for this sandbox.
    named: Vec<PathBuf>,
    /// Folders among them that programs obey, where commands could make them.
    guarded: Guarded,
    /// Directories that were looked through for secret files: the working directory, its project, those named.
    searched: Vec<PathBuf>,
    /// The secret files in them and on the way up, found when the environment was made.
    found: Vec<PathBuf>,
    /// The repositories in them that can be changed.
    nested: Nested,
    /// What was hidden before, wherever it is now.
    known: Known,
    /// Whether one of them was too large to be looked through.
    cut_short: bool,
    /// Unix sockets that commands may connect to.
    sockets: Vec<PathBuf>,
}

impl Places {
    /// Those of an environment; `temp` is where its commands are told to make temporary files.
    ///
    /// # Errors
    /// If a directory that may be changed is not there, or the work is in what is to be hidden.
    pub(super) fn new(sandbox: &Sandbox, facts: &EnvFacts, temp: Option<&OsStr>) -> Result<Self> {
        let cwd = facts.cwd.as_path();
        let mut roots = if sandbox.access == Access::Aside { Vec::new() } else { vec![cwd.to_owned()] };
        for dir in &sandbox.writable {
            roots.push(dir.canonicalize().map_err(|e| Error::io(dir.display(), e))?);
        }
        let temporary = sandbox.temporary.clone().unwrap_or_else(|| {
            let named = temp.map(PathBuf::from).filter(|temp| temp.is_absolute());
            TEMPORARY.iter().map(PathBuf::from).chain(named).collect()
        });
        let mut temporary: Vec<PathBuf> =
            temporary.iter().filter_map(|dir| dir.canonicalize().ok()).collect();
        temporary.sort();
        temporary.dedup();
        // Or the working directory could be changed as a part of one of them.
        temporary.retain(|dir| sandbox.access != Access::Aside || !cwd.starts_with(dir));
        let home = facts.home.as_deref();
        let mut hidden: Vec<PathBuf> = Vec::new();
        for path in &sandbox.hidden {
            if cwd.starts_with(real(&meant(path, cwd, home))) {
                let message = format!("it cannot be hidden: the work is in it, in {}", cwd.display());
                return Err(Error::new(ErrorKind::Invalid, path.display(), message));
            }
        }
        let named = sandbox.hidden.iter().chain(&sandbox.unread).map(|path| meant(path, cwd, home));
        let named: Vec<PathBuf> = named.collect();
        for path in named.iter().cloned().chain(secrets::places(home)) {
            // Also what a link leads to.
            let real = real(&path);
            // What goes up is no place by itself: it may be the working directory, or above it.
            let goes_up = path.components().any(|part| part == Component::ParentDir);
            hidden.extend(Some(path).filter(|path| *path != real && !goes_up));
            hidden.push(real);
        }
        // Whoever works in such a place has chosen it.
        hidden.retain(|path| !cwd.starts_with(path));
        let mut searched = vec![cwd.to_owned()];
        searched.extend(secrets::project(cwd, home));
        searched.extend(sandbox.searched.iter().filter_map(|dir| dir.canonicalize().ok()));
        searched.dedup();
        let mut found = secrets::on_the_way_up(cwd, home);
        let mut repositories = Vec::new();
        let mut cut_short = false;
        for dir in &searched {
            let within = secrets::in_tree(dir, usize::MAX);
            found.extend(within.found);
            repositories.extend(within.repositories);
            cut_short |= within.cut_short;
        }
        let writable = roots.iter().chain(&temporary).cloned().collect();
        let ground = match sandbox.access {
            Access::ReadOnly => Ground { roots: Vec::new(), writable: Vec::new() },
            Access::Aside | Access::Workspace => Ground { roots, writable },
        };
        let around = ground.roots.iter().filter_map(|root| secrets::project(root, home));
        let tops: Vec<PathBuf> = searched.iter().cloned().chain(around).collect();
        let nested = Nested::new(repositories, &tops, &ground);
        let guarded = Guarded::new(sandbox, cwd, home, &ground);
        Ok(Self {
            access: sandbox.access,
            ground,
            home: facts.home.clone(),
            door: sandbox.door.as_ref().and_then(|door| door.first()).map(PathBuf::from),
            temporary,
            hidden,
            named: named.iter().map(|path| real(path)).collect(),
            guarded,
            searched,
            found,
            nested,
            known: Known::default(),
            cut_short,
            sockets: sandbox.sockets.clone(),
        })
    }

    /// Directories that commands change.
    pub(super) fn writable(&self) -> impl Iterator<Item = &Path> {
        self.ground.writable.iter().map(PathBuf::as_path)
    }

    /// Directories that commands change and in which settings are kept.
    pub(super) fn roots(&self) -> impl Iterator<Item = &Path> {
        self.ground.roots.iter().map(PathBuf::as_path)
    }

    /// Both.
    pub(super) fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Repositories that are not at the top of these, whose settings are kept as well.
    pub(super) fn nested(&self) -> &Nested {
        &self.nested
    }

    /// Folders of keys in which something stands where they are not there.
    pub(super) fn guarded(&self) -> impl Iterator<Item = &PathBuf> {
        self.guarded.folders.iter()
    }

    /// Makes the folders of its host's own settings that are not there: they are hidden then, and the host can write
    /// them while a command runs.
    ///
    /// # Errors
    /// If one cannot be made for a reason that may pass.
    pub(super) fn make_own(&self) -> io::Result<()> {
        self.guarded.own.iter().try_for_each(|path| standin::make_for_good(path))
    }

    /// Whether some of the settings, or folders of keys, are links, which cannot be kept from being replaced.
    pub(super) fn has_linked_settings(&self) -> bool {
        let names = || SETTINGS.iter().chain(SETTINGS_FILES);
        let mut all = self.roots().flat_map(|root| names().map(|name| root.join(name)));
        self.guarded.is_linked || all.any(|path| path.is_symlink())
    }

    /// Whether there may be secrets that were not found, because a directory is too large.
    pub(super) fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    /// What is known to be secret, and is there.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Path> {
        self.hidden.iter().filter(|path| path.exists()).chain(&self.found).map(PathBuf::as_path)
    }

    /// Everything that is to be hidden and is there now.
    pub(super) fn masked(&self) -> Vec<PathBuf> {
        let tops: BTreeSet<&PathBuf> = self.ground.roots.iter().chain(&self.searched).collect();
        let fresh = tops.iter().flat_map(|top| secrets::in_tree(top, 1).found);
        let all = self.hidden.iter().chain(&self.found).cloned().chain(fresh);
        let there = |path: PathBuf| {
            let found = fs::symlink_metadata(&path).ok()?;
            if !found.is_symlink() {
                // In what stands for a folder is nothing.
                return (!found.is_dir() || !StandIn::is_free(&path)).then_some(path);
            }
            // What a link leads to, if that is a file: hiding a whole directory is nobody's to choose.
            path.canonicalize().ok().filter(|real| real.is_file())
        };
        let mut masked: Vec<PathBuf> = all.filter_map(there).collect();
        // The working directory, and where else something can have been moved.
        let moved_to: BTreeSet<&PathBuf> = self.searched.iter().take(1).chain(&self.ground.roots).collect();
        masked.extend(self.known.moved(moved_to.into_iter().map(PathBuf::as_path), &masked));
        masked.sort();
        // What is below something hidden is hidden with it.
        masked.dedup_by(|later, earlier| later.starts_with(earlier));
        masked
    }

    /// Whether a file is closed to commands though nobody hides it: the system does not let this user read it, who
    /// cannot change that, and no command can put another in its place.
    pub(super) fn is_closed(&self, file: &Path) -> bool {
        let Ok(real) = file.canonicalize() else { return false };
        access(&real, AccessFlags::R_OK) == Err(Errno::EACCES)
            && real.metadata().is_ok_and(|found| found.uid() != geteuid().as_raw())
            && !self.writable().any(|dir| real.starts_with(dir))
    }

    /// Whether there is nothing secret in a file that nobody has named: one of the system's passwords without one.
    pub(super) fn is_empty_of_secrets(&self, file: &Path) -> bool {
        !self.named.iter().any(|named| named == file) && secrets::holds_no_password(file)
    }

    /// Unix sockets of others, for commands that have Unix sockets; none, if they have none.
    pub(super) fn foreign(&self) -> Foreign {
        if self.sockets.is_empty() {
            return Foreign::default();
        }
        let temporary: Vec<&Path> = TEMPORARY.iter().map(Path::new).filter(|dir| !is_device(dir)).collect();
        let roots: Vec<PathBuf> = self.roots().map(Path::to_owned).collect();
        let needed: Vec<&Path> =
            [&self.home, &self.door].into_iter().flatten().map(PathBuf::as_path).collect();
        Foreign::now(&self.sockets, &temporary, &roots, &needed)
    }

    /// Whether commands make files in a directory for temporary ones.
    pub(super) fn is_temporary(&self, dir: &Path) -> bool {
        self.access != Access::ReadOnly && self.temporary.iter().any(|temporary| temporary == dir)
    }

    /// Whether a file or directory is hidden.
    pub(crate) fn hides(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| path.starts_with(hidden))
            || path.file_name().is_some_and(secrets::is_named_secret)
            || secrets::is_key(path)
    }

    /// That a path may be read.
    pub(super) fn check_read(&self, path: &RealPath) -> Result<()> {
        if self.hides(path.as_path()) {
            return Err(denied(path, "it is a secret, which this sandbox does not show"));
        }
        Ok(())
    }

    /// That a path may be changed.
    pub(super) fn check_write(&self, path: &RealPath) -> Result<()> {
        if self.access == Access::ReadOnly {
            return Err(denied(path, "this sandbox is read-only"));
        }
        self.check_read(path)?;
        let within = |dir: &Path| path.as_path() != dir && path.as_path().starts_with(dir);
        if self.writable().any(within) {
            if kept::holds(self, path.as_path()) {
                return Err(denied(path, "this sandbox keeps the settings of tools as they are"));
            }
            if path.as_path().is_dir() && self.secrets().any(|secret| secret.starts_with(path.as_path())) {
                return Err(denied(path, "there is a secret in it, which this sandbox keeps in its place"));
            }
            return Ok(());
        }
        let only = match self.ground.roots.first() {
            Some(root) => format!("files only in {} and temporary ones", root.display()),
            None => "temporary files only".to_owned(),
        };
        Err(denied(path, &format!("this sandbox changes {only}")))
    }
}

/// The path that is meant: from `~`, or from the working directory.
pub(super) fn meant(path: &Path, cwd: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => cwd.join(path),
    }
}

/// Where a path leads, as far as that can be known.
pub(super) fn real(path: &Path) -> PathBuf {
    path.canonicalize().ok().or_else(|| follow_links(path)).unwrap_or_else(|| path.to_owned())
}

/// That there is something that is to be hidden.
pub(super) fn check_named(path: &Path, cwd: &Path, home: Option<&Path>) -> Result<()> {
    let meant = meant(path, cwd, home);
    let Err(e) = meant.metadata() else { return Ok(()) };
    match e.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {}
        // It is there, and nothing that we could not do is done by a command.
        _ => return Ok(()),
    }
    if path.to_string_lossy().contains(['*', '?', '[']) {
        let message = "there is nothing of this name to hide, and patterns are not understood";
        return Err(Error::new(ErrorKind::Invalid, path.display(), message));
    }
    Err(Error::new(ErrorKind::NotFound, meant.display(), "there is nothing here to hide"))
}

/// Whether a path is below the devices, which are made anew for every command.
pub(super) fn is_device(path: &Path) -> bool {
    path.starts_with("/dev")
}

fn denied(path: &RealPath, message: &str) -> Error {
    Error::new(ErrorKind::Denied, path, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Enforces;

    fn places(access: Access) -> (tempfile::TempDir, Places) {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap().join("home");
        fs::create_dir_all(home.join("project/.git")).unwrap();
        let facts = EnvFacts {
            cwd: RealPath::resolved(home.join("project")),
            platform: String::new(),
            os_version: String::new(),
            home: Some(home),
            enforces: Enforces::default(),
        };
        let temporary = Some(vec![facts.home.as_ref().unwrap().join("tmp")]);
        fs::create_dir(facts.home.as_ref().unwrap().join("tmp")).unwrap();
        let sandbox = Sandbox { access, temporary, ..Sandbox::default() };
        let places = Places::new(&sandbox, &facts, None).unwrap();
        (dir, places)
    }

    #[test]
    fn what_may_be_read_and_changed() {
        let (dir, places) = places(Access::Workspace);
        let root = dir.path().canonicalize().unwrap();
        for (path, read, write) in [
            ("home/project/src/a", true, true),
            ("home/project", true, false),
            ("home/project/.git/hooks/x", true, false),
            ("home/project/.claude/settings.json", true, false),
            ("home/project/sub/.git/config", true, false),
            ("home/project/sub/.gitx/config", true, true),
            ("home/project/.env", false, false),
            ("home/project/sub/.env", false, false),
            ("home/.ssh/id_rsa", false, false),
            ("home/.ssh", false, false),
            ("home/.sshx", true, false),
            ("home/project2/a", true, false),
            ("elsewhere", true, false),
            ("home/tmp/x", true, true),
            ("home/tmp", true, false),
        ] {
            let path = RealPath::resolved(root.join(path));
            assert_eq!(places.check_read(&path).is_ok(), read, "read {path}");
            assert_eq!(places.check_write(&path).is_ok(), write, "write {path}");
        }
    }

    #[test]
    fn nothing_is_changed_where_nothing_may_be() {
        let (dir, places) = places(Access::ReadOnly);
        let path = RealPath::resolved(dir.path().canonicalize().unwrap().join("home/project/a"));
        assert_eq!(places.check_write(&path).map_err(|e| e.kind()), Err(ErrorKind::Denied));
        assert_eq!((places.writable().count(), places.roots().count()), (0, 0));
    }

    #[test]
    fn what_is_aside_may_be_changed_and_the_working_directory_not() {
        let (dir, places) = places(Access::Aside);
        let root = dir.path().canonicalize().unwrap();
        for (path, write) in [("home/project/a", false), ("home/tmp/x", true), ("elsewhere", false)] {
            let path = RealPath::resolved(root.join(path));
            assert_eq!(places.check_write(&path).is_ok(), write, "write {path}");
        }
    }

    #[test]
    fn what_is_below_something_hidden_is_masked_with_it() {
        let (dir, places) = places(Access::Workspace);
        let home = dir.path().canonicalize().unwrap().join("home");
        for path in [".ssh/id_rsa", ".ssh/config", "project/.env", "shared"] {
            fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
            fs::write(home.join(path), "x").unwrap();
        }
        std::os::unix::fs::symlink("../shared", home.join("project/.env.local")).unwrap();
        std::os::unix::fs::symlink("/usr", home.join("project/.env.usr")).unwrap();
        let masked: Vec<PathBuf> =
            places.masked().into_iter().filter(|path| path.starts_with(&home)).collect();
        assert_eq!(masked, [home.join(".ssh"), home.join("project/.env"), home.join("shared")]);
    }
    /// Whose file it is can let himself read it. Root, who reads everything, would not notice.
    #[test]
    fn only_what_is_somebody_elses_is_closed() {
        use std::os::unix::fs::PermissionsExt as _;

        let (dir, places) = places(Access::Workspace);
        let root = dir.path().canonicalize().unwrap();
        let own = root.join("own");
        fs::write(&own, "x").unwrap();
        fs::set_permissions(&own, fs::Permissions::from_mode(0o000)).unwrap();
        assert!(!places.is_closed(&own));
        let shadow = Path::new("/etc/shadow");
        assert_eq!(
            places.is_closed(shadow),
            fs::File::open(shadow).is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied)
        );
    }
}
