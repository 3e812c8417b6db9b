//! Words: quotes, patterns and expansions.

use super::compound::is_name;
use super::reader::{Inner, RESERVED, Reader};
use super::unquoted::may_be_nothing;
use super::word::Piece;
use super::{Assignment, Read, Simple, Unclear, Word};

impl Reader<'_, '_> {
    /// Reads a word; braces may make several of it.
    pub(super) fn word(&mut self) -> Read<Vec<Word>> {
        let word = self.whole_word()?;
        self.several(word)
    }

    /// The words that braces make of one.
    pub(super) fn several(&mut self, word: Word) -> Read<Vec<Word>> {
        let words = word.alternatives()?;
        self.count(words.len())?;
        Ok(words)
    }

    /// Reads a word, with its braces in it.
    pub(super) fn whole_word(&mut self) -> Read<Word> {
        self.pieces(Kind::Plain)
    }

    /// Reads the value of an assignment.
    pub(super) fn assigned_word(&mut self, kind: Kind) -> Read<Word> {
        self.pieces(kind)
    }

    fn pieces(&mut self, kind: Kind) -> Read<Word> {
        let start = self.at;
        let mut pieces = Vec::new();
        let mut assigned_home = false;
        // Where the value begins, if this looks like an assignment, and whether what is before it is a name.
        let mut value = None;
        self.tilde(&mut pieces, kind)?;
        while let Some(c) = self.peek() {
            match c {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => {
                    self.at += 2;
                    self.script.only_bash = true;
                    self.substituted()?;
                    // It is a pipe, which has some name like this.
                    pieces.push(Piece::Text("/dev/fd/63".to_owned()));
                }
                b'<' | b'>' => {
                    // `{fd}>file` is a redirection, and the command comes after it.
                    if self
                        .text
                        .get(start..self.at)
                        .is_some_and(|word| word.starts_with('{') && word.ends_with('}'))
                    {
                        return Err(Unclear::new("a redirection that sets a variable"));
                    }
                    break;
                }
                b'(' => {
                    // After a plain word this is a function's; the caller knows.
                    if pieces.iter().all(|piece| matches!(piece, Piece::Text(_))) && !pieces.is_empty() {
                        break;
                    }
                    return Err(Unclear::new("a parenthesis in a word"));
                }
                b'\\' if self.continues() => {
                    // Where the word goes on in the next line, it is not the word one sees; nor is one that means
                    // something to bash, which knows it all the same.
                    let reserved = RESERVED.contains(&self.text.get(start..self.at).unwrap_or_default());
                    self.at += 2;
                    if reserved || !matches!(self.peek(), None | Some(b' ' | b'\t' | b'\n')) {
                        return Err(Unclear::new("a word that goes on in the next line"));
                    }
                    break;
                }
                b'\\' => {
                    self.at += 1;
                    let c = self.bump().ok_or_else(|| Unclear::new("a backslash at the end"))?;
                    pieces.push(Piece::Text(c.into()));
                }
                b'\'' => pieces.push(Piece::Text(self.single_quoted()?)),
                b'"' => self.double_quoted(&mut pieces)?,
                b'$' | b'`' => self.dollar_or_backquote(&mut pieces, false)?,
                b'*' | b'?' => {
                    self.at += 1;
                    if self.peek() == Some(b'(') {
                        return Err(Unclear::new("an extended pattern"));
                    }
                    pieces.push(Piece::Glob(char::from(c).into()));
                }
                b'[' => self.set(&mut pieces)?,
                b'{' if !matches!(kind, Kind::Value) => self.braces(&mut pieces, kind)?,
                b'~' if pieces.last().is_some_and(may_be_nothing) => {
                    return Err(Unclear::new("a tilde behind braces"));
                }
                b'~' if matches!(self.text.as_bytes().get(self.at.wrapping_sub(1)), Some(b':' | b'=')) => {
                    let before = self.text.get(start..self.at).unwrap_or_default();
                    if value.is_none() {
                        value = before.split_once('=').map(|(name, _)| (name.len() + 1, is_name(name)));
                    }
                    let assigned = value.filter(|(_, named)| *named).and_then(|(at, _)| before.get(at..));
                    // A colon may be anywhere in the value, an equals sign only before it.
                    let means_home = match assigned {
                        _ if before.ends_with(':') && !matches!(kind, Kind::Plain) => true,
                        Some(value) if matches!(kind, Kind::Plain) => {
                            value.is_empty() || value.ends_with(':')
                        }
                        _ => false,
                    };
                    if means_home {
                        self.tilde(&mut pieces, Kind::Value)?;
                        assigned_home = true;
                    } else {
                        // Whether it stands for a home depends on who reads it.
                        self.at += 1;
                        pieces.push(Piece::Unknown { quoted: true });
                    }
                }
                _ => pieces.push(Piece::Text(self.run(b" \t\n;&|<>()\\'\"$`*?[{~").to_owned())),
            }
        }
        if self.at == start {
            return Err(self.unexpected("a word"));
        }
        // The words that braces make are no assignments any more, and their tildes nothing.
        if assigned_home && pieces.iter().any(|piece| matches!(piece, Piece::OneOf(_))) {
            return Err(Unclear::new("a tilde and braces in what looks like an assignment"));
        }
        Ok(Word::new(pieces, self.text.get(start..self.at).unwrap_or_default()))
    }

    fn single_quoted(&mut self) -> Read<String> {
        self.at += 1;
        let end = self.rest().find('\'').ok_or_else(|| Unclear::new("a quote that does not end"))?;
        let text = self.rest().get(..end).unwrap_or_default().to_owned();
        self.at += end + 1;
        self.quoted_newline(&text)?;
        Ok(text)
    }

    fn quoted_newline(&self, text: &str) -> Read {
        if text.contains('\n') && !self.pending.is_empty() {
            return Err(Unclear::new("a text of several lines beside a here-document"));
        }
        Ok(())
    }

    fn double_quoted(&mut self, pieces: &mut Vec<Piece>) -> Read {
        let start = self.at;
        self.at += 1;
        // Also if there is nothing between them, the quotes make a word.
        pieces.push(Piece::Text(String::new()));
        loop {
            match self.peek() {
                None => return Err(Unclear::new("a quote that does not end")),
                Some(b'"') => {
                    self.at += 1;
                    return self.quoted_newline(self.text.get(start..self.at).unwrap_or_default());
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.bump() {
                        None => return Err(Unclear::new("a quote that does not end")),
                        Some('\n') => {}
                        Some(c @ ('$' | '`' | '"' | '\\')) => pieces.push(Piece::Text(c.into())),
                        Some(c) => pieces.push(Piece::Text(format!("\\{c}"))),
                    }
                }
                Some(b'$' | b'`') => self.dollar_or_backquote(pieces, true)?,
                Some(_) => pieces.push(Piece::Text(self.run(b"\"\\$`").to_owned())),
            }
        }
    }

    /// Reads an expansion or a substitution, if the `$` or backquote that is next begins one.
    pub(super) fn dollar_or_backquote(&mut self, pieces: &mut Vec<Piece>, quoted: bool) -> Read {
        if self.peek() == Some(b'`') {
            self.at += 1;
            self.backquoted(quoted)?;
            pieces.push(Piece::Unknown { quoted });
            return Ok(());
        }
        self.at += 1;
        if self.continues() {
            return Err(Unclear::new("an expansion that goes on in the next line"));
        }
        match self.peek() {
            Some(b'(') if self.peek_at(1) == Some(b'(') => {
                self.at += 2;
                self.arithmetic("))")?;
                pieces.push(Piece::Number);
            }
            Some(b'(') => {
                self.at += 1;
                self.ends_here(|c| c == '(')?;
                self.substituted()?;
                pieces.push(Piece::Unknown { quoted });
            }
            Some(b'{') => {
                self.at += 1;
                self.deeper(|this| this.parameter(pieces, quoted))?;
            }
            Some(b'[') => return Err(Unclear::new("`$[`, the old arithmetic")),
            Some(b'\'') if !quoted => {
                self.script.only_bash = true;
                pieces.push(Piece::Text(self.escaped()?));
            }
            // What it says in another language comes from a file, and is expanded then.
            Some(b'"') if !quoted => return Err(Unclear::new("`$\"`, a text that is translated")),
            Some(c) if c.is_ascii_alphabetic() || c == b'_' => {
                let rest = self.rest();
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                let name = rest.get(..end).unwrap_or_default().to_owned();
                self.at += end;
                self.ends_here(|c| c.is_ascii_alphanumeric() || c == '_')?;
                let assigned = self.assigned.has_surely(&name);
                pieces.push(Piece::Variable { name, quoted, assigned });
            }
            Some(b'#' | b'?' | b'$') => {
                self.at += 1;
                pieces.push(Piece::Number);
            }
            Some(b'0'..=b'9' | b'@' | b'*' | b'-' | b'!') => {
                self.at += 1;
                pieces.push(Piece::Unknown {
                    quoted: quoted && self.text.as_bytes().get(self.at - 1) != Some(&b'@'),
                });
            }
            _ => pieces.push(Piece::Text("$".to_owned())),
        }
        Ok(())
    }

    /// The text between backquotes, of which the first is behind, is a script with its own backslashes.
    fn backquoted(&mut self, quoted: bool) -> Read {
        let mut text = String::new();
        loop {
            match self.bump() {
                None => return Err(Unclear::new("a backquote that does not end")),
                Some('`') => break,
                Some('\\') => match self.bump() {
                    None => return Err(Unclear::new("a backquote that does not end")),
                    // Here the lines are joined before anything else is read, also in comments and quotes.
                    Some('\n') => return Err(Unclear::new("backquotes that go on in the next line")),
                    Some(c @ ('`' | '\\' | '$')) => text.push(c),
                    // In double quotes this is one thing, in a here-document perhaps another.
                    Some('"') if quoted => return Err(Unclear::new("a quote in backquotes in quotes")),
                    Some(c) => text.extend(['\\', c]),
                },
                Some(c) => text.push(c),
            }
        }
        self.quoted_newline(&text)?;
        self.inner(&text, Inner::Script)
    }

    /// `${…}`, of which the opening is behind.
    fn parameter(&mut self, pieces: &mut Vec<Piece>, quoted: bool) -> Read {
        let length = self.peek() == Some(b'#') && self.peek_at(1) != Some(b'}');
        if length {
            self.at += 1;
        }
        let indirect = self.peek() == Some(b'!') && self.peek_at(1) != Some(b'}');
        if indirect {
            self.at += 1;
        }
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let mut name = rest.get(..end).unwrap_or_default().to_owned();
        if name.is_empty() {
            match self.bump() {
                Some(c @ ('@' | '*' | '#' | '?' | '-' | '$' | '!')) => name.push(c),
                _ => return Err(Unclear::new("an expansion that is not plain")),
            }
        } else {
            self.at += end;
        }
        let mut whole = !length && !indirect && is_name(&name);
        if indirect {
            // The variable holds a name, perhaps with a subscript, and that is evaluated.
            self.assigned.may_fail();
            self.evaluates(&name)?;
        }
        if self.take("[") {
            whole = false;
            self.subscript()?;
        }
        if self.take("}") {
            pieces.push(if whole {
                Piece::Variable { assigned: self.assigned.has_surely(&name), name, quoted }
            } else {
                Piece::Unknown { quoted: quoted && name != "@" }
            });
            return Ok(());
        }
        // What it does depends on whether there is a value.
        self.block(|this| this.operated(&name, quoted))?;
        pieces.push(Piece::Unknown { quoted: quoted && name != "@" });
        Ok(())
    }

    /// A subscript, of which the bracket is behind.
    pub(super) fn subscript(&mut self) -> Read {
        if self.take("@]") || self.take("*]") {
            return Ok(());
        }
        self.arithmetic("]")
    }

    /// What an expansion does with the value, up to the closing brace.
    fn operated(&mut self, name: &str, quoted: bool) -> Read {
        if self.take(":=") || self.take("=") {
            // It assigns.
            let assignments = vec![Assignment { name: name.to_owned(), value: None, list: false }];
            self.found(Simple { assignments, ..Simple::default() })?;
        } else if self.peek() == Some(b':') && !matches!(self.peek_at(1), Some(b'-' | b'+' | b'?')) {
            self.at += 1;
            return self.substring();
        } else if !matches!(self.peek(), Some(b':' | b'-' | b'+' | b'?' | b'#' | b'%' | b'/' | b'^' | b',')) {
            // `@P` among them, which expands the value once more.
            return Err(Unclear::new("an expansion that is not plain"));
        }
        loop {
            match self.peek() {
                None => return Err(Unclear::new("an expansion that does not end")),
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.bump();
                }
                // Within double quotes it depends on the operator whether this is a quote.
                Some(b'\'') if quoted => return Err(Unclear::new("a quote in an expansion")),
                Some(b'\'') => drop(self.single_quoted()?),
                Some(b'"') => self.double_quoted(&mut Vec::new())?,
                // Also within double quotes.
                Some(b'$') if self.peek_at(1) == Some(b'"') => {
                    return Err(Unclear::new("`$\"`, a text that is translated"));
                }
                Some(b'$' | b'`') => self.dollar_or_backquote(&mut Vec::new(), quoted)?,
                Some(b'<' | b'>' | b'{' | b'\n') => {
                    return Err(Unclear::new("an expansion that is not plain"));
                }
                Some(_) => drop(self.bump()),
            }
        }
    }

    /// `offset:length}`: arithmetic.
    fn substring(&mut self) -> Read {
        self.arithmetic("}")
    }

    /// `$'…'`, of which the dollar is behind.
    fn escaped(&mut self) -> Read<String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.bump() {
                None => return Err(Unclear::new("a quote that does not end")),
                Some('\'') => break,
                Some('\\') => text.push(self.escape()?),
                Some(c) => text.push(c),
            }
        }
        self.quoted_newline(&text)?;
        Ok(text)
    }

    fn escape(&mut self) -> Read<char> {
        let odd = || Unclear::new("an unusual escape");
        let (digits, radix) = match self.bump().ok_or_else(odd)? {
            'n' => return Ok('\n'),
            't' => return Ok('\t'),
            c @ ('\\' | '\'' | '"' | '?') => return Ok(c),
            'x' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            '0'..='7' => {
                self.at -= 1;
                (3, 8)
            }
            _ => return Err(odd()),
        };
        let rest = self.rest().as_bytes();
        let count = rest.iter().take(digits).take_while(|c| char::from(**c).is_digit(radix)).count();
        let code = self.rest().get(..count).and_then(|code| u32::from_str_radix(code, radix).ok());
        self.at += count;
        let c = code.and_then(char::from_u32).ok_or_else(odd)?;
        // A byte beyond ASCII may be a part of a character, and the others are not for the eye.
        if c.is_control() || (digits < 4 && !c.is_ascii()) {
            return Err(odd());
        }
        Ok(c)
    }
}

/// Where a word stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Among the words of a command.
    Plain,
    /// In an assignment, in which braces are plain and a tilde may follow a colon.
    Value,
    /// In an assignment that is a word of `declare` and its like, in which braces make several words.
    Declared,
}
