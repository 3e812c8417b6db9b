//! The table of lines.

use std::fmt::Write as _;

use junto_policy::{Answer, Mode};

use crate::support::{confined, judge, shell};

const LINES: &str = include_str!("lines.txt");

/// The lines of the table with their verdicts.
fn lines() -> impl Iterator<Item = (&'static str, String)> {
    LINES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
        let (verdicts, line) = line.split_once(' ').unwrap();
        (verdicts, unescaped(line))
    })
}

/// The line with what stands for characters that cannot be seen.
fn unescaped(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("‹U+") {
        let (code, after) = after.split_once('›').unwrap();
        text.push_str(before);
        text.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        rest = after;
    }
    text.push_str(rest);
    text.replace('⏎', "\n")
}

#[test]
fn every_line_of_the_table_gets_its_verdict() {
    let judges = [
        judge(Mode::ReadOnly, ""),
        judge(Mode::Ask, ""),
        judge(Mode::Workspace, ""),
        confined(Mode::Workspace, ""),
        confined(Mode::ReadOnly, ""),
    ];
    let (mut wrong, mut count) = (String::new(), 0);
    for (expected, line) in lines() {
        count += 1;
        let letter = |answer: Answer| match answer {
            Answer::Allow => 'a',
            Answer::Ask => 'q',
            Answer::Deny => 'd',
        };
        let explained: Vec<_> = judges.iter().map(|judge| judge.explain(&[shell(&line)])).collect();
        let found: String = explained.iter().map(|explained| letter(explained.answer())).collect();
        if found != expected {
            let _ = writeln!(wrong, "{found} instead of {expected}: {line}\n{}", explained[2]);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= 500, "only {count} lines");
}

#[test]
fn nothing_is_asked_about_in_full() {
    let judge = judge(Mode::Full, "");
    for (_, line) in lines() {
        assert_eq!(judge.explain(&[shell(&line)]).answer(), Answer::Allow, "{line}");
    }
}

#[test]
fn what_is_denied_is_not_allowed_wherever_it_stands() {
    // Every line of the table in which this stands as a command runs it, or is not understood.
    let rules = crate::support::rules(&["deny command rm *", "deny command reboot *", "deny command sudo *"]);
    let judges = [judge(Mode::Full, &rules), confined(Mode::Workspace, &rules)];
    let inert = |line: &str| {
        // Where it is text: in quotes that stay, in a comment, in a pattern, as an argument.
        let (verdicts, _) = lines().find(|(_, text)| text == line).unwrap();
        // The texts that these are given are for git, and for shells on a terminal.
        verdicts == "aaaaa" || line.starts_with("git ") || line.starts_with("alias ")
    };
    let mut count = 0;
    for (_, line) in lines().filter(|(_, line)| line.contains("rm -rf z") && !inert(line)) {
        count += 1;
        for judge in &judges {
            let explained = judge.explain(&[shell(&line)]);
            assert_ne!(explained.answer(), Answer::Allow, "{line}\n{explained}");
        }
    }
    assert!(count > 60, "only {count} lines");
}

#[test]
fn a_line_is_judged_the_same_on_every_call() {
    let judge = judge(Mode::Workspace, "");
    for (_, line) in lines() {
        assert_eq!(judge.explain(&[shell(&line)]), judge.explain_line(&line), "{line}");
    }
}

#[test]
fn a_line_that_grows_when_it_is_read_is_asked_about() {
    let judge = judge(Mode::Ask, "");
    let braces = |words: usize| "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b} ".repeat(words);
    let evals = |count: usize| format!("eval 'ls {}';", braces(30)).repeat(count);
    // Each variable has the one before it a thousand times.
    let doubled =
        |times: usize| format!("a=xy; b={0}; c={1}; cat \"$c\"", "$a".repeat(times), "$b".repeat(times));
    for (line, expected) in [
        (format!("ls {}", braces(60)), Answer::Allow),
        (format!("ls {}", braces(70)), Answer::Ask),
        (format!("ls {}", "a ".repeat(3000)), Answer::Allow),
        (format!("ls {}", "a ".repeat(5000)), Answer::Ask),
        (evals(2), Answer::Allow),
        (evals(3), Answer::Ask),
        (format!("cat {}x", "a/".repeat(2000)), Answer::Allow),
        (format!("cat {}x", "a/".repeat(3000)), Answer::Ask),
        (format!("cat {}x", "*/".repeat(3000)), Answer::Ask),
        (doubled(10), Answer::Allow),
        (doubled(1000), Answer::Ask),
    ] {
        let explained = judge.explain(&[shell(&line)]);
        assert_eq!(explained.answer(), expected, "{}…\n{explained}", line.get(..60).unwrap());
    }
}
