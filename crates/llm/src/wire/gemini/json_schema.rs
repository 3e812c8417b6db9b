//! Tool schemas, from the API's subset of OpenAPI 3.0 to JSON Schema.

use serde_json::{Map, Value, json};

use super::camel;
use super::schema::{MAX_DEPTH, open_object};

/// Counts that the API writes as strings.
const COUNTS: [&str; 6] =
    ["minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength"];

/// Translates the API's schema into JSON Schema.
pub(super) fn from_gemini(schema: &Value) -> Value {
    read(schema, 0)
}

fn read(schema: &Value, depth: usize) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    if depth > 2 * MAX_DEPTH {
        return Value::Object(open_object());
    }
    let mut out = Map::new();
    for (key, value) in schema {
        let key = camel(key);
        let value = match (&*key, value) {
            ("nullable", _) => continue,
            ("type", Value::String(kind)) if kind == "TYPE_UNSPECIFIED" => continue,
            ("type", Value::String(kind)) => kind.to_ascii_lowercase().into(),
            ("items", items) => read(items, depth + 1),
            ("anyOf", Value::Array(members)) => {
                members.iter().map(|member| read(member, depth + 1)).collect()
            }
            ("properties", Value::Object(properties)) => {
                let read = |(name, property): (&String, &Value)| (name.clone(), read(property, depth + 1));
                Value::Object(properties.iter().map(read).collect())
            }
            (key, Value::String(count)) if COUNTS.contains(&key) => {
                count.parse::<u64>().map_or_else(|_| value.clone(), Value::from)
            }
            _ => value.clone(),
        };
        out.insert(key.into_owned(), value);
    }
    if out.get("type").is_some_and(|kind| kind == "integer") {
        plain_integers(&mut out);
    }
    if schema.get("nullable") == Some(&Value::Bool(true)) {
        allow_null(&mut out);
    }
    Value::Object(out)
}

/// A schema for answers, in which objects have no properties but those that are named: this wire has no word for it
/// and means it, others want to be told.
pub(super) fn closed(mut schema: Value) -> Value {
    each(&mut schema, &mut |node| {
        if node.contains_key("properties") {
            node.entry("additionalProperties").or_insert(Value::Bool(false));
        }
    });
    schema
}

/// Whether an answer can be held to a schema on any wire: objects have the properties that are named, all of them,
/// and no others.
pub(super) fn is_closed(schema: &Value) -> bool {
    let mut closed = true;
    each(&mut schema.clone(), &mut |node| {
        if node.get("type").is_some_and(|kind| kind == "object") || node.contains_key("properties") {
            let named = node.get("properties").and_then(Value::as_object).map_or(0, Map::len);
            let required = node.get("required").and_then(Value::as_array).map_or(0, Vec::len);
            closed &= required == named && node.get("additionalProperties") == Some(&Value::Bool(false));
        }
    });
    closed
}

/// Visits every schema within a schema, itself included.
fn each(schema: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(node) = schema else { return };
    visit(node);
    for (key, value) in node.iter_mut() {
        match (key.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                for schema in named.values_mut() {
                    each(schema, visit);
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(members)) => {
                for schema in members {
                    each(schema, visit);
                }
            }
            ("items", value) => each(value, visit),
            _ => {}
        }
    }
}

/// An enum of integers is written as strings.
fn plain_integers(schema: &mut Map<String, Value>) {
    let Some(Value::Array(values)) = schema.get_mut("enum") else { return };
    for value in values {
        if let Some(number) = value.as_str().and_then(|text| text.parse::<i64>().ok()) {
            *value = number.into();
        }
    }
    if schema.get("format").is_some_and(|format| format == "enum") {
        schema.shift_remove("format");
    }
}

fn allow_null(schema: &mut Map<String, Value>) {
    if !schema.contains_key("type") && !schema.contains_key("anyOf") {
        schema.insert("nullable".to_owned(), true.into());
    }
    if let Some(kind) = schema.get_mut("type") {
        *kind = json!([kind, "null"]);
    }
    if let Some(Value::Array(members)) = schema.get_mut("anyOf") {
        members.push(json!({"type": "null"}));
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
}
