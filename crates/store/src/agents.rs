//! Agents that have a name: how they are set up, what they were told, what came of it.
//!
//! Everything is in one SQLite file of its own, `agents.sqlite`, beside the sessions. Not in the index, which
//! is made from the journals and made anew whenever it is damaged or of another version: nothing here could be
//! made again. And not in files that are appended to, as journals are: several processes take from one queue,
//! and taking an input, ending a run, keeping its conversation and setting a provider aside must happen together
//! or not at all, which is what transactions are for. So the file is written with full sync, is brought from one
//! version to the next by steps that only add, and is never replaced: a damaged one is an error that says so.
//!
//! **An input is not lost.** It is on the disk before [`Agents::send`] returns. A run leases it; only the run's
//! end says what becomes of it, in the same transaction that ends the run. What a process leaves running when it
//! dies is found when the next one takes the agent ([`Agents::take`]): its run has failed then, and its input
//! waits again, or is given up after [`MAX_ATTEMPTS`].
//!
//! **One run at a time.** [`Held`] is the right to run an agent. It is a lock that ends with its process, in
//! whatever way that ends, and whatever needs it is a function of it.

mod database;
mod held;
mod process;
mod queue;
mod rows;
mod runs;
mod setup;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use junto_llm::names::nearest;
use rusqlite::{OptionalExtension, Row, params};

use self::database::{Database, micros, time};
use crate::files::Files;
use crate::{Error, ErrorKind, Redactor, Result};

pub use self::held::{Begin, Finish, Held, InputFate, SessionChange};
pub use self::rows::{
    AgentInput, AgentRun, AgentSession, InputId, InputState, RunId, RunResult, RunStatus, Suppression,
};
pub use self::setup::{AgentSetup, DailyTime, NamedAgent, Refresh, is_agent_name};

/// The kind of the handle by which a session says of which agent it is: `{"agent": "…", "run": 1}`.
pub const NAMED: &str = "named";

/// How often an input is tried before it is given up.
pub const MAX_ATTEMPTS: u32 = 3;

/// The agents of a store. Clones are the same. All functions block on files.
#[derive(Clone)]
pub struct Agents {
    inner: Arc<Inner>,
}

struct Inner {
    root: PathBuf,
    redact: Redactor,
    files: Arc<dyn Files>,
    db: Database,
}

impl Agents {
    pub(crate) fn open(root: &Path, redact: Redactor, files: Arc<dyn Files>) -> Result<Self> {
        let db = Database::open(root.join("agents.sqlite"))?;
        Ok(Self { inner: Arc::new(Inner { root: root.to_owned(), redact, files, db }) })
    }

    /// Adds an agent, and makes its folder.
    ///
    /// # Errors
    /// `invalid` for what is no name, `exists` if there is one of this name, whatever its case.
    pub fn add(&self, name: &str, setup: &AgentSetup, now: Timestamp) -> Result<()> {
        if !is_agent_name(name) {
            let message = "a name is words of letters and digits with dashes between them, as in code-review";
            return Err(Error::new(ErrorKind::Invalid, quoted(name), message));
        }
        let json = to_json(setup)?;
        let added = self.db().write(|db| {
            let insert = "INSERT OR IGNORE INTO agents (name, setup, created) VALUES (?1, ?2, ?3)";
            db.execute(insert, params![name, json, micros(now)])
        })?;
        if added == 0 {
            return Err(Error::new(ErrorKind::Exists, quoted(name), "there is an agent of this name"));
        }
        self.make_folder(name)
    }

    /// Makes the folder that is an agent's own, if it is not there any more.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn make_folder(&self, name: &str) -> Result<()> {
        let folder = self.folder(name);
        self.inner.files.make_folder(&folder).map_err(|error| Error::io(&folder, error))
    }

    /// Sets an agent up anew. One that changes its provider or its workspace forgets its conversations, which
    /// are of no use elsewhere; says whether it had any.
    ///
    /// # Errors
    /// `not_found`, with the nearest name.
    pub fn set(&self, name: &str, setup: &AgentSetup) -> Result<bool> {
        let before = self.get(name)?.setup;
        let json = to_json(setup)?;
        let moves = before.provider != setup.provider || before.workspace != setup.workspace;
        self.db().write(|db| {
            db.execute("UPDATE agents SET setup = ?2 WHERE name = ?1", params![name, json])?;
            if moves { forget(db, name) } else { Ok(false) }
        })
    }

    /// An agent.
    ///
    /// # Errors
    /// `not_found`, with the nearest name.
    pub fn get(&self, name: &str) -> Result<NamedAgent> {
        let found = self.db().read(|db| {
            let select = "SELECT name, setup, created FROM agents WHERE name = ?1";
            db.query_row(select, [name], agent).optional()
        })?;
        found.ok_or_else(|| self.unknown(name))?.read()
    }

    /// All agents, by name.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn list(&self) -> Result<Vec<NamedAgent>> {
        let found = self.db().read(|db| {
            let mut select = db.prepare("SELECT name, setup, created FROM agents ORDER BY name")?;
            let rows = select.query_map([], agent)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        found.into_iter().map(Found::read).collect()
    }

    /// Removes an agent with its queue and its runs. Its folder stays, and so do the sessions of its runs.
    ///
    /// # Errors
    /// `not_found`; `locked` while it runs.
    pub fn remove(&self, name: &str) -> Result<()> {
        let name = self.get(name)?.name;
        // Held until it is gone, so that nobody begins a run meanwhile.
        let _lock = self.lock(&name)?;
        self.db().write(|db| db.execute("DELETE FROM agents WHERE name = ?1", [&name])).map(drop)
    }

    /// The folder that is an agent's own.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.inner.root.join("agents").join(name)
    }

    /// Makes an agent forget its conversations: its next run begins a new one. A run that is under way keeps its
    /// own to itself. Says whether there were any.
    ///
    /// # Errors
    /// `not_found`.
    pub fn forget(&self, name: &str) -> Result<bool> {
        self.get(name)?;
        self.db().write(|db| forget(db, name))
    }

    /// Sets a provider aside for a while.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn suppress(&self, suppression: &Suppression) -> Result<()> {
        let message = self.masked(&suppression.message);
        self.db().write(|db| held::suppress(db, suppression, &message))
    }

    /// The providers that are set aside now.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn suppressed(&self, now: Timestamp) -> Result<Vec<Suppression>> {
        self.db().read(|db| {
            let mut select = db.prepare(
                "SELECT provider, class, since, until, message FROM suppressed WHERE until > ?1 ORDER BY provider",
            )?;
            let rows = select.query_map([micros(now)], |row| {
                Ok(Suppression {
                    provider: row.get(0)?,
                    class: row.get(1)?,
                    since: time(row.get(2)?),
                    until: time(row.get(3)?),
                    message: row.get(4)?,
                })
            })?;
            rows.collect()
        })
    }

    fn db(&self) -> &Database {
        &self.inner.db
    }

    /// A text without what the redactor finds in it.
    fn masked(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        self.inner.redact.mask(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn unknown(&self, name: &str) -> Error {
        let all = self.list().unwrap_or_default();
        let near = nearest(name, all.iter().map(|agent| agent.name.as_str()));
        let near = near.map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
        Error::new(ErrorKind::NotFound, quoted(name), format!("there is no agent of this name{near}"))
    }
}

/// Takes out what brings an agent's conversations back. Says whether there was any.
fn forget(db: &rusqlite::Connection, name: &str) -> rusqlite::Result<bool> {
    db.execute("UPDATE agents SET generation = generation + 1 WHERE name = ?1", [name])?;
    Ok(db.execute("DELETE FROM sessions WHERE agent = ?1", [name])? > 0)
}

/// An agent as it stands in its row.
struct Found {
    name: String,
    setup: String,
    created: Timestamp,
}

fn agent(row: &Row<'_>) -> rusqlite::Result<Found> {
    Ok(Found { name: row.get(0)?, setup: row.get(1)?, created: time(row.get(2)?) })
}

impl Found {
    fn read(self) -> Result<NamedAgent> {
        let setup = serde_json::from_str(&self.setup)
            .map_err(|error| Error::new(ErrorKind::Damaged, quoted(&self.name), error.to_string()))?;
        Ok(NamedAgent { name: self.name, setup, created: self.created })
    }
}

/// What an error about an agent is about.
fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

fn to_json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::new(ErrorKind::Invalid, "the agent", error.to_string()))
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agents").field("root", &self.inner.root).finish_non_exhaustive()
    }
}
