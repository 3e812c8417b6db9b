//! What a project's own files say about how it is tested.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Oracle, Step};

/// The largest file that is read to find out how a project is tested.
const LARGEST: u64 = 4 << 20;

/// What a kind of project is run by: a word of its command lines, and the files that a candidate is marked for.
const FILES: &[(&str, &[&str])] = &[
    ("cargo", &["Cargo.toml", "build.rs", ".cargo/config.toml", "rust-toolchain", "rust-toolchain.toml"]),
    ("npm", JAVASCRIPT),
    ("pnpm", JAVASCRIPT),
    ("yarn", JAVASCRIPT),
    ("bun", JAVASCRIPT),
    ("npx", JAVASCRIPT),
    ("pytest", PYTHON),
    ("python", PYTHON),
    ("python3", PYTHON),
    ("go", &["go.mod", "go.work"]),
    ("make", &["Makefile", "makefile", "GNUmakefile", "*.mk"]),
];

const JAVASCRIPT: &[&str] = &[
    "package.json",
    "jest.config.*",
    "vitest.config.*",
    "vite.config.*",
    "karma.conf.*",
    ".mocharc.*",
    "playwright.config.*",
    ".eslintrc*",
    "eslint.config.*",
    "tsconfig*.json",
];

const PYTHON: &[&str] =
    &["conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "noxfile.py"];

/// How the project in this folder is tested, by its own files: cargo, npm, pnpm, yarn or bun, pytest, go or
/// make, whichever is found first. None if nothing is found.
pub fn detect(directory: &Path) -> Option<Oracle> {
    [cargo, javascript, pytest, go, make].into_iter().find_map(|look| look(directory))
}

/// The files that command lines are run by whose words tell what is run.
pub(super) fn files_of(command: &str) -> Vec<String> {
    let words = command.split(|c: char| c.is_whitespace() || ";&|()".contains(c));
    let names: Vec<&str> = words.map(|word| word.rsplit('/').next().unwrap_or(word)).collect();
    let known = FILES.iter().filter(|(word, _)| names.contains(word));
    known.flat_map(|(_, files)| files.iter().map(|file| (*file).to_owned())).collect()
}

fn found(source: &str, steps: Vec<Step>, needs: &[&str]) -> Oracle {
    let needs = needs.iter().map(|name| (*name).to_owned()).collect();
    Oracle { source: source.to_owned(), files: files_of(source), steps, needs }
}

fn cargo(directory: &Path) -> Option<Oracle> {
    directory.join("Cargo.toml").is_file().then(|| {
        let steps = vec![
            Step::new("build", "cargo build --quiet --workspace --all-targets"),
            Step::new("test", "cargo test --quiet --workspace"),
        ];
        found("cargo", steps, &[])
    })
}

fn javascript(directory: &Path) -> Option<Oracle> {
    let package: Value = serde_json::from_str(&text(&directory.join("package.json"))?).ok()?;
    let script = |name: &str| package.get("scripts")?.get(name)?.as_str();
    let is_real = |line: &str| !line.contains("no test specified");
    let manager = manager(directory, &package);
    let steps: Vec<Step> = ["build", "lint", "test"]
        .into_iter()
        .filter(|name| script(name).is_some_and(is_real))
        .map(|name| Step::new(name, format!("{manager} run {name}")))
        .collect();
    // A build alone says little, and is all that some projects have.
    (!steps.is_empty()).then(|| found(manager, steps, &["node_modules"]))
}

fn manager(directory: &Path, package: &Value) -> &'static str {
    const LOCKS: &[(&str, &str)] = &[
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
        ("package-lock.json", "npm"),
    ];
    let named = package.get("packageManager").and_then(Value::as_str).unwrap_or_default();
    let named = ["pnpm", "yarn", "bun"].into_iter().find(|name| named.starts_with(&format!("{name}@")));
    let locked = || LOCKS.iter().find(|(lock, _)| directory.join(lock).is_file()).map(|(_, name)| *name);
    named.or_else(locked).unwrap_or("npm")
}

fn pytest(directory: &Path) -> Option<Oracle> {
    let says = |file: &str, word: &str| text(&directory.join(file)).is_some_and(|text| text.contains(word));
    let is_one = ["pytest.ini", ".pytest.ini", "conftest.py", "tests/conftest.py"]
        .iter()
        .any(|file| directory.join(file).is_file())
        || says("pyproject.toml", "pytest")
        || says("setup.cfg", "pytest")
        || says("tox.ini", "pytest")
        || [directory.to_owned(), directory.join("tests"), directory.join("test")]
            .iter()
            .any(|d| has_tests(d));
    is_one.then(|| {
        // The user's own interpreter, which has the project's dependencies.
        let own = [".venv", "venv"].iter().map(|name| directory.join(name).join("bin/python"));
        let own = own.filter(|python| python.exists()).find_map(|python| python.to_str().map(quoted));
        let python = own.unwrap_or_else(|| "python3".to_owned());
        // That interpreter may have the user's own folder installed, whose code would be tested instead.
        let here = if directory.join("src").is_dir() { "PYTHONPATH=src:. " } else { "" };
        found("pytest", vec![Step::new("test", format!("{here}{python} -m pytest -q"))], &[])
    })
}

/// Whether a folder has files that pytest looks into.
fn has_tests(folder: &Path) -> bool {
    let is_test = |name: &str| {
        name.ends_with("_test.py")
            || (name.starts_with("test_") && Path::new(name).extension().is_some_and(|end| end == "py"))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().take(1000);
    entries.flatten().any(|entry| entry.file_name().to_str().is_some_and(is_test))
}

fn go(directory: &Path) -> Option<Oracle> {
    directory.join("go.mod").is_file().then(|| {
        let steps = vec![Step::new("build", "go build ./..."), Step::new("test", "go test ./...")];
        found("go", steps, &[])
    })
}

fn make(directory: &Path) -> Option<Oracle> {
    let file =
        ["GNUmakefile", "makefile", "Makefile"].into_iter().find_map(|name| text(&directory.join(name)))?;
    let has =
        |target: &&str| file.lines().any(|line| line.split(':').next() == Some(target) && line.contains(':'));
    let target = ["test", "check"].into_iter().find(has)?;
    Some(found("make", vec![Step::new("test", format!("make {target}"))], &[]))
}

/// A word for the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn text(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > LARGEST {
        return None;
    }
    fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files with their content, and the commands that should be found.
    fn check(files: &[(&str, &str)], expected: Option<(&str, &[&str])>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let found = detect(folder.path());
        let found = found.as_ref().map(|oracle| {
            let steps = oracle.steps.iter().map(|step| step.command.as_str());
            (oracle.source.as_str(), steps.collect::<Vec<_>>())
        });
        assert_eq!(found, expected.map(|(source, steps)| (source, steps.to_vec())), "{files:?}");
    }

    #[test]
    fn projects_say_how_they_are_tested() {
        let scripts = r#"{"scripts": {"build": "tsc", "test": "vitest"}}"#;
        let js = |name: &'static str| [format!("{name} run build"), format!("{name} run test")];
        for (lock, name) in [
            ("package-lock.json", "npm"),
            ("pnpm-lock.yaml", "pnpm"),
            ("yarn.lock", "yarn"),
            ("bun.lock", "bun"),
            ("bun.lockb", "bun"),
        ] {
            let steps = js(name);
            let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
            check(&[("package.json", scripts), (lock, "")], Some((name, &steps)));
        }
        let named = r#"{"packageManager": "pnpm@9.1.0", "scripts": {"lint": "eslint ."}}"#;
        check(&[("package.json", named)], Some(("pnpm", &["pnpm run lint"])));
        let cargo: &[&str] =
            &["cargo build --quiet --workspace --all-targets", "cargo test --quiet --workspace"];
        check(&[("Cargo.toml", "")], Some(("cargo", cargo)));
        check(&[("go.mod", "")], Some(("go", &["go build ./...", "go test ./..."])));
        for file in ["pytest.ini", "conftest.py", "test_a.py", "tests/a_test.py", "tests/conftest.py"] {
            check(&[(file, "")], Some(("pytest", &["python3 -m pytest -q"])));
        }
        check(
            &[("pyproject.toml", "[tool.pytest.ini_options]"), ("src/a.py", "")],
            Some(("pytest", &["PYTHONPATH=src:. python3 -m pytest -q"])),
        );
        check(&[("Makefile", "all:\ntest: all\n\techo")], Some(("make", &["make test"])));
        check(&[("Makefile", "check:\n")], Some(("make", &["make check"])));
        // What comes first counts.
        check(&[("Makefile", "test:\n"), ("go.mod", "")], Some(("go", &["go build ./...", "go test ./..."])));
    }

    #[test]
    fn what_says_nothing_is_no_oracle() {
        check(&[], None);
        check(&[("Makefile", "all:\n\ttest: no target\n")], None);
        check(&[("package.json", "{")], None);
        check(&[("package.json", r#"{"scripts": {"start": "node ."}}"#)], None);
        let placeholder = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        check(&[("package.json", placeholder)], None);
        check(&[("pyproject.toml", "[project]"), ("tests/data.py", "")], None);
    }
}
