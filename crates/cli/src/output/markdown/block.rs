//! What a line is.

use crate::output::paint::Style;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// Running text, set in as the writer set it in.
    Text {
        /// By so many columns.
        indent: usize,
    },
    /// An item of a list.
    Item {
        /// Set in by so many columns.
        indent: usize,
        /// Its number, if it has one.
        number: Option<u64>,
    },
    /// A line that somebody else said.
    Quote,
    /// A heading.
    Heading,
    /// A line that must be complete before it is known what it is.
    Whole,
    /// Shown as it is, as it comes.
    Verbatim,
}

impl Block {
    /// How its text looks.
    pub(super) fn style(self) -> Style {
        match self {
            Self::Heading => Style::BOLD.and(Style::LINK),
            Self::Quote => Style::ITALIC,
            Self::Text { .. } | Self::Item { .. } | Self::Whole | Self::Verbatim => Style::PLAIN,
        }
    }
}

/// What the beginning of a line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Nothing yet.
    Open,
    /// It is this; so many bytes of it are the mark.
    Is(Block, usize),
}

/// How many columns of indentation, or digits, may come before it is decided.
const MOST: usize = 40;

/// What a line is that begins so.
pub(super) fn start(line: &str) -> Start {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let plain = Start::Is(Block::Text { indent }, indent);
    let Some(first) = text.chars().next() else {
        return if indent > MOST { plain } else { Start::Open };
    };
    let run = text.chars().take_while(|c| *c == first).count();
    let all_alike = run == text.chars().count();
    let after_mark = |mark: usize| text.get(mark..).and_then(|rest| rest.chars().next());
    match first {
        '|' => Start::Is(Block::Whole, 0),
        '#' if run > 6 => plain,
        '#' if all_alike => Start::Open,
        '#' if after_mark(run) == Some(' ') => Start::Is(Block::Whole, 0),
        '`' | '~' | '_' | '*' | '-' if run >= 3 => Start::Is(Block::Whole, 0),
        '`' | '~' | '_' | '*' | '-' | '+' if all_alike => Start::Open,
        '*' | '-' | '+' if run == 1 && after_mark(1) == Some(' ') => {
            Start::Is(Block::Item { indent, number: None }, indent + 2)
        }
        '>' => match after_mark(1) {
            None => Start::Open,
            Some(' ') => Start::Is(Block::Quote, indent + 2),
            Some(_) => Start::Is(Block::Quote, indent + 1),
        },
        '0'..='9' => numbered(text, indent).unwrap_or(plain),
        _ => plain,
    }
}

/// An item with a number; none if it is no such.
fn numbered(text: &str, indent: usize) -> Option<Start> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text.get(..digits)?.parse().ok().filter(|_| digits < 10)?;
    let mut rest = text.get(digits..)?.chars();
    match (rest.next(), rest.next()) {
        (None, _) | (Some('.' | ')'), None) => Some(Start::Open),
        (Some('.' | ')'), Some(' ')) => {
            Some(Start::Is(Block::Item { indent, number: Some(number) }, indent + digits + 2))
        }
        _ => None,
    }
}

/// The fence that a line opens code with.
pub(super) fn opens(line: &str) -> Option<String> {
    let text = line.trim();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let run: String = text.chars().take_while(|c| *c == mark).collect();
    let info = text.get(run.len()..)?;
    (run.len() >= 3 && !info.contains('`')).then_some(run)
}

/// Whether a line closes the code that this fence opened.
pub(super) fn closes(line: &str, fence: &str) -> bool {
    let text = line.trim();
    let mark = fence.chars().next();
    text.len() >= fence.len() && text.chars().all(|c| Some(c) == mark)
}

/// Whether a line parts what is above it from what is below.
pub(super) fn is_rule(line: &str) -> bool {
    let text = line.trim();
    text.len() >= 3 && ['-', '*', '_'].iter().any(|mark| text.chars().all(|c| c == *mark))
}

/// Whether a line is the one below the head of a table.
pub(super) fn is_table_rule(line: &str) -> bool {
    line.contains('-') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

/// The text of a heading.
pub(super) fn heading(line: &str) -> Option<&str> {
    let text = line.trim();
    let level = text.bytes().take_while(|b| *b == b'#').count();
    let rest = text.get(level..)?.strip_prefix(' ')?;
    (1..=6).contains(&level).then(|| rest.trim_end_matches('#').trim())
}
