//! The standard streams of this process, as a confined command gets them.
//!
//! A descriptor leads to where it was opened, by `/proc/self/fd`: with a file as its input, a command could write where
//! nothing may be written, or change the file's mode. So it gets a pipe, into which what is in the file is put while it
//! runs.

use std::fs::File;
use std::io::{self, IsTerminal as _, PipeReader, PipeWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::AsFd;
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, Stat, fstat, fstatfs, makedev};
use rustix::io::{ioctl_fionbio, ioctl_fionread, retry_on_intr};

/// How much is read at once.
const PIECE: usize = 64 << 10;
/// Where pipes are that have no name, in what the system tells of a file system.
const NAMELESS: u32 = 0x5049_5045;

/// What a command gets of them.
#[derive(Default)]
pub(super) struct Beside {
    /// Its input, if that is not ours as it is.
    pub(super) input: Option<(PipeReader, Feed)>,
    /// The numbers of those that are the device of nothing, for the command to open itself.
    pub(super) nothing: Vec<i32>,
}

impl Beside {
    /// For a command that is confined.
    ///
    /// # Errors
    /// If one is a directory.
    pub(super) fn confined() -> io::Result<Self> {
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        let mut nothing = Vec::new();
        for (number, stream) in (0..).zip([stdin.as_fd(), stdout.as_fd(), stderr.as_fd()]) {
            let Ok(stat) = fstat(stream) else { continue };
            if kind(&stat).is_dir() {
                let message =
                    "a standard stream is a directory, through which a command would leave the sandbox";
                return Err(io::Error::new(io::ErrorKind::IsADirectory, message));
            }
            nothing.extend(is_nothing(&stat).then_some(number));
        }
        let is_fed = !nothing.contains(&0) && leads_out(&stdin);
        let input =
            if is_fed { Some(Feed::begin(stdin.as_fd().try_clone_to_owned()?.into())?) } else { None };
        Ok(Self { input, nothing })
    }
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn is_nothing(stat: &Stat) -> bool {
    kind(stat).is_char_device() && stat.st_rdev == makedev(1, 3)
}

/// Whether somebody else's file can be reached through it: everything but sockets, pipes and the user's terminal.
fn leads_out(stream: impl AsFd) -> bool {
    let Ok(stat) = fstat(&stream) else { return false };
    match kind(&stat) {
        FileType::Socket => false,
        FileType::CharacterDevice => !stream.as_fd().is_terminal(),
        // One with a name is a file like any other.
        FileType::Fifo => !fstatfs(&stream).is_ok_and(|system| u32::try_from(system.f_type) == Ok(NAMELESS)),
        _ => true,
    }
}

/// A thread that puts what is in a file into a pipe. Dropping it ends that; what the command has not read of a file is
/// then left for whoever reads that next, as if the command had read it itself.
pub(super) struct Feed {
    /// Closed to end it.
    stop: Option<PipeWriter>,
    /// Only of a file: to others nothing is given back, and they may keep somebody who reads them waiting.
    thread: Option<JoinHandle<()>>,
}

impl Feed {
    pub(super) fn begin(source: File) -> io::Result<(PipeReader, Self)> {
        let (theirs, pipe) = io::pipe()?;
        ioctl_fionbio(&pipe, true)?;
        let (stopped, stop) = io::pipe()?;
        // With a reader of our own, a command that reads no more is no error.
        let ours = theirs.try_clone()?;
        let is_file = source.metadata()?.is_file();
        let thread = thread::Builder::new().name("junto-input".to_owned());
        let thread = thread.spawn(move || {
            let pending = pump(&source, pipe, &stopped);
            let unread = ioctl_fionread(&ours).unwrap_or_default().saturating_add(pending);
            if let (true, Ok(unread)) = (unread > 0, i64::try_from(unread)) {
                // Where that cannot be, there is no place in it.
                let _ = (&source).seek(SeekFrom::Current(-unread));
            }
        })?;
        let thread = Some(thread).filter(|_| is_file);
        Ok((theirs, Self { stop: Some(stop), thread }))
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        drop(self.stop.take());
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Until it is stopped; gives how much was read and not written.
fn pump(mut source: &File, pipe: PipeWriter, stopped: &PipeReader) -> u64 {
    let mut piece = vec![0; PIECE];
    let mut pending = 0..0;
    let mut pipe = Some(pipe);
    loop {
        let reads = pending.is_empty();
        let next = pipe.as_ref().map(|pipe| {
            if reads { PollFd::new(&source, PollFlags::IN) } else { PollFd::new(pipe, PollFlags::OUT) }
        });
        let mut all: Vec<PollFd<'_>> = next.into_iter().collect();
        all.push(PollFd::new(stopped, PollFlags::IN));
        let waited = retry_on_intr(|| poll(&mut all, None));
        if waited.is_err() || all.last().is_some_and(|stopped| !stopped.revents().is_empty()) {
            return u64::try_from(pending.len()).unwrap_or_default();
        }
        let Some(open) = &mut pipe else { continue };
        let done = if reads {
            source.read(&mut piece).map(|read| pending = 0..read)
        } else {
            let part = piece.get(pending.clone()).unwrap_or_default();
            open.write(part).map(|written| pending.start += written)
        };
        match done {
            // Its end: the command sees it, too.
            Ok(()) if pending == (0..0) => pipe = None,
            Ok(()) => {}
            Err(e) if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&e.kind()) => {}
            Err(e) => {
                tracing::warn!("standard input cannot be read to its end: {e}");
                pipe = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_to_somebody_elses_file() {
        let file = tempfile::tempfile().unwrap();
        let (reader, writer) = io::pipe().unwrap();
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let fifo = File::options().read(true).write(true).open(fifo).unwrap();
        let zero = File::open("/dev/zero").unwrap();
        for (stream, expected) in [
            (file.as_fd(), true),
            (fifo.as_fd(), true),
            (zero.as_fd(), true),
            (reader.as_fd(), false),
            (writer.as_fd(), false),
            (socket.as_fd(), false),
        ] {
            assert_eq!(leads_out(stream), expected, "{stream:?}");
        }
        let is = |path: &str| is_nothing(&fstat(File::open(path).unwrap()).unwrap());
        assert!(is("/dev/null") && !is("/dev/zero") && !is("/dev/shm"));
    }

    #[test]
    fn what_is_not_read_of_a_file_is_left_in_it() {
        let mut file = tempfile::tempfile().unwrap();
        let all: Vec<u8> = (0..1 << 20).map(|at: u32| at.to_le_bytes()[0]).collect();
        file.write_all(&all).unwrap();
        for read in [0, 1, 100, PIECE, PIECE + 1, 300_000, all.len()] {
            file.rewind().unwrap();
            let (mut theirs, feed) = Feed::begin(file.try_clone().unwrap()).unwrap();
            let mut part = vec![0; read];
            theirs.read_exact(&mut part).unwrap();
            assert!(part == all[..read], "{read}");
            drop(theirs);
            drop(feed);
            assert_eq!(file.stream_position().unwrap(), u64::try_from(read).unwrap());
        }
        // From where it stood.
        file.seek(SeekFrom::Start(all.len() as u64 - 3)).unwrap();
        let (mut theirs, feed) = Feed::begin(file.try_clone().unwrap()).unwrap();
        let mut rest = Vec::new();
        theirs.read_to_end(&mut rest).unwrap();
        drop(feed);
        assert_eq!(
            (rest.as_slice(), file.stream_position().unwrap()),
            (&all[all.len() - 3..], all.len() as u64)
        );
    }

    #[test]
    fn who_reads_from_one_where_nothing_comes_is_let_go() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let mut fifo = File::options().read(true).write(true).open(path).unwrap();
        let (mut theirs, feed) = Feed::begin(fifo.try_clone().unwrap()).unwrap();
        fifo.write_all(b"x").unwrap();
        let mut one = [0; 1];
        theirs.read_exact(&mut one).unwrap();
        drop(feed);
        // There is nobody left who writes.
        assert_eq!((one, theirs.read(&mut [0; 1]).unwrap()), (*b"x", 0));
    }
}
