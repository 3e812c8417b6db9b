//! One rule, and its one-line notation: `allow command "cargo test *"`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto_core::nearest;

use crate::glob::Glob;
use crate::pattern::Pattern;

/// What a rule says. Ordered by strictness: of all that match, the greatest holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// Go ahead.
    Allow,
    /// Somebody must be asked.
    Ask,
    /// No.
    Deny,
}

impl Answer {
    const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// Its name in rules.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    pub(crate) fn read(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|answer| answer.name() == name).ok_or_else(|| {
            let near = nearest(name, Self::ALL.map(Self::name));
            let near = near.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
            format!("`{name}` is no decision{near}; it is allow, ask or deny")
        })
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Where a rule came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The user's own configuration.
    User,
    /// The configuration of a project. The caller hands it over only if the project is trusted.
    Project,
    /// Somebody's answer in this session.
    Session,
    /// Ours.
    BuiltIn,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Session => "session",
            Self::BuiltIn => "built in",
        })
    }
}

/// What a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Tool(Glob),
    Command(Pattern),
    Read(Glob),
    Write(Glob),
    Net(Glob),
}

impl Subject {
    /// The keys of a rule's subject.
    pub(crate) const KEYS: [&'static str; 5] = ["tool", "command", "read", "write", "net"];

    /// Reads the pattern under one of the keys.
    pub(crate) fn read(key: &str, pattern: &str) -> Result<Self, String> {
        let wrong = |error: String| format!("`{key} = {pattern:?}`: {error}");
        Ok(match key {
            "tool" => Self::Tool(Glob::word(pattern).map_err(wrong)?),
            "command" => Self::Command(Pattern::read(pattern).map_err(wrong)?),
            "read" => Self::Read(meant_path(pattern).and_then(Glob::path).map_err(wrong)?),
            "write" => Self::Write(meant_path(pattern).and_then(Glob::path).map_err(wrong)?),
            "net" => {
                let host = meant_host(pattern).map_err(wrong)?;
                Self::Net(Glob::word(&host.to_ascii_lowercase()).map_err(wrong)?)
            }
            _ => {
                let near = nearest(key, Self::KEYS);
                let near = near.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
                return Err(format!(
                    "`{key}` is nothing a rule can be about{near}; it is one of {}",
                    Self::KEYS.join(", ")
                ));
            }
        })
    }

    fn key(&self) -> &'static str {
        match self {
            Self::Tool(_) => "tool",
            Self::Command(_) => "command",
            Self::Read(_) => "read",
            Self::Write(_) => "write",
            Self::Net(_) => "net",
        }
    }

    fn pattern(&self) -> &str {
        match self {
            Self::Command(pattern) => pattern.text(),
            Self::Tool(glob) | Self::Read(glob) | Self::Write(glob) | Self::Net(glob) => glob.text(),
        }
    }
}

/// A rule, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRule {
    pub(crate) answer: Answer,
    pub(crate) subject: Subject,
    pub(crate) reason: Option<String>,
    pub(crate) origin: Origin,
    pub(crate) file: Option<Arc<Path>>,
    pub(crate) line: Option<usize>,
}

impl PolicyRule {
    /// Reads the one-line notation: a decision, what it is about, a pattern in quotes, and perhaps
    /// `because` with a reason in quotes. A file's worth of them is [`crate::Rules`].
    ///
    /// ```
    /// use junto_policy::{Origin, PolicyRule};
    ///
    /// let rule = PolicyRule::read(r#"allow command "cargo test *""#, Origin::Session)?;
    /// assert_eq!(rule.to_string(), r#"allow command "cargo test *""#);
    /// assert_eq!(rule.to_toml(), "[[policy.rule]]\ncommand = \"cargo test *\"\ndecision = \"allow\"\n");
    /// # Ok::<(), junto_policy::RuleError>(())
    /// ```
    ///
    /// # Errors
    /// What is wrong with it, and what was probably meant.
    pub fn read(line: &str, origin: Origin) -> Result<Self, RuleError> {
        Self::read_line(line, origin).map_err(|message| RuleError { file: None, line: None, message })
    }

    fn read_line(line: &str, origin: Origin) -> Result<Self, String> {
        let (answer, rest) = line.trim().split_once(char::is_whitespace).ok_or_else(|| notation(line))?;
        let (key, rest) = rest.trim_start().split_once(char::is_whitespace).ok_or_else(|| notation(line))?;
        let (pattern, rest) = unquote(rest).ok_or_else(|| notation(line))?;
        let reason = match rest.trim() {
            "" => None,
            rest => {
                let quoted = rest.strip_prefix("because").ok_or_else(|| notation(line))?;
                let (reason, rest) = unquote(quoted).ok_or_else(|| notation(line))?;
                if !rest.trim().is_empty() {
                    return Err(notation(line));
                }
                Some(reason)
            }
        };
        let answer = Answer::read(answer)?;
        let subject = Subject::read(key, &pattern)?;
        Ok(Self { answer, subject, reason, origin, file: None, line: None })
    }

    /// A rule made of parts that are known to be fine.
    pub(crate) fn made(answer: Answer, subject: Subject) -> Self {
        Self { answer, subject, reason: None, origin: Origin::Session, file: None, line: None }
    }

    /// What it says.
    pub fn answer(&self) -> Answer {
        self.answer
    }

    /// Where it came from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The file it stands in, and the line.
    pub fn place(&self) -> Option<(PathBuf, usize)> {
        Some((self.file.as_deref()?.to_owned(), self.line?))
    }

    /// Its entry in a configuration file.
    pub fn to_toml(&self) -> String {
        let mut text = format!(
            "[[policy.rule]]\n{} = {}\ndecision = {}\n",
            self.subject.key(),
            quote(self.subject.pattern()),
            quote(self.answer.name())
        );
        if let Some(reason) = &self.reason {
            text.push_str("reason = ");
            text.push_str(&quote(reason));
            text.push('\n');
        }
        text
    }

    /// Where it is, in words.
    pub(crate) fn source(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{}, {}:{line}", self.origin, file.display()),
            (Some(file), None) => format!("{}, {}", self.origin, file.display()),
            _ => self.origin.to_string(),
        }
    }
}

impl fmt::Display for PolicyRule {
    /// The one-line notation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.answer, self.subject.key(), quote(self.subject.pattern()))?;
        match &self.reason {
            Some(reason) => write!(f, " because {}", quote(reason)),
            None => Ok(()),
        }
    }
}

impl From<&PolicyRule> for junto_core::Rule {
    fn from(rule: &PolicyRule) -> Self {
        Self(rule.to_string())
    }
}

/// A rule that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The file it stands in.
    pub file: Option<PathBuf>,
    /// The line.
    pub line: Option<usize>,
    /// What is wrong, and what was probably meant.
    pub message: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{}:{line}: ", file.display())?,
            (Some(file), None) => write!(f, "{}: ", file.display())?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for RuleError {}

fn notation(line: &str) -> String {
    format!("`{}` is no rule; one looks like: allow command \"cargo test *\"", line.trim())
}

/// A pattern of paths, if it can mean one: what a shell would make of it is nothing here.
fn meant_path(pattern: &str) -> Result<&str, String> {
    if pattern.starts_with('~') && pattern != "~" && !pattern.starts_with("~/") {
        return Err(format!(
            "only `~/` is a home; write the path of another, or `./{pattern}` for a file of that name"
        ));
    }
    if pattern.starts_with('$') {
        return Err("variables mean nothing here; write the path, or `~/` for the home".to_owned());
    }
    if pattern.starts_with("file:") {
        return Err("it is a path, and no address".to_owned());
    }
    Ok(pattern)
}

/// A pattern of hosts, if it can mean one: no address has more of it than the name.
fn meant_host(pattern: &str) -> Result<&str, String> {
    let name = pattern.split_once("://").map_or(pattern, |(_, rest)| rest);
    let name = name.split('/').next().unwrap_or_default();
    let name = name.rsplit_once('@').map_or(name, |(_, name)| name);
    let port = |(host, port): (&str, &str)| {
        !host.contains(':') && port.bytes().all(|c| c.is_ascii_digit() || c == b'*')
    };
    let name = match name.rsplit_once(':') {
        Some(both) if port(both) => both.0,
        _ => name,
    };
    if name == pattern || pattern.starts_with('[') {
        return Ok(pattern);
    }
    Err(format!("it is the name of a host, and nothing else of an address; write {}", quote(name)))
}

/// The text in quotes, as TOML and the one-line notation have it.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.extend(format!("\\u{:04X}", u32::from(c)).chars()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// What is in the quotes at the start, and what comes after them.
fn unquote(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start().strip_prefix('"')?;
    let mut inner = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((inner, text.get(at + 1..)?)),
            '\\' => match chars.next()?.1 {
                'n' => inner.push('\n'),
                't' => inner.push('\t'),
                'u' => {
                    let mut code = 0;
                    for _ in 0..4 {
                        code = code * 16 + chars.next()?.1.to_digit(16)?;
                    }
                    inner.push(char::from_u32(code)?);
                }
                c => inner.push(c),
            },
            c => inner.push(c),
        }
    }
    None
}
