//! The reader: its place in the text, lists and pipelines.

use std::cell::OnceCell;

use super::assigned::Assigned;
use super::heredoc::Pending;
use super::{DEEPEST, Evaluated, Function, MOST, MOST_EVALUATED, MOST_WORDS, Read, Script, Simple, Unclear};

/// Reads one text. Texts within texts (backquotes, here-documents) have readers of their own, which put what
/// they find into the same script.
pub(super) struct Reader<'t, 's> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) script: &'s mut Script,
    /// Here-documents whose bodies come after the end of this line.
    pub(super) pending: Vec<Pending>,
    /// Whether what is read may run more than once, or later.
    pub(super) again: bool,
    /// The function that the last command of the text itself has defined.
    pub(super) definition: Option<String>,
    pub(super) assigned: Assigned,
    /// Whether the body of a function is read.
    pub(super) in_function: bool,
    /// Up to where no bracket closes a set.
    pub(super) unclosed: usize,
    /// From where on nothing is left that braces need to make words.
    pub(super) braced: OnceCell<usize>,
}

/// A text within a text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inner {
    /// Commands.
    Script,
    /// The body of a here-document.
    Document,
}

/// What ends a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop<'w> {
    /// The end of the text.
    End,
    /// A closing parenthesis.
    Parenthesis,
    /// One of these reserved words.
    Words(&'w [&'w str]),
    /// The end of a branch of `case`.
    Branch,
}

/// Words that mean something where a command may begin.
pub(super) const RESERVED: [&str; 22] = [
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "time", "until", "while", "{", "}",
];

impl<'t, 's> Reader<'t, 's> {
    pub(super) fn new(text: &'t str, depth: usize, script: &'s mut Script) -> Self {
        Self {
            text,
            at: 0,
            depth,
            script,
            pending: Vec::new(),
            again: false,
            definition: None,
            assigned: Assigned::default(),
            in_function: false,
            unclosed: 0,
            braced: OnceCell::new(),
        }
    }

    /// Reads the whole text.
    pub(super) fn script(&mut self) -> Read {
        self.list(Stop::End)?;
        if self.pending.is_empty() { Ok(()) } else { Err(Unclear::new("a here-document that does not end")) }
    }

    /// Reads a text that stands within this one.
    pub(super) fn inner(&mut self, text: &str, inner: Inner) -> Read {
        self.deeper(|this| {
            let mut reader = Reader::new(text, this.depth, this.script);
            reader.again = this.again;
            match inner {
                Inner::Script => {
                    reader.assigned.inherit(&this.assigned);
                    reader.in_function = this.in_function;
                    reader.script()
                }
                // It is expanded with its command, and read after what follows that.
                Inner::Document => {
                    reader.document()?;
                    if reader.assigned.fails() {
                        this.assigned.may_fail_at_first();
                    }
                    Ok(())
                }
            }
        })
    }

    /// Reads something that may not run, or in a process of its own.
    pub(super) fn block<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let before = self.assigned.len();
        let result = read(self);
        self.assigned.truncate(before);
        result
    }

    /// Notes that the text of a variable is evaluated; of something else, if it has no name.
    pub(super) fn evaluates(&mut self, name: &str) -> Read {
        let evaluated = Evaluated { name: name.to_owned(), assigned: self.assigned.has(name) };
        if !self.script.evaluated.contains(&evaluated) {
            if self.script.evaluated.len() >= MOST_EVALUATED {
                return Err(Unclear::new("it evaluates too many variables"));
            }
            self.script.evaluated.push(evaluated);
        }
        Ok(())
    }

    /// Counts words and assignments.
    pub(super) fn count(&mut self, words: usize) -> Read {
        self.script.words += words;
        if self.script.words > MOST_WORDS { Err(Unclear::new("it has too many words")) } else { Ok(()) }
    }

    /// Reads something that is nested.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= DEEPEST {
            return Err(Unclear::new("it is nested too deeply"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads something that may run more than once, or later.
    pub(super) fn repeated(&mut self, read: impl FnOnce(&mut Self) -> Read) -> Read {
        let before = std::mem::replace(&mut self.again, true);
        let result = read(self);
        self.again = before;
        result
    }

    /// The next byte. All that mean something to the shell are ASCII.
    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Goes past this text, if it is next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let next = self.rest().starts_with(text);
        if next {
            self.at += text.len();
        }
        next
    }

    /// The next character, and goes past it.
    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// The next character and those up to the first of these bytes, and goes past them.
    pub(super) fn run(&mut self, stops: &[u8]) -> &'t str {
        let start = self.at;
        self.bump();
        self.at += self.rest().bytes().take_while(|byte| !stops.contains(byte)).count();
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Whether the line goes on in the next one: bash takes that away before it reads what is there.
    pub(super) fn continues(&self) -> bool {
        self.rest().starts_with("\\\n")
    }

    /// That what has begun does not go on in the next line with one of these, with which it would be another thing than
    /// one sees.
    pub(super) fn ends_here(&self, goes_on: impl Fn(char) -> bool) -> Read {
        if self.continues() && self.rest().trim_start_matches("\\\n").starts_with(goes_on) {
            return Err(Unclear::new("a sign or name that goes on in the next line"));
        }
        Ok(())
    }

    pub(super) fn expect(&mut self, text: &str) -> Read {
        if self.take(text) { Ok(()) } else { Err(self.unexpected(text)) }
    }

    pub(super) fn unexpected(&self, wanted: &str) -> Unclear {
        match self.rest().chars().next() {
            Some(c) => Unclear::new(format!("`{wanted}` is expected and `{}` is there", c.escape_debug())),
            None => Unclear::new(format!("`{wanted}` is expected and the line ends")),
        }
    }

    /// Goes past blanks and continued lines.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.continues() => self.at += 2,
                _ => return,
            }
        }
    }

    /// Goes past blanks, comments and ends of lines.
    pub(super) fn newlines(&mut self) -> Read {
        loop {
            self.blanks();
            match self.peek() {
                Some(b'#') => self.comment(),
                Some(b'\n') => self.newline()?,
                _ => return Ok(()),
            }
        }
    }

    pub(super) fn comment(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    /// Goes past the end of a line, and the here-documents that follow it.
    pub(super) fn newline(&mut self) -> Read {
        self.at += 1;
        for pending in std::mem::take(&mut self.pending) {
            self.heredoc(&pending)?;
        }
        Ok(())
    }

    /// The unquoted word that is next, if it could be a reserved one. It stays next.
    pub(super) fn plain(&self) -> &'t str {
        let rest = self.rest();
        let end = rest.find([' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')']).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        if word.contains(['\'', '"', '\\', '$', '`']) { "" } else { word }
    }

    /// Goes past a reserved word, if it is next.
    pub(super) fn reserved(&mut self, word: &str) -> bool {
        let next = self.plain() == word;
        if next {
            self.at += word.len();
        }
        next
    }

    /// Goes past a reserved word that must be next.
    pub(super) fn expect_reserved(&mut self, word: &str) -> Read {
        self.newlines()?;
        if self.reserved(word) { Ok(()) } else { Err(self.unexpected(word)) }
    }

    /// Reads commands up to what ends them, which stays next.
    pub(super) fn list(&mut self, stop: Stop) -> Read {
        loop {
            let from = self.at;
            self.newlines()?;
            if stop == Stop::End && self.text.get(from..self.at).is_some_and(|passed| passed.contains('\n')) {
                self.assigned.line_ends();
            }
            if self.stops(stop)? {
                return Ok(());
            }
            self.definition = None;
            let before = self.assigned.len();
            let alone = self.and_or()?;
            self.blanks();
            if self.peek() == Some(b'&') {
                // In a process of its own.
                self.assigned.truncate(before);
            }
            // In the background, or on a condition, it may not be defined here.
            if let Some(name) = self.definition.take()
                && alone
                && self.depth == 0
                && self.peek() != Some(b'&')
            {
                self.script.functions.push(Function { name, from: Some(self.script.commands.len()) });
            }
            match self.peek() {
                Some(b'#') => self.comment(),
                Some(b';') if self.peek_at(1) == Some(b';') => {
                    if stop != Stop::Branch {
                        return Err(Unclear::new("`;;` outside of `case`"));
                    }
                }
                Some(b';' | b'&') if self.rest().starts_with(";&") => {
                    if stop != Stop::Branch {
                        return Err(Unclear::new("`;&` outside of `case`"));
                    }
                }
                Some(b';' | b'&') => self.at += 1,
                Some(b'\n' | b')') | None => {}
                Some(_) => return Err(self.unexpected(";")),
            }
        }
    }

    /// Whether what ends the list is next.
    fn stops(&self, stop: Stop) -> Read<bool> {
        match (stop, self.peek()) {
            (Stop::End, None) | (Stop::Parenthesis, Some(b')')) => Ok(true),
            (Stop::Branch, _) if self.rest().starts_with(";;") || self.rest().starts_with(";&") => Ok(true),
            (Stop::Branch, _) if self.plain() == "esac" => Ok(true),
            (Stop::Words(words), Some(_)) => Ok(words.contains(&self.plain())),
            (_, None) => Err(Unclear::new("the line ends too early")),
            _ => Ok(false),
        }
    }

    /// Says whether it is a single command.
    fn and_or(&mut self) -> Read<bool> {
        let mut alone = self.pipeline()?;
        let first = self.assigned.len();
        let mut all_and = true;
        loop {
            self.blanks();
            let and = self.take("&&");
            if !and && !self.take("||") {
                self.assigned.truncate(first);
                return Ok(alone);
            }
            alone = false;
            all_and &= and;
            // After a chain of `&&` all of it has run; else only the first has for sure.
            if !all_and {
                self.assigned.truncate(first);
            }
            self.newlines()?;
            self.pipeline()?;
        }
    }

    /// Says whether it is a single command.
    fn pipeline(&mut self) -> Read<bool> {
        let mut alone = true;
        self.prefixes()?;
        let before = self.assigned.len();
        loop {
            self.deeper(Self::command)?;
            self.blanks();
            let ends = self.rest().starts_with("||") || !self.take("|");
            if !ends || !alone {
                // Each in a process of its own.
                self.assigned.truncate(before);
            }
            if ends {
                return Ok(alone);
            }
            alone = false;
            self.script.only_bash |= self.take("&");
            self.newlines()?;
        }
    }

    /// Goes past `!` and `time` before a command.
    fn prefixes(&mut self) -> Read {
        loop {
            if self.reserved("time") {
                self.blanks();
                if self.reserved("-p") {
                    self.blanks();
                }
                if self.reserved("--") {
                    self.blanks();
                } else if self.peek() == Some(b'-') {
                    return Err(Unclear::new("options of `time`"));
                }
            } else if !self.reserved("!") {
                return Ok(());
            }
            self.blanks();
        }
    }

    /// Keeps a command.
    pub(super) fn found(&mut self, mut simple: Simple) -> Read {
        if self.script.commands.len() >= MOST {
            return Err(Unclear::new("it has too many commands"));
        }
        simple.again = self.again;
        self.script.commands.push(simple);
        Ok(())
    }
}
