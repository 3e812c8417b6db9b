//! `cargo xtask conformance`: which test proves which line of the Definition of Done.
//!
//! `xtask/conformance.txt` says it; this checks that the list is complete and that its tests exist, and
//! makes `docs/conformance.md` of it. `cargo xtask test` runs the same check.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use crate::Outcome;
use crate::command::root;
use crate::setup;
use crate::tiers::Inventory;

/// The list.
const LIST: &str = include_str!("../conformance.txt");
/// The sections of the Definition of Done, and how many lines each has: a line that is lost is noticed.
const SECTIONS: [(&str, usize); 13] = [
    ("9.1", 8),
    ("9.2", 6),
    ("9.3", 5),
    ("9.4", 6),
    ("9.5", 6),
    ("9.6", 4),
    ("9.7", 3),
    ("9.8", 6),
    ("9.9", 6),
    ("9.10", 4),
    ("9.11", 5),
    ("9.12", 15),
    ("9.13", 7),
];
/// The profiles for which `::*` at the end of a test's name stands.
const PROFILES: [&str; 3] = ["openai", "anthropic", "gemini"];
/// Tests with this in their name are in the list, or are an error.
const MARK: &str = "dod_";

/// A section of the Definition of Done.
#[derive(Debug, PartialEq, Eq)]
struct Section {
    /// `9.1`
    number: String,
    title: String,
    lines: Vec<Line>,
}

/// A line of it, and the tests that prove it.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    text: String,
    tests: Vec<Proof>,
}

/// A test, or one for each profile.
#[derive(Debug, PartialEq, Eq)]
struct Proof(String);

impl Proof {
    /// The ids of its tests, as nextest gives them.
    fn ids(&self) -> Vec<String> {
        match self.0.strip_suffix("::*") {
            Some(start) => PROFILES.iter().map(|profile| format!("{start}::{profile}")).collect(),
            None => vec![self.0.clone()],
        }
    }
}

/// Writes the page, or only checks that it is as it would be written.
pub(crate) fn run(check: bool) -> Outcome {
    let inventory = Inventory::of_binaries(&setup::ensure()?)?;
    if check {
        return complaint(&inventory).map_or(Ok(()), Err);
    }
    let text = page(&inventory)?;
    fs::write(path(), text).map_err(|e| format!("cannot write {}: {e}", path().display()))
}

/// What is wrong with the list or the page, if anything.
pub(crate) fn complaint(inventory: &Inventory) -> Option<String> {
    let text = match page(inventory) {
        Ok(text) => text,
        Err(message) => return Some(message),
    };
    let current = fs::read_to_string(path()).is_ok_and(|written| written == text);
    (!current).then(|| "docs/conformance.md is not current\nhint: cargo xtask conformance".to_owned())
}

fn path() -> PathBuf {
    root().join("docs/conformance.md")
}

fn page(inventory: &Inventory) -> Outcome<String> {
    let sections = parse(LIST)?;
    let tests: BTreeSet<String> = inventory.ids().map(ToString::to_string).collect();
    let faults = faults(&sections, &SECTIONS, &tests);
    if !faults.is_empty() {
        return Err(format!("xtask/conformance.txt is not complete:\n  {}", faults.join("\n  ")));
    }
    Ok(render(&sections))
}

/// Reads the list: `# 9.1 title` begins a section, `- text` a line of it, and what is indented below is
/// a test, by its binary and its name.
fn parse(list: &str) -> Outcome<Vec<Section>> {
    let mut sections: Vec<Section> = Vec::new();
    for (number, line) in list.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |what: &str| format!("xtask/conformance.txt, line {}: {what}: {line}", number + 1);
        if let Some(heading) = line.strip_prefix("# ") {
            let (number, title) = heading.split_once(' ').ok_or_else(|| wrong("a section has a title"))?;
            sections.push(Section { number: number.into(), title: title.into(), lines: vec![] });
        } else if let Some(text) = line.strip_prefix("- ") {
            let section = sections.last_mut().ok_or_else(|| wrong("no section yet"))?;
            section.lines.push(Line { text: text.into(), tests: vec![] });
        } else if let Some(test) = line.strip_prefix("  ") {
            let line = sections.last_mut().and_then(|section| section.lines.last_mut());
            line.ok_or_else(|| wrong("no line yet"))?.tests.push(Proof(test.trim().into()));
        } else {
            return Err(wrong("neither a section nor a line nor a test"));
        }
    }
    Ok(sections)
}

/// What is missing, and what is too much.
fn faults(sections: &[Section], required: &[(&str, usize)], tests: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut listed = BTreeSet::new();
    for (number, count) in required {
        let found = sections.iter().filter(|s| s.number == *number).flat_map(|s| &s.lines).count();
        if found != *count {
            faults.push(format!("section {number} has {count} lines, and {found} are listed"));
        }
    }
    for section in sections {
        if !required.iter().any(|(number, _)| *number == section.number) {
            faults.push(format!("there is no section {}", section.number));
        }
        for (at, line) in section.lines.iter().enumerate() {
            let name = format!("{}.{}", section.number, at + 1);
            if line.tests.is_empty() {
                faults.push(format!("{name} has no test: {}", line.text));
            }
            for id in line.tests.iter().flat_map(Proof::ids) {
                if !tests.contains(&id) {
                    faults.push(format!("{name} names a test that does not exist: {id}"));
                }
                listed.insert(id);
            }
        }
    }
    let unlisted = tests.iter().filter(|id| id.contains(MARK) && !listed.contains(*id));
    faults.extend(unlisted.map(|id| format!("no line names the test {id}")));
    faults
}

/// The page.
fn render(sections: &[Section]) -> String {
    let mut text = String::from(
        "# Conformance\n\n\
         The specification of the loop ends in a Definition of Done. This page says for each of its lines which\n\
         test proves it: with `cargo nextest run -E 'test(=NAME)'` it runs alone. Where a model takes part, it is a\n\
         strict twin of the provider's, on the provider's own wire; only for 9.3.2 it is one in memory, because a\n\
         twin's model does not call what it was not told of. A name that ends in `::*` stands for three tests, one\n\
         each for the profiles OpenAI (on Responses), Anthropic (on Messages) and Gemini (on generateContent).\n\n\
         Written by `cargo xtask conformance` from `xtask/conformance.txt`. It fails if a line has no test, if a\n\
         test does not exist, or if a test that is named like one of these stands in no line; `cargo xtask test`\n\
         checks the same.\n",
    );
    for Section { number, title, lines } in sections {
        let _ = write!(text, "\n## {number} {title}\n\n| | line | tests |\n|---|---|---|\n");
        for (at, Line { text: line, tests }) in lines.iter().enumerate() {
            let tests: Vec<String> = tests.iter().map(|Proof(test)| format!("`{test}`")).collect();
            let _ = writeln!(text, "| {number}.{} | {line} | {} |", at + 1, tests.join("<br>"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str =
        "# 1.1 Flying\n\n- It takes off\n  x::it t1::dod_off\n- It lands\n  x::it t1::dod_down::*\n";

    fn set(ids: &[&str]) -> BTreeSet<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn the_list_has_every_section_and_line() {
        let sections = parse(LIST).unwrap();
        let counts: Vec<_> = sections.iter().map(|s| (s.number.as_str(), s.lines.len())).collect();
        assert_eq!(counts, SECTIONS);
        let cells = sections.iter().filter(|s| s.number == "9.12").flat_map(|s| &s.lines);
        assert_eq!(cells.flat_map(|line| &line.tests).flat_map(Proof::ids).count(), 15 * 3);
    }

    #[test]
    fn what_is_missing_is_named() {
        let all = ["x::it t1::dod_off", "x::it t1::dod_down::openai", "x::it t1::dod_down::anthropic"];
        let gemini = "x::it t1::dod_down::gemini";
        let check = |list: &str, required: &[(&str, usize)], more: &[&str], expected: &[&str]| {
            let tests = set(&[&all[..], more].concat());
            assert_eq!(faults(&parse(list).unwrap(), required, &tests), expected);
        };
        check(SMALL, &[("1.1", 2)], &[gemini], &[]);
        let lost = format!("1.1.2 names a test that does not exist: {gemini}");
        check(SMALL, &[("1.1", 2)], &[], &[&lost]);
        check(SMALL, &[("1.1", 3)], &[gemini], &["section 1.1 has 3 lines, and 2 are listed"]);
        check(
            SMALL,
            &[("1.1", 2)],
            &[gemini, "x::it t1::dod_new"],
            &["no line names the test x::it t1::dod_new"],
        );
        let bare = format!("{SMALL}- It parks\n");
        check(&bare, &[("1.1", 3)], &[gemini], &["1.1.3 has no test: It parks"]);
        let more = format!("{SMALL}# 1.2 Swimming\n");
        check(&more, &[("1.1", 2)], &[gemini], &["there is no section 1.2"]);
    }

    #[test]
    fn a_list_that_makes_no_sense_is_refused() {
        for (list, what) in [("- a\n", "no section yet"), ("# 1 a\n  x\n", "no line yet"), ("x\n", "neither")]
        {
            assert!(parse(list).unwrap_err().contains(what), "{list}");
        }
    }

    #[test]
    fn the_page_names_each_line_and_its_tests() {
        let page = render(&parse(SMALL).unwrap());
        assert!(page.contains("\n## 1.1 Flying\n"), "{page}");
        assert!(page.contains("| 1.1.2 | It lands | `x::it t1::dod_down::*` |\n"), "{page}");
    }
}
