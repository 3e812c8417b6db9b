//! `@path` in an input: the file that is meant goes with it.
//!
//! What looks like a reference and names nothing that is there is a text like any other: addresses, decorators and
//! handles have the same form.

mod include;

use std::path::PathBuf;

use crate::slash::Includes;

pub(crate) use include::include;

/// How many references of one input are looked at.
const MOST: usize = 32;

/// A reference in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// What it may name, the longest first: a dot behind a name may end the name or the sentence.
    pub(crate) paths: Vec<String>,
    /// Where that must be, if it is not the user who names it.
    pub(crate) within: Option<PathBuf>,
}

impl Reference {
    /// As it counts in a text that includes such files, beside what was typed; `None` if it does not.
    pub(crate) fn held(self, typed: &[Self], includes: &Includes) -> Option<Self> {
        if typed.iter().any(|typed| typed.paths == self.paths) {
            return Some(self);
        }
        match includes {
            Includes::Any => Some(self),
            Includes::Below(folder) => Some(Self { within: Some(folder.clone()), ..self }),
            Includes::None => None,
        }
    }
}

/// The references in a text, each once.
pub(crate) fn find(text: &str) -> Vec<Reference> {
    let mut found: Vec<Reference> = Vec::new();
    let mut before = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = rest.split_at(c.len_utf8()).1;
        if c == '@'
            && before.is_none_or(|before: char| before.is_whitespace() || "([{<\"',;:".contains(before))
        {
            let (paths, length) = named(rest);
            if !paths.is_empty() && !found.iter().any(|known| known.paths == paths) {
                found.push(Reference { paths, within: None });
                if found.len() == MOST {
                    break;
                }
            }
            rest = rest.split_at(length).1;
            before = Some('@');
        } else {
            before = Some(c);
        }
    }
    found
}

/// What may be named by what follows an `@`, and how long that is.
fn named(text: &str) -> (Vec<String>, usize) {
    if let Some(quoted) = text.strip_prefix('"') {
        let line = quoted.split('\n').next().unwrap_or_default();
        return match line.split_once('"') {
            Some((path, _)) if !path.trim().is_empty() => (vec![path.to_owned()], path.len() + 2),
            _ => (Vec::new(), 0),
        };
    }
    let (mut path, mut length, mut escaped) = (String::new(), 0, false);
    for c in text.chars() {
        if !escaped && (c.is_whitespace() || "@\"`<>|".contains(c)) {
            break;
        }
        length += c.len_utf8();
        if c == '\\' && !escaped {
            escaped = true;
            continue;
        }
        if escaped && !(c == ' ' || c == '\\') {
            path.push('\\');
        }
        escaped = false;
        path.push(c);
    }
    let mut paths = Vec::new();
    let mut left = path.as_str();
    while !left.is_empty() {
        paths.push(left.to_owned());
        let shorter = left.trim_end_matches(|c: char| ".,;:!?)]}'".contains(c));
        left = if shorter.len() < left.len() { shorter } else { "" };
    }
    (paths, length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn references_are_told_from_what_looks_like_them() {
        let check = |text: &str, expected: &[&[&str]]| {
            let found: Vec<Vec<String>> = find(text).into_iter().map(|reference| reference.paths).collect();
            assert_eq!(found, expected, "{text}");
        };
        check("Explain @src/main.rs please", &[&["src/main.rs"]]);
        check("@a.rs and @b.rs, and (@c/d)", &[&["a.rs"], &["b.rs,", "b.rs"], &["c/d)", "c/d"]]);
        check("Look at @src/.", &[&["src/.", "src/"]]);
        check("Mend @\"my file.rs\".", &[&["my file.rs"]]);
        check(r"Mend @my\ file.rs now", &[&["my file.rs"]]);
        check("@~/notes.md", &[&["~/notes.md"]]);
        check("twice @a and @a", &[&["a"]]);
        check("@été/é.rs", &[&["été/é.rs"]]);
        for none in ["me@example.org", "a@b", "@", "@ x", "@\"open", "@\"\"", "`@x`", "git@host:r.git", ""] {
            check(none, &[]);
        }
        let many: Vec<String> = (0..100).map(|n| format!("@f{n}")).collect();
        assert_eq!(find(&many.join(" ")).len(), MOST);
    }

    proptest! {
        /// Whatever is said, what is named was said.
        #[test]
        fn any_text_is_looked_through(text in "[@\" a./,é\n]{0,40}") {
            for path in find(&text).iter().flat_map(|reference| &reference.paths) {
                prop_assert!(!path.is_empty() && text.contains(path.as_str()), "{path:?}");
            }
        }
    }
}
