//! The records of a journal, read one after another, whatever the file looks like.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto_core::{Event, Seq, VERSION};
use junto_llm::SessionId;

use super::format::{self, Header, What};
use super::lines::{Kind, Lines, Piece};
use super::recovery::{Cut, Damage, Recovery};
use crate::files::{File, Files, How};
use crate::{Error, ErrorKind, Result};

/// How much of a file is looked at to tell whether it was meant to be a journal.
const BEGINNING: usize = 512;

/// A record that is whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// Its position.
    pub(crate) seq: Seq,
    /// Where its line begins.
    pub(crate) at: u64,
    /// The event, as JSON.
    pub(crate) event: &'a [u8],
}

/// Reads the records of a journal in order. What is no record is left out and remembered.
#[derive(Debug)]
pub(crate) struct Records {
    path: PathBuf,
    lines: Lines,
    header: Header,
    /// Whether it is known that this is the session's journal.
    is_known: bool,
    /// The position of the last record.
    last: Seq,
    /// Damage after the last record. What is lost by it shows with the next one.
    damage: Option<Damage>,
    /// How many records that damage was, at most.
    damaged: u64,
    recovery: Recovery,
}

impl Records {
    /// The records of a session in its folder, as far as they are written now.
    ///
    /// # Errors
    /// If there is no journal, it is not this session's, or a newer version wrote it.
    pub(crate) fn of(files: &Arc<dyn Files>, folder: &Path, session: &SessionId) -> Result<Self> {
        let path = folder.join(super::FILE);
        let file = files.open(&path, How::Read).map_err(|error| super::not_opened(&path, session, error))?;
        Self::open(file, path, session)
    }

    /// The records of a session in its file.
    ///
    /// # Errors
    /// If it is not this session's journal, or a newer version wrote it.
    pub(crate) fn open(file: Arc<dyn File>, path: PathBuf, session: &SessionId) -> Result<Self> {
        let end = file.size().map_err(|error| Error::io(&path, error))?;
        let mut records = Self::part(file, path, session, 0..end, Seq(0));
        records.is_known = false;
        records.read_header()?;
        Ok(records)
    }

    /// The records in a part of a journal that was opened before. The part begins with a line, and
    /// before it is the record of this position.
    pub(crate) fn part(
        file: Arc<dyn File>,
        path: PathBuf,
        session: &SessionId,
        part: Range<u64>,
        last: Seq,
    ) -> Self {
        Self {
            path,
            lines: Lines::new(file, part),
            header: Header { v: format::VERSION, session: session.clone(), created: None },
            is_known: true,
            last,
            damage: None,
            damaged: 0,
            recovery: Recovery::default(),
        }
    }

    /// How the journal begins.
    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// What was found wrong so far; all of it once the end was reached.
    pub(crate) fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// The last position that is taken, once the end was reached: by the last record, or by what may
    /// have been records after it.
    pub(crate) fn last(&self) -> Seq {
        Seq(self.last.0.saturating_add(self.damaged))
    }

    /// How far the file was read.
    pub(crate) fn place(&self) -> u64 {
        self.lines.place()
    }

    /// The next event from this position on. One that is whole but none that this version knows is
    /// told like damage.
    pub(crate) fn next_event(&mut self, from: Seq) -> Result<Option<Event>> {
        loop {
            let Some(Record { seq, at, event }) = self.next()? else { return Ok(None) };
            if seq < from {
                continue;
            }
            match serde_json::from_slice(event) {
                Ok(event) => return Ok(Some(event)),
                Err(error) => {
                    let bytes = event.len() as u64;
                    let why = format!("it is no event that this version knows: {error}");
                    self.recovery.add(Damage { at, bytes, lost: Some((seq, seq)), why });
                }
            }
        }
    }

    /// The next record.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>> {
        loop {
            let Some(piece) = self.lines.next().map_err(|error| self.failed(error))? else {
                self.end();
                return Ok(None);
            };
            match piece.kind {
                Kind::Whole(What::Event) => {
                    if let Some(seq) = self.take(&piece)? {
                        return Ok(Some(Record { seq, at: piece.at, event: self.lines.value(&piece) }));
                    }
                }
                Kind::Whole(What::Header) => self.damaged(&piece, "it is a header in the middle"),
                Kind::Bad(why) => self.damaged(&piece, why),
                Kind::Seam => self.damaged(&piece, "the end of the line"),
                Kind::Torn => {
                    self.recovery.cut = Some(Cut { at: piece.at, bytes: piece.bytes, kept: None });
                }
            }
        }
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::io(&self.path, error)
    }

    fn foreign(&self, message: String) -> Error {
        Error::new(ErrorKind::Foreign, self.path.display(), message)
    }

    /// Reads the header, if the file begins with one that is whole.
    fn read_header(&mut self) -> Result<()> {
        let path = self.path.display().to_string();
        let beginning = self.lines.peek().map_err(|error| Error::io(&self.path, error))?;
        if !format::is_journal(beginning.get(..BEGINNING).unwrap_or(beginning)) {
            return Err(self.foreign("this is no journal of a session".to_owned()));
        }
        let Some(piece) = self.lines.next().map_err(|error| self.failed(error))? else { return Ok(()) };
        if piece.kind != Kind::Whole(What::Header) {
            self.lines.put_back(piece);
            return Ok(());
        }
        let header = Header::read(self.lines.value(&piece), &path)?;
        if header.session != self.header.session {
            return Err(self.foreign(format!("this is the journal of session {}", header.session)));
        }
        self.header = header;
        self.is_known = true;
        Ok(())
    }

    /// Takes a whole record of an event, if its position comes after the last one.
    fn take(&mut self, piece: &Piece) -> Result<Option<Seq>> {
        let value = self.lines.value(piece);
        if !self.is_known {
            if let Some(found) = format::session(value).filter(|found| *found != self.header.session) {
                return Err(self.foreign(format!("this holds events of session {found}")));
            }
            self.is_known = true;
        }
        let Some((v, seq)) = format::position(self.lines.value(piece)) else {
            self.damaged(piece, "it has no position");
            return Ok(None);
        };
        if v > u64::from(VERSION) {
            return Err(format::newer(&self.path.display().to_string(), v));
        }
        if seq <= self.last {
            self.damaged(piece, "its position was there before");
            return Ok(None);
        }
        let missing = seq.0 - self.last.0 - 1;
        let lost = (missing > 0).then(|| (self.last.next(), Seq(seq.0 - 1)));
        if let Some(damage) = self.damage.take() {
            self.recovery.add(Damage { lost, ..damage });
        } else if lost.is_some() {
            let why = "there is nothing at this place".to_owned();
            self.recovery.add(Damage { at: piece.at, bytes: 0, lost, why });
        }
        self.damaged = 0;
        self.last = seq;
        Ok(Some(seq))
    }

    /// Remembers damage until the next record tells what is lost by it.
    fn damaged(&mut self, piece: &Piece, why: &str) {
        // What stands first is the header, which has no position.
        if piece.at > 0 && piece.kind != Kind::Seam {
            self.damaged += 1;
        }
        match &mut self.damage {
            Some(damage) => damage.bytes += piece.bytes,
            None => {
                self.damage =
                    Some(Damage { at: piece.at, bytes: piece.bytes, lost: None, why: why.to_owned() });
            }
        }
    }

    fn end(&mut self) {
        if let Some(damage) = self.damage.take() {
            let lost = (self.damaged > 0).then(|| (self.last.next(), self.last()));
            self.recovery.add(Damage { lost, ..damage });
        }
    }
}
