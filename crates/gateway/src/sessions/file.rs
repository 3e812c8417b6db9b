//! Sessions in a file.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use junto_llm::{Cost, SessionId, Usd};
use serde::{Deserialize, Serialize};

use super::{KnownBy, SessionRecord, SessionStore};

/// The form of the file; one of another form is not read.
const VERSION: u32 = 1;

/// Keeps sessions in a file of JSON, which only its owner may read. The folder is made if it is not there.
///
/// Several gateways may share the file, each with one of these: what another has written stays, and what sessions have
/// used with each of them is added up.
///
/// ```
/// use junto_gateway::{SessionFile, SessionStore as _};
/// # let folder = tempfile::tempdir()?;
/// let file = SessionFile::new(folder.path().join("sessions.json"));
/// assert!(file.load()?.is_empty());
/// file.save(&[])?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SessionFile {
    path: PathBuf,
    /// What was loaded, or saved since: whatever else is in the file, others have written.
    known: Arc<Mutex<HashMap<SessionId, SessionRecord>>>,
}

impl SessionFile {
    /// The file at this path, which need not be there yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), known: Arc::default() }
    }
}

#[derive(Serialize, Deserialize)]
struct Form<T> {
    version: u32,
    sessions: T,
}

impl SessionStore for SessionFile {
    fn load(&self) -> io::Result<Vec<SessionRecord>> {
        let sessions = self.read()?;
        self.know(&sessions);
        Ok(sessions)
    }

    fn save(&self, sessions: &[SessionRecord]) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            // Somebody may have tidied up meanwhile.
            fs::create_dir_all(folder)?;
        }
        let _lock = lock(&self.path.with_extension("lock"))?;
        self.write(&self.merged(self.read()?, sessions))?;
        self.know(sessions);
        Ok(())
    }
}

impl SessionFile {
    fn read(&self) -> io::Result<Vec<SessionRecord>> {
        let bytes = match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(|error| self.said(&error.to_string()))?,
        };
        let form: Form<Vec<SessionRecord>> =
            serde_json::from_slice(&bytes).map_err(|error| self.said(&error.to_string()))?;
        if form.version != VERSION {
            return Err(self.said(&format!("version {} is not known", form.version)));
        }
        Ok(form.sessions)
    }

    fn write(&self, sessions: &[SessionRecord]) -> io::Result<()> {
        let bytes = serde_json::to_vec(&Form { version: VERSION, sessions })?;
        let draft = self.path.with_extension(format!("{}.draft", std::process::id()));
        let written = private().truncate(true).open(&draft).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&draft, &self.path)
        });
        if written.is_err() {
            // It is of no use; that it may stay is no second failure.
            let _ = fs::remove_file(&draft);
        }
        written
    }

    /// What is there of others, and ours with what has come to it since it was there last. What was ours and is not any
    /// more is forgotten.
    fn merged(&self, there: Vec<SessionRecord>, ours: &[SessionRecord]) -> Vec<SessionRecord> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let ids: HashMap<&SessionId, usize> =
            there.iter().enumerate().map(|(at, record)| (&record.id, at)).collect();
        // Each gateway has an id of its own for a conversation that nobody has named.
        let conversations: HashMap<&str, usize> =
            there.iter().enumerate().filter_map(|(at, record)| Some((conversation(record)?, at))).collect();
        let same = |record: &SessionRecord| {
            let at = ids.get(&record.id).or_else(|| conversations.get(conversation(record)?));
            at.copied()
        };
        let taken: HashSet<usize> = ours.iter().filter_map(same).collect();
        let others = there
            .iter()
            .enumerate()
            .filter(|(at, record)| !taken.contains(at) && !known.contains_key(&record.id));
        let ours = ours.iter().map(|record| match same(record).and_then(|at| there.get(at)) {
            Some(there) => sum(record, there, known.get(&record.id)),
            None => record.clone(),
        });
        others.map(|(_, record)| record.clone()).chain(ours).collect()
    }

    fn know(&self, sessions: &[SessionRecord]) {
        let records = sessions.iter().map(|record| (record.id.clone(), record.clone())).collect();
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = records;
    }

    fn said(&self, what: &str) -> io::Error {
        io::Error::other(format!("{}: {what}", self.path.display()))
    }
}

/// What is there, and what our record has more than it had before.
fn sum(ours: &SessionRecord, there: &SessionRecord, before: Option<&SessionRecord>) -> SessionRecord {
    let (turns, tokens, spent) =
        before.map_or((0, 0, Usd::ZERO), |b| (b.turns, b.tokens, b.cost.amount().unwrap_or(Usd::ZERO)));
    SessionRecord {
        turns: there.turns.saturating_add(ours.turns).saturating_sub(turns),
        tokens: there.tokens.saturating_add(ours.tokens).saturating_sub(tokens),
        cost: match there.cost + ours.cost {
            Cost::Reported(both) => Cost::Reported(both - spent),
            Cost::Estimated(both) => Cost::Estimated(both - spent),
            Cost::Unknown => Cost::Unknown,
        },
        ..ours.clone()
    }
}

fn conversation(record: &SessionRecord) -> Option<&str> {
    match &record.known_by {
        KnownBy::Conversation(whole) => Some(whole),
        KnownBy::Id | KnownBy::Opening(_) => None,
    }
}

/// Waits until no other gateway saves; until this is dropped, none does.
fn lock(path: &Path) -> io::Result<File> {
    let file = private().open(path)?;
    match file.lock() {
        // Where nothing can be locked, all is as good as with one gateway.
        Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
        _ => Ok(file),
    }
}

/// For files that only their owner may read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::KnownBy;
    use junto_llm::{Cost, SessionId, Usd};

    fn record(id: &str, known_by: KnownBy, cost: Cost) -> SessionRecord {
        SessionRecord { id: SessionId(id.into()), known_by, turns: 3, tokens: 900, cost }
    }

    #[test]
    fn what_was_saved_last_is_loaded_and_only_its_owner_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.json");
        let file = SessionFile::new(&path);
        assert_eq!(file.load().unwrap(), []);
        let first = [
            record("a", KnownBy::Id, Cost::Estimated(Usd(7))),
            record("b", KnownBy::Opening("00ff".into()), Cost::Unknown),
            record("c", KnownBy::Conversation("ff00".into()), Cost::Reported(Usd(1))),
        ];
        for sessions in [&first[..], &first[1..2]] {
            file.save(sessions).unwrap();
            assert_eq!(file.load().unwrap(), sessions);
        }
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["sessions.json", "sessions.lock"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    /// Two gateways of one user, each with the sessions that it knows.
    #[test]
    fn what_another_has_written_stays_and_is_added_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.json");
        let named = |id: &str, tokens: u64, usd: i64| SessionRecord {
            tokens,
            ..record(id, KnownBy::Id, Cost::Estimated(Usd(usd)))
        };
        let [one, other] = [(); 2].map(|()| SessionFile::new(&path));
        let found = || {
            let mut sessions = SessionFile::new(&path).load().unwrap();
            sessions.sort_by(|a, b| a.id.0.cmp(&b.id.0));
            let facts =
                |record: SessionRecord| (record.id.0, record.turns, record.tokens, record.cost.amount());
            sessions.into_iter().map(facts).collect::<Vec<_>>()
        };
        let fact =
            |id: &str, turns: u32, tokens: u64, usd: i64| (id.to_owned(), turns, tokens, Some(Usd(usd)));
        for file in [&one, &other] {
            assert_eq!(file.load().unwrap(), []);
        }
        one.save(&[named("a", 10, 1)]).unwrap();
        other.save(&[named("b", 20, 2)]).unwrap();
        assert_eq!(found(), [fact("a", 3, 10, 1), fact("b", 3, 20, 2)]);
        // A session may ask both.
        other.save(&[named("b", 20, 2), named("a", 5, 4)]).unwrap();
        one.save(&[named("a", 11, 2)]).unwrap();
        one.save(&[named("a", 11, 2)]).unwrap();
        assert_eq!(found(), [fact("a", 6, 16, 6), fact("b", 3, 20, 2)]);
        // What one has forgotten, the other may still have.
        one.save(&[]).unwrap();
        assert_eq!(found(), [fact("b", 3, 20, 2)]);
        other.save(&[named("a", 5, 4)]).unwrap();
        assert_eq!(found(), [fact("a", 3, 5, 4)]);

        let talk = |id: &str| record(id, KnownBy::Conversation("ff".into()), Cost::Unknown);
        one.save(&[talk("x")]).unwrap();
        other.save(&[named("a", 5, 4), talk("y")]).unwrap();
        one.save(&[talk("x")]).unwrap();
        assert_eq!(found(), [fact("a", 3, 5, 4), ("x".to_owned(), 6, 1800, None)]);
    }

    #[test]
    fn a_folder_that_was_removed_meanwhile_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let file = SessionFile::new(folder.path().join("a/b/sessions.json"));
        let sessions = [record("a", KnownBy::Id, Cost::Unknown)];
        for _ in 0..2 {
            file.save(&sessions).unwrap();
            assert_eq!(file.load().unwrap(), sessions);
            fs::remove_dir_all(folder.path().join("a")).unwrap();
        }
    }

    #[test]
    fn what_cannot_be_read_is_no_empty_list() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.json");
        let file = SessionFile::new(&path);
        for broken in ["", "{", "[]", r#"{"version":2,"sessions":[]}"#, r#"{"version":1,"sessions":[{}]}"#] {
            fs::write(&path, broken).unwrap();
            let error = file.load().unwrap_err().to_string();
            assert!(error.contains("sessions.json"), "{error}");
        }
        let nowhere = SessionFile::new(path.join("sessions.json"));
        assert!(nowhere.save(&[]).is_err(), "its folder is a file");
    }
}
