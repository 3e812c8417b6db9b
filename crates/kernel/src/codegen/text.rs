//! Texts of others, as Python's literals.

use std::fmt::Write as _;

use serde_json::Value;

/// Whether a character is written by its number: it could end a line, or change how one looks.
fn is_hidden(c: char) -> bool {
    let changes_direction =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    c.is_control() || changes_direction
}

fn by_number(written: &mut String, c: char) {
    let _ = match u32::from(c) {
        code @ ..=0xff => write!(written, "\\x{code:02x}"),
        code @ ..=0xffff => write!(written, "\\u{code:04x}"),
        code => write!(written, "\\U{code:08x}"),
    };
}

/// A string literal on one line.
pub(super) fn quoted(text: &str) -> String {
    let mut written = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\t' => written.push_str("\\t"),
            c if is_hidden(c) => by_number(&mut written, c),
            c => written.push(c),
        }
    }
    written.push('"');
    written
}

/// A docstring, indented by so many spaces.
pub(super) fn docstring(text: &str, indent: usize) -> String {
    let (mut inside, mut after_quote) = (String::new(), false);
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => inside.push_str("\\\\"),
            // Three in a row would be the end, and so would one before it.
            '"' if after_quote || chars.peek().is_none() => inside.push_str("\\\""),
            '\n' | '\t' => inside.push(c),
            c if is_hidden(c) => by_number(&mut inside, c),
            c => inside.push(c),
        }
        after_quote = c == '"';
    }
    let margin = " ".repeat(indent);
    let lines: Vec<String> = inside
        .lines()
        .enumerate()
        .map(|(n, line)| if n == 0 || line.is_empty() { line.to_owned() } else { format!("{margin}{line}") })
        .collect();
    format!("{margin}\"\"\"{}\"\"\"\n", lines.join("\n"))
}

/// A value as Python writes it, if it is one that a `Literal` takes.
pub(super) fn literal(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(quoted(text)),
        Value::Bool(true) => Some("True".to_owned()),
        Value::Bool(false) => Some("False".to_owned()),
        Value::Null => Some("None".to_owned()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_literal() {
        for (text, expected) in [
            ("a", r#""a""#),
            ("a\"b\\", r#""a\"b\\""#),
            ("a\nb\r\0", r#""a\nb\x0d\x00""#),
            ("ö\u{202e}", r#""ö\u202e""#),
        ] {
            assert_eq!(quoted(text), expected, "{text:?}");
        }
        for (text, expected) in [
            ("plain", "\"\"\"plain\"\"\"\n"),
            ("say \"hi\"", "\"\"\"say \"hi\\\"\"\"\"\n"),
            ("\"\"\"\nimport os", "\"\"\"\"\\\"\\\"\nimport os\"\"\"\n"),
            ("back\\", "\"\"\"back\\\\\"\"\"\n"),
            ("a\rb", "\"\"\"a\\x0db\"\"\"\n"),
            ("back\\\"", "\"\"\"back\\\\\\\"\"\"\"\n"),
            ("", "\"\"\"\"\"\"\n"),
        ] {
            assert_eq!(docstring(text, 0), expected, "{text:?}");
        }
        assert_eq!(docstring("a\n\nb", 4), "    \"\"\"a\n\n    b\"\"\"\n");
    }
}
