//! What holds a command-line agent that does not keep to a mode by itself.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use junto::env::{Access, CommandSpec, ErrorKind, LocalEnvironment, Means, Network, Sandbox, exec};
use junto::policy::Mode;
use junto::{Enforcement, Guard};
use tokio_util::sync::CancellationToken;

/// Longer than anything healthy takes on a busy machine.
const LONG: Duration = Duration::from_mins(1);

fn folders() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for name in ["work", "own", "more", "tmp", "outside"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    folder
}

/// A guard of a mode that lets nobody reach anybody, over what the kernel has.
fn guard(folder: &Path) -> Guard {
    let sandbox = Sandbox {
        network: Network::Off,
        writable: vec![folder.join("more")],
        temporary: Some(vec![folder.join("tmp")]),
        ..Sandbox::default()
    };
    let means = Some(Means::find(None).without_bwrap());
    Guard { sandbox, means, ..Guard::new(Mode::ReadOnly) }
}

/// Which of the folders a command can write into, and whether it reaches a server.
async fn done_in(guard: &Guard, folder: &Path, access: Access) -> (Vec<&'static str>, bool) {
    let local = LocalEnvironment::builder(folder.join("work")).variables([("PATH", "/usr/bin:/bin")]);
    let cage = guard.cage(local, access, vec![folder.join("own")]).unwrap();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let port = server.local_addr().unwrap().port();
    let line = format!(
        "for name in work own more tmp outside; do echo x > ../$name/made; done; exec 3<> /dev/tcp/127.0.0.1/{port}"
    );
    let command = CommandSpec::argv(["bash", "-c", &line].map(str::to_owned).to_vec());
    exec(&*cage, command, LONG, &CancellationToken::new(), &mut |_| {}).await.unwrap();
    let made = |name: &&str| std::fs::remove_file(folder.join(name).join("made")).is_ok();
    let made = ["work", "own", "more", "tmp", "outside"].into_iter().filter(made).collect();
    (made, server.accept().is_ok())
}

#[tokio::test]
async fn a_caged_agent_changes_what_it_may_and_reaches_its_model() {
    let folder = folders();
    let guard = guard(folder.path());
    // Whom it reaches is not the guard's to say: without its model it could do nothing.
    let read_only = done_in(&guard, folder.path(), Access::ReadOnly).await;
    assert_eq!(read_only, (vec!["own", "more", "tmp"], true));
    let workspace = done_in(&guard, folder.path(), Access::Workspace).await;
    assert_eq!(workspace, (vec!["work", "own", "more", "tmp"], true));
}

#[tokio::test]
async fn work_among_temporary_files_is_not_changed_as_one_of_them() {
    let folder = folders();
    let mut guard = guard(folder.path());
    guard.sandbox.temporary = Some(vec![folder.path().to_owned(), folder.path().join("tmp")]);
    let (made, _) = done_in(&guard, folder.path(), Access::ReadOnly).await;
    assert_eq!(made, ["own", "more", "tmp"]);
    let (made, _) = done_in(&guard, folder.path(), Access::Workspace).await;
    assert_eq!(made, ["work", "own", "more", "tmp", "outside"]);
}

#[tokio::test]
async fn there_is_no_cage_where_nobody_wants_one() {
    let folder = folders();
    let guard = Guard { enforcement: Enforcement::Off, ..guard(folder.path()) };
    let free = done_in(&guard, folder.path(), Access::ReadOnly).await;
    assert_eq!(free, (vec!["work", "own", "more", "tmp", "outside"], true));
}

#[test]
fn what_cannot_be_held_is_not_run() {
    let folder = folders();
    for enforcement in [Enforcement::Auto, Enforcement::Whole] {
        let guard = Guard { enforcement, means: Some(Means::default()), ..guard(folder.path()) };
        let cage = guard.cage(LocalEnvironment::builder(folder.path()), Access::ReadOnly, Vec::new());
        assert_eq!(cage.err().map(|error| error.kind()), Some(ErrorKind::Unsupported), "{enforcement:?}");
    }
}
