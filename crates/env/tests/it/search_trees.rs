//! Random trees to search, and random things to look for in them.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use junto_env::{Case, ExecutionEnvironment, Filter, Found, Grep, Hits, RealPath, Show};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// Files with their content and time, in directories that may be hidden, ignored or repositories.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    files: Vec<(String, Vec<u8>, u64)>,
}

impl Tree {
    /// Makes the files. A path that is in the way of another is left out.
    pub(crate) fn make(&self, root: &Path) {
        for (path, content, seconds) in &self.files {
            let path = root.join(path);
            let made = fs::create_dir_all(path.parent().unwrap()).and_then(|()| fs::write(&path, content));
            if made.is_ok() {
                let time = SystemTime::UNIX_EPOCH + Duration::from_secs(*seconds);
                fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
            }
        }
    }
}

const DIRECTORIES: [&str; 4] = ["src", "build", "ü", ".hidden"];
const NAMES: [&str; 9] = ["a", "b.rs", "c.ts", "d.log", ".env", "e.TXT", "f g.md", "ü", "x.min.js"];

pub(crate) fn tree() -> impl Strategy<Value = Tree> {
    let directory = vec(select(&DIRECTORIES[..]), 0..4).prop_map(|parts| parts.join("/"));
    // Rules at the root have much to say, those deep down little.
    let of_rules = prop_oneof![1 => Just(String::new()), 1 => directory.clone()];
    let file = (directory.clone(), select(&NAMES[..]), content(), 0..20_u64);
    let rules_file = select(&[".gitignore", ".ignore", ".rgignore", ".git/info/exclude"][..]);
    let ignores = (of_rules, rules_file, rules(), Just(0));
    let repositories = (directory, Just(".git/HEAD"), Just(b"foo".to_vec()), Just(0));
    let join = |(directory, name, content, seconds): (String, &str, Vec<u8>, u64)| {
        let path = if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
        (path, content, seconds)
    };
    let at_root = select(vec![vec![], vec![(".git/HEAD".to_owned(), b"foo".to_vec(), 0)]]);
    (
        at_root,
        vec(file.prop_map(join), 1..25),
        vec(ignores.prop_map(join), 0..6),
        vec(repositories.prop_map(join), 0..2),
    )
        .prop_map(|(root, files, ignores, repositories)| Tree {
            files: [root, files, ignores, repositories].concat(),
        })
}

fn rules() -> impl Strategy<Value = Vec<u8>> {
    let name = select(
        [&DIRECTORIES[..], &NAMES[..], &["*.log", "*", "*.{rs,ts}", "a*", "?", "[a-c].*", "**"]].concat(),
    );
    let rule = (
        select(&["", "!", "/", "!/", "**/", "src/", "\\"][..]),
        name,
        select(&["", "/", "/**", "/*", " "][..]),
    )
        .prop_map(|(before, name, after)| format!("{before}{name}{after}"));
    let line = prop_oneof![6 => rule, 1 => Just("# a".to_owned()), 1 => Just("[a".to_owned()), 1 => Just(String::new())];
    vec(line, 1..5).prop_map(|lines| lines.join("\n").into_bytes())
}

const LINES: [&[u8]; 9] =
    [b"foo", b"Foo bar", b"bar", b"", b"x{y}", b"\xc3\xa9 foo", b"\xff foo", b"  foo foo", b"a+b"];
const ENDS: [&[u8]; 3] = [b"\n", b"\r\n", b"\n\n"];

fn content() -> impl Strategy<Value = Vec<u8>> {
    let line = select(LINES.to_vec());
    let end = select(ENDS.to_vec());
    let text = vec((line, end), 0..12).prop_map(|lines| {
        lines.into_iter().flat_map(|(line, end)| [line, end].concat()).collect::<Vec<u8>>()
    });
    prop_oneof![
        16 => text.clone(),
        // Without an end, binary, binary at last, in other encodings.
        2 => text.clone().prop_map(|mut text| { text.pop(); text }),
        1 => text.clone().prop_map(|text| [&text[..], b"\0\n", &text].concat()),
        1 => text.clone().prop_map(|text| [&text[..], &b"y\n".repeat(70_000), b"\0"].concat()),
        1 => text.clone().prop_map(|text| [b"\xef\xbb\xbf", &text[..]].concat()),
        1 => text.prop_map(|text| {
            let wide = String::from_utf8_lossy(&text).encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
            [&b"\xff\xfe"[..], &wide].concat()
        }),
    ]
}

pub(crate) fn grep() -> impl Strategy<Value = Grep> {
    let plain = select(
        &["foo", "Foo", "fo+", r"\bbar", "^", "r$", r"[^\w\s]", "é", "foo|x", ".", r"foo\s+", "(?i)FOO"][..],
    )
    .prop_map(|pattern| (pattern, false, false));
    let literal = select(&["x{y}", "a+b", "foo", ".", "("][..]).prop_map(|pattern| (pattern, true, false));
    let over_lines = select(&[r"foo\r?\nbar", r"(?s)foo.*?bar", r"\s+", "foo", r"\n\n"][..])
        .prop_map(|pattern| (pattern, false, true));
    let show = prop_oneof![
        2 => (0..3_u32, 0..3_u32).prop_map(|(before, after)| Show::Lines { before, after }),
        1 => Just(Show::Files),
        1 => Just(Show::Counts),
    ];
    let case = select(vec![Case::Sensitive, Case::Insensitive, Case::Smart]);
    (prop_oneof![4 => plain, 1 => literal, 2 => over_lines], case, show).prop_map(
        |((pattern, literal, multiline), case, show)| Grep {
            pattern: pattern.to_owned(),
            literal,
            case,
            multiline,
            show,
        },
    )
}

pub(crate) fn filter() -> impl Strategy<Value = Filter> {
    let globs = [
        "*.rs",
        "!*.rs",
        "**/*.{ts,log}",
        "src/**",
        "!build",
        "/a",
        ".env",
        "*.txt",
        "!**/ü",
        "src/*/b.rs",
        "**",
    ];
    let globs = prop_oneof![2 => Just(vec![]), 3 => subsequence(globs.to_vec(), 1..4).prop_shuffle()];
    let types = option::weighted(0.2, select(&["rust", "ts", "log", "md"][..]));
    (globs, any::<bool>(), types, any::<bool>(), prop::bool::weighted(0.2)).prop_map(
        |(globs, globs_ignore_case, types, hidden, ignored)| Filter {
            globs: globs.into_iter().map(str::to_owned).collect(),
            globs_ignore_case,
            types: types.into_iter().map(str::to_owned).collect(),
            hidden,
            ignored,
        },
    )
}

/// Hits as lines of text, with paths below the root: what is compared and shown when it differs.
pub(crate) fn told(hits: &Hits, root: &RealPath) -> Vec<String> {
    let below = |path: &RealPath| path.as_path().strip_prefix(root).unwrap().display().to_string();
    match &hits.found {
        Found::Lines(files) => files
            .iter()
            .flat_map(|file| {
                let path = below(&file.path);
                let binary = file.binary.then(|| format!("{path} is binary"));
                let lines = file.lines.iter().map(move |line| {
                    format!("{path}{}{}:{}", if line.matches { ':' } else { '-' }, line.number, line.text)
                });
                lines.chain(binary).collect::<Vec<_>>()
            })
            .collect(),
        Found::Counts(files) => {
            files.iter().map(|file| format!("{}:{}", below(&file.path), file.count)).collect()
        }
        Found::Files(files) => files.iter().map(|file| below(&file.path)).collect(),
    }
}

/// An environment that has only what is provided, over one that has more.
pub(crate) struct Plain<'a>(pub(crate) &'a dyn ExecutionEnvironment);

impl ExecutionEnvironment for Plain<'_> {
    fn facts(&self) -> &junto_env::EnvFacts {
        self.0.facts()
    }
    fn resolve<'a>(&'a self, path: &'a str) -> junto_env::Fut<'a, junto_env::Result<RealPath>> {
        self.0.resolve(path)
    }
    fn stamp<'a>(
        &'a self,
        path: &'a RealPath,
    ) -> junto_env::Fut<'a, junto_env::Result<Option<junto_env::Stamp>>> {
        self.0.stamp(path)
    }
    fn open<'a>(
        &'a self,
        path: &'a RealPath,
        range: junto_env::ByteRange,
    ) -> junto_env::Fut<'a, junto_env::Result<junto_env::Reader>> {
        self.0.open(path, range)
    }
    fn write<'a>(
        &'a self,
        path: &'a RealPath,
        data: &'a [u8],
        expect: junto_env::Expect,
    ) -> junto_env::Fut<'a, junto_env::Result<junto_env::Stamp>> {
        self.0.write(path, data, expect)
    }
    fn list<'a>(
        &'a self,
        path: &'a RealPath,
        depth: u32,
    ) -> junto_env::Fut<'a, junto_env::Result<Vec<junto_env::DirEntry>>> {
        self.0.list(path, depth)
    }
    fn remove<'a>(&'a self, path: &'a RealPath) -> junto_env::Fut<'a, junto_env::Result<()>> {
        self.0.remove(path)
    }
    fn rename<'a>(
        &'a self,
        from: &'a RealPath,
        to: &'a RealPath,
    ) -> junto_env::Fut<'a, junto_env::Result<()>> {
        self.0.rename(from, to)
    }
    fn spawn(
        &self,
        command: junto_env::CommandSpec,
    ) -> junto_env::Fut<'_, junto_env::Result<junto_env::Process>> {
        self.0.spawn(command)
    }
}
