//! A place with something to escape to: a home with keys, a directory outside, a process, servers.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use junto_env::{
    CommandSpec, ExecutionEnvironment as _, LocalEnvironment, Means, Process, Sandbox, SandboxedEnvironment,
    exec, survivors,
};
use tokio_util::sync::CancellationToken;

use crate::support::{HANG, line};

/// By what a sandbox is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Bubblewrap, with the kernel.
    Walls,
    /// The kernel alone.
    Kernel,
}

pub(crate) const BOTH: [Held; 2] = [Held::Walls, Held::Kernel];

/// What this machine has; with a `bwrap`, which the tests are given.
#[expect(clippy::disallowed_methods, reason = "the variable by which tests find a program")]
pub(crate) fn means(held: Held) -> Means {
    static FOUND: OnceLock<Means> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let path = "/usr/local/bin:/usr/bin:/bin";
        let given = std::env::var("JUNTO_PEER_BWRAP");
        let given = given.map(|bwrap| Path::new(&bwrap).parent().unwrap().display().to_string());
        let path = given.map_or(path.to_owned(), |folder| format!("{folder}:{path}"));
        Means::find(Some(path.as_ref()))
    });
    let found = found.clone();
    assert!(found.landlock.is_some() && found.seccomp, "{found:?}");
    match held {
        Held::Walls => {
            assert!(
                found.bwrap.is_some(),
                "run the tests with `cargo xtask test`, which has a bwrap: {found:?}"
            );
            found
        }
        Held::Kernel => found.without_bwrap(),
    }
}

/// What is outside a sandbox, and what is in it.
pub(crate) struct Cage {
    pub(crate) env: SandboxedEnvironment,
    pub(crate) root: PathBuf,
    free: LocalEnvironment,
    _dir: tempfile::TempDir,
}

impl Cage {
    /// One of which the kernel alone need not keep everything.
    pub(crate) fn new(held: Held, sandbox: Sandbox) -> Self {
        let accept_weaker = sandbox.accept_weaker || held == Held::Kernel;
        Self::weaker(held, Sandbox { accept_weaker, ..sandbox })
    }

    pub(crate) fn weaker(held: Held, sandbox: Sandbox) -> Self {
        Self::with_means(&means(held), sandbox)
    }

    pub(crate) fn with_means(means: &Means, sandbox: Sandbox) -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (path, content) in [
            ("home/.ssh/id_rsa", "key"),
            ("home/.config/gcloud/token", "key"),
            ("home/notes", "public"),
            ("home/work/.git/config", "[core]\n"),
            ("home/work/.env", "KEY=1"),
            ("home/work/sub/.env", "KEY=2"),
            ("home/work/src/main.rs", "fn main() {}\n"),
            ("home/tmp/old", ""),
            ("outside/file", "theirs"),
        ] {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let builder = || {
            let variables = [
                ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
                ("HOME", root.join("home").display().to_string()),
                ("TMPDIR", root.join("home/tmp").display().to_string()),
            ];
            LocalEnvironment::builder(root.join("home/work")).variables(variables)
        };
        let temporary = Some(vec![root.join("home/tmp")]);
        let sandbox = Sandbox { temporary, ..sandbox };
        let env = SandboxedEnvironment::with_means(builder(), sandbox, means).unwrap();
        Self { env, free: builder().build().unwrap(), root, _dir: dir }
    }

    pub(crate) fn at(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// What a line says in the sandbox, both streams, and its code.
    pub(crate) async fn says(&self, line: &str) -> (String, Option<i32>) {
        self.run(CommandSpec::shell(line)).await
    }

    pub(crate) async fn run(&self, command: CommandSpec) -> (String, Option<i32>) {
        let ended = exec(&self.env, command, HANG, &CancellationToken::new(), &mut |_| {}).await.unwrap();
        (String::from_utf8_lossy(ended.both.head()).into_owned(), ended.exit.code)
    }

    /// The same without the sandbox.
    pub(crate) async fn says_free(&self, command: CommandSpec) -> String {
        let ended = exec(&self.free, command, HANG, &CancellationToken::new(), &mut |_| {}).await.unwrap();
        String::from_utf8_lossy(ended.both.head()).into_owned()
    }

    /// A process outside that does nothing.
    pub(crate) async fn victim(&self) -> Process {
        let mut process = self.free.spawn(CommandSpec::shell("echo ready; exec sleep 1000")).await.unwrap();
        line(&mut process).await;
        process
    }
}

/// Runs a test in a cage, and ends it with the survivor check.
pub(crate) fn check(held: Held, sandbox: Sandbox, test: impl AsyncFnOnce(&Cage)) {
    check_in(Cage::new(held, sandbox), test);
}

pub(crate) fn check_in(cage: Cage, test: impl AsyncFnOnce(&Cage)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(HANG, test(&cage)).await.expect("the test hangs") });
    drop(runtime);
    assert_eq!(survivors::after(&cage.env, HANG), []);
    assert_eq!(survivors::after(&cage.free, HANG), []);
}

/// Servers on this machine that answer whoever comes: over TCP, UDP, a Unix socket and an abstract one.
pub(crate) struct Servers {
    pub(crate) tcp: u16,
    pub(crate) udp: u16,
    pub(crate) unix: PathBuf,
    pub(crate) hidden: String,
}

impl Servers {
    /// The Unix socket is made in a directory. The servers live as long as the test's process.
    pub(crate) fn start(dir: &Path) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let path = dir.join("tools.sock");
        let unix = UnixListener::bind(&path).unwrap();
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let hidden = format!("junto-test-{}-{number}", std::process::id());
        let abstract_ = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&hidden).unwrap()).unwrap();
        let ports = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
        std::thread::spawn(move || {
            for mut client in tcp.incoming().flatten() {
                client.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
                // Enough for a request's head, if there is one.
                let _ = client.read(&mut [0; 4096]);
                let _ = client
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
            }
        });
        std::thread::spawn(move || {
            let mut data = [0; 16];
            while let Ok((length, from)) = udp.recv_from(&mut data) {
                let _ = udp.send_to(&data[..length], from);
            }
        });
        for listener in [unix, abstract_] {
            std::thread::spawn(move || {
                for mut client in listener.incoming().flatten() {
                    let _ = client.read(&mut [0; 16]);
                    let _ = client.write_all(b"hello");
                }
            });
        }
        Self { tcp: ports.0, udp: ports.1, unix: path, hidden }
    }
}
