//! Beginning a journal, and bringing one into order that a crash left.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use junto_core::{BlobId, Seq};
use junto_llm::SessionId;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::blobs::{self, Blobs, Sweep};
use super::format::Header;
use super::fresh::Fresh;
use super::lock::{self, Lock};
use super::places::Places;
use super::records::Records;
use super::recovery::{Cut, Recovery};
use super::writer::Writer;
use super::{DiskJournal, FILE, QUICK, Shared};
use crate::files::{File, Files, How};
use crate::{Error, ErrorKind, Opened, Options, Result, Sync};

/// How many syncs it takes until a journal is safe: its file, and the folders above it.
const SYNCS: u32 = 4;

/// How much is copied at once.
const CHUNK: usize = 64 * 1024;

/// What was said when a journal could not be opened.
pub(crate) fn not_opened(path: &Path, session: &SessionId, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, session, "there is no such session"),
        _ => Error::io(path, error),
    }
}

/// Begins the journal of a session in a folder.
///
/// # Errors
/// If there is one, or it cannot be written; then nothing is left behind.
pub(crate) fn create(
    files: &Arc<dyn Files>,
    options: &Options,
    folder: PathBuf,
    session: &SessionId,
) -> Result<Opened> {
    files.make_folder(&folder).map_err(|error| Error::io(&folder, error))?;
    let path = folder.join(FILE);
    let lock = Lock::take(files, &folder, session).inspect_err(|error| {
        // Whoever has the lock has the folder, too.
        if error.kind() != ErrorKind::Locked && !files.is_there(&path) {
            leave_nothing(&**files, &folder);
        }
    })?;
    let file = files.open(&path, How::New).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::new(ErrorKind::Exists, session, "there is such a session"),
        _ => Error::io(&path, error),
    });
    let begun = file.and_then(|file| Ok((begin(&*file, &path, options, session)?, file)));
    match begun {
        Ok((len, file)) => {
            let fresh = fresh(files, options, &folder, &file);
            let writer = Writer::new(file, path, len, Seq(0), Places::default());
            let journal = journal(files, options, folder, session, writer, lock, fresh);
            Ok(Opened { journal, last: Seq(0), recovery: Recovery::default() })
        }
        Err(error) => {
            if error.kind() != ErrorKind::Exists {
                let _ = files.remove(&path);
                leave_nothing(&**files, &folder);
            }
            Err(error)
        }
    }
}

/// Removes a folder that has a lock at most, as well as it goes: the first error is the one to tell.
fn leave_nothing(files: &dyn Files, folder: &Path) {
    let _ = files.remove(&folder.join(lock::FILE));
    let _ = files.remove_folder(folder);
}

/// What makes the folders safe that list a journal: with the first event that is to be safe they are, too. Nobody knows
/// whether those of an old journal ever were, if its process was killed.
fn fresh(
    files: &Arc<dyn Files>,
    options: &Options,
    folder: &Path,
    file: &Arc<dyn File>,
) -> (Fresh, Arc<AtomicBool>) {
    let folders = [Some(folder), folder.parent(), folder.parent().and_then(Path::parent)];
    let folders = folders.into_iter().flatten().map(Path::to_owned).collect();
    let is_quick = Arc::new(AtomicBool::new(false));
    let fresh = match options.sync {
        Sync::Never => Fresh::Folders(folders),
        Sync::Always | Sync::TurnEnds => Fresh::begin(files, file, folders, QUICK * SYNCS, &is_quick),
    };
    (fresh, is_quick)
}

/// Writes the header into an empty file. It is not synced yet.
fn begin(file: &dyn File, path: &Path, options: &Options, session: &SessionId) -> Result<u64> {
    let mut line = Vec::new();
    Header::write(session, (options.clock)(), &mut line)?;
    file.write_all_at(&line, 0).map_err(|error| Error::io(path, error))?;
    Ok(line.len() as u64)
}

fn sync(file: &dyn File, options: &Options) -> io::Result<()> {
    if options.sync == Sync::Never { Ok(()) } else { file.sync() }
}

/// Locks the session in a folder and brings its journal into order.
///
/// # Errors
/// If there is none, somebody writes it, it is not this session's, or a newer version wrote it.
pub(crate) fn open(
    files: &Arc<dyn Files>,
    options: &Options,
    folder: PathBuf,
    session: &SessionId,
) -> Result<Opened> {
    let path = folder.join(FILE);
    // Not even a lock is made where there is nothing.
    drop(files.open(&path, How::Read).map_err(|error| not_opened(&path, session, error))?);
    let lock = Lock::take(files, &folder, session)?;
    let file = files.open(&path, How::Write).map_err(|error| not_opened(&path, session, error))?;
    let mut records = Records::open(Arc::clone(&file), path.clone(), session)?;
    let mut sweep = Sweep::new(&**files, &folder)?;
    let mut places = Places::default();
    while let Some(record) = records.next()? {
        places.note(record.seq, record.at);
        sweep.look(record.event);
    }
    let mut recovery = records.recovery().clone();
    let last = records.last();
    let len = mend(files, options, &folder, &file, session, &mut recovery)?;
    // What is damaged may have named any of them.
    if recovery.damaged.is_empty() {
        recovery.swept = sweep.sweep(&**files);
    }
    let fresh = fresh(files, options, &folder, &file);
    let writer = Writer::new(file, path, len, last, places);
    let journal = journal(files, options, folder, session, writer, lock, fresh);
    Ok(Opened { journal, last, recovery })
}

/// Cuts off what is no whole record at the end of a journal, and keeps it aside; returns how long the
/// journal is then.
fn mend(
    files: &Arc<dyn Files>,
    options: &Options,
    folder: &Path,
    file: &Arc<dyn File>,
    session: &SessionId,
    recovery: &mut Recovery,
) -> Result<u64> {
    let path = folder.join(FILE);
    let failed = |error| Error::io(&path, error);
    let mut len = file.size().map_err(failed)?;
    let mut is_changed = false;
    if let Some(cut) = &mut recovery.cut {
        cut.kept = Some(keep_aside(files, folder, &**file, cut)?);
        len = cut.at;
        file.resize(len).map_err(failed)?;
        is_changed = true;
    }
    let mut end = *b"\n";
    if len == 0 {
        len = begin(&**file, &path, options, session)?;
        is_changed = true;
    } else {
        file.read_full_at(&mut end, len - 1).map_err(failed)?;
    }
    if end != *b"\n" {
        file.write_all_at(b"\n", len).map_err(failed)?;
        len += 1;
        is_changed = true;
    }
    if is_changed {
        sync(&**file, options).map_err(failed)?;
    }
    Ok(len)
}

/// Copies what is going to be cut into a file of its own.
fn keep_aside(files: &Arc<dyn Files>, folder: &Path, file: &dyn File, cut: &Cut) -> Result<PathBuf> {
    let mut number = 1_u32;
    let (path, copy) = loop {
        let path = folder.join(format!("{FILE}.cut-{number}"));
        match files.open(&path, How::New) {
            Ok(copy) => break (path, copy),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(Error::io(&path, error)),
        }
    };
    let copied = (|| {
        let mut chunk = vec![0; CHUNK];
        let mut done = 0;
        while done < cut.bytes {
            let wanted = usize::try_from(cut.bytes - done).unwrap_or(CHUNK).min(CHUNK);
            let room = chunk.get_mut(..wanted).unwrap_or_default();
            let read = file.read_full_at(room, cut.at + done)?;
            if read == 0 {
                break;
            }
            copy.write_all_at(room.get(..read).unwrap_or_default(), done)?;
            done += read as u64;
        }
        copy.sync()?;
        // It must be listed before what it has is cut off.
        files.sync_folder(folder)
    })();
    copied.map_err(|error| {
        let _ = files.remove(&path);
        Error::io(&path, error)
    })?;
    Ok(path)
}

fn journal(
    files: &Arc<dyn Files>,
    options: &Options,
    folder: PathBuf,
    session: &SessionId,
    writer: Writer,
    lock: Lock,
    (fresh, is_quick): (Fresh, Arc<AtomicBool>),
) -> Arc<DiskJournal> {
    let shared = Shared {
        session: session.clone(),
        path: folder.join(FILE),
        blobs: Blobs::new(Arc::clone(files), &folder, options.redact.clone(), options.sync),
        folder,
        file: Arc::clone(writer.file()),
        writer: Mutex::new(writer),
        redact: options.redact.clone(),
        watch: options.watch.clone(),
        sync: options.sync,
        delay: options.delay,
        syncing: Semaphore::new(1),
        synced: AtomicU64::new(0),
        synced_at: Mutex::new(Instant::now()),
        is_quick,
        files: Arc::clone(files),
        fresh: Mutex::new(fresh),
        _lock: lock,
    };
    Arc::new(DiskJournal { shared: Arc::new(shared) })
}

/// At most `max` bytes of a payload of the session in a folder, from a byte on.
pub(crate) fn read_blob(
    files: &dyn Files,
    folder: &Path,
    blob: &BlobId,
    from: u64,
    max: usize,
) -> Result<Vec<u8>> {
    blobs::read(files, &folder.join(blobs::FOLDER), blob, from, max)
}
