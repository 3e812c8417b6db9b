//! `cargo xtask support`: which command-line agents are driven by the tests, in which versions, and through
//! what.
//!
//! Nobody writes the page: the versions are those that the tests install, and a cell is a test that exists.
//! `cargo xtask test` runs them, and checks that the page is current.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::Outcome;
use crate::clis::PACKAGES;
use crate::command::root;
use crate::setup;
use crate::tiers::Inventory;

/// The tests that all of them go through; `WHO::WHAT` follows.
const TABLE: &str = "junto-runner::it t2_clis::";
/// The tests in a repository that is no friend; `WHO` follows.
const HOSTILE: &str = "junto-runner::it t2_hostile::";

/// Who has a column: the name in the tests, and the package, if it has one.
const COLUMNS: [(&str, Option<&str>); 4] = [
    ("native", None),
    ("claude", Some("@anthropic-ai/claude-code")),
    ("codex", Some("@openai/codex")),
    ("gemini", Some("@google/gemini-cli")),
];

/// Writes the page, or only checks that it is as it would be written.
pub(crate) fn run(check: bool) -> Outcome {
    let inventory = Inventory::of_binaries(&setup::ensure()?)?;
    if check {
        return complaint(&inventory).map_or(Ok(()), Err);
    }
    fs::write(path(), page(&inventory)).map_err(|e| format!("cannot write {}: {e}", path().display()))
}

/// What is wrong with the page, if anything.
pub(crate) fn complaint(inventory: &Inventory) -> Option<String> {
    let current = fs::read_to_string(path()).is_ok_and(|written| written == page(inventory));
    (!current).then(|| "docs/support.md is not current\nhint: cargo xtask support".to_owned())
}

fn path() -> PathBuf {
    root().join("docs/support.md")
}

fn page(inventory: &Inventory) -> String {
    let ids: Vec<String> = inventory.ids().map(ToString::to_string).collect();
    render(&cells(ids.iter().map(String::as_str)), &versions(PACKAGES))
}

/// Which scenario is played by whom.
fn cells<'a>(ids: impl Iterator<Item = &'a str>) -> BTreeMap<String, BTreeSet<&'a str>> {
    let mut cells: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for id in ids {
        let played = id.strip_prefix(TABLE).and_then(|rest| rest.split_once("::"));
        let hostile = id.strip_prefix(HOSTILE).map(|who| (who, "a hostile repository"));
        let Some((who, what)) = played.or(hostile) else { continue };
        if COLUMNS.iter().any(|(name, _)| *name == who) {
            cells.entry(what.replace('_', " ")).or_default().insert(who);
        }
    }
    cells
}

/// The pinned version of each package.
fn versions(packages: &str) -> BTreeMap<String, String> {
    let packages: Value = serde_json::from_str(packages).unwrap_or_default();
    let pinned = packages["dependencies"].as_object().into_iter().flatten();
    pinned.map(|(name, version)| (name.clone(), version.as_str().unwrap_or_default().to_owned())).collect()
}

fn render(cells: &BTreeMap<String, BTreeSet<&str>>, versions: &BTreeMap<String, String>) -> String {
    let mut text = String::from(
        "# Command-line agents: what is tested\n\n\
         Each cell is a test that drives the real program, installed from npm in this version, against a strict twin\n\
         of its model on loopback; `native` is our own loop in the same scenario. A row is a scenario of\n\
         `crates/runner/tests/it/real/table.rs`, which says what must come of it, also where the programs differ.\n\
         `cargo nextest run -E 'test(/t2_clis::claude/)'` runs a column.\n\n\
         Written by `cargo xtask support`; `cargo xtask test` checks that it is current.\n\n| scenario |",
    );
    for (name, package) in COLUMNS {
        let version = package.and_then(|package| versions.get(package));
        let _ = match version {
            Some(version) => write!(text, " {name} {version} |"),
            None => write!(text, " {name} |"),
        };
    }
    text.push('\n');
    text.push_str(&"|---".repeat(1 + COLUMNS.len()));
    text.push_str("|\n");
    for (what, who) in cells {
        let _ = write!(text, "| {what} |");
        for (name, _) in COLUMNS {
            text.push_str(if who.contains(name) { " yes |" } else { " – |" });
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_a_test() {
        let ids = [
            "junto-runner::it t2_clis::claude::plain_answer",
            "junto-runner::it t2_clis::native::plain_answer",
            "junto-runner::it t2_hostile::codex",
            "junto-runner::it t2_hostile::the_traps_are_real",
            "junto-llm::it t2_llama::a_limit_is_told",
        ];
        let page =
            render(&cells(ids.into_iter()), &versions(r#"{"dependencies":{"@openai/codex":"0.1.2"}}"#));
        assert!(page.contains("| scenario | native | claude | codex 0.1.2 | gemini |\n"), "{page}");
        assert!(page.contains("| plain answer | yes | yes | – | – |\n"), "{page}");
        assert!(page.contains("| a hostile repository | – | – | yes | – |\n"), "{page}");
        assert_eq!(page.matches("\n|").count(), 4, "{page}");
    }

    #[test]
    fn every_program_is_a_pinned_package() {
        let versions = versions(PACKAGES);
        for package in COLUMNS.iter().filter_map(|(_, package)| *package) {
            assert!(versions.contains_key(package), "{package}");
        }
    }
}
