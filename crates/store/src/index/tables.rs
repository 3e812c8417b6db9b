//! A connection that prepares each statement once.

use std::collections::HashMap;

use rusqlite::{Connection, Statement, ToSql};

/// The tables, for as long as something is written to them.
pub(super) struct Tables<'c> {
    db: &'c Connection,
    statements: HashMap<&'static str, Statement<'c>>,
}

impl<'c> Tables<'c> {
    pub(super) fn of(db: &'c Connection) -> Self {
        Self { db, statements: HashMap::new() }
    }

    /// The statement, ready to be used.
    pub(super) fn prepare(&mut self, sql: &'static str) -> rusqlite::Result<&mut Statement<'c>> {
        if !self.statements.contains_key(sql) {
            self.statements.insert(sql, self.db.prepare(sql)?);
        }
        self.statements.get_mut(sql).ok_or(rusqlite::Error::InvalidQuery)
    }

    /// Does something with these values.
    pub(super) fn execute(&mut self, sql: &'static str, values: &[&dyn ToSql]) -> rusqlite::Result<()> {
        self.prepare(sql)?.execute(values).map(drop)
    }
}
