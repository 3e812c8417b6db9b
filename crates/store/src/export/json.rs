//! A session as one JSON object.

use std::io::{self, Write};

use junto_core::{BlobId, Event};
use junto_llm::SessionId;
use serde_json::{Value, json};

use super::Writer;
use super::entry::faults;
use crate::journal::Header;
use crate::{Recovery, Store};

/// The longest text that is written whole. Of a longer one the ends stand there, as in the event.
const LONGEST: u64 = 64 << 20;
/// How much of a text is read at once.
const PIECE: usize = 1 << 20;

pub(super) struct Json<'a> {
    store: &'a Store,
    session: &'a SessionId,
    first: bool,
}

impl<'a> Json<'a> {
    pub(super) fn new(store: &'a Store, session: &'a SessionId) -> Self {
        Self { store, session, first: true }
    }

    /// Puts the whole texts in the places of their ends.
    fn make_whole(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                let blob = fields.get("blob").and_then(Value::as_str).map(|id| BlobId(id.to_owned()));
                let bytes = fields.get("bytes").and_then(Value::as_u64).filter(|bytes| *bytes <= LONGEST);
                let is_spilled =
                    fields.len() == 4 && fields.contains_key("head") && fields.contains_key("tail");
                if is_spilled
                    && let (Some(blob), Some(_)) = (blob, bytes)
                    && let Some(text) = self.whole(&blob)
                {
                    *value = Value::String(text);
                } else {
                    fields.values_mut().for_each(|field| self.make_whole(field));
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.make_whole(item)),
            _ => {}
        }
    }

    /// A text that is kept beside the journal, if it is there.
    fn whole(&self, blob: &BlobId) -> Option<String> {
        let mut whole = Vec::new();
        loop {
            let piece = self.store.read_blob(self.session, blob, whole.len() as u64, PIECE).ok()?;
            if piece.is_empty() {
                return String::from_utf8(whole).ok();
            }
            whole.extend(piece);
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

    fn event(&mut self, out: &mut dyn Write, event: Event) -> io::Result<()> {
        let mut value = serde_json::to_value(event)?;
        self.make_whole(&mut value);
        let comma = if std::mem::take(&mut self.first) { "" } else { "," };
        write!(out, "{comma}\n{value}")
    }

    fn end(&mut self, out: &mut dyn Write, recovery: &Recovery) -> io::Result<()> {
        writeln!(out, "\n],\"damaged\":{}}}", json!(faults(recovery)))
    }
}
