//! Snapshots of a workspace, with the real git.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use junto_env::LocalEnvironment;
use junto_llm::SessionId;
use junto_store::{ChangeKind, ErrorKind, Extent, FileChange, Snapshots, Tree};
use tempfile::TempDir;

/// A workspace, and a store beside it.
struct Place {
    dir: TempDir,
    snapshots: Snapshots,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        let snapshots = snapshots(dir.path(), &dir.path().join("state"), "s1");
        Self { dir, snapshots }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join("work").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.at(path)).ok()
    }

    async fn take(&self, name: &str) -> Tree {
        self.snapshots.take(name).await.unwrap()
    }
}

fn snapshots(dir: &Path, root: &Path, session: &str) -> Snapshots {
    let path = std::env::var("PATH").unwrap();
    let work = fs::canonicalize(dir.join("work")).unwrap();
    let env = LocalEnvironment::builder(work).variables([("PATH", path)]).build().unwrap();
    Snapshots::new(root, Arc::new(env), SessionId(session.into()), Extent::Moderate)
}

fn change(path: &str, kind: ChangeKind) -> FileChange {
    FileChange { path: path.into(), kind }
}

fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=me", "-c", "user.email=me", "-C"]).arg(dir).args(args);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn a_turn_is_undone_whatever_it_did() {
    let place = Place::new();
    place.write("changed.txt", "one\r\ntwo\n");
    place.write("deep/removed.txt", "here\n");
    place.write("run.sh", "echo");
    place.write("becomes/a/file", "inside\n");
    symlink("changed.txt", place.at("link")).unwrap();
    let before = place.take("before").await;

    place.write("changed.txt", "three\n");
    fs::remove_dir_all(place.at("deep")).unwrap();
    fs::set_permissions(place.at("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(place.at("link")).unwrap();
    place.write("link", "no link any more");
    fs::remove_dir_all(place.at("becomes")).unwrap();
    place.write("becomes", "a file");
    place.write("new/name with space \u{e9}.txt", "new\n");
    let after = place.take("after").await;

    let told = place.snapshots.undo(&before, &after, true).await.unwrap();
    assert_eq!(place.read("changed.txt").unwrap(), "three\n", "only told");
    let undone = place.snapshots.undo(&before, &after, false).await.unwrap();
    assert_eq!(told, undone);
    let mut expected = vec![
        change("becomes", ChangeKind::Added),
        change("becomes/a/file", ChangeKind::Removed),
        change("changed.txt", ChangeKind::Changed),
        change("deep/removed.txt", ChangeKind::Removed),
        change("link", ChangeKind::Changed),
        change("new/name with space \u{e9}.txt", ChangeKind::Added),
        change("run.sh", ChangeKind::Changed),
    ];
    let mut files = undone.files;
    files.sort_by(|one, other| one.path.cmp(&other.path));
    expected.sort_by(|one, other| one.path.cmp(&other.path));
    assert_eq!((files, undone.left), (expected, vec![]));
    assert_eq!(place.read("changed.txt").unwrap(), "one\r\ntwo\n");
    assert_eq!(place.read("deep/removed.txt").unwrap(), "here\n");
    assert_eq!(place.read("becomes/a/file").unwrap(), "inside\n");
    assert_eq!(fs::read_link(place.at("link")).unwrap(), Path::new("changed.txt"));
    assert_eq!(fs::metadata(place.at("run.sh")).unwrap().permissions().mode() & 0o111, 0);
    assert!(!place.at("new").exists(), "a folder that was made for the file goes with it");
    assert_eq!(place.take("again").await, before);
}

#[tokio::test]
async fn what_was_changed_since_is_left_and_told() {
    let place = Place::new();
    place.write("mine.txt", "1");
    place.write("yours.txt", "1");
    let before = place.take("before").await;
    place.write("mine.txt", "2");
    place.write("yours.txt", "2");
    place.write("made.txt", "2");
    let after = place.take("after").await;
    place.write("yours.txt", "3");
    fs::remove_file(place.at("made.txt")).unwrap();
    let undone = place.snapshots.undo(&before, &after, false).await.unwrap();
    assert_eq!(undone.files, [change("mine.txt", ChangeKind::Changed)]);
    assert_eq!((undone.left, undone.back), (vec!["yours.txt".to_owned()], vec!["made.txt".to_owned()]));
    assert_eq!(place.read("mine.txt").unwrap(), "1");
    assert_eq!(place.read("yours.txt").unwrap(), "3");
    assert_eq!(place.read("made.txt"), None);
}

/// That a file is new to a snapshot does not mean that it is new.
#[tokio::test]
async fn what_was_there_before_is_not_removed() {
    let place = Place::new();
    place.write(".gitignore", "precious.txt\ndata/\n");
    place.write("precious.txt", "mine");
    place.write("data/deep/mine.txt", "mine");
    place.write("within/mine.txt", "mine");
    git(&place.at("within"), &["init", "--quiet"]);
    fs::create_dir_all(place.at("empty/too")).unwrap();
    let before = place.take("before").await;
    fs::remove_file(place.at(".gitignore")).unwrap();
    fs::remove_dir_all(place.at("within/.git")).unwrap();
    place.write("new.txt", "new");
    place.write("empty/too/new.txt", "new");
    let after = place.take("after").await;
    let told = place.snapshots.undo(&before, &after, true).await.unwrap();
    let undone = place.snapshots.undo(&before, &after, false).await.unwrap();
    assert_eq!(told, undone);
    assert_eq!(undone.older, ["data/deep/mine.txt", "precious.txt", "within/mine.txt"]);
    let files: Vec<&str> = undone.files.iter().map(|change| &*change.path).collect();
    assert_eq!(files, [".gitignore", "empty/too/new.txt", "new.txt"]);
    for file in ["precious.txt", "data/deep/mine.txt", "within/mine.txt"] {
        assert_eq!(place.read(file).as_deref(), Some("mine"), "{file}");
    }
    assert!(place.at("empty/too").is_dir() && !place.at("empty/too/new.txt").exists());
    assert!(!place.at("new.txt").exists());
}

/// Who is not root cannot read everything.
#[tokio::test]
async fn what_could_not_be_read_before_is_not_removed() {
    let place = Place::new();
    place.write("was.txt", "one");
    place.take("earlier").await;
    place.write("was.txt", "two");
    let mode = |path: &str, mode| {
        fs::set_permissions(place.at(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    place.write("unread.txt", "mine");
    place.write("shut/mine.txt", "mine");
    for path in ["was.txt", "unread.txt", "shut"] {
        mode(path, 0);
    }
    let is_root = fs::read(place.at("unread.txt")).is_ok();
    let before = place.take("before").await;
    mode("shut", 0o755);
    for file in ["was.txt", "unread.txt", "shut/mine.txt"] {
        mode(file, 0o644);
    }
    let after = place.take("after").await;
    let undone = place.snapshots.undo(&before, &after, false).await.unwrap();
    assert_eq!(place.read("was.txt").as_deref(), Some("two"));
    assert_eq!(place.read("unread.txt").as_deref(), Some("mine"));
    assert_eq!(place.read("shut/mine.txt").as_deref(), Some("mine"));
    if !is_root {
        assert_eq!(undone.older, ["shut/mine.txt", "unread.txt", "was.txt"]);
    }
}

/// What the user has put above or below what would come back is the user's.
#[tokio::test]
async fn what_is_in_the_way_stays() {
    let place = Place::new();
    place.write(".gitignore", "*.log\n");
    for file in ["config", "noted", "e/x", "f/x", "g/x"] {
        place.write(file, "one");
    }
    let before = place.take("before").await;
    for file in ["config", "noted"] {
        fs::remove_file(place.at(file)).unwrap();
        place.write(&format!("{file}/x"), "two");
    }
    for folder in ["e", "f", "g"] {
        fs::remove_dir_all(place.at(folder)).unwrap();
    }
    let after = place.take("after").await;
    place.write("config/mine", "mine");
    place.write("noted/mine.log", "mine");
    place.write("elsewhere/mine", "mine");
    symlink("elsewhere", place.at("e")).unwrap();
    place.write("f", "mine");
    place.write("g/x.log", "mine");
    let told = place.snapshots.undo(&before, &after, true).await.unwrap();
    let undone = place.snapshots.undo(&before, &after, false).await.unwrap();
    assert_eq!(told, undone);
    assert_eq!(undone.left, ["config", "e/x", "f/x", "noted"]);
    assert_eq!(
        undone.files,
        [
            change("config/x", ChangeKind::Added),
            change("g/x", ChangeKind::Removed),
            change("noted/x", ChangeKind::Added)
        ]
    );
    for file in ["config/mine", "noted/mine.log", "elsewhere/mine", "f", "g/x.log"] {
        assert_eq!(place.read(file).as_deref(), Some("mine"), "{file}");
    }
    assert_eq!(fs::read_link(place.at("e")).unwrap(), Path::new("elsewhere"));
    assert!(!place.at("elsewhere/x").exists());
    assert_eq!(place.read("g/x").as_deref(), Some("one"));
}

/// Git knows of a mode only whether it is that of a program.
#[tokio::test]
async fn what_comes_back_has_the_mode_it_had() {
    let place = Place::new();
    let modes = [
        ("key", 0o600),
        ("private/key", 0o640),
        ("fixed", 0o444),
        ("run", 0o700),
        ("a", 0o644),
        ("b", 0o644),
    ];
    let set = |path: &str, mode| {
        fs::set_permissions(place.at(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    let mode = |path: &str| fs::metadata(place.at(path)).unwrap().permissions().mode() & 0o777;
    for (path, mode) in modes {
        place.write(path, "one");
        set(path, mode);
        place.write(&format!("gone/{path}"), "one");
        set(&format!("gone/{path}"), mode);
    }
    set("private", 0o700);
    set("gone/private", 0o700);
    let before = place.take("before").await;
    fs::remove_dir_all(place.at("gone")).unwrap();
    for (path, _) in modes {
        fs::remove_file(place.at(path)).unwrap();
        place.write(path, "two");
    }
    let after = place.take("after").await;
    set("b", 0o600);
    place.snapshots.undo(&before, &after, false).await.unwrap();
    for (path, expected) in modes {
        let expected = if path == "b" { 0o600 } else { expected };
        assert_eq!(place.read(path).as_deref(), Some("one"), "{path}");
        assert_eq!(mode(path), expected, "{path}");
    }
    for (path, expected) in modes {
        assert_eq!(mode(&format!("gone/{path}")), expected, "{path}");
    }
    assert_eq!((mode("private"), mode("gone/private")), (0o700, 0o700));
}

#[tokio::test]
async fn the_users_repository_is_never_touched() {
    let place = Place::new();
    let work = place.at("");
    git(&work, &["init", "--quiet"]);
    place.write("tracked.txt", "1");
    place.write(".gitignore", "ignored\n");
    git(&work, &["add", "."]);
    git(&work, &["commit", "--quiet", "-m", "first"]);
    place.write("staged.txt", "staged");
    git(&work, &["add", "staged.txt"]);
    place.write("ignored", "large");
    let state = |work: &Path| {
        let status = git(work, &["status", "--porcelain=v2", "--branch"]);
        let head = git(work, &["rev-parse", "HEAD"]);
        let index = fs::read(work.join(".git/index")).unwrap();
        let objects = git(work, &["count-objects"]);
        (status, head, index, objects)
    };
    let was = state(&work);
    let before = place.take("before").await;
    place.write("untracked.txt", "new");
    place.write("ignored", "larger");
    let after = place.take("after").await;
    let changes = place.snapshots.changes(&before, &after).await.unwrap();
    assert_eq!(changes, [change("untracked.txt", ChangeKind::Added)], "untracked, but not what is ignored");
    place.snapshots.undo(&before, &after, false).await.unwrap();
    assert_eq!(place.read("ignored").unwrap(), "larger");
    assert_eq!(state(&work), was);
}

#[tokio::test]
async fn nothing_that_a_workspace_says_is_run() {
    let place = Place::new();
    let work = place.at("");
    git(&work, &["init", "--quiet"]);
    let trap = format!("touch {}", place.dir.path().join("sprung").display());
    for key in ["filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "diff.evil.textconv"] {
        git(&work, &["config", key, &trap]);
    }
    place.write(".gitattributes", "* filter=evil diff=evil text eol=crlf ident\n");
    place.write("a.txt", "$Id$\r\n");
    for hook in ["post-checkout", "pre-commit", "reference-transaction", "post-index-change"] {
        let path = work.join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{trap}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let before = place.take("before").await;
    place.write("a.txt", "other");
    let after = place.take("after").await;
    place.snapshots.undo(&before, &after, false).await.unwrap();
    assert_eq!(place.read("a.txt").unwrap(), "$Id$\r\n", "byte for byte");
    assert!(!place.dir.path().join("sprung").exists());
}

/// A workspace may be a part of a repository, whose ignore files are above it.
#[tokio::test]
async fn what_the_repository_around_ignores_is_left_out() {
    let place = Place::new();
    git(place.dir.path(), &["init", "--quiet"]);
    fs::write(place.dir.path().join(".gitignore"), ".env\n/work/data/\n/only-here\n").unwrap();
    fs::write(place.dir.path().join(".git/info/exclude"), "private\n").unwrap();
    place.write(".gitignore", "!keep/.env\n");
    for file in [".env", "data/x", "private", "sub/.env", "keep/.env", "only-here"] {
        place.write(file, "one");
    }
    let before = place.take("before").await;
    for file in [".env", "data/x", "private", "sub/.env", "keep/.env", "only-here"] {
        place.write(file, "two");
    }
    let after = place.take("after").await;
    let undone = place.snapshots.undo(&before, &after, false).await.unwrap();
    let files: Vec<&str> = undone.files.iter().map(|change| &*change.path).collect();
    assert_eq!(files, ["keep/.env", "only-here"]);
    assert_eq!(place.read(".env").as_deref(), Some("two"));
    // What is ignored no longer is in the next snapshot, and was there before.
    fs::remove_file(place.dir.path().join(".gitignore")).unwrap();
    let unignored = place.take("unignored").await;
    let undone = place.snapshots.undo(&before, &unignored, true).await.unwrap();
    assert!(undone.older.contains(&".env".to_owned()), "{undone:?}");
}

#[tokio::test]
async fn what_cannot_be_brought_back_is_told() {
    let place = Place::new();
    for inner in ["changed", "same", "removed"] {
        place.write(&format!("{inner}/file"), "one");
        git(&place.at(inner), &["init", "--quiet"]);
    }
    let before = place.take("before").await;
    place.write("changed/file", "two");
    fs::remove_dir_all(place.at("removed")).unwrap();
    place.write("new/file", "one");
    git(&place.at("new"), &["init", "--quiet"]);
    fs::write(place.at("").join(OsStr::from_bytes(b"\xff")), "one").unwrap();
    let after = place.take("after").await;
    let undone = place.snapshots.undo(&before, &after, false).await.unwrap();
    assert_eq!(undone.beyond, ["\u{fffd}", "changed/", "new/", "removed/"]);
    assert_eq!((undone.files, undone.left), (vec![], vec![]));
    assert_eq!(place.read("changed/file").as_deref(), Some("two"));
    assert_eq!(place.read("new/file").as_deref(), Some("one"));
}

/// `git add` would ask a repository within how it is, and do what its configuration says.
#[tokio::test]
async fn nothing_of_a_repository_within_is_run_or_written() {
    let place = Place::new();
    let sprung = place.dir.path().join("sprung");
    let trap = format!("touch {}; cat", sprung.display());
    place.write("a.txt", "one");
    for (inner, has_commit) in [("within", true), ("deep/within", true), ("fresh", false)] {
        place.write(&format!("{inner}/file"), "one");
        let inner = place.at(inner);
        git(&inner, &["init", "--quiet"]);
        if has_commit {
            git(&inner, &["add", "."]);
            git(&inner, &["commit", "--quiet", "-m", "first"]);
        }
        for key in ["filter.evil.clean", "filter.evil.process", "core.fsmonitor", "diff.evil.textconv"] {
            git(&inner, &["config", key, &trap]);
        }
        fs::write(inner.join(".gitattributes"), "* filter=evil diff=evil\n").unwrap();
    }
    let state =
        || ["within", "deep/within"].map(|inner| fs::read(place.at(inner).join(".git/index")).unwrap());
    let was = state();
    let before = place.take("before").await;
    // One may get into an index all the same, if it is made while the workspace is read.
    let commit = git(&place.at("within"), &["rev-parse", "HEAD"]);
    let repository =
        fs::read_dir(place.dir.path().join("state/snapshots")).unwrap().next().unwrap().unwrap().path();
    let mut indexes = 0;
    for entry in fs::read_dir(&repository).unwrap() {
        let index = entry.unwrap().path();
        if fs::read(&index).is_ok_and(|bytes| bytes.starts_with(b"DIRC")) {
            let mut update = Command::new("git");
            update.env("GIT_DIR", &repository).env("GIT_INDEX_FILE", &index).current_dir(place.dir.path());
            let entry = format!("160000,{},within", commit.trim());
            let done = update.args(["update-index", "--add", "--cacheinfo", &entry]).status().unwrap();
            assert!(done.success());
            indexes += 1;
        }
    }
    assert_eq!(indexes, 2, "that of the session, and the latest");
    for inner in ["within", "deep/within", "fresh"] {
        place.write(&format!("{inner}/file"), "another");
    }
    place.write("a.txt", "two");
    let after = place.take("after").await;
    let changes = place.snapshots.changes(&before, &after).await.unwrap();
    assert_eq!(changes, [change("a.txt", ChangeKind::Changed)]);
    place.snapshots.undo(&before, &after, false).await.unwrap();
    assert_eq!(place.read("a.txt").unwrap(), "one");
    assert_eq!(place.read("within/file").unwrap(), "another");
    assert!(!sprung.exists(), "it ran");
    assert_eq!(state(), was);
}

#[tokio::test]
async fn what_cannot_be_is_told() {
    let place = Place::new();
    place.write("a.txt", "1");
    let tree = place.take("one").await;
    let stranger = Tree::new("1".repeat(40)).unwrap();
    let error = place.snapshots.changes(&tree, &stranger).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    let work = fs::canonicalize(place.at("")).unwrap();
    let bare = LocalEnvironment::builder(work).variables([("PATH", "/nowhere")]).build().unwrap();
    let state = place.dir.path().join("elsewhere");
    let without = Snapshots::new(&state, Arc::new(bare), SessionId("s".into()), Extent::Any);
    let error = without.take("one").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[tokio::test]
async fn a_store_within_the_workspace_is_no_part_of_it() {
    for (folder, through) in [("state", "work"), ("sta[t]e *?\\ x ", "work"), ("linked", "way")] {
        let place = Place::new();
        place.write("a.txt", "one");
        place.write(".gitignore", "!*\n");
        symlink("work", place.dir.path().join("way")).unwrap();
        let root = fs::canonicalize(place.dir.path()).unwrap().join(through).join(folder);
        let inner = snapshots(place.dir.path(), &root, "s2");
        let one = inner.take("one").await.unwrap();
        assert_eq!(inner.take("two").await.unwrap(), one, "{folder}");
        place.write("a.txt", "two");
        let after = inner.take("after").await.unwrap();
        let undone = inner.undo(&one, &after, false).await.unwrap();
        assert_eq!(undone.files, [change("a.txt", ChangeKind::Changed)], "{folder}");
        assert_eq!(inner.changes(&after, &one).await.unwrap().len(), 1, "{folder}");
    }
    let place = Place::new();
    let error = snapshots(place.dir.path(), &place.at(""), "s2").take("one").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[tokio::test]
async fn what_is_too_large_is_not_copied() {
    let place = Place::new();
    place.write("a.txt", "one");
    place.take("before").await;
    // It takes no room.
    fs::File::create(place.at("huge")).unwrap().set_len(300_000_000).unwrap();
    let error = place.snapshots.take("after").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!(place.snapshots.find("after").await.unwrap(), None);
}

/// Who deletes the folder of a session means what it kept as well.
#[tokio::test]
async fn what_sessions_kept_that_are_gone_goes() {
    let place = Place::new();
    let root = place.dir.path().join("state");
    let session = |name: &str| root.join("sessions").join(name);
    for name in ["s1", "s2", "s3"] {
        fs::create_dir_all(session(name)).unwrap();
    }
    place.write("a.txt", "only the first has it");
    place.take("one").await;
    place.write("a.txt", "both have it");
    let shared = place.take("two").await;
    let second = snapshots(place.dir.path(), &root, "s2");
    second.take("two").await.unwrap();
    let repository = fs::read_dir(root.join("snapshots")).unwrap().next().unwrap().unwrap().path();
    let objects = || {
        let folders = fs::read_dir(repository.join("objects")).unwrap().flatten();
        folders
            .flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten())
            .map(|file| file.path())
    };
    let before = objects().count();
    fs::remove_dir_all(session("s1")).unwrap();
    snapshots(place.dir.path(), &root, "s3").take("two").await.unwrap();
    assert_eq!(place.snapshots.find("two").await.unwrap(), None, "its names go at once");
    assert_eq!(second.find("two").await.unwrap(), Some(shared.clone()));
    assert_eq!(objects().count(), before, "somebody may be about to use what is young");
    // As if hours had gone by.
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(5);
    for path in objects().chain([repository.join("prune-due")]) {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::File::options().append(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    }
    let third = snapshots(place.dir.path(), &root, "s3");
    assert_eq!(third.take("two").await.unwrap(), shared);
    assert_eq!(objects().count(), before - 2, "one file, and the tree that had it");
    place.write("a.txt", "new");
    let new = second.take("new").await.unwrap();
    second.undo(&shared, &new, false).await.unwrap();
    assert_eq!(place.read("a.txt").unwrap(), "both have it");
}

/// What is left of a git that was killed: a lock that nobody will take away.
#[tokio::test]
async fn locks_of_the_dead_are_in_nobodys_way() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let before = place.take("turn-1-begin").await;
    let repository =
        fs::read_dir(place.dir.path().join("state/snapshots")).unwrap().next().unwrap().unwrap().path();
    fs::write(repository.join("files-s1.lock"), "").unwrap();
    fs::write(repository.join("refs/junto/s1/turn-1-begin.lock"), "").unwrap();
    place.write("a.txt", "two\n");
    let after = place.take("turn-1-begin").await;
    assert_eq!(place.snapshots.find("turn-1-begin").await.unwrap(), Some(after.clone()));
    assert_eq!(
        place.snapshots.changes(&before, &after).await.unwrap(),
        [change("a.txt", ChangeKind::Changed)]
    );
}

/// A repository is made by whoever comes first, and half of one is none.
#[tokio::test]
async fn a_repository_is_whole_or_not_there() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let all: Vec<Snapshots> = ["s1", "s2", "s3"]
        .map(|session| snapshots(place.dir.path(), &place.dir.path().join("state"), session))
        .into();
    let [first, second, third] = &all[..] else { unreachable!() };
    let (first, second, third) = tokio::join!(first.take("t"), second.take("t"), third.take("t"));
    assert_eq!((first.unwrap(), second.unwrap()), (place.take("t").await, third.unwrap()));
    let left: Vec<_> = fs::read_dir(place.dir.path().join("state/snapshots")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[tokio::test]
async fn another_session_takes_snapshots_over() {
    let place = Place::new();
    let other = snapshots(place.dir.path(), &place.dir.path().join("state"), "s2");
    let from = SessionId("s1".into());
    other.take_over(&from, |_| true).await.unwrap();
    assert_eq!(other.find("one").await.unwrap(), None, "there is nothing to take over, and that is no error");
    place.write("a.txt", "one\n");
    let one = place.take("one").await;
    place.write("a.txt", "two\n");
    place.take("two").await;
    other.take_over(&from, |name| name == "one").await.unwrap();
    assert_eq!(other.find("one").await.unwrap(), Some(one));
    assert_eq!(other.find("two").await.unwrap(), None);
}

/// As long as a workspace looks the same, its snapshot is taken again without git, also by another session.
#[tokio::test]
async fn git_is_not_asked_about_what_has_not_changed() {
    let place = Place::new();
    place.write("sub/a.txt", "one");
    let root = place.dir.path().join("state");
    let work = fs::canonicalize(place.at("")).unwrap();
    let without_git = |session: &str| {
        let env = LocalEnvironment::builder(&work).variables([("PATH", "/nowhere")]).build().unwrap();
        Snapshots::new(&root, Arc::new(env), SessionId(session.into()), Extent::Moderate)
    };
    // What changed a moment ago is not relied on, so this takes a few attempts.
    let (before, again) = loop {
        let before = place.take("before").await;
        if let Ok(again) = without_git("s2").take("again").await {
            break (before, again);
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    };
    assert_eq!(before, again);
    let other = snapshots(place.dir.path(), &root, "s2");
    assert_eq!(other.find("again").await.unwrap(), Some(before.clone()));
    place.write("sub/a.txt", "two");
    assert_eq!(without_git("s3").take("now").await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(
        other.changes(&before, &other.take("after").await.unwrap()).await.unwrap(),
        [change("sub/a.txt", ChangeKind::Changed)]
    );
}
