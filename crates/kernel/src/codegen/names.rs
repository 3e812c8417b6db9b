//! Names that Python takes, for names that are anything.

use std::collections::HashSet;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// What Python keeps for itself.
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];
/// The longest name that is made.
const LONGEST: usize = 80;
/// How many bytes of a digest keep names apart.
const DIGEST: usize = 3;

/// Whether a name can be a module's or a function's, and says nothing special to Python.
pub(crate) fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.len() <= LONGEST
        && !KEYWORDS.contains(&name)
}

/// The nearest name that Python takes. Names that begin with an underscore are ours.
pub(super) fn fitted(raw: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut name: String = raw.chars().take(LONGEST - "tool_".len()).map(plain).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name = format!("tool_{}", name.trim_start_matches('_'));
    }
    if KEYWORDS.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// A name for each, in the same order, none twice and none of the reserved ones. What is a name already keeps it;
/// of others that would be alike the first in the alphabet has it, and the rest get a mark of their own.
pub(crate) fn unique(raw: &[&str], reserved: &[&str]) -> Vec<String> {
    let mut taken: HashSet<String> = reserved.iter().map(|name| (*name).to_owned()).collect();
    let mut names = vec![String::new(); raw.len()];
    let mut order: Vec<usize> = (0..raw.len()).collect();
    order.sort_by_key(|place| raw.get(*place).map(|raw| (!is_name(raw), *raw, *place)));
    for place in order {
        let Some((raw, name)) = raw.get(place).zip(names.get_mut(place)) else { continue };
        *name = apart(raw, &mut taken);
    }
    names
}

fn apart(raw: &str, taken: &mut HashSet<String>) -> String {
    let fitted = fitted(raw);
    if taken.insert(fitted.clone()) {
        return fitted;
    }
    let mut digest = String::new();
    for byte in Sha256::digest(raw.as_bytes()).iter().take(DIGEST) {
        let _ = write!(digest, "{byte:02x}");
    }
    let marked = format!("{}_{digest}", fitted.trim_end_matches('_'));
    if taken.insert(marked.clone()) {
        return marked;
    }
    let mut number = 2_usize;
    loop {
        let numbered = format!("{marked}_{number}");
        if taken.insert(numbered.clone()) {
            return numbered;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_becomes_one_that_python_takes() {
        for (raw, expected) in [
            ("create_issue", "create_issue"),
            ("Create", "Create"),
            ("my-server", "my_server"),
            ("a.b/c", "a_b_c"),
            ("import", "import_"),
            ("None", "None_"),
            ("1st", "tool_1st"),
            ("_hidden", "tool_hidden"),
            ("__getattr__", "tool_getattr__"),
            ("größe", "gr__e"),
            ("ä", "tool_"),
            ("", "tool_"),
            ("x\ny", "x_y"),
            ("match", "match"),
        ] {
            assert_eq!(fitted(raw), expected, "{raw:?}");
            assert!(is_name(&fitted(raw)), "{raw:?}");
        }
        assert!(is_name(&fitted(&"é9".repeat(200))));
    }

    #[test]
    fn names_that_would_be_alike_stay_apart() {
        let check = |raw: &[&str], reserved: &[&str], expected: &[&str]| {
            assert_eq!(unique(raw, reserved), expected, "{raw:?}");
        };
        check(&["a.b", "a-b"], &[], &["a_b_2e7336", "a_b"]);
        check(&["a-b", "a_b", "a.b"], &[], &["a_b_d44362", "a_b", "a_b_2e7336"]);
        check(&["junto", "x"], &["junto"], &["junto_0a6196", "x"]);
        check(&["same", "same", "same"], &[], &["same", "same_096711", "same_096711_2"]);
    }

    #[test]
    fn a_thousand_names_of_one_form_are_a_thousand() {
        let raw: Vec<String> = (0..1000).map(|n| "ö".repeat(n % 5) + &"-".repeat(n)).collect();
        let raw: Vec<&str> = raw.iter().map(String::as_str).collect();
        let names = unique(&raw, &[]);
        let apart: HashSet<&String> = names.iter().collect();
        assert_eq!(apart.len(), raw.len());
    }
}
