//! `cargo xtask mutants`: breaks the code in small ways and runs its tests on each.
//!
//! A mutant that no test notices is a line whose loss nobody would see, or one that makes no difference.
//! Which of the two is for people to judge, so the survivors are listed in `docs/mutants.md`. Each mutant
//! is a build and a run of the tests, so this takes hours and is not part of every change. The tree is
//! copied first: nothing is changed in place.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::command::{cargo, root};
use crate::setup;

/// What is mutated together.
struct Group {
    name: &'static str,
    package: &'static str,
    /// Below the workspace; `*` stands for anything.
    files: &'static [&'static str],
    /// The tests that judge, where the package has many that are about other things.
    tests: Option<&'static str>,
}

/// The code whose mistakes would be silent: text in a wrong place, output that is lost, a loop that does
/// not end, a permit nobody gave.
const GROUPS: &[Group] = &[
    Group { name: "patch", package: "junto-patch", files: &["crates/patch/src/**/*.rs"], tests: None },
    Group {
        name: "truncation",
        package: "junto-agent",
        files: &["crates/agent/src/truncate.rs", "crates/agent/src/output.rs"],
        tests: Some("test(/truncat|output|t0_tools|t1_shown|dod_.*(cut|limit|whole|head|tail)/)"),
    },
    Group {
        name: "loop",
        package: "junto-agent",
        files: &["crates/agent/src/turn.rs", "crates/agent/src/loops.rs", "crates/agent/src/round.rs"],
        tests: Some(
            "test(/loop|round|turn|t0_life|t0_states|t1_session|t1_steer|t1_stop|t1_failure|t1_dod/)",
        ),
    },
    Group { name: "gate", package: "junto-core", files: &["crates/core/src/gate.rs"], tests: None },
    Group { name: "policy", package: "junto-policy", files: &["crates/policy/src/**/*.rs"], tests: None },
];

/// The tests that judge a mutant: those that need no peers and are not about faults of the machine.
const TESTS: &str = "not test(/^t[23]_/)";
/// A mutant that hangs is noticed, too; far longer than the tests of a package take.
const SECONDS: &str = "600";

/// The file that says which part of the mutants were tried.
const PART: &str = "part";

/// What became of the mutants of a group, as cargo-mutants lists them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// Which of them: all, or every Nth.
    part: String,
    caught: usize,
    timed_out: usize,
    unviable: usize,
    /// Where it is and what was changed.
    missed: Vec<String>,
}

/// Runs the groups of these names, or all, or a part of their mutants, and writes the page.
pub(crate) fn run_all(names: &[String], part: Option<&str>) -> Outcome {
    if let Some(unknown) = names.iter().find(|name| !GROUPS.iter().any(|group| group.name == *name)) {
        let known: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
        return Err(format!("there is no group `{unknown}`\nhint: one of {}", known.join(", ")));
    }
    let path = setup::cargo_mutants()?;
    for group in GROUPS.iter().filter(|group| names.is_empty() || names.iter().any(|name| name == group.name))
    {
        run(group, part, &path)?;
    }
    let page = render(&GROUPS.iter().map(|group| (group.name, found(&output(group)))).collect::<Vec<_>>());
    print!("{page}");
    let path = root().join("docs/mutants.md");
    fs::write(&path, page).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

fn output(group: &Group) -> PathBuf {
    root().join("target/mutants").join(group.name)
}

fn run(group: &Group, part: Option<&str>, path: &std::ffi::OsStr) -> Outcome {
    let output = output(group);
    fs::create_dir_all(&output).map_err(|e| format!("cannot make {}: {e}", output.display()))?;
    let mut mutants = cargo();
    mutants.args(["mutants", "--package", group.package, "--test-tool", "nextest", "--no-shuffle"]);
    mutants.args(["--colors", "never", "--timeout", SECONDS]);
    for file in group.files {
        mutants.args(["--file", file]);
    }
    if let Some(part) = part {
        // Not a stretch of the code, but samples of all of it.
        mutants.args(["--shard", part, "--sharding", "round-robin"]);
    }
    let tests = group.tests.map_or_else(|| TESTS.to_owned(), |tests| format!("({TESTS}) & {tests}"));
    mutants.arg("--output").arg(&output).args(["--", "--fail-fast", "-E", &tests]);
    // Kept between runs, so that only our own crates are built again.
    mutants.env("PATH", path).env("CARGO_TARGET_DIR", root().join("target/mutants/build"));
    eprintln!("mutants: {}", group.name);
    let status = mutants.status().map_err(|e| format!("could not start cargo mutants: {e}"))?;
    // 2 and 3: some were missed, some timed out.
    match status.code() {
        Some(0 | 2 | 3) => note(part, &output),
        _ => Err(format!("cargo mutants did not finish `{}`: {status}", group.name)),
    }
}

/// Notes beside the lists what part of the mutants they are about.
fn note(part: Option<&str>, output: &Path) -> Outcome {
    let path = output.join(PART);
    fs::write(&path, part.unwrap_or("all")).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

/// Reads the lists of a run; none if there was no run.
fn found(output: &Path) -> Option<Found> {
    let lists = output.join("mutants.out");
    let lines = |name: &str| -> Option<Vec<String>> {
        let text = fs::read_to_string(lists.join(name)).ok()?;
        Some(text.lines().map(str::to_owned).collect())
    };
    Some(Found {
        part: fs::read_to_string(output.join(PART)).ok()?,
        caught: lines("caught.txt")?.len(),
        timed_out: lines("timeout.txt")?.len(),
        unviable: lines("unviable.txt")?.len(),
        missed: lines("missed.txt")?,
    })
}

/// The page.
fn render(groups: &[(&str, Option<Found>)]) -> String {
    let mut text = String::from(
        "# Mutants\n\n\
         `cargo xtask mutants` breaks the code in small ways (a comparison turned round, a function that returns\n\
         nothing) and runs the package's tests of the tiers T0 and T1 on each. What no test noticed is listed\n\
         here. A mutant that does not compile is no mutant; one that makes the tests hang was noticed. A part `K/N` is\n\
         every Nth mutant from the Kth on.\n\n\
         | group | part | noticed | hung | not noticed | did not compile |\n|---|---|---|---|---|---|\n",
    );
    for (name, found) in groups {
        let _ = match found {
            Some(Found { part, caught, timed_out, unviable, missed }) => {
                writeln!(text, "| {name} | {part} | {caught} | {timed_out} | {} | {unviable} |", missed.len())
            }
            None => writeln!(text, "| {name} | not run | | | | |"),
        };
    }
    for (name, Found { missed, .. }) in
        groups.iter().filter_map(|(name, found)| Some((name, found.as_ref()?)))
    {
        let _ = write!(text, "\n## Not noticed: {name}\n\n");
        if missed.is_empty() {
            text.push_str("Nothing.\n");
        }
        for mutant in missed {
            let _ = writeln!(text, "- `{mutant}`");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_counts_and_lists() {
        let missed = vec!["crates/a/src/b.rs:7:5: replace f with ()".to_owned()];
        let some = Found { part: "0/8".to_owned(), caught: 9, timed_out: 1, unviable: 2, missed };
        let none = Found { part: "all".to_owned(), caught: 3, ..Found::default() };
        let page = render(&[("a", Some(some)), ("b", None), ("c", Some(none))]);
        for expected in [
            "| a | 0/8 | 9 | 1 | 1 | 2 |\n",
            "| b | not run | | | | |\n",
            "## Not noticed: a\n\n- `crates/a/src/b.rs:7:5: replace f with ()`\n",
            "## Not noticed: c\n\nNothing.\n",
        ] {
            assert!(page.contains(expected), "{expected} in {page}");
        }
        assert!(!page.contains("Not noticed: b"));
    }

    #[test]
    fn each_group_is_about_files_that_are_there() {
        for file in GROUPS.iter().flat_map(|group| group.files) {
            let dir = file.split_once('*').map_or(*file, |(before, _)| before);
            assert!(root().join(dir).exists(), "{file}");
        }
    }
}
