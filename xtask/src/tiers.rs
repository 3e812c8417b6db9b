//! The tiers, and the lists of the tests that belong to each.
//!
//! The lists are checked in. A test that no longer runs, because a name, a filter or a feature
//! changed, is then a difference that somebody has to sign, and not a silence.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::fs;
use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::Value;

use crate::Outcome;
use crate::command::{capture, root};
use crate::setup::{self, Tools};

/// A tier of tests; they run in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Tier {
    /// Pure: unit tests, documentation examples, functions from values to values.
    #[value(name = "T0")]
    T0,
    /// Twins and the binary.
    #[value(name = "T1")]
    T1,
    /// Real peers.
    #[value(name = "T2")]
    T2,
    /// Short fault tests with fixed seeds.
    #[value(name = "T3")]
    T3,
}

impl Tier {
    /// All, in order.
    pub(crate) const ALL: [Self; 4] = [Self::T0, Self::T1, Self::T2, Self::T3];

    /// The tier's tests in nextest's language; [`Tier::of`] says the same.
    pub(crate) fn filterset(self) -> &'static str {
        match self {
            Self::T0 => "kind(lib) | kind(bin) | (kind(test) & test(/^t0_/))",
            Self::T1 => "kind(test) & test(/^t1_/)",
            Self::T2 => "kind(test) & test(/^t2_/)",
            Self::T3 => "kind(test) & test(/^t3_/)",
        }
    }

    /// Where a test belongs: unit tests to T0, the others by the first letters of their file.
    fn of(kind: &str, name: &str) -> Option<Self> {
        match (kind, name.get(..3)) {
            ("lib" | "bin", _) | ("test", Some("t0_")) => Some(Self::T0),
            ("test", Some("t1_")) => Some(Self::T1),
            ("test", Some("t2_")) => Some(Self::T2),
            ("test", Some("t3_")) => Some(Self::T3),
            _ => None,
        }
    }

    fn path(self) -> PathBuf {
        root().join(format!("xtask/tiers/{}.txt", self.to_string().to_lowercase()))
    }

    /// The tests that must run.
    pub(crate) fn checked_in(self) -> Outcome<BTreeSet<TestId>> {
        let path = self.path();
        let text =
            fs::read_to_string(&path).map_err(|e| format!("cannot read the list {}: {e}", path.display()))?;
        Ok(text.lines().filter(|line| !line.is_empty()).map(|line| TestId(line.to_owned())).collect())
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::T0 => "T0",
            Self::T1 => "T1",
            Self::T2 => "T2",
            Self::T3 => "T3",
        })
    }
}

/// A test by its binary and its name, or a documentation example by its item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TestId(String);

impl TestId {
    /// The id of a test in a binary.
    pub(crate) fn new(binary: &str, name: &str) -> Self {
        Self(format!("{binary} {name}"))
    }

    /// The ids of documentation examples, from the names the test harness gives them. Line numbers
    /// are left out, as they change with every edit above; an item's examples are numbered instead.
    pub(crate) fn docs<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Self> {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let number = |name: &'a str| {
            let item = name.split_once(" (line ").map_or(name, |(item, _)| item);
            let count = seen.entry(item).or_default();
            *count += 1;
            Self(if *count == 1 { format!("doc {item}") } else { format!("doc {item} #{count}") })
        };
        names.into_iter().map(number).collect()
    }
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a list lacks and what it has too much; nothing if the two are equal.
pub(crate) fn difference(tier: Tier, listed: &BTreeSet<TestId>, ran: &BTreeSet<TestId>) -> Option<String> {
    let mut text = String::new();
    for (ids, what) in [
        (listed.difference(ran), "is in the list but did not run"),
        (ran.difference(listed), "ran but is not in the list"),
    ] {
        for id in ids {
            let _ = write!(text, "\n  {id} {what}");
        }
    }
    (!text.is_empty()).then(|| {
        format!("the tests of {tier} are not those of its list:{text}\nhint: cargo xtask tiers --bless")
    })
}

/// The tests that are in the code, by tier.
pub(crate) struct Inventory {
    tests: Vec<(Tier, TestId)>,
}

impl Inventory {
    /// Asks the test binaries; builds them if need be.
    ///
    /// # Errors
    /// Also when a test has no tier, or is switched off.
    pub(crate) fn take(tools: &Tools) -> Outcome<Self> {
        let Self { mut tests } = Self::of_binaries(tools)?;
        let docs = capture(tools.cargo().args(["test", "--quiet", "--workspace", "--doc", "--", "--list"]))?;
        let docs = docs.lines().filter_map(|line| line.strip_suffix(": test"));
        tests.extend(TestId::docs(docs).into_iter().map(|id| (Tier::T0, id)));
        Ok(Self { tests })
    }

    /// The tests without the documentation examples, which take long to list.
    ///
    /// # Errors
    /// As [`Inventory::take`].
    pub(crate) fn of_binaries(tools: &Tools) -> Outcome<Self> {
        let listing =
            capture(tools.cargo().args(["nextest", "list", "--workspace", "--message-format", "json"]))?;
        let listing: Value =
            serde_json::from_str(&listing).map_err(|e| format!("nextest's list is not JSON: {e}"))?;
        Ok(Self { tests: parse_listing(&listing)? })
    }

    /// All tests.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &TestId> {
        self.tests.iter().map(|(_, id)| id)
    }

    /// The tests of one tier.
    pub(crate) fn of(&self, tier: Tier) -> BTreeSet<TestId> {
        self.tests.iter().filter(|(t, _)| *t == tier).map(|(_, id)| id.clone()).collect()
    }
}

fn parse_listing(listing: &Value) -> Outcome<Vec<(Tier, TestId)>> {
    let mut tests = Vec::new();
    let suites = listing["rust-suites"].as_object().ok_or("nextest's list has no suites")?;
    for (binary, suite) in suites {
        let kind = suite["kind"].as_str().unwrap_or_default();
        for (name, case) in suite["testcases"].as_object().into_iter().flatten() {
            let id = TestId::new(binary, name);
            if case["ignored"] == Value::Bool(true) {
                return Err(format!("{id} is switched off with #[ignore]: a test runs or is not there"));
            }
            let tier = Tier::of(kind, name).ok_or_else(|| {
                format!("{id} has no tier\nhint: put it in a file t0_*.rs, t1_*.rs, t2_*.rs or t3_*.rs")
            })?;
            tests.push((tier, id));
        }
    }
    Ok(tests)
}

/// Compares the lists with the code.
pub(crate) fn check_lists() -> Outcome {
    let inventory = Inventory::take(&setup::ensure()?)?;
    let differences: Vec<String> = Tier::ALL
        .iter()
        .map(|&tier| Ok(difference(tier, &tier.checked_in()?, &inventory.of(tier))))
        .filter_map(Outcome::transpose)
        .collect::<Outcome<_>>()?;
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
}

/// Writes the lists from the code.
pub(crate) fn bless() -> Outcome {
    let inventory = Inventory::take(&setup::ensure()?)?;
    for tier in Tier::ALL {
        let ids = inventory.of(tier);
        let mut text = String::new();
        for id in &ids {
            let _ = writeln!(text, "{id}");
        }
        let path = tier.path();
        fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        eprintln!("{tier}: {} tests", ids.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn doc_ids_have_no_line_numbers() {
        let names = ["a/b.rs - b::C (line 24)", "a/b.rs - b (line 3) - compile", "a/b.rs - b::C (line 30)"];
        let ids: Vec<String> = TestId::docs(names).iter().map(TestId::to_string).collect();
        assert_eq!(ids, ["doc a/b.rs - b::C", "doc a/b.rs - b", "doc a/b.rs - b::C #2"]);
    }

    #[test]
    fn every_test_has_a_tier_or_is_an_error() {
        let list = |kind: &str, name: &str, ignored: bool| {
            let suite = json!({ "kind": kind, "testcases": { name: { "ignored": ignored } } });
            parse_listing(&json!({ "rust-suites": { "x::it": suite } }))
        };
        let tier = |kind, name| list(kind, name, false).map(|tests| tests[0].0);
        assert_eq!(tier("lib", "sse::tests::a"), Ok(Tier::T0));
        assert_eq!(tier("test", "t0_a::b"), Ok(Tier::T0));
        assert_eq!(tier("test", "t3_a::b"), Ok(Tier::T3));
        assert!(tier("test", "other::b").unwrap_err().contains("x::it other::b has no tier"));
        assert!(list("lib", "a", true).unwrap_err().contains("switched off"));
    }

    #[test]
    fn differences_name_the_tests() {
        let set = |ids: &[&str]| ids.iter().map(|id| TestId::new("x", id)).collect::<BTreeSet<_>>();
        assert_eq!(difference(Tier::T1, &set(&["a"]), &set(&["a"])), None);
        let text = difference(Tier::T1, &set(&["a", "b"]), &set(&["b", "c"])).unwrap();
        assert!(text.contains("x a is in the list but did not run"), "{text}");
        assert!(text.contains("x c ran but is not in the list"), "{text}");
    }
}
