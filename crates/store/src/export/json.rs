//! A session as one JSON object.

use std::io::{self, Write};

use junto_core::{Event, Payload};
use junto_llm::SessionId;
use serde_json::json;

use super::Writer;
use super::entry::faults;
use crate::journal::Header;
use crate::{LostText, Recovery, Store};

/// The longest text that is written whole. Of a longer one the ends stand there, as in the event.
const LONGEST: u64 = 64 << 20;

pub(super) struct Json<'a> {
    store: &'a Store,
    session: &'a SessionId,
    first: bool,
}

impl<'a> Json<'a> {
    pub(super) fn new(store: &'a Store, session: &'a SessionId) -> Self {
        Self { store, session, first: true }
    }

    /// Puts the whole texts in the places of their ends. Those that are lost stay as they are.
    fn make_whole(&self, event: &mut Event, lost: &mut Recovery) {
        let seq = event.seq;
        for payload in event.body.payloads_mut() {
            if !matches!(payload, Payload::Spilled { bytes, .. } if *bytes <= LONGEST) {
                continue;
            }
            let text = self.store.read_payload(self.session, payload).map_err(|error| error.to_string());
            let text = text.and_then(|text| String::from_utf8(text).map_err(|error| error.to_string()));
            match text {
                Ok(text) => *payload = Payload::Inline(text),
                Err(why) => lost.add_text(LostText { seq, why }),
            }
        }
    }
}

impl Writer for Json<'_> {
    fn begin(&mut self, out: &mut dyn Write, header: &Header) -> io::Result<()> {
        let created = header.created.map(|created| created.to_string());
        let (session, created) = (json!(header.session.0), json!(created));
        write!(
            out,
            "{{\"format\":\"junto-session\",\"v\":1,\"session\":{session},\"created\":{created},\"events\":["
        )
    }

    fn event(&mut self, out: &mut dyn Write, mut event: Event, lost: &mut Recovery) -> io::Result<()> {
        self.make_whole(&mut event, lost);
        let value = serde_json::to_value(event)?;
        let comma = if std::mem::take(&mut self.first) { "" } else { "," };
        write!(out, "{comma}\n{value}")
    }

    fn end(&mut self, out: &mut dyn Write, recovery: &Recovery) -> io::Result<()> {
        writeln!(out, "\n],\"damaged\":{}}}", json!(faults(recovery)))
    }
}
