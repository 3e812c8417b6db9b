//! The head of a Markdown file: YAML between two lines of three dashes.
//!
//! Files that other tools read load unchanged. Those tools are lenient with plain values, so a value that is no
//! YAML because of a colon or a bracket in it is taken as the text it looks like.

use std::path::Path;

use serde_json::{Map, Value};

use crate::fault::Fault;

/// The longest head that is read, in bytes.
const LONGEST: usize = 64 * 1024;

/// Fields whose value is a text, whatever YAML makes of brackets in it.
const TEXTS: &[&str] = &["argument-hint"];

/// The head of a file, and what comes after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FrontMatter {
    fields: Map<String, Value>,
    pub(crate) body: String,
}

impl FrontMatter {
    /// Reads a file. One without a head has no fields.
    ///
    /// # Errors
    /// If the head has no end, is too long, or is no YAML.
    pub(crate) fn read(file: &Path, text: &str) -> Result<Self, Fault> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let Some(after) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("--- \n")) else {
            return Ok(Self { fields: Map::new(), body: text });
        };
        let mut at = 0;
        let mut head = None;
        for line in after.split_inclusive('\n') {
            if matches!(line.trim_end(), "---" | "...") {
                head = Some((after.split_at(at).0, after.split_at(at + line.len()).1));
                break;
            }
            at += line.len();
        }
        let Some((head, body)) = head else {
            return Err(Fault::of(file, "the front matter has no end: a line of --- is missing").at(1));
        };
        if head.len() > LONGEST {
            return Err(Fault::of(file, format!("the front matter is longer than {LONGEST} bytes")).at(1));
        }
        let fields = yaml(&quoted(head, |key, _| TEXTS.contains(&key)))
            .or_else(|fault| yaml(&quoted(head, |_, _| true)).map_err(|_| fault));
        match fields {
            Ok(fields) => Ok(Self { fields, body: body.to_owned() }),
            Err((line, message)) => {
                Err(Fault::of(file, format!("the front matter is no YAML: {message}")).at(line + 1))
            }
        }
    }

    /// A field as text; none if it is not there or empty.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        let text = plain(self.fields.get(key)?);
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// A field as a yes or no.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        match self.fields.get(key)? {
            Value::Bool(flag) => Some(*flag),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// A field as a list: one of YAML, or a text with commas or spaces between, those in brackets left alone.
    pub(crate) fn list(&self, key: &str) -> Vec<String> {
        match self.fields.get(key) {
            Some(Value::Array(all)) => all.iter().map(plain).collect(),
            Some(other) => split(&plain(other)),
            None => Vec::new(),
        }
    }

    /// A field as a table of texts.
    pub(crate) fn table(&self, key: &str) -> Vec<(String, String)> {
        let table = self.fields.get(key).and_then(Value::as_object);
        table.into_iter().flatten().map(|(key, value)| (key.clone(), plain(value))).collect()
    }
}

/// The fields; or the line that is wrong, from 1, and why.
fn yaml(head: &str) -> Result<Map<String, Value>, (usize, String)> {
    if head.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Map::new());
    }
    serde_saphyr::from_str::<Map<String, Value>>(head).map_err(|error| {
        let line = error.location().map_or(1, |location| usize::try_from(location.line()).unwrap_or(1));
        let told = error.to_string();
        let told = told.lines().next().unwrap_or_default();
        // The place is told apart.
        let what = told
            .split_once(" column ")
            .and_then(|(_, rest)| rest.split_once(": "))
            .map_or(told, |(_, what)| what);
        (line.max(1), what.to_owned())
    })
}

/// The head with plain values of one line put into quotes, where that is wanted and they are not YAML's own forms.
fn quoted(head: &str, wanted: impl Fn(&str, &str) -> bool) -> String {
    let mut text = String::with_capacity(head.len());
    let lines: Vec<&str> = head.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let field = line.split_once(':').filter(|(key, value)| {
            let value = value.trim();
            let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
            let goes_on = lines.get(at + 1).is_some_and(|next| next.starts_with([' ', '\t']));
            let is_plain = !value.is_empty() && !value.starts_with(['"', '\'', '|', '>', '&', '!', '#']);
            is_key && is_plain && !goes_on && wanted(key, value)
        });
        if let Some((key, value)) = field {
            text.push_str(key);
            text.push_str(": '");
            text.push_str(&value.trim().replace('\'', "''"));
            text.push('\'');
        } else {
            text.push_str(line);
        }
        text.push('\n');
    }
    text
}

/// A value as one would write it.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The parts of a text with commas or spaces between. What is in round brackets belongs together.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0u32;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> FrontMatter {
        FrontMatter::read(Path::new("a.md"), text).unwrap()
    }

    #[test]
    fn a_head_is_read_as_others_write_it() {
        let check = |head: &str, key: &str, expected: Option<&str>| {
            let matter = read(&format!("---\n{head}\n---\nBody\n"));
            assert_eq!(matter.text(key).as_deref(), expected, "{head}");
            assert_eq!(matter.body, "Body\n", "{head}");
        };
        check("description: Reviews a change", "description", Some("Reviews a change"));
        check("description: \"a: b\"", "description", Some("a: b"));
        // No YAML, and in many files all the same.
        check("description: Use when: the user asks", "description", Some("Use when: the user asks"));
        check("description: it's [so]: fine\nname: x", "description", Some("it's [so]: fine"));
        check("argument-hint: [message]", "argument-hint", Some("[message]"));
        check("argument-hint: [add|rm] [name]", "argument-hint", Some("[add|rm] [name]"));
        check("description: >\n  two\n  lines\nname: x", "description", Some("two lines"));
        check("description: |\n  one: 1\nname: x", "description", Some("one: 1"));
        check("version: 1.5", "version", Some("1.5"));
        check("name:", "name", None);
        check("# nothing", "name", None);
        check("", "name", None);
    }

    #[test]
    fn lists_and_tables_are_read_in_every_form() {
        let tools = |value: &str| read(&format!("---\nallowed-tools: {value}\n---\n")).list("allowed-tools");
        assert_eq!(
            tools("Bash(git add:*), Bash(git status:*), Read"),
            ["Bash(git add:*)", "Bash(git status:*)", "Read"]
        );
        assert_eq!(tools("Read Grep"), ["Read", "Grep"]);
        assert_eq!(tools("[Read, Grep]"), ["Read", "Grep"]);
        assert_eq!(tools("\n  - Read\n  - Bash(a b)"), ["Read", "Bash(a b)"]);
        let matter = read("---\nmetadata:\n  author: me\n  version: \"1.0\"\n---\n");
        let expected = [("author".to_owned(), "me".to_owned()), ("version".to_owned(), "1.0".to_owned())];
        assert_eq!(matter.table("metadata"), expected);
    }

    #[test]
    fn what_is_no_head_is_text() {
        for text in ["Body", "", "--\na: b\n--\n", "text\n---\na: b\n---\n"] {
            assert_eq!(read(text), FrontMatter { fields: Map::new(), body: text.to_owned() });
        }
        assert_eq!(read("\u{feff}---\r\nname: x\r\n---\r\nBody\r\n").text("name").as_deref(), Some("x"));
    }

    #[test]
    fn what_is_wrong_names_the_line() {
        let check = |text: &str, line: usize, what: &str| {
            let fault = FrontMatter::read(Path::new("a.md"), text).unwrap_err();
            assert_eq!(fault.line, Some(line), "{fault}");
            assert!(fault.to_string().starts_with(&format!("a.md:{line}: ")), "{fault}");
            assert!(fault.message.contains(what), "{fault}");
        };
        check("---\nname: x\n", 1, "no end");
        check("---\nname: x\n\tdescription: [\n---\n", 2, "no YAML: while scanning");
        check("---\n- a\n- b\n---\n", 2, "no YAML");
    }
}
