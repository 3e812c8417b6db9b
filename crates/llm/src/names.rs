//! Tool names: what our own constructor takes, and how foreign names are fitted to a wire.

mod nearest;

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::{Content, Error, Request, ToolKind, Wire};

pub use nearest::nearest;

/// The longest tool name every wire takes.
pub const MAX: usize = 64;

/// Checks a name of our own: `[A-Za-z][A-Za-z0-9_]*`, 64 characters at most.
///
/// # Errors
/// `configuration`, naming the tool.
pub fn check_own(name: &str) -> Result<(), Error> {
    let fits = name.len() <= MAX
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if fits {
        return Ok(());
    }
    Err(Error::configuration(format!("`{name}` is not a tool name"))
        .with_hint("use letters, digits and underscores, starting with a letter, 64 characters at most"))
}

/// Maps the names of one request's tools to what a wire allows, and back.
///
/// Names that the wire takes stay as they are; others have their odd characters replaced by
/// underscores and are cut, and collisions get a number. The map depends only on the names in the
/// request, in order, so it is the same for each request of a session.
#[derive(Clone, Debug, Default)]
pub struct NameMap {
    to_wire: HashMap<String, String>,
    from_wire: HashMap<String, String>,
    custom: HashSet<String>,
}

impl NameMap {
    /// The map for a request: over its declared tools first, then over the calls in its history.
    pub fn for_request(request: &Request, wire: Wire) -> Self {
        let declared = request.tools.iter().map(|tool| tool.name.as_str());
        let called =
            request.messages.iter().flat_map(|m| &m.content).filter_map(|part| match part.content() {
                Content::ToolCall(call) => Some(call.name.as_str()),
                _ => None,
            });
        let mut map = Self::new(declared.chain(called), wire);
        let custom = request.tools.iter().filter(|tool| matches!(tool.kind, ToolKind::Custom { .. }));
        map.custom = custom.map(|tool| tool.name.clone()).collect();
        map
    }

    /// The map for these names.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, wire: Wire) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        // Names that fit as they are have the first claim, wherever they stand.
        let mut taken: BTreeSet<String> =
            names.iter().filter(|name| fits(name, wire)).map(|name| (*name).to_owned()).collect();
        let mut map = Self::default();
        // Where the numbering of each base goes on, so that many collisions cost no quadratic time.
        let mut numbers: HashMap<String, usize> = HashMap::new();
        for name in names {
            if fits(name, wire) || map.to_wire.contains_key(name) {
                continue;
            }
            let base = fit(name, wire);
            let mut candidate = base.clone();
            while !taken.insert(candidate.clone()) {
                let n = numbers.entry(base.clone()).or_insert(2);
                let suffix = format!("_{n}");
                candidate = format!("{}{suffix}", &base[..base.len().min(MAX - suffix.len())]);
                *n += 1;
            }
            map.from_wire.insert(candidate.clone(), name.to_owned());
            map.to_wire.insert(name.to_owned(), candidate);
        }
        map
    }

    /// The name on the wire.
    pub fn to_wire<'a>(&'a self, name: &'a str) -> &'a str {
        self.to_wire.get(name).map_or(name, String::as_str)
    }

    /// The caller's name for a name on the wire.
    pub fn from_wire<'a>(&'a self, name: &'a str) -> &'a str {
        self.from_wire.get(name).map_or(name, String::as_str)
    }

    /// Whether the request declared a custom tool under this name (the caller's, not the wire's).
    /// A wire that has only functions sends it as one, and turns the call that comes back into a
    /// custom one again.
    pub fn is_custom(&self, name: &str) -> bool {
        self.custom.contains(name)
    }
}

fn allowed(c: char, wire: Wire) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-' || (wire == Wire::Gemini && (c == '.' || c == ':'))
}

/// Whether a wire takes this name as it is.
pub(crate) fn fits(name: &str, wire: Wire) -> bool {
    let start = |c: char| wire != Wire::Gemini || c.is_ascii_alphabetic() || c == '_';
    !name.is_empty() && name.len() <= MAX && name.starts_with(start) && name.chars().all(|c| allowed(c, wire))
}

fn fit(name: &str, wire: Wire) -> String {
    let mut out: String = name.chars().map(|c| if allowed(c, wire) { c } else { '_' }).take(MAX).collect();
    if out.is_empty() || !fits(&out, wire) {
        out.insert(0, '_');
        out.truncate(MAX);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolSpec;

    #[test]
    fn own_names_are_plain() {
        for name in ["read_file", "A", "x9"] {
            assert!(check_own(name).is_ok(), "{name}");
        }
        for name in ["read-file", "", "9x", "_x", "é", &"x".repeat(65)] {
            let error = check_own(name).unwrap_err();
            assert!(error.message().contains(name) && error.hint().is_some());
        }
    }

    #[test]
    fn foreign_names_map_and_come_back() {
        let long = "y".repeat(80);
        let names = ["a.b", "a_b", "a/b", "ok-name", "9", "", &long, "naïve"];
        for wire in Wire::ALL {
            let map = NameMap::new(names, wire);
            let mut seen = BTreeSet::new();
            for name in names {
                let on_wire = map.to_wire(name);
                assert!(fits(on_wire, wire), "{wire:?} {name} -> {on_wire}");
                assert!(seen.insert(on_wire.to_owned()), "{wire:?}: {on_wire} twice");
                assert_eq!(map.from_wire(on_wire), name);
            }
        }
        assert_eq!(NameMap::new(names, Wire::Chat).to_wire("a_b"), "a_b");
    }

    #[test]
    fn thousands_of_collisions_are_numbered_in_passing() {
        let names: Vec<String> = (0..5000).map(|n| format!("{}{n}", "y".repeat(80))).collect();
        let map = NameMap::new(names.iter().map(String::as_str), Wire::Chat);
        assert!(names.iter().all(|name| map.from_wire(map.to_wire(name)) == name));
    }

    #[test]
    fn custom_tools_are_known_by_the_callers_name() {
        let custom = ToolSpec {
            name: "a/b".into(),
            description: String::new(),
            kind: ToolKind::Custom { format: None },
        };
        let function = ToolSpec::foreign("f", "", serde_json::json!({"type": "object"}));
        let map = NameMap::for_request(&Request::default().tools([custom, function]), Wire::Chat);
        assert!(map.is_custom("a/b") && !map.is_custom("a_b") && !map.is_custom("f"));
    }
}
