//! The texts of a compaction: what the model is asked for, what it finds in the place of what was taken out,
//! and the record of a conversation as plain text.

use std::fmt::Write as _;

use junto_core::{Plan, StepStatus};
use junto_llm::{Content, Message, Role};

use super::cut::cut_middle;

/// Asks for a hand-over at the end of the conversation itself.
const REQUEST: &str = include_str!("request.md");
/// Asks for one from the record of a conversation.
const PIECES: &str = include_str!("pieces.md");
/// What both ask for.
const HEADINGS: &str = include_str!("headings.md");

/// Characters for a word, on average.
const WORD: u64 = 7;

/// The least that a hand-over may have.
pub(super) const LEAST: u64 = 400;

/// Asks for a hand-over of at most so many characters, at the end of the conversation itself.
pub(super) fn request(most: u64) -> String {
    filled(REQUEST, most)
}

/// Asks for a hand-over of at most so many characters from pieces of a record.
pub(super) fn instructions(most: u64) -> String {
    filled(PIECES, most)
}

fn filled(text: &str, most: u64) -> String {
    let words = (most / WORD).max(20).to_string();
    text.replace("{headings}", HEADINGS).replace("{words}", &words)
}

/// One piece of a record, with the hand-over so far.
pub(super) fn piece(so_far: Option<&str>, piece: &str) -> String {
    let so_far = so_far.unwrap_or("There is none yet: this is the first piece.");
    format!(
        "<hand-over-so-far>\n{so_far}\n</hand-over-so-far>\n\n<record>\n{piece}\n</record>\n\nWrite the hand-over \
         anew."
    )
}

/// What stands in the place of the older part.
pub(super) struct HandOver<'a> {
    /// What is said of it.
    pub(super) text: &'a str,
    /// The plan, as text.
    pub(super) plan: Option<&'a str>,
    /// Whether the input under way comes next.
    pub(super) input_follows: bool,
}

impl HandOver<'_> {
    /// The message.
    pub(super) fn print(&self) -> String {
        let mut out = "<hand-over>\nThe older part of this conversation was taken out to make room for what \
                       comes. This stands in its place; what was pinned comes before it, the latest exchanges \
                       come after it.\n\n"
            .to_owned();
        out.push_str(self.text.trim());
        if let Some(plan) = self.plan {
            out.push_str("\n\n## Plan\n");
            out.push_str(plan);
        }
        if self.input_follows {
            out.push_str(
                "\n\nThe input that is being worked on comes next, word for word. What is said above was done \
                 for it already: go on from there, and do not begin anew.",
            );
        }
        out.push_str("\n</hand-over>");
        out
    }

    /// How many characters the message has beside the text.
    pub(super) fn frame(plan: Option<&str>) -> u64 {
        HandOver { text: "", plan, input_follows: true }.print().chars().count() as u64
    }
}

/// A plan as text: a line for each step.
pub(super) fn plan(plan: &Plan) -> Option<String> {
    if plan.steps.is_empty() {
        return None;
    }
    let step = |status| match status {
        StepStatus::Pending => "[ ]",
        StepStatus::InProgress => "[>]",
        StepStatus::Completed => "[x]",
    };
    let lines = plan.steps.iter().map(|s| format!("- {} {}", step(s.status), s.step));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// How much a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Detail {
    /// Characters of what somebody says.
    pub(super) text: u64,
    /// Characters of a call's arguments.
    pub(super) arguments: u64,
    /// Characters of an output.
    pub(super) output: u64,
}

impl Detail {
    /// For a model that sums it up.
    pub(super) const FULL: Self = Self { text: 8000, arguments: 1000, output: 1000 };
    /// For a record that stands for itself.
    pub(super) const BRIEF: Self = Self { text: 600, arguments: 120, output: 0 };

    fn halved(self) -> Self {
        Self { text: self.text / 2, arguments: self.arguments / 2, output: self.output / 2 }
    }
}

/// The record of a conversation, with at most so many characters: with less detail, and in the end with its
/// middle left out, where it would be longer.
pub(super) fn record(messages: &[Message], mut detail: Detail, most: u64) -> String {
    loop {
        let text = record_with(messages, detail);
        if text.chars().count() as u64 <= most {
            return text;
        }
        if detail.text < 200 {
            return cut_middle(&text, most);
        }
        detail = detail.halved();
    }
}

fn record_with(messages: &[Message], detail: Detail) -> String {
    let mut out = String::new();
    for message in messages {
        for part in &message.content {
            line(&mut out, message.role, part.content(), detail);
        }
    }
    out
}

fn line(out: &mut String, role: Role, content: &Content, detail: Detail) {
    let speaker = match role {
        Role::System | Role::Developer => "system",
        Role::User => "user",
        Role::Assistant => "agent",
        Role::Tool => "tool",
    };
    // Writing to a string does not fail.
    let _ = match content {
        Content::Text(text) if !text.trim().is_empty() => {
            writeln!(out, "{speaker}: {}", cut_middle(text.trim(), detail.text))
        }
        Content::ToolCall(call) => {
            writeln!(out, "call: {} {}", call.name, cut_middle(&call.raw_arguments, detail.arguments))
        }
        Content::ToolResult(result) if detail.output > 0 => {
            let failed = if result.is_error { " (failed)" } else { "" };
            writeln!(out, "output{failed}: {}", cut_middle(result.output.to_text().trim(), detail.output))
        }
        Content::ToolResult(result) if result.is_error => writeln!(out, "(the call failed)"),
        Content::Image(_) | Content::Audio(_) | Content::Document(_) => {
            writeln!(out, "{speaker}: [a picture or a file]")
        }
        // What a model thought is its own, and the rest only its provider can read.
        Content::Text(_)
        | Content::ToolResult(_)
        | Content::Thinking(_)
        | Content::RedactedThinking(_)
        | Content::Other(_) => Ok(()),
    };
}

/// What is left of messages that no model has summed up, in at most so many characters.
pub(super) fn digest(messages: &[Message], most: u64) -> String {
    let head = "Nobody summed it up. What was said and which tools were called, without their output:\n\n";
    let left = most.saturating_sub(head.chars().count() as u64);
    format!("{head}{}", record(messages, Detail::BRIEF, left))
}

/// A record in pieces of at most so many characters, which end with a line where they can.
pub(super) fn pieces(record: &str, most: usize) -> Vec<&str> {
    let most = most.max(1);
    let mut pieces = Vec::new();
    let mut rest = record;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(most).map_or(rest.len(), |(at, _)| at);
        let (head, _) = rest.split_at(end);
        let line_end = if end < rest.len() { head.rfind('\n').map(|at| at + 1) } else { None };
        // A line that is longer than half a piece is not worth an end of its own.
        let end = line_end.filter(|at| *at > end / 2).unwrap_or(end);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use junto_core::PlanStep;
    use junto_llm::{Part, ToolCall, ToolResult};

    use super::*;

    fn talk() -> Vec<Message> {
        let call = ToolCall::function("c", "shell", r#"{"command":"cargo test"}"#);
        vec![
            Message::user("Mend it."),
            Message::new(Role::Assistant, vec![Part::text("So."), Part::new(Content::ToolCall(call))]),
            Message::tool_results([ToolResult::error("c", "x".repeat(3000))]),
        ]
    }

    #[test]
    fn records_have_the_detail_there_is_room_for() {
        let full = record(&talk(), Detail::FULL, 10_000);
        assert!(
            full.starts_with("user: Mend it.\nagent: So.\ncall: shell {\"command\":\"cargo test\"}\n"),
            "{full}"
        );
        assert!(full.contains("output (failed): xxx") && full.contains("left out"), "{full}");
        let brief = record(&talk(), Detail::BRIEF, 10_000);
        assert!(brief.ends_with("(the call failed)\n"), "{brief}");
        for most in [1, 30, 60, 300, 700] {
            assert!(record(&talk(), Detail::FULL, most).chars().count() as u64 <= most, "{most}");
        }
    }

    #[test]
    fn pieces_join_to_the_whole() {
        let check = |text: &str, most, expected: &[&str]| {
            let pieces = pieces(text, most);
            assert_eq!(pieces, expected);
            assert_eq!(pieces.concat(), text);
        };
        check("", 5, &[]);
        check("abc\ndef\n", 100, &["abc\ndef\n"]);
        check("abc\ndef\ngh", 6, &["abc\n", "def\ngh"]);
        check("ä\nüüüüüüü", 4, &["ä\nüü", "üüüü", "ü"]);
        check("abc", 0, &["a", "b", "c"]);
    }

    #[test]
    fn a_hand_over_has_the_plan_and_says_what_follows() {
        let steps = [
            ("look", StepStatus::Completed),
            ("mend", StepStatus::InProgress),
            ("test", StepStatus::Pending),
        ];
        let steps = steps.map(|(step, status)| PlanStep { step: step.into(), status }).into();
        let plan = plan(&Plan { explanation: None, steps }).unwrap();
        assert_eq!(plan, "- [x] look\n- [>] mend\n- [ ] test");
        let text = HandOver { text: " All went well.\n", plan: Some(&plan), input_follows: false }.print();
        assert!(text.contains("\n\nAll went well.\n\n## Plan\n- [x] look\n"), "{text}");
        assert!(!text.contains("comes next"), "{text}");
        assert_eq!(super::plan(&Plan::default()), None);
    }
}
