//! Changing a few entries of a file that is somebody else's: everything else in it stays.

use serde::Serialize as _;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// An entry and what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands::gateway) struct Entry {
    /// Where it stands, from the outside in.
    path: Vec<String>,
    /// What becomes of it.
    change: Change,
}

/// What becomes of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    /// It is this text.
    Set(String),
    /// It is not there.
    Remove,
    /// It is not there, if it is a text that ends so.
    RemoveEnding(&'static str),
}

impl Entry {
    /// An entry with this text.
    pub(in crate::commands::gateway) fn set(path: &[&str], text: impl Into<String>) -> Self {
        Self::of(path, Change::Set(text.into()))
    }

    /// No such entry.
    pub(super) fn remove(path: &[&str]) -> Self {
        Self::of(path, Change::Remove)
    }

    /// No such entry, if it is a text that ends so.
    pub(super) fn remove_ending(path: &[&str], end: &'static str) -> Self {
        Self::of(path, Change::RemoveEnding(end))
    }

    fn of(path: &[&str], change: Change) -> Self {
        Self { path: path.iter().map(|name| (*name).to_owned()).collect(), change }
    }
}

impl Change {
    /// What an entry is afterwards that is this text now, or is none; `None` if it stays as it is.
    fn of(&self, now: Option<&str>, is_there: bool) -> Option<After<'_>> {
        match self {
            Self::Set(text) if now == Some(text) => None,
            Self::Set(text) => Some(After::Text(text)),
            Self::Remove => is_there.then_some(After::Nothing),
            Self::RemoveEnding(end) => now.is_some_and(|now| now.ends_with(end)).then_some(After::Nothing),
        }
    }
}

/// What an entry is afterwards.
enum After<'a> {
    Text(&'a str),
    Nothing,
}

/// Changes a JSON object. Its order and its indentation stay; if nothing changes, everything does.
///
/// # Errors
/// Why the text cannot be changed so.
pub(super) fn json(text: &str, entries: &[Entry]) -> Result<String, String> {
    let mut root: Value = if text.trim().is_empty() {
        Value::Object(Map::new())
    } else {
        serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?
    };
    let mut changed = false;
    for Entry { path, change } in entries {
        changed |= json_entry(&mut root, path, change)?;
    }
    if !changed {
        return Ok(text.to_owned());
    }
    let indent: String =
        text.lines().nth(1).unwrap_or_default().chars().take_while(|c| c.is_whitespace()).collect();
    let indent = if indent.is_empty() { "  " } else { &indent };
    let mut bytes = Vec::new();
    let mut serializer =
        Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(indent.as_bytes()));
    root.serialize(&mut serializer).map_err(|error| error.to_string())?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

fn json_entry(root: &mut Value, path: &[String], change: &Change) -> Result<bool, String> {
    let Some((name, tables)) = path.split_last() else { return Ok(false) };
    let mut at = root;
    for table in tables {
        let object = at.as_object_mut().ok_or_else(|| not_a_table(path))?;
        if !object.contains_key(table) && !matches!(change, Change::Set(_)) {
            return Ok(false);
        }
        at = object.entry(table).or_insert_with(|| Value::Object(Map::new()));
    }
    let object = at.as_object_mut().ok_or_else(|| not_a_table(path))?;
    let now = object.get(name);
    match change.of(now.and_then(Value::as_str), now.is_some()) {
        None => return Ok(false),
        Some(After::Text(text)) => drop(object.insert(name.clone(), text.into())),
        Some(After::Nothing) => drop(object.shift_remove(name)),
    }
    Ok(true)
}

/// Changes a TOML document. Comments and everything else stay.
///
/// # Errors
/// Why the text cannot be changed so.
pub(super) fn toml(text: &str, entries: &[Entry]) -> Result<String, String> {
    let mut document =
        text.parse::<DocumentMut>().map_err(|error| format!("is not TOML: {}", error.message()))?;
    for Entry { path, change } in entries {
        toml_entry(document.as_table_mut(), path, change)?;
    }
    Ok(document.to_string())
}

fn toml_entry(root: &mut Table, path: &[String], change: &Change) -> Result<(), String> {
    let Some((name, tables)) = path.split_last() else { return Ok(()) };
    let mut at: &mut dyn TableLike = root;
    for (depth, table) in tables.iter().enumerate() {
        if !at.contains_key(table) {
            if !matches!(change, Change::Set(_)) {
                return Ok(());
            }
            let mut fresh = Table::new();
            // Only the innermost has a line of its own.
            fresh.set_implicit(depth + 1 < tables.len());
            at.insert(table, Item::Table(fresh));
        }
        at = at.get_mut(table).and_then(Item::as_table_like_mut).ok_or_else(|| not_a_table(path))?;
    }
    let now = at.get(name);
    match change.of(now.and_then(Item::as_str), now.is_some()) {
        None => {}
        Some(After::Text(text)) => {
            let mut value = toml_edit::Value::from(text);
            // A comment behind the old value stays.
            if let Some(old) = now.and_then(Item::as_value) {
                *value.decor_mut() = old.decor().clone();
            }
            match at.get_mut(name) {
                Some(item) => *item = Item::Value(value),
                None => drop(at.insert(name, Item::Value(value))),
            }
        }
        Some(After::Nothing) => drop(at.remove(name)),
    }
    Ok(())
}

/// Changes lines of the form `NAME=VALUE`. Everything else stays.
pub(in crate::commands::gateway) fn lines(text: &str, entries: &[Entry]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for Entry { path, change } in entries {
        let [name] = path.as_slice() else { continue };
        let (mut values, mut first) = (Vec::new(), None);
        for (index, line) in lines.iter().enumerate() {
            if let Some(value) = assigned(line, name) {
                values.push(value.to_owned());
                first = first.or(Some(index));
            }
        }
        // The last of several counts for whoever reads them, so one that is right is not enough.
        let now = values.first().filter(|_| values.len() == 1).map(String::as_str);
        let Some(after) = change.of(now, !values.is_empty()) else { continue };
        let line = match after {
            After::Text(text) => Some(format!("{name}={text}")),
            After::Nothing => None,
        };
        let mut index = 0;
        lines.retain(|line| {
            let keep =
                assigned(line, name).is_none() || Some(index) == first && matches!(after, After::Text(_));
            index += 1;
            keep
        });
        match (first, line) {
            (Some(first), Some(line)) => {
                if let Some(slot) = lines.get_mut(first) {
                    *slot = line;
                }
            }
            (None, Some(line)) => lines.push(line),
            (_, None) => {}
        }
    }
    let mut changed = lines.join("\n");
    if !changed.is_empty() && (text.is_empty() || text.ends_with('\n') || lines.len() != text.lines().count())
    {
        changed.push('\n');
    }
    changed
}

/// What a line assigns to this name, if it does.
pub(in crate::commands::gateway) fn assigned<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let line = line.trim_start();
    let line = line.strip_prefix("export ").map_or(line, str::trim_start);
    let (found, value) = line.split_once('=')?;
    (found.trim_end() == name).then(|| value.trim())
}

fn not_a_table(path: &[String]) -> String {
    format!("has something else where `{}` belongs", path.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRIES: &[(&[&str], &str)] = &[(&["env", "URL"], "http://x"), (&["model"], "m")];

    fn entries() -> Vec<Entry> {
        ENTRIES.iter().map(|(path, text)| Entry::set(path, *text)).collect()
    }

    #[test]
    fn json_keeps_everything_else() {
        let check = |before: &str, after: Result<&str, &str>| match (json(before, &entries()), after) {
            (Ok(found), Ok(after)) => {
                assert_eq!(found, after, "{before}");
                assert_eq!(json(&found, &entries()).as_deref(), Ok(after), "twice is once");
            }
            (Err(found), Err(said)) => assert!(found.contains(said), "{found}"),
            (found, _) => panic!("{before}: {found:?}"),
        };
        let fresh = "{\n  \"env\": {\n    \"URL\": \"http://x\"\n  },\n  \"model\": \"m\"\n}\n";
        check("", Ok(fresh));
        check("{}", Ok(fresh));
        check(
            "{\n\t\"z\": 1,\n\t\"env\": {\n\t\t\"A\": \"b\",\n\t\t\"URL\": \"old\"\n\t},\n\t\"a\": [1]\n}",
            Ok(
                "{\n\t\"z\": 1,\n\t\"env\": {\n\t\t\"A\": \"b\",\n\t\t\"URL\": \"http://x\"\n\t},\n\t\"a\": [\n\t\t1\n\t],\n\t\"model\": \"m\"\n}\n",
            ),
        );
        // What is there already is not even written anew.
        let odd = "{ \"model\":\"m\",\"env\":{\"URL\":\"http://x\"} }";
        check(odd, Ok(odd));
        check("[]", Err("something else where `env.URL`"));
        check("{\"env\": 3}", Err("something else where `env.URL`"));
        check("{// mine\n}", Err("is not JSON"));
    }

    #[test]
    fn toml_keeps_everything_else() {
        let entries = [
            Entry::set(&["model_provider"], "junto"),
            Entry::set(&["model_providers", "junto", "base_url"], "http://x/v1"),
            Entry::remove(&["model_providers", "junto", "env_key"]),
        ];
        let check = |before: &str, after: Result<&str, &str>| match (toml(before, &entries), after) {
            (Ok(found), Ok(after)) => {
                assert_eq!(found, after, "{before}");
                assert_eq!(toml(&found, &entries).as_deref(), Ok(after), "twice is once");
            }
            (Err(found), Err(said)) => assert!(found.contains(said), "{found}"),
            (found, _) => panic!("{before}: {found:?}"),
        };
        let ours = "[model_providers.junto]\nbase_url = \"http://x/v1\"\n";
        check("", Ok(&format!("model_provider = \"junto\"\n\n{ours}")));
        check(
            "# mine\nmodel = \"m\" # the best\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n",
            Ok(&format!(
                "# mine\nmodel = \"m\" # the best\nmodel_provider = \"junto\"\n\n[projects.\"/p\"]\n\
                 trust_level = \"trusted\"\n\n{ours}"
            )),
        );
        check(
            "model_provider = \"azure\" # work\n[model_providers.azure]\nname = \"a\"\n[model_providers.junto]\n\
             env_key = \"K\" # key\nbase_url = \"http://old\" # here\nstream_max_retries = 2\n",
            Ok(
                "model_provider = \"junto\" # work\n[model_providers.azure]\nname = \"a\"\n[model_providers.junto]\n\
                base_url = \"http://x/v1\" # here\nstream_max_retries = 2\n",
            ),
        );
        check(
            "model_providers = { junto = { base_url = \"old\" } }\n",
            Ok("model_providers = { junto = { base_url = \"http://x/v1\" } }\nmodel_provider = \"junto\"\n"),
        );
        check("model_providers = 3\n", Err("something else where"));
        check("model = [", Err("is not TOML"));
    }

    #[test]
    fn lines_keep_everything_else() {
        let entries = [Entry::set(&["URL"], "http://x"), Entry::set(&["KEY"], "k"), Entry::remove(&["OLD"])];
        let check = |before: &str, after: &str| {
            assert_eq!(lines(before, &entries), after, "{before:?}");
            assert_eq!(lines(after, &entries), after, "twice is once");
        };
        check("", "URL=http://x\nKEY=k\n");
        check("# mine\nA=1\n", "# mine\nA=1\nURL=http://x\nKEY=k\n");
        check("A=1", "A=1\nURL=http://x\nKEY=k\n");
        check("OLD=1\nKEY=a\nA=1\nexport KEY = b\nURL=\nOLDER=1\n", "KEY=k\nA=1\nURL=http://x\nOLDER=1\n");
        check("URL=http://x\nKEY=k\nKEY=z\n", "URL=http://x\nKEY=k\n");
        check("URL=http://x\nKEY=k", "URL=http://x\nKEY=k");
    }

    #[test]
    fn only_what_is_ours_is_removed() {
        let ours = [Entry::remove_ending(&["helper"], " token")];
        assert_eq!(json("{\"helper\": \"mine\"}", &ours).unwrap(), "{\"helper\": \"mine\"}");
        assert_eq!(json("{\"helper\": \"a token\"}", &ours).unwrap(), "{}\n");
        assert_eq!(
            json("{}", &[Entry::remove(&["env", "X"])]).unwrap(),
            "{}",
            "no table is made to remove from"
        );
    }
}
