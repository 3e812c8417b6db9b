//! What the index takes from the book of calls.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::apply::{Caller, Made, book, count, deliberated, int};
use super::database::Place;
use super::note::{council, leaves, micros};
use super::tables::Tables;
use crate::Result;
use crate::ledger::{Page, page};

/// Reads what is new in the book. How far it was read stands in the index beside the rows, so that several
/// processes may do this at once and no line counts twice.
pub(super) fn read(db: &mut Connection, place: &Place) -> Result<()> {
    let fault = |error| place.fault(error);
    loop {
        let from = known(db).map_err(fault)?;
        let page = page(place.root(), from)?;
        if page.bookings.is_empty() && page.next == from && !page.is_another {
            return Ok(());
        }
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
        // Another process may have read it meanwhile.
        if known(&transaction).map_err(fault)? == from {
            take(&transaction, &page).map_err(fault)?;
        }
        transaction.commit().map_err(fault)?;
    }
}

fn known(db: &Connection) -> rusqlite::Result<u64> {
    db.query_row("SELECT read FROM book", [], |row| row.get(0)).map(count)
}

/// Begins the book anew.
pub(super) fn forget(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(
        "DELETE FROM calls WHERE session IS NULL; DELETE FROM deliberations WHERE session IS NULL;
         UPDATE book SET read = 0;",
    )
}

fn take(db: &Transaction<'_>, page: &Page) -> rusqlite::Result<()> {
    if page.is_another {
        return forget(db);
    }
    let tables = &mut Tables::of(db);
    for (place, booking) in &page.bookings {
        let who = Caller {
            session: None,
            agent: None,
            source: &booking.source,
            client: booking.client.as_ref().map(|client| &client.0),
            turn: 0,
        };
        let (provider, model, at) = (&booking.provider, &booking.model, micros(booking.at));
        let calls = leaves(provider, model, &booking.usage, booking.cost);
        let council = council(provider, model, &booking.usage);
        let made = Made { calls: &calls, prefix: None, council: council.as_deref() };
        book(tables, &booking.call.0, who, *place, at, made)?;
        for (number, minutes) in (0..).zip(&booking.minutes) {
            // Tries of one call are told apart by their time, and a line has one.
            deliberated(tables, &booking.call.0, who, at + number, &minutes.to_string())?;
        }
    }
    tables.execute("UPDATE book SET read = ?1", &[&int(page.next)])
}
