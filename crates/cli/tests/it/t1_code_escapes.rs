//! Escapes from the sandbox, tried by cells. Each says `ESCAPED` if it succeeds; most are tried without a sandbox too,
//! where they must, so that a probe which could never succeed is noticed.

use std::io::Write as _;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::cells::{quoted, sends, staged, unasked};
use crate::stage::KEY;

/// Who can do it without a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Free {
    /// Anybody.
    Anybody,
    /// Root, or nobody if the machine is strict.
    Perhaps,
}
use Free::{Anybody, Perhaps};

/// Each is code that raises if it is kept from what it tries. `outside` is a folder outside, `home` the user's.
const PROBES: &[(&str, Free, &str)] = &[
    // Whom it reaches.
    (
        "a server on this machine",
        Anybody,
        "assert socket.create_connection(('127.0.0.1', port), 5).recv(5) == b'hello'",
    ),
    (
        "a server on this machine, from a child",
        Anybody,
        "assert posix.system(f'bash -c \"exec 3<>/dev/tcp/127.0.0.1/{port}\"') == 0",
    ),
    (
        "a socket without a path",
        Anybody,
        "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + hidden); assert s.recv(5) == b'hello'",
    ),
    // What it writes.
    ("a file outside", Anybody, "open(f'{outside}/new', 'w').write('x')"),
    ("a file outside, by `posix.system`", Anybody, "assert posix.system(f'touch {outside}/new') == 0"),
    ("a file outside, cut short", Anybody, "os.truncate(f'{outside}/file', 0)"),
    ("a file moved outside", Anybody, "open('own', 'w').close(); shutil.move('own', f'{outside}/own')"),
    ("through a symbolic link", Anybody, "os.symlink(outside, 'l1'); open('l1/new', 'w').write('x')"),
    ("through a hard link", Anybody, "os.link(f'{outside}/file', 'l2'); open('l2', 'w').write('x')"),
    ("a file outside, removed", Anybody, "os.remove(f'{outside}/file')"),
    ("through /proc/self/root", Anybody, "open(f'/proc/self/root{outside}/new', 'w').write('x')"),
    ("through /proc/self/cwd", Anybody, "os.chdir(outside); open('/proc/self/cwd/new', 'w').write('x')"),
    ("through the parent's root", Perhaps, "open(f'/proc/{os.getppid()}/root{outside}/new', 'w').write('x')"),
    ("the repository's settings", Anybody, "open('.git/config', 'a').write('x')"),
    (
        "its own rules",
        Anybody,
        "os.makedirs('.junto', exist_ok=True); open('.junto/config.toml', 'w').write('')",
    ),
    // What it reads.
    ("a key", Anybody, "assert 'sesame' in open(f'{home}/.ssh/id_rsa').read()"),
    (
        "a key by a link",
        Anybody,
        "os.symlink(f'{home}/.ssh', 'l3'); assert 'sesame' in open('l3/id_rsa').read()",
    ),
    (
        "a key by another name",
        Anybody,
        "os.link(f'{home}/.ssh/id_rsa', 'l4'); assert 'sesame' in open('l4').read()",
    ),
    ("a key through /proc", Anybody, "assert 'sesame' in open(f'/proc/self/root{home}/.ssh/id_rsa').read()"),
    (
        "a key by a child",
        Anybody,
        "assert 'sesame' in subprocess.check_output(['cat', f'{home}/.ssh/id_rsa'], text=True)",
    ),
    (
        "a key through the parent's root",
        Perhaps,
        "assert 'sesame' in open(f'/proc/{os.getppid()}/root{home}/.ssh/id_rsa').read()",
    ),
    (".env", Anybody, "assert 'sesame' in open('.env').read()"),
    (".env by a link", Anybody, "os.symlink('.env', 'l5'); assert 'sesame' in open('l5').read()"),
    (".env moved away", Anybody, "os.rename('.env', 'kept'); assert 'sesame' in open('kept').read()"),
    (
        "the model's key, in the variables of any process",
        Perhaps,
        "assert any(key.encode() in read(f'/proc/{p}/environ') for p in os.listdir('/proc') if p.isdigit())",
    ),
    // Other processes.
    (
        "the parent, traced",
        Perhaps,
        "assert c.ptrace(16, os.getppid(), 0, 0) == 0; c.ptrace(17, os.getppid(), 0, 0)",
    ),
    ("the model's key, in the parent's memory", Perhaps, "assert key.encode() in memory(os.getppid())"),
    (
        "a process outside, by its number",
        Anybody,
        "os.kill(victim, 0); assert 'it' in open(f'/proc/{victim}/comm').read()",
    ),
    // Other ways out.
    ("namespaces of its own", Perhaps, "assert c.unshare(0x10000000 | 0x20000) == 0"),
    (
        "a file system, mounted",
        Perhaps,
        "os.mkdir('m'); assert c.mount(outside.encode(), b'm', None, 4096, None) == 0",
    ),
];

const PREPARED: &str = r"
import ctypes, os, posix, shutil, socket, subprocess
c = ctypes.CDLL(None, use_errno=True)
here, home = os.getcwd(), os.path.dirname(os.getcwd())
def prepare():
    os.chdir(here)
    for path in ['own', 'l1', 'l2', 'l3', 'l4', 'l5', 'env']:
        if os.path.lexists(path):
            os.remove(path)
def memory(pid):
    found = b''
    with open(f'/proc/{pid}/mem', 'rb', 0) as file:
        for line in read(f'/proc/{pid}/maps').decode().splitlines():
            start, end = (int(number, 16) for number in line.split()[0].split('-'))
            try:
                file.seek(start)
                found += file.read(end - start)
            except (OSError, ValueError, OverflowError):
                pass
    return found
def read(path):
    try:
        with open(path, 'rb') as file:
            return file.read()
    except OSError:
        return b''
";

/// Servers that say hello: a port, and a name without a path. They live as long as the test's process.
fn servers() -> (u16, String) {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let hidden = format!("junto-code-{}-{port}", std::process::id());
    let unix = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&hidden).unwrap()).unwrap();
    std::thread::spawn(move || tcp.incoming().flatten().for_each(|mut c| drop(c.write_all(b"hello"))));
    std::thread::spawn(move || unix.incoming().flatten().for_each(|mut c| drop(c.write_all(b"hello"))));
    (port, hidden)
}

/// A folder that is not for temporary files, which the sandbox lets be changed: the checkout may be among them.
pub(crate) fn outside() -> tempfile::TempDir {
    let is_temporary = |folder: &&str| ["/tmp/", "/var/tmp/"].iter().any(|known| folder.starts_with(known));
    let folder =
        [env!("CARGO_TARGET_TMPDIR"), "/usr/local/share"].into_iter().find(|folder| !is_temporary(folder));
    tempfile::tempdir_in(folder.unwrap()).unwrap()
}

/// What each probe says, each in a cell of its own, one after another.
fn tried(probes: &[&str], flags: &[&str]) -> Vec<String> {
    let outside = outside();
    let (port, hidden) = servers();
    let victim = std::process::id();
    let prepare = format!(
        "{PREPARED}\noutside, port, hidden, key, victim = {}, {port}, {hidden:?}, {KEY:?}, {victim}",
        quoted(&outside.path().canonicalize().unwrap()),
    );
    let probes = probes.iter().map(|probe| {
        format!(
            "prepare()\ntry:\n    {probe}\nexcept BaseException as e:\n    print('kept from it:', repr(e))\n\
             else:\n    print('ESCAPED')"
        )
    });
    let cells: Vec<String> = [prepare].into_iter().chain(probes).collect();
    let stage = staged(sends(&cells.iter().map(String::as_str).collect::<Vec<_>>()), "");
    for (path, content) in
        [(".ssh/id_rsa", "sesame"), ("project/.env", "KEY=sesame"), ("project/.git/config", "[core]\n")]
    {
        stage.machine.write(path, content);
    }
    std::fs::write(outside.path().join("file"), "theirs").unwrap();
    let seen = unasked(&stage, &[&["--max-rounds", "99"], flags].concat());
    let mut said = seen.cells();
    assert_eq!(said.len(), cells.len(), "{seen:#?}");
    assert!(!said.remove(0).0, "{seen:#?}");
    said.into_iter().map(|(_, said)| said).collect()
}

#[test]
fn nothing_that_a_cell_tries_leaves_the_sandbox() {
    let codes: Vec<&str> = PROBES.iter().map(|(_, _, code)| *code).collect();
    for ((what, _, code), said) in PROBES.iter().zip(tried(&codes, &["--sandbox", "whole"])) {
        assert!(said.contains("kept from it") && !said.contains("ESCAPED"), "{what}: {code}: {said}");
    }
}

/// So that what is kept above would have happened.
#[test]
fn without_a_sandbox_every_probe_gets_there() {
    let probes: Vec<_> = PROBES.iter().filter(|(_, free, _)| *free == Anybody).collect();
    let codes: Vec<&str> = probes.iter().map(|(_, _, code)| *code).collect();
    for ((what, _, code), said) in probes.iter().zip(tried(&codes, &["--policy", "full"])) {
        assert!(said.contains("ESCAPED"), "{what}: {code}: {said}");
    }
}
