//! Every command that bash really runs is seen: for lines made at random, bash tells what it ran, and none of it may have
//! been allowed by a judge who denies it.
//!
//! Bash runs with a search path on which nothing is, so that no name is a program, and calls a function for every command that it does not
//! find. That function writes the name down. It is a second opinion which shares nothing with our reader.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use junto_policy::{Answer, Judge, Mode};
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{judge, rules};

/// The most commands that a line may have.
pub(crate) const MOST: usize = 60;

/// Writes down what is run, each at once and so on one line, and ends a line that runs too much. Odd commands fail, so that both branches are taken.
const PRELUDE: &str = r#"
ulimit -t 5
exec 9>&1 >/dev/null 2>&1 </dev/null
command_not_found_handle() {
    printf '%q\0' "$1" >> .log
    local all
    mapfile -d '' all < .log
    (( ${#all[@]} < 200 )) || kill -9 0
    [[ $1 == *[02468] ]]
}
export -f command_not_found_handle
export PATH=/nonexistent
"#;

/// The names of the commands that bash ran.
pub(crate) fn ran(line: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new("/bin/bash")
        .args(["--noprofile", "--norc", "-c", &format!("{PRELUDE}\neval \"$0\"\n"), line])
        .current_dir(dir.path())
        .env_clear()
        // A group of its own, which ends as a whole when a line runs too much.
        .process_group(0)
        .stdin(Stdio::null())
        // Everything that it starts holds the pipe open, so the end of it is the end of them all.
        .output()
        .unwrap();
    drop(output);
    let log = fs::read(dir.path().join(".log")).unwrap_or_default();
    String::from_utf8_lossy(&log).split_terminator('\0').map(str::to_owned).collect()
}

/// A judge who denies this command and nothing else.
pub(crate) fn denying(name: &str) -> Judge {
    judge(Mode::Full, &rules(&[&format!("deny command {name} *")]))
}

/// Checks a line; says whether it was understood, and how many commands ran.
fn check(line: &str) -> Result<(bool, usize), TestCaseError> {
    let ran = ran(line);
    // Names that need quotes in a rule are names that the damage has made.
    for name in ran.iter().filter(|name| name.bytes().all(|c| c.is_ascii_alphanumeric()) && !name.is_empty())
    {
        let explained = denying(name).explain_line(line);
        prop_assert_ne!(explained.answer(), Answer::Allow, "bash ran {} in\n{}\n{}", name, line, explained);
    }
    let understood =
        !denying("c0").explain_line(line).steps.iter().any(|step| step.why.contains("not understood"));
    Ok((understood, ran.len()))
}

/// Words; `@` stands for a command, and `%` for some statement.
const WORDS: [&str; 26] = [
    "a",
    "'b c'",
    "\"d $x\"",
    "e\\ f",
    "$x",
    "${x:-y}",
    "\"$(%)\"",
    "$(%)",
    "`@ k`",
    "`@ \\`@\\``",
    "${x:-$(%)}",
    "$((1 + $(%)))",
    "<(%)",
    "{p,q}",
    "*",
    "'$(@)'",
    "\"\\$(@)\"",
    "g#h",
    "\\#",
    "$'i\\'j'",
    "~",
    "[k]",
    "\\\n",
    "\"`@`\"",
    "\"${y:-\"$(@)\"}\"",
    "<<< $(@)",
];
/// How a command may be written.
const NAMES: [&str; 22] = [
    "@",
    "@",
    "@",
    "@",
    "\\@",
    "'@'",
    "\"@\"",
    "$'@'",
    "''@",
    "command @",
    "eval @",
    "builtin eval '@ x'",
    "eval '@; @'",
    "eval \"@ && @\"",
    "/bin/bash -c '@ y'",
    "time @",
    "! @",
    "x=1 @",
    "x=$(@) @",
    "> f @",
    "trap '@' EXIT; @",
    "a=(1 $(@)); @",
];
/// How statements are put together.
const STATEMENTS: [&str; 24] = [
    "%; %",
    "% && %",
    "% || %",
    "% | %",
    "% |& %",
    "% & %",
    "%\n%",
    "( % )",
    "{ %; }",
    "{ %\n} > f",
    "if %; then %; else %; fi",
    "if %; then %; elif %; then %; fi",
    "for x in a $(%); do %; done",
    "for ((i=0; i<2; i++)); do %; done",
    "while %; do %; break; done",
    "until %; do %; break; done",
    "case $(%) in (a) %;; *) %;; esac",
    "f() { %; }; f",
    "function g { %; }; g",
    "[[ -n $(%) || x == x ]] && %",
    "[ -n \"$(%)\" ] || %",
    "(( $(%) + 1 )); %",
    "coproc { %; }",
    "% # @",
];
/// Statements with here-documents, which need lines of their own.
const DOCUMENTS: [&str; 6] = [
    "@ <<E\n$(%) `@` \\$(@)\nE",
    "@ <<'E' && @\n$(@)\nE",
    "@ <<-E; @\n\t${x:-$(%)}\n\tE",
    "{ @ <<E\n$(%)\nE\n}",
    "@ <<A <<B\n$(@)\nA\n$(@)\nB",
    "@ <<\\E | @\n`@`\nE",
];

fn words() -> impl Strategy<Value = String> {
    prop::collection::vec(select(&WORDS[..]), 0..3)
        .prop_map(|words| words.iter().flat_map(|word| [" ", word]).collect())
}

fn simple() -> impl Strategy<Value = String> {
    (select(&NAMES[..]), words()).prop_map(|(name, words)| format!("{name}{words}"))
}

/// Puts statements into the places for them; the last ones get a plain command.
fn filled(template: &str, statements: &mut std::vec::IntoIter<String>) -> String {
    let mut text = String::new();
    for (at, part) in template.split('%').enumerate() {
        if at > 0 {
            text.push_str(&statements.next().unwrap_or_else(|| "@".to_owned()));
        }
        text.push_str(part);
    }
    text
}

fn statement() -> impl Strategy<Value = String> {
    simple().prop_recursive(3, 12, 3, |inner| {
        let inner = prop::collection::vec(inner, 1..4);
        (select([&STATEMENTS[..], &NAMES[..]].concat()), words(), inner).prop_map(
            |(template, words, inner)| {
                let template =
                    if template.contains('%') { template.to_owned() } else { format!("{template}{words}") };
                filled(&template, &mut inner.into_iter())
            },
        )
    })
}

/// A line, with a number for each command.
pub(crate) fn line() -> impl Strategy<Value = String> {
    let document = (select(&DOCUMENTS[..]), statement())
        .prop_map(|(document, inner)| filled(document, &mut vec![inner].into_iter()));
    let part = prop_oneof![4 => statement(), 1 => document];
    prop::collection::vec(part, 1..3).prop_map(|parts| {
        let text = parts.join("\n").replace('%', "@");
        let mut line = String::new();
        for (at, part) in text.split('@').enumerate() {
            if at > 0 {
                let _ = write!(line, "c{}", (at - 1).min(MOST - 1));
            }
            line.push_str(part);
        }
        line
    })
}

/// A line that goes on in the next one at some places, wherever they are.
pub(crate) fn joined() -> impl Strategy<Value = String> {
    (line(), prop::collection::vec(any::<prop::sample::Index>(), 1..4)).prop_map(|(mut line, places)| {
        for place in places {
            line.insert_str(place.index(line.len() + 1), "\\\n");
        }
        line
    })
}

/// Bits of words that are joined, expanded or quoted in odd ways.
const BITS: [&str; 40] = [
    "$", "\\\n", "(@)", "((x))", "{@,", "{", "}", ",", "..", "{}", "{,}", "{a,b}", "{Z..a}", "$x", "${x}",
    "x", "_", "@", "`@`", "`# ", "'", "\"", "\"", "[", "]", "~", "=", "x=", "!", "time", "else", "]]", "[[ ",
    " ", " ", "<<", "-E", "\nE\n", "#", "--",
];

/// Lines of such words, with a variable that runs something where it is evaluated.
pub(crate) fn odd() -> impl Strategy<Value = String> {
    let before = select(&["", "eval ", "eval -- ", "export ", "printf -v x ", "if false; then :; "][..]);
    let bits = prop::collection::vec(select(&BITS[..]), 1..9);
    (before, select(&[": ", "@ ", "\"", "[[ ", ""][..]), bits, select(&["", "\"", "; fi", " ]]", "`"][..]))
        .prop_map(|(before, begins, bits, ends)| {
            let line = format!("x='a[$(c0)]'; xx=c0 xb=c1; {before}{begins}{}{ends}", bits.concat());
            line.replace('@', "c2")
        })
}

/// A line with some characters put in, taken out or doubled.
pub(crate) fn damaged() -> impl Strategy<Value = String> {
    let bits = [
        "'", "\"", "`", "$", "(", ")", "{", "}", "[", "]", ";", "&", "|", "<", "#", "!", "~", "\\", "\n",
        " ", "", "", "\t", "$(", "<<E\n", "c0", "=",
    ];
    let damage = (any::<prop::sample::Index>(), 0..2_usize, select(bits.to_vec()));
    (line(), prop::collection::vec(damage, 1..4)).prop_map(|(mut line, damages)| {
        for (at, length, bit) in damages {
            let start = at.index(line.len() + 1);
            let end = (start + length).min(line.len());
            line.replace_range(start..end, bit);
        }
        line
    })
}

#[test]
fn what_bash_runs_is_told() {
    assert_eq!(
        ran("c0; echo $(c2) `c3`; f() { c4; }; f; /bin/bash -c c6; c5 &"),
        ["c0", "c2", "c3", "c4", "c6", "c5"]
    );
    assert_eq!(denying("c2").explain_line("echo $(c2)").answer(), Answer::Deny);
    assert_eq!(denying("c1").explain_line("echo $(c2)").answer(), Answer::Allow);
}

#[test]
fn commands_in_lines_of_the_grammar_are_seen() {
    let (mut understood, mut lines, mut commands) = (0, 0, 0);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let counted = std::cell::RefCell::new((&mut understood, &mut lines, &mut commands));
    runner
        .run(&line(), |line| {
            let (clear, ran) = check(&line)?;
            let mut counted = counted.borrow_mut();
            *counted.0 += usize::from(clear);
            *counted.1 += 1;
            *counted.2 += ran;
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    // Refusing everything would pass as well. It is more than nine in ten, but not of any few hundred.
    assert!(understood * 5 > lines * 4, "{understood} of {lines} lines are understood");
    assert!(commands > lines * 2, "{commands} commands in {lines} lines");
}

fn check_all(lines: &impl Strategy<Value = String>) {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    runner.run(lines, |line| check(&line).map(drop)).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn commands_in_damaged_lines_are_seen_too() {
    check_all(&damaged());
}

#[test]
fn commands_in_lines_that_go_on_are_seen() {
    check_all(&joined());
}

#[test]
fn commands_in_odd_words_are_seen() {
    check_all(&odd());
}

/// What random lines rarely hit upon.
#[test]
fn what_joins_lines_or_makes_words_hides_no_command() {
    let mut runs = 0;
    for line in [
        "echo \"$\\\n(c0)\"",
        "echo $\\\n(c0)",
        "echo \"a $\\\n\\\n(c0) b\"",
        "echo \"$(echo \"$\\\n(c0)\")\"",
        "echo \"${x:-$\\\n(c0)}\"",
        "echo ${x:-$\\\n(c0)}",
        "echo \"$\\\n{x:-$(c0)}\"",
        "[[ \"$\\\n(c0)\" ]]",
        "[[ a =~ $\\\n(c0) ]]",
        "x=\"$\\\n(c0)\"",
        ": <<< \"$\\\n(c0)\"",
        ": <<E\n$\\\n(c0)\nE",
        "echo \"`echo \"$\\\n(c0)\"`\"",
        "echo `# \\\n x=\"\nc0\n\"`",
        "echo `cat <<'E'\na\\\nE\nx='\nE\nc0\n'`",
        "x=a; xy=c0; \"$x\\\ny\"",
        "x=; xc0=c0; $x\\\nc0",
        "x='a[$(c0)]'; echo \"$\\\n((x))\"",
        "x='a[$(c0)]'; echo $(\\\n(x))",
        "x='a[$(c0)]'; (\\\n(x))",
        "x='a[$(c0)]'; [[\\\n x -eq 0 ]]",
        ": <<\\\n-E\nE\nc0\n-E",
        "!\\\n c0",
        "coproc\\\n c0; wait",
        "if false; then :; else\\\n c0; fi",
        "[[ a ]]\\\n && c0 ]]",
        "x=a; xb=c0 xd=; $x{b,d}",
        "x=a; x1=c0 x2=; $x{1..2}",
        "echo {Z..a}c0`echo`",
        "export x={a,c0}; $x",
        "eval -- c0",
        "command eval -- c0",
        "builtin eval -- 'c0'",
        "trap -- c0 EXIT",
        "eval -- 'a=(1)'; declare a='($(c0))'",
        "printf -v x -v 'a[$(c0)]' y",
    ] {
        runs += usize::from(ran(line).iter().any(|name| name == "c0"));
        check(line).unwrap_or_else(|error| panic!("{error}"));
    }
    assert!(runs > 30, "only {runs} lines run something");
}
