//! Ways out that are no paths to files: sockets, FIFOs and devices, and a place that is among these.

use std::io::{ErrorKind as Io, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;

use junto_env::{
    Access, CommandSpec, ErrorKind, LocalBuilder, LocalEnvironment, RealPath, Sandbox, SandboxedEnvironment,
    TerminalSize, exec,
};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, acceptfrom, bind, listen, socket_with,
};
use tokio_util::sync::CancellationToken;

use crate::cage::{BOTH, Cage, Held, check, means};
use crate::support::HANG;

const ALL: [Access; 2] = [Access::Workspace, Access::ReadOnly];

/// Everything that one of a pair of sockets can be told to do with an address.
const PAIRS: &str = "
import os, socket
from socket import AF_UNIX, SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_CLOEXEC, SOCK_NONBLOCK
addresses = [os.environ['O'] + name for name in ('/datagrams', '/stream', '/packets')]
def connected(a, address):
    a.connect(address)
    a.send(b'x')
ways = [
    lambda a, b, address: a.sendto(b'x', address),
    lambda a, b, address: a.sendmsg([b'x'], [], 0, address),
    lambda a, b, address: connected(a, address),
    lambda a, b, address: (b.close(), connected(a, address)),
    lambda a, b, address: (b.close(), a.sendto(b'x', address)),
    lambda a, b, address: (a.shutdown(socket.SHUT_RDWR), connected(a, address)),
]
for kind in [SOCK_DGRAM, SOCK_RAW, SOCK_STREAM, SOCK_SEQPACKET, 4, 6, 10, 15]:
    for flags in [0, SOCK_CLOEXEC | SOCK_NONBLOCK]:
        for address in addresses:
            for way in ways:
                try:
                    a, b = socket.socketpair(AF_UNIX, kind | flags)
                    # Or it waits for somebody to read.
                    a.setblocking(False)
                    way(a, b, address)
                except OSError: pass
for kind in [SOCK_STREAM, SOCK_SEQPACKET]:
    a, b = socket.socketpair(AF_UNIX, kind)
    a.send(b'own')
    print(b.recv(3))
";

#[test]
fn no_pair_of_sockets_reaches_others() {
    for access in ALL {
        for held in BOTH {
            check(held, Sandbox { access, ..Sandbox::default() }, async |cage| {
                let at = |name: &str| cage.at("outside").join(name);
                let datagrams = UnixDatagram::bind(at("datagrams")).unwrap();
                datagrams.set_nonblocking(true).unwrap();
                let stream = UnixListener::bind(at("stream")).unwrap();
                stream.set_nonblocking(true).unwrap();
                let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC);
                let packets = socket_with(AddressFamily::UNIX, kind, flags, None).unwrap();
                bind(&packets, &SocketAddrUnix::new(at("packets")).unwrap()).unwrap();
                listen(&packets, 8).unwrap();
                let reached = || {
                    let datagrams = std::iter::from_fn(|| datagrams.recv(&mut [0; 8]).ok()).count();
                    let stream = std::iter::from_fn(|| stream.accept().ok()).count();
                    let packets = std::iter::from_fn(|| acceptfrom(&packets).ok()).count();
                    (datagrams, stream, packets)
                };
                let probe = || {
                    let mut command = CommandSpec::argv(["python3", "-c", PAIRS]);
                    command.variables.insert("O".to_owned(), cage.at("outside").display().to_string());
                    command
                };
                let (said, code) = cage.run(probe()).await;
                assert_eq!((said.as_str(), code), ("b'own'\nb'own'\n", Some(0)), "{held:?} {access:?}");
                assert_eq!(reached(), (0, 0, 0), "{held:?} {access:?}");
                cage.says_free(probe()).await;
                assert_ne!(reached().0, 0, "not even outside");
            });
        }
    }
}

/// Root may change what is said of a device, which is the system's. Each is tried with what is said of it already.
#[test]
fn devices_of_the_system_stay_as_they_are_and_can_be_used() {
    let changes = "for device in null zero full random urandom tty; do
                       for way in chmod chown chgrp 'touch -c'; do
                           $way --reference=/dev/$device /dev/$device 2> /dev/null && echo ESCAPED: $way $device
                       done
                   done
                   chmod 666 /proc/self/fd/0 && echo ESCAPED by standard input
                   exec 3< /dev/full; chmod 666 /proc/self/fd/3 && echo ESCAPED by another
                   true";
    let uses = "echo x > /dev/null && cat < /dev/null && head -c 3 /dev/zero | wc -c && head -c 3 /dev/urandom | wc -c; \
                (echo x > /dev/full) 2> /dev/null || echo full";
    for access in [Access::Workspace, Access::ReadOnly] {
        check(Held::Walls, Sandbox { access, ..Sandbox::default() }, async |cage| {
            for terminal in [None, Some(TerminalSize::default())] {
                let command = CommandSpec { terminal, ..CommandSpec::shell(changes) };
                let (said, code) = cage.run(command).await;
                assert!(!said.contains("ESCAPED") && code == Some(0), "{access:?}: {said}");
            }
            let (said, code) = cage.says(uses).await;
            assert!(said == "3\n3\nfull\n", "{access:?}: {said} {code:?}");
        });
    }
}

/// A FIFO, and whoever reads it.
fn read_by_a_service(path: &Path) -> std::fs::File {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let both = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    std::fs::File::options().read(true).write(true).custom_flags(both).open(path).unwrap()
}

fn exec_in(env: &SandboxedEnvironment, line: &str) -> (String, Option<i32>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let never = CancellationToken::new();
        let ended = exec(env, CommandSpec::shell(line), HANG, &never, &mut |_| {}).await.unwrap();
        (String::from_utf8_lossy(ended.both.head()).into_owned(), ended.exit.code)
    })
}

#[test]
fn what_services_read_from_is_not_written() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = dir.path().canonicalize().unwrap();
    for folder in ["work", "runtime/service/deep", "own"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    // For those who may write there.
    let system = tempfile::tempdir_in("/run").ok();
    let mut paths = vec![root.join("runtime/top"), root.join("runtime/service/deep/control")];
    paths.extend(system.iter().map(|dir| dir.path().join("control")));
    let mut services: Vec<_> = paths.iter().map(|path| read_by_a_service(path)).collect();
    let _own = read_by_a_service(&root.join("own/fifo"));
    let variables = [
        ("PATH", "/usr/bin:/bin".to_owned()),
        ("HOME", root.display().to_string()),
        ("XDG_RUNTIME_DIR", root.join("runtime").display().to_string()),
    ];
    let builder = LocalEnvironment::builder(root.join("work")).variables(variables);
    for access in ALL {
        let (writable, temporary) = (vec![root.join("own")], Some(Vec::new()));
        let sandbox = Sandbox { access, writable, temporary, ..Sandbox::default() };
        let env = SandboxedEnvironment::with_means(builder.clone(), sandbox, &means(Held::Walls)).unwrap();
        for (path, service) in paths.iter().zip(&mut services) {
            let (said, code) =
                exec_in(&env, &format!("echo x > {0} || echo y > /proc/self/root{0}", path.display()));
            assert_ne!(code, Some(0), "{}: {said}", path.display());
            let heard = service.read(&mut [0; 8]).map_err(|e| e.kind());
            assert_eq!(heard, Err(Io::WouldBlock), "{}", path.display());
        }
        // What is the command's own works, and nobody misses one that has gone.
        if access == Access::Workspace {
            assert_eq!(exec_in(&env, "echo x > ../own/fifo && echo y").0, "y\n");
        }
        std::fs::remove_file(&paths[0]).unwrap();
        assert_eq!(exec_in(&env, "echo x").0, "x\n");
        services[0] = read_by_a_service(&paths[0]);
    }
}

fn in_memory() -> Option<(tempfile::TempDir, LocalBuilder)> {
    let dir = tempfile::tempdir_in("/dev/shm").ok()?;
    let builder = LocalEnvironment::builder(dir.path()).variables([("PATH", "/usr/bin:/bin"), ("HOME", "/")]);
    Some((dir, builder))
}

/// It would not be there, and the command would run somewhere else.
#[test]
fn work_among_devices_is_refused_where_these_are_made_anew() {
    let Some((dir, builder)) = in_memory() else { return };
    for access in [Access::Workspace, Access::ReadOnly, Access::Aside] {
        let sandbox = Sandbox { access, accept_weaker: true, ..Sandbox::default() };
        let made = SandboxedEnvironment::with_means(builder.clone(), sandbox.clone(), &means(Held::Walls));
        let error = made.err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(dir.path().to_str().unwrap()), "{error}");
        let env = SandboxedEnvironment::with_means(builder.clone(), sandbox, &means(Held::Kernel)).unwrap();
        assert_eq!(exec_in(&env, "pwd").0, format!("{}\n", dir.path().display()));
    }
    let work = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let elsewhere = LocalEnvironment::builder(work.path()).variables([("PATH", "/usr/bin:/bin")]);
    let sandbox = Sandbox { writable: vec![dir.path().to_owned()], ..Sandbox::workspace() };
    let made = SandboxedEnvironment::with_means(elsewhere, sandbox, &means(Held::Walls));
    assert_eq!(made.err().expect("refused").kind(), ErrorKind::Invalid);
}

#[test]
fn a_command_runs_where_it_was_told_to_or_not_at_all() {
    let Some((dir, _)) = in_memory() else { return };
    check(Held::Walls, Sandbox::workspace(), async |cage: &Cage| {
        let mut command = CommandSpec::shell("echo RAN; pwd");
        command.cwd = Some(RealPath::resolved(dir.path().canonicalize().unwrap()));
        let (said, code) = cage.run(command).await;
        assert!(!said.contains("RAN") && said.contains("shm") && code != Some(0), "{said}");
        let (said, _) = cage.says("pwd; echo $PWD").await;
        let work = cage.at("home/work").display().to_string();
        assert_eq!(said, format!("{work}\n{work}\n"));
    });
}

#[test]
fn more_secrets_than_walls_can_be_built_for_are_refused_with_what_helps() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let keys = dir.path().join("keys");
    std::fs::create_dir(&keys).unwrap();
    for number in 0..3000 {
        std::fs::write(keys.join(format!(".env.{number}")), "").unwrap();
    }
    let builder = LocalEnvironment::builder(dir.path()).variables([("PATH", "/usr/bin:/bin")]);
    let made = |sandbox| SandboxedEnvironment::with_means(builder.clone(), sandbox, &means(Held::Walls));
    let error = made(Sandbox::workspace()).err().expect("refused");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("300") && error.to_string().contains("hide"), "{error}");
    let env = made(Sandbox { hidden: vec![keys], ..Sandbox::workspace() }).unwrap();
    assert_eq!(exec_in(&env, "echo x").0, "x\n");
}
