//! Snapshots of a workspace, with the real git.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use junto_env::LocalEnvironment;
use junto_llm::SessionId;
use junto_store::{ChangeKind, ErrorKind, Extent, Snapshots, Tree};

use crate::workspace::{Place, change, git, snapshots};

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
