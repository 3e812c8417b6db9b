//! The right to run an agent.

use jiff::Timestamp;
use junto_core::ResumeHandle;
use junto_llm::SessionId;
use rusqlite::{Connection, OptionalExtension, params};

use super::database::micros;
use super::queue::{self, input};
use super::rows::{AgentInput, AgentRun, InputId, InputState, RunId, RunResult, RunStatus, Suppression};
use super::runs::running;
use super::{Agents, MAX_ATTEMPTS, NamedAgent, process, quoted};
use crate::journal::{Lock, Taken};
use crate::{Error, ErrorKind, Result};

/// How many finished runs, and how many finished inputs, are kept of an agent.
const KEPT: u32 = 1000;

/// What is said of a run whose process ended without a word.
const CUT_OFF: &str = "its process ended before it did";

/// The right to run an agent, which one process has at a time, until this is dropped or the process ends in
/// whatever way.
#[derive(Debug)]
pub struct Held {
    agents: Agents,
    name: String,
    left: Vec<AgentRun>,
    _lock: Lock,
}

/// How a run begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    /// What it works on.
    pub input: InputId,
    /// Who does the work.
    pub provider: String,
    /// The model it is asked for.
    pub model: Option<String>,
    /// Why it begins a conversation of its own; absent if it goes on with one.
    pub fresh: Option<String>,
}

/// How a run ends, and what follows from that. All of it happens together.
#[derive(Clone, Debug, PartialEq)]
pub struct Finish {
    /// How it ends.
    pub status: RunStatus,
    /// What it leaves behind.
    pub result: RunResult,
    /// What becomes of its input.
    pub fate: InputFate,
    /// What becomes of the conversation.
    pub session: SessionChange,
    /// The provider is set aside.
    pub suppression: Option<Suppression>,
}

/// What becomes of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFate {
    /// It was worked on to the end.
    Done,
    /// Somebody did not want it any more.
    Cancelled,
    /// Another try would end the same way. It is kept until somebody wants it tried again.
    GivenUp,
    /// It waits as before; the run does not count.
    Waits {
        /// When it is taken at the earliest.
        due: Timestamp,
    },
    /// It is tried again, unless that was done often enough.
    Again {
        /// When, at the earliest.
        due: Timestamp,
    },
}

/// What becomes of what brings a conversation back.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionChange {
    /// Nothing.
    Keep,
    /// This brings it back now, and its last model call was so long.
    Set(ResumeHandle, Option<u64>),
    /// It is over: the next run begins another.
    Forget,
}

impl Agents {
    /// Takes the right to run an agent. Runs that a dead process left under way have failed then, and their
    /// inputs wait again, or are given up if that happened too often.
    ///
    /// # Errors
    /// `not_found`; `locked` while another process has it.
    pub fn take(&self, name: &str, now: Timestamp) -> Result<Held> {
        let name = self.get(name)?.name;
        let lock = self.lock(&name)?;
        let left = self.db().write(|db| {
            let left = running(db, &name)?;
            let own = process::own();
            // A lock that somebody removed can be taken twice.
            if let Some((run, _)) =
                left.iter().find(|(_, process)| *process != own && process::is_alive(process))
            {
                return Ok(Err(run.pid));
            }
            for (run, _) in &left {
                let update = "UPDATE runs SET status = 'failed', ended = ?2, error = ?3, class = 'crashed' WHERE id = ?1";
                db.execute(update, params![run.id.0, micros(now), CUT_OFF])?;
                // Unless somebody took it back meanwhile.
                let select = "SELECT state = 'leased' FROM inputs WHERE id = ?1";
                let leased = db.query_row(select, [run.input.0], |row| row.get(0)).optional()?;
                if leased == Some(true) {
                    settle(db, run.input, InputFate::Again { due: now })?;
                }
            }
            Ok(Ok(left.into_iter().map(|(run, _)| run).collect()))
        })?;
        let left = left.map_err(|pid| at_work(&name, pid))?;
        Ok(Held { agents: self.clone(), name, left, _lock: lock })
    }

    /// Takes the lock of an agent. It is outside of the agent's own folder, which the agent can write.
    pub(super) fn lock(&self, name: &str) -> Result<Lock> {
        let folder = self.inner.root.join("agent-locks");
        self.inner.files.make_folder(&folder).map_err(|error| Error::io(&folder, error))?;
        match Lock::try_take(&self.inner.files, &folder.join(name.to_ascii_lowercase()))? {
            Taken::Ours(lock) => Ok(lock),
            Taken::Held(pid) => Err(at_work(name, pid)),
        }
    }
}

impl Held {
    /// The agent, as it is set up now.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn agent(&self) -> Result<NamedAgent> {
        self.agents.get(&self.name)
    }

    /// All agents.
    pub fn agents(&self) -> &Agents {
        &self.agents
    }

    /// The runs that a dead process had left under way. They have failed.
    pub fn left(&self) -> &[AgentRun] {
        &self.left
    }

    /// The next input: the first that is due.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn next(&self, now: Timestamp) -> Result<Option<AgentInput>> {
        let select = format!(
            "SELECT {} FROM inputs WHERE agent = ?1 AND state = 'waiting' AND due <= ?2 ORDER BY id LIMIT 1",
            queue::COLUMNS
        );
        let found =
            |db: &Connection| db.query_row(&select, params![self.name, micros(now)], input).optional();
        self.agents.db().read(found)
    }

    /// Leases an input to a run that begins now.
    ///
    /// # Errors
    /// `invalid` if the input does not wait any more.
    pub fn begin(&self, begin: &Begin, now: Timestamp) -> Result<RunId> {
        let Begin { input, provider, model, fresh } = begin;
        let begun = self.agents.db().write(|db| {
            let lease =
                "UPDATE inputs SET state = 'leased' WHERE id = ?1 AND agent = ?2 AND state = 'waiting'";
            if db.execute(lease, params![input.0, self.name])? == 0 {
                return Ok(None);
            }
            db.execute(
                "INSERT INTO runs (agent, input, generation, started, provider, model, fresh, process)
                 SELECT name, ?2, generation, ?3, ?4, ?5, ?6, ?7 FROM agents WHERE name = ?1",
                params![self.name, input.0, micros(now), provider, model, fresh, process::own()],
            )?;
            Ok(Some(RunId(db.last_insert_rowid())))
        })?;
        begun.ok_or_else(|| {
            Error::new(ErrorKind::Invalid, quoted(&self.name), "the input does not wait any more")
        })
    }

    /// Notes which session has the events of a run.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn has_journal(&self, run: RunId, session: &SessionId) -> Result<()> {
        let update = "UPDATE runs SET journal = ?2 WHERE id = ?1";
        self.agents.db().write(|db| db.execute(update, params![run.0, session.0])).map(drop)
    }

    /// Whether somebody wants a run to stop.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn is_aborted(&self, run: RunId) -> Result<bool> {
        let select = "SELECT abort FROM runs WHERE id = ?1";
        let found = self.agents.db().read(|db| db.query_row(select, [run.0], |row| row.get(0)).optional())?;
        Ok(found.unwrap_or(false))
    }

    /// Ends a run. Says where its input stands then.
    ///
    /// # Errors
    /// If it cannot be written; then nothing has changed.
    pub fn finish(&self, run: RunId, finish: &Finish, now: Timestamp) -> Result<InputState> {
        let Finish { status, result, fate, session, suppression } = finish;
        let RunResult { session: id, context, usage, cost, exit, class, error, text } = result;
        let (usage, cost) = (to_json(usage.as_ref()), to_json(cost.as_ref()));
        let (text, error) =
            (self.agents.masked(text), error.as_deref().map(|error| self.agents.masked(error)));
        let message = suppression.as_ref().map(|s| self.agents.masked(&s.message)).unwrap_or_default();
        self.agents.db().write(|db| {
            let update =
                "UPDATE runs SET status = ?2, ended = ?3, session = ?4, context = ?5, usage = ?6, cost = ?7,
                exit = ?8, class = ?9, error = ?10, text = ?11 WHERE id = ?1";
            let (status, tokens) = (status.as_str(), context.map(int));
            db.execute(
                update,
                params![run.0, status, micros(now), id, tokens, usage, cost, exit, class, error, text],
            )?;
            self.keep(db, run, session, now)?;
            if let Some(suppression) = suppression {
                suppress(db, suppression, &message)?;
            }
            let input: i64 =
                db.query_row("SELECT input FROM runs WHERE id = ?1", [run.0], |row| row.get(0))?;
            let state = settle(db, InputId(input), *fate)?;
            if matches!(state, InputState::Done | InputState::Cancelled) {
                self.put_away(db, InputId(input))?;
            }
            Ok(state)
        })
    }

    /// Adds to a run that was left by a dead process what its journal tells.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn amend(
        &self,
        run: RunId,
        result: &RunResult,
        session: &SessionChange,
        now: Timestamp,
    ) -> Result<()> {
        let (usage, cost) = (to_json(result.usage.as_ref()), to_json(result.cost.as_ref()));
        self.agents.db().write(|db| {
            let update = "UPDATE runs SET session = ?2, usage = ?3, cost = ?4 WHERE id = ?1";
            db.execute(update, params![run.0, result.session, usage, cost])?;
            self.keep(db, run, session, now)
        })
    }

    /// Keeps what brings a conversation back, unless it was to be forgotten since the run began.
    fn keep(
        &self,
        db: &Connection,
        run: RunId,
        change: &SessionChange,
        now: Timestamp,
    ) -> rusqlite::Result<()> {
        let (provider, is_current): (String, bool) = db.query_row(
            "SELECT r.provider, r.generation = a.generation FROM runs r JOIN agents a ON a.name = r.agent
             WHERE r.id = ?1",
            [run.0],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        match change {
            SessionChange::Keep => Ok(()),
            SessionChange::Forget => {
                let delete = "DELETE FROM sessions WHERE agent = ?1 AND provider = ?2";
                db.execute(delete, params![self.name, provider]).map(drop)
            }
            SessionChange::Set(..) if !is_current => Ok(()),
            SessionChange::Set(handle, context) => {
                let json = serde_json::to_string(handle).unwrap_or_default();
                // The same conversation does not become younger, nor shorter by a run that does not tell how long it
                // is; one that could not be gone on with is another.
                let is_same = "(SELECT fresh FROM runs WHERE id = ?6) IS NULL
                    AND json_extract(handle, '$.data.session') IS json_extract(excluded.handle, '$.data.session')";
                let upsert = format!(
                    "INSERT INTO sessions (agent, provider, handle, created, used, context)
                     VALUES (?1, ?2, ?3, (SELECT started FROM runs WHERE id = ?6), ?4, ?5)
                     ON CONFLICT DO UPDATE SET
                        created = CASE WHEN {is_same} THEN created ELSE excluded.created END,
                        context = CASE WHEN {is_same} THEN COALESCE(excluded.context, context)
                            ELSE excluded.context END,
                        handle = excluded.handle, used = excluded.used"
                );
                db.execute(&upsert, params![self.name, provider, json, micros(now), context.map(int), run.0])
                    .map(drop)
            }
        }
    }

    /// Takes secrets out of an input that nobody needs any more, and what is too old out of the tables.
    fn put_away(&self, db: &Connection, input: InputId) -> rusqlite::Result<()> {
        let text: String =
            db.query_row("SELECT text FROM inputs WHERE id = ?1", [input.0], |row| row.get(0))?;
        let masked = self.agents.masked(&text);
        if masked != text {
            db.execute("UPDATE inputs SET text = ?2 WHERE id = ?1", params![input.0, masked])?;
        }
        for delete in [
            "DELETE FROM runs WHERE agent = ?1 AND status <> 'running' AND id NOT IN
                (SELECT id FROM runs WHERE agent = ?1 ORDER BY id DESC LIMIT ?2)",
            "DELETE FROM inputs WHERE agent = ?1 AND state IN ('done', 'cancelled') AND id NOT IN
                (SELECT id FROM inputs WHERE agent = ?1 ORDER BY id DESC LIMIT ?2)",
        ] {
            db.execute(delete, params![self.name, KEPT])?;
        }
        Ok(())
    }
}

/// Does with an input what is to become of it, and says where it stands then.
fn settle(db: &Connection, input: InputId, fate: InputFate) -> rusqlite::Result<InputState> {
    let attempts = |db: &Connection| {
        db.query_row("SELECT attempts FROM inputs WHERE id = ?1", [input.0], |row| row.get::<_, u32>(0))
            .optional()
    };
    let (state, due, counts) = match fate {
        InputFate::Done => (InputState::Done, None, 0),
        InputFate::Cancelled => (InputState::Cancelled, None, 0),
        InputFate::GivenUp => (InputState::GivenUp, None, 1),
        InputFate::Waits { due } => (InputState::Waiting, Some(due), 0),
        InputFate::Again { due } => {
            let tried = attempts(db)?.unwrap_or_default().saturating_add(1);
            let state = if tried < MAX_ATTEMPTS { InputState::Waiting } else { InputState::GivenUp };
            (state, Some(due), 1)
        }
    };
    db.execute(
        "UPDATE inputs SET state = ?2, due = coalesce(?3, due), attempts = attempts + ?4 WHERE id = ?1",
        params![input.0, state.as_str(), due.map(micros), counts],
    )?;
    Ok(state)
}

pub(super) fn suppress(db: &Connection, suppression: &Suppression, message: &str) -> rusqlite::Result<()> {
    let Suppression { provider, class, since, until, .. } = suppression;
    db.execute(
        "INSERT OR REPLACE INTO suppressed (provider, class, since, until, message) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![provider, class, micros(*since), micros(*until), message],
    )
    .map(drop)
}

fn at_work(name: &str, pid: Option<u32>) -> Error {
    let message = match pid {
        Some(pid) => format!("process {pid} runs this agent"),
        None => "another process runs this agent".to_owned(),
    };
    Error::new(ErrorKind::Locked, quoted(name), message)
        .with_hint("`junto agent send` queues what it shall do next; `junto agent abort` stops it")
}

fn to_json(value: Option<&impl serde::Serialize>) -> Option<String> {
    serde_json::to_string(value?).ok()
}

/// A count as SQLite keeps it.
fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
