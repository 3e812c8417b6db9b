//! Errors that a command tells in words.

use junto_llm::{Error, ErrorKind};
use serde_json::Value;

use crate::fields::{status, text};
use crate::{CliEvent, failure};

/// The error that a command tells in words. They may hold the server's own, as JSON, and its status.
pub(crate) fn told_error(words: &str) -> Error {
    let body = words.trim().trim_start_matches("[API Error: ").trim_end_matches(']');
    if let Ok(body) = serde_json::from_str::<Value>(body)
        && let Some(message) = body["error"]["message"].as_str()
    {
        let error = &body["error"];
        let kind = ["status", "code", "type"].map(|field| text(error, field));
        let kind = kind.into_iter().find(|kind| !kind.is_empty()).unwrap_or_default();
        let is_refused = text(error, "type") == "invalid_request_error";
        let status = status(error, "code").or(is_refused.then_some(400));
        return failure::classify(kind, message, status);
    }
    failure::classify("", words, None)
}

/// An error that was said and may be explained by what comes next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held(Option<String>);

impl Held {
    pub(crate) fn hold(&mut self, words: &str, events: &mut Vec<CliEvent>) {
        self.release(events);
        self.0 = Some(words.to_owned()).filter(|words| !words.is_empty());
    }

    /// It was no end: it is told as a warning.
    pub(crate) fn release(&mut self, events: &mut Vec<CliEvent>) {
        if let Some(message) = self.0.take() {
            events.push(CliEvent::Warning { code: "reported_error", message });
        }
    }

    /// It is why a turn failed, if the failure says the same or nothing; gives the words of the failure.
    pub(crate) fn explains(&mut self, failure: &str, events: &mut Vec<CliEvent>) -> String {
        match self.0.take() {
            Some(held) if failure.is_empty() => held,
            Some(held) if held != failure => {
                self.0 = Some(held);
                self.release(events);
                failure.to_owned()
            }
            _ => failure.to_owned(),
        }
    }

    /// Nothing more comes: it is why there is no answer.
    pub(crate) fn excuse(&mut self, events: &mut Vec<CliEvent>) {
        events.extend(self.0.take().map(CliEvent::Excuse));
    }
}

/// The retry that a command tells in words: which one, how long it waits for it, and why. Such as
/// `Reconnecting... 1/5 (stream disconnected)` and `stream error: closed; retrying 2/5 in 195ms…`.
pub(crate) fn told_retry(words: &str) -> Option<CliEvent> {
    let (why, counted, rest) = if let Some(rest) = words.strip_prefix("Reconnecting") {
        let rest = rest.trim_start_matches(['.', '…', ' ']);
        let (counted, why) = rest.split_once(' ').unwrap_or((rest, ""));
        let why = why.strip_prefix('(').and_then(|why| why.strip_suffix(')')).unwrap_or(why);
        (why, counted, "")
    } else {
        let (why, rest) = words.split_once("; retrying ")?;
        let (counted, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        (why, counted, rest)
    };
    let (attempt, most) = counted.split_once('/')?;
    most.parse::<u32>().ok()?;
    let attempt = attempt.parse().ok()?;
    let error = if why.is_empty() { Error::new(ErrorKind::Unknown, words) } else { told_error(why) };
    Some(CliEvent::Retry { attempt, delay_ms: told_delay(rest).unwrap_or(0), error })
}

/// Why a command waits for the network, if that is what it says: `Reconnecting... waiting for network (refused)`.
pub(crate) fn told_wait(words: &str) -> Option<Error> {
    let why = words.strip_prefix("Reconnecting")?.trim_start_matches(['.', '…', ' ']);
    let why = why.strip_prefix("waiting for network")?.trim();
    let why = why.strip_prefix('(').and_then(|why| why.strip_suffix(')')).unwrap_or(why);
    let message = if why.is_empty() { "there is no network" } else { why };
    Some(Error::new(ErrorKind::Network, message))
}

/// `in 195ms…` or `in 1.5s…` in milliseconds.
fn told_delay(words: &str) -> Option<u64> {
    let words = words.strip_prefix("in ")?.trim_end_matches(['.', '…']);
    if let Some(millis) = words.strip_suffix("ms") {
        return millis.split('.').next()?.parse().ok();
    }
    let (whole, part) = words.strip_suffix('s')?.split_once('.').unwrap_or((words.strip_suffix('s')?, "0"));
    let tenths: u64 = part.get(..1)?.parse().ok()?;
    Some(whole.parse::<u64>().ok()?.saturating_mul(1000).saturating_add(tenths * 100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_in_words() {
        for (words, kind, status, message) in [
            (
                "unexpected status 401 Unauthorized: no",
                ErrorKind::Authentication,
                Some(401),
                "unexpected status 401 Unauthorized: no",
            ),
            (
                "exceeded retry limit, last status: 429 Too Many Requests",
                ErrorKind::RateLimit,
                Some(429),
                "exceeded retry limit, last status: 429 Too Many Requests",
            ),
            (
                "its status is 7, and status 4040",
                ErrorKind::Unknown,
                None,
                "its status is 7, and status 4040",
            ),
            (
                r#"[API Error: {"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}]"#,
                ErrorKind::Authentication,
                Some(403),
                "no",
            ),
        ] {
            let error = told_error(words);
            assert_eq!((error.kind(), error.status(), error.message()), (kind, status, message), "{words}");
        }
    }

    #[test]
    fn retries_in_words() {
        for (words, expected) in [
            ("Reconnecting... 2/5 (closed)", Some((2, 0, "closed"))),
            ("Reconnecting… 1/5", Some((1, 0, "Reconnecting… 1/5"))),
            ("stream error: closed; retrying 3/5 in 195ms…", Some((3, 195, "stream error: closed"))),
            ("closed; retrying 4/5 in 1.5s...", Some((4, 1500, "closed"))),
            ("Reconnecting... soon", None),
            ("Reconnecting... 1/x", None),
            ("closed", None),
        ] {
            let told = told_retry(words);
            let told = told.as_ref().map(|event| match event {
                CliEvent::Retry { attempt, delay_ms, error } => (*attempt, *delay_ms, error.message()),
                other => panic!("{other:?}"),
            });
            assert_eq!(told, expected, "{words}");
        }
    }

    #[test]
    fn waits_in_words() {
        for (words, expected) in [
            (
                "Reconnecting... waiting for network (Connection failed: refused)",
                Some("Connection failed: refused"),
            ),
            ("Reconnecting… waiting for network", Some("there is no network")),
            ("Reconnecting... 2/5 (closed)", None),
            ("waiting for network", None),
        ] {
            let told = told_wait(words);
            assert_eq!(told.as_ref().map(Error::message), expected, "{words}");
            assert!(told.is_none_or(|error| error.kind() == ErrorKind::Network));
        }
    }

    #[test]
    fn a_held_error_is_told_once() {
        let (mut held, mut events) = (Held::default(), Vec::new());
        held.hold("first", &mut events);
        held.hold("second", &mut events);
        assert_eq!(held.explains("second", &mut events), "second");
        held.hold("third", &mut events);
        assert_eq!(held.explains("", &mut events), "third");
        held.hold("fourth", &mut events);
        assert_eq!(held.explains("other", &mut events), "other");
        held.hold("fifth", &mut events);
        held.excuse(&mut events);
        let told: Vec<String> = events
            .iter()
            .map(|event| match event {
                CliEvent::Warning { message, .. } => message.clone(),
                CliEvent::Excuse(words) => format!("excuse {words}"),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(told, ["first", "fourth", "excuse fifth"]);
    }
}
