//! One line of a journal: `{"c":"<sum>","e":<event>}`, or with `h` the header.
//!
//! The sum is the CRC-32 of exactly the bytes of the value, in eight hexadecimal digits. So a line is
//! whole or it is none, which can be told without knowing what an event is.

use std::str::FromStr;

use jiff::Timestamp;
use junto_core::{Event, Seq};
use junto_llm::SessionId;
use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Redactor, Result, json};

/// The version of the format that is written.
pub(crate) const VERSION: u32 = 1;
/// The name of the format.
const FORMAT: &str = "junto-journal";
/// The longest line there can be. What is longer is damage, so that it need not be held to be judged.
pub(crate) const LONGEST: usize = 64 * 1024 * 1024;

/// `{"c":"00000000","e":`
pub(crate) const BEFORE: usize = 20;
const OPEN: &[u8] = b"{\"c\":\"";

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Header,
    Event,
}

impl What {
    fn key(self) -> u8 {
        match self {
            Self::Header => b'h',
            Self::Event => b'e',
        }
    }
}

/// How a journal begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of the format.
    pub v: u32,
    /// The session.
    pub session: SessionId,
    /// When it was made; unknown where the header is damaged.
    pub created: Option<Timestamp>,
}

/// The header as it stands in the file.
#[derive(Serialize, Deserialize)]
struct HeaderLine {
    format: String,
    v: u32,
    session: SessionId,
    created: String,
}

/// What every version of a header has.
#[derive(Deserialize)]
struct AnyHeader {
    format: String,
    v: u32,
}

/// What every version of an event has.
#[derive(Deserialize)]
struct AnyEvent {
    v: u64,
    seq: Seq,
}

#[derive(Deserialize)]
struct OfSession {
    session: SessionId,
}

impl Header {
    /// Adds the header's line.
    pub(crate) fn write(session: &SessionId, created: Timestamp, to: &mut Vec<u8>) -> Result<()> {
        let line = HeaderLine {
            format: FORMAT.to_owned(),
            v: VERSION,
            session: session.clone(),
            created: created.to_string(),
        };
        push(What::Header, &line, 0, &Redactor::off(), to)
    }

    /// The header from the value of its line.
    ///
    /// # Errors
    /// If a newer version wrote it, or it is another format's.
    pub(crate) fn read(value: &[u8], of: &str) -> Result<Self> {
        let foreign = |_| Error::new(ErrorKind::Foreign, of, "this is no journal of a session");
        let AnyHeader { format, v } = serde_json::from_slice(value).map_err(foreign)?;
        if format != FORMAT || v == 0 {
            return Err(Error::new(ErrorKind::Foreign, of, format!("this is a file of {format} {v}")));
        }
        if v > VERSION {
            return Err(newer(of, v.into()));
        }
        let HeaderLine { session, created, .. } = serde_json::from_slice(value).map_err(foreign)?;
        Ok(Self { v, session, created: Timestamp::from_str(&created).ok() })
    }
}

/// The error for something that this version does not know.
pub(crate) fn newer(of: &str, v: u64) -> Error {
    Error::new(ErrorKind::Newer, of, format!("a newer version of Junto wrote this session (format {v})"))
}

/// Adds an event's line.
///
/// # Errors
/// If the line would be too long, or the event has no JSON. Then a part of it may have been added.
pub(crate) fn push_event(event: &Event, redact: &Redactor, to: &mut Vec<u8>) -> Result<()> {
    push(What::Event, event, envelope(event), redact, to)
}

/// How many bytes at least are before an event's body. There are only names in them, and nothing to hide.
fn envelope(event: &Event) -> usize {
    let Event { session, agent, parent, parent_call, corr, .. } = event;
    let parent = parent.as_ref().map_or(0, |id| id.0.len());
    let calls = [parent_call, corr].into_iter().flatten().map(|id| id.0.len()).sum::<usize>();
    r#"{"v":1,"seq":1,"at":"","session":"","agent":"","turn":0,"type":""#.len()
        + session.0.len()
        + agent.0.len()
        + parent
        + calls
}

fn push(
    what: What,
    value: &impl Serialize,
    envelope: usize,
    redact: &Redactor,
    to: &mut Vec<u8>,
) -> Result<()> {
    let start = to.len();
    to.extend_from_slice(b"{\"c\":\"00000000\",\"");
    to.push(what.key());
    to.extend_from_slice(b"\":");
    let value_start = to.len();
    let invalid = |message| Error::new(ErrorKind::Invalid, "an event", message);
    json::write(value, to).map_err(|error| invalid(error.to_string()))?;
    if to.len() - start >= LONGEST - 1 {
        return Err(invalid("it is too large for a journal".to_owned()));
    }
    let Some(value) = to.get_mut(value_start..) else { return Ok(()) };
    redact.mask(value.get_mut(envelope..).unwrap_or_default());
    let sum = hex(crc32fast::hash(value));
    if let Some(place) = to.get_mut(start + OPEN.len()..start + OPEN.len() + sum.len()) {
        place.copy_from_slice(&sum);
    }
    to.extend_from_slice(b"}\n");
    Ok(())
}

fn hex(sum: u32) -> [u8; 8] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    std::array::from_fn(|n| DIGITS[(sum >> (28 - 4 * n)) as usize & 15])
}

/// What a line, without its end, is about, and the value.
///
/// # Errors
/// With what is wrong with the line, if it is not exactly what was written.
pub(crate) fn parse(line: &[u8]) -> std::result::Result<(What, &[u8]), &'static str> {
    let what = opening(line).ok_or("it does not begin like a record")?;
    let Some(value) = line.get(BEFORE..line.len().saturating_sub(1)).filter(|_| line.ends_with(b"}")) else {
        return Err("it does not end like a record");
    };
    let sum = hex(crc32fast::hash(value));
    if line.get(OPEN.len()..OPEN.len() + sum.len()) != Some(&sum) {
        return Err("its checksum is wrong");
    }
    Ok((what, value))
}

/// What a line is about, if it begins like one.
fn opening(line: &[u8]) -> Option<What> {
    let what = match line.get(..BEFORE)? {
        [b'{', b'"', b'c', b'"', b':', b'"', .., b'"', b',', b'"', b'e', b'"', b':'] => What::Event,
        [b'{', b'"', b'c', b'"', b':', b'"', .., b'"', b',', b'"', b'h', b'"', b':'] => What::Header,
        _ => return None,
    };
    line.get(OPEN.len()..OPEN.len() + 8)?.iter().all(u8::is_ascii_hexdigit).then_some(what)
}

/// Where lines seem to begin in what stands on one line since the end between them is damaged; the
/// first is 0.
pub(crate) fn seams(line: &[u8]) -> Vec<usize> {
    let mut seams = vec![0];
    let candidates = line.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'{');
    seams.extend(candidates.map(|(at, _)| at).filter(|at| line.get(*at..).and_then(opening).is_some()));
    seams
}

/// Whether a file that begins with these bytes was meant to be a journal, be it torn or damaged.
pub(crate) fn is_journal(beginning: &[u8]) -> bool {
    beginning.starts_with(OPEN)
        || OPEN.starts_with(beginning)
        || beginning.iter().all(|byte| *byte == 0)
        || beginning.windows(FORMAT.len()).any(|bytes| bytes == FORMAT.as_bytes())
}

/// The version and the position of an event, from its JSON, without reading all of it.
pub(crate) fn position(event: &[u8]) -> Option<(u64, Seq)> {
    quick_position(event).or_else(|| {
        let AnyEvent { v, seq } = serde_json::from_slice(event).ok()?;
        Some((v, seq))
    })
}

/// As events are written: the version is their first field, the position the second.
fn quick_position(event: &[u8]) -> Option<(u64, Seq)> {
    let (v, rest) = number(event.strip_prefix(b"{\"v\":")?)?;
    let (seq, rest) = number(rest.strip_prefix(b",\"seq\":")?)?;
    rest.starts_with(b",").then_some((v, Seq(seq)))
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(digits);
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

/// The session that an event belongs to.
pub(crate) fn session(event: &[u8]) -> Option<SessionId> {
    let OfSession { session } = serde_json::from_slice(event).ok()?;
    Some(session)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(what: What, value: &serde_json::Value) -> Vec<u8> {
        let mut line = Vec::new();
        push(what, value, 0, &Redactor::off(), &mut line).unwrap();
        line
    }

    #[test]
    fn a_line_is_what_the_format_says() {
        let written = line(What::Event, &serde_json::json!({"v": 1, "seq": 7}));
        // CRC-32 of {"v":1,"seq":7}
        let sum = format!("{:08x}", crc32fast::hash(br#"{"v":1,"seq":7}"#));
        assert_eq!(
            String::from_utf8(written.clone()).unwrap(),
            format!("{{\"c\":\"{sum}\",\"e\":{{\"v\":1,\"seq\":7}}}}\n")
        );
        assert_eq!(parse(written.trim_ascii_end()), Ok((What::Event, br#"{"v":1,"seq":7}"#.as_slice())));
    }

    #[test]
    fn every_flipped_byte_is_seen() {
        let written = line(What::Event, &serde_json::json!({"v": 1, "seq": 7, "text": "abc"}));
        let written = written.trim_ascii_end();
        for at in 0..written.len() {
            for bit in 0..8 {
                let mut flipped = written.to_vec();
                flipped[at] ^= 1 << bit;
                assert!(parse(&flipped).is_err(), "{at} {bit}");
            }
        }
    }

    #[test]
    fn the_position_is_found_wherever_it_stands() {
        let check = |event: &str, expected| assert_eq!(position(event.as_bytes()), expected, "{event}");
        check(r#"{"v":1,"seq":12,"at":"x"}"#, Some((1, Seq(12))));
        check(r#"{"seq":12,"at":"x","v":1}"#, Some((1, Seq(12))));
        check(r#"{"v":3,"seq":12}"#, Some((3, Seq(12))));
        check(r#"{"v":1,"seq":"12"}"#, None);
        check(r#"{"v":1,"seq":99999999999999999999999,"x":1}"#, None);
        check(r#"{"v":1}"#, None);
        check("[]", None);
        check("", None);
    }

    #[test]
    fn headers_are_judged_before_they_are_read() {
        let check = |header: serde_json::Value, expected: std::result::Result<u32, ErrorKind>| {
            let read = Header::read(header.to_string().as_bytes(), "x").map(|h| h.v).map_err(|e| e.kind());
            assert_eq!(read, expected, "{header}");
        };
        let at = "2026-01-02T03:04:05Z";
        check(serde_json::json!({"format": FORMAT, "v": 1, "session": "s", "created": at}), Ok(1));
        check(serde_json::json!({"format": FORMAT, "v": 2, "ids": []}), Err(ErrorKind::Newer));
        check(serde_json::json!({"format": FORMAT, "v": 1}), Err(ErrorKind::Foreign));
        check(serde_json::json!({"format": FORMAT, "v": 0}), Err(ErrorKind::Foreign));
        check(serde_json::json!({"format": "other", "v": 1}), Err(ErrorKind::Foreign));
        check(serde_json::json!([1]), Err(ErrorKind::Foreign));
    }

    #[test]
    fn lines_that_lost_the_end_between_them_are_told_apart() {
        let (one, two) = (serde_json::json!({"a": {"c": "x"}}), serde_json::json!({"b": 2}));
        let mut both = line(What::Event, &one);
        let seam = both.len();
        both.extend(line(What::Event, &two));
        both[seam - 1] = b'X';
        assert_eq!(seams(&both), [0, seam]);
        assert_eq!(seams(b""), [0]);
    }
}
