//! The runs of agents, and their conversations.

use junto_llm::SessionId;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::DeserializeOwned;

use super::database::time;
use super::rows::{AgentRun, AgentSession, InputId, RunId, RunResult, RunStatus};
use super::{Agents, process};
use crate::Result;

const COLUMNS: &str =
    "id, agent, input, status, started, ended, provider, model, fresh, journal, session, context,
    usage, cost, exit, class, error, text, process";

impl Agents {
    /// The latest runs of an agent, newest first.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn runs(&self, name: &str, most: u32) -> Result<Vec<AgentRun>> {
        let select = format!("SELECT {COLUMNS} FROM runs WHERE agent = ?1 ORDER BY id DESC LIMIT ?2");
        self.db().read(|db| {
            let mut select = db.prepare(&select)?;
            let rows = select.query_map(params![name, most], run)?;
            rows.collect()
        })
    }

    /// The last run that worked on an input.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn run_on(&self, input: InputId) -> Result<Option<AgentRun>> {
        let select = format!("SELECT {COLUMNS} FROM runs WHERE input = ?1 ORDER BY id DESC LIMIT 1");
        self.db().read(|db| db.query_row(&select, [input.0], run).optional())
    }

    /// The run that is under way: one whose process lives.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn running(&self, name: &str) -> Result<Option<AgentRun>> {
        let found = self.db().read(|db| running(db, name))?;
        Ok(found.into_iter().find(|(_, process)| process::is_alive(process)).map(|(run, _)| run))
    }

    /// Wants the run that is under way to stop, and says which one that is.
    ///
    /// # Errors
    /// `not_found` if there is no such agent.
    pub fn abort(&self, name: &str) -> Result<Option<AgentRun>> {
        self.get(name)?;
        let Some(run) = self.running(name)? else { return Ok(None) };
        let update = "UPDATE runs SET abort = 1 WHERE id = ?1 AND status = 'running'";
        let told = self.db().write(|db| db.execute(update, [run.id.0]))?;
        Ok((told > 0).then_some(run))
    }

    /// What brings the conversations of an agent back, one for each provider it was had with.
    ///
    /// # Errors
    /// If it cannot be read. One that makes no sense is left out.
    pub fn sessions(&self, name: &str) -> Result<Vec<AgentSession>> {
        self.db().read(|db| {
            let mut select = db.prepare(
                "SELECT provider, handle, created, used, context FROM sessions WHERE agent = ?1 ORDER BY provider",
            )?;
            let rows = select.query_map([name], |row| {
                let Some(handle) = from_json(row.get(1)?) else { return Ok(None) };
                let (used, context): (Option<i64>, Option<i64>) = (row.get(3)?, row.get(4)?);
                Ok(Some(AgentSession {
                    provider: row.get(0)?,
                    handle,
                    created: time(row.get(2)?),
                    used: used.map(time),
                    context: context.and_then(|tokens| u64::try_from(tokens).ok()),
                }))
            })?;
            rows.filter_map(std::result::Result::transpose).collect()
        })
    }
}

/// The runs of an agent that have no end, and what their processes are called.
pub(super) fn running(db: &Connection, name: &str) -> rusqlite::Result<Vec<(AgentRun, String)>> {
    let mut select = db.prepare(&format!(
        "SELECT {COLUMNS} FROM runs WHERE agent = ?1 AND status = 'running' ORDER BY id"
    ))?;
    let rows = select.query_map([name], |row| Ok((run(row)?, row.get(18)?)))?;
    rows.collect()
}

fn run(row: &Row<'_>) -> rusqlite::Result<AgentRun> {
    let context: Option<i64> = row.get(11)?;
    let result = RunResult {
        session: row.get(10)?,
        context: context.and_then(|tokens| u64::try_from(tokens).ok()),
        usage: from_json(row.get(12)?),
        cost: from_json(row.get(13)?),
        exit: row.get(14)?,
        class: row.get(15)?,
        error: row.get(16)?,
        text: row.get(17)?,
    };
    Ok(AgentRun {
        id: RunId(row.get(0)?),
        agent: row.get(1)?,
        input: InputId(row.get(2)?),
        status: RunStatus::named(&row.get::<_, String>(3)?),
        started: time(row.get(4)?),
        ended: row.get::<_, Option<i64>>(5)?.map(time),
        provider: row.get(6)?,
        model: row.get(7)?,
        fresh: row.get(8)?,
        journal: row.get::<_, Option<String>>(9)?.map(SessionId),
        result,
        pid: process::pid(&row.get::<_, String>(18)?),
    })
}

/// What was kept as JSON; none if there is none that is understood.
fn from_json<T: DeserializeOwned>(json: Option<String>) -> Option<T> {
    json.and_then(|json| serde_json::from_str(&json).ok())
}
