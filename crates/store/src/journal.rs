//! The journal of a session on disk. (Signatures; the rest follows.)

/// How a journal begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of the format.
    pub v: u32,
    /// The session.
    pub session: SessionId,
    /// When it was made; unknown where the header is damaged.
    pub created: Option<Timestamp>,
}

/// What was found wrong with a journal, and what was done about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// What a crash left of a last record.
    pub cut: Option<Cut>,
    /// Records in the middle that are not what was written, the first thousand.
    pub damaged: Vec<Damage>,
    /// How many more of them there are.
    pub more_damaged: u64,
    /// How many payloads were removed since no event names them.
    pub swept: u64,
}
impl Recovery { pub fn is_clean(&self) -> bool; /* Display: one line for people */ }

/// The end of a journal that was no whole record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Where it began.
    pub at: u64,
    /// How long it was.
    pub bytes: u64,
    /// The file it is kept in; nowhere if the journal was only read.
    pub kept: Option<PathBuf>,
}

/// Bytes in a journal that are no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where they begin.
    pub at: u64,
    /// How many there are.
    pub bytes: u64,
    /// The first and the last position that is missing because of them; none if nothing is missing.
    pub lost: Option<(Seq, Seq)>,
    /// What is wrong with them.
    pub why: String,
}

/// Hears of events after they were written.
pub trait Watch: Send + Sync {
    /// An event was written. This is called on the session's path: it must not block, and what it
    /// cannot take now it reads from the journal later.
    fn written(&self, event: &Event);
}

/// A session's journal on disk, for its one writer.
pub struct DiskJournal { /* … */ }
impl DiskJournal { pub fn session(&self) -> &SessionId; pub fn folder(&self) -> &Path; }
impl Journal for DiskJournal { /* … */ }
