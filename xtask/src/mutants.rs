//! `cargo xtask mutants`: breaks the code in small ways and runs its tests on each.
//!
//! A mutant that no test notices is a line whose loss nobody would see, or one that makes no difference.
//! Which of the two is for people to judge, so the survivors are listed in `docs/mutants.md`. What the mutants are is
//! said by cargo-mutants; but where it makes a build for each, all those of a group are built at once here, each
//! behind a switch, and only those that cannot be switched are built one by one. So it takes minutes, not hours.

mod judge;
mod list;
mod page;
mod switches;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use crate::Outcome;
use crate::command::root;
use crate::setup;

use judge::{Run, Tests, Verdict};
use list::Mutant;
use switches::{Culprit, Switched};
use tree::{Build, Tree};

/// What is mutated together.
struct Group {
    name: &'static str,
    package: &'static str,
    /// Below the workspace; `*` stands for anything.
    files: &'static [&'static str],
    /// Those of them that are tables: a test of each entry would be the table again.
    data: &'static [&'static str],
    /// What the names of the tests contain that judge, where the package has many that are about other things.
    tests: &'static [&'static str],
    /// Those of them that take long, and are run only if no other notices anything.
    slow: &'static [&'static str],
    /// Whether these compute so much that it pays to build the package for speed.
    busy: bool,
}

/// The code whose mistakes would be silent: text in a wrong place, output that is lost, a loop that does
/// not end, a permit nobody gave.
const GROUPS: &[Group] = &[
    Group {
        name: "patch",
        package: "junto-patch",
        files: &["crates/patch/src/**/*.rs"],
        data: &[],
        tests: &[],
        slow: &[],
        busy: true,
    },
    Group {
        name: "truncation",
        package: "junto-agent",
        files: &["crates/agent/src/truncate.rs", "crates/agent/src/output.rs"],
        data: &[],
        tests: &["truncat", "output", "t0_tools::", "t1_shown::"],
        slow: &[],
        busy: false,
    },
    Group {
        name: "loop",
        package: "junto-agent",
        files: &["crates/agent/src/turn.rs", "crates/agent/src/loops.rs", "crates/agent/src/round.rs"],
        data: &[],
        tests: &[
            "loop",
            "round",
            "turn",
            "t0_life::",
            "t0_states::",
            "t1_session::",
            "t1_steer::",
            "t1_stop::",
            "t1_failure::",
            "t1_dod::",
        ],
        slow: &[],
        busy: false,
    },
    Group {
        name: "steady",
        package: "junto-agent",
        files: &["crates/agent/src/loops/steady.rs"],
        data: &[],
        tests: &["loops::"],
        slow: &[],
        busy: false,
    },
    Group {
        name: "gate",
        package: "junto-core",
        files: &["crates/core/src/gate.rs"],
        data: &[],
        tests: &["gate"],
        slow: &[],
        busy: false,
    },
    Group {
        name: "policy",
        package: "junto-policy",
        files: &["crates/policy/src/**/*.rs"],
        data: &["crates/policy/src/commands/table.rs"],
        tests: &[],
        slow: &["depth_length_and_number", "t0_fuzz::", "t1_bash::"],
        busy: true,
    },
];

/// Tests that need peers, or are about faults of the machine, do not judge.
const NEVER: &[&str] = &["t2_", "t3_"];

/// What became of the mutants of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    /// Which of them: all, or every Nth.
    part: String,
    noticed: usize,
    hung: usize,
    unviable: usize,
    /// Where it is and what was changed.
    missed: Vec<String>,
}

/// Runs the groups of these names, or all, or a part of their mutants, or those again that were not noticed, and writes
/// the page. Of the other groups it says what it said.
pub(crate) fn run_all(names: &[String], part: Option<&str>, again: bool) -> Outcome {
    if let Some(unknown) = names.iter().find(|name| !GROUPS.iter().any(|group| group.name == *name)) {
        let known: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
        return Err(format!("there is no group `{unknown}`\nhint: one of {}", known.join(", ")));
    }
    let path = setup::cargo_mutants()?;
    let mut groups: Vec<(&str, Option<Found>)> =
        GROUPS.iter().map(|group| (group.name, page::found(group.name))).collect();
    let asked = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
    for (at, group) in GROUPS.iter().enumerate().filter(|(_, group)| asked(group.name)) {
        let mutants = list::mutants(group, &path)?;
        let Some((_, found)) = groups.get_mut(at) else { continue };
        *found = Some(match (found.take(), part) {
            (Some(found), _) if again => tried_again(group, mutants, found)?,
            (found, Some(part)) => {
                let new = Found { part: part.to_owned(), ..tried(group, &list::part(mutants, part)?)? };
                added(found, new)
            }
            _ => Found { part: "all".to_owned(), ..tried(group, &mutants)? },
        });
        page::write(&groups)?;
    }
    Ok(())
}

/// Adds a part to those that were tried before, unless it is one of them: then it begins anew.
fn added(before: Option<Found>, new: Found) -> Found {
    let Some((_, of)) = new.part.split_once('/') else { return new };
    let parts = |found: &Found| found.part.split(", ").map(str::to_owned).collect::<BTreeSet<_>>();
    let same =
        |found: &Found| parts(found).iter().all(|part| part.split_once('/').is_some_and(|(_, n)| n == of));
    match before {
        Some(found) if same(&found) && !parts(&found).contains(&new.part) => {
            let all: BTreeSet<String> = parts(&found).into_iter().chain([new.part.clone()]).collect();
            let whole = of.parse() == Ok(all.len());
            Found {
                part: if whole { "all".to_owned() } else { Vec::from_iter(all).join(", ") },
                noticed: found.noticed + new.noticed,
                hung: found.hung + new.hung,
                unviable: found.unviable + new.unviable,
                missed: [found.missed, new.missed].concat(),
            }
        }
        _ => new,
    }
}

/// Tries those again that were not noticed. The code must be the same: only tests have come.
fn tried_again(group: &Group, mut mutants: Vec<Mutant>, found: Found) -> Outcome<Found> {
    mutants.retain(|mutant| found.missed.contains(&mutant.name));
    if mutants.len() < found.missed.len() {
        return Err(format!("the code of `{}` has changed since\nhint: run it without --again", group.name));
    }
    let again = tried(group, &mutants)?;
    Ok(Found {
        noticed: found.noticed + again.noticed,
        hung: found.hung + again.hung,
        missed: again.missed,
        ..found
    })
}

/// Tries these mutants.
fn tried(group: &Group, mutants: &[Mutant]) -> Outcome<Found> {
    let tree = Tree::copy()?;
    let mut trial = Trial { group, tree: &tree, mutants, usual: Vec::new(), found: Found::default() };
    eprintln!("mutants: {}: {} of them", group.name, mutants.len());
    let mut alone = BTreeSet::new();
    if !mutants.is_empty() {
        alone = trial.together()?;
    }
    for file in trial.files() {
        tree.restore(&file)?;
    }
    for number in alone {
        trial.alone(number)?;
    }
    // In the order of the text, whichever way they were tried.
    let place = |name: &String| mutants.iter().position(|mutant| mutant.name == *name);
    trial.found.missed.sort_by_key(place);
    Ok(trial.found)
}

/// A group while it is tried. The number of a mutant is its place in the list, counted from 1.
struct Trial<'a> {
    group: &'a Group,
    tree: &'a Tree,
    mutants: &'a [Mutant],
    /// How long each run of tests takes.
    usual: Vec<Option<u32>>,
    found: Found,
}

impl Trial<'_> {
    fn mutant(&self, number: usize) -> Outcome<&Mutant> {
        number.checked_sub(1).and_then(|at| self.mutants.get(at)).ok_or_else(|| format!("no mutant {number}"))
    }

    /// Where switches are asked for.
    fn library(&self) -> String {
        format!("crates/{}/src/lib.rs", self.group.package.trim_start_matches("junto-"))
    }

    /// The files that are changed.
    fn files(&self) -> BTreeSet<String> {
        self.mutants.iter().map(|mutant| mutant.file.clone()).chain([self.library()]).collect()
    }

    /// The tests that judge: of each program the quick ones first.
    fn tests(&self, programs: &[PathBuf]) -> Tests {
        let Group { tests, slow, .. } = self.group;
        let run = |program: &PathBuf, only: &[&'static str], never: &[&[&'static str]]| Run {
            program: program.clone(),
            only: only.to_vec(),
            never: never.concat(),
            usual: None,
        };
        let mut runs: Vec<Run> = programs.iter().map(|program| run(program, tests, &[NEVER, slow])).collect();
        if !slow.is_empty() {
            runs.extend(programs.iter().map(|program| run(program, slow, &[NEVER])));
        }
        runs.iter_mut().zip(&self.usual).for_each(|(run, usual)| run.usual = *usual);
        Tests { runs, dir: self.tree.package(self.group.package) }
    }

    /// Tries all that can be switched; returns the others.
    fn together(&mut self) -> Outcome<BTreeSet<usize>> {
        let mut switched: BTreeSet<usize> = (1..=self.mutants.len()).collect();
        let mut alone = BTreeSet::new();
        let programs = loop {
            let texts = self.switch(&mut switched, &mut alone)?;
            match self.tree.build(self.group)? {
                Build::Made(programs) => break programs,
                Build::Failed(errors) => {
                    let before = switched.len();
                    let culprits = errors.iter().flat_map(|error| &error.at);
                    for culprit in culprits.filter_map(|(file, at)| texts.get(file)?.culprit(at)) {
                        self.leave_out(culprit, &mut switched, &mut alone);
                    }
                    if switched.len() == before {
                        let errors: String = errors.into_iter().map(|error| error.text).collect();
                        return Err(format!(
                            "`{}` cannot be built with switches:\n{errors}",
                            self.group.name
                        ));
                    }
                }
            }
        };
        eprintln!("mutants: {} switched, {} to be built alone", switched.len(), alone.len());
        let mut tests = self.tests(&programs);
        self.usual = tests.measure()?;
        for number in switched {
            let verdict = tests.judge(number)?;
            self.note(number, verdict)?;
        }
        Ok(alone)
    }

    /// Takes out who keeps the others from being built.
    fn leave_out(&mut self, culprit: Culprit, switched: &mut BTreeSet<usize>, alone: &mut BTreeSet<usize>) {
        match culprit {
            Culprit::Mutant(number) => self.found.unviable += usize::from(switched.remove(&number)),
            Culprit::Switch(numbers) => {
                alone.extend(numbers.into_iter().filter(|number| switched.remove(number)));
            }
        }
    }

    /// Writes the files with the switches that are left; those that have none are moved to the others.
    fn switch(
        &mut self,
        switched: &mut BTreeSet<usize>,
        alone: &mut BTreeSet<usize>,
    ) -> Outcome<BTreeMap<String, Switched>> {
        let mut texts = BTreeMap::new();
        for file in self.files() {
            let text = read(&file)?;
            let here = (1..)
                .zip(self.mutants)
                .filter(|(number, mutant)| mutant.file == file && switched.contains(number));
            let (mut result, left) = switches::switched(&text, here)?;
            for number in left.impossible {
                switched.remove(&number);
                self.found.unviable += 1;
            }
            for number in left.fixed {
                switched.remove(&number);
                alone.insert(number);
            }
            if file == self.library() {
                result.text.push_str(switches::SWITCH);
            }
            self.tree.write(&file, &result.text)?;
            texts.insert(file, result);
        }
        Ok(texts)
    }

    /// Tries a mutant in a build of its own.
    fn alone(&mut self, number: usize) -> Outcome {
        let mutant = self.mutant(number)?.clone();
        let mut text = read(&mutant.file)?;
        text.replace_range(
            mutant.span.start.offset(&text)..mutant.span.end.offset(&text),
            &mutant.replacement,
        );
        self.tree.write(&mutant.file, &text)?;
        match self.tree.build(self.group)? {
            Build::Failed(_) => self.found.unviable += 1,
            Build::Made(programs) => {
                let verdict = self.tests(&programs).judge(0)?;
                self.note(number, verdict)?;
            }
        }
        self.tree.restore(&mutant.file)
    }

    fn note(&mut self, number: usize, verdict: Verdict) -> Outcome {
        let name = self.mutant(number)?.name.clone();
        eprintln!("mutants: {number}/{}: {verdict:?}: {name}", self.mutants.len());
        match verdict {
            Verdict::Noticed => self.found.noticed += 1,
            Verdict::Hung => self.found.hung += 1,
            Verdict::Missed => self.found.missed.push(name),
        }
        Ok(())
    }
}

fn read(file: &str) -> Outcome<String> {
    fs::read_to_string(root().join(file)).map_err(|e| format!("cannot read {file}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        let some = |part: &str, missed: &str| Found {
            part: part.to_owned(),
            noticed: 2,
            missed: vec![missed.to_owned()],
            ..Found::default()
        };
        let one = added(None, some("0/3", "a"));
        assert_eq!(one, some("0/3", "a"));
        let two = added(Some(one.clone()), some("2/3", "b"));
        assert_eq!((two.part.as_str(), two.noticed, two.missed.len()), ("0/3, 2/3", 4, 2));
        assert_eq!(added(Some(two.clone()), some("1/3", "c")).part, "all");
        for anew in ["2/3", "1/4"] {
            assert_eq!(added(Some(two.clone()), some(anew, "c")), some(anew, "c"));
        }
        assert_eq!(added(Some(some("all", "a")), some("1/3", "c")), some("1/3", "c"));
    }

    #[test]
    fn each_group_is_about_files_that_are_there() {
        for file in GROUPS.iter().flat_map(|group| group.files.iter().chain(group.data)) {
            let dir = file.split_once('*').map_or(*file, |(before, _)| before);
            assert!(root().join(dir).exists(), "{file}");
        }
    }
}
