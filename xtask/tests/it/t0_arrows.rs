//! Who may use whom. A crate that reaches past its neighbours costs the design its meaning, so the
//! table of docs/architecture.md is checked against what cargo says.
#![allow(clippy::expect_used, clippy::panic, reason = "a page that cannot be read fails the test")]

use std::process::Command;

use serde_json::{Value, json};

/// Each crate and the crates of ours it may use.
struct Arrows(Vec<(String, Vec<String>)>);

impl Arrows {
    /// Reads the table on the page: each row names crates and whom they may use, in backticks. Planned
    /// crates have their rows already. Development dependencies do not count: a test may use what its
    /// crate may not.
    fn read(page: &str) -> Self {
        let (_, section) = page.split_once("### Who may use whom").expect("the section");
        let rows = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
        let mut arrows = vec![("xtask".to_owned(), Vec::new())];
        for row in rows.take_while(|line| line.starts_with('|')) {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [users, used] = cells[..] else { panic!("{row}") };
            let used = if used == "every library" { None } else { Some(names(used)) };
            assert!(used.as_ref().is_none_or(|names| !names.is_empty() || used_by_none(row)), "{row}");
            for user in names(users) {
                arrows.push((user, used.clone().unwrap_or_default()));
                if used.is_none() {
                    let all = arrows.iter().map(|(name, _)| name.clone()).collect();
                    arrows.last_mut().expect("just pushed").1 = all;
                }
            }
        }
        Self(arrows)
    }

    fn of(&self, user: &str) -> Option<&[String]> {
        self.0.iter().find(|(name, _)| name == user).map(|(_, used)| &used[..])
    }
}

fn used_by_none(row: &str) -> bool {
    row.contains("none of ours")
}

/// The crates that a cell names.
fn names(cell: &str) -> Vec<String> {
    let named = cell.split('`').skip(1).step_by(2);
    named.map(|name| if name == "junto" { name.to_owned() } else { format!("junto-{name}") }).collect()
}

fn arrows() -> Arrows {
    Arrows::read(include_str!("../../../docs/architecture.md"))
}

/// One sentence for each crate without a row and each arrow that the table lacks.
fn violations(arrows: &Arrows, metadata: &Value) -> Vec<String> {
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    let ours: Vec<&str> = packages().filter_map(|package| package["name"].as_str()).collect();
    let mut found = Vec::new();
    for package in packages() {
        let user = package["name"].as_str().unwrap_or_default();
        let Some(allowed) = arrows.of(user) else {
            found.push(format!("the crate {user} is not in the table of arrows"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            if dependency["kind"].is_null()
                && ours.contains(&used)
                && !allowed.iter().any(|name| name == used)
            {
                found.push(format!("{user} must not use {used}"));
            }
        }
    }
    found
}

#[test]
fn the_crates_use_only_whom_they_may() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(metadata["packages"].as_array().unwrap().iter().any(|p| p["name"] == "junto-llm"));
    assert_eq!(violations(&arrows(), &metadata), Vec::<String>::new());
}

#[test]
fn the_page_is_read() {
    let arrows = arrows();
    assert_eq!(arrows.of("junto-llm"), Some(&[][..]));
    assert_eq!(arrows.of("junto-core"), Some(&["junto-llm".to_owned(), "junto-env".to_owned()][..]));
    assert!(arrows.of("junto").unwrap().contains(&"junto-mcp".to_owned()));
    assert_eq!(arrows.of("junto-cli"), Some(&["junto".to_owned()][..]));
    assert_eq!(arrows.of("junto-helper"), None);
}

#[test]
fn a_wrong_arrow_is_named() {
    let package = |name: &str, dependencies: Value| json!({ "name": name, "dependencies": dependencies });
    let uses = |name: &str, kind: Value| json!({ "name": name, "kind": kind });
    let check = |dependencies: Value, expected: &[&str]| {
        let llm = package("junto-llm", dependencies);
        let metadata = json!({ "packages": [llm, package("junto-twin", json!([]))] });
        assert_eq!(violations(&arrows(), &metadata), expected);
    };
    check(json!([uses("junto-twin", Value::Null)]), &["junto-llm must not use junto-twin"]);
    check(json!([uses("junto-twin", json!("dev"))]), &[]);
    check(json!([uses("serde", Value::Null)]), &[]);
    let stranger = json!({ "packages": [package("junto-helper", json!([]))] });
    assert_eq!(violations(&arrows(), &stranger), ["the crate junto-helper is not in the table of arrows"]);
}
