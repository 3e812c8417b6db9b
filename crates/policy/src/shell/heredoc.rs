//! Here-documents.

use super::reader::{Inner, Reader};
use super::{Read, Unclear};

/// A here-document whose body is yet to come.
#[derive(Debug)]
pub(super) struct Pending {
    delimiter: String,
    /// Whether tabs before each line are taken away.
    strip: bool,
    /// Whether the body is left as it is.
    quoted: bool,
}

impl Reader<'_, '_> {
    /// Reads the delimiter.
    pub(super) fn heredoc_start(&mut self, strip: bool) -> Read {
        let mut delimiter = String::new();
        let mut quoted = false;
        loop {
            match self.peek() {
                None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')') => break,
                Some(quote @ (b'\'' | b'"')) => {
                    quoted = true;
                    self.at += 1;
                    let end = self.rest().find(char::from(quote));
                    let text = end.and_then(|end| self.rest().get(..end));
                    let text = text.ok_or_else(|| Unclear::new("a quote that does not end"))?;
                    delimiter.push_str(text);
                    self.at += text.len() + 1;
                }
                Some(b'\\') => {
                    quoted = true;
                    self.at += 1;
                    delimiter.extend(self.bump());
                }
                Some(_) => delimiter.extend(self.bump()),
            }
        }
        if delimiter.is_empty() || delimiter.contains(['$', '`', '\\', '\n']) {
            return Err(Unclear::new("a here-document with an unusual delimiter"));
        }
        self.pending.push(Pending { delimiter, strip, quoted });
        Ok(())
    }

    /// Reads a body, at whose first line the reader is, and goes past its delimiter.
    pub(super) fn heredoc(&mut self, pending: &Pending) -> Read {
        let start = self.at;
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                return Err(Unclear::new("a here-document that does not end"));
            }
            let line = rest.split('\n').next().unwrap_or_default();
            let bare = if pending.strip { line.trim_start_matches('\t') } else { line };
            let end = self.at;
            self.at += (line.len() + 1).min(rest.len());
            if bare == pending.delimiter {
                let body = self.text.get(start..end).unwrap_or_default();
                return if pending.quoted { Ok(()) } else { self.inner(body, Inner::Document) };
            }
            // Such a line goes on in the next, and what looks like the delimiter is then none.
            if !pending.quoted && line.ends_with('\\') {
                return Err(Unclear::new("a continued line in a here-document"));
            }
        }
    }

    /// The body of a here-document that is expanded, like a text in double quotes.
    pub(super) fn document(&mut self) -> Read {
        loop {
            match self.peek() {
                None => return Ok(()),
                Some(b'\\') => {
                    self.at += 1;
                    self.bump();
                }
                Some(b'$' | b'`') => self.dollar_or_backquote(&mut Vec::new(), true)?,
                Some(_) => drop(self.bump()),
            }
        }
    }
}
