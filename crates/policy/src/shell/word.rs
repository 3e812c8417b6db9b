//! A word of a command, as far as it is known before the shell expands it.

use super::{Read, Unclear};

/// How many words braces may make of one.
const MOST_ALTERNATIVES: usize = 64;

/// A word: what stands between blanks, with its quotes removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pieces: Vec<Piece>,
    /// As it is written.
    source: String,
}

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// These characters.
    Text(String),
    /// A pattern of the shell, unquoted: `*`, `?` or `[…]`.
    Glob(String),
    /// The user's home.
    Home,
    /// The value of a variable.
    Variable {
        name: String,
        /// Whether it stays one word.
        quoted: bool,
        /// Whether the line has given it a value by then, in any case.
        assigned: bool,
    },
    /// A number that is known only when it runs.
    Number,
    /// Something that is known only when it runs.
    Unknown {
        /// Whether it stays one word.
        quoted: bool,
    },
    /// `{a,b}`: each of them in turn.
    OneOf(Vec<String>),
}

impl Word {
    pub(crate) fn new(pieces: Vec<Piece>, source: &str) -> Self {
        let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
        // Quotes with nothing between them make a word, but no part of one.
        for piece in pieces.into_iter().filter(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()))
        {
            match (joined.last_mut(), piece) {
                (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
                (_, piece) => joined.push(piece),
            }
        }
        Self { pieces: joined, source: source.to_owned() }
    }

    /// A word that is known.
    pub(crate) fn known(text: &str) -> Self {
        Self { pieces: vec![Piece::Text(text.to_owned())], source: text.to_owned() }
    }

    /// Words that come from elsewhere.
    pub(crate) fn unknown(source: &str) -> Self {
        Self { pieces: vec![Piece::Unknown { quoted: false }], source: source.to_owned() }
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// As it is written in the line.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Its text, if that is known.
    pub(crate) fn text(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// What it begins with for sure.
    pub(crate) fn beginning(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    /// Whether it may become several words, or none.
    pub(crate) fn splits(&self) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Text(_) | Piece::Home | Piece::Number => false,
            Piece::Glob(_) | Piece::OneOf(_) => true,
            Piece::Variable { quoted, .. } | Piece::Unknown { quoted } => !quoted,
        })
    }

    /// Whether it may become several words that begin with anything, or none.
    pub(crate) fn breaks(&self) -> bool {
        self.pieces.iter().any(|piece| {
            matches!(piece, Piece::Variable { quoted: false, .. } | Piece::Unknown { quoted: false })
        })
    }

    /// Whether it may become an option: it is not known how it begins, or it begins with a dash. A pattern
    /// gives names of files, and those may begin with a dash as well.
    pub(crate) fn may_be_option(&self) -> bool {
        match self.pieces.first() {
            None | Some(Piece::Home | Piece::Number) => false,
            Some(Piece::Text(text)) => text.starts_with('-'),
            Some(Piece::OneOf(texts)) => texts.iter().any(|text| text.is_empty() || text.starts_with('-')),
            Some(Piece::Glob(_) | Piece::Variable { .. } | Piece::Unknown { .. }) => true,
        }
    }

    /// The word without its first characters, if it is known that it begins with them.
    pub(crate) fn without(&self, beginning: &str) -> Option<Self> {
        let rest = self.beginning().strip_prefix(beginning)?;
        let mut pieces = self.pieces.clone();
        match pieces.first_mut() {
            Some(first) if !rest.is_empty() => *first = Piece::Text(rest.to_owned()),
            Some(_) => drop(pieces.remove(0)),
            None => {}
        }
        Some(Self { pieces, source: self.source.clone() })
    }

    /// The words that `{a,b}` makes of it; itself, if there is none.
    ///
    /// # Errors
    /// If they are too many. They are counted before they are made: a short line can have more of them than fit into
    /// memory.
    pub(crate) fn alternatives(self) -> Read<Vec<Self>> {
        let texts =
            self.pieces.iter().map(|piece| if let Piece::OneOf(texts) = piece { texts.len() } else { 1 });
        if texts.fold(1, usize::saturating_mul) > MOST_ALTERNATIVES {
            return Err(Unclear::new("braces that make too many words"));
        }
        Ok(self.each())
    }

    fn each(self) -> Vec<Self> {
        let Some(at) = self.pieces.iter().position(|piece| matches!(piece, Piece::OneOf(_))) else {
            return vec![self];
        };
        let Some(Piece::OneOf(texts)) = self.pieces.get(at) else { return vec![self] };
        let one = |text: &String| {
            let mut pieces = self.pieces.clone();
            if let Some(piece) = pieces.get_mut(at) {
                *piece = Piece::Text(text.clone());
            }
            let word = Self::new(pieces, &self.source);
            // Where nothing is left, there is no word, unless something was quoted: a word more or less.
            if word.pieces.is_empty() { vec![Self::unknown(&self.source)] } else { word.each() }
        };
        texts.iter().flat_map(one).collect()
    }
}
