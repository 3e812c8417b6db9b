//! A look at a request's body before it is read: whether it is JSON, and which model it names.
//!
//! That is all that the way of a call by bytes depends on. It is as strict as whoever reads the body later, and makes
//! nothing of what it sees, so that it takes a fraction of the time.

use std::fmt;

use junto_llm::ErrorKind;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::reply::Failure;

/// What is seen.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Glance {
    model: Option<String>,
}

/// The model, if that is what a body begins with, as most do. What comes after it is not looked at: there may be
/// another, or no JSON.
pub(crate) fn model_at_once(body: &[u8]) -> Option<&str> {
    let rest = body.trim_ascii_start().strip_prefix(b"{")?;
    let rest = rest.trim_ascii_start().strip_prefix(b"\"model\"")?;
    let rest = rest.trim_ascii_start().strip_prefix(b":")?;
    let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
    let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    let (model, rest) = rest.split_at(end);
    let is_plain = !model.is_empty() && rest.starts_with(b"\"") && !model.iter().any(u8::is_ascii_control);
    std::str::from_utf8(model).ok().filter(|_| is_plain)
}

impl Glance {
    /// # Errors
    /// 400 for what is not JSON.
    pub(crate) fn at(body: &[u8]) -> Result<Self, Failure> {
        serde_json::from_slice(body).map_err(|e| not_json(&e))
    }

    /// The model that a body names.
    ///
    /// # Errors
    /// 400 if it names none.
    pub(crate) fn model(self) -> Result<String, Failure> {
        let missing = || Failure::new(ErrorKind::InvalidRequest, "model: must be a string that is not empty");
        self.model.filter(|model| !model.is_empty()).ok_or_else(missing)
    }
}

/// The refusal of what is not JSON.
pub(crate) fn not_json(error: &serde_json::Error) -> Failure {
    Failure::new(ErrorKind::InvalidRequest, format!("the body is not JSON: {error}"))
}

impl<'de> Deserialize<'de> for Glance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Top)
    }
}

/// The whole body, of which only an object can name a model.
struct Top;

impl<'de> Visitor<'de> for Top {
    type Value = Glance;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Glance, A::Error> {
        let mut model = None;
        // Of a name that comes twice the last one counts, as it does for whoever reads all.
        while let Some(name) = map.next_key()? {
            match name {
                Name::Model => model = map.next_value::<Word>()?.0,
                Name::Other => {
                    map.next_value::<Any>()?;
                }
            }
        }
        Ok(Glance { model })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Glance, A::Error> {
        Any.visit_seq(seq).map(|_| Glance { model: None })
    }

    fn visit_bool<E>(self, _: bool) -> Result<Glance, E> {
        Ok(Glance { model: None })
    }

    fn visit_i64<E>(self, _: i64) -> Result<Glance, E> {
        Ok(Glance { model: None })
    }

    fn visit_u64<E>(self, _: u64) -> Result<Glance, E> {
        Ok(Glance { model: None })
    }

    fn visit_f64<E>(self, _: f64) -> Result<Glance, E> {
        Ok(Glance { model: None })
    }

    fn visit_str<E>(self, _: &str) -> Result<Glance, E> {
        Ok(Glance { model: None })
    }

    fn visit_unit<E>(self) -> Result<Glance, E> {
        Ok(Glance { model: None })
    }
}

/// The names by which `serde_json` hands values of its own kinds to itself. Whoever reads an object that begins with one
/// takes what is in it for such a value: text that is read once more, as deep again as a body may be.
const NOT_NAMES: [&str; 2] = ["$serde_json::private::RawValue", "$serde_json::private::Number"];

/// The name of a field.
enum Name {
    /// The one that names the model.
    Model,
    Other,
}

impl Name {
    /// # Errors
    /// If it is none that a body may have.
    fn of<E: Error>(name: &str) -> Result<Self, E> {
        if name == "model" {
            Ok(Self::Model)
        } else if NOT_NAMES.contains(&name) {
            Err(E::custom(format_args!("`{name}` is not the name of a field")))
        } else {
            Ok(Self::Other)
        }
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Letters;
        impl Visitor<'_> for Letters {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Name, E> {
                Name::of(name)
            }
        }
        deserializer.deserialize_str(Letters)
    }
}

/// A string; nothing if it is something else.
struct Word(Option<String>);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Text)
    }
}

struct Text;

impl<'de> Visitor<'de> for Text {
    type Value = Word;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Word, A::Error> {
        Any.visit_map(map).map(|_| Word(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Word, A::Error> {
        Any.visit_seq(seq).map(|_| Word(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Word, E> {
        Ok(Word(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Word, E> {
        Ok(Word(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Word, E> {
        Ok(Word(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Word, E> {
        Ok(Word(None))
    }

    fn visit_str<E>(self, text: &str) -> Result<Word, E> {
        Ok(Word(Some(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Word, E> {
        Ok(Word(None))
    }
}

/// Anything at all, checked as it would be if it were kept: serde's own way to ignore it does not look into strings and
/// numbers.
struct Any;

impl<'de> Deserialize<'de> for Any {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

impl<'de> Visitor<'de> for Any {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<Name, Any>()?.is_some() {}
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<Any>()?.is_some() {}
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    /// A glance must see what a reader sees: whether it is JSON, and the model.
    #[track_caller]
    fn check(body: &[u8]) {
        let read = serde_json::from_slice::<Value>(body);
        let seen = Glance::at(body);
        assert_eq!(seen.is_ok(), read.is_ok(), "{}", String::from_utf8_lossy(body));
        if let (Ok(seen), Ok(read)) = (seen, read) {
            assert_eq!(seen.model.as_deref(), read.get("model").and_then(Value::as_str));
        }
    }

    #[test]
    fn it_is_as_strict_as_a_reader() {
        let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let texts = [
            r#"{"model": "m", "messages": [{"role": "user", "content": "hi"}]}"#,
            r#"{"model": "a", "model": "b"}"#,
            r#"{"model": "a", "model": 7}"#,
            r#"{"mod\u0065l": "m\n"}"#,
            r#"{"model": null, "x": {"model": "inner"}}"#,
            r#"{"model": {"a": [1, "model"]}}"#,
            r#"["model", {"model": "m"}]"#,
            r#""model""#,
            "null",
            "7",
            "-1.5",
            "true",
            "",
            "{",
            r#"{"model": "m"} x"#,
            r#"{"model": "m",}"#,
            r#"{"a": "\ud800"}"#,
            r#"{"a": "\ud83d\ude00"}"#,
            r#"{"\ud800": 1}"#,
            r#"{"a": 1e999}"#,
            r#"{"a": 01}"#,
            "{\"a\": \"\u{1}\"}",
            r#"{"a": nul}"#,
        ];
        for text in texts {
            check(text.as_bytes());
        }
        check(b"{\"a\": \"\xff\"}");
        check(b"{\"\xff\": 1}");
        for depth in [100, 126, 127, 128, 129, 1000] {
            check(deep(depth).as_bytes());
            check(format!("{{\"model\": \"m\", \"a\": {}}}", deep(depth)).as_bytes());
        }
        // What a reader would take for something else than an object.
        let raw = r#"{"$serde_json::private::RawValue": "[1"}"#;
        let long = format!("{{\"$serde_json::private::RawValue\": \"{}\"}}", deep(100));
        let inner = |of: &str| format!(r#"{{"model": "m", "messages": [{{"content": {of}}}]}}"#);
        check(raw.as_bytes());
        check(inner(raw).as_bytes());
        for text in [
            long.clone(),
            inner(&long),
            format!(r#"{{"model": {long}}}"#),
            r#"{"model": {"$serde_json::private::RawValue": "\"m\""}}"#.to_owned(),
            r#"{"model": "m", "$serde_json::private::Number": "1"}"#.to_owned(),
        ] {
            assert!(Glance::at(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn what_a_body_begins_with_is_what_a_reader_sees() {
        let rest = r#", "messages": [{"role": "user", "content": "hi"}]}"#;
        for (model, expected) in [
            (r#"{"model": "m""#, Some("m")),
            ("{\"model\":\"claude-x\"", Some("claude-x")),
            (" {\n\t\"model\" :\r\n \"\u{e4}/b:c\"", Some("\u{e4}/b:c")),
            (r#"{"model": """#, None),
            (r#"{"model": "a\u0062""#, None),
            (r#"{"model": "a\"b""#, None),
            (r#"{"model": 7"#, None),
            (r#"{"stream": true, "model": "m""#, None),
            (r#"{"models": "m""#, None),
        ] {
            let body = format!("{model}{rest}");
            assert_eq!(model_at_once(body.as_bytes()), expected, "{body}");
            if let Some(seen) = expected {
                assert_eq!(Glance::at(body.as_bytes()).unwrap().model.as_deref(), Some(seen), "{body}");
            }
        }
        for body in [
            &b""[..],
            b"{",
            b"{\"model\"",
            b"{\"model\":\"m",
            b"{\"model\":\"m\n\"}",
            b"{\"model\":\"\xff\"}",
        ] {
            assert_eq!(model_at_once(body), None, "{}", String::from_utf8_lossy(body));
        }
    }

    proptest! {
        #[test]
        fn it_sees_what_a_reader_sees(text in r#"[\[\]{}",:0-9a-e\\u+\-. ]{0,40}"#) {
            check(text.as_bytes());
            check(format!(r#"{{"model": "m", "x": {text}}}"#).as_bytes());
        }
    }
}
