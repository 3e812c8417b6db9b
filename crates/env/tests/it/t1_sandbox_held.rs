//! What is hidden or kept stays where it is: no command reads a secret by moving the folder that it is in, or puts
//! something in the place of what Junto and its user obey.

use std::fs;
use std::path::{Path, PathBuf};

use junto_env::{CommandSpec, ErrorKind, LocalEnvironment, Sandbox, SandboxedEnvironment, exec};
use tokio_util::sync::CancellationToken;

use crate::cage::{Held, means};
use crate::support::HANG;

/// What a line says in an environment, both streams.
pub(crate) fn said(env: &SandboxedEnvironment, line: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let never = CancellationToken::new();
        let ended = exec(env, CommandSpec::shell(line), HANG, &never, &mut |_| {}).await.unwrap();
        String::from_utf8_lossy(ended.both.head()).into_owned()
    })
}

/// A home, and files in it.
fn home(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let home = dir.path().canonicalize().unwrap();
    for path in files {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "theirs").unwrap();
    }
    (dir, home)
}

/// Each is as if of another process: nothing is known of what was hidden before.
fn environment(home: &Path, work: &Path, sandbox: Sandbox) -> SandboxedEnvironment {
    let variables = [("PATH", "/usr/bin:/bin".to_owned()), ("HOME", home.display().to_string())];
    let builder = LocalEnvironment::builder(work).variables(variables);
    // In the system's the home may be, and then all of it could be changed.
    let sandbox = Sandbox { temporary: Some(Vec::new()), ..sandbox };
    SandboxedEnvironment::with_means(builder, sandbox, &means(Held::Walls)).unwrap()
}

#[test]
fn a_secret_is_not_read_by_moving_what_it_is_in() {
    for line in [
        "mkdir node_modules; mv app node_modules/",
        "mkdir node_modules; mv app/web node_modules/",
        "mv app/web/.env x",
        "mv app x; mv x/web target; mv web target",
        "python3 -c \"import os; os.rename('app', 'target')\"",
        "python3 -c \"import ctypes; print(ctypes.CDLL(None).renameat2(-100, b'app', -100, b'src', 2))\"",
        "rm -rf app",
    ] {
        let (_dir, home) = home(&["work/app/web/.env", "work/src/a", "work/app/b"]);
        let work = home.join("work");
        said(&environment(&home, &work, Sandbox::workspace()), line);
        let second = environment(&home, &work, Sandbox::workspace());
        let said = said(&second, "cat $(find . -name .env) */.env */*/.env */*/*/.env x; echo RAN");
        assert!(said.contains("RAN") && !said.contains("theirs"), "{line}: {said}");
        assert_eq!(fs::read_to_string(work.join("app/web/.env")).unwrap(), "theirs", "{line}");
    }
}

#[test]
fn what_is_beside_a_secret_can_be_worked_with() {
    let (_dir, home) = home(&["work/app/web/.env", "work/app/b", "work/lib/c"]);
    let env = environment(&home, &home.join("work"), Sandbox::workspace());
    let line = "mv app/b app/web/d && mv app/web/d lib/e && mkdir app/web/new && mv lib app/web/ && rm -r app/web/new \
                && mv app/web/lib . && cat lib/e && ls -A app/web";
    assert_eq!(said(&env, line), "theirs.env\n");
}

/// What is held is shown whole, and so must not be what is around somebody else's socket.
#[test]
fn a_socket_above_the_work_is_not_there() {
    // Among the system's temporary files.
    let dir = tempfile::tempdir().unwrap();
    let above = dir.path().canonicalize().unwrap().join("x");
    let work = above.join("work");
    for folder in ["objects", "refs"] {
        fs::create_dir_all(work.join(".git").join(folder)).unwrap();
    }
    fs::write(work.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(work.join("a"), "theirs").unwrap();
    let _listens = std::os::unix::net::UnixListener::bind(above.join("theirs.sock")).unwrap();
    let sandbox = Sandbox { sockets: vec![above.join("named")], ..Sandbox::workspace() };
    let builder = LocalEnvironment::builder(work).variables([("PATH", "/usr/bin:/bin")]);
    let env = SandboxedEnvironment::with_means(builder, sandbox, &means(Held::Walls)).unwrap();
    assert_eq!(said(&env, "ls .. .; cat a"), ".:\na\n\n..:\nwork\ntheirs");
}

/// One command moves the folder to and fro, and another waits for it to be where nobody looks.
#[test]
fn two_commands_side_by_side_read_no_secret() {
    let (_dir, home) = home(&["work/app/.env"]);
    let work = home.join("work");
    std::thread::scope(|scope| {
        let one = environment(&home, &work, Sandbox::workspace());
        let moves = "for i in $(seq 500); do mv app app2; mv app2 app; done 2> /dev/null";
        let moving = scope.spawn(move || said(&one, moves));
        while !moving.is_finished() {
            let other = environment(&home, &work, Sandbox::workspace());
            let said = said(&other, "cat app/.env app2/.env");
            assert!(!said.contains("theirs"), "{said}");
        }
    });
}

#[test]
fn more_folders_with_secrets_than_are_held_are_a_gap_that_is_reported() {
    let files: Vec<String> = (0..40).map(|number| format!("work/app{number}/.env")).collect();
    let (_dir, home) = home(&files.iter().map(String::as_str).collect::<Vec<_>>());
    let work = home.join("work");
    let weaker = Sandbox { accept_weaker: true, ..Sandbox::workspace() };
    let env = environment(&home, &work, weaker);
    let gaps: Vec<String> = env.gaps().iter().map(ToString::to_string).collect();
    assert!(gaps.len() == 1 && gaps[0].contains("moving"), "{gaps:?}");
    let builder = || LocalEnvironment::builder(&work).variables([("PATH", "/usr/bin:/bin")]);
    let whole = SandboxedEnvironment::with_means(builder(), Sandbox::workspace(), &means(Held::Walls));
    assert_eq!(whole.err().map(|error| error.kind()), Some(ErrorKind::Unsupported));
    assert!(SandboxedEnvironment::with_means(builder(), Sandbox::read_only(), &means(Held::Walls)).is_ok());
    fs::remove_dir_all(work.join("app0")).unwrap();
    // What one environment has hidden it hides wherever it is moved, also where it is not held.
    for (number, line) in [(39, "mv app39 x"), (39, "mv x app39")] {
        said(&env, line);
        let said = said(&env, "cat */.env");
        assert!(!said.contains("theirs"), "{number}: {said}");
    }
}

#[test]
fn whoever_works_at_home_keeps_the_settings_of_the_program_that_asks() {
    const MODE: &str = "'[policy]\nmode = \"full\"'";
    let plant = |at: &str| {
        format!("mkdir -p {at} && echo {MODE} > {at}/config.toml; mkdir -p .config/other && echo MADE")
    };
    for (files, at, line) in [
        (&[][..], ".config/junto", plant(".config/junto")),
        (&[".config/a"][..], ".config/junto", plant(".config/junto")),
        (&[".config/junto/config.toml"][..], ".config/junto", plant(".config/junto")),
        (
            &[".config/junto/config.toml"][..],
            ".config/junto",
            format!("mv .config .c2; {}", plant(".config/junto")),
        ),
        (&[][..], "a/b/junto", plant("a/b/junto")),
        (&["a/b/junto/config.toml"][..], "a/b/junto", format!("mv a c; {}", plant("a/b/junto"))),
    ] {
        let (_dir, home) = home(files);
        let sandbox = || Sandbox { unread: vec![home.join("a/b/junto")], ..Sandbox::workspace() };
        let env = environment(&home, &home, sandbox());
        let first = said(&env, &line);
        assert!(first.contains("MADE"), "{line}: {first}");
        // For a second command the folders are there.
        let second = said(&env, &line);
        let there = fs::read_to_string(home.join(at).join("config.toml")).unwrap_or_default();
        assert_eq!(
            there,
            if files.iter().any(|file| file.starts_with(at)) { "theirs" } else { "" },
            "{line}: {first} {second}"
        );
    }
}

#[test]
fn whoever_works_at_home_gets_no_keys_and_programs_of_others() {
    let (_dir, home) = home(&["notes"]);
    let env = environment(&home, &home, Sandbox::workspace());
    for line in [
        "mkdir .ssh; echo key > .ssh/authorized_keys",
        "mkdir x; echo key > x/authorized_keys; mv x .ssh",
        "mkdir .kube && echo x > .kube/config",
        "mkdir .aws && echo x > .aws/config",
    ] {
        let said = said(&env, line);
        assert!(![".ssh", ".kube", ".aws"].iter().any(|name| home.join(name).exists()), "{line}: {said}");
    }
    // Tools stumble over a folder where they expect a file.
    assert_eq!(said(&env, "ls -d .npmrc .netrc 2> /dev/null; echo x > .npmrc && echo MADE"), "MADE\n");
    // What is made for the command's time is no secret, and is not looked for when it is gone.
    fs::create_dir(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id"), "theirs").unwrap();
    assert!(!said(&env, "cat .ssh/id").contains("theirs"));
}

/// A folder that a link leads to is hidden; the link itself can be replaced.
#[test]
fn a_link_where_keys_are_expected_is_a_gap_where_it_can_be_replaced() {
    let (_dir, home) = home(&["work/a", "files/ssh/id"]);
    std::os::unix::fs::symlink("files/ssh", home.join(".ssh")).unwrap();
    let weaker = || Sandbox { accept_weaker: true, ..Sandbox::workspace() };
    let gaps = |work: &Path| environment(&home, work, weaker()).gaps().len();
    assert_eq!((gaps(&home), gaps(&home.join("work"))), (1, 0));
}

#[test]
fn what_a_process_that_was_killed_left_at_home_or_above_the_work_is_taken_away() {
    use std::os::unix::fs::DirBuilderExt as _;
    let (_dir, home) = home(&["notes", "tmp/x/work/a"]);
    let (work, temporary) = (home.join("tmp/x/work"), home.join("tmp"));
    let left = [home.join(".ssh"), home.join("tmp/.git"), home.join("tmp/x/HEAD"), work.join(".git")];
    for path in &left {
        fs::DirBuilder::new().mode(0o500).create(path).unwrap();
    }
    let make = |work: &Path| {
        let variables = [("PATH", "/usr/bin:/bin".to_owned()), ("HOME", home.display().to_string())];
        let builder = LocalEnvironment::builder(work).variables(variables);
        let sandbox = Sandbox { temporary: Some(vec![temporary.clone()]), ..Sandbox::workspace() };
        drop(SandboxedEnvironment::with_means(builder, sandbox, &means(Held::Walls)).unwrap());
    };
    make(&work);
    assert_eq!([0, 1, 2, 3].map(|at: usize| left[at].exists()), [true, false, false, false]);
    make(&home);
    assert!(!left[0].exists());
}
