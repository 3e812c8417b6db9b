//! Files of this machine.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use junto_env::{
    ByteRange, CommandSpec, DirEntry, ErrorKind, ExecutionEnvironment, Expect, LocalEnvironment, RealPath,
    Search,
};
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;

use crate::support::{Place, check, check_in, peak_memory};

async fn read(place: &Place, path: &RealPath, range: ByteRange) -> Vec<u8> {
    let mut content = Vec::new();
    place.env.open(path, range).await.unwrap().read_to_end(&mut content).await.unwrap();
    content
}

#[test]
fn facts_are_told() {
    check(async |place| {
        let facts = place.env.facts();
        assert_eq!(facts.cwd.as_path(), place.at(""));
        assert_eq!(facts.platform, "linux");
        assert!(facts.os_version.starts_with("Linux "), "{}", facts.os_version);
        assert_eq!(facts.home, None);
    });
    let home = Place::with(|builder| builder.variables([("HOME", "/home/x")]));
    check_in(home, async |place| assert_eq!(place.resolve("~/y").await.as_path(), Path::new("/home/x/y")));
    let home = Place::with(|builder| builder.variables([("HOME", "/home/x")]).home("/elsewhere"));
    check_in(home, async |place| assert_eq!(place.resolve("~").await.as_path(), Path::new("/elsewhere")));
}

#[test]
fn a_working_directory_must_be_one() {
    let kind = |path: &str| LocalEnvironment::new(path).err().map(|e| e.kind());
    assert_eq!(kind("/proc/self/nothing"), Some(ErrorKind::NotFound));
    assert_eq!(kind("/proc/self/stat"), Some(ErrorKind::WrongKind));
}

#[test]
fn bytes_come_back_as_they_were_written() {
    check(async |place| {
        let large = vec![7; 300_000];
        let contents: [&[u8]; 6] =
            [b"", b"a\r\nb\r\n", b"\xef\xbb\xbfbom\n", b"no newline", b"\xff\x00\xfe", &large];
        for (number, content) in contents.into_iter().enumerate() {
            let path = place.resolve(&format!("новый каталог/{number}/ü 🦀 'x'")).await;
            let written = place.env.write(&path, content, Expect::Absent).await.unwrap();
            assert_eq!(read(place, &path, ByteRange::ALL).await, content);
            assert_eq!(place.env.stamp(&path).await.unwrap(), Some(written));
            assert_eq!(written.size, content.len() as u64);
        }
    });
}

#[test]
fn a_range_is_read_and_no_more() {
    check(async |place| {
        let path = place.resolve("f").await;
        place.env.write(&path, b"0123456789", Expect::Any).await.unwrap();
        for (start, length, expected) in [
            (0, None, "0123456789"),
            (3, None, "3456789"),
            (3, Some(4), "3456"),
            (8, Some(9), "89"),
            (0, Some(0), ""),
            (99, None, ""),
        ] {
            let found = read(place, &path, ByteRange { start, length }).await;
            assert_eq!(found, expected.as_bytes(), "{start} {length:?}");
        }
    });
}

#[test]
fn a_write_happens_only_as_expected() {
    check(async |place| {
        let path = place.resolve("f").await;
        let kind =
            async |expect| place.env.write(&path, b"new", expect).await.map_err(|e| e.kind()).map(drop);
        let first = place.env.write(&path, b"one", Expect::Absent).await.unwrap();
        assert_eq!(kind(Expect::Absent).await, Err(ErrorKind::Exists));
        assert_eq!(kind(Expect::Unchanged(first)).await, Ok(()));
        assert_eq!(kind(Expect::Unchanged(first)).await, Err(ErrorKind::Changed));
        assert_eq!(kind(Expect::Any).await, Ok(()));
        let last = place.env.stamp(&path).await.unwrap().unwrap();
        place.env.remove(&path).await.unwrap();
        assert_eq!(place.env.stamp(&path).await.unwrap(), None);
        assert_eq!(kind(Expect::Unchanged(last)).await, Err(ErrorKind::Changed));
        assert_eq!(place.names(), Vec::<String>::new());
        assert_eq!(kind(Expect::Any).await, Ok(()));
    });
}

#[test]
fn a_change_of_equal_size_and_time_is_a_change() {
    check(async |place| {
        let path = place.resolve("f").await;
        let at = |content: &str| {
            fs::write(&path, content).unwrap();
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        };
        at("one");
        let then = place.env.stamp(&path).await.unwrap().unwrap();
        at("two");
        let refused = place.env.write(&path, b"x", Expect::Unchanged(then)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Changed);
        // The same content again is no change, whenever it was written.
        fs::write(&path, "one").unwrap();
        place.env.write(&path, b"x", Expect::Unchanged(then)).await.unwrap();
    });
}

#[test]
fn of_racing_writers_exactly_one_wins() {
    check(async |place| {
        let path = place.resolve("f").await;
        let mut stamp = place.env.write(&path, b"start", Expect::Absent).await.unwrap();
        // Two environments over the same files exclude each other too.
        let other = LocalEnvironment::new(place.at("")).unwrap();
        for round in 0..20 {
            let (one, two) = (format!("one {round}"), format!("two {round}"));
            let expect = Expect::Unchanged(stamp);
            let (one, two) = tokio::join!(
                place.env.write(&path, one.as_bytes(), expect),
                other.write(&path, two.as_bytes(), expect)
            );
            stamp = match (one, two) {
                (Ok(stamp), Err(e)) | (Err(e), Ok(stamp)) if e.kind() == ErrorKind::Changed => stamp,
                both => panic!("round {round}: {both:?}"),
            };
            assert_eq!(place.env.stamp(&path).await.unwrap(), Some(stamp));
        }
        assert_eq!(place.names(), ["f"]);
    });
}

#[test]
fn a_new_file_is_new_whoever_else_makes_it() {
    check(async |place| {
        fs::create_dir(place.at("d")).unwrap();
        // The same file under names of which the environment cannot know that they are the same.
        let names = (0..8).map(|count| RealPath::resolved(place.at(&("d/../".repeat(count) + "f"))));
        let env = &place.env;
        let writes =
            names.map(async |path| env.write(&path, b"x", Expect::Absent).await.map_err(|e| e.kind()));
        let results = join_all(writes).await;
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
        assert!(results.iter().all(|result| matches!(result, Ok(_) | Err(ErrorKind::Exists))), "{results:?}");
        assert_eq!(place.names(), ["d", "f"]);
    });
}

/// All of them, at the same time.
async fn join_all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut pending: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(move |cx| {
        for (future, result) in pending.iter_mut().filter(|(_, result)| result.is_none()) {
            if let std::task::Poll::Ready(ready) = future.as_mut().poll(cx) {
                *result = Some(ready);
            }
        }
        if pending.iter().any(|(_, result)| result.is_none()) {
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(pending.iter_mut().filter_map(|(_, result)| result.take()).collect())
    })
    .await
}

#[test]
fn readers_see_the_old_or_the_new() {
    check(async |place| {
        let path = place.resolve("f").await;
        let content = |byte: u8| vec![byte; 500_000];
        place.env.write(&path, &content(0), Expect::Absent).await.unwrap();
        let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let reader = std::thread::spawn({
            let (path, done) = (path.clone(), Arc::clone(&done));
            move || {
                let mut reads = 0;
                while reads == 0 || !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let found = fs::read(&path).unwrap();
                    assert_eq!(found.len(), 500_000);
                    assert!(found.iter().all(|byte| *byte == found[0]));
                    reads += 1;
                }
            }
        });
        for byte in 1..20 {
            place.env.write(&path, &content(byte), Expect::Any).await.unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        reader.join().unwrap();
    });
}

#[test]
fn a_link_stays_a_link() {
    check(async |place| {
        fs::create_dir(place.at("real")).unwrap();
        fs::write(place.at("real/f"), "old").unwrap();
        symlink("real/f", place.at("link")).unwrap();
        let path = place.resolve("link").await;
        place.env.write(&path, b"new", Expect::Any).await.unwrap();
        assert!(fs::symlink_metadata(place.at("link")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(place.at("real/f")).unwrap(), "new");
        // What became a link after it was resolved is not followed.
        let path = place.resolve("real/f").await;
        fs::remove_file(&path).unwrap();
        symlink("/etc/passwd", &path).unwrap();
        assert_eq!(place.env.write(&path, b"x", Expect::Any).await.unwrap_err().kind(), ErrorKind::WrongKind);
        assert!(place.env.open(&path, ByteRange::ALL).await.is_err());
        assert!(place.env.stamp(&path).await.is_err());
    });
}

#[test]
fn a_link_that_came_in_the_place_of_a_folder_is_not_followed() {
    check(async |place| {
        for folder in ["dir/sub", "elsewhere/sub"] {
            fs::create_dir_all(place.at(folder)).unwrap();
            fs::write(place.at(folder).join("f"), folder).unwrap();
        }
        let file = place.resolve("dir/sub/f").await;
        let new = place.resolve("dir/sub/new").await;
        let deep = place.resolve("dir/sub/a/b").await;
        let folder = place.resolve("dir/sub").await;
        fs::rename(place.at("dir"), place.at("moved")).unwrap();
        symlink("elsewhere", place.at("dir")).unwrap();

        let env = &place.env;
        let changed = |what: &str, kind: Option<ErrorKind>| {
            assert_eq!(kind, Some(ErrorKind::Changed), "{what}");
        };
        changed("open", env.open(&file, ByteRange::ALL).await.err().map(|e| e.kind()));
        changed("stamp", env.stamp(&file).await.err().map(|e| e.kind()));
        changed("list", env.list(&folder, 1).await.err().map(|e| e.kind()));
        changed("remove", env.remove(&file).await.err().map(|e| e.kind()));
        changed("rename", env.rename(&file, &new).await.err().map(|e| e.kind()));
        for path in [&file, &new, &deep] {
            changed("write", env.write(path, b"x", Expect::Any).await.err().map(|e| e.kind()));
        }
        let outside = place.resolve("outside").await;
        fs::write(&outside, "x").unwrap();
        changed("rename into", env.rename(&outside, &new).await.err().map(|e| e.kind()));
        let search = Search::glob("*", folder.clone());
        changed("search", env.search(search, &CancellationToken::new()).await.err().map(|e| e.kind()));
        let command = CommandSpec { cwd: Some(folder), ..CommandSpec::shell("true") };
        changed("spawn", env.spawn(command).await.err().map(|e| e.kind()));

        let left: Vec<_> = fs::read_dir(place.at("elsewhere/sub")).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(fs::read_to_string(place.at("elsewhere/sub/f")).unwrap(), "elsewhere/sub");
    });
}

#[test]
fn mode_and_owner_are_kept() {
    check(async |place| {
        let path = place.resolve("f").await;
        for mode in [0o600, 0o755, 0o640, 0o4711] {
            fs::write(&path, "old").unwrap();
            // Only root may give the file away; for everybody else the owner is the owner.
            drop(std::os::unix::fs::chown(&path, Some(1234), Some(1234)));
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let before = fs::metadata(&path).unwrap();
            place.env.write(&path, b"new", Expect::Any).await.unwrap();
            let after = fs::metadata(&path).unwrap();
            assert_eq!((before.mode(), before.uid(), before.gid()), (after.mode(), after.uid(), after.gid()));
            fs::remove_file(&path).unwrap();
        }
    });
}

#[test]
fn a_new_file_has_the_mode_of_any_new_file() {
    check(async |place| {
        fs::write(place.at("theirs"), "").unwrap();
        place.env.write(&place.resolve("ours").await, b"", Expect::Any).await.unwrap();
        let mode = |name| fs::metadata(place.at(name)).unwrap().mode();
        assert_eq!(mode("ours"), mode("theirs"));
    });
}

#[test]
fn what_is_no_file_is_named_and_not_waited_for() {
    check(async |place| {
        fs::create_dir(place.at("dir")).unwrap();
        let _socket = UnixListener::bind(place.at("socket")).unwrap();
        assert!(place.shell("mkfifo pipe").await.wait().await.unwrap().success());
        let cases = [
            ("dir", "directory"),
            ("socket", ""),
            ("pipe", "pipe"),
            ("/dev/zero", "device"),
            ("/", "directory"),
        ];
        for (path, what) in cases {
            let path = place.resolve(path).await;
            let errors = [
                place.env.open(&path, ByteRange::ALL).await.err(),
                place.env.stamp(&path).await.err(),
                place.env.write(&path, b"x", Expect::Any).await.err(),
            ];
            for error in errors {
                let error = error.unwrap_or_else(|| panic!("{path} was taken for a file"));
                assert!(error.to_string().contains(what), "{error}");
            }
        }
    });
}

#[test]
fn what_may_not_be_written_is_denied() {
    check(async |place| {
        // A place where not even root may make files.
        let path = place.resolve("/sys/kernel/junto").await;
        for expect in [Expect::Absent, Expect::Any] {
            assert_eq!(place.env.write(&path, b"x", expect).await.unwrap_err().kind(), ErrorKind::Denied);
        }
    });
}

#[test]
fn a_failed_write_leaves_nothing() {
    check(async |place| {
        fs::write(place.at("f"), "old").unwrap();
        for (path, kind) in [("f/x", ErrorKind::WrongKind), ("f/x/y", ErrorKind::WrongKind)] {
            let path = RealPath::resolved(place.at(path));
            assert_eq!(place.env.write(&path, b"x", Expect::Any).await.unwrap_err().kind(), kind);
        }
        let long = RealPath::resolved(place.at(&"x".repeat(256)));
        assert_eq!(place.env.write(&long, b"x", Expect::Any).await.unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(place.names(), ["f"]);
        assert_eq!(fs::read_to_string(place.at("f")).unwrap(), "old");
    });
}

#[test]
fn a_huge_file_costs_no_memory() {
    check(async |place| {
        let path = place.resolve("sparse").await;
        fs::File::create(&path).unwrap().set_len(5 << 30).unwrap();
        let before = peak_memory();
        let stamp = place.env.stamp(&path).await.unwrap().unwrap();
        assert_eq!((stamp.size, stamp.digest), (5 << 30, None));
        let tail = ByteRange { start: (5 << 30) - 10, length: None };
        assert_eq!(read(place, &path, tail).await, [0; 10]);
        assert!(peak_memory() - before < 32 << 20);
        // Larger files are known by size and time.
        fs::File::options().write(true).open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let refused = place.env.write(&path, b"x", Expect::Unchanged(stamp)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Changed);
    });
}

fn tree(place: &Place) {
    for dir in ["a/b/c", "empty", "é"] {
        fs::create_dir_all(place.at(dir)).unwrap();
    }
    for (file, content) in [("a/b/c/deep", "1"), ("a/b.txt", "22"), ("z", "333"), ("é/ü", "")] {
        fs::write(place.at(file), content).unwrap();
    }
    symlink("a", place.at("link")).unwrap();
    symlink("nowhere", place.at("dangling")).unwrap();
}

fn entry(path: &str, size: Option<u64>, is_dir: bool) -> DirEntry {
    DirEntry { path: path.into(), is_dir, size }
}

#[test]
fn a_listing_is_sorted_and_as_deep_as_asked() {
    check(async |place| {
        tree(place);
        let root = place.resolve(".").await;
        let level = |depth: u32| {
            let all = [
                (1, entry("a", None, true)),
                (2, entry("a/b", None, true)),
                (3, entry("a/b/c", None, true)),
                (4, entry("a/b/c/deep", Some(1), false)),
                (2, entry("a/b.txt", Some(2), false)),
                (1, entry("dangling", None, false)),
                (1, entry("empty", None, true)),
                (1, entry("link", None, false)),
                (1, entry("z", Some(3), false)),
                (1, entry("é", None, true)),
                (2, entry("é/ü", Some(0), false)),
            ];
            all.into_iter().filter(|(at, _)| *at <= depth).map(|(_, entry)| entry).collect::<Vec<_>>()
        };
        for depth in [0, 1, 2, 3, 9, u32::MAX] {
            assert_eq!(place.env.list(&root, depth).await.unwrap(), level(depth), "{depth}");
        }
        let kind = async |path| place.env.list(&place.resolve(path).await, 1).await.unwrap_err().kind();
        assert_eq!(kind("nothing").await, ErrorKind::NotFound);
        assert_eq!(kind("z").await, ErrorKind::WrongKind);
    });
}

#[test]
fn a_listing_is_bounded() {
    check_in(Place::with(|builder| builder.list_limit(10)), async |place| {
        tree(place);
        let root = place.resolve(".").await;
        assert_eq!(place.env.list(&root, 3).await.unwrap().len(), 10);
        assert_eq!(place.env.list(&root, 4).await.unwrap_err().kind(), ErrorKind::TooLarge);
    });
}

#[test]
fn files_are_removed_and_renamed() {
    check(async |place| {
        tree(place);
        let (z, new) = (place.resolve("z").await, place.resolve("new/dir/file").await);
        place.env.rename(&z, &new).await.unwrap();
        assert_eq!(fs::read_to_string(place.at("new/dir/file")).unwrap(), "333");
        let over = place.resolve("a/b.txt").await;
        place.env.rename(&new, &over).await.unwrap();
        assert_eq!(fs::read_to_string(&over).unwrap(), "333");
        // To itself: nothing happens, and nothing is lost.
        place.env.rename(&over, &over).await.unwrap();
        assert_eq!(fs::read_to_string(&over).unwrap(), "333");
        place.env.remove(&over).await.unwrap();
        assert!(!over.as_path().exists());
        let dir = place.resolve("a").await;
        for (result, kind) in [
            (place.env.remove(&over).await, ErrorKind::NotFound),
            (place.env.remove(&dir).await, ErrorKind::WrongKind),
            (place.env.rename(&over, &place.resolve("other/x").await).await, ErrorKind::NotFound),
        ] {
            assert_eq!(result.unwrap_err().kind(), kind);
        }
        assert!(!place.at("other").exists());
    });
}

#[test]
fn a_write_that_nobody_waits_for_is_whole_or_not_there() {
    check(async |place| {
        let content = vec![b'x'; 1 << 20];
        for number in 0..8 {
            let path = place.resolve(&format!("f{number}")).await;
            let mut write = place.env.write(&path, &content, Expect::Any);
            let began = std::future::poll_fn(|cx| std::task::Poll::Ready(write.as_mut().poll(cx))).await;
            assert!(began.is_pending());
            drop(write);
            // In line behind the one that was dropped, if that one is still at it.
            drop(place.env.write(&path, &content, Expect::Absent).await);
            assert_eq!(fs::read(&path).unwrap().len(), content.len());
        }
    });
}
