//! How walls are built: told to bubblewrap when it has started, whole or not at all, by what is there then.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use junto_env::{
    CommandSpec, ErrorKind, LocalBuilder, LocalEnvironment, Means, ResourceLimits, Sandbox,
    SandboxedEnvironment, exec,
};
use tokio_util::sync::CancellationToken;

use crate::cage::{BOTH, Cage, Held, check, check_in, means};
use crate::support::HANG;

/// A `bwrap` that is told only so many words as a file says, as if whoever tells it had died. In the file is then how
/// many there were.
fn cut_short(dir: &Path, real: &Path) -> PathBuf {
    let (program, words) = (dir.join("bwrap"), dir.join("words"));
    let script = format!(
        "#!/usr/bin/env python3
import os, sys
told = int(sys.argv[sys.argv.index('--args') + 1])
text = b''
while piece := os.read(told, 65536):
    text += piece
words = text.split(b'\\0')[:-1]
with open('{words}', 'r+') as file:
    cut = int(file.read())
    file.seek(0)
    file.write(str(len(words)).ljust(8))
part = os.memfd_create('part')
os.write(part, b''.join(word + b'\\0' for word in words[:cut]))
os.lseek(part, 0, os.SEEK_SET)
os.dup2(part, told)
os.execv('{real}', ['{real}'] + sys.argv[1:])
",
        words = words.display(),
        real = real.display(),
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[test]
fn walls_that_are_told_in_part_hold_nothing_and_nothing_runs() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let words = dir.path().join("words");
    let real = means(Held::Walls);
    let program = cut_short(dir.path(), real.bwrap.as_deref().unwrap());
    let cage = Cage::with_means(&Means { bwrap: Some(program), ..real }, Sandbox::workspace());
    check_in(cage, async |cage| {
        let command = || {
            let mut command = CommandSpec::argv(["/bin/echo", "RAN"]);
            // Not what the test is about, and there are many.
            command.inherits = false;
            command
        };
        std::fs::write(&words, "10000").unwrap();
        assert_eq!(cage.run(command()).await, ("RAN\n".to_owned(), Some(0)));
        let all: usize = std::fs::read_to_string(&words).unwrap().trim().parse().unwrap();
        assert!(all > 20, "{all}");
        for cut in 0..all {
            std::fs::write(&words, cut.to_string()).unwrap();
            let (said, code) = cage.run(command()).await;
            assert!(!said.contains("RAN") && code != Some(0), "{cut} of {all} words: {said}");
        }
    });
}

/// Means with a bubblewrap that builds nothing and writes down what it is told, and where it does.
fn noting(dir: &Path) -> (Means, PathBuf) {
    let (program, words) = (dir.join("bwrap"), dir.join("words"));
    let script = format!("#!/bin/sh\ntr '\\0' '\\n' < /dev/fd/$2 > {}\n", words.display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    (Means { bwrap: Some(program), ..means(Held::Walls) }, words)
}

/// Root reads everything, and others what is theirs: whom the system keeps from a file no wall is built for, nor where
/// it keeps nothing, unless that was asked for.
#[test]
fn a_file_that_is_closed_anyway_takes_no_wall() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (means, words) = noting(dir.path());
    let told = || std::fs::read_to_string(&words).unwrap();
    let has_wall = |path: &Path| told().lines().any(|line| Path::new(line) == path);
    let shadow = Path::new("/etc/shadow");
    check_in(Cage::with_means(&means, Sandbox::workspace()), async |cage| {
        std::fs::set_permissions(cage.at("home/work/.env"), std::fs::Permissions::from_mode(0o000)).unwrap();
        cage.says("true").await;
        // Another could be put in its place.
        assert!(has_wall(&cage.at("home/work/.env")), "{}", told());
        assert!(has_wall(&cage.at("home/.ssh")), "{}", told());
        let holds_one = |text: String| text.contains('$');
        assert_eq!(has_wall(shadow), std::fs::read_to_string(shadow).is_ok_and(holds_one), "{}", told());
    });
    let named = Sandbox { hidden: vec![shadow.to_owned()], ..Sandbox::workspace() };
    check_in(Cage::with_means(&means, named), async |cage| {
        cage.says("true").await;
        assert_eq!(has_wall(shadow), std::fs::File::open(shadow).is_ok(), "{}", told());
    });
}

/// Each wall takes its time, and a project as most are has no more than it needs.
#[test]
fn a_usual_project_takes_few_walls() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (means, words) = noting(dir.path());
    check_in(Cage::with_means(&means, Sandbox::workspace()), async |cage| {
        std::fs::remove_dir_all(cage.at("home/work/sub")).unwrap();
        cage.says("true").await;
        let told = std::fs::read_to_string(&words).unwrap();
        let told: Vec<&str> = told.lines().collect();
        let walls = told.windows(3).filter(|words| words[0].ends_with("bind") && words[2].len() > 1);
        let here = cage.root.to_str().unwrap();
        let mut walls: Vec<&str> = walls.filter_map(|words| words[2].strip_prefix(here)).collect();
        walls.sort_unstable();
        assert_eq!(walls, ["/home/tmp", "/home/work", "/home/work/.env", "/home/work/.git"]);
    });
}

#[test]
fn what_appears_between_two_commands_is_hidden_or_kept() {
    check(Held::Walls, Sandbox::workspace(), async |cage| {
        let work = cage.at("home/work");
        assert_eq!(cage.says("true").await.1, Some(0));
        std::fs::write(work.join(".env.local"), "KEY=3").unwrap();
        std::fs::create_dir(work.join(".vscode")).unwrap();
        std::fs::write(work.join(".vscode/tasks.json"), "{}").unwrap();
        for line in ["cat .env.local", "echo x > .vscode/tasks.json", "rm -r .vscode", "mkdir .claude"] {
            let (said, code) = cage.says(line).await;
            assert!(code != Some(0) && !said.contains("KEY"), "{line}: {said}");
        }
        assert_eq!(cage.says("cat .vscode/tasks.json").await, ("{}".to_owned(), Some(0)));
        std::fs::remove_dir_all(work.join(".vscode")).unwrap();
        assert_ne!(cage.says("mkdir .vscode").await.1, Some(0));
        assert!(!work.join(".vscode").exists());
    });
}

#[test]
fn what_was_hidden_stays_hidden_wherever_somebody_moves_it() {
    check(Held::Walls, Sandbox::workspace(), async |cage| {
        let work = cage.at("home/work");
        assert_eq!(cage.says("mkdir node_modules").await.1, Some(0));
        std::fs::rename(work.join("sub"), work.join("node_modules/x")).unwrap();
        // Something in its place, so that nothing seems to be missing.
        assert_eq!(cage.says("mkdir sub && echo none > sub/.env").await.1, Some(0));
        let (said, _) = cage.says("cat node_modules/x/.env sub/.env").await;
        assert!(!said.contains("KEY"), "{said}");
        // Where it is now it is held.
        let (said, code) = cage.says("mv node_modules y").await;
        assert!(code != Some(0) && work.join("node_modules/x").exists(), "{said}");
        std::fs::rename(work.join("node_modules"), work.join("y")).unwrap();
        let (said, _) = cage.says("cat y/x/.env").await;
        assert!(!said.contains("KEY"), "{said}");
        assert_eq!(std::fs::read_to_string(work.join("y/x/.env")).unwrap(), "KEY=2");
    });
}

/// What a line says, both streams.
fn said(env: &SandboxedEnvironment, line: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let never = CancellationToken::new();
        let ended = exec(env, CommandSpec::shell(line), HANG, &never, &mut |_| {}).await.unwrap();
        String::from_utf8_lossy(ended.both.head()).into_owned()
    })
}

#[test]
fn no_directory_above_the_work_is_replaced_by_another() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = dir.path().canonicalize().unwrap();
    let work = root.join("a/b/work");
    std::fs::create_dir_all(work.join(".git")).unwrap();
    std::fs::write(work.join(".git/config"), "theirs").unwrap();
    let line = format!(
        "cd /; mv {0}/a {0}/c; mv {0}/a/b {0}/a/c; mkdir -p {0}/a/b/work/.git; echo ours > {0}/a/b/work/.git/config; \
         mkdir {0}/a/b/work/.claude && echo MADE; touch {0}/a/x && echo WRITTEN",
        root.display()
    );
    let sandbox = Sandbox { temporary: Some(vec![root.clone()]), ..Sandbox::workspace() };
    let builder = LocalEnvironment::builder(&work).variables([("PATH", "/usr/bin:/bin")]);
    let env = SandboxedEnvironment::with_means(builder, sandbox, &means(Held::Walls)).unwrap();
    let said = said(&env, &line);
    assert!(said.contains("WRITTEN") && !said.contains("MADE"), "{said}");
    assert_eq!(std::fs::read_to_string(work.join(".git/config")).unwrap(), "theirs", "{said}");
    assert!(!root.join("c").exists() && !work.join(".claude").exists(), "{said}");
}

#[test]
fn commands_side_by_side_are_all_kept_from_making_settings_and_leave_none() {
    check(Held::Walls, Sandbox::workspace(), async |cage| {
        let line = "for i in 1 2 3; do mkdir .claude .junto && echo ESCAPED; rmdir .codex && echo ESCAPED; \
                    (echo x > .vscode/tasks.json) && echo ESCAPED; done";
        for _ in 0..4 {
            let one = || cage.says(line);
            let said = tokio::join!(one(), one(), one(), one(), one(), one());
            for (said, _) in <[_; 6]>::from(said) {
                assert!(!said.contains("ESCAPED"), "{said}");
            }
            assert_eq!(in_work(cage), [".env", ".git", "src", "sub"]);
        }
    });
}

/// The ways in which walls are built: what is found, for a user without rights, by a `bwrap` that knows less; and what is
/// said in each to somebody who writes where settings would be.
fn ways() -> [(Means, &'static str); 3] {
    let found = means(Held::Walls);
    assert!(found.message_queues, "{found:?}");
    let by_rights = if found.user_namespace { "Permission denied" } else { "Too many open files" };
    let without_rights = Means { user_namespace: true, ..found.clone() };
    let knows_less = Means { message_queues: false, ..found.clone() };
    [(found, by_rights), (without_rights, "Permission denied"), (knows_less, "Read-only file system")]
}

/// What is in the working directory, seen from outside.
fn in_work(cage: &Cage) -> Vec<String> {
    let work = std::fs::read_dir(cage.at("home/work")).unwrap();
    let mut names: Vec<String> =
        work.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_a_settings_folder_that_is_not_there_would_hold_cannot_be_written() {
    for (means, expected) in ways() {
        check_in(Cage::with_means(&means, Sandbox::workspace()), async |cage| {
            let line = "echo x > .claude/settings.json";
            let (said, code) = cage.says(line).await;
            assert!(code != Some(0) && said.contains(expected), "{line}: {said}");
            for line in [
                "chmod 700 .claude; echo x > .claude/settings.json",
                "touch .junto/config.toml",
                "mkdir .vscode/x",
                "chmod 700 .vscode; mkdir .vscode/x",
                "ln -s ../src .agents/skills",
                "chmod 700 .agents; ln -s ../src .agents/skills",
                "ulimit -q 1000000; echo x > .goose/x",
                "cp src/main.rs .codex/config.toml",
                "chmod 700 .codex; cp src/main.rs .codex/config.toml",
                "python3 -c \"open('.gemini/settings.json', 'w').write('x')\"",
                "rmdir .claude",
                "mv .claude src/claude",
                "mv src .claude",
                "umount .claude",
                "umount -l .claude",
                "chmod 700 .claude; rm -rf .claude",
                "chmod 700 .claude; rm -rf .claude; mkdir -p .claude; touch .claude/x",
            ] {
                let (said, code) = cage.says(line).await;
                assert!(code != Some(0) && !said.is_empty(), "{line}: {said}");
                assert_eq!(in_work(cage), [".env", ".git", "src", "sub"], "{line}: {said}");
            }
        });
    }
}

#[test]
fn no_repository_is_made_where_none_is() {
    for (means, _) in ways() {
        check_in(Cage::with_means(&means, Sandbox::workspace()), async |cage| {
            std::fs::remove_dir_all(cage.at("home/work/.git")).unwrap();
            for line in ["git init", "chmod 700 .git; git init", "git init --template="] {
                let (said, code) = cage.says(line).await;
                assert!(code != Some(0) && said.contains("fatal"), "{line}: {said}");
                assert_eq!(in_work(cage), [".env", "src", "sub"], "{line}: {said}");
            }
        });
    }
}

#[test]
fn a_folder_that_keeps_settings_from_being_made_is_empty_and_in_nobodys_way() {
    for (means, _) in ways() {
        check_in(Cage::with_means(&means, Sandbox::workspace()), async |cage| {
            for folder in ["objects", "refs"] {
                std::fs::create_dir(cage.at("home/work/.git").join(folder)).unwrap();
            }
            std::fs::write(cage.at("home/work/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
            assert_eq!(cage.says("ls -A .claude .codex").await.0, ".claude:\n\n.codex:\n");
            let (said, code) = cage.says("git status --porcelain").await;
            let is_new = |line: &str| line.starts_with("?? .") && !line.contains(".env");
            assert!(code == Some(0) && said.contains("src/") && !said.lines().any(is_new), "{said}");
            let all = "python3 -c \"import shutil; shutil.copytree('.claude', '$TMPDIR/a')\" && \
                       cp -rL .codex $TMPDIR/b && tar cf $TMPDIR/c .gemini && ls $TMPDIR && rm -r $TMPDIR/[abc]";
            assert_eq!(cage.says(all).await, ("a\nb\nc\nold\n".to_owned(), Some(0)));
        });
    }
}

#[test]
fn what_is_hidden_stays_so_where_settings_are_kept_from_being_made_in_it() {
    for (means, _) in ways() {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("work")).unwrap();
        std::fs::create_dir_all(root.join("keys/deep")).unwrap();
        std::fs::write(root.join("keys/one"), "private").unwrap();
        std::fs::write(root.join("keys/deep/two"), "private").unwrap();
        let sandbox = Sandbox {
            hidden: vec![root.join("keys")],
            writable: vec![root.join("keys"), root.join("keys/deep")],
            ..Sandbox::workspace()
        };
        let builder = LocalEnvironment::builder(root.join("work")).variables([("PATH", "/usr/bin:/bin")]);
        let env = SandboxedEnvironment::with_means(builder, sandbox, &means).unwrap();
        let said = said(&env, "echo RAN; cat ../keys/one ../keys/deep/two; find ../keys -type f");
        assert!(said.contains("RAN") && !said.contains("private"), "{said}");
        assert_eq!(std::fs::read_dir(root.join("keys")).unwrap().count(), 2, "{said}");
    }
}

#[test]
fn more_variables_than_a_pipe_holds_arrive() {
    check(Held::Walls, Sandbox::workspace(), async |cage| {
        let mut command = CommandSpec::shell("echo ${#A} ${#B} ${#C}");
        for name in ["A", "B", "C"] {
            command.variables.insert(name.to_owned(), "x".repeat(100_000));
        }
        assert_eq!(cage.run(command).await, ("100000 100000 100000\n".to_owned(), Some(0)));
    });
}

/// A home with work in it, and a link to that.
fn home() -> (tempfile::TempDir, PathBuf, LocalBuilder) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("home/work/src")).unwrap();
    std::fs::create_dir_all(root.join("home/.ssh")).unwrap();
    std::fs::write(root.join("home/notes"), "private").unwrap();
    std::os::unix::fs::symlink("home/work", root.join("link")).unwrap();
    let home = root.join("home").display().to_string();
    let variables = [("PATH", "/usr/bin:/bin".to_owned()), ("HOME", home)];
    let builder = LocalEnvironment::builder(root.join("home/work")).variables(variables);
    (dir, root, builder)
}

#[test]
fn to_hide_where_the_work_is_is_refused() {
    let (_dir, root, builder) = home();
    let absolute = ["", "home", "home/work", "link"].map(|below| root.join(below));
    let relative = ["", ".", "..", "../..", "src/..", "none/../..", "/", "~", "~/work", "~/none/../work/."];
    for path in relative.map(PathBuf::from).iter().chain(&absolute) {
        for held in BOTH {
            let weaker = Sandbox { accept_weaker: true, ..Sandbox::workspace() };
            let hidden = Sandbox { hidden: vec![path.clone()], ..weaker.clone() };
            let error = SandboxedEnvironment::with_means(builder.clone(), hidden, &means(held))
                .err()
                .expect("refused");
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(error.to_string().contains("cannot be hidden"), "{error}");
            // What rules say of other places keeps nobody from working here.
            let unread = Sandbox { unread: vec![path.clone()], ..weaker };
            let env = SandboxedEnvironment::with_means(builder.clone(), unread, &means(held)).unwrap();
            assert_eq!(said(&env, "pwd -P"), format!("{}\n", root.join("home/work").display()), "{path:?}");
        }
    }
    // Nor do secrets that are known, for whoever works where they are.
    let keys = LocalEnvironment::builder(root.join("home/.ssh"))
        .variables([("PATH", "/usr/bin:/bin".to_owned()), ("HOME", root.join("home").display().to_string())]);
    let env = SandboxedEnvironment::with_means(keys, Sandbox::workspace(), &means(Held::Walls)).unwrap();
    assert_eq!(said(&env, "pwd -P"), format!("{}\n", root.join("home/.ssh").display()));
}

#[test]
fn what_is_named_from_above_or_from_the_home_is_hidden() {
    let (_dir, root, builder) = home();
    for path in ["../notes", "src/../../notes", "~/notes", "~/work/../notes", "../../link/../notes"] {
        for held in BOTH {
            let hidden = vec![PathBuf::from(path)];
            let sandbox = Sandbox { hidden, accept_weaker: true, ..Sandbox::workspace() };
            sandbox.check_named(&root.join("home/work"), Some(&root.join("home"))).unwrap();
            let env = SandboxedEnvironment::with_means(builder.clone(), sandbox, &means(held)).unwrap();
            let said = said(&env, "pwd -P; cat ../notes");
            assert!(said.contains("home/work") && !said.contains("private"), "{held:?} {path}: {said}");
        }
    }
}

#[test]
fn what_is_named_must_be_there() {
    let (_dir, root, _) = home();
    let work = root.join("home/work");
    std::fs::write(work.join("a*"), "").unwrap();
    std::os::unix::fs::symlink("nowhere", work.join("dangling")).unwrap();
    let check = |sandbox: Sandbox| sandbox.check_named(&work, Some(&root.join("home")));
    for (path, expected) in [
        ("src", Ok(())),
        ("~/notes", Ok(())),
        ("a*", Ok(())),
        ("none", Err(ErrorKind::NotFound)),
        ("~/none", Err(ErrorKind::NotFound)),
        ("~other/notes", Err(ErrorKind::NotFound)),
        ("a*/none", Err(ErrorKind::Invalid)),
        ("dangling", Err(ErrorKind::NotFound)),
        ("*", Err(ErrorKind::Invalid)),
        ("~/*.md", Err(ErrorKind::Invalid)),
    ] {
        let checked = check(Sandbox { hidden: vec![path.into()], ..Sandbox::workspace() });
        assert_eq!(checked.map_err(|error| error.kind()), expected, "{path}");
    }
    let checked = check(Sandbox { writable: vec![root.join("none")], ..Sandbox::workspace() });
    assert_eq!(checked.map_err(|error| error.kind()), Err(ErrorKind::NotFound));
}

#[test]
fn limits_that_leave_nothing_are_refused() {
    let (_dir, _, builder) = home();
    let none = ResourceLimits::default();
    for (limits, what) in [
        (ResourceLimits { processes: Some(0), ..none }, "processes"),
        (ResourceLimits { memory: Some(0), ..none }, "memory"),
        (ResourceLimits { file_size: Some(0), ..none }, "files"),
    ] {
        let sandbox = Sandbox { limits, accept_weaker: true, ..Sandbox::workspace() };
        let made = SandboxedEnvironment::with_means(builder.clone(), sandbox, &means(Held::Walls));
        let error = made.err().expect("refused");
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains(what), "{error}");
    }
}
