//! Whatever is in a tree, and whatever a candidate does to it: the right diff, or a clear refusal.

use std::fs;

use junto_council::contest::{
    ContestSetup, Dirty, Ended, ErrorKind, Mark, Oracle, OracleChoice, Record, apply,
};
use junto_env::LocalEnvironment;

use crate::rivals::{Ground, git};

/// A contest of one that passes whatever it does.
fn alone(ground: &Ground, line: &str) -> ContestSetup {
    ContestSetup { oracle: OracleChoice::Given(Oracle::given("true")), ..ground.setup(&[line]) }
}

async fn applied(
    ground: &Ground,
    record: &Record,
    candidate: Option<u32>,
) -> Result<String, (ErrorKind, String)> {
    let env = LocalEnvironment::builder(ground.project()).variables([("PATH", "/usr/bin:/bin")]);
    let env = env.variable("GIT_AUTHOR_NAME", "user").variable("GIT_AUTHOR_EMAIL", "user@localhost");
    let env = env.variable("GIT_COMMITTER_NAME", "user").variable("GIT_COMMITTER_EMAIL", "user@localhost");
    let env = std::sync::Arc::new(env.build().unwrap());
    let done = apply(&ground.runs(), &record.run, candidate, env, &ground.project()).await;
    done.map(|applied| applied.branch).map_err(|error| (error.kind(), error.to_string()))
}

/// Has a candidate do this, applies it, and compares the tree with that of a user who did the same by hand.
async fn same_as_by_hand(ground: &Ground, line: &str) -> Record {
    let (record, _) = ground.hold(alone(ground, line)).await;
    assert_eq!(record.winner, Some(1), "{line}: {record:?}");
    assert_eq!(record.candidates[0].left, None);
    // The diff by itself says everything, too.
    let copy = tempfile::tempdir().unwrap();
    git(copy.path(), &["clone", "--quiet", ground.project().to_str().unwrap(), "."]);
    fs::write(copy.path().join(".git/c.diff"), ground.diff(&record, &record.candidates[0])).unwrap();
    git(copy.path(), &["apply", "--index", ".git/c.diff"]);
    assert_eq!(git(copy.path(), &["write-tree"]).trim(), record.candidates[0].diff.as_ref().unwrap().tree);

    let branch = applied(ground, &record, None).await.unwrap();
    assert_eq!(ground.git(&["branch", "--show-current"]).trim(), branch);
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    let made = ground.git(&["rev-parse", "HEAD^{tree}"]);
    ground.git(&["checkout", "--quiet", "trunk"]);
    assert_eq!(ground.git(&["rev-parse", "trunk"]).trim(), record.base.commit, "only the branch is new");
    let by_hand = std::process::Command::new("sh").args(["-c", line]).current_dir(ground.project()).status();
    assert!(by_hand.unwrap().success());
    ground.git(&["add", "--all"]);
    assert_eq!(made, ground.git(&["write-tree"]), "{line}");
    ground.git(&["reset", "--quiet", "--hard"]);
    ground.git(&["clean", "--quiet", "-d", "--force"]);
    record
}

#[tokio::test]
async fn what_a_candidate_does_to_files_is_what_is_applied() {
    let ground = Ground::new();
    ground.write("lines", "a line of many\n".repeat(100));
    ground.write("data", [0_u8, 159, 146, 150, 0].repeat(50));
    ground.write("tool", "#!/bin/sh\n");
    ground.write("dos", "a\r\nb\r\n");
    ground.write(".gitattributes", "* text=auto\n*.x eol=crlf filter=lfs\n");
    std::os::unix::fs::symlink("lines", ground.project().join("link")).unwrap();
    ground.commit("Files of every kind");
    for line in [
        "echo 42 >answer",
        "mkdir -p a/b && mv lines a/b/renamed && echo more >>a/b/renamed",
        "chmod +x tool",
        "rm answer",
        "ln -sfn tool link && ln -s /nowhere dangling",
        "rm link && mkdir link && echo x >link/inside",
        r"printf 'x' >>data && printf '\000\001' >new-binary",
        r#"touch "$(printf 'caf\351')" && touch 'a "quoted" name' && touch 'new
line'"#,
        "printf 'no end' >noend && : >empty",
        r"printf 'a\r\nc\r\n' >dos && printf 'p\r\n' >q.x",
        "rm -r ./* && echo only >only",
    ] {
        same_as_by_hand(&ground, line).await;
    }
}

#[tokio::test]
async fn commits_branches_and_a_deleted_repository_change_nothing_of_the_diff() {
    let ground = Ground::new();
    for line in [
        "echo 42 >answer && git add -A && git commit -qm work",
        "echo 42 >answer && git checkout -qb other && git commit -qam work && git tag t && echo x >y && git add y",
        "rm -rf .git && echo 42 >answer",
        "rm -rf .git && git init -q && echo 42 >answer && git add -A && git -c user.name=a -c user.email=a@b commit -qm x",
        "rm -rf .git && echo gitdir: /nowhere >.git && echo 42 >answer",
        "git stash list && git branch -D trunk 2>/dev/null; git config core.bare true; echo 42 >answer",
        "git update-ref refs/heads/trunk $(git commit-tree -m x HEAD^{tree}) && echo 42 >answer",
    ] {
        let (record, _) = ground.hold(alone(&ground, line)).await;
        let candidate = &record.candidates[0];
        assert_eq!((record.winner, &candidate.left), (Some(1), &None), "{line}: {candidate:?}");
        let answer = candidate.diff.as_ref().unwrap().changed.iter().find(|file| file.path == "answer");
        assert_eq!(answer.map(|file| file.how), Some('M'), "{line}: {candidate:?}");
    }
    // What was committed and then left is kept with the run.
    let line = "echo aside >aside && git add -A && git commit -qm aside && git branch side && git reset -q --hard HEAD~";
    let (record, _) = ground.hold(alone(&ground, &format!("{line} && echo 42 >answer"))).await;
    let repo = ground.state().join(&record.run.0).join("repo.git");
    assert_eq!(git(&repo, &["show", "refs/candidates/1/heads/side:aside"]), "aside\n");
    assert_eq!(record.candidates[0].diff.as_ref().unwrap().files, 1);
}

#[tokio::test]
async fn a_large_file_is_no_problem() {
    let ground = Ground::new();
    let record =
        same_as_by_hand(&ground, "head -c 30000000 /dev/zero >large && yes line | head -n 300000 >long")
            .await;
    let diff = record.candidates[0].diff.as_ref().unwrap();
    assert_eq!((diff.files, diff.added), (2, 300_000));
    assert!(diff.size > 300_000 + 30_000_000 / 64, "{diff:?}");
}

#[tokio::test]
async fn ignored_files_are_neither_given_nor_taken() {
    let ground = Ground::new();
    ground.write(".gitignore", "*.o\nbuild/\n");
    ground.commit("What is ignored");
    ground.write("secret.o", "mine");
    ground.write(".git/info/exclude", "private\n");
    ground.write("private", "mine too");
    let line = "! test -e secret.o && ! test -e private && touch x.o private && mkdir build && touch build/y && echo 42 >answer";
    let (record, _) = ground.hold(alone(&ground, line)).await;
    let diff = record.candidates[0].diff.as_ref().unwrap();
    assert_eq!(diff.changed.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["answer"]);
}

#[tokio::test]
async fn a_dirty_tree_is_refused_or_begun_with_or_left_out() {
    let ground = Ground::new();
    for (name, content) in [("answer", "40\n"), ("untracked", "new\n")] {
        ground.write(name, content);
        let error = ground.refused(alone(&ground, "true")).await;
        assert!(
            error.message.contains(name) && error.hint.unwrap().contains("--with-changes"),
            "{}",
            error.message
        );
        ground.git(&["stash", "--quiet", "--include-untracked"]);
    }
    ground.git(&["stash", "clear"]);
    ground.write("answer", "40\n");
    ground.write("untracked", "new\n");
    let line = "cat answer; cat untracked; echo 42 >answer";
    let (record, _) = ground
        .hold(ContestSetup { dirty: Dirty::LeaveOut, ..alone(&ground, "cat answer; echo 42 >answer") })
        .await;
    assert_eq!((record.candidates[0].said.as_str(), record.base.with_changes), ("41\n", false));
    let (record, _) = ground.hold(ContestSetup { dirty: Dirty::Include, ..alone(&ground, line) }).await;
    assert_eq!((record.candidates[0].said.as_str(), record.base.with_changes), ("40\nnew\n", true));
    let diff = String::from_utf8(ground.diff(&record, &record.candidates[0])).unwrap();
    assert!(diff.contains("-40\n+42\n") && !diff.contains("untracked"), "{diff}");
    // Not before they are committed.
    let (kind, said) = applied(&ground, &record, None).await.unwrap_err();
    assert_eq!(kind, ErrorKind::Dirty, "{said}");
    ground.commit("What was not committed yet");
    applied(&ground, &record, None).await.unwrap();
    assert_eq!(fs::read_to_string(ground.project().join("answer")).unwrap(), "42\n");
}

#[tokio::test]
async fn submodules_are_there_and_changes_in_them_are_refused() {
    let inner = Ground::new();
    let ground = Ground::new();
    let url = inner.project().display().to_string();
    ground.git(&["submodule", "--quiet", "add", &url, "lib"]);
    ground.commit("A library");
    let check = ContestSetup {
        oracle: OracleChoice::Given(Oracle::given("test -f lib/check.sh")),
        ..alone(&ground, "test -f lib/answer && git -C lib log -1 && echo 42 >answer")
    };
    let (record, _) = ground.hold(check).await;
    assert_eq!(record.winner, Some(1), "{record:?}");
    applied(&ground, &record, None).await.unwrap();
    ground.git(&["checkout", "--quiet", "trunk"]);
    for line in [
        "echo 1 >lib/answer",
        "cd lib && echo 1 >answer && git commit -qam inner",
        "rm lib/answer; rm -rf lib/.git",
        "mkdir own && cd own && git init -q && echo x >x && git add x && git -c user.name=a -c user.email=a@b commit -qm x",
    ] {
        let (record, _) = ground.hold(alone(&ground, &format!("echo 42 >answer; {line}"))).await;
        let candidate = &record.candidates[0];
        assert!(matches!(candidate.marks.as_slice(), [Mark::Nested { .. }]), "{line}: {candidate:?}");
        assert_eq!(record.winner, None);
        // Nothing of it is lost.
        assert!(candidate.left.as_ref().is_some_and(|left| left.join("answer").exists()), "{line}");
        let (kind, said) = applied(&ground, &record, Some(1)).await.unwrap_err();
        assert!(kind == ErrorKind::Invalid && said.contains("repository"), "{said}");
    }
}

#[tokio::test]
async fn a_worktree_that_is_gone_is_the_candidates_failure() {
    let ground = Ground::new();
    let setup = ground.setup(&["cd .. && rm -rf 1", "echo 42 >answer"]);
    let (record, _) = ground.hold(setup).await;
    assert!(
        matches!(&record.candidates[0].ended, Some(Ended::Failed { message }) if message.contains("gone")),
        "{record:?}"
    );
    assert_eq!(record.winner, Some(2));
}

#[tokio::test]
async fn a_write_protected_worktree_is_taken_away_all_the_same() {
    let ground = Ground::new();
    let (record, _) = ground.hold(alone(&ground, "mkdir d && echo x >d/x && chmod 500 d")).await;
    assert_eq!(record.winner, Some(1), "{record:?}");
}

#[tokio::test]
async fn a_folder_of_the_repository_and_a_worktree_of_the_users() {
    let ground = Ground::new();
    ground.write("sub/in", "1\n");
    ground.commit("A folder");
    let mut setup = alone(&ground, "test -f in && echo 2 >in && echo 3 >../answer");
    setup.directory = ground.project().join("sub");
    let (record, _) = ground.hold(setup).await;
    assert_eq!(record.folder.display().to_string(), "sub/");
    assert_eq!(record.candidates[0].diff.as_ref().unwrap().files, 2);
    let aside = ground.project().join("../aside");
    ground.git(&["worktree", "add", "--quiet", "--detach", aside.to_str().unwrap()]);
    let mut setup = alone(&ground, "echo 42 >answer");
    setup.directory = aside;
    let (record, _) = ground.hold(setup).await;
    assert_eq!((record.winner, record.base.branch), (Some(1), None));
}

#[tokio::test]
async fn no_repository_and_no_commit_and_no_git_are_told() {
    let ground = Ground::empty();
    let error = ground.refused(alone(&ground, "true")).await;
    assert!(error.message.contains("no git repository") && error.hint.unwrap().contains("junto run"));
    ground.git(&["init", "--quiet"]);
    let error = ground.refused(alone(&ground, "true")).await;
    assert!(error.message.contains("no commit"), "{}", error.message);
    let ground = Ground::new();
    *ground.crew.path.lock().unwrap() = "/nonexistent";
    let error = ground.refused(alone(&ground, "true")).await;
    assert!(error.message.contains("there is no git") && error.hint.is_some(), "{}", error.message);
}

#[tokio::test]
async fn apply_takes_a_clean_tree_and_what_fits() {
    let ground = Ground::new();
    let (record, _) = ground.hold(ground.setup(&["echo 43 >answer", "echo 42 >answer && echo x >new"])).await;
    let trunk = ground.git(&["rev-parse", "trunk"]);
    let refuse = async |candidate, expected| {
        let before = ground.untouched();
        let (kind, said) = applied(&ground, &record, candidate).await.unwrap_err();
        assert_eq!(kind, expected, "{said}");
        let (mine, theirs) = (ground.untouched(), before);
        // Objects may have been fetched; branches and files are as they were.
        let parts = |text: &str| text.split("count:").next().unwrap().to_owned();
        assert_eq!(parts(&mine), parts(&theirs));
    };
    refuse(Some(7), ErrorKind::NotFound).await;
    ground.write("answer", "mine\n");
    refuse(None, ErrorKind::Dirty).await;
    ground.git(&["checkout", "--quiet", "answer"]);
    ground.write("new", "mine\n");
    refuse(None, ErrorKind::Conflict).await;
    fs::remove_file(ground.project().join("new")).unwrap();
    // A near miss is applied only if it is named; the same candidate twice gets two branches.
    let one = applied(&ground, &record, Some(1)).await.unwrap();
    ground.git(&["checkout", "--quiet", "trunk"]);
    let two = applied(&ground, &record, Some(1)).await.unwrap();
    assert_ne!(one, two);
    ground.git(&["checkout", "--quiet", "trunk"]);
    assert_eq!(ground.git(&["rev-parse", "trunk"]), trunk);
    // The repository has moved on: it is merged, or refused.
    ground.write("other", "other\n");
    ground.commit("Something else");
    applied(&ground, &record, None).await.unwrap();
    assert_eq!(fs::read_to_string(ground.project().join("answer")).unwrap(), "42\n");
    assert!(ground.project().join("other").exists());
    // A branch that does not hold what the run began with gets the candidate's changes and no others.
    ground.git(&["checkout", "--quiet", "-b", "elsewhere", "trunk~1"]);
    ground.write("aside", "aside\n");
    ground.commit("Aside");
    ground.git(&["checkout", "--quiet", "-b", "further", "trunk"]);
    let (later, _) = ground.hold(ground.setup(&["echo 42 >answer"])).await;
    ground.git(&["checkout", "--quiet", "elsewhere"]);
    applied(&ground, &later, None).await.unwrap();
    assert_eq!(ground.git(&["diff", "--name-only", "HEAD~1", "HEAD"]).trim(), "answer");
    ground.git(&["checkout", "--quiet", "trunk"]);
    ground.write("answer", "50\n");
    ground.commit("Another answer");
    refuse(None, ErrorKind::Conflict).await;
}

#[tokio::test]
async fn what_is_ignored_is_not_overwritten() {
    let ground = Ground::new();
    ground.write(".gitignore", "local\n");
    ground.commit("Ignores");
    ground.write("local", "mine\n");
    let task = "echo 42 >answer && rm .gitignore && echo theirs >local";
    let (record, _) = ground.hold(ground.setup(&[task])).await;
    let (kind, said) = applied(&ground, &record, None).await.unwrap_err();
    assert_eq!(kind, ErrorKind::Conflict, "{said}");
    assert_eq!(fs::read_to_string(ground.project().join("local")).unwrap(), "mine\n");
}

#[tokio::test]
async fn a_run_is_applied_where_it_belongs_and_only_if_somebody_won() {
    let ground = Ground::new();
    let (record, _) = ground.hold(ground.setup(&["echo 43 >answer"])).await;
    assert_eq!(applied(&ground, &record, None).await.unwrap_err().0, ErrorKind::Invalid);
    let other = Ground::new();
    let env =
        LocalEnvironment::builder(other.project()).variables([("PATH", "/usr/bin:/bin")]).build().unwrap();
    let env = std::sync::Arc::new(env);
    let error = apply(&ground.runs(), &record.run, Some(1), env, &other.project()).await.unwrap_err();
    assert!(error.to_string().contains("not of") && error.advice().is_some(), "{error}");
    assert_eq!(ground.runs().find(&record.run.0[..20]).unwrap(), record.run);
    for wrong in ["", "nope", "../x"] {
        assert_eq!(ground.runs().find(wrong).unwrap_err().kind(), ErrorKind::NotFound, "{wrong}");
    }
}

/// A member that nothing confines can leave its checkout; that it did is told.
#[tokio::test]
async fn what_changes_in_the_users_repository_meanwhile_is_told() {
    let ground = Ground::new();
    let project = ground.project();
    let project = project.to_str().unwrap();
    let (record, _) = ground.hold(alone(&ground, "echo 42 >answer")).await;
    assert_eq!(record.disturbed, None);
    for (line, told) in [
        (format!("echo x >{project}/stray; echo 42 >answer"), "?? stray"),
        (format!("git -C {project} branch stray; echo 42 >answer"), "branches or tags are others"),
    ] {
        let (record, outcome) = ground.play(alone(&ground, &line)).await;
        let record = record.unwrap();
        assert!(record.disturbed.as_ref().is_some_and(|words| words.contains(told)), "{record:?}");
        assert!(outcome.text.contains("a member left its checkout"), "{outcome:?}");
        let _ = fs::remove_file(ground.project().join("stray"));
    }
}
