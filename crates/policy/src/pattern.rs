//! Patterns of commands: `git push *`. They are matched against the words that a command gets after the
//! shell has read the line, never against the line.

use crate::shell::Word;

/// A pattern of a command, word by word. A `*` alone stands for any number of words, also none; within a
/// word, for any characters. Quotes keep blanks and stars as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    text: String,
    words: Vec<PatternWord>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternWord {
    /// Any number of words.
    Rest,
    /// One word; `None` stands for any characters.
    One(Vec<Option<char>>),
}

/// Whether something matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    No,
    /// It depends on what cannot be known before it runs.
    Perhaps,
    Yes,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// If it is empty, matches every command, has an open quote, or what can be no word of a command.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut words = Vec::new();
        let mut word: Option<Vec<Option<char>>> = None;
        let mut quote = None;
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if quote.is_none() && is_sign(c, word.as_deref()) {
                return Err(format!(
                    "a rule is about one command and its words, and `{c}` is for lines of them; in quotes it is a word"
                ));
            }
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (Some('"') | None, '\\') => {
                    let escaped = chars.next().ok_or("a backslash at the end")?;
                    word.get_or_insert_default().push(Some(escaped));
                }
                (None, '\'' | '"') => {
                    word.get_or_insert_default();
                    quote = Some(c);
                }
                (None, '*') => word.get_or_insert_default().push(None),
                (None, c) if c.is_whitespace() => words.extend(word.take()),
                (_, c) => word.get_or_insert_default().push(Some(c)),
            }
        }
        if quote.is_some() {
            return Err("a quote that does not end".to_owned());
        }
        words.extend(word);
        let words: Vec<PatternWord> = words
            .into_iter()
            .map(|word| if word == [None] { PatternWord::Rest } else { PatternWord::One(word) })
            .collect();
        match words.first() {
            None => Err("an empty pattern".to_owned()),
            Some(PatternWord::One(first)) if assigns(first) => {
                Err("variables before a command are no words of it; leave them out".to_owned())
            }
            Some(PatternWord::One(first)) if first.iter().any(Option::is_some) => {
                Ok(Self { text: text.to_owned(), words })
            }
            Some(_) => Err("it must begin with the name of a program".to_owned()),
        }
    }

    /// The pattern that these words begin, and anything may follow.
    pub(crate) fn beginning(words: &[&str]) -> Self {
        let mut pattern = Self::exactly(words);
        pattern.text.push_str(" *");
        pattern.words.push(PatternWord::Rest);
        pattern
    }

    /// The pattern of these words.
    pub(crate) fn exactly(words: &[&str]) -> Self {
        let text = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let one = |word: &&str| PatternWord::One(word.chars().map(Some).collect());
        Self { text, words: words.iter().map(one).collect() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is about a program of this name.
    pub(crate) fn is_about(&self, program: &str) -> bool {
        matches!(self.words.first(), Some(PatternWord::One(name)) if chars_fit(name, program))
    }

    /// Whether it matches the words of a command.
    pub(crate) fn fits(&self, words: &[Word]) -> Fit {
        // Most rules are about other programs.
        if let (Some(PatternWord::One(name)), Some(word)) = (self.words.first(), words.first())
            && !word.splits()
            && word_fits(name, word) == Fit::No
        {
            return Fit::No;
        }
        fit(&self.words, words)
    }
}

/// Whether the shell would read a character as more than a part of a word, where it stands so far.
fn is_sign(c: char, word: Option<&[Option<char>]>) -> bool {
    let digits = |word: &[Option<char>]| word.iter().all(|c| c.is_some_and(|c| c.is_ascii_digit()));
    match c {
        '|' | '&' | ';' => word.is_none(),
        '<' | '>' => word.is_none_or(digits),
        '`' => true,
        '(' => word.is_none_or(|word| word.last() == Some(&Some('$'))),
        _ => false,
    }
}

/// Whether a first word gives a variable a value, as far as it is no program.
fn assigns(word: &[Option<char>]) -> bool {
    let name: Option<String> = word.iter().take_while(|c| **c != Some('=')).copied().collect();
    word.contains(&Some('=')) && name.is_some_and(|name| crate::shell::is_name(&name))
}

fn fit(pattern: &[PatternWord], words: &[Word]) -> Fit {
    // Worked out from the ends, so that the work is bounded by the product of the lengths.
    let mut row = vec![Fit::No; words.len() + 1];
    if let Some(last) = row.last_mut() {
        *last = Fit::Yes;
    }
    // A word that may turn into several, or none, can stand for whatever the pattern still wants.
    for wanted in pattern.iter().rev() {
        let mut next = vec![Fit::No; words.len() + 1];
        for at in (0..=words.len()).rev() {
            let here = row.get(at).copied().unwrap_or(Fit::No);
            let later = row.get(at + 1).copied().unwrap_or(Fit::No);
            let word = words.get(at);
            let mut best = match wanted {
                PatternWord::Rest => {
                    let more = next.get(at + 1).copied().unwrap_or(Fit::No);
                    if word.is_some() { here.max(more) } else { here }
                }
                PatternWord::One(one) => word.map_or(Fit::No, |word| word_fits(one, word).min(later)),
            };
            if word.is_some_and(Word::splits) {
                let more = next.get(at + 1).copied().unwrap_or(Fit::No);
                best = best.max(here.max(more).max(later).min(Fit::Perhaps));
            }
            if let Some(cell) = next.get_mut(at) {
                *cell = best;
            }
        }
        row = next;
    }
    row.first().copied().unwrap_or(Fit::No)
}

fn word_fits(pattern: &[Option<char>], word: &Word) -> Fit {
    match word.text() {
        Some(text) if chars_fit(pattern, text) => Fit::Yes,
        Some(_) => Fit::No,
        None if pattern.iter().all(Option::is_none) => Fit::Yes,
        None => Fit::Perhaps,
    }
}

/// Whether a word of a pattern matches a text.
fn chars_fit(pattern: &[Option<char>], text: &str) -> bool {
    if pattern.iter().all(Option::is_some) {
        return pattern.iter().copied().eq(text.chars().map(Some));
    }
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(None) => {
                star = Some((p, t));
                p += 1;
            }
            Some(Some(c)) if text.get(t) == Some(c) => {
                p += 1;
                t += 1;
            }
            _ => match &mut star {
                Some((at, from)) => {
                    p = *at + 1;
                    *from += 1;
                    t = *from;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(Option::is_none)
}

/// The word as a pattern has it: in quotes where it would mean something else.
fn quoted(word: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && !"*\"'\\|&;<>()$`".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if word.contains('\'') {
        let mut quoted = String::from('"');
        for c in word.chars() {
            if matches!(c, '"' | '\\') {
                quoted.push('\\');
            }
            quoted.push(c);
        }
        quoted.push('"');
        quoted
    } else {
        format!("'{word}'")
    }
}
