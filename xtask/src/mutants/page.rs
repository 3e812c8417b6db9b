//! The page that lists what no test notices, `docs/mutants.md`.

use std::fmt::Write as _;
use std::fs;

use super::Found;
use crate::Outcome;
use crate::command::root;

const PAGE: &str = "docs/mutants.md";
/// Which mutants make no difference, and why. People write it.
const JUDGEMENTS: &str = "xtask/mutants.txt";

const INTRODUCTION: &str = "# Mutants

`cargo xtask mutants` breaks the code in small ways (a comparison turned round, a function that returns nothing) and
runs the package's tests of the tiers T0 and T1 on each. What no test noticed is listed here. A mutant that does not
compile is no mutant; one that makes the tests hang was noticed. One that makes no difference, or none that matters, need
not be noticed; why is said beside it, in the words of `xtask/mutants.txt`. A part `K/N` is every Nth mutant from the Kth
on.

| group | part | mutants | noticed | hung | no difference | not noticed | did not compile |
|---|---|---|---|---|---|---|---|
";
const MISSED: &str = "## Not noticed: ";
const SAME: &str = "## No difference: ";

/// Reads what the page says of a group; none if it says nothing.
pub(super) fn found(group: &str) -> Option<Found> {
    parse(&fs::read_to_string(root().join(PAGE)).ok()?, group)
}

/// Writes the page.
pub(super) fn write(groups: &[(&str, Option<Found>)]) -> Outcome {
    let path = root().join(JUDGEMENTS);
    let judgements = fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let judgements = judged(&judgements)?;
    let source = |file: &str| fs::read_to_string(root().join(file)).unwrap_or_default();
    let page = render(groups, &judgements, &source);
    print!("{page}");
    let path = root().join(PAGE);
    fs::write(&path, page).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

/// Why a mutant makes no difference. Lines move, so it is known by what is changed and by the text of its line.
#[derive(Debug, PartialEq, Eq)]
struct Judgement<'a> {
    /// The file and the change.
    change: &'a str,
    line: &'a str,
    why: &'a str,
}

/// Reads the judgements: three lines each, with an empty one between them.
fn judged(text: &str) -> Outcome<Vec<Judgement<'_>>> {
    let text = text.split_once("\n\n").map_or("", |(_, judgements)| judgements);
    let blocks = text.split("\n\n").map(str::trim).filter(|block| !block.is_empty());
    blocks
        .map(|block| {
            let mut lines = block.lines();
            let change = lines.next();
            let line = lines.next().and_then(|line| line.strip_prefix("| "));
            let why = lines.next().and_then(|line| line.strip_prefix("= "));
            match (change, line, why, lines.next()) {
                (Some(change), Some(line), Some(why), None) => {
                    Ok(Judgement { change, line: line.trim(), why })
                }
                _ => Err(format!("{JUDGEMENTS} has a judgement that cannot be read:\n{block}")),
            }
        })
        .collect()
}

/// Why this mutant makes no difference, if somebody has said so.
fn why<'a>(mutant: &str, judgements: &[Judgement<'a>], source: &dyn Fn(&str) -> String) -> Option<&'a str> {
    let mut parts = mutant.splitn(4, ':');
    let (file, line, _, change) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let text = source(file);
    let text = text.lines().nth(line.parse::<usize>().ok()?.checked_sub(1)?)?;
    let is_it = |judgement: &&Judgement<'_>| {
        judgement.change.strip_prefix(file).and_then(|rest| rest.strip_prefix(':')) == Some(change)
            && judgement.line == text.trim()
    };
    judgements.iter().find(is_it).map(|judgement| judgement.why)
}

fn render(
    groups: &[(&str, Option<Found>)],
    judgements: &[Judgement<'_>],
    source: &dyn Fn(&str) -> String,
) -> String {
    let mut text = INTRODUCTION.to_owned();
    let mut lists = String::new();
    for (name, found) in groups {
        let Some(Found { part, noticed, hung, missed, unviable }) = found else {
            let _ = writeln!(text, "| {name} | not run | | | | | | |");
            continue;
        };
        let (same, open): (Vec<_>, Vec<_>) = missed
            .iter()
            .map(|mutant| (mutant, why(mutant, judgements, source)))
            .partition(|(_, why)| why.is_some());
        let all = noticed + hung + missed.len() + unviable;
        let (equal, left) = (same.len(), open.len());
        let _ = writeln!(
            text,
            "| {name} | {part} | {all} | {noticed} | {hung} | {equal} | {left} | {unviable} |"
        );
        let _ = write!(lists, "\n{MISSED}{name}\n\n");
        if open.is_empty() {
            lists.push_str("Nothing.\n");
        }
        for (mutant, _) in &open {
            let _ = writeln!(lists, "- `{mutant}`");
        }
        if !same.is_empty() {
            let _ = write!(lists, "\n{SAME}{name}\n\n");
        }
        for (mutant, why) in &same {
            let _ = writeln!(lists, "- `{mutant}`: {}", why.unwrap_or_default());
        }
    }
    text + &lists
}

/// What a page says of a group.
fn parse(page: &str, group: &str) -> Option<Found> {
    let row = page.lines().find_map(|line| line.strip_prefix(&format!("| {group} | ")))?;
    let cells: Vec<&str> = row.trim_end_matches(" |").split(" | ").collect();
    let [part, _, noticed, hung, _, _, unviable] = cells.as_slice() else { return None };
    let listed = |title: &str| {
        let heading = format!("{title}{group}");
        page.lines()
            .skip_while(move |line| *line != heading)
            .skip(1)
            .take_while(|line| !line.starts_with('#'))
            .filter_map(|line| Some(line.strip_prefix("- `")?.split_once('`')?.0.to_owned()))
            .collect::<Vec<_>>()
    };
    Some(Found {
        part: (*part).to_owned(),
        noticed: noticed.parse().ok()?,
        hung: hung.parse().ok()?,
        unviable: unviable.parse().ok()?,
        missed: listed(MISSED).into_iter().chain(listed(SAME)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Found {
        let missed =
            ["crates/a/src/b.rs:2:5: replace f with ()", "crates/a/src/b.rs:3:9: replace < with <= in f"];
        Found {
            part: "0/8".to_owned(),
            noticed: 9,
            hung: 1,
            unviable: 2,
            missed: missed.map(str::to_owned).to_vec(),
        }
    }

    const TEXT: &str =
        "What this is.\n\ncrates/a/src/b.rs: replace < with <= in f\n| if a < b {\n= They differ.\n";

    #[test]
    fn the_page_counts_and_lists_and_can_be_read_again() {
        let none = Found { part: "all".to_owned(), noticed: 3, ..Found::default() };
        let source = |_: &str| "fn f() {\n    g();\n    if a < b {\n".to_owned();
        let judgements = judged(TEXT).unwrap();
        let page =
            render(&[("a", Some(some())), ("b", None), ("c", Some(none.clone()))], &judgements, &source);
        for expected in [
            "| a | 0/8 | 14 | 9 | 1 | 1 | 1 | 2 |\n",
            "| b | not run | | | | | | |\n",
            "## Not noticed: a\n\n- `crates/a/src/b.rs:2:5: replace f with ()`\n\n",
            "## No difference: a\n\n- `crates/a/src/b.rs:3:9: replace < with <= in f`: They differ.\n",
            "## Not noticed: c\n\nNothing.\n",
        ] {
            assert!(page.contains(expected), "{expected} in {page}");
        }
        assert!(!page.contains("Not noticed: b"));
        assert_eq!(parse(&page, "a"), Some(some()));
        assert_eq!(parse(&page, "b"), None);
        assert_eq!(parse(&page, "c"), Some(none));
    }

    /// A judgement on a line that has changed since is none.
    #[test]
    fn a_judgement_is_about_the_text_of_a_line() {
        let judgements = judged(TEXT).unwrap();
        let mutant = "crates/a/src/b.rs:1:9: replace < with <= in f";
        let check = |line: &'static str, expected| {
            assert_eq!(why(mutant, &judgements, &|_: &str| line.to_owned()), expected, "{line}");
        };
        check("  if a < b {", Some("They differ."));
        check("  if a < c {", None);
        assert!(judged("What this is.\n\ncrates/a/src/b.rs: replace f with ()\n= No line.\n").is_err());
    }
}
