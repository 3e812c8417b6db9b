//! Markdown on a terminal, while it is still being written.
//!
//! What is printed is never taken back, so nothing flickers and nothing is lost when the terminal
//! scrolls. Instead, text is held until it is known what it is: the beginning of a line until it can
//! only be one kind of block, a `*` or a backtick until its other end has come or the line is over, a
//! word until it is known to fit. Everything else is handed on at once. What comes out does not depend
//! on the pieces in which the text came in.
//!
//! Line breaks stay where the model put them, except that long lines are broken between words.

mod block;
mod inline;

use super::paint::{Paint, Painted, Style, harmless, width};
use block::{Block, Start};
use inline::Piece;

/// How many bytes of a line may be held before it is taken as it is.
const HELD: usize = 1000;
/// How far code is set in.
const CODE_INDENT: &str = "  ";

/// Renders one text.
pub(crate) struct Markdown {
    paint: Paint,
    /// Lines are at most so wide.
    width: usize,
    /// The current line as far as it was neither decided nor printed.
    held: String,
    /// What the current line is, once that is known.
    block: Option<Block>,
    /// What ends the code that the text is in, if it is in code.
    fence: Option<String>,
    /// The last character that was decided in this line.
    before: Option<char>,
    /// The word that has begun, and the spaces before it.
    word: Vec<(Style, String)>,
    spaces: usize,
    /// Where the cursor is.
    column: usize,
    /// Where lines that are broken go on.
    indent: usize,
}

impl Markdown {
    /// A text for a terminal of this width.
    pub(crate) fn new(paint: Paint, width: usize) -> Self {
        Self {
            paint,
            width,
            held: String::new(),
            block: None,
            fence: None,
            before: None,
            word: Vec::new(),
            spaces: 0,
            column: 0,
            indent: 0,
        }
    }

    /// Takes more of the text, and gives what can be printed now.
    pub(crate) fn push(&mut self, text: &str) -> Painted {
        let mut out = Painted::new(self.paint);
        for c in harmless(text).chars() {
            if c == '\n' {
                self.end_line(&mut out);
                self.new_line(&mut out);
            } else {
                self.held.push(c);
                self.decide(&mut out);
            }
        }
        out
    }

    /// The rest of a text that has ended, with the end of its last line.
    pub(crate) fn finish(&mut self) -> Painted {
        let mut out = Painted::new(self.paint);
        let is_open = self.column > 0 || self.block.is_some() || !self.held.is_empty();
        self.end_line(&mut out);
        if is_open && self.column > 0 {
            self.new_line(&mut out);
        }
        *self = Self::new(self.paint, self.width);
        out
    }

    /// Something else was printed in between, and the cursor is at the beginning of a line.
    pub(crate) fn broken(&mut self) {
        self.column = 0;
        self.spaces = 0;
    }

    /// Decides as much of the held line as can be.
    fn decide(&mut self, out: &mut Painted) {
        if self.held.len() > HELD && (self.fence.is_some() || self.block == Some(Block::Whole)) {
            // Nobody writes such lines by hand; they are shown as they are.
            self.indent = 0;
            self.start(Block::Verbatim, out);
        }
        if self.block.is_none() {
            if self.fence.is_some() {
                return;
            }
            match block::start(&self.held) {
                Start::Open => return,
                Start::Is(block, marker) => {
                    self.held.drain(..marker);
                    self.start(block, out);
                }
            }
        }
        match self.block {
            Some(Block::Whole) | None => {}
            Some(Block::Verbatim) => {
                let text = std::mem::take(&mut self.held);
                self.column += width(&text);
                out.push(Style::CODE, &text);
            }
            Some(block) => self.inline(block.style(), inline::More::Comes, out),
        }
    }

    /// Prints what stands before the text of a block.
    fn start(&mut self, block: Block, out: &mut Painted) {
        self.block = Some(block);
        let (style, mark) = match block {
            Block::Item { indent, number: None } => (Style::CODE, format!("{}• ", " ".repeat(indent))),
            Block::Item { indent, number: Some(number) } => {
                (Style::CODE, format!("{}{number}. ", " ".repeat(indent)))
            }
            Block::Quote => (Style::DIM, "│ ".to_owned()),
            Block::Text { indent } => (Style::PLAIN, " ".repeat(indent)),
            Block::Heading | Block::Whole | Block::Verbatim => return,
        };
        out.push(style, &mark);
        self.column = width(&mark);
        self.indent = self.column;
    }

    /// The line is complete: decides the rest of it.
    fn end_line(&mut self, out: &mut Painted) {
        match (self.fence.clone(), self.block) {
            (Some(_), Some(_)) => {}
            (Some(fence), None) => {
                let line = std::mem::take(&mut self.held);
                if block::closes(&line, &fence) {
                    self.fence = None;
                    self.block = Some(Block::Whole);
                } else if !line.is_empty() {
                    out.push(Style::PLAIN, CODE_INDENT);
                    out.push(Style::CODE, &line);
                    self.column = CODE_INDENT.len() + width(&line);
                }
            }
            (None, None) if self.held.trim().is_empty() => self.held.clear(),
            (None, None | Some(Block::Whole)) => self.whole_line(out),
            (None, Some(block)) => self.inline(block.style(), inline::More::Never, out),
        }
        self.flush_word(out);
    }

    /// A line whose kind shows only when it is complete.
    fn whole_line(&mut self, out: &mut Painted) {
        let line = std::mem::take(&mut self.held);
        if let Some(fence) = block::opens(&line) {
            self.fence = Some(fence);
            self.block = Some(Block::Whole);
        } else if block::is_rule(&line) {
            let rule = "─".repeat(self.width.min(40));
            self.column = width(&rule);
            out.push(Style::DIM, &rule);
        } else if let Some(heading) = block::heading(&line) {
            self.held = heading.to_owned();
            self.inline(Block::Heading.style(), inline::More::Never, out);
        } else if line.trim_start().starts_with('|') {
            // Columns stand below each other only if nothing is broken or left out.
            self.column = width(&line);
            out.push(if block::is_table_rule(&line) { Style::DIM } else { Style::PLAIN }, &line);
        } else {
            self.held = line;
            let indent = self.held.len() - self.held.trim_start().len();
            self.held.drain(..indent);
            self.start(Block::Text { indent }, out);
            self.inline(Style::PLAIN, inline::More::Never, out);
        }
    }

    /// Ends the line on the screen. The lines of a fence are not shown.
    fn new_line(&mut self, out: &mut Painted) {
        let hidden = self.block == Some(Block::Whole) && self.column == 0;
        if !hidden {
            out.push(Style::PLAIN, "\n");
        }
        (self.block, self.before, self.column, self.indent, self.spaces) = (None, None, 0, 0, 0);
    }

    /// Prints as much of the held text as is decided.
    fn inline(&mut self, style: Style, more: inline::More, out: &mut Painted) {
        let more = if self.held.len() > HELD { inline::More::Never } else { more };
        let held = std::mem::take(&mut self.held);
        let (pieces, rest) = inline::pieces(&held, self.before, more);
        for Piece { style: of_piece, text } in pieces {
            self.print(style.and(of_piece), &text, out);
        }
        self.before = held.strip_suffix(rest).and_then(|done| done.chars().next_back()).or(self.before);
        rest.clone_into(&mut self.held);
    }

    /// Prints text, word by word.
    fn print(&mut self, style: Style, text: &str, out: &mut Painted) {
        for c in text.chars() {
            if c == ' ' || c == '\t' {
                self.flush_word(out);
                self.spaces += 1;
                continue;
            }
            match self.word.last_mut() {
                Some((last, piece)) if *last == style => piece.push(c),
                _ => self.word.push((style, c.to_string())),
            }
            if self.word.iter().map(|(_, piece)| piece.len()).sum::<usize>() > HELD {
                self.flush_word(out);
            }
        }
    }

    /// Prints the word that has ended, on the next line if it does not fit.
    fn flush_word(&mut self, out: &mut Painted) {
        if self.word.is_empty() {
            return;
        }
        let wide: usize = self.word.iter().map(|(_, piece)| width(piece)).sum();
        if self.column + self.spaces + wide > self.width && self.column > self.indent {
            out.push(Style::PLAIN, "\n");
            out.push(Style::PLAIN, &" ".repeat(self.indent));
            self.column = self.indent;
        } else {
            out.push(Style::PLAIN, &" ".repeat(self.spaces));
            self.column += self.spaces;
        }
        self.spaces = 0;
        self.column += wide;
        for (style, piece) in self.word.drain(..) {
            out.push(style, &piece);
        }
    }
}

#[cfg(test)]
mod tests;
