//! Stress, code and links within a line.

use crate::output::paint::Style;

/// Whether more of the line may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum More {
    /// It may: what is not decided is left.
    Comes,
    /// It will not: what has no other end is text.
    Never,
}

/// A piece of text that looks the same throughout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) style: Style,
    pub(super) text: String,
}

/// What the beginning of a text is.
enum Found<'a> {
    /// Pieces, and what comes after them.
    Pieces(Vec<Piece>, &'a str),
    /// So many bytes of plain text.
    Plain(usize),
    /// Not known yet.
    Open,
}

/// The pieces of a text as far as they are decided, and the rest of it. `before` is the character
/// before it.
pub(super) fn pieces(text: &str, before: Option<char>, more: More) -> (Vec<Piece>, &str) {
    let mut pieces: Vec<Piece> = Vec::new();
    let plain = |pieces: &mut Vec<Piece>, text: &str| match pieces.last_mut() {
        Some(last) if last.style == Style::PLAIN => last.text.push_str(text),
        _ => pieces.push(Piece { style: Style::PLAIN, text: text.to_owned() }),
    };
    let (mut rest, mut before) = (text, before);
    while let Some(first) = rest.chars().next() {
        let found = match first {
            '`' => code(rest, more),
            '*' | '_' => stress(rest, first, before, more),
            '[' => link(rest, more),
            '\\' => escape(rest, more),
            _ => Found::Plain(rest.find(['`', '*', '_', '[', '\\']).unwrap_or(rest.len())),
        };
        let after = match found {
            Found::Open => break,
            Found::Plain(bytes) => {
                let (text, after) = rest.split_at(bytes);
                plain(&mut pieces, text);
                after
            }
            Found::Pieces(found, after) => {
                pieces.extend(found);
                after
            }
        };
        before = rest.strip_suffix(after).and_then(|done| done.chars().next_back());
        rest = after;
    }
    (pieces, rest)
}

/// What cannot be decided: open if more may come, else plain.
fn undecided<'a>(more: More, bytes: usize) -> Found<'a> {
    match more {
        More::Comes => Found::Open,
        More::Never => Found::Plain(bytes),
    }
}

/// How many of this character a text begins with.
fn run_of(text: &str, mark: char) -> usize {
    text.bytes().take_while(|byte| char::from(*byte) == mark).count()
}

/// Where a run of exactly so many of a character begins that `fits`; none if it has not come.
fn closing(text: &str, mark: char, run: usize, more: More, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text.get(at..)?.find(mark) {
        let start = at + found;
        let length = run_of(text.get(start..)?, mark);
        // A run at the very end may grow.
        let grows = start + length == text.len() && more == More::Comes;
        if length == run && !grows && fits(start) {
            return Some(start);
        }
        at = start + length;
    }
    None
}

fn code(text: &str, more: More) -> Found<'_> {
    let run = run_of(text, '`');
    let inner = text.get(run..).unwrap_or_default();
    let Some(end) = closing(inner, '`', run, more, |_| true) else { return undecided(more, run) };
    let (code, after) = inner.split_at(end);
    let code = code
        .strip_prefix(' ')
        .and_then(|c| c.strip_suffix(' '))
        .filter(|c| !c.trim().is_empty())
        .unwrap_or(code);
    let piece = Piece { style: Style::CODE, text: code.to_owned() };
    Found::Pieces(vec![piece], after.get(run..).unwrap_or_default())
}

fn stress(text: &str, mark: char, before: Option<char>, more: More) -> Found<'_> {
    let run = run_of(text, mark);
    let inner = text.get(run..).unwrap_or_default();
    let style = match run {
        1 => Style::ITALIC,
        2 => Style::BOLD,
        3 => Style::BOLD.and(Style::ITALIC),
        _ => return if inner.is_empty() { undecided(more, run) } else { Found::Plain(run) },
    };
    let Some(next) = inner.chars().next() else { return undecided(more, run) };
    // Within a word it is part of a name, or of a sum.
    let within = before.is_some_and(char::is_alphanumeric) && (mark == '_' || run == 1);
    if next.is_whitespace() || within {
        return Found::Plain(run);
    }
    let fits = |at: usize| {
        let last = inner.get(..at).and_then(|inner| inner.chars().next_back());
        let next = inner.get(at + run..).and_then(|rest| rest.chars().next());
        last.is_some_and(|c| !c.is_whitespace()) && !(mark == '_' && next.is_some_and(char::is_alphanumeric))
    };
    let Some(end) = closing(inner, mark, run, more, fits) else { return undecided(more, run) };
    let (inner, after) = inner.split_at(end);
    let (found, _) = pieces(inner, None, More::Never);
    let found = found.into_iter().map(|piece| Piece { style: style.and(piece.style), ..piece }).collect();
    Found::Pieces(found, after.get(run..).unwrap_or_default())
}

/// `[text](address)`: the text, and the address if it tells more.
fn link(text: &str, more: More) -> Found<'_> {
    let Some((label, rest)) = text.get(1..).and_then(|inner| inner.split_once(']')) else {
        return undecided(more, 1);
    };
    match rest.chars().next() {
        None => return undecided(more, 1),
        Some('(') => {}
        Some(_) => return Found::Plain(1),
    }
    let Some((address, after)) = rest.get(1..).and_then(|inner| inner.split_once(')')) else {
        return undecided(more, 1);
    };
    if label.is_empty() {
        return Found::Plain(1);
    }
    let (found, _) = pieces(label, None, More::Never);
    let mut found: Vec<Piece> =
        found.into_iter().map(|piece| Piece { style: Style::LINK.and(piece.style), ..piece }).collect();
    if address != label && !address.is_empty() {
        found.push(Piece { style: Style::DIM, text: format!(" ({address})") });
    }
    Found::Pieces(found, after)
}

fn escape(text: &str, more: More) -> Found<'_> {
    match text.get(1..).and_then(|rest| rest.chars().next()) {
        None => undecided(more, 1),
        Some(next) if next.is_ascii_punctuation() => {
            let piece = Piece { style: Style::PLAIN, text: next.to_string() };
            Found::Pieces(vec![piece], text.get(2..).unwrap_or_default())
        }
        Some(_) => Found::Plain(1),
    }
}
