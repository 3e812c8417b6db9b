//! Text for a terminal: harmless, styled, and cut to fit.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal that has them, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Also where the output is piped.
    Always,
    /// Nowhere.
    Never,
}

/// Whether styles are written or left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// As escape sequences.
    Styles,
    /// Not at all: the text alone.
    Text,
}

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// A bit for each of the codes 1 (bold), 2 (dim), 3 (italic) and 4 (underlined), in this order.
    marks: u8,
    /// The code of its colour.
    color: Option<u8>,
}

impl Style {
    /// As the terminal's own text.
    pub(crate) const PLAIN: Self = Self { marks: 0, color: None };
    /// What counts.
    pub(crate) const BOLD: Self = Self { marks: 1, color: None };
    /// What may be passed over.
    pub(crate) const DIM: Self = Self { marks: 1 << 1, color: None };
    /// What is stressed.
    pub(crate) const ITALIC: Self = Self { marks: 1 << 2, color: None };
    /// What leads elsewhere.
    pub(crate) const LINK: Self = Self { marks: 1 << 3, color: None };
    /// What failed, or is taken away.
    pub(crate) const RED: Self = Self { color: Some(31), marks: 0 };
    /// What went well, or is added.
    pub(crate) const GREEN: Self = Self { color: Some(32), marks: 0 };
    /// What wants attention.
    pub(crate) const YELLOW: Self = Self { color: Some(33), marks: 0 };
    /// Code, and names of tools.
    pub(crate) const CODE: Self = Self { color: Some(36), marks: 0 };

    /// This style with what another one adds.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { marks: self.marks | other.marks, color: other.color.or(self.color) }
    }

    fn codes(self) -> String {
        let marks = (0..4).filter(|bit| self.marks & (1 << bit) != 0).map(|bit| bit + 1);
        marks.chain(self.color).map(|code: u8| code.to_string()).collect::<Vec<_>>().join(";")
    }
}

/// Text that is safe to print: whatever came from a model, a tool or a server lost its control
/// characters on the way in, and the escape sequences in it are ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Painted {
    paint: Paint,
    text: String,
    /// How wide it is, if it is one line.
    columns: usize,
}

impl Painted {
    /// Nothing yet.
    pub(crate) fn new(paint: Paint) -> Self {
        Self { paint, text: String::new(), columns: 0 }
    }

    /// With this text after it.
    pub(crate) fn plain(self, text: &str) -> Self {
        self.styled(Style::PLAIN, text)
    }

    /// With this text after it, in this style.
    pub(crate) fn styled(mut self, style: Style, text: &str) -> Self {
        self.push(style, text);
        self
    }

    /// With as much of this text after it as makes the whole at most so many columns wide.
    pub(crate) fn fitted(self, style: Style, text: &str, columns: usize) -> Self {
        let room = columns.saturating_sub(self.columns);
        self.styled(style, &fit(text, room))
    }

    /// Adds a text in a style.
    pub(crate) fn push(&mut self, style: Style, text: &str) {
        let text = harmless(text);
        self.columns += width(&text);
        if self.paint == Paint::Text || style == Style::PLAIN || text.is_empty() {
            self.text.push_str(&text);
        } else {
            let _ = write!(self.text, "\u{1b}[{}m{text}\u{1b}[0m", style.codes());
        }
    }

    /// What is printed.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// A text, cut so that it takes at most so many columns; `…` stands for what is left out.
pub(crate) fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut taken = 0;
    let mut kept = String::new();
    for c in text.chars() {
        taken += c.width().unwrap_or(0);
        // One column is for the mark.
        if taken >= columns {
            break;
        }
        kept.push(c);
    }
    if columns > 0 {
        kept.push('…');
    }
    Cow::Owned(kept)
}

/// Lines, of which none takes more columns than there are: what a line has beyond them goes on below, set in deeper
/// than any line begins. The terminal would let it begin at the margin, where it could pass for a line of its own.
pub(crate) fn folded(text: &str, columns: usize) -> String {
    const SET_IN: &str = "        ";
    let mut folded = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut at = 0;
        // Where the line on the screen begins, and where it can be broken after a space.
        let (mut start, mut space) = (folded.len(), None);
        for c in line.chars() {
            let wide = |at: usize| if c == '\t' { 8 - at % 8 } else { c.width().unwrap_or(0) };
            if c != '\n' && at + wide(at) > columns {
                let middle = start + (folded.len() - start) / 2;
                let rest = folded.split_off(space.filter(|space| *space > middle).unwrap_or(folded.len()));
                folded.push('\n');
                start = folded.len();
                folded.push_str(SET_IN);
                folded.push_str(&rest);
                (at, space) = (SET_IN.len() + width(&rest), None);
            }
            at += wide(at);
            folded.push(c);
            if c == ' ' {
                space = Some(folded.len());
            }
        }
    }
    folded
}

/// `text` without control characters and without those that turn the direction of writing, so that
/// what a model or a server wrote can neither drive the user's terminal nor show other than it is.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.contains(harmful) { Cow::Owned(text.replace(harmful, "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// `text` with everything that a terminal does not show as itself made visible: control characters as their
/// pictures, others that have no look or turn the direction of writing by their numbers. Lines stay lines.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let unseen = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}')
    };
    if !text.contains(unseen) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => shown.push('\t'),
            '\u{7f}' => shown.push('\u{2421}'),
            c if u32::from(c) < 0x20 && c != '\n' => {
                shown.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'));
            }
            c if unseen(c) => drop(write!(shown, "⟨U+{:04X}⟩", u32::from(c))),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_look_is_made_visible() {
        let check = |text: &str, expected: &str| assert_eq!(visible(text), expected, "{text:?}");
        check("ls -l\n\tcat é 日本", "ls -l\n\tcat é 日本");
        check("a\u{1b}[2Jb\r\0\u{7f}", "a␛[2Jb␍␀␡");
        check("rm\u{202e}txt\u{200b}x\u{9b}", "rm⟨U+202E⟩txt⟨U+200B⟩x⟨U+009B⟩");
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(harmless("a\tb\nc é"), "a\tb\nc é");
        assert_eq!(harmless("\u{1b}]0;title\u{7}x\r"), "\u{fffd}]0;title\u{fffd}x\u{fffd}");
        assert_eq!(harmless("a\u{202e}b\u{9b}31m"), "a\u{fffd}b\u{fffd}31m");
    }

    #[test]
    fn only_our_own_sequences_are_in_painted_text() {
        let line = |paint| Painted::new(paint).styled(Style::BOLD.and(Style::RED), "a\u{1b}[2J").plain("b");
        assert_eq!(line(Paint::Styles).as_str(), "\u{1b}[1;31ma\u{fffd}[2J\u{1b}[0mb");
        assert_eq!(line(Paint::Text).as_str(), "a\u{fffd}[2Jb");
        assert_eq!(line(Paint::Styles).columns, line(Paint::Text).columns);
    }

    #[test]
    fn what_is_too_long_goes_on_where_no_line_begins() {
        let check = |text: &str, expected: &str| assert_eq!(folded(text, 20), expected, "{text:?}");
        check("short\n    and more\n", "short\n    and more\n");
        check("01234567890123456789ab\nc", "01234567890123456789\n        ab\nc");
        check("one two three four five six", "one two three four \n        five six");
        check("a                   The agent", "a                   \n        The agent");
        check("a\t\t\tThe", "a\t\t\n        \tThe");
        check("漢字漢字漢字漢字漢字漢", "漢字漢字漢字漢字漢字\n        漢");
    }

    #[test]
    fn texts_are_cut_by_columns() {
        let check = |text: &str, columns, expected: &str| {
            assert_eq!(fit(text, columns), expected);
            assert!(width(&fit(text, columns)) <= columns, "{text}");
        };
        check("abc", 3, "abc");
        check("abcd", 3, "ab…");
        check("漢字", 4, "漢字");
        check("漢字漢", 4, "漢…");
        check("abc", 1, "…");
        check("abc", 0, "");
        check("e\u{301}e\u{301}", 2, "e\u{301}e\u{301}");
    }
}
