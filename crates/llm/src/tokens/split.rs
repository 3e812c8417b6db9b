//! Cuts text into the pieces within which tokens are made, and says what each is of.
//!
//! The pieces are those of the pattern that belongs to `o200k_base`, which the tests have. They are found by
//! hand: a general matcher takes up to a hundred times as long on text in many scripts, and anyone may send some.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// What a piece is of, as far as vocabularies differ in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// English words after a space, as prose has them.
    Word,
    /// English words after anything else: mostly parts of names in code.
    Inner,
    /// Words with letters that English does not have.
    Accented,
    /// Russian and its kin.
    Cyrillic,
    /// Chinese and Japanese.
    Han,
    /// Korean.
    Hangul,
    /// Words and signs of all other scripts.
    Other,
    /// Digits.
    Digits,
    /// Punctuation.
    Marks,
    /// Spaces and line ends.
    Space,
}

/// The pieces of a text, in order and without gaps.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = (&str, Kind)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at_checked(length(rest)).filter(|(piece, _)| !piece.is_empty())?;
        rest = after;
        Some((piece, kind(piece)))
    })
}

/// What a character is to the pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// Punctuation, signs, and all that is nothing else.
    Sign,
    /// A letter that begins words: upper or title case.
    Upper,
    /// A letter in lower case.
    Lower,
    /// A letter without case.
    Letter,
    /// A mark that belongs to the letter before it, and is no letter itself.
    Mark,
    Number,
    Space,
    LineEnd,
}

impl Sort {
    fn of(c: char) -> Self {
        SORTS.of(c)
    }

    /// Whether it may stand in the first part of a word.
    fn is_upper(self) -> bool {
        matches!(self, Self::Upper | Self::Letter | Self::Mark)
    }

    /// Whether it may stand in the second part of a word.
    fn is_lower(self) -> bool {
        matches!(self, Self::Lower | Self::Letter | Self::Mark)
    }

    fn is_sign(self) -> bool {
        matches!(self, Self::Sign | Self::Mark)
    }

    fn is_space(self) -> bool {
        matches!(self, Self::Space | Self::LineEnd)
    }
}

/// The length of the piece with which a text begins.
fn length(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    let sort = Sort::of(first);
    let width = first.len_utf8();
    let after = text.get(width..).unwrap_or_default();
    // One sign or space goes with the word that follows it.
    let joins = matches!(sort, Sort::Sign | Sort::Mark | Sort::Space);
    let word = joins
        .then(|| mixed(after).map(|found| width + found))
        .flatten()
        .or_else(|| mixed(text))
        .or_else(|| joins.then(|| capitals(after).map(|found| width + found)).flatten())
        .or_else(|| capitals(text));
    if let Some(word) = word {
        return word + contraction(text.get(word..).unwrap_or_default());
    }
    if sort == Sort::Number {
        return text.chars().take(3).take_while(|c| Sort::of(*c) == Sort::Number).map(char::len_utf8).sum();
    }
    let signs = if first == ' ' { run(after, Sort::is_sign) } else { run(text, Sort::is_sign) };
    if signs > 0 {
        let signs = if first == ' ' { width + signs } else { signs };
        let ends = text.get(signs..).unwrap_or_default();
        return signs + (ends.len() - ends.trim_start_matches(['\r', '\n', '/']).len());
    }
    spaces(text)
}

/// A word that ends in its second part: capitals or none, then small letters, one at least.
fn mixed(text: &str) -> Option<usize> {
    let mut caseless = None;
    let mut at = 0;
    for c in text.chars() {
        let sort = Sort::of(c);
        if sort == Sort::Lower {
            return Some(at + run(text.get(at..)?, Sort::is_lower));
        }
        if !sort.is_upper() {
            break;
        }
        at += c.len_utf8();
        if sort != Sort::Upper {
            caseless = Some(at);
        }
    }
    // Without a small letter, the last letter that has no case stands for it.
    caseless
}

/// A word in capitals only.
fn capitals(text: &str) -> Option<usize> {
    Some(run(text, Sort::is_upper)).filter(|found| *found > 0)
}

/// The length of the ending that English puts to a word with an apostrophe.
fn contraction(text: &str) -> usize {
    let mut chars = text.chars();
    if chars.next() != Some('\'') {
        return 0;
    }
    let next = |c: Option<char>| c.map(|c| if c == 'ſ' { 's' } else { c.to_ascii_lowercase() });
    let first = chars.next();
    match (next(first), next(chars.next())) {
        (Some('s' | 't' | 'm' | 'd'), _) => 1 + first.map_or(0, char::len_utf8),
        (Some('r' | 'v'), Some('e')) | (Some('l'), Some('l')) => 3,
        _ => 0,
    }
}

/// A run of spaces: up to its last line end if it has one; else all but the last, which goes with what
/// follows, unless there is only one or nothing follows.
fn spaces(text: &str) -> usize {
    let run = text.get(..run(text, Sort::is_space)).unwrap_or_default();
    if let Some(last) = run.rfind(['\r', '\n']) {
        return last + 1;
    }
    let last = run.chars().next_back().map_or(0, char::len_utf8);
    if run.len() < text.len() && run.len() > last { run.len() - last } else { run.len() }
}

fn run(text: &str, is: impl Fn(Sort) -> bool) -> usize {
    text.find(|c| !is(Sort::of(c))).unwrap_or(text.len())
}

fn kind(piece: &str) -> Kind {
    match piece.chars().next_back() {
        Some(last) if last.is_ascii_alphabetic() => match piece.is_ascii() {
            true if piece.starts_with(' ') => Kind::Word,
            true => Kind::Inner,
            false => Kind::Accented,
        },
        Some(last) if last.is_numeric() => Kind::Digits,
        Some(last) if last.is_whitespace() => {
            if piece.trim().is_empty() {
                Kind::Space
            } else {
                Kind::Marks
            }
        }
        Some(last) if last.is_ascii() => Kind::Marks,
        Some('\0'..='\u{24f}' | '\u{1e00}'..='\u{1eff}') => Kind::Accented,
        Some('\u{400}'..='\u{52f}') => Kind::Cyrillic,
        Some('\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}') => Kind::Han,
        Some('\u{ac00}'..='\u{d7af}') => Kind::Hangul,
        _ => Kind::Other,
    }
}

static SORTS: LazyLock<Sorts> = LazyLock::new(Sorts::load);

/// The sorts of all characters, in blocks of 256; equal blocks are kept once.
struct Sorts {
    blocks: Vec<u16>,
    sorts: Vec<[Sort; 256]>,
}

impl Sorts {
    fn of(&self, c: char) -> Sort {
        let (block, place) = ((c as usize) >> 8, (c as usize) & 0xff);
        let sorts = self.blocks.get(block).and_then(|at| self.sorts.get(usize::from(*at)));
        sorts.and_then(|sorts| sorts.get(place)).copied().unwrap_or(Sort::Sign)
    }

    fn load() -> Self {
        const CLASSES: [(&str, Sort); 7] = [
            (r"[\p{Lu}\p{Lt}]", Sort::Upper),
            (r"\p{Ll}", Sort::Lower),
            (r"[\p{Lm}\p{Lo}]", Sort::Letter),
            (r"\p{M}", Sort::Mark),
            (r"\p{N}", Sort::Number),
            (r"\s", Sort::Space),
            (r"[\r\n]", Sort::LineEnd),
        ];
        let mut all = vec![[Sort::Sign; 256]; (char::MAX as usize + 1) >> 8];
        for (class, sort) in CLASSES {
            let parsed = regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind);
            // These are classes, as a test sees.
            let Ok(HirKind::Class(Class::Unicode(class))) = parsed else { continue };
            for range in class.ranges() {
                for c in range.start() as usize..=range.end() as usize {
                    if let Some(place) = all.get_mut(c >> 8).and_then(|block| block.get_mut(c & 0xff)) {
                        *place = sort;
                    }
                }
            }
        }
        let mut sorts: Vec<[Sort; 256]> = Vec::new();
        let blocks = all.into_iter().map(|block| {
            let known = sorts.iter().position(|known| *known == block).unwrap_or_else(|| {
                sorts.push(block);
                sorts.len() - 1
            });
            u16::try_from(known).unwrap_or(u16::MAX)
        });
        let blocks = blocks.collect();
        Self { blocks, sorts }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    /// The pattern of `o200k_base`, but for its last choice but one, `\s+(?!\S)`, as this kind of expression
    /// cannot look ahead.
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        const UPPER: &str = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]";
        const LOWER: &str = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]";
        const ENDING: &str = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";
        const JOINED: &str = r"[^\r\n\p{L}\p{N}]?";
        let words = format!("{JOINED}{UPPER}*{LOWER}+{ENDING}|{JOINED}{UPPER}+{LOWER}*{ENDING}");
        Regex::new(&format!(r"{words}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+")).unwrap()
    });

    fn by_pattern(text: &str) -> Vec<&str> {
        let (mut rest, mut found) = (text, Vec::new());
        while let Some(piece) = PATTERN.find(rest).map(|found| found.as_str()) {
            let last = piece.chars().next_back().unwrap();
            let is_run = last.is_whitespace() && !matches!(last, '\r' | '\n') && piece.len() < rest.len();
            let back = if is_run && piece.len() > last.len_utf8() { last.len_utf8() } else { 0 };
            found.push(&piece[..piece.len() - back]);
            rest = &rest[piece.len() - back..];
        }
        found
    }

    fn by_hand(text: &str) -> Vec<&str> {
        pieces(text).map(|(piece, _)| piece).collect()
    }

    #[test]
    fn pieces_as_the_vocabulary_wants_them() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(by_hand(text), expected, "{text:?}");
            assert_eq!(by_pattern(text), expected, "{text:?}");
        };
        check("", &[]);
        check("Hello, world", &["Hello", ",", " world"]);
        check("HTMLElement isn't", &["HTMLElement", " isn't"]);
        check("camelCaseName", &["camel", "Case", "Name"]);
        check("A漢B", &["A漢", "B"]);
        check("WE'LL ıſ'ſ", &["WE'LL", " ıſ'ſ"]);
        check("a  b", &["a", " ", " b"]);
        check("a    b", &["a", "   ", " b"]);
        check("a    ", &["a", "    "]);
        check("a \t\n  b", &["a", " \t\n", " ", " b"]);
        check("a\n\nb", &["a", "\n\n", "b"]);
        check("x\u{3000}\u{3000}y", &["x", "\u{3000}", "\u{3000}y"]);
        check("1234567", &["123", "456", "7"]);
        check("a == b; // c\n", &["a", " ==", " b", ";", " //", " c", "\n"]);
        check("(foo)", &["(foo", ")"]);
    }

    proptest! {
        #[test]
        fn by_hand_as_by_pattern(text in r"([\PC]|[aA漢ǅʰ\u0308१'stLlEerRvVmD ]|\s|[\r\n/]){0,40}") {
            prop_assert_eq!(by_hand(&text), by_pattern(&text));
        }
    }

    #[test]
    fn kinds() {
        let check = |piece: &str, expected: Kind| assert_eq!(kind(piece), expected, "{piece:?}");
        check(" word", Kind::Word);
        check("(foo", Kind::Inner);
        check(" für", Kind::Accented);
        check(" où", Kind::Accented);
        check("слово", Kind::Cyrillic);
        check("λέξη", Kind::Other);
        check("漢字", Kind::Han);
        check("한국어", Kind::Hangul);
        check("🙂", Kind::Other);
        check("12", Kind::Digits);
        check(";\n", Kind::Marks);
        check(" \n", Kind::Space);
    }
}
