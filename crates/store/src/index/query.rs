//! Questions to the index.

use jiff::Timestamp;
use junto_core::AgentId;
use junto_llm::{Cost, SessionId, Usage, Usd};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use super::apply::{count, int};
use super::note::micros;
use super::rows::{CallFilter, Filter, RunRow, SessionRow, Standing, TurnRow};
use crate::ledger::{CallRow, CostRow, DeliberationRow};

/// A call that a client made for a session of ours counts there, not where it went through.
const CALLS: &str = "
    SELECT c.id, c.leaf, c.session, c.agent, c.turn, c.at, c.provider, c.model, c.input, c.output, c.total,
        c.reasoning, c.cache_read, c.cache_write, c.basis, c.cost, c.prefix,
        CASE WHEN c.session IS NULL THEN c.source WHEN r.name <> '' THEN r.name ELSE coalesce(r.kind, '') END,
        c.council
    FROM calls c LEFT JOIN runs r ON r.session = c.session AND r.agent = c.agent
    WHERE (c.client IS NULL OR c.client NOT IN (SELECT id FROM sessions))";

/// Sessions, the one with the latest event first. Whether one that has not ended is open, `is_open` knows.
pub(super) fn sessions(
    db: &Connection,
    filter: &Filter,
    is_open: &dyn Fn(&SessionId) -> bool,
) -> rusqlite::Result<Vec<SessionRow>> {
    let mut wanted = Wanted::default();
    wanted.add("workdir = ?", filter.workdir.clone());
    if let Some(text) = &filter.text {
        // SQLite's LIKE folds the case of ASCII only, as good as nobody notices.
        wanted
            .add("(title LIKE ? ESCAPE '\\' OR id LIKE ? ESCAPE '\\')", Some(format!("%{}%", escaped(text))));
        wanted.values.push(format!("{}%", escaped(text)).into());
    }
    wanted.add("updated >= ?", filter.since.map(micros));
    let sql = format!(
        "SELECT id, title, workdir, kind, model, created, updated, ended, parent,
            (SELECT count(*) FROM turns t WHERE t.session = s.id AND t.agent = s.agent AND NOT t.rewound)
         FROM sessions s WHERE {} ORDER BY updated DESC, id DESC {}",
        wanted.condition(),
        limited(filter.limit),
    );
    let mut statement = db.prepare(&sql)?;
    let rows = statement.query_map(params_from_iter(wanted.values), |row| {
        let id = SessionId(row.get(0)?);
        let ended: Option<String> = row.get(7)?;
        let state = match ended {
            Some(_) => Standing::Ended,
            None if is_open(&id) => Standing::Open,
            None => Standing::CutOff,
        };
        Ok(SessionRow {
            title: row.get(1)?,
            workdir: row.get::<_, Option<String>>(2)?.map(Into::into),
            kind: row.get(3)?,
            model: row.get(4)?,
            created: time(row.get(5)?),
            updated: time(row.get(6)?),
            turns: row.get(9)?,
            state,
            parent: row.get::<_, Option<String>>(8)?.map(SessionId),
            spent: CostRow::new(id.0.clone()),
            id,
        })
    })?;
    let mut rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    for row in &mut rows {
        let filter = CallFilter { session: Some(row.id.clone()), ..CallFilter::default() };
        each_call(db, &filter, |call| row.spent.add(&call.usage, call.cost))?;
    }
    Ok(rows)
}

/// The agents of a session, in the order they began.
pub(super) fn runs(db: &Connection, session: &SessionId) -> rusqlite::Result<Vec<RunRow>> {
    let mut statement = db.prepare(
        "SELECT agent, parent, name, kind, model, task, started, ended, reason FROM runs
         WHERE session = ?1 ORDER BY started, agent",
    )?;
    let rows = statement.query_map([&session.0], |row| {
        Ok(RunRow {
            agent: AgentId(row.get(0)?),
            parent: row.get::<_, Option<String>>(1)?.map(AgentId),
            name: row.get(2)?,
            kind: row.get(3)?,
            model: row.get(4)?,
            task: row.get(5)?,
            started: time(row.get(6)?),
            ended: end(row, 7)?,
        })
    })?;
    rows.collect()
}

/// The inputs of a session's own agent.
pub(super) fn turns(db: &Connection, session: &SessionId) -> rusqlite::Result<Vec<TurnRow>> {
    let mut statement = db.prepare(
        "SELECT turn, title, started, ended, reason, rewound FROM turns
         WHERE session = ?1 AND agent = (SELECT agent FROM sessions WHERE id = ?1) ORDER BY turn",
    )?;
    let rows = statement.query_map([&session.0], |row| {
        Ok(TurnRow {
            turn: row.get(0)?,
            title: row.get(1)?,
            started: time(row.get(2)?),
            ended: end(row, 3)?,
            rewound: row.get(5)?,
        })
    })?;
    rows.collect()
}

/// Hands out calls, in the order they were made in.
pub(super) fn each_call(
    db: &Connection,
    filter: &CallFilter,
    mut take: impl FnMut(CallRow),
) -> rusqlite::Result<()> {
    let mut wanted = Wanted::default();
    wanted.add("c.session = ?", filter.session.as_ref().map(|session| session.0.clone()));
    wanted.add("c.at >= ?", filter.since.map(micros));
    wanted.add("c.at < ?", filter.until.map(micros));
    let order = |direction| {
        format!(
            "c.at {direction}, c.session {direction}, c.place {direction}, c.id {direction}, c.leaf {direction}"
        )
    };
    let condition = format!("{CALLS} AND {}", wanted.condition());
    let sql = match filter.limit {
        None => format!("{condition} ORDER BY {}", order("")),
        // The latest ones, and these in their order.
        Some(_) => {
            format!("SELECT * FROM ({condition} ORDER BY {} {})", order("DESC"), limited(filter.limit))
        }
    };
    let mut statement = db.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(wanted.values))?;
    if filter.limit.is_none() {
        while let Some(row) = rows.next()? {
            take(call(row)?);
        }
        return Ok(());
    }
    let mut latest = Vec::new();
    while let Some(row) = rows.next()? {
        latest.push(call(row)?);
    }
    latest.into_iter().rev().for_each(take);
    Ok(())
}

/// How councils came to their answers, in the order of their ends.
pub(super) fn deliberations(db: &Connection, filter: &CallFilter) -> rusqlite::Result<Vec<DeliberationRow>> {
    let mut wanted = Wanted::default();
    wanted.add("session = ?", filter.session.as_ref().map(|session| session.0.clone()));
    wanted.add("at >= ?", filter.since.map(micros));
    wanted.add("at < ?", filter.until.map(micros));
    let sql = format!(
        "SELECT id, at, session, source, minutes FROM deliberations WHERE {} ORDER BY at DESC, id DESC {}",
        wanted.condition(),
        limited(filter.limit),
    );
    let mut statement = db.prepare(&sql)?;
    let rows = statement.query_map(params_from_iter(wanted.values), |row| {
        let minutes: String = row.get(4)?;
        Ok(DeliberationRow {
            call: row.get(0)?,
            at: time(row.get(1)?),
            session: row.get::<_, Option<String>>(2)?.map(SessionId),
            source: row.get(3)?,
            minutes: serde_json::from_str(&minutes).unwrap_or_default(),
        })
    })?;
    let mut rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    rows.reverse();
    Ok(rows)
}

fn call(row: &Row<'_>) -> rusqlite::Result<CallRow> {
    let optional = |column: usize| row.get::<_, Option<i64>>(column).map(|value| value.map(count));
    let (basis, nano): (String, Option<i64>) = (row.get(14)?, row.get(15)?);
    let cost = match (basis.as_str(), nano) {
        ("reported", Some(nano)) => Cost::Reported(Usd(nano)),
        ("estimated", Some(nano)) => Cost::Estimated(Usd(nano)),
        _ => Cost::Unknown,
    };
    let prefix: Option<String> = row.get(16)?;
    Ok(CallRow {
        id: row.get(0)?,
        leaf: count(row.get(1)?),
        session: row.get::<_, Option<String>>(2)?.map(SessionId),
        agent: row.get::<_, Option<String>>(3)?.map(AgentId),
        who: row.get(17)?,
        turn: row.get(4)?,
        at: time(row.get(5)?),
        provider: row.get(6)?,
        model: row.get(7)?,
        usage: Usage {
            input: count(row.get(8)?),
            output: count(row.get(9)?),
            total: count(row.get(10)?),
            reasoning: optional(11)?,
            cache_read: optional(12)?,
            cache_write: optional(13)?,
            ..Usage::default()
        },
        cost,
        prefix: prefix.and_then(|json| serde_json::from_str(&json).ok()),
        council: row.get(18)?,
    })
}

fn end(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<(Timestamp, String)>> {
    let at: Option<i64> = row.get(column)?;
    let reason: Option<String> = row.get(column + 1)?;
    Ok(at.map(|at| (time(at), reason.unwrap_or_default())))
}

/// Conditions that all must hold, and the values in them.
#[derive(Default)]
struct Wanted {
    conditions: Vec<&'static str>,
    values: Vec<Value>,
}

impl Wanted {
    fn add(&mut self, condition: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.conditions.push(condition);
            self.values.push(value.into());
        }
    }

    fn condition(&self) -> String {
        if self.conditions.is_empty() { "TRUE".to_owned() } else { self.conditions.join(" AND ") }
    }
}

fn limited(limit: Option<usize>) -> String {
    limit.map(|limit| format!("LIMIT {}", int(limit as u64))).unwrap_or_default()
}

/// A text that LIKE takes for itself.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

fn time(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or_default()
}
