//! No network but loopback: on Linux the tests run in a network namespace of their own.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::Outcome;
use crate::command::quietly;

/// Set for the process inside.
const INSIDE: &str = "JUNTO_XTASK_INSIDE";

/// Brings the loopback interface up; an interface starts down in a new namespace.
const LOOPBACK_UP: &str = "
import fcntl, socket, struct
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    request = struct.pack('16sH14x', b'lo', 0)
    flags = struct.unpack('16sH14x', fcntl.ioctl(s, SIOCGIFFLAGS, request))[1]
    fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack('16sH14x', b'lo', flags | IFF_UP))
";

/// The ways to get a namespace: as root, and with a user namespace.
const WAYS: [&[&str]; 2] = [&["--net"], &["--map-root-user", "--net"]];

/// Whether this process runs in the namespace.
pub(crate) fn inside() -> bool {
    env::var_os(INSIDE).is_some()
}

/// Starts this command over inside a namespace, and does not return then. Returns when the machine
/// does not allow it, after saying so.
pub(crate) fn enter(program: &Path) -> Outcome {
    let Some(way) = WAYS.iter().find(|way| quietly(Command::new("unshare").args(**way).args(["--", "true"])))
    else {
        eprintln!("test: this machine gives no network namespace; the tests run with the network as it is");
        return Ok(());
    };
    let error = Command::new("unshare")
        .args(*way)
        .arg("--")
        .arg(program)
        .args(env::args_os().skip(1))
        .env(INSIDE, "1")
        .exec();
    Err(format!("could not start `unshare`: {error}"))
}

/// The first thing to do inside.
pub(crate) fn loopback_up(python: &Path) -> Outcome {
    if quietly(Command::new(python).args(["-c", LOOPBACK_UP])) {
        Ok(())
    } else {
        Err("cannot bring up the loopback interface in the new network namespace".to_owned())
    }
}

/// Takes from a command's environment what would make a test depend on whose machine it runs on:
/// keys and addresses of real providers, proxies, the user's own settings.
pub(crate) fn seal(command: &mut Command) -> &mut Command {
    const PREFIXES: [&str; 8] =
        ["OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "LITELLM_", "JUNTO_", "CLAUDE_", "CODEX_"];
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let is_proxy = text.to_ascii_uppercase().ends_with("_PROXY");
        if is_proxy || PREFIXES.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
}
