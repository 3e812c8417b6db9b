//! Small readings of JSON that take what is there and never fail.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

const EITHER_PADDING: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, EITHER_PADDING);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, EITHER_PADDING);

/// The field, where it is there and not `null`.
pub(super) fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).filter(|field| !field.is_null())
}

/// The field's text, where it is a string.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

/// The field's items; none where it is no array.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The texts of a content field: the string it is, or those of its parts.
pub(super) fn texts<'a>(value: &'a Value, name: &str) -> Vec<&'a str> {
    match value.get(name) {
        Some(Value::String(text)) => vec![text],
        _ => list(value, name).iter().filter_map(|part| text(part, "text")).collect(),
    }
}

/// Whether the field is `true`.
pub(super) fn is_true(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool) == Some(true)
}

/// The first field of an object that is not among the known ones.
pub(super) fn unknown<'a>(object: &'a Value, known: &[&str]) -> Option<&'a str> {
    object.as_object()?.keys().map(String::as_str).find(|name| !known.contains(name))
}

/// What kind of thing a value is, as error messages say it.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(n) if n.is_f64() => "a decimal number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The bytes of a base64 text in the usual alphabet, padded or not.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// The bytes of a base64 text in either alphabet, as protobuf's JSON takes it.
pub(super) fn any_base64(text: &str) -> Option<Vec<u8>> {
    base64(text).or_else(|| URL_SAFE.decode(text).ok())
}

/// Whether a URL is one that can be fetched, or carries its data in valid base64.
pub(super) fn is_media_url(url: &str) -> bool {
    if let Some(rest) = url.strip_prefix("data:") {
        return rest
            .split_once(";base64,")
            .is_some_and(|(mime, data)| mime.contains('/') && base64(data).is_some_and(|d| !d.is_empty()));
    }
    url.starts_with("https://") || url.starts_with("http://")
}

/// Whether a name is of one to `max` ASCII letters, digits and the extra characters.
pub(super) fn is_name(name: &str, max: usize, extra: &str) -> bool {
    (1..=max).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || extra.contains(c))
}

/// Values as error messages list them: `'a', 'b', 'c'`.
pub(super) fn choices(values: &[&str]) -> String {
    values.iter().map(|value| format!("'{value}'")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_urls() {
        for (url, good) in [
            ("https://x/y.png", true),
            ("data:image/png;base64,AQID", true),
            ("data:image/png;base64,A!", false),
            ("data:image/png;base64,", false),
            ("data:;base64,AQID", false),
            ("file:///etc/passwd", false),
            ("", false),
        ] {
            assert_eq!(is_media_url(url), good, "{url}");
        }
    }

    #[test]
    fn base64_in_both_alphabets() {
        assert!(base64("-_-_").is_none());
        assert_eq!(any_base64("-_-_"), any_base64("+/+/"));
        assert!(any_base64("?").is_none());
    }
}
