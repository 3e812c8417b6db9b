//! How far two lines may differ and still be taken for the same.

use std::borrow::Cow;

/// How the lines of a hunk were found in a file; a later stage is tried only if no earlier one finds
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Character by character.
    Exact,
    /// But for space at the end of lines.
    TrailingSpace,
    /// But for space at both sides of lines.
    SurroundingSpace,
    /// But for that and the kind of quotes, dashes and spaces.
    Punctuation,
}

impl Stage {
    /// All stages, in the order in which they are tried.
    pub const ALL: [Self; 4] = [Self::Exact, Self::TrailingSpace, Self::SurroundingSpace, Self::Punctuation];

    /// What is compared in place of the line.
    pub(crate) fn view(self, line: &str) -> Cow<'_, str> {
        match self {
            Self::Exact => line.into(),
            Self::TrailingSpace => line.trim_end().into(),
            Self::SurroundingSpace => line.trim().into(),
            Self::Punctuation => fold(line.trim()),
        }
    }
}

/// The text with plain quotes, dashes and spaces.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| fold_char(c) == c) {
        return text.into();
    }
    text.chars().map(fold_char).collect::<String>().into()
}

/// The character of the keyboard that is meant by a typographic one.
pub(crate) fn fold_char(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        c => c,
    }
}
