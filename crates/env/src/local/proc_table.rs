//! The system's table of processes, read from `/proc`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::libc;
use nix::unistd::Pid;

/// One process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) pid: Pid,
    pub(crate) parent: Pid,
    pub(crate) group: Pid,
    pub(crate) session: Pid,
    /// When it started, in ticks since the machine did. With the pid this is its identity: the
    /// number alone may be somebody else's tomorrow.
    pub(crate) start: u64,
    /// Whether it can still do anything. The dead whose parent has not looked yet cannot.
    pub(crate) alive: bool,
    /// Whether it has no variables and will not get any: the kernel's own, the dead, and what was
    /// started with none.
    pub(crate) bare: bool,
}

/// The flag of the kernel's own threads.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A process and no other, ever.
pub(crate) type Identity = (Pid, u64);

impl Entry {
    pub(crate) fn identity(&self) -> Identity {
        (self.pid, self.start)
    }
}

/// All processes, as far as one look can see.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
    /// Whether some were listed and gone when they were looked at: they may have left successors that
    /// were not listed.
    pub(crate) moved: bool,
}

/// All processes. Where there is no `/proc` there are none.
pub(crate) fn all() -> Table {
    table(numbers())
}

/// The process with this number and those that were started after it, if the kernel has not begun to
/// count anew meanwhile: its own threads, which are many and old, then have the higher numbers.
pub(crate) fn since(first: i32) -> Option<Table> {
    let numbers = numbers();
    // Not asked before: what is started in between and listed would be left out.
    let last = last_number().filter(|last| *last >= first)?;
    Some(table(numbers.into_iter().filter(|number| (first..=last).contains(number)).collect()))
}

/// The numbers of all processes.
fn numbers() -> Vec<i32> {
    let Ok(dir) = fs::read_dir("/proc") else { return Vec::new() };
    dir.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn table(mut numbers: Vec<i32>) -> Table {
    // The youngest first: they are the first to be gone.
    numbers.sort_unstable_by(|one, other| other.cmp(one));
    let entries: Vec<Entry> = numbers.iter().copied().filter_map(of).collect();
    Table { moved: entries.len() < numbers.len(), entries }
}

/// The number that was given to a process last.
pub(crate) fn last_number() -> Option<i32> {
    let mut line = [0; 128];
    let length = File::open("/proc/loadavg").ok()?.read(&mut line).ok()?;
    std::str::from_utf8(line.get(..length)?).ok()?.split_ascii_whitespace().last()?.parse().ok()
}

/// One process, if it is there.
pub(crate) fn of(pid: i32) -> Option<Entry> {
    // The kernel gives the line, which is never this long, in one read; a table of hundreds of
    // processes is read after every command.
    let mut line = [0; 2048];
    let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
    parse(Pid::from_raw(pid), line.get(..length)?)
}

fn parse(pid: Pid, stat: &[u8]) -> Option<Entry> {
    // The second field is the program's name in brackets, and a program may be called anything.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(stat.get(end + 1..)?).ok()?.split_ascii_whitespace();
    let state = fields.next()?;
    let mut next_pid = || Some(Pid::from_raw(fields.next()?.parse().ok()?));
    let (parent, group, session) = (next_pid()?, next_pid()?, next_pid()?);
    // By their numbers in proc(5). The last one read was the 6th.
    let mut last = 6;
    let mut field = |number: usize| {
        let skipped = number - last - 1;
        last = number;
        fields.nth(skipped)?.parse::<u64>().ok()
    };
    let (flags, threads, start) = (field(9)?, field(20)?, field(22)?);
    let (end_of_code, first_variable, end_of_variables) = (field(27)?, field(50)?, field(51)?);
    // A process whose first thread has ended looks dead while its other threads go on.
    let alive = !matches!(state, "Z" | "X" | "x") || threads > 1;
    let kernel = flags & KERNEL_THREAD != 0;
    // A program that is being started has no code yet while its variables are being counted.
    let empty = first_variable == end_of_variables && end_of_variables != 0 && end_of_code != 0;
    Some(Entry { pid, parent, group, session, start, alive, bare: kernel || empty || !alive })
}

/// What is known of a variable.
pub(crate) enum Variable {
    Is(String),
    Missing,
    /// The process is just being given another program, or is just ending, and has no variables for
    /// the moment.
    Unknown,
}

/// A variable in the environment a process was started with.
pub(crate) fn variable(entry: &Entry, name: &str) -> Variable {
    let environ = match environ(entry.pid) {
        Ok(environ) => environ,
        Err(e) if e.kind() == io::ErrorKind::NotFound || e.raw_os_error() == Some(libc::ESRCH) => Vec::new(),
        // Somebody else's.
        Err(_) => return Variable::Missing,
    };
    if environ.is_empty() {
        return if entry.bare { Variable::Missing } else { Variable::Unknown };
    }
    let value = value_of(&environ, name.as_bytes()).and_then(|value| String::from_utf8(value.to_vec()).ok());
    value.map_or(Variable::Missing, Variable::Is)
}

/// A variable's value among all of them. Between its name and its value there may be a NUL: bash writes
/// one there for the moment in which it reads its variables.
fn value_of<'a>(environ: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut entries = environ.split(|byte| *byte == 0);
    while let Some(entry) = entries.next() {
        match entry.strip_prefix(name) {
            Some([]) => return entries.next(),
            Some([b'=', value @ ..]) => return Some(value),
            _ => {}
        }
    }
    None
}

/// The variables; none if the process is just being given others.
fn environ(pid: Pid) -> io::Result<Vec<u8>> {
    /// As much is given in one piece, which is all of one program or nothing. What comes in several
    /// may stop anywhere, when the process starts another program meanwhile.
    const PIECE: usize = 256 << 10;
    /// More than any environment the kernel lets a program start with by default.
    const LONGEST: usize = 8 << 20;
    let mut file = File::open(format!("/proc/{pid}/environ"))?;
    // Zeroed by the kernel: that costs nothing for what is then not used, and most environments are small.
    let mut environ = vec![0; PIECE];
    let mut length = 0;
    loop {
        let read = file.read(&mut environ[length..])?;
        length += read;
        if length < environ.len() || length >= LONGEST {
            environ.truncate(length);
            return Ok(environ);
        }
        environ.resize(length + PIECE, 0);
    }
}

/// A pipe or terminal, as the kernel names it among the open files of a process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    name: PathBuf,
    /// Device and number. The terminals of a container have the same names as ours.
    file: (u64, u64),
}

impl Stream {
    /// One of our own descriptors.
    pub(crate) fn of(fd: impl AsFd) -> Option<Self> {
        Self::at(format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd()))
    }

    /// What the kernel calls it; of a terminal this is where it is.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    fn at(link: String) -> Option<Self> {
        let name = fs::read_link(&link).ok()?;
        Some(Self { name, file: file_behind(&link)? })
    }

    /// Whether a process reads from it or writes to it with one of its first three descriptors.
    pub(crate) fn is_used_by(&self, pid: Pid) -> bool {
        (0..3).map(|fd| format!("/proc/{pid}/fd/{fd}")).any(|link| {
            // By name first: to ask a file on a broken disk what it is may take for ever.
            fs::read_link(&link).is_ok_and(|name| name == self.name) && file_behind(&link) == Some(self.file)
        })
    }
}

fn file_behind(link: &str) -> Option<(u64, u64)> {
    let metadata = fs::metadata(link).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// The command line of a process, for people.
pub(crate) fn command_line(pid: Pid) -> String {
    let raw = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&raw).trim_end_matches('\0').replace('\0', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected are parent, group, session, start, whether it is alive and whether it is bare.
    fn check(stat: &str, expected: Option<(i32, i32, i32, u64, bool, bool)>) {
        let found = parse(Pid::from_raw(7), stat.as_bytes())
            .map(|e| (e.parent.as_raw(), e.group.as_raw(), e.session.as_raw(), e.start, e.alive, e.bare));
        assert_eq!(found, expected, "{stat}");
    }

    fn line(name: &str, state: &str, flags: u64, threads: u32, variables: (u64, u64)) -> String {
        let code = u32::from(variables.1 != 0);
        counted(name, state, flags, threads, code, variables)
    }

    fn counted(
        name: &str,
        state: &str,
        flags: u64,
        threads: u32,
        code: u32,
        variables: (u64, u64),
    ) -> String {
        let (first, end) = variables;
        let unused = "0 ".repeat(22);
        format!(
            "7 ({name}) {state} 2 3 4 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 {threads} 0 99 0 0 0 0 {code} \
             {unused}{first} {end} 0"
        )
    }

    #[test]
    fn lines_of_stat() {
        check(&line("sleep", "S", 0, 1, (8, 9)), Some((2, 3, 4, 99, true, false)));
        check(&line("a) S 1 1 (b", "R", 0, 1, (8, 9)), Some((2, 3, 4, 99, true, false)));
        check(&line("gone", "Z", 0, 1, (0, 0)), Some((2, 3, 4, 99, false, true)));
        check(&line("half gone", "Z", 0, 3, (0, 0)), Some((2, 3, 4, 99, true, false)));
        check(&line("being started", "R", 0, 1, (0, 0)), Some((2, 3, 4, 99, true, false)));
        check(&line("without variables", "S", 0, 1, (8, 8)), Some((2, 3, 4, 99, true, true)));
        check(&counted("being counted", "R", 0, 1, 0, (8, 8)), Some((2, 3, 4, 99, true, false)));
        check(&line("kthreadd", "S", KERNEL_THREAD, 1, (0, 0)), Some((2, 3, 4, 99, true, true)));
        check("7 (short) S 1 2", None);
        check("", None);
    }

    #[test]
    fn values_of_variables() {
        let check = |environ: &str, expected: Option<&str>| {
            assert_eq!(value_of(environ.as_bytes(), b"NAME"), expected.map(str::as_bytes), "{environ:?}");
        };
        check("NAME=value\0A=b\0", Some("value"));
        check("A=b\0NAME=\0", Some(""));
        check("NAMELESS=1\0A=NAME=2\0", None);
        check("", None);
        // While bash reads it.
        check("A=b\0NAME\0value\0C=d\0", Some("value"));
        check("NAME", None);
    }

    #[test]
    fn this_process_is_in_the_table() {
        let own = Pid::this();
        let found = all().entries.into_iter().find(|entry| entry.pid == own).unwrap();
        assert!(found.alive && !found.bare);
        assert_eq!(of(own.as_raw()).unwrap().identity(), found.identity());
        assert!(matches!(variable(&found, "PATH"), Variable::Is(_)));
        assert!(matches!(variable(&found, "NO_SUCH_VARIABLE"), Variable::Missing));
    }
}
