//! Patterns of paths, hosts and names.

use std::path::Path;

/// A pattern with `*`, `?` and `[…]`. In a path they stay within one component, and `**` stands for any
/// number of components; the pattern matches what it names and everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob {
    text: String,
}

impl Glob {
    /// A pattern of paths: absolute, from `~`, or from the working directory.
    ///
    /// # Errors
    /// If it is empty or a `[` does not end.
    pub(crate) fn path(text: &str) -> Result<Self, String> {
        let glob = Self::word(text)?;
        if text.split('/').any(|part| part != "**" && part.contains("**")) {
            return Err("`**` stands alone between slashes".to_owned());
        }
        Ok(glob)
    }

    /// A pattern of names.
    ///
    /// # Errors
    /// If it is empty or a `[` does not end.
    pub(crate) fn word(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("an empty pattern".to_owned());
        }
        if text.split('/').any(|part| part.contains('[') && items(part).is_none()) {
            return Err("a `[` that does not end".to_owned());
        }
        Ok(Self { text: text.to_owned() })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it matches a name.
    pub(crate) fn fits(&self, name: &str) -> bool {
        component_fits(&self.text, name)
    }

    /// The pattern of absolute paths that this one means here.
    pub(crate) fn rooted(&self, workdir: &Path, home: Option<&Path>) -> Option<RootedGlob> {
        let from = |start: &Path, rest: &str| {
            let start = start.to_string_lossy();
            RootedGlob::new(&format!("{start}/{rest}"))
        };
        match self.text.strip_prefix('~') {
            Some("") => home.map(|home| from(home, "")),
            Some(rest) if rest.starts_with('/') => home.map(|home| from(home, rest)),
            _ if self.text.starts_with('/') => Some(RootedGlob::new(&self.text)),
            _ => Some(from(workdir, &self.text)),
        }
    }
}

/// A pattern of absolute paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RootedGlob {
    parts: Vec<String>,
}

impl RootedGlob {
    fn new(text: &str) -> Self {
        let mut parts: Vec<String> = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part.to_owned()),
            }
        }
        Self { parts }
    }

    /// Whether it matches this path or one above it. A component of the path may itself be a pattern of the
    /// shell; it then matches if the two have a name in common.
    pub(crate) fn fits(&self, path: &Path) -> bool {
        let names: Vec<_> = path
            .components()
            .filter_map(|component| match component {
                std::path::Component::Normal(name) => Some(name.to_string_lossy()),
                _ => None,
            })
            .collect();
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        // Which beginnings of the pattern match the names so far.
        let mut reached = vec![false; self.parts.len() + 1];
        self.enter(&mut reached, 0);
        if done(&reached) {
            return true;
        }
        for name in names {
            let mut next = vec![false; self.parts.len() + 1];
            for (at, part) in self.parts.iter().enumerate() {
                if !reached.get(at).copied().unwrap_or(false) {
                    continue;
                }
                if part == "**" {
                    self.enter(&mut next, at);
                } else if component_fits(part, name) {
                    self.enter(&mut next, at + 1);
                }
            }
            reached = next;
            if done(&reached) {
                return true;
            }
        }
        false
    }

    /// Marks a place in the pattern, and those behind it that `**` lets skip.
    fn enter(&self, reached: &mut [bool], mut at: usize) {
        loop {
            if let Some(mark) = reached.get_mut(at) {
                *mark = true;
            }
            if self.parts.get(at).is_none_or(|part| part != "**") {
                return;
            }
            at += 1;
        }
    }
}

/// Whether all of a pattern is matched.
fn done(reached: &[bool]) -> bool {
    reached.last().copied().unwrap_or(false)
}

/// One item of a component's pattern.
#[derive(Debug)]
enum Item {
    Char(char),
    Any,
    Many,
    Set { not: bool, ranges: Vec<(char, char)> },
}

impl Item {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Char(own) => *own == c,
            Self::Any | Self::Many => true,
            Self::Set { not, ranges } => ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *not,
        }
    }
}

/// The items of a pattern; `None` if a `[` does not end.
fn items(pattern: &str) -> Option<Vec<Item>> {
    let mut items = Vec::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        items.push(match c {
            '*' => Item::Many,
            '?' => Item::Any,
            '[' => {
                let not = chars.next_if(|c| matches!(c, '!' | '^')).is_some();
                let mut ranges = Vec::new();
                loop {
                    let from = chars.next()?;
                    if from == ']' && !ranges.is_empty() {
                        break;
                    }
                    let mut to = from;
                    if chars.next_if_eq(&'-').is_some() {
                        match chars.peek()? {
                            ']' => ranges.push(('-', '-')),
                            _ => to = chars.next()?,
                        }
                    }
                    ranges.push((from, to));
                }
                Item::Set { not, ranges }
            }
            c => Item::Char(c),
        });
    }
    Some(items)
}

/// Whether the pattern of a component matches a name.
pub(crate) fn component_fits(pattern: &str, name: &str) -> bool {
    if !pattern.contains(['*', '?', '[']) {
        return pattern == name;
    }
    let Some(items) = items(pattern) else { return pattern == name };
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut star = None;
    while let Some(c) = name.get(t) {
        match items.get(p) {
            Some(Item::Many) => {
                star = Some((p, t));
                p += 1;
            }
            Some(item) if item.takes(*c) => {
                p += 1;
                t += 1;
            }
            _ => match &mut star {
                Some((at, from)) => {
                    p = *at + 1;
                    *from += 1;
                    t = *from;
                }
                None => return false,
            },
        }
    }
    items.iter().skip(p).all(|item| matches!(item, Item::Many))
}

/// Whether some name matches both patterns.
pub(crate) fn overlap(a: &str, b: &str) -> bool {
    let (Some(a), Some(b)) = (items(a), items(b)) else { return true };
    let mut row = vec![false; b.len() + 1];
    if let Some(start) = row.first_mut() {
        *start = true;
    }
    slide(&b, &mut row);
    for item in &a {
        let mut next = vec![false; b.len() + 1];
        for at in 0..=b.len() {
            let from = |row: &[bool], at: usize| row.get(at).copied().unwrap_or(false);
            let both = at > 0
                && from(&row, at - 1)
                && match (item, b.get(at - 1)) {
                    (_, None | Some(Item::Many)) => false,
                    (Item::Many, Some(_)) => true,
                    (Item::Char(a), Some(b)) => b.takes(*a),
                    (a, Some(Item::Char(b))) => a.takes(*b),
                    // Two sets may be apart, but saying so is not worth the lines.
                    (_, Some(_)) => true,
                };
            let still = matches!(item, Item::Many) && (from(&row, at) || (at > 0 && from(&next, at - 1)));
            let under = at > 0
                && matches!(b.get(at - 1), Some(Item::Many))
                && (from(&row, at) || from(&next, at - 1));
            if let Some(cell) = next.get_mut(at) {
                *cell = both || still || under;
            }
        }
        slide(&b, &mut next);
        row = next;
    }
    row.last().copied().unwrap_or(false)
}

/// Stars match nothing, too.
fn slide(pattern: &[Item], row: &mut [bool]) {
    for (at, item) in pattern.iter().enumerate() {
        if matches!(item, Item::Many)
            && row.get(at).copied().unwrap_or(false)
            && let Some(next) = row.get_mut(at + 1)
        {
            *next = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("web_*", "web_fetch", true),
            ("web_*", "my_web_fetch", false),
            ("*.example.org", "a.b.example.org", true),
            ("*.example.org", "example.org", false),
            ("a?c", "abc", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]]", "]", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXcYb", false),
        ] {
            assert_eq!(component_fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn paths() {
        let fits = |pattern: &str, path: &str| {
            let glob = Glob::path(pattern).unwrap();
            glob.rooted(Path::new("/w"), Some(Path::new("/h"))).unwrap().fits(Path::new(path))
        };
        for (pattern, path, expected) in [
            ("src/**", "/w/src/a/b.rs", true),
            ("src", "/w/src/a/b.rs", true),
            ("src/*.rs", "/w/src/a.rs", true),
            ("src/*.rs", "/w/src/a/b.rs", false),
            ("**/*.pem", "/w/a/b/c.pem", true),
            ("**/*.pem", "/etc/c.pem", false),
            ("/**/*.pem", "/etc/c.pem", true),
            ("~/notes", "/h/notes/x", true),
            ("~", "/h/notes/x", true),
            ("~x", "/h/notes/x", false),
            ("../b", "/b/x", true),
            ("/", "/anything", true),
            ("/a/**/b", "/a/b", true),
            ("/a/**/b", "/a/x/y/b/c", true),
            ("/a/**/b", "/a/x/y/c", false),
        ] {
            assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
        }
        for wrong in ["", "a[b", "a**b"] {
            assert!(Glob::path(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn two_patterns_have_a_name_in_common() {
        for (a, b, expected) in [
            ("*.md", "*.pem", false),
            ("*", "*.pem", true),
            ("id_*", "id_rsa", true),
            ("i?_*", "id_rsa", true),
            ("*rsa", "id_*", true),
            (".e*", ".env", true),
            (".e*", ".env.*", true),
            ("[a-c]*", "id_rsa", false),
            ("a", "a", true),
            ("a", "b", false),
            ("", "*", true),
            ("", "a", false),
        ] {
            assert_eq!(overlap(a, b), expected, "{a} {b}");
            assert_eq!(overlap(b, a), expected, "{b} {a}");
        }
    }
}
