//! Sessions in a file.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{SessionRecord, SessionStore};

/// The form of the file; one of another form is not read.
const VERSION: u32 = 1;

/// Keeps sessions in a file of JSON, which only its owner may read. The folder must be there.
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
pub struct SessionFile(PathBuf);

impl SessionFile {
    /// The file at this path, which need not be there yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }
}

#[derive(Serialize, Deserialize)]
struct Form<T> {
    version: u32,
    sessions: T,
}

impl SessionStore for SessionFile {
    fn load(&self) -> io::Result<Vec<SessionRecord>> {
        let bytes = match fs::read(&self.0) {
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

    fn save(&self, sessions: &[SessionRecord]) -> io::Result<()> {
        let bytes = serde_json::to_vec(&Form { version: VERSION, sessions })?;
        let draft = self.0.with_extension(format!("{}.draft", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&draft).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&draft, &self.0)
        });
        if written.is_err() {
            // It is of no use; that it may stay is no second failure.
            let _ = fs::remove_file(&draft);
        }
        written
    }
}

impl SessionFile {
    fn said(&self, what: &str) -> io::Error {
        io::Error::other(format!("{}: {what}", self.0.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::KnownBy;
    use junto_llm::{Cost, SessionId, Usd};

    #[test]
    fn what_was_saved_last_is_loaded_and_only_its_owner_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.json");
        let file = SessionFile::new(&path);
        assert_eq!(file.load().unwrap(), []);
        let record = |id: &str, known_by, cost| SessionRecord {
            id: SessionId(id.into()),
            known_by,
            turns: 3,
            tokens: 900,
            cost,
        };
        let first = [
            record("a", KnownBy::Id, Cost::Estimated(Usd(7))),
            record("b", KnownBy::Opening("00ff".into()), Cost::Unknown),
            record("c", KnownBy::Conversation("ff00".into()), Cost::Reported(Usd(1))),
        ];
        for sessions in [&first[..], &first[1..2]] {
            file.save(sessions).unwrap();
            assert_eq!(file.load().unwrap(), sessions);
        }
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["sessions.json"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
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
        let nowhere = SessionFile::new(folder.path().join("none/sessions.json"));
        assert!(nowhere.save(&[]).is_err());
    }
}
