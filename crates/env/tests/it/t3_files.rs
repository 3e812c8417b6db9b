//! Files that are not what they seem, and disks that do not do what they should.

use std::fs;
use std::io::{Seek, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use junto_env::text::{Content, TextFile};
use junto_env::{CommandSpec, ErrorKind, ExecutionEnvironment, Expect, Kind, LocalEnvironment, RealPath};
use proptest::prelude::*;

use crate::support::{Place, check, everything, peak_memory};

const LIMIT: u64 = 12 << 20;

async fn read(place: &Place, path: &str) -> junto_env::Result<Content> {
    TextFile::read(&place.env, &place.resolve(path).await, LIMIT).await
}

#[test]
fn what_is_no_file_is_named() {
    check(async |place| {
        fs::create_dir(place.at("dir")).unwrap();
        let _socket = UnixListener::bind(place.at("socket")).unwrap();
        assert!(place.shell("mkfifo pipe").await.wait().await.unwrap().success());
        for (path, kind, what) in [
            ("dir", ErrorKind::WrongKind, "a directory"),
            ("pipe", ErrorKind::WrongKind, "a named pipe"),
            ("socket", ErrorKind::WrongKind, "a socket"),
            ("/dev/zero", ErrorKind::WrongKind, "a device"),
            ("/dev/full", ErrorKind::WrongKind, "a device"),
            ("missing", ErrorKind::NotFound, "no such file"),
        ] {
            let error = read(place, path).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(what), "{error}");
            if kind == ErrorKind::WrongKind {
                let path = place.resolve(path).await;
                let error = place.env.write(&path, b"x", Expect::Any).await.unwrap_err();
                assert!(error.to_string().contains(what), "{error}");
            }
        }
        assert_eq!(place.names(), ["dir", "pipe", "socket"]);
    });
}

#[test]
fn files_that_do_not_tell_their_size_are_read_within_bounds() {
    check(async |place| {
        let Content::Text(file) = read(place, "/proc/version").await.unwrap() else { panic!("no text") };
        assert!(file.text.starts_with("Linux version "), "{}", file.text);
        assert_eq!(file.write_back(&place.env, "x").await.unwrap_err().kind(), ErrorKind::Denied);
        // It says that it is empty; more than the limit is not asked for.
        let found = TextFile::read(&place.env, &file.path, 10).await.unwrap();
        assert_eq!(found, Content::TooLarge { kind: Kind::Text, size: 11 });
        // Of this one the beginning cannot be read.
        assert_eq!(read(place, "/proc/self/mem").await.unwrap_err().kind(), ErrorKind::Io);
    });
}

#[test]
fn a_huge_file_is_judged_by_its_beginning() {
    check(async |place| {
        let size = 5 << 30;
        let mut file = fs::File::create(place.at("zeros")).unwrap();
        file.set_len(size).unwrap();
        file = fs::File::create(place.at("log")).unwrap();
        file.write_all(&b"a line of a log\n".repeat(10_000)).unwrap();
        file.seek(std::io::SeekFrom::Start(size - 1)).unwrap();
        file.write_all(b"\n").unwrap();
        let before = peak_memory();
        assert_eq!(read(place, "zeros").await.unwrap(), Content::Binary { what: "binary data", size });
        assert_eq!(read(place, "log").await.unwrap(), Content::TooLarge { kind: Kind::Text, size });
        assert!(peak_memory() - before < 16 << 20);
    });
}

#[test]
fn one_very_long_line_is_a_text() {
    check(async |place| {
        fs::write(place.at("f"), vec![b'x'; 10 << 20]).unwrap();
        let before = peak_memory();
        let Content::Text(file) = read(place, "f").await.unwrap() else { panic!("no text") };
        assert_eq!(file.text.len(), 10 << 20);
        let stamp = file.write_back(&place.env, &file.text).await.unwrap();
        assert!(stamp.same_content(&file.stamp));
        assert!(peak_memory() - before < 50 << 20);
    });
}

#[test]
fn links_that_lead_nowhere_are_said() {
    check(async |place| {
        symlink("b", place.at("a")).unwrap();
        symlink("a", place.at("b")).unwrap();
        symlink("nothing", place.at("dangling")).unwrap();
        for path in ["a", "a/below"] {
            let error = place.env.resolve(path).await.unwrap_err();
            assert!(error.to_string().contains("too many levels of symbolic links"), "{error}");
        }
        // As if somebody put a loop where a file was.
        let path = RealPath::resolved(place.at("a"));
        assert!(TextFile::read(&place.env, &path, LIMIT).await.is_err());
        assert_eq!(place.env.write(&path, b"x", Expect::Any).await.unwrap_err().kind(), ErrorKind::WrongKind);
        // A link to what is not there yet makes it.
        let path = place.resolve("dangling").await;
        place.env.write(&path, b"x", Expect::Absent).await.unwrap();
        assert_eq!(fs::read(place.at("nothing")).unwrap(), b"x");
        assert_eq!(place.names(), ["a", "b", "dangling", "nothing"]);
    });
}

/// Runs a test of this module once more, in a process that something was done to.
async fn again(place: &Place, before: &str, test: &str) {
    let own = std::env::current_exe().unwrap().into_os_string().into_string().unwrap();
    let line = format!("{before} \"$0\" --exact t3_files::{test}");
    let mut process = place.env.spawn(CommandSpec::argv(["bash", "-c", &line, &own])).await.unwrap();
    let (stdout, stderr) = everything(&mut process).await;
    assert!(process.wait().await.unwrap().success(), "{stdout}{stderr}");
    assert!(stdout.contains("test result: ok. 1 passed"), "{stdout}");
}

/// A line of a file about this process.
fn about(file: &str, name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/self/{file}")).unwrap();
    text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned()
}

#[test]
fn where_there_is_no_room_everything_stays() {
    check(async |place| {
        if about("limits", "Max file size").starts_with("unlimited") {
            // What a full disk does to a write, everybody may do to oneself.
            let before = "trap '' XFSZ; ulimit -f 64; exec";
            return again(place, before, "where_there_is_no_room_everything_stays").await;
        }
        fs::write(place.at("f"), "old").unwrap();
        let Content::Text(file) = read(place, "f").await.unwrap() else { panic!("no text") };
        let large = "x".repeat(1 << 20);
        let new = place.resolve("new").await;
        for error in [
            file.write_back(&place.env, &large).await.unwrap_err(),
            place.env.write(&file.path, large.as_bytes(), Expect::Any).await.unwrap_err(),
            place.env.write(&new, large.as_bytes(), Expect::Absent).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Full, "{error}");
        }
        assert_eq!(place.names(), ["f"]);
        assert_eq!(fs::read_to_string(place.at("f")).unwrap(), "old");
        file.write_back(&place.env, "new").await.unwrap();
    });
}

#[test]
fn a_protected_folder_stays_as_it_is() {
    /// What lets root write anywhere.
    const DAC_OVERRIDE: u64 = 1 << 1;
    check(async |place| {
        let capabilities = u64::from_str_radix(&about("status", "CapEff:"), 16).unwrap();
        if capabilities & DAC_OVERRIDE != 0 {
            let before = "exec setpriv --inh-caps=-dac_override --bounding-set=-dac_override";
            return again(place, before, "a_protected_folder_stays_as_it_is").await;
        }
        let mode = |path: &str, mode| fs::set_permissions(place.at(path), PermissionsExt::from_mode(mode));
        fs::create_dir(place.at("dir")).unwrap();
        fs::write(place.at("dir/f"), "old").unwrap();
        fs::write(place.at("protected"), "old").unwrap();
        mode("protected", 0o444).unwrap();
        mode("dir", 0o555).unwrap();
        let path = async |path| place.resolve(path).await;
        let (file, protected) = (path("dir/f").await, path("protected").await);
        for error in [
            place.env.write(&file, b"new", Expect::Any).await.unwrap_err(),
            place.env.write(&path("dir/new").await, b"new", Expect::Absent).await.unwrap_err(),
            place.env.write(&path("dir/a/b/new").await, b"new", Expect::Any).await.unwrap_err(),
            place.env.write(&protected, b"new", Expect::Any).await.unwrap_err(),
            place.env.remove(&file).await.unwrap_err(),
            place.env.rename(&file, &path("moved").await).await.unwrap_err(),
            place.env.rename(&protected, &path("dir/moved").await).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
            assert!(!error.to_string().contains(".junto-"), "{error}");
        }
        mode("dir", 0o755).unwrap();
        assert_eq!(place.names(), ["dir", "protected"]);
        assert_eq!(fs::read_dir(place.at("dir")).unwrap().count(), 1);
        for path in ["dir/f", "protected"] {
            assert_eq!(fs::read_to_string(place.at(path)).unwrap(), "old");
        }
    });
}

/// A text that says in every line what all of it must be.
fn whole(writer: usize, lines: usize) -> String {
    format!("{writer} of {lines}\n").repeat(lines)
}

fn assert_whole(text: &str) {
    let (writer, lines) = text.lines().next().unwrap().split_once(" of ").unwrap();
    assert_eq!(text, whole(writer.parse().unwrap(), lines.parse().unwrap()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn no_reader_sees_a_part_of_a_write(sizes in prop::collection::vec(prop::collection::vec(1_usize..20_000, 1..6), 1..4)) {
        check(async |place| {
            let path = &place.resolve("f").await;
            place.env.write(path, whole(99, 1).as_bytes(), Expect::Absent).await.unwrap();
            let done = &AtomicBool::new(false);
            let root = &place.at("");
            std::thread::scope(|scope| {
                // Through the environment, and as any other program would.
                let readers = [
                    scope.spawn(move || {
                        while !done.load(Ordering::Relaxed) {
                            assert_whole(&fs::read_to_string(path).unwrap());
                        }
                    }),
                    scope.spawn(move || {
                        let env = LocalEnvironment::new(root).unwrap();
                        while !done.load(Ordering::Relaxed) {
                            match block_on(TextFile::read(&env, path, LIMIT)).unwrap() {
                                Content::Text(file) => assert_whole(&file.text),
                                other => panic!("{other:?}"),
                            }
                        }
                    }),
                ];
                let writers: Vec<_> = sizes
                    .iter()
                    .enumerate()
                    .map(|(writer, sizes)| {
                        scope.spawn(move || {
                            let env = LocalEnvironment::new(root).unwrap();
                            for lines in sizes {
                                let text = whole(writer, *lines);
                                block_on(env.write(path, text.as_bytes(), Expect::Any)).unwrap();
                            }
                        })
                    })
                    .collect();
                let written: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
                done.store(true, Ordering::Relaxed);
                for ended in written.into_iter().chain(readers.map(std::thread::ScopedJoinHandle::join)) {
                    ended.unwrap();
                }
            });
            assert_eq!(place.names(), ["f"]);
        });
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
