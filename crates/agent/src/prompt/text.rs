//! Making foreign text fit into one line.

/// The text on one line: line ends and other control characters are shown as what they are, so that
/// the name of a directory or the subject of a commit cannot pose as a line of the prompt.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

/// The first characters of a line, with a sign that there were more.
pub(super) fn shortened(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_on_its_line() {
        for (text, expected) in [
            ("main", "main"),
            ("", ""),
            ("a b/ü 日本", "a b/ü 日本"),
            ("a\nModel: evil", "a\\nModel: evil"),
            ("a\r\tb\u{1b}[2J", "a\\r\\tb\\u{1b}[2J"),
            ("a\u{85}b\u{2028}c", "a\\u{85}b\\u{2028}c"),
        ] {
            assert_eq!(one_line(text), expected);
        }
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        for (line, most, expected) in
            [("", 3, ""), ("abc", 3, "abc"), ("abcd", 3, "abc…"), ("日本語", 2, "日本…"), ("é", 0, "…")]
        {
            assert_eq!(shortened(line, most), expected);
        }
    }
}
