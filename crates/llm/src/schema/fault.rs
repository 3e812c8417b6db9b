//! What is wrong with a value, in words that help to mend it.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

use crate::names::nearest;

/// How many characters of a value, or of a name, are shown.
const SHOWN: usize = 60;
/// How many names or options are listed.
const LISTED: usize = 20;

/// One fault in words; several where one error stands for several.
pub(super) fn tell(error: &ValidationError<'_>, schema: &Value) -> Vec<String> {
    let place = Place::of(error);
    let here = place.quoted();
    let value = error.instance();
    let one = match error.kind() {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let known = properties_beside(error, schema);
            return unexpected.iter().map(|name| unknown(&place, name, &known)).collect();
        }
        Kind::Required { property } => missing(&place, property, error, schema),
        Kind::Type { kind } => format!("{here} must be {}, not {}", types(kind), given(value)),
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            format!("{here} must be one of {}, not {}", listed(options.iter().map(shown)), shown(value))
        }
        Kind::Constant { expected_value } => {
            format!("{here} must be {}, not {}", shown(expected_value), shown(value))
        }
        Kind::Minimum { limit } => format!("{here} must be at least {limit}, not {}", shown(value)),
        Kind::Maximum { limit } => format!("{here} must be at most {limit}, not {}", shown(value)),
        Kind::ExclusiveMinimum { limit } => format!("{here} must be more than {limit}, not {}", shown(value)),
        Kind::ExclusiveMaximum { limit } => format!("{here} must be less than {limit}, not {}", shown(value)),
        Kind::MinLength { limit: 1 } | Kind::MinItems { limit: 1 } => format!("{here} must not be empty"),
        Kind::MinLength { limit } => format!("{here} must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("{here} must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("{here} must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("{here} must have at most {limit} items"),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => {
            format!("{here} has none of the forms it may have: {}", shown(value))
        }
        _ => format!("{here}: {}", cut(&error.masked_with("it").to_string(), 5 * SHOWN)),
    };
    vec![one]
}

/// Where in a value a fault is: `steps[0].status`; empty for the whole.
struct Place(String);

impl Place {
    fn of(error: &ValidationError<'_>) -> Self {
        let mut place = Self(String::new());
        for part in error.instance_path().as_str().split('/').skip(1) {
            let name = part.replace("~1", "/").replace("~0", "~");
            if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
                place.0 += &format!("[{name}]");
            } else {
                place = Self(place.field(&name));
            }
        }
        place
    }

    fn field(&self, name: &str) -> String {
        let name = cut(name, SHOWN);
        if self.0.is_empty() { name } else { format!("{}.{name}", self.0) }
    }

    fn quoted(&self) -> String {
        if self.0.is_empty() { "the whole".to_owned() } else { format!("`{}`", self.0) }
    }
}

fn unknown(place: &Place, name: &str, known: &[&str]) -> String {
    let field = place.field(name);
    if let Some(near) = meant(name, known) {
        return format!("`{field}` is unknown; did you mean `{near}`?");
    }
    match known {
        [] => format!("`{field}` is unknown, and so is every other field here"),
        known => format!(
            "`{field}` is unknown; there are {}",
            listed(known.iter().map(|name| format!("`{name}`")))
        ),
    }
}

/// The field that was probably meant: a misspelt one, a longer name of which this is a part, or one of
/// which this is a short form.
fn meant<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let short = cut(name, SHOWN).to_lowercase().replace('-', "_");
    nearest(&short, known.iter().copied())
        .or_else(|| only(known, |known| known.contains(&short) || short.contains(known)))
        .or_else(|| only(known, |known| is_short_for(&short, known)))
}

/// The only one of these for which this holds.
fn only<'a>(known: &[&'a str], holds: impl Fn(&str) -> bool) -> Option<&'a str> {
    let mut found = known.iter().copied().filter(|known| holds(known));
    found.next().filter(|_| found.next().is_none())
}

/// Whether the letters of one stand in the other, in order, from the first on.
fn is_short_for(short: &str, long: &str) -> bool {
    let mut letters = long.chars();
    short.len() > 1
        && short.chars().next() == long.chars().next()
        && short.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

fn missing(place: &Place, property: &Value, error: &ValidationError<'_>, schema: &Value) -> String {
    let name = property.as_str().unwrap_or_default();
    let declared = beside(error, schema).and_then(|object| object.get("properties")?.get(name)?.get("type"));
    let kind = declared.and_then(Value::as_str).map(|kind| format!(" (it is {})", named(kind)));
    format!("`{}` is missing{}", place.field(name), kind.unwrap_or_default())
}

/// The part of the schema in which the keyword that failed stands.
fn beside<'a>(error: &ValidationError<'_>, schema: &'a Value) -> Option<&'a Value> {
    let (parent, _) = error.schema_path().as_str().rsplit_once('/')?;
    schema.pointer(parent)
}

fn properties_beside<'a>(error: &ValidationError<'_>, schema: &'a Value) -> Vec<&'a str> {
    let properties = beside(error, schema).and_then(|object| object.get("properties")?.as_object());
    properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => named(kind.as_str()).to_owned(),
        TypeKind::Multiple(kinds) => {
            kinds.iter().map(|kind| named(kind.as_str())).collect::<Vec<_>>().join(" or ")
        }
    }
}

/// A type with its article.
fn named(kind: &str) -> &str {
    match kind {
        "array" => "an array",
        "boolean" => "true or false",
        "integer" => "an integer",
        "number" => "a number",
        "object" => "an object",
        "string" => "a string",
        other => other,
    }
}

/// What stands there instead.
fn given(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(given) => given.to_string(),
        Value::Number(given) => format!("the number {given}"),
        Value::String(_) => format!("the string {}", shown(value)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// A value, as far as it is short.
fn shown(value: &Value) -> String {
    match value {
        // Cut before it is printed: it may be vast.
        Value::String(text) => Value::from(cut(text, SHOWN)).to_string(),
        Value::Array(_) | Value::Object(_) => given(value),
        other => other.to_string(),
    }
}

fn listed(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(LISTED);
    let listed = items.take(LISTED).collect::<Vec<_>>().join(", ");
    if more == 0 { listed } else { format!("{listed} and {more} more") }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.split_at(end).0),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::schema::compile;

    fn check(schema: &serde_json::Value, value: serde_json::Value, expected: &[&str]) {
        assert_eq!(compile("t", schema).unwrap().faults(&value), expected, "{value}");
    }

    #[test]
    fn faults_say_what_would_fit() {
        let schema = json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1},
                "timeout_ms": {"type": "integer", "minimum": 1, "maximum": 9},
                "mode": {"enum": ["content", "count"]},
                "steps": {"type": "array", "maxItems": 2, "items": {
                    "type": "object",
                    "properties": {"step": {"type": "string"}, "done": {"type": ["boolean", "null"]}},
                    "required": ["step"],
                    "additionalProperties": false
                }}
            },
            "required": ["command"],
            "additionalProperties": false
        });
        let with = |name: &str, value: serde_json::Value| json!({"command": "ls", name: value});
        check(&schema, json!({"command": "ls"}), &[]);
        check(&schema, json!({}), &["`command` is missing (it is a string)"]);
        check(&schema, json!([]), &["the whole must be an object, not an array"]);
        check(&schema, json!({"command": 1}), &["`command` must be a string, not the number 1"]);
        check(&schema, json!({"command": ""}), &["`command` must not be empty"]);
        let cmd = ["`cmd` is unknown; did you mean `command`?", "`command` is missing (it is a string)"];
        check(&schema, json!({"cmd": "ls"}), &cmd);
        check(&schema, with("timeout", json!(1)), &["`timeout` is unknown; did you mean `timeout_ms`?"]);
        check(
            &schema,
            with("Timeout-MS", json!(1)),
            &["`Timeout-MS` is unknown; did you mean `timeout_ms`?"],
        );
        let all = "`x` is unknown; there are `command`, `timeout_ms`, `mode`, `steps`";
        check(&schema, with("x", json!(1)), &[all]);
        let soon = "`timeout_ms` must be an integer, not the string \"soon\"";
        check(&schema, with("timeout_ms", json!("soon")), &[soon]);
        check(&schema, with("timeout_ms", json!(0)), &["`timeout_ms` must be at least 1, not 0"]);
        check(
            &schema,
            with("timeout_ms", json!(1.5)),
            &["`timeout_ms` must be an integer, not the number 1.5"],
        );
        let modes = "`mode` must be one of \"content\", \"count\", not \"files\"";
        check(&schema, with("mode", json!("files")), &[modes]);
        check(&schema, with("steps", json!([{}])), &["`steps[0].step` is missing (it is a string)"]);
        let done = "`steps[0].done` must be null or true or false, not the string \"no\"";
        check(&schema, with("steps", json!([{"step": "a", "done": "no"}])), &[done]);
        let stop = "`steps[1].stap` is unknown; did you mean `step`?";
        check(&schema, with("steps", json!([{"step": "a"}, {"step": "b", "stap": "c"}])), &[stop]);
    }

    #[test]
    fn many_and_vast_faults_stay_short() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}},
                            "additionalProperties": false});
        let names = |n: usize| (format!("field{n}{}", "x".repeat(1000)), json!(1));
        let many: serde_json::Map<_, _> = (0..1000).map(names).collect();
        let faults = compile("t", &schema).unwrap().faults(&many.into());
        assert_eq!(faults.len(), super::super::MOST);
        assert!(faults.iter().all(|fault| fault.len() < 200), "{faults:?}");
        let faults = compile("t", &schema).unwrap().faults(&json!({"n": "é".repeat(10_000_000)}));
        assert!(faults[0].len() < 250, "{faults:?}");
        let odd = json!({"type": "object", "properties": {"n": {"not": {"type": "string"}}}});
        let faults = compile("t", &odd).unwrap().faults(&json!({"n": "é".repeat(1_000_000)}));
        assert!(faults.len() == 1 && faults[0].len() < 500, "{faults:?}");
    }
}
