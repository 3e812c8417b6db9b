//! Says what is wrong with a regular expression, where, and what to write instead.

use regex_syntax::ast::ErrorKind as Syntax;
use regex_syntax::ast::Span;

use super::Grep;
use crate::{Error, ErrorKind};

/// Columns of the pattern that are shown on each side of the mistake.
const SHOWN: usize = 60;

/// Why a pattern cannot be compiled. `reason` is what the compiler said; a mistake in the writing is
/// found again by parsing, because that knows its place.
pub(super) fn explain(grep: &Grep, reason: &grep_regex::Error) -> Error {
    let pattern = &grep.pattern;
    let parsed = if grep.literal { None } else { regex_syntax::Parser::new().parse(pattern).err() };
    let message = match parsed {
        Some(regex_syntax::Error::Parse(e)) => {
            placed(pattern, e.span(), &e.kind().to_string(), hint(e.kind(), pattern, e.span()))
        }
        Some(regex_syntax::Error::Translate(e)) => placed(pattern, e.span(), &e.kind().to_string(), None),
        // It is written well, and still not possible.
        _ => impossible(reason),
    };
    Error::new(ErrorKind::Invalid, "pattern", message)
}

fn impossible(reason: &grep_regex::Error) -> String {
    match reason.kind() {
        grep_regex::ErrorKind::NotAllowed(_) => {
            "it has the end of a line in it, and lines are searched one by one\n\
             hint: ask for a multiline search"
                .to_owned()
        }
        grep_regex::ErrorKind::Banned(_) => {
            "it has a NUL byte in it, and binary files are not searched".to_owned()
        }
        _ => format!("{reason}\nhint: search for something simpler, or for plain text"),
    }
}

/// The message with the pattern below it, and a mark under the mistake.
fn placed(pattern: &str, span: &Span, what: &str, hint: Option<String>) -> String {
    let line = pattern.lines().nth(span.start.line.saturating_sub(1)).unwrap_or_default();
    let column = span.start.column.saturating_sub(1);
    let width =
        if span.end.line == span.start.line { span.end.column.saturating_sub(span.start.column) } else { 1 };
    let skipped = column.saturating_sub(SHOWN);
    let shown: String = line.chars().skip(skipped).take(2 * SHOWN).collect();
    let mark = " ".repeat(column - skipped) + &"^".repeat(width.clamp(1, SHOWN));
    let mut message = format!("{what}, at character {}\n    {shown}\n    {mark}", column + 1);
    if span.start.line > 1 {
        message = format!("line {}: {message}", span.start.line);
    }
    if let Some(hint) = hint {
        message += "\nhint: ";
        message += &hint;
    }
    message
}

fn hint(kind: &Syntax, pattern: &str, span: &Span) -> Option<String> {
    let found = pattern.get(span.start.offset..).and_then(|rest| rest.chars().next());
    let escape = |char: char| format!("write `\\{char}` for the character itself");
    let hint = match kind {
        Syntax::UnsupportedLookAround => "look-ahead and look-behind do not exist here; match what \
             is around as well, or search twice"
            .to_owned(),
        Syntax::UnsupportedBackreference => {
            "a pattern cannot refer to its own groups here; write the text out".to_owned()
        }
        Syntax::RepetitionCountInvalid
        | Syntax::RepetitionCountDecimalEmpty
        | Syntax::RepetitionCountUnclosed
        | Syntax::DecimalEmpty
        | Syntax::DecimalInvalid => escape('{'),
        Syntax::RepetitionMissing => escape(found.filter(|char| "*+?{".contains(*char)).unwrap_or('*')),
        Syntax::GroupUnclosed => escape('('),
        Syntax::GroupUnopened => escape(')'),
        Syntax::ClassUnclosed => escape('['),
        Syntax::EscapeUnexpectedEof => escape('\\'),
        Syntax::EscapeUnrecognized => "a letter or digit after `\\` needs a meaning; leave the `\\` out \
             for the character itself"
            .to_owned(),
        _ => return None,
    };
    Some(hint)
}

#[cfg(test)]
mod tests {
    use crate::search::pattern::Pattern;
    use crate::{ErrorKind, RealPath, Search, Target};

    /// The whole message for a pattern.
    fn message(pattern: &str) -> String {
        let Target::Text(grep) = Search::grep(pattern, RealPath::resolved("/")).target else { panic!() };
        let error = Pattern::compile(&grep).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        error.to_string()
    }

    #[test]
    fn the_place_is_shown() {
        assert_eq!(
            message("interface{} x"),
            "pattern: repetition quantifier expects a valid decimal, at character 11\n    \
             interface{} x\n              ^\nhint: write `\\{` for the character itself"
        );
    }

    #[test]
    fn hints_say_what_to_write() {
        for (pattern, says) in [
            ("fn main() {", "`\\{`"),
            ("a{x}", "`\\{`"),
            ("a{2", "`\\{`"),
            ("*.rs", "`\\*`"),
            ("+1", "`\\+`"),
            ("foo(", "`\\(`"),
            ("foo)", "`\\)`"),
            ("foo[", "`\\[`"),
            ("foo\\", "`\\\\`"),
            ("\\y", "leave the `\\` out"),
            ("(?=x)", "look-ahead"),
            ("(?<!x)y", "look-ahead"),
            (r"(a)\1", "its own groups"),
            ("a\nb", "multiline"),
            (r"\nb", "multiline"),
            ("\\x00", "NUL"),
            (r"(\pL{1000}){1000}", "simpler"),
        ] {
            assert!(message(pattern).contains(says), "{pattern}: {}", message(pattern));
        }
    }

    #[test]
    fn of_a_long_pattern_the_part_with_the_mistake_is_shown() {
        let shown = message(&("é".repeat(5000) + "(" + &"ü".repeat(5000)));
        assert!(shown.contains("at character 5001\n"), "{shown}");
        assert!(shown.contains("éé(üü"), "{shown}");
        assert!(shown.len() < 1000, "{shown}");
    }

    #[test]
    fn the_line_of_a_mistake_is_named() {
        assert!(message("(?x) a\n (b").contains("line 2: "), "{}", message("(?x) a\n (b"));
    }
}
