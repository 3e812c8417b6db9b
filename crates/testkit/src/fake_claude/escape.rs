//! A process that runs from its tree: its parent is gone, and it leads a session of its own.

use std::io::{self, Read as _, Write as _};
use std::process::{Command, ExitCode, Stdio};

/// The parts that copies of the program play: one that starts the other and ends, and one that stays.
const BETWEEN: &str = "--between";
const STAYS: &str = "--stays";

/// Plays one of the parts, if that is what the program was started for.
pub(super) fn play_part(arguments: &[String]) -> Option<ExitCode> {
    let done = match arguments {
        [part] if part == BETWEEN => start(STAYS, Stdio::inherit()).map(drop),
        [part] if part == STAYS => stay(),
        _ => return None,
    };
    Some(if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Leaves a process behind, and returns once it is out of reach.
pub(super) fn leave_behind() -> io::Result<()> {
    let mut between = start(BETWEEN, Stdio::piped())?;
    let word = between.stdout.take().map(|mut stdout| stdout.read(&mut [0]));
    between.wait()?;
    match word {
        Some(Ok(1)) => Ok(()),
        _ => Err(io::Error::other("it did not say that it is there")),
    }
}

#[expect(clippy::disallowed_methods, reason = "a process that nobody watches is the point")]
fn start(part: &str, stdout: Stdio) -> io::Result<std::process::Child> {
    let program = std::env::current_exe()?;
    Command::new(program).arg(part).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null()).spawn()
}

fn stay() -> io::Result<()> {
    nix::unistd::setsid()?;
    // The fake holds signals back, and its children would too: this one only hides.
    nix::sys::signal::SigSet::all().thread_unblock()?;
    let mut out = io::stdout();
    out.write_all(b"!")?;
    out.flush()?;
    loop {
        std::thread::park();
    }
}
