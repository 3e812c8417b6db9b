//! Rules as they stand in a configuration file.

use std::path::Path;
use std::sync::Arc;

use junto_core::nearest;
use toml_edit::{Document, Item, Key, TableLike, Value};

use crate::glob::is_pattern;
use crate::rule::{Answer, Origin, PolicyRule, RuleError, Subject};
use crate::{Mode, rule};

/// Keys of `[policy]` that are the host's: they say how it asks, not what.
const HOST_KEYS: &[&str] =
    &["approval_timeout", "network", "on_reject", "read_before_write", "sandbox", "sandbox_config"];
/// Keys of a rule beside what it is about.
const RULE_KEYS: [&str; 2] = ["decision", "reason"];

/// A set of rules from one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    pub(crate) rules: Vec<PolicyRule>,
    mode: Option<Mode>,
}

impl Rules {
    /// Reads the table `[policy]` of a configuration file; other tables are not looked at.
    ///
    /// ```
    /// use junto_policy::{Mode, Origin, Rules};
    ///
    /// let rules = Rules::parse(
    ///     "[policy]\nmode = \"workspace\"\n\n\
    ///      [[policy.rule]]\ncommand = \"git push *\"\ndecision = \"deny\"\nreason = \"people push here\"\n",
    ///     Origin::User,
    ///     None,
    /// )?;
    /// assert_eq!(rules.mode(), Some(Mode::Workspace));
    /// assert_eq!(rules.iter().count(), 1);
    /// # Ok::<(), junto_policy::RuleError>(())
    /// ```
    ///
    /// # Errors
    /// The first thing that is wrong, with its line, and what was probably meant.
    pub fn parse(toml: &str, origin: Origin, file: Option<&Path>) -> Result<Self, RuleError> {
        let reader = Reader { toml, origin, file: file.map(Arc::from) };
        let document = Document::parse(toml).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            reader.error(at, error.message().lines().collect::<Vec<_>>().join(" "))
        })?;
        match document.as_table().get("policy") {
            None => Ok(Self::default()),
            Some(item) => {
                let table = item.as_table_like();
                let table = table.ok_or_else(|| reader.error(start(item), "`policy` must be a table"))?;
                reader.policy(table)
            }
        }
    }

    /// The mode that the file asks for.
    pub fn mode(&self) -> Option<Mode> {
        self.mode
    }

    /// Files and directories that rules deny to read, or ask about, as they are written: absolute, from `~`, or from
    /// the working directory. Those that are told by a pattern of names are not among them.
    pub fn unread(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().filter(|rule| rule.answer > Answer::Allow).filter_map(|rule| {
            let Subject::Read(glob) = &rule.subject else { return None };
            let text = glob.text().strip_suffix("/**").unwrap_or(glob.text());
            (!text.is_empty() && !is_pattern(text)).then_some(text)
        })
    }

    /// The rules, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &PolicyRule> {
        self.rules.iter()
    }
}

impl From<Vec<PolicyRule>> for Rules {
    fn from(rules: Vec<PolicyRule>) -> Self {
        Self { rules, mode: None }
    }
}

struct Reader<'a> {
    toml: &'a str,
    origin: Origin,
    file: Option<Arc<Path>>,
}

impl Reader<'_> {
    fn policy(&self, table: &dyn TableLike) -> Result<Rules, RuleError> {
        let mut rules = Rules::default();
        for (key, item) in table.iter() {
            match key {
                "mode" => {
                    let mode = self.text(key, item)?.parse();
                    rules.mode =
                        Some(mode.map_err(|error: crate::UnknownMode| self.error(start(item), error))?);
                }
                "rule" => rules.rules = self.entries(item)?,
                key if HOST_KEYS.contains(&key) => {}
                key => {
                    let known = ["mode", "rule"].iter().chain(HOST_KEYS).copied();
                    let at = table.key(key).map_or(start(item), key_start);
                    return Err(self.error(at, unknown(key, "`policy`", known)));
                }
            }
        }
        Ok(rules)
    }

    fn entries(&self, item: &Item) -> Result<Vec<PolicyRule>, RuleError> {
        if let Some(tables) = item.as_array_of_tables() {
            return tables
                .iter()
                .map(|table| self.entry(table, table.span().map_or(0, |s| s.start)))
                .collect();
        }
        if let Some(array) = item.as_array() {
            let table = |value: &Value| {
                let at = value.span().map_or(0, |span| span.start);
                let table = value.as_inline_table().ok_or_else(|| self.error(at, NO_TABLE))?;
                self.entry(table, at)
            };
            return array.iter().map(table).collect();
        }
        Err(self.error(start(item), NO_TABLE))
    }

    fn entry(&self, table: &dyn TableLike, at: usize) -> Result<PolicyRule, RuleError> {
        let mut subject = None;
        let (mut answer, mut reason) = (None, None);
        for (key, item) in table.iter() {
            let key_at = table.key(key).map_or(at, key_start);
            match key {
                "decision" => {
                    let read = Answer::read(&self.text(key, item)?);
                    answer = Some(read.map_err(|message| self.error(start(item), message))?);
                }
                "reason" => reason = Some(self.text(key, item)?),
                key if Subject::KEYS.contains(&key) => {
                    if let Some((other, _)) = subject {
                        let message =
                            format!("a rule is about one thing, and this one has `{other}` and `{key}`");
                        return Err(self.error(key_at, message));
                    }
                    let read = Subject::read(key, &self.text(key, item)?);
                    subject = Some((key, read.map_err(|message| self.error(start(item), message))?));
                }
                key => {
                    let known = Subject::KEYS.into_iter().chain(RULE_KEYS);
                    return Err(self.error(key_at, unknown(key, "a rule", known)));
                }
            }
        }
        let Some((_, subject)) = subject else {
            let message = format!("a rule needs one of {}", Subject::KEYS.join(", "));
            return Err(self.error(at, message));
        };
        let Some(answer) = answer else {
            return Err(self.error(at, "a rule needs `decision`: allow, ask or deny"));
        };
        let line = Some(self.line(at));
        Ok(PolicyRule { answer, subject, reason, origin: self.origin, file: self.file.clone(), line })
    }

    fn text(&self, key: &str, item: &Item) -> Result<String, RuleError> {
        let text = item.as_str().map(str::to_owned);
        text.ok_or_else(|| self.error(start(item), format!("`{key}` must be a text in quotes")))
    }

    fn line(&self, at: usize) -> usize {
        let before = self.toml.as_bytes().iter().take(at);
        1 + before.filter(|byte| **byte == b'\n').count()
    }

    fn error(&self, at: usize, message: impl ToString) -> RuleError {
        RuleError {
            file: self.file.as_deref().map(Path::to_owned),
            line: Some(self.line(at)),
            message: message.to_string(),
        }
    }
}

const NO_TABLE: &str = "rules are entries that start with [[policy.rule]]";

fn start(item: &Item) -> usize {
    item.span().map_or(0, |span| span.start)
}

fn key_start(key: &Key) -> usize {
    key.span().map_or(0, |span| span.start)
}

fn unknown<'a>(key: &str, place: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let key_quoted = rule::quote(key);
    if let Some(near) = nearest(key, known.clone()) {
        return format!("unknown key {key_quoted} in {place}; did you mean `{near}`?");
    }
    let known: Vec<&str> = known.collect();
    format!("unknown key {key_quoted} in {place}; known here: {}", known.join(", "))
}
