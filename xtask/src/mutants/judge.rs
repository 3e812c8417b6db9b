//! Whether the tests notice a mutant.

use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::switches::VARIABLE;
use crate::Outcome;

/// What the tests say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// One of them failed.
    Noticed,
    /// They did not end.
    Hung,
    /// They are content.
    Missed,
}

/// How often it is looked whether the tests go on too long. Looks are counted and not time, so that a run that was
/// suspended for a while is not taken for one that hangs.
const LOOK: Duration = Duration::from_millis(20);
/// A mutant may be so much slower than the code is, and this many looks are always allowed.
const SLOWER: u32 = 10;
const LOOKS: u32 = 3000;
/// So much slower in work it may be, and so many seconds of work are always allowed. Work is counted beside looks since
/// it is the same on a busy machine: most that hang go round and round, and are known early.
const MORE_WORK: u32 = 3;
const WORK: u32 = 10;
/// What whoever works longer than allowed is ended with.
const SIGXCPU: i32 = 24;
/// Side by side, so that one that hangs does not keep another from failing.
const THREADS: &str = "4";
/// In KiB. A mutant that takes all memory there is would be noticed by others, too.
const MEMORY: &str = "6291456";

/// The tests that judge.
pub(super) struct Tests {
    /// The programs, in their order.
    pub(super) programs: Vec<PathBuf>,
    /// Where they run.
    pub(super) dir: PathBuf,
    /// What the names of those contain that are run; none: all.
    pub(super) only: &'static [&'static str],
    /// What the names of those contain that are not run.
    pub(super) never: &'static [&'static str],
    /// How many looks they take if nothing is switched on.
    pub(super) usual: u32,
}

impl Tests {
    /// Runs them with this switch set, until one fails.
    pub(super) fn judge(&self, switch: usize) -> Outcome<Verdict> {
        let most = LOOKS.max(self.usual.saturating_mul(SLOWER));
        let mut looks = 0;
        for program in &self.programs {
            let verdict = self.run(program, switch, most, &mut looks)?;
            if verdict != Verdict::Missed {
                return Ok(verdict);
            }
        }
        Ok(Verdict::Missed)
    }

    /// How long they take with nothing switched on.
    ///
    /// # Errors
    /// If one of them fails.
    pub(super) fn measure(&mut self) -> Outcome {
        let mut looks = 0;
        for program in &self.programs {
            if self.run(program, 0, u32::MAX, &mut looks)? != Verdict::Missed {
                return Err(format!("the tests fail without a mutant: {}", program.display()));
            }
        }
        self.usual = looks;
        Ok(())
    }

    fn run(&self, program: &Path, switch: usize, most: u32, looks: &mut u32) -> Outcome<Verdict> {
        let failed = |e: std::io::Error| format!("could not run {}: {e}", program.display());
        let mut command = Command::new("sh");
        let usual = u32::try_from((LOOK * self.usual).as_secs()).unwrap_or(u32::MAX);
        let work = if most == u32::MAX { u32::MAX } else { WORK.max(usual.saturating_mul(MORE_WORK)) };
        let bounded = format!("ulimit -v {MEMORY} && ulimit -S -t {work} && exec \"$0\" \"$@\"");
        command.args(["-c", &bounded]).arg(program).args(self.only);
        command.args(["--test-threads", THREADS]);
        for name in self.never {
            command.args(["--skip", name]);
        }
        command.current_dir(&self.dir).env("CARGO_MANIFEST_DIR", &self.dir).env(VARIABLE, switch.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().map_err(failed)?;
        let (sender, fails) = mpsc::channel();
        let output = child.stdout.take();
        thread::spawn(move || {
            for line in BufReader::new(output?).split(b'\n') {
                let line = line.ok()?;
                if line.starts_with(b"test ") && line.ends_with(b" FAILED") {
                    sender.send(()).ok()?;
                }
            }
            Some(())
        });
        let verdict = loop {
            match fails.recv_timeout(LOOK) {
                Ok(()) => break Verdict::Noticed,
                Err(RecvTimeoutError::Timeout) if *looks >= most => break Verdict::Hung,
                Err(RecvTimeoutError::Timeout) => {}
                // Nothing reads any more: the program has ended, or is about to.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK),
            }
            if let Some(status) = child.try_wait().map_err(failed)? {
                break match status.signal() {
                    Some(SIGXCPU) => Verdict::Hung,
                    _ if status.success() => Verdict::Missed,
                    _ => Verdict::Noticed,
                };
            }
            *looks += 1;
        };
        end(&mut child).map_err(failed)?;
        Ok(verdict)
    }
}

/// Ends what is left of the program and what it started.
fn end(child: &mut Child) -> std::io::Result<()> {
    let group = format!("-{}", child.id());
    Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status()?;
    child.wait().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell stands for the tests: what it is given is what a test program is.
    fn judged(script: &'static str, most: u32) -> Verdict {
        let tests = Tests {
            programs: Vec::new(),
            dir: PathBuf::from("/"),
            only: Box::leak(Box::new(["-c", script])),
            never: &[],
            usual: 0,
        };
        tests.run(Path::new("/bin/sh"), 7, most, &mut 0).unwrap()
    }

    #[test]
    fn a_failed_test_decides_at_once_and_one_that_does_not_end_at_last() {
        let check = |script, expected| assert_eq!(judged(script, 25), expected, "{script}");
        check("echo 'test a ... ok'", Verdict::Missed);
        check("echo 'test a ... FAILED'; exec sleep 1000", Verdict::Noticed);
        check("kill -9 $$", Verdict::Noticed);
        check("exec sleep 1000", Verdict::Hung);
        check("kill -XCPU $$", Verdict::Hung);
        check("test $XTASK_MUTANT = 7", Verdict::Missed);
    }
}
