//! What agents were told: taken in, listed, hastened, taken back.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

use super::database::{micros, time};
use super::rows::{AgentInput, InputId, InputState};
use super::runs::running;
use super::{Agents, process, quoted};
use crate::{Error, ErrorKind, Result};

/// The most inputs that may wait for one agent.
const LONGEST: u32 = 10_000;

pub(super) const COLUMNS: &str = "id, text, queued, due, attempts, state";

impl Agents {
    /// Tells an agent something. It is on the disk when this returns.
    ///
    /// # Errors
    /// `not_found`; `invalid` for a text of nothing but blanks, and if too many wait already.
    pub fn send(&self, name: &str, text: &str, now: Timestamp) -> Result<InputId> {
        let name = self.get(name)?.name;
        if text.trim().is_empty() {
            return Err(Error::new(ErrorKind::Invalid, quoted(&name), "the input is empty"));
        }
        let id = self.db().write(|db| {
            let waiting: u32 = db.query_row(
                "SELECT count(*) FROM inputs WHERE agent = ?1 AND state = 'waiting'",
                [&name],
                |row| row.get(0),
            )?;
            if waiting >= LONGEST {
                return Ok(None);
            }
            let insert = "INSERT INTO inputs (agent, text, queued, due) VALUES (?1, ?2, ?3, ?3)";
            db.execute(insert, params![name, text, micros(now)])?;
            Ok(Some(InputId(db.last_insert_rowid())))
        })?;
        id.ok_or_else(|| {
            Error::new(ErrorKind::Invalid, quoted(&name), format!("{LONGEST} inputs wait for it already"))
        })
    }

    /// An input, whatever became of it; none if it is not known any more.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn input(&self, id: InputId) -> Result<Option<AgentInput>> {
        let select = format!("SELECT {COLUMNS} FROM inputs WHERE id = ?1");
        self.db().read(|db| db.query_row(&select, [id.0], input).optional())
    }

    /// What an agent still has to do, in the order it was told, and what was given up.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn queue(&self, name: &str) -> Result<Vec<AgentInput>> {
        let select = format!(
            "SELECT {COLUMNS} FROM inputs
             WHERE agent = ?1 AND state IN ('waiting', 'leased', 'given_up') ORDER BY id"
        );
        self.db().read(|db| {
            let mut select = db.prepare(&select)?;
            let rows = select.query_map([name], input)?;
            rows.collect()
        })
    }

    /// Lets nothing wait any longer that failed once and was to be tried again later. Says how many these are.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn hasten(&self, name: &str, now: Timestamp) -> Result<usize> {
        let update = "UPDATE inputs SET due = ?2 WHERE agent = ?1 AND state = 'waiting' AND due > ?2";
        self.db().write(|db| db.execute(update, params![name, micros(now)]))
    }

    /// Lets what was given up be tried again. Says how many these are.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn again(&self, name: &str, now: Timestamp) -> Result<usize> {
        let update = "UPDATE inputs SET state = 'waiting', attempts = 0, due = ?2
                      WHERE agent = ?1 AND state = 'given_up'";
        self.db().write(|db| db.execute(update, params![name, micros(now)]))
    }

    /// Takes everything out of the queue that waits, also what a process had on lease that has died. Says how many
    /// these are.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn discard(&self, name: &str) -> Result<usize> {
        let left = self.db().read(|db| running(db, name))?;
        let has_died = left.iter().any(|(_, process)| !process::is_alive(process));
        // Whoever has the lock lives. It is not taken without need: another would think that somebody is at work.
        let lock = if has_died { self.lock(name).ok() } else { None };
        let update = "UPDATE inputs SET state = 'cancelled'
                      WHERE agent = ?1 AND (state = 'waiting' OR ?2 AND state = 'leased')";
        self.db().write(|db| db.execute(update, params![name, lock.is_some()]))
    }
}

pub(super) fn input(row: &Row<'_>) -> rusqlite::Result<AgentInput> {
    Ok(AgentInput {
        id: InputId(row.get(0)?),
        text: row.get(1)?,
        queued: time(row.get(2)?),
        due: time(row.get(3)?),
        attempts: row.get(4)?,
        state: InputState::named(&row.get::<_, String>(5)?),
    })
}
