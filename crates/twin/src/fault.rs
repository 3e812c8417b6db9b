//! Faults on demand: what goes wrong with an answer.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// What goes wrong with an answer. Several may go wrong at once.
///
/// A fault comes from a step of the play, from [`crate::Options`], or from the request header
/// `x-twin-fault`, which carries the same fields as JSON; the header goes before the options, and
/// both before the step. A request that is hit by a counted fault (`times`), or by one from outside
/// the play, leaves the play where it was, so a client that tries again gets the same step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fault {
    /// Answers with this status and the provider's error envelope instead of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The message in the envelope, or in the error event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The whole body to go with `status`, instead of the provider's envelope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// `retry-after`: seconds as a number, or any text as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<RetryAfter>,
    /// `retry-after` as an HTTP date that lies this many seconds ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_date: Option<u32>,
    /// `retry-after-ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Waits this long before it sends the headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_headers_ms: Option<u64>,
    /// The content type, instead of the right one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Closes the connection after this many bytes of the body, or at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop_after_bytes: Option<After>,
    /// Falls silent after this many bytes of the body, or at its end, until the client goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall: Option<After>,
    /// Breaks the body off with an error after this many bytes, or at its end: RST_STREAM on
    /// HTTP/2, a closed connection on HTTP/1.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub h2_reset: Option<After>,
    /// Puts an event that is no JSON after this many events; before the body of a whole answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub malformed_frame: Option<After>,
    /// Cuts the JSON of the event after this many events (or of the last one, or of a whole
    /// answer) in half, and ends the answer in good order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated_json: Option<After>,
    /// Ends the stream with the provider's error event after this many events, or at its end; a
    /// whole answer fails with status 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_event: Option<After>,
    /// Sends every event of the stream twice.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub duplicate_events: bool,
    /// How many requests it hits before it goes away; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
}

impl Fault {
    /// Answers with this status.
    pub fn status(status: u16) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    /// This fault for the first requests only.
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// The value of an `x-twin-fault` header that asks for this fault.
    pub fn to_header(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the value of an `x-twin-fault` header.
    pub(crate) fn from_header(value: &str) -> Result<Self, String> {
        let fault: Self = serde_json::from_str(value).map_err(|e| e.to_string())?;
        fault.check().map(|()| fault)
    }

    /// Checks what the types do not rule out.
    pub(crate) fn check(&self) -> Result<(), String> {
        let ends = [self.drop_after_bytes, self.stall, self.h2_reset];
        let retries = self.retry_after.is_some() && self.retry_after_date.is_some();
        let wrong = [
            (self.status.is_some_and(|s| !(200..=999).contains(&s)), "`status` must be from 200 to 999"),
            (self.times == Some(0), "a fault's `times` must be at least 1"),
            (retries, "`retry_after` and `retry_after_date` exclude each other"),
            (self.body.is_some() && self.status.is_none(), "a fault's `body` needs a `status`"),
            (
                self.error_event.is_some() && self.status.is_some(),
                "`status` answers instead of a stream, so `error_event` cannot go with it",
            ),
            (
                ends.iter().flatten().count() > 1,
                "`drop_after_bytes`, `stall` and `h2_reset` exclude each other",
            ),
        ];
        wrong.iter().find(|(is, _)| *is).map_or(Ok(()), |(_, message)| Err((*message).to_owned()))
    }
}

/// After how many bytes or events; `true` is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After(pub usize);

impl Serialize for After {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(s)
    }
}

impl<'de> Deserialize<'de> for After {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a number of bytes or events, or true")]
        enum Form {
            Number(usize),
            Switch(bool),
        }
        match Form::deserialize(d)? {
            Form::Number(n) => Ok(Self(n)),
            Form::Switch(true) => Ok(Self(1)),
            Form::Switch(false) => Err(serde::de::Error::custom("leave the fault out instead of `false`")),
        }
    }
}

/// How long a client is asked to wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RetryAfter {
    /// Seconds.
    Seconds(u32),
    /// The header's value as it is.
    Text(String),
}

/// How many different `x-twin-fault` headers are counted; the oldest is forgotten.
const COUNTED_HEADERS: usize = 256;

/// The faults from outside the play, and how often each has hit.
#[derive(Debug)]
pub(crate) struct Outside {
    option: Option<Fault>,
    hits: Mutex<Hits>,
}

#[derive(Debug, Default)]
struct Hits {
    option: u32,
    headers: VecDeque<(String, u32)>,
}

impl Outside {
    pub(crate) fn new(option: Option<Fault>) -> Self {
        Self { option, hits: Mutex::default() }
    }

    /// The fault for a request with this `x-twin-fault` header, if one is due. A header's `times`
    /// counts the requests that carry the very same value.
    pub(crate) fn next(&self, header: Option<&str>) -> Result<Option<Fault>, String> {
        let asked = header.map(|value| Fault::from_header(value).map(|f| (value, f))).transpose()?;
        let mut hits = self.hits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((value, fault)) = asked
            && due(fault.times, hits.of_header(value))
        {
            return Ok(Some(fault));
        }
        Ok(self.option.as_ref().filter(|fault| due(fault.times, &mut hits.option)).cloned())
    }
}

impl Hits {
    fn of_header(&mut self, value: &str) -> &mut u32 {
        let place = self.headers.iter().position(|(known, _)| known == value).unwrap_or_else(|| {
            if self.headers.len() == COUNTED_HEADERS {
                self.headers.pop_front();
            }
            self.headers.push_back((value.to_owned(), 0));
            self.headers.len() - 1
        });
        &mut self.headers[place].1
    }
}

/// Whether a fault that has hit this often is due again; counts the hit.
pub(crate) fn due(times: Option<u32>, hits: &mut u32) -> bool {
    let due = times.is_none_or(|times| *hits < times);
    *hits = hits.saturating_add(u32::from(due));
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_header(value: &str, expected: Result<Fault, &str>) {
        match (Fault::from_header(value), expected) {
            (Ok(fault), Ok(expected)) => {
                assert_eq!(fault, expected);
                assert_eq!(Fault::from_header(&fault.to_header()), Ok(fault), "survives its own header");
            }
            (Err(error), Err(part)) => assert!(error.contains(part), "{value}: {error}"),
            (got, expected) => panic!("{value}: {got:?}, not {expected:?}"),
        }
    }

    #[test]
    fn headers_carry_faults() {
        check_header(
            r#"{"status":429,"retry_after":3}"#,
            Ok(Fault { retry_after: Some(RetryAfter::Seconds(3)), ..Fault::status(429) }),
        );
        check_header(
            r#"{"stall":10,"duplicate_events":true,"malformed_frame":true}"#,
            Ok(Fault {
                stall: Some(After(10)),
                duplicate_events: true,
                malformed_frame: Some(After(1)),
                ..Fault::default()
            }),
        );
        check_header(r#"{"status":42}"#, Err("`status`"));
        check_header(r#"{"stalls":42}"#, Err("stalls"));
        check_header(r#"{"stall":false}"#, Err("leave the fault out"));
        check_header(r#"{"stall":1,"drop_after_bytes":1}"#, Err("exclude"));
        check_header(r#"{"status":500,"error_event":1}"#, Err("error_event"));
        check_header("boom", Err("expected value"));
    }

    #[test]
    fn a_counted_fault_goes_away() {
        let outside = Outside::new(Some(Fault::status(503).times(1)));
        let header = Fault::status(429).times(2).to_header();
        let next = |header: Option<&str>| outside.next(header).unwrap().and_then(|f| f.status);
        let mut seen: Vec<Option<u16>> = (0..4).map(|_| next(Some(&header))).collect();
        assert_eq!(seen, [Some(429), Some(429), Some(503), None]);
        seen = vec![next(None), next(Some("{\"status\":500}")), next(Some("{\"status\":500}"))];
        assert_eq!(seen, [None, Some(500), Some(500)]);
    }

    #[test]
    fn counted_headers_are_bounded() {
        let outside = Outside::new(None);
        for n in 0..2 * COUNTED_HEADERS {
            outside.next(Some(&format!("{{\"status\":500,\"message\":\"{n}\"}}"))).unwrap();
        }
        assert_eq!(outside.hits.lock().unwrap().headers.len(), COUNTED_HEADERS);
    }
}
