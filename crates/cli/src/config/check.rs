//! Reads one configuration file and checks every key of it against the table.

use std::path::Path;
use std::sync::Arc;

use junto::llm::catalog::ModelInfo;
use junto::llm::names::nearest;
use junto::policy::{Origin as Whose, Rules};
use serde::Deserialize;
use toml_edit::{Document, Item, Key, Table, TableLike};

use super::problem::{Lines, Problem};
use super::schema::{self, KEYS, Place};
use super::settings::{KeyPath, Layer, Origin, Setting};
use super::value::Value;

/// The files we read are written by hand; what is larger is something else.
const LARGEST_FILE: u64 = 1024 * 1024;

/// Names under which people try to keep keys.
const KEY_NAMES: &[&str] = &["api_key", "apikey", "key", "token", "secret", "password", "auth_token"];

/// Reads a file. `None` if there is none.
///
/// # Errors
/// A problem that names the file.
pub(crate) fn read(file: &Path) -> Result<Option<String>, Problem> {
    use std::io::{ErrorKind, Read};
    let problem = |error: std::io::Error| Problem::in_file(file, format!("cannot be read: {error}"));
    let handle = match std::fs::File::open(file) {
        Ok(handle) => handle,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(problem(error)),
    };
    let mut bytes = Vec::new();
    handle.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(problem)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(Problem::in_file(file, "is larger than 1 MiB and surely no configuration"));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| Problem::in_file(file, "is not UTF-8 text"))
}

/// Checks the text of a file of the user's or of a project: the settings and rules it makes, and everything
/// that is wrong with it.
pub(crate) fn check(file: &Path, text: &str, whose: Whose) -> Layer {
    let mut walk = Walk {
        file: Arc::from(file),
        lines: Lines::new(file, text),
        layer: Layer::default(),
        values: Values::Keep,
    };
    match Document::parse(text) {
        Ok(document) => walk.table(&mut Vec::new(), document.as_table(), 0),
        // Only the message: the error's full text would repeat the line, and the line may hold a key.
        Err(error) => {
            let offset = error.span().map_or(0, |span| span.start);
            walk.problem(offset, error.message().lines().collect::<Vec<_>>().join(" "));
        }
    }
    let mut layer = walk.layer;
    match Rules::parse(text, whose, Some(file)) {
        Ok(rules) => layer.rules.push(rules),
        Err(error) => {
            let problem = match error.line {
                Some(line) => Problem::in_line(file, line, error.message),
                None => Problem::in_file(file, error.message),
            };
            // The keys beside the rules were looked at already.
            if layer.problems.iter().all(|known| known.place != problem.place) {
                layer.problems.push(problem);
            }
        }
    }
    layer
}

/// Whether the values met are settings by themselves or parts of a model's entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    Keep,
    CheckOnly,
}

struct Walk {
    file: Arc<Path>,
    lines: Lines,
    layer: Layer,
    values: Values,
}

impl Walk {
    /// Checks a table. `start` is where it begins, for keys that have no place of their own.
    fn table(&mut self, path: &mut Vec<String>, table: &dyn TableLike, start: usize) {
        for (name, item) in table.iter() {
            let offset =
                table.key(name).and_then(Key::span).or_else(|| item.span()).map_or(start, |s| s.start);
            path.push(name.to_owned());
            self.item(path, item, offset);
            path.pop();
        }
    }

    fn item(&mut self, path: &mut Vec<String>, item: &Item, offset: usize) {
        match schema::place(path) {
            Place::Value(key) => {
                let name = path.last().map_or("", String::as_str);
                match key.kind.read_toml(name, item) {
                    Ok(_) if self.values == Values::CheckOnly => {}
                    Ok(value) => self.set(path, Setting { key, value, origin: self.origin(offset) }),
                    Err(message) => {
                        self.problem(offset, format!("`{}`: {message}", KeyPath::from(&*path)));
                        self.layer.spoiled.insert(KeyPath::from(&*path));
                    }
                }
            }
            Place::Table => match item.as_table_like() {
                Some(table) => self.table(path, table, offset),
                None => self.problem(offset, format!("`{}`: expected a table", KeyPath::from(&*path))),
            },
            Place::Models => self.models(path, item, offset),
            // They are read as a whole, by those who know them.
            Place::Rules => {}
            Place::Unknown => self.problem(offset, unknown_key(path)),
        }
    }

    fn models(&mut self, path: &mut Vec<String>, item: &Item, offset: usize) {
        let entries: Option<Vec<Table>> = match item {
            Item::ArrayOfTables(tables) => Some(tables.iter().cloned().collect()),
            Item::Value(toml_edit::Value::Array(array)) => array
                .iter()
                .map(|value| Some(value.as_inline_table()?.clone().into_table()))
                .collect::<Option<Vec<_>>>(),
            _ => None,
        };
        let Some(entries) = entries else {
            self.problem(offset, "`models`: expected entries that start with [[models]]".to_owned());
            return;
        };
        for table in entries {
            let offset = table.span().map_or(offset, |span| span.start);
            let found = self.layer.problems.len();
            path.push("*".to_owned());
            self.values = Values::CheckOnly;
            self.table(path, &table, offset);
            self.values = Values::Keep;
            path.pop();
            if self.layer.problems.len() == found {
                self.model(table, offset);
            }
        }
    }

    /// Keeps an entry whose keys are all right, unless one is missing.
    fn model(&mut self, table: Table, offset: usize) {
        let document = toml_edit::DocumentMut::from(table);
        match ModelInfo::deserialize(toml_edit::de::Deserializer::from(document)) {
            Ok(model) => {
                let name = format!("{}/{}", model.provider, model.id);
                let Place::Value(key) = schema::place(&["models".into(), "*".into(), "id".into()]) else {
                    return;
                };
                let value = Value::Model(Box::new(model));
                self.set(&["models".to_owned(), name], Setting { key, value, origin: self.origin(offset) });
            }
            Err(error) => self.problem(offset, format!("`models`: {}", error.message())),
        }
    }

    fn set(&mut self, path: &[String], setting: Setting) {
        self.layer.settings.insert(KeyPath::from(path), setting);
    }

    fn problem(&mut self, offset: usize, message: String) {
        self.layer.problems.push(self.lines.problem(offset, message));
    }

    fn origin(&self, offset: usize) -> Origin {
        Origin::File { file: Arc::clone(&self.file), line: self.lines.at(offset) }
    }
}

/// What to say of a key nobody knows: the nearest one, else where a key of that name belongs, else
/// what there is.
fn unknown_key(path: &[String]) -> String {
    let Some((name, table)) = path.split_last() else { return "unknown key".to_owned() };
    let known = schema::names_below(table);
    let within = if table.is_empty() { String::new() } else { format!(" in `{}`", KeyPath::from(table)) };
    let advice = if KEY_NAMES.contains(&name.to_ascii_lowercase().as_str()) {
        "keys are not kept in configuration: name the variable that holds the key with `key_env`".to_owned()
    } else if let Some(near) = nearest(name, known.iter().copied()) {
        format!("did you mean \"{near}\"?")
    } else if let Some(key) = KEYS.iter().find(|key| key.name() == name) {
        format!("did you mean \"{}\"?", key.path)
    } else {
        format!("known here: {}", known.join(", "))
    };
    format!("unknown key \"{name}\"{within}; {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The problems of a text, as they are printed.
    fn check_text(text: &str, expected: &[&str]) {
        let problems = check(Path::new("config.toml"), text, Whose::User).problems;
        let found: Vec<String> = problems.iter().map(Problem::to_string).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn unknown_keys_name_line_and_nearest() {
        check_text("modle = \"x\"", &["config.toml:1: unknown key \"modle\"; did you mean \"model\"?"]);
        check_text(
            "model = \"x\"\n\n[timeouts]\nconect = \"1s\"\n",
            &["config.toml:4: unknown key \"conect\" in `timeouts`; did you mean \"connect\"?"],
        );
        check_text("[timeout]\n", &["config.toml:1: unknown key \"timeout\"; did you mean \"timeouts\"?"]);
        check_text(
            "idle = \"1s\"",
            &["config.toml:1: unknown key \"idle\"; did you mean \"timeouts.idle\"?"],
        );
        check_text(
            "[retry]\nzzz = 1",
            &["config.toml:2: unknown key \"zzz\" in `retry`; known here: max_retries, base, cap"],
        );
        check_text(
            "providers.\"a.b\".base = 1",
            &["config.toml:1: unknown key \"base\" in `providers.\"a.b\"`; did you mean \"retry.base\"?"],
        );
    }

    #[test]
    fn wrong_types_name_line_and_key() {
        check_text(
            "\nmax_tokens = \"many\"",
            &[
                "config.toml:2: `max_tokens`: expected a whole number, zero or more, found the string \"many\"",
            ],
        );
        check_text("timeouts = 3", &["config.toml:1: `timeouts`: expected a table"]);
        check_text("models = 3", &["config.toml:1: `models`: expected entries that start with [[models]]"]);
        check_text(
            "[providers.x]\nwire = \"smtp\"",
            &[
                "config.toml:2: `providers.x.wire`: expected one of \"anthropic\", \"openai\", \"gemini\", \"chat\", found \"smtp\"",
            ],
        );
    }

    #[test]
    fn rules_are_read_and_checked() {
        let rule = |fields: &str| format!("[policy]\nmode = \"ask\"\n\n[[policy.rule]]\n{fields}");
        let layer = check(Path::new("f"), &rule("command = \"ls *\"\ndecision = \"allow\""), Whose::User);
        assert_eq!((layer.problems.len(), layer.rules.iter().flat_map(Rules::iter).count()), (0, 1));
        for (text, line, said) in [
            (rule("comand = \"ls\"\ndecision = \"allow\""), 5, "did you mean `command`?"),
            (rule("command = \"ls\"\ndecision = \"alow\""), 6, "did you mean `allow`?"),
            ("[policy]\nmod = \"ask\"".to_owned(), 2, "did you mean \"mode\"?"),
            ("[policy]\nmode = \"asks\"".to_owned(), 2, "expected one of"),
        ] {
            let problems = check(Path::new("f"), &text, Whose::User).problems;
            let [problem] = &problems[..] else { panic!("{text}: {problems:?}") };
            let told = problem.to_string();
            assert!(told.starts_with(&format!("f:{line}: ")) && told.contains(said), "{told}");
        }
    }

    #[test]
    fn all_problems_are_listed() {
        let Layer { settings, problems, .. } =
            check(Path::new("f"), "a = 1\nmodel = \"m\"\nb = 2\n", Whose::User);
        assert_eq!((settings.len(), problems.len()), (1, 2));
    }

    #[test]
    fn keys_are_never_repeated() {
        for text in [
            "[providers.x]\napi_key = \"sk-ant-0123456789\"",
            "[providers.x]\nkey_env = \"sk-ant-0123456789\"",
            "model = \"sk-ant-0123456789",
            "[providers.x]\nheaders = { x-api-key = \"sk-ant-0123456789\" }",
        ] {
            let Layer { settings, problems, .. } = check(Path::new("f"), text, Whose::User);
            assert!(settings.is_empty(), "{text}");
            assert_eq!(problems.len(), 1, "{text}");
            assert!(!problems[0].to_string().contains("0123456789"), "{}", problems[0]);
        }
    }

    #[test]
    fn models_are_read_whole() {
        let entry = "[[models]]\nid = \"m\"\nprovider = \"p\"\nname = \"M\"\ncontext_window = 10\n\
                     max_output = 5\nreleased = \"2026-01-01\"\nprice = { input = 1, output = 2.5 }\n";
        let Layer { settings, problems, .. } = check(Path::new("f"), entry, Whose::User);
        assert_eq!(problems, []);
        let (path, setting) = settings.iter().next().unwrap();
        assert_eq!(path.to_string(), "models.\"p/m\"");
        assert!(matches!(&setting.value, Value::Model(m) if m.price.unwrap().output > 2.4));
        check_text("\n[[models]]\nid = \"m\"", &["config.toml:2: `models`: missing field `provider`"]);
        check_text(
            "[[models]]\nid = \"m\"\nprise = 3",
            &["config.toml:3: unknown key \"prise\" in `models.*`; did you mean \"price\"?"],
        );
    }
}
