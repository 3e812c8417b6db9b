use std::fs;
use std::io::{BufRead, BufReader};

use crate::t1_interrupt::{interrupt, start};
use crate::{Machine, Run};

/// A machine whose temporary folder is its own, and whose proxy is not there: nothing may go through it.
fn machine() -> Machine {
    let machine =
        Machine::new().with("HTTP_PROXY", "http://127.0.0.1:9").with("http_proxy", "http://127.0.0.1:9");
    let temporary = machine.path("tmp");
    fs::create_dir(&temporary).unwrap();
    machine.with("TMPDIR", &crate::text(&temporary))
}

fn leaves_nothing(machine: &Machine) {
    let left: Vec<_> = fs::read_dir(machine.path("tmp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The cells of a profile's row in the table, up to its tokens.
fn row(run: &Run, profile: &str) -> Vec<String> {
    let line = run.out.lines().find(|line| line.starts_with(profile)).unwrap_or_else(|| panic!("{run:#?}"));
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
}

#[test]
fn the_demo_lets_three_profiles_mend_a_program_and_says_that_the_model_is_a_script() {
    let machine = machine();
    let run = machine.run(&["demo"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    for part in [
        "The model is scripted",
        "nothing leaves this machine",
        "openai     shell sh test.sh: failed, FAIL: the sum of 2 3 should be 5, but is 3\n",
        "openai     apply_patch sum.sh: ok",
        "anthropic  edit_file sum.sh: ok",
        "gemini     read_many_files *.sh: ok",
        "gemini     edit_file sum.sh: ok",
        "gemini     shell sh test.sh: ok, all tests pass\n",
        "without the agents: they pass",
    ] {
        assert!(run.err.contains(part), "no {part:?} in {run:#?}");
    }
    let heads = run.out.lines().next().unwrap();
    for head in ["PROFILE", "TOOLS USED", "ROUNDS", "TOKENS", "TESTS GREEN", "TIME"] {
        assert!(heads.contains(head), "{heads}");
    }
    for (profile, tools) in [
        ("openai", "shell read_file apply_patch"),
        ("anthropic", "shell grep read_file edit_file"),
        ("gemini", "list_dir shell read_many_files edit_file"),
    ] {
        let row = row(&run, profile);
        assert_eq!((row[1].as_str(), row[2].as_str(), row[4].as_str()), (tools, "4", "yes"), "{row:?}");
        let tokens: Vec<u64> = row[3].split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert!(tokens.len() == 2 && tokens.iter().all(|&count| count > 0), "{row:?}");
    }
    leaves_nothing(&machine);
}

#[test]
fn the_demo_shows_one_profile_if_it_is_named() {
    for profile in ["openai", "anthropic", "gemini"] {
        let machine = machine();
        let run = machine.run(&["demo", "--profile", profile]);
        assert_eq!(run.code, Some(0), "{run:#?}");
        assert_eq!(run.out.lines().count(), 2, "{run:#?}");
        assert_eq!(row(&run, profile)[4], "yes");
        leaves_nothing(&machine);
    }
    Machine::new().run(&["demo", "--profile", "other"]).fails(2, &["openai, anthropic, gemini"]);
}

#[test]
fn a_demo_whose_tests_do_not_pass_fails() {
    // No programs at all, so the tests cannot run.
    let run = Machine::new().with("PATH", "/nonexistent").run(&["demo"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(run.err.contains("The tests still fail"), "{run:#?}");
    assert!(run.err.contains("error: the tests do not pass"), "{run:#?}");
    for profile in ["openai", "anthropic", "gemini"] {
        assert_eq!(row(&run, profile)[4], "no", "{run:#?}");
    }
}

#[test]
fn an_interrupted_demo_leaves_nothing_behind() {
    let machine = machine();
    // The tests never end by themselves.
    machine.program("bin/sh", "#!/bin/sh\nexec sleep 1000\n");
    let path = format!("{}:/usr/bin:/bin", crate::text(&machine.path("bin")));
    let machine = machine.with("PATH", &path);
    let mut child = start(&machine, &["demo", "--profile", "openai"]);
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("Task:") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended early");
    }
    interrupt(&child);
    let rest: Vec<String> = said.lines().map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    assert_eq!(rest.last().map(String::as_str), Some("error: interrupted"), "{rest:?}");
    leaves_nothing(&machine);
}
