//! The file: opened, made, and brought to the present version.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use crate::{Error, ErrorKind, Result};

/// The version of the tables.
const VERSION: u32 = 1;
/// What brings the tables from each version to the next. Never changed, only added to.
const MIGRATIONS: [&str; VERSION as usize] = [include_str!("schema1.sql")];
/// How long a writer waits for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(10);

/// An open file.
#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    connection: Mutex<Connection>,
}

impl Database {
    /// Opens the file, makes it if it is not there, and brings it to the present version.
    pub(super) fn open(path: PathBuf) -> Result<Self> {
        // SQLite gives its other files the mode of this one.
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        file.map_err(|error| Error::io(&path, error))?;
        let connection = connect(&path).map_err(|error| fault(&path, &error))?;
        let database = Self { path, connection: Mutex::new(connection) };
        database.migrate()?;
        Ok(database)
    }

    fn migrate(&self) -> Result<()> {
        let version = |db: &Connection| -> rusqlite::Result<u32> {
            db.query_row("PRAGMA user_version", [], |row| row.get(0))
        };
        if self.read(version)? == VERSION {
            return Ok(());
        }
        // Another process may do it at the same time: the version counts that is seen under the lock.
        let found = self.write(|db| {
            let found = version(db)?;
            for (from, migration) in (0..VERSION).zip(MIGRATIONS) {
                if from >= found {
                    db.execute_batch(migration)?;
                }
            }
            if found < VERSION {
                db.pragma_update(None, "user_version", VERSION)?;
            }
            Ok(found)
        })?;
        if found > VERSION {
            let message = format!("version {found} of a newer Junto");
            return Err(Error::new(ErrorKind::Newer, self.path.display(), message));
        }
        Ok(())
    }

    /// Asks something.
    pub(super) fn read<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        ask(&self.connection()).map_err(|error| self.fault(&error))
    }

    /// Changes something, wholly or not at all. Nobody else changes anything meanwhile.
    pub(super) fn write<T>(&self, change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T> {
        let mut connection = self.connection();
        let changed = connection.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|db| {
            let changed = change(&db)?;
            db.commit()?;
            Ok(changed)
        });
        changed.map_err(|error| self.fault(&error))
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fault(&self, error: &rusqlite::Error) -> Error {
        fault(&self.path, error)
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // An input that was taken is on the disk before anybody is told so.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

/// What SQLite said, as one of our errors. A damaged file is never replaced by an empty one.
fn fault(path: &Path, error: &rusqlite::Error) -> Error {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => ErrorKind::Damaged,
        Some(ErrorCode::DiskFull) => ErrorKind::Full,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => ErrorKind::Denied,
        _ => ErrorKind::Io,
    };
    Error::new(kind, path.display(), error.to_string())
}

/// A time as it is kept.
pub(super) fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

/// A time that was kept.
pub(super) fn time(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or_default()
}
