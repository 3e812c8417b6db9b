//! Grep and glob of this machine, and as they are provided for any environment.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use junto_env::{
    Error, ErrorKind, ExecutionEnvironment, FileLines, Found, Hits, Limits, LocalEnvironment, Order, Result,
    Search, Show, Target,
};
use proptest::prelude::*;
use tokio_util::sync::CancellationToken;

use crate::search_trees::{Plain, filter, grep, told, tree};
use crate::support::{Place, check, peak_memory};

/// Makes files with these contents.
fn make(place: &Place, files: &[(&str, &str)]) {
    for (path, content) in files {
        fs::create_dir_all(place.at(path).parent().unwrap()).unwrap();
        fs::write(place.at(path), content).unwrap();
    }
}

/// Searches here and as it is provided: both must say the same.
async fn search(place: &Place, query: Search) -> Result<Hits> {
    let cancel = CancellationToken::new();
    let here = place.env.search(query.clone(), &cancel).await;
    let provided = Plain(&place.env).search(query, &cancel).await;
    match (&here, &provided) {
        (Ok(here), Ok(provided)) => assert_eq!(here, provided),
        (here, provided) => {
            let kind = |result: &Result<Hits>| result.as_ref().err().map(Error::kind);
            assert_eq!(kind(here), kind(provided));
        }
    }
    here
}

async fn found(place: &Place, query: Search) -> Vec<String> {
    told(&search(place, query).await.unwrap(), &place.resolve(".").await)
}

#[test]
fn lines_come_by_path_and_number() {
    check(async |place| {
        make(place, &[("b", "needle\n"), ("a/z", "x\nneedle y\n"), ("a.b", "needle"), ("c", "none")]);
        let root = place.resolve(".").await;
        let expected = ["a/z:2:needle y", "a.b:1:needle", "b:1:needle"];
        assert_eq!(found(place, Search::grep("needle", root.clone())).await, expected);
        let query =
            Search::grep("NEEDLE", root.clone()).case(junto_env::Case::Insensitive).context(1, 0).only("a/*");
        assert_eq!(found(place, query).await, ["a/z-1:x", "a/z:2:needle y"]);
        let query = Search::grep("needle", root.clone()).show(Show::Files);
        assert_eq!(found(place, query).await, ["a/z", "a.b", "b"]);
        let query = Search::grep("e", root).show(Show::Counts).only("!b");
        assert_eq!(found(place, query).await, ["a/z:1", "a.b:1", "c:1"]);
    });
}

#[test]
fn a_named_file_is_searched_whatever_it_is_called() {
    check(async |place| {
        make(
            place,
            &[(".git/HEAD", ""), (".gitignore", "*"), (".hidden/x.log", "needle\n"), ("data", "\0\nneedle")],
        );
        let file = place.resolve(".hidden/x.log").await;
        let query = Search::grep("needle", file.clone()).only("*.rs");
        assert_eq!(found(place, query).await, [".hidden/x.log:1:needle"]);
        assert_eq!(found(place, Search::files(file)).await, [".hidden/x.log"]);
        let query = Search::grep("needle", place.resolve("data").await);
        assert_eq!(found(place, query).await, ["data is binary"]);
    });
}

#[test]
fn bad_questions_are_refused() {
    check(async |place| {
        make(place, &[("a", "x")]);
        let root = place.resolve(".").await;
        let nowhere = place.resolve("nowhere").await;
        for (query, kind, says) in [
            (Search::grep("a{", root.clone()), ErrorKind::Invalid, "`\\{`"),
            (Search::grep("a", root.clone()).only("{a"), ErrorKind::Invalid, "`{a`"),
            (Search::grep("a", root.clone()).only_type("cobble"), ErrorKind::Invalid, "`cobble`"),
            (Search::glob("[", root), ErrorKind::Invalid, "`[`"),
            (Search::grep("a", nowhere.clone()), ErrorKind::NotFound, "nowhere"),
            (Search::glob("*", nowhere), ErrorKind::NotFound, "nowhere"),
        ] {
            let error = search(place, query).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(says), "{error}");
        }
    });
}

#[test]
fn only_files_are_opened_and_links_are_not_followed() {
    check(async |place| {
        make(place, &[("dir/a", "needle"), ("elsewhere/b", "needle")]);
        symlink("..", place.at("dir/up")).unwrap();
        symlink("../elsewhere/b", place.at("dir/link")).unwrap();
        symlink("loop", place.at("dir/loop")).unwrap();
        symlink("/dev/zero", place.at("dir/zero")).unwrap();
        nix::unistd::mkfifo(&place.at("dir/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let _socket = UnixListener::bind(place.at("dir/socket")).unwrap();
        let dir = place.resolve("dir").await;
        assert_eq!(found(place, Search::grep("needle", dir.clone())).await, ["dir/a:1:needle"]);
        assert_eq!(found(place, Search::glob("**", dir)).await, ["dir/a"]);
        // One that is named is refused, and nobody waits for it.
        for name in ["dir/pipe", "dir/socket", "/dev/zero"] {
            let query = Search::grep("needle", place.resolve(name).await);
            let error = place.env.search(query, &CancellationToken::new()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WrongKind, "{error}");
        }
    });
}

#[test]
fn what_the_kernel_makes_is_not_walked() {
    check(async |place| {
        let cancel = CancellationToken::new();
        for dir in ["/proc", "/proc/self", "/sys"] {
            let query = Search::grep("x", place.resolve(dir).await);
            let error = place.env.search(query, &cancel).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        }
        let file = place.resolve("/proc/self/status").await;
        let hits = place.env.search(Search::grep("^Name:", file), &cancel).await.unwrap();
        assert!(matches!(&hits.found, Found::Lines(files) if files.len() == 1), "{hits:?}");
    });
}

#[test]
fn the_newest_come_first_and_no_more_than_asked() {
    check(async |place| {
        make(place, &[("old", ""), ("new", ""), ("b", ""), ("a", "")]);
        for (name, seconds) in [("old", 1), ("new", 3), ("a", 2), ("b", 2)] {
            let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            fs::File::options().write(true).open(place.at(name)).unwrap().set_modified(time).unwrap();
        }
        let root = place.resolve(".").await;
        let all = Search::files(root.clone());
        assert_eq!(found(place, all.clone()).await, ["new", "a", "b", "old"]);
        assert_eq!(found(place, all.clone().order(Order::Path)).await, ["a", "b", "new", "old"]);
        let some = search(place, all.clone().limit(3)).await.unwrap();
        assert_eq!((told(&some, &root), some.truncated), (vec!["new".into(), "a".into(), "b".into()], true));
        assert!(!search(place, all.limit(4)).await.unwrap().truncated);
    });
}

#[test]
fn a_long_line_and_a_huge_file_cost_bounded_memory() {
    check(async |place| {
        let long = "x".repeat(10 << 20) + "needle" + &"y".repeat(100_000);
        fs::write(place.at("long"), &long).unwrap();
        drop(long);
        fs::File::create(place.at("sparse")).unwrap().set_len(5 << 30).unwrap();
        let before = peak_memory();
        let root = place.resolve(".").await;
        let hits =
            place.env.search(Search::grep("needle", root.clone()), &CancellationToken::new()).await.unwrap();
        let Found::Lines(files) = &hits.found else { panic!("no lines") };
        let [FileLines { lines, .. }] = &files[..] else { panic!("not one file: {}", files.len()) };
        assert!(lines[0].text.contains("xneedley") && lines[0].text.len() == 2000, "{}", lines[0].text.len());
        assert_eq!(lines[0].cut_before + lines[0].cut_after + 2000, (10 << 20) + 6 + 100_000);
        // Over lines a file is held whole, and one that is too large is passed over.
        let query = Search::grep(r"needle\n?", root).multiline();
        let hits = place.env.search(query, &CancellationToken::new()).await.unwrap();
        assert!(matches!(&hits.found, Found::Lines(files) if files.len() == 1));
        assert_eq!(hits.unreadable, 1);
        assert!(peak_memory() - before < 50 << 20, "{}", (peak_memory() - before) >> 20);
    });
}

#[test]
fn a_flood_of_matches_costs_bounded_memory() {
    check(async |place| {
        let flood = "needle\n".repeat(1 << 20);
        for name in ["a", "b", "c", "d"] {
            fs::write(place.at(name), &flood).unwrap();
        }
        drop(flood);
        let before = peak_memory();
        let root = place.resolve(".").await;
        let limits = Limits { results: usize::MAX, ..Limits::default() };
        let query = Search { limits, ..Search::grep("needle", root).context(1000, 1000) };
        let hits = search(place, query).await.unwrap();
        assert!(hits.truncated);
        assert!(peak_memory() - before < 50 << 20, "{}", (peak_memory() - before) >> 20);
    });
}

#[test]
fn what_cannot_be_read_is_counted() {
    check(async |place| {
        // Not even root opens a path this long.
        let deep = "d=$(printf 'd%.0s' $(seq 200)); for i in $(seq 25); do mkdir $d && cd $d || exit 1; done; echo done";
        assert_eq!(crate::support::line(&mut place.shell(deep).await).await, "done");
        fs::write(place.at("long"), "x".repeat(17 << 20)).unwrap();
        make(place, &[("a", "needle")]);
        let root = place.resolve(".").await;
        let hits = search(place, Search::grep("needle", root.clone())).await.unwrap();
        assert_eq!(told(&hits, &root), ["a:1:needle"]);
        assert_eq!(hits.unreadable, 2);
        assert_eq!(search(place, Search::files(root)).await.unwrap().unreadable, 1);
    });
}

#[test]
fn cancelling_stops_the_search() {
    check(async |place| {
        // Without a match it would be read to its end, which takes long.
        fs::File::create(place.at("sparse")).unwrap().set_len(1 << 42).unwrap();
        let file = place.resolve("sparse").await;
        for env in [&place.env as &dyn ExecutionEnvironment, &Plain(&place.env)] {
            let cancel = CancellationToken::new();
            let query = Search::grep("needle", file.clone());
            let (result, ()) = tokio::join!(env.search(query.clone(), &cancel), async {
                tokio::task::yield_now().await;
                cancel.cancel();
            });
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
            // Before it began, too.
            assert_eq!(env.search(query, &cancel).await.unwrap_err().kind(), ErrorKind::Cancelled);
        }
        let everything = Search::files(place.resolve(".").await);
        let cancel = CancellationToken::new();
        cancel.cancel();
        assert_eq!(search_with(&place.env, everything, &cancel).await, Some(ErrorKind::Cancelled));
        // That a dropped search ends is seen by the end of the runtime, which waits for it.
        let cancel = CancellationToken::new();
        let query = Search::grep("needle", file);
        tokio::select! {
            biased;
            _ = place.env.search(query, &cancel) => panic!("it ended"),
            () = tokio::task::yield_now() => {}
        }
    });
}

async fn search_with(env: &LocalEnvironment, query: Search, cancel: &CancellationToken) -> Option<ErrorKind> {
    env.search(query, cancel).await.err().map(|e| e.kind())
}

/// What counts against the limit.
fn results(hits: &Hits) -> usize {
    match &hits.found {
        Found::Lines(files) => files.iter().flat_map(|file| &file.lines).filter(|line| line.matches).count(),
        Found::Counts(files) => files.len(),
        Found::Files(files) => files.len(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the limit: these are the first of all, and both ways to search agree.
    #[test]
    fn a_limit_cuts_and_changes_nothing_else(tree in tree(), grep in grep(), filter in filter(), limit in 0..12_usize) {
        let place = Place::new();
        tree.make(&place.at(""));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let root = place.resolve(".").await;
            for target in [Target::Text(grep), Target::Files(Order::Newest)] {
                let query = Search { root: root.clone(), target, filter: filter.clone(), limits: Limits::default() };
                let all = search(&place, query.clone()).await.unwrap();
                let some = search(&place, query.limit(limit)).await.unwrap();
                let (all_told, some_told) = (told(&all, &root), told(&some, &root));
                assert_eq!(results(&some), results(&all).min(limit));
                assert_eq!(some.truncated, results(&all) > limit);
                let matching = |told: &[String]| -> Vec<String> {
                    told.iter().filter(|line| !line.ends_with("is binary")).cloned().collect()
                };
                assert!(matching(&all_told).starts_with(&matching(&some_told)), "{some_told:?} {all_told:?}");
            }
        });
    }
}
