//! What a twin has received, as far back as memory allows.

use std::collections::VecDeque;

use bytes::Bytes;
use serde_json::Value;

use junto_llm::{Usage, Wire};

use crate::record::Secrets;

/// How many requests are kept.
const MOST: usize = 1000;
/// How many bytes of bodies are kept.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// One request, and how it was answered. Keys are not shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// Which one it was, from 1.
    pub number: u64,
    /// The wire.
    pub wire: Wire,
    /// The HTTP method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers, in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; a string if it was no JSON, null if there was none.
    pub body: Value,
    /// The status it was answered with.
    pub status: u16,
    /// The tokens it was charged; absent where there was no answer of a model.
    pub usage: Option<Usage>,
    /// The step of the play that answered, from 0.
    pub step: Option<usize>,
}

impl Received {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// A request as it is kept. Its body is read when somebody asks for it: most nobody ever asks for, and to
/// read one takes as long as to answer it.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Without its body.
    pub(crate) received: Received,
    pub(crate) body: Bytes,
    pub(crate) secrets: Secrets,
}

impl Kept {
    /// The whole, without keys.
    pub(crate) fn read(self) -> Received {
        let mut body = as_json(&self.body);
        self.secrets.redact_value(&mut body);
        Received { body, ..self.received }
    }
}

fn as_json(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}

/// The latest requests, and the sum of all.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: VecDeque<Kept>,
    bytes: usize,
    total: Usage,
    told: Usage,
}

impl Log {
    /// Notes a request; the oldest are forgotten.
    pub(crate) fn push(&mut self, kept: Kept) {
        if let Some(usage) = &kept.received.usage {
            self.total += usage;
        }
        self.bytes += kept.body.len();
        self.entries.push_back(kept);
        while self.entries.len() > MOST || self.bytes > MOST_BYTES {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.body.len();
        }
    }

    pub(crate) fn entries(&self) -> Vec<Kept> {
        self.entries.iter().cloned().collect()
    }

    pub(crate) fn total(&self) -> Usage {
        self.total.clone()
    }

    /// Notes what a client was told that it used.
    pub(crate) fn tell(&mut self, usage: &Usage) {
        self.told += usage;
    }

    pub(crate) fn told(&self) -> Usage {
        self.told.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(number: u64, bytes: usize) -> Kept {
        let received = Received {
            number,
            wire: Wire::Chat,
            method: "POST".into(),
            path: "/v1/chat/completions".into(),
            headers: vec![("accept".into(), "*/*".into())],
            body: Value::Null,
            status: 200,
            usage: Some(Usage::new(2, 1)),
            step: Some(0),
        };
        Kept { received, body: vec![b' '; bytes].into(), secrets: Secrets::default() }
    }

    #[test]
    fn the_log_is_bounded_and_the_sum_is_not() {
        let mut log = Log::default();
        for number in 0..2 * MOST as u64 {
            log.push(kept(number, 1));
        }
        assert_eq!(log.entries().len(), MOST);
        assert_eq!(log.entries()[0].received.number, MOST as u64);
        assert_eq!(log.total().total, 6 * MOST as u64);
        log.push(kept(0, MOST_BYTES));
        assert_eq!(log.entries().len(), 1);
        log.push(kept(0, 1));
        assert_eq!(log.bytes, 1);
        assert_eq!(log.entries()[0].received.header("Accept"), Some("*/*"));
    }
}
