//! What a key may hold, and how it is read from TOML and from text.

use std::fmt::{self, Write};
use std::time::Duration;

use junto::llm::catalog::ModelInfo;
use toml_edit::{Item, Value as Toml};

/// What a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any text.
    Text,
    /// Any text, also none.
    Words,
    /// A whole number, zero or more.
    Count,
    /// A port.
    Port,
    /// A number, zero or more.
    Number,
    /// Yes or no.
    Flag,
    /// Several texts.
    Texts,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A duration above zero.
    Timeout,
    /// A duration.
    Pause,
    /// An `http` or `https` address.
    Url,
    /// The name of an environment variable.
    Variable,
    /// A header's value; its name must not be one that carries a key.
    Header,
    /// Who answers for a model: one text, or several for a council.
    Route,
}

/// A value that was read and checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// Text of any kind.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
    /// Several texts.
    Texts(Vec<String>),
    /// A duration.
    Duration(Duration),
    /// A whole entry of `[[models]]`.
    Model(Box<ModelInfo>),
}

/// Headers whose values are keys.
const KEY_HEADERS: &[&str] = &[
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "cookie",
    "x-auth-token",
];

/// How the keys of well-known services begin.
const KEY_PREFIXES: &[&str] =
    &["sk-", "sk_", "AIza", "gsk_", "xai-", "pplx-", "hf_", "r8_", "ghp_", "github_pat_", "Bearer ", "eyJ"];

const NO_KEYS: &str = "keys are not kept in configuration: put it into an environment variable and that variable's name into `key_env`";

impl Kind {
    /// What is expected, in words.
    pub(crate) fn expected(self) -> String {
        match self {
            Self::Text | Self::Words | Self::Header => "a string".to_owned(),
            Self::Count => "a whole number, zero or more".to_owned(),
            Self::Port => "a port, 0 to 65535".to_owned(),
            Self::Number => "a number, zero or more".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Texts => "a list of strings".to_owned(),
            Self::Choice(words) => {
                format!("one of {}", words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", "))
            }
            Self::Timeout => "a duration above zero such as \"30s\" or \"2m\"".to_owned(),
            Self::Pause => "a duration such as \"500ms\" or \"2s\"".to_owned(),
            Self::Url => "an address that starts with http:// or https://".to_owned(),
            Self::Variable => "the name of an environment variable".to_owned(),
            Self::Route => {
                "\"PROVIDER/MODEL\", \"PROVIDER/*\", \"cli:NAME\", \"council\", \"council:NAME\" or a list of \
                 members"
                    .to_owned()
            }
        }
    }

    /// Reads a value from TOML.
    ///
    /// # Errors
    /// What is wrong with it, in words that never repeat a key.
    pub(crate) fn read_toml(self, name: &str, item: &Item) -> Result<Value, String> {
        let wrong = || Err(format!("expected {}, found {}", self.expected(), found(item)));
        match (self, item.as_value()) {
            (Self::Count, Some(Toml::Integer(number))) => {
                u64::try_from(*number.value()).map(Value::Count).or_else(|_| wrong())
            }
            (Self::Port, Some(Toml::Integer(number))) => {
                u16::try_from(*number.value()).map(|port| Value::Count(port.into())).or_else(|_| wrong())
            }
            (Self::Number, Some(value)) if value.is_float() || value.is_integer() => {
                #[expect(clippy::cast_precision_loss, reason = "prices are small")]
                let number = value
                    .as_float()
                    .or(value.as_integer().map(|i| i as f64))
                    .filter(|n| *n >= 0.0 && n.is_finite());
                number.map(Value::Number).map_or_else(wrong, Ok)
            }
            (Self::Flag, Some(Toml::Boolean(flag))) => Ok(Value::Flag(*flag.value())),
            (Self::Texts | Self::Route, Some(Toml::Array(array))) => array
                .iter()
                .map(|v| v.as_str().map(str::to_owned))
                .collect::<Option<Vec<_>>>()
                .map(Value::Texts)
                .map_or_else(wrong, Ok),
            (Self::Count | Self::Port | Self::Number | Self::Flag | Self::Texts, _) => wrong(),
            // `gpt-5.5 = …` is a table `gpt-5` with a key `5`.
            (Self::Route, None | Some(Toml::InlineTable(_))) => {
                wrong().map_err(|wrong| format!("{wrong}; a name with a dot in it is written in quotes"))
            }
            (_, Some(Toml::String(text))) => self.read_text(name, text.value()),
            _ => wrong(),
        }
    }

    /// Reads a value from the text of a variable, a flag or a TOML string.
    ///
    /// # Errors
    /// What is wrong with it, in words that never repeat a key.
    pub(crate) fn read_text(self, name: &str, text: &str) -> Result<Value, String> {
        if self == Self::Header {
            check_header(name, text)?;
        }
        if looks_like_key(text) {
            return Err(format!("this looks like a key; {NO_KEYS}"));
        }
        if text.is_empty()
            && matches!(self, Self::Text | Self::Header | Self::Url | Self::Variable | Self::Route)
        {
            return Err("must not be empty".to_owned());
        }
        let value = match self {
            Self::Text | Self::Words | Self::Header => Some(Value::Text(text.to_owned())),
            Self::Count => text.parse().ok().map(Value::Count),
            Self::Number => text.parse().ok().filter(|n: &f64| *n >= 0.0 && n.is_finite()).map(Value::Number),
            Self::Port => text.parse().ok().map(|port: u16| Value::Count(port.into())),
            Self::Flag => match text {
                "true" | "1" => Some(Value::Flag(true)),
                "false" | "0" => Some(Value::Flag(false)),
                _ => None,
            },
            Self::Route if !text.contains(',') => Some(Value::Text(text.to_owned())),
            Self::Texts | Self::Route => {
                Some(Value::Texts(text.split(',').map(|t| t.trim().to_owned()).collect()))
            }
            Self::Choice(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
            Self::Timeout => duration(text).filter(|d| !d.is_zero()).map(Value::Duration),
            Self::Pause => duration(text).map(Value::Duration),
            Self::Url => {
                if has_credentials(text) {
                    return Err(format!("this address contains a password or key; {NO_KEYS}"));
                }
                is_address(text).then(|| Value::Text(text.trim_end_matches('/').to_owned()))
            }
            Self::Variable => is_variable_name(text).then(|| Value::Text(text.to_owned())),
        };
        // What does not even look like a variable's name may well be the key itself.
        let shown = if self == Self::Variable { "something else".to_owned() } else { format!("{text:?}") };
        value.ok_or_else(|| format!("expected {}, found {shown}", self.expected()))
    }
}

impl Value {
    /// The value as JSON; a duration as it is written in TOML.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Count(number) => (*number).into(),
            Self::Number(number) => (*number).into(),
            Self::Flag(flag) => (*flag).into(),
            Self::Texts(texts) => texts.as_slice().into(),
            Self::Duration(duration) => duration_text(*duration).into(),
            Self::Model(model) => serde_json::to_value(model).unwrap_or_default(),
        }
    }
}

impl fmt::Display for Value {
    /// As it is written in TOML. A model is named only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{}", Toml::from(text.as_str())),
            Self::Count(number) => write!(f, "{number}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Texts(texts) => write!(f, "{}", texts.iter().collect::<toml_edit::Array>()),
            Self::Duration(duration) => write!(f, "\"{}\"", duration_text(*duration)),
            Self::Model(model) => write!(f, "\"{}/{}\"", model.provider, model.id),
        }
    }
}

/// What stands there instead, in words; long or secret texts are not repeated.
fn found(item: &Item) -> String {
    match item.as_value() {
        Some(Toml::String(text)) if looks_like_key(text.value()) || text.value().len() > 40 => {
            "a string".to_owned()
        }
        Some(Toml::String(text)) => format!("the string {:?}", text.value()),
        Some(Toml::Integer(number)) => format!("the number {}", number.value()),
        Some(Toml::Float(number)) => format!("the number {}", number.value()),
        Some(Toml::Boolean(flag)) => flag.value().to_string(),
        Some(Toml::Datetime(_)) => "a date".to_owned(),
        Some(Toml::Array(_)) => "a list".to_owned(),
        Some(Toml::InlineTable(_)) | None => "a table".to_owned(),
    }
}

fn looks_like_key(text: &str) -> bool {
    let hex = text.len() >= 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
    hex || (text.len() >= 12 && KEY_PREFIXES.iter().any(|prefix| text.starts_with(prefix)))
}

/// Refuses a header that carries a key, or that HTTP does not know.
fn check_header(name: &str, text: &str) -> Result<(), String> {
    if KEY_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(format!("this header carries a key; {NO_KEYS}"));
    }
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err("a header's name has only letters, digits and dashes, and no spaces".to_owned());
    }
    if text.contains(|c: char| c.is_control() && c != '\t') {
        return Err("a header's value has no line breaks nor other control characters".to_owned());
    }
    Ok(())
}

fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    rest.is_some_and(|rest| {
        !rest.is_empty()
            && !rest.starts_with('/')
            && !text.contains(|c: char| c.is_whitespace() || c.is_control())
    })
}

fn has_credentials(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let query = url.split_once('?').map_or("", |(_, query)| query).to_ascii_lowercase();
    authority.contains('@') || query.contains("key=") || query.contains("token=")
}

fn is_variable_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The units of durations, largest first, in milliseconds.
const UNITS: &[(&str, u64)] = &[("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Reads `500ms`, `30s`, `2m`, `1h` and sums such as `1m30s`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(*factor)?)?;
        rest = tail;
    }
    (!text.trim().is_empty()).then(|| Duration::from_millis(total))
}

/// Writes a duration as [`duration`] reads it.
pub(crate) fn duration_text(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut text = String::new();
    for (unit, factor) in UNITS {
        if rest >= *factor {
            let _ = write!(text, "{}{unit}", rest / factor);
            rest %= factor;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toml(text: &str) -> Item {
        toml_edit::Document::parse(format!("x = {text}")).unwrap().as_table().get("x").unwrap().clone()
    }

    #[test]
    fn durations_read_and_write() {
        let check = |text: &str, millis: Option<u64>| {
            assert_eq!(duration(text), millis.map(Duration::from_millis), "{text}");
        };
        check("30s", Some(30_000));
        check("500ms", Some(500));
        check("1m30s", Some(90_000));
        check("0s", Some(0));
        for bad in ["", "30", "s", "1.5s", "-1s", "1d", "99999999999999999999s", "18446744073709551615h"] {
            check(bad, None);
        }
        for text in ["1h2m3s4ms", "2m", "0s"] {
            assert_eq!(duration_text(duration(text).unwrap()), text);
        }
    }

    #[test]
    fn wrong_types_say_what_was_expected_and_found() {
        let check = |kind: Kind, text: &str, expected: &str| {
            assert_eq!(kind.read_toml("x", &toml(text)).unwrap_err(), expected, "{text}");
        };
        check(Kind::Count, "\"many\"", "expected a whole number, zero or more, found the string \"many\"");
        check(Kind::Count, "-1", "expected a whole number, zero or more, found the number -1");
        check(Kind::Flag, "1", "expected true or false, found the number 1");
        check(Kind::Text, "{}", "expected a string, found a table");
        for kind in [Kind::Text, Kind::Header, Kind::Url, Kind::Variable] {
            check(kind, "\"\"", "must not be empty");
        }
        check(Kind::Texts, "[1]", "expected a list of strings, found a list");
        check(Kind::Number, "nan", "expected a number, zero or more, found the number NaN");
        check(Kind::Number, "-1", "expected a number, zero or more, found the number -1");
        check(Kind::Choice(&["a", "b"]), "\"c\"", "expected one of \"a\", \"b\", found \"c\"");
        check(
            Kind::Timeout,
            "30",
            "expected a duration above zero such as \"30s\" or \"2m\", found the number 30",
        );
        check(
            Kind::Url,
            "\"localhost:80\"",
            "expected an address that starts with http:// or https://, found \"localhost:80\"",
        );
    }

    #[test]
    fn headers_are_such_that_they_can_be_sent() {
        let check = |name: &str, text: &str, fault: Option<&str>| {
            let found = Kind::Header.read_text(name, text).err();
            match (&found, fault) {
                (Some(found), Some(fault)) => assert!(found.contains(fault), "{name:?} {found}"),
                _ => assert_eq!(found.as_deref(), fault, "{name:?} {text:?}"),
            }
        };
        check("X-Team", "a b\té", None);
        check("x_team.1", "a", None);
        check("X Team", "a", Some("a header's name"));
        check("X:Team", "a", Some("a header's name"));
        check("Tëam", "a", Some("a header's name"));
        check("", "a", Some("a header's name"));
        check("X-Team", "a\nb", Some("a header's value"));
        check("X-Team", "a\r", Some("a header's value"));
        check("X-Team", "a\0", Some("a header's value"));
    }

    #[test]
    fn right_values_are_read() {
        let check = |kind: Kind, text: &str, expected: Value| {
            assert_eq!(kind.read_toml("x", &toml(text)), Ok(expected), "{text}");
        };
        check(Kind::Count, "0", Value::Count(0));
        check(Kind::Number, "3", Value::Number(3.0));
        check(Kind::Texts, "[\"a\"]", Value::Texts(vec!["a".into()]));
        check(Kind::Url, "\"http://x/v1/\"", Value::Text("http://x/v1".into()));
        check(Kind::Variable, "\"MY_KEY\"", Value::Text("MY_KEY".into()));
    }

    #[test]
    fn keys_are_refused_and_not_repeated() {
        let check = |kind: Kind, name: &str, text: &str| {
            let message = kind.read_text(name, text).unwrap_err();
            assert!(!message.contains(text), "{message}");
        };
        check(Kind::Text, "model", "sk-ant-0123456789");
        check(Kind::Variable, "key_env", "sk-ant-0123456789");
        check(Kind::Variable, "key_env", "0123456789abcdef0123456789abcdef");
        check(Kind::Variable, "key_env", "not-a-known-kind-of-key");
        check(Kind::Header, "X-Api-Key", "whatever");
        check(Kind::Url, "base_url", "https://me:secret@host/");
        check(Kind::Url, "base_url", "https://host/?key=secret");
        let wrong_type = Kind::Count.read_toml("x", &toml("\"sk-ant-0123456789\"")).unwrap_err();
        assert!(!wrong_type.contains("sk-ant"), "{wrong_type}");
    }
}
