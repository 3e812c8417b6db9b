//! The schemas of others' tools, as models' wires take them.

use serde_json::{Map, Value, json};

/// How many bytes of schema are shown to a model; a tool with more takes any object.
const MOST: usize = 32 * 1024;
/// What wires refuse at the root.
const NOT_AT_ROOT: &[&str] =
    &["oneOf", "anyOf", "allOf", "not", "enum", "const", "if", "then", "else", "$schema", "$id"];

/// A schema with an object at its root. What a wire would refuse there is left out: the server checks its arguments
/// itself.
pub(super) fn parameters(given: &Map<String, Value>) -> Value {
    let anything = json!({"type": "object"});
    match given.get("type") {
        None => {}
        Some(Value::String(kind)) if kind == "object" => {}
        Some(Value::Array(kinds)) if kinds.iter().any(|kind| kind == "object") => {}
        Some(_) => return anything,
    }
    let mut root = given.clone();
    root.retain(|key, _| !NOT_AT_ROOT.contains(&key.as_str()));
    root.insert("type".to_owned(), json!("object"));
    if !root.get("properties").is_none_or(Value::is_object) {
        return anything;
    }
    // Some wires want them to be there.
    root.entry("properties").or_insert_with(|| json!({}));
    let root = Value::Object(root);
    if root.to_string().len() > MOST { anything } else { root }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(given: Value, expected: Value) {
        assert_eq!(parameters(given.as_object().unwrap()), expected, "{given}");
    }

    #[test]
    fn the_root_is_an_object_in_any_case() {
        check(
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        );
        check(json!({}), json!({"type": "object", "properties": {}}));
        check(json!({"type": "string"}), json!({"type": "object"}));
        check(json!({"type": ["object", "null"]}), json!({"type": "object", "properties": {}}));
        check(json!({"type": "object", "properties": [1]}), json!({"type": "object"}));
        check(
            json!({"type": "object", "properties": {}, "anyOf": [{}], "$schema": "x"}),
            json!({"type": "object", "properties": {}}),
        );
        let long = json!({"type": "object", "properties": {"a": {"description": "x".repeat(MOST)}}});
        check(long, json!({"type": "object"}));
    }
}
