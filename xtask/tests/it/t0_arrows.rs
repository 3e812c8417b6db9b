//! Who may use whom. A crate that reaches past its neighbours costs the design its meaning, so the
//! table of docs/architecture.md is checked against what cargo says.

use std::process::Command;

use serde_json::{Value, json};

/// Each crate and the crates of ours it may use; planned crates are here already. Development
/// dependencies do not count: a test may use what its crate may not.
const ARROWS: &[(&str, &[&str])] = &[
    ("junto-llm", &[]),
    ("junto-patch", &[]),
    ("junto-env", &[]),
    ("junto-core", &["junto-llm", "junto-env"]),
    ("junto-policy", &["junto-core"]),
    ("junto-agent", &["junto-core", "junto-llm", "junto-env", "junto-patch"]),
    ("junto-kernel", &["junto-core", "junto-env"]),
    ("junto-mcp", &["junto-core", "junto-env"]),
    ("junto-runner", &["junto-core", "junto-llm", "junto-env"]),
    ("junto-council", &["junto-core", "junto-llm", "junto-env"]),
    ("junto-gateway", &["junto-core", "junto-llm"]),
    ("junto-store", &["junto-core", "junto-llm", "junto-env"]),
    ("junto-twin", &["junto-llm"]),
    (
        "junto",
        &[
            "junto-llm",
            "junto-patch",
            "junto-env",
            "junto-core",
            "junto-policy",
            "junto-agent",
            "junto-kernel",
            "junto-mcp",
            "junto-runner",
            "junto-council",
            "junto-gateway",
            "junto-store",
            "junto-twin",
        ],
    ),
    ("junto-cli", &["junto"]),
    ("junto-testkit", &["junto-twin", "junto-core"]),
    ("xtask", &[]),
];

/// One sentence for each crate without a row and each arrow that the table lacks.
fn violations(metadata: &Value) -> Vec<String> {
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    let ours: Vec<&str> = packages().filter_map(|package| package["name"].as_str()).collect();
    let mut found = Vec::new();
    for package in packages() {
        let user = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == user) else {
            found.push(format!("the crate {user} is not in the table of arrows"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            if dependency["kind"].is_null() && ours.contains(&used) && !allowed.contains(&used) {
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
    assert_eq!(violations(&metadata), Vec::<String>::new());
}

#[test]
fn a_wrong_arrow_is_named() {
    let package = |name: &str, dependencies: Value| json!({ "name": name, "dependencies": dependencies });
    let uses = |name: &str, kind: Value| json!({ "name": name, "kind": kind });
    let check = |dependencies: Value, expected: &[&str]| {
        let llm = package("junto-llm", dependencies);
        let metadata = json!({ "packages": [llm, package("junto-twin", json!([]))] });
        assert_eq!(violations(&metadata), expected);
    };
    check(json!([uses("junto-twin", Value::Null)]), &["junto-llm must not use junto-twin"]);
    check(json!([uses("junto-twin", json!("dev"))]), &[]);
    check(json!([uses("serde", Value::Null)]), &[]);
    let stranger = json!({ "packages": [package("junto-helper", json!([]))] });
    assert_eq!(violations(&stranger), ["the crate junto-helper is not in the table of arrows"]);
}
