//! The end of a journal's file, and what is added there.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use junto_core::{Event, Seq};
use junto_llm::SessionId;

use super::format;
use super::places::Places;
use crate::files::File;
use crate::{Error, ErrorKind, Redactor, Result};

/// A buffer that grew larger than this for one event is given back.
const BUFFER: usize = 1024 * 1024;

/// Adds records to a file. Between two calls the file has whole records only, or, if the disk did not
/// even let it be cut back, nothing is added until it does.
#[derive(Debug)]
pub(crate) struct Writer {
    file: Arc<dyn File>,
    path: PathBuf,
    /// Lines that are to be written, and where in it each event's begins.
    buffer: Vec<u8>,
    starts: Vec<(Seq, usize)>,
    /// How long the file is. What may stand behind that is no record.
    len: u64,
    /// How much of it somebody may rely on.
    kept: u64,
    /// The position of the last record.
    last: Seq,
    /// How many writes there were.
    writes: u64,
    places: Places,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The file ends with a whole record.
    Whole,
    /// A write failed halfway, and what it left could not be cut off.
    Torn,
    /// A sync failed. What the system holds of the file since the last one cannot be trusted, and
    /// another sync would not tell.
    Failed(Error),
}

/// What was written, until it is known whether it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// Which write it was.
    pub(crate) number: u64,
    start: u64,
    end: u64,
    /// The last position before it.
    before: Seq,
}

impl Writer {
    /// Writes at the end of a file that has whole lines only.
    pub(crate) fn new(file: Arc<dyn File>, path: PathBuf, len: u64, last: Seq, places: Places) -> Self {
        Self {
            file,
            path,
            buffer: Vec::new(),
            starts: Vec::new(),
            len,
            kept: len,
            last,
            writes: 0,
            places,
            state: State::Whole,
        }
    }

    /// The file.
    pub(crate) fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// How many writes there were.
    pub(crate) fn writes(&self) -> u64 {
        self.writes
    }

    /// The part of the file in which to look for the events from this position on, and the position
    /// before it. The part ends with what somebody may rely on.
    pub(crate) fn part_from(&self, from: Seq) -> (Range<u64>, Seq) {
        match self.places.find(from) {
            Some((seq, at)) => (at..self.kept.max(at), Seq(seq.0.saturating_sub(1))),
            None => (0..self.kept, Seq(0)),
        }
    }

    /// Makes lines of events, to be written next.
    ///
    /// # Errors
    /// If they are not the session's next ones, one is too large, or nothing can be written any more.
    pub(crate) fn encode(
        &mut self,
        events: &[Event],
        session: &SessionId,
        redact: &Redactor,
    ) -> Result<&[u8]> {
        self.mend()?;
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER);
        self.starts.clear();
        let mut last = self.last;
        for event in events {
            if event.seq <= last || event.session != *session {
                let message = format!(
                    "event {} of session {} cannot come after event {last} of session {session}",
                    event.seq, event.session
                );
                return Err(Error::new(ErrorKind::Invalid, self.path.display(), message));
            }
            last = event.seq;
            self.starts.push((event.seq, self.buffer.len()));
            format::push_event(event, redact, &mut self.buffer)?;
        }
        Ok(&self.buffer)
    }

    /// Writes what was encoded last.
    ///
    /// # Errors
    /// If the disk does not take it. Then it is not there.
    pub(crate) fn write(&mut self) -> Result<Written> {
        if let Err(error) = self.file.write_all_at(&self.buffer, self.len) {
            self.cut_back(self.len);
            return Err(Error::io(&self.path, error));
        }
        let (start, before) = (self.len, self.last);
        for (seq, offset) in &self.starts {
            self.places.note(*seq, start + *offset as u64);
            self.last = *seq;
        }
        self.len += self.buffer.len() as u64;
        self.writes += 1;
        Ok(Written { number: self.writes, start, end: self.len, before })
    }

    /// From now on somebody relies on this.
    pub(crate) fn keep(&mut self, written: &Written) {
        self.kept = self.kept.max(written.end);
    }

    /// Takes back what nobody relies on, if it is the last that was written.
    pub(crate) fn withdraw(&mut self, written: &Written) {
        let is_last = self.writes == written.number && self.len == written.end;
        if is_last && self.kept <= written.start && self.failure().is_none() {
            self.last = written.before;
            self.cut_back(written.start);
        }
    }

    /// Nothing more is written, and what nobody relies on is taken back.
    pub(crate) fn fail(&mut self, error: Error) {
        if matches!(self.state, State::Failed(_)) {
            return;
        }
        self.cut_back(self.kept);
        let message = format!("the disk failed ({error}); the session has to be opened again");
        self.state = State::Failed(Error::new(error.kind(), self.path.display(), message));
    }

    /// Why nothing more can be written, if that is so.
    pub(crate) fn failure(&self) -> Option<&Error> {
        match &self.state {
            State::Failed(error) => Some(error),
            State::Whole | State::Torn => None,
        }
    }

    /// Cuts off what an earlier failure left.
    fn mend(&mut self) -> Result<()> {
        match &self.state {
            State::Whole => Ok(()),
            State::Failed(error) => Err(error.clone()),
            State::Torn => {
                self.file.resize(self.len).map_err(|error| Error::io(&self.path, error))?;
                self.state = State::Whole;
                Ok(())
            }
        }
    }

    fn cut_back(&mut self, len: u64) {
        self.len = len;
        self.places.cut(len);
        let is_cut = self.file.resize(len).is_ok();
        self.state = if is_cut { State::Whole } else { State::Torn };
    }
}
