//! Schemas of structured answers, fitted to what the API's grammar takes.
//!
//! Objects must be closed, and bounds on numbers, lengths and counts are refused. Closing and
//! dropping only widens or names what the model may write; the caller's own schema still checks
//! the answer.

use serde_json::{Map, Value};

use super::options::Warnings;

/// Keywords the API refuses.
const REFUSED: [&str; 15] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "propertyNames",
    "contains",
    "not",
];

/// Keywords whose value is one schema, a list of schemas, or schemas by name.
const ONE: [&str; 1] = ["items"];
const LISTS: [&str; 3] = ["anyOf", "oneOf", "allOf"];
const NAMED: [&str; 3] = ["properties", "$defs", "definitions"];

/// The schema as the API takes it, with a warning that names what was left out.
pub(super) fn fit(schema: &Value, warnings: &mut Warnings) -> Value {
    let mut dropped = Vec::new();
    let mut fitted = schema.clone();
    fit_in_place(&mut fitted, &mut dropped);
    dropped.sort_unstable();
    dropped.dedup();
    if !dropped.is_empty() {
        warnings.add(
            "schema_keyword_dropped",
            format!("the answer's schema was sent without {}", dropped.join(", ")),
        );
    }
    fitted
}

fn fit_in_place(schema: &mut Value, dropped: &mut Vec<&'static str>) {
    let Value::Object(fields) = schema else { return };
    for keyword in REFUSED {
        if fields.shift_remove(keyword).is_some() {
            dropped.push(keyword);
        }
    }
    if fields.get("minItems").and_then(Value::as_u64).is_some_and(|n| n > 1) {
        fields.shift_remove("minItems");
        dropped.push("minItems");
    }
    // The API knows no `oneOf`; `anyOf` admits what it admitted.
    if let Some(variants) = fields.shift_remove("oneOf") {
        fields.entry("anyOf").or_insert(variants);
    }
    close(fields, dropped);
    for keyword in ONE {
        if let Some(inner) = fields.get_mut(keyword) {
            fit_in_place(inner, dropped);
        }
    }
    for keyword in LISTS {
        for inner in fields.get_mut(keyword).and_then(Value::as_array_mut).into_iter().flatten() {
            fit_in_place(inner, dropped);
        }
    }
    for keyword in NAMED {
        for (_, inner) in fields.get_mut(keyword).and_then(Value::as_object_mut).into_iter().flatten() {
            fit_in_place(inner, dropped);
        }
    }
}

fn close(fields: &mut Map<String, Value>, dropped: &mut Vec<&'static str>) {
    let is_object = match fields.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|k| k == "object"),
        _ => fields.contains_key("properties"),
    };
    if !is_object {
        return;
    }
    match fields.insert("additionalProperties".to_owned(), Value::Bool(false)) {
        None | Some(Value::Bool(false)) => {}
        Some(_) => dropped.push("additionalProperties"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: Value, expected: Value, warned: &[&str]) {
        let mut warnings = Warnings::default();
        let fitted = fit(&schema, &mut warnings);
        assert_eq!(fitted, expected);
        let warnings = warnings.into_vec();
        assert_eq!(warnings.is_empty(), warned.is_empty(), "{warnings:?}");
        for keyword in warned {
            assert!(warnings[0].message.contains(keyword), "{warnings:?}");
        }
        assert_eq!(fit(&fitted, &mut Warnings::default()), fitted, "fitting twice changes nothing");
    }

    #[test]
    fn objects_are_closed_and_bounds_dropped() {
        check(json!({"type": "object"}), json!({"type": "object", "additionalProperties": false}), &[]);
        check(
            json!({"type": "object", "properties": {
                "minimum": {"type": "integer", "minimum": 1},
                "list": {"type": "array", "minItems": 3, "items": {"type": "object", "additionalProperties": true}},
                "either": {"oneOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]},
            }, "required": ["minimum"]}),
            json!({"type": "object", "properties": {
                "minimum": {"type": "integer"},
                "list": {"type": "array", "items": {"type": "object", "additionalProperties": false}},
                "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            }, "required": ["minimum"], "additionalProperties": false}),
            &["minimum", "minItems", "additionalProperties", "maxLength"],
        );
        check(
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "additionalProperties": false}}}),
            &[],
        );
    }
}
