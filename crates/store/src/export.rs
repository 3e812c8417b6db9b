//! Sessions for people and for other programs: as Markdown, as a web page, as JSON.

mod entry;
mod html;
mod json;
mod markdown;

use std::io::{self, Write};
use std::path::Path;

use junto_core::{Event, Seq};
use junto_llm::SessionId;

use self::entry::{Entry, Reader, Sums};
use crate::journal::Header;
use crate::{Recovery, Result, Store};

/// The form of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Markdown.
    #[default]
    Markdown,
    /// One JSON object: the header, every event with its texts whole, and what was found damaged.
    Json,
    /// A web page that needs no other file and runs no script.
    Html,
}

/// Writes a session down, piece by piece as it is read.
trait Writer {
    fn begin(&mut self, out: &mut dyn Write, header: &Header) -> io::Result<()>;
    /// Writes an event, and adds to the recovery what it finds wrong with that.
    fn event(&mut self, out: &mut dyn Write, event: Event, lost: &mut Recovery) -> io::Result<()>;
    fn end(&mut self, out: &mut dyn Write, recovery: &Recovery) -> io::Result<()>;
}

impl Store {
    /// Writes a session to `out`, without locking it and without holding all of it. What is damaged is left
    /// out, and told by the recovery.
    ///
    /// # Errors
    /// If the session cannot be read, or `out` cannot be written.
    pub fn export(&self, session: &SessionId, format: Format, out: &mut dyn Write) -> Result<Recovery> {
        let mut writer: Box<dyn Writer + '_> = match format {
            Format::Markdown => Box::new(Pages::new(markdown::Markdown)),
            Format::Html => Box::new(Pages::new(html::Html)),
            Format::Json => Box::new(json::Json::new(self, session)),
        };
        let cannot = |error| crate::Error::io(Path::new("the export"), error);
        let mut events = self.events(session, Seq::START)?;
        writer.begin(out, events.header()).map_err(cannot)?;
        let mut lost = Recovery::default();
        for event in events.by_ref() {
            writer.event(out, event?, &mut lost).map_err(cannot)?;
        }
        let recovery = Recovery { texts: lost.texts, ..events.recovery() };
        writer.end(out, &recovery).map_err(cannot)?;
        out.flush().map_err(cannot)?;
        Ok(recovery)
    }
}

/// How entries look.
trait Page {
    fn begin(&mut self, out: &mut dyn Write, header: &Header) -> io::Result<()>;
    fn entry(&mut self, out: &mut dyn Write, entry: &Entry) -> io::Result<()>;
    fn end(&mut self, out: &mut dyn Write, sums: &Sums, recovery: &Recovery) -> io::Result<()>;
}

/// A writer for people: events become entries, and those a page.
struct Pages<P> {
    reader: Reader,
    page: P,
}

impl<P: Page> Pages<P> {
    fn new(page: P) -> Self {
        Self { reader: Reader::default(), page }
    }
}

impl<P: Page> Writer for Pages<P> {
    fn begin(&mut self, out: &mut dyn Write, header: &Header) -> io::Result<()> {
        self.page.begin(out, header)
    }

    fn event(&mut self, out: &mut dyn Write, event: Event, _lost: &mut Recovery) -> io::Result<()> {
        match self.reader.take(event) {
            Some(entry) => self.page.entry(out, &entry),
            None => Ok(()),
        }
    }

    fn end(&mut self, out: &mut dyn Write, recovery: &Recovery) -> io::Result<()> {
        // What began and never ended.
        for entry in self.reader.rest() {
            self.page.entry(out, &entry)?;
        }
        self.page.end(out, self.reader.sums(), recovery)
    }
}
