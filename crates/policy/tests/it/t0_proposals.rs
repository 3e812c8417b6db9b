//! What is proposed where somebody is asked, and how it is explained.

use junto_core::{Rule, Verdict};
use junto_policy::{Answer, Judge, Mode, Origin, Rules};

use crate::support::{confined, judge, place, rules};

fn proposed(judge: &Judge, line: &str) -> Vec<String> {
    match judge.explain_line(line).verdict {
        Verdict::Ask { proposed, .. } => proposed.into_iter().map(|rule| rule.0).collect(),
        verdict => panic!("{line}: {verdict:?}"),
    }
}

#[test]
fn rules_are_proposed_that_spare_the_question() {
    let judge = judge(Mode::Workspace, "");
    for (line, expected) in [
        ("cargo test --all", &["allow command \"cargo test *\""][..]),
        ("just build", &["allow command \"just *\""]),
        ("npm run build && cargo test", &["allow command \"npm run *\"", "allow command \"cargo test *\""]),
        ("git commit -m x", &["allow command \"git commit *\""]),
        // With other words they run something, or write elsewhere.
        ("git push", &["allow command \"git push\""]),
        ("git fetch origin", &["allow command \"git fetch origin\""]),
        ("git clone https://example.org/x", &["allow command \"git clone https://example.org/x\""]),
        ("git log --show-signature", &["allow command \"git log --show-signature\""]),
        ("rg --zzz 'a b'", &["allow command \"rg --zzz 'a b'\""]),
        ("sort --zzz f", &["allow command \"sort --zzz f\""]),
        ("rg --zzz $x", &[]),
        ("touch ~/notes.md", &["allow write \"/home/ada/notes.md\""]),
        ("cargo test > ~/log", &["allow command \"cargo test *\"", "allow write \"/home/ada/log\""]),
        ("cat .env", &["allow read \"/w/project/.env\""]),
        ("curl -s https://example.org", &["allow net \"example.org\""]),
        ("./run.sh", &["allow command \"./run.sh *\""]),
        ("'./run*.sh'", &["allow command \"'./run*.sh' *\""]),
        ("\"./it's\"", &["allow command \"\\\"./it's\\\" *\""]),
        ("timeout 5 just build", &["allow command \"just *\""]),
        // Too much would be allowed with these.
        ("rm -rf ~/x", &["allow write \"/home/ada/x\""]),
        ("sudo just build", &[]),
        ("python3 -c 'x'", &[]),
        ("bash script", &[]),
        ("just build; sudo ls", &[]),
        ("ls (", &[]),
        ("$x", &[]),
        ("touch $x", &[]),
        ("rm ~/note*", &[]),
        ("PATH=x ls", &[]),
        ("uv run x", &[]),
        ("git rebase -x y", &[]),
        ("bwrap x", &[]),
        ("x86_64 x", &[]),
        ("choom -n 0 -- x", &[]),
        ("ssh-agent x", &[]),
        ("run-parts x", &[]),
        ("nix-shell --run x", &[]),
        ("java -jar x", &[]),
        ("/lib64/ld-linux-x86-64.so.2 /bin/ls", &[]),
        ("make x", &["allow command \"make x *\""]),
    ] {
        assert_eq!(proposed(&judge, line), expected, "{line}");
    }
}

#[test]
fn what_is_proposed_is_enough() {
    for line in [
        "cargo test --all",
        "just build",
        "npm run build && cargo test",
        "git commit -m x",
        "git push",
        "git fetch origin 'a b'",
        "rg --zzz \"it's\"",
        "touch ~/notes.md",
        "cargo test > ~/log",
        "cat .env",
        "curl -s https://example.org",
        "./run.sh",
        "rm -rf ~/x",
        "a 'b c' | d",
    ] {
        for judge in [judge(Mode::Workspace, ""), judge(Mode::Ask, ""), confined(Mode::Workspace, "")] {
            let Verdict::Ask { proposed, reason } = judge.explain_line(line).verdict else { continue };
            assert!(!reason.is_empty(), "{line}");
            for rule in &proposed {
                judge.learn(rule).unwrap();
            }
            assert_eq!(judge.explain_line(line).answer(), Answer::Allow, "{line} {proposed:?}");
        }
    }
}

#[test]
fn no_rule_is_proposed_against_a_rule() {
    let judge = judge(Mode::Workspace, &rules(&["ask command make *"]));
    assert_eq!(proposed(&judge, "make"), [""; 0]);
    judge.learn(&Rule("allow command \"make *\"".to_owned())).unwrap();
    assert_eq!(judge.explain_line("make").answer(), Answer::Ask);
}

#[test]
fn an_explanation_says_which_rule_decides_and_why() {
    let toml = "[[policy.rule]]\ncommand = \"rm *\"\ndecision = \"deny\"\nreason = \"use the trash\"\n";
    let rules = Rules::parse(toml, Origin::Project, Some("/w/project/.junto/config.toml".as_ref())).unwrap();
    let judge = Judge::new(Mode::Workspace, place(junto_policy::Confined::default()), vec![rules]);
    let explained = judge.explain_line("ls $(rm -rf z)");
    assert_eq!(
        explained.to_string(),
        "deny\n  \
           deny  run rm -rf z\n        \
                 rule deny command \"rm *\" because \"use the trash\" (project, /w/project/.junto/config.toml:1): use the trash\n  \
           allow remove /w/project/z (run rm -rf z)\n        \
                 mode workspace: it stays in the working directory or among temporary files\n  \
           allow run ls $(rm -rf z)\n        \
                 mode workspace: it changes nothing by itself\n"
    );
    assert_eq!(
        explained.verdict,
        Verdict::Deny {
            reason: "run rm -rf z: use the trash (deny command \"rm *\" because \"use the trash\")"
                .to_owned()
        }
    );
}

#[test]
fn of_rules_that_say_the_same_the_first_is_named() {
    let judge = judge(Mode::Workspace, &rules(&["deny command make *", "deny command make build *"]));
    let shown = judge.explain_line("make build").to_string();
    assert!(shown.contains("rule deny command \"make *\""), "{shown}");
}

#[test]
fn an_explanation_says_whether_the_sandbox_holds() {
    let judge = confined(Mode::Workspace, &rules(&["allow command make *"]));
    let first = |line: &str| judge.explain_line(line).to_string().lines().next().unwrap().to_owned();
    assert_eq!(first("ls"), "allow, inside the sandbox");
    assert_eq!(first("make"), "allow, without the sandbox");
    assert_eq!(first("cat .env"), "ask");
}

#[test]
fn an_explanation_says_nothing_of_a_sandbox_where_there_is_none() {
    let allowing = rules(&["allow command make *"]);
    for judge in [
        judge(Mode::Workspace, &allowing),
        judge(Mode::Ask, &allowing),
        judge(Mode::Full, &allowing),
        confined(Mode::Full, &allowing),
        confined(Mode::Ask, &allowing),
    ] {
        for line in ["ls", "make"] {
            let shown = judge.explain_line(line).to_string();
            assert_eq!(shown.lines().next(), Some("allow"), "{line}: {shown}");
        }
    }
}

#[test]
fn what_has_no_words_is_shown_by_what_it_does() {
    let judge = judge(Mode::Workspace, "");
    let shown = |line: &str| judge.explain_line(line).to_string();
    let check = |line: &str, expected: &str| assert!(shown(line).contains(expected), "{}", shown(line));
    check("A=1 B=2 < in > ~/x", "(run A=1 B=2 < in > ~/x)");
    check("A=(1 2) > ~/x", "(run A=… > ~/x)");
    check("A='a b'$x > ~/x", "(run A='a b'$x > ~/x)");
    check("<> ~/x", "(run <> ~/x)");
    check("echo $((x))", "run $((x))");
    check("ls() { a; }", "run ls() { … }");
    check("ls (", "run ls (");
}

#[test]
fn of_many_reasons_the_first_are_given() {
    let judge = judge(Mode::Workspace, "");
    let reason = |line: &str| match judge.explain_line(line).verdict {
        Verdict::Ask { reason, .. } => reason,
        verdict => panic!("{line}: {verdict:?}"),
    };
    let of_seven = reason("a1; a2; a3; a4; a5; a6; a7");
    assert!(of_seven.contains("run a5: ") && of_seven.ends_with("; and 2 more"), "{of_seven}");
    let of_five = reason("a1; a2; a3; a4; a5");
    assert!(of_five.contains("run a5: ") && !of_five.contains(" more"), "{of_five}");
}

#[test]
fn what_cannot_be_seen_is_named() {
    let judge = judge(Mode::Workspace, "");
    for (line, name) in [
        ("ls \0", "a NUL character (U+0000)"),
        ("ls \r", "a carriage return, which hides what is before it on a terminal (U+000D)"),
        ("ls \u{1b}", "an escape character (U+001B)"),
        ("ls \u{7}", "a control character (U+0007)"),
        ("ls \u{200b}", "an invisible character (U+200B)"),
        ("ls \u{202e}", "a character that changes the direction of the text (U+202E)"),
        ("ls\u{a0}a", "a blank that is none for the shell (U+00A0)"),
    ] {
        let shown = judge.explain_line(line).to_string();
        assert!(shown.contains(name), "{line:?}: {shown}");
    }
}
