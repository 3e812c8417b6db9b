//! Life in a sandbox: what works there, how it ends, and what file operations say.

use std::io::Read as _;
use std::time::Duration;

use junto_env::{
    ByteRange, CommandSpec, ErrorKind, ExecutionEnvironment as _, Exit, Expect, Gap, LocalEnvironment,
    Network, RealPath, ResourceLimits, Sandbox, SandboxedEnvironment, Search, Stdin, TerminalSize,
};
use tokio_util::sync::CancellationToken;

use crate::cage::{BOTH, Cage, Held, Servers, check, check_in, means};
use crate::support::{HANG, line};

#[test]
fn what_work_needs_works() {
    for held in BOTH {
        check(held, Sandbox::workspace(), async |cage| {
            for line in [
                "echo x > new && cat new && mkdir -p a/b && mv new a/b && rm -r a",
                "echo x > $TMPDIR/y && cat $TMPDIR/y",
                "cat ../notes /etc/passwd > /dev/null && ls / ~ > /dev/null",
                "echo x > /dev/null && head -c 4 /dev/urandom > /dev/null",
                "(sleep 0.01 & wait) && echo a | cat | cat",
                "git init -q sub/repo && cd sub/repo && git -c user.name=a -c user.email=b commit -q --allow-empty -m c",
                "python3 -c 'import subprocess; subprocess.run([\"true\"], check=True)'",
                "chmod 755 src/main.rs && test -x src/main.rs",
            ] {
                let (said, code) = cage.says(line).await;
                assert_eq!(code, Some(0), "{held:?}: {line}: {said}");
            }
        });
    }
}

#[test]
fn what_is_left_running_ends_with_the_command() {
    for held in BOTH {
        check(held, Sandbox::workspace(), async |cage| {
            // Each holds the pipe open until it is gone.
            let mut scripts =
                vec!["setsid sleep 1000 9>pipe &", "(setsid sh -c 'exec 9>pipe; sleep 1000' &)"];
            if held == Held::Walls {
                // Known by nothing but the walls around it.
                scripts.push(
                    "(env -i setsid sh -c 'exec 9>pipe >/dev/null 2>&1 </dev/null; exec sleep 1000' &)",
                );
            }
            for script in scripts {
                let pipe = cage.at("home/work/pipe");
                let _ = std::fs::remove_file(&pipe);
                assert_eq!(cage.says_free(CommandSpec::shell("mkfifo pipe")).await, "");
                let reader = std::thread::spawn(move || {
                    let mut said = String::new();
                    std::fs::File::open(pipe).unwrap().read_to_string(&mut said).unwrap();
                    said
                });
                let started = format!("exec 8>pipe\n{script}\necho begun >&8; sleep 0.1");
                let (said, code) = cage.says(&started).await;
                assert_eq!((said.as_str(), code), ("", Some(0)), "{script}");
                let said = tokio::task::spawn_blocking(|| reader.join().unwrap());
                assert_eq!(tokio::time::timeout(HANG, said).await.expect(script).unwrap(), "begun\n");
            }
        });
    }
}

#[test]
fn keys_and_interrupts_reach_the_command() {
    let script = "trap 'echo heard; exit 9' INT; echo ready; while :; do sleep 0.01; done";
    for held in BOTH {
        check(held, Sandbox::workspace(), async |cage| {
            let mut process = cage.env.spawn(CommandSpec::shell(script)).await.unwrap();
            assert_eq!(line(&mut process).await, "ready");
            process.interrupt().unwrap();
            assert_eq!(line(&mut process).await, "heard");
            assert_eq!(process.wait().await.unwrap(), Exit { code: Some(9), signal: None });

            let mut command = CommandSpec::shell(format!("test -t 1 && {script}"));
            command.stdin = Stdin::Open;
            command.terminal = Some(TerminalSize { rows: 24, columns: 80 });
            let mut process = cage.env.spawn(command).await.unwrap();
            assert_eq!(line(&mut process).await, "ready");
            process.write(b"\x03").await.unwrap();
            let mut said = String::new();
            while let Some(piece) = process.output().await.unwrap() {
                said.push_str(&String::from_utf8_lossy(&piece.bytes));
            }
            assert!(said.contains("heard"), "{held:?}: {said:?}");
            assert_eq!(process.wait().await.unwrap().code, Some(9));
        });
    }
}

#[test]
fn who_is_asked_to_end_says_how_it_did() {
    for held in BOTH {
        check(held, Sandbox::workspace(), async |cage| {
            for _ in 0..20 {
                // Not with `wait`: a shell that is asked right before it begins to waits on.
                let script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done";
                let mut process = cage.env.spawn(CommandSpec::shell(script)).await.unwrap();
                assert_eq!(line(&mut process).await, "ready");
                assert_eq!(process.close(HANG).await.unwrap(), Exit { code: Some(7), signal: None });
            }
        });
    }
}

#[test]
fn limits_hold() {
    let limits =
        ResourceLimits { file_size: Some(100_000), memory: Some(200 << 20), ..ResourceLimits::default() };
    for held in BOTH {
        check(held, Sandbox { limits, ..Sandbox::workspace() }, async |cage| {
            let (_, code) = cage.says("head -c 1000 /dev/zero > small").await;
            assert_eq!(code, Some(0));
            let (_, code) = cage.says("head -c 1000000 /dev/zero > large").await;
            assert_ne!(code, Some(0), "{held:?}");
            assert!(std::fs::metadata(cage.at("home/work/large")).unwrap().len() <= 100_000);
            let (said, _) = cage.says("python3 -c 'bytearray(1 << 30)'").await;
            assert!(said.contains("MemoryError"), "{held:?}: {said}");
            assert_eq!(cage.says("python3 -c 'bytearray(1 << 20)'").await.1, Some(0));
        });
    }
}

#[test]
fn processes_are_counted_or_it_is_said_that_they_are_not() {
    let limits = ResourceLimits { processes: Some(8), ..ResourceLimits::default() };
    let sandbox = Sandbox { limits, ..Sandbox::workspace() };
    if nix::unistd::geteuid().is_root() {
        let gaps = means(Held::Walls).gaps(&sandbox);
        assert_eq!(gaps, [Gap::Processes]);
        return;
    }
    check(Held::Walls, sandbox, async |cage| {
        let (said, _) = cage.says("for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1 & done; wait").await;
        assert!(said.contains("fork"), "{said}");
    });
}

#[test]
fn what_cannot_be_enforced_is_refused_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let builder = LocalEnvironment::builder(dir.path());
    let refused =
        SandboxedEnvironment::with_means(builder.clone(), Sandbox::workspace(), &means(Held::Kernel));
    let error = refused.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("bwrap") && error.to_string().contains(".git"), "{error}");

    let weaker = Sandbox { accept_weaker: true, ..Sandbox::workspace() };
    let env =
        SandboxedEnvironment::with_means(builder.clone(), weaker.clone(), &means(Held::Kernel)).unwrap();
    assert_eq!(env.gaps(), [Gap::Settings, Gap::Secrets, Gap::Modes]);
    let enforces = env.facts().enforces;
    assert_eq!((enforces.writes, enforces.secrets, enforces.network), (false, false, true));

    // A link can be replaced, whatever it leads to is kept from.
    std::os::unix::fs::symlink("elsewhere", dir.path().join(".claude")).unwrap();
    let linked = SandboxedEnvironment::with_means(builder.clone(), Sandbox::workspace(), &means(Held::Walls));
    assert!(linked.err().unwrap().to_string().contains("links"));
    std::fs::remove_file(dir.path().join(".claude")).unwrap();

    // Nor is one held by what it could change.
    let own = junto_env::Means {
        bwrap: Some(dir.path().canonicalize().unwrap().join("bwrap")),
        ..means(Held::Kernel)
    };
    assert!(SandboxedEnvironment::with_means(builder.clone(), weaker.clone(), &own).is_err());

    // Of nothing at all there is no weaker form.
    let nothing = junto_env::Means::default();
    assert!(SandboxedEnvironment::with_means(builder.clone(), weaker, &nothing).is_err());

    let env = SandboxedEnvironment::with_means(builder, Sandbox::read_only(), &means(Held::Kernel)).unwrap();
    let enforces = env.facts().enforces;
    assert!(enforces.read_only && enforces.writes && enforces.secrets && enforces.network);
    assert_eq!(env.gaps(), []);
}

#[test]
fn file_operations_obey_too() {
    for held in BOTH {
        check(held, Sandbox::workspace(), async |cage| {
            let env = &cage.env;
            let denied = |result: junto_env::Result<()>, what: &str| {
                assert_eq!(result.map_err(|e| e.kind()), Err(ErrorKind::Denied), "{what}");
            };
            std::os::unix::fs::symlink(cage.at("outside"), cage.at("home/work/link")).unwrap();
            for path in
                ["../../outside/new", "~/new", "link/new", ".git/hooks/x", ".codex/config.toml", ".env"]
            {
                let real = env.resolve(path).await.unwrap();
                denied(env.write(&real, b"x", Expect::Any).await.map(drop), path);
            }
            let (ours, theirs) =
                (env.resolve("src/main.rs").await.unwrap(), env.resolve("link/file").await.unwrap());
            denied(env.remove(&theirs).await, "remove");
            denied(env.rename(&theirs, &ours).await, "rename from");
            denied(env.rename(&ours, &env.resolve("link/x").await.unwrap()).await, "rename to");
            for path in ["~/.ssh/id_rsa", ".env", "sub/.env"] {
                let real = env.resolve(path).await.unwrap();
                denied(env.open(&real, ByteRange::ALL).await.map(drop), path);
                denied(env.stamp(&real).await.map(drop), path);
            }
            denied(env.list(&env.resolve("~/.ssh").await.unwrap(), 1).await.map(drop), "list");
            assert!(env.open(&env.resolve("~/notes").await.unwrap(), ByteRange::ALL).await.is_ok());
            env.write(&env.resolve("new/file").await.unwrap(), b"x", Expect::Absent).await.unwrap();
            env.write(&env.resolve("~/tmp/file").await.unwrap(), b"x", Expect::Absent).await.unwrap();

            let root = env.resolve("~").await.unwrap();
            let query = Search::grep("KEY|key|public", root).with_hidden();
            let hits = env.search(query, &CancellationToken::new()).await.unwrap();
            let found = format!("{hits:?}");
            assert!(
                found.contains("notes") && !found.contains(".env") && !found.contains("id_rsa"),
                "{found}"
            );

            // Whoever was allowed to leave leaves with both.
            let free = env.unconfined().unwrap();
            free.write(&env.resolve("~/free").await.unwrap(), b"x", Expect::Absent).await.unwrap();
            let mut process = free.spawn(CommandSpec::shell("cat ~/.ssh/id_rsa; echo")).await.unwrap();
            assert_eq!(line(&mut process).await, "key");
        });
    }
}

#[test]
fn a_directory_that_becomes_a_link_leads_nowhere() {
    check(Held::Walls, Sandbox::workspace(), async |cage| {
        let path = cage.env.resolve("sub/new").await.unwrap();
        let old = cage.env.resolve("src/main.rs").await.unwrap();
        for (dir, target) in [("sub", cage.at("outside")), ("src", cage.at("home/work/.git"))] {
            let dir = cage.at("home/work").join(dir);
            std::fs::rename(&dir, dir.with_extension("old")).unwrap();
            std::os::unix::fs::symlink(target, &dir).unwrap();
        }
        assert!(cage.env.write(&path, b"x", Expect::Any).await.is_err());
        assert!(!cage.at("outside/new").exists());
        let config = RealPath::resolved(old.as_path().with_file_name("config"));
        assert!(cage.env.write(&config, b"x", Expect::Any).await.is_err());
        assert_eq!(std::fs::read_to_string(cage.at("home/work/.git/config")).unwrap(), "[core]\n");
    });
}

#[test]
fn named_hosts_are_reached_and_no_others() {
    // Without a door the walls have this gap too; with one, the command's own tests try it.
    let dir = tempfile::tempdir().unwrap();
    let servers = Servers::start(dir.path());
    let hosts = vec![format!("localhost:{}", servers.tcp)];
    for held in BOTH {
        let sandbox = Sandbox { network: Network::Hosts(hosts.clone()), ..Sandbox::workspace() };
        let cage = Cage::weaker(held, Sandbox { accept_weaker: true, ..sandbox });
        assert!(cage.env.gaps().contains(&Gap::Hosts));
        let tcp = servers.tcp;
        check_in(cage, async move |cage| {
            let get = |url: &str| {
                let script = format!(
                    "import urllib.request, sys\n\
                     try: print(urllib.request.urlopen('{url}', timeout=20).read().decode())\n\
                     except urllib.error.HTTPError as e: print(e.code, e.read().decode())"
                );
                CommandSpec::argv(["python3", "-c", &script])
            };
            assert_eq!(cage.run(get(&format!("http://localhost:{tcp}/"))).await.0, "hello\n");
            let (said, _) = cage.run(get("http://example.org/")).await;
            assert!(said.starts_with("403") && said.contains("example.org:80"), "{held:?}: {said}");
            let direct =
                format!("import socket; socket.create_connection(('127.0.0.1', {tcp})); print('ESCAPED')");
            let (said, _) = cage.run(CommandSpec::argv(["python3", "-c", &direct])).await;
            assert!(!said.contains("ESCAPED"), "{held:?}: {said}");
            let udp = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM); print('ESCAPED')";
            let (said, _) = cage.run(CommandSpec::argv(["python3", "-c", udp])).await;
            assert!(!said.contains("ESCAPED"), "{held:?}: {said}");
        });
    }
}

#[test]
fn a_network_that_is_on_is_on() {
    for held in BOTH {
        check(held, Sandbox { network: Network::On, ..Sandbox::workspace() }, async |cage| {
            let servers = Servers::start(&cage.at("home"));
            let script = format!(
                "import socket; socket.create_connection(('127.0.0.1', {})); print('yes')",
                servers.tcp
            );
            let (said, _) = cage.run(CommandSpec::argv(["python3", "-c", &script])).await;
            assert_eq!(said, "yes\n", "{held:?}");
            assert!(!cage.env.facts().enforces.network);
        });
    }
}

#[test]
fn a_command_that_is_dropped_at_once_leaves_nothing() {
    for held in BOTH {
        check(held, Sandbox::workspace(), async |cage| {
            for _ in 0..10 {
                drop(cage.env.spawn(CommandSpec::shell("sleep 1000 & sleep 1000")).await.unwrap());
                let process = cage.env.spawn(CommandSpec::shell("sleep 1000")).await.unwrap();
                process.close(Duration::from_secs(20)).await.unwrap();
            }
        });
    }
}
