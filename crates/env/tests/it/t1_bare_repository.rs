//! A directory without `.git` does not become a repository by itself, which whoever calls git there next would obey.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use junto_env::{CommandSpec, LocalEnvironment, Sandbox, SandboxedEnvironment, exec};
use tokio_util::sync::CancellationToken;

use crate::cage::{Held, means};
use crate::support::HANG;

/// Everything that a repository needs, and a setting that runs something.
const PLANT: &str = "mkdir -p objects refs hooks; echo ref: refs/heads/main > HEAD; \
     printf '[core]\\n\\tbare = false\\n\\tworktree = %s\\n\\tfsmonitor = \"touch ran;:\"\\n' \"$PWD\" > config; touch made";
/// The same, with some of it elsewhere.
const ELSEWHERE: &str = "mkdir -p x/objects x/refs; echo ref: refs/heads/main > HEAD; echo x > commondir; \
     printf '[core]\\n\\tbare = true\\n' > x/config; touch made";

pub(crate) fn run(work: &Path, line: &str) -> String {
    // These directories are among the temporary files, because the others of the tests are in a repository.
    run_beside(work, Vec::new(), line)
}

/// The same where there are directories for temporary files.
pub(crate) fn run_beside(work: &Path, temporary: Vec<PathBuf>, line: &str) -> String {
    let builder = LocalEnvironment::builder(work).variables([("PATH", "/usr/local/bin:/usr/bin:/bin")]);
    let sandbox = Sandbox { temporary: Some(temporary), ..Sandbox::workspace() };
    let env = SandboxedEnvironment::with_means(builder, sandbox, &means(Held::Walls)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let never = CancellationToken::new();
        let ended = exec(&env, CommandSpec::shell(line), HANG, &never, &mut |_| {}).await.unwrap();
        String::from_utf8_lossy(ended.both.head()).into_owned()
    })
}

/// What git says; what is around the tests is not found.
#[expect(clippy::disallowed_methods, reason = "git itself is asked what it takes for a repository")]
pub(crate) fn git(work: &Path, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(words).current_dir(work).stdin(Stdio::null());
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", "/nonexistent").env("GIT_OPTIONAL_LOCKS", "0");
    git.env("GIT_CEILING_DIRECTORIES", std::env::temp_dir());
    String::from_utf8_lossy(&git.output().unwrap().stdout).trim().to_owned()
}

/// Whether git takes a directory itself for a repository.
fn poses(work: &Path) -> bool {
    git(work, &["status"]);
    work.join("ran").exists() || Path::new(&git(work, &["rev-parse", "--absolute-git-dir"])) == work
}

#[test]
fn no_command_makes_a_repository_of_the_working_directory() {
    for (around, before) in [
        (false, &[][..]),
        (true, &[]),
        (false, &["refs"]),
        (false, &["HEAD"]),
        (false, &["HEAD", "refs"]),
        (true, &["refs"]),
        (true, &["refs", "objects"]),
        (false, &["HEAD", "refs", "objects"]),
    ] {
        for plant in [PLANT, ELSEWHERE] {
            let dir = tempfile::tempdir().unwrap();
            let work = dir.path().canonicalize().unwrap().join("work");
            std::fs::create_dir(&work).unwrap();
            if around {
                git(dir.path(), &["init", "-q"]);
            }
            for name in before {
                if *name == "HEAD" {
                    std::fs::write(work.join(name), "mine").unwrap();
                } else {
                    std::fs::create_dir(work.join(name)).unwrap();
                }
            }
            let said = run(&work, plant);
            assert!(work.join("made").exists(), "{around} {before:?}: {said}");
            assert!(!poses(&work), "{around} {before:?} {plant}: {said}");
        }
    }
}

/// Else the test above would say nothing.
#[test]
#[expect(clippy::disallowed_methods, reason = "this is about what happens outside of an environment")]
fn without_a_sandbox_it_becomes_one() {
    for plant in [PLANT, ELSEWHERE] {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().canonicalize().unwrap();
        Command::new("sh").args(["-c", plant]).current_dir(&work).status().unwrap();
        assert!(poses(&work), "{plant}");
    }
}

/// In a repository that has a `.git` these are names like any other; below it, `HEAD` still means what is checked out.
#[test]
fn where_git_has_its_own_nothing_stands_in_the_way() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    git(&root, &["init", "-q"]);
    let said = run(&root, "mkdir refs objects && echo x > HEAD && echo MADE");
    assert!(said.contains("MADE"), "{said}");
    let below = root.join("below");
    std::fs::create_dir(&below).unwrap();
    let said = run(&below, "ls; mkdir objects config; echo x > HEAD; cat HEAD");
    assert!(!said.contains("HEAD") && said.ends_with("x\n"), "{said}");
}

/// A project with a submodule, which is empty if it is not checked out.
fn with_submodule(work: &Path, checked_out: bool) {
    let sub = work.join("lib/sub");
    std::fs::create_dir_all(&sub).unwrap();
    for dir in [work, &sub] {
        git(dir, &["init", "-q"]);
        std::fs::write(dir.join("a"), "a").unwrap();
        git(dir, &["add", "a"]);
        git(dir, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]);
    }
    std::fs::write(work.join(".gitmodules"), "[submodule \"sub\"]\n\tpath = lib/sub\n\turl = /nowhere\n")
        .unwrap();
    git(work, &["add", "lib/sub", ".gitmodules"]);
    std::fs::rename(sub.join(".git"), work.join(".git/modules")).unwrap();
    if checked_out {
        std::fs::write(sub.join(".git"), "gitdir: ../../.git/modules\n").unwrap();
    } else {
        std::fs::remove_file(sub.join("a")).unwrap();
    }
}

#[test]
fn no_command_changes_the_settings_of_a_submodule() {
    const SETS: &str = "git config -f lib/sub/.git/config core.fsmonitor \"touch $PWD/ran;:\"; touch made";
    for (checked_out, before) in [
        (true, "rm lib/sub/.git; cp -r .git/modules lib/sub/.git"),
        (true, "mv lib/sub lib/x; mkdir lib/sub; cp -r .git/modules lib/sub/.git"),
        (true, "mv lib x; mkdir -p lib/sub; cp -r .git/modules lib/sub/.git"),
        (false, "cp -r .git/modules lib/sub/.git"),
        (false, "rmdir lib/sub; mkdir lib/sub; cp -r .git/modules lib/sub/.git"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().canonicalize().unwrap().join("work");
        std::fs::create_dir(&work).unwrap();
        with_submodule(&work, checked_out);
        let status = git(&work, &["status", "--porcelain"]);
        let said = run(&work, &format!("{before}; {SETS}"));
        assert!(work.join("made").exists(), "{before}: {said}");
        assert_eq!(
            git(&work, &["status", "--porcelain"]),
            format!("{status}\n?? made").trim(),
            "{before}: {said}"
        );
        assert!(!work.join("ran").exists(), "{before}: {said}");
        assert_eq!(work.join("lib/sub/.git").exists(), checked_out, "{before}: {said}");
        // What is in it may be changed.
        let said = run(&work, "echo b > lib/sub/b && mv lib/sub/b lib/b && echo done");
        assert_eq!(said.trim(), "done");
    }
}
