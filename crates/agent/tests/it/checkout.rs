//! A repository in a directory of its own, which knows nothing of the user's configuration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use junto_agent::profile::Profile;
use junto_agent::prompt::{Built, PromptFacts, build};
use junto_env::{ExecutionEnvironment, LocalBuilder, LocalEnvironment, plain};
use tempfile::TempDir;

/// What every git in here runs with.
const HERMETIC: &[(&str, &str)] = &[
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_AUTHOR_NAME", "A"),
    ("GIT_AUTHOR_EMAIL", "a@example.org"),
    ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"),
    ("GIT_COMMITTER_NAME", "A"),
    ("GIT_COMMITTER_EMAIL", "a@example.org"),
    ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"),
];

pub(crate) struct Checkout {
    dir: TempDir,
}

impl Checkout {
    /// A directory in which this was run. `$EVIL` is a program that [`sprung`](Self::sprung) tells of.
    pub(crate) async fn new(script: &str) -> Self {
        let checkout = Self { dir: tempfile::tempdir().unwrap() };
        let trap = checkout.dir.path().join("sprung");
        let evil = format!("#!/bin/sh\necho sprung > {}\n", trap.display());
        for dir in ["project", "bin"] {
            std::fs::create_dir(checkout.dir.path().join(dir)).unwrap();
        }
        checkout.program("evil", &evil);
        checkout.run(script).await;
        checkout
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("project").join(name)
    }

    /// Puts a program before all others.
    pub(crate) fn program(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.dir.path().join("bin").join(name);
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn builder(&self, cwd: &Path) -> LocalBuilder {
        let bin = self.dir.path().join("bin");
        let base = LocalEnvironment::builder(cwd)
            .variable("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()))
            .variable("HOME", self.dir.path())
            .variable("EVIL", bin.join("evil"));
        HERMETIC.iter().fold(base, |builder, (name, value)| builder.variable(name, value))
    }

    /// The environment in a directory of it.
    pub(crate) fn env(&self, cwd: &str) -> LocalEnvironment {
        self.env_with(cwd, "JUNTO_TEST", "1")
    }

    /// The environment with one more variable.
    pub(crate) fn env_with(&self, cwd: &str, name: &str, value: &str) -> LocalEnvironment {
        self.builder(&self.path(cwd)).variable(name, value).build().unwrap()
    }

    /// Runs a script in it that must work.
    pub(crate) async fn run(&self, script: &str) {
        let line = format!("set -e\n{script}");
        let env = self.env("");
        let ran = plain::exec_command(&env, &line, Duration::from_mins(1)).await.unwrap();
        assert!(ran.exit.success(), "{script}: {}", ran.both.text(|_| String::new()));
    }

    /// Whether `$EVIL` was run since this was last asked.
    pub(crate) fn sprung(&self) -> bool {
        std::fs::remove_file(self.dir.path().join("sprung")).is_ok()
    }
}

/// The prompt for Claude in an environment.
pub(crate) async fn prompt(env: &dyn ExecutionEnvironment) -> Built {
    let facts = PromptFacts { today: "2026-01-31".into(), model: "M".into(), ..PromptFacts::default() };
    build(&Profile::anthropic(), env, &facts).await
}

/// What the environment block says of git: whether there is a repository, and the branch.
pub(crate) fn git_lines(built: &Built) -> (String, String) {
    let value = |name: &str| {
        let line = built.text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{}", built.text)).to_owned()
    };
    (value("Is git repository: "), value("Git branch: "))
}

/// The lines of the snapshot after its heading, the names of commits left out; none without a snapshot.
pub(crate) fn snapshot(built: &Built) -> Vec<String> {
    let Some((_, rest)) = built.text.split_once("<git_snapshot>\n") else { return Vec::new() };
    let (snapshot, _) = rest.split_once("\n</git_snapshot>").unwrap();
    let unnamed = |line: &str| match line.strip_prefix("- ").and_then(|commit| commit.split_once(' ')) {
        Some((name, subject)) => {
            assert!(name.len() >= 7 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{line}");
            format!("- {subject}")
        }
        None => line.to_owned(),
    };
    snapshot.lines().skip(1).map(unnamed).collect()
}
