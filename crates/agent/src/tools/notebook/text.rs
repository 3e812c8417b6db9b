//! A text in a notebook: a string, or a list of its lines.

use std::fmt::{self, Write as _};

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A text of which at most so many bytes are kept, and the rest counted.
///
/// Reads strings, lists of them, and numbers; anything else is an empty text, since a notebook is
/// worth reading even if somebody's program put an odd thing in it.
#[derive(Debug, Default)]
pub(super) struct Text<const MOST: usize> {
    kept: String,
    more: usize,
}

impl<const MOST: usize> Text<MOST> {
    pub(super) fn as_str(&self) -> &str {
        &self.kept
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.more == 0
    }

    /// Whether something was left out.
    pub(super) fn is_cut(&self) -> bool {
        self.more > 0
    }

    pub(super) fn push(&mut self, text: &str) {
        // What comes after something was left out is left out too, or the text would have holes.
        let room = if self.more > 0 { 0 } else { MOST.saturating_sub(self.kept.len()) };
        let cut = text.floor_char_boundary(room);
        let (kept, left) = text.split_at(cut);
        self.kept.push_str(kept);
        self.more = self.more.saturating_add(left.len());
    }

    /// The text, with a note if something was left out.
    pub(super) fn into_shown(mut self) -> String {
        if self.more > 0 {
            let _ = write!(self.kept, "\n[{} more bytes are left out]\n", self.more);
        }
        self.kept
    }
}

impl<const MOST: usize> From<&str> for Text<MOST> {
    fn from(value: &str) -> Self {
        let mut text = Self::default();
        text.push(value);
        text
    }
}

/// A text without the control sequences that terminals take for colours.
pub(super) fn plain<const MOST: usize>(text: Text<MOST>) -> String {
    let shown = text.into_shown();
    if !shown.contains('\u{1b}') {
        return shown;
    }
    let mut plain = String::with_capacity(shown.len());
    let mut rest = shown.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            plain.push(c);
        } else if rest.next_if_eq(&'[').is_some() {
            // A sequence ends with the first of these; a line's end means that it was none.
            while rest.next_if(|c| !matches!(c, '\u{40}'..='\u{7e}' | '\n')).is_some() {}
            rest.next_if(|c| *c != '\n');
        }
    }
    plain
}

impl<'de, const MOST: usize> Deserialize<'de> for Text<MOST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any)
    }
}

struct Any<const MOST: usize>;

impl<'de, const MOST: usize> Visitor<'de> for Any<MOST> {
    type Value = Text<MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Text::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Text::from(&*value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Text::from(&*value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Text::from(&*value.to_string()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Text::default())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Text::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut lines: A) -> Result<Self::Value, A::Error> {
        let mut text = Text::default();
        while let Some(line) = lines.next_element::<Self::Value>()? {
            text.push(line.as_str());
            text.more = text.more.saturating_add(line.more);
        }
        Ok(text)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text::default())
    }
}
