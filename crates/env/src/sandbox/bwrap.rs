//! Bubblewrap: the command in namespaces of its own, with only a part of the files writable.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read as _, Seek as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use nix::sys::memfd::{MFdFlags, memfd_create};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::devices;
use super::foreign::Own;
use super::landlock::Rules;
use super::places::{Places, is_device};
use super::standin::StandIn;
use super::survey::{Hidden, Survey, Surveying};
use crate::local::{Launch, MARK};
use crate::variables::Variables;

/// The program, and in which way it works here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bwrap {
    pub(super) program: PathBuf,
    /// Whether it makes a namespace of users; root may do without, and keeps its rights over files.
    pub(super) user: bool,
    /// Whether signals that it ignores can be heard again inside.
    pub(super) resets_signals: bool,
    /// Whether a directory of message queues can be mounted, in which nothing can be made.
    pub(super) message_queues: bool,
}

/// What was learned by trying.
pub(super) struct Tried {
    pub(super) user_namespace: bool,
    pub(super) resets_signals: bool,
    pub(super) message_queues: bool,
}

/// Namespaces that every command has.
const NAMESPACES: &[&str] = &["--unshare-pid", "--unshare-ipc", "--die-with-parent", "--cap-drop", "ALL"];
/// Everything as it is, but not to be changed; processes are made anew.
const EVERYTHING: &[&str] = &["--ro-bind", "/", "/", "--proc", "/proc"];
/// For root, of whatever namespace: what the kernel shows there it lets root write, mostly without another right, and
/// bubblewrap covers only a part. All of it at once, because drivers add to it; what is the command's own goes with it.
const KERNEL: &[&str] = &["--remount-ro", "/proc"];
/// Devices are made anew, after everything that is bound.
const DEVICES: &[&str] = &["--dev", "/dev"];
/// What is told last: the place where systems have their message queues, of which these devices have none.
const LAST: &[&str] = &["--dir", "/dev/mqueue"];
/// What fails where not all was told: the last is among devices that were made anew, and only those can be changed.
/// Whoever tells it may be killed meanwhile, and walls that were half built would be none.
const TOLD_ALL: &[&str] = &["--chmod", "0755", "/dev/mqueue"];
/// What keys mean to a terminal, heard again.
const HEAR: [&str; 2] = ["env", "--default-signal=INT,QUIT"];
/// What is started before bubblewrap.
const SHELL: &str = "/bin/sh";
/// Keys do not end bubblewrap, and with it the command, before the command has heard of them.
const DEAF: [&str; 3] = [SHELL, "-c", "trap '' INT QUIT; exec \"$0\" \"$@\""];

/// What the shell is told to wait for a line before it becomes a program.
const WAITS: [&str; 2] = ["-c", "read -r _; exec \"$0\" \"$@\""];
/// A directory that is made with the devices.
pub(super) const SHARED: &str = "/dev/shm";
/// Succeeds if nothing can be made there, whatever the mode. Nothing is written, which fails in any case.
const MAKES_NOTHING: [&str; 4] = ["sh", "-c", "chmod 777 \"$0\" && ! true > \"$0/x\"", SHARED];

/// Tries the program in the ways it may work; says why it does not, if in none.
pub(super) fn try_out(program: &Path, root: bool) -> Result<Tried, String> {
    try_out_by(Path::new(SHELL), program, root)
}

fn try_out_by(shell: &Path, program: &Path, root: bool) -> Result<Tried, String> {
    // Without a shell nobody waits to be limited, and none keeps keys from bubblewrap.
    let shell = Some(shell).filter(|shell| shell.exists());
    // Root does without a namespace of users if it can: in one it has no right to others' files.
    let ways: &[bool] = if root { &[false, true] } else { &[true] };
    let (nothing, mut queues) = (Words::default(), Words::default());
    queues.keep_empty([Path::new(SHARED)]);
    let all = [&HEAR[..], &MAKES_NOTHING].concat();
    let [env, hear] = HEAR;
    let mut why = String::new();
    for &user_namespace in ways {
        let works = |walls: &Words, command: &[&str]| try_way(shell, program, user_namespace, walls, command);
        // In most places all of it works, and is known at once.
        if shell.is_some() && works(&queues, &all).is_ok() {
            return Ok(Tried { user_namespace, resets_signals: true, message_queues: true });
        }
        match works(&nothing, &["true"]) {
            Ok(()) => {
                let resets_signals = shell.is_some() && works(&nothing, &[env, hear, "true"]).is_ok();
                let message_queues = shell.is_some() && works(&queues, &MAKES_NOTHING).is_ok();
                return Ok(Tried { user_namespace, resets_signals, message_queues });
            }
            Err(e) => why = e,
        }
    }
    Err(why)
}

#[expect(clippy::disallowed_methods, reason = "the environment itself, before it is one")]
fn try_way(
    shell: Option<&Path>,
    program: &Path,
    user_namespace: bool,
    walls: &Words,
    command: &[&str],
) -> Result<(), String> {
    let mut tried = Command::new(shell.unwrap_or(program));
    if shell.is_some() {
        tried.args(WAITS).arg(program);
    }
    let waits = shell.is_some();
    tried.args(NAMESPACES).arg("--unshare-net").args(user_namespace.then_some("--unshare-user"));
    tried.args(EVERYTHING).args(kernel()).args(DEVICES).args(&walls.0).args(LAST).args(TOLD_ALL);
    tried.arg("--").args(command);
    tried.env_clear().env("PATH", "/usr/bin:/bin");
    tried.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // On a thread that is confined as those are that start commands.
    let run = move || {
        if !user_namespace {
            devices::keep()?;
        }
        Rules::scopes(None).enter(None)?;
        let mut child = tried.spawn()?;
        if waits {
            forbid_queues(child.id().cast_signed());
        }
        // If it has ended it has said why.
        drop(child.stdin.take().map(|mut line| line.write_all(b"\n")));
        child.wait_with_output()
    };
    let ended = thread::Builder::new().spawn(run).map(thread::JoinHandle::join);
    match ended {
        Ok(Ok(Ok(output))) if output.status.success() => Ok(()),
        Ok(Ok(Ok(output))) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Ok(Ok(Err(e))) | Err(e) => Err(e.to_string()),
        Ok(Err(_)) => Err("the thread that tried it ended".to_owned()),
    }
}

fn kernel() -> &'static [&'static str] {
    if nix::unistd::geteuid().is_root() { KERNEL } else { &[] }
}

/// Lets a process, and those that it starts, make no message queues; says whether that holds.
fn forbid_queues(process: i32) -> bool {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    Pid::from_raw(process).is_some_and(|process| prlimit(Some(process), Resource::Msgqueue, none).is_ok())
}

/// Rights over files that root keeps, where it is the real one.
const FILE_RIGHTS: &[&str] = &["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID"];

/// What the command gets instead of what is hidden, if that is a file: nothing that can be opened.
const NOTHING: &str = "/dev/null";

/// What bubblewrap is told after it was started: where the walls are, by what was found to be there meanwhile.
pub(super) struct Plan {
    way: Way,
    message_queues: bool,
    places: Arc<Places>,
    fifos: Vec<PathBuf>,
    survey: Surveying,
    variables: Variables,
    /// Bubblewrap reads here, and builds nothing before this is closed.
    tells: PipeWriter,
}

impl Plan {
    /// Tells it, which is this process; gives what must stand while the walls do.
    pub(super) fn carry_out(mut self, bwrap: nix::unistd::Pid) -> Vec<StandIn> {
        let survey = match self.survey.end() {
            Ok(survey) => survey,
            Err(e) => {
                // No option of bubblewrap, which says so, and ends.
                drop(write!(self.tells, "--{e}\0"));
                return Vec::new();
            }
        };
        // A command has its queues where nothing is missing.
        let stay_empty = self.message_queues && !survey.stand_ins.is_empty() && forbid_queues(bwrap.as_raw());
        let walls = self.way.walls(&self.places, &self.fifos, &survey, stay_empty);
        let mut text = Vec::new();
        let variables = self.variables.iter().flat_map(|(name, value)| [OsStr::new("--setenv"), name, value]);
        let walls = walls.0.iter().map(OsString::as_os_str);
        let last = LAST.iter().map(OsStr::new);
        for word in variables.chain(walls).chain(last) {
            text.extend_from_slice(word.as_bytes());
            text.push(0);
        }
        // If it has ended it has said why, and if it was told a part it ends.
        drop(self.tells.write_all(&text));
        survey.stand_ins
    }
}

/// Which namespaces a command has of its own.
struct Way {
    user: bool,
    network: bool,
}

impl Way {
    /// What is mounted where, and which namespaces there are. `stay_empty`: whether what stands in for settings can be
    /// covered with the directory of message queues.
    fn walls(&self, places: &Places, fifos: &[PathBuf], survey: &Survey, stay_empty: bool) -> Words {
        let mut walls = Words::default();
        walls.add(NAMESPACES.iter().copied());
        if self.user {
            walls.add(["--unshare-user"]);
        } else {
            walls.add(FILE_RIGHTS.iter().flat_map(|right| ["--cap-add", right]));
        }
        if self.network {
            walls.add(["--unshare-net"]);
        }
        walls.add(EVERYTHING.iter().chain(kernel()).copied());
        let foreign = &survey.foreign;
        for own in &foreign.own {
            walls.own(own, places.is_temporary(&own.dir));
        }
        let open: BTreeSet<&Path> =
            places.writable().chain(survey.pins.iter().map(PathBuf::as_path)).collect();
        for dir in open.into_iter().filter(|dir| !is_device(dir) && !foreign.is_own(dir)) {
            walls.bind("--bind", dir, dir);
        }
        let empty = || survey.stand_ins.iter().map(StandIn::path);
        for settings in &survey.kept {
            if !(stay_empty && empty().any(|empty| empty == settings)) {
                walls.bind("--ro-bind", settings, settings);
            }
        }
        for covered in foreign.covered.iter().chain(foreign.left_of(fifos)) {
            walls.bind("--ro-bind", Path::new(NOTHING), covered);
        }
        for hidden in &survey.hidden {
            match hidden {
                Hidden::Directory(path) => {
                    walls.add(["--perms", "0000", "--tmpfs"]);
                    walls.0.push(path.into());
                }
                Hidden::File(path) => walls.bind("--ro-bind", Path::new(NOTHING), path),
            }
        }
        walls.add(DEVICES.iter().copied());
        // Below the devices nothing of what is outside is there.
        if stay_empty {
            walls.keep_empty(empty().filter(|path| !is_device(path)));
        }
        // Only now: what is mounted in them needs a place there.
        for own in foreign.own.iter().filter(|own| !places.is_temporary(&own.dir)) {
            walls.0.extend([OsString::from("--remount-ro"), own.dir.clone().into()]);
        }
        walls
    }
}

/// Arguments of the program.
#[derive(Default)]
struct Words(Vec<OsString>);

impl Words {
    fn add<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        self.0.extend(words.into_iter().map(OsString::from));
    }

    /// An empty directory in the place of one, with some of what is in that.
    fn own(&mut self, own: &Own, is_writable: bool) {
        self.add(["--perms", "1777", "--tmpfs"]);
        self.0.push(own.dir.clone().into());
        // What goes away meanwhile is not missed.
        let how = if is_writable { "--bind-try" } else { "--ro-bind-try" };
        for path in &own.shown {
            match fs::read_link(path) {
                // Never what it leads to: that may be something hidden.
                Ok(target) => self.bind("--symlink", &target, path),
                Err(_) => self.bind(how, path, path),
            }
        }
    }

    /// Keeps directories empty, for a command that may have no message queues: they are covered with the directory of
    /// these, in which nothing else can be made, not by root either. To bind each read-only to itself takes ten times as
    /// long, because bubblewrap reads the table of all mounts after each that it binds; so these also come when most of
    /// those are done. In a file system in memory what a command writes would be lost without a word.
    fn keep_empty<'a>(&mut self, dirs: impl IntoIterator<Item = &'a Path>) {
        let mut one = None;
        for dir in dirs {
            self.0.extend([OsStr::new("--mqueue"), dir.as_os_str()].map(OsString::from));
            one = Some(dir);
        }
        // It is one directory in all these places. Whoever is not root is told that it is denied, and not that there are
        // too many files.
        if let Some(dir) = one {
            self.0.extend(["--chmod", "0555"].map(OsString::from).into_iter().chain([dir.into()]));
        }
    }

    fn bind(&mut self, how: &str, from: &Path, to: &Path) {
        self.0.extend([OsStr::new(how), from.as_os_str(), to.as_os_str()].map(OsString::from));
    }
}

/// The command line, with everything that need not be seen in files.
///
/// The variables of the command are not those of bubblewrap itself: some of them make a program load
/// whatever they name, and bubblewrap is not confined yet.
pub(super) fn wrap(
    bwrap: &Bwrap,
    places: &Arc<Places>,
    fifos: &[PathBuf],
    own_network: bool,
    filter: &[u8],
    terminal: bool,
    launch: Launch,
) -> io::Result<(Launch, Plan, PipeReader)> {
    let survey = Surveying::begin(Arc::clone(places))?;
    let (arguments, tells) = io::pipe()?;
    let (told, info) = io::pipe()?;
    let files = [arguments.into(), memory("filter", filter)?.into(), info.into()];
    let mut descriptors = launch.descriptors;
    let given = descriptors.len();
    descriptors.extend(files.map(|file: OwnedFd| (file, 0)));
    number(&mut descriptors);
    let keys = terminal && bwrap.resets_signals;
    let mut line: Vec<OsString> = DEAF.iter().filter(|_| keys).map(OsString::from).collect();
    line.push(bwrap.program.clone().into());
    for (option, (_, number)) in
        ["--args", "--seccomp", "--info-fd"].iter().zip(descriptors.iter().skip(given))
    {
        line.extend([OsString::from(option), number.to_string().into()]);
    }
    // After what it is told through the first of these.
    line.extend(TOLD_ALL.iter().map(OsString::from));
    // Said, or where that is not there it would go somewhere else.
    line.extend(["--chdir".into(), launch.cwd.clone().into_os_string()]);
    line.push("--".into());
    line.extend(HEAR.iter().filter(|_| keys).map(OsString::from));
    line.push(launch.program);
    line.extend(launch.arguments);
    let variables = launch.variables;
    let mark = variables.iter().filter(|(name, _)| *name == MARK);
    let mark = mark.map(|(name, value)| (name.clone(), value.clone())).collect();
    let program = line.remove(0);
    let way = Way { user: bwrap.user, network: own_network };
    let (message_queues, places) = (bwrap.message_queues, Arc::clone(places));
    let plan = Plan { way, message_queues, places, fifos: fifos.to_vec(), survey, variables, tells };
    Ok((Launch { program, arguments: line, variables: mark, descriptors, ..launch }, plan, told))
}

/// The first process of the command's namespace, as bubblewrap tells of it. When it is gone, nothing is
/// left of all that was started there. `None` if bubblewrap ended before.
pub(super) fn first_inside(mut told: &PipeReader) -> Option<OwnedFd> {
    let mut text = Vec::new();
    let mut piece = [0; 512];
    while !text.contains(&b'}') {
        match told.read(&mut piece).ok()? {
            0 => return None,
            length => text.extend_from_slice(piece.get(..length)?),
        }
    }
    let text = String::from_utf8_lossy(&text);
    let (_, after) = text.split_once("\"child-pid\":")?;
    let digits: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
    let pid = Pid::from_raw(digits.parse().ok()?)?;
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

/// Gives descriptors the numbers that they have in the command: above all that are used here, so that
/// none takes the place of another before it has its own.
pub(super) fn number(descriptors: &mut [(OwnedFd, i32)]) {
    let used = descriptors.iter().map(|(file, number)| (*number).max(file.as_raw_fd())).max();
    let new = descriptors.iter_mut().filter(|(_, number)| *number == 0);
    for ((_, number), next) in new.zip(used.map_or(3, |used| used + 1)..) {
        *number = next;
    }
}

/// A file that is nowhere, with this in it.
fn memory(name: &str, content: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create(name, MFdFlags::MFD_CLOEXEC)?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Among message queues a file can be made without the limit, but never written.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "what is tried is a line of the shell")]
    fn what_can_be_made_and_not_written_can_be_made() {
        let dir = tempfile::tempdir().unwrap();
        let [shell, line @ .., _] = MAKES_NOTHING;
        let makes_nothing = |dir: &Path| Command::new(shell).args(line).arg(dir).status().unwrap().success();
        std::os::unix::fs::symlink("/dev/full", dir.path().join("x")).unwrap();
        assert!(!makes_nothing(dir.path()));
        fs::remove_file(dir.path().join("x")).unwrap();
        fs::create_dir(dir.path().join("x")).unwrap();
        assert!(makes_nothing(dir.path()));
    }

    #[test]
    fn without_a_shell_a_program_that_works_is_one_and_less_is_known() {
        let tried = try_out_by(Path::new("/nowhere/sh"), Path::new("true"), false).unwrap();
        assert!(!tried.message_queues && !tried.resets_signals);
        assert!(try_out_by(Path::new("/nowhere/sh"), Path::new("false"), false).is_err());
    }
}
