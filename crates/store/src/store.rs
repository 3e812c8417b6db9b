//! The folder that holds sessions.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use junto_core::{BlobId, Clock, Event, Payload, Seq};
use junto_llm::SessionId;

use crate::files::{Disk, Files};
use crate::journal::{self, DiskJournal, Header, Records, Recovery, Watch};
use crate::{Agents, Book, Error, ErrorKind, Index, Redactor, Result};

/// How much of a text is read at once.
const PIECE: usize = 1024 * 1024;

/// When what was written is also made safe against a crash of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// After every event.
    Always,
    /// Where the session asks for it: at the ends of turns and before side effects.
    #[default]
    TurnEnds,
    /// When the system likes to. A crash of the machine may lose the last events; a crash of the process
    /// loses nothing.
    Never,
}

/// How sessions are kept.
#[derive(Clone)]
pub struct Options {
    /// When to sync.
    pub sync: Sync,
    /// How long a sync waits at most for others to share it. Zero: it waits for nobody, but what comes
    /// while one is running shares the next.
    pub delay: Duration,
    /// What is taken out of events and payloads on the way in.
    pub redact: Redactor,
    /// Tells when a session was made.
    pub clock: Clock,
    /// Hears of every event after it was written; absent: the store's own index.
    pub watch: Option<Arc<dyn Watch>>,
}

/// A folder of sessions. Clones are the same store.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

/// A session that this process writes, until the journal is dropped.
#[derive(Debug)]
pub struct Opened {
    /// Where its events go.
    pub journal: Arc<DiskJournal>,
    /// The last position that is taken, 0 if none is: what `EventLog::new` wants. It is that of the last event, unless
    /// there is damage after it that may have been events.
    pub last: Seq,
    /// What was found wrong with it, and what was done about that.
    pub recovery: Recovery,
}

/// What a session's journal holds.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// How it begins.
    pub header: Header,
    /// Its events, in order.
    pub events: Vec<Event>,
    /// What was found wrong with it. Nothing was done about that.
    pub recovery: Recovery,
}

struct Inner {
    root: PathBuf,
    options: Options,
    files: Arc<dyn Files>,
    index: Index,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sync: Sync::default(),
            delay: Duration::ZERO,
            redact: Redactor::default(),
            clock: Arc::new(now),
            watch: None,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the default of a clock that can be replaced")]
fn now() -> Timestamp {
    Timestamp::now()
}

impl Store {
    /// The store in this folder, which is made if it is not there.
    ///
    /// All functions of a store block on files: call them where that is allowed.
    ///
    /// # Errors
    /// If the folder can neither be found nor made.
    pub fn open(root: impl Into<PathBuf>, options: Options) -> Result<Self> {
        Self::on(Arc::new(Disk), root, options)
    }

    /// A store on other files than those of the disk: for tests.
    ///
    /// # Errors
    /// As [`Store::open`].
    #[doc(hidden)]
    pub fn on(files: Arc<dyn Files>, root: impl Into<PathBuf>, options: Options) -> Result<Self> {
        let root = root.into();
        let sessions = root.join("sessions");
        make(&*files, &sessions, options.sync)?;
        let index = Index::open(&root, options.redact.clone());
        let watch = options.watch.unwrap_or_else(|| Arc::new(index.clone()));
        let options = Options { watch: Some(watch), ..options };
        Ok(Self { inner: Arc::new(Inner { root, options, files, index }) })
    }

    /// Whether there is something in a text that is masked where it is kept.
    pub fn masks(&self, text: &[u8]) -> bool {
        self.inner.options.redact.finds(text)
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.inner.root
    }

    /// The index of the sessions, brought up to date with their journals.
    ///
    /// # Errors
    /// If it can be neither read nor made. A session that cannot be read is no error.
    pub fn index(&self) -> Result<&Index> {
        self.inner.index.refresh(self)?;
        Ok(&self.inner.index)
    }

    /// A book for model calls that are made outside of sessions; `source` says in a word by what.
    pub fn book(&self, source: impl Into<String>) -> Book {
        Book::new(self.root(), self.inner.index.clone(), source, Arc::clone(&self.inner.options.clock))
    }

    /// The agents that have a name.
    ///
    /// # Errors
    /// If their file can be neither opened nor made, is damaged, or is of a newer version.
    pub fn agents(&self) -> Result<Agents> {
        let Inner { root, options, files, .. } = &*self.inner;
        Agents::open(root, options.redact.clone(), Arc::clone(files))
    }

    /// The folder of a session, whether it is there or not.
    ///
    /// # Errors
    /// If the id is none that could name a folder.
    pub fn folder(&self, session: &SessionId) -> Result<PathBuf> {
        if !is_name(&session.0) {
            return Err(Error::new(ErrorKind::Invalid, &session.0, "this is no id of a session"));
        }
        Ok(self.inner.root.join("sessions").join(&session.0))
    }

    /// Begins the journal of a new session and locks it.
    ///
    /// # Errors
    /// If there is such a session, or it cannot be written; then nothing is left behind.
    pub fn create(&self, session: &SessionId) -> Result<Opened> {
        let folder = self.folder(session)?;
        journal::create(&self.inner.files, &self.inner.options, folder, session)
    }

    /// Locks a session and brings its journal into order: what a crash tore off its end is kept aside,
    /// payloads that no event names are removed.
    ///
    /// # Errors
    /// If there is no such session, another process writes it, it was written by a newer version, or
    /// what is there is no journal of this session. Never because of its last bytes, nor for damage
    /// elsewhere.
    pub fn open_session(&self, session: &SessionId) -> Result<Opened> {
        let folder = self.folder(session)?;
        journal::open(&self.inner.files, &self.inner.options, folder, session)
    }

    /// Reads a session without locking it. A writer may be at work meanwhile: then the last line may
    /// still be on its way, which [`Recovery::cut`] tells.
    ///
    /// # Errors
    /// As [`Store::open_session`], but for the lock.
    pub fn read(&self, session: &SessionId) -> Result<Recorded> {
        let mut events = self.events(session, Seq::START)?;
        let all = events.by_ref().collect::<Result<Vec<_>>>()?;
        Ok(Recorded { header: events.header().clone(), events: all, recovery: events.recovery() })
    }

    /// The events of a session from a position on, one after another, without holding them all and
    /// without locking it.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn events(&self, session: &SessionId, from: Seq) -> Result<Events> {
        let folder = self.folder(session)?;
        Ok(Events { records: Records::of(&self.inner.files, &folder, session)?, from })
    }

    /// At most `max` bytes of a payload of a session from this byte on, without locking the session.
    ///
    /// # Errors
    /// If there is no such payload, or it cannot be read.
    pub fn read_blob(&self, session: &SessionId, blob: &BlobId, from: u64, max: usize) -> Result<Vec<u8>> {
        journal::read_blob(&*self.inner.files, &self.folder(session)?, blob, from, max)
    }

    /// The whole of a text of a session.
    ///
    /// # Errors
    /// `damaged` if it is gone, or is not what was written; else if it cannot be read.
    pub fn read_payload(&self, session: &SessionId, payload: &Payload) -> Result<Vec<u8>> {
        let blob = match payload {
            Payload::Inline(text) => return Ok(text.clone().into_bytes()),
            Payload::Spilled { blob, .. } => blob,
        };
        let damaged = |why: String| Error::new(ErrorKind::Damaged, blob, why);
        let mut whole = Vec::new();
        loop {
            let piece = self.read_blob(session, blob, whole.len() as u64, PIECE);
            let piece = piece.map_err(|error| match error.kind() {
                ErrorKind::NotFound => damaged("it is gone".to_owned()),
                _ => error,
            })?;
            if piece.is_empty() {
                return payload.fault_of(&whole).map_or(Ok(whole), |why| Err(damaged(why)));
            }
            whole.extend(piece);
        }
    }

    /// The sessions, by id: later ones come after earlier ones.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn sessions(&self) -> Result<Vec<SessionId>> {
        let folder = self.inner.root.join("sessions");
        let names = self.inner.files.list(&folder).map_err(|error| Error::io(&folder, error))?;
        let is_session = |name: &String| {
            is_name(name) && self.inner.files.is_there(&folder.join(name).join(journal::FILE))
        };
        let mut sessions: Vec<_> = names.into_iter().filter(is_session).map(SessionId).collect();
        sessions.sort();
        Ok(sessions)
    }
}

/// Makes a folder, and those above it, so that a crash of the machine leaves them. It may be there already.
fn make(files: &dyn Files, folder: &Path, sync: Sync) -> Result<()> {
    let missing = folder.ancestors().take_while(|folder| !files.has_folder(folder)).collect::<Vec<_>>();
    files.make_folder(folder).map_err(|error| Error::io(folder, error))?;
    if sync == Sync::Never {
        return Ok(());
    }
    for parent in missing.into_iter().filter_map(Path::parent) {
        // A folder without a name is the one that the process works in.
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        files.sync_folder(parent).map_err(|error| Error::io(parent, error))?;
    }
    Ok(())
}

/// Whether this can name a file or a folder beside others, and nothing else.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.chars().all(is_name_char)
}

/// What such names are made of.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("root", &self.inner.root).finish_non_exhaustive()
    }
}

/// The events of a session, one after another. What is damaged is left out and told by
/// [`Events::recovery`] once the end was reached.
#[derive(Debug)]
pub struct Events {
    records: Records,
    from: Seq,
}

impl Events {
    /// How the journal begins.
    pub fn header(&self) -> &Header {
        self.records.header()
    }

    /// What was found wrong so far.
    pub fn recovery(&self) -> Recovery {
        self.records.recovery().clone()
    }
}

impl Iterator for Events {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        self.records.next_event(self.from).transpose()
    }
}
