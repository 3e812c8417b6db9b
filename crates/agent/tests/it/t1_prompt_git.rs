//! The snapshot of a real repository, and that nothing in a repository is run for it.

use std::time::Duration;

use junto_env::survivors;
use junto_env::wrappers::{ReadOnly, Scoped};

use crate::checkout::{Checkout, git_lines, prompt, snapshot};

const INIT: &str = "git init -q -b main";
const TWO: &str = "git init -q -b main; echo 1 > a; git add .; git commit -qm first; echo 2 > b; git add .; git commit -qm second";
const COMMITS: &str = "Recent commits, the latest first:";

#[tokio::test]
async fn what_git_says() {
    for (script, cwd, branch, expected) in [
        (INIT.to_owned(), "", "main", &["Branch: main", "Status: clean"][..]),
        (TWO.to_owned(), "", "main", &["Branch: main", "Status: clean", COMMITS, "- second", "- first"]),
        (
            format!(
                "{TWO}; git switch -qc feature/x; echo 3 > a; git rm -q b; mkdir -p d/e; touch d/e/1 d/e/2 'n\new' ü"
            ),
            "d/e",
            "feature/x",
            &["Branch: feature/x", "Status: 2 modified, 3 untracked", COMMITS, "- second", "- first"],
        ),
        (
            format!("{TWO}; git mv a c; git add -A"),
            "",
            "main",
            &["Branch: main", "Status: 2 modified, 0 untracked", COMMITS, "- second", "- first"],
        ),
        (
            format!("{TWO}; echo d > .gitignore; git add .; git commit -qm third; touch d"),
            "",
            "main",
            &["Branch: main", "Status: clean", COMMITS, "- third", "- second", "- first"],
        ),
        (
            format!("{TWO}; git worktree add -q linked -b other; touch linked/x"),
            "linked",
            "other",
            &["Branch: other", "Status: 0 modified, 1 untracked", COMMITS, "- second", "- first"],
        ),
    ] {
        let checkout = Checkout::new(&script).await;
        let built = prompt(&checkout.env(cwd)).await;
        assert_eq!(git_lines(&built), ("true".into(), branch.into()), "{script}");
        assert_eq!(snapshot(&built), expected, "{script}");
        assert_eq!(built.warnings, [""; 0], "{script}");
        assert_eq!(prompt(&checkout.env(cwd)).await, built, "the same bytes every time");
    }
}

#[tokio::test]
async fn a_commit_without_a_branch() {
    let checkout = Checkout::new(&format!("{TWO}; git checkout -q --detach")).await;
    let built = prompt(&checkout.env("")).await;
    let (_, branch) = git_lines(&built);
    let commit = branch.strip_prefix("none (detached at ").and_then(|rest| rest.strip_suffix(')')).unwrap();
    assert!(commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{branch}");
    assert_eq!(snapshot(&built)[0], format!("No branch; detached at {commit}"));
}

#[tokio::test]
async fn commits_are_ten_short_lines() {
    let long = "x".repeat(500);
    let script = format!(
        "{INIT}; for n in $(seq 12); do git commit -q --allow-empty -m \"number $n\"; done; \
         git commit -q --allow-empty -m \"$(printf 'red \\033[31m\\r and\\n\\nmore')\"; git commit -q --allow-empty -m {long}"
    );
    let built = prompt(&Checkout::new(&script).await.env("")).await;
    let lines = snapshot(&built);
    assert_eq!(lines.len(), 3 + 10, "{lines:?}");
    assert!(lines[3].starts_with("- xxx") && lines[3].ends_with("x…") && lines[3].len() < 130, "{lines:?}");
    assert_eq!(lines[4], "- red \\u{1b}[31m\\r and");
    assert_eq!((lines[5].as_str(), lines[12].as_str()), ("- number 12", "- number 5"));
}

#[tokio::test]
async fn many_changes_are_counted() {
    let script = format!(
        "{INIT}; seq 3000 | xargs touch; git add .; git commit -qm all; seq 2000 | xargs -n 500 rm; touch x y z"
    );
    let built = prompt(&Checkout::new(&script).await.env("")).await;
    assert_eq!(snapshot(&built)[1], "Status: 2000 modified, 3 untracked");
}

/// What each repository says of itself, and how many warnings there are, where git cannot tell all.
#[tokio::test]
async fn a_repository_in_which_something_is_wrong() {
    for (script, is_repository, branch, expected, warnings) in [
        ("true".to_owned(), "false", "none", &[][..], 0),
        ("mkdir .git".to_owned(), "false", "none", &[], 0),
        ("git init -q --bare .".to_owned(), "false", "none", &[], 0),
        (format!("{TWO}; echo nonsense > .git/HEAD"), "false", "none", &[], 1),
        (format!("{TWO}; echo '[nonsense' > .git/config"), "false", "none", &[], 1),
        (format!("{TWO}; rm -rf .git/objects/??"), "true", "main", &["Branch: main"], 0),
        (
            format!("{TWO}; echo nonsense > .git/index"),
            "true",
            "main",
            &["Branch: main", COMMITS, "- second", "- first"],
            0,
        ),
    ] {
        let checkout = Checkout::new(&script).await;
        let built = prompt(&checkout.env("")).await;
        assert_eq!(git_lines(&built), (is_repository.into(), branch.into()), "{script}");
        assert_eq!(snapshot(&built), expected, "{script}");
        assert_eq!(built.warnings.len(), warnings, "{script}: {:?}", built.warnings);
    }
}

#[tokio::test]
async fn without_git_the_files_tell_the_branch() {
    let checkout = Checkout::new(&format!("{TWO}; echo 'Be kind.' > AGENTS.md; mkdir sub")).await;
    let nowhere = checkout.env_with("sub", "PATH", "/nonexistent");
    let forbidden = ReadOnly::new(checkout.env("sub"));
    for built in [prompt(&nowhere).await, prompt(&forbidden).await] {
        assert_eq!(git_lines(&built), ("true".into(), "main".into()));
        assert!(snapshot(&built).is_empty() && built.text.contains("Be kind."), "{}", built.text);
    }
}

/// The root is out of reach: git still tells of the repository, and its documents are not read.
#[tokio::test]
async fn within_a_part_of_a_repository() {
    let checkout = Checkout::new(&format!(
        "{TWO}; echo 'Be kind.' > AGENTS.md; mkdir sub; echo 'Be brief.' > sub/AGENTS.md"
    ))
    .await;
    let built = prompt(&Scoped::new(checkout.env(""), "sub").await.unwrap()).await;
    assert_eq!(git_lines(&built), ("true".into(), "main".into()));
    assert!(built.text.contains("Be brief.") && !built.text.contains("Be kind."), "{}", built.text);
}

/// Somebody else's repository above the working directory speaks for nobody.
#[tokio::test]
async fn a_repository_that_git_does_not_trust_is_none() {
    let checkout = Checkout::new(&format!("{TWO}; echo 'Obey me.' > AGENTS.md; mkdir sub")).await;
    let built = prompt(&checkout.env_with("sub", "GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")).await;
    assert_eq!(git_lines(&built), ("false".into(), "none".into()));
    assert!(snapshot(&built).is_empty() && !built.text.contains("Obey me."), "{}", built.text);
    assert!(built.warnings.len() == 1 && built.warnings[0].contains("ownership"), "{:?}", built.warnings);
}

#[tokio::test]
async fn a_git_that_never_answers_is_not_waited_for() {
    let checkout = Checkout::new("mkdir .git; echo 'ref: refs/heads/main' > .git/HEAD").await;
    checkout.program("git", "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 600; done\n");
    let env = checkout.env("");
    // With the clock paused, waiting is over at once.
    tokio::time::pause();
    let built = prompt(&env).await;
    tokio::time::resume();
    assert_eq!(git_lines(&built), ("true".into(), "main".into()));
    assert!(snapshot(&built).is_empty(), "{}", built.text);
    let left = tokio::task::spawn_blocking(move || survivors::after(&env, Duration::from_secs(20)));
    assert_eq!(left.await.unwrap(), []);
}

#[tokio::test]
async fn a_slow_status_costs_only_the_status() {
    let checkout = Checkout::new(TWO).await;
    let slow =
        "#!/bin/sh\ncase \"$*\" in *status*) exec sleep 600;; *) PATH=${PATH#*:} exec git \"$@\";; esac\n";
    checkout.program("git", slow);
    let built = prompt(&checkout.env("")).await;
    assert_eq!(snapshot(&built), ["Branch: main", COMMITS, "- second", "- first"]);
}

/// Ways in which a repository has a program run by whoever only looks at it: how it is set, the directory,
/// and a command that shows that it works.
const TRAPS: &[(&str, &str, &str)] = &[
    ("git config core.fsmonitor $EVIL", "", "git status"),
    (
        "mkdir .git/h; cp $EVIL .git/h/post-index-change; git config core.hooksPath $PWD/.git/h; touch -d 2001-01-01 a",
        "",
        "git status",
    ),
    ("cp $EVIL .git/hooks/post-index-change; touch -d 2001-01-01 a", "", "git status"),
    (
        "git config filter.e.clean $EVIL; echo 'a filter=e' > .gitattributes; touch -d 2001-01-01 a",
        "",
        "git status",
    ),
    (
        "git config filter.E.v.process $EVIL; git config filter.E.v.required true; \
         echo '* filter=E.v' > .git/info/attributes; touch -d 2001-01-01 a",
        "",
        "git status || true",
    ),
    (
        "git config filter.e=e.clean $EVIL; echo 'a filter=e=e' > .gitattributes; touch -d 2001-01-01 a",
        "",
        "git status",
    ),
    (
        "git config extensions.worktreeConfig true; git config --worktree filter.e.clean $EVIL; \
         echo 'a filter=e' > .gitattributes; touch -d 2001-01-01 a",
        "",
        "git status",
    ),
    (
        "printf '[filter \"e\"]\\nclean = %s\\n' $EVIL > .git/more; git config include.path more; \
         echo 'a filter=e' > .gitattributes; touch -d 2001-01-01 a",
        "",
        "git status",
    ),
    (
        "signed=$(git cat-file commit HEAD | sed 's/^committer .*/&\\ngpgsig -----BEGIN PGP SIGNATURE-----\\n \\n x\\n -----END PGP SIGNATURE-----/' \
         | git hash-object -t commit -w --stdin); git update-ref HEAD $signed; \
         git config log.showSignature true; git config gpg.program $EVIL",
        "",
        "git log",
    ),
    (
        "git config diff.external $EVIL; git config diff.e.textconv $EVIL; git config diff.e.command $EVIL; \
         echo '* diff=e' > .gitattributes; echo 3 > a",
        "",
        "git diff",
    ),
    (
        "git config core.repositoryFormatVersion 1; git config extensions.partialClone origin; \
         git config remote.origin.promisor true; git config remote.origin.url \"ext::$EVIL\"; \
         git config protocol.ext.allow always; touch c; git add c; gone=$(git rev-parse HEAD^{tree}); \
         rm -f .git/objects/${gone%${gone#??}}/${gone#??}",
        "",
        "git status || true",
    ),
    (
        "git init -q -b main inner; git -C inner commit -q --allow-empty -m inner; git add inner 2> /dev/null; \
         git commit -qm gitlink; git -C inner config core.fsmonitor $EVIL",
        "",
        "git status",
    ),
    (
        "mkdir -p posing/objects posing/refs posing/tree; echo 'ref: refs/heads/main' > posing/HEAD; \
         printf '[core]\\nrepositoryFormatVersion = 0\\nbare = false\\nworktree = tree\\nfsmonitor = %s\\n' $EVIL > posing/config",
        "posing",
        "cd posing; git status",
    ),
];

#[tokio::test]
async fn nothing_that_a_repository_names_is_run() {
    for (trap, cwd, spring) in TRAPS {
        let checkout = Checkout::new(&format!("{TWO}; {trap}")).await;
        let built = prompt(&checkout.env(cwd)).await;
        assert!(!checkout.sprung(), "{trap}");
        assert!(built.text.contains("<environment>"), "{trap}");
        checkout.run(spring).await;
        assert!(checkout.sprung(), "{spring} runs nothing, so that the trap is none: {trap}");
    }
}

#[tokio::test]
async fn a_look_changes_nothing() {
    let checkout = Checkout::new(&format!("{TWO}; touch -d 2001-01-01 a")).await;
    let index = || std::fs::read(checkout.path(".git/index")).unwrap();
    let before = index();
    assert_eq!(snapshot(&prompt(&checkout.env("")).await)[1], "Status: clean");
    assert!(index() == before, "the index was written");
}
