//! The smallest value that fits a JSON Schema.

use serde_json::{Map, Value, json};

/// How deep a schema is followed; deeper (or circular) places become null.
const DEPTH: usize = 32;
/// How many values are made in all; the rest becomes null.
const MOST_VALUES: usize = 10_000;

/// A small value that fits the schema: only what is required, and of that the least. Patterns and
/// conditions beyond the usual keywords are not solved. Gemini's spelling of types is understood.
pub(crate) fn value(schema: &Value) -> Value {
    Maker { root: schema, left: MOST_VALUES }.at(schema, DEPTH)
}

struct Maker<'a> {
    /// Where references start.
    root: &'a Value,
    /// How many values may still be made.
    left: usize,
}

impl Maker<'_> {
    fn at(&mut self, schema: &Value, depth: usize) -> Value {
        let (Some(depth), Some(left)) = (depth.checked_sub(1), self.left.checked_sub(1)) else {
            return Value::Null;
        };
        self.left = left;
        if let Some(target) = referred(schema, self.root) {
            return self.at(target, depth);
        }
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
            return first.clone();
        }
        if let Some(parts) = schema["allOf"].as_array() {
            return self.at(&merged(schema, parts, self.root), depth);
        }
        let branches = ["anyOf", "oneOf", "any_of"].iter().find_map(|key| schema[*key].as_array());
        if let Some(first) = branches.and_then(|branches| branches.first()) {
            return self.at(first, depth);
        }
        match kind(schema).as_str() {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, depth),
            "string" => Value::String(string(schema)),
            "integer" => json!(integer(schema)),
            "number" => number(schema),
            "boolean" => Value::Bool(false),
            "null" => Value::Null,
            _ => json!({}),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let fields = required.map(|name| (name.to_owned(), self.at(&schema["properties"][name], depth)));
        Value::Object(fields.collect::<Map<_, _>>())
    }

    fn array(&mut self, schema: &Value, depth: usize) -> Value {
        /// More items than this are not made, whatever a schema asks for.
        const MOST: u64 = 64;
        let least = unsigned(schema, &["minItems", "min_items"]).min(MOST);
        (0..least).map(|_| self.at(&schema["items"], depth)).collect()
    }
}

fn referred<'a>(schema: &Value, root: &'a Value) -> Option<&'a Value> {
    root.pointer(schema["$ref"].as_str()?.strip_prefix('#')?)
}

/// The type, or what the other keywords suggest.
fn kind(schema: &Value) -> String {
    let named = match &schema["type"] {
        Value::Array(names) => names.first().and_then(Value::as_str),
        name => name.as_str(),
    };
    match named {
        Some(name) => name.to_ascii_lowercase(),
        None if schema.get("items").is_some() => "array".to_owned(),
        None => "object".to_owned(),
    }
}

/// One schema that says what all the parts say.
fn merged(schema: &Value, parts: &[Value], root: &Value) -> Value {
    let mut whole = schema.as_object().cloned().unwrap_or_default();
    whole.remove("allOf");
    for part in parts {
        let part = referred(part, root).unwrap_or(part);
        for (key, value) in part.as_object().into_iter().flatten() {
            match (whole.get_mut(key), value) {
                (Some(Value::Object(known)), Value::Object(more)) => known.extend(more.clone()),
                (Some(Value::Array(known)), Value::Array(more)) => known.extend(more.iter().cloned()),
                _ => {
                    whole.insert(key.clone(), value.clone());
                }
            }
        }
    }
    Value::Object(whole)
}

fn string(schema: &Value) -> String {
    /// A longer text than this is not made, whatever a schema asks for.
    const MOST: u64 = 4096;
    let text = match schema["format"].as_str() {
        Some("date-time") => "2026-01-01T00:00:00Z",
        Some("date") => "2026-01-01",
        Some("time") => "00:00:00Z",
        Some("duration") => "PT0S",
        Some("email") => "a@example.com",
        Some("uri" | "url") => "https://example.com",
        Some("hostname") => "example.com",
        Some("ipv4") => "127.0.0.1",
        Some("ipv6") => "::1",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        _ => "",
    };
    let least = unsigned(schema, &["minLength", "min_length"]).min(MOST);
    let missing = least.saturating_sub(text.chars().count() as u64);
    text.to_owned() + &"x".repeat(usize::try_from(missing).unwrap_or(0))
}

fn unsigned(schema: &Value, keys: &[&str]) -> u64 {
    // Gemini writes 64-bit numbers as strings.
    let read = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    keys.iter().find_map(|key| read(&schema[*key])).unwrap_or(0)
}

/// The whole number nearest to zero within the bounds.
fn integer(schema: &Value) -> i64 {
    let bound = |key: &str| schema[key].as_f64();
    let least = bound("minimum").map(f64::ceil).or(bound("exclusiveMinimum").map(|n| n.floor() + 1.0));
    let most = bound("maximum").map(f64::floor).or(bound("exclusiveMaximum").map(|n| n.ceil() - 1.0));
    let nearest = 0.0_f64.max(least.unwrap_or(f64::MIN)).min(most.unwrap_or(f64::MAX));
    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates, which is as near as can be")]
    let nearest = nearest as i64;
    match schema["multipleOf"].as_i64() {
        Some(step) if step > 0 && nearest % step != 0 => {
            (nearest.div_euclid(step) + i64::from(nearest > 0)).saturating_mul(step)
        }
        _ => nearest,
    }
}

/// As an integer, but a fraction where the bounds leave no whole number.
fn number(schema: &Value) -> Value {
    let whole = integer(schema);
    let bounds = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
    #[expect(clippy::cast_precision_loss, reason = "only compared with bounds of the same kind")]
    let fits = |n: i64| {
        bounds.0.is_none_or(|least| least <= n as f64) && bounds.1.is_none_or(|most| n as f64 <= most)
    };
    match bounds {
        (Some(least), _) if !fits(whole) => json!(least),
        (None, Some(most)) if !fits(whole) => json!(most),
        _ => json!(whole),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a value, compares it, and has the schema itself judge it.
    fn check(schema: Value, expected: Value) {
        let made = value(&schema);
        assert_eq!(made, expected, "{schema}");
        assert!(jsonschema::is_valid(&schema, &made), "{schema}: {made}");
    }

    #[test]
    fn values_are_small_and_fit() {
        check(json!({"type": "object"}), json!({}));
        check(
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}),
            json!({"a": ""}),
        );
        check(json!({"type": "array", "items": {"type": "boolean"}}), json!([]));
        check(json!({"type": "array", "items": {"type": "boolean"}, "minItems": 2}), json!([false, false]));
        check(json!({"enum": ["x", "y"]}), json!("x"));
        check(json!({"const": 4}), json!(4));
        check(json!({"type": ["string", "null"], "minLength": 3}), json!("xxx"));
        check(json!({"type": "string", "format": "date"}), json!("2026-01-01"));
        check(json!({"type": "integer", "minimum": 3}), json!(3));
        check(json!({"type": "integer", "exclusiveMinimum": 3}), json!(4));
        check(json!({"type": "integer", "maximum": -2}), json!(-2));
        check(json!({"type": "integer", "minimum": 4, "multipleOf": 3}), json!(6));
        check(json!({"type": "integer", "maximum": -4, "multipleOf": 3}), json!(-6));
        check(json!({"type": "number", "minimum": 0.25, "maximum": 0.5}), json!(0.25));
        check(json!({"type": "null"}), json!(null));
        check(json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), json!(0));
        check(
            json!({"$defs": {"p": {"type": "object", "required": ["q"], "properties": {"q": {"type": "boolean"}}}},
                   "type": "object", "properties": {"p": {"$ref": "#/$defs/p"}}, "required": ["p"]}),
            json!({"p": {"q": false}}),
        );
        check(
            json!({"allOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"properties": {"b": {"type": "string"}}, "required": ["b"]},
            ]}),
            json!({"a": 0, "b": ""}),
        );
    }

    #[test]
    fn odd_schemas_do_no_harm() {
        assert_eq!(
            value(&json!({"type": "OBJECT", "required": ["n"], "properties": {"n": {"type": "INTEGER"}}})),
            json!({"n": 0})
        );
        assert_eq!(
            value(&json!({"type": "ARRAY", "items": {"type": "STRING"}, "minItems": "1"})),
            json!([""])
        );
        assert_eq!(value(&json!(true)), json!({}));
        value(&json!({"$ref": "#"}));
        value(&json!({"type": "array", "minItems": 64, "items": {"$ref": "#"}}));
        value(&json!({"$ref": "#/nowhere"}));
        assert_eq!(value(&json!({"type": "array", "minItems": 1_000_000})).as_array().unwrap().len(), 64);
        assert_eq!(value(&json!({"type": "string", "minLength": u64::MAX})).as_str().unwrap().len(), 4096);
    }
}
