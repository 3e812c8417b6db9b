//! Notes become rows.

use std::cmp::Ordering;
use std::collections::HashMap;

use junto_core::Prefix;
use junto_llm::{Cost, LeafCall, SessionId, Usage};
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use super::note::{Change, Note};
use super::tables::Tables;

/// Where notes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feed {
    /// From a session that is at work. Some may have been missed; the journal has them.
    Live,
    /// From a journal. What is missing there is lost.
    Journal,
}

/// The last event that was seen of a session, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) seq: u64,
    pub(super) at: i64,
}

/// Writes what is new in these notes, in their order.
pub(super) fn apply(db: &Connection, notes: &[Note], feed: Feed) -> rusqlite::Result<()> {
    let tables = &mut Tables::of(db);
    let mut heads: HashMap<&SessionId, Option<Head>> = HashMap::new();
    for note in notes {
        let head = match heads.get(&note.session) {
            Some(head) => *head,
            None => self::head(tables, &note.session)?,
        };
        let head = match follows(note, head, feed) {
            Follows::Yes => {
                if head.is_none() {
                    begin(tables, note)?;
                }
                write(tables, note)?;
                Some(Head { seq: note.seq, at: note.at })
            }
            Follows::No => head,
            Follows::Another => {
                forget(tables, &note.session)?;
                None
            }
        };
        heads.insert(&note.session, head);
    }
    for (session, head) in heads {
        if let Some(Head { seq, at }) = head {
            let update = "UPDATE sessions SET seq = ?2, updated = ?3 WHERE id = ?1";
            tables.execute(update, params![session.0, int(seq), at])?;
        }
    }
    Ok(())
}

enum Follows {
    Yes,
    /// It is known, or something before it is not.
    No,
    /// What is known is not what was there: the journal lost its end in a crash and went on.
    Another,
}

fn follows(note: &Note, head: Option<Head>, feed: Feed) -> Follows {
    let Some(head) = head else {
        return if feed == Feed::Journal || note.seq == 1 { Follows::Yes } else { Follows::No };
    };
    let is_next = note.seq == head.seq.saturating_add(1);
    match note.seq.cmp(&head.seq) {
        Ordering::Equal if note.at != head.at => Follows::Another,
        Ordering::Greater if is_next || feed == Feed::Journal => Follows::Yes,
        Ordering::Less | Ordering::Equal | Ordering::Greater => Follows::No,
    }
}

/// What is known of a session.
pub(super) fn head(tables: &mut Tables<'_>, session: &SessionId) -> rusqlite::Result<Option<Head>> {
    tables
        .prepare("SELECT seq, updated FROM sessions WHERE id = ?1")?
        .query_row([&session.0], |row| Ok(Head { seq: count(row.get(0)?), at: row.get(1)? }))
        .optional()
}

/// Takes a session out.
pub(super) fn forget(tables: &mut Tables<'_>, session: &SessionId) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM sessions WHERE id = ?1",
        "DELETE FROM runs WHERE session = ?1",
        "DELETE FROM turns WHERE session = ?1",
        "DELETE FROM calls WHERE session = ?1",
        "DELETE FROM deliberations WHERE session = ?1",
    ] {
        tables.execute(sql, params![session.0])?;
    }
    Ok(())
}

/// Makes the row of a session, with the first that is known of it.
fn begin(tables: &mut Tables<'_>, note: &Note) -> rusqlite::Result<()> {
    tables.execute(
        "INSERT INTO sessions (id, seq, updated, created, agent) VALUES (?1, ?2, ?3, ?3, ?4)",
        params![note.session.0, int(note.seq), note.at, note.agent.0],
    )
}

fn write(tables: &mut Tables<'_>, note: &Note) -> rusqlite::Result<()> {
    let (session, agent, at, turn) = (&note.session.0, &note.agent.0, note.at, note.turn);
    let mut run = |sql: &'static str, values: &[&dyn ToSql]| tables.execute(sql, values);
    match &note.change {
        Change::None => {}
        Change::Started { kind, model, workdir, forked_from } => {
            if note.is_root() {
                run(
                    "UPDATE sessions SET created = ?2, agent = ?3, kind = ?4, model = ?5, workdir = ?6, parent = ?7
                     WHERE id = ?1",
                    params![session, at, agent, kind, model, workdir, forked_from.as_ref().map(|from| &from.0)],
                )?;
            }
            run(
                "INSERT INTO runs (session, agent, parent, kind, model, started)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT DO UPDATE SET parent = ?3, kind = ?4, model = ?5, started = ?6",
                params![session, agent, note.parent.as_ref().map(|parent| &parent.0), kind, model, at],
            )?;
        }
        Change::Resumed => {
            if note.is_root() {
                run("UPDATE sessions SET ended = NULL WHERE id = ?1", params![session])?;
            }
            run(
                "UPDATE runs SET ended = NULL, reason = NULL WHERE session = ?1 AND agent = ?2",
                params![session, agent],
            )?;
        }
        Change::Named { name } => {
            run(
                "UPDATE runs SET name = ?3 WHERE session = ?1 AND agent = ?2",
                params![session, agent, name],
            )?;
        }
        Change::Child { agent: child, name, kind, task } => {
            run(
                "INSERT INTO runs (session, agent, parent, name, kind, task, started)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                 ON CONFLICT DO UPDATE SET parent = ?3, name = ?4, task = ?6",
                params![session, child.0, agent, name, kind, task, at],
            )?;
        }
        Change::Input { title } => {
            if note.is_root() {
                run("UPDATE sessions SET title = ?2 WHERE id = ?1 AND title = ''", params![session, title])?;
            }
            run(
                "INSERT OR REPLACE INTO turns (session, agent, turn, title, started)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![session, agent, turn, title, at],
            )?;
        }
        Change::InputEnded { reason } => {
            run(
                "UPDATE turns SET ended = ?4, reason = ?5 WHERE session = ?1 AND agent = ?2 AND turn = ?3",
                params![session, agent, turn, at, reason],
            )?;
        }
        Change::Deliberated { id, minutes } => {
            let who = Caller { session: Some(session), agent: Some(agent), source: "", client: None, turn };
            deliberated(tables, id, who, at, minutes)?;
        }
        Change::Called { id, model, calls, prefix, council } => {
            if note.is_root() {
                run(
                    "UPDATE sessions SET model = ?2 WHERE id = ?1 AND model IS NULL",
                    params![session, model],
                )?;
            }
            let who = Caller { session: Some(session), agent: Some(agent), source: "", client: None, turn };
            let made = Made { calls, prefix: prefix.as_ref(), council: council.as_deref() };
            book(tables, id, who, note.seq, at, made)?;
        }
        Change::Untold { id } => {
            let Answering { kind, model } = answering(tables, session, agent)?;
            let (usage, cost) = (Usage::default(), Cost::Unknown);
            let calls = &[LeafCall { provider: kind, model, usage, cost }];
            let who = Caller { session: Some(session), agent: Some(agent), source: "", client: None, turn };
            book(tables, id, who, note.seq, at, Made { calls, prefix: None, council: None })?;
        }
        Change::Configured { model, workdir } => {
            if note.is_root() {
                run(
                    "UPDATE sessions SET model = ifnull(?2, model), workdir = ifnull(?3, workdir) WHERE id = ?1",
                    params![session, model, workdir],
                )?;
            }
            run(
                "UPDATE runs SET model = ifnull(?3, model) WHERE session = ?1 AND agent = ?2",
                params![session, agent, model],
            )?;
        }
        Change::Rewound { to_turn } => {
            run(
                "UPDATE turns SET rewound = 1 WHERE session = ?1 AND agent = ?2 AND turn > ?3",
                params![session, agent, to_turn],
            )?;
        }
        Change::Ended { reason } => {
            if note.is_root() {
                run("UPDATE sessions SET ended = ?2 WHERE id = ?1", params![session, reason])?;
            }
            run(
                "UPDATE runs SET ended = ?3, reason = ?4 WHERE session = ?1 AND agent = ?2",
                params![session, agent, at, reason],
            )?;
        }
    }
    Ok(())
}

/// What answers for an agent, as far as its session tells.
#[derive(Default)]
struct Answering {
    kind: String,
    /// Empty if it is not known.
    model: String,
}

fn answering(tables: &mut Tables<'_>, session: &str, agent: &str) -> rusqlite::Result<Answering> {
    let found = tables
        .prepare("SELECT kind, ifnull(model, '') FROM runs WHERE session = ?1 AND agent = ?2")?
        .query_row([session, agent], |row| Ok(Answering { kind: row.get(0)?, model: row.get(1)? }))
        .optional()?;
    Ok(found.unwrap_or_default())
}

/// Who made a call.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) session: Option<&'a String>,
    pub(super) agent: Option<&'a String>,
    /// What made it that is no agent.
    pub(super) source: &'a str,
    /// The session that a client said it is of.
    pub(super) client: Option<&'a String>,
    pub(super) turn: u32,
}

/// What was called.
#[derive(Clone, Copy)]
pub(super) struct Made<'a> {
    pub(super) calls: &'a [LeafCall],
    pub(super) prefix: Option<&'a Prefix>,
    pub(super) council: Option<&'a str>,
}

/// Writes down how a council came to an answer. What several journals hold belongs to the oldest of the sessions.
pub(super) fn deliberated(
    tables: &mut Tables<'_>,
    id: &str,
    who: Caller<'_>,
    at: i64,
    minutes: &str,
) -> rusqlite::Result<()> {
    tables.execute(
        "INSERT INTO deliberations (id, at, session, source, minutes) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET session = ?3 WHERE ?3 < session",
        params![id, at, who.session, who.source, minutes],
    )
}

/// Writes the rows of a call. One that several journals hold belongs to the oldest of the sessions; ids of
/// sessions sort by age.
pub(super) fn book(
    tables: &mut Tables<'_>,
    id: &str,
    who: Caller<'_>,
    place: u64,
    at: i64,
    made: Made<'_>,
) -> rusqlite::Result<()> {
    let Made { calls, prefix, council } = made;
    let prefix = prefix.and_then(|prefix| serde_json::to_string(prefix).ok());
    let insert = tables.prepare(
        "INSERT INTO calls (id, leaf, session, place, agent, source, client, turn, at, provider, model, input,
            output, total, reasoning, cache_read, cache_write, basis, cost, prefix, council)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
         ON CONFLICT DO UPDATE SET session = ?3 WHERE ?3 < session",
    )?;
    for (leaf, LeafCall { provider, model, usage, cost }) in calls.iter().enumerate() {
        let (basis, nano) = match cost {
            Cost::Reported(usd) => ("reported", Some(usd.0)),
            Cost::Estimated(usd) => ("estimated", Some(usd.0)),
            Cost::Unknown => ("unknown", None),
        };
        insert.execute(params![
            id,
            int(leaf as u64),
            who.session,
            int(place),
            who.agent,
            who.source,
            who.client,
            who.turn,
            at,
            provider,
            model,
            int(usage.input),
            int(usage.output),
            int(usage.total),
            usage.reasoning.map(int),
            usage.cache_read.map(int),
            usage.cache_write.map(int),
            basis,
            nano,
            prefix,
            council,
        ])?;
    }
    Ok(())
}

/// A count as SQLite keeps it.
pub(super) fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count as it was kept.
pub(super) fn count(int: i64) -> u64 {
    u64::try_from(int).unwrap_or(0)
}
