//! A line for a list, from what somebody said.

/// The most characters of a title.
const MOST: usize = 80;

/// The first line that says something, its blanks made one each, cut at a word where it is long.
pub(super) fn title(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut title = String::new();
    let mut characters = 0;
    for word in line.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        let blank = usize::from(!title.is_empty());
        let length = word.chars().count();
        if characters + blank + length > MOST {
            // A word that alone fills the line is cut; another one is left out.
            if characters < MOST / 2 {
                let room = MOST.saturating_sub(characters + blank + 1);
                title.extend((blank > 0).then_some(' '));
                title.extend(word.chars().take(room));
            }
            title.push('…');
            return title;
        }
        title.extend((blank > 0).then_some(' '));
        title.push_str(word);
        characters += blank + length;
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_short_lines() {
        let check = |text: &str, expected: &str| {
            let found = title(text);
            assert_eq!(found, expected);
            assert!(found.chars().count() <= MOST + 1, "{found}");
        };
        check("", "");
        check(" \n\t\n", "");
        check("Fix the tests", "Fix the tests");
        check("\n\n  Fix\tthe   tests \nand then the rest", "Fix the tests");
        check("\u{1b}[31mred\u{7}", "[31mred");
        check(&"word ".repeat(40), &format!("{}…", "word ".repeat(16).trim_end()));
        check(&"x".repeat(200), &format!("{}…", "x".repeat(79)));
        check(&format!("a {}", "é".repeat(200)), &format!("a {}…", "é".repeat(77)));
        check(&format!("{} {}", "a".repeat(60), "b".repeat(60)), &format!("{}…", "a".repeat(60)));
    }
}
