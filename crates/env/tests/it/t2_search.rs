//! Grep and glob beside the real `rg`, on random trees.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use junto_env::{
    Case, ExecutionEnvironment, Filter, Found, Grep, Limits, LocalEnvironment, Order, Search, Show, Target,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::search_trees::{Plain, filter, grep, told, tree};

const ALL: Limits = Limits { results: 1_000_000, line_bytes: 1 << 20, total_bytes: 1 << 30 };

/// What `rg` prints in a directory. It finds nothing of the user's: no settings, no list of ignored
/// files.
#[expect(clippy::disallowed_methods, reason = "the peer is named by a variable, and is a process")]
fn rg(root: &Path, arguments: &[String]) -> Vec<u8> {
    let rg = std::env::var_os("JUNTO_PEER_RG")
        .expect("JUNTO_PEER_RG is not set: run the tests with `cargo xtask test`");
    let output = Command::new(rg)
        .args(["--no-config", "--no-ignore-messages", "--no-mmap"])
        .args(arguments)
        .arg("./")
        .current_dir(root)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let content = matches!(output.status.code(), Some(0 | 1));
    assert!(content, "rg {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn below(path: &str) -> String {
    path.strip_prefix("./").unwrap().to_owned()
}

fn filter_arguments(filter: &Filter) -> Vec<String> {
    let mut arguments = Vec::new();
    arguments.extend(filter.globs.iter().map(|glob| format!("--glob={glob}")));
    arguments.extend(filter.types.iter().map(|name| format!("--type={name}")));
    let switches = [
        (filter.globs_ignore_case, "--glob-case-insensitive"),
        (filter.hidden, "--hidden"),
        (filter.ignored, "--no-ignore"),
    ];
    arguments.extend(switches.iter().filter(|(on, _)| *on).map(|(_, switch)| (*switch).to_owned()));
    arguments
}

fn grep_arguments(grep: &Grep) -> Vec<String> {
    let mut arguments = vec![format!("--regexp={}", grep.pattern)];
    let case = match grep.case {
        Case::Sensitive => "--case-sensitive",
        Case::Insensitive => "--ignore-case",
        Case::Smart => "--smart-case",
    };
    arguments.push(case.to_owned());
    let switches = [(grep.literal, "--fixed-strings"), (grep.multiline, "--multiline")];
    arguments.extend(switches.iter().filter(|(on, _)| *on).map(|(_, switch)| (*switch).to_owned()));
    arguments.extend(match grep.show {
        Show::Lines { before, after } => {
            vec!["--json".to_owned(), format!("-B{before}"), format!("-A{after}")]
        }
        Show::Files => vec!["--null".to_owned(), "--files-with-matches".to_owned()],
        Show::Counts => vec!["--null".to_owned(), "--with-filename".to_owned(), "--count".to_owned()],
    });
    arguments
}

/// What `rg` finds, as `told` tells it, by path.
fn expected(root: &Path, grep: &Grep, filter: &Filter) -> Vec<String> {
    let printed = rg(root, &[filter_arguments(filter), grep_arguments(grep)].concat());
    let text = String::from_utf8(printed).unwrap();
    let mut files: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    match grep.show {
        Show::Lines { .. } => text.lines().for_each(|message| take_message(message, &mut files)),
        Show::Files => {
            for path in text.split_terminator('\0').map(below) {
                files.insert(PathBuf::from(&path), vec![path]);
            }
        }
        Show::Counts => {
            for (path, count) in text.lines().map(|line| line.split_once('\0').unwrap()) {
                files.insert(PathBuf::from(below(path)), vec![format!("{}:{count}", below(path))]);
            }
        }
    }
    files.into_values().flatten().collect()
}

/// One line of what `rg --json` prints.
fn take_message(message: &str, files: &mut BTreeMap<PathBuf, Vec<String>>) {
    let message: Value = serde_json::from_str(message).unwrap();
    let data = &message["data"];
    let mark = match message["type"].as_str().unwrap() {
        "match" => ':',
        "context" => '-',
        "end" => {
            if !data["binary_offset"].is_null() {
                let path = below(data["path"]["text"].as_str().unwrap());
                let binary = format!("{path} is binary");
                files.entry(PathBuf::from(path)).or_default().push(binary);
            }
            return;
        }
        _ => return,
    };
    let path = below(data["path"]["text"].as_str().unwrap());
    let bytes = match data["lines"]["text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => STANDARD.decode(data["lines"]["bytes"].as_str().unwrap()).unwrap(),
    };
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let first = data["line_number"].as_u64().unwrap();
    for (number, line) in (first..).zip(bytes.split(|byte| *byte == b'\n')) {
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
        files.entry(PathBuf::from(&path)).or_default().push(format!("{path}{mark}{number}:{line}"));
    }
}

/// Runs a search here and as it is provided for any environment.
fn both(root: &Path, target: Target, filter: &Filter) -> [junto_env::Hits; 2] {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let env = LocalEnvironment::new(root).unwrap();
        let root = env.resolve(".").await.unwrap();
        let query = Search { root, target, filter: filter.clone(), limits: ALL };
        let cancel = CancellationToken::new();
        let provided = Plain(&env).search(query.clone(), &cancel).await.unwrap();
        [env.search(query, &cancel).await.unwrap(), provided]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn grep_agrees_with_rg(tree in tree(), queries in vec((grep(), filter()), 6)) {
        let root = tempfile::tempdir().unwrap();
        tree.make(root.path());
        let real = junto_env::RealPath::resolved(root.path().canonicalize().unwrap());
        for (grep, filter) in queries {
            let expected = expected(root.path(), &grep, &filter);
            for (who, hits) in ["here", "provided"].into_iter().zip(both(root.path(), Target::Text(grep.clone()), &filter)) {
                prop_assert_eq!(told(&hits, &real), &expected[..], "{} {:?} {:?}", who, grep, filter);
                prop_assert!(!hits.truncated);
                prop_assert_eq!(hits.unreadable, 0);
            }
        }
    }

    #[test]
    fn glob_agrees_with_rg(tree in tree(), filters in vec(filter(), 6)) {
        let root = tempfile::tempdir().unwrap();
        tree.make(root.path());
        let real = junto_env::RealPath::resolved(root.path().canonicalize().unwrap());
        for filter in filters {
            let arguments = ["--files".to_owned(), "--null".to_owned()];
            let printed = rg(root.path(), &[&arguments[..], &filter_arguments(&filter)].concat());
            let printed = String::from_utf8(printed).unwrap();
            let mut files: Vec<PathBuf> = printed.split_terminator('\0').map(|path| below(path).into()).collect();
            for order in [Order::Path, Order::Newest] {
                sort(&mut files, root.path(), order);
                let expected: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
                for (who, hits) in ["here", "provided"].into_iter().zip(both(root.path(), Target::Files(order), &filter)) {
                    prop_assert_eq!(told(&hits, &real), &expected[..], "{} {:?}", who, filter);
                    prop_assert!(!hits.truncated);
                    let Found::Files(found) = hits.found else { panic!("no files") };
                    prop_assert!(found.iter().all(|file| file.modified.is_some() == (order == Order::Newest)));
                }
            }
        }
    }
}

fn sort(files: &mut [PathBuf], root: &Path, order: Order) {
    let modified = |path: &PathBuf| root.join(path).metadata().unwrap().modified().unwrap();
    files.sort();
    if order == Order::Newest {
        // Stable: what has the same time stays in the order of paths.
        files.sort_by_key(|path| std::cmp::Reverse::<SystemTime>(modified(path)));
    }
}
