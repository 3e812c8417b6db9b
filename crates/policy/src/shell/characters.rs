//! Characters that make a line look like another one.

/// The first character that a person would not see, or that looks like nothing in particular, with a name for
/// it. Letters of other scripts are fine in arguments; [`look_alike`] is for the names of programs.
pub(crate) fn suspicious(line: &str) -> Option<String> {
    line.chars().find_map(|c| {
        let what = match c {
            '\n' | '\t' => return None,
            '\0' => "a NUL character",
            '\r' => "a carriage return, which hides what is before it on a terminal",
            '\u{1b}' => "an escape character",
            '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{2064}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{e0000}'..='\u{e0fff}' => "an invisible character",
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' => {
                "a character that changes the direction of the text"
            }
            '\u{85}'
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}' => "a blank that is none for the shell",
            c if c.is_control() => "a control character",
            _ => return None,
        };
        Some(format!("{what} (U+{:04X})", u32::from(c)))
    })
}

/// The first character of a program's name that is not ASCII.
pub(crate) fn look_alike(name: &str) -> Option<String> {
    let c = name.chars().find(|c| !c.is_ascii())?;
    Some(format!(
        "`{c}` (U+{:04X}) in the name of the command, which may look like another letter",
        u32::from(c)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_named() {
        for (line, code) in [
            ("ls\u{200b}", "U+200B"),
            ("ls \u{202e}txt", "U+202E"),
            ("ls\r", "U+000D"),
            ("ls\0", "U+0000"),
            ("ls\u{a0}-l", "U+00A0"),
            ("ls\u{7}", "U+0007"),
            ("ls\u{e0041}", "U+E0041"),
        ] {
            let found = suspicious(line).unwrap_or_default();
            assert!(found.contains(code), "{line:?}: {found}");
        }
        assert_eq!(suspicious("echo 'Grüße, 世界'\n\tls"), None);
        assert!(look_alike("ѕudo").is_some_and(|why| why.contains("U+0455")));
        assert_eq!(look_alike("sudo"), None);
    }
}
