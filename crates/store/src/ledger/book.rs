//! Calls that no session's journal has: a file beside the journals, one line for each.
//!
//! A line is `{"c":"<crc32 of the value of r, 8 hex digits>","r":{…}}`. Several processes may add to the file
//! at once, since each line is written by one call that adds to its end. What is no such line is skipped.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use junto_core::Clock;
use junto_llm::middleware::Entry;
use junto_llm::{CallId, Cost, SessionId, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Index, Result};

const FILE: &str = "calls.jsonl";
/// How much of the book is read at once, which no line is as long as.
const PAGE: u64 = 1024 * 1024;

/// A model call that was made outside of sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Booking {
    /// The call.
    pub call: CallId,
    /// When it ended.
    pub at: Timestamp,
    /// What made it, in a word: `gateway`, `ask`.
    pub source: String,
    /// The session that a client said it belongs to. If that is a session of this store, its own journal
    /// has the call, and it does not count here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<SessionId>,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Tokens. If they are the sum of calls, those are the rows.
    pub usage: Usage,
    /// Money.
    pub cost: Cost,
    /// How a council came to the answer, if one gave it; once for each time that it was tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub minutes: Vec<Value>,
}

/// Writes down calls that are made outside of sessions, so that the ledger has them too.
pub struct Book {
    path: PathBuf,
    /// Opened for the first call.
    file: Mutex<Option<File>>,
    index: Index,
    source: String,
    clock: Clock,
}

impl Book {
    /// The book of the store in this folder, for what `source` makes; the index hears of it.
    pub(crate) fn new(root: &Path, index: Index, source: impl Into<String>, clock: Clock) -> Self {
        let path = root.join(FILE);
        Self { path, file: Mutex::new(None), index, source: source.into(), clock }
    }

    /// Writes a call down that ended now. It is in the ledger before long.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn record(
        &self,
        call: CallId,
        client: Option<SessionId>,
        provider: &str,
        model: &str,
        usage: &Usage,
        cost: Cost,
    ) -> Result<()> {
        self.record_deliberated(call, client, (provider, model), usage, cost, &[])
    }

    /// Writes a call down that a council answered, and how it came to that.
    ///
    /// # Errors
    /// As [`Book::record`].
    pub fn record_deliberated(
        &self,
        call: CallId,
        client: Option<SessionId>,
        (provider, model): (&str, &str),
        usage: &Usage,
        cost: Cost,
        minutes: &[Value],
    ) -> Result<()> {
        let mut usage = Usage { raw: None, ..usage.clone() };
        usage.calls.iter_mut().for_each(|leaf| leaf.usage.raw = None);
        let (provider, model) = (provider.to_owned(), model.to_owned());
        let (at, source) = ((self.clock)(), self.source.clone());
        let minutes = minutes.iter().map(|minutes| self.index.masked(minutes)).collect();
        self.append(&Booking { call, at, source, client, provider, model, usage, cost, minutes })
    }

    /// Writes down what a client's [`junto_llm::middleware::Ledger`] tells. A call that failed before it
    /// used anything is none.
    ///
    /// # Errors
    /// As [`Book::record`].
    pub fn record_entry(&self, entry: &Entry) -> Result<()> {
        let Entry { call, session, provider, model, usage, cost, error, .. } = entry;
        if error.is_some() && usage.total == 0 {
            return Ok(());
        }
        self.record(call.clone(), session.clone(), provider, model, usage, *cost)
    }

    fn append(&self, booking: &Booking) -> Result<()> {
        let fault = |error| Error::io(&self.path, error);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            *file = Some(open(&self.path).map_err(fault)?);
        }
        let written = file.as_mut().map_or(Ok(()), |file| file.write_all(line(booking).as_bytes()));
        if let Err(error) = written {
            // There may be half a line, which is ended when the file is opened again.
            *file = None;
            return Err(fault(error));
        }
        self.index.book_has_grown();
        Ok(())
    }
}

impl std::fmt::Debug for Book {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Book").field("path", &self.path).field("source", &self.source).finish_non_exhaustive()
    }
}

/// The file, with a line's end at its end.
fn open(path: &Path) -> std::io::Result<File> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    if file.seek(SeekFrom::End(0))? > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok(file)
}

fn line(booking: &Booking) -> String {
    // A booking has no map with keys that are no texts, which alone could not be written.
    let row = serde_json::to_string(booking).unwrap_or_default();
    format!("{{\"c\":\"{:08x}\",\"r\":{row}}}\n", crc32fast::hash(row.as_bytes()))
}

fn parse(line: &str) -> Option<Booking> {
    let (sum, rest) = line.strip_prefix("{\"c\":\"")?.split_at_checked(8)?;
    let row = rest.strip_prefix("\",\"r\":")?.strip_suffix('}')?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    (sum == crc32fast::hash(row.as_bytes())).then_some(())?;
    serde_json::from_str(row).ok()
}

/// Some lines of the book.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Page {
    /// The calls, each with its place.
    pub(crate) bookings: Vec<(u64, Booking)>,
    /// Where the next page begins.
    pub(crate) next: u64,
    /// Whether the book is shorter than where the page should have begun.
    pub(crate) is_another: bool,
}

/// The whole lines of the book from a place on, as many as fit on a page. A book that is not there is empty.
pub(crate) fn page(root: &Path, from: u64) -> Result<Page> {
    let path = root.join(FILE);
    let fault = |error| Error::io(&path, error);
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Page { is_another: from > 0, ..Page::default() });
        }
        Err(error) => return Err(fault(error)),
    };
    let length = file.metadata().map_err(fault)?.len();
    if length < from {
        return Ok(Page { is_another: true, ..Page::default() });
    }
    file.seek(SeekFrom::Start(from)).map_err(fault)?;
    let mut bytes = Vec::new();
    file.take(PAGE).read_to_end(&mut bytes).map_err(fault)?;
    let whole = match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => end + 1,
        // No line is that long: these bytes are none.
        None if bytes.len() as u64 == PAGE => bytes.len(),
        None => 0,
    };
    bytes.truncate(whole);
    let mut place = from;
    let mut bookings = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = std::str::from_utf8(line).ok().map(str::trim_end);
        bookings.extend(text.and_then(parse).map(|booking| (place, booking)));
        place += line.len() as u64;
    }
    Ok(Page { bookings, next: place, is_another: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn booking(n: u64) -> Booking {
        Booking {
            call: CallId(n.to_string()),
            at: Timestamp::UNIX_EPOCH,
            source: "gateway".into(),
            client: None,
            provider: "p".into(),
            model: "m".into(),
            usage: Usage::new(n, 1),
            cost: Cost::Unknown,
            minutes: Vec::new(),
        }
    }

    fn numbers(page: &Page) -> Vec<u64> {
        page.bookings.iter().map(|(_, booking)| booking.usage.input).collect()
    }

    #[test]
    fn lines_come_back_and_bad_ones_do_not() {
        let good = line(&booking(1));
        assert_eq!(parse(good.trim_end()), Some(booking(1)));
        for bad in [
            "",
            "{}",
            &good.trim_end()[1..],
            &good.trim_end()[..good.len() - 2],
            &good.trim_end().replace("\"p\"", "\"q\""),
            "{\"c\":\"é\u{e9}\u{e9}\u{e9}\u{e9}\",\"r\":{}}",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn pages_end_where_a_line_does() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(page(root.path(), 0).unwrap(), Page::default());
        let path = root.path().join(FILE);
        let (one, two) = (line(&booking(1)), line(&booking(2)));
        std::fs::write(&path, format!("{one}no line\n{two}{}", &line(&booking(3))[..20])).unwrap();
        let first = page(root.path(), 0).unwrap();
        assert_eq!((numbers(&first), first.next), (vec![1, 2], (one.len() + 8 + two.len()) as u64));
        assert_eq!(page(root.path(), first.next).unwrap(), Page { next: first.next, ..Page::default() });
        // Whoever writes next begins a line of its own.
        open(&path).unwrap().write_all(line(&booking(4)).as_bytes()).unwrap();
        assert_eq!(numbers(&page(root.path(), first.next).unwrap()), [4]);
        std::fs::write(&path, &one).unwrap();
        assert!(page(root.path(), first.next).unwrap().is_another);
    }

    #[test]
    fn a_line_that_was_cut_short_does_not_spoil_the_next() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(FILE);
        std::fs::write(&path, &line(&booking(1))[..20]).unwrap();
        let index = Index::open(root.path(), crate::Redactor::off());
        let book = Book::new(root.path(), index, "test", std::sync::Arc::new(|| Timestamp::UNIX_EPOCH));
        // A file that takes nothing more.
        *book.file.lock().unwrap() = Some(File::open(&path).unwrap());
        assert!(book.append(&booking(2)).is_err());
        book.append(&booking(3)).unwrap();
        assert_eq!(numbers(&page(root.path(), 0).unwrap()), [3]);
    }

    #[test]
    fn a_book_of_any_size_is_read_page_by_page() {
        let root = tempfile::tempdir().unwrap();
        let mut all = "x".repeat(3 * 1024 * 1024 / 2);
        all.push('\n');
        (0..10_000).for_each(|n| all.push_str(&line(&booking(n))));
        std::fs::write(root.path().join(FILE), &all).unwrap();
        let (mut next, mut seen) = (0, Vec::new());
        while next < all.len() as u64 {
            let page = page(root.path(), next).unwrap();
            assert!(page.next > next && page.next - next <= PAGE);
            seen.extend(numbers(&page));
            next = page.next;
        }
        assert_eq!(seen, (0..10_000).collect::<Vec<_>>());
    }
}
