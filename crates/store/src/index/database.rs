//! The file of the index: opened, made, and put aside if it cannot be used.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use rustix::fs::{FlockOperation, flock};

use crate::{Error, ErrorKind, Result};

/// The version of the tables. One of another version is made anew.
const VERSION: i64 = 3;
const TABLES: &str = include_str!("schema.sql");
/// How long the log may get before it is worked into the tables, in bytes.
const LONG_LOG: u64 = 1024 * 1024;
/// How long a writer waits for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the index is.
#[derive(Clone, Debug)]
pub(super) struct Place {
    root: PathBuf,
}

/// Why an index was made anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// It was damaged. The file is kept where this says.
    Damaged {
        /// Where.
        aside: PathBuf,
    },
    /// It was of another version of Junto.
    OtherVersion,
}

/// An open index, and what had to be done for it.
pub(super) struct Database {
    pub(super) connection: Connection,
    pub(super) renewed: Option<Renewed>,
    /// Tells this file from another that was put in its place.
    inode: u64,
}

impl Database {
    /// Works the log into the tables and empties it if it has grown, unless somebody uses it. Who opens the index
    /// reads all of the log, so it must not get long; and what SQLite does by itself while it writes does not
    /// shorten it where one short command follows another: which part of it was worked in is known only as
    /// long as somebody has the index open.
    pub(super) fn tidy(&self, place: &Place) {
        let log = fs::metadata(place.root.join("index.sqlite-wal")).map_or(0, |meta| meta.len());
        if log > LONG_LOG {
            // Best effort: whoever comes next tries again.
            let _ = self.connection.busy_timeout(Duration::ZERO);
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }
}

impl Place {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn file(&self) -> PathBuf {
        self.root.join("index.sqlite")
    }

    /// Opens the index. One that is not there is made; one that cannot be used is put aside first.
    pub(super) fn open(&self) -> Result<Database> {
        // One process at a time decides what becomes of a bad file, or a good one might be put aside.
        let _turn = self.lock()?;
        let (renewed, connection) = match self.connect() {
            Ok(connection) => (None, connection),
            Err(error) => {
                let renewed = match error.kind() {
                    ErrorKind::Damaged => Renewed::Damaged { aside: self.put_aside()? },
                    ErrorKind::Foreign => {
                        self.remove()?;
                        Renewed::OtherVersion
                    }
                    _ => return Err(error),
                };
                (Some(renewed), self.connect()?)
            }
        };
        let inode = self.inode().unwrap_or_default();
        Ok(Database { connection, renewed, inode })
    }

    /// Opens the index for looking only, as it is.
    pub(super) fn read(&self) -> Result<Connection> {
        self.connect()
    }

    /// Reads every page. If one is bad, the file is put aside and an empty index takes its place.
    pub(super) fn check(&self) -> Result<Option<Renewed>> {
        let found = self.connect().and_then(|connection| self.sound(&connection));
        let Err(error) = found else { return Ok(None) };
        if error.kind() != ErrorKind::Damaged {
            return if error.kind() == ErrorKind::Foreign { Ok(self.open()?.renewed) } else { Err(error) };
        }
        let turn = self.lock()?;
        // Somebody may have done it meanwhile.
        let again = self.connect().and_then(|connection| self.sound(&connection));
        let renewed = match again {
            Ok(()) => None,
            Err(_) => Some(Renewed::Damaged { aside: self.put_aside()? }),
        };
        drop(turn);
        self.open()?;
        Ok(renewed)
    }

    fn sound(&self, connection: &Connection) -> Result<()> {
        let verdict: String = connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| self.fault(error))?;
        if verdict == "ok" {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::Damaged, self.file().display(), verdict))
        }
    }

    fn connect(&self) -> Result<Connection> {
        let path = self.file();
        // SQLite gives its other files the mode of this one.
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| Error::io(&path, error))?;
        prepared(&path).map_err(|error| self.fault(error))?.ok_or_else(|| {
            Error::new(ErrorKind::Foreign, path.display(), "the index is of another version of Junto")
        })
    }

    /// Whether the file is still the one that was opened.
    pub(super) fn is(&self, database: &Database) -> bool {
        self.inode() == Some(database.inode)
    }

    fn inode(&self) -> Option<u64> {
        fs::metadata(self.file()).ok().map(|meta| meta.ino())
    }

    /// Held while files are put in the place of others.
    fn lock(&self) -> Result<File> {
        let path = self.root.join("index.lock");
        let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        let lock = lock.map_err(|error| Error::io(&path, error))?;
        flock(&lock, FlockOperation::LockExclusive).map_err(|error| Error::io(&path, error.into()))?;
        Ok(lock)
    }

    /// Keeps a damaged file for whoever wants to look, in the place of one that was kept before.
    fn put_aside(&self) -> Result<PathBuf> {
        let aside = self.root.join("index.damaged.sqlite");
        let from = self.file();
        fs::rename(&from, &aside).map_err(|error| Error::io(&from, error))?;
        self.remove()?;
        Ok(aside)
    }

    /// Removes the file, and what belongs to it: a new one must not be given an old one's log.
    fn remove(&self) -> Result<()> {
        for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
            let path = self.root.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io(&path, error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What SQLite said, as one of our errors.
    pub(super) fn fault(&self, error: rusqlite::Error) -> Error {
        let kind = match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => ErrorKind::Damaged,
            Some(ErrorCode::DiskFull) => ErrorKind::Full,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                ErrorKind::Denied
            }
            _ => ErrorKind::Io,
        };
        Error::new(kind, self.file().display(), error.to_string())
    }
}

/// The connection; none if the tables are of another version.
fn prepared(path: &Path) -> rusqlite::Result<Option<Connection>> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    let version = |connection: &Connection| -> rusqlite::Result<(i64, i64)> {
        let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        Ok((version, tables))
    };
    if version(&connection)? == (0, 0) {
        connection.pragma_update(None, "journal_mode", "WAL")?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have made them while this one waited.
        if version(&transaction)? == (0, 0) {
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()?;
    }
    // Whatever a crash takes from the index is in the journals.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // Not at each end of a command, which would wait for the disk: see `Database::tidy`.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok((version(&connection)?.0 == VERSION).then_some(connection))
}
