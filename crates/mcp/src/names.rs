//! What the tools of servers are called here: `server__tool`, in letters that every model's wire takes.

use std::collections::HashSet;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The longest name that every wire takes.
const LONGEST: usize = 64;
/// How many characters of a digest stand for what had to be left out.
const DIGEST: usize = 8;

/// The names for tools of servers, in the same order. Each is there once; the same tools always get the same
/// names, whatever became of others before.
pub(crate) fn names<'a>(tools: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let tools: Vec<(&str, &str)> = tools.into_iter().collect();
    // What fits as it is has the first claim.
    let mut taken: HashSet<String> = tools.iter().filter_map(|(server, tool)| plain(server, tool)).collect();
    let mut claimed: HashSet<String> = HashSet::new();
    let mut name = |&(server, tool): &(&str, &str)| {
        if let Some(plain) = plain(server, tool)
            && claimed.insert(plain.clone())
        {
            return plain;
        }
        let fitted = fit(&format!("{server}__{tool}"));
        if fitted.len() <= LONGEST && taken.insert(fitted.clone()) {
            return fitted;
        }
        let told = marked(&fitted, server, tool);
        taken.insert(told.clone());
        told
    };
    tools.iter().map(&mut name).collect()
}

/// The two joined, if that fits as it is.
fn plain(server: &str, tool: &str) -> Option<String> {
    let joined = format!("{server}__{tool}");
    (joined.len() <= LONGEST && fit(&joined) == joined).then_some(joined)
}

/// With what no wire takes replaced.
fn fit(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut fitted: String = name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    if !fitted.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        fitted.insert(0, '_');
    }
    fitted
}

/// Cut, with a mark at the end that is this tool's own.
fn marked(fitted: &str, server: &str, tool: &str) -> String {
    let mut mark = String::from("_");
    for byte in Sha256::digest(format!("{server}\0{tool}").as_bytes()).iter().take(DIGEST / 2) {
        let _ = write!(mark, "{byte:02x}");
    }
    // Only letters of one byte are in it.
    let kept: String = fitted.chars().take(LONGEST - mark.len()).collect();
    kept + &mark
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tools: &[(&str, &str)], expected: &[&str]) {
        assert_eq!(names(tools.iter().copied()), expected, "{tools:?}");
    }

    #[test]
    fn names_are_joined_and_fitted() {
        check(&[("fs", "read_file"), ("fs", "list-all")], &["fs__read_file", "fs__list-all"]);
        check(&[("my server", "a.b/c")], &["my_server__a_b_c"]);
        check(&[("1st", "t")], &["_1st__t"]);
        check(&[("ä", "ß")], &["____"]);
        check(&[("", "")], &["__"]);
    }

    #[test]
    fn each_tool_has_a_name_of_its_own() {
        check(&[("s", "a.b"), ("s", "a_b")], &["s__a_b_407e8e5c", "s__a_b"]);
        check(&[("s", "a.b"), ("s", "a/b")], &["s__a_b", "s__a_b_fb3c0e4c"]);
        check(&[("a__b", "c"), ("a", "b__c")], &["a__b__c", "a__b__c_01b8a75b"]);
        let long = "x".repeat(80);
        let named = names([("s", long.as_str()), ("s", &long[..79])]);
        assert!(named.iter().all(|name| name.len() == LONGEST), "{named:?}");
        assert_ne!(named[0], named[1]);
    }

    #[test]
    fn a_thousand_names_that_are_alike_stay_apart() {
        let tools: Vec<String> = (0..1000).map(|n| "é".repeat(n % 7 + 1) + &"!".repeat(n)).collect();
        let named = names(tools.iter().map(|tool| ("s", tool.as_str())));
        let apart: HashSet<&String> = named.iter().collect();
        assert_eq!(apart.len(), named.len());
        assert!(named.iter().all(|name| name.len() <= LONGEST && fit(name) == *name));
    }
}
