//! What a turn did to a workspace is taken back, with the real git.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use junto_store::ChangeKind;

use crate::workspace::{Place, change, git};

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
