//! What means something in a word where it is not quoted: tildes, sets and braces.

use super::expansion::Kind;
use super::reader::Reader;
use super::word::Piece;
use super::{Read, Unclear};

#[cfg(test)]
thread_local! {
    /// How many characters were looked at for the ends of sets.
    pub(super) static LOOKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl Reader<'_, '_> {
    /// A tilde, which stands for the user's home, or for another directory that is not known.
    pub(super) fn tilde(&mut self, pieces: &mut Vec<Piece>, kind: Kind) -> Read {
        if self.peek() != Some(b'~') {
            return Ok(());
        }
        let colon = if matches!(kind, Kind::Plain) { "" } else { ":" };
        let rest = self.rest().get(1..).unwrap_or_default();
        let ends = |c: char| c.is_whitespace() || "/;&|<>()".contains(c) || colon.contains(c);
        let name = rest.get(..rest.find(ends).unwrap_or(rest.len())).unwrap_or_default();
        if name.contains('{')
            || name.contains('\\') && rest.get(name.len()..).is_some_and(|end| end.starts_with('\n'))
        {
            return Err(Unclear::new("a tilde before braces, or before a line that goes on"));
        }
        self.at += 1;
        if name.is_empty() {
            pieces.push(Piece::Home);
        } else if name.contains(['\'', '"', '\\', '$', '`']) {
            // A quoted name is no name of a user.
            pieces.push(Piece::Text("~".to_owned()));
        } else {
            self.at += name.len();
            pieces.push(Piece::Unknown { quoted: !name.contains(['*', '?', '[']) });
        }
        Ok(())
    }

    /// `[…]`, if it ends within the word; else a plain bracket.
    pub(super) fn set(&mut self, pieces: &mut Vec<Piece>) -> Read {
        let rest = self.rest();
        let ends = |c: char| c.is_whitespace() || ";&|<>()'\"\\$`/".contains(c);
        let inner = rest.get(1..).unwrap_or_default();
        let sign = usize::from(inner.starts_with(['!', '^']));
        // The first character is one of the set, also if it is a bracket.
        let first = inner.get(sign..).and_then(|rest| rest.chars().next()).filter(|c| !ends(*c));
        let from = 1 + sign + first.map_or(0, char::len_utf8);
        let behind = rest.get(from..).unwrap_or_default();
        let end = match self.unclosed.checked_sub(self.at) {
            // Where one was looked for in vain, there is none for those that follow.
            Some(end) if end >= from => end,
            _ => {
                let length = behind.find(|c| c == ']' || ends(c)).unwrap_or(behind.len());
                #[cfg(test)]
                LOOKED.set(LOOKED.get() + length);
                from + length
            }
        };
        let after = rest.get(end..).unwrap_or_default();
        if after.starts_with(']') {
            let set = rest.get(..=end).unwrap_or_default();
            // Braces come first, and may make other sets of it.
            if set.contains('{') {
                return Err(Unclear::new("a brace in a set"));
            }
            // For others it has this sign in it.
            self.script.only_bash |= inner.starts_with('^');
            pieces.push(Piece::Glob(set.to_owned()));
            self.at += end + 1;
            return Ok(());
        }
        self.unclosed = self.at + end;
        // With something quoted in it, it may be a set all the same.
        if after.starts_with(['\'', '"', '\\', '$', '`']) {
            self.script.only_bash |= inner.starts_with('^');
            pieces.push(Piece::Unknown { quoted: false });
        } else {
            pieces.push(Piece::Text("[".to_owned()));
        }
        self.at += 1;
        Ok(())
    }

    /// `{a,b}` of plain texts; `{}` and a lone brace are plain; all others are not known.
    pub(super) fn braces(&mut self, pieces: &mut Vec<Piece>, kind: Kind) -> Read {
        let rest = self.rest();
        let ends = |c: char| c.is_whitespace() || ";&|<>()".contains(c);
        let inner = rest.get(1..).unwrap_or_default();
        let plain = |c: char| !"{}'\"\\$`*?[]~".contains(c) && !ends(c);
        let (body, after) = inner.split_at(inner.find(|c: char| !plain(c)).unwrap_or(inner.len()));
        let expands = after.starts_with('}') && (body.contains(',') || body.contains(".."));
        // The names are others then, and where an assignment is a word it is several.
        if expands && (matches!(kind, Kind::Declared) || self.goes_on_from_name(pieces)) {
            return Err(Unclear::new("braces behind the name of a variable"));
        }
        self.script.only_bash |= expands;
        if after.starts_with('}') && body.contains(',') {
            pieces.push(Piece::OneOf(body.split(',').map(str::to_owned).collect()));
            self.at += body.len() + 2;
            return Ok(());
        }
        if expands {
            // Between the two alphabets are signs that mean something to the shell.
            if body.contains(|c: char| c.is_ascii_lowercase())
                && body.contains(|c: char| c.is_ascii_uppercase())
            {
                return Err(Unclear::new("braces that are not plain"));
            }
            pieces.push(Piece::Unknown { quoted: false });
            self.at += body.len() + 2;
            return Ok(());
        }
        // Quotes may hold blanks and braces, so that what ends them may be far away.
        let from = self.at + if rest.starts_with("{}") { 2 } else { 0 };
        let behind = self.text.get(from..).unwrap_or_default();
        let word = if from > self.at { rest_of_word(behind) } else { behind };
        let far = if word.len() < behind.len() {
            last_of_braces(word) > 0
        } else {
            *self.braced.get_or_init(|| last_of_braces(self.text)) > from
        };
        if far {
            return Err(Unclear::new("braces that are not plain"));
        }
        pieces.push(Piece::Text("{".to_owned()));
        self.at += 1;
        Ok(())
    }

    /// Whether what is next would belong to the name of a variable, if braces did not come first.
    fn goes_on_from_name(&self, pieces: &[Piece]) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.text.as_bytes().get(at));
        let of_name = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$');
        matches!(pieces.last(), Some(Piece::Variable { .. } | Piece::Number)) && before.is_some_and(of_name)
    }
}

/// Up to where there is both a closing brace and what makes words of what it closes: nothing, if not anywhere.
fn last_of_braces(text: &str) -> usize {
    let several = text.rfind(',').max(text.rfind("..")).map_or(0, |at| at + 1);
    several.min(text.rfind('}').map_or(0, |at| at + 1))
}

/// Whether nothing may be left of a piece, or what a tilde means something behind.
pub(super) fn may_be_nothing(piece: &Piece) -> bool {
    let before_tilde = |text: &String| text.is_empty() || text.ends_with([':', '=']);
    matches!(piece, Piece::OneOf(texts) if texts.iter().any(before_tilde))
}

/// The rest of a word, as far as it is plain to see where that ends; else everything that follows.
fn rest_of_word(rest: &str) -> &str {
    const FAR: usize = 500;
    let mark = |c: u8| c.is_ascii_whitespace() || b";&|<>()'\"\\$`".contains(&c);
    match rest.bytes().take(FAR).position(mark) {
        Some(at) if rest.as_bytes().get(at).is_some_and(|c| !b"'\"\\$`<>()".contains(c)) => {
            rest.get(..at).unwrap_or(rest)
        }
        _ => rest,
    }
}
