//! Whether the tests notice a mutant.

use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
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
const SLOWER: u32 = 3;
const LOOKS: u32 = 1500;
/// So much slower in work it may be, and so many seconds of work are always allowed. Work is counted beside looks since
/// it is the same on a busy machine: most that hang go round and round, and are known early.
const MORE_WORK: u32 = 2;
const WORK: u64 = 5;
/// What whoever works longer than allowed is ended with.
const SIGXCPU: i32 = 24;
/// Side by side, so that one that hangs does not keep another from failing.
const THREADS: &str = "8";
/// In KiB. A mutant that takes all memory there is would be noticed by others, too.
const MEMORY: &str = "6291456";

/// The tests that judge.
pub(super) struct Tests {
    /// What is run one after another.
    pub(super) runs: Vec<Run>,
    /// Where they run.
    pub(super) dir: PathBuf,
}

/// Some of the tests of one program.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) program: PathBuf,
    /// What the names of those contain that are run; none: all.
    pub(super) only: Vec<&'static str>,
    /// What the names of those contain that are not run.
    pub(super) never: Vec<&'static str>,
    /// How many looks it takes if nothing is switched on.
    pub(super) usual: Option<u32>,
}

impl Tests {
    /// Runs them with this switch set, until one fails.
    pub(super) fn judge(&self, switch: usize) -> Outcome<Verdict> {
        for run in &self.runs {
            let (verdict, _) = self.run(run, switch)?;
            if verdict != Verdict::Missed {
                return Ok(verdict);
            }
        }
        Ok(Verdict::Missed)
    }

    /// Finds out how long they take with nothing switched on.
    ///
    /// # Errors
    /// If one of them fails.
    pub(super) fn measure(&mut self) -> Outcome<Vec<Option<u32>>> {
        let measured = |run: &Run| match self.run(run, 0)? {
            (Verdict::Missed, looks) => Ok(Some(looks)),
            _ => Err(format!("the tests fail without a mutant: {}", run.program.display())),
        };
        let usual = self.runs.iter().map(measured).collect::<Outcome<Vec<_>>>()?;
        self.runs.iter_mut().zip(&usual).for_each(|(run, usual)| run.usual = *usual);
        Ok(usual)
    }

    /// Runs tests, at most as long as is allowed if they usually take so many looks. Tells how many they took.
    fn run(&self, run: &Run, switch: usize) -> Outcome<(Verdict, u32)> {
        let Run { program, only, never, usual } = run;
        let failed = |e: std::io::Error| format!("could not run {}: {e}", program.display());
        let most = usual.map_or(u32::MAX, |looks| LOOKS.max(looks.saturating_mul(SLOWER)));
        let work = usual.map_or_else(
            || "unlimited".to_owned(),
            |looks| (WORK + u64::from(MORE_WORK) * (LOOK * looks).as_secs()).to_string(),
        );
        let bounded = format!("ulimit -v {MEMORY} && ulimit -S -t {work} && exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &bounded]).arg(program).args(only);
        command.args(["--test-threads", THREADS]);
        for name in never {
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
        let mut looks = 0;
        let verdict = loop {
            match fails.recv_timeout(LOOK) {
                Ok(()) => break Verdict::Noticed,
                Err(RecvTimeoutError::Timeout) if looks >= most => break Verdict::Hung,
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
            looks += 1;
        };
        end(&mut child).map_err(failed)?;
        Ok((verdict, looks))
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
    fn judged(script: &'static str) -> Verdict {
        let tests = Tests { runs: Vec::new(), dir: PathBuf::from("/") };
        let run = Run {
            program: PathBuf::from("/bin/sh"),
            only: vec!["-c", script],
            never: Vec::new(),
            usual: Some(0),
        };
        tests.run(&run, 7).unwrap().0
    }

    #[test]
    fn a_failed_test_decides_at_once_and_one_that_does_not_end_at_last() {
        let check = |script, expected| assert_eq!(judged(script), expected, "{script}");
        check("echo 'test a ... ok'", Verdict::Missed);
        check("echo 'test a ... FAILED'; exec sleep 1000", Verdict::Noticed);
        check("kill -9 $$", Verdict::Noticed);
        check("kill -XCPU $$", Verdict::Hung);
        check("test $XTASK_MUTANT = 7", Verdict::Missed);
    }
}
