//! Arithmetic: it evaluates the text of variables, and that text may hold substitutions.

use super::compound::is_name;
use super::reader::Reader;
use super::word::Piece;
use super::{Read, Unclear, Word};

impl Reader<'_, '_> {
    /// Reads an expression up to its end (`))`, or `]` of a subscript), which is then behind.
    pub(super) fn arithmetic(&mut self, end: &str) -> Read {
        self.deeper(|this| {
            let start = this.at;
            let mut open = 0_usize;
            loop {
                if open == 0 && this.take(end) {
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
                    Some(b'$' | b'`') => this.evaluated_expansion()?,
                    Some(c) if c.is_ascii_alphabetic() || c == b'_' => {
                        let rest = this.rest();
                        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                        let name = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                        this.script.evaluated.push(name.to_owned());
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

    /// An expansion in arithmetic: the text it gives is evaluated.
    fn evaluated_expansion(&mut self) -> Read {
        let mut pieces = Vec::new();
        self.dollar_or_backquote(&mut pieces, true)?;
        for piece in pieces {
            match piece {
                Piece::Variable { name, .. } => self.script.evaluated.push(name),
                // The output of a command, a default, a positional parameter: any text.
                Piece::Unknown { .. } => self.script.evaluated.push(String::new()),
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
                Piece::Text(text) if is_name(text) => self.script.evaluated.push(text.clone()),
                Piece::Variable { name, .. } => self.script.evaluated.push(name.clone()),
                Piece::Unknown { .. } => self.script.evaluated.push(String::new()),
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
