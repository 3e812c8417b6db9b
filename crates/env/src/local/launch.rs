//! Starting a program, without a copy of this process.
//!
//! To fork is to copy the page tables of the host, which for a host of some size takes longer than a
//! short command. `posix_spawn` does not, and puts the child into a session of its own; but it knows no
//! working directory. So the thread that starts the child stops sharing its directory with the other
//! threads and goes there itself. Where a sandbox forbids that, the child is forked; or, if it is to be confined, a shell
//! goes there for it: a child that is forked keeps what others left open.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::sched::{CloneFlags, unshare};
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::stat::Mode;
use nix::unistd::{AccessFlags, Pid, access, chdir};
use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};

use super::beside::{Beside, Feed};
use super::pty;
use crate::sandbox::Jail;
use crate::variables::Variables;

/// How much of its output is held for a program that needs it, in bytes: what everybody may ask for.
const ROOM: i32 = 1 << 20;

/// What runs a script that does not say what runs it.
const SCRIPT_SHELL: &str = "/bin/sh";

/// What to start.
pub(crate) struct Launch {
    /// The name of a program on the child's `PATH`, or a path to it, from the child's directory.
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    /// All variables of the child.
    pub(crate) variables: Variables,
    pub(crate) cwd: PathBuf,
    /// Whether its input is a pipe to us, and not empty.
    pub(crate) piped_input: bool,
    /// Whether its output has much room.
    pub(crate) roomy: bool,
    /// Files that it has open, and under which numbers; above all others that are given.
    pub(crate) descriptors: Vec<(OwnedFd, i32)>,
    /// What the thread that starts it enters first, never to leave.
    pub(crate) jail: Option<Jail>,
}

/// What was started, and our ends of its pipes.
pub(super) struct Launched {
    pub(super) pid: Pid,
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// The child's ends of its pipes.
struct Streams {
    stdin: Option<PipeReader>,
    stdout: PipeWriter,
    stderr: PipeWriter,
}

impl Streams {
    fn actions(&self) -> io::Result<Actions> {
        let nothing = File::open("/dev/null")?;
        let stdin = self.stdin.as_ref().map_or(nothing.as_fd(), PipeReader::as_fd);
        let mut files = PosixSpawnFileActions::init()?;
        let ends: [BorrowedFd<'_>; 3] = [stdin, self.stdout.as_fd(), self.stderr.as_fd()];
        for (number, end) in (0..).zip(ends) {
            files.add_dup2(end.as_raw_fd(), number)?;
        }
        Ok(Actions { files, session: Session::Own, _nothing: Some(nothing) })
    }
}

/// Whose session a child is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Session {
    Own,
    Ours,
}

/// What becomes of descriptors in the child, and whose session it is in.
struct Actions {
    files: PosixSpawnFileActions,
    session: Session,
    /// Open as long as it is referred to.
    _nothing: Option<File>,
}

impl Launch {
    /// Starts it in a session of its own. The thread this is called on has no use for a working
    /// directory afterwards, and lives as long as the child.
    pub(super) fn start(&self) -> io::Result<Launched> {
        let (stdin, ours) =
            if self.piped_input { io::pipe().map(|(r, w)| (Some(r), Some(w)))? } else { (None, None) };
        let (our_stdout, stdout) = io::pipe()?;
        if self.roomy {
            // Whoever has too many such already gets the usual.
            let _ = fcntl(&stdout, FcntlArg::F_SETPIPE_SZ(ROOM));
        }
        let (our_stderr, stderr) = io::pipe()?;
        let streams = Streams { stdin, stdout, stderr };
        let _fork = pty::forking();
        let own_directory = unshare(CloneFlags::CLONE_FS);
        self.enter_jail(None)?;
        let pid = match own_directory {
            Err(_) if self.jail.is_none() => self.fork(streams)?,
            own_directory => self.spawn(own_directory, streams.actions()?)?,
        };
        Ok(Launched {
            pid,
            stdin: ours.map(OwnedFd::from),
            stdout: our_stdout.into(),
            stderr: our_stderr.into(),
        })
    }

    /// Starts it on a terminal, which becomes that of its session. For what is confined.
    pub(super) fn start_on(&self, terminal: &Path, typed: bool) -> io::Result<Pid> {
        let own_directory = unshare(CloneFlags::CLONE_FS);
        self.enter_jail(Some(terminal))?;
        let mut files = PosixSpawnFileActions::init()?;
        // The first terminal that the leader of a session opens is the session's.
        files.add_open(1, terminal, OFlag::O_RDWR, Mode::empty())?;
        files.add_dup2(1, 2)?;
        if typed {
            files.add_dup2(1, 0)?;
        } else {
            files.add_open(0, "/dev/null", OFlag::O_RDONLY, Mode::empty())?;
        }
        self.spawn(own_directory, Actions { files, session: Session::Own, _nothing: None })
    }

    /// Starts it with our standard streams, in our session and group. What feeds its input ends with it.
    pub(super) fn start_beside(&self) -> io::Result<(Pid, Option<Feed>)> {
        let ours = if self.jail.is_some() { Beside::confined()? } else { Beside::default() };
        let (input, feed) = ours.input.unzip();
        let _fork = pty::forking();
        unshare(CloneFlags::CLONE_FS)?;
        self.enter_jail(None)?;
        let mut files = PosixSpawnFileActions::init()?;
        if let Some(input) = &input {
            files.add_dup2(input.as_raw_fd(), 0)?;
        }
        for number in ours.nothing {
            files.add_open(number, "/dev/null", OFlag::O_RDWR, Mode::empty())?;
        }
        let pid = self.spawn(Ok(()), Actions { files, session: Session::Ours, _nothing: None })?;
        Ok((pid, feed))
    }

    pub(super) fn has_descriptors(&self) -> bool {
        !self.descriptors.is_empty()
    }

    /// Confines this thread, if the child is to be confined.
    pub(super) fn enter_jail(&self, terminal: Option<&Path>) -> io::Result<()> {
        self.jail.as_ref().map_or(Ok(()), |jail| jail.enter(terminal))
    }

    /// That there is a program to start. For one that another program is to start, which would say it
    /// in its own way.
    pub(crate) fn check_program(&self) -> io::Result<()> {
        let mut missing = io::Error::from(Errno::ENOENT);
        for path in self.candidates().iter().map(|path| self.cwd.join(path)) {
            match (path.metadata(), access(&path, AccessFlags::X_OK)) {
                (Ok(found), Ok(())) if !found.is_dir() => return Ok(()),
                (Ok(_), _) => missing = Errno::EACCES.into(),
                (Err(_), _) => {}
            }
        }
        Err(missing)
    }

    /// Without a directory of this thread's own a shell goes there, and becomes the program.
    fn spawn(&self, own_directory: nix::Result<()>, mut actions: Actions) -> io::Result<Pid> {
        if own_directory.is_ok() {
            chdir(&self.cwd)?;
        }
        let files = &mut actions.files;
        // A number is above that of its own file here, but may be that of a file which was opened after it was given; so
        // the highest first.
        let mut descriptors: Vec<&(OwnedFd, i32)> = self.descriptors.iter().collect();
        descriptors.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
        for (file, number) in descriptors {
            files.add_dup2(file.as_raw_fd(), *number)?;
        }
        // What this process was started with, or a library has opened, need not close itself; and a directory among it is
        // a way around every wall. What does close itself may as well be closed here.
        if self.jail.is_some() {
            let is_given = |number: &i32| self.descriptors.iter().any(|(_, given)| given == number);
            for number in open_numbers()?.into_iter().filter(|number| !is_given(number)) {
                files.add_close(number)?;
            }
        }
        let mut attributes = PosixSpawnAttr::init()?;
        let session = match actions.session {
            Session::Own => PosixSpawnFlags::from_bits_retain(libc::POSIX_SPAWN_SETSID.into()),
            Session::Ours => PosixSpawnFlags::empty(),
        };
        attributes.set_flags(
            session | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK,
        )?;
        // Rust hosts ignore broken pipes; no program expects that. And no signal is held back.
        attributes.set_sigdefault(&SigSet::from(Signal::SIGPIPE))?;
        attributes.set_sigmask(&SigSet::empty())?;

        let variables = self.variables.iter().map(|(name, value)| joined(&[name, OsStr::new("="), value]));
        let variables = variables.collect::<io::Result<Vec<CString>>>()?;
        let start =
            |path: &Path, arguments: &[CString]| posix_spawn(path, files, &attributes, arguments, &variables);
        if own_directory.is_err() {
            let goes = [SCRIPT_SHELL, "-c", "cd \"$0\" && exec \"$@\""].map(OsStr::new);
            let words = goes.into_iter().chain([self.cwd.as_os_str(), &self.program]);
            let words = words.chain(self.arguments.iter().map(OsString::as_os_str));
            let words = words.map(|word| joined(&[word])).collect::<io::Result<Vec<CString>>>()?;
            return Ok(start(Path::new(SCRIPT_SHELL), &words)?);
        }
        let arguments = self.argv(None)?;
        let mut denied = None;
        for path in self.candidates() {
            match start(&path, &arguments) {
                Ok(pid) => return Ok(pid),
                Err(Errno::ENOEXEC) => return Ok(start(Path::new(SCRIPT_SHELL), &self.argv(Some(&path))?)?),
                Err(Errno::EACCES) => denied = Some(Errno::EACCES),
                Err(Errno::ENOENT | Errno::ENOTDIR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Err(denied.unwrap_or(Errno::ENOENT).into())
    }

    /// Where the program may be: one path, or a name below each directory of the child's `PATH`.
    fn candidates(&self) -> Vec<PathBuf> {
        if self.program.is_empty() || self.program.as_bytes().contains(&b'/') {
            return vec![PathBuf::from(&self.program)];
        }
        let path = self.variables.get(OsStr::new("PATH"));
        let path = path.map_or(OsStr::new("/bin:/usr/bin"), OsString::as_os_str);
        let there = |path: &PathBuf| path.symlink_metadata().is_ok();
        std::env::split_paths(path).map(|directory| directory.join(&self.program)).filter(there).collect()
    }

    /// The arguments, the program's name included; of the shell if it is to run this script.
    fn argv(&self, script: Option<&Path>) -> io::Result<Vec<CString>> {
        let first = match script {
            Some(path) => vec![OsStr::new(SCRIPT_SHELL), path.as_os_str()],
            None => vec![self.program.as_os_str()],
        };
        first
            .into_iter()
            .chain(self.arguments.iter().map(OsString::as_os_str))
            .map(|word| joined(&[word]))
            .collect()
    }

    fn fork(&self, streams: Streams) -> io::Result<Pid> {
        let mut command = self.command();
        command
            .stdin(streams.stdin.map_or_else(Stdio::null, Stdio::from))
            .stdout(streams.stdout)
            .stderr(streams.stderr);
        number(&*CommandWrap::from(command).wrap(ProcessSession).spawn()?.into_inner())
    }

    /// The same for the standard library, which forks. What it reads and writes is not set.
    #[expect(clippy::disallowed_methods, reason = "this is the module that spawns processes")]
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear().envs(&self.variables).current_dir(&self.cwd);
        command
    }
}

/// The numbers of all that this process has open, but for the standard streams.
fn open_numbers() -> io::Result<Vec<i32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    numbers.retain(|number| *number > 2);
    Ok(numbers)
}

/// The number of a child of the standard library, which leaves it to us to wait for it.
pub(super) fn number(child: &dyn ChildWrapper) -> io::Result<Pid> {
    i32::try_from(child.id()).map(Pid::from_raw).map_err(io::Error::other)
}

/// The parts as one word for the system.
fn joined(parts: &[&OsStr]) -> io::Result<CString> {
    let word: OsString = parts.iter().copied().collect();
    CString::new(word.into_vec()).map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidInput, "an argument or variable has a NUL byte in it")
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use nix::sys::wait::waitpid;

    use super::*;

    #[test]
    fn a_number_may_be_that_of_a_file_opened_later() {
        let (first, mut to_first) = io::pipe().unwrap();
        let (second, mut to_second) = io::pipe().unwrap();
        to_first.write_all(b"first ").unwrap();
        to_second.write_all(b"second").unwrap();
        drop((to_first, to_second));
        let (low, high) = (second.as_raw_fd(), second.as_raw_fd() + 100);
        let line = format!("cat /proc/self/fd/{low} /proc/self/fd/{high}");
        let launch = Launch {
            program: "/bin/sh".into(),
            arguments: ["-c".into(), line.into()].into(),
            variables: [("PATH".into(), "/usr/bin:/bin".into())].into(),
            cwd: "/".into(),
            piped_input: false,
            roomy: false,
            descriptors: vec![(first.into(), low), (second.into(), high)],
            jail: None,
        };
        // The thread has no use for a directory afterwards.
        let started = std::thread::spawn(move || launch.start().unwrap()).join().unwrap();
        let mut said = String::new();
        File::from(started.stdout).read_to_string(&mut said).unwrap();
        waitpid(started.pid, None).unwrap();
        assert_eq!(said, "first second");
    }

    #[test]
    fn without_a_directory_of_its_own_a_shell_goes_there() {
        let dir = tempfile::tempdir().unwrap();
        let (mut said, out) = io::pipe().unwrap();
        let streams = Streams { stdin: None, stdout: out.try_clone().unwrap(), stderr: out };
        let launch = Launch {
            program: "sh".into(),
            arguments: ["-c".into(), "pwd; echo \"$0\"".into(), "a b".into()].into(),
            variables: [("PATH".into(), "/usr/bin:/bin".into())].into(),
            cwd: dir.path().canonicalize().unwrap(),
            piped_input: false,
            roomy: false,
            descriptors: Vec::new(),
            jail: None,
        };
        let pid = launch.spawn(Err(Errno::EPERM), streams.actions().unwrap()).unwrap();
        drop(streams);
        let mut text = String::new();
        said.read_to_string(&mut text).unwrap();
        waitpid(pid, None).unwrap();
        assert_eq!(text, format!("{}\na b\n", launch.cwd.display()));
    }
}
