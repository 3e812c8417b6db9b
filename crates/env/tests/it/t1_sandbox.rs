//! Escapes, tried from inside. Each says `ESCAPED` if it succeeds; most are tried outside too, where
//! they must, so that a probe which could never succeed is noticed.

use std::fs::File;
use std::os::fd::AsRawFd as _;

use junto_env::{Access, CommandSpec, Sandbox, TerminalSize};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::cage::{BOTH, Cage, Held, Servers, check};

/// Who can do it without a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Free {
    /// Anybody.
    Anybody,
    /// Root, or nobody if the machine is strict.
    Perhaps,
}
use Free::{Anybody, Perhaps};

/// Calls to the kernel, from Python.
const CALLS: &str = "
import ctypes, os, socket, struct, sys, time
c = ctypes.CDLL(None, use_errno=True)
def call(*words):
    return c.syscall(*[ctypes.c_long(w) if isinstance(w, int) else w for w in words])
def child():
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(read, 1)
        os._exit(0)
    os.close(read)
    return pid
def answers(family, kind, address):
    s = socket.socket(family, kind)
    s.settimeout(2)
    s.connect(address)
    s.send(b'x')
    return s.recv(1)
";

/// Files that are not to be changed. `$O` is a directory outside.
const WRITES: &[(&str, Free, &str)] = &[
    ("a file outside", Anybody, "echo x > $O/new"),
    ("a file outside, appended to", Anybody, "echo x >> $O/file"),
    ("a file outside, cut short", Anybody, "truncate -s 0 $O/file"),
    ("a file outside, removed", Anybody, "rm -f $O/file && test ! -e $O/file"),
    ("a file outside, renamed", Anybody, "mv $O/file $O/other"),
    ("a file moved outside", Anybody, "echo x > $TMPDIR/own; mv $TMPDIR/own $O/own"),
    ("a file taken from outside", Anybody, "mv $O/file $TMPDIR/taken && test ! -e $O/file"),
    ("a directory outside", Anybody, "mkdir $O/dir"),
    ("a link outside", Anybody, "ln -s x $O/link"),
    ("through a symbolic link to a file", Anybody, "ln -s $O/file $TMPDIR/l; echo x > $TMPDIR/l"),
    ("through a symbolic link to a directory", Anybody, "ln -s $O $TMPDIR/l; echo x > $TMPDIR/l/new"),
    ("through a hard link", Anybody, "ln $O/file $TMPDIR/l && echo x > $TMPDIR/l"),
    ("through /proc/self/root", Anybody, "echo x > /proc/self/root$O/new"),
    ("through /proc/self/cwd", Anybody, "cd $O && echo x > /proc/self/cwd/new"),
    ("through the root of a process outside", Perhaps, "echo x > /proc/$V/root$O/new"),
    ("through a bind mount", Perhaps, "mkdir $TMPDIR/m; mount --bind $O $TMPDIR/m && echo x > $TMPDIR/m/new"),
    (
        "through a bind mount in namespaces of one's own",
        Perhaps,
        "mkdir $TMPDIR/m; unshare -Urm sh -c 'mount --bind $O $TMPDIR/m && echo x > $TMPDIR/m/new'",
    ),
    ("a file system mounted anew", Perhaps, "unshare -m mount -o remount,rw / && echo x > $O/new"),
    ("a variable of the kernel", Perhaps, "cat /proc/sys/kernel/ns_last_pid > /proc/sys/kernel/ns_last_pid"),
    // Of which root needs no right but to open it; with its own value.
    (
        "what the kernel runs for a crash",
        Perhaps,
        "f=/proc/sys/kernel/core_pattern; v=$(cat $f) && printf '%s\\n' \"$v\" > $f",
    ),
    ("anything else of the kernel, opened to be written", Perhaps, "true >> /proc/swaps"),
    ("a device", Perhaps, "mknod $TMPDIR/disk b 7 0"),
];

fn with_variables(line: &str, variables: &[(&str, String)]) -> CommandSpec {
    let mut command = CommandSpec::shell(format!("({line}) && echo ESCAPED"));
    command.variables.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    command
}

fn python(script: &str, variables: &[(&str, String)]) -> CommandSpec {
    let mut command = CommandSpec::argv(["python3", "-c", &format!("{CALLS}{script}\nprint('ESCAPED')")]);
    command.variables.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    command
}

/// Tries one probe: outside where it must succeed, and inside where it must not.
fn try_out(
    what: &str,
    free: Free,
    held: &[Held],
    sandbox: &Sandbox,
    probe: impl Fn(&[(&str, String)]) -> CommandSpec,
) {
    let variables = |cage: &Cage, victim: u32| {
        [
            ("O", cage.at("outside").display().to_string()),
            ("V", victim.to_string()),
            ("P", std::process::id().to_string()),
        ]
    };
    for &held in held {
        check(held, sandbox.clone(), async |cage| {
            let victim = cage.victim().await;
            let (said, _) = cage.run(probe(&variables(cage, victim.id()))).await;
            assert!(!said.contains("ESCAPED"), "{what}, {held:?}: {said}");
        });
    }
    if let (Anybody, Some(&held)) = (free, held.first()) {
        check(held, sandbox.clone(), async |cage| {
            let victim = cage.victim().await;
            let said = cage.says_free(probe(&variables(cage, victim.id()))).await;
            assert!(said.contains("ESCAPED"), "{what} does not even succeed outside: {said}");
        });
    }
}

#[test]
fn nothing_outside_is_changed() {
    for (what, free, line) in WRITES {
        try_out(what, *free, &BOTH, &Sandbox::workspace(), |variables| with_variables(line, variables));
    }
}

#[test]
fn nothing_at_all_is_changed_where_nothing_may_be() {
    let lines = [
        "echo x > new",
        "echo x > src/main.rs",
        "rm src/main.rs",
        "mkdir dir",
        "chmod 777 src/main.rs",
        "touch -d 2000-01-01 src/main.rs",
        "setfattr -n user.x -v y src/main.rs || chmod 777 src",
        "echo x > $TMPDIR/new",
    ];
    for line in WRITES.iter().filter(|write| !write.2.contains("$TMPDIR")).map(|write| write.2).chain(lines) {
        let free = if lines.contains(&line) { Anybody } else { Perhaps };
        try_out(line, free, &BOTH, &Sandbox::read_only(), |variables| with_variables(line, variables));
    }
}

/// A directory that this process has open is all files around the walls.
#[test]
fn what_was_left_open_for_children_is_closed_to_commands() {
    for held in BOTH {
        for terminal in [None, Some(TerminalSize::default())] {
            check(held, Sandbox::read_only(), async |cage| {
                let outside = File::open(cage.at("outside")).unwrap();
                fcntl_setfd(&outside, FdFlags::empty()).unwrap();
                let number = outside.as_raw_fd();
                let line =
                    format!("touch /proc/self/fd/{number}/new && echo ESCAPED; ls /proc/self/fd/{number}");
                let command = || CommandSpec { terminal, ..CommandSpec::shell(line.clone()) };
                let (said, _) = cage.run(command()).await;
                assert!(!said.contains("ESCAPED") && said.contains("No such file"), "{held:?}: {said}");
                assert!(!cage.at("outside/new").exists());
                assert!(cage.says_free(command()).await.contains("ESCAPED"), "not even outside");
            });
        }
    }
}

#[test]
fn modes_outside_are_kept_by_walls() {
    for line in ["chmod 777 $O/file", "touch -d 2000-01-01 $O/file"] {
        try_out(line, Anybody, &[Held::Walls], &Sandbox::workspace(), |v| with_variables(line, v));
    }
}

#[test]
fn settings_of_tools_are_kept_by_walls() {
    for line in [
        "echo x >> .git/config",
        "mkdir .git/hooks",
        "rm -rf .git && test ! -e .git",
        "mv .git other",
        "ln .git/config c && echo x >> c",
        "mkdir .claude",
        "mkdir -p .junto && echo x > .junto/config.toml",
    ] {
        try_out(line, Anybody, &[Held::Walls], &Sandbox::workspace(), |v| with_variables(line, v));
    }
}

#[test]
fn what_kept_settings_from_being_made_is_gone_afterwards() {
    check(Held::Walls, Sandbox::workspace(), async |cage| {
        let (said, code) = cage.says("ls -A").await;
        assert!(said.contains(".claude") && code == Some(0), "{said}");
        let work = std::fs::read_dir(cage.at("home/work")).unwrap();
        let mut names: Vec<String> = work.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, [".env", ".git", "src", "sub"]);
    });
}

#[test]
fn keys_are_not_read() {
    let keys = [
        "cat ~/.ssh/id_rsa",
        "ls ~/.ssh && cat ~/.ssh/*",
        "ln -s ~/.ssh $TMPDIR/s && cat $TMPDIR/s/id_rsa",
        "ln ~/.ssh/id_rsa $TMPDIR/k && cat $TMPDIR/k",
        "mv ~/.ssh $TMPDIR/s && cat $TMPDIR/s/id_rsa",
        "cat /proc/self/root$HOME/.ssh/id_rsa",
        "cat ~/.config/gcloud/token",
    ];
    for line in keys {
        try_out(line, Anybody, &BOTH, &Sandbox::workspace(), |v| with_variables(line, v));
    }
    for line in ["cat .env", "cat sub/.env", "cp .env $TMPDIR/e && cat $TMPDIR/e", "mv .env e && cat e"] {
        try_out(line, Anybody, &[Held::Walls], &Sandbox::workspace(), |v| with_variables(line, v));
    }
    for line in ["cat .env", "cat sub/.env"] {
        try_out(line, Anybody, &BOTH, &Sandbox::read_only(), |v| with_variables(line, v));
    }
    // Of whoever started it.
    try_out("variables", Perhaps, &BOTH, &Sandbox::workspace(), |v| {
        with_variables("cat /proc/$P/environ", v)
    });
}

#[test]
fn nobody_is_reached() {
    for access in [Access::Workspace, Access::ReadOnly] {
        for held in BOTH {
            check(held, Sandbox { access, ..Sandbox::default() }, async |cage| {
                let servers = Servers::start(&cage.at("home/work"));
                let Servers { tcp, udp, unix, hidden } = &servers;
                let unix = unix.display();
                for probe in [
                    format!("answers(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', {tcp}))"),
                    format!("answers(socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', {udp}))"),
                    format!("answers(socket.AF_UNIX, socket.SOCK_STREAM, '{unix}')"),
                    format!("answers(socket.AF_UNIX, socket.SOCK_STREAM, '\\0{hidden}')"),
                ] {
                    let said = cage.says_free(python(&probe, &[])).await;
                    assert!(said.contains("ESCAPED"), "not even outside: {probe}: {said}");
                    let (said, _) = cage.run(python(&probe, &[])).await;
                    assert!(!said.contains("ESCAPED"), "{held:?}: {probe}: {said}");
                }
                let dns = "socket.getaddrinfo('example.org', 443)";
                let (said, _) = cage.run(python(dns, &[])).await;
                assert!(!said.contains("ESCAPED"), "{held:?}: {said}");
            });
        }
    }
}

#[test]
fn other_processes_are_left_alone() {
    let seize = "assert call(101, 0x4206, int(os.environ['V']), 0, 0) == 0, ctypes.get_errno()";
    let memory = |pid: &str| {
        format!(
            "
pid = {pid}
class V(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('length', ctypes.c_size_t)]
own = ctypes.create_string_buffer(8)
local, remote = V(ctypes.addressof(own), 8), V(ctypes.addressof(own), 8)
done = call(311, pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
assert done == 8, ctypes.get_errno()"
        )
    };
    let probes = [
        ("ptrace", Perhaps, seize.to_owned()),
        ("ptrace of a child", Anybody, "assert call(101, 0x4206, child(), 0, 0) == 0".to_owned()),
        ("memory of a child", Anybody, memory("child()")),
        ("a signal", Anybody, "os.kill(int(os.environ['V']), 0)".to_owned()),
        ("a signal to who started it", Anybody, "os.kill(int(os.environ['P']), 0)".to_owned()),
        ("io_uring", Perhaps, "assert call(425, 4, ctypes.create_string_buffer(256)) >= 0".to_owned()),
        (
            "limits of another",
            Anybody,
            "import resource; resource.prlimit(int(os.environ['V']), resource.RLIMIT_CORE)".to_owned(),
        ),
    ];
    for (what, free, script) in probes {
        try_out(what, free, &BOTH, &Sandbox::workspace(), |variables| python(&script, variables));
    }
    let limits = "import resource; resource.getrlimit(resource.RLIMIT_CORE)";
    for held in BOTH {
        check(held, Sandbox::workspace(), async |cage| {
            assert_eq!(cage.run(python(limits, &[])).await, ("ESCAPED\n".to_owned(), Some(0)));
        });
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn without_walls_there_is_nothing_that_is_everybodys() {
    let probes = [
        ("a terminal by its name", Anybody, "os.open(os.ttyname(os.openpty()[1]), os.O_RDWR)"),
        ("memory of System V", Perhaps, "assert call(29, 0, 16, 0o1600) >= 0"),
        ("messages of System V", Perhaps, "assert call(68, 0, 0o1600) >= 0"),
        ("semaphores of System V", Perhaps, "assert call(64, 0, 1, 0o1600) >= 0"),
    ];
    for (what, free, script) in probes {
        try_out(what, free, &[Held::Kernel], &Sandbox::workspace(), |variables| python(script, variables));
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn what_is_denied_says_so_and_goes_on() {
    // By their numbers: mount, bpf, keyctl, userfaultfd, setns, init_module, kexec_load, open_tree,
    // ptrace, process_vm_readv, io_uring_setup, perf_event_open; and clone3, which is not known.
    let script = "
for number in [165, 321, 250, 323, 308, 175, 246, 428, 101, 310, 425, 298]:
    assert call(number, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == 1, (number, ctypes.get_errno())
for number in [435, 0x40000000 + 39]:
    assert call(number, 0, 0) == -1 and ctypes.get_errno() == 38, (number, ctypes.get_errno())
for flag in [0x10000000, 0x20000, 0x40000000]:
    assert call(272, flag) == -1 and ctypes.get_errno() == 1, flag
a, b = socket.socketpair()
a.send(b'x')
assert b.recv(1) == b'x'";
    for held in BOTH {
        for sandbox in [Sandbox::workspace(), Sandbox::read_only()] {
            check(held, sandbox, async |cage| {
                assert_eq!(cage.run(python(script, &[])).await, ("ESCAPED\n".to_owned(), Some(0)));
            });
        }
    }
}

#[test]
fn a_setuid_program_gains_nothing() {
    for held in BOTH {
        check(held, Sandbox::workspace(), async |cage| {
            let (said, _) = cage.says("grep NoNewPrivs /proc/self/status").await;
            assert_eq!(said.split_whitespace().last(), Some("1"));
            if nix::unistd::geteuid().is_root() {
                let made = "cp /usr/bin/id $TMPDIR/id && chown 4242 $TMPDIR/id && chmod 4755 $TMPDIR/id";
                assert_eq!(cage.says_free(CommandSpec::shell(made)).await, "");
                let line = "$TMPDIR/id -u";
                assert_eq!(cage.says_free(CommandSpec::shell(line)).await, "4242\n");
                assert_eq!(cage.says(line).await, ("0\n".to_owned(), Some(0)));
            }
        });
    }
}

#[test]
fn variables_do_not_reach_what_is_not_confined_yet() {
    // The loader of a program writes where this variable says, before the program has begun.
    let probe = |variables: &[(&str, String)]| {
        let mut command = with_variables("ls $O/loader.*", variables);
        let outside = variables.iter().find(|(name, _)| *name == "O").unwrap().1.clone();
        command.variables.insert("LD_DEBUG".to_owned(), "files".to_owned());
        command.variables.insert("LD_DEBUG_OUTPUT".to_owned(), format!("{outside}/loader"));
        command
    };
    try_out("the loader", Anybody, &BOTH, &Sandbox::workspace(), probe);
}
