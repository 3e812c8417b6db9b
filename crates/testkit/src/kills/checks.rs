//! What must hold of a session whose process was killed.

use std::collections::BTreeMap;
use std::sync::Arc;

use junto_core::{Body, CallPurpose, Event, Seq, grammar};
use junto_llm::wire::Incoming;
use junto_llm::{Content, Origin, Part, Request, ToolResult, Usage, Wire};
use serde_json::Value;

use super::Tried;
use super::journal::Journal;
use super::life::Lived;
use super::plays::{RAN, STEERING, Scenario};

/// How the result of a call begins that was cut off.
const CUT_OFF: &str = "interrupted, may have run";
/// What stands in requests in the place of the session's id, which is another in each run.
const SESSION: &str = "the-session";
/// How much is shown of two requests around the byte where they differ.
const AROUND: usize = 120;

/// A request, as it is compared.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

impl Asked {
    /// The request of a session, with its id taken out.
    pub(super) fn new(path: &str, body: &[u8], session: Option<&str>) -> Self {
        let text = String::from_utf8_lossy(body);
        let text = session.map_or_else(|| text.to_string(), |id| text.replace(id, SESSION));
        Self { path: path.to_owned(), body: text.into_bytes() }
    }
}

/// Every event that was shown is in the journal, as it was shown.
pub(super) fn shown(lived: &Lived, journal: &Journal, faults: &mut Vec<String>) {
    for line in &lived.shown {
        if !line["no_json"].is_null() {
            faults.push(format!("a line of the output is no JSON: {line}"));
        }
        // Deltas have no position, and are live only.
        let Some(seq) = line["seq"].as_u64() else { continue };
        match journal.value(seq) {
            Some(kept) if kept == line => {}
            Some(kept) => faults.push(format!("event {seq} was shown as {line} and kept as {kept}")),
            None => faults.push(format!("event {seq} was shown and is not in the journal: {line}")),
        }
    }
}

/// What the model is asked, compared with a run that nobody killed.
pub(super) struct Requests<'a> {
    pub(super) reference: &'a [Asked],
    /// How many of them do not depend on how long a command took.
    pub(super) timeless: usize,
    /// What each was for.
    pub(super) purposes: &'a [CallPurpose],
    pub(super) wire: Wire,
    pub(super) scenario: Scenario,
    /// Whether nothing was cut off so far that the model sees.
    pub(super) same: bool,
    /// How many requests were compared byte for byte.
    pub(super) compared: usize,
    /// How many were compared but for what was cut off.
    pub(super) changed: usize,
}

impl Requests<'_> {
    /// Compares what a process asked that went on where a journal ended, and left this one. `whole` tells
    /// whether it came to its end.
    pub(super) fn check(
        &mut self,
        past: &Journal,
        asked: &[Asked],
        (journal, whole): (&Journal, bool),
        faults: &mut Vec<String>,
    ) {
        let timeless = self.timeless.min(journal.timeless());
        let number = past.answers().len();
        if !self.same || number >= timeless {
            return;
        }
        let expected = self.reference.get(number..).unwrap_or_default();
        let cut_off = past.running();
        let unheard = self.scenario.steers() && past.is_answered() && !past.is_steered();
        if cut_off.is_empty() && !unheard {
            for (n, (asked, expected)) in asked.iter().zip(expected).enumerate().take(timeless - number) {
                self.compared += 1;
                if let Some(difference) = difference(&asked.body, &expected.body) {
                    faults.push(format!("request {} is another: {difference}", number + n));
                    self.same = false;
                    return;
                }
            }
            let wrong = if whole { asked.len() != expected.len() } else { asked.len() > expected.len() };
            if wrong {
                faults.push(format!("{} requests follow, and not {}", asked.len(), expected.len()));
            }
            return;
        }
        // From here on the model may have been told something else.
        self.same = false;
        // How long a hand-over may be follows from how long the conversation is, which is another now.
        let is_chore = self.purposes.get(number) == Some(&CallPurpose::Compaction);
        match (asked.first(), expected.first()) {
            (Some(_), Some(_)) if is_chore => {}
            (Some(asked), Some(expected)) => {
                self.changed += 1;
                if let Err(fault) = self.changed(asked, expected, &cut_off, unheard) {
                    faults.push(format!("request {number}, after a cut: {fault}"));
                }
            }
            (None, Some(_)) if whole => faults.push(format!("request {number} was not made")),
            _ => {}
        }
    }

    /// That two requests are the same but for the results of these calls, and what was not heard.
    fn changed(&self, asked: &Asked, expected: &Asked, cut_off: &[String], unheard: bool) -> Tried {
        let (mut asked, mut expected) = (self.decoded(asked)?, self.decoded(expected)?);
        for call in cut_off {
            let told = take_result(&mut asked, call).ok_or(format!("it has no result of the call {call}"))?;
            if !told.contains(CUT_OFF) {
                return Err(format!("the result of the call {call} is {told:?}"));
            }
            take_result(&mut expected, call)
                .ok_or(format!("the run that nobody killed has no call {call}"))?;
        }
        if unheard {
            for message in expected.messages.iter_mut() {
                message.content.retain(|part| part.as_text() != Some(STEERING));
            }
            expected.messages.retain(|message| !message.content.is_empty());
        }
        let (asked, expected) = (text(&asked), text(&expected));
        difference(asked.as_bytes(), expected.as_bytes()).map_or(Ok(()), Err)
    }

    fn decoded(&self, asked: &Asked) -> Tried<Request> {
        let mut body: Value = serde_json::from_slice(&asked.body).map_err(|error| error.to_string())?;
        without_marks(&mut body);
        let origin = Origin { wire: self.wire, provider: "twin".to_owned(), model: String::new() };
        let incoming = Incoming { path: &asked.path, body: &body };
        let read = self.wire.codec().decode_request(incoming, &Arc::new(origin));
        read.map(|(request, _)| request).map_err(|error| error.to_string())
    }
}

fn text(request: &Request) -> String {
    format!("{request:#?}")
}

/// Takes out the marks where the provider's cache shall end, which move with the end.
fn without_marks(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(without_marks);
        }
        Value::Array(items) => items.iter_mut().for_each(without_marks),
        _ => {}
    }
}

/// What a request says came of a call; from then on it says nothing of it.
fn take_result(request: &mut Request, call: &str) -> Option<String> {
    for part in request.messages.iter_mut().flat_map(|message| &mut message.content) {
        if let Content::ToolResult(result) = part.content()
            && result.call_id == call
        {
            let told = result.output.to_text();
            *part = Part::new(Content::ToolResult(ToolResult::text(call, "")));
            return Some(told);
        }
    }
    None
}

/// Where two texts first differ, with what is around.
fn difference(one: &[u8], other: &[u8]) -> Option<String> {
    if one == other {
        return None;
    }
    let at = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let around = |bytes: &[u8]| {
        let end = bytes.len().min(at + AROUND);
        String::from_utf8_lossy(bytes.get(at.saturating_sub(AROUND)..end).unwrap_or_default()).into_owned()
    };
    Some(format!("at byte {at}\n  now:  …{}…\n  then: …{}…", around(one), around(other)))
}

/// What must hold of a session that has come to its end.
pub(super) fn ended(journal: &Journal, tasks: usize, faults: &mut Vec<String>) {
    if let Err(wrong) = grammar::check(&journal.events) {
        faults.extend(wrong.into_iter().map(|fault| format!("the log is not well formed: {fault}")));
    }
    let ends = journal.own().filter_map(|event| match &event.body {
        Body::InputEnd { reason, .. } => Some(reason),
        _ => None,
    });
    let ends: Vec<_> = ends.collect();
    if ends.len() != tasks || ends.iter().any(|reason| !reason.is_answer()) {
        faults.push(format!("its inputs ended so: {ends:?}"));
    }
    let used = journal.events.iter().fold(Usage::default(), |sum, event| match &event.body {
        Body::Call { usage, .. } => &sum + usage,
        _ => sum,
    });
    match journal.own().next_back().map(|event| &event.body) {
        Some(Body::SessionEnd { usage, .. }) if usage.total == used.total => {}
        other => faults.push(format!("{used:?} was used, and the last event is {other:?}")),
    }
}

/// No command ran twice, and one that ended did run. `ran` has a line for each time that one ran.
pub(super) fn ran(journal: &Journal, ran: &str, faults: &mut Vec<String>) {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for label in ran.lines() {
        *times.entry(label).or_default() += 1;
    }
    faults.extend(
        times
            .iter()
            .filter(|(_, times)| **times > 1)
            .map(|(label, times)| format!("the command {label} ran {times} times")),
    );
    let labels: BTreeMap<Seq, String> = journal.events.iter().filter_map(label).collect();
    for event in &journal.events {
        let Body::ToolCallEnd { of: Some(of), output, .. } = &event.body else { continue };
        if let Some(label) = labels.get(of)
            && !output.preview().starts_with(CUT_OFF)
            && !times.contains_key(label.as_str())
        {
            faults.push(format!("the command {label} has ended, and did not run"));
        }
    }
}

/// What a command adds to the file when it runs.
fn label(event: &Event) -> Option<(Seq, String)> {
    let Body::ToolCallStart { call, .. } = &event.body else { return None };
    let command = call.arguments["command"].as_str()?;
    let (label, _) = command.strip_prefix("echo ")?.split_once(&format!(" >> {RAN}"))?;
    Some((event.seq, label.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_shown_with_its_place() {
        assert_eq!(difference(b"same", b"same"), None);
        let told = difference(b"the same until here, and then", b"the same until there").unwrap();
        assert!(told.starts_with("at byte 15\n") && told.contains("until there"), "{told}");
        assert!(difference(b"longer", b"long").is_some_and(|told| told.starts_with("at byte 4\n")));
    }

    #[test]
    fn sessions_are_called_the_same() {
        let asked = Asked::new("/x", br#"{"prompt_cache_key":"0199","text":"0199?"}"#, Some("0199"));
        assert_eq!(asked.body, br#"{"prompt_cache_key":"the-session","text":"the-session?"}"#);
    }

    #[test]
    fn a_command_that_ran_twice_is_told() {
        let mut faults = Vec::new();
        ran(&Journal::default(), "a\nb\na\n", &mut faults);
        assert_eq!(faults, ["the command a ran 2 times"]);
    }
}
