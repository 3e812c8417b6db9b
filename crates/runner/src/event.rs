//! What a command said, in words that are the same for all commands.

use junto_core::Plan;
use junto_llm::{Cost, Error, ToolCall, Usage, Usd};

/// Reads what a command prints, one line after the other.
///
/// Contract: never panics, whatever the bytes; holds a bounded amount of text; ignores what it does
/// not know; pairs every start of a text or reasoning with one end, the deltas between them joining
/// to it, and every start of a tool with one end.
///
/// ```
/// use junto_runner::{CliEvent, CodexParser, Parser as _};
///
/// let line = br#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"hi"}}"#;
/// let (mut parser, mut events) = (CodexParser::new(), Vec::new());
/// parser.line(line, &mut events);
/// parser.finish(&mut events);
/// assert!(matches!(events.last(), Some(CliEvent::TextEnd(text)) if text == "hi"));
/// ```
pub trait Parser: Send {
    /// Takes one line, without its end, and adds what it says to `events`.
    fn line(&mut self, line: &[u8], events: &mut Vec<CliEvent>);

    /// Takes the end of the output: ends what is open.
    fn finish(&mut self, events: &mut Vec<CliEvent>);
}

/// One thing that a command said.
#[derive(Clone, Debug)]
pub enum CliEvent {
    /// Its session began, or goes on.
    Session {
        /// The id with which it can be resumed.
        id: String,
        /// The model.
        model: Option<String>,
    },
    /// It calls the model once more.
    Turn,
    /// A text begins. At most one text or reasoning is open at a time.
    TextStart,
    /// More of it.
    TextDelta(String),
    /// The text ends; this is the whole of it.
    TextEnd(String),
    /// Reasoning begins.
    ReasoningStart,
    /// More of it.
    ReasoningDelta(String),
    /// The reasoning ends; this is the whole of it.
    ReasoningEnd(String),
    /// What just ended broke off: it does not count, and comes again.
    Abandoned,
    /// It runs one of its tools.
    ToolStart(ToolCall),
    /// One of its tools answered.
    ToolEnd {
        /// The call.
        call_id: String,
        /// The answer.
        output: String,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// What it means to do; the whole of it, in the place of what it said before.
    Plan(Plan),
    /// How large the last call of its main model was: the tokens of the prompt and of the answer. The last
    /// one counts.
    Context(u64),
    /// A line of narration.
    Progress(String),
    /// It waits, and then calls the model again.
    Retry {
        /// Which retry, from 1.
        attempt: u32,
        /// How long it waits.
        delay_ms: u64,
        /// What failed.
        error: Error,
    },
    /// Something that the host may want to know.
    Warning {
        /// A stable name for the kind of thing.
        code: &'static str,
        /// What happened.
        message: String,
    },
    /// Words of the command's own in the place of an answer: why there is none.
    Excuse(String),
    /// A turn ended. There can be several, to be joined by [`Report::then`].
    Report(Box<Report>),
}

/// How a turn ended.
#[derive(Clone, Debug)]
pub struct Report {
    /// Whether it is an answer.
    pub verdict: Verdict,
    /// The answer, or the last text before it went wrong; may be empty.
    pub text: String,
    /// Why the model stopped, in its vendor's words.
    pub stop_reason: Option<String>,
    /// What was used, as far as the command tells.
    pub used: Used,
    /// Whether it is certain that no other report follows, so that nobody need wait for the end of the
    /// output.
    pub last: bool,
}

impl Report {
    /// This report and a later one of the same run as one: the later one tells how it ended, and what was
    /// used is what both used.
    pub fn then(self, later: Self) -> Self {
        let text = if later.text.is_empty() { self.text } else { later.text };
        Self { text, used: self.used.and(later.used), ..later }
    }
}

impl CliEvent {
    /// Whether something was said or done that must not be done twice.
    pub(crate) fn is_work(&self) -> bool {
        matches!(self, Self::TextStart | Self::ReasoningStart | Self::ToolStart(_))
    }
}

/// Whether a turn ended in an answer.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It did.
    Done,
    /// A limit was reached.
    Limit(String),
    /// Somebody interrupted it.
    Interrupted,
    /// It failed.
    Failed(Error),
}

/// What a report says about what was used.
#[derive(Clone, Debug, PartialEq)]
pub enum Used {
    /// By each model, since the report before.
    Turn(Vec<ModelUse>),
    /// The same, and something beside it of which it does not say how much: a call that was cut off.
    Part(Vec<ModelUse>),
    /// By the whole session until now, over all its runs.
    SessionTotal {
        /// Tokens; the input with everything cached.
        usage: Usage,
        /// Money, as the command counts it.
        cost: Option<Usd>,
    },
    /// Nothing: something was used, and it does not say how much.
    Untold,
}

impl Used {
    /// By each model, since the report before. One that was `cut_off` used something that is not among it.
    pub(crate) fn of_turn(used: Vec<ModelUse>, cut_off: bool) -> Self {
        match (used.is_empty(), cut_off) {
            (true, true) => Self::Untold,
            (false, true) => Self::Part(used),
            (_, false) => Self::Turn(used),
        }
    }

    /// What the turn used; `None` where that cannot be known. `before` is the session's total before the
    /// turn, and `fresh` whether the session began with it. A model without a name is the one that was
    /// asked for.
    pub fn since(&self, before: Option<&Usage>, fresh: bool) -> Option<Vec<ModelUse>> {
        let (total, cost) = match self {
            Self::Turn(used) => return Some(used.clone()),
            Self::SessionTotal { usage, cost } => (usage, *cost),
            Self::Part(_) | Self::Untold => return None,
        };
        let (usage, cost) = match before {
            // Its money is all the session's, and what that was before nobody knows.
            Some(before) if !fresh => (difference(total, before), None),
            None if !fresh => return None,
            _ => (total.clone(), cost),
        };
        let cost = cost.map_or(Cost::Unknown, Cost::Reported);
        Some(vec![ModelUse { model: String::new(), usage, cost }])
    }

    /// What both say. A total stands for what came before it in the same session.
    fn and(self, later: Self) -> Self {
        match (self, later) {
            (Self::Turn(used), Self::Turn(later)) => Self::Turn(joined(used, later)),
            (Self::Turn(used) | Self::Part(used), Self::Turn(later) | Self::Part(later)) => {
                Self::Part(joined(used, later))
            }
            // Of a part nobody knows what it used.
            (Self::Turn(_) | Self::Part(_), Self::Untold) | (Self::Untold, Self::Turn(_) | Self::Part(_)) => {
                Self::Untold
            }
            (told, Self::Untold) => told,
            (_, later) => later,
        }
    }
}

/// What both used, by each model.
fn joined(mut used: Vec<ModelUse>, later: Vec<ModelUse>) -> Vec<ModelUse> {
    for later in later {
        match used.iter_mut().find(|used| used.model == later.model) {
            Some(used) => *used = used.plus(&later),
            None => used.push(later),
        }
    }
    used
}

/// What was added to a total. One that shrank was counted anew.
fn difference(now: &Usage, before: &Usage) -> Usage {
    if now.input < before.input || now.output < before.output {
        return now.clone();
    }
    let part = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
    Usage {
        reasoning: part(now.reasoning, before.reasoning),
        cache_read: part(now.cache_read, before.cache_read),
        cache_write: part(now.cache_write, before.cache_write),
        ..Usage::new(now.input - before.input, now.output - before.output)
    }
}

/// What one model was used for.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelUse {
    /// The model; empty where the command does not name it.
    pub model: String,
    /// Tokens; the input with everything cached.
    pub usage: Usage,
    /// Money, as the command counts it.
    pub cost: Cost,
}

impl ModelUse {
    fn plus(&self, other: &Self) -> Self {
        Self { model: self.model.clone(), usage: &self.usage + &other.usage, cost: self.cost + other.cost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(input: u64, output: u64) -> Used {
        Used::SessionTotal { usage: Usage::new(input, output), cost: Some(Usd(7)) }
    }

    /// Input and output of the turn, and its cost.
    fn turn(used: &Used, before: Option<(u64, u64)>, fresh: bool) -> Option<(u64, u64, Cost)> {
        let before = before.map(|(input, output)| Usage::new(input, output));
        let used = used.since(before.as_ref(), fresh)?;
        let [ModelUse { usage, cost, .. }] = &used[..] else { panic!("{used:?}") };
        assert_eq!(usage.total, usage.input + usage.output);
        Some((usage.input, usage.output, *cost))
    }

    #[test]
    fn a_turn_is_what_it_added_to_the_total() {
        let reported = Cost::Reported(Usd(7));
        assert_eq!(turn(&total(30, 3), None, true), Some((30, 3, reported)));
        assert_eq!(
            turn(&total(30, 3), Some((20, 1)), true),
            Some((30, 3, reported)),
            "a fresh one has no past"
        );
        assert_eq!(turn(&total(30, 3), Some((20, 1)), false), Some((10, 2, Cost::Unknown)));
        assert_eq!(turn(&total(30, 3), Some((30, 3)), false), Some((0, 0, Cost::Unknown)));
        assert_eq!(turn(&total(30, 3), Some((40, 1)), false), Some((30, 3, Cost::Unknown)), "counted anew");
        assert_eq!(turn(&total(30, 3), None, false), None);
        assert_eq!(Used::Untold.since(None, true), None);
        assert_eq!(Used::Part(Vec::new()).since(None, true), None);
        assert_eq!(Used::Turn(Vec::new()).since(None, false), Some(Vec::new()));
    }

    #[test]
    fn a_part_is_known_only_if_it_always_was() {
        let before = Usage { cache_read: Some(5), ..Usage::new(10, 0) };
        let now = Usage { cache_read: Some(9), reasoning: Some(1), ..Usage::new(20, 2) };
        let used = Used::SessionTotal { usage: now, cost: None }.since(Some(&before), false).unwrap();
        assert_eq!((used[0].usage.cache_read, used[0].usage.reasoning), (Some(4), None));
    }

    #[test]
    fn reports_of_one_run_are_one() {
        let used = |model: &str, input| {
            let usage = Usage::new(input, 1);
            ModelUse { model: model.to_owned(), usage, cost: Cost::Reported(Usd(2)) }
        };
        let report = |text: &str, used: Used| Report {
            verdict: Verdict::Done,
            text: text.to_owned(),
            stop_reason: None,
            used,
            last: false,
        };
        let first = report("first", Used::Turn(vec![used("a", 1), used("b", 5)]));
        let joined = first.then(report("", Used::Turn(vec![used("a", 2), used("c", 9)])));
        assert_eq!(joined.text, "first");
        let Used::Turn(models) = &joined.used else { panic!("{joined:?}") };
        let inputs: Vec<_> = models.iter().map(|used| (used.model.as_str(), used.usage.input)).collect();
        assert_eq!(inputs, [("a", 3), ("b", 5), ("c", 9)]);
        assert_eq!(models[0].cost, Cost::Reported(Usd(4)));
        let part =
            report("", Used::Part(vec![used("a", 2)])).then(report("", Used::Turn(vec![used("a", 3)])));
        assert_eq!(
            part.used,
            Used::Part(vec![ModelUse { cost: Cost::Reported(Usd(4)), ..used("a", 2).plus(&used("a", 3)) }])
        );
        let cut_off = joined.clone().then(report("", Used::Untold));
        assert_eq!(cut_off.used, Used::Untold, "of a part nobody knows what it used");
        assert_eq!(cut_off.then(report("", Used::Turn(vec![used("a", 2)]))).used, Used::Untold);
        let later = joined.then(report("second", total(50, 5))).then(report("third", Used::Untold));
        assert_eq!((later.text.as_str(), later.used), ("third", total(50, 5)));
    }
}
