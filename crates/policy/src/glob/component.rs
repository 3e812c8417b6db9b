//! Patterns of one name, and of the names in a path.

use std::iter;

/// Whether the shell reads a name as a pattern.
pub(crate) fn is_pattern(name: &str) -> bool {
    name.bytes().any(|b| matches!(b, b'*' | b'?' | b'['))
}

/// Whether a pattern matches a name. One that cannot be read as a pattern matches itself.
pub(crate) fn component_fits(pattern: &str, name: &str) -> bool {
    let (mut wanted, mut rest) = (pattern, name);
    // Behind the last star, and where the name may go on there.
    let mut star: Option<(&str, &str)> = None;
    while let Some((c, after)) = split_first(rest) {
        match item(wanted) {
            Err(Unended) => return pattern == name,
            Ok(Some((Item::Many, behind))) => {
                star = Some((behind, rest));
                wanted = behind;
            }
            Ok(Some((item, behind))) if item.takes(c) => (wanted, rest) = (behind, after),
            _ => {
                let Some((behind, from)) = star else { return false };
                let from = split_first(from).map_or("", |(_, after)| after);
                star = Some((behind, from));
                (wanted, rest) = (behind, from);
            }
        }
    }
    wanted.bytes().all(|b| b == b'*')
}

/// Whether some name matches both patterns.
pub(crate) fn overlap(a: &str, b: &str) -> bool {
    // Most patterns differ in how they begin or end, and need no more work.
    let (a_head, b_head) = (head(a), head(b));
    let (a_tail, b_tail) = (tail(a), tail(b));
    if !(a_head.starts_with(b_head) || b_head.starts_with(a_head))
        || !(a_tail.ends_with(b_tail) || b_tail.ends_with(a_tail))
    {
        return false;
    }
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

/// What every match begins with.
fn head(pattern: &str) -> &str {
    pattern.split(['*', '?', '[']).next().unwrap_or_default()
}

/// What every match ends with.
fn tail(pattern: &str) -> &str {
    if is_pattern(pattern) { pattern.rsplit(['*', '?', ']']).next().unwrap_or_default() } else { pattern }
}

/// One item of a pattern.
#[derive(Clone, Copy, Debug)]
enum Item<'p> {
    Char(char),
    Any,
    Many,
    /// What stands between the brackets.
    Set {
        not: bool,
        ranges: &'p str,
    },
}

impl Item<'_> {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Char(own) => *own == c,
            Self::Any | Self::Many => true,
            Self::Set { not, ranges } => ranges_of(ranges).any(|(from, to)| (from..=to).contains(&c)) != *not,
        }
    }
}

fn ranges_of(mut text: &str) -> impl Iterator<Item = (char, char)> {
    iter::from_fn(move || {
        let (from, rest) = split_first(text)?;
        let range = rest.strip_prefix('-').and_then(split_first);
        let (to, rest) = range.unwrap_or((from, rest));
        text = rest;
        Some((from, to))
    })
}

/// A `[` that does not end.
#[derive(Debug)]
struct Unended;

/// The first item of a pattern, and what follows.
fn item(pattern: &str) -> Result<Option<(Item<'_>, &str)>, Unended> {
    let Some((c, rest)) = split_first(pattern) else { return Ok(None) };
    Ok(Some(match c {
        '*' => (Item::Many, rest),
        '?' => (Item::Any, rest),
        '[' => {
            let without = rest.strip_prefix(['!', '^']);
            let body = without.unwrap_or(rest);
            // The first character is one of the set, also if it is a bracket.
            let first = body.chars().next().map_or(0, char::len_utf8);
            let end = body.get(first..).and_then(|rest| rest.find(']')).ok_or(Unended)? + first;
            let (ranges, rest) = body.split_at_checked(end).ok_or(Unended)?;
            let rest = rest.strip_prefix(']').ok_or(Unended)?;
            (Item::Set { not: without.is_some(), ranges }, rest)
        }
        c => (Item::Char(c), rest),
    }))
}

/// The items of a pattern; none if a `[` does not end.
pub(super) fn is_sound(pattern: &str) -> bool {
    items(pattern).is_some()
}

fn items(mut pattern: &str) -> Option<Vec<Item<'_>>> {
    let mut items = Vec::new();
    while let Some((item, rest)) = item(pattern).ok()? {
        items.push(item);
        pattern = rest;
    }
    Some(items)
}

fn split_first(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    chars.next().map(|c| (c, chars.as_str()))
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
            ("[a-]", "-", true),
            ("[a-]", "b", false),
            ("[!]]", "]", false),
            ("[ä-ö]x", "öx", true),
            ("a[b", "a[b", true),
            ("a[b", "ab", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXcYb", false),
        ] {
            assert_eq!(component_fits(pattern, name), expected, "{pattern} {name}");
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
            ("h[i]dden", "hidden", true),
            ("*]", "a]", true),
            ("a*a", "a", false),
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
