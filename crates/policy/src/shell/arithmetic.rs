//! Arithmetic: it evaluates the text of variables, and that text may hold substitutions.

use super::compound::is_name;
use super::reader::Reader;
use super::word::Piece;
use super::{Assignment, Read, Simple, Unclear, Word};

impl Reader<'_, '_> {
    /// Reads an expression up to its end (`))`, or `]` of a subscript), which is then behind.
    pub(super) fn arithmetic(&mut self, end: &str) -> Read {
        self.deeper(|this| {
            let start = this.at;
            // All but a small number, which is none of another base.
            if !this
                .rest()
                .strip_prefix(|c: char| c.is_ascii_digit())
                .is_some_and(|rest| rest.starts_with(end))
            {
                this.assigned.may_fail();
            }
            let mut open = 0_usize;
            // Up to the first semicolon all of it is evaluated, once, from the left.
            let mut once = end == "))";
            let mut number = if once { this.assigned_number()? } else { None };
            loop {
                if open == 0 && this.take(end) {
                    this.assigned.add(number);
                    return plain(this.text.get(start..this.at).unwrap_or_default());
                }
                match this.peek() {
                    None => return Err(this.unexpected(end)),
                    Some(b'(') => {
                        open += 1;
                        this.at += 1;
                    }
                    Some(b')') if open > 0 => {
                        open -= 1;
                        this.at += 1;
                    }
                    Some(b'[') => {
                        this.at += 1;
                        this.arithmetic("]")?;
                    }
                    Some(b',' | b';') if open == 0 && once => {
                        once = this.peek() == Some(b',');
                        this.at += 1;
                        this.assigned.add(number.take());
                        if once {
                            number = this.assigned_number()?;
                        }
                    }
                    Some(b'$' | b'`') => this.evaluated_expansion()?,
                    Some(c) if c.is_ascii_alphabetic() || c == b'_' => {
                        let rest = this.rest();
                        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                        let name = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                        this.evaluates(name)?;
                        this.at += name.len();
                    }
                    Some(b'0'..=b'9') => {
                        let rest = this.rest();
                        let end =
                            rest.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '#' | '_' | '@'));
                        this.at += end.unwrap_or(rest.len());
                    }
                    Some(
                        b' ' | b'\t' | b'\n' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!'
                        | b'&' | b'|' | b'^' | b'~' | b'?' | b':' | b',' | b';',
                    ) if this.pending.is_empty() || this.peek() != Some(b'\n') => this.at += 1,
                    Some(_) => return Err(Unclear::new("arithmetic that is not plain")),
                }
            }
        })
    }

    /// `name = …` where an expression begins: the variable gets a number, and its text is not looked at.
    /// Its own text may still stand in the expression, so it has the number only after that.
    fn assigned_number(&mut self) -> Read<Option<String>> {
        let before = self.rest().trim_start_matches([' ', '\t']);
        let end = before.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(before.len());
        let (name, after) = before.split_at(end);
        let after = after.trim_start_matches([' ', '\t']);
        if !is_name(name) || !after.starts_with('=') || after.starts_with("==") {
            return Ok(None);
        }
        let name = name.to_owned();
        self.at += self.rest().len() - after.len() + 1;
        let value = Some(Word::new(vec![Piece::Number], &name));
        let assignments = vec![Assignment { name: name.clone(), value, list: false }];
        self.found(Simple { assignments, ..Simple::default() })?;
        Ok(Some(name))
    }

    /// An expansion in arithmetic: the text it gives is evaluated.
    fn evaluated_expansion(&mut self) -> Read {
        let mut pieces = Vec::new();
        self.dollar_or_backquote(&mut pieces, true)?;
        for piece in pieces {
            match piece {
                Piece::Variable { name, .. } => self.evaluates(&name)?,
                // The output of a command, a default, a positional parameter: any text.
                Piece::Unknown { .. } => self.evaluates("")?,
                _ => {}
            }
        }
        Ok(())
    }

    /// A word whose text is evaluated.
    pub(super) fn evaluated(&mut self, word: &Word) -> Read {
        for piece in word.pieces() {
            match piece {
                Piece::Text(text) if text.bytes().all(|c| c.is_ascii_digit() || matches!(c, b'-' | b'+')) => {
                }
                Piece::Text(text) if is_name(text) => self.evaluates(text)?,
                Piece::Variable { name, .. } => self.evaluates(name)?,
                Piece::Unknown { .. } => self.evaluates("")?,
                Piece::Number => {}
                _ => return Err(Unclear::new("a text that is evaluated as arithmetic or as a name")),
            }
        }
        Ok(())
    }
}

/// Bash finds the end of arithmetic by counting parentheses, before it reads what is between them. What is in it
/// must not be able to confuse that: then it would be commands.
fn plain(text: &str) -> Read {
    if text.contains(['\'', '"', '\\', '#']) || ["case", "esac", "<<"].iter().any(|word| text.contains(word))
    {
        return Err(Unclear::new("arithmetic that is not plain"));
    }
    Ok(())
}
