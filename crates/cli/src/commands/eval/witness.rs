//! What a run of ours says of itself, line by line, and what of it counts.

use junto::core::{EndReason, EventError, Payload};
use junto::council::Deliberation;
use junto::council::eval::{Attempt, Deliberations, Ended, Tokens};
use junto::llm::{Cost, Usage, Usd};
use serde::Deserialize;

/// The longest line that is looked at. What stands in longer ones is the content of files.
const LONGEST: usize = 8 << 20;

/// Kinds of failure that do not go away by trying again.
const HOPELESS: &[&str] = &["authentication", "configuration", "access_denied", "not_found"];

/// Listens to the events of a run.
#[derive(Debug, Default)]
pub(super) struct Witness {
    line: Vec<u8>,
    /// Whether the line under way is too long to be looked at.
    too_long: bool,
    began: bool,
    answer: String,
    /// The sums of the calls, and those that the session gives at its end.
    calls: Option<(Tokens, Cost)>,
    sums: Option<(Tokens, Cost)>,
    deliberations: Deliberations,
    ended: Option<EndReason>,
    error: Option<EventError>,
}

/// The events that matter.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    SessionStart {
        parent: Option<serde_json::Value>,
    },
    Call {
        usage: Usage,
        cost: Cost,
    },
    Deliberation {
        minutes: Deliberation,
    },
    Error {
        error: EventError,
    },
    InputEnd {
        parent: Option<serde_json::Value>,
        reason: EndReason,
        text: Payload,
    },
    SessionEnd {
        parent: Option<serde_json::Value>,
        usage: Usage,
        cost: Cost,
    },
    #[serde(other)]
    Other,
}

/// What a council of agents tells of its run, as far as it matters.
#[derive(Deserialize)]
struct Held {
    candidates: Vec<Candidate>,
    winner: Option<u32>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Candidate {
    number: u32,
    role: Role,
    said: String,
    usage: Usage,
    cost: Option<Cost>,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Role {
    Answer,
    Synthesis,
}

impl Witness {
    /// Takes a piece of what was printed.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, tail) = rest.split_at(end);
            self.add(line);
            self.end_line();
            rest = tail.get(1..).unwrap_or_default();
        }
        self.add(rest);
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.line.len() + bytes.len() > LONGEST {
            self.too_long = true;
            self.line.clear();
        }
        if !self.too_long {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.too_long) {
            return;
        }
        if let Ok(line) = serde_json::from_slice::<Line>(&line) {
            self.see(line);
        } else if let Ok(held) = serde_json::from_slice::<Held>(&line) {
            self.look_back(held);
        }
    }

    /// Takes what a council of agents tells at its end, which is all it tells.
    fn look_back(&mut self, held: Held) {
        self.began = true;
        let mut sums = (Tokens::default(), Cost::Reported(Usd::ZERO));
        for candidate in &held.candidates {
            sums.0.input += candidate.usage.input;
            sums.0.output += candidate.usage.output;
            sums.1 = sums.1 + candidate.cost.unwrap_or(Cost::Unknown);
        }
        self.sums = Some(sums);
        let winner = held.candidates.iter().find(|candidate| Some(candidate.number) == held.winner);
        let synthesized = u64::from(winner.is_some_and(|winner| winner.role == Role::Synthesis));
        let selected = u64::from(winner.is_some()) - synthesized;
        self.deliberations +=
            Deliberations { fanned_out: 1, selected, synthesized, ..Deliberations::default() };
        self.answer = winner.map(|winner| winner.said.clone()).unwrap_or_default();
        self.ended = Some(match held.error {
            None => EndReason::Done,
            Some(message) => {
                let error = EventError { kind: "contest".to_owned(), message, hint: None };
                EndReason::Failed { error }
            }
        });
    }

    fn see(&mut self, line: Line) {
        match line {
            Line::SessionStart { parent: None } => self.began = true,
            Line::Call { usage, cost } => {
                let (mut tokens, sum) =
                    self.calls.take().unwrap_or((Tokens::default(), Cost::Reported(Usd::ZERO)));
                tokens.input += usage.input;
                tokens.output += usage.output;
                self.calls = Some((tokens, sum + cost));
            }
            Line::Deliberation { minutes } => self.deliberations += Deliberations::of(&minutes),
            Line::Error { error } => self.error = Some(error),
            Line::InputEnd { parent: None, reason, text } => {
                self.answer = text.preview();
                self.ended = Some(reason);
            }
            Line::SessionEnd { parent: None, usage, cost } => {
                self.sums = Some((Tokens { input: usage.input, output: usage.output }, cost));
            }
            Line::SessionStart { .. } | Line::InputEnd { .. } | Line::SessionEnd { .. } | Line::Other => {}
        }
    }

    /// What to make of it, now that the run has ended with this code and these last words.
    pub(super) fn attempt(mut self, code: Option<i32>, last_words: &str) -> Attempt {
        self.end_line();
        let (tokens, cost) = self.sums.or(self.calls).unwrap_or((Tokens::default(), Cost::Unknown));
        let words = |words: &str| {
            let line =
                words.lines().rfind(|line| line.starts_with("error:")).or_else(|| words.lines().last());
            line.unwrap_or("it said nothing").trim_start_matches("error:").trim().to_owned()
        };
        let ended = match (&self.ended, &self.error) {
            (_, Some(error)) if code != Some(0) && HOPELESS.contains(&error.kind.as_str()) => {
                Ended::Unable(error.message.clone())
            }
            (Some(reason), _) if reason.is_answer() => Ended::Done,
            _ if !self.began && code != Some(0) => Ended::Unable(words(last_words)),
            (Some(EndReason::Failed { error }), _) => Ended::Troubled(error.message.clone()),
            (Some(EndReason::Limit), _) => Ended::Troubled("it ran into a limit".to_owned()),
            _ => Ended::Troubled(words(last_words)),
        };
        Attempt { ended, answer: self.answer, cost, tokens, deliberations: self.deliberations }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = r#"{"v":1,"seq":1,"type":"session_start"}"#;
    const CALL: &str = r#"{"type":"call","usage":{"input":10,"output":2,"total":12},"cost":{"basis":"reported","nano_usd":5}}"#;
    const DONE: &str = r#"{"type":"input_end","reason":{"end":"done"},"text":"42"}"#;
    const END: &str = r#"{"type":"session_end","reason":{"end":"done"},"usage":{"input":30,"output":4,"total":34},"cost":{"basis":"estimated","nano_usd":15}}"#;

    fn attempt(lines: &[&str], code: i32, words: &str) -> Attempt {
        let mut witness = Witness::default();
        // In pieces that do not care for lines.
        for piece in lines.join("\n").as_bytes().chunks(7) {
            witness.hear(piece);
        }
        witness.attempt(Some(code), words)
    }

    #[test]
    fn the_sums_of_the_session_count_and_without_them_those_of_the_calls() {
        let whole = attempt(&[START, CALL, "no json", CALL, DONE, END], 0, "");
        assert_eq!((whole.ended, whole.answer.as_str()), (Ended::Done, "42"));
        assert_eq!((whole.tokens.input, whole.cost), (30, Cost::Estimated(Usd(15))));
        let cut = attempt(&[START, CALL, CALL], 143, "error: interrupted");
        assert_eq!((cut.tokens.input, cut.cost), (20, Cost::Reported(Usd(10))));
        assert_eq!(cut.ended, Ended::Troubled("interrupted".to_owned()));
        assert_eq!(attempt(&[START], 1, "").cost, Cost::Unknown);
    }

    #[test]
    fn what_cannot_begin_is_told_from_what_fails() {
        let check = |lines: &[&str], code: i32, words: &str, expected: Ended| {
            assert_eq!(attempt(lines, code, words).ended, expected, "{lines:?}");
        };
        let unable = |why: &str| Ended::Unable(why.to_owned());
        check(&[], 2, "error: there is no model \"x\"\nhint: look", unable("there is no model \"x\""));
        check(&[], 1, "", unable("it said nothing"));
        let refused = r#"{"type":"error","error":{"kind":"authentication","message":"the key is wrong"}}"#;
        let failed = r#"{"type":"input_end","reason":{"end":"failed","error":{"kind":"server","message":"busy"}},"text":""}"#;
        check(&[START, refused, failed], 3, "", unable("the key is wrong"));
        check(&[START, failed], 3, "", Ended::Troubled("busy".to_owned()));
        let limit = r#"{"type":"input_end","reason":{"end":"limit"},"text":""}"#;
        check(&[START, limit], 4, "", Ended::Troubled("it ran into a limit".to_owned()));
    }

    #[test]
    fn a_council_of_agents_tells_all_at_its_end() {
        let candidate = |number: u32, role: &str, nano: u32| {
            format!(
                r#"{{"number":{number},"role":"{role}","said":"word {number}","usage":{{"input":5,"output":1,"total":6}},"cost":{{"basis":"reported","nano_usd":{nano}}}}}"#
            )
        };
        let record = |winner: &str, error: &str| {
            let candidates = [candidate(1, "answer", 3), candidate(2, "synthesis", 4)].join(",");
            format!(
                r#"{{"v":1,"phase":"done","candidates":[{candidates}],"winner":{winner},"error":{error}}}"#
            )
        };
        let won = attempt(&[&record("1", "null")], 0, "");
        assert_eq!((won.ended, won.answer.as_str()), (Ended::Done, "word 1"));
        assert_eq!((won.tokens.input, won.cost), (10, Cost::Reported(Usd(7))));
        assert_eq!((won.deliberations.selected, won.deliberations.synthesized), (1, 0));
        let made = attempt(&[&record("2", "null")], 0, "").deliberations;
        assert_eq!((made.selected, made.synthesized), (0, 1));
        // That nobody won is no trouble: the oracle will say so.
        assert_eq!(attempt(&[&record("null", "null")], 1, "error: nobody won").ended, Ended::Done);
        let broken = attempt(&[&record("null", "\"no git\"")], 1, "");
        assert_eq!(broken.ended, Ended::Troubled("no git".to_owned()));
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory() {
        let mut witness = Witness::default();
        for _ in 0..20 {
            witness.hear(&vec![b'x'; 1 << 20]);
        }
        assert!(witness.line.capacity() <= 2 * LONGEST);
        witness.hear(format!("\n{START}\n{DONE}\n").as_bytes());
        assert_eq!(witness.attempt(Some(0), "").ended, Ended::Done);
    }
}
