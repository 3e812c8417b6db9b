//! Brings the index up to date from the journals.

use std::collections::{HashMap, HashSet};

use junto_core::Seq;
use junto_llm::SessionId;
use rusqlite::{Connection, TransactionBehavior};

use super::apply::{Feed, Head, apply, count, forget, head};
use super::database::{Place, Renewed};
use super::note::Note;
use super::pages;
use super::tables::Tables;
use super::tail::tail;
use crate::{Error, ErrorKind, Redactor, Result, Store};

/// How many events are written at once: others may write in between.
const CHUNK: usize = 2048;

/// What was done to bring an index up to date.
#[derive(Debug, Default)]
pub struct Refreshed {
    /// Whether it had to be made anew, and why.
    pub renewed: Option<Renewed>,
    /// How many sessions were read, wholly or from where the index ended.
    pub read: usize,
    /// How many sessions were taken out, since they are no longer there.
    pub removed: usize,
    /// Sessions that could not be read. The index has of them what it had before.
    pub unreadable: Vec<(SessionId, Error)>,
}

/// What is taken for true of what the index has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// What it has of a session whose journal ends where the index does.
    Known,
    /// Nothing.
    Nothing,
}

/// Brings the index up to date with the journals of a store and its book of calls.
pub(super) fn refresh(place: &Place, store: &Store, trust: Trust) -> Result<Refreshed> {
    let fault = |error| place.fault(error);
    let mut refreshed = Refreshed { renewed: place.check()?, ..Refreshed::default() };
    let mut database = place.open()?;
    refreshed.renewed = refreshed.renewed.or(database.renewed.take());
    let db = &mut database.connection;

    // In this order: a session that comes about meanwhile is not taken for one that is gone.
    let known = heads(db).map_err(fault)?;
    let there = store.sessions()?;
    let still: HashSet<&SessionId> = there.iter().collect();
    let mut orphans = Vec::new();
    for session in known.keys().filter(|session| !still.contains(session)) {
        orphans.extend(children(db, session).map_err(fault)?);
        transact(db, |db| forget(&mut Tables::of(db), session)).map_err(fault)?;
        refreshed.removed += 1;
    }

    for session in &there {
        // What a fork shares with a session that is gone is its own now.
        let is_orphan = orphans.contains(session);
        let end = store.folder(session).ok().and_then(|folder| tail(&folder.join("journal.jsonl")));
        if trust == Trust::Known && !is_orphan && end.is_some() && end == known.get(session).copied() {
            continue;
        }
        if trust == Trust::Nothing || is_orphan {
            transact(db, |db| forget(&mut Tables::of(db), session)).map_err(fault)?;
        }
        refreshed.read += 1;
        match catch_up(db, place, store, session) {
            Ok(()) => {}
            // Removed since it was listed.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => refreshed.unreadable.push((session.clone(), error)),
        }
    }
    if trust == Trust::Nothing {
        transact(db, pages::forget).map_err(fault)?;
    }
    pages::read(db, place)?;
    Ok(refreshed)
}

fn heads(db: &Connection) -> rusqlite::Result<HashMap<SessionId, Head>> {
    let mut statement = db.prepare("SELECT id, seq, updated FROM sessions")?;
    let rows = statement.query_map([], |row| {
        Ok((SessionId(row.get(0)?), Head { seq: count(row.get(1)?), at: row.get(2)? }))
    })?;
    rows.collect()
}

fn children(db: &Connection, session: &SessionId) -> rusqlite::Result<Vec<SessionId>> {
    let mut statement = db.prepare("SELECT id FROM sessions WHERE parent = ?1")?;
    let rows = statement.query_map([&session.0], |row| Ok(SessionId(row.get(0)?)))?;
    rows.collect()
}

/// Reads a journal from where the index ends. If that is not the same event there, all of it.
fn catch_up(db: &mut Connection, place: &Place, store: &Store, session: &SessionId) -> Result<()> {
    let fault = |error| place.fault(error);
    let read = Redactor::off();
    let known = head(&mut Tables::of(db), session).map_err(fault)?;
    let mut events = store.events(session, Seq(known.map_or(1, |head| head.seq)))?.peekable();
    if let Some(known) = known {
        let follows = match events.peek() {
            Some(Ok(event)) => {
                let note = Note::of(event, &read);
                note.seq > known.seq || note.at == known.at
            }
            Some(Err(_)) => true,
            // The journal is shorter than it was.
            None => false,
        };
        if !follows {
            transact(db, |db| forget(&mut Tables::of(db), session)).map_err(fault)?;
            events = store.events(session, Seq::START)?.peekable();
        }
    }
    loop {
        let chunk = events.by_ref().take(CHUNK).map(|event| event.map(|event| Note::of(&event, &read)));
        let chunk = chunk.collect::<Result<Vec<_>>>()?;
        if chunk.is_empty() {
            return Ok(());
        }
        transact(db, |db| apply(db, &chunk, Feed::Journal)).map_err(fault)?;
    }
}

fn transact(
    db: &mut Connection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    work(&transaction)?;
    transaction.commit()
}
