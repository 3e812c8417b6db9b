//! What providers say about JSON Schemas.

use serde_json::Value;

use super::json;

/// Whether a value is a JSON Schema (draft 2020-12) at all.
pub(super) fn is_schema(value: &Value) -> bool {
    value.is_object() && jsonschema::draft202012::meta::is_valid(value)
}

/// Keywords that no provider's strict mode takes.
const NOT_STRICT: &[&str] = &[
    "allOf",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "not",
    "oneOf",
    "patternProperties",
    "then",
];

/// How strict a schema must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strictness {
    /// Objects are closed (Anthropic).
    Closed,
    /// Objects are closed, every property is required, composition is limited (OpenAI).
    ClosedAndRequired,
}

/// The first place where a schema is not strict enough: the way there and what is wrong.
pub(super) fn strict_fault(schema: &Value, strictness: Strictness) -> Option<(Vec<String>, String)> {
    fault(schema, strictness, &mut Vec::new())
}

fn fault(schema: &Value, strictness: Strictness, path: &mut Vec<String>) -> Option<(Vec<String>, String)> {
    let fields = schema.as_object()?;
    let here = |path: &[String], what: String| Some((path.to_vec(), what));
    if strictness == Strictness::ClosedAndRequired
        && let Some(keyword) = NOT_STRICT.iter().find(|k| fields.contains_key(**k))
    {
        return here(path, format!("'{keyword}' is not permitted."));
    }
    let is_object = has_type(schema, "object") || fields.contains_key("properties");
    if is_object {
        if fields.get("additionalProperties") != Some(&Value::Bool(false)) {
            return here(
                path,
                match strictness {
                    Strictness::Closed => {
                        "For 'object' type, 'additionalProperties' must be explicitly set to false".to_owned()
                    }
                    Strictness::ClosedAndRequired => {
                        "'additionalProperties' is required to be supplied and to be false.".to_owned()
                    }
                },
            );
        }
        if strictness == Strictness::ClosedAndRequired
            && let Some(name) = not_required(schema)
        {
            return here(
                path,
                format!(
                    "'required' is required to be supplied and to be an array including every key in \
                 properties. Missing '{name}'."
                ),
            );
        }
    }
    for (keyword, value) in fields {
        let below: Vec<(Option<&str>, &Value)> = match (keyword.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                named.iter().map(|(name, schema)| (Some(name.as_str()), schema)).collect()
            }
            ("anyOf" | "allOf" | "oneOf" | "prefixItems", Value::Array(several)) => {
                several.iter().map(|schema| (None, schema)).collect()
            }
            ("items", Value::Object(_)) => vec![(None, value)],
            _ => continue,
        };
        path.push(keyword.clone());
        for (i, (name, schema)) in below.into_iter().enumerate() {
            path.push(name.map_or_else(|| i.to_string(), str::to_owned));
            if let Some(found) = fault(schema, strictness, path) {
                return Some(found);
            }
            path.pop();
        }
        path.pop();
    }
    None
}

/// Whether a schema's type is, or includes, this one.
pub(super) fn has_type(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(several)) => several.iter().any(|one| one.as_str() == Some(name)),
        _ => false,
    }
}

fn not_required(schema: &Value) -> Option<&str> {
    let required = json::list(schema, "required");
    let named = schema.get("properties")?.as_object()?;
    named.keys().map(String::as_str).find(|name| !required.iter().any(|r| r.as_str() == Some(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schemas_are_told_from_other_things() {
        for (value, good) in [
            (json!({}), true),
            (json!({"type": "object", "properties": {"a": {"type": "string"}}}), true),
            (json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}), true),
            (json!({"type": "thing"}), false),
            (json!({"type": "object", "properties": 3}), false),
            (json!({"type": "object", "required": "a"}), false),
            (json!(true), false),
            (json!("x"), false),
        ] {
            assert_eq!(is_schema(&value), good, "{value}");
        }
    }

    #[test]
    fn strict_faults_are_found_where_they_are() {
        let check = |schema: Value, openai: &str, anthropic: &str| {
            for (strictness, expected) in
                [(Strictness::ClosedAndRequired, openai), (Strictness::Closed, anthropic)]
            {
                let found = strict_fault(&schema, strictness)
                    .map(|(path, what)| format!("{}: {what}", path.join(".")))
                    .unwrap_or_default();
                assert!(
                    if expected.is_empty() { found.is_empty() } else { found.contains(expected) },
                    "{schema}: {found:?}, not {expected:?}"
                );
            }
        };
        let closed = |properties: Value, required: Value| {
            json!({"type": "object", "properties": properties, "required": required,
                   "additionalProperties": false})
        };
        check(closed(json!({"a": {"type": "string"}}), json!(["a"])), "", "");
        check(closed(json!({"a": {"type": "string"}}), json!([])), "Missing 'a'", "");
        check(json!({"type": "object"}), "'additionalProperties'", "must be explicitly set to false");
        check(
            closed(json!({"a": {"type": ["object", "null"]}}), json!(["a"])),
            "properties.a: 'additionalProperties'",
            "properties.a: For 'object' type",
        );
        check(
            closed(json!({"a": {"type": "array", "items": {"properties": {}}}}), json!(["a"])),
            "properties.a.items.0: ",
            "properties.a.items.0: ",
        );
        check(closed(json!({"a": {"oneOf": []}}), json!(["a"])), "properties.a: 'oneOf'", "");
    }
}
