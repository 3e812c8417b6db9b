//! What a hook is about.

use regex::Regex;
use serde_json::Value;

use super::view::View;

/// The names that a hook is about.
#[derive(Clone, Debug)]
pub(super) struct Matcher {
    text: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Everything,
    /// One of these names.
    Names,
    /// A pattern that fits somewhere in the name.
    Pattern(Regex),
}

impl Matcher {
    /// Reads a matcher: nothing or `*` is everything, names with `|` between are these names, and anything else is a
    /// regular expression.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let kind = if trimmed.is_empty() || trimmed == "*" {
            Kind::Everything
        } else if trimmed.chars().all(|c| c.is_alphanumeric() || "_-| ".contains(c)) {
            Kind::Names
        } else {
            let pattern = Regex::new(trimmed).map_err(|error| {
                let told = error.to_string();
                format!("the matcher `{trimmed}` is no pattern: {}", told.lines().last().unwrap_or_default())
            })?;
            Kind::Pattern(pattern)
        };
        Ok(Self { text: trimmed.to_owned(), kind })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn fits(&self, name: &str) -> bool {
        match &self.kind {
            Kind::Everything => true,
            Kind::Names => self.text.split('|').any(|known| known.trim() == name),
            Kind::Pattern(pattern) => pattern.is_match(name),
        }
    }
}

/// What else must hold of a call, as in `Bash(git push *)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    tool: String,
    pattern: Option<String>,
}

impl Condition {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let Some(pattern) = rest.strip_suffix(')') else {
                    return Err(format!("the condition `{text}` has no closing bracket"));
                };
                (tool, Some(pattern.trim().to_owned()).filter(|pattern| !pattern.is_empty()))
            }
        };
        if tool.is_empty() || !tool.chars().all(|c| c.is_alphanumeric() || "_-*".contains(c)) {
            return Err(format!("the condition `{text}` names no tool"));
        }
        Ok(Self { tool: tool.to_owned(), pattern })
    }

    /// Whether it holds. Of a command each part of a line counts: a condition is not dodged by a `cd` before it.
    pub(super) fn holds(&self, view: &View) -> bool {
        if !view.names.iter().any(|name| fits(&self.tool, name)) {
            return false;
        }
        let Some(pattern) = &self.pattern else { return true };
        let pattern = match pattern.strip_suffix(":*") {
            Some(prefix) => format!("{prefix}*"),
            None => pattern.clone(),
        };
        let text = |key: &str| view.input.get(key).and_then(Value::as_str);
        if let Some(line) = text("command") {
            let parts = line.split(['\n', ';', '|', '&', '(', ')', '`']).map(str::trim);
            return std::iter::once(line.trim()).chain(parts).any(|part| {
                fits(&pattern, part) || pattern.strip_suffix(" *").is_some_and(|whole| whole == part)
            });
        }
        ["file_path", "path", "url", "pattern"].into_iter().filter_map(text).any(|text| {
            let pattern = pattern.strip_prefix("./").unwrap_or(&pattern);
            fits(pattern, text) || fits(&format!("*/{pattern}"), text)
        })
    }
}

/// Whether a text fits a pattern in which `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_and_patterns_are_told_apart() {
        let check = |matcher: &str, name: &str, expected: bool| {
            assert_eq!(Matcher::read(matcher).unwrap().fits(name), expected, "{matcher} {name}");
        };
        for everything in ["", "*", " "] {
            check(everything, "Bash", true);
        }
        check("Bash", "Bash", true);
        check("Bash", "BashOutput", false);
        check("Edit|Write", "Write", true);
        check("Edit | Write", "Write", true);
        check("Edit|Write", "MultiEdit", false);
        check("mcp__memory__.*", "mcp__memory__add", true);
        check("mcp__.*__write.*", "mcp__files__write_all", true);
        check("^Notebook", "NotebookEdit", true);
        assert!(Matcher::read("Edit(").unwrap_err().contains("no pattern"));
    }

    #[test]
    fn conditions_look_into_the_call() {
        let check = |condition: &str, tool: &str, input: Value, expected: bool| {
            let view = View { names: vec![tool.to_owned()], name: tool.to_owned(), input };
            assert_eq!(
                Condition::read(condition).unwrap().holds(&view),
                expected,
                "{condition} {}",
                view.input
            );
        };
        check("Bash", "Bash", json!({"command": "ls"}), true);
        check("Bash(git push *)", "Bash", json!({"command": "git push origin"}), true);
        check("Bash(git push *)", "Bash", json!({"command": "git push"}), true);
        check("Bash(git push:*)", "Bash", json!({"command": "cd x && git push -f"}), true);
        check("Bash(git push *)", "Bash", json!({"command": "git status"}), false);
        check("Edit(*.ts)", "Edit", json!({"file_path": "/a/b.ts"}), true);
        check("Edit(src/**)", "Edit", json!({"file_path": "/a/src/b.rs"}), true);
        check("Edit(*.ts)", "Write", json!({"file_path": "/a/b.ts"}), false);
        for wrong in ["", "Bash(git", "(x)", "a b"] {
            assert!(Condition::read(wrong).is_err(), "{wrong}");
        }
    }
}
