//! Reading JSON of others.

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};
use serde_json::Value;

/// Reads the fields that a type names and passes over the others, which costs a fraction of keeping
/// them. Types whose fields are all [`Value`]s take whatever is there.
pub(super) fn fields<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    // A type would also take a list of its fields.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(serde_json::Error::custom("it is no object"));
    }
    // A field that is there twice is an error to a type. To everybody else the last one counts.
    serde_json::from_slice(body).or_else(|_| serde_json::from_value(serde_json::from_slice(body)?))
}

/// A field that is there, even if it is `null`.
pub(super) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(default)]
    struct Read {
        a: Value,
        #[serde(deserialize_with = "present")]
        b: Option<Value>,
    }

    fn check(body: &str, expected: Option<(Value, Option<Value>)>) {
        let read = fields::<Read>(body.as_bytes()).ok();
        assert_eq!(read, expected.map(|(a, b)| Read { a, b }), "{body}");
    }

    #[test]
    fn named_fields_are_read_whatever_they_are() {
        check("{}", Some((Value::Null, None)));
        check(r#"{"a": 1, "c": [{}], "b": null}"#, Some((json!(1), Some(Value::Null))));
        check(r#"{"a": 1, "a": "2"}"#, Some((json!("2"), None)));
        check("[]", None);
        check("{", None);
    }
}
