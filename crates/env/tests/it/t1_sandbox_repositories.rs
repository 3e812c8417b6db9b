//! The repositories that git obeys when its user calls it in the project next: wherever they are, no command changes
//! their settings.

use std::path::{Path, PathBuf};

use junto_env::{
    Access, ErrorKind, ExecutionEnvironment as _, Expect, LocalEnvironment, RealPath, Sandbox,
    SandboxedEnvironment,
};

use crate::cage::{Held, means};
use crate::t1_bare_repository::{git, run, run_beside};
use crate::t1_sandbox_held;

/// Has git run something for whoever calls it here.
const OBEY: &str = "git config core.fsmonitor \"touch $ROOT/ran;:\"";
/// Makes a repository here that does.
const PLANT: &str = "git init -q && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a && \
     git config core.fsmonitor \"touch $ROOT/ran;:\"";

/// A directory for temporary files that is in no repository.
fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    (dir, root)
}

/// Runs a line in a sandbox, and git after it; says whether git did what it was told by the line.
fn obeys(root: &Path, work: &Path, temporary: &[PathBuf], line: &str) -> (bool, String) {
    let line = format!(
        "export GIT_CEILING_DIRECTORIES={} ROOT={}; ({}); touch made",
        std::env::temp_dir().display(),
        root.display(),
        line.replace("OBEY", OBEY).replace("PLANT", PLANT),
    );
    let said = run_beside(work, temporary.to_vec(), &line);
    assert!(work.join("made").exists(), "{line}: {said}");
    git(work, &["status"]);
    (root.join("ran").exists(), said)
}

fn commit(work: &Path) {
    git(work, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "a"]);
}

/// A submodule in the index, and nowhere else.
fn add_link(work: &Path, path: &str) {
    let entry = format!("160000,{},{path}", "1".repeat(40));
    git(work, &["update-index", "--add", "--cacheinfo", &entry]);
}

#[test]
fn a_repository_whose_git_is_a_file_is_kept_where_that_leads() {
    for (separate, line) in [
        (".bare", "OBEY"),
        (".bare", "chmod -R u+w .bare; echo x > .bare/hooks/pre-commit; OBEY"),
        (".bare", "cp -r .bare x; mv .bare y; mv x .bare; OBEY"),
        ("conf/deep/git", "OBEY"),
        ("conf/deep/git", "cp -r conf x; mv conf y; mv x conf; OBEY"),
        ("conf/deep/git", "rm -rf conf/deep; mkdir conf/deep; git init -q --bare conf/deep/git; OBEY"),
    ] {
        let (_dir, root) = place();
        let work = root.join("work");
        std::fs::create_dir_all(work.join("conf/deep")).unwrap();
        git(&work, &["init", "-q", &format!("--separate-git-dir={separate}")]);
        assert!(work.join(".git").is_file());
        let (obeys, said) = obeys(&root, &work, &[], line);
        assert!(!obeys, "{separate} {line}: {said}");
    }
    // Nothing else is.
    let (_dir, root) = place();
    std::fs::create_dir(root.join("conf")).unwrap();
    git(&root, &["init", "-q", "--separate-git-dir=conf/git"]);
    assert_eq!(run(&root, "echo x > conf/x && mv conf/x x && echo MADE").trim(), "MADE");
}

#[test]
fn a_repository_that_is_gone_is_not_made_where_its_git_leads() {
    let (_dir, root) = place();
    let work = root.join("work");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(work.join(".git"), "gitdir: away/git\n").unwrap();
    let line =
        "mkdir -p away; git init -q --bare away/git; git --git-dir=away/git config core.bare false; OBEY";
    let (obeys, said) = obeys(&root, &work, &[], line);
    assert!(!obeys, "{said}");
    assert!(!work.join("away").exists(), "{said}");
}

#[test]
fn worktrees_of_a_repository_beside_them_are_kept_with_it() {
    for line in [
        "cd main; OBEY",
        "git --git-dir=.bare config core.fsmonitor \"touch $ROOT/ran;:\"",
        "git --git-dir=.bare config extensions.worktreeConfig true; \
         git config -f .bare/worktrees/main/config.worktree core.fsmonitor \"touch $ROOT/ran;:\"",
        "echo gitdir: ../x > main/.git; cp -r .bare x; cd main; OBEY",
    ] {
        let (_dir, root) = place();
        let work = root.join("work");
        std::fs::create_dir(&work).unwrap();
        git(&work, &["init", "-q", "--bare", ".bare"]);
        std::fs::write(work.join(".git"), "gitdir: ./.bare\n").unwrap();
        commit(&work);
        git(&work, &["worktree", "add", "-q", "main"]);
        assert!(work.join("main/.git").is_file());
        let (obeys, said) = obeys(&root, &work, &[], line);
        git(&work.join("main"), &["status"]);
        assert!(!obeys && !root.join("ran").exists(), "{line}: {said}");
    }
}

/// As some have it: the repository is the folder that its worktrees are in.
#[test]
fn a_repository_around_its_worktrees_is_kept() {
    const OF_ALL: &str = "git --git-dir=$BARE config core.fsmonitor \"touch $ROOT/ran;:\"";
    const OF_ONE: &str = "cp -r $BARE $ROOT/work/main/x; git --git-dir=$ROOT/work/main/x config core.fsmonitor \
         \"touch $ROOT/ran;:\"; echo $ROOT/work/main/x > $BARE/worktrees/main/commondir";
    for (at, line) in [
        ("", OF_ALL),
        ("", OF_ONE),
        ("", "cd main; OBEY"),
        ("main", OF_ALL),
        ("main", OF_ONE),
        ("main", "OBEY"),
    ] {
        let (_dir, root) = place();
        let bare = root.join("work");
        std::fs::create_dir(&bare).unwrap();
        git(&bare, &["init", "-q", "--bare"]);
        let tree = git(&bare, &["mktree"]);
        let words = ["-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-m", "a", &tree];
        let first = git(&bare, &words);
        git(&bare, &["worktree", "add", "-q", "main", &first]);
        assert!(bare.join("main/.git").is_file());
        let line = format!("BARE={}; {line}", bare.display());
        let (_, said) = obeys(&root, &bare.join(at), std::slice::from_ref(&root), &line);
        git(&bare.join("main"), &["status"]);
        assert!(!root.join("ran").exists(), "{at}: {line}: {said}");
    }
}

#[test]
fn a_worktree_is_kept_where_commands_can_write_its_repository() {
    let (_dir, root) = place();
    let (work, main) = (root.join("work"), root.join("main"));
    std::fs::create_dir(&main).unwrap();
    git(&main, &["init", "-q"]);
    commit(&main);
    git(&main, &["worktree", "add", "-q", "../work"]);
    let (obeys, said) = obeys(&root, &work, std::slice::from_ref(&root), "OBEY");
    assert!(!obeys, "{said}");
    // Whoever names it to be changed has chosen that.
    let parts = ["objects", "refs", "logs", "worktrees/work"].map(|part| main.join(".git").join(part));
    let env = sandboxed(&work, parts.to_vec());
    let commit =
        "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m b && git log -1 --format=%s";
    assert_eq!(t1_sandbox_held::said(&env, commit).lines().last(), Some("b"));
}

fn sandboxed(work: &Path, writable: Vec<PathBuf>) -> SandboxedEnvironment {
    let builder = LocalEnvironment::builder(work).variables([("PATH", "/usr/local/bin:/usr/bin:/bin")]);
    let sandbox = Sandbox { temporary: Some(Vec::new()), writable, ..Sandbox::workspace() };
    SandboxedEnvironment::with_means(builder, sandbox, &means(Held::Walls)).unwrap()
}

#[test]
fn no_repository_is_made_where_the_index_has_one() {
    for (folder, line) in [
        (true, "cd lib/sub && PLANT"),
        (true, "rmdir lib/sub; mkdir lib/sub; cd lib/sub && PLANT"),
        (true, "mv lib x; mkdir -p lib/sub; cd lib/sub && PLANT"),
        (false, "mkdir -p lib/sub; cd lib/sub && PLANT"),
        (false, "mkdir -p x/sub; (cd x/sub && PLANT); mv x lib"),
    ] {
        for format in ["2", "4"] {
            let (_dir, root) = place();
            let work = root.join("work");
            std::fs::create_dir(&work).unwrap();
            git(&work, &["init", "-q"]);
            add_link(&work, "lib/sub");
            git(&work, &["update-index", "--index-version", format]);
            if folder {
                std::fs::create_dir_all(work.join("lib/sub")).unwrap();
            }
            let (obeys, said) = obeys(&root, &work, &[], line);
            assert!(!obeys, "{format} {line}: {said}");
            assert_eq!(work.join("lib").exists(), folder, "{format} {line}: {said}");
        }
    }
    // Else this would say nothing.
    let (_dir, root) = place();
    git(&root, &["init", "-q"]);
    std::fs::create_dir(root.join("sub")).unwrap();
    assert!(!obeys(&root, &root, &[], "cd sub && PLANT").0);
    git(&root, &["add", "sub"]);
    git(&root, &["status"]);
    assert!(root.join("ran").exists());
}

#[test]
fn a_submodule_of_a_submodule_is_kept_from_being_made() {
    let (_dir, root) = place();
    let work = root.join("work");
    let sub = work.join("lib/sub");
    std::fs::create_dir_all(sub.join("deep/inner")).unwrap();
    for dir in [&work, &sub] {
        git(dir, &["init", "-q"]);
    }
    add_link(&sub, "deep/inner");
    commit(&sub);
    git(&work, &["add", "lib/sub"]);
    let (obeys, said) = obeys(&root, &work, &[], "cd lib/sub/deep/inner && PLANT");
    assert!(!obeys, "{said}");
}

#[test]
fn more_submodules_than_are_kept_are_a_gap_that_is_reported() {
    let (_dir, root) = place();
    git(&root, &["init", "-q"]);
    for number in 0..20 {
        add_link(&root, &format!("sub{number}"));
    }
    let builder = || LocalEnvironment::builder(&root).variables([("PATH", "/usr/bin:/bin")]);
    let weaker = Sandbox { accept_weaker: true, ..Sandbox::workspace() };
    let env = SandboxedEnvironment::with_means(builder(), weaker.clone(), &means(Held::Walls)).unwrap();
    let gaps: Vec<String> = env.gaps().iter().map(ToString::to_string).collect();
    assert!(gaps.len() == 1 && gaps[0].contains("submodules"), "{gaps:?}");
    let whole = Sandbox { accept_weaker: false, ..weaker.clone() };
    let error = SandboxedEnvironment::with_means(builder(), whole, &means(Held::Walls)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let reads = Sandbox { access: Access::ReadOnly, accept_weaker: false, ..weaker };
    assert!(SandboxedEnvironment::with_means(builder(), reads, &means(Held::Walls)).is_ok());
}

/// Commands write among temporary files, and git goes up from a project there.
#[test]
fn no_repository_is_made_around_the_work() {
    const POSE: &str = "mkdir -p objects refs; echo ref: refs/heads/main > HEAD; \
         printf '[core]\\n\\tbare = false\\n\\tworktree = %s\\n\\tfsmonitor = \"touch %s/ran;:\"\\n' \"$PWD\" $ROOT > config";
    for line in ["cd ..; PLANT", "cd ../..; PLANT", "cd ..; POSE", "cd ../..; POSE"] {
        let (_dir, root) = place();
        let work = root.join("x/work");
        std::fs::create_dir_all(&work).unwrap();
        let (obeys, said) = obeys(&root, &work, std::slice::from_ref(&root), &line.replace("POSE", POSE));
        assert!(!obeys, "{line}: {said}");
        assert!(![&root, &root.join("x")].iter().any(|dir| dir.join(".git").exists()), "{line}: {said}");
    }
}

#[test]
fn the_repository_around_the_work_is_kept_among_temporary_files() {
    let (_dir, root) = place();
    let (project, work) = (root.join("x"), root.join("x/sub"));
    std::fs::create_dir_all(&work).unwrap();
    git(&project, &["init", "-q"]);
    for line in
        ["OBEY", "rm -rf ../.git; cd ..; PLANT", "cp -r .. ../../y; mv ../../x ../../z; mv ../../y ../../x"]
    {
        let (obeys, said) = obeys(&root, &work, std::slice::from_ref(&root), line);
        assert!(!obeys && project.join(".git/HEAD").exists(), "{line}: {said}");
    }
    // Nothing stands above it, where git does not go.
    let said = run_beside(&work, vec![root.clone()], "ls -A ../..");
    assert_eq!(said.split_whitespace().filter(|name| *name != "y").collect::<Vec<_>>(), ["x"]);
}

#[tokio::test]
async fn file_tools_are_kept_from_what_commands_are() {
    let (_dir, root) = place();
    let work = root.join("work");
    std::fs::create_dir_all(work.join("conf")).unwrap();
    git(&work, &["init", "-q", "--separate-git-dir=conf/git"]);
    add_link(&work, "lib/sub");
    let nested = work.join("nested");
    std::fs::create_dir(&nested).unwrap();
    git(&nested, &["init", "-q"]);
    let env = sandboxed(&work, Vec::new());
    let real = |path: &str| RealPath::resolved(work.join(path));
    for path in ["conf/git/config", "nested/.git/config", "lib/sub/.git/config", "later/.git/config"] {
        let written = env.write(&real(path), b"x", Expect::Any).await;
        assert_eq!(written.map_err(|e| e.kind()).err(), Some(ErrorKind::Denied), "{path}");
    }
    for (from, to) in [("conf", "other"), ("nested", "other"), ("conf/git", "x")] {
        let renamed = env.rename(&real(from), &real(to)).await;
        assert_eq!(renamed.map_err(|e| e.kind()), Err(ErrorKind::Denied), "{from}");
    }
    env.write(&real("conf/x"), b"x", Expect::Absent).await.unwrap();
    env.write(&real("nested/x"), b"x", Expect::Absent).await.unwrap();
}
