//! The files that bash really gives to a command are seen: for words made at random, bash tells what it makes of them, and
//! none of it may be read unasked under a judge who denies to read it.

use std::process::{Command, Stdio};

use junto_policy::{Answer, Mode};
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{WORKDIR, judge, rules};

/// What the words are made of: everything that joins, makes or quotes words.
const BITS: [&str; 60] = [
    "{", "}", ",", "..", "{}", "{,}", "{a,b}", "{b,c}", "{,a}", "{a,", "{1..3}", "{a=,b}", "b}", ",b}", "$x",
    "$x", "${x}", "$xb", "$", "$$", "~", "~", "~/", "~+", "/", "a", "b", "b", "1", "\"", "'", "\"\"", "''",
    "[", "]", "[a", "a]", "[{a,b}]", "!", "^", "*", "=", "x=", "of=", ":", "-", "%", "+", "#", "\\\n",
    "\\\n", "\\{", "\\}", "\\,", "\"{\"", "\"}\"", "\"a\"", "$'a'", "${x:-a}", "\"$x\"",
];
/// What stands before them.
const BEFORE: [&str; 14] = [
    "",
    "x=a; ",
    "x=a xa=/etc/q xb=/etc/r x1=/etc/s; ",
    "x=~/q; ",
    "x=; ",
    "x='a b'; ",
    "x='{a,b}'; ",
    "x=a:~; ",
    "x={a,b}; ",
    "export x={a,b}; ",
    "declare x=~/{a,b}; ",
    "x=q; export y=$x{a,b} xa=/etc/q; x=$y; ",
    "x=..; ",
    "for x in a ~/b; do :; done; ",
];

/// What bash makes of a word.
fn words(before: &str, word: &str) -> Vec<String> {
    // Patterns stay what they are where nothing is.
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new("/bin/bash")
        .args(["--noprofile", "--norc", "-c"])
        .arg(format!("{before}pp() {{ printf '%s\\0' \"$@\"; }}; pp -- {word}"))
        .current_dir(dir.path())
        .env_clear()
        .env("HOME", "/home/ada")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = words.split_terminator('\0').skip(1).map(str::to_owned).collect();
    if output.status.success() { words } else { Vec::new() }
}

/// The path that a word names, if a rule can name it and it says something.
fn path(word: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._~:=,{}^!%+#-".contains(c);
    if word.is_empty() || word == "-" || !word.chars().all(plain) {
        return None;
    }
    let mut names: Vec<&str> = WORKDIR.split('/').collect();
    for name in word.split('/') {
        match name {
            ".." => drop(names.pop()),
            "" | "." => {}
            name => names.push(name),
        }
    }
    let absolute = word.starts_with('/');
    Some(if absolute { word.to_owned() } else { names.join("/") }).filter(|path| path.len() > 1)
}

/// Checks a word; says how many files it names.
fn check(before: &str, word: &str) -> Result<usize, TestCaseError> {
    let made = words(before, word);
    let paths: Vec<String> = made.iter().filter_map(|word| path(word)).collect();
    let line = format!("{before}cat -- {word}");
    for path in &paths {
        let explained = judge(Mode::Full, &rules(&[&format!("deny read {path}")])).explain_line(&line);
        prop_assert_ne!(explained.answer(), Answer::Allow, "bash reads {} in\n{}\n{}", path, line, explained);
    }
    Ok(paths.len())
}

#[test]
fn what_bash_makes_of_a_word_is_told() {
    assert_eq!(
        words("x=1; ", "${x}{a,b}~ ~/c {,}~"),
        ["1a~", "1b~", "/home/ada/c", "/home/ada", "/home/ada"]
    );
    assert_eq!(path("../b").as_deref(), Some("/w/b"));
}

#[test]
fn files_in_odd_words_are_seen() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let word = prop::collection::vec(select(&BITS[..]), 2..7);
    let files = std::cell::Cell::new(0);
    runner
        .run(&(select(&BEFORE[..]), word), |(before, word)| {
            let found = check(before, &word.concat())?;
            files.set(files.get() + found);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(files.get() > 50, "only {} files", files.get());
}

/// What random words rarely hit upon.
#[test]
fn what_makes_words_hides_no_file() {
    for (before, word) in [
        ("x=a; xb=/etc/q xc=; ", "$x{b,c}"),
        ("x1=/etc/q x2=; ", "$x{1..2}"),
        ("x=/etc/q; ", "\"$\\\nx\""),
        ("x=a; xy=/etc/q; ", "\"$x\\\ny\""),
        ("x=a; xy=/etc/q; ", "$x\\\ny"),
        ("", "{,}~/work"),
        ("", "{,a}~/work"),
        ("", "{,}{b,}~/work"),
        ("", "{~/a,b}"),
        ("", "~{a,/b}"),
        ("", "~\\\n"),
        ("", "P{},Q}"),
        ("", ".{},env}"),
        ("", "{}\"x\",b}"),
        ("", ".[{!,^}a]nv"),
        ("", ".[{a-,x}z]nv"),
        ("y=a; ", "of=~:\"$y\""),
        ("y=a; ", "of=~:$y"),
        ("", "x=~/../../tmp/{a,b}"),
        ("", "x==~/../../tmp/a"),
        ("x=a=~/../../../tmp/a; ", "\"$x\""),
        ("export x={a,/etc/q}; ", "$x"),
        ("declare x=~/{a,b}; ", "$x"),
    ] {
        let files = check(before, word).unwrap_or_else(|error| panic!("{error}"));
        assert!(files > 0 || word.contains('['), "{before}{word}");
    }
}
