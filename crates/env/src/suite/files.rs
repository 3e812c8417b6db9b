//! What is promised of files.

use tokio_util::sync::CancellationToken;

use super::{at, get, put, range};
use crate::text::{Content, TextFile};
use crate::{
    ByteRange, DirEntry, ErrorKind, ExecutionEnvironment, Expect, Found, RealPath, Result, Search, Show,
};

fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
    result.err().map(|e| e.kind())
}

/// Relative paths start at the working directory, and `.` and `..` are gone.
pub async fn paths_are_made_real(env: &dyn ExecutionEnvironment) {
    let cwd = env.facts().cwd.clone();
    assert!(cwd.as_path().is_absolute());
    let below = |path: &str| RealPath::resolved(cwd.as_path().join(path));
    assert_eq!(at(env, ".").await, cwd);
    for (path, expected) in [
        ("a", "a"),
        ("./a", "a"),
        ("a//b", "a/b"),
        ("a/../b", "b"),
        ("./a/./b/..", "a"),
        ("ü 🦀/日本", "ü 🦀/日本"),
    ] {
        assert_eq!(at(env, path).await, below(expected), "{path}");
    }
    let absolute = below("a/b");
    assert_eq!(at(env, &absolute.to_string()).await, absolute);
    assert_eq!(at(env, &below("x/../a").to_string()).await, below("a"));
    assert_eq!(kind(env.resolve("").await), Some(ErrorKind::NotFound));
}

/// There is no stamp of it, and everything else is `NotFound`.
pub async fn what_is_not_there_is_said(env: &dyn ExecutionEnvironment) {
    let (path, other) = (at(env, "nothing").await, at(env, "other").await);
    assert_eq!(env.stamp(&path).await.unwrap(), None);
    for found in [
        kind(env.open(&path, ByteRange::ALL).await),
        kind(env.list(&path, 1).await),
        kind(env.remove(&path).await),
        kind(env.rename(&path, &other).await),
    ] {
        assert_eq!(found, Some(ErrorKind::NotFound));
    }
    assert_eq!(env.stamp(&other).await.unwrap(), None);
}

/// Any bytes, any length, any name; the directories are made.
pub async fn bytes_come_back_as_they_were_written(env: &dyn ExecutionEnvironment) {
    let large: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let contents: [&[u8]; 5] = [b"", b"a\r\nb\r\n", b"no newline", b"\xff\x00\xfe", &large];
    for (number, content) in contents.into_iter().enumerate() {
        let (path, stamp) = put(env, &format!("dir {number}/ü/🦀 'x'"), content).await;
        assert_eq!(get(env, &path).await, content);
        assert_eq!(stamp.size, content.len() as u64);
        assert!(env.stamp(&path).await.unwrap().unwrap().same_content(&stamp));
    }
}

/// Also one that begins or ends behind the end of the file.
pub async fn a_range_is_read_and_no_more(env: &dyn ExecutionEnvironment) {
    let (path, _) = put(env, "f", b"0123456789").await;
    for (start, length, expected) in [
        (0, None, "0123456789"),
        (3, None, "3456789"),
        (3, Some(4), "3456"),
        (8, Some(9), "89"),
        (0, Some(0), ""),
        (10, None, ""),
        (99, Some(1), ""),
    ] {
        let found = range(env, &path, ByteRange { start, length }).await;
        assert_eq!(found, expected.as_bytes(), "{start} {length:?}");
    }
}

/// `Absent` writes what is not there, and leaves what is.
pub async fn a_new_file_is_new(env: &dyn ExecutionEnvironment) {
    let path = at(env, "f").await;
    env.write(&path, b"one", Expect::Absent).await.unwrap();
    assert_eq!(kind(env.write(&path, b"two", Expect::Absent).await), Some(ErrorKind::Exists));
    assert_eq!(get(env, &path).await, b"one");
}

/// `Unchanged` writes over what was seen, and over nothing else.
pub async fn a_changed_file_is_not_overwritten(env: &dyn ExecutionEnvironment) {
    let (path, first) = put(env, "f", b"one").await;
    let second = env.write(&path, b"two", Expect::Unchanged(first)).await.unwrap();
    assert_eq!(kind(env.write(&path, b"three", Expect::Unchanged(first)).await), Some(ErrorKind::Changed));
    assert_eq!(get(env, &path).await, b"two");
    env.remove(&path).await.unwrap();
    assert_eq!(kind(env.write(&path, b"four", Expect::Unchanged(second)).await), Some(ErrorKind::Changed));
    assert_eq!(env.stamp(&path).await.unwrap(), None);
}

/// `Any` asks nothing, whether the file is there or not.
pub async fn any_file_is_replaced(env: &dyn ExecutionEnvironment) {
    for content in [&b"a long first text"[..], b"short", b""] {
        let (path, _) = put(env, "f", content).await;
        assert_eq!(get(env, &path).await, content);
    }
}

/// Also when the size stays the same.
pub async fn a_stamp_changes_with_the_content(env: &dyn ExecutionEnvironment) {
    let (path, first) = put(env, "f", b"one").await;
    assert!(env.stamp(&path).await.unwrap().unwrap().same_content(&first));
    put(env, "f", b"two").await;
    assert!(!env.stamp(&path).await.unwrap().unwrap().same_content(&first));
}

/// Of writers that saw the same file exactly one writes.
pub async fn of_racing_writers_one_wins(env: &dyn ExecutionEnvironment) {
    let (path, mut stamp) = put(env, "f", b"start").await;
    for round in 0..10 {
        let (one, two) = (format!("one {round}"), format!("two {round}"));
        let expect = Expect::Unchanged(stamp);
        let results =
            tokio::join!(env.write(&path, one.as_bytes(), expect), env.write(&path, two.as_bytes(), expect));
        let (next, content) = match results {
            (Ok(next), Err(e)) if e.kind() == ErrorKind::Changed => (next, one),
            (Err(e), Ok(next)) if e.kind() == ErrorKind::Changed => (next, two),
            both => panic!("round {round}: {both:?}"),
        };
        assert_eq!(get(env, &path).await, content.as_bytes());
        stamp = next;
    }
}

/// A reader never sees a part of a write.
pub async fn readers_see_the_old_or_the_new(env: &dyn ExecutionEnvironment) {
    let content = |byte: u8| vec![byte; 200_000 + usize::from(byte)];
    let (path, _) = put(env, "f", &content(0)).await;
    let writing = async {
        for byte in 1..10 {
            env.write(&path, &content(byte), Expect::Any).await.unwrap();
        }
    };
    let reading = async {
        for _ in 0..20 {
            let found = get(env, &path).await;
            assert_eq!(found, content(found[0]));
        }
    };
    tokio::join!(writing, reading);
}

/// Directories are entries; files have a size.
pub async fn a_listing_is_sorted_and_as_deep_as_asked(env: &dyn ExecutionEnvironment) {
    for (path, content) in [("z", "333"), ("a/b/c", "1"), ("a/b.txt", "22"), ("é/ü", "")] {
        put(env, path, content.as_bytes()).await;
    }
    let entries = [
        (1, "a", None),
        (2, "a/b", None),
        (3, "a/b/c", Some(1)),
        (2, "a/b.txt", Some(2)),
        (1, "z", Some(3)),
        (1, "é", None),
        (2, "é/ü", Some(0)),
    ];
    let cwd = env.facts().cwd.clone();
    for depth in [0, 1, 2, 3, 9] {
        let expected: Vec<DirEntry> = entries
            .iter()
            .filter(|(level, ..)| *level <= depth)
            .map(|(_, path, size)| DirEntry { path: path.into(), is_dir: size.is_none(), size: *size })
            .collect();
        assert_eq!(env.list(&cwd, depth).await.unwrap(), expected, "{depth}");
    }
    assert_eq!(kind(env.list(&at(env, "z").await, 1).await), Some(ErrorKind::WrongKind));
}

/// It is not read, written or removed as one, and what is below a file is not there.
pub async fn a_directory_is_no_file(env: &dyn ExecutionEnvironment) {
    put(env, "dir/f", b"x").await;
    let dir = at(env, "dir").await;
    for found in [
        kind(env.stamp(&dir).await),
        kind(env.open(&dir, ByteRange::ALL).await),
        kind(env.write(&dir, b"x", Expect::Any).await),
        kind(env.remove(&dir).await),
    ] {
        assert_eq!(found, Some(ErrorKind::WrongKind));
    }
    let below = RealPath::resolved(dir.as_path().join("f/below"));
    assert_eq!(kind(env.write(&below, b"x", Expect::Any).await), Some(ErrorKind::WrongKind));
    assert_eq!(get(env, &at(env, "dir/f").await).await, b"x");
}

/// And are gone then.
pub async fn files_are_removed(env: &dyn ExecutionEnvironment) {
    let (path, _) = put(env, "f", b"x").await;
    env.remove(&path).await.unwrap();
    assert_eq!(env.stamp(&path).await.unwrap(), None);
    assert_eq!(kind(env.remove(&path).await), Some(ErrorKind::NotFound));
}

/// Into directories that are made, over what is there, and to their own name.
pub async fn files_are_renamed(env: &dyn ExecutionEnvironment) {
    let (from, _) = put(env, "f", b"moved").await;
    let (over, _) = put(env, "over", b"replaced").await;
    let new = at(env, "new/dir/f").await;
    env.rename(&from, &new).await.unwrap();
    assert_eq!(env.stamp(&from).await.unwrap(), None);
    assert_eq!(get(env, &new).await, b"moved");
    env.rename(&new, &over).await.unwrap();
    assert_eq!(get(env, &over).await, b"moved");
    env.rename(&over, &over).await.unwrap();
    assert_eq!(get(env, &over).await, b"moved");
}

/// Byte order mark and line ends stay.
pub async fn a_text_is_written_as_it_was(env: &dyn ExecutionEnvironment) {
    let (path, _) = put(env, "f", b"\xef\xbb\xbfone\r\ntwo\r\n").await;
    let Content::Text(file) = TextFile::read(env, &path, 1000).await.unwrap() else { panic!("no text") };
    assert_eq!(file.text, "one\r\ntwo\r\n");
    file.write_back(env, &file.text.replace("two", "2")).await.unwrap();
    assert_eq!(get(env, &path).await, b"\xef\xbb\xbfone\r\n2\r\n");
    assert_eq!(kind(file.write_back(env, "late").await), Some(ErrorKind::Changed));
}

/// What can be searched finds files by name and by what is in them.
pub async fn a_search_finds_or_is_unsupported(env: &dyn ExecutionEnvironment) {
    let (path, _) = put(env, "dir/found.txt", b"a line\na needle\n").await;
    put(env, "dir/other.md", b"another line\n").await;
    let cancel = CancellationToken::new();
    let cwd = env.facts().cwd.clone();
    let grep = Search::grep("ne+dle", cwd.clone()).show(Show::Files);
    for query in [Search::glob("**/*.txt", cwd), grep] {
        let hits = match env.search(query, &cancel).await {
            Err(e) if e.kind() == ErrorKind::Unsupported => return,
            hits => hits.unwrap(),
        };
        let Found::Files(files) = hits.found else { panic!("not files: {:?}", hits.found) };
        assert_eq!(files.into_iter().map(|file| file.path).collect::<Vec<_>>(), [path.clone()]);
    }
}
