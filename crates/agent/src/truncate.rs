//! What the model sees of an output that is too long for it.
//!
//! Characters are counted first, which bounds every output, also one of two lines of ten megabytes;
//! lines second, for readability. What is kept is within the limits; the notes that say what was removed
//! come on top of that, and neither pass removes the note of the other.

use junto_core::{Spooled, ToolOutput};

/// Which part of an output is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The beginning and the end.
    HeadTail,
    /// The end.
    Tail,
}

/// How much of an output is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimit {
    /// How many characters.
    pub chars: usize,
    /// Which of them.
    pub keep: Keep,
    /// How many lines of these; absent: all.
    pub lines: Option<usize>,
}

/// What is kept of an output, and what was removed. Of a spooled output only the ends are needed, so
/// at most those are kept, whatever the limit is.
pub fn truncate(output: &ToolOutput, limit: OutputLimit) -> String {
    let cut = match output {
        ToolOutput::Spooled(spooled) if spooled.fault().is_none() => cut_spooled(spooled, limit),
        // What is lost is said at the end of the preview, which is always kept.
        _ => return cut_text(&output.preview(), limit).print(limit.lines),
    };
    cut.print(limit.lines)
}

fn cut_text(text: &str, limit: OutputLimit) -> Cut<'_> {
    // Bytes are at least as many as characters, so most outputs need no counting.
    if text.len() <= limit.chars {
        return Cut::whole(text);
    }
    match text.chars().count() {
        chars if chars <= limit.chars => Cut::whole(text),
        chars => Cut::ends(text, text, chars as u64, limit),
    }
}

fn cut_spooled(spooled: &Spooled, limit: OutputLimit) -> Cut<'_> {
    Cut::ends(spooled.head(), spooled.tail(), spooled.chars(), limit)
}

/// An output after the first pass.
struct Cut<'a> {
    head: Option<&'a str>,
    /// What was removed between the two; empty if nothing was.
    note: String,
    tail: Option<&'a str>,
}

impl<'a> Cut<'a> {
    fn whole(text: &'a str) -> Self {
        Self { head: Some(text), note: String::new(), tail: None }
    }

    /// From how a text that is longer than the limit begins, how it ends and how long it is.
    fn ends(head: &'a str, tail: &'a str, chars: u64, limit: OutputLimit) -> Self {
        let from_head = match limit.keep {
            Keep::HeadTail => limit.chars / 2,
            Keep::Tail => 0,
        };
        let head = first(head, from_head);
        let tail = last(tail, limit.chars - from_head);
        let kept = head.chars().count() + tail.chars().count();
        let removed = chars.saturating_sub(kept as u64);
        match limit.keep {
            Keep::HeadTail => Self { head: Some(head), note: middle(removed), tail: Some(tail) },
            Keep::Tail => Self { head: None, note: beginning(removed), tail: Some(tail) },
        }
    }

    /// The second pass. The note counts for no line and stays between the lines it stands between, or
    /// beside the other note if those are removed.
    fn print(&self, most: Option<usize>) -> String {
        let split = |text: Option<&'a str>| text.map_or_else(Vec::new, |text| text.split('\n').collect());
        let (head, tail): (Vec<&str>, Vec<&str>) = (split(self.head), split(self.tail));
        let total = head.len() + tail.len();
        let Some(most) = most.filter(|most| *most < total) else {
            return [self.head.unwrap_or_default(), &self.note, self.tail.unwrap_or_default()].concat();
        };
        // Removed are the lines from `from` to `to`, counted through both parts.
        let (from, to) = (most / 2, most / 2 + total - most);
        let omitted = format!("\n[... {} lines omitted ...]\n", to - from);
        let part = |lines: &[&str], from: usize, to: usize| {
            lines.get(from.min(lines.len())..to.min(lines.len())).unwrap_or_default().join("\n")
        };
        let of_tail = |line: usize| line.saturating_sub(head.len());
        let (first, last) = (part(&head, 0, from), part(&tail, of_tail(to), tail.len()));
        if to <= head.len() {
            [&first, &omitted, &part(&head, to, head.len()), &self.note, &last].map(String::as_str).concat()
        } else if from >= head.len() {
            [&first, &self.note, &part(&tail, 0, of_tail(from)), &omitted, &last].map(String::as_str).concat()
        } else {
            [&first, &omitted, self.note.trim_start(), &last].concat()
        }
    }
}

fn middle(removed: u64) -> String {
    format!(
        "\n\n[WARNING: Tool output was truncated. {removed} characters were removed from the middle. The full \
         output is available in the event stream. If you need to see specific parts, re-run the tool with \
         more targeted parameters.]\n\n"
    )
}

fn beginning(removed: u64) -> String {
    format!(
        "[WARNING: Tool output was truncated. First {removed} characters were removed. The full output is \
         available in the event stream.]\n\n"
    )
}

/// The first characters of a text.
pub(crate) fn first(text: &str, count: usize) -> &str {
    let end = text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    text.split_at(end).0
}

/// The last characters of a text.
pub(crate) fn last(text: &str, count: usize) -> &str {
    let before = text.char_indices().rev().nth(count);
    let start = before.map_or(0, |(at, character)| at + character.len_utf8());
    text.split_at(start).1
}

#[cfg(test)]
mod tests;
